"""The labelled commands, and how an answer is held against a label."""

from __future__ import annotations

import fnmatch
import json
import posixpath
from dataclasses import dataclass
from pathlib import Path

from hermes_checkpoints.shell import Effects

PLACE = "/work/project"
HOME = "/home/somebody"
DATA = Path(__file__).parent / "data"
SETS = (
    "corpus.jsonl",  # written with the classifier
    "agents.jsonl",  # written before it had seen them
    "independent.jsonl",  # by someone who knew none of its rules
    "kinds.jsonl",  # of each kind that was once missed, one or more
)


@dataclass(frozen=True, slots=True)
class Case:
    """One command with its label; `targets` are relative to `PLACE`, `[]` is not knowable."""

    text: str
    destructive: bool
    targets: tuple[str, ...]
    ambiguous: bool

    @property
    def paths(self) -> list[str]:
        """The targets as absolute paths."""
        return [_absolute(target) for target in self.targets]


def load(name: str) -> list[Case]:
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [Case(r["cmd"], r["destructive"], tuple(r["targets"]), r["ambiguous"]) for r in rows]


def _absolute(target: str) -> str:
    target = target.replace("$HOME", "~")
    target = HOME + target[1:] if target.startswith("~") else target
    return posixpath.normpath(posixpath.join(PLACE, target))


def covers(effects: Effects, path: str) -> bool:
    """Whether an effect names `path` or a directory above it, the working directory aside."""
    for effect in effects.effects:
        if effect.path is None:
            continue
        if effect.path == path or (not effect.certain and fnmatch.fnmatchcase(path, effect.path)):
            return True
        if effect.path != PLACE and path.startswith(effect.path.rstrip("/") + "/"):
            return True
    return False
