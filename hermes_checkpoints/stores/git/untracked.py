"""Where git found ignore files, told by the untracked cache of the index.

Owns that part of git's index format (`UNTR`). The cache has every directory that `git status` looks
into, with the hash of its ignore file, be that tracked, untracked or hidden by itself.
"""

from __future__ import annotations

import os
import re
import struct

__all__ = ["directories_with_rules"]

_TRAILER = 20  # the hash of the whole index
_STATS = 76 + 2 * 20  # of the two files of rules outside the project, with their hashes


def directories_with_rules(data: bytes) -> list[str] | None:
    """The directories (`""`: the root) that have an ignore file. `None` if there is no cache.

    5,000 directories take about 3 ms. Raises `ValueError` for what can't be read.
    """
    cache = _cache(data)
    if not cache:
        return None
    try:
        return _directories(cache)
    except (IndexError, struct.error) as error:
        raise ValueError("the untracked cache of an index is damaged") from error


def _cache(data: bytes) -> bytes:
    """The content of the extension, found from the end: entries are many, extensions few."""
    at = len(data)
    while (at := data.rfind(b"UNTR", 0, at)) >= 0:
        end = at
        while end + 8 <= len(data) - _TRAILER:
            end += 8 + int.from_bytes(data[end + 4 : end + 8], "big")
        if end == len(data) - _TRAILER:
            return data[at + 8 : at + 8 + int.from_bytes(data[at + 4 : at + 8], "big")]
    return b""


def _directories(cache: bytes) -> list[str]:
    length, at = _number(cache, 0)
    at = cache.index(b"\0", at + length + _STATS) + 1
    count, at = _number(cache, at)
    blocks, at = _blocks(cache, at, count)
    at = _after_bits(cache, _after_bits(cache, at))  # which are valid, which were looked into
    wanted = _bits(cache, at)
    parents = _parents(blocks[: wanted[-1] + 1]) if wanted else []
    found = []
    for number in wanted:
        parts: list[bytes] = []
        while number > 0:
            parts.append(blocks[number][1])
            number = parents[number]
        found.append(os.fsdecode(b"/".join(reversed(parts))))
    return found


# How many untracked files and directories follow (the latter as blocks of their own), and the name.
_BLOCK = re.compile(rb"([\x80-\xff]*[\0-\x7f])([\x80-\xff]*[\0-\x7f])([^\0]*)\0")


def _blocks(cache: bytes, at: int, count: int) -> tuple[list[tuple[bytes, bytes]], int]:
    """Each directory's number of directories and name, in preorder; and where they end."""
    blocks: list[tuple[bytes, bytes]] = []
    match = _BLOCK.match
    for _ in range(count):
        block = match(cache, at)
        if block is None:
            raise IndexError("the blocks end too early")
        at = block.end()
        files, below, name = block.groups()
        blocks.append((below, name))
        if files != b"\0":
            for _ in range(_number(files, 0)[0]):
                at = cache.index(b"\0", at) + 1
    return blocks, at


def _parents(blocks: list[tuple[bytes, bytes]]) -> list[int]:
    parents: list[int] = []
    open_: list[list[int]] = []  # directories whose blocks have not all come, and how many more
    for number, (below, _) in enumerate(blocks):
        while open_ and not open_[-1][1]:
            open_.pop()
        parents.append(open_[-1][0] if open_ else -1)
        if open_:
            open_[-1][1] -= 1
        if below != b"\0":
            open_.append([number, _number(below, 0)[0]])
    return parents


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number in git's variable width, and where it ends."""
    byte = data[at]
    value = byte & 127
    while byte & 128:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) + (byte & 127)
    return value, at + 1


def _after_bits(data: bytes, at: int) -> int:
    return at + 12 + 8 * int(struct.unpack_from(">I", data, at + 4)[0])


def _bits(data: bytes, at: int) -> list[int]:
    """The positions of the ones in a bitmap (EWAH): runs, each followed by literal words."""
    size, count = struct.unpack_from(">II", data, at)
    words = struct.unpack_from(f">{count}Q", data, at + 8)
    found: list[int] = []
    position, word = 0, 0
    while word < count:
        run = words[word]
        length, literals = (run >> 1) & 0xFFFFFFFF, run >> 33
        if run & 1:
            found.extend(range(position, position + 64 * length))
        position += 64 * length
        for literal in words[word + 1 : word + 1 + literals]:
            found.extend(position + bit for bit in range(64) if literal >> bit & 1)
            position += 64
        word += 1 + literals
    return [one for one in found if one < size]
