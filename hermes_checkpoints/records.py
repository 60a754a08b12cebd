"""Facts the library passes around: frozen, typed, without behaviour beyond what derives from them.

Paths inside a project are `str`, relative to its root, with `/` between the parts, as
`os.fsdecode` gives them: bytes that are no valid text survive the round trip as surrogates.
Only `render` makes them fit to show.
Times are seconds since the epoch (UTC), sizes are bytes.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

__all__ = [
    "AlreadyTaken",
    "Change",
    "Checkpoint",
    "Failed",
    "FileState",
    "Gap",
    "GapReason",
    "Outcome",
    "Plan",
    "Project",
    "Report",
    "Skipped",
    "Step",
    "StepKind",
    "Taken",
    "ToolCall",
    "ToolEffect",
    "Unchanged",
    "content_id",
]


# --------------------------------------------------------------------------- projects and files


@dataclass(frozen=True, slots=True)
class Project:
    """A directory that is protected as one.

    `root` is absolute and resolved; `id` is the first 16 hex digits of its SHA-256.
    `whole` is false for a *named-only* project, which is too broad (or too big) to snapshot
    whole: there only named targets are captured, `why_not_whole` says why, and absence of a
    path in a checkpoint means nothing.
    """

    root: str
    id: str
    whole: bool = True
    why_not_whole: str = ""


REGULAR = 0o100644
EXECUTABLE = 0o100755
SYMLINK = 0o120000
GITLINK = 0o160000


@dataclass(frozen=True, slots=True)
class FileState:
    """What is at a path: its kind and exec bit, and its content.

    `mode` is one of git's four (`REGULAR EXECUTABLE SYMLINK GITLINK`).
    `content` is `content_id` of the bytes (of a link's target for a link).
    Absence is `None`, never a FileState.
    """

    mode: int
    content: str

    @property
    def is_link(self) -> bool:
        return self.mode == SYMLINK

    @property
    def is_gitlink(self) -> bool:
        return self.mode == GITLINK


def content_id(data: bytes) -> str:
    """The identity of a file's bytes in every store: git's blob id (SHA-1, 40 hex digits)."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def canonical_mode(st_mode: int) -> int:
    """git's mode for an `lstat` mode of a regular file or symbolic link."""
    if stat.S_ISLNK(st_mode):
        return SYMLINK
    return EXECUTABLE if st_mode & 0o100 else REGULAR


class GapReason(str, Enum):
    """Why a checkpoint does not hold a path that exists."""

    TOO_LARGE = "too large"
    UNREADABLE = "unreadable"
    SECRET = "secret"
    NESTED_REPOSITORY = "nested git repository"
    SPECIAL_FILE = "special file"
    UNSUPPORTED_NAME = "name the store cannot hold"
    VANISHED = "vanished while it was read"
    TOO_MANY = "too many files"
    FORGOTTEN = "forgotten"


@dataclass(frozen=True, slots=True)
class Gap:
    """A path that exists and that a checkpoint does not hold, with the reason.

    A gap on a directory covers everything below it, and one on `.` the whole project; but `too many
    files` only says that nobody went through it, and what was named is held all the same.
    """

    path: str
    reason: GapReason
    detail: str = ""

    def covers(self, path: str) -> bool:
        """Whether `path` is the gap itself or lies below it."""
        if self.path == ".":
            return path == "." or self.reason is not GapReason.TOO_MANY
        return path == self.path or path.startswith(self.path.rstrip("/") + "/")


@dataclass(frozen=True, slots=True)
class Change:
    """One path that differs between two states. A rename is two changes."""

    path: str
    old: FileState | None
    new: FileState | None


# --------------------------------------------------------------------------- checkpoints


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """An immutable record of a project, supplements included.

    `id` is stable for the life of the checkpoint; `tree` is the state it holds: everything of
    the checkpoint and its supplements. `files insertions deletions` count against the previous
    checkpoint and are `None` while they have not been computed.
    `gaps` names what is *not* held; `None` means unknown (made by another tool), never "no gaps".
    `named` are paths held because a call named them although a rule leaves them out: their absence
    elsewhere is no evidence. `modes` are permission bits that differ from the usual 0644 and 0755;
    a name with a slash at its end is a directory's, whose usual bits are 0755.
    `empty_dirs` are directories without files that were recorded because a call named them.
    `versions` are further contents of paths the tree already holds otherwise: what a person
    had put there between two writes of the agent; or the same content under other permissions.
    `version_modes` are their unusual bits, by path and content.
    `exclude` are the patterns in force beside the project's ignore files, `None` if unknown.
    """

    id: str
    time: float
    reason: str
    tree: str
    files: int | None = None
    insertions: int | None = None
    deletions: int | None = None
    gaps: tuple[Gap, ...] | None = None
    named: tuple[str, ...] = ()
    modes: Mapping[str, int] = field(default_factory=dict)
    empty_dirs: tuple[str, ...] = ()
    versions: tuple[tuple[str, FileState], ...] = ()
    version_modes: Mapping[tuple[str, str], int] = field(default_factory=dict)
    whole: bool = True
    exclude: tuple[str, ...] | None = None
    supplements: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    pins: tuple[str, ...] = ()

    @property
    def short_id(self) -> str:
        return self.id[:7]

    @property
    def session(self) -> str:
        return self.labels.get("Session", "")

    @property
    def turn(self) -> str:
        return self.labels.get("Turn", "")

    @property
    def tool(self) -> str:
        return self.labels.get("Tool", "")

    @property
    def nested(self) -> tuple[str, ...]:
        """Nested repositories this checkpoint does not hold."""
        gaps = self.gaps or ()
        return tuple(g.path for g in gaps if g.reason is GapReason.NESTED_REPOSITORY)


# --------------------------------------------------------------------------- outcomes


@dataclass(frozen=True, slots=True)
class Taken:
    """A checkpoint was taken."""

    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True)
