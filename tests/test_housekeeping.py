"""Upkeep of a store: trim, sweep, presence, archives and status, over the in-memory store."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from pytest_mock import MockerFixture

from hermes_checkpoints.applier import Task
from hermes_checkpoints.archives import remove_tree
from hermes_checkpoints.books import Books
from hermes_checkpoints.config import VIBEOS, Config
from hermes_checkpoints.errors import StoreBusy, StoreError, StoreUnavailable
from hermes_checkpoints.housekeeping import Housekeeping
from hermes_checkpoints.inventory import DropReason, Presence
from hermes_checkpoints.ledger import Entry
from hermes_checkpoints.links import Links
from hermes_checkpoints.project import project_at
from hermes_checkpoints.records import Project
from hermes_checkpoints.stores.base import Store, Upkeep
from hermes_checkpoints.stores.memory import MemoryStore
from hermes_checkpoints.whereabouts import Place, look_for, place_of

DAY = 86400.0


class Clock:
    """A clock that goes when told; it starts at the present, as the store's does not."""

    def __init__(self) -> None:
        import time

        self.now = time.time()

    def __call__(self) -> float:
        return self.now


class World:
    """A store with projects below one directory."""

    def __init__(self, tmp_path: Path, **config: object) -> None:
        self.root = tmp_path
        self.config = Config(base=tmp_path / "base", **config)  # type: ignore[arg-type]
        self.store = MemoryStore()
        self.books = Books(self.config.base_path)
        self.clock = Clock()
        self.opened = 0
        self.house = Housekeeping(self.open, self.books, self.config, clock=self.clock)

    def open(self) -> Store:
        self.opened += 1
        return self.store

    def make_store(self) -> None:
        (self.config.base_path / "store").mkdir(mode=0o700, parents=True, exist_ok=True)
        self.config.base_path.chmod(0o700)

    def project(self, name: str, checkpoints: int = 1, size: int = 10) -> Project:
        directory = self.root / name
        directory.mkdir(parents=True, exist_ok=True)
        project = project_at(directory)
        self.make_store()
        for n in range(checkpoints):
            (directory / "f").write_bytes(os.urandom(size))
            self.capture(project, f"before {n}")
        return project

    def capture(self, project: Project, reason: str = "before x") -> None:
        with self.store.lock(project):
            seen = self.store.observe(project, self.config.capture_rules)
            self.store.capture(project, seen, reason=reason)
        self.house.trim(project)

    def presence(self, project: Project) -> Presence:
        (found,) = [p for p in self.house.status().projects if p.project.id == project.id]
        return found.presence


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, max_snapshots=3)


# --------------------------------------------------------------------------- trim


def test_a_capture_beyond_the_count_drops_the_oldest_at_once(world: World) -> None:
    """The list never grows beyond `max_snapshots`, and what stays keeps its id."""
    project = world.project("w", 3)
    before = [c.id for c in world.store.list(project)]
    (world.root / "w/f").write_text("new", encoding="utf-8")
    world.capture(project)
    after = [c.id for c in world.store.list(project)]
    assert len(after) == 3
    assert after[1:] == before[:2]


def test_trimming_never_reclaims(world: World, mocker: MockerFixture) -> None:
    """Beside a tool call nothing heavier than a list and a drop happens."""
    project = world.project("w", 3)
    heavy = [mocker.spy(world.store, m) for m in ("compact", "size", "would_free", "verify")]
    world.house.trim(project)
    assert not any(spy.called for spy in heavy)


# --------------------------------------------------------------------------- presence


def test_a_directory_that_is_there_is_live(world: World) -> None:
    """Status calls it live."""
    assert world.presence(world.project("w")) is Presence.LIVE


def test_a_deleted_directory_is_an_orphan(world: World) -> None:
    """Gone, and its parent is the directory we knew."""
    project = world.project("code/w")
    shutil.rmtree(project.root)
    assert world.presence(project) is Presence.ORPHAN


def test_a_file_in_its_place_makes_an_orphan(world: World) -> None:
    """A file where the project was proves as much as nothing there."""
    project = world.project("code/w")
    shutil.rmtree(project.root)
    Path(project.root).touch()
    assert world.presence(project) is Presence.ORPHAN


