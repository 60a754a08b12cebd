"""What a command does to files: the records `classify` answers with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(str, Enum):
    """What happens to a path."""

    DELETE = "delete"
    WRITE = "write"
    CREATE = "create"
    MOVE = "move"
    APPEND = "append"
    MODE = "mode"
    LINK = "link"
    GIT_WORKTREE = "git-worktree"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing a command does, or may do, to one path.

    `path` is absolute and normalised; None means it is not known which. A glob keeps its pattern
    text and is not `certain`; of a path known only in part, the directory that is known is named,
    or a pattern (`tmp.$$` is `tmp.*`).
    A certain path may be a directory: then the effect is on what is in it.
    `evidence` holds the words that say so, the program first.
    `route` is the path as the words walk to it, with its `..` and a `/` at its end, where `path`
    has lost something of that: through a symbolic link it leads elsewhere.
    `sources` are, as such routes, what is copied, moved or linked there: into `path`, if that is a
    directory.
    """

    kind: Kind
    path: str | None
    certain: bool
    evidence: tuple[str, ...]
    route: str = ""
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Effects:
    """Everything a command text does to files, and one sentence that says why."""

    effects: tuple[Effect, ...]
    why: str

    @property
    def destructive(self) -> bool:
        """Whether it can change or destroy files that may exist already."""
        return any(effect.kind is not Kind.CREATE for effect in self.effects)

    @property
    def changes(self) -> bool:
        """Whether it can change the file system at all: destructive, or creating."""
        return bool(self.effects)

    @property
    def certain(self) -> bool:
        """Whether every effect is certain, so that nothing but the named paths can change."""
        return all(effect.certain for effect in self.effects)
