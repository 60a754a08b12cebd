"""The library's own records about a project, kept beside the store and independent of its kind.

Owns where they lie: `store/ledgers/<project id>/`, with the ledger of writes, the marks of turns,
the running calls, the rollbacks done, and the journal of one that is under way; also which of them
were one with those of other projects, and the ids that checkpoints had before a path was forgotten.
"""

from __future__ import annotations

import shutil
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_checkpoints.ledger import Ledger
from hermes_checkpoints.records import Project
from hermes_checkpoints.sessions import Leases, Sessions

if TYPE_CHECKING:  # a tool call needs neither, and a hook's process is short of time
    from hermes_checkpoints.journal import GroupJournal, Groups, Journal, Rollbacks

__all__ = ["Book", "Books"]


class Book:
    """The records of one project."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.ledger = Ledger(directory / "writes.jsonl")
        self.leases = Leases(directory / "leases")

    @cached_property
    def rollbacks(self) -> Rollbacks:
        from hermes_checkpoints.journal import Rollbacks

        return Rollbacks(self.rollbacks_file)

    @cached_property
    def journal(self) -> Journal:
        from hermes_checkpoints.journal import Journal

        return Journal(self.journal_file)

    @cached_property
    def group_journal(self) -> GroupJournal:
        from hermes_checkpoints.journal import GroupJournal

        return GroupJournal(self.group_journal_file)

    @cached_property
    def groups(self) -> Groups:
        from hermes_checkpoints.journal import Groups

        return Groups(self.groups_file)

    @property
    def under_way(self) -> bool:
        """Whether a rollback runs here, or was interrupted."""
        return self.journal.exists or self.group_journal.exists

    @property
    def interrupted(self) -> bool:
        """Whether a rollback broke off here. Looks at two names, as a rule."""
        if self.journal_file.exists() and self.journal.abandoned:
            return True
        return self.group_journal_file.exists() and self.group_journal.abandoned

    @property
    def has_foreign_ledger(self) -> bool:
        """Whether another program keeps a ledger of this project in the store."""
        return any(self.directory.parent.glob(f"{self.directory.name}.*"))

    @property
    def turns_file(self) -> Path:
        return self.directory / "turns.json"

    @property
    def rollbacks_file(self) -> Path:
        return self.directory / "rollbacks.jsonl"

    @property
    def journal_file(self) -> Path:
        return self.directory / "journal.json"

    @property
    def group_journal_file(self) -> Path:
        return self.directory / "group.json"

    @property
    def renamed_file(self) -> Path:
        return self.directory / "renamed.jsonl"

    @property
    def groups_file(self) -> Path:
        return self.directory / "groups.jsonl"

    def remove(self) -> None:
        """Delete all records of the project."""
        shutil.rmtree(self.directory, ignore_errors=True)


class Books:
    """The records of all projects of a base directory."""

    def __init__(self, base: Path) -> None:
        self._ledgers = base / "store" / "ledgers"
        self._books: dict[str, Book] = {}
        self.sessions = Sessions(base / "store" / "sessions")

    def of(self, project: Project) -> Book:
        """The records of one project; nothing is created before something is written."""
        if project.id not in self._books:
            self._books[project.id] = Book(self._ledgers / project.id)
        return self._books[project.id]
