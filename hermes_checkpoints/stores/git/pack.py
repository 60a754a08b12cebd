"""Writing one pack: many objects as one file, synced, without a child.

Owns the pack and index formats (version 2). A first snapshot in a pack instead of loose files is
3 to 4 times faster, half the size, and makes all later upkeep 30 times cheaper. What it writes is
checked by `git index-pack --strict` and `git fsck` in the tests.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Callable
from typing import Any

__all__ = ["BLOB", "TREE_OBJECT", "PackWriter", "Packed", "packed"]

TREE_OBJECT, BLOB = 2, 3
_KINDS = {TREE_OBJECT: b"tree", BLOB: b"blob"}
_LARGE = 1 << 31

Packed = tuple[bytes, bytes, int]
"""An object ready to be written: id, entry, CRC of the entry."""


def _compressor() -> Callable[..., bytes]:
    try:
        from isal import isal_zlib  # 3 times as fast as zlib's level 1, at the same ratio
    except ImportError:
        return zlib.compress
    compress: Callable[..., bytes] = isal_zlib.compress
    return compress


_compress = _compressor()


def packed(kind: int, data: bytes) -> Packed:
    """Hash and compress an object. Both let other threads run for all but tiny data."""
    size = len(data)
    digest = hashlib.sha1(b"%s %d\0" % (_KINDS[kind], size), usedforsecurity=False)
    digest.update(data)
    head, size = bytearray([(kind << 4) | (size & 15)]), size >> 4
    while size:
        head[-1] |= 0x80
        head.append(size & 0x7F)
        size >>= 7
    entry = bytes(head) + _compress(data, 1)
    return digest.digest(), entry, zlib.crc32(entry)


class PackWriter:
    """A pack in the making. `finish` puts it in place; leaving without that removes it."""

    def __init__(self, objects: str) -> None:
        self._directory = f"{objects}/pack"
        self._path = f"{self._directory}/tmp_pack_{os.getpid()}_{id(self):x}"
        self._at = 12
        self._entries: dict[bytes, tuple[int, int]] = {}
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o400)
        self._file = os.fdopen(fd, "w+b", 1 << 20)
        self._file.write(b"PACK" + struct.pack(">II", 2, 0))

    def __enter__(self) -> PackWriter:
        return self

    def __exit__(self, *_: Any) -> None:
        try:
            self._file.close()  # on a full disk this fails again: its buffer is not empty
        except OSError:
            pass
        try:
            os.unlink(self._path)
        except FileNotFoundError:
            pass

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, one: Packed) -> None:
        """Write an object, unless the pack has it."""
        oid, entry, crc = one
        if oid not in self._entries:
            self._entries[oid] = (self._at, crc)
            self._file.write(entry)
            self._at += len(entry)

    def finish(self) -> None:
        """Sync the pack and its index, and give them their names; the index comes last."""
        self._file.seek(8)
        self._file.write(struct.pack(">I", len(self._entries)))
        self._file.seek(0)
        digest = hashlib.sha1(usedforsecurity=False)
        while block := self._file.read(1 << 20):
            digest.update(block)
        self._file.write(digest.digest())
        self._file.flush()
        os.fsync(self._file.fileno())
        base = f"{self._directory}/pack-{digest.hexdigest()}"
        os.rename(self._path, f"{base}.pack")
        self._write_index(base, digest.digest())

    def _write_index(self, base: str, pack_digest: bytes) -> None:
        temporary = f"{base}.tmp"
        data = _index_bytes(self._entries, pack_digest)
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o400)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, f"{base}.idx")


def _index_bytes(entries: dict[bytes, tuple[int, int]], pack_digest: bytes) -> bytes:
    order = sorted(entries.items())
    fan = [0] * 256
    for oid, _ in order:
        fan[oid[0]] += 1
    for at in range(1, 256):
        fan[at] += fan[at - 1]
    near: list[int] = []
    far: list[int] = []
    for _, (offset, _) in order:
        near.append(offset if offset < _LARGE else _LARGE | len(far))
        if offset >= _LARGE:
            far.append(offset)
    count = len(order)
    body = b"".join(
        (
            b"\xfftOc" + struct.pack(">I256I", 2, *fan),
            b"".join(oid for oid, _ in order),
            struct.pack(f">{count}I", *(crc for _, (_, crc) in order)),
            struct.pack(f">{count}I", *near),
            struct.pack(f">{len(far)}Q", *far),
            pack_digest,
        )
    )
    return body + hashlib.sha1(body, usedforsecurity=False).digest()
