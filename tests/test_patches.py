"""Paths out of patch bodies and lists of edits."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_checkpoints.patches import argument_key, as_paths, paths_in_edits, paths_in_patch


def paths(text: str) -> tuple[str, ...]:
    return paths_in_patch(dedent(text))


# --------------------------------------------------------------------------- unified diffs


def test_git_diff() -> None:
    """A git diff names each file without git's prefixes."""
    found = paths(
        """\
        diff --git a/src/x.py b/src/x.py
        index 1..2 100644
        --- a/src/x.py
        +++ b/src/x.py
        @@ -1 +1 @@
        -a
        +b
        diff --git a/y b/y
        --- a/y
        +++ b/y
        @@ -1 +1 @@
        -a
        +b
        """
    )
    assert found == ("src/x.py", "y")


def test_plain_diff() -> None:
    """A diff without prefixes names its files as they stand, dates left off."""
    found = paths(
        """\
        --- src/x.py\t2026-01-01 00:00:00.000000000 +0000
        +++ src/x.py\t2026-01-02 00:00:00.000000000 +0000
        @@ -1 +1 @@
        -a
        +b
        --- my file.txt 2026-01-01 00:00:00
        +++ my file.txt 2026-01-02 00:00:00
        @@ -1 +1 @@
        -a
        +b
        """
    )
    assert found == ("src/x.py", "my file.txt")


def test_directory_that_looks_like_a_prefix() -> None:
    """A directory `a` on both sides is a directory, not git's prefix."""
    assert paths("--- a/x\n+++ a/x\n@@ -1 +1 @@\n-1\n+2\n") == ("a/x",)


def test_created_and_deleted() -> None:
    """A created and a deleted file are named, `/dev/null` is not."""
    found = paths(
        """\
        --- /dev/null
        +++ b/new
        @@ -0,0 +1 @@
        +x
        --- a/old
        +++ /dev/null
        @@ -1 +0,0 @@
        -x
        """
    )
    assert set(found) >= {"new", "old"}
    assert "/dev/null" not in found


def test_one_name_alone_is_read_both_ways() -> None:
    """Where a prefix cannot be told from a directory, both readings are named."""
    assert paths("--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n") == ("new", "b/new")


def test_rename_without_content() -> None:
    """A rename that changes no content names the old and the new place."""
    found = paths(
        """\
        diff --git a/old name b/new name
        similarity index 100%
        rename from old name
        rename to new name
        """
    )
    assert set(found) == {"old name", "new name"}


def test_mode_and_binary_changes() -> None:
    """A change without hunks is named by its git header, spaces in the name included."""
    found = paths(
        """\
        diff --git a/run me b/run me
        old mode 100644
        new mode 100755
        diff --git a/pic.png b/pic.png
        Binary files a/pic.png and b/pic.png differ
        """
    )
    assert found == ("run me", "pic.png")


def test_quoted_names() -> None:
    """Names that git quotes come back as the file system has them."""
    found = paths_in_patch(
        'diff --git "a/f\\303\\244 \\"q\\".txt" "b/f\\303\\244 \\"q\\".txt"\n'
        'rename from "t\\tab\\377"\n'
    )
    assert found == ('fä "q".txt', "t\tab\udcff")


def test_content_that_looks_like_a_header() -> None:
    """Removed lines that begin with dashes are no files."""
    found = paths(
        """\
        --- a/x
        +++ b/x
        @@ -1,3 +1,2 @@
         keep
        --- a comment
         keep
        """
    )
    assert found == ("x",)


def test_miscounted_hunk() -> None:
    """A second file is seen even if the hunk before claims more lines than it has."""
    found = paths(
        """\
        --- a/x
        +++ b/x
        @@ -1,90 +1,90 @@
        -1
        +2
        --- a/y
        +++ b/y
        @@ -1 +1 @@
        -1
        +2
        """
    )
    assert found == ("x", "y")


def test_windows_line_ends() -> None:
    """Carriage returns are no part of a name."""
    assert paths_in_patch("--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-1\r\n+2\r\n") == ("x",)


def test_hunk_without_a_file_is_not_understood() -> None:
    """A patch with a hunk that stands under no file yields nothing, however much follows."""
    assert paths("@@ -1 +1 @@\n-1\n+2\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-1\n+2\n") == ()


@pytest.mark.parametrize("text", ["", "\n", "hello", "+++", "---", "diff --git", "*** Begin Patch"])
def test_no_patch(text: str) -> None:
    """Text that is no patch yields nothing."""
    assert paths_in_patch(text) == ()


def test_git_agrees(tmp_path: Path) -> None:
    """Every file that git says a diff touches is found in the text of that diff."""
    names = ["plain", "with space", "ünï", "tab\there", 'quo"te', "a/nested", "b/x y", "-- dash"]
    old, new = tmp_path / "old", tmp_path / "new"
    for index, name in enumerate(names):
        for side in (old, new):
            (side / name).parent.mkdir(parents=True, exist_ok=True)
        if index % 3:
            (old / name).write_text(f"{name}\n-- x\n++ y\n")
        if index % 3 != 1:
            (new / name).write_text(f"{index}\n")
    git = ["git", "-c", "core.quotePath=true", "diff", "--no-index", "--no-renames"]
    run = [*git, "--src-prefix=a/", "--dst-prefix=b/", "old", "new"]
    text = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True).stdout
    found = {path.split("/", 1)[1] for path in paths_in_patch(text) if "/" in path}
    assert found >= set(names)


