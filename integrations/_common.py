"""What the adapters share: a clear word on a missing framework, and turns that sub-agents keep."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import hermes_checkpoints as hc

__all__ = ["begin_turn", "needs", "scope"]


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


def begin_turn(manager: hc.CheckpointManager, turn_id: str, session_id: str) -> None:
    """Begin a turn, unless a scope is active: then it is a sub-agent's run, or the host's turn."""
    with manager.turn(turn_id or None, session_id=session_id or None):
        pass
