"""Rollback where the file system refuses: run as an ordinary user."""

from __future__ import annotations

import os
import shutil
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_checkpoints.records import GapReason
from tests.scene import Scene

NOBODY = 65534
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


def as_nobody(act: Callable[[Path], None]) -> None:
    """Do something in a child without root's powers, in a directory of its own."""
    directory = Path(tempfile.mkdtemp(prefix="nobody-"))
    root = os.geteuid() == 0
    if root:
        os.chown(directory, NOBODY, NOBODY)
    child = os.fork()
    if child == 0:
        try:
            if root:
                warm_up()
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            act(directory)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    shutil.rmtree(directory, ignore_errors=True)
    assert status == 0


def warm_up() -> None:
    """Load every module that will be needed: nobody may perhaps not read Python's own."""
    with tempfile.TemporaryDirectory() as place:
        scene = Scene(Path(place))
        scene.user("f", "1")
        scene.turn()
        scene.write({"f": "2"})
        scene.rollback(1, "*")
        scene.undo()


def test_a_directory_that_may_not_be_written_fails_for_its_files_only() -> None:
    """What can't be written or deleted has failed, the rest is done, and undo takes it back."""

    def act(directory: Path) -> None:
        scene = Scene(directory)
        for name in ("ok/f", "closed/f", "closed/g"):
            scene.user(name, "1")
        scene.turn()
        scene.write({"ok/f": "2", "closed/f": "2", "closed/g": None, "closed/new": "x"})
        before = scene.tree()
        (scene.root / "closed").chmod(0o555)
        report = scene.rollback()
        (scene.root / "closed").chmod(0o755)
        assert not report.ok
        assert dict(report.failed) == dict.fromkeys(
            ("closed/f", "closed/g", "closed/new"), "Permission denied"
        )
        assert report.restored == ("ok/f",)
        assert not report.deleted
        assert scene.undo().ok
        assert scene.tree() == before

    as_nobody(act)


def test_an_unreadable_file_is_left_alone_and_named() -> None:
    """A file that nobody could save is never touched, before and after it becomes readable."""

    def act(directory: Path) -> None:
        scene = Scene(directory)
        scene.user("f", "1")
        scene.user("secret", "s", mode=0o000)
        scene.turn()
        scene.write({"f": "2"})
        report = scene.rollback(all=True)
        assert scene["f"] == "1"
        assert [(g.path, g.reason) for g in report.unrestorable] == [
            ("secret", GapReason.UNREADABLE)
        ]
        (scene.root / "secret").chmod(0o600)
        scene.rollback(len(scene.list), all=True)
        assert scene["secret"] == "s"

    as_nobody(act)


def test_a_file_that_became_unreadable_is_not_overwritten() -> None:
    """What can't be read now can't be saved first, and so is kept."""

    def act(directory: Path) -> None:
        scene = Scene(directory)
        scene.user("f", "1")
        scene.turn()
        scene.write({"f": "2"})
        (scene.root / "f").chmod(0o000)
        report = scene.rollback(all=True)
        assert [g.path for g in report.unrestorable] == ["f"]
        (scene.root / "f").chmod(0o600)
        assert scene["f"] == "2"

    as_nobody(act)


def test_a_read_only_file_in_a_writable_directory_is_no_obstacle() -> None:
    """A file's own bits don't keep it from being replaced."""

    def act(directory: Path) -> None:
        scene = Scene(directory)
        scene.user("f", "1", mode=0o444)
        scene.turn()
        with scene.shell("f") as root:
            (root / "f").unlink()
            (root / "f").write_text("2")
            (root / "f").chmod(0o400)
        assert scene.rollback().ok
        assert (scene["f"], scene.mode("f")) == ("1", 0o444)

    as_nobody(act)
