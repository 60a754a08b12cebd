"""A file of JSON lines that only grows, private to its owner, and survives a torn line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

__all__ = ["append_line", "read_lines"]


def append_line(file: Path, record: dict[str, Any]) -> None:
    """Add a record on a line of its own, even after one that a kill has torn."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(fd, "ab") as out:
        out.write(b"\n" + json.dumps(record).encode("ascii") + b"\n")


def read_lines(file: Path) -> list[dict[str, Any]]:
    """All records, oldest first; a line that a kill has torn is passed over. None: no file."""
    try:
        lines = file.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    found = []
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            found.append(record)
    return found
