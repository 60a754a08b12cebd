"""What is typed after `/rollback <N>`, as names and pathspecs."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_checkpoints.errors import SelectionError
from hermes_checkpoints.project import project_id
from hermes_checkpoints.records import Project
from hermes_checkpoints.selection import Selection, parse
from hermes_checkpoints.stores.patterns import select


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path.resolve()
    (root / "sub[1]").mkdir()
    return Project(str(root), project_id(str(root)))


def read(project: Project, *paths: str, base: str = "", known: tuple[str, ...] = ()) -> Selection:
    names = {*known, "sub[1]"}
    return parse(project, paths, base_dir=f"{project.root}/{base}", known=names.__contains__)


def test_a_known_name_is_literal(project: Project) -> None:
    """Glob characters in a name that exists mean themselves."""
    assert read(project, "a[1]*", known=("a[1]*",)) == Selection(names=("a[1]*",))
    assert read(project, ":x", known=(":x",)) == Selection(names=(":x",))


def test_an_unknown_name_is_a_pathspec(project: Project) -> None:
    """Anything else is left to git's pathspecs, as it stands."""
    assert read(project, "*.py", ":!x").pathspecs == ("*.py", ":!x")


@pytest.mark.parametrize("text", [".", "./", "sub[1]/..//.", "{root}", "{root}/"])
def test_the_root_is_everything(project: Project, text: str) -> None:
    """The root in any spelling without `..` selects all."""
    if ".." in text:
        with pytest.raises(SelectionError):
            read(project, text)
    else:
        assert read(project, text.format(root=project.root)).names == (".",)


def test_pathspecs_are_rebased_from_a_subdirectory(project: Project) -> None:
    """A pattern typed in a subdirectory means that one, glob characters in its name escaped."""
    found = read(project, "*.py", ":(glob)**", ":(literal)[a]", ":/x", ":!y", base="sub[1]")
    assert found.pathspecs == (
        "sub\\[1]/*.py",
        ":(glob)sub\\[1]/**",
        ":(literal)sub[1]/[a]",
        ":/x",
        ":(exclude)sub\\[1]/y",
    )
    assert select(["sub[1]/a.py", "sub1/a.py", "a.py"], found.pathspecs[:1]) == ["sub[1]/a.py"]


@pytest.mark.parametrize("text", ["", "../x", "a/../../x", ":(glob)../x", "/etc/passwd", ":/../x"])
def test_what_leads_out_is_refused(project: Project, text: str) -> None:
    """Empty paths, `..` and absolute paths outside never reach a store."""
    with pytest.raises(SelectionError):
        read(project, text)


@pytest.mark.parametrize("text", [".git", ".git/config", "sub[1]/.git/HEAD", ":(glob).git/*"])
def test_gits_own_files_are_refused(project: Project, text: str) -> None:
    """The user's `.git` is no part of any selection; names that only begin like it are."""
    with pytest.raises(SelectionError, match="git's own"):
        read(project, text)
    assert read(project, ".github/x", known=(".github/x",)).names == (".github/x",)


def test_a_name_through_a_link_out_of_the_project_is_refused(project: Project) -> None:
    """A link that leaves the project does not bring its target in."""
    (Path(project.root) / "out").symlink_to("/etc")
    with pytest.raises(SelectionError, match="outside"):
        read(project, "out/passwd")


@pytest.mark.parametrize(
    ("names", "pathspecs", "reaches"),
    [
        (("a/n",), (), True),
        (("a/n/x",), (), True),
        (("a",), (), True),
        ((".",), (), True),
        (("a/nothing",), (), False),
        ((), ("*",), True),
        ((), ("a/n/*.c",), True),
        ((), (":(glob)a/*",), True),
        ((), (":(glob)*",), False),
        ((), ("*.py",), False),
        ((), ("*", ":(exclude)a"), False),
        ((), ("*", ":(exclude)a/n/x"), True),
    ],
)
def test_what_reaches_a_repository(
    names: tuple[str, ...], pathspecs: tuple[str, ...], reaches: bool
) -> None:
    """Itself, something in it, a directory above it, a pattern that matches it."""
    assert Selection(names, pathspecs).reaches("a/n", select) is reaches


def test_each_pattern_must_match_something() -> None:
    """The patterns that select nothing are named; those that exclude need not match."""
    selection = Selection(pathspecs=("*.py", "*.c", ":!b.py", ":!zz"))
    assert selection.unmatched(["a.py", "b.py"], select) == ("*.c",)
    assert Selection(pathspecs=("b.py", ":!b.py")).unmatched(["b.py"], select) == ("b.py",)


def test_picking_tells_what_was_named_by_itself() -> None:
    """A directory selects what is below it, a file is also forced."""
    selection = Selection(names=("d", "f"), pathspecs=("*.c",))
    chosen, forced = selection.pick(["d/a", "f", "g", "h.c", "da"], select)
    assert chosen == {"d/a", "f", "h.c"}
    assert forced == {"f"}
