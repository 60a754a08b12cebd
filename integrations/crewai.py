"""CrewAI: hooks around the tool calls of a crew while it works.

    with checkpoints(manager):
        crew.kickoff()

    reply = hc.RollbackCommand(manager).run("/rollback 1", cwd=root)

One `with` is one turn. A crew has no chat, so there is none to cut.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import hermes_checkpoints as hc

from ._common import OpenCalls, needs

with needs("crewai"):
    from crewai import hooks

try:
    from crewai.hooks.dispatch import scoped_hooks as _scoped_hooks
except ImportError:  # CrewAI 1.15.0
    _scoped_hooks = None

__all__ = ["checkpoints"]


@contextmanager
def checkpoints(
    manager: hc.CheckpointManager,
    *,
    turn_id: str | None = None,
    session_id: str | None = None,
    cwd: str | os.PathLike[str] | None = None,
    environment: str = "local",
) -> Iterator[str]:
    """A turn in which the tool calls of crews are protected; gives its id.

    `cwd` is where the tools resolve relative paths (default: the manager's), `environment` where
    they act, as in `hc.ToolCall`. In CrewAI 1.15.0 hooks are the process's: other crews that
    work meanwhile are protected in this turn as well.
    """
    place = os.fspath(cwd) if cwd is not None else None
    hooked = _Hooks(OpenCalls(manager), place, environment)
    with manager.turn(turn_id, session_id=session_id) as turn:
        try:
            with _hooked(hooked):
                yield turn
        finally:
            hooked.end_all()


@dataclass(frozen=True)
class _Hooks:
    calls: OpenCalls
    cwd: str | None
    environment: str

    def before(self, context: Any) -> bool | None:
        """Protect a tool call. CrewAI swallows an exception and runs the tool; `False` stops it."""
        call = hc.ToolCall(
            context.tool_name,
            dict(context.tool_input),
            cwd=self.cwd,
            environment=self.environment,
        )
        try:
            self.calls.begin(id(context.tool_input), call)
        except hc.NotProtected:
            return False
        return None

    def after(self, context: Any) -> None:
        """Record what a call has changed. It has no id, but its input is one object throughout."""
        self.calls.end(id(context.tool_input))

    def end_all(self) -> None:
        """End the calls whose end CrewAI has kept back."""
        for key in self.calls.still_open():
            self.calls.end(key)


def _hooked(hooked: _Hooks) -> AbstractContextManager[object]:
    if _scoped_hooks is None:
        return _registered(hooked)
    point = hooks.InterceptionPoint
    both = {point.PRE_TOOL_CALL: [hooked.before], point.POST_TOOL_CALL: [hooked.after]}
    scoped: AbstractContextManager[object] = _scoped_hooks(both)
    return scoped


@contextmanager
def _registered(hooked: _Hooks) -> Iterator[None]:
    hooks.register_before_tool_call_hook(hooked.before)
    hooks.register_after_tool_call_hook(hooked.after)
    try:
        yield
    finally:
        hooks.unregister_before_tool_call_hook(hooked.before)
        hooks.unregister_after_tool_call_hook(hooked.after)
