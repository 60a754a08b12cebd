"""Rollbacks of a project together with the repositories linked in it.

Owns what walks the links: which of them a request reaches, one plan and one report for all parts,
and one undo for what was one rollback to the person.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hermes_checkpoints.applier import RESTORE, UNDO
from hermes_checkpoints.errors import RestoreRefused, SelectionError
from hermes_checkpoints.lines import append_line, read_lines
from hermes_checkpoints.links import links_of
from hermes_checkpoints.project import project_at, relative_path
from hermes_checkpoints.records import Checkpoint, Plan, Project, Report, Step
from hermes_checkpoints.recovery import Recovery, refuse_moved
from hermes_checkpoints.stores.base import Store
from hermes_checkpoints.worktree import files_below

__all__ = ["LinkedRecovery"]


@dataclass(frozen=True, slots=True)
class _Inner:
    """A linked repository that a request reaches, and what of it."""

    prefix: str
    project: Project
    checkpoint: Checkpoint
    paths: tuple[str, ...]


@dataclass(slots=True)
class LinkedRecovery:
    """Plans, restores and undoes of a project together with the repositories linked in it.

    For a project without links it is what `Recovery` is.
    """

    recovery: Recovery

    @property
    def _store(self) -> Store:
        return self.recovery.store

    def _groups(self, project: Project) -> _Groups:
        return _Groups(self.recovery.books.of(project).groups_file)

    def pending(self, project: Project) -> str:
        """As `Recovery.pending`."""
        return self.recovery.pending(project)

    def plan(
        self, project: Project, checkpoint: Checkpoint, *, paths: Sequence[str] = (), **how: Any
    ) -> Plan:
        """As `Recovery.plan`; the steps of linked repositories carry their path in front."""
        inner = self._inner(project, checkpoint, paths, how.get("base_dir", ""))
        outer = self._outer(project, checkpoint, paths, inner, how.get("base_dir", ""))
        if paths and not outer:
            plan = replace(self.recovery.plan(project, checkpoint, **how), steps=())
        else:
            plan = self.recovery.plan(project, checkpoint, paths=outer, **how)
        for one in inner:
            plan = _joined_plan(plan, one, self._inner_plan(one, how))
        return replace(plan, selection=tuple(paths))

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
        inner = self._inner(project, checkpoint, paths, base)
        if not inner:
            return self.recovery.restore(project, checkpoint, paths=paths, plan=plan, **how)
        looking: dict[str, Any] = {k: v for k, v in how.items() if k in ("keep_edits", "session")}
        whole = self.plan(project, checkpoint, paths=paths, base_dir=base, **looking)
        if whole.refusal:
            raise RestoreRefused(whole.refusal)
        refuse_moved(project, plan, whole)
        before = self._marks(project, inner)
        outer = self._outer(project, checkpoint, paths, inner, base)
        if paths and not outer:
            report = Report(True, RESTORE, project, target=checkpoint)
        else:
            mine = _outer_plan(plan, inner) if plan else None
            report = self.recovery.restore(project, checkpoint, paths=outer, plan=mine, **how)
        for one in inner:
            part = self.recovery.restore(
                one.project,
                one.checkpoint,
                paths=one.paths,
                plan=_part_plan(plan, one, inner) if plan else None,
                **{**how, "base_dir": one.project.root},
            )
            report = _joined(report, one.prefix, part)
        self._group(project, inner, before)
        return report

    def undo(self, project: Project, **how: Any) -> Report:
        """As `Recovery.undo`, of all parts of the last rollback."""
        groups = self._groups(project)
        group = groups.last()
        last = next(reversed(self.recovery.books.of(project).rollbacks.done()), None)
        if group is None or (last is not None and last.time > group.time):
            return self.recovery.undo(project, **how)
        report: Report | None = None
        for root, rollback in reversed(group.members):
            part_of = project_at(root)
            newest = next(reversed(self.recovery.books.of(part_of).rollbacks.done()), None)
            if newest is None or newest.id != rollback:
                continue  # it was rolled back or undone by itself since
            part = self.recovery.undo(part_of, **how)
            prefix = os.path.relpath(root, project.root).replace(os.sep, "/")
            start = report or Report(True, UNDO, project)
            report = part if prefix == "." and report is None else _joined(start, prefix, part)
        groups.undone(group.id)
        if report is None:
            return self.recovery.undo(project, **how)
        return replace(report, project=project)

    # ------------------------------------------------------------------ what a request reaches

    def _inner(
        self, project: Project, checkpoint: Checkpoint, paths: Sequence[str], base: str
    ) -> list[_Inner]:
        """The linked repositories that a selection reaches, from the outside in."""
        found = []
        for path, inner_id in links_of(self._store, project, checkpoint).items():
            inner = project_at(os.path.join(project.root, path))
            if not os.path.isdir(inner.root):
                continue
            held = self._store.get(inner, inner_id)
            reached = self._reached(project, path, inner, held, paths, base)
            if reached is None:
                continue
            deeper = self._inner(inner, held, reached, inner.root)
            own = _outer_paths(inner, reached, deeper, inner.root)
            if own or not reached:
                found.append(_Inner(path, inner, held, own))
            found += [replace(one, prefix=f"{path}/{one.prefix}") for one in deeper]
        return found

    def _reached(
        self,
        project: Project,
        prefix: str,
        inner: Project,
        held: Checkpoint,
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
                there = [f"{prefix}/{path}" for path in self._all_entries(inner, held)]
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
            inner = project_at(os.path.join(project.root, path))
            held = self._store.get(inner, links[path])
            yield from (f"{path}/{below}" for below in self._all_entries(inner, held))

    def _outer(
        self,
        project: Project,
        checkpoint: Checkpoint,
        paths: Sequence[str],
        inner: Sequence[_Inner],
        base: str,
    ) -> tuple[str, ...]:
        """The part of a selection for the outer project: a pattern may match in others alone."""
        outer = _outer_paths(project, paths, inner, base)
        if not inner or not outer:
            return outer
        held = self._store.entries(project, checkpoint.tree)
        there = [
            p
            for p in held.keys() | set(files_below(project.root, "."))
            if not _inside(p, _roots(inner))
        ]
        return tuple(
            text
            for text in outer
            if _name(project, text, base) is not None or self._store.match(there, [text])
        )

    def _inner_plan(self, one: _Inner, how: Mapping[str, Any]) -> Plan:
        return self.recovery.plan(
            one.project, one.checkpoint, paths=one.paths, **{**how, "base_dir": one.project.root}
        )

    # ------------------------------------------------------------------ one undo for all parts

    def _marks(self, project: Project, inner: Sequence[_Inner]) -> dict[str, str]:
        """The last rollback of each part."""
        found = {}
        for part in (project, *(one.project for one in inner)):
            done = self.recovery.books.of(part).rollbacks.done()
            found[part.root] = next((task.id for task in reversed(done)), "")
        return found

    def _group(self, project: Project, inner: Sequence[_Inner], before: Mapping[str, str]) -> None:
        after = self._marks(project, inner)
        members = [(root, last) for root, last in after.items() if last and last != before[root]]
        if members:
            self._groups(project).add(members)


@dataclass(frozen=True, slots=True)
class _Group:
    id: str
    time: float
    members: tuple[tuple[str, str], ...]


class _Groups:
    """Which rollbacks of which projects were one to the person, in a file of the outer project."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def add(self, members: Sequence[tuple[str, str]]) -> None:
        now = time.time()
        append_line(self._file, {"id": f"{now}", "time": now, "members": list(members)})

    def undone(self, group_id: str) -> None:
        append_line(self._file, {"undone": group_id})

    def last(self) -> _Group | None:
        found: dict[str, _Group] = {}
        for record in read_lines(self._file):
            if "undone" in record:
                found.pop(record["undone"], None)
            else:
                members = tuple((root, rollback) for root, rollback in record["members"])
                found[record["id"]] = _Group(record["id"], record["time"], members)
        return next(reversed(found.values()), None)


