"""smolagents: an agent whose tools, code and managed agents are protected, and its memory cut back.

    agent = guard_agent(CodeAgent(tools=tools, model=model), manager)

    reply = hc.RollbackCommand(manager).run("/rollback 1", cwd=root)
    drop_turns(agent, reply.drop_turns)

smolagents has no hooks, so the agent's own parts are wrapped where they stand. A turn is one
`agent.run`. The session is the manager's, or the one that is named.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import hermes_checkpoints as hc

from ._common import needs

with needs("smolagents"):
    from smolagents.local_python_executor import LocalPythonExecutor
    from smolagents.memory import TaskStep

__all__ = ["drop_turns", "guard_agent"]

A = TypeVar("A")


def guard_agent(
    agent: A,
    manager: hc.CheckpointManager,
    *,
    session_id: str = "",
    cwd: str | os.PathLike[str] | None = None,
    environment: str = "local",
) -> A:
    """The same agent, protected with all its tools and managed agents.

    `cwd` is where the tools resolve relative paths (default: the manager's), `environment` where
    they act, as in `hc.ToolCall`. The code of a `CodeAgent` is protected as well if it may import
    more than the usual modules, for then it can write without a tool.
    """
    place = os.fspath(cwd) if cwd is not None else None
    _Guarded(manager, session_id, place, environment).agent(agent)
    return agent


@dataclass(frozen=True)
class _Guarded:
    manager: hc.CheckpointManager
    session: str
    cwd: str | None
    environment: str

    def agent(self, agent: Any) -> None:
        """Wrap an agent's parts; those that are wrapped already stay as they are."""
        for tool in agent.tools.values():
            if tool.name != "final_answer":
                self._wrap(tool, "forward", functools.partial(self._forward, tool))
        executor = getattr(agent, "python_executor", None)
        if isinstance(executor, LocalPythonExecutor) and executor.additional_authorized_imports:
            agent.python_executor = _Executor(self, executor)
        for managed in agent.managed_agents.values():
            self.agent(managed)
        self._wrap(agent, "run", self._run)

    def _wrap(self, owner: Any, name: str, wrapper: Callable[..., Any]) -> None:
        method = getattr(owner, name)
        if isinstance(getattr(method, "__wrapped_by__", None), _Guarded):
            return
        around = functools.wraps(method)(functools.partial(wrapper, method))
        around.__wrapped_by__ = self  # type: ignore[attr-defined]
        setattr(owner, name, around)

    def _run(self, run: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """A run is a turn; that of a managed agent goes on in its manager's."""
        with self.manager.turn(session_id=self.session or None):
            return run(*args, **kwargs)

    def _forward(self, tool: Any, forward: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        arguments = {**dict(zip(tool.inputs, args, strict=False)), **kwargs}
        with self.guard(tool.name, arguments):
            return forward(*args, **kwargs)

    def guard(
        self, name: str, arguments: dict[str, Any], effect: hc.ToolEffect | None = None
    ) -> hc.Guard:
        """The guard of a call. A thread that has no context is in the session's running turn."""
        call = hc.ToolCall(
            name,
            arguments,
            cwd=self.cwd,
            session_id=self.session,
            environment=self.environment,
            effect=effect,
        )
        return self.manager.guard(call)


class _Executor:
    """A Python executor whose every piece of code may change anything."""

    def __init__(self, guarded: _Guarded, executor: Any) -> None:
        self._guarded = guarded
        self._executor = executor

    def __call__(self, code: str) -> Any:
        with self._guarded.guard("python_interpreter", {"code": code}, hc.ToolEffect.ANY):
            return self._executor(code)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)


def drop_turns(agent: Any, turns: int) -> int:
    """Drop the last runs from an agent's memory, as `reply.drop_turns` says; returns how many went.

    A run with `reset=True`, which is the default, has forgotten the ones before it.
    """
    steps = agent.memory.steps
    starts = [at for at, step in enumerate(steps) if isinstance(step, TaskStep)]
    count = min(turns, len(starts))
    if count:
        del steps[starts[-count] :]
    return count