def test_a_directory_whose_parent_is_gone_is_unreachable(world: World) -> None:
    """An unmounted volume takes the parent along, and nothing proves a deletion."""
    project = world.project("usb/w")
    (world.root / "usb").rename(world.root / "elsewhere")
    assert world.presence(project) is Presence.UNREACHABLE


def test_a_directory_whose_parent_is_another_is_unreachable(world: World) -> None:
    """The mount point of an unplugged drive is not the directory we knew."""
    project = world.project("usb/w")
    (world.root / "usb").rename(world.root / "elsewhere")
    (world.root / "usb").mkdir()
    assert world.presence(project) is Presence.UNREACHABLE


def test_without_evidence_nothing_is_an_orphan(world: World) -> None:
    """A store made by another program does not say which parent it knew."""
    project = world.project("code/w")
    world.books.of(project).remove()
    shutil.rmtree(project.root)
    assert world.presence(project) is Presence.UNREACHABLE


def test_the_empty_directory_below_a_volume_is_unreachable(tmp_path: Path) -> None:
    """A project that was the volume itself leaves an empty directory of another device."""
    here = place_of(tmp_path)
    assert here is not None
    assert look_for(str(tmp_path), None, here.device + 1)[0] is Presence.UNREACHABLE
    (tmp_path / "f").touch()
    assert look_for(str(tmp_path), None, here.device + 1)[0] is Presence.LIVE


def test_two_volumes_at_one_place_are_told_apart(tmp_path: Path) -> None:
    """Same device number and inode, other file system: not the directory we knew."""
    here = place_of(tmp_path)
    assert here is not None
    other = Place(here.device, here.inode, here.volume + 1)
    assert look_for(str(tmp_path / "w"), here)[0] is Presence.ORPHAN
    assert look_for(str(tmp_path / "w"), other)[0] is Presence.UNREACHABLE


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (Place(1, 2, 3), Place(1, 2, 3), True),
        (Place(1, 2, 3), Place(9, 2, 3), True),
        (Place(1, 2, 3), Place(1, 2, 9), False),
        (Place(1, 2, 0), Place(1, 2, 3), True),
        (Place(1, 2, 0), Place(9, 2, 0), False),
        (Place(1, 2, 3), Place(1, 9, 3), False),
    ],
)
def test_devices_may_be_numbered_anew(one: Place, other: Place, same: bool) -> None:
    """After a reboot the file system's id and the inode still say which directory it is."""
    assert one.is_same(other) is same


# --------------------------------------------------------------------------- prune


def test_a_stale_project_goes_with_its_records(world: World) -> None:
    """Checkpoints and ledger go together, and the directory itself is never touched."""
    project = world.project("w")
    world.books.of(project).ledger.append([Entry("f", None, None)])
    world.clock.now += 8 * DAY
    result = world.house.prune()
    assert [(d.reason, d.whole) for d in result.drops] == [(DropReason.STALE, True)]
    assert world.store.projects() == []
    assert not world.books.of(project).directory.exists()
    assert (world.root / "w/f").exists()


def test_a_dry_run_changes_nothing_and_says_what_would_go(world: World) -> None:
    """The list afterwards is the list before, and the same drops come back."""
    world.project("w", 2)
    world.clock.now += 8 * DAY
    before = world.store.projects()
    dry = world.house.prune(dry_run=True)
    assert world.store.projects() == before
    assert dry.dry_run
    assert dry.drops == world.house.prune().drops


def test_prune_leaves_orphans_unless_told(world: World) -> None:
    """An orphan stays and is named as left, even when it is old."""
    project = world.project("code/w")
    shutil.rmtree(project.root)
    world.clock.now += 99 * DAY
    kept = world.house.prune()
    assert kept.drops == ()
    assert [p.presence for p in kept.left] == [Presence.ORPHAN]
    gone = world.house.prune(delete_orphans=True)
    assert [d.reason for d in gone.drops] == [DropReason.ORPHAN]
    assert gone.left == ()


