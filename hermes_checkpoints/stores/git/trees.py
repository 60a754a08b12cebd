"""Trees: compared and read by one child, changed in process.

Owns what turns git's tree objects into paths and states and back. `patch` gives the tree that
differs from another in some paths; it reads only the trees on the way to them.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hermes_checkpoints.errors import StoreError
from hermes_checkpoints.records import Change, FileState
from hermes_checkpoints.stores.git.objects import EMPTY_TREE, TREE, Entry, Loose, tree_bytes
from hermes_checkpoints.stores.git.plumbing import GitFailed, Plumbing, end

__all__ = ["Trees"]

_Edits: TypeAlias = "dict[bytes, FileState | _Edits | None]"


class Trees:
    """The trees of one store."""

    def __init__(self, plumbing: Plumbing, loose: Loose) -> None:
        self._plumbing = plumbing
        self._loose = loose
        self._known = _Known()

    # ------------------------------------------------------------------ reading

    def changes(self, old: str, new: str) -> list[Change]:
        """The paths in which two trees differ. Raises `StoreError` if one can't be read."""
        if old == new:
            return []
        command = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index", old, new]
        fields = self._out(command).split(b"\0")
        return [_change(fields[i], fields[i + 1]) for i in range(0, len(fields) - 1, 2)]

    def entries(self, tree: str) -> dict[str, FileState]:
        """All paths of a tree."""
        out = self._out(["ls-tree", "-r", "-z", "--full-tree", tree])
        found = {}
        for line in os.fsdecode(out).split("\0")[:-1]:  # decoded at once: a third of the time
            head, _, path = line.partition("\t")
            found[path] = FileState(int(head[:6], 8), head[-40:])
        return found

    def some(self, tree: str, paths: Iterable[str]) -> dict[str, FileState]:
        """Those of the paths that a tree has; a directory counts, with mode `TREE`."""
        found: dict[str, FileState] = {}
        with _Reader(self._plumbing, self._loose, self._known) as reader:
            for path in paths:
                entry = reader.entry(tree, os.fsencode(path).split(b"/"))
                if entry is not None:
                    found[path] = FileState(entry.mode, entry.oid)
        return found

    def _out(self, command: Sequence[str]) -> bytes:
        try:
            return self._plumbing.run(command).out
        except GitFailed as error:
            raise StoreError(
                f"a state of the project is not in the store, or is damaged ({error.words})",
                hint="`hermes-checkpoints doctor` tells what else is",
            ) from error

    # ------------------------------------------------------------------ changing

    def patch(
        self,
        tree: str,
        edits: Mapping[str, FileState | None],
        *,
        whole_directories: bool = False,
    ) -> str:
        """The tree with some paths set, or removed (`None`); what stands in their way goes.

        A removal that meets a directory leaves it, unless `whole_directories`. New trees are
        written as loose objects.
        """
        if not edits:
            return tree
        if not os.path.exists(self._loose.path(tree)):
            self._known.clear()  # packed, or lost: what is built upon is looked at again
        nested: _Edits = {}
        for path, state in edits.items():
            *parents, name = os.fsencode(path).split(b"/")
            level: _Edits | None = nested
            for part in parents:
                level = _below(level, part, state) if level is not None else None
            # Setting a path implies that nothing is below it, and removing one that something is.
            if level is not None and (state or not isinstance(level.get(name), dict)):
                level[name] = state
        with _Reader(self._plumbing, self._loose, self._known) as reader:
            patch = _Patch(reader, self._write, whole_directories)
            return patch.tree(tree, nested) or self.empty()

    def empty(self) -> str:
        """The empty tree, as a real object: git knows it without, other readers may not."""
        return self._loose.write(b"tree", b"")

    def _write(self, entries: dict[bytes, Entry]) -> str:
        oid = self._loose.write(b"tree", tree_bytes(entries))
        self._known.put(oid, entries)
        return oid


