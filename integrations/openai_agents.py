"""OpenAI Agents SDK: tools that are protected wherever an agent calls them, and sessions cut back.

    agent = Agent("main", tools=guard_tools([write_file, ShellTool(executor=run)], manager))

    with manager.turn(session_id=session.session_id):
        result = await Runner.run(agent, text, session=session)

    reply = hc.RollbackCommand(manager).run("/rollback 1", cwd=root, session_id=session.session_id)
    await drop_turns(session, reply.drop_turns)

The tools are wrapped and not the run: `RunHooks` do not see the arguments of a shell, nor the calls
of an agent used as a tool. Without `manager.turn`, a run is a turn of the manager's own session.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import os
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import hermes_checkpoints as hc

from ._common import needs, scope

with needs("openai-agents"):
    import agents

__all__ = ["drop_turns", "guard_tools", "without_turns"]

T = TypeVar("T")


def guard_tools(
    tools: Iterable[T],
    manager: hc.CheckpointManager,
    *,
    cwd: str | os.PathLike[str] | None = None,
    environment: str = "local",
) -> list[T]:
    """The same tools, protected: function and custom tools, shells, and apply_patch.

    `cwd` is where the tools resolve relative paths (default: the manager's), `environment` where
    they act, as in `hc.ToolCall`. Tools that run at the provider come back as they are.
    """
    place = os.fspath(cwd) if cwd is not None else None
    guarded = _Guarded(manager, place, environment)
    return [guarded.tool(tool) for tool in tools]


@dataclass(frozen=True)
class _Guarded:
    manager: hc.CheckpointManager
    cwd: str | None
    environment: str

    def tool(self, tool: Any) -> Any:
        """A copy of a tool that is protected."""
        if isinstance(tool, _CALLED):
            return self._function(tool)
        if isinstance(tool, (agents.ShellTool, agents.LocalShellTool)) and tool.executor:
            return self._shell(tool)
        if isinstance(tool, agents.ApplyPatchTool):
            return dataclasses.replace(tool, editor=_Editor(self, tool.editor))
        return tool

    def _function(self, tool: Any) -> Any:
        twin, inner = copy.copy(tool), tool.on_invoke_tool

        async def invoke(context: Any, text: str) -> Any:
            call = self.call(context, tool.name, _arguments(text), context.tool_call_id)
            return await self.around(call, lambda: inner(context, text))

        twin.on_invoke_tool = invoke
        return twin

    def _shell(self, tool: Any) -> Any:
        inner = tool.executor

        async def execute(request: Any) -> Any:
            action = request.data.action
            arguments = {
                "commands": getattr(action, "commands", None) or action.command,
                "workdir": getattr(action, "working_directory", None),
            }
            call = self.call(request.ctx_wrapper, "shell", arguments, request.data.call_id)
            return await self.around(call, lambda: inner(request))

        return dataclasses.replace(tool, executor=execute)

    def call(self, context: Any, name: str, arguments: Any, call_id: str = "") -> hc.ToolCall:
        """A tool call as the library sees it."""
        return hc.ToolCall(
            name,
            arguments,
            cwd=self.cwd,
            turn_id=_RUNS.turn_of(context),
            call_id=call_id,
            environment=self.environment,
        )

    async def around(self, call: hc.ToolCall, work: Callable[[], Any]) -> Any:
        """Do a call's work, protected; the work may be sync or async, as the SDK allows."""
        with scope(self.manager, call):
            async with self.manager.guard(call):
                result = work()
                return await result if inspect.isawaitable(result) else result


_CALLED = tuple(
    getattr(agents, name) for name in ("FunctionTool", "CustomTool") if hasattr(agents, name)
)


def _arguments(text: str) -> dict[str, Any]:
    """What a model gave as arguments: JSON, or the free text of a custom tool."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {"input": text}
    return found if isinstance(found, dict) else {"input": text}


@dataclass(frozen=True)
class _Editor:
    """An `ApplyPatchEditor` whose operations are protected one by one."""

    guarded: _Guarded
    editor: Any

    async def create_file(self, operation: Any) -> Any:
        return await self._apply(operation, self.editor.create_file)

    async def update_file(self, operation: Any) -> Any:
        return await self._apply(operation, self.editor.update_file)

    async def delete_file(self, operation: Any) -> Any:
        return await self._apply(operation, self.editor.delete_file)

    async def _apply(self, operation: Any, work: Callable[[Any], Any]) -> Any:
        named = (operation.path, getattr(operation, "move_to", None))
        arguments = {"path": [path for path in named if path]}
        call = self.guarded.call(operation.ctx_wrapper, "apply_patch", arguments)
        return await self.guarded.around(call, lambda: work(operation))


class _Runs:
    """A turn for each run, which is known by its usage: one object from its start to its end."""

    def __init__(self) -> None:
        self._recent: deque[tuple[object, str]] = deque(maxlen=512)

    def turn_of(self, context: Any) -> str:
        """The id of the run that a tool's context belongs to."""
        usage = getattr(context, "usage", None)
        if usage is None:
            return ""
        for known, turn in self._recent:
            if known is usage:
                return turn
        self._recent.append((usage, uuid.uuid4().hex[:12]))
        return self._recent[-1][1]


_RUNS = _Runs()  # one for all tools: those of a sub-agent may have been guarded apart


# --------------------------------------------------------------------------- the chat's way back


async def drop_turns(session: Any, turns: int) -> int:
    """Drop the last turns of a session, as `reply.drop_turns` says; returns how many items went.

    A turn begins with an item of the user. What is kept at the provider (`conversation_id`,
    `previous_response_id`) stays there.
    """
    items = await session.get_items()
    count = len(items) - len(without_turns(items, turns))
    for _ in range(count):
        await session.pop_item()
    return count


def without_turns(items: Sequence[Any], turns: int) -> list[Any]:
    """A history without its last turns, for hosts that keep `result.to_input_list()` themselves."""
    starts = [at for at, item in enumerate(items) if _role(item) == "user"]
    kept = max(0, len(starts) - turns)
    return list(items[: starts[kept]] if kept < len(starts) else items)


def _role(item: Any) -> object:
    return item.get("role") if isinstance(item, dict) else getattr(item, "role", None)
