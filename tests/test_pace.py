"""The one setting of the whole program that is touched: when, how long, and who may forbid it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import hermes_checkpoints as hc
from hermes_checkpoints import pace
from hermes_checkpoints.pace import hurry


@contextmanager
def busy_thread() -> Iterator[None]:
    stop = threading.Event()

    def spin() -> None:
        while not stop.is_set():
            sum(range(1000))

    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@pytest.fixture(autouse=True)
def own() -> Iterator[float]:
    """The program's own setting, which is there again after each test."""
    own = sys.getswitchinterval()
    yield own
    assert sys.getswitchinterval() == pytest.approx(own)


@pytest.fixture
def config(tmp_path: Path) -> hc.Config:
    return hc.Config(base=tmp_path / "base")


@pytest.fixture
def kept_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy thread is found."""
    monkeypatch.setattr(pace, "_is_kept_waiting", lambda: True)


def test_nothing_is_touched_where_nobody_is_in_the_way(
    config: hc.Config, own: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "_is_kept_waiting", lambda: False)
    with hurry(config):
        assert sys.getswitchinterval() == pytest.approx(own)


def test_a_busy_thread_is_found(config: hc.Config, own: float) -> None:
    """In a few tries at most: each time it is kept waiting about every other call."""
    with busy_thread():
        for _ in range(20):
            with hurry(config):
                if sys.getswitchinterval() < own / 2:
                    break
        else:
            raise AssertionError("a thread that never rests was not noticed")
        assert sys.getswitchinterval() == pytest.approx(own)


@pytest.mark.usefixtures("kept_waiting")
def test_it_can_be_forbidden(config: hc.Config, own: float) -> None:
    with hurry(config.with_(busy_threads="wait")):
        assert sys.getswitchinterval() == pytest.approx(own)


@pytest.mark.usefixtures("kept_waiting")
def test_the_last_one_gives_it_back(config: hc.Config, own: float) -> None:
    """Operations overlap as they like."""
    first, second = hurry(config), hurry(config)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert sys.getswitchinterval() < own / 2
    second.__exit__(None, None, None)


@pytest.mark.usefixtures("kept_waiting")
def test_it_is_given_back_when_something_fails(config: hc.Config) -> None:
    with pytest.raises(KeyError), hurry(config):
        raise KeyError


@pytest.mark.usefixtures("kept_waiting")
def test_what_the_program_sets_meanwhile_stays(config: hc.Config, own: float) -> None:
    try:
        with hurry(config):
            sys.setswitchinterval(0.02)
        assert sys.getswitchinterval() == pytest.approx(0.02)
    finally:
        sys.setswitchinterval(own)


@pytest.mark.usefixtures("kept_waiting")
@pytest.mark.parametrize("choice", ["hurry", "wait"])
def test_a_tool_runs_with_the_programs_own_setting(
    config: hc.Config, own: float, choice: str, project_dir: Path
) -> None:
    """Only the library hurries, before a call and after it."""
    seen = []
    manager = hc.CheckpointManager(config.with_(busy_threads=choice), cwd=project_dir)

    @hc.file_tool(path="path", manager=manager)
    def save(path: str) -> None:
        seen.append(sys.getswitchinterval())
        Path(path).write_text("1", encoding="utf-8")

    save(str(project_dir / "a"))
    assert seen == [pytest.approx(own)]
    assert manager.list_checkpoints(project_dir)


def test_a_wrong_word_is_named(tmp_path: Path) -> None:
    with pytest.raises(hc.ConfigError, match="busy_threads"):
        hc.Config(base=tmp_path, busy_threads="maybe")
