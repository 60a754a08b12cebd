"""Hermes Agent's own checkpoint module, by name and shape, on top of this library.

    from hermes_checkpoints.integrations.hermes_compat import CheckpointManager, …

instead of `tools.checkpoint_manager`, whose surface in Hermes Agent 0.19.0 this is. The
dictionaries of that surface stay in this file. Nothing here raises: a trouble is
`{"success": False, "error": …}`, as callers expect.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import hermes_checkpoints as hc

__all__ = [
    "CHECKPOINT_BASE",
    "CheckpointManager",
    "clear_all",
    "clear_legacy",
    "format_checkpoint_list",
    "maybe_auto_prune_checkpoints",
    "prune_checkpoints",
    "store_status",
]

CHECKPOINT_BASE = hc.HERMES.home_path() / "checkpoints"
"""Where the store lies; hosts and tests may replace it."""

_log = logging.getLogger(__name__)
_NO_LIMIT_MB = 1 << 30
_ID = re.compile(r"[0-9a-fA-F]{4,64}")


class CheckpointManager:
    """Checkpoints for one agent: `new_turn` at each message, `ensure_checkpoint` before tools."""

    def __init__(
        self,
        enabled: bool = False,
        max_snapshots: int = 20,
        max_total_size_mb: int = 500,
        max_file_size_mb: int = 10,
    ) -> None:
        self.enabled = enabled
        self.max_snapshots = max(1, int(max_snapshots))
        self.max_total_size_mb = max(0, int(max_total_size_mb))
        self.max_file_size_mb = max(0, int(max_file_size_mb))
        self._session = os.urandom(6).hex()
        self._turns = 0
        self._managers: dict[tuple[str, str | None], hc.CheckpointManager] = {}

    def _manager(self, working_dir: str | None) -> hc.CheckpointManager:
        """The manager of a directory: whoever names one here wants it whole."""
        place = os.path.expanduser(working_dir) if working_dir is not None else None
        key = (str(CHECKPOINT_BASE), place)
        if key not in self._managers:
            config = _config(
                Path(CHECKPOINT_BASE),
                max_snapshots=self.max_snapshots,
                max_total_size_mb=self.max_total_size_mb,
                max_file_size_mb=self.max_file_size_mb or _NO_LIMIT_MB,
            )
            manager = hc.CheckpointManager(config, session_id=self._session, cwd=place)
            self._managers[key] = manager
        return self._managers[key]

    def new_turn(self) -> None:
        """Begin a turn: each directory may have one checkpoint in it."""
        self._turns += 1

    def ensure_checkpoint(self, working_dir: str, reason: str = "auto") -> bool:
        """Take the turn's checkpoint of a directory; whether one was taken just now."""
        if not self.enabled:
            return False
        manager = self._manager(working_dir)
        manager.new_turn(f"{self._session}-{self._turns}")
        return isinstance(manager.ensure_checkpoint(manager.cwd, reason), hc.Taken)

    def list_checkpoints(self, working_dir: str) -> list[dict[str, Any]]:
        """The checkpoints of a directory, newest first."""
        try:
            return [_entry(c) for c in self._manager(working_dir).list_checkpoints(working_dir)]
        except hc.CheckpointError as error:
            _log.debug("no list of %s: %s", working_dir, error)
            return []

    def diff(self, working_dir: str, commit_hash: str) -> dict[str, Any]:
        """From a checkpoint to the files now."""

        def compare() -> dict[str, Any]:
            found = self._manager(working_dir).diff(working_dir, commit_hash)
            stat, patch = (b.decode("utf-8", "replace") for b in (found.stat, found.patch))
            return {"success": True, "stat": stat, "diff": patch}

        return _attempt(commit_hash, compare)

    def restore(
        self, working_dir: str, commit_hash: str, file_path: str | None = None
    ) -> dict[str, Any]:
        """Bring a checkpoint's files back, hand-edits overwritten; what was created since stays."""

        def bring_back() -> dict[str, Any]:
            manager = self._manager(working_dir)
            checkpoint = manager.find(working_dir, commit_hash)
            paths = [file_path] if file_path else self._differing(working_dir, checkpoint)
            if paths:
                report = manager.restore(working_dir, checkpoint.id, paths)
                if not report.ok:
                    failed = "; ".join(f"{path}: {why}" for path, why in report.failed)
                    return {"success": False, "error": f"Restore failed: {failed}"}
            result = {
                "success": True,
                "restored_to": checkpoint.id[:8],
                "reason": checkpoint.reason,
                "message": checkpoint.reason,
                "directory": os.path.realpath(os.path.expanduser(working_dir)),
            }
            return {**result, "file": file_path} if file_path else result

        if file_path is not None and (not file_path.strip() or os.path.isabs(file_path)):
            return _failure(f"Not a path inside the directory: {file_path!r}")
        return _attempt(commit_hash, bring_back)

    def _differing(self, working_dir: str, checkpoint: hc.Checkpoint) -> list[str]:
        """The paths of a checkpoint that are not now what they were then.

        By name, and not as a whole, because a whole restore would delete what came since: without
        the calls' after-states nobody knows whether the agent made it.
        """
        plan = self._manager(working_dir).plan(working_dir, checkpoint.id, keep_edits=False)
        if plan.refusal:
            raise hc.RestoreRefused(plan.refusal)
        return [os.path.join(plan.project.root, step.path) for step in plan.writes]

    def get_working_dir_for_path(self, file_path: str) -> str:
        """The directory whose checkpoints a file belongs to."""
        place = Path(os.path.realpath(os.path.expanduser(file_path)))
        while not place.is_dir():
            place = place.parent
        try:
            return self._manager(None).project(place).root
        except hc.CheckpointError:
            return str(place)


