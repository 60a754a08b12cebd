"""The small syntax tree both front ends build: what the walk needs to know of a shell script.

It keeps words with their quoting, because quoting decides whether `*`, `{` or `~` is active,
and drops everything that cannot change which files a script touches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

PartKind = Literal["text", "variable", "command", "process", "arithmetic", "pattern"]
CompoundKind = Literal[
    "subshell",
    "group",
    "if",
    "while",
    "until",
    "for",
    "select",
    "case",
    "function",
    "condition",
    "arithmetic",
    "coproc",
]


class Part(NamedTuple):
    """One piece of a word; `body` holds the commands that run while it is expanded."""

    kind: PartKind
    text: str
    quoted: bool = False
    body: tuple[Step, ...] = ()


class Word(NamedTuple):
    """A shell word; `raw` is its source text."""

    parts: tuple[Part, ...]
    raw: str

    @property
    def literal(self) -> str | None:
        """The word's text when nothing in it is expanded, else None."""
        if all(part.kind == "text" for part in self.parts):
            return "".join(part.text for part in self.parts)
        return None


@dataclass(slots=True)
class Heredoc:
    """A here-document's body; `body` holds the commands that run while it is expanded.

    Not frozen: the body follows the line it belongs to, and is filled in when it is reached.
    """

    quoted: bool
    text: str = ""
    body: tuple[Step, ...] = ()


class Redirect(NamedTuple):
    """A redirection; `fd` is None when the script names no descriptor."""

    op: str
    fd: str | None
    target: Word
    heredoc: Heredoc | None = None


class Assignment(NamedTuple):
    """`NAME=value`; an array's value is a tuple of words."""

    name: str
    value: Word | tuple[Word, ...]
    append: bool = False


class Command(NamedTuple):
    """A simple command."""

    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()


class Pipeline(NamedTuple):
    """Two commands or more, each in a process of its own."""

    commands: tuple[Node, ...]


class Compound(NamedTuple):
    """Anything with a body of its own.

    `bodies` are, for `if`: condition, branch, condition, branch, …, else; for loops: condition
    (not for `for` and `select`), body; for `case`: one per clause; else the one body there is.
    `words` are the items of `for` and the subject of `case`; None is a `for` without `in`.
    """

    kind: CompoundKind
    bodies: tuple[tuple[Step, ...], ...]
    redirects: tuple[Redirect, ...] = ()
    name: str = ""
    words: tuple[Word, ...] | None = ()


class Opaque(NamedTuple):
    """Text that could not be read: it may do anything."""

    why: str


Node = Command | Pipeline | Compound | Opaque


class Step(NamedTuple):
    """A node of a list, with the operator after it: `&`, `&&`, `||`, or nothing for `;`."""

    node: Node
    op: str = ""


Script = tuple[Step, ...]


class Unreadable(Exception):
    """The text is no shell script a reader understands; the message says where it broke."""
