"""Housekeeping: retention, the caps, orphans and status of one store.

Owns when and what is dropped; `retention` decides which, the store gives the space back.
Nothing heavier than a list and a drop happens in `trim`, which runs beside a tool call; all else
runs from `prune`, after a turn, at the end, or in the background of a start-up. Never creates a
store.
"""

from __future__ import annotations

import logging
import os
import shutil
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import ceil
from pathlib import Path

from hermes_checkpoints import bookkeeping
from hermes_checkpoints.archives import (
    archived_at,
    archives,
    delete_archives,
    remove_tree,
)
from hermes_checkpoints.background import Background
from hermes_checkpoints.books import Books
from hermes_checkpoints.config import Config
from hermes_checkpoints.errors import CheckpointError, StoreBusy, StoreError
from hermes_checkpoints.failures import Failures
from hermes_checkpoints.inventory import (
    Archive,
    Drop,
    DropReason,
    Failure,
    Presence,
    ProjectStatus,
    PruneResult,
    Status,
)
from hermes_checkpoints.links import Links
from hermes_checkpoints.records import Checkpoint, Project
from hermes_checkpoints.retention import History, Limits, plan_retention, surplus
from hermes_checkpoints.sessions import write_private
from hermes_checkpoints.stores.base import ProjectRecord, Store, Upkeep
from hermes_checkpoints.whereabouts import look_for, place_of, read_place, write_place

__all__ = ["Housekeeping", "PruneResult", "Status"]

_log = logging.getLogger(__name__)
_MB = 1 << 20
_DAY = 86400
_AT_EASE = 30.0  # seconds for a repack beside which captures go on; 400 MB took 13
_IN_A_HURRY = 8.0  # where somebody waits: a capture that meets a full one does, for 10 at most
_FAR_OVER = 2  # times the cap