def test_an_unplugged_drive_loses_nothing(world: World) -> None:
    """With its parent away, a project survives every sweep at any age."""
    project = world.project("usb/w")
    (world.root / "usb").rename(world.root / "elsewhere")
    world.clock.now += 999 * DAY
    result = world.house.prune(delete_orphans=True, max_total_size_mb=0.000001)
    assert result.drops == ()
    assert len(world.store.list(project)) == 1
    assert result.still_over


def test_the_size_cap_is_met_by_the_oldest(world: World) -> None:
    """Of two projects with three checkpoints each the oldest go, and the room comes back."""
    one, two = world.project("a", 3, 50_000), world.project("b", 3, 50_000)
    cap = 220_000 / (1 << 20)
    result = world.house.prune(max_total_size_mb=cap)
    assert result.after <= 220_000 < result.before
    assert not result.still_over
    assert (len(world.store.list(one)), len(world.store.list(two))) == (2, 2)


def test_a_cap_that_cannot_be_met_is_said(world: World) -> None:
    """One checkpoint larger than the cap stays, and the result says why it is still over."""
    world.project("w", 1, 50_000)
    assert "newest checkpoint" in world.house.prune(max_total_size_mb=0.001).still_over


def test_an_estimate_that_was_too_good_is_made_up_for(world: World, mocker: MockerFixture) -> None:
    """Where less came back than was measured, the sweep drops more, and reports it as one."""
    project = world.project("w", 3, 50_000)
    real = world.store.would_free
    mocker.patch.object(world.store, "would_free", lambda drops: 3 * real(drops) if drops else 0)
    result = world.house.prune(max_total_size_mb=60_000 / (1 << 20))
    assert result.after <= 60_000 < result.before
    assert len(world.store.list(project)) == 1
    assert sum(len(d.checkpoints) for d in result.drops) == 2
    assert not result.still_over


def test_a_project_that_is_in_use_is_not_ended(world: World) -> None:
    """A running call keeps its project, however long ago it was touched."""
    project = world.project("w")
    world.books.of(project).leases.open("call", "terminal", "s")
    world.clock.now += 8 * DAY
    assert world.house.prune().drops == ()
    assert len(world.store.list(project)) == 1


def test_a_rollback_under_way_keeps_its_project(world: World) -> None:
    """A journal means that a restore may still have to be finished or undone."""
    project = world.project("w")
    directory = world.books.of(project).directory
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "journal.json").write_text("{}", encoding="utf-8")
    world.clock.now += 8 * DAY
    assert world.house.prune().drops == ()


def test_one_damaged_project_does_not_stop_the_sweep(world: World, mocker: MockerFixture) -> None:
    """The others are swept, and the damaged one is named as failed."""
    bad, good = world.project("bad"), world.project("good")
    real = world.store.list

    def listed(project: Project) -> object:
        if project.id == bad.id:
            raise StoreError("the history is damaged")
        return real(project)

    mocker.patch.object(world.store, "list", listed)
    world.clock.now += 8 * DAY
    result = world.house.prune()
    assert [d.project.id for d in result.drops] == [good.id]
    assert result.failed == ((bad.root, "the history is damaged"),)
    assert not result.ok


def test_why_a_reclaim_did_less_is_passed_on(world: World, mocker: MockerFixture) -> None:
    """Over the cap because the store could not reclaim: that is the reason given."""
    world.project("w", 3, 50_000)
    mocker.patch.object(world.store, "compact", return_value=Upkeep(1, 1, why_not="disk full"))
    mocker.patch.object(world.store, "would_free", return_value=10**6)
    assert world.house.prune(max_total_size_mb=0.06).still_over == "disk full"


def test_the_end_of_a_checkpoint_lets_go_of_what_it_links_to(tmp_path: Path) -> None:
    """A nested repository's checkpoint is pinned only as long as the outer one is there."""
    world = World(tmp_path, nested_repos="capture")
    (tmp_path / "w/inner/.git").mkdir(parents=True)
    (tmp_path / "w/inner/x").touch()
    world.make_store()
    outer, inner = project_at(tmp_path / "w"), project_at(tmp_path / "w/inner")
    links = Links(world.store, world.books, world.config)
    with world.store.lock(outer):
        seen = world.store.observe(outer, world.config.capture_rules)
        assert links.capture(outer, seen, reason="before x", labels={}) is not None
    assert world.store.list(inner)[0].pins
    world.clock.now += 8 * DAY
    world.house.prune()
    assert [p.project.root for p in world.house.prune().drops] == [inner.root]
    assert world.store.projects() == []


