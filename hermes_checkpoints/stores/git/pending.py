"""Other contents of known files, which the index does not have yet.

To write an index for one file costs as much as to write it for all: 40 ms where there are 50,000.
So contents are stored and the tree is made of them, and the file beside the index (`state`) says
which; git stages them together with the first change that needs it.
"""

from __future__ import annotations

from hermes_checkpoints.excludes import CaptureRules
from hermes_checkpoints.records import FileState
from hermes_checkpoints.stores.git.judge import Work
from hermes_checkpoints.stores.git.objects import Loose
from hermes_checkpoints.stores.git.state import PendingFile, State
from hermes_checkpoints.stores.git.young import Young
from hermes_checkpoints.stores.reading import Contents, is_ignore_file, read

__all__ = ["Pending"]


class Pending:
    """The pending files of one project in one look."""

    def __init__(self, root: str, state: State, young: Young) -> None:
        self._root = root
        self._state = state
        self._young = young

    def holds(self, path: str) -> bool:
        """Whether a file is pending, and as it was when its contents were stored."""
        known = self._state.pending.get(path)
        info = self._young.lstat(path) if known else None
        return bool(known and info and known.stamp and known.stamp == self._young.stamp(info))

    def take(
        self, work: Work, rules: CaptureRules, loose: Loose, *, most: int
    ) -> dict[str, FileState] | None:
        """Store what is to be added; the states that are others than before.

        `None`, with nothing taken, if it is more than contents of known files, or more than `most`
        would be pending.
        """
        paths = self._state.pending.keys() | work.add.keys()
        known = work.tracked >= work.add.keys() and len(paths) <= most
        if not known or work.remove or work.nested or any(map(is_ignore_file, work.add)):
            return None
        taken: dict[str, PendingFile] = {}
        for path, info in work.add.items():
            found = read(self._root, path, rules, named=False)
            if not isinstance(found, Contents):
                return None
            oid = loose.write(b"blob", found.data)
            taken[path] = PendingFile(found.mode, oid, self._young.stamp(info))
        before = self._state.pending
        edits = {
            path: FileState(one.mode, one.content)
            for path, one in taken.items()
            if path not in before or before[path][:2] != one[:2]
        }
        self._state.pending = {**before, **taken}
        return edits
