"""Files that just changed, and their modes: what git, to which a second is one moment, can't tell.

Owns which files are too young to be taken for what they were, and the permission bits that git
does not keep. Every path is looked at once in a look.
"""

from __future__ import annotations

import os

from hermes_checkpoints.excludes import CaptureRules
from hermes_checkpoints.records import content_id
from hermes_checkpoints.stores.git.index import Index, mark, settled_at
from hermes_checkpoints.stores.git.judge import Judge, Work
from hermes_checkpoints.stores.git.state import State
from hermes_checkpoints.stores.git.untracked import Untracked
from hermes_checkpoints.stores.reading import Contents, note_directory, odd_mode, read

__all__ = ["YOUNG", "Young"]

YOUNG = 2  # seconds


class Young:
    """The young files of one project in one look, which began at `began` nanoseconds."""

    def __init__(self, root: str, index: str, state: State, began: int) -> None:
        self._root = root
        self._index = index
        self._state = state
        self._began = began
        self._seen: dict[str, os.stat_result | None] = {}

    @property
    def since(self) -> int:
        """Files that changed in this second or later are young."""
        return self._began // 10**9 - YOUNG

    def find_changed(self, judge: Judge, work: Work, rules: CaptureRules) -> None:
        """Find changes of young files that whole seconds hide from git, by nanoseconds."""
        index = None
        known = work.add.keys() | work.remove | work.gaps.keys() | self._state.pending.keys()
        for path, stamp in self._state.young.items():
            info = self.lstat(path) if stamp is not None and path not in known else None
            if info is None or (stamp and stamp == self.stamp(info)):
                continue
            found = read(self._root, path, rules, named=False)
            index = index or Index.load(self._index)
            entry = index.find(path)
            if entry and isinstance(found, Contents) and content_id(found.data) != entry.content:
                judge.judge(path, True, work)
                if path in work.add:
                    work.stale.add(path)

    def has_hidden_names(self) -> bool:
        """Whether a directory changed again in the second in which git looked into it.

        Its new names git would not see, by its untracked cache, until the directory changes again;
        but for an index as old as that, in which git itself takes it for too young.
        """
        index = mark(self._index)
        return any(
            index is not None
            and times[0] // 10**9 < index[2] // 10**9
            and (info := self.lstat(path)) is not None
            and [info.st_ctime_ns, info.st_mtime_ns] != times
            and info.st_ctime_ns // 10**9 == times[0] // 10**9
            for path, times in self._state.young_directories.items()
        )

    def note_directories(self, cache: Untracked | None) -> None:
        """Remember those that are young, by the cache that git has just written."""
        found = cache.changed_since(self.since) if cache else {}
        self._state.young_directories = {path: list(times) for path, times in found.items()}

    def note(self, judge: Judge, work: Work, *, refreshed: bool, first: bool) -> bool:
        """Remember which files are young now, and every odd mode; whether anything is new.

        A chmod that git takes for nothing (0644 to 0600) shows in the ctime, for which git rewrites
        the index. So only a rewritten index is looked at, and in it only entries not older than the
        last look. `first`: git itself was told to look again at what is young.
        """
        state = self._state
        paths, old = set(state.young), (state.young, state.young_directories)
        state.young_directories = {
            path: times
            for path, times in state.young_directories.items()
            if times[0] // 10**9 >= self.since
        }
        if refreshed:
            touched = Index.load(self._index).touched_since(state.looked // 10**9 - YOUNG)
            paths.update(map(os.fsdecode, touched))
        paths -= work.add.keys() | work.remove | work.gaps.keys()
        state.young = {}
        for path in paths:
            self._note(path, self.lstat(path), first=first)
        for path, info in work.add.items():
            self._note(path, info, first=first)
        for directory, mode in judge.directories.items():
            note_directory(state.modes, directory, mode)
        gone = [d for d, mode in judge.directories.items() if mode is None]
        for top in (*work.nested, *gone):
            for path in [p for p in state.modes if p.startswith(top + "/")]:
                del state.modes[path]
        return (state.young, state.young_directories) != old

    def _note(self, path: str, info: os.stat_result | None, *, first: bool) -> None:
        odd = odd_mode(info.st_mode) if info else None
        if odd is None:
            self._state.modes.pop(path, None)
        else:
            self._state.modes[path] = odd
        if info and info.st_ctime >= self.since:
            self._state.young[path] = None if first else self.stamp(info)

    def stamp(self, info: os.stat_result) -> list[int]:
        """What changes with a file; empty if it changed so shortly before this look read it."""
        if self._began < settled_at(info.st_ctime_ns):
            return []
        return [info.st_ctime_ns, info.st_mtime_ns, info.st_size, info.st_ino]

    def lstat(self, path: str) -> os.stat_result | None:
        """What is at a path, looked at once."""
        if path not in self._seen:
            try:
                self._seen[path] = os.lstat(f"{self._root}/{path}")
            except OSError:
                self._seen[path] = None
        return self._seen[path]
