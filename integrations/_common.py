"""What the adapters share: a clear word on a missing framework, and turns that sub-agents keep."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import (
    AbstractContextManager,
    AsyncExitStack,
    ExitStack,
    contextmanager,
    nullcontext,
    suppress,
)
from typing import TypeVar

import hermes_checkpoints as hc

__all__ = ["Latest", "OpenCalls", "begin_turn", "needs", "scope"]

V = TypeVar("V")


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Around a framework's imports: where it is missing, the error names the extra that has it."""
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f"this adapter needs a framework that cannot be imported ({error}): "
            f"pip install 'hermes-checkpoints[{extra}]'",
            name=error.name,
        ) from error


def scope(manager: hc.CheckpointManager, call: hc.ToolCall) -> AbstractContextManager[object]:
    """The call's turn, for all that is called inside it.

    A sub-agent has ids of its own in most frameworks; in a scope its calls belong to the session
    and turn of the call that started it. Where the host, or an outer agent, has opened a scope,
    that one goes on.
    """
    if not call.turn_id:
        return nullcontext()
    return manager.turn(call.turn_id, session_id=call.session_id or None)


def begin_turn(manager: hc.CheckpointManager, turn_id: str, session_id: str) -> str:
    """Begin a turn, unless a scope is active: then it is a sub-agent's run, or the host's turn.

    Returns the turn that is in force.
    """
    with manager.turn(turn_id or None, session_id=session_id or None) as turn:
        return turn


class Latest(OrderedDict[str, V]):
    """What is known of each session, for the thousand that were heard of last."""

    def __setitem__(self, session: str, value: V) -> None:
        super().__setitem__(session, value)
        self.move_to_end(session)
        if len(self) > 1000:
            self.popitem(last=False)


class OpenCalls:
    """Calls whose two ends a framework tells to two hooks.

    Both hooks of a call run in one task or thread, so that its turn holds for what is in between.
    Where they do not, the turn has ended with the task, and only the call is to be ended.
    """

    def __init__(self, manager: hc.CheckpointManager) -> None:
        self._manager = manager
        self._open: dict[object, ExitStack | AsyncExitStack] = {}

    def begin(self, key: object, call: hc.ToolCall) -> None:
        """Protect a call; the key is for its other end."""
        with ExitStack() as stack:
            stack.enter_context(_ending_anywhere(scope(self._manager, call)))
            stack.enter_context(self._manager.guard(call))
            self._open[key] = stack.pop_all()

    async def abegin(self, key: object, call: hc.ToolCall) -> None:
        """Protect a call, off the event loop."""
        async with AsyncExitStack() as stack:
            stack.enter_context(_ending_anywhere(scope(self._manager, call)))
            await stack.enter_async_context(self._manager.guard(call))
            self._open[key] = stack.pop_all()

    def end(self, key: object) -> None:
        """Record what a call has changed; one that was not begun, or has ended, does nothing."""
        stack = self._open.pop(key, None)
        if isinstance(stack, ExitStack):
            stack.close()

    async def aend(self, key: object) -> None:
        """The same, off the event loop."""
        stack = self._open.pop(key, None)
        if isinstance(stack, AsyncExitStack):
            await stack.aclose()

    def still_open(self) -> list[object]:
        """The calls that have not ended."""
        return list(self._open)


@contextmanager
def _ending_anywhere(turn: AbstractContextManager[object]) -> Iterator[None]:
    turn.__enter__()
    yield
    with suppress(ValueError):  # a scope can be left only in the context it was entered in
        turn.__exit__(None, None, None)
