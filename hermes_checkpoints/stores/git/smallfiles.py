"""Small private files: read whole, written in one step.

With bare system calls: each of them gives up the interpreter's lock, and Python's file objects make
twice as many as it takes. There are some thirty such files in a capture.
"""

from __future__ import annotations

import json
import os
from typing import Any

__all__ = ["create", "read_bytes", "read_json", "unlink", "write_bytes", "write_json"]

_BLOCK = 1 << 16
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC


def read_bytes(path: str, most: int = -1) -> bytes:
    """The content of a file, at most so many bytes of it (-1: all). Raises `OSError`."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.read(fd, most if most >= 0 else _BLOCK)
        if most >= 0 or len(data) < _BLOCK:
            return data
        parts = [data]
        while block := os.read(fd, os.fstat(fd).st_size):
            parts.append(block)
        return b"".join(parts)
    finally:
        os.close(fd)


def create(
    path: str, data: bytes, *, flags: int = _NEW, mode: int = 0o600, sync: bool = False
) -> None:
    """Write a new file. Raises `OSError`; what is there then is incomplete."""
    fd = os.open(path, flags, mode)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(fd, left) :]
        if sync:
            os.fsync(fd)
    finally:
        os.close(fd)


def write_bytes(path: str, data: bytes) -> None:
    """Write a private file in one step: a reader sees the old content or the new."""
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        create(temporary, data)
        os.replace(temporary, path)
    except BaseException:
        unlink(temporary)
        raise


def write_json(path: str, value: Any) -> None:
    write_bytes(path, json.dumps(value, sort_keys=True, separators=(",", ":")).encode())


def read_json(path: str) -> dict[str, Any] | None:
    """The object in a file; `None` if it is missing or damaged: all of them can be made anew."""
    try:
        value = json.loads(read_bytes(path))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def unlink(path: str) -> None:
    """Remove a file, if it is there and can be removed."""
    try:
        os.unlink(path)
    except OSError:
        pass
