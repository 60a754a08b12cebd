"""`hermes_compat`: the surface of Hermes Agent 0.19.0's own checkpoint module."""

from __future__ import annotations

import inspect
import shutil
from pathlib import Path
from typing import Any

import pytest
from hermes_checkpoints.integrations import hermes_compat as compat


@pytest.fixture(autouse=True)
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the store lies, replaced as hosts do it."""
    base = tmp_path / "base"
    monkeypatch.setattr(compat, "CHECKPOINT_BASE", base)
    return base


@pytest.fixture
def project(project_dir: Path) -> Path:
    (project_dir / "a.txt").write_text("1\n")
    (project_dir / "sub").mkdir()
    (project_dir / "sub" / "b.txt").write_text("2\n")
    return project_dir


def taken(project: Path, reason: str = "before write_file") -> compat.CheckpointManager:
    """A manager with one checkpoint of the project."""
    manager = compat.CheckpointManager(enabled=True)
    assert manager.ensure_checkpoint(str(project), reason) is True
    return manager


# --------------------------------------------------------------------------- the manager


def test_one_checkpoint_a_turn(project: Path) -> None:
    """Within a turn the second request takes none; the next turn takes one if something changed."""
    manager = taken(project)
    assert manager.ensure_checkpoint(str(project)) is False
    manager.new_turn()
    assert manager.ensure_checkpoint(str(project)) is False
    manager.new_turn()
    (project / "a.txt").write_text("3\n")
    assert manager.ensure_checkpoint(str(project)) is True
    assert len(manager.list_checkpoints(str(project))) == 2


def test_disabled(project: Path, base: Path) -> None:
    """A manager that is not enabled, the default, takes nothing and writes nothing."""
    manager = compat.CheckpointManager()
    manager.new_turn()
    assert manager.ensure_checkpoint(str(project)) is False
    assert not base.exists()


def test_an_entry_of_the_list(project: Path) -> None:
    """A listed checkpoint has Hermes' keys, its own id and the reason under both names."""
    manager = taken(project)
    (project / "a.txt").write_text("1\nmore\n")
    manager.new_turn()
    manager.ensure_checkpoint(str(project), "before patch")
    entry = manager.list_checkpoints(str(project))[0]
    assert entry["hash"].startswith(entry["short_hash"])
    assert (entry["reason"], entry["message"]) == ("before patch", "before patch")
    assert (entry["files_changed"], entry["insertions"], entry["deletions"]) == (1, 1, 0)
    assert len(entry["timestamp"]) == len("2026-03-16T04:36:00+01:00")


def test_no_checkpoints(project: Path) -> None:
    """A directory without checkpoints has an empty list, and a sentence to show."""
    assert compat.CheckpointManager().list_checkpoints(str(project)) == []
    assert compat.format_checkpoint_list([], "/w") == "No checkpoints found for /w"


def test_the_list_as_text() -> None:
    """The list looks as it does in Hermes."""
    entry: dict[str, Any] = {
        "short_hash": "4270a8c",
        "timestamp": "2026-03-16T04:36:00+01:00",
        "reason": "before patch",
        "files_changed": 1,
        "insertions": 1,
        "deletions": 0,
    }
    text = compat.format_checkpoint_list([entry, {**entry, "files_changed": 0}], "/w")
    assert text.splitlines()[:4] == [
        "📸 Checkpoints for /w:",
        "",
        "  1. 4270a8c  2026-03-16 04:36  before patch  (1 file, +1/-0)",
        "  2. 4270a8c  2026-03-16 04:36  before patch",
    ]


def test_diff(project: Path) -> None:
    """A diff runs from the checkpoint to the files now, and names new files."""
    manager = taken(project)
    (project / "new.txt").write_text("new\n")
    found = manager.diff(str(project), manager.list_checkpoints(str(project))[0]["hash"])
    assert found["success"] is True
    assert "+new" in found["diff"]
    assert "new.txt" in found["stat"]


def test_restore(project: Path) -> None:
    """A restore brings everything of the checkpoint back, and leaves what was created since."""
    manager = taken(project)
    (project / "a.txt").write_text("by hand\n")
    shutil.rmtree(project / "sub")
    (project / "since.txt").write_text("mine\n")
    checkpoint = manager.list_checkpoints(str(project))[0]
    assert manager.restore(str(project), checkpoint["short_hash"]) == {
        "success": True,
        "restored_to": checkpoint["hash"][:8],
        "reason": "before write_file",
        "message": "before write_file",
        "directory": str(project),
    }
    assert (project / "a.txt").read_text() == "1\n"
    assert (project / "sub" / "b.txt").read_text() == "2\n"
    assert (project / "since.txt").read_text() == "mine\n"


