"""`hook HOST`: one event of a command-line agent, from standard input, answered on standard output.

A process per event, so what belongs together lies in the store: the turn's checkpoint, the open
call, what the person was told. Says nothing that the host could misread, ends with 0 whatever
happens, and stops a tool only where `on_failure: block` asks for it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_checkpoints.cli.hosts import HOSTS, Answer, Event, Host, Kind
from hermes_checkpoints.errors import CheckpointError, NotProtected

if TYPE_CHECKING:
    from hermes_checkpoints.cli.command import Commands
    from hermes_checkpoints.cli.context import Context
    from hermes_checkpoints.config import Config
    from hermes_checkpoints.manager import CheckpointManager

__all__ = ["answer", "hook", "host_process", "installed_config", "register"]


def register(commands: Commands) -> None:
    """Add the command of this module."""
    about = "answer one event of a command-line agent's hook: JSON in, JSON or nothing out"
    parser = commands.add("hook", hook, about)
    parser.add_argument("agent", metavar="HOST", help=", ".join(HOSTS))


def hook(context: Context) -> int:
    """Answer the event on standard input."""
    host = HOSTS.get(context.args.agent)
    if host is None:
        known = ", ".join(HOSTS)
        context.out.note(f"There are no hooks for {context.args.agent}; there are for {known}.")
        return 1  # never 2, with which some hosts would block their tools
    try:
        said = _answer(context, host, sys.stdin.buffer.read())
    except Exception as error:  # noqa: BLE001  promise: a hook never keeps a tool from running
        context.out.note(f"hermes-checkpoints: {error}")
        return 0
    if said is not None:
        context.out.text(json.dumps(said))
    return 0


def _answer(context: Context, host: Host, text: bytes) -> Answer | None:
    event = host.read(json.loads(text), os.environ)
    if event is None:
        return None
    try:
        return answer(host, event, installed_config(context), owner_pid=host_process())
    except CheckpointError as error:  # mostly a configuration that can't be used
        said = host.tell(_text(f"hermes-checkpoints: nothing is protected: {error}"))
        if event.kind is not Kind.BEFORE:
            return None
        if said is None:
            raise
        return said


def installed_config(context: Context) -> Config:
    """The configuration, on unless its file says `enabled: false`: the hook was installed."""
    from hermes_checkpoints.config import Config

    args = context.args
    base = {} if args.base is None else {"base": args.base}
    return Config.from_file(args.config, host=args.host, default_enabled=True, **base)


def answer(host: Host, event: Event, config: Config, *, owner_pid: int | None) -> Answer | None:
    """Do what an event asks for, and say what its host is to be told; `None`: nothing.

    `owner_pid` is the host's process. What a person types works also where `config` is off.
    """
    if event.kind is Kind.PROMPT and event.prompt.split()[:1] == ["/rollback"]:
        return _Hook(host, event, config, owner_pid).rollback()
    if not config.enabled or _is_idle(event, config, event.session or host.name):
        return None
    try:
        return _Hook(host, event, config, owner_pid).answer()
    except Exception as error:
        if event.kind is Kind.BEFORE and config.on_failure == "block":
            return host.deny(_text(f"{event.tool} can't be protected: {error}"))
        raise


def _is_idle(event: Event, config: Config, session: str) -> bool:
    """Whether an event asks for nothing, which two looks at the disk tell.

    Most calls only read, and what follows them need not wait for the whole library.
    """
    from hermes_checkpoints.sessions import call_file

    calls = config.base_path / "store" / "calls"
    if event.kind is Kind.AFTER:
        return not call_file(calls, session, event.call).exists()
    if event.kind is Kind.TURN_END or (event.kind is Kind.PROMPT and event.turn):
        nothing_open = not calls.is_dir() or not any(calls.iterdir())
        return nothing_open and not _is_upkeep_due(config)
    return False


class _Hook:
    """One event at work."""

    def __init__(self, host: Host, event: Event, config: Config, owner_pid: int | None) -> None:
        self._host = host
        self._event = event
        self._config = config
        self._owner = owner_pid
        self._session = event.session or host.name
        self._told: list[str] = []
        self._memory = _Memory(config.base_path, self._session)

    def answer(self) -> Answer | None:
        """The answer, once the work is done."""
        do: dict[Kind, Callable[[CheckpointManager], Answer | None]] = {
            Kind.PROMPT: self._prompt,
            Kind.BEFORE: self._before,
            Kind.AFTER: self._after,
            Kind.TURN_END: self._turn_end,
            Kind.SESSION_END: self._session_end,
        }
        with self._manager() as manager:
            said = do[self._event.kind](manager)
        return said or self._notices()

    def rollback(self) -> Answer | None:
        """What a person typed where the host knows no `/rollback`; the model never sees it."""
        from hermes_checkpoints.slash import RollbackCommand

        with self._manager() as manager:
            manager.settle(self._session, record=self._host.failures_unsaid)
            reply = RollbackCommand(manager, environment=self._event.environment).run(
                self._event.prompt, cwd=self._event.cwd, session_id=self._session
            )
        return self._host.swallow(_text(reply.text))

    def _manager(self) -> CheckpointManager:
        from hermes_checkpoints.manager import CheckpointManager

        # Its own session is none of the host's, so that closing it ends nothing. No sweep here:
        # a tool is waiting.
        return CheckpointManager(
            self._config.with_(auto_prune=False),
            cwd=self._event.project or None,
            on_notice=self._told.append,
            owner_pid=self._owner,
        )

    # ------------------------------------------------------------------ events

    def _prompt(self, manager: CheckpointManager) -> None:
        manager.settle(self._session, record=self._host.failures_unsaid)
        if not self._event.turn:
            from hermes_checkpoints.turns import new_id

            self._memory.keep(turn=new_id())
        self._keep_up_if_due()

    def _before(self, manager: CheckpointManager) -> Answer | None:
        from hermes_checkpoints.records import ToolCall

        event = self._event
        call = ToolCall(
            event.tool,
            event.arguments,
            cwd=event.cwd,
            session_id=self._session,
            turn_id=event.turn or self._memory.turn,
            call_id=event.call,
            environment=event.environment,
            native_ids=True,
        )
        try:
            manager.before(call)
        except NotProtected as error:
            return self._host.deny(_text(f"{error} ({error.hint})" if error.hint else str(error)))
        return None

    def _after(self, manager: CheckpointManager) -> None:
        manager.after(self._event.call, session_id=self._session)

    def _turn_end(self, manager: CheckpointManager) -> None:
        manager.settle(self._session, record=self._host.failures_unsaid)
        self._keep_up_if_due()

    def _session_end(self, manager: CheckpointManager) -> None:
        manager.settle(self._session, record=self._host.failures_unsaid)
        for session in (self._session, *manager.books.sessions.dead()):
            manager.settle(session)  # what a host that was killed has left
            manager.end_session(session)
            _Memory(self._config.base_path, session).forget()
        _upkeep_apart(self._config)

    def _keep_up_if_due(self) -> None:
        if _is_upkeep_due(self._config):
            _upkeep_apart(self._config)

    # ------------------------------------------------------------------ words

    def _notices(self) -> Answer | None:
        """What the person is to know and has not been told in this session."""
        new = [text for text in self._told if text not in self._memory.told]
        said = self._host.tell(_text("hermes-checkpoints: " + "\n".join(new))) if new else None
        if said is not None:
            self._memory.keep(told=[*self._memory.told, *new])
        elif new:
            print("hermes-checkpoints: " + "\n".join(new), file=sys.stderr)
        return said


class _Memory:
    """What one session's hooks must know of each other, in a small file beside the store."""

    def __init__(self, base: Path, session: str) -> None:
        from hermes_checkpoints.sessions import file_name

        self._file = base / "store" / "hooks" / f"{file_name(session)}.json"
        self._kept: dict[str, Any] | None = None

    @property
    def turn(self) -> str:
        """The running turn of a host that has no ids for turns."""
        return str(self._read().get("turn", ""))

    @property
    def told(self) -> list[str]:
        """What the person was told."""
        told = self._read().get("told", [])
        return told if isinstance(told, list) else []

    def keep(self, **values: Any) -> None:
        from hermes_checkpoints.sessions import write_private

        self._kept = {**self._read(), **values}
        try:
            write_private(self._file, json.dumps(self._kept))
        except OSError:
            pass  # the store is not writable, and that is said each time then

    def forget(self) -> None:
        self._file.unlink(missing_ok=True)

    def _read(self) -> dict[str, Any]:
        if self._kept is None:
            try:
                found = json.loads(self._file.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                found = {}
            self._kept = found if isinstance(found, dict) else {}
        return self._kept


def _text(text: str) -> str:
    """Text that every JSON parser takes: no half of a surrogate pair."""
    return text.encode("utf-8", "replace").decode("utf-8")


# --------------------------------------------------------------------------- processes


_SHELLS = frozenset(["sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "busybox"])


def host_process() -> int:
    """The process of the host: our parent, or its nearest ancestor that is no shell.

    Claude Code 2.1 starts hooks through a shell, which is gone when the hook has ended; a session
    that it owned would count as ended at once.
    """
    pid = os.getppid()
    for _ in range(4):
        name, parent = _name_and_parent(pid)
        if name not in _SHELLS or parent <= 1:
            break
        pid = parent
    return pid


def _name_and_parent(pid: int) -> tuple[str, int]:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "", 0  # no /proc: the parent has to do
    name = text[text.index("(") + 1 : text.rindex(")")]
    return name, int(text.rpartition(")")[2].split()[1])


def _is_upkeep_due(config: Config) -> bool:
    from hermes_checkpoints.background import is_due

    store = config.base_path / "store"
    return is_due(store / "upkeep") and store.is_dir()


def _upkeep_apart(config: Config) -> None:
    """What a manager does at start-up and at its end, in a process that nobody waits for."""
    if not hasattr(os, "fork") or os.fork():
        return
    try:
        os.setsid()
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        _keep_up(config)
    finally:
        os._exit(0)


def _keep_up(config: Config) -> None:
    from hermes_checkpoints.housekeeping import Housekeeping
    from hermes_checkpoints.manager import CheckpointManager

    with CheckpointManager(config.with_(auto_prune=False)) as manager:
        house = Housekeeping(store=lambda: manager.store, books=manager.books, config=config)
        thread = house.start_up()
        if thread is not None:
            thread.join()
        if house.has_store:
            house.background.now()
