"""What a tool's arguments hold, under their many names: paths, a shell command, a directory.

Knows the names of arguments; what each tool does with them is in `registry`, what stands inside a
patch in `patches`. Total: a value it cannot read gives nothing.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from hermes_checkpoints.patches import (
    PATH_ARGUMENTS,
    argument_key,
    as_paths,
    paths_in_edits,
    paths_in_patch,
)

__all__ = [
    "COMMAND_ARGUMENTS",
    "CWD_ARGUMENTS",
    "EDIT_ARGUMENTS",
    "PATCH_ARGUMENTS",
    "Names",
    "as_names",
    "find_command",
    "find_cwd",
    "find_paths",
    "values_of",
]

Names = str | Sequence[str]
"""One argument name or several; `operation.path` is a field of an argument."""

COMMAND_ARGUMENTS = (
    *("command", "cmd", "commands", "command_line", "shell_command", "bash_command", "script"),
    *("argv", "args", "action.commands", "action.command"),
)
CWD_ARGUMENTS = (
    *("workdir", "cwd", "working_directory", "working_dir", "work_dir", "directory", "root_dir"),
    "action.working_directory",
)
PATCH_ARGUMENTS = (
    *("patch", "patch_text", "patch_content", "diff", "diff_text", "unified_diff", "input"),
    *("changes", "blocks"),
)
EDIT_ARGUMENTS = (
    *("edits", "operation", "operations", "replacements", "changes", "modifications", "patches"),
    *("args", "files", "items", "requests"),
)


def find_paths(
    arguments: Mapping[str, object], path: Names = (), patch: Names = ()
) -> tuple[str, ...]:
    """The paths a file tool's arguments hold, in order, each once.

    `path` names arguments that hold paths, `patch` those that hold a patch or a list of edits;
    without either, the usual names are tried.
    """
    found: list[str] = []
    if path or patch:
        for value in values_of(arguments, as_names(path)):
            found += as_paths(value)
        for value in values_of(arguments, as_names(patch)):
            found += paths_in_patch(value) if isinstance(value, str) else paths_in_edits(value)
        return tuple(dict.fromkeys(found))
    for key, value in arguments.items():
        name = argument_key(key)
        if name in PATH_ARGUMENTS:
            found += as_paths(value) or paths_in_edits(value)
        elif name in PATCH_ARGUMENTS and isinstance(value, str):
            found += paths_in_patch(value)
        elif name in EDIT_ARGUMENTS:
            found += paths_in_edits(value)
    return tuple(dict.fromkeys(found))


def find_command(arguments: Mapping[str, object], command: Names = ()) -> str:
    """The shell text in a command tool's arguments, empty if there is none.

    A list is taken as the words of one command, or, under `commands`, as commands in turn. Where
    it could be either, the text has both: what both would change is protected.
    """
    for name in as_names(command) or COMMAND_ARGUMENTS:
        for value in values_of(arguments, (name,)):
            text = _as_command(value, several=name.endswith("commands"))
            if text:
                return text
    return ""


def find_cwd(arguments: Mapping[str, object], cwd: Names = ()) -> str:
    """The working directory in a tool's arguments, empty if there is none."""
    for value in values_of(arguments, as_names(cwd) or CWD_ARGUMENTS):
        if isinstance(value, (str, bytes, os.PathLike)):
            return next(iter(as_paths(value)), "")
    return ""


def values_of(arguments: Mapping[str, object], names: Iterable[str]) -> Iterator[object]:
    """The values of arguments; `a.b` is field `b` of argument `a`, of each where `a` is a list."""
    for name in names:
        first, *fields = name.split(".")
        found = [v for k, v in arguments.items() if k == first or argument_key(k) == first]
        for field in fields:
            found = [_field(item, field) for value in found for item in _each(value)]
        yield from (value for value in found if value is not None)


def _each(value: object) -> Iterable[object]:
    return value if isinstance(value, (list, tuple)) else (value,)


def _field(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _as_command(value: object, *, several: bool) -> str:
    if isinstance(value, bytes):
        return os.fsdecode(value)
    if isinstance(value, str):
        return value
    if not isinstance(value, (list, tuple)):
        return ""
    if all(isinstance(item, str) for item in value):
        return _words_or_commands(list(value), several)
    found = (_one_of_many(item) for item in value)
    return "\n".join(text for text in found if text)


def _one_of_many(item: object) -> str:
    """A command in a list: text, or a mapping that has it among other settings."""
    if isinstance(item, Mapping):
        return find_command(item)
    return item if isinstance(item, str) else ""


def _words_or_commands(items: list[str], several: bool) -> str:
    words, commands = shlex.join(items), "\n".join(items)
    if several or len(items) < 2:
        return commands
    if any(item.startswith("-") for item in items[1:]):  # no command begins with a dash
        return words
    return f"{words}\n{commands}"


def as_names(names: Names) -> tuple[str, ...]:
    """One name or several, as several."""
    return (names,) if isinstance(names, str) else tuple(names)
