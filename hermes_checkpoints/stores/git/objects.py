"""Writing git objects without a child: blobs, trees, commits as loose files; reading loose trees.

Owns their encoding and the way they get to disk (temporary file, rename, read-only). What it writes
is checked by `git fsck --strict` in the tests.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from hermes_checkpoints.stores.git.smallfiles import create, read_bytes, unlink

__all__ = [
    "EMPTY_TREE",
    "MANY",
    "TREE",
    "Entry",
    "Loose",
    "commit_bytes",
    "object_id",
    "tree_bytes",
]

TREE = 0o40000
MANY = 48  # more objects than this are cheaper in a pack than loose
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a tree."""

    mode: int
    oid: str


def object_id(kind: bytes, data: bytes) -> str:
    header = b"%s %d\0" % (kind, len(data))
    return hashlib.sha1(header + data, usedforsecurity=False).hexdigest()


def tree_bytes(entries: dict[bytes, Entry]) -> bytes:
    """A tree; git sorts a directory as if its name ended in a slash."""
    order = sorted(entries.items(), key=lambda e: e[0] + b"/" if e[1].mode == TREE else e[0])
    return b"".join(b"%o %s\0%s" % (e.mode, name, bytes.fromhex(e.oid)) for name, e in order)


def commit_bytes(
    tree: str, parents: Iterable[str], message: bytes, when: float, who: str = "Checkpoints"
) -> bytes:
    """A commit of ours, in UTC."""
    person = b"%s <checkpoints@localhost> %d +0000" % (who.encode(), int(when))
    lines = [b"tree " + tree.encode()]
    lines += [b"parent " + parent.encode() for parent in parents]
    lines += [b"author " + person, b"committer " + person, b"", message]
    return b"\n".join(lines)


class Loose:
    """The loose objects of one object database."""

    def __init__(self, objects: str) -> None:
        self._objects = objects

    def path(self, oid: str) -> str:
        return f"{self._objects}/{oid[:2]}/{oid[2:]}"

    def has(self, oid: str) -> bool:
        """Whether an object is loose; an empty file is what a power cut leaves of one."""
        try:
            return os.path.getsize(self.path(oid)) > 0
        except OSError:
            return False

    def read_tree(self, oid: str) -> bytes | None:
        """The content of a tree that is loose; `None` if it is not, or is no tree, or damaged."""
        try:
            header, _, data = zlib.decompress(read_bytes(self.path(oid))).partition(b"\0")
        except (OSError, zlib.error):
            return None
        whole = header == b"tree %d" % len(data) and object_id(b"tree", data) == oid
        return data if whole else None

    def write(self, kind: bytes, data: bytes, *, sync: bool = False) -> str:
        """Store an object; its id. An object that is there already is made young again.

        Young, because what is about to be referred to must outlive a `prune` that runs now.
        """
        header = b"%s %d\0" % (kind, len(data))
        oid = hashlib.sha1(header + data, usedforsecurity=False).hexdigest()
        path = self.path(oid)
        if self._freshen(path):
            return oid
        temporary = f"{self._objects}/tmp_obj_{os.getpid()}_{threading.get_ident()}"
        try:
            create(temporary, zlib.compress(header + data, 1), mode=0o400, sync=sync)
            self._place(temporary, path)
        except BaseException:
            unlink(temporary)
            raise
        return oid

    def _place(self, temporary: str, path: str) -> None:
        try:
            os.rename(temporary, path)
        except FileNotFoundError:  # the first object of this fan-out, or a prune removed it
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            os.rename(temporary, path)

    def _freshen(self, path: str) -> bool:
        """Whether a sound-looking object is there; an empty one is what a power cut leaves."""
        try:
            if not os.path.getsize(path):
                os.unlink(path)
                return False
            now = time.time()
            os.utime(path, (now, now))
        except OSError:
            return False
        return True
