"""Rollbacks of a project together with the repositories linked in it.

Owns what walks the links: which of them a request reaches, one plan and one report for all parts,
and what makes them one to the person: all parts are locked, planned and saved before any is
written, one journal holds the tasks of all, and one undo takes them back.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from hermes_checkpoints import worktree
from hermes_checkpoints.applier import RESTORE, UNDO
from hermes_checkpoints.errors import RestoreFailed, RestoreRefused, SelectionError
from hermes_checkpoints.journal import DamagedJournal, Group, Part
from hermes_checkpoints.links import linked_checkpoint, linked_project, links_of
from hermes_checkpoints.project import relative_path
from hermes_checkpoints.records import (
    Checkpoint,
    Gap,
    GapReason,
    Plan,
    Project,
    Report,
    Step,
)
from hermes_checkpoints.recovery import (
    NESTED_HINT,
    RECOVER,
    Ready,
    Recovery,
    refuse_missing,
    refuse_moved,
)
from hermes_checkpoints.restore import above
from hermes_checkpoints.stores.base import Store
from hermes_checkpoints.survey import Request
from hermes_checkpoints.worktree import files_below

__all__ = ["LinkedRecovery"]


@dataclass(frozen=True, slots=True)
class _Inner:
    """A linked repository that a request reaches, and what of it; `gone`: to be made anew."""

    prefix: str
    project: Project
    checkpoint: Checkpoint
    paths: tuple[str, ...]
    gone: bool = False


@dataclass(slots=True)
class _Reach:
    """What a request reaches: from the outside in, and what of it can't be had back."""

    inner: list[_Inner] = field(default_factory=list)
    lost: list[Gap] = field(default_factory=list)

    @property
    def roots(self) -> list[str]:
        return [*(one.prefix for one in self.inner), *(gap.path for gap in self.lost)]

    def __bool__(self) -> bool:
        return bool(self.inner or self.lost)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """One part, before its first write. `made` are directories that were made for it."""

    prefix: str
    ready: Ready
    made: tuple[str, ...] = ()


