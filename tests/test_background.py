"""When upkeep runs that nobody asked for."""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path

import pytest

from hermes_checkpoints.background import Background, is_due


class Work:
    """Counts what was asked of it, and can be held up or fail."""

    def __init__(self) -> None:
        self.done: list[bool] = []
        self.go = threading.Event()
        self.go.set()
        self.error: Exception | None = None

    def __call__(self, at_end: bool) -> None:
        assert self.go.wait(60)
        self.done.append(at_end)
        if self.error:
            raise self.error


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture
def background(work: Work, tmp_path: Path) -> Background:
    return Background(work, tmp_path / "upkeep")


def _capture(background: Background, times: int) -> None:
    for _ in range(times):
        background.captured()


def test_nothing_was_captured(background: Background, work: Work, tmp_path: Path) -> None:
    """Without a checkpoint, neither a turn nor the end does anything or touches the disk."""
    assert background.after_turn() is None
    background.close()
    assert work.done == []
    assert list(tmp_path.iterdir()) == []


def test_after_many_turns(background: Background, work: Work) -> None:
    """Once enough was captured, the next turn's end begins it; the count then starts anew."""
    _capture(background, 24)
    assert background.after_turn() is None
    _capture(background, 1)
    thread = background.after_turn()
    assert thread is not None
    thread.join()
    assert work.done == [False]
    assert background.after_turn() is None


def test_at_most_one(background: Background, work: Work) -> None:
    """While one is at work, no other begins."""
    work.go.clear()
    _capture(background, 25)
    thread = background.after_turn()
    assert thread is not None
    _capture(background, 100)
    assert background.after_turn() is None
    assert background.after_call() is None
    work.go.set()
    thread.join()
    assert background.after_call() is not None


def test_a_call_begins_it_late(background: Background) -> None:
    """Where no turn ever ends, a call does it after four times as many checkpoints."""
    _capture(background, 99)
    assert background.after_call() is None
    _capture(background, 1)
    thread = background.after_call()
    assert thread is not None
    thread.join()


def test_the_end_does_what_is_left(background: Background, work: Work) -> None:
    """Closing works in the caller's thread, once."""
    _capture(background, 1)
    background.close()
    background.close()
    assert work.done == [True]


def test_a_failure_is_logged(
    background: Background, work: Work, caplog: pytest.LogCaptureFixture
) -> None:
    """No close fails for upkeep; the log says that it failed."""
    work.error = OSError("no room")
    _capture(background, 1)
    with caplog.at_level(logging.WARNING):
        background.close()
    assert "no room" in caplog.text


def test_when_it_was_last_done(background: Background, tmp_path: Path) -> None:
    """A process of one call sees by a file's time whether another has just done it."""
    note = tmp_path / "upkeep"
    assert is_due(note)
    background.now()
    assert not is_due(note)
    os.utime(note, (1, 1))
    assert is_due(note)
    os.utime(note, (2**33, 2**33))
    assert is_due(note)