# --------------------------------------------------------------------------- envelopes


def test_envelope() -> None:
    """An envelope names added, updated, moved and deleted files, in order."""
    found = paths(
        """\
        *** Begin Patch
        *** Update File: src/a b.py
        *** Move to: src/c.py
        @@ def f():
        -x
        +y
        *** Add File: new.txt
        +*** Delete File: quoted.txt
        *** Delete File: gone
        *** Move File: from.txt -> to.txt
        *** End Patch
        """
    )
    assert found == ("src/a b.py", "src/c.py", "new.txt", "gone", "from.txt", "to.txt")


def test_envelope_without_frame() -> None:
    """File headers count where the model forgot the frame."""
    assert paths("*** Update File: a\n@@\n-1\n+2\n") == ("a",)


# --------------------------------------------------------------------------- search and replace


def test_search_and_replace_blocks() -> None:
    """Each block is about the file named above it, or the one before."""
    found = paths(
        """\
        Here is the change:

        src/a.py
        ```python
        <<<<<<< SEARCH
        x
        =======
        y
        >>>>>>> REPLACE
        <<<<<<< SEARCH
        x
        =======
        y
        >>>>>>> REPLACE
        ```

        **`b.py`**:
        <<<<<<< SEARCH
        =======
        y
        >>>>>>> REPLACE
        """
    )
    assert set(found) >= {"src/a.py", "b.py"}


def test_block_without_a_name_is_not_understood() -> None:
    """A block with no name above it yields nothing."""
    assert paths("<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n") == ()


# --------------------------------------------------------------------------- edits


@dataclass
class Operation:
    type: str
    path: str
    diff: str
    move_to: str | None = None


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ([{"file_path": "a", "old_string": "x.y/z"}, {"filePath": "b"}], ("a", "b")),
        ({"operation": {"path": "a", "move_to": "b", "diff": "@@"}}, ("a", "b")),
        ({"changes": {"src/a.py": {"add": "x"}, "b.txt": {"delete": True}}}, ("src/a.py", "b.txt")),
        ({"files": {"Makefile": "all:"}}, ("Makefile",)),
        ({"files": [{"path": "a", "content": "see b.txt"}]}, ("a",)),
        ({"files": ["a", Path("b")]}, ("a", "b")),
        ([Operation("update", "a", "@@", "b")], ("a", "b")),
        ({"edits": []}, ()),
        (None, ()),
        (7, ()),
    ],
)
def test_edits(value: object, found: tuple[str, ...]) -> None:
    """Lists and mappings of edits give the paths they are about."""
    assert paths_in_edits(value) == found


def test_edits_that_hold_themselves() -> None:
    """A list of edits that contains itself comes to an end."""
    edits: list[object] = [{"path": "a"}]
    edits.append(edits)
    assert paths_in_edits(edits) == ("a",)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("a", ("a",)),
        (b"\xff", ("\udcff",)),
        (Path("a/b"), ("a/b",)),
        (["a", b"b", Path("c"), "a"], ("a", "b", "c")),
        ({"a", "b"}, None),
        (None, ()),
        ("", ()),
        ("a\0b", ()),
        (3, ()),
        ("file:///tmp/with%20space", ("/tmp/with space",)),
    ],
)
def test_path_values(value: object, found: tuple[str, ...] | None) -> None:
    """Text, bytes, path-likes and collections give paths; everything else gives none."""
    got = as_paths(value)
    assert got == found if found is not None else set(got) == {"a", "b"}


@pytest.mark.parametrize("name", ["filePath", "FilePath", "file-path", "file_path", "File Path"])
def test_argument_key(name: str) -> None:
    """Every spelling of an argument's name is one key."""
    assert argument_key(name) == "file_path"


# --------------------------------------------------------------------------- total

_JSON = st.recursive(
    st.none() | st.integers() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)
_LINES = st.lists(
    st.sampled_from(
        [
            *(
                "--- a/x",
                "+++ b/x",
                "+++ ",
                "@@ -1 +1 @@",
                "@@",
                "diff --git a/x b/x",
                "\\",
                "-",
                "+",
            ),
            *('diff --git "a/\\777" x', "rename from ", "*** Update File: a", "*** Begin Patch"),
            *("<<<<<<< SEARCH", ">>>>>>> REPLACE", "```", "Index: x", ""),
        ]
    )
    | st.text()
)


@given(_LINES)
def test_patches_are_total(lines: list[str]) -> None:
    """Whatever text is given, paths come back, none empty and none twice."""
    found = paths_in_patch("\n".join(lines))
    assert all(found)
    assert len(set(found)) == len(found)


@given(_JSON)
def test_edits_are_total(value: object) -> None:
    """Whatever value is given as edits, paths come back."""
    assert all(isinstance(path, str) and path for path in paths_in_edits(value))
