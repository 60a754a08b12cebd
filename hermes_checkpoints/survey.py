"""What is known before a restore: first what the store has recorded, then what is there now.

Owns the gathering of everything a plan depends on. What must be refused is known after the first
half, before anything was observed; the second half records the state of the project in the store
and changes nothing else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from hermes_checkpoints import worktree
from hermes_checkpoints.authorship import History, same
from hermes_checkpoints.books import Books
from hermes_checkpoints.config import Config
from hermes_checkpoints.errors import SelectionError, StoreError
from hermes_checkpoints.ledger import RESTORE, Entry
from hermes_checkpoints.links import links_of
from hermes_checkpoints.records import Checkpoint, FileState, Gap, GapReason, Plan, Project
from hermes_checkpoints.restore import (
    Scope,
    Side,
    Situation,
    above,
    directories_of,
    make_plan,
    usual_permissions,
)
from hermes_checkpoints.selection import Selection, parse
from hermes_checkpoints.stores.base import Observation, Store
from hermes_checkpoints.stores.patterns import IgnoreRules

__all__ = ["Recorded", "Request", "Survey", "Surveyor"]


@dataclass(frozen=True, slots=True)
class Request:
    """What a person asks for: a checkpoint, perhaps paths of it as typed in `base_dir`."""

    checkpoint: Checkpoint
    paths: tuple[str, ...] = ()
    base_dir: str = ""
    keep_edits: bool = True
    session: str = ""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What store and ledger say, without a look at the project.

    `entries` is the checkpoint's whole state. `nested` repositories it lacks; `linked` ones are
    projects of their own.
    """

    request: Request
    checkpoint: Checkpoint
    checkpoints: tuple[Checkpoint, ...]
    entries: Mapping[str, FileState]
    then: Side
    nested: tuple[str, ...]
    linked: frozenset[str]
    selection: Selection
    history: History | None
    notes: tuple[str, ...] = ()
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Survey:
    """A plan, and what it was made from: the observation and the present state."""

    plan: Plan
    observation: Observation
    now: Side
    dirs_then: frozenset[str]


