"""Changing a project's index, and the trees that come of it.

Owns the commands that write the index. Git takes all paths it is given or none; a path that makes
it fail is found by halving, and becomes a gap. Packs and threads are loaded for many files only.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from hermes_checkpoints.excludes import CaptureRules
from hermes_checkpoints.records import Gap, GapReason
from hermes_checkpoints.stores.base import NESTED_CONTENT
from hermes_checkpoints.stores.git import index
from hermes_checkpoints.stores.git.judge import Judge, Work
from hermes_checkpoints.stores.git.plumbing import GitFailed, Place, Plumbing
from hermes_checkpoints.stores.reading import is_ignore_file

__all__ = ["Staging"]

_STAGE = ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"]
_IGNORED = ["ls-files", "-z", "--cached", "--ignored", "--exclude-standard"]


class Staging:
    """Writes one project's index during one look."""

    def __init__(self, plumbing: Plumbing, place: Place, objects: str, judge: Judge) -> None:
        self._plumbing = plumbing
        self._place = place
        self._objects = objects
        self._judge = judge

    def stage(self, work: Work) -> None:
        """Removals first, as a directory may have become a file."""
        # `update-index` looks at nothing that it takes for unchanged, so that leaves first.
        gone = [(b"0", "0" * 40, path) for path in (work.remove - work.add.keys()) | work.stale]
        links = [(b"160000", NESTED_CONTENT, path) for path in work.nested]
        self._put([*gone, *links])
        if work.nested:
            # Taken as valid, git does not even look for the nested repository's HEAD.
            valid = ["update-index", "-z", "--assume-unchanged", "--stdin"]
            self._plumbing.run(valid, self._place, given=_lines(sorted(work.nested)))
        self._add(sorted(work.add), work)
        if any(map(is_ignore_file, (*work.add, *work.remove))):
            self._drop_ignored(work)

    def forget_untracked(self) -> None:
        """Have the next `status` look into every directory."""
        self._plumbing.run(["update-index", "--no-untracked-cache"], self._place)

    def ignored(self) -> list[str]:
        """What the index has although a rule leaves it out.

        An ignore file in a directory that is let in stays: it says what else is hidden there.
        """
        out = self._plumbing.run(_IGNORED, self._place).out
        names = [os.fsdecode(name) for name in out.split(b"\0") if name]
        rules = {name: name.rpartition("/")[0] for name in names if is_ignore_file(name)}
        barred = self.ignored_directories(filter(None, rules.values()))
        return [name for name in names if name not in rules or rules[name] in barred]

    def ignored_directories(self, directories: Iterable[str]) -> set[str]:
        """Those of some directories that a rule leaves out."""
        # It knows no literal pathspecs (2.39); after "./" nothing is magic.
        given = b"".join(b"./%s\0" % os.fsencode(directory) for directory in set(directories))
        if not given:
            return set()
        check = ["check-ignore", "-z", "--stdin", "--no-index"]
        out = self._plumbing.run(check, self._place, given=given, ok=(0, 1), pathspecs=True).out
        return {os.fsdecode(name)[2:] for name in out.split(b"\0") if name}

    def write_tree(self) -> str:
        """The index as a tree, which the index then remembers."""
        return self._plumbing.run(["write-tree"], self._place).out.decode().strip()

    # ------------------------------------------------------------------ many at once

    def store_many(self, work: Work, rules: CaptureRules) -> None:
        """Contents of many changed files into one pack, so that git finds them stored."""
        from hermes_checkpoints.stores.git.bulk import record
        from hermes_checkpoints.stores.git.pack import PackWriter

        with PackWriter(self._objects) as writer:
            batch = record(self._place.root, work.add.items(), rules, writer)
            for gap in batch.gaps.values():
                work.leave_out(gap)
            if len(writer):
                writer.finish()

    def record_first(
        self,
        found: Iterator[tuple[str, os.stat_result]],
        work: Work,
        rules: CaptureRules,
        young: float,
    ) -> None:
        """A first snapshot: everything into one pack, and an index that says so.

        `found` is judged while earlier files are being read and compressed.
        """
        from hermes_checkpoints.stores.git.bulk import record, root_tree
        from hermes_checkpoints.stores.git.pack import PackWriter

        with PackWriter(self._objects) as writer:
            batch = record(self._place.root, found, rules, writer)
            for gap in batch.gaps.values():
                work.leave_out(gap)
            nested = sorted(work.nested)
            root_tree(batch.entries, nested, writer)
            writer.finish()
        links = [(os.fsencode(path), bytes.fromhex(NESTED_CONTENT)) for path in nested]
        index.write(self._place.index, batch.entries, links, young)

    # ------------------------------------------------------------------ small steps

    def _put(self, entries: Sequence[tuple[bytes, str, str]]) -> None:
        """Set entries by mode and id; mode 0 removes one."""
        if entries:
            lines = [b"%s %s\t%s\0" % (m, oid.encode(), os.fsencode(p)) for m, oid, p in entries]
            command = ["update-index", "-z", "--add", "--replace", "--index-info"]
            self._plumbing.run(command, self._place, given=b"".join(sorted(lines)))

    def _add(self, paths: Sequence[str], work: Work) -> None:
        if not paths:
            return
        try:
            self._plumbing.run(_STAGE, self._place, given=_lines(paths))
        except GitFailed as error:
            if len(paths) == 1:
                self._give_up(paths[0], error, work)
                return
            middle = len(paths) // 2
            self._add(paths[:middle], work)
            self._add(paths[middle:], work)

    def _give_up(self, path: str, error: GitFailed, work: Work) -> None:
        """A file that git can't take is a gap, unless it is the store that can't."""
        self._probe(work.add[path].st_size)
        again = Work()
        self._judge.judge(path, True, again)
        self._judge.open_each(again)
        work.gaps.update(again.gaps or {path: Gap(path, GapReason.VANISHED, error.words)})
        work.add.pop(path)
        work.remove.add(path)
        self._put([(b"0", "0" * 40, path)])

    def _probe(self, size: int) -> None:
        """Write as much as git had to. Raises `OSError` if the disk is full or read-only."""
        path = f"{self._objects}/tmp_obj_probe_{os.getpid()}"
        try:
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(bytes(size + 4096))
        finally:
            try:
                os.unlink(path)
            except FileNotFoundError:
                pass

    def _drop_ignored(self, work: Work) -> None:
        """An ignore file changed: what it covers now leaves the tree."""
        names = self.ignored()
        self._put([(b"0", "0" * 40, name) for name in names])
        for name in names:
            work.add.pop(name, None)
            work.remove.add(name)


def _lines(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)
