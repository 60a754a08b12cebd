"""What one tool call is about to change: a resolved `ToolCall` -> targets and places.

Owns the policy which paths are captured by name and when hashing them is all that attribution
needs. Pure but for looks at directories and links: what a pattern names, what a copy meets.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_checkpoints.errors import ConfigError
from hermes_checkpoints.excludes import companions
from hermes_checkpoints.project import contains
from hermes_checkpoints.reasons import before_command, before_tool
from hermes_checkpoints.records import ToolCall, ToolEffect

if TYPE_CHECKING:
    from hermes_checkpoints.config import Config
    from hermes_checkpoints.shell import CommandRules, Effect, Effects

__all__ = ["Intent", "command_rules", "intent_of", "is_sandbox"]

_LOCAL = ("", "local", "ssh")


@dataclass(frozen=True, slots=True)
class Intent:
    """The paths a call is about to change.

    `targets` are absolute; a directory among them stands for all below it. `places` are further
    directories whose projects the call may change. `certain`: nothing but the targets can change.
    `reason` goes with `path`, the one target of a file tool as it was given.
    """

    targets: tuple[str, ...]
    places: tuple[str, ...]
    certain: bool
    tool: str
    command: str = ""

    def reason(self, path: str = "") -> str:
        """The reason of a checkpoint taken for this call."""
        return before_command(self.command) if self.command else before_tool(self.tool, path)


def command_rules(config: Config) -> CommandRules | None:
    """The host's own rules for commands, if it has any. Raises `ConfigError` for wrong ones."""
    if not config.commands:
        return None
    from hermes_checkpoints.shell import CommandRules

    try:
        return CommandRules.from_mapping(config.commands)
    except ValueError as error:
        where = f"{config.source}: " if config.source else ""
        raise ConfigError(f"{where}checkpoints.commands: {error}") from error


def is_sandbox(environment: str) -> bool:
    """Whether a tool acts somewhere else than on this machine's files."""
    return environment not in _LOCAL


def intent_of(
    call: ToolCall, cwd: str, *, rules: CommandRules | None = None, parser: str = "auto"
) -> Intent | None:
    """What a resolved call is about to change; `None`: nothing."""
    if call.effect is ToolEffect.FILE:
        targets = _with_links(way for path in call.paths for way in _absolute(cwd, path))
        places = () if targets else (cwd,)
        return Intent(targets, places, bool(targets), call.name)
    if call.effect is ToolEffect.COMMAND:
        from hermes_checkpoints.shell import classify  # a file tool never pays for it

        return _of_command(call, cwd, classify(call.command, cwd, rules=rules, parser=parser))
    if call.effect is ToolEffect.ANY:
        return _of_anything(call, cwd)
    return None


def _of_anything(call: ToolCall, cwd: str) -> Intent:
    """What a tool of unknown kind may change: its paths are a hint, its directory the rest."""
    paths = [way for path in call.paths for way in _absolute(cwd, path)]
    files = _with_links(p for p in paths if os.path.lexists(p) and not os.path.isdir(p))
    places = (cwd, *(p for p in paths if os.path.isdir(p)))
    return Intent(files, tuple(dict.fromkeys(places)), False, call.name)


def _of_command(call: ToolCall, cwd: str, effects: Effects) -> Intent | None:
    if not effects.changes:
        return None
    reach = _Reach(cwd, effects.certain)
    for effect in effects.effects:
        for path in _ways(effect):
            reach.add(effect, path)
    return Intent(
        tuple(dict.fromkeys(reach.targets)),
        tuple(dict.fromkeys(reach.places)),
        reach.certain,
        call.name,
        call.command,
    )


