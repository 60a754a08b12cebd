"""Hermes Agent: a plugin with hooks, `/checkpoint`, `/rewind` and `hermes checkpoint …`.

    pip install hermes-checkpoints          # in Hermes' environment; then in config.yaml:

    plugins:
      enabled: [hermes-checkpoints]

Hermes refuses plugins that take the names of its own commands, hence `/rewind` for `/rollback`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

import hermes_checkpoints as hc

__all__ = ["Plugin", "register"]

_log = logging.getLogger(__name__)


def register(ctx: Any) -> None:
    """What Hermes calls when it loads the plugin."""
    # Listing the plugin is the opt-in; the file's `enabled: false` still switches it off.
    config = hc.Config.from_file(host=hc.HERMES, default_enabled=True)
    if not config.enabled:
        _log.warning("hermes-checkpoints is off: %s says `enabled: false`", config.source)
    Plugin(hc.CheckpointManager(config, on_notice=_log.warning)).mount(ctx)


class Plugin:
    """The plugin's callbacks for one Hermes process, which may serve many sessions."""

    def __init__(self, manager: hc.CheckpointManager) -> None:
        self.manager = manager
        self._roots: dict[str, tuple[str, str]] = {}

    def mount(self, ctx: Any) -> None:
        """Register everything with Hermes' plugin context."""
        ctx.register_hook("pre_tool_call", self.before)
        ctx.register_hook("post_tool_call", self.after)
        ctx.register_hook("subagent_start", self.sub_agent)
        ctx.register_hook("on_session_finalize", self.session_over)
        ctx.register_command(
            "rewind", self.rewind, "Bring files back to a checkpoint", "[N] [path] | diff N | undo"
        )
        ctx.register_command("checkpoint", self.checkpoint, "Take a checkpoint now", "[reason]")
        ctx.register_cli_command(
            "checkpoint", "Checkpoints and their store", _mount_commands, _run_command
        )

    # ------------------------------------------------------------------ hooks

    def before(
        self,
        tool_name: str = "",
        args: Mapping[str, Any] | None = None,
        session_id: str = "",
        turn_id: str = "",
        task_id: str = "",
        **ids: Any,
    ) -> dict[str, str] | None:
        """Protect a call; Hermes is told to block it only where `on_failure` says so."""
        session, turn = self._root(session_id, turn_id)
        call = hc.ToolCall(
            tool_name,
            args or {},
            cwd=_directory(task_id),
            session_id=session,
            turn_id=turn,
            call_id=_call_id(tool_name, ids),
            environment=_environment(),
            native_ids=True,
        )
        try:
            self.manager.before(call)
        except hc.NotProtected as error:
            return {"action": "block", "message": str(error)}
        return None

    def after(self, tool_name: str = "", session_id: str = "", **ids: Any) -> None:
        """Record what a call changed, whether it went well or not."""
        session, _ = self._root(session_id, "")
        self.manager.after(_call_id(tool_name, ids), session_id=session)

    def sub_agent(
        self,
        parent_session_id: str = "",
        parent_turn_id: str = "",
        child_session_id: str = "",
        **_: Any,
    ) -> None:
        """What a sub-agent does, also after the turn returned, is the turn's that started it."""
        self._roots[child_session_id] = self._root(parent_session_id, parent_turn_id)

    def session_over(self, session_id: str | None = None, **_: Any) -> None:
        """The session's calls have ended, seen or not, and its writes are nobody's any more."""
        if session_id:
            self.manager.settle(session_id)
            self.manager.end_session(session_id)

    def _root(self, session: str, turn: str) -> tuple[str, str]:
        return self._roots.get(session, (session, turn))

    # ------------------------------------------------------------------ commands

    def rewind(self, raw_args: str) -> str:
        """`/rewind`, with everything that `/rollback` takes."""
        place = _directory()
        command = hc.RollbackCommand(self.manager, environment=_environment(), name="/rewind")
        reply = command.run(raw_args, cwd=place, session_id=self._session(place))
        if not reply.drop_turns:
            return reply.text
        return f"{reply.text}\n\nThe chat still knows of it: /undo {reply.drop_turns} drops that."

    def checkpoint(self, raw_args: str) -> str:
        """`/checkpoint [reason]`: take one now, whatever the turn has."""
        outcome = self.manager.snapshot(_directory(), raw_args.strip() or "by hand")
        if isinstance(outcome, hc.Taken):
            return f"Checkpoint {outcome.checkpoint.short_id} is taken."
        if isinstance(outcome, hc.Unchanged):
            return "Nothing has changed since the last checkpoint."
        return f"No checkpoint: {getattr(outcome, 'why', 'this turn has one')}."

    def _session(self, place: str) -> str | None:
        """Whose chat this is: what Hermes says, else whoever worked here last."""
        try:
            from gateway.session_context import (  # type: ignore[import-not-found, unused-ignore]
                get_session_env,
            )
        except ImportError:
            known = ""
        else:
            known = str(get_session_env("HERMES_SESSION_ID") or "")
        if known:
            return self._root(known, "")[0]  # a sub-agent leaves its own name there
        try:
            newest = self.manager.list_checkpoints(place)[:1]
        except hc.CheckpointError:
            return None
        return newest[0].session if newest else None


def _call_id(tool: str, ids: Mapping[str, Any]) -> str:
    """A call's id; models of one's own machine use the same ones in every request."""
    return f"{ids.get('api_request_id', '')} {ids.get('tool_call_id', '')} {tool}"


def _environment() -> str:
    """Where Hermes' tools act: here, or in a container or on another machine."""
    return os.environ.get("TERMINAL_ENV", "").strip().lower() or "local"


def _directory(task_id: str = "default") -> str:
    """Where a task's tools resolve relative paths: a `cd` lasts from one command to the next."""
    try:
        from tools.terminal_tool import (  # type: ignore[import-not-found, unused-ignore]
            get_session_cwd,
        )

        known = get_session_cwd(task_id)
    except (ImportError, LookupError):
        known = None
    configured = os.environ.get("TERMINAL_CWD", "")
    return known or (configured if os.path.isabs(configured) else os.getcwd())


# --------------------------------------------------------------------------- hermes checkpoint …


def _mount_commands(parser: Any) -> None:
    from hermes_checkpoints import cli

    cli.add_arguments(parser, host=hc.HERMES)


def _run_command(args: Any) -> int:
    from hermes_checkpoints import cli

    return cli.run(args)
