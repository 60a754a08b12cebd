"""Refs, read and written without a child.

Owns the files below `refs/` and the reading of `packed-refs`. Only the store writes these refs, and
only under its locks, so a lock file of git's found here was left by a process that died.
"""

from __future__ import annotations

import os
import re

from hermes_checkpoints.stores.git.layout import Layout
from hermes_checkpoints.stores.git.plumbing import Plumbing
from hermes_checkpoints.stores.git.smallfiles import create, read_bytes

__all__ = ["Refs"]

_ID = re.compile(r"[0-9a-f]{40}")
_LOCK = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class Refs:
    """The refs of one store."""

    def __init__(self, layout: Layout, plumbing: Plumbing) -> None:
        self._layout = layout
        self._plumbing = plumbing
        self._packed: tuple[tuple[int, int, int], dict[str, str]] | None = None

    def read(self, name: str) -> str | None:
        """The id a ref holds; `None` if it is missing or no id (as after a power cut)."""
        try:
            text = read_bytes(self._layout.path(name), 64).decode("ascii", "replace").strip()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return self._read_packed().get(name)
        return text if _ID.fullmatch(text) else None

    def write(self, name: str, oid: str, *, sync: bool = False) -> None:
        """Point a ref at an object, atomically."""
        path = self._layout.path(name)
        lock, data = path + ".lock", oid.encode() + b"\n"
        try:
            create(lock, data, flags=_LOCK, sync=sync)
        except FileExistsError:  # its owner is dead: we hold the lock every writer takes
            os.unlink(lock)
            create(lock, data, flags=_LOCK, sync=sync)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            create(lock, data, flags=_LOCK, sync=sync)
        os.replace(lock, path)

    def delete(self, name: str) -> None:
        """Remove a ref; a packed one needs git to rewrite the file."""
        if name in self._read_packed():
            self._plumbing.run(["update-ref", "-d", name])
            self._packed = None
        path = self._layout.path(name)
        for leftover in (path, path + ".lock"):
            try:
                os.unlink(leftover)
            except OSError:
                pass

    def below(self, prefix: str) -> dict[str, str]:
        """All refs below `prefix` (without a slash at its end): name -> id."""
        start = prefix + "/"
        found = {name: oid for name, oid in self._read_packed().items() if name.startswith(start)}
        top = self._layout.path(prefix)
        if os.path.isdir(top):
            cut = len(self._layout.store) + 1
            for directory, _, names in os.walk(top):
                for name in names:
                    ref = f"{directory[cut:]}/{name}"
                    oid = None if name.endswith(".lock") else self.read(ref)
                    if oid:
                        found[ref] = oid
        return found

    def _read_packed(self) -> dict[str, str]:
        path = self._layout.path("packed-refs")
        try:
            info = os.stat(path)
        except OSError:
            return {}
        mark = (info.st_mtime_ns, info.st_size, info.st_ino)
        if self._packed is None or self._packed[0] != mark:
            lines = read_bytes(path).decode("utf-8", "surrogateescape").splitlines()
            pairs = (line.split(" ", 1) for line in lines if line[:1] not in ("#", "^", ""))
            self._packed = (mark, {pair[1]: pair[0] for pair in pairs if len(pair) == 2})
        return self._packed[1]
