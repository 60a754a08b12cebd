"""Google ADK: a plugin that sees the tool calls of every agent of an app, and sessions rewound.

    app = App(name="app", root_agent=agent, plugins=[CheckpointPlugin(manager)])
    runner = Runner(app=app, session_service=sessions)

    reply = hc.RollbackCommand(manager).run("/rollback 1", cwd=root, session_id=session_id)
    await drop_turns(runner, user_id, session_id, reply.drop_turns)

The session is ADK's session, the turn its invocation. An `AgentTool` runs its agent in a session of
its own; what that agent calls belongs to the turn of the call.
"""

from __future__ import annotations

import os
from typing import Any

import hermes_checkpoints as hc

from ._common import OpenCalls, begin_turn, needs

with needs("adk"):
    from google.adk.plugins.base_plugin import BasePlugin

__all__ = ["CheckpointPlugin", "drop_turns"]


class CheckpointPlugin(BasePlugin):
    """Protects the tool calls of an app.

    `cwd` is where the tools resolve relative paths (default: the manager's), `environment` where
    they act, as in `hc.ToolCall`.
    """

    def __init__(
        self,
        manager: hc.CheckpointManager,
        *,
        cwd: str | os.PathLike[str] | None = None,
        environment: str = "local",
    ) -> None:
        super().__init__(name="hermes_checkpoints")
        self.manager = manager
        self._cwd = os.fspath(cwd) if cwd is not None else None
        self._environment = environment
        self._calls = OpenCalls(manager)

    async def on_user_message_callback(self, *, invocation_context: Any, user_message: Any) -> Any:
        """A turn begins."""
        begin_turn(self.manager, invocation_context.invocation_id, invocation_context.session.id)

    async def before_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any
    ) -> Any:
        """Protect a tool call. With `on_failure: block` a refusal is the tool's result."""
        call = hc.ToolCall(
            tool.name,
            tool_args,
            cwd=self._cwd,
            session_id=tool_context.session.id,
            turn_id=tool_context.invocation_id,
            environment=self._environment,
        )
        try:
            await self._calls.abegin(_key(tool_context), call)
        except hc.NotProtected as error:
            return {"error": str(error)}
        return None

    async def after_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, result: Any
    ) -> Any:
        """Record what a tool call has changed."""
        await self._calls.aend(_key(tool_context))

    async def on_tool_error_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, error: Exception
    ) -> Any:
        """Record what a tool that raised has changed; the error goes on."""
        await self._calls.aend(_key(tool_context))

    async def after_run_callback(self, *, invocation_context: Any) -> None:
        """End the calls whose end another plugin has kept from this one."""
        for key in self._calls.still_open():
            if isinstance(key, tuple) and key[0] == invocation_context.invocation_id:
                await self._calls.aend(key)


def _key(tool_context: Any) -> tuple[str, str]:
    return tool_context.invocation_id, tool_context.function_call_id


async def drop_turns(runner: Any, user_id: str, session_id: str, turns: int) -> str:
    """Rewind a session by its last turns, as `reply.drop_turns` says.

    Returns the invocation that was rewound to, empty for none. ADK appends a marker and cuts the
    history that a model is shown; state and artifacts go back as well.
    """
    session = await runner.session_service.get_session(
        app_name=runner.app_name, user_id=user_id, session_id=session_id
    )
    invocations = _invocations(session.events)
    if not turns or not invocations:
        return ""
    first = invocations[-min(turns, len(invocations))]
    await runner.rewind_async(
        user_id=user_id, session_id=session_id, rewind_before_invocation_id=first
    )
    return first


def _invocations(events: list[Any]) -> list[str]:
    """The invocations that are in force, that is, those that no rewind has taken back."""
    found: list[str] = []
    for event in events:
        rewound = getattr(event.actions, "rewind_before_invocation_id", None)
        if rewound in found:
            del found[found.index(rewound) :]
        elif not rewound and event.author == "user" and event.invocation_id not in found:
            found.append(event.invocation_id)
    return found