@dataclass(slots=True)
class LinkedRecovery:
    """Plans, restores and undoes of a project together with the repositories linked in it.

    For a project without links it is what `Recovery` is.
    """

    recovery: Recovery

    @property
    def _store(self) -> Store:
        return self.recovery.store

    def pending(self, project: Project) -> str:
        """As `Recovery.pending`."""
        return self.recovery.pending(project)

    def plan(
        self, project: Project, checkpoint: Checkpoint, *, paths: Sequence[str] = (), **how: Any
    ) -> Plan:
        """As `Recovery.plan`; the steps of linked repositories carry their path in front."""
        base = how.get("base_dir", "")
        reach = self._reach(project, checkpoint, paths, base)
        outer = self._outer(project, checkpoint, paths, reach, base)
        if paths and not outer:
            plan = Plan(project, checkpoint, how.get("keep_edits", True))
        else:
            plan = self.recovery.plan(project, checkpoint, paths=outer, **how)
        for one in reach.inner:
            plan = _joined_plan(plan, one, self._inner_plan(one, how))
        unrestorable = (*plan.unrestorable, *reach.lost)
        return replace(plan, selection=tuple(paths), unrestorable=unrestorable)

    # ------------------------------------------------------------------ restore

    def restore(
        self,
        project: Project,
        checkpoint: Checkpoint,
        *,
        paths: Sequence[str] = (),
        plan: Plan | None = None,
        **how: Any,
    ) -> Report:
        """As `Recovery.restore`; nothing is changed anywhere if any part would be refused."""
        base = how.get("base_dir", "")
        journal = self.recovery.books.of(project).group_journal
        reach = self._reach(project, checkpoint, paths, base)
        if not reach and not journal.exists:
            return self.recovery.restore(project, checkpoint, paths=paths, plan=plan, **how)
        refuse_missing(project)
        with ExitStack() as stack:
            reached = (one.project for one in reach.inner)
            self._hold(stack, [project, *self._broken_off(project), *reached], how)
            resumed = self.recover(project)
            if resumed is not None:
                reach = self._reach(project, checkpoint, paths, base)
            looking = {k: v for k, v in how.items() if k in ("keep_edits", "session")}
            whole = self.plan(project, checkpoint, paths=paths, base_dir=base, **looking)
            if whole.refusal:
                raise RestoreRefused(whole.refusal, hint=NESTED_HINT)
            refuse_moved(project, plan, whole)
            parts = self._prepare(stack, whole, reach, how)
            report = self._carry_out(project, parts, RESTORE)
        notes = (*(resumed.notes if resumed else ()), *report.notes)
        return replace(
            report,
            ok=report.ok and not reach.lost,
            target=checkpoint,
            unrestorable=(*report.unrestorable, *reach.lost),
            notes=tuple(dict.fromkeys(notes)),
        )

    def _hold(self, stack: ExitStack, projects: Iterable[Project], how: Mapping[str, Any]) -> None:
        """Lock all parts, outer ones first, and refuse if a tool is running in any."""
        projects = list(projects)
        for one in projects:
            stack.enter_context(self._store.lock(one))
        asked = {k: v for k, v in how.items() if k in ("busy_ok", "own_calls")}
        for one in projects:
            self.recovery.refuse_busy(one, **asked)

    def _prepare(
        self, stack: ExitStack, whole: Plan, reach: _Reach, how: Mapping[str, Any]
    ) -> list[_Prepared]:
        """Everything before the first write, of all parts."""
        project, checkpoint, paths = whole.project, whole.checkpoint, whole.selection
        base = how.get("base_dir", "")
        outer = self._outer(project, checkpoint, paths, reach, base)
        parts: list[_Prepared] = []
        made: list[str] = []
        try:
            if outer or not paths:
                ready = self._ready(stack, project, checkpoint, outer, base, how)
                parts.append(_Prepared("", ready))
            for one in reach.inner:
                plan = self._inner_plan(one, how) if one.gone else None
                if plan is not None and not (plan.writes or plan.empty_dirs):
                    parts.append(_Prepared(one.prefix, Ready(one.project, plan)))
                    continue
                try:
                    new = worktree.make_directory(project.root, one.prefix) if one.gone else []
                except OSError as error:
                    why = f"its directory can't be made: {error.strerror or error}"
                    reach.lost.append(Gap(one.prefix, GapReason.NESTED_REPOSITORY, why))
                    continue
                made += new
                root = one.project.root
                ready = self._ready(stack, one.project, one.checkpoint, one.paths, root, how)
                notes = (*ready.notes, *([_without_git(one.prefix)] if one.gone else ()))
                parts.append(_Prepared(one.prefix, replace(ready, notes=notes), tuple(new)))
            return self._saved(parts, whole, how.get("session", ""))
        except BaseException:
            self._unmake(project, made)
            raise

    def _saved(self, parts: Sequence[_Prepared], whole: Plan, session: str) -> list[_Prepared]:
        """The parts, with a snapshot of the outer project also where only others will change."""
        own = next((one.ready for one in parts if not one.prefix), None)
        if not any(one.ready.task for one in parts) or (own is not None and own.task is not None):
            return list(parts)
        safety = self.recovery.save_before(whole.project, whole.checkpoint, session)
        blank = Plan(whole.project, whole.checkpoint, whole.keep_edits)
        saved = replace(own or Ready(whole.project, blank), safety=safety)
        return [_Prepared("", saved), *(one for one in parts if one.prefix)]

    def _ready(
        self,
        stack: ExitStack,
        project: Project,
        checkpoint: Checkpoint,
        paths: tuple[str, ...],
        base: str,
        how: Mapping[str, Any],
    ) -> Ready:
        asked = {k: v for k, v in how.items() if k in ("turn", "busy_ok", "own_calls")}
        keep_edits, session = how.get("keep_edits", True), how.get("session", "")
        request = Request(checkpoint, paths, base, keep_edits, session)
        return stack.enter_context(self.recovery.ready(project, request, **asked))

    def _unmake(self, project: Project, made: Iterable[str]) -> None:
        """Remove directories that were made for linked repositories and are empty (again)."""
        for directory in sorted(made, reverse=True):
            worktree.remove_directory(project.root, directory)

    # ------------------------------------------------------------------ writing

    def _carry_out(self, project: Project, prepared: Sequence[_Prepared], action: str) -> Report:
        """Write all parts under one journal, or none."""
        book = self.recovery.books.of(project)
        parts = [
            Part(one.ready.project.root, one.ready.task, one.made)
            for one in prepared
            if one.ready.task is not None
        ]
        if parts:
            book.group_journal.write(parts)
        report = Report(True, action, project)
        done: list[_Prepared] = []
        for one in prepared:
            try:
                came = self.recovery.do(one.ready)
            except RestoreFailed:
                self._give_up(project, one, done)
                raise
            if came.broken:  # a full disk: this part has been put back, so the others go with it
                self._give_up(project, one, done)
                part = self.recovery.reported(one.ready, came)
                return _joined(Report(True, action, project), one.prefix, part)
            done.append(one)
            part = one.ready.taken_back or self.recovery.reported(one.ready, came)
            report = _joined(report, one.prefix, part)
        if action == RESTORE:
            self._remember(project, parts)
        if parts:
            book.group_journal.remove()
        return report

    def _give_up(self, project: Project, at: _Prepared, done: Sequence[_Prepared]) -> None:
        """One part could not be done: take back those before it, as far as that is the way out.

        Where the part itself is to be taken up later, and after half an undo, the journal stays for
        the next `/rollback`.
        """
        book = self.recovery.books.of(project)
        tasks = [(one.ready.project, one.ready.task) for one in done if one.ready.task]
        if self.recovery.books.of(at.ready.project).journal.exists:
            return
        if tasks and tasks[0][1].action == UNDO:
            return
        for part, task in reversed(tasks):
            self.recovery.take_back(part, task)
        book.group_journal.remove()
        self._unmake(project, (*at.made, *(d for one in done for d in one.made)))

    def _remember(self, project: Project, parts: Iterable[Part]) -> None:
        """Record which rollbacks were one; a part that changed nothing is none."""
        recorded = [part for part in parts if self._is_recorded(project, part)]
        if recorded:
            self.recovery.books.of(project).groups.add(recorded)

    def _is_recorded(self, project: Project, part: Part) -> bool:
        done = self.recovery.books.of(_part_at(project, part.root)).rollbacks.done()
        return any(task.id == part.task.id for task in done)

    # ------------------------------------------------------------------ undo

    def undo(self, project: Project, **how: Any) -> Report:
        """As `Recovery.undo`, of all parts of the last rollback."""
        book = self.recovery.books.of(project)
        if book.groups.last() is None and not book.group_journal.exists:
            return self.recovery.undo(project, **how)
        refuse_missing(project)
        with ExitStack() as stack:
            self._hold(stack, [project, *self._broken_off(project)], how)
            resumed = self.recover(project)
            if resumed is not None and resumed.action == UNDO:
                return resumed
            group = book.groups.last()
            last = next(reversed(book.rollbacks.done()), None)
            if group is None or (last is not None and last.time > group.time):
                report = self.recovery.undo(project, **how)
            else:
                report = self._undo_group(stack, project, group, how)
        notes = (*(resumed.notes if resumed else ()), *report.notes)
        return replace(report, notes=tuple(dict.fromkeys(notes)))

    def _undo_group(
        self, stack: ExitStack, project: Project, group: Group, how: Mapping[str, Any]
    ) -> Report:
        book = self.recovery.books.of(project)
        members = []
        lost = []
        for root, rollback, made in group.members:
            part = _part_at(project, root)
            newest = next(reversed(self.recovery.books.of(part).rollbacks.done()), None)
            if newest is None or newest.id != rollback:
                continue  # it was rolled back or undone by itself since
            prefix = _prefix(project, root)
            if prefix and not worktree.is_directory(project.root, prefix):
                why = "its directory is gone, so nothing was taken back there"
                lost.append(Gap(prefix, GapReason.NESTED_REPOSITORY, why))
            else:
                members.append((prefix, part, made))
        self._hold(stack, [part for _, part, _ in members], how)
        prepared = [
            _Prepared(prefix, stack.enter_context(self.recovery.ready_to_undo(part, **how)), made)
            for prefix, part, made in members
        ]
        if not prepared:
            book.groups.undone(group.id)
            return self.recovery.undo(project, **how)
        report = self._carry_out(project, prepared[::-1], UNDO)
        book.groups.undone(group.id)
        self._unmake(project, (d for one in prepared for d in one.made))
        target = next((one.ready.target for one in prepared if not one.prefix), None)
        return replace(
            report,
            ok=report.ok and not lost,
            target=target or prepared[0].ready.target,
            unrestorable=(*report.unrestorable, *lost),
        )

    # ------------------------------------------------------------------ what broke off

    def recover(self, project: Project) -> Report | None:
        """As `Recovery.recover`, of all parts of a rollback; where one can only be taken back, all
        are. `None` if no rollback of several parts was interrupted here.
        """
        book = self.recovery.books.of(project)
        if not book.group_journal.exists:
            return None
        with ExitStack() as stack:
            for one in (project, *self._broken_off(project)):
                stack.enter_context(self._store.lock(one))
            try:
                parts = book.group_journal.read()
            except DamagedJournal as error:
                spare = book.group_journal.set_aside()
                note = f"{error}; it is kept as {spare}, and only {project.root} itself is taken up"
                return Report(False, RECOVER, project, notes=(note,))
            return self._take_up(project, parts)

    def _broken_off(self, project: Project) -> list[Project]:
        """The linked repositories in which something is to be taken up."""
        try:
            parts = self.recovery.books.of(project).group_journal.read()
        except DamagedJournal:
            return []
        return [_part_at(project, part.root) for part in parts if part.root != project.root]

    def _take_up(self, project: Project, parts: Sequence[Part]) -> Report:
        report = Report(True, RECOVER, project)
        finished: list[Part] = []
        taken_back = False
        for part in parts:
            one, prefix = _part_at(project, part.root), _prefix(project, part.root)
            if prefix and not worktree.is_directory(project.root, prefix):
                why = "its directory is gone, so its part was not taken up"
                gap = Gap(prefix, GapReason.NESTED_REPOSITORY, why)
                report = replace(report, ok=False, unrestorable=(*report.unrestorable, gap))
                continue
            came = self.recovery.take_up(one, part.task)
            taken_back = taken_back or (came is not None and came.action == UNDO)
            if came is None or came.action != UNDO:
                finished.append(part)
            report = _joined(report, prefix, came) if came is not None else report
        if taken_back:
            for part in reversed(finished):
                self.recovery.take_back(_part_at(project, part.root), part.task)
            report = replace(report, action=UNDO)
            self._unmake(project, (d for part in parts for d in part.made))
        elif all(part.task.action == UNDO for part in parts):
            self._forget_group(project, parts)
        else:
            self._remember(project, parts)
        self.recovery.books.of(project).group_journal.remove()
        end = "taken back" if taken_back else "finished"
        note = f"the rollback that was interrupted has been {end} in all its parts"
        return replace(report, notes=(note, *report.notes))

    def _forget_group(self, project: Project, parts: Iterable[Part]) -> None:
        """An undo of a group has been finished."""
        groups = self.recovery.books.of(project).groups
        group = groups.last()
        undone = {part.task.undoes for part in parts}
        if group is not None and undone.intersection(rollback for _, rollback, _ in group.members):
            groups.undone(group.id)
            self._unmake(project, (d for part in parts for d in part.made))

    # ------------------------------------------------------------------ what a request reaches

    def _reach(
        self, project: Project, checkpoint: Checkpoint, paths: Sequence[str], base: str
    ) -> _Reach:
        """The linked repositories that a selection reaches, from the outside in."""
        found = _Reach()
        for path, inner_id in links_of(self._store, project, checkpoint).items():
            inner = linked_project(project, path)
            held = linked_checkpoint(self._store, self.recovery.books, inner, inner_id)
            reached = self._reached(project, path, inner, held, paths, base)
            if reached is None:
                continue
            why = _why_lost(project, path)
            if held is None:
                why = "its own checkpoint is in the store no more"
            if held is None or why:
                found.lost.append(Gap(path, GapReason.NESTED_REPOSITORY, why))
                continue
            deeper = self._reach(inner, held, reached, inner.root)
            own = _outer_paths(inner, reached, deeper.roots, inner.root)
            if own or not reached:
                gone = not worktree.is_directory(project.root, path)
                found.inner.append(_Inner(path, inner, held, own, gone))
            found.inner += [replace(one, prefix=f"{path}/{one.prefix}") for one in deeper.inner]
            found.lost += [replace(gap, path=f"{path}/{gap.path}") for gap in deeper.lost]
        return found

    def _reached(
        self,
        project: Project,
        prefix: str,
        inner: Project,
        held: Checkpoint | None,
        paths: Sequence[str],
        base: str,
    ) -> tuple[str, ...] | None:
        """The part of a selection that lies in a linked repository; `None`: nothing, `()`: all."""
        if not paths:
            return ()
        found: list[str] = []
        for text in paths:
            name = _name(project, text, base)
            if name == "." or name == prefix or prefix.startswith(f"{name}/"):
                return ()
            if name is not None and name.startswith(f"{prefix}/"):
                literally = _LITERAL if text.startswith(_LITERAL) else ""
                found.append(literally + name[len(prefix) + 1 :])
            elif name is None:
                entries = self._all_entries(inner, held) if held else ()
                there = [f"{prefix}/{path}" for path in entries]
                picked = self._store.match(there, [text])
                found += [f"{_LITERAL}{path[len(prefix) + 1 :]}" for path in sorted(picked)]
        return tuple(found) if found else None

    def _all_entries(self, project: Project, checkpoint: Checkpoint) -> Iterator[str]:
        """Every path of a checkpoint, and of what it links to."""
        links = links_of(self._store, project, checkpoint)
        for path in self._store.entries(project, checkpoint.tree):
            if path not in links:
                yield path
                continue
            inner = linked_project(project, path)
            held = linked_checkpoint(self._store, self.recovery.books, inner, links[path])
            if held is not None:
                yield from (f"{path}/{below}" for below in self._all_entries(inner, held))

    def _outer(
        self,
        project: Project,
        checkpoint: Checkpoint,
        paths: Sequence[str],
        reach: _Reach,
        base: str,
    ) -> tuple[str, ...]:
        """The part of a selection for the outer project: a pattern may match in others alone."""
        outer = _outer_paths(project, paths, reach.roots, base)
        if not reach or not outer:
            return outer
        held = self._store.entries(project, checkpoint.tree)
        there = [
            p
            for p in held.keys() | set(files_below(project.root, "."))
            if not _inside(p, reach.roots)
        ]
        return tuple(
            text
            for text in outer
            if _name(project, text, base) is not None or self._store.match(there, [text])
        )

    def _inner_plan(self, one: _Inner, how: Mapping[str, Any]) -> Plan:
        looking = {k: v for k, v in how.items() if k in ("keep_edits", "session")}
        return self.recovery.plan(
            one.project,
            one.checkpoint,
            paths=one.paths,
            base_dir=one.project.root,
            gone=one.gone,
            **looking,
        )


