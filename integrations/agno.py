"""Agno: a hook around every tool call, and sessions cut back.

    agent = Agent(
        model=model,
        tools=tools,
        tool_hooks=[checkpoint_hook(manager)],
        pre_hooks=[turn_hook(manager)],
        db=db,
    )

    reply = hc.RollbackCommand(manager).run("/rollback 1", cwd=root, session_id=session_id)
    drop_turns(agent, session_id, reply.drop_turns)

The session is Agno's session, the turn its run.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any

import hermes_checkpoints as hc

from ._common import begin_turn, needs, scope

with needs("agno"):
    import agno  # noqa: F401  # the hooks need nothing of it, but nothing else needs the hooks

    if [int(n) for n in re.findall(r"\d+", version("agno"))[:3]] < [3, 0, 11]:
        # It takes the coroutine that a sync hook returns for the tool's result.
        raise ImportError(f"Agno {version('agno')} does not run async tools behind a sync hook")

__all__ = ["adrop_turns", "checkpoint_hook", "drop_turns", "turn_hook"]


def turn_hook(manager: hc.CheckpointManager) -> Callable[..., None]:
    """A `pre_hooks` entry that begins a turn with each run, whether or not it will use a tool."""

    def begin(run_context: Any) -> None:
        begin_turn(manager, run_context.run_id, run_context.session_id)

    return begin


def checkpoint_hook(
    manager: hc.CheckpointManager,
    *,
    cwd: str | os.PathLike[str] | None = None,
    environment: str = "local",
) -> Callable[..., Any]:
    """A `tool_hooks` entry that protects each call; put it last, next to the tool.

    `cwd` is where the tools resolve relative paths (default: the manager's), `environment` where
    they act, as in `hc.ToolCall`.
    """
    place = os.fspath(cwd) if cwd is not None else None

    def hook(name: str, func: Callable[..., Any], args: dict[str, Any], run_context: Any) -> Any:
        # Agno calls it by these names. It skips an async hook in a sync run, but takes a sync one
        # that returns a coroutine.
        call = hc.ToolCall(
            name,
            args,
            cwd=place,
            session_id=getattr(run_context, "session_id", None) or "",
            turn_id=getattr(run_context, "run_id", None) or "",
            environment=environment,
        )
        if inspect.iscoroutinefunction(func):
            return _protected(manager, call, lambda: func(**args))
        with scope(manager, call), manager.guard(call):
            return func(**args)

    return hook


async def _protected(
    manager: hc.CheckpointManager, call: hc.ToolCall, work: Callable[[], Awaitable[Any]]
) -> Any:
    with scope(manager, call):
        async with manager.guard(call):
            return await work()


# --------------------------------------------------------------------------- the chat's way back


def drop_turns(agent: Any, session_id: str, turns: int) -> int:
    """Drop the last runs of a session, as `reply.drop_turns` says; returns how many went.

    Works for agents and teams with a database. Memories and summaries stay as they are.
    """
    session = agent.get_session(session_id=session_id)
    dropped, count = _drop(session, turns)
    if dropped:
        agent.db.delete_runs(dropped)
    return count


async def adrop_turns(agent: Any, session_id: str, turns: int) -> int:
    """The same with an async database."""
    session = await agent.aget_session(session_id=session_id)
    dropped, count = _drop(session, turns)
    done = agent.db.delete_runs(dropped) if dropped else None
    if inspect.isawaitable(done):
        await done
    return count


def _drop(session: Any, turns: int) -> tuple[list[str], int]:
    """Cut a session; the ids of the runs that went, and how many turns they were.

    The runs of a team's members go with the run of the team, which is saved after them.
    """
    runs = session.runs if session is not None and session.runs else []
    starts = [run.run_id for run in runs if not getattr(run, "parent_run_id", None)]
    gone = set(starts[max(0, len(starts) - turns) :])
    count = len(gone)
    for run in reversed(runs):  # a parent comes after its children
        if getattr(run, "parent_run_id", None) in gone:
            gone.add(run.run_id)
    runs[:] = [run for run in runs if run.run_id not in gone]
    return list(gone), count
