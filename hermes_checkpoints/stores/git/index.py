"""Git's index file (version 2 and 3): read for what no git command tells cheaply, written once.

Owns the format: which entries there are, what `stat` data they carry. Only the index of a first
snapshot is written here; git writes all others.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from hermes_checkpoints.records import EXECUTABLE, GITLINK, REGULAR, SYMLINK, FileState
from hermes_checkpoints.stores.git.smallfiles import read_bytes, write_bytes

__all__ = [
    "Index",
    "IndexEntry",
    "NewEntry",
    "Seen",
    "extension",
    "mark",
    "settled_at",
    "write",
]

_FIXED = 62  # bytes of an entry before its name
_TRAILER = 20  # the hash of the whole
_STAGES = 0x3000
_EXTENDED = 0x4000
_ASSUME_VALID = 0x8000
_MODES = frozenset({REGULAR, EXECUTABLE, SYMLINK, GITLINK})
_entry = struct.Struct(">10I20sH").pack
_EMPTY = bytes.fromhex("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")
_KNOWN_EXTENSIONS = {b"TREE", b"UNTR"}
_LOW = 0xFFFFFFFF
_TICK = 20_000_000  # nanoseconds: inode times advance by 1 to 10 ms at a time,
_COARSE = 2_000_000_000  # and on some file systems by one or two seconds
_entry_stat = struct.Struct(">10I20sH").unpack_from
_ctime_and_flags = struct.Struct(">I56xH").unpack_from


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One path of the index; `size` is 0 where git smudged it because it was too young."""

    path: str
    state: FileState
    size: int


class Seen(NamedTuple):
    """What an index knows of a file: times in nanoseconds, lower halves of inode and size.

    A `size` of -1 is no file's: git smudged the entry, so that the content is looked at again.
    """

    changed: int
    written: int
    inode: int
    size: int


@dataclass(frozen=True, slots=True)
class NewEntry:
    """An entry to be written: name, mode, id, and what `lstat` said before the file was read."""

    name: bytes
    mode: int
    oid: bytes
    info: os.stat_result


def write(
    path: str, entries: Iterable[NewEntry], nested: Iterable[tuple[bytes, bytes]], young: float
) -> None:
    """Write an index. `nested` are names and ids of gitlinks, which git is to take as valid.

    An entry whose file changed at `young` or later is smudged (size 0), as git does it: the file
    may have changed again in the same second, so git must look at its content next time.
    """
    lines = [(entry.name, _encoded(entry, young)) for entry in entries]
    for name, oid in nested:
        flags = _ASSUME_VALID | min(len(name), 0xFFF)
        lines.append((name, _padded(_entry(*[0] * 6, GITLINK, 0, 0, 0, oid, flags) + name)))
    lines.sort()
    head = b"DIRC" + struct.pack(">II", 2, len(lines))
    data = b"".join((head, *(encoded for _, encoded in lines)))
    write_bytes(path, data + hashlib.sha1(data, usedforsecurity=False).digest())


def _encoded(entry: NewEntry, young: float) -> bytes:
    info, low = entry.info, _LOW
    changed, written = divmod(info.st_ctime_ns, 10**9), divmod(info.st_mtime_ns, 10**9)
    size = 0 if max(info.st_ctime, info.st_mtime) >= young else info.st_size & low
    head = _entry(
        changed[0] & low,
        changed[1],
        written[0] & low,
        written[1],
        info.st_dev & low,
        info.st_ino & low,
        entry.mode,
        info.st_uid & low,
        info.st_gid & low,
        size,
        entry.oid,
        min(len(entry.name), 0xFFF),
    )
    return _padded(head + entry.name)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (8 - len(data) % 8)


def settled_at(changed: int) -> int:
    """From when on an inode's time of change is none of a change that is made now (nanoseconds)."""
    return changed + (_TICK if changed % 10**9 else _COARSE)


def mark(path: str) -> list[int] | None:
    """What changes whenever an index file is rewritten: git always renames a new one over it."""
    try:
        info = os.stat(path)
    except OSError:
        return None
    return [info.st_ino, info.st_size, info.st_mtime_ns]


def extension(data: bytes, signature: bytes) -> slice:
    """Where an extension of an index is, its head of 8 bytes included; empty if there is none.

    Found from the end: entries are many, extensions few.
    """
    at = len(data)
    while (at := data.rfind(signature, 0, at)) >= 0:
        end = at
        while end + 8 <= len(data) - _TRAILER:
            end = _after_extension(data, end)
        if end == len(data) - _TRAILER:
            return slice(at, _after_extension(data, at))
    return slice(0, 0)


