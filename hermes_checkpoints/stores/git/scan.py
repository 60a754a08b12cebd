"""One look at a whole project: `git status` finds what changed, the rules decide, git stages it.

Owns the order of a look and the file that says what the index stands for (`_State`). Gives back the
tree of everything the rules let in, the gaps, and the permission bits worth keeping.

The common case, nothing changed, is one child: `git status` over the index with its untracked
cache. What it reports goes through `lstat` and the rules before any of it is hashed, so that a
file over the cap is never opened. The index is disposable: whatever is wrong with it, it is
removed and made anew.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hermes_checkpoints.errors import CaptureFailed, StoreError
from hermes_checkpoints.excludes import CaptureRules, is_secret_name
from hermes_checkpoints.records import GITLINK, Gap, GapReason, Project, content_id
from hermes_checkpoints.stores.base import NESTED_CONTENT
from hermes_checkpoints.stores.git.bulk import MANY
from hermes_checkpoints.stores.git.index import Index, mark, write
from hermes_checkpoints.stores.git.judge import Judge, Work, ruled_directories, unlistable
from hermes_checkpoints.stores.git.layout import Layout, read_json, write_json
from hermes_checkpoints.stores.git.objects import EMPTY_TREE
from hermes_checkpoints.stores.git.plumbing import GitFailed, Place, Plumbing
from hermes_checkpoints.stores.git.refs import Refs
from hermes_checkpoints.stores.git.staging import Staging
from hermes_checkpoints.stores.git.trees import Trees
from hermes_checkpoints.stores.git.untracked import directories_with_rules
from hermes_checkpoints.stores.reading import Contents, has_git, note_directory, odd_mode, read

__all__ = ["Live", "Scanner"]

_STATUS = ["status", "--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=all"]
_YOUNG = 2  # seconds: clocks of file systems tick as slowly as that
_TICKS = 20_000_000  # nanoseconds; inode times advance by 1 to 10 ms at a time
_PATCHES = 16
_FORMAT = 2


@dataclass(frozen=True, slots=True)
class Live:
    """Everything the rules let in, as one look found it."""

    tree: str
    gaps: dict[str, Gap]
    modes: dict[str, int]
    whole: bool = True


@dataclass(slots=True)
class _State:
    """What the index stands for, as of the last look.

    `index` marks the file it is true of; `rules` names the rules it was made under; `looked` is
    when, in seconds. `young` are paths whose inodes had just changed then, with what `lstat` said
    in nanoseconds: git (2.39, Debian) compares whole seconds, so another change in the same one
    would not show if it kept size and mtime. An empty list: too young even for that. `None`: git
    itself was told to look again. `patches` counts the
    looks since git last wrote the tree. `ruled` are the directories that have an ignore file.
    """

    tree: str = ""
    index: list[int] | None = None
    rules: str = ""
    looked: int = 0
    nested: list[str] = field(default_factory=list)
    special: list[str] = field(default_factory=list)
    modes: dict[str, int] = field(default_factory=dict)
    young: dict[str, list[int] | None] = field(default_factory=dict)
    ruled: list[str] = field(default_factory=list)
    patches: int = 0

    @classmethod
    def load(cls, path: str) -> _State:
        value = read_json(path)
        if not value or value.pop("format", None) != _FORMAT:
            return cls()
        return cls(**value)

    def save(self, path: str) -> None:
        fields: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        write_json(path, {**fields, "format": _FORMAT})


class Scanner:
    """Looks at the projects of one store. The caller holds the project's lock.

    `on_damage` is called with the project's id when a look failed, before the second one.
    """

    on_damage: Callable[[str], object] | None = None

    def __init__(self, layout: Layout, plumbing: Plumbing, refs: Refs, trees: Trees) -> None:
        self._layout = layout
        self._plumbing = plumbing
        self._refs = refs
        self._trees = trees

    def look(self, project: Project, rules: CaptureRules) -> Live:
        """The project's state now. Raises `CaptureFailed`."""
        damage = (GitFailed, ValueError, TypeError, struct.error)
        try:
            return self._look(project, rules)
        except damage as first:
            # A corrupt index, one that names a lost blob, or files that changed under the look:
            # all are cured by a new index and one more look.
            self.forget_index(project.id)
            if self.on_damage:
                self.on_damage(project.id)
            try:
                return self._look(project, rules)
            except damage as error:
                raise CaptureFailed(f"{project.root} could not be recorded: {error}") from first

    def forget_index(self, project_id: str) -> None:
        """Throw the index away; the next look makes it anew."""
        index = self._layout.index(project_id)
        for path in (index, f"{index}.lock", self._layout.gitdir(project_id) + "/state.json"):
            try:
                os.unlink(path)
            except OSError:
                pass
        if os.path.isdir(self._layout.gitdir(project_id)):
            self._layout.set_head(project_id, "")

    def _look(self, project: Project, rules: CaptureRules) -> Live:
        parts = (self._layout, self._plumbing, self._refs, self._trees)
        return _Look(*parts, project, rules).run()


