"""What happens around one tool call: protect what it can destroy, then record what it changed.

Owns the capture policy (one checkpoint per project and turn, supplements) and attribution (whose
doing a change is). Restoring is `recovery`'s; what a call touches is `intent`'s.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from hermes_checkpoints.books import Books
from hermes_checkpoints.config import Config
from hermes_checkpoints.errors import CaptureFailed, CheckpointError
from hermes_checkpoints.intent import Intent
from hermes_checkpoints.ledger import Entry
from hermes_checkpoints.links import Links, nested_projects
from hermes_checkpoints.project import find_project, relative_path
from hermes_checkpoints.records import (
    AlreadyTaken,
    Checkpoint,
    Failed,
    FileState,
    Gap,
    GapReason,
    Outcome,
    Project,
    Skipped,
    Taken,
    Unchanged,
)
from hermes_checkpoints.stores.base import Observation, Store
from hermes_checkpoints.turns import Mark, Marks, Scope
from hermes_checkpoints.worktree import states_of

__all__ = ["Before", "Calls", "Protected"]

_Changed = dict[str, tuple[FileState | None, FileState | None]]

_log = logging.getLogger("hermes_checkpoints")

_PATIENCE = 3  # failures in a row before a project is left alone for a while
_FIRST_REST = 60.0  # seconds, doubled each time up to an hour
_LONGEST_REST = 3600.0


@dataclass(frozen=True, slots=True)
class Before:
    """What was found in one project before a call, kept until the call has ended.

    `named` are the paths the call named, `states` what was there, directories expanded.
    `tree` is the observed state, held under the call's id; empty when hashing the named paths is
    all it takes. `mark` is the ledger's length then.
    """

    project: Project
    checkpoint: str
    named: tuple[str, ...]
    states: Mapping[str, FileState | None]
    tree: str = ""
    gaps: tuple[Gap, ...] = ()
    mark: int = 0


@dataclass(frozen=True, slots=True)
class Protected:
    """What came of protecting one project before a call. `unheld` are targets not held."""

    project: Project
    outcome: Outcome
    before: Before | None = None
    unheld: tuple[Gap, ...] = ()


@dataclass(slots=True)
class _Turn:
    """What this process knows of the turn a session has in a project.

    `explained` is the last observed state of which every change since the checkpoint is accounted
    for: the agent's by the ledger, a person's by the checkpoint.
    """

    turn: str
    checkpoint: Checkpoint | None
    explained: str = ""


@dataclass(slots=True)
class _Health:
    failures: int = 0
    rest_until: float = 0.0


@dataclass(slots=True)
class Calls:
    """The guard of all calls of one manager. Thread-safe: the store's project lock orders them."""

    store: Callable[[], Store]
    books: Books
    config: Config
    notice: Callable[[Project | None, str, str], None]
    taken: Callable[[Project], None]
    owner_pid: int | None = None
    clock: Callable[[], float] = time.monotonic
    _turns: dict[tuple[str, str], _Turn] = field(default_factory=dict)
    _served: dict[tuple[str, str], str] = field(default_factory=dict)
    _health: dict[str, _Health] = field(default_factory=dict)
    _sessions: set[str] = field(default_factory=set)

    # ------------------------------------------------------------------ before

    def protect(self, intent: Intent, scope: Scope, call: str) -> list[Protected]:
        """Hold what a call can destroy in every project it touches. Never raises.

        A project that fails does not keep the others from being protected.
        """
        named = sorted(_by_project(intent, scope.cwd).items(), key=lambda item: item[0].id)
        todo = [(project, tuple(paths)) for project, paths in named]
        done: list[Protected] = []
        for project, paths in todo:  # grows by the repositories that are linked there
            if all(one.project.id != project.id for one in done):
                done.append(self._protect(project, paths, intent, scope, call))
                certain = intent.certain
                todo += nested_projects(self.store, self.config, project, paths, certain=certain)
        return done

    def ensure(self, project: Project, reason: str, scope: Scope) -> Outcome:
        """The turn's checkpoint of a project, taken now if there is none yet. Never raises."""

        def take(store: Store) -> Outcome:
            outcome, _ = self._checkpoint(store, project, (), reason, scope, {})
            return outcome

        return self._try(project, take)

    def _protect(
        self, project: Project, named: tuple[str, ...], intent: Intent, scope: Scope, call: str
    ) -> Protected:
        found: list[Protected] = []

        def protect(store: Store) -> Outcome:
            self._begin_session(scope.session)
            found.append(self._hold(store, project, named, intent, scope, call))
            return found[-1].outcome

        # The lease comes before the lock: a restore that holds the lock has looked for leases.
        self._lease(project, call, intent.reason().removeprefix("before "), scope.session)
        outcome = self._try(project, protect)
        return found[-1] if found else Protected(project, outcome)

    def _lease(self, project: Project, call: str, tool: str, session: str) -> None:
        with contextlib.suppress(OSError):  # then the store is not writable, and that will be said
            self.books.of(project).leases.open(call, tool, session, self.owner_pid)

    def _begin_session(self, session: str) -> None:
        if session not in self._sessions:
            self.books.sessions.begin(session, self.owner_pid)
            self._sessions.add(session)

    def _hold(
        self,
        store: Store,
        project: Project,
        named: tuple[str, ...],
        intent: Intent,
        scope: Scope,
        call: str,
    ) -> Protected:
        """Under the project's lock: the turn's checkpoint or a supplement, and the before-state."""
        book = self.books.of(project)
        labels = {"Tool": intent.tool}
        reason = intent.reason(named[0] if len(named) == 1 else "")
        outcome, seen = self._checkpoint(store, project, named, reason, scope, labels)
        turn = self._turns[project.id, scope.session]
        if seen is None and intent.certain:
            states = self._supplement(store, project, named, scope, turn)
            seen = Observation(tree="", named=states, whole=False)
        elif seen is None:
            seen = store.observe(project, self.config.capture_rules, named=named)
            self._supplement_seen(store, project, seen, scope, turn)
        unheld = tuple(g for g in seen.gaps if any(_touches(g, path) for path in named))
        before = Before(
            project=project,
            checkpoint=turn.checkpoint.id if turn.checkpoint else "",
            named=named,
            states=dict(seen.named),
            tree="" if intent.certain else seen.tree,
            gaps=seen.gaps,
            mark=len(book.ledger.entries()),
        )
        if before.tree:
            store.keep(project, call, before.tree)
        self._tell(project, seen, unheld)
        return Protected(project, outcome, before, unheld)

    def _checkpoint(
        self,
        store: Store,
        project: Project,
        named: tuple[str, ...],
        reason: str,
        scope: Scope,
        labels: Mapping[str, str],
    ) -> tuple[Outcome, Observation | None]:
        """The turn's checkpoint: the one it has, or one taken now, then with what was seen."""
        turn = self._turn(store, project, scope)
        if turn is not None:
            return AlreadyTaken(turn.checkpoint), None
        if not os.path.isdir(project.root):
            raise CaptureFailed(f"{project.root} is no directory")
        seen = store.observe(project, self.config.capture_rules, named=named)
        own = {"Session": scope.session, "Turn": scope.turn, **labels}
        links = Links(store, self.books, self.config)
        made = links.capture(project, seen, reason=reason, labels=own)
        newest = made or next(iter(store.list(project)), None)
        self.books.of(project).ledger.create()
        self._remember(project, scope, newest, seen.tree if seen.whole else "")
        if made is None:
            return Unchanged(newest), seen
        self.taken(project)
        return Taken(made), seen

    def _turn(self, store: Store, project: Project, scope: Scope) -> _Turn | None:
        """The running turn, if a checkpoint serves it and is still the newest one."""
        known = self._turns.get((project.id, scope.session))
        if known is not None and known.turn == scope.turn:
            serves = known.checkpoint.id if known.checkpoint else ""
        else:
            known = None
            mark = self._marks(project).get(scope.session) if scope.shared else None
            if mark is None or mark.turn != scope.turn:
                return None
            serves = mark.checkpoint
        newest = next(iter(store.list(project)), None)
        if serves != (newest.id if newest else ""):
            return None
        turn = known or _Turn(scope.turn, newest)
        turn.checkpoint = newest
        self._turns[project.id, scope.session] = turn
        return turn

    def _remember(
        self, project: Project, scope: Scope, checkpoint: Checkpoint | None, tree: str
    ) -> None:
        self._turns[project.id, scope.session] = _Turn(scope.turn, checkpoint, tree)
        if checkpoint is not None:
            self._served[checkpoint.id, scope.session] = scope.turn
        if scope.shared:
            mark = Mark(scope.turn, checkpoint.id if checkpoint else "")
            self._marks(project).put(scope.session, mark)

    def served(self, checkpoint: Checkpoint, session: str) -> str:
        """The last turn of a session that a checkpoint served; empty if this process saw none.

        It is a later one than the checkpoint's own where nothing had changed in between.
        """
        return self._served.get((checkpoint.id, session), "")

    def _marks(self, project: Project) -> Marks:
        return Marks(self.books.of(project).turns_file)

    # ------------------------------------------------------------------ supplements

    def _supplement(
        self, store: Store, project: Project, named: Iterable[str], scope: Scope, turn: _Turn
    ) -> dict[str, FileState | None]:
        """Store what the named paths hold and neither the checkpoint nor the agent put there."""
        rules = self.config.capture_rules
        states = states_of(project.root, named, limit=rules.max_file_bytes)
        self._store_lacking(store, project, states, scope, turn)
        return states

    def _supplement_seen(
        self, store: Store, project: Project, seen: Observation, scope: Scope, turn: _Turn
    ) -> None:
        """The same for everything that changed since the checkpoint unaccounted for."""
        present = dict(seen.named)
        if seen.whole and seen.tree != turn.explained and turn.checkpoint is not None:
            changes = store.changes(project, turn.checkpoint.tree, seen.tree)
            present.update((c.path, c.new) for c in changes if c.new is not None)
        self._store_lacking(store, project, present, scope, turn)
        turn.explained = seen.tree

    def _store_lacking(
        self,
        store: Store,
        project: Project,
        present: Mapping[str, FileState | None],
        scope: Scope,
        turn: _Turn,
    ) -> None:
        there = {p: s for p, s in present.items() if s is not None and not s.is_gitlink}
        if turn.checkpoint is None or not there:
            return
        last = {e.path: e for e in self.books.of(project).ledger.entries() if e.path in there}
        known = set(turn.checkpoint.versions)
        known.update((p, e.after) for p, e in last.items() if e.after and self._ours(e, scope))
        foreign = [item for item in there.items() if item not in known]
        if not foreign:  # the agent's own files, as a rule: nothing to ask the store for
            return
        held = store.states(project, turn.checkpoint.tree, [path for path, _ in foreign])
        lacking = [path for path, state in foreign if held[path] != state]
        if lacking:
            seen = store.observe(project, self.config.capture_rules, named=lacking, scan=False)
            grown = store.supplement(project, turn.checkpoint.id, seen)
            turn.checkpoint = grown or turn.checkpoint

    def _ours(self, entry: Entry, scope: Scope) -> bool:
        return entry.session == scope.session or not self.books.sessions.running(entry.session)

    # ------------------------------------------------------------------ after

    def attribute(
        self, protected: Protected, scope: Scope, call: str, tool: str, *, record: bool = True
    ) -> None:
        """Record in the ledger what changed since a call was protected. Never raises.

        Without `record` the call is only forgotten: it never ran, or nobody saw its end.
        """

        before = protected.before

        def end(store: Store) -> Outcome:
            if before is not None and record:
                self._attribute(store, before, scope, call, tool)
            if before is not None and before.tree:
                store.release(protected.project, call)
            return AlreadyTaken()

        try:
            if before is not None:
                self._try(protected.project, end)
        finally:
            with contextlib.suppress(OSError):
                self.books.of(protected.project).leases.close(call)
        if isinstance(protected.outcome, Taken):
            # Now, after the call, so that neither the next call nor the next list waits for it.
            with contextlib.suppress(CheckpointError, OSError):
                self.store().list(protected.project, counts=True)

    def end_session(self, session: str) -> None:
        """Say that a session has ended, whichever process began it."""
        self.books.sessions.end(session)
        self._sessions.discard(session)

    def began(self, session: str) -> bool:
        """Whether this process has protected a call of a session."""
        return session in self._sessions

    def _attribute(self, store: Store, before: Before, scope: Scope, call: str, tool: str) -> None:
        ledger = self.books.of(before.project).ledger
        changed = self._changed(store, before, scope)
        mine = _unclaimed(ledger.entries()[before.mark :], changed)
        stamp = Entry(
            path="",
            before=None,
            after=None,
            checkpoint=before.checkpoint,
            session=scope.session,
            turn=scope.turn,
            call=call,
            tool=tool,
            time=time.time(),
            certain=not before.tree,
        )
        ledger.append(
            [
                dataclasses.replace(stamp, path=path, before=old, after=new)
                for path, (old, new) in mine.items()
            ]
        )

    def _changed(self, store: Store, before: Before, scope: Scope) -> _Changed:
        """What differs now from before the call. A path unknown then or now is left out."""
        project, rules = before.project, self.config.capture_rules
        names = (*before.named, *before.states)
        hidden = before.gaps
        changed: _Changed = {}
        if before.tree and not os.path.isdir(project.root):  # a nested repository, as a rule
            entries = store.entries(project, before.tree)
            changed = {p: (state, None) for p, state in entries.items() if not state.is_gitlink}
        if before.tree and os.path.isdir(project.root):
            seen = store.observe(project, rules, named=names)
            hidden = (*hidden, *seen.gaps)
            changes = store.changes(project, before.tree, seen.tree)
            changed = {c.path: (c.old, c.new) for c in changes}
            now: Mapping[str, FileState | None] = seen.named
            if (project.id, scope.session) in self._turns:
                self._turns[project.id, scope.session].explained = seen.tree
        else:
            now = states_of(project.root, names, limit=rules.max_file_bytes)
        changed.update((p, (before.states.get(p), new)) for p, new in now.items())
        return {
            path: (old, new)
            for path, (old, new) in changed.items()
            if old != new and not any(gap.covers(path) for gap in hidden)
        }

    # ------------------------------------------------------------------ trouble

    def _try(self, project: Project, work: Callable[[Store], Outcome]) -> Outcome:
        """Do something with the store under the project's lock; trouble becomes an outcome."""
        health = self._health.setdefault(project.id, _Health())
        if health.failures >= _PATIENCE and self.clock() < health.rest_until:
            return Skipped(f"snapshots of {project.root} failed {health.failures} times running")
        try:
            store = self.store()
            with store.lock(project):
                outcome = work(store)
        except Exception as error:  # noqa: BLE001  # the tool must run whatever happens here
            return self._failed(project, health, error)
        health.failures = 0
        return outcome

    def _failed(self, project: Project, health: _Health, error: Exception) -> Failed:
        health.failures += 1
        rests = max(0, health.failures - _PATIENCE)
        health.rest_until = self.clock() + min(_LONGEST_REST, _FIRST_REST * 2**rests)
        _log.debug("no checkpoint of %s", project.root, exc_info=error)
        hint = error.hint if isinstance(error, CheckpointError) else ""
        with contextlib.suppress(Exception):
            self.notice(
                project,
                "failed",
                f"no checkpoint of {project.root}: {error}" + (f" ({hint})" if hint else ""),
            )
        return Failed(error)

    def _tell(self, project: Project, seen: Observation, unheld: tuple[Gap, ...]) -> None:
        if self.books.of(project).interrupted:
            self.notice(
                project,
                "interrupted",
                f"a rollback in {project.root} was interrupted; the next /rollback finishes it or "
                "takes it back",
            )
        if not project.whole:
            self.notice(
                project,
                "named-only",
                f"{project.root} {project.why_not_whole}, so only the files that a call names "
                "are protected there",
            )
        for gap in seen.gaps:
            if gap.reason is GapReason.TOO_MANY:
                self.notice(
                    project,
                    "too-many",
                    f"{project.root}: {gap.detail or gap.reason.value}, so only the files that a "
                    "call names are protected there; raise checkpoints.max_files to change that",
                )
        for gap in unheld:
            self.notice(
                project,
                f"unheld {gap.path}",
                f"{gap.path} in {project.root} is not protected: {gap.detail or gap.reason.value}",
            )


def _unclaimed(since: list[Entry], changed: _Changed) -> _Changed:
    """The changes that no call which ended meanwhile has claimed as its own.

    Where one claimed an earlier state of the path, this call's part begins there.
    """
    claimed = {entry.path: entry.after for entry in since}
    return {
        path: (claimed.get(path, old), new)
        for path, (old, new) in changed.items()
        if path not in claimed or claimed[path] != new
    }


def _touches(gap: Gap, path: str) -> bool:
    return gap.covers(path) or path == "." or gap.path.startswith(path.rstrip("/") + "/")


def _by_project(intent: Intent, cwd: str | None) -> dict[Project, list[str]]:
    """Which named paths a call has in which project; projects it may change without naming one."""
    find = lru_cache(maxsize=None)(lambda place: find_project(place, cwd=cwd))
    found: dict[Project, list[str]] = {}
    for place in intent.places:
        found.setdefault(find(place), [])
    for target in intent.targets:
        if os.path.isdir(target) and not os.path.islink(target):
            project = find(target)
            path = relative_path(project, target)
        else:  # a link belongs to the directory it lies in, wherever it leads
            project = find(os.path.dirname(target))
            path = relative_path(project, target)
        if path is not None:
            found.setdefault(project, []).append(path)
    return found
