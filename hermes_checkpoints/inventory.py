"""What status, sweeps and explanations tell: facts about the store as a whole, and of one path.

Apart from `records`, as no tool call needs them: a hook is a process that has to begin quickly.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from hermes_checkpoints.records import Checkpoint, Project

__all__ = [
    "Archive",
    "Drop",
    "DropReason",
    "Explanation",
    "Failure",
    "Presence",
    "ProjectStatus",
    "PruneResult",
    "Status",
]


class Presence(str, Enum):
    """Whether a project's directory is still there.

    `ORPHAN`: gone, and its parent is provably the directory we knew. `UNREACHABLE`: anything less
    certain, such as a volume that is not mounted.
    """

    LIVE = "live"
    ORPHAN = "orphan"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Failure:
    """The last time a checkpoint of a project failed, and how many failed running."""

    time: float
    error: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class ProjectStatus:
    """A project of a store as `status` shows it. `why` is the evidence for its presence.

    `problem` is non-empty when its history was set aside as damaged; `failure` is set while its
    last attempt at a checkpoint failed.
    """

    project: Project
    checkpoints: int
    last_touch: float
    presence: Presence
    why: str = ""
    problem: str = ""
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Archive:
    """Repositories of an older layout, moved aside: the name below the base, and its size."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Status:
    """What a store holds, newest projects first, and what is wrong.

    Sizes are bytes; `cap` is 0 where there is none. `problems` are sentences about the store as a
    whole: no git, not readable, not private.
    """

    base: str
    enabled: bool
    total: int = 0
    store: int = 0
    cap: int = 0
    projects: tuple[ProjectStatus, ...] = ()
    archives: tuple[Archive, ...] = ()
    problems: tuple[str, ...] = ()


class DropReason(str, Enum):
    """Why retention drops checkpoints."""

    COUNT = "more than max_snapshots"
    STALE = "untouched for retention_days"
    ORPHAN = "directory deleted"
    SIZE = "over max_total_size_mb"
    ASKED = "asked for"


@dataclass(frozen=True, slots=True)
class Drop:
    """Checkpoints of one project that go; with `whole`, the project with all its records."""

    project: Project
    checkpoints: tuple[str, ...]
    reason: DropReason
    whole: bool = False


@dataclass(frozen=True, slots=True)
class PruneResult:
    """What a sweep dropped, or with `dry_run` would drop.

    `before` and `after` are sizes of the store in bytes (of a dry run: as measured without
    deleting). `left` are orphans and unreachable projects that stayed. `still_over` says why the
    store is over its cap nevertheless, `failed` what could not be deleted and why.
    """

    dry_run: bool
    drops: tuple[Drop, ...] = ()
    archives: tuple[Archive, ...] = ()
    left: tuple[ProjectStatus, ...] = ()
    before: int = 0
    after: int = 0
    still_over: str = ""
    failed: tuple[tuple[str, str], ...] = ()

    @property
    def ok(self) -> bool:
        return not self.failed


@dataclass(frozen=True, slots=True)
class Explanation:
    """Whether a path is protected, and why.

    `held` is the newest checkpoint that holds the path, `since` the oldest of an unbroken run;
    `why` is a sentence, and `current` is true when what is there now is what `held` holds.
    """

    project: Project
    path: str
    protected: bool
    why: str
    held: Checkpoint | None = None
    since: Checkpoint | None = None
    current: bool = False
