"""Housekeeping and the command line over the git store: what a person sees after a while."""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
from pathlib import Path

import pytest

from hermes_checkpoints import cli
from hermes_checkpoints.config import Config
from hermes_checkpoints.inventory import Presence
from hermes_checkpoints.manager import CheckpointManager

DAY = 86400


class Place:
    """A base with projects beside it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.base = root / "checkpoints"

    def manager(self, **config: object) -> CheckpointManager:
        given: dict[str, object] = {"base": self.base, "auto_prune": False, **config}
        return CheckpointManager(Config(**given))  # type: ignore[arg-type]

    def project(self, name: str, checkpoints: int, size: int = 100, **config: object) -> Path:
        directory = self.root / name
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "pyproject.toml").touch()
        with self.manager(**config) as manager:
            for n in range(checkpoints):
                (directory / "data").write_bytes(os.urandom(size))
                manager.snapshot(directory, f"before {n}")
        return directory

    def __call__(self, *argv: str) -> int:
        return cli.main([*argv, "--base", str(self.base)])


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_status_of_a_lived_in_store_looks_like_the_sample(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    """Live, orphan and legacy entries stand in the sample's columns."""
    live, orphan = place.project("code/agent", 3), place.project("code/prototype", 2)
    shutil.rmtree(orphan)
    archive = place.base / "legacy-20260506-050616"
    archive.mkdir()
    (archive / "pack").write_bytes(b"x" * 4096)
    capsys.readouterr()
    assert place("status") == 0
    text = capsys.readouterr().out
    for pattern in (
        rf"^Checkpoint base: {re.escape(str(place.base))}$",
        r"^Total size:      \d+\.\d KB$",
        r"^  store/         \d+\.\d KB$",
        r"^  legacy-\*       4\.0 KB$",
        r"^Projects:        2$",
        r"^  WORKDIR {55}COMMITS    LAST TOUCH  STATE$",
        rf"^  {re.escape(str(live))} +3 +just now  live$",
        rf"^  {re.escape(str(orphan))} +2 +just now  orphan$",
        r"^Legacy archives \(1\):$",
        r"^  legacy-20260506-050616                           4\.0 KB$",
        r"^Clear with: hermes-checkpoints clear-legacy$",
    ):
        assert re.search(pattern, text, re.MULTILINE), f"{pattern} not in:\n{text}"


def test_a_dry_run_measures_what_a_prune_frees(place: Place) -> None:
    """The size it foretells is near the size there is afterwards, and nothing else changed."""
    directory = place.project("w", 6, 200_000)
    with place.manager(max_snapshots=2) as manager:
        before = manager.list_checkpoints(directory)
        dry = manager.prune(dry_run=True)
        assert manager.list_checkpoints(directory) == before
        done = manager.prune()
        assert dry.drops == done.drops
        assert abs(dry.after - done.after) < 50_000
        assert done.before - done.after > 700_000
        kept = manager.list_checkpoints(directory)
        assert [c.id for c in kept] == [c.id for c in before[:2]]
        assert list(manager.verify(read_data=True)) == []


def test_the_size_cap_holds_on_real_disks(place: Place) -> None:
    """Two projects of four megabytes come under a cap of five, each keeping its newest."""
    one, two = place.project("a", 4, 1 << 20), place.project("b", 4, 1 << 20)
    with place.manager(max_total_size_mb=5) as manager:
        done = manager.prune()
        assert done.after <= 5 << 20
        assert not done.still_over
        assert manager.list_checkpoints(one)
        assert manager.list_checkpoints(two)


def test_a_cap_below_one_checkpoint_is_reported(place: Place) -> None:
    """The one checkpoint stays restorable, and prune and status both say that it is too much."""
    directory = place.project("w", 1, 3 << 20)
    with place.manager(max_total_size_mb=1) as manager:
        assert "newest checkpoint" in manager.prune().still_over
        status = manager.status()
        assert status.store > status.cap
        (directory / "data").unlink()
        assert manager.restore(directory, 1, keep_edits=False).ok
        assert (directory / "data").stat().st_size == 3 << 20


def test_what_waits_for_its_hour_costs_no_other_checkpoint(place: Place) -> None:
    """A sweep that does not reclaim at once drops for the cap once, and not again for the wait."""
    one = place.project("a", 6, 1 << 20)
    with place.manager(max_total_size_mb=4) as manager:
        first = manager.housekeeping.prune(full=False)
        kept = manager.list_checkpoints(one)
        assert first.drops and len(kept) >= 3
        assert manager.housekeeping.prune(full=False).drops == ()
        manager.housekeeping.background.now()
        assert manager.status().store <= 4 << 20
        assert manager.list_checkpoints(one) == kept


def test_a_manager_keeps_its_store_under_the_cap(place: Place) -> None:
    """Nobody prunes: a closed manager has reclaimed, and each project has its newest."""
    projects = [place.project(name, 5, 1 << 20, max_total_size_mb=3) for name in ("a", "b")]
    with place.manager() as manager:
        assert manager.status().store <= 3 << 20
        assert all(manager.list_checkpoints(p)[0].reason == "before 4" for p in projects)
        assert list(manager.verify(read_data=True)) == []


