"""What a restore would do, decided from what is known and nothing else.

Owns the plan: for each path whether it is written, deleted or kept, and why. Pure: it is given
both states, the ledger's history and the selection, and touches neither files nor stores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from hermes_checkpoints.authorship import Finding, History
from hermes_checkpoints.records import (
    EXECUTABLE,
    Checkpoint,
    FileState,
    Gap,
    GapReason,
    Plan,
    Project,
    Step,
    StepKind,
)

__all__ = [
    "Scope",
    "Side",
    "Situation",
    "above",
    "directories_of",
    "make_plan",
    "moved_since",
    "usual_permissions",
]


@dataclass(frozen=True, slots=True)
class Side:
    """A state of a project, as far as it is known.

    `gaps` covers what exists and is not known; `None` means that this is unknown itself.
    `unruled` are paths that are known only because they were named: a rule leaves them out.
    `modes` are unusual permission bits. Without `whole`, absence means nothing.
    """

    files: Mapping[str, FileState]
    gaps: tuple[Gap, ...] | None = ()
    unruled: frozenset[str] = frozenset()
    modes: Mapping[str, int] = field(default_factory=dict)
    whole: bool = True

    def permissions(self, path: str) -> int | None:
        """The permission bits of a regular file; `None` for a link, and where they are unknown."""
        state = self.files[path]
        if self.gaps is None or state.is_link:
            return None
        return self.modes.get(path, usual_permissions(state))


@dataclass(frozen=True, slots=True)
class Scope:
    """Which paths a restore is about.

    `chosen` are selected paths (`None`: all); those in `forced` were named one by one and are
    restored whoever changed them last. `apart` are directories that were projects of their own
    then: what is there and below is theirs, whatever it is today.
    """

    chosen: frozenset[str] | None = None
    forced: frozenset[str] = frozenset()
    apart: frozenset[str] = frozenset()

    def __contains__(self, path: str) -> bool:
        if self.apart and any(p in self.apart for p in (path, *above(path))):
            return False
        return self.chosen is None or path in self.chosen


@dataclass(frozen=True, slots=True)
class Situation:
    """All a plan depends on.

    `history` is `None` where there is no ledger at all. `ignored_then` are present paths that rules
    of then leave out, `missing_dirs` directories that it recorded as empty and that are not there.
    `vacant` are paths in a repository of today where nothing is, `repositories` those of today that
    the checkpoint does not know. `chmodded` are the permission bits that paths of the checkpoint
    had got, with their content as it was, before a call took them. `bits` are those of a version
    (`None`: not known), and `held` tells whether the store can give a version back.
    """

    then: Side
    now: Side
    scope: Scope = field(default_factory=Scope)
    history: History | None = None
    ignored_then: frozenset[str] = frozenset()
    missing_dirs: tuple[str, ...] = ()
    vacant: frozenset[str] = frozenset()
    repositories: tuple[str, ...] = ()
    chmodded: Mapping[str, int] = field(default_factory=dict)
    bits: Callable[[str, FileState], int | None] = lambda _path, _state: None
    held: Callable[[str, FileState], bool] = lambda _path, _state: False


def make_plan(
    project: Project,
    checkpoint: Checkpoint,
    situation: Situation,
    *,
    keep_edits: bool = True,
    selection: tuple[str, ...] = (),
    basis: str = "",
    notes: tuple[str, ...] = (),
) -> Plan:
    """What restoring a checkpoint would do with each path of the scope."""
    planner = _Planner(situation, keep_edits=keep_edits and situation.history is not None)
    steps = planner.steps()
    moving = planner.in_the_way(steps)
    if moving:
        notes = (*notes, f"no checkpoint holds {', '.join(moving)}, so it is moved out of the way")
    if situation.repositories:
        names = ", ".join(situation.repositories)
        notes = (
            *notes,
            f"{names}: a git repository that the checkpoint does not know stays as it is",
        )
    return Plan(
        project=project,
        checkpoint=checkpoint,
        keep_edits=keep_edits,
        selection=selection,
        basis=basis,
        steps=steps,
        empty_dirs=_free_dirs(situation, steps),
        unrestorable=planner.unrestorable(),
        notes=notes,
    )


def moved_since(old: Plan, new: Plan) -> tuple[str, ...]:
    """The paths whose step is not the same in two plans of one restore."""
    before = {step.path: step for step in old.steps}
    after = {step.path: step for step in new.steps}
    paths = before.keys() | after.keys()
    return tuple(sorted(p for p in paths if before.get(p) != after.get(p)))


def usual_permissions(state: FileState) -> int:
    """The bits a file has that nothing unusual is recorded of."""
    return 0o755 if state.mode == EXECUTABLE else 0o644


# --------------------------------------------------------------------------- one path


class _Planner:
    def __init__(self, situation: Situation, *, keep_edits: bool) -> None:
        self._then, self._now = situation.then, situation.now
        self._it = situation
        self._keep_edits = keep_edits
        self._gaps_then = _Gaps(situation.then.gaps or ())
        self._gaps_now = _Gaps(situation.now.gaps or ())
        self._dirs_then = directories_of(situation.then.files)
        history = situation.history if keep_edits else None
        self._written = history.paths if history else frozenset()

    def steps(self) -> tuple[Step, ...]:
        """A step for each path that differs, in the order of their names."""
        paths = {*self._then.files, *self._now.files, *self._written}
        steps = [s for p in sorted(paths) if p in self._it.scope and (s := self._step(p))]
        return tuple(_clear_the_way(steps, self._now))

    def in_the_way(self, steps: Iterable[Step]) -> list[str]:
        """What exists and can't be saved, and is where a file or a directory is to be."""
        places = {step.path for step in steps if step.kind is StepKind.WRITE}
        above_places = directories_of(places)
        gaps = (g.path for g in self._now.gaps or () if g.reason is not GapReason.NESTED_REPOSITORY)
        return [g for g in gaps if g in above_places or any(up in places for up in above(g))]

    def unrestorable(self) -> tuple[Gap, ...]:
        """What the checkpoint does not hold, as far as the scope reaches."""
        chosen = self._it.scope.chosen
        held = self._then.files
        return tuple(
            gap
            for gap in self._then.gaps or ()
            if gap.path not in held and (chosen is None or any(gap.covers(p) for p in chosen))
        )

    def _step(self, path: str) -> Step | None:
        then, now = self._then.files.get(path), self._now.files.get(path)
        if then is None and self._gaps_then.over(path):
            return None  # what was there is unknown: it is among the unrestorable, and stays
        unseen = now is None and path not in self._it.vacant
        gap = self._gaps_now.over(path) if unseen else None
        if gap is not None:
            why = f"what is there now can't be saved first: {gap.reason.value}"
            return Step(StepKind.KEEP_UNSAVED, path, why, None, then) if then else None
        free = not self._keep_edits or path in self._it.scope.forced
        if then == now and not self._differs_in_permissions(path, free=free):
            return None if free or path not in self._written else self._between(path, now, then)
        return self._free(path, now, then) if free else self._careful(path, now, then)

    def _between(self, path: str, now: FileState | None, then: FileState | None) -> Step | None:
        """The step where all is as it was then, but by the agent, and over a person's version."""
        finding = self._trace(path, now, then)
        return self._careful(path, now, then) if finding.ours and finding.version else None

    def _differs_in_permissions(self, path: str, *, free: bool) -> bool:
        wanted = self._then.permissions(path) if path in self._then.files else None
        if wanted is not None and not free:
            wanted = self._it.chmodded.get(path, wanted)
        return wanted is not None and wanted != self._now.permissions(path)

    def _free(self, path: str, now: FileState | None, then: FileState | None) -> Step:
        """The step where hand-edits are to go, too."""
        finding = self._trace(path, now, then)
        if then is not None:
            return self._write(path, finding.why, now, then, self._then.permissions(path))
        unsure = self._why_perhaps_old(path, finding)
        if unsure:
            return Step(StepKind.KEEP_YOURS, path, unsure, now, now)
        return Step(StepKind.DELETE, path, f"not there then; {finding.why}", now, None)

    def _careful(self, path: str, now: FileState | None, then: FileState | None) -> Step:
        """The step where only what the agent did may go."""
        finding = self._trace(path, now, then)
        if not finding.ours:
            return Step(StepKind.KEEP_YOURS, path, finding.why, now, then)
        if finding.target is None:
            return self._careful_delete(path, now, then, finding)
        if finding.version and not self._it.held(path, finding.target):
            why = f"{finding.why}: it was not stored, so nothing is put in its place"
            return Step(StepKind.KEEP_YOURS, path, why, now, then)
        if finding.version:
            bits = self._it.bits(path, finding.target)
            return self._write(path, finding.why, now, finding.target, bits, version=True)
        bits = self._it.chmodded.get(path, self._then.permissions(path))
        return self._write(path, finding.why, now, finding.target, bits)

    def _careful_delete(
        self, path: str, now: FileState | None, then: FileState | None, finding: Finding
    ) -> Step:
        if finding.version and finding.certain:
            why = "you had removed it before the agent made it anew"
            return Step(StepKind.DELETE, path, why, now, None, version=True)
        unsure = "nothing proves that it was not there"
        if then is None:
            unsure = self._why_perhaps_old(path, finding)
        if unsure:
            return Step(StepKind.KEEP_YOURS, path, unsure, now, then)
        return Step(StepKind.DELETE, path, f"not there then; {finding.why}", now, None)

    def _write(
        self,
        path: str,
        why: str,
        now: FileState | None,
        then: FileState,
        known: int | None,
        *,
        version: bool = False,
    ) -> Step:
        bits = known if known is not None else self._kept_bits(path, then)
        if then == now:
            why = f"its permissions; {why}"
        permissions = None if bits == usual_permissions(then) else bits
        return Step(StepKind.WRITE, path, why, now, then, permissions, version)

    def _kept_bits(self, path: str, then: FileState) -> int:
        """Present bits, with the exec bits the state asks for: what was then is not known."""
        usual = usual_permissions(then)
        present = self._now.permissions(path) if path in self._now.files else None
        if present is None or then.is_link:
            return usual
        return present & ~0o111 | (usual & 0o111 & (present >> 2) if usual & 0o100 else 0)

    def _trace(self, path: str, now: FileState | None, then: FileState | None) -> Finding:
        if self._it.history is None:
            return Finding(True, "who changed it is not known", then, certain=False)
        return self._it.history.trace(path, now, then)

    def _why_perhaps_old(self, path: str, finding: Finding) -> str:
        """Why a path that the checkpoint lacks may have been there all the same; empty: it wasn't.

        Absence from a checkpoint is no proof: rules, caps and selections leave things out. Where
        only named files are recorded, a call that named the path and found nothing proves it.
        """
        then = self._then
        if path in self._dirs_then or any(up in then.files for up in above(path)):
            return ""  # a directory was there, or a file where its directory is now
        if not then.whole or not self._now.whole:
            proven = finding.ours and finding.certain and finding.target is None
            why = "only named files are recorded here, so it may have been there"
            return "" if proven else why
        if path in self._now.unruled:
            return "ignored files are not removed"
        if then.gaps is None:
            return "the checkpoint does not tell what it lacks, so it may have been there"
        if path in self._it.ignored_then:
            return "the rules of then left it out, so it may have been there"
        return ""


