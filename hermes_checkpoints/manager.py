"""The one object a host holds: turns, checkpoints, rollback, upkeep.

Thin: it wires the parts together and delegates. What one tool call needs is in `calls`, what a
rollback needs in `recovery`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hermes_checkpoints.config import HERMES, Config, HostProfile
from hermes_checkpoints.records import Checkpoint, Outcome, Plan, Project, Report, ToolCall
from hermes_checkpoints.stores.base import Diff, Store, Upkeep

__all__ = ["CheckpointManager", "Guard", "active_manager"]


def active_manager() -> CheckpointManager | None:
    """The manager that `activate` put into the current context."""
    raise NotImplementedError


class Guard:
    """Around one tool call: `with` or `async with`. Made by `CheckpointManager.guard`.

    Entering protects (off the event loop in `async with`), leaving records what the call changed;
    an exception of the call passes through. Entering raises only with `on_failure: block`.
    `set_result(ok)` may tell how the call ended where no exception says it.
    """

    def __enter__(self) -> Guard:
        raise NotImplementedError

    def __exit__(self, *exc: object) -> None:
        raise NotImplementedError

    async def __aenter__(self) -> Guard:
        raise NotImplementedError

    async def __aexit__(self, *exc: object) -> None:
        raise NotImplementedError


class CheckpointManager:
    """Checkpoints for one session of one host; any number may share a store.

    `session_id` names the session (default: a new one), `cwd` is its working directory (default:
    the process's, looked up at each call). `on_notice` is told, once per project and kind, when
    protection is off or limited. `on_rollback` gets the `Report` of each rollback. `owner_pid` is
    the process whose life is the session's, where it is not this one (hooks).
    Thread-safe. Use it as a context manager, or call `close`.
    """

    def __init__(
        self,
        config: Config | None = None,
        *,
        session_id: str | None = None,
        cwd: str | os.PathLike[str] | None = None,
        store: Store | None = None,
        registry: Any = None,
        on_notice: Callable[[str], None] | None = None,
        on_rollback: Callable[[Report], None] | None = None,
        owner_pid: int | None = None,
    ) -> None:
        raise NotImplementedError

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        host: str | HostProfile = HERMES,
        enabled: bool | None = None,
        **options: Any,
    ) -> CheckpointManager:
        """A manager configured by a host's YAML file; `options` as for the class."""
        raise NotImplementedError

    # ------------------------------------------------------------------ turns and calls

    def new_turn(self, turn_id: str | None = None, *, session_id: str | None = None) -> str:
        """Begin a turn: one user message. The same id again is the same turn; none: a new one."""
        raise NotImplementedError

    @contextmanager
    def turn(
        self,
        turn_id: str | None = None,
        *,
        session_id: str | None = None,
        cwd: str | os.PathLike[str] | None = None,
    ) -> Iterator[str]:
        """A turn as a scope, inherited by threads and tasks that copy the context.

        Inside another scope it is a sub-agent's, and the root turn goes on.
        """
        raise NotImplementedError

    @contextmanager
    def activate(self) -> Iterator[CheckpointManager]:
        """Make this the manager of decorators that were given none."""
        raise NotImplementedError

    def guard(self, call: ToolCall) -> Guard:
        """Protect and record one tool call. What every adapter uses."""
        raise NotImplementedError

    def before(self, call: ToolCall) -> Outcome:
        """The first half of a guard, for hosts whose hooks come in two. Idempotent per `call_id`.

        Needs a `call_id` to be ended by `after`.
        """
        raise NotImplementedError

    def after(self, call_id: str, *, ok: bool | None = None) -> None:
        """The second half. A `call_id` that was not begun, or has ended, does nothing."""
        raise NotImplementedError

    def wrap(self, tools: Iterable[Any], *, read_only: Sequence[str] = ()) -> list[Any]:
        """Decorate functions by what the registry knows of their names."""
        raise NotImplementedError

    def ensure_checkpoint(self, directory: str | os.PathLike[str], reason: str = "auto") -> Outcome:
        """The turn's checkpoint of the project at `directory`, taken now if it is not yet."""
        raise NotImplementedError

    def snapshot(self, directory: str | os.PathLike[str], reason: str, label: str = "") -> Outcome:
        """A checkpoint at a person's wish, whatever the turn has; a label pins it."""
        raise NotImplementedError

    def end_session(self, session_id: str | None = None) -> None:
        """Say that a session has ended: its writes count as ours from now on."""
        raise NotImplementedError

    # ------------------------------------------------------------------ looking back

    def project(self, directory: str | os.PathLike[str]) -> Project:
        """The project whose checkpoints `directory` is about."""
        raise NotImplementedError

    def list_checkpoints(self, directory: str | os.PathLike[str]) -> list[Checkpoint]:
        """The project's checkpoints, newest first. Starts no child when warm."""
        raise NotImplementedError

    def find(self, directory: str | os.PathLike[str], which: str | int) -> Checkpoint:
        """A checkpoint by its number in the list (from 1) or by an id of at least 4 characters.

        Raises `CheckpointNotFound` with what there is.
        """
        raise NotImplementedError

    def diff(
        self,
        directory: str | os.PathLike[str],
        which: str | int,
        *,
        paths: Sequence[str] = (),
        environment: str = "local",
    ) -> Diff:
        """From a checkpoint to the files now, secrets masked."""
        raise NotImplementedError

    def plan(
        self,
        directory: str | os.PathLike[str],
        which: str | int,
        *,
        paths: Sequence[str] = (),
        keep_edits: bool = True,
        environment: str = "local",
    ) -> Plan:
        """What `restore` would do; changes nothing."""
        raise NotImplementedError

    def restore(
        self,
        directory: str | os.PathLike[str],
        which: str | int,
        paths: Sequence[str] = (),
        *,
        keep_edits: bool = True,
        busy_ok: bool = False,
        environment: str = "local",
        plan: Plan | None = None,
    ) -> Report:
        """Bring a checkpoint back. `keep_edits=False` overwrites hand-edits too.

        Relative `paths` are relative to `directory`. Raises `CheckpointNotFound`,
        `SelectionError`, `RestoreRefused` (nothing changed). A restore that failed in part returns
        a report with `ok=False`.
        """
        raise NotImplementedError

    def undo(
        self,
        directory: str | os.PathLike[str],
        *,
        busy_ok: bool = False,
        environment: str = "local",
    ) -> Report:
        """Take back the last rollback; again walks further back."""
        raise NotImplementedError

    # ------------------------------------------------------------------ housekeeping

    def prune(
        self,
        *,
        retention_days: float | None = None,
        max_total_size_mb: float | None = None,
        delete_orphans: bool = False,
        dry_run: bool = False,
    ) -> Any:
        """Apply retention and the caps now, and reclaim."""
        raise NotImplementedError

    def compact(self) -> Upkeep:
        """Upkeep of the store, off the tool path."""
        raise NotImplementedError

    def status(self) -> Any:
        """What the store holds, what is wrong, what is protected."""
        raise NotImplementedError

    def verify(self, *, read_data: bool = False, fix: bool = False) -> Any:
        """Is the store sound; what is wrong."""
        raise NotImplementedError

    def close(self) -> None:
        """End the session; finish what is due."""
        raise NotImplementedError