# --------------------------------------------------------------------------- records


def entry(path: str, checkpoint: str, time: float, call: str = "") -> Entry:
    return Entry(path, None, None, checkpoint=checkpoint, time=time, call=call)


def test_a_sweep_drops_records_that_are_older_than_every_checkpoint(world: World) -> None:
    """What was written since the oldest checkpoint stays, in its order."""
    project = world.project("w", 3)
    oldest = world.store.list(project)[-1]
    ledger = world.books.of(project).ledger
    kept = [entry("b", oldest.id, 5), entry("c", "dropped", oldest.time + 9)]
    for one in (entry("a", "dropped", 5), *kept):
        ledger.append([one])
    world.house.prune()
    assert [e.path for e in ledger.entries()] == ["b", "c"]


def test_records_are_left_alone_while_a_call_is_open(world: World) -> None:
    """An open call remembers how long the ledger was, so nothing goes from under it."""
    project = world.project("w")
    book = world.books.of(project)
    book.ledger.append([entry("a", "dropped", 5)])
    book.leases.open("call", "terminal", "s")
    world.house.prune()
    assert len(book.ledger.entries()) == 1


def test_a_rollback_that_cannot_be_undone_is_no_longer_recorded(world: World) -> None:
    """It goes with its safety checkpoint; one whose safety is listed stays, with its entries."""
    project = world.project("w")
    (safety,) = world.store.list(project)
    book = world.books.of(project)
    for name, held in (("old", "dropped"), ("new", safety.id)):
        book.rollbacks.add(Task(id=name, action="restore", target="t", safety=held))
        book.ledger.append([entry(name, "dropped", 5, call=name)])
    world.house.prune()
    assert [t.id for t in book.rollbacks.done()] == ["new"]
    assert [e.path for e in book.ledger.entries()] == ["new"]


def test_a_sweep_removes_the_traces_of_dead_processes(world: World) -> None:
    """A session whose process has ended leaves no file; a running one keeps its own."""
    world.project("w")
    child = subprocess.Popen(["true"])
    child.wait()
    world.books.sessions.begin("dead", child.pid)
    world.books.sessions.begin("alive")
    world.house.prune()
    files = list((world.config.base_path / "store/sessions").iterdir())
    assert [f.name for f in files] == ["alive.json"]


# --------------------------------------------------------------------------- at start-up


def test_the_start_up_sweep_runs_once_per_interval(world: World) -> None:
    """The marker keeps the second host process from sweeping again."""
    world.project("w")
    first = world.house.start_up()
    assert first is not None
    first.join()
    assert world.house.start_up() is None
    world.clock.now += DAY
    again = world.house.start_up()
    assert again is not None
    again.join()


def test_a_marker_from_the_future_does_not_stop_sweeps(world: World) -> None:
    """After a clock went back, a sweep is due."""
    world.project("w")
    (world.config.base_path / ".last_prune").write_text(f"{world.clock.now + 9 * DAY}")
    thread = world.house.start_up()
    assert thread is not None
    thread.join()


def test_the_start_up_sweep_never_creates_or_opens_a_store(world: World) -> None:
    """Without a store there is nothing to do, and nothing appears on the disk."""
    assert world.house.start_up() is None
    assert world.opened == 0
    assert not world.config.base_path.exists()


def test_auto_prune_off_means_no_sweep(tmp_path: Path) -> None:
    """The switch governs the start-up sweep and only that."""
    world = World(tmp_path, auto_prune=False)
    world.project("w")
    assert world.house.start_up() is None
    world.clock.now += 8 * DAY
    assert world.house.prune().drops


def test_the_start_up_sweep_takes_orphans_only_where_the_host_says_so(tmp_path: Path) -> None:
    """Hermes keeps an orphan at start-up, VibeOS deletes it."""
    left = {}
    for name, host in (("hermes", None), ("vibeos", VIBEOS)):
        world = World(tmp_path / name, **({"host": host} if host else {}))
        project = world.project("code/w")
        shutil.rmtree(project.root)
        thread = world.house.start_up()
        assert thread is not None
        thread.join()
        left[name] = len(world.store.projects())
    assert left == {"hermes": 1, "vibeos": 0}


