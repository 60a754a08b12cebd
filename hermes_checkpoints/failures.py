"""The last failure of each project, kept so that `status` can say that protection is off.

Owns one small file a project, among its records, and a copy in memory for when the store itself is
what fails. Never creates a store.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from hermes_checkpoints.books import Books
from hermes_checkpoints.inventory import Failure
from hermes_checkpoints.records import Project
from hermes_checkpoints.sessions import write_private

__all__ = ["Failures"]

_log = logging.getLogger(__name__)
_NAME = "failure.json"


class Failures:
    """The last failures of the projects of one store."""

    def __init__(self, books: Books, store: Path) -> None:
        self._books = books
        self._store = store
        self._seen: dict[str, tuple[str, Failure]] = {}

    def note(self, project: Project, failure: Failure) -> None:
        """Keep a failure; one that follows another counts on. Never raises."""
        last = self.of(project)
        failure = replace(failure, count=last.count + 1 if last else 1)
        self._seen[project.id] = (project.root, failure)
        _log.debug("no checkpoint of %s: %s", project.root, failure.error)
        if self._store.is_dir():
            with suppress(OSError):  # the store may be what is failing; memory has it
                text = json.dumps({"root": project.root, **asdict(failure)})
                write_private(self._file(project), text)

    def clear(self, project: Project) -> None:
        """A checkpoint was taken: the failure is over."""
        self._seen.pop(project.id, None)
        with suppress(OSError):
            self._file(project).unlink(missing_ok=True)

    def of(self, project: Project) -> Failure | None:
        """The last failure, if no checkpoint was taken since."""
        found = _read(self._file(project)) or self._seen.get(project.id)
        return found[1] if found else None

    def of_others(self, known: Collection[str]) -> list[str]:
        """Failures of projects that are not in the store (project ids `known`), as sentences."""
        files = sorted((self._store / "ledgers").glob(f"*/{_NAME}"))
        noted = {f.parent.name: entry for f in files if (entry := _read(f))}
        found = {**self._seen, **noted}
        return [
            f"{root}: no checkpoint could be taken: {failure.error}"
            for project, (root, failure) in found.items()
            if project not in known
        ]

    def _file(self, project: Project) -> Path:
        return self._books.of(project).directory / _NAME


def _read(file: Path) -> tuple[str, Failure] | None:
    try:
        data = json.loads(file.read_text(encoding="ascii"))
        failure = Failure(float(data["time"]), str(data["error"]), int(data["count"]))
        return str(data["root"]), failure
    except (OSError, ValueError, KeyError, TypeError):
        return None