def _after_extension(data: bytes, at: int) -> int:
    return at + 8 + int.from_bytes(data[at + 4 : at + 8], "big")


class Index:
    """The bytes of an index file. Raises `ValueError` for a format it can't read."""

    def __init__(self, data: bytes) -> None:
        signature, version, self.count = struct.unpack_from(">4sII", data) if data else (b"", 0, 0)
        if data and (signature != b"DIRC" or version not in (2, 3)):
            raise ValueError(f"an index of version {version} is not understood")
        self.data = data

    @classmethod
    def load(cls, path: str) -> Index:
        """The index in a file; a missing one is empty."""
        try:
            return cls(read_bytes(path))
        except FileNotFoundError:
            return cls(b"")

    def __iter__(self) -> Iterator[IndexEntry]:
        data = self.data
        for at, flags in self._offsets():
            fields = _entry_stat(data, at)
            state = FileState(fields[6], fields[10].hex())
            yield IndexEntry(os.fsdecode(self._name(at, flags)), state, fields[9])

    def touched_since(self, seconds: int) -> list[bytes]:
        """Names of entries whose inode changed at `seconds` since the epoch or later.

        50,000 entries take about 15 ms: nothing is made for an entry that is older.
        """
        data, at, found = self.data, 12, []
        for _ in range(self.count):
            changed, flags = _ctime_and_flags(data, at)
            if changed >= seconds and not flags & _ASSUME_VALID:
                found.append(self._name(at, flags))
            if flags & _EXTENDED or flags & 0xFFF == 0xFFF:
                at = self._after(at, flags)
            else:  # as `_after` does it, without the call
                at += (70 + (flags & 0xFFF)) & ~7
        return found

    def find(self, path: str) -> FileState | None:
        """The entry of one path, by searching for its bytes: no entry is parsed."""
        name = os.fsencode(path)
        flags = struct.pack(">H", min(len(name), 0xFFF))
        needle, at = name + b"\0", -1
        while (at := self.data.find(needle, at + 1)) >= 0:
            start = at - _FIXED
            if start >= 12 and self.data[at - 2 : at] == flags:
                fields = _entry_stat(self.data, start)
                if fields[6] in _MODES:  # else four bytes of a hash looked like a short name
                    return FileState(fields[6], fields[10].hex())
        return None

    def seen(self) -> dict[str, Seen] | None:
        """What is known of each file, gitlinks left out; `None` if there is anything unusual.

        That is a merge under way, an entry that git takes on trust, an extension other than those
        that git writes by itself for trees and untracked files.
        """
        data, found = self.data, {}
        at = 12
        for at, flags in self._offsets():
            fields = _entry_stat(data, at)
            if fields[6] == GITLINK and not flags & (_EXTENDED | _STAGES):
                continue
            if flags & (_EXTENDED | _ASSUME_VALID | _STAGES):
                return None
            size = fields[9] or (0 if fields[10] == _EMPTY else -1)
            found[os.fsdecode(self._name(at, flags))] = Seen(
                fields[0] * 10**9 + fields[1], fields[2] * 10**9 + fields[3], fields[5], size
            )
        end = self._after(at, flags) if self.count else at
        while end + 8 <= len(data) - _TRAILER:
            if data[end : end + 4] not in _KNOWN_EXTENSIONS:
                return None
            end = _after_extension(data, end)
        return found if end == len(data) - _TRAILER else None

    def _offsets(self) -> Iterator[tuple[int, int]]:
        data, at = self.data, 12
        for _ in range(self.count):
            (flags,) = struct.unpack_from(">H", data, at + 60)
            yield at, flags
            at = self._after(at, flags)

    def _name(self, at: int, flags: int) -> bytes:
        start = at + _FIXED + (2 if flags & _EXTENDED else 0)
        length = flags & 0xFFF
        if length == 0xFFF:  # the field is full: the name ends at its NUL
            length = self.data.index(b"\0", start) - start
        return self.data[start : start + length]

    def _after(self, at: int, flags: int) -> int:
        """Where the next entry begins: names are padded with 1 to 8 NULs to a multiple of 8."""
        start = at + _FIXED + (2 if flags & _EXTENDED else 0)
        length = flags & 0xFFF
        if length == 0xFFF:
            length = self.data.index(b"\0", start) - start
        return at + ((start - at + length + 8) & ~7)
