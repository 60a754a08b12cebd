"""Not waiting for busy threads: how long another one may keep the interpreter's lock meanwhile.

Every system call gives the lock up. A thread that computes then keeps it for a whole interval, 5 ms
as a rule, and a capture makes a hundred such calls. Owns the one setting of the whole program that
is ever touched, `sys.setswitchinterval`: only while an operation of ours is under way, only where
another thread is found to keep it waiting, and not at all with `busy_threads: wait`.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from hermes_checkpoints.config import Config

__all__ = ["hurried", "hurry"]

_SHORT = 1e-4  # seconds: a capture then takes as long as without the other thread, within a third
_PROBES = 8  # calls that give up the lock; about every other is kept waiting beside a busy thread

P = ParamSpec("P")
R = TypeVar("R")
_Self = TypeVar("_Self", bound="_Configured")


class _Configured(Protocol):
    @property
    def config(self) -> Config: ...


class _Hurry:
    """How many operations are in a hurry, and what the program's own setting was."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._count = 0
        self._own = 0.0

    def begin(self) -> bool:
        """Join those in a hurry, or begin if this thread is kept waiting; whether it did."""
        with self._guard:
            if not self._count and not _is_kept_waiting():
                return False
            if not self._count:
                self._own = sys.getswitchinterval()
                sys.setswitchinterval(_SHORT)
            self._count += 1
            return True

    def end(self) -> None:
        """The last one gives the setting back, unless the program has set another meanwhile."""
        with self._guard:
            self._count -= 1
            if not self._count and abs(sys.getswitchinterval() - _SHORT) < _SHORT / 10:
                sys.setswitchinterval(self._own)


_hurry = _Hurry()


@contextmanager
def hurry(config: Config) -> Iterator[None]:
    """Around an operation: no busy thread makes it last many times longer."""
    began = config.busy_threads == "hurry" and _hurry.begin()
    try:
        yield
    finally:
        if began:
            _hurry.end()


def hurried(
    method: Callable[Concatenate[_Self, P], R],
) -> Callable[Concatenate[_Self, P], R]:
    """A method of something configured that is in a `hurry`."""

    @functools.wraps(method)
    def run(self: _Self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with hurry(self.config):
            return method(self, *args, **kwargs)

    return run


def _is_kept_waiting() -> bool:
    """Whether another thread takes the lock whenever this one gives it up, and keeps it."""
    interval = sys.getswitchinterval()
    if interval <= 2 * _SHORT:
        return False
    for _ in range(_PROBES):
        start = time.perf_counter()
        os.path.exists(os.sep)
        if time.perf_counter() - start > interval / 2:
            return True
    return False
