"""A process is killed at every step of a rollback and of an undo, and the next one goes on."""

from __future__ import annotations

import errno
import os
import signal
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_checkpoints.errors import RestoreFailed
from hermes_checkpoints.stores.plain import PlainStore
from tests.scene import DiskDrawer, Scene

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

State = dict[str, tuple[str, int]]


def build(directory: Path) -> Scene:
    """A project in which a rollback has something of everything to do."""
    store = PlainStore(DiskDrawer(directory / "drawer"))
    scene = Scene(directory, store, max_file_size_mb=0.0001)
    scene.user("changed", "1")
    scene.user("removed/deep", "1")
    scene.user("was-file", "1")
    scene.user("was-dir/a", "1")
    scene.user("link", Path("changed"))
    scene.user("key", "k", mode=0o600)
    scene.user("in-the-way", "1")
    (scene.root / "empty").mkdir()
    scene.turn()
    scene.write({"changed": "2", "made/deep": "x", "removed/deep": None, "link": None, "key": "k2"})
    with scene.shell("was-file", "was-dir", "was-dir/a", "in-the-way", "empty") as root:
        (root / "was-file").unlink()
        (root / "was-file").mkdir()
        (root / "was-file/b").write_text("2")
        (root / "was-dir/a").unlink()
        (root / "was-dir").rmdir()
        (root / "was-dir").write_text("2")
        (root / "in-the-way").unlink()
        (root / "in-the-way").mkdir()
        (root / "empty").rmdir()
    scene.user("in-the-way/huge", "h" * 200)
    return scene


def killed_at(number: int, scene: Scene, act: Callable[[], object]) -> bool:
    """Do something in a child that kills itself before its step `number`; whether it was killed."""
    child = os.fork()
    if child == 0:
        steps = iter(range(number, -1, -1))

        def step(_: str) -> None:
            if next(steps) == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        scene.recovery.step = step
        try:
            act()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), "the rollback failed"
    return status == signal.SIGKILL


def every_step(tmp_path: Path, prepare: Callable[[Scene], None]) -> Iterator[tuple[int, Scene]]:
    for number in range(200):
        scene = build(tmp_path / str(number))
        prepare(scene)
        yield number, scene
    raise AssertionError("the rollback never came to its end")


def both_ends(tmp_path: Path) -> tuple[State, State]:
    scene = build(tmp_path / "ends")
    before = scene.tree()
    assert scene.rollback(all=True).ok
    return before, scene.tree()


def test_a_killed_rollback_is_finished_by_the_next_one(tmp_path: Path) -> None:
    """Killed at any step, a rollback is announced, then finished, and can still be undone."""
    before, after = both_ends(tmp_path)
    for number, scene in every_step(tmp_path, lambda _: None):
        if not killed_at(number, scene, lambda s=scene: s.rollback(all=True)):
            assert scene.tree() == after
            assert number > 20
            return
        only_known_contents(scene, before, after)
        assert "interrupted" in scene.recovery.pending(scene.project)
        report = scene.recovery.recover(scene.project)
        assert report
        assert "has been finished" in report.notes[0]
        assert scene.tree() == after, f"step {number}"
        assert not scene.recovery.pending(scene.project)
        assert not any(c.pins for c in scene.list)
        assert scene.undo().ok
        assert scene.tree() == before, f"step {number}"


def test_a_killed_undo_is_finished_by_the_next_one(tmp_path: Path) -> None:
    """Killed at any step, an undo is finished, and what it took back stays taken back."""
    before, after = both_ends(tmp_path)
    for number, scene in every_step(tmp_path, lambda s: s.rollback(all=True) and None):
        if not killed_at(number, scene, scene.undo):
            assert scene.tree() == before
            return
        only_known_contents(scene, before, after)
        report = scene.recovery.recover(scene.project)
        assert report
        assert "undo that was interrupted has been finished" in report.notes[0]
        assert scene.tree() == before, f"step {number}"
        assert scene.books.of(scene.project).rollbacks.done() == []


def lose_the_state_before(scene: Scene) -> None:
    """Drop the safety snapshot. Nothing is compacted: its contents can still be read."""
    safety = scene.list[0]
    for pin in safety.pins:
        scene.store.unpin(scene.project, safety.id, pin)
    scene.store.drop(scene.project, [safety.id])


