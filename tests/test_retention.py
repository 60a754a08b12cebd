"""What goes and what stays, decided without a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from hermes_checkpoints.inventory import Drop, DropReason, Presence
from hermes_checkpoints.records import Checkpoint, Project
from hermes_checkpoints.retention import (
    History,
    Limits,
    RetentionPlan,
    plan_retention,
    surplus,
)

DAY = 86400.0
NOW = 1000 * DAY
EACH = 10
"""What every checkpoint of these tests takes."""


def history(
    name: str,
    count: int,
    *,
    days_ago: float = 0,
    presence: Presence = Presence.LIVE,
    pinned: Sequence[int] = (),
) -> History:
    """A project whose newest checkpoint is `<name>0`."""
    made = tuple(
        Checkpoint(f"{name}{n}", NOW, "r", "t", pins=("p",) if n in pinned else ())
        for n in range(count)
    )
    return History(Project(f"/{name}", name), made, NOW - days_ago * DAY, presence)


def planned(histories: Sequence[History], limits: Limits) -> RetentionPlan:
    whole = EACH * sum(len(h.checkpoints) for h in histories)

    def size_after(drops: Mapping[str, Sequence[str]]) -> int:
        return whole - EACH * sum(map(len, drops.values()))

    return plan_retention(histories, limits, NOW, size_after=size_after)


def gone(plan: RetentionPlan) -> set[str]:
    return {checkpoint for d in plan.drops for checkpoint in d.checkpoints}


def test_only_the_newest_are_kept() -> None:
    """Those beyond `max_snapshots` go, oldest ones, with that as the reason."""
    plan = planned([history("a", 5)], Limits(max_snapshots=3))
    assert plan.drops == (Drop(Project("/a", "a"), ("a3", "a4"), DropReason.COUNT),)


def test_a_pinned_checkpoint_stays_beyond_the_count() -> None:
    """A label or a running restore keeps its checkpoint whatever its age."""
    assert surplus(history("a", 5, pinned=[4]).checkpoints, 3) == ("a3",)


def test_a_stale_live_project_ends() -> None:
    """A project untouched for longer than `retention_days` goes as a whole."""
    plan = planned([history("a", 2, days_ago=8), history("b", 2)], Limits(9, retention_days=7))
    assert plan.drops == (Drop(Project("/a", "a"), ("a0", "a1"), DropReason.STALE, whole=True),)


def test_an_unreachable_project_never_ends() -> None:
    """Neither age nor orphan removal touches what may only be unplugged."""
    away = history("a", 2, days_ago=999, presence=Presence.UNREACHABLE)
    assert planned([away], Limits(9, retention_days=7, orphans_go=True)).drops == ()


def test_an_orphan_goes_only_where_it_may_whatever_its_age() -> None:
    """Orphans stay by default even when old, and go when allowed even when new."""
    old = history("a", 1, days_ago=999, presence=Presence.ORPHAN)
    new = history("b", 1, presence=Presence.ORPHAN)
    assert planned([old, new], Limits(9, retention_days=7)).drops == ()
    plan = planned([old, new], Limits(9, retention_days=7, orphans_go=True))
    assert [(d.project.id, d.reason, d.whole) for d in plan.drops] == [
        ("a", DropReason.ORPHAN, True),
        ("b", DropReason.ORPHAN, True),
    ]


def test_a_stale_project_with_a_pin_keeps_that_checkpoint() -> None:
    """The rest of it goes, and the project is not ended."""
    (drop,) = planned([history("a", 3, days_ago=9, pinned=[1])], Limits(9, retention_days=7)).drops
    assert (drop.checkpoints, drop.whole) == (("a0", "a2"), False)


def test_zero_days_and_zero_bytes_are_no_limit() -> None:
    """A zero never means that everything goes."""
    assert planned([history("a", 3, days_ago=999)], Limits(9)).drops == ()


def test_the_size_cap_takes_the_oldest_of_each_project_in_turn() -> None:
    """Round-robin: no project loses two before another has lost one."""
    plan = planned([history("a", 3), history("b", 3)], Limits(9, max_total_bytes=4 * EACH))
    assert gone(plan) == {"a2", "b2"}
    assert plan.size == 4 * EACH
    assert not plan.still_over


def test_no_more_goes_than_the_size_cap_asks_for() -> None:
    """The shortest sequence of drops that meets the cap is taken."""
    plan = planned([history("a", 9), history("b", 9)], Limits(9, max_total_bytes=17 * EACH))
    assert len(gone(plan)) == 1


def test_with_one_left_each_the_least_recently_touched_projects_end() -> None:
    """Projects go in the order of their last touch."""
    histories = [history("a", 1, days_ago=1), history("b", 1), history("c", 1, days_ago=2)]
    plan = planned(histories, Limits(9, max_total_bytes=2 * EACH))
    assert [(d.project.id, d.whole) for d in plan.drops] == [("c", True)]


def test_a_cap_that_cannot_be_met_is_explained() -> None:
    """The newest checkpoint of the project used last stays, and the plan says so."""
    plan = planned([history("a", 1)], Limits(9, max_total_bytes=1))
    assert plan.drops == ()
    assert "newest checkpoint" in plan.still_over


def test_the_explanation_counts_pins_and_what_is_away() -> None:
    """Everything that keeps room is named."""
    away = history("b", 1, days_ago=5, presence=Presence.UNREACHABLE)
    plan = planned([history("a", 2, pinned=[1]), away], Limits(9, max_total_bytes=1))
    assert "1 pinned" in plan.still_over
    assert "not there" in plan.still_over


def test_the_size_cap_measures_seldom() -> None:
    """Finding the cut among 400 checkpoints asks for the size at most a dozen times."""
    asked = []

    def size_after(drops: Mapping[str, Sequence[str]]) -> int:
        asked.append(drops)
        return 400 - sum(map(len, drops.values()))

    histories = [history(f"p{n}-", 20) for n in range(20)]
    plan = plan_retention(histories, Limits(20, max_total_bytes=123), NOW, size_after=size_after)
    assert plan.size == 123
    assert len(asked) <= 12


HISTORIES = st.lists(
    st.builds(
        lambda name, count, days, presence, pins: history(
            f"{name}-", count, days_ago=days, presence=presence, pinned=pins
        ),
        st.uuids().map(lambda u: u.hex[:6]),
        st.integers(0, 6),
        st.floats(0, 20),
        st.sampled_from(list(Presence)),
        st.lists(st.integers(0, 5), max_size=2),
    ),
    max_size=6,
    unique_by=lambda h: h.project.id,
)


@given(HISTORIES, st.integers(1, 4), st.integers(0, 200), st.floats(0, 20), st.booleans())
def test_what_must_stay_stays(
    histories: list[History], most: int, cap: int, days: float, orphans_go: bool
) -> None:
    """No limit drops a pin or one id twice, ends what is away, or goes on once the cap is met."""
    plan = planned(histories, Limits(most, cap, days, orphans_go))
    ids = [c for d in plan.drops for c in d.checkpoints]
    assert len(ids) == len(set(ids))
    pinned = {c.id for h in histories for c in h.checkpoints if c.pins}
    assert not pinned & set(ids)
    ended = {d.project.id for d in plan.drops if d.whole}
    for h in histories:
        if h.presence is Presence.UNREACHABLE or (h.presence is Presence.ORPHAN and not orphans_go):
            assert h.project.id not in ended
            assert not h.checkpoints or h.checkpoints[0].id not in ids
    assert bool(plan.still_over) == bool(cap and plan.size > cap)
