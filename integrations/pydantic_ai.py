"""pydantic-ai 2.x: a capability around runs and tool calls, a toolset, and histories cut by run.

    agent = Agent(model, toolsets=[files], capabilities=[CheckpointCapability(manager)])
    result = await agent.run(text, message_history=history)

    reply = hc.RollbackCommand(manager).run("/rollback 1", cwd=root, session_id=conversation_id)
    history = drop_turns(result.all_messages(), reply.drop_turns)

The session is the `conversation_id`, the turn the `run_id`. A capability belongs to one agent; what
other agents call inside its run belongs to its turn, and is protected where they have a capability
of their own or share a `CheckpointToolset`.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import hermes_checkpoints as hc

from ._common import Latest, needs, scope

with needs("pydantic-ai"):
    from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
    from pydantic_ai.messages import UserPromptPart
    from pydantic_ai.toolsets import WrapperToolset

__all__ = ["CheckpointCapability", "CheckpointToolset", "drop_turns"]


class CheckpointCapability(AbstractCapability):  # type: ignore[type-arg,unused-ignore]
    """Protects the tool calls of an agent, each run being a turn.

    `cwd` is where the tools resolve relative paths (default: the manager's), `environment` where
    they act, as in `hc.ToolCall`. Tools of the model's provider are out of reach.
    """

    def __init__(
        self,
        manager: hc.CheckpointManager,
        *,
        cwd: str | os.PathLike[str] | None = None,
        environment: str = "local",
    ) -> None:
        self.manager = manager
        self._cwd = cwd
        self._environment = environment
        self._turns: Latest[str] = Latest()

    def get_ordering(self) -> Any:
        """Next to the tool, where its arguments are what they will be."""
        return CapabilityOrdering(position="innermost")

    async def wrap_run(self, ctx: Any, *, handler: Callable[[], Awaitable[Any]]) -> Any:
        """A run is a turn; one without a prompt resumes deferred calls and goes on in the last."""
        conversation = ctx.conversation_id or ""
        resumed = self._turns.get(conversation) if ctx.prompt is None else None
        with self.manager.turn(resumed or ctx.run_id, session_id=conversation or None) as turn:
            self._turns[conversation] = turn
            return await handler()

    async def wrap_tool_execute(
        self,
        ctx: Any,
        *,
        call: Any,
        tool_def: Any,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Awaitable[Any]],
    ) -> Any:
        """Protect a tool call."""
        call = _call(ctx, call.tool_name, args, self._cwd, self._environment)
        async with self.manager.guard(call):
            return await handler(args)


@dataclass
class CheckpointToolset(WrapperToolset):  # type: ignore[type-arg,unused-ignore]
    """A toolset that is protected in whatever agent it is used.

    `CheckpointToolset(toolset, manager)`. A call that a capability protects already is not
    protected twice.
    """

    manager: hc.CheckpointManager
    cwd: str | os.PathLike[str] | None = None
    environment: str = "local"

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        """Protect a tool call."""
        call = _call(ctx, name, tool_args, self.cwd, self.environment)
        with scope(self.manager, call):
            async with self.manager.guard(call):
                return await super().call_tool(name, tool_args, ctx, tool)


def _call(
    ctx: Any, name: str, args: dict[str, Any], cwd: str | os.PathLike[str] | None, environment: str
) -> hc.ToolCall:
    """A tool call as the library sees it; a resumed run goes on in the running turn."""
    return hc.ToolCall(
        name,
        args,
        cwd=os.fspath(cwd) if cwd is not None else None,
        session_id=ctx.conversation_id or "",
        turn_id="" if ctx.prompt is None else ctx.run_id or "",
        call_id=ctx.tool_call_id or "",
        environment=environment,
    )


def drop_turns(messages: Sequence[Any], turns: int) -> list[Any]:
    """A history without its last turns, as `reply.drop_turns` says.

    A turn begins with the prompt of a run; a run that resumes deferred calls has none.
    """
    seen: set[str] = set()
    starts: list[int] = []
    for at, message in enumerate(messages):
        run = getattr(message, "run_id", None)
        if _has_prompt(message) and run not in seen:
            starts.append(at)
        seen.update({run} if run else ())
    kept = max(0, len(starts) - turns)
    return list(messages[: starts[kept]] if kept < len(starts) else messages)


def _has_prompt(message: Any) -> bool:
    return any(isinstance(part, UserPromptPart) for part in message.parts)
