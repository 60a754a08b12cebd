"""What one tool call is about to change: a resolved `ToolCall` -> targets and places.

Owns the policy which paths are captured by name and when hashing them is all that attribution
needs. Pure but for the looks at whether a target is a directory or a link.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_checkpoints.excludes import companions
from hermes_checkpoints.reasons import before_command, before_tool
from hermes_checkpoints.records import ToolCall, ToolEffect

if TYPE_CHECKING:
    from hermes_checkpoints.shell import CommandRules, Effects

__all__ = ["Intent", "intent_of", "is_sandbox"]

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


def is_sandbox(environment: str) -> bool:
    """Whether a tool acts somewhere else than on this machine's files."""
    return environment not in _LOCAL


def intent_of(
    call: ToolCall, cwd: str, *, rules: CommandRules | None = None, parser: str = "auto"
) -> Intent | None:
    """What a resolved call is about to change; `None`: nothing."""
    if call.effect is ToolEffect.FILE:
        targets = _with_links(_absolute(cwd, path) for path in call.paths)
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
    paths = [_absolute(cwd, path) for path in call.paths]
    files = _with_links(p for p in paths if os.path.lexists(p) and not os.path.isdir(p))
    places = (cwd, *(p for p in paths if os.path.isdir(p)))
    return Intent(files, tuple(dict.fromkeys(places)), False, call.name)


def _of_command(call: ToolCall, cwd: str, effects: Effects) -> Intent | None:
    if not effects.changes:
        return None
    from hermes_checkpoints.shell import Kind

    stays_a_link = (Kind.DELETE, Kind.MOVE, Kind.LINK)
    targets: list[str] = []
    places = [cwd]
    certain = effects.certain
    for effect in effects.effects:
        if effect.path is None:
            continue
        if not effect.certain:
            places.append(_literal_directory(effect.path))
        elif effect.kind is Kind.DELETE or not os.path.isdir(effect.path):
            # A directory that goes must be held with all that is in it, ignored files too.
            linked = effect.kind in stays_a_link
            targets.extend((effect.path,) if linked else _with_links((effect.path,)))
        else:
            # What is written below a directory, or moved with it, the scan sees.
            places.append(effect.path)
            certain = False
    return Intent(
        tuple(dict.fromkeys(targets)),
        tuple(dict.fromkeys(places)),
        certain,
        call.name,
        call.command,
    )


def _absolute(cwd: str, path: str) -> str:
    return os.path.normpath(os.path.join(cwd, os.path.expanduser(path)))


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