class Surveyor:
    """Finds out what a restore would meet. The caller holds the project's lock."""

    def __init__(self, store: Store, books: Books, config: Config) -> None:
        self._store, self._books, self._config = store, books, config

    # ------------------------------------------------------------------ what is recorded

    def recorded(self, project: Project, request: Request) -> Recorded:
        """Read what is recorded and resolve the selection.

        Raises `CheckpointNotFound`, `SelectionError`, `StoreError`. Nothing is written.
        """
        checkpoints = tuple(self._store.list(project))
        checkpoint = self._store.get(project, request.checkpoint.id)
        entries = self._store.entries(project, checkpoint.tree)
        links = {path for path, state in entries.items() if state.is_gitlink}
        held = links_of(self._store, project, checkpoint)
        nested = tuple(sorted(links.union(checkpoint.nested).difference(held)))
        then = Side(
            files={p: s for p, s in entries.items() if p not in links},
            gaps=checkpoint.gaps,
            unruled=frozenset(checkpoint.named),
            modes=checkpoint.modes,
            whole=checkpoint.whole,
        )
        ledger = self._books.of(project).ledger
        writes = ledger.entries()
        selection = self._selection(project, request, then, checkpoint, writes)
        history = self._history(project, writes, checkpoints, checkpoint, request.session)
        notes = self._notes(project, checkpoints, checkpoint, request, writes, history)
        return Recorded(
            request=request,
            checkpoint=checkpoint,
            checkpoints=checkpoints,
            entries=entries,
            then=then,
            nested=nested,
            linked=frozenset(held),
            selection=selection,
            history=history,
            notes=tuple(notes),
            refusal=_refusal(checkpoint, nested, selection, self._store),
        )

    def _history(
        self,
        project: Project,
        writes: Iterable[Entry],
        checkpoints: Sequence[Checkpoint],
        target: Checkpoint,
        session: str,
    ) -> History | None:
        if not self._has_ledger(project):
            return None
        running = cache(self._books.sessions.running)

        def ours(entry: Entry) -> bool:
            return entry.kind == RESTORE or entry.session == session or not running(entry.session)

        return History(writes, checkpoints, target, ours)

    def _has_ledger(self, project: Project) -> bool:
        book = self._books.of(project)
        return book.ledger.exists or book.has_foreign_ledger

    def _selection(
        self,
        project: Project,
        request: Request,
        then: Side,
        checkpoint: Checkpoint,
        writes: Iterable[Entry],
    ) -> Selection:
        if not request.paths:
            return Selection()
        recorded = {*then.files, *(g.path for g in then.gaps or ()), *(e.path for e in writes)}
        recorded.update(checkpoint.empty_dirs)
        names = recorded | directories_of(recorded)

        def known(path: str) -> bool:
            if path in names or worktree.exists(project.root, path):
                return True
            return any(gap.covers(path) for gap in then.gaps or ())

        selection = parse(
            project, request.paths, base_dir=request.base_dir or project.root, known=known
        )
        match = self._store.match
        if selection.unmatched(recorded, match):
            everything = recorded.union(worktree.files_below(project.root, "."))
            _refuse_unmatched(project, selection.unmatched(everything, match))
        return selection

    # ------------------------------------------------------------------ what is there

    def survey(self, project: Project, recorded: Recorded) -> Survey:
        """Observe the project and make the plan."""
        observation, tree = self._observe(project, recorded)
        there = {p: s for p, s in observation.named.items() if s is not None}
        now = Side(
            files={**{p: s for p, s in tree.items() if not s.is_gitlink}, **there},
            gaps=observation.gaps,
            unruled=observation.unruled,
            modes=observation.modes,
            whole=observation.whole,
        )
        then, checkpoint = recorded.then, recorded.checkpoint
        dirs_then = frozenset(
            directories_of((*then.files, *(f"{d}/" for d in checkpoint.empty_dirs)))
        )
        scope = self._scope(recorded, now)
        situation = Situation(
            then=then,
            now=now,
            scope=scope,
            history=recorded.history,
            ignored_then=self._ignored_then(project, recorded, tree),
            missing_dirs=tuple(
                d for d in checkpoint.empty_dirs if not worktree.is_directory(project.root, d)
            ),
            vacant=_vacant(project, then, now),
            repositories=tuple(g.path for g in _new_repositories(recorded, now) if g.path in scope),
            chmodded={
                path: checkpoint.version_modes.get((path, state.content), usual_permissions(state))
                for path, state in checkpoint.versions
                if then.files.get(path) == state
            },
            bits=lambda path, state: self._bits(project, recorded.checkpoints, path, state),
            held=lambda path, state: self._holds(project, recorded.checkpoints, path, state),
        )
        plan = make_plan(
            project,
            checkpoint,
            situation,
            keep_edits=recorded.request.keep_edits,
            selection=recorded.request.paths,
            basis=observation.tree,
            notes=recorded.notes,
        )
        return Survey(plan, observation, now, dirs_then)

    def _observe(
        self, project: Project, recorded: Recorded
    ) -> tuple[Observation, Mapping[str, FileState]]:
        """The state now, with the states of all paths that matter although a rule bars them."""
        if not os.path.isdir(project.root):
            return Observation(tree="", whole=project.whole), {}
        rules = self._config.capture_rules
        history = recorded.history
        names = {*recorded.checkpoint.named, *(history.paths if history else ())}
        names.update(recorded.selection.names)
        if not project.whole:
            names.update(recorded.then.files)
        may_be_named = _naming(project)
        names = set(filter(may_be_named, names))
        while True:
            observation = self._store.observe(project, rules, named=sorted(names))
            tree = self._entries(project, recorded, observation.tree)
            # A secret is left out of a scan, and held when it is named.
            gaps = {g.path for g in observation.gaps if g.reason is not GapReason.SECRET}
            unseen = {
                path
                for path in recorded.then.files
                if path not in tree
                and path not in names
                and not _covered(path, gaps)
                and worktree.exists(project.root, path)
                and may_be_named(path)
            }
            if not unseen:
                return observation, tree
            names |= unseen  # rules have changed: what the checkpoint holds is barred today

    def _entries(self, project: Project, recorded: Recorded, tree: str) -> dict[str, FileState]:
        """All paths of the present state: the checkpoint's, with what differs. Few do."""
        found = dict(recorded.entries)
        for change in self._store.changes(project, recorded.checkpoint.tree, tree):
            if change.new is None:
                del found[change.path]
            else:
                found[change.path] = change.new
        return found

    def _scope(self, recorded: Recorded, now: Side) -> Scope:
        selection, then, apart = recorded.selection, recorded.then, recorded.linked
        if not selection:
            return Scope(apart=apart)
        gaps = (*(then.gaps or ()), *(now.gaps or ()))
        candidates = {*then.files, *now.files, *(g.path for g in gaps)}
        candidates.update(recorded.checkpoint.empty_dirs)
        chosen, forced = selection.pick(candidates, self._store.match)
        return Scope(chosen.union(selection.names), forced, apart)

    def _ignored_then(
        self, project: Project, recorded: Recorded, tree: Mapping[str, FileState]
    ) -> frozenset[str]:
        """Present paths that the checkpoint lacks and that rules of then leave out.

        Rules of then are its own ignore files, the configured patterns, and ignore files as they
        were before a call that changed them and is said to have made the path.
        """
        then, checkpoint = recorded.then, recorded.checkpoint
        new = [path for path in tree if path not in then.files]
        hidden: set[str] = set()
        if _ignore_files(then.files) != _ignore_files(tree):
            hidden |= self._store.ignored(project, checkpoint.tree, new)
        if checkpoint.exclude not in (None, self._config.capture_rules.patterns):
            excluded = IgnoreRules(checkpoint.exclude or ())
            hidden.update(filter(excluded.hides, new))
        if recorded.history:
            changed = {path: recorded.history.rules_changed(path) for path in new}
            rules_before = cache(lambda change: self._rules_before(project, change))
            hidden.update(
                path
                for path, changes in changed.items()
                if any(rules_before(change).hides(path) for change in changes)
            )
        return frozenset(hidden)

    def _rules_before(self, project: Project, change: Entry) -> IgnoreRules:
        """What an ignore file said before a call changed it; all, where that is not known."""
        text = b"*"
        if change.before is not None:
            try:
                (text,) = self._store.read(project, [change.before.content])
            except StoreError:
                pass
        directory = change.path.rpartition("/")[0]
        return IgnoreRules().below(directory, os.fsdecode(text))

    def _holds(
        self, project: Project, checkpoints: Iterable[Checkpoint], path: str, state: FileState
    ) -> bool:
        """Whether some checkpoint holds this state of a path."""
        for one in checkpoints:
            if any(p == path and same(version, state) for p, version in one.versions):
                return True
            if same(self._store.states(project, one.tree, [path])[path], state):
                return True
        return False

    def _bits(
        self, project: Project, checkpoints: Iterable[Checkpoint], path: str, state: FileState
    ) -> int | None:
        """The permission bits that this state of a path had; `None` where no checkpoint tells."""
        for one in checkpoints:
            if one.gaps is None or state.is_link:
                continue
            usual = usual_permissions(state)
            if any(p == path and same(version, state) for p, version in one.versions):
                return one.version_modes.get((path, state.content), usual)
            if same(self._store.states(project, one.tree, [path])[path], state):
                return one.modes.get(path, usual)
        return None

    # ------------------------------------------------------------------ what must be said

    def _notes(
        self,
        project: Project,
        checkpoints: Sequence[Checkpoint],
        checkpoint: Checkpoint,
        request: Request,
        writes: Sequence[Entry],
        history: History | None,
    ) -> Iterable[str]:
        if request.keep_edits and history is None:
            yield (
                "nothing tells which changes the agent made (there is no ledger of its writes), so "
                "everything is restored, hand-edits too"
            )
        elif request.keep_edits and not writes:
            yield (
                "no write of the agent is recorded here, so every changed file is taken to be "
                "yours; --all restores those too"
            )
        if checkpoint.gaps is None:
            yield "this checkpoint does not tell what it lacks, so it may lack files"
        if self._is_another_directory(project):
            yield (
                f"{project.root} is not the directory the checkpoints were taken of: it was "
                "deleted or moved, and made anew"
            )
        age = next((n for n, c in enumerate(checkpoints) if c.id == checkpoint.id), 0)
        ran = {c.reason for c in checkpoints[: age + 1]} | (history.tools if history else set())
        if any(map(_GIT.search, ran)):
            yield "files come back, git's own state (HEAD, branches, index, stash) does not"

    def _is_another_directory(self, project: Project) -> bool:
        """Going by the inode alone: devices may be numbered anew at any start."""
        try:
            inode = os.stat(project.root).st_ino
        except OSError:
            return True
        records = (r for r in self._store.projects() if r.project.id == project.id)
        return any(record.inode and record.inode != inode for record in records)


