"""Which session and turn a call belongs to, and which checkpoint a turn has.

Owns the scope (a context variable, so that threads and tasks that copy the context inherit it),
the current turn of each session, and the marks on disk that let several processes share a turn.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path

from hermes_checkpoints.records import ToolCall
from hermes_checkpoints.sessions import write_private

__all__ = ["Marks", "Scope", "Turns", "new_id"]


@dataclass(frozen=True, slots=True)
class Scope:
    """A turn as it is in force: whose, which, and where.

    `shared`: its id came from the host, so that another process may know it.
    """

    session: str
    turn: str
    cwd: str | None = None
    shared: bool = True


_scope: ContextVar[Scope | None] = ContextVar("hermes_checkpoints_scope", default=None)


def new_id() -> str:
    """A new id for a turn, session or call."""
    return os.urandom(6).hex()


class Turns:
    """The turns of one manager. Thread-safe."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._current: dict[str, str] = {}
        self._history: dict[str, list[str]] = {}
        self._private: set[str] = set()
        self._open: list[Scope] = []
        self._lock = threading.Lock()

    def begin(self, turn: str | None, session: str | None) -> str:
        """Begin a turn of a session; the id it has already is the same turn."""
        owner = session or self._session
        name = turn or new_id()
        with self._lock:
            self._current[owner] = name
            if not turn:
                self._private.add(name)
            seen = self._history.setdefault(owner, [])
            if name not in seen:
                seen.append(name)
        return name

    @contextmanager
    def scope(
        self, turn: str | None, session: str | None, cwd: str | os.PathLike[str] | None
    ) -> Iterator[str]:
        """A turn as a scope; inside another one the root's ids go on."""
        outer = _scope.get()
        place = os.path.abspath(cwd) if cwd is not None else outer.cwd if outer else None
        if outer is not None:
            inner = replace(outer, cwd=place)
        else:
            owner = session or self._session
            inner = self._scope_of(owner, self.begin(turn, owner), place)
        token = _scope.set(inner)
        self._open.append(inner)
        try:
            yield inner.turn
        finally:
            self._open.remove(inner)
            _scope.reset(token)

    def of(self, call: ToolCall | None = None) -> Scope:
        """The scope a call belongs to: the context's, else the call's own ids, else the last.

        The last is the scope that is open, for tools in threads without the context (a host's
        thread pool), else the turn that was begun last.
        """
        scope = _scope.get()
        native = call is not None and bool(call.session_id or call.turn_id)
        if scope is not None and not (native and call is not None and call.native_ids):
            return scope
        if not native and self._open:
            return self._open[-1]
        session = (call.session_id if call else "") or self._session
        turn = call.turn_id if call else ""
        if turn:
            self.begin(turn, session)
        place = scope.cwd if scope else None
        return self._scope_of(session, turn or self._running(session), place)

    def since(self, session: str, turn: str) -> int | None:
        """How many turns of a session there are from `turn` on; `None` if it is not known."""
        with self._lock:
            seen = self._history.get(session, [])
            return len(seen) - seen.index(turn) if turn in seen else None

    def drop(self, session: str, count: int) -> None:
        """Forget a session's last turns: they are no longer in its chat."""
        with self._lock:
            seen = self._history.get(session, [])
            del seen[max(0, len(seen) - count) :]

    def _scope_of(self, session: str, turn: str, cwd: str | None) -> Scope:
        return Scope(session, turn, cwd, shared=turn not in self._private)

    def _running(self, session: str) -> str:
        with self._lock:
            current = self._current.get(session)
        return current or self.begin(None, session)


@dataclass(frozen=True, slots=True)
class Mark:
    """That a turn of a session is served by a checkpoint (empty: of nothing there)."""

    turn: str
    checkpoint: str


class Marks:
    """Which checkpoint serves each session's turn in one project, on disk."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def get(self, session: str) -> Mark | None:
        """The mark of a session's latest turn."""
        found = self._load().get(session)
        return Mark(found["turn"], found["checkpoint"]) if found else None

    def put(self, session: str, mark: Mark, *, most: int = 50) -> None:
        """Mark a turn as served. The caller holds the project's lock."""
        marks = self._load()
        marks.pop(session, None)
        marks[session] = {"turn": mark.turn, "checkpoint": mark.checkpoint}
        newest = dict(list(marks.items())[-most:])
        write_private(self._file, json.dumps(newest))

    def _load(self) -> dict[str, dict[str, str]]:
        try:
            marks = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        whole = isinstance(marks, dict) and all(
            isinstance(m, dict) and {"turn", "checkpoint"} <= set(m) for m in marks.values()
        )
        return marks if whole else {}