def test_upkeep_after_a_turn(place: Place) -> None:
    """After 25 checkpoints a turn's end begins upkeep beside the host, which makes one pack."""
    directory = place.project("w", 1)
    with place.manager() as manager:
        for n in range(60):
            manager.new_turn()
            for thread in threading.enumerate():
                if thread.name == "checkpoints-upkeep":
                    thread.join()
            for name in range(5):
                (directory / f"d{name}").mkdir(exist_ok=True)
                (directory / f"d{name}" / "f").write_bytes(os.urandom(50))
            manager.snapshot(directory, f"before {n}")
        manager.new_turn()
        loose = list((place.base / "store/objects").glob("??/*"))
        assert len(loose) < 60 * 12 / 2
        assert list((place.base / "store/objects/pack").glob("*.pack"))


def test_a_hook_reclaims_nothing_while_a_tool_waits(place: Place) -> None:
    """A manager that serves another process's session leaves upkeep to the end of its turn."""
    directory = place.project("w", 1)
    note = place.base / "store/upkeep"
    note.unlink()
    config = Config(base=place.base, auto_prune=False)
    with CheckpointManager(config, owner_pid=os.getpid()) as manager:
        (directory / "data").write_bytes(b"new")
        assert manager.snapshot(directory, "by a hook")
    assert not note.exists()


def test_an_unplugged_drive_survives_the_sweep_at_start_up(place: Place) -> None:
    """Weeks later, with `delete_orphans`, its history is all there when it is plugged in again."""
    directory = place.project("media/usb/w", 2)
    (place.root / "media/usb").rename(place.root / "drawer")
    (place.root / "media/usb").mkdir()
    with place.manager(delete_orphans=True) as manager:
        manager.housekeeping._clock = lambda: time.time() + 60 * DAY
        thread = manager.housekeeping.start_up()
        assert thread is None or thread.join() is None
        manager.prune(delete_orphans=True)
        (found,) = manager.status().projects
        assert found.presence is Presence.UNREACHABLE
        (place.root / "media/usb").rmdir()
        (place.root / "drawer").rename(place.root / "media/usb")
        assert len(manager.list_checkpoints(directory)) == 2


def test_a_manager_sweeps_at_start_up(place: Place) -> None:
    """In the background, behind the marker, and only where there is a store already."""
    place.manager(auto_prune=True).close()
    assert not place.base.exists()
    directory = place.project("w", 3)
    with place.manager(auto_prune=True, max_snapshots=1) as manager:
        manager.housekeeping._clock = lambda: time.time() + DAY
        thread = manager.housekeeping.start_up()
        if thread is not None:
            thread.join()
        assert (place.base / ".last_prune").exists()
        assert len(manager.list_checkpoints(directory)) == 1


def test_a_forgotten_secret_is_in_no_byte_of_the_store(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    """No object holds it any more, and the other paths are as restorable as before."""
    directory = place.project("w", 1)
    (directory / "leak.txt").write_text("hunter2-hunter2", encoding="utf-8")
    with place.manager() as manager:
        manager.snapshot(directory, "with the leak")
        blob = manager.store.states(
            manager.project(directory), manager.list_checkpoints(directory)[0].tree, ["leak.txt"]
        )["leak.txt"]
    assert blob is not None
    assert place("forget", str(directory / "leak.txt"), "-y") == 0
    assert "→" in capsys.readouterr().out
    objects = place.base / "store/objects"
    assert not (objects / blob.content[:2] / blob.content[2:]).exists()
    with place.manager() as manager:
        assert list(manager.verify(read_data=True)) == []
        data = (directory / "data").read_bytes()
        (directory / "data").unlink()
        assert manager.restore(directory, 1, keep_edits=False).ok
        assert (directory / "data").read_bytes() == data
        assert (directory / "leak.txt").exists()


def test_a_moved_project_keeps_its_history(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log of the new place names the command, and after it the list is back."""
    old = place.project("old", 2)
    new = old.rename(place.root / "new")
    assert place("log", "-C", str(new)) == 0
    assert f"relink {old} {new}" in capsys.readouterr().out
    assert place("relink", str(old), str(new)) == 0
    with place.manager() as manager:
        assert len(manager.list_checkpoints(new)) == 2
        (found,) = [p for p in manager.status().projects if p.checkpoints]
        assert found.project.root == str(new)


def test_clear_leaves_nothing_and_a_new_store_begins(place: Place) -> None:
    """Even where objects are read-only; the next checkpoint works as the first did."""
    directory = place.project("w", 2)
    assert place("clear", "--yes") == 0
    with place.manager() as manager:
        assert manager.status().projects == ()
        assert manager.list_checkpoints(directory) == []
        assert manager.snapshot(directory, "again")
        assert len(manager.list_checkpoints(directory)) == 1


def test_without_git_status_says_so(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 0, and a sentence that names git; doctor finds the same."""
    place.project("w", 1)
    monkeypatch.setenv("PATH", str(place.root))
    capsys.readouterr()
    assert place("status") == 0
    assert "git" in capsys.readouterr().out.partition("Projects:")[2]
    assert place("doctor") == 1
    assert "git" in capsys.readouterr().out
