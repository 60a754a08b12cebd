"""Which files a patch or a list of edits is about: paths out of a tool call's body.

Reads unified diffs (git's too), `*** Begin Patch` envelopes, search/replace blocks, and lists or
mappings of edits. Knows no tool and touches no file. Total: whatever it is given, it returns paths
and never raises; an empty result means *not understood*, and the caller must expect any change.
Where two readings are possible it returns both: a path too many costs one look, a path too few
costs a file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urlsplit

__all__ = ["PATH_ARGUMENTS", "argument_key", "as_paths", "paths_in_edits", "paths_in_patch"]

# fmt: off
PATH_ARGUMENTS = frozenset({
    "absolute_path", "dest", "dest_path", "destination", "destination_file",
    "destination_path", "dir_path", "directory_path", "dst", "dst_path", "file", "file_name",
    "file_names", "file_path", "file_paths", "file_uri", "filename", "filenames", "filepath",
    "filepaths", "files", "folder_path", "from_path", "full_path", "move_path", "move_to",
    "new_file", "new_path", "notebook_path", "old_file", "old_path", "out_file",
    "output_file", "output_path", "path", "paths", "rel_path", "relative_path",
    "relative_workspace_path",
    "rename_to", "save_path", "source", "source_file", "source_path", "src", "src_path",
    "target", "target_file", "target_file_path", "target_files", "target_notebook", "target_path",
    "to_path", "uri",
})
# fmt: on
"""Argument names (as `argument_key` gives them) under which tools are told a path to change."""


@lru_cache(maxsize=1024)
def argument_key(name: str) -> str:
    """One spelling for `filePath`, `FilePath`, `file-path` and `file_path`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return re.sub(r"[\W_]+", "_", words).strip("_").lower()