def test_a_sweep_that_fails_fails_quietly(world: World, mocker: MockerFixture) -> None:
    """A host's start goes on whatever the sweep meets."""
    world.project("w")
    mocker.patch.object(world.house, "prune", side_effect=RuntimeError("boom"))
    thread = world.house.start_up()
    assert thread is not None
    thread.join()


# --------------------------------------------------------------------------- archives


def archive(world: World, name: str) -> Path:
    place = world.config.base_path / name
    (place / "objects").mkdir(parents=True)
    blob = place / "objects" / "blob"
    blob.write_bytes(b"x" * 1000)
    blob.chmod(0o444)
    (place / "objects").chmod(0o555)
    return place


def test_old_archives_go_and_new_ones_stay(world: World) -> None:
    """An archive's age is in its name; read-only objects do not keep it."""
    import time

    old = archive(world, "legacy-20200101-000000")
    fresh = time.strftime("legacy-%Y%m%d-%H%M%S", time.localtime(world.clock.now - DAY))
    new = archive(world, fresh)
    result = world.house.prune()
    assert [a.name for a in result.archives] == ["legacy-20200101-000000"]
    assert not old.exists()
    assert new.exists()
    (new / "objects").chmod(0o755)


def test_clearing_archives_touches_nothing_else(world: World) -> None:
    """Checkpoints stay, all archives go; a dry run deletes none."""
    project = world.project("w")
    old = archive(world, "legacy-20990101-000000")
    assert [a.size for a in world.house.clear_archives(dry_run=True).archives] == [1000]
    assert old.exists()
    assert world.house.clear_archives().ok
    assert not old.exists()
    assert len(world.store.list(project)) == 1


def test_a_link_is_no_archive(world: World) -> None:
    """A link named like an archive is left alone, with what it leads to."""
    precious = world.root / "precious"
    precious.mkdir()
    world.make_store()
    (world.config.base_path / "legacy-20200101-000000").symlink_to(precious)
    assert world.house.archives() == []
    assert world.house.prune().archives == ()
    assert precious.exists()


def test_what_cannot_be_deleted_is_told(tmp_path: Path, mocker: MockerFixture) -> None:
    """The reason of the system is given; an empty answer means done."""
    (tmp_path / "d").mkdir()
    mocker.patch("shutil.rmtree", side_effect=PermissionError(1, "Operation not permitted"))
    assert remove_tree(tmp_path / "d") == "Operation not permitted"


# --------------------------------------------------------------------------- status


def test_status_lists_projects_newest_first(world: World, mocker: MockerFixture) -> None:
    """Sizes, the cap and each project's count are in it."""
    world.project("a", 1)
    world.project("b", 2)
    found = world.house.status()
    assert found.cap == 500 << 20
    assert found.store > 0
    assert {p.project.root: p.checkpoints for p in found.projects} == {
        str(world.root / "a"): 1,
        str(world.root / "b"): 2,
    }
    touches = [p.last_touch for p in found.projects]
    assert touches == sorted(touches, reverse=True)


def test_status_without_a_store_opens_none(world: World) -> None:
    """Looking never creates anything."""
    assert world.house.status().projects == ()
    assert world.opened == 0
    assert not world.config.base_path.exists()


def test_a_failure_is_kept_until_a_checkpoint_succeeds(world: World) -> None:
    """Failures running are counted, seen by another process, and ended by a capture."""
    project = world.project("w")
    world.house.note_failure(project, "no room")
    world.house.note_failure(project, "no room at all")
    elsewhere = Housekeeping(world.open, Books(world.config.base_path), world.config)
    (seen,) = elsewhere.status().projects
    assert seen.failure is not None
    assert (seen.failure.error, seen.failure.count) == ("no room at all", 2)
    (world.root / "w/f").write_text("x", encoding="utf-8")
    world.capture(project)
    assert world.house.status().projects[0].failure is None


def test_a_failure_without_a_store_is_kept_in_memory(world: World) -> None:
    """It is told as a problem, and no store is created for it."""
    world.house.note_failure(project_at(world.root), "there is no git")
    assert world.house.status().problems == (
        f"{world.root}: no checkpoint could be taken: there is no git",
    )
    assert not world.config.base_path.exists()


