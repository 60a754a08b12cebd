"""What the command line says and asks: the only place that prints."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

__all__ = ["Output", "as_json"]


class Output:
    """Standard output for results, standard error for everything else.

    With `json`, a result is one JSON document and nothing else is printed to standard output.
    """

    def __init__(self, *, json: bool = False) -> None:
        self.json = json

    def result(self, text: str, data: Any) -> None:
        """A command's result: the text for people, or the data for programs."""
        self.text(json.dumps(as_json(data), indent=2) if self.json else text)

    def text(self, text: str) -> None:
        """Text on standard output."""
        _write(text, sys.stdout)

    def note(self, text: str) -> None:
        """Text on standard error: not the result, but worth knowing."""
        _write(text, sys.stderr)

    @property
    def can_ask(self) -> bool:
        """Whether a person is there to answer."""
        return not self.json and sys.stdin.isatty()

    def confirmed(self, what: str, question: str = "Go on?") -> bool:
        """Show what would happen and ask. Nobody to ask, or no clear yes, means no."""
        if not self.can_ask:
            return False
        self.text(what)
        try:
            return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
        except EOFError:
            return False

    @contextmanager
    def progress(self, doing: str) -> Iterator[None]:
        """A moving sign on a terminal while something takes long; nothing elsewhere."""
        if self.json or not sys.stderr.isatty():
            yield
            return
        from rich.console import Console

        with Console(stderr=True).status(doing):
            yield


def _write(text: str, stream: Any) -> None:
    try:
        print(text, file=stream)
    except UnicodeEncodeError:  # LC_ALL=C, or an old Windows code page
        encoding = stream.encoding or "ascii"
        print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream)


def as_json(value: Any) -> Any:
    """Records as JSON values: fields by name, and a checkpoint's short id besides."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        from hermes_checkpoints.records import Checkpoint

        found = {f.name: as_json(getattr(value, f.name)) for f in fields(value)}
        if isinstance(value, Checkpoint):
            found["short_id"] = value.short_id
        return found
    if isinstance(value, Mapping):
        return {str(k): as_json(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [as_json(v) for v in value]
    if isinstance(value, (BaseException, Path)):
        return str(value)
    return value
