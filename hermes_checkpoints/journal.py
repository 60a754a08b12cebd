"""What is being done to a project's files, and what was done: the journal and the rollbacks.

The journal is one task, written before its first change and removed after its last. The rollbacks
are the tasks that were done, each until it is undone; undo walks back through them.

A rollback that is one to the person may be several tasks, one for each of several projects. Then
the group journal of the outer one holds them all, and is written before the journal of any; the
groups tell which rollbacks of which projects were one.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from hermes_checkpoints.applier import Move, Task
from hermes_checkpoints.errors import CheckpointError
from hermes_checkpoints.lines import append_line, read_lines
from hermes_checkpoints.records import FileState
from hermes_checkpoints.sessions import Owner, write_private

__all__ = ["DamagedJournal", "Group", "GroupJournal", "Groups", "Journal", "Part", "Rollbacks"]


class DamagedJournal(CheckpointError):
    """The journal can't be read: what a rollback that was interrupted has done is not known."""


class _UnderWay:
    """A record of what is under way, with the process that does it."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @property
    def exists(self) -> bool:
        return self._file.exists()

    @property
    def abandoned(self) -> bool:
        """Whether there is one whose process is dead."""
        try:
            owner = Owner(**json.loads(self._file.read_bytes())["owner"])
        except FileNotFoundError:
            return False
        except (OSError, ValueError, KeyError, TypeError):
            return True
        return not owner.alive

    def _put(self, **record: Any) -> None:
        owner = Owner.of(os.getpid())
        whose = {"pid": owner.pid, "start": owner.start, "boot": owner.boot}
        write_private(self._file, json.dumps({"owner": whose, **record}))
        _sync(self._file)
        _sync(self._file.parent)

    def _damaged(self, error: Exception) -> DamagedJournal:
        return DamagedJournal(f"the journal {self._file} can't be read ({error})")

    def remove(self) -> None:
        self._file.unlink(missing_ok=True)

    def set_aside(self) -> Path:
        """Move a damaged journal out of the way, for a person to look at."""
        spare = self._file.with_suffix(".damaged")
        os.replace(self._file, spare)
        return spare


class Journal(_UnderWay):
    """The task that is under way in one project."""

    def write(self, task: Task) -> None:
        """Put the task on disk for sure, before it begins."""
        self._put(task=_dump(task))

    def read(self) -> Task | None:
        """The task, or `None` if there is none. Raises `DamagedJournal`."""
        try:
            return _load(json.loads(self._file.read_bytes())["task"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged(error) from error


class Rollbacks:
    """The rollbacks of one project that were done and not undone."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def done(self) -> list[Task]:
        """All of them, oldest first. A damaged line is passed over."""
        found: dict[str, Task] = {}
        for record in read_lines(self._file):
            try:
                if "undone" in record:
                    found.pop(record["undone"], None)
                else:
                    task = _load(record["task"])
                    found[task.id] = task
            except (ValueError, KeyError, TypeError):
                continue
        return list(found.values())

    def add(self, task: Task) -> None:
        """Record a task that was done; the same one again replaces it."""
        append_line(self._file, {"task": _dump(task)})

    def undone(self, task_id: str) -> None:
        """Record that a task was taken back."""
        append_line(self._file, {"undone": task_id})

    def rewrite(self, keep: Iterable[Task]) -> None:
        """Replace all records, for compaction. The caller holds the project's lock."""
        write_private(self._file, "".join(json.dumps({"task": _dump(t)}) + "\n" for t in keep))


# --------------------------------------------------------------------------- several as one


@dataclass(frozen=True, slots=True)
class Part:
    """The task of one project in a group, and directories (of the outer one) made for it."""

    root: str
    task: Task
    made: tuple[str, ...] = ()


class GroupJournal(_UnderWay):
    """The tasks that are under way in several projects, in a file of the outer one."""

    def write(self, parts: Iterable[Part]) -> None:
        """Put all tasks on disk for sure, before the first begins."""
        self._put(parts=[[part.root, _dump(part.task), part.made] for part in parts])

    def read(self) -> tuple[Part, ...]:
        """The parts; none if nothing is under way. Raises `DamagedJournal`."""
        try:
            parts = json.loads(self._file.read_bytes())["parts"]
            return tuple(Part(root, _load(task), tuple(made)) for root, task, made in parts)
        except FileNotFoundError:
            return ()
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged(error) from error


@dataclass(frozen=True, slots=True)
class Group:
    """Rollbacks that were one: `members` are the root, the task's id, and `Part.made`, of each."""

    id: str
    time: float
    members: tuple[tuple[str, str, tuple[str, ...]], ...]


class Groups:
    """Which rollbacks of which projects were one to the person, in a file of the outer project."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def add(self, parts: Iterable[Part]) -> None:
        """Record a group that was done."""
        now = time.time()
        members = [[part.root, part.task.id, part.made] for part in parts]
        append_line(self._file, {"id": f"{now}", "time": now, "members": members})

    def undone(self, group_id: str) -> None:
        """Record that a group was taken back."""
        append_line(self._file, {"undone": group_id})

    def last(self) -> Group | None:
        """The last one that was not undone. A damaged line is passed over."""
        found: dict[str, Group] = {}
        for record in read_lines(self._file):
            try:
                if "undone" in record:
                    found.pop(record["undone"], None)
                    continue
                members = tuple((m[0], m[1], tuple(*m[2:])) for m in record["members"])
                found[record["id"]] = Group(record["id"], record["time"], members)
            except (ValueError, KeyError, TypeError, IndexError):
                continue
        return next(reversed(found.values()), None)


def _sync(path: Path) -> None:
    try:
        fd = os.open(path, os.O_RDONLY)
    except PermissionError:
        return  # a system that does not open directories
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


# --------------------------------------------------------------------------- JSON

_WORDS = ("id", "action", "target", "safety", "session", "turn", "time", "undoes")
_LISTS = ("dirs", "fresh", "stale")
_PAIRS = ("asides", "permissions")
assert {f.name for f in fields(Task)} == {*_WORDS, *_LISTS, *_PAIRS, "moves"}


def _dump(task: Task) -> dict[str, Any]:
    return {
        **{name: getattr(task, name) for name in (*_WORDS, *_LISTS, *_PAIRS)},
        "moves": [
            [m.path, _state(m.old), _state(m.new), m.old_permissions, m.permissions, m.version]
            for m in task.moves
        ],
    }


def _load(record: dict[str, Any]) -> Task:
    values: dict[str, Any] = {name: record[name] for name in _WORDS}
    values.update({name: tuple(record[name]) for name in _LISTS})
    return Task(
        **values,
        asides=tuple((old, new) for old, new in record["asides"]),
        permissions=tuple((path, bits) for path, bits in record.get("permissions", ())),
        moves=tuple(
            Move(path, _from(old), _from(new), before, after, version)
            for path, old, new, before, after, version in record["moves"]
        ),
    )


def _state(state: FileState | None) -> list[Any] | None:
    return [state.mode, state.content] if state else None


def _from(value: list[Any] | None) -> FileState | None:
    return FileState(*value) if value else None