def test_a_store_that_cannot_be_opened_is_a_problem_not_an_error(world: World) -> None:
    """Status answers, with the reason and the hint."""
    world.make_store()

    def closed() -> Store:
        raise StoreUnavailable("there is no git on PATH", hint="install git")

    house = Housekeeping(closed, world.books, world.config)
    assert house.status().problems == ("there is no git on PATH; install git",)


def test_a_store_path_that_is_a_file_is_a_problem(world: World) -> None:
    """Status names it and the store is not asked."""
    world.config.base_path.mkdir()
    (world.config.base_path / "store").touch()
    (problem,) = world.house.status().problems
    assert "is not a directory" in problem
    assert world.opened == 0


def test_a_store_that_others_can_read_is_a_problem(world: World) -> None:
    """The command that keeps them out is named."""
    world.make_store()
    world.config.base_path.chmod(0o755)
    (world.config.base_path / "store").chmod(0o755)
    (problem,) = world.house.status().problems
    assert f"chmod 700 {world.config.base_path}" in problem


# --------------------------------------------------------------------------- at a person's wish


def test_clear_takes_everything(world: World) -> None:
    """Projects, records, archives and the marker go; a dry run takes nothing."""
    project = world.project("w")
    world.books.of(project).ledger.create()
    archive(world, "legacy-20990101-000000")
    assert len(world.house.clear(dry_run=True).drops) == 1
    assert len(world.store.projects()) == 1
    result = world.house.clear()
    assert result.ok
    assert world.store.projects() == []
    assert world.house.archives() == []
    assert not world.books.of(project).directory.exists()


def test_a_clear_that_fails_says_what_stayed(world: World, mocker: MockerFixture) -> None:
    """The store's own words are in the result."""
    world.project("w")
    mocker.patch.object(world.store, "clear", side_effect=StoreError("objects/ab stayed"))
    assert world.house.clear().failed[0][1] == "objects/ab stayed"


def test_a_forgotten_path_is_in_no_checkpoint_and_no_ledger(world: World) -> None:
    """Every checkpoint that held it has a new id, and nobody remembers who wrote it."""
    project = world.project("w", 2)
    (world.root / "w/key").write_text("secret", encoding="utf-8")
    world.capture(project)
    held = world.house.holders(project, "key")
    entries = [Entry(name, None, None, checkpoint=held[0].id) for name in ("key", "f")]
    world.books.of(project).ledger.append(entries)
    ids = world.house.forget_path(project, "key")
    assert set(ids) == {c.id for c in held}
    assert world.house.holders(project, "key") == []
    (left,) = world.books.of(project).ledger.entries()
    assert (left.path, left.checkpoint) == ("f", ids[held[0].id])


def test_nothing_is_forgotten_while_a_tool_runs(world: World) -> None:
    """Ids must not change under a call or a rollback."""
    project = world.project("w")
    world.books.of(project).leases.open("c", "t", "s")
    with pytest.raises(StoreBusy):
        world.house.forget_path(project, "f")


def test_a_moved_project_is_found_and_taken_over(world: World) -> None:
    """By device and inode; relinking moves checkpoints and records."""
    old = world.project("old", 2)
    world.books.of(old).ledger.append([Entry("f", None, None)])
    (world.root / "old").rename(world.root / "new")
    new = project_at(world.root / "new")
    assert world.house.moved_from(new) == old
    world.house.relink(old, new)
    assert len(world.store.list(new)) == 2
    assert [e.path for e in world.books.of(new).ledger.entries()] == ["f"]
    assert world.house.moved_from(new) is None
    assert world.presence(new) is Presence.LIVE


def test_records_are_private(world: World) -> None:
    """What housekeeping writes only its owner can read."""
    project = world.project("w")
    world.house.note_failure(project, "x")
    files = list(world.books.of(project).directory.iterdir())
    assert {f.name for f in files} == {"parent.json", "failure.json"}
    assert all(stat.S_IMODE(f.stat().st_mode) == 0o600 for f in files)
    assert json.loads((world.books.of(project).directory / "failure.json").read_text())
