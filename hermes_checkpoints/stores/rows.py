"""What a store remembers of a checkpoint, and the questions every store answers alike.

Owns the JSON form of a checkpoint, the note about nested repositories, when an observation equals
a checkpoint, and what a supplement adds. Pure: reads and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from hermes_checkpoints.errors import CheckpointNotFound
from hermes_checkpoints.records import Checkpoint, FileState, Gap, GapReason, Project
from hermes_checkpoints.stores.base import Observation

__all__ = [
    "Addition",
    "Row",
    "addition",
    "annotated",
    "chmodded",
    "decode",
    "encode",
    "equal",
    "find",
    "grown",
]


@dataclass(frozen=True, slots=True)
class Row:
    """A checkpoint and `live`: the part of its tree that the rules let in."""

    checkpoint: Checkpoint
    live: str


# --------------------------------------------------------------------------- the reason


def annotated(reason: str, gaps: Iterable[Gap]) -> str:
    """The reason with the note that names nested repositories; the note is never cut."""
    nested = sorted(g.path for g in gaps if g.reason is GapReason.NESTED_REPOSITORY)
    if not nested:
        return reason
    more = f" (+{len(nested) - 3})" if len(nested) > 3 else ""
    names = ", ".join(" ".join(path.split("\n")) for path in nested[:3])
    return f"{reason} [nested git repos not captured: {names}{more}]"


# --------------------------------------------------------------------------- equality


def equal(row: Row, observation: Observation, held: Mapping[str, FileState | None]) -> bool:
    """Whether a checkpoint already is what was observed.

    `held` are the checkpoint's states of the observation's named paths. Paths that only the
    checkpoint holds by name don't count: nobody asked for them this time.
    """
    then = row.checkpoint
    named = observation.named
    return (
        row.live == observation.tree
        and then.whole == observation.whole
        and then.exclude in (None, observation.exclude)
        and all(held.get(path) == state for path, state in named.items())
        and _same_modes(then, observation)
        and set(observation.empty_dirs) <= set(then.empty_dirs)
    )


def _same_modes(then: Checkpoint, observation: Observation) -> bool:
    """Whether no mode has changed, but for those of paths held by name that nobody asked for.

    Not every look finds every directory: only what one found counts.
    """
    if then.modes == observation.modes:
        return True  # as a rule
    skip = set(then.named) - set(observation.named)
    old, new = _of_files(then.modes, skip), _of_files(observation.modes, frozenset())
    directories = ((path, mode) for path, mode in observation.modes.items() if path[-1] == "/")
    return old == new and all(then.modes.get(path) == mode for path, mode in directories)


def _of_files(modes: Mapping[str, int], skip: Set[str]) -> dict[str, int]:
    return {p: mode for p, mode in modes.items() if p[-1] != "/" and p not in skip}


# --------------------------------------------------------------------------- supplements


@dataclass(frozen=True, slots=True)
class Addition:
    """What a supplement adds to a checkpoint: paths it lacks, further versions, and gaps."""

    paths: Mapping[str, FileState]
    versions: tuple[tuple[str, FileState], ...]
    gaps: tuple[Gap, ...]
    empty_dirs: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.paths or self.versions or self.gaps or self.empty_dirs)


def addition(
    checkpoint: Checkpoint,
    observation: Observation,
    observed: Mapping[str, FileState],
    held: Mapping[str, FileState | None],
    blocked: frozenset[str],
) -> Addition:
    """What `observed` has and the checkpoint lacks.

    `held` are the checkpoint's states of these paths; `blocked` those that it can't take into its
    tree, because it has a directory there or a file above: they become versions.
    """
    known = set(checkpoint.versions)
    paths: dict[str, FileState] = {}
    versions: list[tuple[str, FileState]] = []
    for path, state in observed.items():
        if state.is_gitlink or (path, state) in known:
            continue
        if held.get(path) == state and not chmodded(checkpoint, observation, path):
            continue
        if held.get(path) is None and path not in blocked:
            paths[path] = state
        else:
            versions.append((path, state))
    old = checkpoint.gaps or ()
    gaps = tuple(
        gap
        for gap in observation.gaps
        if held.get(gap.path) is None and not any(o.covers(gap.path) for o in old)
    )
    dirs = tuple(d for d in observation.empty_dirs if d not in checkpoint.empty_dirs)
    return Addition(paths, tuple(sorted(versions, key=lambda v: v[0])), gaps, dirs)


def chmodded(checkpoint: Checkpoint, observation: Observation, path: str) -> bool:
    """Whether a named path has other permissions than the checkpoint recorded."""
    if checkpoint.gaps is None or path not in observation.named:
        return False
    return checkpoint.modes.get(path) != observation.modes.get(path)


def grown(checkpoint: Checkpoint, new: Addition, observation: Observation, tree: str) -> Checkpoint:
    """The checkpoint with an addition; `tree` is the state it holds now."""
    forced = observation.unruled | (set(new.paths) if not observation.whole else set())
    gaps = None
    if checkpoint.gaps is not None:
        gaps = tuple(g for g in (*checkpoint.gaps, *new.gaps) if g.path not in new.paths)
    added_modes = {
        p: m
        for p, m in observation.modes.items()
        if p in new.paths or (p[-1] == "/" and p not in checkpoint.modes)
    }
    version_modes = {
        (p, s.content): observation.modes[p] for p, s in new.versions if p in observation.modes
    }
    return replace(
        checkpoint,
        tree=tree,
        files=None,
        insertions=None,
        deletions=None,
        gaps=gaps,
        named=tuple(sorted({*checkpoint.named, *(forced & set(new.paths))})),
        modes={**checkpoint.modes, **added_modes},
        empty_dirs=tuple(sorted({*checkpoint.empty_dirs, *new.empty_dirs})),
        versions=(*checkpoint.versions, *new.versions),
        version_modes={**checkpoint.version_modes, **version_modes},
    )


# --------------------------------------------------------------------------- finding


def find(rows: Iterable[Row], project: Project, checkpoint_id: str) -> Row:
    """The row that an id or an unambiguous beginning of four characters or more names."""
    wanted = checkpoint_id.lower()
    hits = [r for r in rows if len(wanted) >= 4 and r.checkpoint.id.startswith(wanted)]
    exact = [r for r in hits if r.checkpoint.id == wanted]
    if exact or len(hits) == 1:
        return (exact or hits)[0]
    if hits:
        raise CheckpointNotFound(
            f"{checkpoint_id!r} is the beginning of {len(hits)} checkpoints of {project.root}",
            hint="give more characters of the id",
        )
    raise CheckpointNotFound(
        f"{checkpoint_id!r} is no checkpoint of {project.root}",
        hint="`/rollback` lists the checkpoints there are",
    )


# --------------------------------------------------------------------------- JSON


_ALWAYS = ("gaps", "whole")


def encode(row: Row) -> dict[str, Any]:
    """A row as JSON values; what has its usual value is left out."""
    c = row.checkpoint
    full = {
        "id": c.id,
        "time": c.time,
        "reason": c.reason,
        "tree": c.tree,
        "live": row.live,
        "statistics": None if c.files is None else [c.files, c.insertions, c.deletions],
        "gaps": None if c.gaps is None else [[g.path, g.reason.value, g.detail] for g in c.gaps],
        "named": list(c.named),
        "modes": dict(c.modes),
        "empty_dirs": list(c.empty_dirs),
        "versions": [[path, s.mode, s.content] for path, s in c.versions],
        "version_modes": [[path, content, m] for (path, content), m in c.version_modes.items()],
        "whole": c.whole,
        "exclude": None if c.exclude is None else list(c.exclude),
        "supplements": list(c.supplements),
        "labels": dict(c.labels),
    }
    return {k: v for k, v in full.items() if v or k in _ALWAYS}


def decode(value: Mapping[str, Any], pins: Sequence[str] = ()) -> Row:
    """The row that `encode` made this of. Raises `KeyError ValueError TypeError` for others."""
    gaps = value["gaps"]
    statistics = value.get("statistics") or (None, None, None)
    checkpoint = Checkpoint(
        id=value["id"],
        time=value["time"],
        reason=value.get("reason", ""),
        tree=value["tree"],
        files=statistics[0],
        insertions=statistics[1],
        deletions=statistics[2],
        gaps=None if gaps is None else tuple(Gap(p, GapReason(r), d) for p, r, d in gaps),
        named=tuple(value.get("named", ())),
        modes=dict(value.get("modes", {})),
        empty_dirs=tuple(value.get("empty_dirs", ())),
        versions=tuple((p, FileState(m, c)) for p, m, c in value.get("versions", ())),
        version_modes={(p, c): m for p, c, m in value.get("version_modes", ())},
        whole=value["whole"],
        exclude=None if value.get("exclude") is None else tuple(value["exclude"]),
        supplements=tuple(value.get("supplements", ())),
        labels=dict(value.get("labels", {})),
        pins=tuple(pins),
    )
    return Row(checkpoint, value["live"])