# --------------------------------------------------------------------------- joining


_LITERAL = ":(literal)"


def _outer_paths(
    project: Project, paths: Sequence[str], inner: Sequence[_Inner], base: str
) -> tuple[str, ...]:
    """The part of a selection that is not wholly in linked repositories."""
    prefixes = _roots(inner)
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


def _roots(inner: Sequence[_Inner]) -> list[str]:
    return [one.prefix for one in inner]


def _inside(name: str | None, prefixes: Sequence[str]) -> bool:
    return name is not None and any(name == p or name.startswith(f"{p}/") for p in prefixes)


def _joined(report: Report, prefix: str, part: Report) -> Report:
    def named(path: str) -> str:
        return f"{prefix}/{path}"

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


def _outer_plan(plan: Plan, inner: Sequence[_Inner]) -> Plan:
    """The part of a plan that is about the outer project itself."""
    prefixes = _roots(inner)
    return replace(plan, steps=tuple(s for s in plan.steps if not _inside(s.path, prefixes)))


def _part_plan(plan: Plan, one: _Inner, inner: Sequence[_Inner]) -> Plan:
    """The part of a plan that is about one linked repository, without those in it."""
    start = f"{one.prefix}/"
    deeper = [other.prefix for other in inner if other.prefix.startswith(start)]
    steps = (s for s in plan.steps if s.path.startswith(start) and not _inside(s.path, deeper))
    cut = tuple(replace(s, path=s.path[len(start) :]) for s in steps)
    return replace(plan, project=one.project, checkpoint=one.checkpoint, steps=cut)
