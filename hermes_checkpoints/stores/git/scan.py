"""One look at a whole project: `git status` finds what changed, the rules decide, git stages it.

Owns the order of a look. Gives back the tree of everything the rules let in, the gaps, and the
permission bits worth keeping.

The common case, nothing changed, is a glance in a small project, and in a larger one a child:
`git status` over the index with its untracked cache. What they report goes through `lstat` and the
rules before any of it is hashed, so that a file over the cap is never opened. The index is
disposable: whatever is wrong with it, it is removed and made anew.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass

from hermes_checkpoints.errors import CaptureFailed, StoreError
from hermes_checkpoints.excludes import CaptureRules, is_secret_name
from hermes_checkpoints.records import GITLINK, FileState, Gap, GapReason, Project
from hermes_checkpoints.stores.base import NESTED_CONTENT
from hermes_checkpoints.stores.git.glance import MOST_FILES, Glances
from hermes_checkpoints.stores.git.index import Index, mark, write
from hermes_checkpoints.stores.git.judge import Judge, Work, ruled_directories, unlistable
from hermes_checkpoints.stores.git.layout import Layout
from hermes_checkpoints.stores.git.objects import EMPTY_TREE, MANY, Loose
from hermes_checkpoints.stores.git.pending import Pending
from hermes_checkpoints.stores.git.plumbing import GitFailed, Place, Plumbing
from hermes_checkpoints.stores.git.refs import Refs
from hermes_checkpoints.stores.git.smallfiles import read_bytes
from hermes_checkpoints.stores.git.staging import Staging
from hermes_checkpoints.stores.git.state import State
from hermes_checkpoints.stores.git.trees import Trees
from hermes_checkpoints.stores.git.untracked import Untracked
from hermes_checkpoints.stores.git.young import Young
from hermes_checkpoints.stores.reading import has_git

__all__ = ["Live", "Scanner"]

_STATUS = ["status", "--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=all"]
_PATCHES = 16
_MOST_PENDING = 4  # git compares each with the last checkpoint at every `status`, 0.3 ms a file


@dataclass(frozen=True, slots=True)
class Live:
    """Everything the rules let in, as one look found it; `find` tells what is at one path."""

    tree: str
    gaps: dict[str, Gap]
    modes: dict[str, int]
    whole: bool = True
    find: Callable[[str], FileState | None] = lambda path: None


class Scanner:
    """Looks at the projects of one store. The caller holds the project's lock.

    `on_damage` is called with the project's id when a look failed, before the second one.
    """

    on_damage: Callable[[str], object] | None = None

    def __init__(
        self, layout: Layout, plumbing: Plumbing, refs: Refs, loose: Loose, trees: Trees
    ) -> None:
        self._layout = layout
        self._plumbing = plumbing
        self._refs = refs
        self._loose = loose
        self._trees = trees
        self._glances = Glances()

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
        parts = (self._layout, self._plumbing, self._refs, self._loose, self._trees)
        return _Look(*parts, self._glances, project, rules).run()


class _Look:
    """One look."""

    def __init__(
        self,
        layout: Layout,
        plumbing: Plumbing,
        refs: Refs,
        loose: Loose,
        trees: Trees,
        glances: Glances,
        project: Project,
        rules: CaptureRules,
    ) -> None:
        self._layout = layout
        self._plumbing = plumbing
        self._refs = refs
        self._loose = loose
        self._trees = trees
        self._glances = glances
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
        self._state = State.load(self._state_path)
        self._began = time.time_ns()
        self._work = Work()
        self._index: Index | None = None
        self._young = Young(project.root, self._place.index, self._state, self._began)
        self._pending = Pending(project.root, self._state, self._young)

    def run(self) -> Live:
        self._remove_stale_lock()
        state, work, before = self._state, self._work, mark(self._place.index)
        settled = before is not None and state.index == before and state.rules == self._rules_mark()
        if self._drop_ended_repositories():
            settled = False
        if before is None:
            write(self._place.index, (), (), 0)  # without one, git keeps no untracked cache (2.39)
        glanced = self._glance(before) if settled and before else None
        if glanced is None and self._young.has_hidden_names():
            self._staging.forget_untracked()
        rows, words = self._status() if glanced is None else (glanced, b"")
        refreshed = before is not None and mark(self._place.index) != before
        rows += self._hidden_rules(rows, settled=settled)
        first = self._is_first(rows)
        if first:
            found = self._judge.stream(rows, work)
            self._staging.record_first(found, work, self._rules, self._young.since)
        else:
            told = set() if glanced is not None else {path for path, _ in rows}
            self._judge_all(rows, told, settled=settled)
            self._young.find_changed(self._judge, work, self._rules)
            if not settled and before is not None:
                self._check_all()
        if words:
            self._find_unreadable()
        if self._count(first) > self._rules.max_files:
            return self._refuse()
        most = _MOST_PENDING if glanced is None else MANY
        taken = self._taken(most) if settled and work and not first else None
        git_stages = taken is None and not first and bool(work or not settled)
        if git_stages:
            self._judge_pending()
        if git_stages and len(work.add) > MANY:
            self._staging.store_many(work, self._rules)
        elif git_stages:
            self._judge.open_each(work)
        self._note_gaps()
        aged = self._young.note(self._judge, work, refreshed=refreshed, first=first)
        if taken is not None or work or not settled:
            self._hold(taken or self._staged(first, settled), settled=settled)
        small = glanced is None and _entry_count(self._place.index) <= MOST_FILES
        if small:
            self._note_held()
        if work or not settled or refreshed or aged or small:
            state.index, state.looked = mark(self._place.index), self._began
            state.rules = self._rules_mark()
            state.save(self._state_path)
        return Live(state.tree, work.gaps, dict(state.modes), find=self._find)

    def _find(self, path: str) -> FileState | None:
        known = self._state.pending.get(path)
        if known:
            return FileState(known.mode, known.content)
        if self._index is None:
            self._index = Index.load(self._place.index)
        return self._index.find(path)

    def _glance(self, was: list[int]) -> list[tuple[str, bool]] | None:
        """What changed, told without a child; `None` if it can't be, and git is to be asked.

        Git would say if the state before is lost, so that is seen to as well.
        """
        known = self._glances.of(self._place.index, was)
        if known is None or not self._is_held():
            return None
        return known.rows(self._root, self._state.looked)

    def _is_held(self) -> bool:
        """Whether git would find the store, the last tree and the last checkpoint in order."""
        lost = {oid for oid in self._last() if not self._loose.has(oid)}
        return self._state.store == self._store() and lost <= set(self._state.packed)

    def _note_held(self) -> None:
        """Git has just read them."""
        self._state.packed = [oid for oid in self._last() if not self._loose.has(oid)]
        self._state.store = self._store()

    def _last(self) -> list[str]:
        tip = self._refs.read(self._layout.ref(self._project.id))
        return [self._state.tree, tip] if tip else [self._state.tree]

    def _store(self) -> list[list[int] | None]:
        names = ("config", "packed-refs", "objects/pack")
        return [mark(self._layout.path(name)) for name in names]

    def _judge_all(self, rows: list[tuple[str, bool]], told: set[str], *, settled: bool) -> None:
        """Judge what changed, less what is pending and as it was. `told` is what git told of.

        Git, to which a second is one moment, may not see all that changed.
        """
        hidden = [(path, True) for path in self._state.pending.keys() - dict(rows).keys()]
        for path, tracked in (*rows, *hidden):
            if not (settled and self._pending.holds(path)):
                self._judge.judge(path, tracked, self._work)
        self._work.stale |= self._work.tracked - told

    def _judge_pending(self) -> None:
        """Git is to stage: what is pending as well."""
        work = self._work
        judged = work.add.keys() | work.remove | work.gaps.keys()
        for path in self._state.pending.keys() - judged:
            self._judge.judge(path, True, work)
            work.stale.add(path)
        self._state.pending = {}

    def _taken(self, most: int) -> str | None:
        """The tree with contents that changed, without the index; `None` if git has to stage."""
        edits = self._pending.take(self._work, self._rules, self._loose, most=most)
        if edits is None:
            return None
        try:
            return self._trees.patch(self._state.tree, edits)
        except StoreError:  # a tree is lost: git writes what the index has, or says that it can't
            return None

    def _hold(self, tree: str, *, settled: bool) -> None:
        """Hold the tree by a ref, lest it be pruned."""
        if tree != self._state.tree or not settled:
            self._state.tree = tree
            self._refs.write(self._layout.own_ref("live", self._project.id), tree)

    def _staged(self, first: bool, settled: bool) -> str:
        """Have git bring the index up to date; the tree it stands for."""
        state, work = self._state, self._work
        few = settled and len(work.add) + len(work.remove) <= MANY and not work.nested
        if not first:
            self._staging.stage(work)
            for path in work.remove - work.add.keys():
                state.modes.pop(path, None)
                state.young.pop(path, None)
        if few and state.patches < _PATCHES:
            state.patches += 1
            return self._patched()
        state.patches = 0
        return self._staging.write_tree()

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
        What that index says of directories is noted by the way.
        """
        if mark(self._place.index) == self._state.index:
            return []
        index = Index.load(self._place.index)
        cache = Untracked.of(index.data)
        self._young.note_directories(cache)
        if cache is None:  # git keeps none of all files before 2.36
            there = ruled_directories(self._root)
            ruled = sorted(set(there) - self._staging.ignored_directories(filter(None, there)))
        else:
            ruled = cache.with_rules()
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
        the cap, secrets, and what was ignored only since.
        """
        work = self._work
        may_be_secret = self._rules.bars_secrets(named=False)
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
            elif may_be_secret and self._judge.is_secret(path):
                self._judge.judge(path, True, work)  # and taken out when its content is looked at
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


def _entry_count(index: str) -> int:
    """How many entries an index has: four bytes of its header."""
    try:
        return int.from_bytes(read_bytes(index, 12)[8:12], "big")
    except OSError:
        return 0