@dataclass(frozen=True, slots=True)
class _Patch:
    """One patch: where trees are read and written, and whether a removal takes directories."""

    reader: _Reader
    write: Callable[[dict[bytes, Entry]], str]
    whole: bool

    def tree(self, tree: str, edits: _Edits) -> str:
        """The id of the changed tree; empty if nothing is left in it."""
        entries = dict(self.reader.tree(tree)) if tree else {}
        for name, edit in edits.items():
            old = entries.get(name)
            if isinstance(edit, dict):
                below = self.tree(old.oid if old and old.mode == TREE else "", edit)
                if below:
                    entries[name] = Entry(TREE, below)
                elif old and old.mode == TREE:
                    del entries[name]
            elif edit is None:
                if old and (self.whole or old.mode != TREE):
                    del entries[name]
            else:
                entries[name] = Entry(edit.mode, edit.content)
        return self.write(entries) if entries else ""


def _below(level: _Edits, part: bytes, state: FileState | None) -> _Edits | None:
    """The edits of a directory; `None` if a removal there is implied by a file in its place."""
    below = level.get(part)
    if isinstance(below, dict):
        return below
    if below is not None and state is None:
        return None
    fresh: _Edits = {}
    level[part] = fresh
    return fresh


class _Known:
    """Trees that were read or written lately. A tree never changes, so none is ever stale."""

    def __init__(self) -> None:
        self._trees: OrderedDict[str, Mapping[bytes, Entry]] = OrderedDict()
        self._room = _MOST_ENTRIES
        self._guard = threading.Lock()

    def get(self, oid: str) -> Mapping[bytes, Entry] | None:
        with self._guard:
            found = self._trees.get(oid)
            if found is not None:
                self._trees.move_to_end(oid)
            return found

    def clear(self) -> None:
        with self._guard:
            self._trees.clear()
            self._room = _MOST_ENTRIES

    def put(self, oid: str, entries: Mapping[bytes, Entry]) -> None:
        with self._guard:
            if oid in self._trees or len(entries) > _MOST_ENTRIES // 4:
                return
            self._trees[oid] = entries
            self._room -= len(entries) + 1
            while self._room < 0:
                _, gone = self._trees.popitem(last=False)
                self._room += len(gone) + 1


_MOST_ENTRIES = 20_000  # some 4 MB


class _Reader:
    """Trees that are known or loose; a `cat-file --batch` child is asked for the others."""

    def __init__(self, plumbing: Plumbing, loose: Loose, known: _Known) -> None:
        self._plumbing = plumbing
        self._loose = loose
        self._known = known
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._child and kind:
            end(self._child)
        elif self._child:
            for pipe in (self._child.stdin, self._child.stdout, self._child.stderr):
                if pipe:
                    pipe.close()
            self._child.wait()  # it ends with its input

    def entry(self, tree: str, parts: Sequence[bytes]) -> Entry | None:
        """What a tree has at a path."""
        found: Entry | None = Entry(TREE, tree)
        for part in parts:
            if found is None or found.mode != TREE:
                return None
            found = self.tree(found.oid).get(part)
        return found

    def tree(self, oid: str) -> Mapping[bytes, Entry]:
        if oid == EMPTY_TREE:
            return {}
        known = self._known.get(oid)
        if known is None:
            data = self._loose.read_tree(oid)
            known = _parsed(self._ask(oid) if data is None else data)
            self._known.put(oid, known)
        return known

    def _ask(self, oid: str) -> bytes:
        if self._child is None:
            self._child = self._plumbing.start(["cat-file", "--batch"])
        asked, answer = self._child.stdin, self._child.stdout
        assert asked and answer
        asked.write(oid.encode() + b"\n")
        asked.flush()
        head = answer.readline().split()
        if len(head) != 3 or head[1] != b"tree":
            raise StoreError(f"the directory {oid} is not in the store, or is damaged")
        data = answer.read(int(head[2]))
        answer.read(1)
        return data


def _parsed(data: bytes) -> dict[bytes, Entry]:
    entries, at = {}, 0
    while at < len(data):
        space = data.index(b" ", at)
        end_of_name = data.index(b"\0", space)
        oid = data[end_of_name + 1 : end_of_name + 21].hex()
        entries[data[space + 1 : end_of_name]] = Entry(int(data[at:space], 8), oid)
        at = end_of_name + 21
    return entries


def _change(head: bytes, name: bytes) -> Change:
    old_mode, new_mode, old, new, _ = head.lstrip(b":").split(b" ")
    return Change(os.fsdecode(name), _state(old_mode, old), _state(new_mode, new))


def _state(mode: bytes, oid: bytes) -> FileState | None:
    return FileState(int(mode, 8), oid.decode()) if mode != b"000000" else None
