"""Recording many files at once: read, hashed and compressed by two threads into one pack.

Owns the reading of whole batches, the trees made of them, and the index of a first snapshot. A
file that can't be read, is a secret by its first line, or has grown over the cap is a gap.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice

from hermes_checkpoints.excludes import CaptureRules, is_secret_content
from hermes_checkpoints.records import GITLINK, Gap, GapReason, canonical_mode
from hermes_checkpoints.stores.base import NESTED_CONTENT
from hermes_checkpoints.stores.git.index import NewEntry
from hermes_checkpoints.stores.git.pack import BLOB, TREE_OBJECT, Packed, PackWriter, packed

__all__ = ["Batch", "record", "root_tree"]

_THREADS = 2
_CHUNK = 64
_OPEN = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass(slots=True)
class Batch:
    """What became of the files: entries for an index, and gaps by path."""

    entries: list[NewEntry] = field(default_factory=list)
    gaps: dict[str, Gap] = field(default_factory=dict)


def record(
    root: str,
    files: Iterable[tuple[str, os.stat_result]],
    rules: CaptureRules,
    writer: PackWriter,
) -> Batch:
    """Write the contents of files into a pack; each path comes with its `lstat`."""
    batch = Batch()
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="checkpoint-read") as pool:
        for done in _ahead(pool, root, iter(files), rules):
            for path, info, result in done:
                if isinstance(result, Gap):
                    batch.gaps[path] = result
                else:
                    writer.add(result)
                    mode = canonical_mode(info.st_mode)
                    batch.entries.append(NewEntry(os.fsencode(path), mode, result[0], info))
    return batch


_Item = tuple[str, os.stat_result]
_Done = list[tuple[str, os.stat_result, "Packed | Gap"]]


def _ahead(
    pool: ThreadPoolExecutor, root: str, files: Iterator[_Item], rules: CaptureRules
) -> Iterator[_Done]:
    """Results in order, a few chunks ahead, not all: what is read waits in memory till written."""
    waiting: deque[Future[_Done]] = deque()
    while chunk := list(islice(files, _CHUNK)):
        waiting.append(pool.submit(_read, root, chunk, rules))
        if len(waiting) > 4 * _THREADS:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _read(root: str, chunk: list[_Item], rules: CaptureRules) -> _Done:
    bars_secrets = rules.bars_secrets(named=False)
    done: _Done = []
    for path, info in chunk:
        full = f"{root}/{path}"
        try:
            data = os.fsencode(os.readlink(full)) if stat.S_ISLNK(info.st_mode) else _bytes(full)
        except FileNotFoundError:
            done.append((path, info, Gap(path, GapReason.VANISHED)))
            continue
        except OSError as error:
            done.append((path, info, Gap(path, GapReason.UNREADABLE, error.strerror or "")))
            continue
        if len(data) > rules.max_file_bytes:
            done.append((path, info, Gap(path, GapReason.TOO_LARGE, "it grew while it was read")))
        elif bars_secrets and data[:1] in b"- \t\r\n" and is_secret_content(data[:128]):
            why = "its first line is a private key's"
            done.append((path, info, Gap(path, GapReason.SECRET, why)))
        else:
            done.append((path, info, packed(BLOB, data)))
    return done


def _bytes(path: str) -> bytes:
    fd = os.open(path, _OPEN)
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise OSError(0, "it became a special file")
        data = os.read(fd, info.st_size + 1)
        if len(data) == info.st_size:
            return data
        parts = [data]
        while block := os.read(fd, 1 << 20):
            parts.append(block)
        return b"".join(parts)
    finally:
        os.close(fd)


# --------------------------------------------------------------------------- trees


def root_tree(entries: Iterable[NewEntry], nested: Iterable[str], writer: PackWriter) -> str:
    """Write the directories of a whole project; the id of the outermost."""
    top: _Directory = {}
    levels: dict[bytes, _Directory] = {b"": top}
    for entry in entries:
        above, _, last = entry.name.rpartition(b"/")
        _level(levels, above)[last] = (b"%o" % entry.mode, entry.oid)
    for path in nested:
        above, _, last = os.fsencode(path).rpartition(b"/")
        _level(levels, above)[last] = (b"%o" % GITLINK, bytes.fromhex(NESTED_CONTENT))
    return _write(top, writer).hex()


_Directory = dict[bytes, "tuple[bytes, bytes] | _Directory"]


def _level(levels: dict[bytes, _Directory], path: bytes) -> _Directory:
    found = levels.get(path)
    if found is None:
        above, _, last = path.rpartition(b"/")
        found = levels[path] = {}
        _level(levels, above)[last] = found
    return found


def _write(directory: _Directory, writer: PackWriter) -> bytes:
    lines = []
    for name, what in directory.items():
        if isinstance(what, dict):
            lines.append((name + b"/", b"40000 %s\0%s" % (name, _write(what, writer))))
        else:
            lines.append((name, b"%s %s\0%s" % (what[0], name, what[1])))
    lines.sort()
    one = packed(TREE_OBJECT, b"".join(line for _, line in lines))
    writer.add(one)
    return one[0]
