"""Strands Agents: hooks around every tool call, and the chat's way back.

    agent = Agent(model=model, tools=tools, hooks=[CheckpointHooks(manager)])

    reply = hc.RollbackCommand(manager).run("/rollback 1", cwd=root)
    drop_turns(agent, reply.drop_turns)

A turn is one call of the agent. Hooks belong to one agent; another agent that is called by a tool
needs its own (`CheckpointHooks(manager)` again), and writes in the turn of its caller.
"""

from __future__ import annotations

import os
import uuid
from typing import Any

import hermes_checkpoints as hc

from ._common import OpenCalls, begin_turn, needs

with needs("strands"):
    from strands.hooks import (
        AfterInvocationEvent,
        AfterToolCallEvent,
        BeforeInvocationEvent,
        BeforeToolCallEvent,
        HookProvider,
    )

__all__ = ["CheckpointHooks", "drop_turns"]


class CheckpointHooks(HookProvider):
    """Protects the tool calls of an agent.

    `session_id` is the chat's (default: the manager's own), `cwd` is where the tools resolve
    relative paths (default: the manager's), `environment` where they act, as in `hc.ToolCall`.
    """

    def __init__(
        self,
        manager: hc.CheckpointManager,
        *,
        session_id: str = "",
        cwd: str | os.PathLike[str] | None = None,
        environment: str = "local",
    ) -> None:
        self.manager = manager
        self._session = session_id
        self._cwd = os.fspath(cwd) if cwd is not None else None
        self._environment = environment
        self._turn = ""
        self._calls = OpenCalls(manager)

    def register_hooks(self, registry: Any, **options: Any) -> None:
        """Called by the agent."""
        registry.add_callback(BeforeInvocationEvent, self._begin_turn)
        registry.add_callback(BeforeToolCallEvent, self._before)
        registry.add_callback(AfterToolCallEvent, self._after)
        registry.add_callback(AfterInvocationEvent, self._end_all)

    def _begin_turn(self, event: Any) -> None:
        if not self._turn or not _is_interrupted(event.agent):
            self._turn = begin_turn(self.manager, uuid.uuid4().hex[:12], self._session)

    async def _before(self, event: Any) -> None:
        call = hc.ToolCall(
            event.tool_use["name"],
            event.tool_use["input"] if isinstance(event.tool_use["input"], dict) else {},
            cwd=self._cwd,
            session_id=self._session,
            turn_id=self._turn,
            environment=self._environment,
        )
        try:
            await self._calls.abegin(_key(event), call)
        except hc.NotProtected as error:  # with `on_failure: block`
            event.cancel_tool = str(error)

    async def _after(self, event: Any) -> None:
        await self._calls.aend(_key(event))

    async def _end_all(self, event: Any) -> None:
        """A tool that interrupts the agent has no end of its own."""
        for key in self._calls.still_open():
            if isinstance(key, tuple) and key[0] == id(event.agent):
                await self._calls.aend(key)


def _key(event: Any) -> tuple[int, str]:
    return id(event.agent), event.tool_use["toolUseId"]


def _is_interrupted(agent: Any) -> bool:
    """Whether the agent's last word is a tool call that has no result: then it is to go on."""
    last = agent.messages[-1] if agent.messages else {"role": "", "content": []}
    return last["role"] == "assistant" and any("toolUse" in part for part in last["content"])


def drop_turns(agent: Any, turns: int) -> int:
    """Drop the agent's last turns, as `reply.drop_turns` says; returns how many messages went.

    A session manager that keeps messages elsewhere has to be told on its own.
    """
    starts = [at for at, message in enumerate(agent.messages) if _is_person(message)]
    if not turns or not starts:
        return 0
    first = starts[-min(turns, len(starts))]
    count = len(agent.messages) - first
    del agent.messages[first:]
    return count


def _is_person(message: Any) -> bool:
    """Whether a message is the person's; the results of tools come in the user's name as well."""
    return message["role"] == "user" and not any("toolResult" in p for p in message["content"])