# --------------------------------------------------------------------------- what is in the way


def _clear_the_way(steps: Iterable[Step], now: Side) -> Iterator[Step]:
    """The steps, without writes to a place that something kept occupies.

    What no checkpoint holds and is no repository is no obstacle: it is moved aside, not replaced.
    """
    steps = list(steps)
    gone = {s.path for s in steps if s.kind is StepKind.DELETE}
    staying = now.files.keys() - gone
    occupied = directories_of(staying)
    beaten = _beaten(s for s in steps if s.kind is StepKind.WRITE)
    repositories = {g.path for g in now.gaps or () if g.reason is GapReason.NESTED_REPOSITORY}
    holding_repository = directories_of(repositories)
    for step in steps:
        if step.kind is not StepKind.WRITE:
            yield step
            continue
        blocking = next((up for up in above(step.path) if up in staying), "")
        if blocking:
            yield _kept(step, f"{blocking}, which stays, is a file now")
        elif step.path in beaten:
            yield _kept(step, f"{beaten[step.path]}, which comes back, takes its place")
        elif step.path in occupied:
            yield _kept(step, "it is a directory now, with files that stay")
        elif step.path in holding_repository:
            why = "a git repository is there now"
            yield replace(_kept(step, why), kind=StepKind.KEEP_UNSAVED)
        else:
            yield step