class _Reach:
    """What the effects of a command come to, with the files that are there."""

    def __init__(self, cwd: str, certain: bool) -> None:
        self.cwd = cwd
        self.certain = certain
        self.targets: list[str] = []
        self.places = [cwd]
        self._room = _MOST_GUESSED

    def add(self, effect: Effect, path: str) -> None:
        """One effect on one path."""
        from hermes_checkpoints.shell import Kind

        goes = effect.kind in (Kind.DELETE, Kind.MOVE)
        if not effect.certain:
            self.places.append(_literal_directory(path))
            if goes or effect.kind in (Kind.WRITE, Kind.APPEND, Kind.LINK):
                self._guess(path, whole=goes)
        elif effect.sources and os.path.isdir(path):
            self._below(path)
            self.targets.extend(_with_links(_met(path, effect.sources)))
        elif goes and self._too_much(path):
            self._below(path)
        elif goes or not os.path.isdir(path):
            # A directory that goes must be held with all that is in it, ignored files too.
            linked = goes or effect.kind is Kind.LINK
            self.targets.extend((path,) if linked else _with_links((path,)))
        else:
            self._below(path)

    def _below(self, directory: str) -> None:
        """What is written below a directory, the scan sees."""
        self.places.append(directory)
        self.certain = False

    def _too_much(self, path: str) -> bool:
        """Whether it is where the command works, and more than can be captured by name."""
        here = contains(path, self.cwd) and not os.path.islink(path)
        return here and _count(path, _MOST_NAMED) > _MOST_NAMED

    def _guess(self, path: str, *, whole: bool) -> None:
        """Take a path or pattern that an effect may be on for named, if that is not too much.

        A scan sees no ignored file, and `rm dist/*` or `find dist -delete` is as sure to destroy
        one as `rm -rf dist`. A directory counts with all below it (`whole`) or not at all.
        """
        for one in _matches(path):
            if not os.path.isdir(one) or os.path.islink(one):
                self._room -= 1
            elif whole and not contains(one, self.cwd):
                self._room -= _count(one, self._room)
            else:
                continue
            if self._room < 0:
                return
            self.targets.extend((one,) if whole else _with_links((one,)))


_MOST_GUESSED = 10_000  # files a command may be on the way to destroy, and that are held in advance
_MOST_NAMED = 50_000  # files below a working directory that goes with all in it
_MOST_SOURCES = 50_000


def _ways(effect: Effect) -> tuple[str, ...]:
    """The path of an effect as its text has it, and where it leads through links, if elsewhere."""
    if effect.path is None:
        return ()
    if not effect.route:
        return (effect.path,)
    return tuple(dict.fromkeys((effect.path, _followed(effect.route))))


def _absolute(cwd: str, path: str) -> tuple[str, ...]:
    """A path that a tool was given: as its text has it, and where `..` leads behind a link.

    Which of the two a tool takes, only the tool knows.
    """
    way = os.path.join(cwd, os.path.expanduser(path))
    text = os.path.normpath(way)
    if ".." not in way.replace(os.sep, "/").split("/"):
        return (text,)
    followed = _followed(way)
    return (text,) if os.path.realpath(text) == os.path.realpath(followed) else (text, followed)


def _followed(path: str) -> str:
    """Where a path leads for the kernel, which follows a link before it goes up from there.

    The last part is followed only where the path says that it is a directory.
    """
    head, tail = os.path.split(path)
    if tail in ("", ".", ".."):
        return os.path.realpath(path)
    return os.path.join(os.path.realpath(head), tail)


def _met(directory: str, sources: Iterable[str]) -> Iterator[str]:
    """What already is where sources arrive when they are put into a directory."""
    for source in (one for pattern in sources for one in _matches(pattern)):
        name = os.path.basename(source.rstrip("/"))
        target = directory if name in (".", "..") else os.path.join(directory, name)
        if not os.path.isdir(target):
            if os.path.lexists(target):
                yield target
            continue
        for file in islice(_files(source), _MOST_SOURCES):
            place = os.path.normpath(os.path.join(target, os.path.relpath(file, source)))
            if os.path.lexists(place):
                yield place


def _matches(path: str) -> Iterable[str]:
    """What a path or pattern names: itself if it is there, or is no pattern."""
    if os.path.lexists(path) or not any(c in path for c in "*?["):
        return (path,)
    from glob import iglob  # 3 ms that a file tool's hook does not have

    return iglob(path)


def _count(directory: str, most: int) -> int:
    """How many files are below a directory; counting ends above `most`."""
    return sum(1 for _ in islice(_files(directory), most + 1))


def _files(directory: str) -> Iterator[str]:
    for place, _, names in os.walk(directory):
        yield from (os.path.join(place, name) for name in names)


def _with_links(paths: Iterable[str]) -> tuple[str, ...]:
    """The paths, their links' targets (that is what a write changes) and database companions."""
    found: dict[str, None] = {}
    for path in paths:
        found[path] = None
        if os.path.islink(path):
            found[os.path.realpath(path)] = None
        found.update((c, None) for c in companions(path) if os.path.lexists(c))
    return tuple(found)


def _literal_directory(path: str) -> str:
    """The deepest directory that a pattern names without wildcards."""
    place = Path(path)
    while any(c in str(place) for c in "*?[{$") and place != place.parent:
        place = place.parent
    return str(place)