def format_checkpoint_list(checkpoints: list[dict[str, Any]], directory: str) -> str:
    """The numbered list as a person sees it."""
    if not checkpoints:
        return f"No checkpoints found for {directory}"
    lines = [f"📸 Checkpoints for {directory}:", ""]
    lines += [f"{n:>3}. {_line(entry)}" for n, entry in enumerate(checkpoints, 1)]
    return "\n".join(
        [
            *lines,
            "",
            "  /rollback <N>             restore to checkpoint N",
            "  /rollback diff <N>        preview changes since checkpoint N",
            "  /rollback <N> <file>      restore a single file from checkpoint N",
        ]
    )


def prune_checkpoints(
    retention_days: int = 7,
    delete_orphans: bool = False,
    checkpoint_base: Path | None = None,
    max_total_size_mb: int = 0,
) -> dict[str, int]:
    """Delete what retention and the cap do not keep, and count it.

    Unlike in Hermes, orphans stay unless asked for, and then go only where it is certain that the
    directory was deleted: a volume that is not mounted looks the same.
    """
    base = checkpoint_base or CHECKPOINT_BASE
    counts = {"scanned": 0, "deleted_orphan": 0, "deleted_stale": 0, "errors": 0, "bytes_freed": 0}
    if not base.exists():
        return counts
    before = _size(base)
    try:
        with _open(base) as manager:
            counts["scanned"] = len(manager.status().projects)
            found = manager.prune(
                retention_days=retention_days,
                max_total_size_mb=max_total_size_mb,
                delete_orphans=delete_orphans,
            )
    except hc.CheckpointError as error:
        _log.warning("checkpoints were not pruned: %s", error)
        return {**counts, "errors": 1}
    gone = [drop.reason.name for drop in found.drops if drop.whole]
    return {
        **counts,
        "deleted_orphan": gone.count("ORPHAN"),
        "deleted_stale": gone.count("STALE") + len(found.archives),
        "errors": len(found.failed),
        "bytes_freed": max(0, before - _size(base)),
    }


def maybe_auto_prune_checkpoints(
    retention_days: int = 7,
    min_interval_hours: int = 24,
    delete_orphans: bool = False,
    checkpoint_base: Path | None = None,
    max_total_size_mb: int = 0,
) -> dict[str, object]:
    """`prune_checkpoints` for a start-up: at most once in `min_interval_hours`."""
    base = checkpoint_base or CHECKPOINT_BASE
    marker = base / ".last_prune"
    try:
        if base.exists() and time.time() - _last(marker) < min_interval_hours * 3600:
            return {"skipped": True}
        result = prune_checkpoints(retention_days, delete_orphans, base, max_total_size_mb)
        if base.exists():
            marker.write_text(str(time.time()), encoding="utf-8")
    except OSError as error:
        _log.warning("checkpoints were not pruned: %s", error)
        return {"skipped": False, "error": str(error)}
    return {"skipped": False, "result": result}


