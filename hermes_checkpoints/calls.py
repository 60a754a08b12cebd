"""What happens around one tool call: protect what it can destroy, then record what it changed.

Owns the capture policy (one checkpoint per project and turn, supplements) and attribution (whose
doing a change is). Restoring is `recovery`'s; what a call touches is `intent`'s.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import math
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
from hermes_checkpoints.pace import hurried
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
from hermes_checkpoints.stores.byname import look_by_name
from hermes_checkpoints.stores.rows import chmodded
from hermes_checkpoints.turns import Mark, Marks, Scope

__all__ = ["Before", "Calls", "Protected"]

_Changed = dict[str, tuple[FileState | None, FileState | None]]

_log = logging.getLogger("hermes_checkpoints")

_PATIENCE = 3  # failures in a row before a project is left alone for a while
_FIRST_REST = 60.0  # seconds, doubled each time up to an hour
_LONGEST_REST = 3600.0
_NAMED_IN_A_NOTICE = 3
_TICK = 0.02  # seconds: a file's time comes from the kernel's clock, which ticks every 1 to 10 ms
_COARSE = 2.0  # seconds: and on some file systems it is cut to one or two


@dataclass(frozen=True, slots=True)
class Before:
    """What was found in one project before a call, kept until the call has ended.

    `named` are the paths the call named, `states` what was there, directories expanded.
    `tree` is the observed state, held under the call's id; empty when hashing the named paths is
    all it takes, or all there is. `certain`: nothing else can change. What was at a path in one of
    the `gaps` is unknown. `began` is the moment, in seconds since the epoch.
    """

    project: Project
    checkpoint: str
    named: tuple[str, ...]
    states: Mapping[str, FileState | None]
    tree: str = ""
    gaps: tuple[Gap, ...] = ()
    certain: bool = True
    began: float = 0.0


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
    for: the agent's by the ledger, a person's by the checkpoint. `began` is when the checkpoint was
    taken, in seconds since the epoch; 0 where another process took it.
    """

    turn: str
    checkpoint: Checkpoint | None
    explained: str = ""
    began: float = 0.0


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

    @hurried
    def protect(self, intent: Intent, scope: Scope, call: str) -> list[Protected]:
        """Hold what a call can destroy in every project it touches. Never raises.

        A project that fails does not keep the others from being protected.
        """
        todo = sorted(_by_project(intent, scope.cwd).items(), key=lambda item: item[0].id)
        done: list[Protected] = []
        try:
            for project, paths in todo:  # grows by the repositories that are linked there
                if all(one.project.id != project.id for one in done):
                    done.append(self._protect(project, paths, intent, scope, call))
                    certain = intent.certain
                    todo += nested_projects(
                        self.store, self.config, project, paths, certain=certain
                    )
        except BaseException:  # Ctrl-C: the call will not run
            with contextlib.ExitStack() as ends:  # each, whatever happens to the others
                for one in done:
                    ends.callback(self.attribute, one, scope, call, intent.tool, record=False)
            raise
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
        try:
            outcome = self._try(project, protect)
        except BaseException:
            self._forget(project, call)
            raise
        result = found[-1] if found else Protected(project, outcome)
        if result.before is not None:
            with contextlib.suppress(Exception):  # the host's callback; the call is protected
                self._tell(project, result.before.gaps, result.unheld)
        return result

    def _forget(self, project: Project, call: str) -> None:
        """Leave nothing of a call that was broken off."""
        with contextlib.suppress(OSError):
            self.books.of(project).leases.close(call)
        with contextlib.suppress(Exception):
            self.store().release(project, call)

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
        labels = {"Tool": intent.tool}
        reason = intent.reason(named[0] if len(named) == 1 else "")
        outcome, seen = self._checkpoint(store, project, named, reason, scope, labels)
        turn = self._turns[project.id, scope.session]
        if seen is None and intent.certain:
            seen = look_by_name(project.root, named, self.config.capture_rules)
            self._store_lacking(store, project, seen, seen.named, scope, turn)
        elif seen is None:
            seen = store.observe(project, self.config.capture_rules, named=named)
            self._supplement_seen(store, project, seen, scope, turn)
        unheld = tuple(
            gap
            for gap in seen.gaps
            if any(_touches(gap, path) for path in named) and not _is_linked(gap, turn.checkpoint)
        )
        before = Before(
            project=project,
            checkpoint=turn.checkpoint.id if turn.checkpoint else "",
            named=named,
            states=dict(seen.named),
            tree=seen.tree if seen.whole and not intent.certain else "",
            gaps=seen.gaps,
            certain=intent.certain,
            began=math.floor(time.time() * 1000) / 1000,  # the ledger counts milliseconds
        )
        if before.tree:
            store.keep(project, call, before.tree)
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
        began = time.time()
        seen = store.observe(project, self.config.capture_rules, named=named)
        own = {"Session": scope.session, "Turn": scope.turn, **labels}
        links = Links(store, self.books, self.config)
        made = links.capture(project, seen, reason=reason, labels=own)
        newest = made or next(iter(store.list(project)), None)
        self.books.of(project).ledger.create()
        self._remember(project, scope, newest, seen.tree if seen.whole else "", began)
        if made is None:
            return Unchanged(newest), seen
        try:
            self.taken(project)
        except Exception as error:  # noqa: BLE001  # a list that is too long is no lost protection
            _log.debug("the list of %s was not trimmed", project.root, exc_info=error)
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
        self,
        project: Project,
        scope: Scope,
        checkpoint: Checkpoint | None,
        tree: str,
        began: float,
    ) -> None:
        self._turns[project.id, scope.session] = _Turn(scope.turn, checkpoint, tree, began)
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

    def _supplement_seen(
        self, store: Store, project: Project, seen: Observation, scope: Scope, turn: _Turn
    ) -> None:
        """Store also what else changed since the checkpoint unaccounted for."""
        present = dict(seen.named)
        if seen.whole and seen.tree != turn.explained and turn.checkpoint is not None:
            changes = store.changes(project, turn.checkpoint.tree, seen.tree)
            present.update((c.path, c.new) for c in changes if c.new is not None)
        self._store_lacking(store, project, seen, present, scope, turn)
        turn.explained = seen.tree if seen.whole else ""

    def _store_lacking(
        self,
        store: Store,
        project: Project,
        seen: Observation,
        present: Mapping[str, FileState | None],
        scope: Scope,
        turn: _Turn,
    ) -> None:
        """Store what is present and neither the checkpoint nor the agent put there."""
        if turn.checkpoint is None:
            return
        lacking = self._lacking(store, project, seen, present, scope, turn.checkpoint)
        # Who made an empty directory no ledger tells, so one that is no older is left to the agent.
        began = turn.began or turn.checkpoint.time
        known = turn.checkpoint.empty_dirs
        empty = [d for d in seen.empty_dirs if d not in known]
        lacking += [d for d in empty if _modified(project.root, d) < began]
        if lacking:
            found = store.observe(project, self.config.capture_rules, named=lacking, scan=False)
            grown = store.supplement(project, turn.checkpoint.id, found)
            turn.checkpoint = grown or turn.checkpoint

    def _lacking(
        self,
        store: Store,
        project: Project,
        seen: Observation,
        present: Mapping[str, FileState | None],
        scope: Scope,
        checkpoint: Checkpoint,
    ) -> list[str]:
        """The paths whose present state is in no checkpoint, and not of the agent's making."""
        there = {p: s for p, s in present.items() if s is not None and not s.is_gitlink}
        if not there:
            return []
        last = {e.path: e for e in self.books.of(project).ledger.entries() if e.path in there}
        known = set(checkpoint.versions)
        known.update((p, e.after) for p, e in last.items() if e.after and self._ours(e, scope))
        foreign = [item for item in there.items() if item not in known]
        if not foreign:  # the agent's own files, as a rule: nothing to ask the store for
            return []
        held = store.states(project, checkpoint.tree, [path for path, _ in foreign])
        return [
            path
            for path, state in foreign
            if held[path] != state or chmodded(checkpoint, seen, path)
        ]

    def _ours(self, entry: Entry, scope: Scope) -> bool:
        """Whether what an entry tells of was made by the agent, in this session or an ended one."""
        if entry.moved:
            return False
        return entry.session == scope.session or not self.books.sessions.running(entry.session)

    # ------------------------------------------------------------------ after

    @hurried
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
        project, ledger = before.project, self.books.of(before.project).ledger
        since = [entry for entry in ledger.entries() if entry.time >= before.began]
        now, changed = self._changed(store, before)
        mine = _unclaimed(since, changed)
        moved = self._perhaps_moved(store, before, mine)
        turn = self._turns.get((project.id, scope.session))
        if turn is not None and now:
            own = {entry.path for entry in since if entry.session == scope.session}
            accounted = (mine.keys() | own) - moved
            turn.explained = now if changed.keys() <= accounted else ""
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
            certain=before.certain,
        )
        ledger.append(
            [
                dataclasses.replace(stamp, path=path, before=old, after=new, moved=path in moved)
                for path, (old, new) in mine.items()
            ]
        )

    def _changed(self, store: Store, before: Before) -> tuple[str, _Changed]:
        """What differs now from before the call, and the state now if all of it was looked at.

        A path unknown then or now is left out.
        """
        project, rules = before.project, self.config.capture_rules
        names = (*before.named, *before.states)
        changed: _Changed = {}
        if before.tree and not os.path.isdir(project.root):  # a nested repository, as a rule
            entries = store.entries(project, before.tree)
            changed = {p: (state, None) for p, state in entries.items() if not state.is_gitlink}
        if before.tree and os.path.isdir(project.root):
            seen = store.observe(project, rules, named=names)
        else:
            seen = look_by_name(project.root, names, rules)
        if before.tree and seen.whole:
            changes = store.changes(project, before.tree, seen.tree)
            changed = {c.path: (c.old, c.new) for c in changes}
        changed.update((p, (before.states.get(p), new)) for p, new in seen.named.items())
        hidden = (*before.gaps, *seen.gaps)
        return seen.tree if seen.whole else "", {
            path: (old, new)
            for path, (old, new) in changed.items()
            if old != new and not any(gap.covers(path) for gap in hidden)
        }

    def _perhaps_moved(self, store: Store, before: Before, changed: _Changed) -> set[str]:
        """New paths that are older than the call, and whose content is not held elsewhere.

        It may have moved them here from where no checkpoint looks.
        """
        old = {
            path: now
            for path, (then, now) in changed.items()
            if then is None and now is not None and _is_old(before.project.root, path, before.began)
        }
        if not old:
            return set()
        held = {s.content for s in before.states.values() if s}
        held.update(then.content for then, _ in changed.values() if then)
        if before.tree:
            held.update(s.content for s in store.entries(before.project, before.tree).values())
        return {path for path, now in old.items() if now.content not in held}

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

    def _tell(self, project: Project, gaps: Iterable[Gap], unheld: tuple[Gap, ...]) -> None:
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
        for gap in gaps:
            if gap.reason is GapReason.TOO_MANY:
                self.notice(
                    project,
                    "too-many",
                    f"{project.root}: {gap.detail or gap.reason.value}, so only the files that a "
                    "call names are protected there; raise checkpoints.max_files to change that",
                )
        if unheld:
            paths = ", ".join(gap.path for gap in unheld[:_NAMED_IN_A_NOTICE])
            more = len(unheld) - _NAMED_IN_A_NOTICE
            paths += f" (+{more})" if more > 0 else ""
            reasons = dict.fromkeys(gap.detail or gap.reason.value for gap in unheld)
            why = ", ".join([*reasons][:_NAMED_IN_A_NOTICE])
            verb = "is" if len(unheld) == 1 else "are"
            text = f"{paths} in {project.root} {verb} not protected: {why}"
            self.notice(project, f"unheld {paths}", text)


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


def _is_old(root: str, path: str, began: float) -> bool:
    """Whether a file was last written clearly before a moment."""
    modified = _modified(root, path)
    return modified < began - (_COARSE if modified.is_integer() else _TICK)


def _modified(root: str, path: str) -> float:
    """When a path was last modified, in seconds since the epoch; infinity if it is not known."""
    try:
        return os.lstat(os.path.join(root, path)).st_mtime
    except OSError:
        return math.inf


def _is_linked(gap: Gap, checkpoint: Checkpoint | None) -> bool:
    """Whether a nested repository is held by a checkpoint of its own."""
    if gap.reason is not GapReason.NESTED_REPOSITORY or checkpoint is None:
        return False
    return gap.path in checkpoint.named and gap.path not in checkpoint.nested


def _touches(gap: Gap, path: str) -> bool:
    if gap.reason is GapReason.TOO_MANY:  # there is no scan, but a named path is held
        return False
    return gap.covers(path) or path == "." or gap.path.startswith(path.rstrip("/") + "/")


def _by_project(intent: Intent, cwd: str | None) -> dict[Project, tuple[str, ...]]:
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
    return {project: tuple(dict.fromkeys(paths)) for project, paths in found.items()}
