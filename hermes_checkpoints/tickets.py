"""A call between its two halves, in memory or, for hooks, on disk between two processes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hermes_checkpoints.calls import Before, Protected
from hermes_checkpoints.records import (
    AlreadyTaken,
    Failed,
    FileState,
    Gap,
    GapReason,
    Outcome,
    Project,
    Skipped,
    Taken,
    Unchanged,
)
from hermes_checkpoints.sessions import call_file
from hermes_checkpoints.turns import Scope

__all__ = ["Ticket", "Tickets"]


@dataclass(frozen=True, slots=True)
class Ticket:
    """One call that was protected and has not ended. `uid` is its own id, unlike any other's."""

    uid: str
    scope: Scope
    tool: str
    protected: tuple[Protected, ...]

    @property
    def outcome(self) -> Outcome:
        """What came of it, the most telling of several projects first."""
        outcomes = [p.outcome for p in self.protected]
        for kind in (Failed, Skipped, Taken, Unchanged):
            for outcome in outcomes:
                if isinstance(outcome, kind):
                    return outcome
        return outcomes[0] if outcomes else Skipped("the call changes no files")


class Tickets:
    """The tickets of split calls, a file each, so that another process can end the call."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def put(self, session: str, call: str, ticket: Ticket) -> None:
        """Keep a ticket. Raises `FileExistsError` if the call has one: of two, the first counts."""
        file = self._file(session, call)
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8", errors="surrogatepass") as out:
            out.write(json.dumps(_dump(ticket)))

    def take(self, session: str, call: str) -> Ticket | None:
        """The ticket of a call, which is then gone; `None` if there is none that can be read."""
        file = self._file(session, call)
        ticket = _read(file)
        try:
            file.unlink()  # of two that take the same ticket, one gets it
        except OSError:
            return None
        return ticket

    def take_all(self, session: str) -> list[Ticket]:
        """The tickets of a session's calls that have not ended, which are then gone."""
        found = []
        for file in self._files():
            ticket = _read(file)
            if ticket is not None and ticket.scope.session == session:
                file.unlink(missing_ok=True)
                found.append(ticket)
        return found

    def has(self, session: str, call: str) -> bool:
        return self._file(session, call).exists()

    def _file(self, session: str, call: str) -> Path:
        return call_file(self._directory, session, call)

    def _files(self) -> list[Path]:
        try:
            return sorted(f for f in self._directory.iterdir() if f.suffix == ".json")
        except (FileNotFoundError, NotADirectoryError):
            return []


def _read(file: Path) -> Ticket | None:
    try:
        return _load(json.loads(file.read_text(encoding="utf-8", errors="surrogatepass")))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _dump(ticket: Ticket) -> dict[str, Any]:
    return {
        "uid": ticket.uid,
        "scope": asdict(ticket.scope),
        "tool": ticket.tool,
        "protected": [
            {"project": asdict(p.project), "before": _dump_before(p.before)}
            for p in ticket.protected
        ],
    }


def _dump_before(before: Before | None) -> dict[str, Any] | None:
    if before is None:
        return None
    return {
        "checkpoint": before.checkpoint,
        "named": list(before.named),
        "states": {p: [s.mode, s.content] if s else None for p, s in before.states.items()},
        "tree": before.tree,
        "gaps": [[g.path, g.reason.value, g.detail] for g in before.gaps],
        "certain": before.certain,
        "began": before.began,
    }


def _load(data: Mapping[str, Any]) -> Ticket:
    protected = []
    for one in data["protected"]:
        project = Project(**one["project"])
        before = _load_before(project, one["before"]) if one["before"] else None
        protected.append(Protected(project, AlreadyTaken(), before))
    return Ticket(data["uid"], Scope(**data["scope"]), data["tool"], tuple(protected))


def _load_before(project: Project, data: Mapping[str, Any]) -> Before:
    return Before(
        project=project,
        checkpoint=data["checkpoint"],
        named=tuple(data["named"]),
        states={p: FileState(*s) if s else None for p, s in data["states"].items()},
        tree=data["tree"],
        gaps=tuple(Gap(p, GapReason(r), d) for p, r, d in data["gaps"]),
        certain=data["certain"],
        began=data["began"],
    )
