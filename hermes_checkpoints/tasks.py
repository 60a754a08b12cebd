"""From a plan to a task, and from what was done to what undo and ledger need to know.

Owns what a plan comes to on this disk: which names must move aside, which directories are made and
which go. Looks at the project, changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from hermes_checkpoints import worktree
from hermes_checkpoints.applier import RESTORE, Done, Move, Task
from hermes_checkpoints.ledger import RESTORE as RESTORED
from hermes_checkpoints.ledger import Entry
from hermes_checkpoints.records import FileState, Step
from hermes_checkpoints.restore import above, usual_permissions
from hermes_checkpoints.survey import Survey

__all__ = ["ROLLBACK", "as_done", "entries_of", "task_of"]

ROLLBACK = "rollback"  # the tool by which a restore's own writes and checkpoints are known


def task_of(root: str, survey: Survey) -> Task:
    """What a plan comes to on this disk: also the names that must move, and the directories."""
    plan = survey.plan
    moves = tuple(_move(step, survey) for step in (*plan.deletes, *plan.writes))
    gone = {step.path for step in plan.deletes}
    in_the_way: dict[str, None] = {}
    fresh: dict[str, None] = {}
    for path in (*(step.path for step in plan.writes), *plan.empty_dirs):
        if path not in plan.empty_dirs and worktree.is_directory(root, path):
            in_the_way[path] = None
        for up in above(path):
            if up in fresh or worktree.is_directory(root, up):
                break
            fresh[up] = None
            if up not in gone and worktree.exists(root, up):
                in_the_way[up] = None
    emptied = {up for step in plan.deletes for up in above(step.path)} - survey.dirs_then
    permissions = {
        **_of_directories(emptied, survey.now.modes),  # for undo, which makes them anew
        **_of_directories((*fresh, *plan.empty_dirs), plan.checkpoint.modes),
    }
    return Task(
        id="",
        action=RESTORE,
        target="",
        safety="",
        moves=moves,
        asides=tuple((path, _free_name(root, path)) for path in in_the_way),
        dirs=plan.empty_dirs,
        fresh=tuple(fresh),
        stale=tuple(sorted(emptied)),
        permissions=tuple(permissions.items()),
    )


def _of_directories(directories: Iterable[str], modes: Mapping[str, int]) -> dict[str, int]:
    """The unusual permission bits of directories."""
    return {d: modes[f"{d}/"] for d in directories if f"{d}/" in modes}


def _move(step: Step, survey: Survey) -> Move:
    present = survey.now.permissions(step.path) if step.now else None
    return Move(
        path=step.path,
        old=step.now,
        new=step.then,
        old_permissions=present,
        permissions=_wanted(step.then, step.permissions),
        version=step.version,
    )


def _wanted(state: FileState | None, permissions: int | None) -> int | None:
    if state is None or state.is_link:
        return None
    return usual_permissions(state) if permissions is None else permissions


def _free_name(root: str, path: str) -> str:
    number = 1
    while worktree.exists(root, f"{path}.aside-{number}"):
        number += 1
    return f"{path}.aside-{number}"


def as_done(task: Task, done: Done) -> Task:
    """The task as far as it was done, for undo to take back."""
    return replace(
        task,
        moves=tuple(done.moved),
        asides=tuple(done.asides),
        dirs=tuple(dict.fromkeys(done.made)),
        fresh=(),
        stale=tuple(done.removed),
    )


def entries_of(task: Task) -> list[Entry]:
    """A restore's own writes, for the ledger: they are ours, not the person's."""
    return [
        Entry(
            path=move.path,
            before=move.old,
            after=move.new,
            checkpoint=task.safety,
            session=task.session,
            turn=task.turn,
            call=task.id,
            tool=ROLLBACK,
            time=task.time,
            kind=RESTORED,
            target=task.target,
            version=move.version,
        )
        for move in task.moves
    ]
