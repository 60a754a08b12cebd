"""LangChain 1.x and LangGraph: a middleware around every tool call, and the chat's way back.

    agent = create_agent(model, tools, middleware=[..., CheckpointMiddleware(manager)])

    reply = hc.RollbackCommand(manager).run("/rollback 1", cwd=root, session_id=thread_id)
    drop_turns(agent, config, reply.drop_turns)

The session is the `thread_id`, the turn the last message of the person. For a bare `ToolNode` the
middleware's methods are the wrappers: `ToolNode(tools, wrap_tool_call=m.wrap_tool_call,
awrap_tool_call=m.awrap_tool_call)`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import hermes_checkpoints as hc

from ._common import Latest, begin_turn, needs, scope

with needs("langchain"):
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.messages import HumanMessage, RemoveMessage
    from langgraph.config import get_config
    from langgraph.constants import END

__all__ = ["CheckpointMiddleware", "adrop_turns", "drop_turns", "thread_id"]


class CheckpointMiddleware(AgentMiddleware):
    """Protects the tool calls of one agent and of all that it calls.

    Put it last in the list of middleware: there it is next to the tool, and sees the arguments as
    the others left them. `cwd` is where the tools resolve relative paths (default: the manager's);
    a tool with a `root_dir` has its own. `environment` is where the tools act, as in
    `hc.ToolCall`.
    """

    def __init__(
        self,
        manager: hc.CheckpointManager,
        *,
        cwd: str | os.PathLike[str] | None = None,
        environment: str = "local",
    ) -> None:
        super().__init__()
        self.manager = manager
        self._cwd = os.fspath(cwd) if cwd is not None else None
        self._environment = environment
        self._shells = _Shells()

    def before_agent(self, state: Any, runtime: Any) -> None:
        """A turn begins; an interrupted one that goes on does not come here."""
        begin_turn(self.manager, _turn(state), thread_id())

    async def abefore_agent(self, state: Any, runtime: Any) -> None:
        """The same in an async run."""
        self.before_agent(state, runtime)

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Protect a tool call."""
        call = self.call(request)
        with scope(self.manager, call), self.manager.guard(call):
            return handler(request)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Protect a tool call in an async run."""
        call = self.call(request)
        with scope(self.manager, call):
            async with self.manager.guard(call):
                return await handler(request)

    def call(self, request: Any) -> hc.ToolCall:
        """A request as the library sees it."""
        call = hc.ToolCall(
            request.tool_call["name"],
            request.tool_call["args"],
            cwd=getattr(request.tool, "root_dir", None) or self._cwd,
            session_id=thread_id(request.runtime.config),
            turn_id=_turn(request.state),
            call_id=request.tool_call["id"] or "",
            environment=self._environment,
        )
        return self._shells.told(call) if _is_persistent_shell(call, request.tool) else call


# --------------------------------------------------------------------------- sessions and turns


def thread_id(config: Mapping[str, Any] | None = None) -> str:
    """The thread of a config, or of the running graph; empty where there is none."""
    try:
        found = get_config() if config is None else config
    except RuntimeError:  # not in a graph; or async in Python 3.10, where it is not to be had
        return ""
    return str(found.get("configurable", {}).get("thread_id") or "")


def _turn(state: Any) -> str:
    """The id of the person's last message, the number of them where messages have no ids."""
    messages = state if isinstance(state, list) else _field(state, "messages")
    humans = [m for m in messages or () if _is_person(m)]
    return str(humans[-1].id or len(humans)) if humans else ""


def _field(state: Any, name: str) -> Any:
    return state.get(name) if isinstance(state, Mapping) else getattr(state, name, None)


def _is_person(message: object) -> bool:
    """Whether a message is a person's, and not a summary that a middleware put in one's place."""
    return isinstance(message, HumanMessage) and "lc_source" not in message.additional_kwargs


# --------------------------------------------------------------------------- persistent shells


_SHELL = frozenset({"command", "restart"})


def _is_persistent_shell(call: hc.ToolCall, tool: Any) -> bool:
    """Whether a tool is `ShellToolMiddleware`'s, by whatever name."""
    return set(call.arguments) <= _SHELL <= set(getattr(tool, "args", ()))


_MOVING = re.compile(
    r"\b(?:cd|pushd|popd|eval|source|alias)\b|(?:^|[;&|\s])\.\s|\(\)", re.MULTILINE
)


@dataclass
class _Shell:
    turn: str
    moves: list[str]


class _Shells:
    """What each thread's shell was told in this turn that decides where later commands act."""

    def __init__(self) -> None:
        self._known: Latest[_Shell] = Latest()

    def told(self, call: hc.ToolCall) -> hc.ToolCall:
        """The call of a shell that still is where an earlier command left it.

        It may also have been started anew: then the command acts in the first directory. So it
        counts for both.
        """
        command = call.arguments.get("command")
        shell = self._known.get(call.session_id)
        if shell is None or shell.turn != call.turn_id or not command:
            shell = self._known[call.session_id] = _Shell(call.turn_id, [])
        if not command:
            return replace(call, effect=hc.ToolEffect.NONE)
        text = str(command)
        moved = "\n".join(["(" + text, ")", *shell.moves, text]) if shell.moves else text
        if _MOVING.search(text):
            shell.moves.append(text)
        return replace(call, effect=hc.ToolEffect.COMMAND, command=moved)


# --------------------------------------------------------------------------- the chat's way back


def drop_turns(graph: Any, config: Any, turns: int) -> None:
    """Drop the last turns of a thread, as `reply.drop_turns` says.

    The thread goes back to its state before the first of them, with all its channels; where the
    checkpointer has no such state, the messages alone are removed. An interrupted or broken turn
    heals with it.
    """
    cut = _Cut(turns)
    for state in graph.get_state_history(config) if turns > 0 else ():
        if cut.comes_after(state):
            break
    for update in cut.updates(config):
        graph.update_state(*update)


async def adrop_turns(graph: Any, config: Any, turns: int) -> None:
    """The same for a graph with an async checkpointer."""
    cut = _Cut(turns)
    if turns > 0:
        async for state in graph.aget_state_history(config):
            if cut.comes_after(state):
                break
    for update in cut.updates(config):
        await graph.aupdate_state(*update)


@dataclass
class _Cut:
    """Where a thread is cut, found by looking at its states, the newest first.

    A turn is a message of the person; `people` are those, the newest first. One that a summary has
    replaced is in an older state. In deepagents 0.7 they have no ids, but all of them stay.
    """

    turns: int
    messages: Sequence[Any] = ()
    people: list[Any] = field(default_factory=list)
    before: Any = None

    def comes_after(self, state: Any) -> bool:
        """Take in the next older state. Whether it is the end: it has nothing of what goes."""
        people = _people(state)
        if self.before is None:
            self.messages = _field(state.values, "messages") or ()
        self.before = state
        known = {m.id for m in self.people}
        self.people += [m for m in reversed(people) if m.id not in known]
        return self._is_before(people)

    def _is_before(self, people: Sequence[Any]) -> bool:
        if len(self.people) < self.turns:
            return False
        first = self.people[self.turns - 1].id
        if first:
            return first not in {m.id for m in people}
        return len(people) <= len(self.people) - self.turns

    def updates(self, config: Any) -> list[tuple[Any, ...]]:
        """The calls of `update_state` that lead to the state before, as their arguments."""
        if not self.people:
            return []
        people = _people(self.before)
        if people and not self._is_before(people):  # the checkpointer has forgotten it
            gone = {m.id for m in self.people[: self.turns]}
            first = next(at for at, m in enumerate(self.messages) if m.id in gone)
            return [(config, {"messages": [RemoveMessage(id=m.id) for m in self.messages[first:]]})]
        back = [(self.before.config, None, "__copy__")]
        if self.before.metadata.get("source") == "input":  # what was arriving stays outside
            back.append((config, None, END))
        return back


def _people(state: Any) -> list[Any]:
    return [m for m in _field(state.values, "messages") or () if _is_person(m)]
