"""The one object a host holds: turns, checkpoints, rollback, upkeep.

Thin: it wires the parts together and delegates. What one tool call needs is in `calls`, what a
rollback needs in `recovery`, upkeep in `housekeeping`.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hermes_checkpoints.books import Books
from hermes_checkpoints.calls import Calls, Protected
from hermes_checkpoints.config import HERMES, Config, HostProfile
from hermes_checkpoints.errors import (
    CheckpointError,
    CheckpointNotFound,
    NotProtected,
    RestoreRefused,
)
from hermes_checkpoints.intent import command_rules, intent_of, is_sandbox
from hermes_checkpoints.links import Links
from hermes_checkpoints.pace import hurried
from hermes_checkpoints.project import contains, find_project, project_at, relative_path
from hermes_checkpoints.records import (
    AlreadyTaken,
    Checkpoint,
    Failed,
    Outcome,
    Plan,
    Project,
    Report,
    Skipped,
    Taken,
    ToolCall,
    Unchanged,
)
from hermes_checkpoints.registry import ToolRegistry
from hermes_checkpoints.tickets import Ticket, Tickets
from hermes_checkpoints.turns import Scope, Turns, new_id

if TYPE_CHECKING:
    from hermes_checkpoints.housekeeping import Housekeeping, PruneResult, Status
    from hermes_checkpoints.linked import LinkedRecovery
    from hermes_checkpoints.stores.base import Diff, Problem, ProjectRecord, Store, Upkeep

__all__ = ["CheckpointManager", "Guard", "active_manager", "sandbox_refusal"]

_log = logging.getLogger("hermes_checkpoints")

_active: ContextVar[CheckpointManager | None] = ContextVar(
    "hermes_checkpoints_manager", default=None
)


# Some hosts run tools in threads that do not inherit the context: there the last one counts.
_activated: list[CheckpointManager] = []


def active_manager() -> CheckpointManager | None:
    """The manager that `activate` put into the current context, else the last one in force."""
    return _active.get() or next(reversed(_activated), None)


class Guard:
    """Around one tool call: `with` or `async with`. Made by `CheckpointManager.guard`.

    Entering protects (off the event loop in `async with`), leaving records what the call changed;
    an exception of the call passes through. Entering raises only with `on_failure: block`.
    `outcome` tells what came of the protection.
    """

    def __init__(self, manager: CheckpointManager, call: ToolCall) -> None:
        self._manager = manager
        self._call = call
        self._ticket: Ticket | None = None
        self._abandoned = False
        self._lock = threading.Lock()
        self.outcome: Outcome = Skipped("the call changes no files")

    def __enter__(self) -> Guard:
        self._begin()
        self._own(add=True)
        return self

    def __exit__(self, *exc: object) -> None:
        self._own(add=False)
        self._end()

    async def __aenter__(self) -> Guard:
        import asyncio  # 60 ms that a hook's process does not have

        try:
            await asyncio.to_thread(self._begin)
        except asyncio.CancelledError:
            self._abandon()
            raise
        self._own(add=True)
        return self

    async def __aexit__(self, *exc: object) -> None:
        import asyncio

        self._own(add=False)
        await asyncio.shield(asyncio.ensure_future(asyncio.to_thread(self._end)))

    def _begin(self) -> None:
        ticket = self._manager._begin(self._call)
        if ticket is None:
            return
        with self._lock:
            self.outcome, self._ticket = ticket.outcome, ticket
            abandoned = self._abandoned
        if abandoned:
            self._end()

    def _abandon(self) -> None:
        """The call was cancelled while a thread protects it: whoever comes second ends it."""
        with self._lock:
            self._abandoned = True
        self._end()

    def _end(self) -> None:
        with self._lock:
            ticket, self._ticket = self._ticket, None
        if ticket is not None:
            self._manager._end(ticket)

    def _own(self, *, add: bool) -> None:
        if self._ticket is not None:
            uid = frozenset({self._ticket.uid})
            _own_calls.set(_own_calls.get() | uid if add else _own_calls.get() - uid)


_own_calls: ContextVar[frozenset[str]] = ContextVar(
    "hermes_checkpoints_own_calls", default=frozenset()
)


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
        registry: ToolRegistry | None = None,
        on_notice: Callable[[str], None] | None = None,
        on_rollback: Callable[[Report], None] | None = None,
        owner_pid: int | None = None,
    ) -> None:
        self.config = config or Config()
        self.session_id = session_id or new_id()
        self.registry = registry or ToolRegistry()
        self.books = Books(self.config.base_path)
        self.on_rollback = on_rollback
        self._cwd = os.path.abspath(cwd) if cwd is not None else None
        self._on_notice = on_notice
        self._is_hook = owner_pid is not None  # then a tool is waiting for the end of this process
        self._notices: set[tuple[str, str]] = set()
        self._notice_lock = threading.Lock()
        self._turns = Turns(self.session_id)
        self._store = store
        self._store_lock = threading.Lock()
        self._rules = command_rules(self.config)
        self._tickets = Tickets(self.config.base_path / "store" / "calls")
        self._open: dict[tuple[str, str], Ticket] = {}
        self._closed: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._calls = Calls(
            store=lambda: self.store,
            books=self.books,
            config=self.config,
            notice=self._notice,
            taken=self._trim,
            owner_pid=owner_pid,
        )
        self._housekeeping: Housekeeping | None = None
        if self.config.auto_prune and self.config.base_path.is_dir():
            self.housekeeping.start_up()

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
        return cls(Config.from_file(path, host=host, enabled=enabled), **options)

    def __enter__(self) -> CheckpointManager:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # ------------------------------------------------------------------ parts

    @property
    def store(self) -> Store:
        """The store, opened at first use. Raises `StoreUnavailable` or `ConfigError`."""
        with self._store_lock:
            if self._store is None:
                from hermes_checkpoints.stores import open_store

                self._store = open_store(self.config)
            return self._store

    @property
    def housekeeping(self) -> Housekeeping:
        """Retention, status and the sweep."""
        if self._housekeeping is None:
            from hermes_checkpoints.housekeeping import Housekeeping

            self._housekeeping = Housekeeping(
                store=lambda: self.store, books=self.books, config=self.config
            )
        return self._housekeeping

    @property
    def recovery(self) -> LinkedRecovery:
        """Plans, restores and undoes."""
        from hermes_checkpoints.linked import LinkedRecovery
        from hermes_checkpoints.recovery import Recovery

        return LinkedRecovery(Recovery(store=self.store, books=self.books, config=self.config))

    @property
    def cwd(self) -> str:
        """The session's working directory."""
        if self._cwd is not None:
            return self._cwd
        try:
            return os.getcwd()
        except OSError:  # it was deleted under the process
            return os.sep

    # ------------------------------------------------------------------ turns and calls

    def new_turn(self, turn_id: str | None = None, *, session_id: str | None = None) -> str:
        """Begin a turn: one user message. The same id again is the same turn; none: a new one."""
        if self._housekeeping is not None:
            self._housekeeping.background.after_turn()
        return self._turns.begin(turn_id, session_id)

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
        with self._turns.scope(turn_id, session_id, cwd) as turn:
            yield turn
        if self._housekeeping is not None:
            self._housekeeping.background.after_turn()

    @contextmanager
    def session(self, session_id: str | None) -> Iterator[str]:
        """Speak for another session than the manager's own, in the turn it is in; `None`: no."""
        if session_id is None:
            yield self._turns.of().session
            return
        turn = self._turns.of(ToolCall("", session_id=session_id)).turn
        with self._turns.scope(turn, session_id, None):
            yield session_id

    @contextmanager
    def activate(self) -> Iterator[CheckpointManager]:
        """Make this the manager of decorators that were given none."""
        token = _active.set(self)
        _activated.append(self)
        try:
            yield self
        finally:
            _activated.remove(self)
            _active.reset(token)

    def guard(self, call: ToolCall) -> Guard:
        """Protect and record one tool call. What every adapter uses."""
        return Guard(self, call)

    def before(self, call: ToolCall) -> Outcome:
        """The first half of a guard, for hosts whose hooks come in two. Idempotent per `call_id`.

        Needs a `call_id` to be ended by `after`. An id that is open or has ended does nothing.
        """
        session = self._turns.of(call).session
        key = (session, call.call_id)
        if key in self._closed:
            return Skipped(f"call {call.call_id} has ended")
        if key in self._open or self._tickets.has(session, call.call_id):
            return self._open[key].outcome if key in self._open else AlreadyTaken()
        ticket = self._begin(call)
        if ticket is None:
            return Skipped("the call changes no files")
        try:
            self._tickets.put(session, call.call_id, ticket)
        except FileExistsError:  # a hook that is installed twice; one of them is enough
            self._end(ticket, record=False)
            return AlreadyTaken()
        except OSError:
            pass  # not writable: then `after` must come to this process
        return ticket.outcome

    def after(self, call_id: str, *, session_id: str | None = None) -> None:
        """The second half. A `call_id` that was not begun, or has ended, does nothing."""
        session = session_id or self._turns.of().session
        stored = self._tickets.take(session, call_id)
        ticket = self._open.get((session, call_id)) or stored
        if ticket is not None:
            self._end(ticket)

    def settle(self, session_id: str | None = None, *, record: bool = False) -> None:
        """End what calls of a session are left without an `after`: denied, cut off, failed unsaid.

        What changed since they began counts as theirs only with `record`; else a person may have
        done it.
        """
        session = session_id or self._turns.of().session
        left = {t.uid: t for t in self._tickets.take_all(session)}
        left.update((t.uid, t) for (s, _), t in self._open.items() if s == session)
        for ticket in left.values():
            self._end(ticket, record=record)

    def _begin(self, call: ToolCall) -> Ticket | None:
        """Protect a call; `None` where there is nothing to do or the same call is open already."""
        if not self.config.enabled or is_sandbox(call.environment):
            return None
        scope = self._turns.of(call)
        key = (scope.session, call.call_id)
        if call.call_id and key in self._open:
            return None
        try:
            resolved = self.registry.resolve(call, unknown_tools=self.config.unknown_tools)
            cwd = os.path.join(scope.cwd or self.cwd, os.path.expanduser(resolved.cwd or ""))
            parser = self.config.parser
            intent = intent_of(resolved, os.path.realpath(cwd), rules=self._rules, parser=parser)
            if intent is None:
                return None
            uid = new_id()
            session_scope = Scope(scope.session, scope.turn, scope.cwd or self.cwd)
            ticket = Ticket(
                uid,
                session_scope,
                intent.reason().removeprefix("before "),
                tuple(self._calls.protect(intent, session_scope, uid)),
            )
        except Exception as error:  # noqa: BLE001  # the tool must run whatever happens here
            self._notice(None, f"call {call.name}", f"{call.name} runs unprotected: {error}")
            self._blocked(call, [str(error)])
            return None
        if call.call_id:
            self._open[key] = ticket
        try:
            self._blocked(call, _unheld(ticket.protected))
        except NotProtected:
            self._end(ticket)
            raise
        return ticket

    def _end(self, ticket: Ticket, *, record: bool = True) -> None:
        with ExitStack() as ends:  # each project is ended, whatever becomes of another
            ends.callback(self._forget, ticket)
            for protected in ticket.protected:
                ends.callback(
                    self._calls.attribute,
                    protected,
                    ticket.scope,
                    ticket.uid,
                    ticket.tool,
                    record=record,
                )
        if self._housekeeping is not None:
            self._housekeeping.background.after_call()

    def _forget(self, ticket: Ticket) -> None:
        for key in [k for k, t in self._open.items() if t is ticket]:
            del self._open[key]
            self._closed[key] = None
            if len(self._closed) > _CLOSED_KEPT:
                self._closed.popitem(last=False)

    def _blocked(self, call: ToolCall, why: list[str]) -> None:
        if why and self.config.on_failure == "block":
            raise NotProtected(
                f"{call.name} was not run, because what it can destroy is not held: "
                + "; ".join(why),
                hint="mend what is named, or set checkpoints.on_failure to continue",
            )

    def wrap(self, tools: Iterable[Any], *, read_only: Sequence[str] = ()) -> list[Any]:
        """Decorate functions by what the registry knows of their names."""
        from hermes_checkpoints.middleware import wrap_tools

        return wrap_tools(tools, manager=self, read_only=read_only)

    @hurried
    def ensure_checkpoint(self, directory: str | os.PathLike[str], reason: str = "auto") -> Outcome:
        """The turn's checkpoint of the project at `directory`, taken now if it is not yet."""
        if not self.config.enabled:
            return Skipped("checkpoints are off")
        scope = self._turns.of()
        project = find_project(os.path.join(self.cwd, directory), cwd=scope.cwd or self.cwd)
        return self._calls.ensure(project, reason, scope)

    @hurried
    def snapshot(self, directory: str | os.PathLike[str], reason: str, label: str = "") -> Outcome:
        """A checkpoint at a person's wish, whatever the turn has; a label pins it."""
        project = self.project(directory)
        try:
            return self._snapshot(project, reason, label)
        except CheckpointError as error:
            return Failed(error)

    def _snapshot(self, project: Project, reason: str, label: str) -> Outcome:
        with self.store.lock(project):
            seen = self.store.observe(project, self.config.capture_rules)
            labels = {"Session": self.session_id, "Tool": "snapshot"}
            links = Links(self.store, self.books, self.config)
            made = links.capture(project, seen, reason=reason, labels=labels)
            newest = made or next(iter(self.store.list(project)), None)
            if label and newest is not None:
                self.store.pin(project, newest.id, label)
        if made is None:
            return Unchanged(newest)
        self._trim(project)
        return Taken(made)

    def end_session(self, session_id: str | None = None) -> None:
        """Say that a session has ended: its writes count as ours from now on."""
        self._calls.end_session(session_id or self.session_id)

    # ------------------------------------------------------------------ looking back

    def project(self, directory: str | os.PathLike[str]) -> Project:
        """The project whose checkpoints `directory` is about.

        The one tools use there; where that has none, the nearest directory above that has. A
        project's own directory that was deleted, or made anew since, is about what it held.
        """
        place = self._place(directory)
        cwd = self._turns.of().cwd or self.cwd
        found = find_project(place, cwd=cwd) if os.path.isdir(place) else project_at(place)
        known = {r.project.root: r for r in self.store.projects() if r.checkpoints}
        own = known.get(place)
        if own is not None and own.project.root != found.root and self._is_gone(own, found):
            return own.project
        if found.root in known:
            # What was captured whole is rolled back as a whole, though its marker may be gone.
            recorded = known[found.root].project
            return recorded if recorded.whole else found
        around = [root for root in known if contains(root, place)]
        return known[max(around, key=len)].project if around else found

    def _is_gone(self, own: ProjectRecord, around: Project) -> bool:
        """Whether a project lies in another now because it was deleted, or lost its `.git`."""
        name = relative_path(around, own.project.root)
        newest = next(iter(self.store.list(around)), None)
        return _is_another(own) or (newest is not None and name in newest.nested)

    def other_histories(self, directory: str | os.PathLike[str]) -> list[ProjectRecord]:
        """Projects around `directory`, beside its own, that have checkpoints: by id they serve."""
        place, own = self._place(directory), self.project(directory)
        return [
            record
            for record in self.store.projects()
            if record.checkpoints
            and record.project.id != own.id
            and contains(record.project.root, place)
        ]

    def _place(self, directory: str | os.PathLike[str]) -> str:
        return os.path.realpath(os.path.join(self.cwd, os.path.expanduser(directory)))

    @hurried
    def list_checkpoints(self, directory: str | os.PathLike[str]) -> list[Checkpoint]:
        """The project's checkpoints, newest first. Starts no child when warm."""
        return list(self.store.list(self.project(directory), counts=True))

    def find(self, directory: str | os.PathLike[str], which: str | int) -> Checkpoint:
        """A checkpoint by its number in the list (from 1) or by an id of at least 4 characters.

        Raises `CheckpointNotFound` with what there is.
        """
        return self._locate(directory, which)[1]

    def _locate(
        self, directory: str | os.PathLike[str], which: str | int
    ) -> tuple[Project, Checkpoint]:
        """A checkpoint and its project: an id may be one of another history around here."""
        project = self.project(directory)
        name = str(which)
        listed = self.store.list(project)
        if name.isascii() and name.isdigit() and (int(name) <= len(listed) or len(name) < 4):
            if 1 <= int(name) <= len(listed):
                return project, listed[int(name) - 1]
            there = f"1 to {len(listed)}" if listed else "none"
            raise CheckpointNotFound(
                f"there is no checkpoint {name} of {project.root}; there are {there}",
                hint="/rollback lists them",
            )
        try:
            return project, self.store.get(project, name)
        except CheckpointNotFound:
            for record in self.other_histories(directory):
                with suppress(CheckpointNotFound):
                    return record.project, self.store.get(record.project, name)
            raise

    @hurried
    def diff(
        self,
        directory: str | os.PathLike[str],
        which: str | int,
        *,
        paths: Sequence[str] = (),
        environment: str = "local",
    ) -> Diff:
        """From a checkpoint to the files now, secrets masked."""
        self._refuse_sandbox(environment)
        from hermes_checkpoints.comparison import compare

        project, checkpoint = self._locate(directory, which)
        base = os.path.join(self.cwd, directory)
        inside = [relative_path(project, os.path.join(base, p)) or p for p in paths]
        return compare(self.store, self.config, project, checkpoint, inside)

    @hurried
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
        self._refuse_sandbox(environment)
        project, checkpoint = self._locate(directory, which)
        return self.recovery.plan(
            project,
            checkpoint,
            paths=paths,
            base_dir=os.path.join(self.cwd, directory),
            keep_edits=keep_edits,
            session=self._turns.of().session,
        )

    @hurried
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
        chat: bool = True,
    ) -> Report:
        """Bring a checkpoint back. `keep_edits=False` overwrites hand-edits too.

        Relative `paths` are relative to `directory`. With a `plan`, exactly that one. Without
        `chat` the report tells the host to drop no turn. Raises `CheckpointNotFound`,
        `SelectionError`, `RestoreRefused` (nothing changed). A restore that failed in part returns
        a report with `ok=False`.
        """
        self._refuse_sandbox(environment)
        project, checkpoint = self._locate(directory, which)
        scope = self._turns.of()
        report = self.recovery.restore(
            project,
            checkpoint,
            paths=paths,
            base_dir=os.path.join(self.cwd, directory),
            keep_edits=keep_edits,
            session=scope.session,
            turn=scope.turn,
            busy_ok=busy_ok,
            own_calls=_own_calls.get(),
            plan=plan,
        )
        if report.ok and chat and not paths:
            report = replace(report, drop_turns=self._turns_to_drop(checkpoint, scope))
        return self._rolled_back(report)

    def rewind_chat(self, directory: str | os.PathLike[str], which: str | int) -> Report:
        """Go back in the chat only: the report tells the host which turns to drop."""
        project, checkpoint = self._locate(directory, which)
        turns = self._turns_to_drop(checkpoint, self._turns.of())
        return self._rolled_back(Report(True, "chat", project, checkpoint, drop_turns=turns))

    @hurried
    def undo(
        self,
        directory: str | os.PathLike[str],
        *,
        busy_ok: bool = False,
        environment: str = "local",
    ) -> Report:
        """Take back the last rollback; again walks further back."""
        self._refuse_sandbox(environment)
        report = self.recovery.undo(
            self.project(directory),
            session=self._turns.of().session,
            busy_ok=busy_ok,
            own_calls=_own_calls.get(),
        )
        return self._rolled_back(report)

    def _rolled_back(self, report: Report) -> Report:
        self._turns.drop(self._turns.of().session, report.drop_turns)  # the host does the same
        self._trim(report.project)
        if self.on_rollback is not None:
            self.on_rollback(report)
        return report

    def _turns_to_drop(self, checkpoint: Checkpoint, scope: Scope) -> int:
        """This session's turns from the last that the checkpoint served on; 1 if not known."""
        own = checkpoint.turn if checkpoint.session == scope.session else ""
        turns = (self._calls.served(checkpoint, scope.session), own)
        counts = (self._turns.since(scope.session, turn) for turn in turns if turn)
        return next((count for count in counts if count), 1)

    def _refuse_sandbox(self, environment: str) -> None:
        if is_sandbox(environment):
            raise RestoreRefused(sandbox_refusal(environment))

    # ------------------------------------------------------------------ housekeeping

    def prune(
        self,
        *,
        retention_days: float | None = None,
        max_total_size_mb: float | None = None,
        delete_orphans: bool = False,
        dry_run: bool = False,
    ) -> PruneResult:
        """Apply retention and the caps now, and reclaim."""
        return self.housekeeping.prune(
            retention_days=retention_days,
            max_total_size_mb=max_total_size_mb,
            delete_orphans=delete_orphans,
            dry_run=dry_run,
        )

    def compact(self) -> Upkeep:
        """Upkeep of the store, off the tool path."""
        return self.store.compact()

    def status(self) -> Status:
        """What the store holds, what is wrong, what is protected."""
        return self.housekeeping.status()

    def verify(self, *, read_data: bool = False, fix: bool = False) -> Sequence[Problem]:
        """Is the store sound; what is wrong."""
        return self.store.verify(read_data=read_data, fix=fix)

    def close(self) -> None:
        """End the session; finish what is due."""
        if self._calls.began(self.session_id):
            self._calls.end_session(self.session_id)
        if self._housekeeping is not None and not self._is_hook:
            self._housekeeping.background.close()
        if self._store is not None:
            self._store.close()

    # ------------------------------------------------------------------ small parts

    def _trim(self, project: Project) -> None:
        self.housekeeping.trim(project)

    def _notice(self, project: Project | None, kind: str, text: str) -> None:
        """Tell the host that protection is off or limited, once per project and kind."""
        if kind == "failed" and project is not None:
            self.housekeeping.note_failure(project, text)
        with self._notice_lock:
            key = (project.id if project else "", kind)
            if key in self._notices:
                return
            self._notices.add(key)
        _log.debug("%s", text)
        if self._on_notice is not None:
            try:
                self._on_notice(text)
            except Exception:  # noqa: BLE001  # a host's trouble must not reach the tool
                _log.debug("on_notice failed", exc_info=True)


_CLOSED_KEPT = 1024


def _is_another(record: ProjectRecord) -> bool:
    """Whether a project's directory is gone, or was made anew since it was captured."""
    try:
        info = os.stat(record.project.root)
    except OSError:
        return True
    return bool(record.inode) and record.inode != info.st_ino


def sandbox_refusal(environment: str) -> str:
    """Why rollback is refused for a tool that acts in a sandbox; hosts may give the same reason."""
    return (
        f"the agent's files are in a {environment} environment, and checkpoints hold only files of "
        "this machine, so there is nothing here to compare or to bring back"
    )


def _unheld(protected: Iterable[Protected]) -> list[str]:
    """What of a call's targets is not held, as sentences."""
    why = []
    for one in protected:
        if isinstance(one.outcome, (Failed, Skipped)):
            why.append(one.outcome.why)
        why.extend(f"{g.path}: {g.detail or g.reason.value}" for g in one.unheld)
    return why
