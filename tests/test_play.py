"""An agent that follows a script, for hosts' own tests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_checkpoints.config import Config
from hermes_checkpoints.manager import CheckpointManager
from hermes_checkpoints.records import AlreadyTaken, Skipped, Taken
from hermes_checkpoints.stores.memory import MemoryStore
from hermes_checkpoints.testing import Command, Edit, Turn, Write, play


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[CheckpointManager]:
    root = tmp_path / "w"
    root.mkdir()
    (root / "pyproject.toml").touch()
    (root / "old.txt").write_text("old")
    config = Config(base=tmp_path / "base", auto_prune=False)
    with CheckpointManager(config, cwd=root, store=MemoryStore()) as manager:
        yield manager


def _delete_old(root: Path) -> None:
    (root / "old.txt").unlink()


def test_a_script_is_played(manager: CheckpointManager) -> None:
    """Each tool call has its outcome; the turn has one checkpoint, taken before the first."""
    outcomes = play(
        manager,
        [
            Turn("1"),
            Write("src/new.txt", "new"),
            Command("rm old.txt", _delete_old),
            Command("ls", lambda root: None),
            Edit("mine.txt", "mine"),
            Turn("2"),
            Write("src/new.txt", "newer"),
        ],
    )
    assert [type(one) for one in outcomes] == [Taken, AlreadyTaken, Skipped, Taken]
    root = Path(manager.cwd)
    listed = manager.list_checkpoints(root)
    assert [c.reason for c in listed] == ["before write_file: src/new.txt"] * 2
    assert manager.restore(root, 2).ok
    left = sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file())
    assert left == ["mine.txt", "old.txt", "pyproject.toml"]


def test_a_persons_edit_is_kept(manager: CheckpointManager) -> None:
    """What the person wrote over the agent's file is no write of the agent's."""
    play(manager, [Turn("1"), Write("old.txt", "agent"), Edit("old.txt", "person")])
    root = Path(manager.cwd)
    manager.restore(root, 1)
    assert (root / "old.txt").read_text() == "person"
    manager.restore(root, 1, keep_edits=False)
    assert (root / "old.txt").read_text() == "old"


def test_an_exception_passes_through(manager: CheckpointManager) -> None:
    """A command that fails half way raises, and what it changed goes back all the same."""

    def fail(root: Path) -> None:
        _delete_old(root)
        raise OSError("half way")

    with pytest.raises(OSError, match="half way"):
        play(manager, [Turn("1"), Command("rm old.txt", fail)])
    root = Path(manager.cwd)
    assert manager.restore(root, 1).ok
    assert (root / "old.txt").read_text() == "old"


def test_it_needs_no_pytest() -> None:
    """What it has for tests can be imported where no pytest is."""
    program = (
        "import sys; sys.modules['pytest'] = None\n"
        "from hermes_checkpoints.testing import StoreContract, play\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