class AlreadyTaken:
    """This turn has its checkpoint; it may have grown by a supplement."""

    checkpoint: Checkpoint | None = None


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Nothing changed since the last checkpoint, which serves this turn."""

    checkpoint: Checkpoint | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """No checkpoint was wanted or possible here; `why` is a sentence fit to show."""

    why: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A checkpoint was wanted and could not be taken. The tool runs all the same."""

    error: Exception

    @property
    def why(self) -> str:
        return str(self.error)


Outcome = Taken | AlreadyTaken | Unchanged | Skipped | Failed
"""What asking for a checkpoint came to."""


# --------------------------------------------------------------------------- tool calls


class ToolEffect(str, Enum):
    """What a tool does to files: `FILE` writes the paths it is given, `COMMAND` runs a shell
    command, `ANY` may change anything below its working directory, `NONE` changes nothing.
    """

    FILE = "file"
    COMMAND = "command"
    ANY = "any"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of an agent's tool, as an adapter sees it.

    `arguments` are the tool's own, by name. `cwd` is where the tool resolves relative paths.
    `call_id` makes `before` idempotent. `session_id` and `turn_id` are the framework's own and
    count only where no `turn()` scope is active, or always with `native_ids`.
    `environment` is where the tool acts: `local`, `ssh`, or the name of a sandbox.
    `effect` says what kind of tool it is; where it is `None`, the registry fills it in by name,
    with `paths` (as the tool was given them) and `command`.
    """

    name: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    cwd: str | None = None
    session_id: str = ""
    turn_id: str = ""
    call_id: str = ""
    environment: str = "local"
    native_ids: bool = False
    effect: ToolEffect | None = None
    paths: tuple[str, ...] = ()
    command: str = ""


# --------------------------------------------------------------------------- plans and reports


class StepKind(str, Enum):
    """What a restore would do with one path."""

    WRITE = "write"
    DELETE = "delete"
    KEEP_YOURS = "keep-yours"
    KEEP_UNSAVED = "keep-unsaved"


@dataclass(frozen=True, slots=True)
class Step:
    """One path of a plan, with the reason in words.

    `now` is what the plan saw there, `then` what it would leave there (`None`: nothing).
    `permissions` are the bits to set on a written file; `None` for the usual ones.
    `version` is true when `then` is not the checkpoint's content but a person's version that
    came between two writes of the agent.
    """

    kind: StepKind
    path: str
    why: str
    now: FileState | None = None
    then: FileState | None = None
    permissions: int | None = None
    version: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What restoring `checkpoint` would do, computed from one listing, changing nothing.

    `basis` is the state it was computed from; a project that has moved on since is refused.
    `refusal` is non-empty when the restore would be refused; then there are no steps.
    `unrestorable` are paths the checkpoint cannot bring back, each with its reason.
    `notes` are sentences the person must see.
    """

    project: Project
    checkpoint: Checkpoint
    keep_edits: bool
    selection: tuple[str, ...] = ()
    basis: str = ""
    steps: tuple[Step, ...] = ()
    empty_dirs: tuple[str, ...] = ()
    unrestorable: tuple[Gap, ...] = ()
    refusal: str = ""
    notes: tuple[str, ...] = ()

    def of(self, kind: StepKind) -> tuple[Step, ...]:
        return tuple(s for s in self.steps if s.kind is kind)

    @property
    def writes(self) -> tuple[Step, ...]:
        return self.of(StepKind.WRITE)

    @property
    def deletes(self) -> tuple[Step, ...]:
        return self.of(StepKind.DELETE)

    @property
    def kept(self) -> tuple[Step, ...]:
        return self.of(StepKind.KEEP_YOURS)


@dataclass(frozen=True, slots=True)
class Report:
    """What a restore or undo did: five lists that never overlap, and whether all of it worked.

    `safety` is the checkpoint that holds the state before (its number is 1 right after).
    `unrestorable` and `failed` carry their reasons. `aside` maps an uncaptured path that stood in
    the way to where it was moved. `target` is the checkpoint restored.
    """

    ok: bool
    action: str
    project: Project
    target: Checkpoint | None = None
    safety: Checkpoint | None = None
    restored: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    kept: tuple[Step, ...] = ()
    unrestorable: tuple[Gap, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    aside: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    drop_turns: int = 0