def test_without_the_state_before_a_killed_rollback_is_taken_back(tmp_path: Path) -> None:
    """When the safety snapshot is gone, what was done is undone instead, and that is said."""
    before, _ = both_ends(tmp_path)
    for number, scene in every_step(tmp_path, lambda _: None):
        if not killed_at(number, scene, lambda s=scene: s.rollback(all=True)):
            return
        lose_the_state_before(scene)
        report = scene.recovery.recover(scene.project)
        assert report
        assert "has been taken back" in report.notes[0]
        assert scene.tree() == before, f"step {number}"
        assert scene.books.of(scene.project).rollbacks.done() == []
        scene.rollback(1)
        assert scene["changed"] == "1"


def test_a_killed_taking_back_is_taken_up_again(tmp_path: Path) -> None:
    """Killed while it takes a killed rollback back, the next one goes on with that."""
    before, _ = both_ends(tmp_path)
    for number, scene in every_step(tmp_path, lambda _: None):
        assert killed_at(18, scene, lambda s=scene: s.rollback(all=True))
        lose_the_state_before(scene)
        if not killed_at(number, scene, lambda s=scene: s.recovery.recover(s.project)):
            assert number > 5
            return
        report = scene.recovery.recover(scene.project)
        assert report
        assert "has been taken back" in report.notes[0]
        assert scene.tree() == before, f"step {number}"


def test_a_recovery_that_has_no_room_for_its_records_waits(tmp_path: Path) -> None:
    """A finished rollback that can't be recorded is not taken back, but recorded later."""
    scene = build(tmp_path)
    assert killed_at(8, scene, lambda: scene.rollback(all=True))

    def fill(what: str) -> None:
        if what == "record":
            raise OSError(errno.ENOSPC, "No space left on device")

    scene.recovery.step = fill
    with pytest.raises(RestoreFailed, match="could not be recorded"):
        scene.rollback(1)
    assert scene["changed"] == "1"
    assert scene.books.of(scene.project).journal.exists
    scene.recovery.step = lambda _: None
    assert scene.undo().ok
    assert scene["changed"] == "2"


def test_a_killed_recovery_is_taken_up_again(tmp_path: Path) -> None:
    """Killed while it finishes a killed rollback, the next one finishes it."""
    _, after = both_ends(tmp_path)
    for number, scene in every_step(tmp_path, lambda _: None):
        assert killed_at(8, scene, lambda s=scene: s.rollback(all=True))
        if not killed_at(number, scene, lambda s=scene: s.recovery.recover(s.project)):
            return
        scene.recovery.recover(scene.project)
        assert scene.tree() == after, f"step {number}"


def test_what_was_edited_after_the_kill_stays(tmp_path: Path) -> None:
    """Recovery touches only paths that are as the journal says they were or were to be."""
    scene = build(tmp_path)
    assert killed_at(8, scene, lambda: scene.rollback(all=True))
    scene.user("changed", "edited")
    report = scene.recovery.recover(scene.project)
    assert report
    assert scene["changed"] == "edited"
    assert [s.path for s in report.kept] == ["changed"]


def test_the_next_rollback_says_what_it_found(tmp_path: Path) -> None:
    """A rollback after a kill first finishes the old one and begins its report with that."""
    scene = build(tmp_path)
    assert killed_at(8, scene, lambda: scene.rollback(all=True))
    report = scene.rollback(1, all=True)
    assert "interrupted has been finished" in report.notes[0]


def test_a_damaged_journal_stops_nobody_for_ever(tmp_path: Path) -> None:
    """A journal that can't be read is moved aside and named; the next rollback works."""
    scene = build(tmp_path)
    journal = scene.books.of(scene.project).journal_file
    journal.write_text("{")
    assert scene.recovery.pending(scene.project)
    report = scene.rollback()
    assert "is kept as" in report.notes[0]
    assert scene["changed"] == "1"
    assert not scene.recovery.pending(scene.project)


def only_known_contents(scene: Scene, before: State, after: State) -> None:
    """In the middle every file is as before, as it was to be, or a staged one that is named so."""
    for path, state in scene.tree().items():
        known = state in (before.get(path), after.get(path))
        assert known or path.endswith(".restoring"), path
