"""Retention: which checkpoints go, and why. Pure: it measures nothing and deletes nothing.

What is kept keeps its id and date. A pinned checkpoint never goes, nor does the newest one of the
project that was touched last: an undo for what the agent just did is what the library is for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from hermes_checkpoints.inventory import Drop, DropReason, Presence
from hermes_checkpoints.records import Checkpoint, Project

__all__ = ["History", "Limits", "RetentionPlan", "plan_retention", "surplus"]

Drops = Mapping[str, Sequence[str]]
"""Checkpoint ids by project id, as `Store.would_free` takes them."""

_DAY = 86400.0


@dataclass(frozen=True, slots=True)
class History:
    """The checkpoints of one project, newest first, and when and where it was last seen."""

    project: Project
    checkpoints: tuple[Checkpoint, ...]
    last_touch: float
    presence: Presence = Presence.LIVE


@dataclass(frozen=True, slots=True)
class Limits:
    """What may stay. 0 days, or 0 bytes in all, is no limit."""

    max_snapshots: int
    max_total_bytes: int = 0
    retention_days: float = 0
    orphans_go: bool = False


@dataclass(frozen=True, slots=True)
class RetentionPlan:
    """What goes. `size` is what the store would take then, `still_over` why that is too much."""

    drops: tuple[Drop, ...]
    size: int
    still_over: str = ""


def surplus(checkpoints: Sequence[Checkpoint], max_snapshots: int) -> tuple[str, ...]:
    """The ids of those beyond the newest `max_snapshots`, pinned ones excepted."""
    return tuple(c.id for c in checkpoints[max_snapshots:] if not c.pins)


def plan_retention(
    histories: Sequence[History],
    limits: Limits,
    now: float,
    *,
    size_after: Callable[[Drops], int],
) -> RetentionPlan:
    """What to drop so that the limits hold.

    `size_after` tells how many bytes the store would take after some drops; it is asked about
    log2 of the number of checkpoints times, as a store must do work to answer.
    """
    gone = [d for h in histories if (d := _whole(h, limits, now))]
    left = _without(histories, gone)
    trims = [
        Drop(h.project, ids, DropReason.COUNT)
        for h in left
        if (ids := surplus(h.checkpoints, limits.max_snapshots))
    ]
    drops = gone + trims
    size = size_after(_by_project(drops))
    if not limits.max_total_bytes or size <= limits.max_total_bytes:
        return RetentionPlan(tuple(drops), size)
    left = _without(left, trims)
    cuts, size = _cut_to_size(list(_in_order(left, limits)), drops, limits, size_after)
    over = "" if size <= limits.max_total_bytes else _why_over(_without(left, cuts), limits)
    return RetentionPlan(tuple(drops + cuts), size, over)


# --------------------------------------------------------------------------- age


def _whole(history: History, limits: Limits, now: float) -> Drop | None:
    """The end of a project: stale and live, or an orphan where orphans may go."""
    if history.presence is Presence.ORPHAN and limits.orphans_go:
        return _all_of(history, DropReason.ORPHAN)
    stale = limits.retention_days and history.last_touch < now - limits.retention_days * _DAY
    if history.presence is Presence.LIVE and stale:
        return _all_of(history, DropReason.STALE)
    return None


def _all_of(history: History, reason: DropReason) -> Drop | None:
    ids = tuple(c.id for c in history.checkpoints if not c.pins)
    whole = len(ids) == len(history.checkpoints)
    return Drop(history.project, ids, reason, whole) if ids or whole else None


# --------------------------------------------------------------------------- size


def _in_order(histories: Sequence[History], limits: Limits) -> Iterator[Drop]:
    """Single drops in the order in which the size cap takes them.

    Round-robin the oldest of each project, down to its newest; then those, least recently touched
    project first, except that of the project touched last and of directories that may come back.
    """
    by_touch = sorted(histories, key=lambda h: h.last_touch)
    queues = [[c.id for c in reversed(h.checkpoints[1:]) if not c.pins] for h in by_touch]
    for turn in zip_longest(*queues):
        for history, checkpoint in zip(by_touch, turn, strict=True):
            if checkpoint is not None:
                yield Drop(history.project, (checkpoint,), DropReason.SIZE)
    for history in by_touch[:-1]:
        if _may_end(history, limits) and history.checkpoints and not history.checkpoints[0].pins:
            whole = not any(c.pins for c in history.checkpoints)
            yield Drop(history.project, (history.checkpoints[0].id,), DropReason.SIZE, whole)


def _may_end(history: History, limits: Limits) -> bool:
    if history.presence is Presence.ORPHAN:
        return limits.orphans_go
    return history.presence is Presence.LIVE


def _cut_to_size(
    order: list[Drop], before: list[Drop], limits: Limits, size_after: Callable[[Drops], int]
) -> tuple[list[Drop], int]:
    """The shortest beginning of `order` that meets the cap, merged by project; all, if none does.

    Dropping more never takes more room, so halving finds it.
    """

    def measured(count: int) -> int:
        return size_after(_by_project(before + order[:count]))

    low, high = 0, len(order)
    size = measured(high)
    while size <= limits.max_total_bytes and low + 1 < high:
        middle = (low + high) // 2
        there = measured(middle)
        if there <= limits.max_total_bytes:
            high, size = middle, there
        else:
            low = middle
    return _merged(order[:high]), size


def _why_over(left: Sequence[History], limits: Limits) -> str:
    pinned = sum(bool(c.pins) for h in left for c in h.checkpoints)
    away = sum(not _may_end(h, limits) for h in left)
    reasons = ["the newest checkpoint of the project used last always stays"]
    if pinned:
        reasons.append(f"{pinned} pinned {'checkpoint stays' if pinned == 1 else 'stay'}")
    if away:
        what = "a directory that is" if away == 1 else f"{away} directories that are"
        reasons.append(f"the last checkpoint of {what} not there stays")
    return "; ".join(reasons)


# --------------------------------------------------------------------------- small parts


def _by_project(drops: Iterable[Drop]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for drop in drops:
        found.setdefault(drop.project.id, []).extend(drop.checkpoints)
    return found


def _without(histories: Sequence[History], drops: Sequence[Drop]) -> list[History]:
    gone = {i for d in drops for i in d.checkpoints}
    ended = {d.project.id for d in drops if d.whole}
    return [
        History(
            h.project,
            tuple(c for c in h.checkpoints if c.id not in gone),
            h.last_touch,
            h.presence,
        )
        for h in histories
        if h.project.id not in ended
    ]


def _merged(drops: Sequence[Drop]) -> list[Drop]:
    """One drop for each project."""
    found: dict[str, Drop] = {}
    for drop in drops:
        had = found.get(drop.project.id)
        ids = (*had.checkpoints, *drop.checkpoints) if had else drop.checkpoints
        found[drop.project.id] = Drop(drop.project, ids, drop.reason, drop.whole)
    return list(found.values())
