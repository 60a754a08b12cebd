"""The contract of a store: where checkpoints live.

A store keeps *states* of projects and a linear history of *checkpoints* for each.
It knows nothing of turns, tools, agents, commands or policy: those who call it decide when to
capture, what to keep and what to restore, and it never writes into a project.

What holds for every store
--------------------------
*Atomic.* `capture` and `supplement` happen or they don't: after an exception or a kill the history
is as before, and no half-made checkpoint is ever listed. `drop`, `forget_path` and `forget`
likewise. A power cut may cost the newest checkpoints, never older ones, and it is noticed. A state
id that was handed out (`Observation.tree`) can be read until the process's lock on the project is
released, and from then on as long as a checkpoint, a pin or a `keep` holds it.

*Identity.* The id of a checkpoint never changes and is never used again; it says nothing to
anyone but its store. Equal states of one project have equal state ids. A file's content is named
by `records.content_id` in every store.

*Missing things.* An id that is no checkpoint *of this project* raises `CheckpointNotFound`, be it
unknown, dropped, damaged, ambiguous, or another project's; never a neighbour instead, and never
"absent". Content that should be there and cannot be read raises `StoreError` and names the path
or id. `release`, `unpin` and `drop` of what is not there do nothing.

*Order.* `list` is newest first, by history, not by clock. Entries of a state come in no order.

*At once.* Any number of processes and threads may use one store. All methods may be called from
any thread. Those that write a project's history take that project's lock themselves; `lock` is
re-entrant in a thread, so a caller that needs several steps to be one holds it around them.
Locks are waited for a bounded time, then `StoreBusy`. Never hold one while a tool runs.
Several projects are locked in the order of their ids.

*Bytes.* What is read back is what was there: no conversion by attributes, no following of
symbolic links, any name the store can hold; a name it can't hold is a gap.

*Gaps, not failures.* What cannot or must not be read becomes a `Gap` of the observation: too
large (never opened), unreadable, secret, special, a nested repository, vanished while it was
read. A nested repository also has an entry of mode `GITLINK` in the state, so that a state tells
by itself where one was. `capture` adds ` [nested git repos not captured: a, b, c (+2)]` to the
reason for those among the gaps of the observation; a caller that captures them otherwise takes
their gaps out first. An observation fails only when nothing at all can be recorded. A path in a
gap is *unknown*, never absent: `changes` between two states must not be read as deletion where a
gap covers it.

*Ignore files.* A state has the `.gitignore` of every directory that is let in, also one that
ignores itself: what the rules were can be told from the state.

*Remote stores* set `remote = True`; the manager then never sends secrets, even when named.

`testing.StoreContract` holds a store to all of this. A store is registered under the entry-point
group `hermes_checkpoints.stores` as a callable `(Config) -> Store` and chosen by
`checkpoints.store`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from hermes_checkpoints.excludes import CaptureRules
from hermes_checkpoints.records import Change, Checkpoint, FileState, Gap, Project, content_id

__all__ = [
    "NESTED_CONTENT",
    "Diff",
    "Observation",
    "Problem",
    "ProjectRecord",
    "Store",
    "StoreSize",
    "Upkeep",
]


NESTED_CONTENT = content_id(b"a nested git repository\n")
"""The content of a `GITLINK` entry: one constant, as a nested repository is never looked into."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The state of a project at a moment.

    `tree` is the id of everything the rules let in (of nothing, if the scan was not wanted).
    `named` are the states of the paths asked for by name, directories expanded to the files below
    them; `None` means that nothing is there. `unruled` are those of them that a rule leaves out,
    so that `tree` lacks them.
    `gaps` lists everything that exists and could not be recorded, `modes` permission bits other
    than 0644 and 0755 (of a directory, with a slash after its name, other than 0755), `empty_dirs`
    directories without files at or below a named path. `exclude` are the patterns of the rules,
    `None` where they are not told.
    """

    tree: str
    named: Mapping[str, FileState | None] = field(default_factory=dict)
    unruled: frozenset[str] = frozenset()
    gaps: tuple[Gap, ...] = ()
    modes: Mapping[str, int] = field(default_factory=dict)
    empty_dirs: tuple[str, ...] = ()
    whole: bool = True
    exclude: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Diff:
    """Differences for people: `stat` is a summary, one line a file, `patch` a unified diff.

    Both are bytes as the store made them; binary files are named, not shown.
    """

    stat: bytes
    patch: bytes


@dataclass(frozen=True, slots=True)
class ProjectRecord:
    """What a store knows about one of its projects without looking at it.

    `device` and `inode` identify the directory as it was at the last capture (0: not known).
    `problem` is non-empty when this project's history has been set aside as damaged.
    """

    project: Project
    created_at: float
    last_touch: float
    checkpoints: int
    device: int = 0
    inode: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class StoreSize:
    """Bytes on disk: all of the base, the store itself, and each archive of an older layout."""

    total: int
    store: int
    legacy: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something `verify` found. `fix` is what `doctor --fix` would do, empty if it can't."""

    what: str
    project: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What a `compact` did: sizes of the store before and after, and why it did less if it did."""

    before: int
    after: int
    swept: tuple[str, ...] = ()
    why_not: str = ""


# `list` names a method of `Store`, so type checkers take it for that inside the class.
Records = list[ProjectRecord]
Problems = list[Problem]


@runtime_checkable
class Store(Protocol):
    """Where checkpoints live. The module's text is the contract; each method adds its own."""

    remote: bool

    # ------------------------------------------------------------------ states

    def lock(
        self, project: Project, *, timeout: float | None = None
    ) -> AbstractContextManager[None]:
        """Hold the project's lock, shared by processes, re-entrant in a thread.

        `timeout` in seconds, `None` for the store's own. Raises `StoreBusy`.
        """
        ...

    def observe(
        self,
        project: Project,
        rules: CaptureRules,
        *,
        named: Sequence[str] = (),
        scan: bool = True,
    ) -> Observation:
        """Record the state of the project now; its history stays as it is.

        With `scan`, everything the rules let in (nothing for a project that is not `whole`).
        `named` paths are recorded whatever the rules say, except over the size cap and, with
        `secrets: never`, secrets; a directory stands for all below it, nested repositories
        excepted. Raises `CaptureFailed`, `StoreUnavailable`, `StoreBusy`.
        """
        ...

    def combined(self, project: Project, observation: Observation) -> str:
        """The id of the state that `tree` and the `named` states of an observation make together.

        It is what `capture` would put into the checkpoint; nothing is captured.
        """
        ...

    def ignored(self, project: Project, tree: str, paths: Iterable[str]) -> set[str]:
        """Which paths the ignore files *in this state* (`.gitignore` at any depth) leave out.

        `paths` are files, which need not be in the state; a rule on a directory above counts.
        Asks neither the file system nor default excludes, and does not care what is tracked.
        """
        ...

    def keep(self, project: Project, key: str, tree: str) -> None:
        """Hold a state under `key` (made of letters, digits, `-` and `_`) until `release`."""
        ...

    def release(self, project: Project, key: str) -> None:
        """End a `keep`."""
        ...

    def changes(self, project: Project, old: str, new: str) -> list[Change]:
        """The paths in which two states differ, each once; no renames."""
        ...

    def entries(self, project: Project, tree: str) -> dict[str, FileState]:
        """All paths of a state."""
        ...

    def states(
        self, project: Project, tree: str, paths: Iterable[str]
    ) -> dict[str, FileState | None]:
        """Some paths of a state; `None` for a path it does not have (or has as a directory)."""
        ...

    def read(self, project: Project, contents: Iterable[str]) -> Iterator[bytes]:
        """The bytes of each content id, in the order asked. Raises `StoreError` naming the id."""
        ...

    def diff(self, project: Project, old: str, new: str, paths: Sequence[str] = ()) -> Diff:
        """Differences between two states for people, of all or of the literal `paths`."""
        ...

    def match(self, candidates: Iterable[str], pathspecs: Sequence[str]) -> list[str]:
        """Which candidate paths git pathspecs select, `:(magic)` included, in no order.

        Looks at no file system and changes nothing. Raises `SelectionError` for a bad pathspec.
        """
        ...

    # ------------------------------------------------------------------ history

    def capture(
        self,
        project: Project,
        observation: Observation,
        *,
        reason: str,
        labels: Mapping[str, str] | None = None,
    ) -> Checkpoint | None:
        """Make a checkpoint of an observation, or `None` if the newest one is equal to it.

        It holds `tree` plus all `named` states. Equal means: same paths, contents, modes, and the
        newest one lacks no `named` path. `reason` is one line. `labels` (keys of letters and `-`,
        one-line values) are kept and given back. Raises `CaptureFailed`.
        """
        ...

    def supplement(
        self, project: Project, checkpoint_id: str, observation: Observation
    ) -> Checkpoint | None:
        """Add to the newest checkpoint what it lacks; `None` if it lacks nothing.

        A path the checkpoint does not have is added; one it has with other content is added to its
        `versions`, and so is a named one with other permissions; nothing it holds changes or goes.
        The checkpoint keeps its id. Raises `CheckpointNotFound` unless `checkpoint_id` is the
        newest.
        """
        ...

    def list(self, project: Project, *, counts: bool = False) -> list[Checkpoint]:
        """All checkpoints, newest first, each with its supplements as one.

        With `counts` what was not counted yet is counted now, and remembered; without, it stays
        `None` and the list costs no more than reading a small file.
        """
        ...

    def get(self, project: Project, checkpoint_id: str) -> Checkpoint:
        """One checkpoint by its id or by an unambiguous beginning of at least four characters."""
        ...

    def pin(self, project: Project, checkpoint_id: str, name: str) -> None:
        """Keep a checkpoint from being dropped for as long as the pin `name` is on it."""
        ...

    def unpin(self, project: Project, checkpoint_id: str, name: str) -> None:
        """Take a pin off."""
        ...

    def drop(self, project: Project, checkpoint_ids: Sequence[str]) -> None:
        """Remove checkpoints from the list at once; the others keep their ids and dates.

        Pinned ones stay. Space comes back at the next `compact`. Costs no more than writing a
        small file.
        """
        ...

    # ------------------------------------------------------------------ the store as a whole

    def projects(self) -> Sequence[ProjectRecord]:
        """Every project the store knows."""
        ...

    def forget(self, project: Project) -> None:
        """Remove a project with all its checkpoints."""
        ...

    def forget_path(self, project: Project, path: str) -> dict[str, str]:
        """Remove one path (a file or all below a directory) from every checkpoint, for good.

        It becomes a gap (`FORGOTTEN`) of each that held it: its absence says nothing from then on.
        The one operation that changes ids: returns old id -> new id of each that held it.
        """
        ...

    def relink(self, old: Project, new: Project) -> None:
        """Give the history of `old` to `new`, which must have none."""
        ...

    def would_free(self, drops: Mapping[str, Sequence[str]]) -> int:
        """Bytes that dropping these checkpoint ids (by project id) and compacting would free."""
        ...

    def compact(self, *, budget: float = 60.0, full: bool = False) -> Upkeep:
        """Give space back and sweep leftovers, in at most about `budget` seconds.

        Never touches what a checkpoint, a pin or a `keep` holds, nor what another process may be
        about to write. `full` waits for all locks and reclaims at once what is unreachable.
        """
        ...

    def verify(self, *, read_data: bool = False, fix: bool = False) -> Sequence[Problem]:
        """Check the store; with `read_data`, every byte of it; with `fix`, repair what can be."""
        ...

    def size(self) -> StoreSize:
        """How much room it takes."""
        ...

    def clear(self) -> None:
        """Delete every project and all content. Raises `StoreError` naming what stayed."""
        ...

    def close(self) -> None:
        """Let go of children, locks and caches. The store may be used again afterwards."""
        ...
