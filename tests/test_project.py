"""Project roots: one function decides for every caller."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from hermes_checkpoints.project import find_project, project_at, relative_path, too_broad


def made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_the_nearest_repository_wins(tmp_path: Path) -> None:
    """A `.git` nearer than any package marker, session directory or outer `.git` is the root."""
    (tmp_path / "outer/.git").mkdir(parents=True)
    (tmp_path / "outer/inner/.hg").mkdir(parents=True)
    made(tmp_path / "outer/inner/deep/package.json")
    found = find_project(tmp_path / "outer/inner/deep/x.py", cwd=tmp_path / "outer")
    assert found.root == str(tmp_path / "outer/inner")
    assert found.whole


def test_a_worktree_is_a_project_of_its_own(tmp_path: Path) -> None:
    """A `.git` that is a file, as in worktrees and submodules, marks a root too."""
    (tmp_path / "main/.git").mkdir(parents=True)
    made(tmp_path / "main/.worktrees/w/.git")
    worktree = tmp_path / "main/.worktrees/w"
    assert find_project(worktree / "a").root == str(worktree)


def test_the_session_directory_comes_before_package_markers(tmp_path: Path) -> None:
    """Without a repository, the session's directory is the root of all it contains."""
    made(tmp_path / "w/package.json")
    made(tmp_path / "w/sub/package.json")
    (tmp_path / "w/sub/deep").mkdir()
    assert find_project(tmp_path / "w/sub/deep/x", cwd=tmp_path / "w/sub").root == str(
        tmp_path / "w/sub"
    )
    assert find_project(tmp_path / "w/x", cwd=tmp_path / "w/sub").root == str(tmp_path / "w")


def test_the_outermost_package_marker_wins(tmp_path: Path) -> None:
    """A monorepo without version control is one project."""
    made(tmp_path / "w/pyproject.toml")
    made(tmp_path / "w/packages/a/package.json")
    assert find_project(tmp_path / "w/packages/a/src/x.ts").root == str(tmp_path / "w")


def test_outside_any_project_only_names_count(tmp_path: Path) -> None:
    """A lone file's directory is a named-only project that says why."""
    found = find_project(made(tmp_path / "notes/todo.txt"))
    assert found.root == str(tmp_path / "notes")
    assert not found.whole
    assert "outside any project" in found.why_not_whole


def test_a_path_that_does_not_exist_yet_has_a_project(tmp_path: Path) -> None:
    """A file about to be made in directories about to be made belongs to what exists."""
    made(tmp_path / "w/go.mod")
    assert find_project(tmp_path / "w/new/deep/x.go").root == str(tmp_path / "w")
    assert find_project(tmp_path / "none/deep/x").root == str(tmp_path)


def test_the_id_is_hermes_own(tmp_path: Path) -> None:
    """The id is the first 16 hex digits of the SHA-256 of the resolved path."""
    digest = hashlib.sha256(str(tmp_path).encode()).hexdigest()
    assert project_at(tmp_path).id == digest[:16]


def test_spellings_of_one_directory_are_one_project(tmp_path: Path) -> None:
    """A link, a trailing slash and `..` lead to the same project."""
    made(tmp_path / "w/Makefile")
    os.symlink(tmp_path / "w", tmp_path / "link")
    ids = {
        find_project(p).id
        for p in (tmp_path / "w", f"{tmp_path}/w/", tmp_path / "link", f"{tmp_path}/w/../w/x")
    }
    assert len(ids) == 1


def test_broad_places_are_never_whole(home: Path, tmp_path: Path) -> None:
    """The root, the home directory, what holds it, and temp roots are refused, with a reason."""
    assert "home directory" in too_broad(home)
    assert "holds the home directory" in too_broad(home.parent)
    assert too_broad("/")
    assert too_broad("/tmp")
    assert not too_broad(tmp_path)


def test_a_marker_in_a_broad_place_counts_for_nothing(home: Path) -> None:
    """`~/.git` does not make the home directory a project."""
    (home / ".git").mkdir()
    made(home / "package.json")
    found = find_project(made(home / "letters/a.txt"))
    assert found.root == str(home / "letters")
    assert not found.whole


def test_a_session_in_a_broad_place_is_named_only(home: Path) -> None:
    """A session that runs in the home directory protects its named files only."""
    found = find_project(made(home / "t.txt"), cwd=home)
    assert found.root == str(home)
    assert not found.whole


@pytest.mark.parametrize(
    ("path", "relative"),
    [("a/b.txt", "a/b.txt"), (".", "."), ("../o", None), ("a/../b", "b"), ("link", "link")],
)
def test_relative_paths_stay_inside(tmp_path: Path, path: str, relative: str | None) -> None:
    """A path is relative with `/`, a link is itself, and what lies outside has none."""
    (tmp_path / "w/a").mkdir(parents=True)
    os.symlink("/", tmp_path / "w/link")
    assert relative_path(project_at(tmp_path / "w"), tmp_path / "w" / path) == relative


def test_a_path_through_a_link_out_of_the_project_is_outside(tmp_path: Path) -> None:
    """What a link out of the project leads to is no part of it."""
    (tmp_path / "w").mkdir()
    (tmp_path / "o").mkdir()
    os.symlink(tmp_path / "o", tmp_path / "w/d")
    assert relative_path(project_at(tmp_path / "w"), tmp_path / "w/d/f") is None
