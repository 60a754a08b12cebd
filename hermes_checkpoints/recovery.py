"""Rollbacks from end to end: refuse, plan, save, write, verify, report; undo; taking up again.

Owns the order of these steps and what is recorded of them. What would be done is `restore`'s to
decide, what is known `survey`'s to find out, the files are `applier`'s to change.
Nothing is written before a safety snapshot holds everything that will be.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from hermes_checkpoints import applier
from hermes_checkpoints.applier import RESTORE, UNDO, Done, Task
from hermes_checkpoints.authorship import same
from hermes_checkpoints.books import Book, Books
from hermes_checkpoints.config import Config
from hermes_checkpoints.errors import (
    Busy,
    CheckpointNotFound,
    ProjectMoved,
    RestoreFailed,
    RestoreRefused,
    StoreError,
)
from hermes_checkpoints.journal import DamagedJournal
from hermes_checkpoints.ledger import AGENT
from hermes_checkpoints.links import Links
from hermes_checkpoints.records import Checkpoint, Gap, Plan, Project, Report
from hermes_checkpoints.reports import blank_plan, report_of, unsaved_of
from hermes_checkpoints.restore import moved_since
from hermes_checkpoints.stores.base import Observation, Store
from hermes_checkpoints.survey import Request, Surveyor
from hermes_checkpoints.tasks import ROLLBACK, as_done, entries_of, task_of

__all__ = [
    "NESTED_HINT",
    "RECOVER",
    "ROLLBACK",
    "Ready",
    "Recovery",
    "refuse_missing",
    "refuse_moved",
]

RECOVER = "recover"


@dataclass(frozen=True, slots=True)
class Ready:
    """A restore or an undo that nothing stands in the way of: planned, saved, pinned, locked.

    Without a `task` there is nothing to do; `taken_back` is a rollback that broke off and whose
    undoing was all there was to undo.
    """

    project: Project
    plan: Plan
    task: Task | None = None
    safety: Checkpoint | None = None
    unsaved: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = ()
    target: Checkpoint | None = None
    taken_back: Report | None = None


@dataclass(slots=True)
class Recovery:
    """Everything `/rollback` does to a project. Methods may be called from any thread.

    `step` is called before each change to the project; tests interrupt there.
    """

    store: Store
    books: Books
    config: Config
    clock: Callable[[], float] = time.time
    step: Callable[[str], None] = lambda _: None
    _surveyor: Surveyor = field(init=False)

    def __post_init__(self) -> None:
        self._surveyor = Surveyor(self.store, self.books, self.config)

    # ------------------------------------------------------------------ plan

    def plan(
        self,
        project: Project,
        checkpoint: Checkpoint,
        *,
        paths: Sequence[str] = (),
        base_dir: str = "",
        keep_edits: bool = True,
        session: str = "",
        gone: bool = False,
    ) -> Plan:
        """What `restore` would do with the same arguments; changes nothing.

        A plan that would be refused has a `refusal`. With `gone`, also for a directory that is not
        there. Raises `CheckpointNotFound`, `SelectionError`,
        `RestoreRefused` if there is no project, `StoreError`.
        """
        if not gone:
            refuse_missing(project)
        request = Request(checkpoint, tuple(paths), base_dir, keep_edits, session)
        with self.store.lock(project):
            recorded = self._surveyor.recorded(project, request)
            if recorded.refusal:
                return Plan(
                    project=project,
                    checkpoint=recorded.checkpoint,
                    keep_edits=keep_edits,
                    selection=request.paths,
                    refusal=recorded.refusal,
                )
            plan = self._surveyor.survey(project, recorded).plan
        pending = self.pending(project)
        return replace(plan, notes=(*plan.notes, pending)) if pending else plan

    # ------------------------------------------------------------------ restore

    def restore(
        self,
        project: Project,
        checkpoint: Checkpoint,
        *,
        paths: Sequence[str] = (),
        base_dir: str = "",
        keep_edits: bool = True,
        session: str = "",
        turn: str = "",
        busy_ok: bool = False,
        own_calls: frozenset[str] = frozenset(),
        plan: Plan | None = None,
    ) -> Report:
        """Bring a checkpoint back, all or the selected `paths` (relative ones to `base_dir`).

        With a `plan`, exactly that one. Raises, with nothing changed, `CheckpointNotFound`,
        `SelectionError`, `RestoreRefused` (`Busy`, `ProjectMoved`) and `RestoreFailed`; what goes
        wrong later is in the report.
        """
        request = Request(checkpoint, tuple(paths), base_dir, keep_edits, session)
        with self.ready(
            project, request, turn=turn, busy_ok=busy_ok, own_calls=own_calls, agreed=plan
        ) as ready:
            return self.carry_out(ready)

    @contextmanager
    def ready(
        self,
        project: Project,
        request: Request,
        *,
        turn: str = "",
        busy_ok: bool = False,
        own_calls: frozenset[str] = frozenset(),
        agreed: Plan | None = None,
    ) -> Iterator[Ready]:
        """All of a restore before its first write; until the end of it, nothing else gets between.

        Raises as `restore` does.
        """
        refuse_missing(project)
        with self.store.lock(project):
            self.refuse_busy(project, busy_ok=busy_ok, own_calls=own_calls)
            resumed = self.recover(project)
            recorded = self._surveyor.recorded(project, request)
            if recorded.refusal:
                raise RestoreRefused(recorded.refusal, hint=NESTED_HINT)
            identity = _new_id()
            with self._pinned(project, recorded.checkpoint.id, identity):
                survey = self._surveyor.survey(project, recorded)
                plan = survey.plan
                refuse_moved(project, agreed, plan)
                notes = resumed.notes if resumed else ()
                ready = Ready(project, plan, unsaved=unsaved_of(survey), notes=notes)
                if not (plan.writes or plan.deletes or plan.empty_dirs):
                    yield ready
                    return
                session = request.session
                safety = self._save(project, survey.observation, recorded.checkpoint, session)
                task = replace(
                    task_of(project.root, survey),
                    id=identity,
                    target=recorded.checkpoint.id,
                    safety=safety.id,
                    session=session,
                    turn=turn,
                    time=self.clock(),
                )
                with self._pinned(project, safety.id, identity):
                    yield replace(ready, task=task, safety=safety)

    def carry_out(self, ready: Ready) -> Report:
        """The writing half of a restore or an undo. Raises `RestoreFailed`: nothing was changed."""
        return ready.taken_back or self.reported(ready, self.do(ready))

    def do(self, ready: Ready) -> Done:
        """Write what is ready. Raises `RestoreFailed`."""
        return self._do(ready.project, ready.task) if ready.task else Done()

    def reported(self, ready: Ready, done: Done) -> Report:
        """What came of it."""
        undo = ready.task is not None and ready.task.action == UNDO
        report = report_of(
            ready.plan,
            ready.safety,
            done,
            unsaved=ready.unsaved,
            why_left=f"changed {'since the rollback' if undo else 'while the rollback ran'}",
        )
        if undo:
            report = replace(report, action=UNDO, target=ready.target)
        return replace(report, notes=(*ready.notes, *report.notes))

    def save_before(self, project: Project, target: Checkpoint, session: str) -> Checkpoint:
        """The safety snapshot of a project in which nothing but linked repositories will change.

        Raises `RestoreRefused`.
        """
        seen = self.store.observe(project, self.config.capture_rules)
        return self._save(project, seen, target, session)

    def _save(
        self, project: Project, observation: Observation, target: Checkpoint, session: str
    ) -> Checkpoint:
        """The checkpoint that holds the state before: a new one, or the newest if it is equal."""
        reason = f"before rollback to {target.short_id}"
        labels = {"Tool": ROLLBACK, **({"Session": session} if session else {})}
        try:
            links = Links(self.store, self.books, self.config)
            taken = links.capture(project, observation, reason=reason, labels=labels)
            return taken or self.store.list(project)[0]
        except (StoreError, OSError, IndexError) as error:
            raise RestoreRefused(
                f"the state before could not be saved ({error}), so nothing was restored",
                hint="without that, a rollback could not be taken back",
            ) from error

    # ------------------------------------------------------------------ undo

    def undo(
        self,
        project: Project,
        *,
        session: str = "",
        busy_ok: bool = False,
        own_calls: frozenset[str] = frozenset(),
    ) -> Report:
        """Take back the last rollback that has not been; touches only what it touched.

        Raises, with nothing changed, `RestoreRefused` where there is none, or the agent has worked
        since, and `RestoreFailed`.
        """
        with self.ready_to_undo(
            project, session=session, busy_ok=busy_ok, own_calls=own_calls
        ) as ready:
            return self.carry_out(ready)

    @contextmanager
    def ready_to_undo(
        self,
        project: Project,
        *,
        session: str = "",
        busy_ok: bool = False,
        own_calls: frozenset[str] = frozenset(),
    ) -> Iterator[Ready]:
        """All of an undo before its first write, as `ready` is of a restore."""
        refuse_missing(project)
        with self.store.lock(project):
            self.refuse_busy(project, busy_ok=busy_ok, own_calls=own_calls)
            resumed = self.recover(project)
            book = self.books.of(project)
            if resumed and resumed.action == UNDO:  # what broke off has just been taken back
                yield Ready(project, blank_plan(project, _NOTHING), taken_back=resumed)
                return
            last = next(reversed(book.rollbacks.done()), None)
            if last is None:
                raise RestoreRefused(
                    "there is no rollback here to take back", hint="`/rollback` lists checkpoints"
                )
            self._refuse_behind_agent(project, book, last)
            task = replace(
                last.inverse(),
                id=_new_id(),
                action=UNDO,
                undoes=last.id,
                session=session,
                time=self.clock(),
            )
            task, unsaved = self._save_for_undo(project, task, session)
            yield Ready(
                project,
                blank_plan(project, task),
                task,
                unsaved=unsaved,
                notes=resumed.notes if resumed else (),
                target=self._find(project, last.safety),
            )

    def _refuse_behind_agent(self, project: Project, book: Book, last: Task) -> None:
        """Undo ends at what the agent did after the rollback: that belongs to a new turn."""
        since = book.ledger.since(last.id)
        if since is None:
            since = [e for e in book.ledger.entries() if e.time > last.time]
        newer: list[Checkpoint] = []
        for checkpoint in self.store.list(project):
            if checkpoint.id == last.safety:
                break
            newer.append(checkpoint)
        else:
            newer.clear()
        if any(e.kind == AGENT for e in since) or any(c.turn and c.tool != ROLLBACK for c in newer):
            raise RestoreRefused(
                "the agent has worked here since the last rollback, and undo does not reach behind "
                "a new turn",
                hint=f"the state before that rollback is checkpoint {last.safety[:7]}, if "
                "`/rollback` still lists it",
            )

    def _save_for_undo(
        self, project: Project, task: Task, session: str
    ) -> tuple[Task, tuple[Gap, ...]]:
        """Make sure that what an undo replaces is held; what can't be is left alone.

        As a rule the checkpoint that the rollback went to holds it all, and nothing is taken.
        """
        if self._held(project, task):
            return task, ()
        paths = [move.path for move in task.moves]
        seen = self.store.observe(project, self.config.capture_rules, named=paths)
        target = self._find(project, task.target) or self.store.list(project)[0]
        self._save(project, seen, target, session)
        unsaved = {
            path: Gap(path, gap.reason, "what is there now could not be saved, so it stays")
            for gap in seen.gaps
            for path in paths
            if gap.covers(path) and seen.named.get(path) is None
        }
        saved = tuple(move for move in task.moves if move.path not in unsaved)
        return replace(task, moves=saved), tuple(unsaved.values())

    def _held(self, project: Project, task: Task) -> bool:
        """Whether the checkpoint that a rollback went to holds all that its undo replaces."""
        replaced = [move for move in task.moves if move.old is not None]
        checkpoint = self._find(project, task.target)
        if checkpoint is None:
            return not replaced
        states = self.store.states(project, checkpoint.tree, [m.path for m in replaced])
        return all(
            same(states[move.path], move.old) or (move.path, move.old) in checkpoint.versions
            for move in replaced
        )

    # ------------------------------------------------------------------ what broke off

    def pending(self, project: Project) -> str:
        """A sentence about a rollback that was interrupted, or nothing. Looks at one file."""
        if not self.books.of(project).interrupted:
            return ""
        return (
            f"a rollback in {project.root} was interrupted: the next `/rollback` finishes it, or "
            "takes it back"
        )

    def recover(self, project: Project) -> Report | None:
        """Finish a rollback that was interrupted, or take it back, and say which.

        It is finished as long as the state before it is still held and what it puts there can be
        read; else taken back. `None` if there was none. Paths that are neither as before nor as
        they were to be are somebody's, and stay.
        """
        book = self.books.of(project)
        if not book.journal.exists:
            return None
        with self.store.lock(project):
            try:
                task = book.journal.read()
            except DamagedJournal as error:
                spare = book.journal.set_aside()
                note = f"{error}; it is kept as {spare}, and nothing was done about that rollback"
                return Report(ok=False, action=RECOVER, project=project, notes=(note,))
            if task is None:
                return None
            applier.sweep(project.root, task)
            return self._take_up(project, book, task)

    def take_up(self, project: Project, task: Task) -> Report | None:
        """As `recover`, of a task that may not have begun; `None` if it has ended already."""
        book = self.books.of(project)
        try:
            begun = book.journal.read()
        except DamagedJournal:
            begun = None
        resumed = self.recover(project)
        if begun is not None and begun.id == task.id:
            return resumed
        recorded = {done.id for done in book.rollbacks.done()}
        if task.undoes not in recorded if task.undoes else task.id in recorded:
            self._let_go(project, task)
            return None
        return self._take_up(project, book, task)

    def take_back(self, project: Project, task: Task) -> Done:
        """Undo a task that has just been done, as one of several of which another failed."""
        return self._do(project, replace(task.inverse(), action=RECOVER))

    def _take_up(self, project: Project, book: Book, task: Task) -> Report:
        what = "undo" if task.action == UNDO else f"rollback to {task.target[:7]}"
        attempts = [task]  # an undo, or a taking back that was interrupted itself
        if task.action == RESTORE:
            back = replace(task.inverse(), action=RECOVER)
            attempts = [task, back] if self._find(project, task.safety) else [back]
        trouble = ""
        for attempt in attempts:
            try:
                done = self._do(project, attempt)
            except RestoreFailed as error:
                if not isinstance(error.__cause__, StoreError):
                    raise  # no room for journal or records: later this way may be open again
                trouble = str(error)  # what it was to put there is gone from the store
                continue
            taken_back = attempt.action == RECOVER
            end = "taken back" if taken_back else "finished"
            note = f"the {what} that was interrupted has been {end}"
            return self._taken_up(project, attempt, done, UNDO if taken_back else RECOVER, note)
        note = (
            f"the {what} that was interrupted could be neither finished nor taken back "
            f"({trouble}); its journal is kept as {book.journal.set_aside()}"
        )
        return Report(ok=False, action=RECOVER, project=project, notes=(note,))

    def _taken_up(self, project: Project, task: Task, done: Done, action: str, note: str) -> Report:
        self._let_go(project, task)
        target = self._find(project, task.target)
        report = report_of(blank_plan(project, task), self._find(project, task.safety), done)
        return replace(report, action=action, target=target, notes=(note, *report.notes))

    def _let_go(self, project: Project, task: Task) -> None:
        for checkpoint in (task.target, task.safety):
            self.store.unpin(project, checkpoint, _pin(task.id))

    # ------------------------------------------------------------------ doing

    def _do(self, project: Project, task: Task) -> Done:
        """Apply a task under its journal, verify it, and record what was done.

        Raises `RestoreFailed` where nothing was changed.
        """
        book, root = self.books.of(project), project.root
        read = self._reader(project)
        fresh = not book.journal.exists
        try:
            book.journal.write(task)
            self.step("journal")
            done = applier.apply(root, task, read, step=self.step)
        except (StoreError, OSError) as error:
            if fresh:
                book.journal.remove()
            raise RestoreFailed(f"{error}; nothing in the project was changed") from error
        if done.broken:
            return self._take_back(project, task, done, read)
        applier.verify(root, done)
        try:
            self.step("record")
            self._record(book, task, done)
            self.step("recorded")
            book.journal.remove()
        except OSError as error:
            raise RestoreFailed(
                f"the files were changed, but that could not be recorded ({error})",
                hint="make room where the store is: the next `/rollback` takes it up from there",
            ) from error
        return done

    def _take_back(self, project: Project, task: Task, done: Done, read: applier.Read) -> Done:
        """After a full disk: put back what had been changed by then."""
        try:
            back = applier.apply(project.root, as_done(task, done).inverse(), read, step=self.step)
        except (StoreError, OSError) as error:
            back = Done(broken=str(error))
        failed = [*back.failed, *((move.path, "could not be put back") for move in back.changed)]
        if failed or back.broken:
            upshot = "not all could be put back; the next `/rollback` takes it up from there"
        else:
            upshot = "everything that had been changed by then was put back"
            self.books.of(project).journal.remove()
        return Done(failed=[*done.failed, *failed], broken=f"{done.broken}: {upshot}")

    def _record(self, book: Book, task: Task, done: Done) -> None:
        if task.action == RESTORE:
            finished = as_done(task, done)
            if finished.moves or finished.asides or finished.dirs:
                if book.ledger.since(task.id) is None:
                    book.ledger.append(entries_of(finished))
                book.rollbacks.add(finished)
        elif task.action == UNDO and not done.failed:
            book.rollbacks.undone(task.undoes)
            book.ledger.void(task.undoes)
        elif task.action == RECOVER:
            book.rollbacks.undone(task.id)
            book.ledger.void(task.id)

    def _reader(self, project: Project) -> applier.Read:
        def read(contents: Iterable[str]) -> Iterator[bytes]:
            return self.store.read(project, contents)

        return read

    @contextmanager
    def _pinned(self, project: Project, checkpoint_id: str, identity: str) -> Iterator[None]:
        """Keep a checkpoint from being dropped meanwhile."""
        self.store.pin(project, checkpoint_id, _pin(identity))
        try:
            yield
        finally:
            self.store.unpin(project, checkpoint_id, _pin(identity))

    def _find(self, project: Project, checkpoint_id: str) -> Checkpoint | None:
        if not checkpoint_id:
            return None
        try:
            return self.store.get(project, checkpoint_id)
        except CheckpointNotFound:
            return None

    def refuse_busy(
        self, project: Project, *, busy_ok: bool = False, own_calls: frozenset[str] = frozenset()
    ) -> None:
        """Under the lock: a call opens its lease before it waits for that, so none slips by."""
        if busy_ok:
            return
        for lease in self.books.of(project).leases.running(but=own_calls):
            raise Busy(
                f"{lease.tool or 'a tool'} (call {lease.call}) has been running in {project.root} "
                f"for {lease.age:.0f} s, and may still write",
                hint="wait for it to end, or add --busy-ok to roll back all the same",
            )


_NOTHING = Task(id="", action=UNDO, target="", safety="")

NESTED_HINT = (
    "select paths that avoid it (`/rollback <N> <path>`), or roll back inside it: it may have "
    "checkpoints of its own"
)


# --------------------------------------------------------------------------- refusals


def refuse_missing(project: Project) -> None:
    """Raise `RestoreRefused` if a project has no directory."""
    if not os.path.isdir(project.root):
        raise RestoreRefused(
            f"{project.root} is no directory any more, so nothing can be restored there",
            hint=f"make it (mkdir {project.root}) and roll back again, or relink the project",
        )


def refuse_moved(project: Project, agreed: Plan | None, current: Plan) -> None:
    """Raise `ProjectMoved` if a plan a person has agreed to is not what would be done now."""
    if agreed is None:
        return
    moved = moved_since(agreed, current)
    if moved:
        more = f" and {len(moved) - 5} more" if len(moved) > 5 else ""
        raise ProjectMoved(
            f"{project.root} has changed since the plan was made: {', '.join(moved[:5])}{more}",
            hint="look at a new plan",
        )


def _new_id() -> str:
    return uuid.uuid4().hex[:12]


def _pin(identity: str) -> str:
    return f"restore-{identity}"
