"""What a project's index stands for, as of the last look: a small file beside it.

Owns its format. Like the index it is disposable: without it, the next look looks at everything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hermes_checkpoints.stores.git.smallfiles import read_json, write_json

__all__ = ["PendingFile", "State"]

_FORMAT = 5


class PendingFile(NamedTuple):
    """What a file is that the index does not have as it is: mode, content and `stamp` (`young`)."""

    mode: int
    content: str
    stamp: list[int]


@dataclass(slots=True)
class State:
    """What the index stands for, as of the last look.

    `index` marks the file it is true of; `rules` names the rules it was made under; `looked` is
    when, in nanoseconds since the epoch. `young` are paths whose inodes had just changed then, with
    what `lstat` said in nanoseconds: git (2.39, Debian) compares whole seconds, so another change
    in the same one would not show if it kept size and mtime. An empty list: too young even for
    that. `None`: git itself was told to look again. `patches` counts the looks since git last wrote
    the tree. `ruled` are the directories that have an ignore file. `store` marks what git last
    read of the store as a whole, without complaint; `packed` are objects that it found in packs.
    `tree` is of the index with the `pending` files as they are. `young_directories` had changed
    within the last seconds when git looked into them, with their times as git has them.
    """

    tree: str = ""
    index: list[int] | None = None
    rules: str = ""
    looked: int = 0
    nested: list[str] = field(default_factory=list)
    special: list[str] = field(default_factory=list)
    modes: dict[str, int] = field(default_factory=dict)
    young: dict[str, list[int] | None] = field(default_factory=dict)
    young_directories: dict[str, list[int]] = field(default_factory=dict)
    ruled: list[str] = field(default_factory=list)
    patches: int = 0
    store: list[list[int] | None] = field(default_factory=list)
    packed: list[str] = field(default_factory=list)
    pending: dict[str, PendingFile] = field(default_factory=dict)

    @classmethod
    def load(cls, path: str) -> State:
        value = read_json(path)
        if not value or value.pop("format", None) != _FORMAT:
            return cls()
        value["pending"] = {p: PendingFile(*one) for p, one in value["pending"].items()}
        return cls(**value)

    def save(self, path: str) -> None:
        fields: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        write_json(path, {**fields, "format": _FORMAT})