def store_status(checkpoint_base: Path | None = None) -> dict[str, Any]:
    """What the store holds."""
    base = checkpoint_base or CHECKPOINT_BASE
    status: dict[str, Any] = {
        "base": str(base),
        "store_size_bytes": 0,
        "legacy_size_bytes": 0,
        "total_size_bytes": 0,
        "project_count": 0,
        "projects": [],
        "legacy_archives": [],
    }
    if not base.exists():
        return status
    with _open(base) as manager:
        found = manager.status()
        created = {r.project.id: r.created_at for r in _records(manager)}
    projects = [
        {
            "hash": p.project.id,
            "workdir": p.project.root,
            "exists": os.path.isdir(p.project.root),
            "created_at": created.get(p.project.id),
            "last_touch": p.last_touch,
            "commits": p.checkpoints,
        }
        for p in found.projects
    ]
    archives = [
        {"name": a.name, "size_bytes": a.size, "mtime": (base / a.name).stat().st_mtime}
        for a in found.archives
    ]
    return {
        **status,
        "store_size_bytes": found.store,
        "legacy_size_bytes": sum(a.size for a in found.archives),
        "total_size_bytes": found.total,
        "project_count": len(projects),
        "projects": projects,
        "legacy_archives": archives,
    }


def clear_all(checkpoint_base: Path | None = None) -> dict[str, int]:
    """Delete every checkpoint of every project, for good."""
    base = checkpoint_base or CHECKPOINT_BASE
    if not base.exists():
        return {"bytes_freed": 0, "deleted": False}
    before = _size(base)
    try:
        with _open(base) as manager:
            done = manager.housekeeping.clear()
    except hc.CheckpointError as error:
        _log.warning("checkpoints were not cleared: %s", error)
        return {"bytes_freed": 0, "deleted": False}
    return {"bytes_freed": max(0, before - _size(base)), "deleted": done.ok}


def clear_legacy(checkpoint_base: Path | None = None) -> dict[str, int]:
    """Delete the `legacy-*` archives and nothing else."""
    base = checkpoint_base or CHECKPOINT_BASE
    if not base.exists():
        return {"bytes_freed": 0, "deleted": 0}
    with _open(base) as manager:
        done = manager.housekeeping.clear_archives()
    failed = {name for name, _ in done.failed}
    gone = [a for a in done.archives if a.name not in failed]
    return {"bytes_freed": sum(a.size for a in gone), "deleted": len(gone)}


# --------------------------------------------------------------------------- small parts


def _config(base: Path, **values: Any) -> hc.Config:
    return hc.Config(base=base, auto_prune=False, **values)


def _open(base: Path) -> hc.CheckpointManager:
    return hc.CheckpointManager(_config(base))


def _records(manager: hc.CheckpointManager) -> list[Any]:
    return list(manager.store.projects()) if manager.housekeeping.has_store else []


def _attempt(commit_hash: str, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What `work` returns, or its trouble as a dictionary."""
    if not _ID.fullmatch(commit_hash or ""):
        return _failure(f"Not a checkpoint id (4 to 64 hexadecimal digits): {commit_hash!r}")
    try:
        return work()
    except hc.CheckpointNotFound as error:
        return {**_failure(f"Checkpoint '{commit_hash}' not found"), "debug": str(error)}
    except hc.CheckpointError as error:
        return {**_failure(str(error)), "debug": error.hint or None}


def _failure(why: str) -> dict[str, Any]:
    return {"success": False, "error": why}


def _entry(checkpoint: hc.Checkpoint) -> dict[str, Any]:
    moment = datetime.fromtimestamp(checkpoint.time).astimezone()
    return {
        "hash": checkpoint.id,
        "short_hash": checkpoint.short_id,
        "timestamp": moment.isoformat(timespec="seconds"),
        "reason": checkpoint.reason,
        "message": checkpoint.reason,  # what Hermes' terminal interface reads
        "files_changed": checkpoint.files or 0,
        "insertions": checkpoint.insertions or 0,
        "deletions": checkpoint.deletions or 0,
    }


def _line(entry: dict[str, Any]) -> str:
    when = str(entry["timestamp"])[:16].replace("T", " ")
    line = f"{entry['short_hash']}  {when}  {entry['reason']}"
    files = entry.get("files_changed", 0)
    if not files:
        return line
    noun = "file" if files == 1 else "files"
    added, removed = entry.get("insertions", 0), entry.get("deletions", 0)
    return f"{line}  ({files} {noun}, +{added}/-{removed})"


def _last(marker: Path) -> float:
    try:
        return float(marker.read_text(encoding="utf-8").strip())
    except (OSError, ValueError):
        return 0.0


def _size(directory: Path) -> int:
    return sum(f.lstat().st_size for f in directory.rglob("*") if f.is_file())