# --------------------------------------------------------------------------- places


def _why_lost(project: Project, path: str) -> str:
    """Why a linked repository can't be had back into its place; empty if it can."""
    if worktree.is_directory(project.root, path):
        return ""
    if worktree.exists(project.root, path):
        return "something else is in its place now: move that away, and roll back again"
    for up in above(path):
        if worktree.exists(project.root, up) and not worktree.is_directory(project.root, up):
            return f"{up}, where it was, is no directory now: move that away, and roll back again"
    return ""


def _without_git(prefix: str) -> str:
    return f"the repository {prefix} was gone: its files are back, its .git is in no checkpoint"


def _part_at(project: Project, root: str) -> Project:
    prefix = _prefix(project, root)
    return linked_project(project, prefix) if prefix else project


def _prefix(project: Project, root: str) -> str:
    """Where a part is, seen from the outer project; empty for that itself."""
    return "" if root == project.root else os.path.relpath(root, project.root).replace(os.sep, "/")


# --------------------------------------------------------------------------- joining


_LITERAL = ":(literal)"


def _outer_paths(
    project: Project, paths: Sequence[str], prefixes: Sequence[str], base: str
) -> tuple[str, ...]:
    """The part of a selection that is not wholly in linked repositories."""
    return tuple(text for text in paths if not _inside(_name(project, text, base), prefixes))


