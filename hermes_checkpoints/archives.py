"""The `legacy-*` archives: repositories of an older layout, moved aside below the base.

Owns finding, measuring and deleting them. Making them is the store's, which knows the layout.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from hermes_checkpoints.inventory import Archive

__all__ = ["archived_at", "archives", "delete_archives", "remove_tree"]

_NAME = re.compile(r"legacy-(\d{8}-\d{6})")


def archives(base: Path) -> list[Archive]:
    """All of them, oldest first."""
    try:
        found = [p for p in base.iterdir() if _is_archive(p)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [Archive(p.name, _size_of(p)) for p in sorted(found)]


def archived_at(base: Path, archive: Archive) -> float:
    """When it was moved aside: by its name, else by its own time."""
    if match := _NAME.fullmatch(archive.name):
        with suppress(ValueError, OverflowError):
            return time.mktime(time.strptime(match[1], "%Y%m%d-%H%M%S"))
    try:
        return (base / archive.name).lstat().st_mtime
    except OSError:
        return time.time()


def delete_archives(base: Path, found: Sequence[Archive]) -> list[tuple[str, str]]:
    """Delete some; what stayed, and why."""
    stayed = [(a.name, remove_tree(base / a.name)) for a in found]
    return [(name, why) for name, why in stayed if why]


def remove_tree(directory: Path) -> str:
    """Delete a directory with all in it; why it could not be, or an empty string.

    git makes its objects read-only, which keeps some systems from deleting them.
    """
    with suppress(OSError):
        shutil.rmtree(directory)
        return ""
    for path, _, files in os.walk(directory):
        for name in (path, *(os.path.join(path, f) for f in files)):
            with suppress(OSError):
                if not os.path.islink(name):
                    os.chmod(name, stat.S_IMODE(os.lstat(name).st_mode) | stat.S_IRWXU)
    try:
        shutil.rmtree(directory)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _is_archive(path: Path) -> bool:
    return path.name.startswith("legacy-") and path.is_dir() and not path.is_symlink()


def _size_of(directory: Path) -> int:
    total = 0
    for path, _, files in os.walk(directory):
        for name in files:
            with suppress(OSError):
                total += os.lstat(os.path.join(path, name)).st_size
    return total
