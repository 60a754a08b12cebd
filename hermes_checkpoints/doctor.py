"""What is wrong with this set-up, beyond what the store can verify of itself.

Owns the checks of configuration, directories and room; asks the store for the rest. Changes
nothing unless told to fix.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator

from hermes_checkpoints.errors import CheckpointError
from hermes_checkpoints.inventory import Presence, Status
from hermes_checkpoints.manager import CheckpointManager
from hermes_checkpoints.stores.base import Problem

__all__ = ["diagnose"]

_ROOM_NEEDED = 100 << 20


def diagnose(
    manager: CheckpointManager, *, command: str, enabled: bool, fix: bool = False
) -> list[Problem]:
    """Everything found, worst first. `command` is what hints tell the person to type."""
    status = manager.status()
    found = [*_of_store(manager, fix=fix), *_of_base(manager, fix=fix)]
    found += _of_projects(manager, status, command)
    found += _of_size(manager, status, command)
    if not enabled:
        fix_text = (
            "set enabled: true under checkpoints: in the configuration, or pass --checkpoints"
        )
        found.append(Problem("checkpoints are off, so no tool call takes one", fix=fix_text))
    return found


def _of_store(manager: CheckpointManager, *, fix: bool) -> Iterator[Problem]:
    if not manager.housekeeping.has_store:
        return
    try:
        yield from manager.verify(fix=fix)
    except CheckpointError as error:
        yield Problem(error.message, fix=error.hint)


def _of_base(manager: CheckpointManager, *, fix: bool) -> Iterator[Problem]:
    base = manager.config.base_path
    if not base.exists():
        return
    if not base.is_dir():
        yield Problem(f"{base} is not a directory", fix="move it away, or choose another base")
        return
    if not os.access(base, os.W_OK):
        yield Problem(f"{base} cannot be written to", fix=f"chmod u+w {base}")
    open_to = stat.S_IMODE(base.stat().st_mode) & 0o077
    if os.name == "posix" and open_to:
        if fix:
            base.chmod(0o700)
        yield Problem(
            f"{base} can be read by others" + (", which is mended now" if fix else ""),
            fix="" if fix else f"chmod 700 {base}",
        )


def _of_projects(manager: CheckpointManager, status: Status, command: str) -> Iterator[Problem]:
    for entry in status.projects:
        root = entry.project.root
        if entry.problem:
            yield Problem(entry.problem, root)
        if entry.failure:
            yield Problem(f"no checkpoint could be taken: {entry.failure.error}", root)
        if entry.presence is Presence.ORPHAN:
            hint = f"if it was moved: {command} relink OLD NEW; if not: {command} prune"
            yield Problem(f"its directory is not there: {entry.why}", root, hint)
        elif entry.presence is Presence.UNREACHABLE:
            yield Problem(f"its directory is not there: {entry.why}", root)
        if manager.books.of(entry.project).journal.exists:
            hint = f"{command} undo, or restore again, in that directory"
            yield Problem("a rollback was broken off half-way", root, hint)


def _of_size(manager: CheckpointManager, status: Status, command: str) -> Iterator[Problem]:
    yield from (Problem(text) for text in status.problems)
    if status.cap and status.store > status.cap:
        hint = f"{command} prune --dry-run shows what can go"
        yield Problem("the store is over max_total_size_mb", fix=hint)
    if manager.config.base_path.is_dir():
        free = shutil.disk_usage(manager.config.base_path).free
        if free < max(_ROOM_NEEDED, status.store):
            yield Problem(
                "there is less room on the disk than a repack of the store needs",
                fix=f"make room there, or {command} prune with a smaller --max-size-mb",
            )