def _name(project: Project, text: str, base: str) -> str | None:
    """The literal path that a part of a selection names; `None` for a pattern."""
    if text.startswith(_LITERAL):
        return text[len(_LITERAL) :]
    if text.startswith(":") or any(c in text for c in "*?["):
        return None
    path = relative_path(project, os.path.join(base or project.root, text))
    if path is None:
        raise SelectionError(
            f"{text!r} is outside the project {project.root}",
            hint="only paths inside the project can be restored",
        )
    return path


def _inside(name: str | None, prefixes: Sequence[str]) -> bool:
    return name is not None and any(name == p or name.startswith(f"{p}/") for p in prefixes)


def _joined(report: Report, prefix: str, part: Report) -> Report:
    def named(path: str) -> str:
        return f"{prefix}/{path}" if prefix else path

    return replace(
        report,
        ok=report.ok and part.ok,
        safety=report.safety or part.safety,
        restored=(*report.restored, *map(named, part.restored)),
        deleted=(*report.deleted, *map(named, part.deleted)),
        kept=(*report.kept, *_prefixed(part.kept, named)),
        unrestorable=(
            *report.unrestorable,
            *(replace(g, path=named(g.path)) for g in part.unrestorable),
        ),
        failed=(*report.failed, *((named(path), why) for path, why in part.failed)),
        aside=(*report.aside, *((named(old), named(new)) for old, new in part.aside)),
        notes=tuple(dict.fromkeys((*report.notes, *part.notes))),
    )


def _joined_plan(plan: Plan, one: _Inner, part: Plan) -> Plan:
    def named(path: str) -> str:
        return f"{one.prefix}/{path}"

    return replace(
        plan,
        steps=(*plan.steps, *_prefixed(part.steps, named)),
        empty_dirs=(*plan.empty_dirs, *map(named, part.empty_dirs)),
        unrestorable=(
            *plan.unrestorable,
            *(replace(g, path=named(g.path)) for g in part.unrestorable),
        ),
        refusal=plan.refusal or (part.refusal and f"{one.prefix}: {part.refusal}"),
        notes=tuple(dict.fromkeys((*plan.notes, *part.notes))),
    )


def _prefixed(steps: Sequence[Step], named: Callable[[str], str]) -> Iterator[Step]:
    return (replace(step, path=named(step.path)) for step in steps)
