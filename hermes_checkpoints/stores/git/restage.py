"""Bringing an index up to date without a child, where no more changed than contents of files.

Owns the order: contents, then trees, then the index that tells of both, so that a kill in between
leaves an index which is true, or one that the next look takes for another program's. Git stages
all else.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass

from hermes_checkpoints.errors import StoreError
from hermes_checkpoints.excludes import CaptureRules
from hermes_checkpoints.records import FileState
from hermes_checkpoints.stores.git.index import Index, NewEntry, mark, replace
from hermes_checkpoints.stores.git.judge import Work
from hermes_checkpoints.stores.git.objects import Loose
from hermes_checkpoints.stores.git.trees import Trees
from hermes_checkpoints.stores.reading import Contents, is_ignore_file, read

__all__ = ["Restage"]


@dataclass(frozen=True, slots=True)
class Restage:
    """Restages for one project: its root and index file, and where objects are written."""

    root: str
    index: str
    loose: Loose
    trees: Trees

    def __call__(
        self, tree: str, work: Work, rules: CaptureRules, checked: Collection[str]
    ) -> str | None:
        """The tree that comes of the index's `tree`; `None`, with nothing staged, if git has to.

        `checked` are the young files known to be as the index has them: git would look into them by
        the age of the index, which is a new one then.
        """
        known = work.tracked >= work.add.keys()
        if not known or work.remove or work.nested or any(map(is_ignore_file, work.add)):
            return None
        entries, states = [], {}
        for path, info in work.add.items():
            found = read(self.root, path, rules, named=False)
            if not isinstance(found, Contents):
                return None
            oid = self.loose.write(b"blob", found.data)
            states[path] = FileState(found.mode, oid)
            entries.append(NewEntry(os.fsencode(path), found.mode, bytes.fromhex(oid), info))
        index, was = Index.load(self.index), mark(self.index)
        young = index.touched_in(was[2] // 10**9) if was else ()
        smudged = [name for name in young if os.fsdecode(name) not in checked]
        try:
            written = self.trees.rewritten(tree, states)
        except StoreError:  # a tree is lost: git writes what the index has, or says that it can't
            return None
        changed = index.changed(entries, smudged, written)
        if changed is None:
            return None
        replace(self.index, changed)
        return written[b""]
