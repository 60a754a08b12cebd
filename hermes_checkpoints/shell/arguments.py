"""Words as a program receives them, when not all of their text is known.

An argument is a plain `str` in which five control characters have a meaning:
`UNKNOWN` stands for text that is not known, the next three for an active `*`, `?` or `[`, and
`GUESS` marks an argument whose text holds only if a variable is not set.
Source text that contains one of them becomes `UNKNOWN`, so they cannot be forged.
"""

from __future__ import annotations

import ntpath
import posixpath
import re
from collections.abc import Collection
from dataclasses import dataclass, field

MAX_PATH = 4096  # what no system takes is no path; also bounds `cd a; cd a; …`
UNKNOWN = "\0"
STAR, QUERY, SET = "\1", "\2", "\3"
GUESS = "\x08"
_MARKS = re.compile("[\0-\x08]")
_TO_SOURCE = str.maketrans({STAR: "*", QUERY: "?", SET: "[", GUESS: ""})
_TO_PATTERN = str.maketrans({UNKNOWN: "*", STAR: "*", QUERY: "?", SET: "[", GUESS: ""})
_DRIVE = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def words(text: str) -> frozenset[str]:
    """The words of a text, for the tables of options and verbs."""
    return frozenset(text.split())


def source(argument: str) -> str:
    """The argument as shell source again (unknown text stays marked)."""
    return argument.translate(_TO_SOURCE)


def shown(argument: str) -> str:
    """The argument as evidence to show."""
    return argument.translate(_TO_PATTERN).replace(UNKNOWN, "*")


def is_literal(argument: str) -> bool:
    """Whether every character of the argument is known and none is active."""
    return not _MARKS.search(argument)


def is_url(argument: str) -> bool:
    """Whether the argument names something on a network."""
    return bool(_URL.match(argument))


def _known_part(argument: str) -> str:
    """The directory above what is not known of a path; a name that begins known is a pattern."""
    head, unknown, _ = argument.partition(UNKNOWN)
    directory, slash, _ = head.rpartition("/")
    return (directory or "/") if unknown and slash else argument


def resolve(argument: str, place: str | None) -> tuple[str | None, bool]:
    """The absolute path an argument names from directory `place`, and whether that is certain."""
    certain = not _MARKS.search(argument)
    if not certain:
        if argument.lstrip(GUESS).startswith((UNKNOWN, "/" + UNKNOWN)):
            return None, False
        argument = _known_part(argument).translate(_TO_PATTERN)
    if len(argument) + len(place or "") > MAX_PATH:
        return None, False
    if place is not None and _DRIVE.match(place):
        return ntpath.normpath(ntpath.join(place, argument)), certain
    if argument.startswith("/"):
        path = posixpath.normpath(argument)
        return path[1:] if path.startswith("//") else path, certain
    if _DRIVE.match(argument):
        return argument, certain
    if place is None:
        return None, False
    return posixpath.normpath(f"{place}/{argument}"), certain


def route(argument: str, place: str | None) -> str:
    """The absolute path an argument names, as its words walk to it; empty if that is not known."""
    text = argument.translate(_TO_PATTERN)
    if text == ".":
        return place or ""
    if UNKNOWN in argument or place is None or _DRIVE.match(place) or _DRIVE.match(text):
        return ""
    return text if text.startswith("/") else f"{place.rstrip('/')}/{text}"


def strays(path: str) -> bool:
    """Whether a path may lead elsewhere than to what is left of it when `..` is taken as text."""
    return path.endswith(("/", "/.")) or ".." in path.split("/")


@dataclass(slots=True)
class Parsed:
    """A command line taken apart: options by name with their values, and operands.

    An option that stands without a value has the value None. `after` is the index in `operands`
    of the first one behind `--` (their number, if there is no `--`).
    """

    options: dict[str, list[str | None]] = field(default_factory=dict)
    operands: list[str] = field(default_factory=list)
    rest: int = 0
    after: int | None = None

    def has(self, *names: str) -> bool:
        return any(name in self.options for name in names)

    def values(self, *names: str) -> list[str]:
        """The values given with these options; a value that is missing is unknown."""
        return [
            UNKNOWN if value is None else value
            for name in names
            for value in self.options.get(name, ())
        ]

    def add(self, name: str, value: str | None = None) -> None:
        self.options.setdefault(name, []).append(value)


def parse(
    args: list[str],
    takes: Collection[str] = (),
    knows: Collection[str] = (),
    *,
    style: str = "gnu",
) -> Parsed:
    """Take `args` apart. `takes` are the options that have a value, `knows` all others of note.

    Styles: `gnu` (bundled short options, options anywhere), `first` (the same, but options end
    at the first operand, as wrappers read them), `single` (long options with one dash, as in Go),
    `slash` (Windows: `/x`).
    `rest` of the answer is the index in `args` of the first operand.
    """
    parsed = Parsed(rest=len(args))
    at = 0
    while at < len(args):
        arg = args[at]
        if arg == "--" and style != "slash":
            parsed.rest = min(parsed.rest, at + 1)
            parsed.after = len(parsed.operands)
            parsed.operands += args[at + 1 :]
            return parsed
        if not _is_option(arg, style):
            parsed.rest = min(parsed.rest, at)
            if style == "first":
                parsed.operands += args[at:]
                return parsed
            parsed.operands.append(arg)
            at += 1
            continue
        following = args[at + 1] if at + 1 < len(args) else None
        at += _option(parsed, arg, following, takes, knows, style)
    return parsed


def _is_option(arg: str, style: str) -> bool:
    if style == "slash":
        return len(arg) > 1 and (
            arg[0] == "-" or (arg[0] == "/" and "/" not in arg[1:] and len(arg) < 16)
        )
    return len(arg) > 1 and arg[0] == "-"


def _option(
    parsed: Parsed,
    arg: str,
    following: str | None,
    takes: Collection[str],
    knows: Collection[str],
    style: str,
) -> int:
    """Read one option into `parsed`; the number of arguments it used."""
    if style == "slash":
        parsed.add("/" + arg[1:].split(":")[0].lower())
        return 1
    if arg.startswith("--") or style == "single":
        name, equals, value = arg.partition("=")
        name = _canonical(name, takes, knows, style)
        if equals:
            parsed.add(name, value)
            return 1
        if name in takes:
            parsed.add(name, following)
            return 2
        parsed.add(name)
        return 1
    return _bundle(parsed, arg, following, takes, knows)


def _canonical(name: str, takes: Collection[str], knows: Collection[str], style: str) -> str:
    """The full name of an abbreviated long option, as getopt_long accepts it."""
    if name in takes or name in knows:
        return name
    if style == "single" and name.startswith("--"):
        return name[1:]
    if len(name) > 4:
        full = [known for known in (*takes, *knows) if known.startswith(name)]
        if len(full) == 1:
            return full[0]
    return name


def _bundle(
    parsed: Parsed, arg: str, following: str | None, takes: Collection[str], knows: Collection[str]
) -> int:
    if arg in takes:
        parsed.add(arg, following)
        return 2
    if arg in knows:
        parsed.add(arg)
        return 1
    for at in range(1, len(arg)):
        name = "-" + arg[at]
        if name in takes:
            inline = arg[at + 1 :]
            parsed.add(name, inline or following)
            return 1 if inline else 2
        parsed.add(name)
    parsed.add(arg)
    return 1