def as_paths(value: object) -> tuple[str, ...]:
    """The paths in an argument's value: text, bytes, path-like, or any collection of those.

    Empty text, `None` and whatever else holds no path give none. A `file:` URI gives its path.
    """
    if isinstance(value, (str, bytes, os.PathLike)):
        text = _from_uri(os.fsdecode(value))
        return (text,) if text and "\0" not in text else ()
    if isinstance(value, Mapping):
        return paths_in_edits(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return _unique(path for item in value for path in as_paths(item))
    return ()


def paths_in_edits(value: object) -> tuple[str, ...]:
    """The paths in a list or mapping of edits, at any depth.

    `[{"file_path": …, "old_string": …}, …]`, `{"operation": {"path": …, "move_to": …}}`, and
    mappings from a path to what shall become of it.
    """
    return _unique(_in_edits(value, _DEPTH))


def paths_in_patch(text: str) -> tuple[str, ...]:
    """The paths a patch would change, in order; none if it is not understood in full."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if any(_ENVELOPE.match(line) for line in lines):
        return _unique(_in_envelope(lines))
    if any(_SEARCH.match(line) for line in lines):
        return _or_nothing(_in_blocks(lines))
    return _or_nothing(_in_diff(lines))


# --------------------------------------------------------------------------- edits

_DEPTH = (
    6  # of nesting that real edits never reach; ends walks through objects that hold themselves
)


def _in_edits(value: object, depth: int, named: bool = False) -> Iterator[str]:
    """Paths in `value`; `named` says that it stood under a name that announces paths."""
    if depth == 0:
        return
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _in_edits(item, depth - 1, named)
    elif isinstance(value, Mapping):
        yield from _in_mapping(value, depth, named)
    elif named and not _has_fields(value):
        yield from as_paths(value)
    elif _has_fields(value):
        yield from _in_mapping(vars(value), depth, False)


def _in_mapping(value: Mapping[Any, object], depth: int, named: bool) -> Iterator[str]:
    known = any(_announces_paths(key) for key in value)
    for key, item in value.items():
        if not known and (named or _looks_like_path(key)):
            yield from as_paths(key)
        yield from _in_edits(item, depth - 1, _announces_paths(key))


def _announces_paths(key: object) -> bool:
    return isinstance(key, str) and argument_key(key) in PATH_ARGUMENTS


def _has_fields(value: object) -> bool:
    return hasattr(value, "__dict__") and not isinstance(value, (os.PathLike, type))


def _looks_like_path(key: object) -> bool:
    return isinstance(key, str) and bool(re.fullmatch(r"[^\n]*[/\\.][^\n]*", key))


# --------------------------------------------------------------------------- envelopes

_ENVELOPE = re.compile(r"\s*\*\*\*\s+(Begin Patch|(Add|Update|Delete|Move)\s+File\s*:)", re.I)
_HEADER = re.compile(r"\s*\*\*\*\s+(?:(Add|Update|Delete|Move)\s+File|Move\s+to)\s*:\s*(.+)", re.I)


def _in_envelope(lines: list[str]) -> Iterator[str]:
    for line in lines:
        found = _HEADER.match(line)
        if found:
            yield from (name.strip() for name in found[2].split(" -> "))


# --------------------------------------------------------------------------- search and replace

_SEARCH = re.compile(r"\s*(?:<{5,9}|-{5,9})\s*SEARCH\b")
_REPLACE = re.compile(r"\s*(?:>{5,9}|\+{5,9})\s*REPLACE\b")


def _in_blocks(lines: list[str]) -> Iterator[str | None]:
    current: str | None = None
    closed = -1
    for number, line in enumerate(lines):
        if _REPLACE.match(line):
            closed = number
        elif _SEARCH.match(line):
            current = _name_above(lines[max(closed + 1, number - 4) : number]) or current
            yield current


def _name_above(lines: list[str]) -> str | None:
    """The file name a block stands under: the last line that is no fence and not blank."""
    for line in reversed(lines):
        name = line.strip().strip("*`").lstrip("#").strip().rstrip(":").strip("*` ")
        if name and not line.strip().startswith("```"):
            return name
    return None


# --------------------------------------------------------------------------- unified diffs

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_DATE = re.compile(r"\s\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*$")
_EXTENDED = re.compile(r"(?:rename from|rename to|copy to) (.+)|Index: (.+)")
_PREFIXES = ("a/", "b/"), ("i/", "w/"), ("c/", "w/"), ("c/", "i/"), ("o/", "w/"), ("1/", "2/")


def _in_diff(lines: list[str]) -> Iterator[str | None]:
    """The paths of a diff, `None` for a hunk that stands under no file."""
    named = False
    left = right = 0  # lines the open hunk still has, as its header says
    for before, line, after in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
        pair = line.startswith("--- ") and after.startswith("+++ ")
        if line.startswith("@@"):
            if not named:
                yield None
            counts = _HUNK.match(line)
            left, right = (int(n or 1) for n in counts.groups()) if counts else (0, 0)
        elif pair or line.startswith("diff --git ") or (left <= 0 and right <= 0):
            # A pair and a git header count even inside a hunk: models miscount its lines.
            left = right = 0
            if not (line.startswith("+++ ") and before.startswith("--- ")):
                found = list(_in_header(line, after if pair else ""))
                named = named or bool(found)
                yield from found
        else:
            left -= line[:1] in ("-", " ", "")
            right -= line[:1] in ("+", " ", "")


def _in_header(line: str, following: str) -> Iterator[str]:
    """The paths one header line names; `following` is its `+++` line, if it has one."""
    extended = _EXTENDED.fullmatch(line)
    if extended:
        yield _unquoted(extended[1] or extended[2])
    elif line.startswith("diff --git "):
        yield from _in_git_header(line[len("diff --git ") :])
    elif following:
        yield from _pair(_file(line), _file(following))
    elif line.startswith(("--- ", "+++ ")) and _file(line):
        yield from _pair(_file(line), "")


def _pair(old: str, new: str) -> Iterator[str]:
    """The two names of a file header, without git's prefixes; an empty one is no file."""
    for first, second in _PREFIXES:
        for a, b in ((first, second), (second, first)):
            if old.startswith(a) and new.startswith(b):
                yield from (old[len(a) :], new[len(b) :])
                return
    for name in (old, new):
        if name and not (old and new) and name[:2] in {p for pair in _PREFIXES for p in pair}:
            yield name[2:]  # one name alone: its first directory may be a prefix or be real
        if name:
            yield name


def _file(line: str) -> str:
    """The name in a `---` or `+++` line, without its date; empty for /dev/null."""
    text = line[4:]
    if not text.startswith('"'):
        text = _DATE.sub("", text.split("\t")[0]).rstrip()
    name = _unquoted(text)
    return "" if name == "/dev/null" else name


def _in_git_header(names: str) -> Iterator[str]:
    """`a/x b/x`, also with spaces in the name, where the two halves are alike."""
    if '"' in names:
        parts = re.findall(r'"(?:[^"\\]|\\.)*"|\S+', names)
        if len(parts) == 2:
            yield from _pair(_unquoted(parts[0]), _unquoted(parts[1]))
        return
    middle = len(names) // 2
    if names[middle : middle + 1] == " " and names[2:middle] == names[middle + 3 :]:
        yield from _pair(names[:middle], names[middle + 1 :])
    elif names.count(" ") == 1:
        yield from _pair(*names.split(" "))


_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_ESCAPED = re.compile(r'\\([0-7]{1,3}|[abtnvfr"\\])')
_RUN = re.compile(rf"(?:{_ESCAPED.pattern})+")  # one character may take several escaped bytes


def _unquoted(name: str) -> str:
    """A name as git quotes it (octal escapes for bytes that are no ASCII), or a plain one."""
    if not re.match(r'".*"', name):
        return name
    return _RUN.sub(lambda run: _unescaped(run[0]), name[1 : name.rindex('"')])


def _unescaped(run: str) -> str:
    codes = _ESCAPED.findall(run)
    return os.fsdecode(bytes(_ESCAPES[c] if c in _ESCAPES else int(c, 8) & 0xFF for c in codes))


# --------------------------------------------------------------------------- small parts


def _from_uri(text: str) -> str:
    return unquote(urlsplit(text).path) if text.startswith("file://") else text


def _unique(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(p for p in paths if p))


def _or_nothing(found: Iterable[str | None]) -> tuple[str, ...]:
    """All of the paths, or none if one part was not understood."""
    paths = list(found)
    return () if None in paths else _unique(p for p in paths if p)
