"""Microsoft agent-framework: middleware around runs and tool calls, and sessions cut back.

    agent = Agent(client=client, tools=tools, middleware=checkpoint_middleware(manager))
    session = agent.create_session()
    await agent.run(text, session=session)

    reply = hc.RollbackCommand(manager).run("/rollback 1", cwd=root, session_id=session.session_id)
    drop_turns(session, reply.drop_turns)

The session is the framework's session, a turn is one run. An agent used as a tool writes in the
turn of its caller, if it has the middleware as well.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import hermes_checkpoints as hc

from ._common import Latest, needs, scope

with needs("agent-framework"):
    from agent_framework import AgentMiddleware, FunctionMiddleware

__all__ = ["checkpoint_middleware", "drop_turns"]


def checkpoint_middleware(
    manager: hc.CheckpointManager,
    *,
    cwd: str | os.PathLike[str] | None = None,
    environment: str = "local",
) -> list[Any]:
    """What an agent's `middleware` needs: one part for runs, one for tool calls.

    Put them last, next to the tool. `cwd` is where the tools resolve relative paths (default: the
    manager's), `environment` where they act, as in `hc.ToolCall`.
    """
    place = os.fspath(cwd) if cwd is not None else None
    guarded = _Guarded(manager, place, environment)
    return [_Runs(guarded), _Calls(guarded)]


@dataclass(frozen=True)
class _Guarded:
    """What both parts share; `turns` has the turn of each session's last run."""

    manager: hc.CheckpointManager
    cwd: str | None
    environment: str
    turns: Latest[str] = field(default_factory=Latest)

    def call(self, context: Any) -> hc.ToolCall:
        """A tool call as the library sees it."""
        session = _session(context)
        return hc.ToolCall(
            context.function.name,
            dict(context.arguments),
            cwd=self.cwd,
            session_id=session,
            turn_id=self.turns.get(session, ""),
            call_id=str(context.metadata.get("call_id") or ""),
            environment=self.environment,
        )


class _Runs(AgentMiddleware):
    def __init__(self, guarded: _Guarded) -> None:
        self._guarded = guarded

    async def process(self, context: Any, call_next: Callable[[], Awaitable[None]]) -> None:
        """A run is a turn. A streamed one goes on when this has returned, in the same turn."""
        session = _session(context)
        with self._guarded.manager.turn(session_id=session or None) as turn:
            self._guarded.turns[session] = turn
            await call_next()


class _Calls(FunctionMiddleware):
    def __init__(self, guarded: _Guarded) -> None:
        self._guarded = guarded

    async def process(self, context: Any, call_next: Callable[[], Awaitable[None]]) -> None:
        """Protect a tool call; what it raises becomes a result only outside of here."""
        call = self._guarded.call(context)
        with scope(self._guarded.manager, call):
            async with self._guarded.manager.guard(call):
                await call_next()


def _session(context: Any) -> str:
    return str(getattr(getattr(context, "session", None), "session_id", None) or "")


def drop_turns(session: Any, turns: int) -> int:
    """Drop the last turns of a session, as `reply.drop_turns` says; returns how many messages went.

    Works for history that is kept in the session's state; what a service keeps stays there.
    """
    count = 0
    for state in session.state.values():
        messages = state.get("messages") if isinstance(state, dict) else None
        starts = [at for at, m in enumerate(messages or ()) if _is_person(m)]
        if messages and starts and turns:
            first = starts[-min(turns, len(starts))]
            count += len(messages) - first
            del messages[first:]
    return count


def _is_person(message: Any) -> bool:
    """Whether a message is the person's word, and not an approval in the user's name."""
    role = getattr(message.role, "value", message.role)
    return bool(role == "user" and message.text)