_GIT = re.compile(
    r"terminal: .*\bgit\b.*\b(am|bisect|branch|checkout|cherry-pick|clean|commit|merge|pull|rebase"
    r"|reset|restore|revert|rm|mv|stash|switch|tag|update-ref)\b"
)


def _refusal(
    checkpoint: Checkpoint, nested: Sequence[str], selection: Selection, store: Store
) -> str:
    """Why a restore must be refused, going by what is recorded and not by what is on disk."""
    reached = [n for n in nested if not selection or selection.reaches(n, store.match)]
    if not reached:
        return ""
    one = len(reached) == 1
    return (
        f"checkpoint {checkpoint.short_id} does not hold the nested git "
        f"{'repository' if one else 'repositories'} {', '.join(reached)}, so "
        f"{'it' if one else 'they'} could not be restored with the rest"
    )


def _refuse_unmatched(project: Project, unmatched: Sequence[str]) -> None:
    if unmatched:
        raise SelectionError(
            f"{', '.join(map(repr, unmatched))}: matches nothing in the checkpoint or in "
            f"{project.root}",
            hint="`/rollback plan <N>` names the paths a checkpoint would restore",
        )


def _naming(project: Project) -> Callable[[str], bool]:
    """Whether the store may be asked for a path by name: no directory, in no repository."""

    @cache
    def in_repository(directory: str) -> bool:
        if not directory:
            return False
        if worktree.exists(project.root, f"{directory}/.git"):
            return True
        return in_repository(directory.rpartition("/")[0])

    def may_be_named(path: str) -> bool:
        if path == "." or in_repository(path.rpartition("/")[0]):
            return False
        return not worktree.is_directory(project.root, path)

    return may_be_named


def _vacant(project: Project, then: Side, now: Side) -> frozenset[str]:
    """Paths of the checkpoint that lie in a repository of today, and where nothing is."""
    repositories = {g.path for g in now.gaps or () if g.reason is GapReason.NESTED_REPOSITORY}
    return frozenset(
        path
        for path in then.files
        if repositories and _covered(path, repositories) and worktree.is_vacant(project.root, path)
    )


def _new_repositories(recorded: Recorded, now: Side) -> Iterable[Gap]:
    """The repositories of today that the checkpoint does not know."""
    known = recorded.linked.union(recorded.nested)
    nested = (g for g in now.gaps or () if g.reason is GapReason.NESTED_REPOSITORY)
    return (gap for gap in nested if gap.path not in known)


def _covered(path: str, gaps: set[str]) -> bool:
    return path in gaps or any(up in gaps for up in above(path))


def _ignore_files(files: Mapping[str, FileState]) -> dict[str, str]:
    return {
        path: state.content
        for path, state in files.items()
        if path.endswith(".gitignore") and path.rpartition("/")[2] == ".gitignore"
    }
