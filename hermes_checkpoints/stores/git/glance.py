"""A look at a small project without a child: what changed, if only contents of known files did.

Owns the comparison of the files and directories of an index with what `lstat` says of them now.
Whatever it can't tell for certain (a name that came or went, a rule that changed, a directory that
changed a moment before git read it) it leaves to git, which a large project is always left to:
each `lstat` gives up the interpreter's lock, which a busy thread then keeps for 5 ms.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass

from hermes_checkpoints.stores.git.index import Index, Seen, settled_at
from hermes_checkpoints.stores.git.objects import MANY
from hermes_checkpoints.stores.git.untracked import Untracked
from hermes_checkpoints.stores.reading import is_ignore_file

__all__ = ["MOST_FILES", "Glances", "Known"]

MOST_FILES = 2_000  # git, with a thread for each processor, is as fast from here on
_PATIENCE = 0.002  # seconds, and so much for each file:
_PER_FILE = 1e-5  # five times what it takes if no other thread is in the way
_LOW = 0xFFFFFFFF
_PROJECTS = 16


@dataclass(frozen=True, slots=True)
class Known:
    """An index laid out for comparing: paths with what was seen there.

    `untracked` are paths that no rule leaves out and that are not in the index, as they are gaps.
    `settled` is from when on the directories' times tell of every change, in nanoseconds since the
    epoch: two in one tick of the clock have one time.
    """

    files: dict[str, Seen]
    directories: dict[str, tuple[int, int, int]]
    untracked: tuple[str, ...]
    settled: int

    @classmethod
    def of(cls, index: Index) -> Known | None:
        """`None` if the index does not tell all that it takes. Raises `ValueError`."""
        cache, files = Untracked.of(index.data), index.seen()
        found = cache.directories() if cache else []
        if not found or files is None:
            return None
        seen = {one.path: one.seen for one in found if one.seen is not None}
        rules = {_in(one.path, ".gitignore") for one in found if one.ruled}
        above = {path.rpartition("/")[0] for path in files}
        if len(seen) < len(found) or not rules <= files.keys() or not above <= seen.keys():
            return None
        untracked = tuple(_in(one.path, name) for one in found for name in one.untracked)
        settled = max(settled_at(changed) for changed, _, _ in seen.values())
        return cls(files, seen, untracked, settled)

    def rows(self, root: str, looked: int) -> list[tuple[str, bool]] | None:
        """What `git status` would say: paths to judge, and whether the index has them.

        `None` if only git can tell. `looked` is when the index was last known to be true, in
        nanoseconds since the epoch.
        """
        if self.settled >= looked:
            return None
        changed: list[tuple[str, bool]] = []
        lstat, clock = os.lstat, time.perf_counter
        late = clock() + _PATIENCE + _PER_FILE * (len(self.files) + len(self.directories))
        try:
            for path, was in self.directories.items():
                info = lstat(f"{root}/{path}")
                if (info.st_ctime_ns, info.st_mtime_ns, info.st_ino & _LOW) != was:
                    return None
            for path, seen in self.files.items():
                info = lstat(f"{root}/{path}")
                if clock() > late:
                    return None
                if seen != (
                    info.st_ctime_ns,
                    info.st_mtime_ns,
                    info.st_ino & _LOW,
                    info.st_size & _LOW,
                ):
                    changed.append((path, True))
        except OSError:
            return None
        if len(changed) > MANY or any(is_ignore_file(path) for path, _ in changed):
            return None
        return changed + [(path, False) for path in self.untracked]


class Glances:
    """The indexes of small projects, laid out, as long as their files stay the same."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[list[int], Known | None]] = {}
        self._guard = threading.Lock()

    def of(self, path: str, was: list[int]) -> Known | None:
        """The index in a file that `mark` told of; `None` if it is large or unusual."""
        with self._guard:
            known = self._known.pop(path, None)
        if known is None or known[0] != was:
            index = Index.load(path)
            known = (was, Known.of(index) if index.count <= MOST_FILES else None)
        with self._guard:
            self._known[path] = known
            if len(self._known) > _PROJECTS:
                del self._known[next(iter(self._known))]
        return known[1]


def _in(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name