class Housekeeping:
    """Retention and status of the store of one base directory. Thread-safe.

    `store` opens the store, or gives the one that is open; it is called only where there is one.
    `clock` gives seconds since the epoch. `background` is told when a turn or the session ends.
    """

    def __init__(
        self,
        store: Callable[[], Store],
        books: Books,
        config: Config,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._open_store = store
        self._books = books
        self._config = config
        self._clock = clock
        self._base = config.base_path
        self._failures = Failures(books, self._base / "store")
        self.background = Background(self.upkeep, self._base / "store" / "upkeep")

    @property
    def _store(self) -> Store:
        return self._open_store()

    # ------------------------------------------------------------------ beside a tool call

    def trim(self, project: Project) -> tuple[str, ...]:
        """After a capture: drop what is beyond `max_snapshots`, and note where the project lies.

        Returns the ids dropped. Raises `StoreError` as the store does.
        """
        ids = surplus(self._store.list(project), self._config.max_snapshots)
        if ids:
            self._let_go(project, ids)
        self.background.captured()
        self._failures.clear(project)
        self._note_place(project)
        return ids

    def _let_go(self, project: Project, ids: Sequence[str]) -> None:
        """Drop checkpoints, and unpin what they linked to in nested repositories."""
        self._store.drop(project, ids)
        Links(self._store, self._books, self._config).let_go(project, ids)

    def note_failure(self, project: Project, why: str) -> None:
        """Keep for `status` that no checkpoint of a project could be taken. Never raises."""
        self._failures.note(project, Failure(self._clock(), why))

    def _note_place(self, project: Project) -> None:
        parent = place_of(os.path.dirname(project.root))
        if parent is not None:
            with suppress(OSError):  # evidence for a later sweep; without it nothing is deleted
                write_place(self._place_file(project), parent)

    def _place_file(self, project: Project) -> Path:
        return self._books.of(project).directory / "parent.json"

    # ------------------------------------------------------------------ upkeep

    def upkeep(self, at_end: bool = False) -> Upkeep:
        """Repack what lies loose, and hold the size cap, in seconds.

        `at_end` nobody is kept waiting, so that the room of what was dropped comes back at once.
        Else that waits an hour, lest a capture has to wait; but a store far over its cap is not
        left so. Raises `StoreError`.
        """
        if not self.has_store:
            return Upkeep(0, 0)
        cap = self._config.max_total_bytes
        done = self._store.compact(budget=_IN_A_HURRY if at_end else _AT_EASE)
        if not cap or done.after <= cap:
            return done
        full = at_end or done.after > cap * _FAR_OVER
        if full:
            done = self._store.compact(budget=_IN_A_HURRY, full=True)
            if done.after <= cap:
                return done
        limits = Limits(self._config.max_snapshots, cap, 0, False)
        swept = self._sweep(limits, (), dry_run=False, full=full, budget=_IN_A_HURRY)
        return Upkeep(done.before, swept.after, why_not=swept.still_over)

    # ------------------------------------------------------------------ the sweep

    def prune(
        self,
        *,
        retention_days: float | None = None,
        max_total_size_mb: float | None = None,
        delete_orphans: bool = False,
        dry_run: bool = False,
        full: bool = True,
    ) -> PruneResult:
        """Apply retention and both caps now, and reclaim.

        `None` stands for the configuration's value, 0 for no limit. `full` waits for running
        captures and reclaims at once; without it, what was dropped less than an hour ago may take
        its room a little longer.
        """
        config = self._config
        days = config.retention_days if retention_days is None else retention_days
        cap = config.max_total_size_mb if max_total_size_mb is None else max_total_size_mb
        limits = Limits(config.max_snapshots, ceil(cap * _MB), days, delete_orphans)
        old = tuple(a for a in self.archives() if self._is_stale(a, days))
        if not self.has_store:
            failed = [] if dry_run else delete_archives(self._base, old)
            return PruneResult(dry_run, archives=old, failed=tuple(failed))
        return self._sweep(limits, old, dry_run=dry_run, full=full)

    def _sweep(
        self,
        limits: Limits,
        old: tuple[Archive, ...],
        *,
        dry_run: bool,
        full: bool,
        budget: float = 60.0,
    ) -> PruneResult:
        projects = self._projects()
        histories, failed = self._histories(projects)
        before = self._store.size().store
        held = before if full else min(before, self._held(histories))
        planned = plan_retention(
            histories,
            limits,
            self._clock(),
            size_after=lambda drops: held - self._store.would_free(drops),
        )
        if dry_run:
            left = _left(projects, planned.drops)
            return PruneResult(
                True, planned.drops, old, left, before, planned.size, planned.still_over
            )
        drops, failures = self._drop(planned.drops)
        failed += [*failures, *delete_archives(self._base, old), *self._tidy(histories)]
        upkeep = self._store.compact(budget=budget, full=full)
        after = self._store.size().store
        over = bool(limits.max_total_bytes) and after > limits.max_total_bytes
        still_over = planned.still_over or upkeep.why_not or "some of its room is still in use"
        done = PruneResult(
            dry_run=False,
            drops=drops,
            archives=old,
            left=_left(projects, drops),
            before=before,
            after=after,
            still_over=still_over if over else "",
            failed=tuple(failed),
        )
        if over and full and drops and not planned.still_over:
            # Measured without deleting is an estimate: what stays may have been stored as a
            # difference from what went. Each round drops something, so there is a last one.
            again = self._sweep(limits, (), dry_run=False, full=True, budget=budget)
            return _and_then(done, again)
        return done

    def _held(self, histories: Sequence[History]) -> int:
        """Bytes that checkpoints hold. What was dropped and waits for its hour is not among them:

        counted, it would cost other checkpoints, and at the next sweep others again.
        """
        return self._store.would_free(
            {h.project.id: [c.id for c in h.checkpoints] for h in histories}
        )

    def _histories(
        self, projects: Sequence[ProjectStatus]
    ) -> tuple[list[History], list[tuple[str, str]]]:
        found, failed = [], []
        for p in projects:
            try:
                checkpoints = tuple(self._store.list(p.project))
            except StoreError as error:  # one damaged project does not keep the others from upkeep
                failed.append((p.project.root, str(error)))
                continue
            found.append(History(p.project, checkpoints, p.last_touch, p.presence))
        return found, failed

    def _drop(self, drops: Sequence[Drop]) -> tuple[tuple[Drop, ...], list[tuple[str, str]]]:
        done, failed = [], []
        for drop in drops:
            try:
                if self._drop_one(drop):
                    done.append(drop)
            except (CheckpointError, OSError) as error:
                failed.append((drop.project.root, str(error)))
        return tuple(done), failed

    def _drop_one(self, drop: Drop) -> bool:
        with self._store.lock(drop.project):
            if not drop.whole:
                self._let_go(drop.project, drop.checkpoints)
                return True
            # Under the lock: what came since the plan was made is not what the plan judged.
            present = {c.id for c in self._store.list(drop.project)}
            if not present <= set(drop.checkpoints) or self._in_use(drop.project):
                return False
            self._let_go(drop.project, drop.checkpoints)
            self._store.forget(drop.project)
            self._books.of(drop.project).remove()
            return True

    def _tidy(self, histories: Sequence[History]) -> Iterator[tuple[str, str]]:
        """Drop records that nothing needs any more; where that failed, and why."""
        self._books.sessions.sweep()
        for project in (h.project for h in histories):
            book = self._books.of(project)
            try:
                if book.directory.is_dir():
                    with self._store.lock(project):
                        if not self._in_use(project):
                            bookkeeping.tidy(book, self._store.list(project))
            except (CheckpointError, OSError) as error:
                yield project.root, str(error)

    def _in_use(self, project: Project) -> bool:
        book = self._books.of(project)
        return book.under_way or bool(book.leases.running())

    # ------------------------------------------------------------------ at start-up

    def start_up(self) -> threading.Thread | None:
        """Sweep in the background, if `auto_prune` is on and the marker is old enough.

        Takes orphans only where the configuration says so. Returns the thread, if one began.
        """
        if not self._config.auto_prune or not self._is_due():
            return None
        # The marker comes first: of two processes that start together, one sweeps.
        try:
            write_private(self._marker, f"{self._clock()}\n")
        except OSError as error:
            _log.debug("no sweep: the marker cannot be written (%s)", error)
            return None
        thread = threading.Thread(target=self._sweep_quietly, name="checkpoints-sweep", daemon=True)
        thread.start()
        return thread

    def _sweep_quietly(self) -> None:
        try:
            self.prune(delete_orphans=self._config.orphans_go, full=False)
        except Exception as error:  # noqa: BLE001  promise: a host's start never fails for a sweep
            _log.debug("the sweep at start-up failed: %s", error, exc_info=True)

    def _is_due(self) -> bool:
        if not self.has_store and not self.archives():
            return False
        try:
            last = float(self._marker.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return True
        since = self._clock() - last
        return since < 0 or since >= self._config.min_interval_hours * 3600

    @property
    def _marker(self) -> Path:
        return self._base / ".last_prune"

    # ------------------------------------------------------------------ status

    @property
    def has_store(self) -> bool:
        """Whether anything was ever stored here; asked before whatever could create a store."""
        return (self._base / "store").is_dir()

    def status(self) -> Status:
        """What the store holds and what is wrong. Never raises for a damaged store."""
        problems = list(self._base_problems())
        projects: list[ProjectStatus] = []
        total = store = 0
        if self.has_store:
            try:
                size = self._store.size()
                total, store = size.total, size.store
                projects = self._projects()
            except StoreError as error:
                problems.append(_with_hint(error))
        old = tuple(self.archives())
        problems += self._failures.of_others({p.project.id for p in projects})
        return Status(
            base=str(self._base),
            enabled=self._config.enabled,
            total=total or store + sum(a.size for a in old),
            store=store,
            cap=self._config.max_total_bytes,
            projects=tuple(sorted(projects, key=lambda p: -p.last_touch)),
            archives=old,
            problems=tuple(problems),
        )

    def moved_from(self, project: Project) -> Project | None:
        """The project whose directory this one is, moved: same device and inode, old place empty.

        Looked for only when `project` has no checkpoints.
        """
        here = place_of(project.root) if self.has_store else None
        if here is None:
            return None
        for record in self._store.projects():
            same = (record.device, record.inode) == (here.device, here.inode)
            if same and record.project.id != project.id and not os.path.exists(record.project.root):
                return record.project
        return None

    def _projects(self) -> list[ProjectStatus]:
        return [self._status_of(record) for record in self._store.projects()]

    def _status_of(self, record: ProjectRecord) -> ProjectStatus:
        project = record.project
        parent = read_place(self._place_file(project))
        presence, why = look_for(project.root, parent, record.device)
        return ProjectStatus(
            project=project,
            checkpoints=record.checkpoints,
            last_touch=record.last_touch,
            presence=presence,
            why=why,
            problem=record.problem,
            failure=self._failures.of(project),
        )

    def _base_problems(self) -> Iterator[str]:
        store = self._base / "store"
        if store.exists() and not store.is_dir():
            yield f"{store} is not a directory, so no checkpoint can be taken; move it away"
        elif store.is_dir() and not os.access(store, os.W_OK):
            yield f"{store} cannot be written to, so no checkpoint can be taken"
        elif store.is_dir() and os.name == "posix" and stat.S_IMODE(store.stat().st_mode) & 0o077:
            private = stat.S_IMODE(self._base.stat().st_mode) & 0o077 == 0
            if not private:
                yield f"{store} can be read by other users; chmod 700 {self._base} keeps them out"

    # ------------------------------------------------------------------ archives

    def archives(self) -> list[Archive]:
        """The `legacy-*` archives, oldest first."""
        return archives(self._base)

    def clear_archives(self, *, dry_run: bool = False) -> PruneResult:
        """Delete all `legacy-*` archives and nothing else."""
        found = tuple(self.archives())
        failed = [] if dry_run else delete_archives(self._base, found)
        size = self._store.size().store if self.has_store else 0
        return PruneResult(dry_run, archives=found, before=size, after=size, failed=tuple(failed))

    def _is_stale(self, archive: Archive, days: float) -> bool:
        return bool(days) and self._clock() - archived_at(self._base, archive) > days * _DAY

    # ------------------------------------------------------------------ at a person's wish

    def clear(self, *, dry_run: bool = False) -> PruneResult:
        """Delete every checkpoint of every project, all records and all archives."""
        status = self.status()
        drops = tuple(
            Drop(p.project, self._ids(p.project), DropReason.ASKED, whole=True)
            for p in status.projects
        )
        if dry_run:
            return PruneResult(True, drops, status.archives, before=status.store)
        failed = [*self._clear_store(), *delete_archives(self._base, status.archives)]
        with suppress(OSError):
            self._marker.unlink(missing_ok=True)
        after = self._store.size().store if self.has_store else 0
        return PruneResult(
            False,
            drops,
            status.archives,
            before=status.store,
            after=after,
            failed=tuple(failed),
        )

    def _ids(self, project: Project) -> tuple[str, ...]:
        with suppress(StoreError):
            return tuple(c.id for c in self._store.list(project))
        return ()  # damaged; it goes all the same

    def _clear_store(self) -> list[tuple[str, str]]:
        if not self.has_store:
            return []
        try:
            self._store.clear()
        except StoreError as error:
            return [(str(self._base / "store"), _with_hint(error))]
        return self._clear_records()

    def _clear_records(self) -> list[tuple[str, str]]:
        stayed = []
        for name in ("ledgers", "sessions"):
            directory = self._base / "store" / name
            if directory.exists() and (why := remove_tree(directory)):
                stayed.append((str(directory), why))
        return stayed

    def holders(self, project: Project, path: str) -> list[Checkpoint]:
        """The checkpoints that hold a path, or anything below it."""
        prefix = path.rstrip("/") + "/"
        return [
            c
            for c in self._store.list(project)
            if any(
                p == path or p.startswith(prefix)
                for p in (*self._store.entries(project, c.tree), *(v for v, _ in c.versions))
            )
        ]

    def forget_path(self, project: Project, path: str) -> Mapping[str, str]:
        """Remove a path from every checkpoint of a project, and give its room back.

        Returns old id -> new id of each checkpoint that held it. Raises `StoreBusy` while a call or
        a rollback is under way there, `StoreError`.
        """
        if self._in_use(project):
            raise StoreBusy(
                f"{project.root} is in use, so nothing was forgotten",
                hint="try again when no tool and no rollback is running there",
            )
        # Not under the project's lock: reclaiming takes the store's, which comes before it.
        ids = self._store.forget_path(project, path)
        with self._store.lock(project):
            bookkeeping.forget_path(self._books.of(project), path, ids)
            Links(self._store, self._books, self._config).renamed(project, ids)
        return ids

    def relink(self, old: Project, new: Project) -> None:
        """Give the checkpoints and records of a moved project to its new place.

        Raises `StoreError` if there is nothing to give, or the new place has some of its own.
        """
        self._store.relink(old, new)
        source, target = self._books.of(old).directory, self._books.of(new).directory
        with self._store.lock(new):
            if source.is_dir():
                shutil.rmtree(target, ignore_errors=True)
                os.replace(source, target)
        self._note_place(new)


def _left(projects: Sequence[ProjectStatus], drops: Sequence[Drop]) -> tuple[ProjectStatus, ...]:
    """The projects whose directory is not there and that stay."""
    ended = {d.project.id for d in drops if d.whole}
    return tuple(
        p for p in projects if p.presence is not Presence.LIVE and p.project.id not in ended
    )


def _and_then(first: PruneResult, second: PruneResult) -> PruneResult:
    """Two rounds of one sweep as one."""
    return replace(
        second,
        drops=(*first.drops, *second.drops),
        archives=first.archives,
        before=first.before,
        failed=tuple(dict.fromkeys((*first.failed, *second.failed))),
    )


def _with_hint(error: CheckpointError) -> str:
    return f"{error.message}; {error.hint}" if error.hint else error.message
