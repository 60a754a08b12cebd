"""Timing in turns, and counting child processes."""

from __future__ import annotations

import gc
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

__all__ = ["Timing", "busy_thread", "children", "in_turns", "timed"]

_children = 0


def _count(event: str, arguments: tuple[object, ...]) -> None:
    global _children
    if event in ("subprocess.Popen", "os.posix_spawn", "os.fork"):
        _children += 1


sys.addaudithook(_count)


def children() -> int:
    """Child processes that this process has started so far."""
    return _children


@dataclass
class Timing:
    """Milliseconds of each run, and the children of the last one."""

    runs: list[float] = field(default_factory=list)
    started: int = 0

    @property
    def median(self) -> float:
        return statistics.median(self.runs) if self.runs else float("nan")

    def __str__(self) -> str:
        return f"{self.median:.2f} ms"


def timed(work: Callable[[], object], into: Timing) -> None:
    """Run something once and note what it took.

    Upkeep that the end of a turn began is over by then, as it is in life: a model answers first.
    """
    gc.collect()
    for thread in threading.enumerate():
        if thread.name == "checkpoints-upkeep":
            thread.join()
    before = children()
    start = time.perf_counter()
    work()
    into.runs.append((time.perf_counter() - start) * 1e3)
    into.started = children() - before


def in_turns(
    works: Mapping[str, Callable[[], object]],
    *,
    rounds: int,
    prepare: Callable[[], object] = lambda: None,
) -> dict[str, Timing]:
    """Time several in turn, round by round, on the same prepared state, the order rotating."""
    found = {name: Timing() for name in works}
    names = list(works)
    for n in range(rounds):
        prepare()
        for name in names[n % len(names) :] + names[: n % len(names)]:
            timed(works[name], found[name])
    return found


@contextmanager
def busy_thread() -> Iterator[None]:
    """One other Python thread that never rests."""
    stop = threading.Event()

    def spin() -> None:
        n = 0
        while not stop.is_set():
            for _ in range(10_000):
                n += 1

    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
