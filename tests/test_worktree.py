"""A project's files are reached without following a link out of it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from hermes_checkpoints import worktree
from hermes_checkpoints.records import EXECUTABLE, REGULAR, SYMLINK, FileState, content_id


@pytest.fixture(params=[True, False], ids=["descriptors", "names"])
def root(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A project with a link out of it, also for a system without calls that go by descriptors."""
    monkeypatch.setattr(worktree, "_BY_DESCRIPTOR", request.param)
    (tmp_path / "w").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/f").write_text("outside")
    (tmp_path / "w/link").symlink_to(tmp_path / "outside")
    return str(tmp_path / "w")


def test_a_look_tells_kind_content_bits_and_size(root: str) -> None:
    """Files, executables and links are told apart; a link is its target's text."""
    (Path(root) / "f").write_bytes(b"x\r\n")
    (Path(root) / "x").write_text("run")
    (Path(root) / "x").chmod(0o750)
    found = worktree.look(root, "f")
    assert found
    assert (found.state, found.size) == (FileState(REGULAR, content_id(b"x\r\n")), 3)
    found = worktree.look(root, "x")
    assert found
    assert (found.state.mode, found.permissions) == (EXECUTABLE, 0o750)
    target = os.fsencode(os.readlink(f"{root}/link"))
    assert worktree.state_of(root, "link") == FileState(SYMLINK, content_id(target))
    assert worktree.look(root, "nothing") is None
    assert worktree.look(root, "nothing/below") is None
    assert worktree.look(root, "f/below") is None


def test_nothing_is_seen_or_done_through_a_link(root: str) -> None:
    """What lies behind a link is not there, to looks and to writes."""
    assert worktree.look(root, "link/f") is None
    assert not worktree.exists(root, "link/f")
    assert not worktree.is_directory(root, "link")
    for act in (
        lambda: worktree.remove(root, "link/f"),
        lambda: worktree.rename(root, "link/f", "f"),
        lambda: worktree.set_permissions(root, "link/f", 0o600),
        lambda: worktree.stage(root, "link/new", b"", link=False, permissions=0o644),
        lambda: worktree.make_directory(root, "link/new"),
    ):
        with pytest.raises(NotADirectoryError):
            act()
    assert not worktree.remove_directory(root, "link")
    assert worktree.prune_directory(root, "link") == []
    assert sorted(os.listdir(f"{root}/../outside")) == ["f"]


def test_what_is_no_file_is_unreadable(root: str) -> None:
    """A FIFO blocks nobody, and a file over the limit is not read."""
    os.mkfifo(f"{root}/pipe")
    with pytest.raises(worktree.Unreadable):
        worktree.look(root, "pipe")
    (Path(root) / "big").write_bytes(b"x" * 11)
    with pytest.raises(worktree.Unreadable) as refused:
        worktree.look(root, "big", limit=10)
    assert refused.value.errno == errno.EFBIG
    assert worktree.look(root, "gone") is None


def test_a_directory_stands_for_the_files_below_it(root: str) -> None:
    """Links are files, nested repositories are not entered, `.git` is no part of anything."""
    for path in ("d/a", "d/e/b", "d/nest/.git/HEAD", "d/nest/x", ".git/HEAD"):
        place = Path(root) / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    (Path(root) / "d/l").symlink_to("e")
    assert set(worktree.files_below(root, "d")) == {"d/a", "d/e/b", "d/l"}
    assert set(worktree.files_below(root, ".")) == {"link", "d/a", "d/e/b", "d/l"}
    assert list(worktree.files_below(root, "d/a")) == []


def test_a_staged_file_takes_its_place_whole(root: str) -> None:
    """Content and bits are there before the name is; links are staged as links."""
    worktree.stage(root, ".new", b"data", link=False, permissions=0o600)
    worktree.make_directory(root, "d/e")
    worktree.rename(root, ".new", "d/e/f")
    found = worktree.look(root, "d/e/f")
    assert found
    assert (found.state.content, found.permissions) == (content_id(b"data"), 0o600)
    worktree.stage(root, ".new", b"anywhere", link=True, permissions=0)
    worktree.rename(root, ".new", "l")
    assert os.readlink(f"{root}/l") == "anywhere"


def test_directories_made_and_removed_are_told(root: str) -> None:
    """Making tells what was missing, pruning what went; files keep all directories around them."""
    assert worktree.make_directory(root, "a/b/c") == ["a", "a/b", "a/b/c"]
    assert worktree.make_directory(root, "a/b") == []
    assert worktree.make_directory(root, "") == []
    (Path(root) / "a/b/d").mkdir()
    (Path(root) / "a/keep").symlink_to("b")
    assert worktree.prune_directory(root, "a") == []
    assert worktree.is_directory(root, "a/b/d")
    assert not worktree.remove_directory(root, "a")
    (Path(root) / "a/keep").unlink()
    assert sorted(worktree.prune_directory(root, "a")) == ["a", "a/b", "a/b/c", "a/b/d"]
    assert not worktree.exists(root, "a")
    assert worktree.prune_directory(root, "nothing") == []
