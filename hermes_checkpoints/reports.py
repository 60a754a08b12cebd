"""What was done, as the report a person gets: five lists that never overlap, and what must be said.

Pure but for the names of files that were moved aside. Texts are `render`'s.
"""

from __future__ import annotations

from collections.abc import Iterator

from hermes_checkpoints import worktree
from hermes_checkpoints.applier import RESTORE, Done, Task
from hermes_checkpoints.records import (
    Checkpoint,
    Gap,
    GapReason,
    Plan,
    Project,
    Report,
    Step,
    StepKind,
)
from hermes_checkpoints.survey import Survey

__all__ = ["blank_plan", "report_of", "unsaved_of"]


def blank_plan(project: Project, task: Task) -> Plan:
    """A plan with nothing in it but the project, for reports of what had no plan."""
    nothing = Checkpoint(id=task.target, time=task.time, reason="", tree="")
    return Plan(project=project, checkpoint=nothing, keep_edits=True)


def report_of(
    plan: Plan,
    safety: Checkpoint | None,
    done: Done,
    *,
    unsaved: tuple[Gap, ...] = (),
    why_left: str = "changed while the rollback ran",
) -> Report:
    """The report of a restore. `why_left` is said of files that somebody changed meanwhile."""
    left = [Step(StepKind.KEEP_YOURS, m.path, why_left, m.old, m.new) for m in done.changed]
    unrestorable = (*plan.unrestorable, *unsaved)
    achieved = bool(done.moved or done.made or done.asides)
    notes = list(plan.notes)
    if back := [d for d in plan.empty_dirs if d in done.made]:
        notes.append(f"empty directories are back: {', '.join(back)}")
    if done.broken:
        notes.append(done.broken)
    elif done.failed and safety:
        notes.append(f"checkpoint {safety.short_id} holds the state before the rollback")
    return Report(
        ok=not (done.failed or done.broken or (plan.selection and unrestorable and not achieved)),
        action=RESTORE,
        project=plan.project,
        target=plan.checkpoint if plan.checkpoint.tree else None,
        safety=safety,
        restored=tuple(m.path for m in done.moved if m.new is not None),
        deleted=tuple(m.path for m in done.moved if m.new is None),
        kept=(*plan.kept, *left),
        unrestorable=unrestorable,
        failed=tuple(done.failed),
        aside=tuple(p for old, new in done.asides for p in _aside(plan.project.root, old, new)),
        notes=tuple(notes),
    )


def _aside(root: str, old: str, new: str) -> Iterator[tuple[str, str]]:
    """Each file that was moved with what stood in the way."""
    if not worktree.is_directory(root, new):
        yield old, new
    for file in worktree.files_below(root, new):
        yield old + file[len(new) :], file


def unsaved_of(survey: Survey) -> tuple[Gap, ...]:
    """What stays because the snapshot before could not hold it, each with the reason."""
    found = []
    for step in survey.plan.of(StepKind.KEEP_UNSAVED):
        gap = next((g for g in survey.now.gaps or () if g.covers(step.path)), None)
        reason = gap.reason if gap else GapReason.NESTED_REPOSITORY
        found.append(Gap(step.path, reason, "what is there now could not be saved, so it stays"))
    return tuple(found)