def _beaten(writes: Iterable[Step]) -> dict[str, str]:
    """Writes that can't be had with others: a file, and another one below it.

    That happens only where versions of different moments come together; those are put first.
    """
    taken: set[str] = set()
    directories: dict[str, str] = {}
    beaten = {}
    for step in sorted(writes, key=lambda s: (not s.version, s.path)):
        rival = next((up for up in above(step.path) if up in taken), directories.get(step.path))
        if rival:
            beaten[step.path] = rival
            continue
        taken.add(step.path)
        directories.update(dict.fromkeys(above(step.path), step.path))
    return beaten


def _kept(step: Step, why: str) -> Step:
    return replace(step, kind=StepKind.KEEP_YOURS, why=why, version=False, permissions=None)


def _free_dirs(situation: Situation, steps: Iterable[Step]) -> tuple[str, ...]:
    """The empty directories to bring back: none where a file stays, held or not."""
    gone = {s.path for s in steps if s.kind is StepKind.DELETE}
    coming = {s.path for s in steps if s.kind is StepKind.WRITE}
    files = (situation.now.files.keys() - gone) | coming
    files |= {gap.path for gap in situation.now.gaps or ()}
    return tuple(
        d
        for d in situation.missing_dirs
        if d in situation.scope and d not in files and not any(up in files for up in above(d))
    )


# --------------------------------------------------------------------------- paths


class _Gaps:
    """Gaps, found by any path they cover."""

    def __init__(self, gaps: Iterable[Gap]) -> None:
        self._by_path = {gap.path: gap for gap in gaps}

    def over(self, path: str) -> Gap | None:
        """The gap that covers a path."""
        if not self._by_path:
            return None
        return next((g for p in (path, *above(path)) if (g := self._by_path.get(p))), None)


def above(path: str) -> Iterator[str]:
    """The directories above a path, nearest first, without the root."""
    cut = path.rfind("/")
    while cut > 0:
        path = path[:cut]
        yield path
        cut = path.rfind("/")


def directories_of(paths: Iterable[str]) -> set[str]:
    """Every directory that paths lie in."""
    found: set[str] = set()
    for path in paths:  # as `above`, without a generator for each of all files
        cut = path.rfind("/")
        while cut > 0:
            path = path[:cut]
            if path in found:
                break
            found.add(path)
            cut = path.rfind("/")
    return found