class _Look:
    """One look."""

    def __init__(
        self,
        layout: Layout,
        plumbing: Plumbing,
        refs: Refs,
        trees: Trees,
        project: Project,
        rules: CaptureRules,
    ) -> None:
        self._layout = layout
        self._plumbing = plumbing
        self._refs = refs
        self._trees = trees
        self._project = project
        self._rules = rules
        self._root = project.root
        self._place = Place(
            gitdir=layout.gitdir(project.id),
            root=project.root,
            index=layout.index(project.id),
            excludes=layout.excludes_file((*rules.exclude, *layout.own_patterns(project.root))),
        )
        self._judge = Judge(project.root, rules)
        self._staging = Staging(plumbing, self._place, layout.path("objects"), self._judge)
        self._state_path = f"{self._place.gitdir}/state.json"
        self._state = _State.load(self._state_path)
        self._began = int(time.time())
        self._work = Work()
        self._first = False

    def run(self) -> Live:
        self._remove_stale_lock()
        state, work, before = self._state, self._work, mark(self._place.index)
        settled = before is not None and state.index == before and state.rules == self._rules_mark()
        if self._drop_ended_repositories():
            settled = False
        if before is None:
            write(self._place.index, (), (), 0)  # without one, git keeps no untracked cache (2.39)
        rows, words = self._status()
        rows += self._hidden_rules(rows, settled=settled)
        first = self._first = self._is_first(rows)
        if first:
            young = self._began - _YOUNG
            self._staging.record_first(self._judge.stream(rows, work), work, self._rules, young)
        else:
            for path, tracked in rows:
                self._judge.judge(path, tracked, work)
            self._check_young()
            if not settled and before is not None:
                self._check_all()
        if words:
            self._find_unreadable()
        if self._count(first) > self._rules.max_files:
            return self._refuse()
        if not first and len(work.add) > MANY:
            self._staging.store_many(work, self._rules)
        elif not first:
            self._judge.open_each(work)
        self._note_gaps()
        refreshed = before is not None and mark(self._place.index) != before
        aged = self._note_modes(refreshed=refreshed)
        if work or not settled:
            self._stage(first, settled)
        if work or not settled or refreshed or aged:
            state.index, state.looked = mark(self._place.index), self._began
            state.rules = self._rules_mark()
            state.save(self._state_path)
        return Live(state.tree, work.gaps, dict(state.modes))

    def _stage(self, first: bool, settled: bool) -> None:
        """Bring the index up to date, and hold what it stands for by a ref."""
        state, work = self._state, self._work
        few = settled and len(work.add) + len(work.remove) <= MANY and not work.nested
        if not first:
            self._staging.stage(work)
            for path in work.remove - work.add.keys():
                state.modes.pop(path, None)
                state.young.pop(path, None)
        if few and state.patches < _PATCHES:
            state.tree = self._patched()
            state.patches += 1
        else:
            state.tree = self._staging.write_tree()
            state.patches = 0
        self._refs.write(self._layout.own_ref("live", self._project.id), self._state.tree)

    def _patched(self) -> str:
        """The tree of an index that differs in a few paths from the one before.

        `write-tree` reads and writes the whole index for that: 35 ms for 50,000 files, this 4 ms.
        Every so often, and for many, it is used all the same, so that the index remembers its
        trees: without, the next `status` reads them all to compare.
        """
        index = Index.load(self._place.index)
        paths = (*self._work.remove, *self._work.add)
        edits = {path: index.find(path) for path in paths}
        try:
            return self._trees.patch(self._state.tree, edits)
        except StoreError:  # a tree is lost: git writes what the index has, or says that it can't
            return self._staging.write_tree()

    # ------------------------------------------------------------------ what git says

    def _status(self) -> tuple[list[tuple[str, bool]], bytes]:
        """Paths that differ from the index, with whether they are in it; and git's warnings."""
        result = self._plumbing.run(_STATUS, self._place)
        rows: list[tuple[str, bool]] = []
        for line in result.out.split(b"\0"):
            kind = line[:2]
            if kind == b"? ":
                rows.append((os.fsdecode(line[2:]), False))
            elif kind == b"1 " and line[3:4] != b".":
                rows.append((os.fsdecode(line.split(b" ", 8)[8]), True))
            elif kind == b"u ":
                rows.append((os.fsdecode(line.split(b" ", 10)[10]), True))
        return rows, result.err

    def _hidden_rules(
        self, rows: list[tuple[str, bool]], *, settled: bool
    ) -> list[tuple[str, bool]]:
        """Ignore files that ignore themselves: what they hide can't be judged without them.

        A new one shows in its directory, for which git rewrites the index; no other is looked at.
        """
        if mark(self._place.index) == self._state.index:
            return []
        index = Index.load(self._place.index)
        ruled = directories_with_rules(index.data)
        if ruled is None:  # git keeps no untracked cache of all files before 2.36
            there = ruled_directories(self._root)
            ruled = sorted(set(there) - self._staging.ignored_directories(filter(None, there)))
        known = set(self._state.ruled) if settled else set()
        self._state.ruled = ruled
        paths = [f"{d}/.gitignore" if d else ".gitignore" for d in ruled if d not in known]
        told = {path for path, _ in rows}
        return [(p, False) for p in paths if p not in told and index.find(p) is None]

    def _remove_stale_lock(self) -> None:
        """A lock of git's on this index is a dead process's: every writer holds ours."""
        try:
            os.unlink(self._place.index + ".lock")
        except FileNotFoundError:
            pass

    def _is_first(self, rows: list[tuple[str, bool]]) -> bool:
        """Whether to record all at once: nothing is known yet, and it is much but not too much."""
        many = MANY < len(rows) <= self._rules.max_files
        return many and _entry_count(self._place.index) == 0

    def _count(self, first: bool) -> int:
        """How many files the project has, by the index and what is to be done to it."""
        work = self._work
        if first:
            return len(work.add)
        new = sum(path not in work.tracked for path in work.add)
        return _entry_count(self._place.index) + new - len(work.remove)

    def _refuse(self) -> Live:
        why = f"more than {self._rules.max_files} files"
        return Live(EMPTY_TREE, {".": Gap(".", GapReason.TOO_MANY, why)}, {}, whole=False)

    # ------------------------------------------------------------------ what git can't say

    def _drop_ended_repositories(self) -> bool:
        """Drop the gitlink of what is no repository any more: git never looks below one."""
        ended = Work()
        for path in self._state.nested:
            full = f"{self._root}/{path}"
            if os.path.islink(full) or not has_git(full):
                ended.remove.add(path)
        if ended:
            self._state.nested = [p for p in self._state.nested if p not in ended.remove]
            self._staging.stage(ended)
        return bool(ended)

    def _check_all(self) -> None:
        """Hold every entry of the index to the rules in force: they changed, or it is not ours.

        Another program's index has gitlinks with the nested repository's own commit, files over
        the cap, and what was ignored only since.
        """
        work = self._work
        for entry in Index.load(self._place.index):
            path = entry.path
            if path in work.remove or path in work.add:
                continue
            if entry.state.mode == GITLINK:
                if entry.state.content == NESTED_CONTENT and has_git(f"{self._root}/{path}"):
                    self._state.nested = sorted({*self._state.nested, path})
                else:
                    self._judge.judge(path, True, work)
            elif entry.size > self._rules.max_file_bytes or is_secret_name(path):
                self._judge.judge(path, True, work)
        for name in self._staging.ignored():
            work.remove.add(name)
            work.add.pop(name, None)

    def _find_unreadable(self) -> None:
        """Git warned: find what it could not look at, and never take that for deleted."""
        work = self._work
        for path, why in self._unignored(unlistable(self._root)).items():
            work.gaps[path] = Gap(path, GapReason.UNREADABLE, why)
        for entry in Index.load(self._place.index):
            if entry.state.mode == GITLINK or entry.path in work.remove:
                continue
            try:
                os.lstat(f"{self._root}/{entry.path}")
            except PermissionError as error:
                gap = Gap(entry.path, GapReason.UNREADABLE, error.strerror or "")
                if not any(known.covers(entry.path) for known in work.gaps.values()):
                    work.gaps[entry.path] = gap
                work.remove.add(entry.path)
            except OSError:
                pass

    def _unignored(self, closed: dict[str, str]) -> dict[str, str]:
        """Those of some directories that no rule leaves out."""
        if not closed:
            return {}
        # It knows no literal pathspecs (2.39); after "./" nothing is magic.
        asked = b"".join(b"./%s/\0" % os.fsencode(path) for path in closed if path)
        check = ["check-ignore", "-z", "--stdin", "--no-index"]
        out = self._plumbing.run(check, self._place, given=asked, ok=(0, 1), pathspecs=True).out
        ignored = {os.fsdecode(name)[2:].rstrip("/") for name in out.split(b"\0") if name}
        return {path or ".": why for path, why in closed.items() if path not in ignored}

    # ------------------------------------------------------------------ modes

    def _note_modes(self, *, refreshed: bool) -> bool:
        """Notice every chmod, also one that git takes for nothing (0644 to 0600).

        Such a one shows in the ctime, for which git rewrites the index. So only a rewritten index
        is looked at, and in it only entries not older than the last look. Returns whether there
        is something new to remember.
        """
        state, work = self._state, self._work
        paths, old = set(state.young), state.young
        if refreshed:
            touched = Index.load(self._place.index).touched_since(state.looked - _YOUNG)
            paths.update(map(os.fsdecode, touched))
        paths -= work.add.keys() | work.remove | work.gaps.keys()
        state.young = {}
        for path in paths:
            self._note_mode(path, self._peek(path))
        for path, info in work.add.items():
            self._note_mode(path, info)
        for directory, mode in self._judge.directories.items():
            note_directory(state.modes, directory, mode)
        gone = [d for d, mode in self._judge.directories.items() if mode is None]
        for top in (*work.nested, *gone):
            for path in [p for p in state.modes if p.startswith(top + "/")]:
                del state.modes[path]
        return state.young != old

    def _note_mode(self, path: str, info: os.stat_result | None) -> None:
        """Remember the mode if it is odd, and the path if it is so young that it may yet change."""
        odd = odd_mode(info.st_mode) if info else None
        if odd is None:
            self._state.modes.pop(path, None)
        else:
            self._state.modes[path] = odd
        if info and info.st_ctime >= self._began - _YOUNG:
            self._state.young[path] = None if self._first else _stamp(info)

    def _check_young(self) -> None:
        """Find changes of young files that whole seconds hide from git, by nanoseconds."""
        work, index = self._work, None
        known = work.add.keys() | work.remove | work.gaps.keys()
        for path, seen in self._state.young.items():
            info = self._peek(path) if seen is not None and path not in known else None
            if info is None or (seen and seen == _stamp(info)):
                continue
            found = read(self._root, path, self._rules, named=False)
            index = index or Index.load(self._place.index)
            entry = index.find(path)
            if entry and isinstance(found, Contents) and content_id(found.data) != entry.content:
                self._judge.judge(path, True, work)
                if path in work.add:
                    work.stale.add(path)

    def _peek(self, path: str) -> os.stat_result | None:
        try:
            return os.lstat(f"{self._root}/{path}")
        except OSError:
            return None

    # ------------------------------------------------------------------ gaps

    def _note_gaps(self) -> None:
        """Nested repositories and special files known from before are gaps each time."""
        state, work = self._state, self._work
        state.special = self._judge.special_files(work, state.special, first=not state.index)
        for path in state.special:
            work.gaps.setdefault(path, Gap(path, GapReason.SPECIAL_FILE))
        state.nested = sorted({*state.nested, *work.nested})
        for path in state.nested:
            work.gaps[path] = Gap(path, GapReason.NESTED_REPOSITORY)

    def _rules_mark(self) -> str:
        """Names the rules in force, all that is outside the project's own ignore files."""
        exclude = mark(self._layout.path("info", "exclude"))
        rules = self._rules
        return f"{self._place.excludes} {exclude} {rules.max_file_bytes} {rules.secrets}"


def _stamp(info: os.stat_result) -> list[int]:
    """What changes with a file; empty if it changed within the last ticks of the kernel's clock."""
    if time.time_ns() - info.st_ctime_ns < _TICKS:
        return []
    return [info.st_ctime_ns, info.st_mtime_ns, info.st_size, info.st_ino]


def _entry_count(index: str) -> int:
    """How many entries an index has: four bytes of its header."""
    try:
        with open(index, "rb") as file:
            return int.from_bytes(file.read(12)[8:12], "big")
    except OSError:
        return 0