def test_a_directory_without_a_marker(tmp_path: Path) -> None:
    """A directory that is no project is protected whole all the same: the caller has named it."""
    place = tmp_path / "plain"
    place.mkdir()
    (place / "a.txt").write_text("1\n")
    manager = taken(place)
    (place / "a.txt").unlink()
    manager.restore(str(place), manager.list_checkpoints(str(place))[0]["hash"])
    assert (place / "a.txt").read_text() == "1\n"


def test_a_restore_can_be_undone(project: Path) -> None:
    """A restore leaves a checkpoint of what it replaced."""
    manager = taken(project)
    (project / "a.txt").write_text("by hand\n")
    manager.restore(str(project), manager.list_checkpoints(str(project))[0]["hash"])
    manager.restore(str(project), manager.list_checkpoints(str(project))[0]["hash"])
    assert (project / "a.txt").read_text() == "by hand\n"


def test_restoring_what_is_there(project: Path) -> None:
    """Restoring a checkpoint that the files already match succeeds and changes nothing."""
    manager = taken(project)
    checkpoint = manager.list_checkpoints(str(project))[0]["hash"]
    assert manager.restore(str(project), checkpoint)["success"] is True
    assert len(manager.list_checkpoints(str(project))) == 1


def test_restore_one_file(project: Path) -> None:
    """One file comes back alone, and is named."""
    manager = taken(project)
    (project / "a.txt").unlink()
    (project / "sub" / "b.txt").unlink()
    checkpoint = manager.list_checkpoints(str(project))[0]["hash"]
    assert manager.restore(str(project), checkpoint, "sub/b.txt")["file"] == "sub/b.txt"
    assert (project / "sub" / "b.txt").exists()
    assert not (project / "a.txt").exists()


@pytest.mark.parametrize("commit", ["", "-p", "xyz", "1", "abc", "HEAD"])
def test_what_is_no_id(commit: str, project: Path) -> None:
    """What can't be an id is an error of either verb, and so is a number of the list."""
    manager = taken(project)
    assert manager.diff(str(project), commit)["success"] is False
    assert "id" in manager.restore(str(project), commit)["error"]


def test_an_unknown_id(project: Path) -> None:
    """An id that is no checkpoint's is an error that names it."""
    assert "abcd1234" in taken(project).restore(str(project), "abcd1234")["error"]


@pytest.mark.parametrize("path", ["", "../outside", "/etc/passwd", "no/such/file"])
def test_paths_that_are_refused(path: str, project: Path) -> None:
    """A path outside the directory, or one the checkpoint does not hold, is an error."""
    manager = taken(project)
    checkpoint = manager.list_checkpoints(str(project))[0]["hash"]
    result = manager.restore(str(project), checkpoint, path)
    assert result["success"] is False
    assert result["error"]


def test_the_directory_of_a_path(project: Path) -> None:
    """The directory of a path is its project's, also for a file that does not exist yet."""
    manager = compat.CheckpointManager(enabled=True)
    assert manager.get_working_dir_for_path(str(project / "sub" / "b.txt")) == str(project)
    assert manager.get_working_dir_for_path(str(project / "x" / "y" / "z")) == str(project)


def test_limits(project: Path) -> None:
    """Hermes' limits hold, and a file cap of 0 means none."""
    manager = compat.CheckpointManager(True, max_snapshots=2, max_file_size_mb=0)
    for n in range(4):
        manager.new_turn()
        (project / "a.txt").write_text(str(n))
        assert manager.ensure_checkpoint(str(project))
    assert len(manager.list_checkpoints(str(project))) == 2


# --------------------------------------------------------------------------- upkeep


def test_nothing_is_created_by_looking(base: Path) -> None:
    """Where there is no store, every function of upkeep says so and makes none."""
    counts = {"scanned": 0, "deleted_orphan": 0, "deleted_stale": 0, "errors": 0, "bytes_freed": 0}
    assert compat.prune_checkpoints() == counts
    assert compat.maybe_auto_prune_checkpoints() == {"skipped": False, "result": counts}
    assert compat.store_status()["projects"] == []
    assert compat.clear_all() == {"bytes_freed": 0, "deleted": False}
    assert compat.clear_legacy() == {"bytes_freed": 0, "deleted": 0}
    assert not base.exists()


def test_orphans_stay_unless_asked_for(project: Path) -> None:
    """A project whose directory is gone stays by default, unlike in Hermes."""
    taken(project)
    shutil.rmtree(project)
    assert compat.prune_checkpoints()["deleted_orphan"] == 0
    found = compat.prune_checkpoints(delete_orphans=True)
    assert (found["scanned"], found["deleted_orphan"], found["errors"]) == (1, 1, 0)
    assert compat.store_status()["project_count"] == 0


def test_an_unreachable_project_stays(project: Path) -> None:
    """A project whose parent is gone too may be on a volume that is not mounted: it stays."""
    inner = project / "volume" / "p"
    inner.mkdir(parents=True)
    (inner / "package.json").write_text("{}")
    (inner / ".git").mkdir()
    taken(inner)
    shutil.rmtree(inner.parent)
    assert compat.prune_checkpoints(delete_orphans=True)["deleted_orphan"] == 0


def test_stale_projects_go(project: Path) -> None:
    """A project that was not touched for `retention_days` goes."""
    taken(project)
    found = compat.prune_checkpoints(retention_days=1e-9)  # type: ignore[arg-type]
    assert found["deleted_stale"] == 1


def test_at_most_once_a_day(project: Path, base: Path) -> None:
    """The start-up's sweep runs once in its interval."""
    taken(project)
    assert compat.maybe_auto_prune_checkpoints()["skipped"] is False
    assert compat.maybe_auto_prune_checkpoints() == {"skipped": True}
    assert compat.maybe_auto_prune_checkpoints(min_interval_hours=0)["skipped"] is False
    (base / ".last_prune").write_text("nonsense")
    assert compat.maybe_auto_prune_checkpoints()["skipped"] is False


def test_status(project: Path, base: Path) -> None:
    """The status counts projects, checkpoints and bytes under Hermes' keys."""
    taken(project)
    status = compat.store_status()
    assert status["base"] == str(base)
    assert 0 < status["store_size_bytes"] <= status["total_size_bytes"]
    (entry,) = status["projects"]
    assert entry["workdir"] == str(project)
    assert (entry["commits"], entry["exists"], len(entry["hash"])) == (1, True, 16)
    assert 0 < entry["created_at"] <= entry["last_touch"]


def test_legacy_archives(project: Path, base: Path) -> None:
    """Archives are counted and cleared apart from the store."""
    taken(project)
    archive = base / "legacy-20260101-000000"
    archive.mkdir()
    (archive / "x").write_text("12345")
    (found,) = compat.store_status()["legacy_archives"]
    assert (found["name"], found["size_bytes"]) == (archive.name, 5)
    assert compat.clear_legacy() == {"bytes_freed": 5, "deleted": 1}
    assert compat.store_status()["project_count"] == 1


def test_clear_all(project: Path) -> None:
    """Clearing leaves no checkpoint of any project."""
    manager = taken(project)
    cleared = compat.clear_all()
    assert cleared["deleted"] is True
    assert cleared["bytes_freed"] > 0
    assert manager.list_checkpoints(str(project)) == []


# --------------------------------------------------------------------------- the surface


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (
            compat.CheckpointManager,
            "enabled max_snapshots max_total_size_mb max_file_size_mb",
        ),
        (compat.CheckpointManager.new_turn, "self"),
        (compat.CheckpointManager.ensure_checkpoint, "self working_dir reason"),
        (compat.CheckpointManager.list_checkpoints, "self working_dir"),
        (compat.CheckpointManager.diff, "self working_dir commit_hash"),
        (compat.CheckpointManager.restore, "self working_dir commit_hash file_path"),
        (compat.CheckpointManager.get_working_dir_for_path, "self file_path"),
        (compat.format_checkpoint_list, "checkpoints directory"),
        (
            compat.prune_checkpoints,
            "retention_days delete_orphans checkpoint_base max_total_size_mb",
        ),
        (
            compat.maybe_auto_prune_checkpoints,
            "retention_days min_interval_hours delete_orphans checkpoint_base max_total_size_mb",
        ),
        (compat.store_status, "checkpoint_base"),
        (compat.clear_all, "checkpoint_base"),
        (compat.clear_legacy, "checkpoint_base"),
    ],
)
def test_signatures(function: Any, parameters: str) -> None:
    """Every function takes what Hermes' own takes, by the same names in the same order."""
    assert " ".join(inspect.signature(function).parameters) == parameters
