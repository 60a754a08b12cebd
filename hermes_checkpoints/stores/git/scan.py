"""One look at a whole project: `git status` finds what changed, the rules decide, git stages it.

Owns the project's index and the file that says what it stands for (`_State`). Gives back the tree
of everything the rules let in, the gaps, and the permission bits worth keeping.

The common case, nothing changed, is one child: `git status` over the index with its untracked
cache. What it reports goes through `lstat` and the rules before any of it is hashed, so that a
file over the cap is never opened. The index is disposable: whatever is wrong with it, it is
removed and made anew.
"""

from __future__ import annotations

import os
import stat
import struct
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hermes_checkpoints.errors import CaptureFailed
from hermes_checkpoints.excludes import CaptureRules, is_secret_content, is_secret_name
from hermes_checkpoints.records import GITLINK, Gap, GapReason, Project
from hermes_checkpoints.stores.base import NESTED_CONTENT
from hermes_checkpoints.stores.git.bulk import MANY, record, root_tree
from hermes_checkpoints.stores.git.index import Index, mark
from hermes_checkpoints.stores.git.index import write as write_index
from hermes_checkpoints.stores.git.layout import Layout, read_json, write_json
from hermes_checkpoints.stores.git.objects import EMPTY_TREE
from hermes_checkpoints.stores.git.pack import PackWriter
from hermes_checkpoints.stores.git.plumbing import GitFailed, Place, Plumbing
from hermes_checkpoints.stores.git.refs import Refs
from hermes_checkpoints.stores.reading import has_git, odd_mode

__all__ = ["Live", "Scanner"]

_STATUS = ["status", "--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=all"]
_STAGE = ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"]
_OPEN = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_YOUNG = 2  # seconds: clocks of file systems tick as slowly as that
_FORMAT = 1


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
    when, in seconds. `young` are paths whose inodes had just changed then: another change in the
    same second would not show, as git (2.39, Debian) compares whole seconds.
    """

    tree: str = ""
    index: list[int] | None = None
    rules: str = ""
    looked: int = 0
    nested: list[str] = field(default_factory=list)
    special: list[str] = field(default_factory=list)
    modes: dict[str, int] = field(default_factory=dict)
    young: list[str] = field(default_factory=list)

    @classmethod
    def load(cls, path: str) -> _State:
        value = read_json(path)
        if not value or value.pop("format", None) != _FORMAT:
            return cls()
        return cls(**value)

    def save(self, path: str) -> None:
        fields: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        write_json(path, {**fields, "format": _FORMAT})


@dataclass(slots=True)
class _Work:
    """What one look wants done to the index."""

    add: dict[str, os.stat_result] = field(default_factory=dict)
    tracked: set[str] = field(default_factory=set)
    remove: set[str] = field(default_factory=set)
    nested: set[str] = field(default_factory=set)
    gaps: dict[str, Gap] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.add or self.remove or self.nested)


class Scanner:
    """Looks at the projects of one store. The caller holds the project's lock."""

    def __init__(self, layout: Layout, plumbing: Plumbing, refs: Refs) -> None:
        self._layout = layout
        self._plumbing = plumbing
        self._refs = refs

    def look(self, project: Project, rules: CaptureRules) -> Live:
        """The project's state now. Raises `CaptureFailed`."""
        try:
            return _Look(self._layout, self._plumbing, self._refs, project, rules).run()
        except (GitFailed, ValueError, struct.error) as first:
            # A corrupt index, one that names a lost blob, or files that changed under the look:
            # all are cured by a new index and one more look.
            self.forget_index(project.id)
            try:
                return _Look(self._layout, self._plumbing, self._refs, project, rules).run()
            except (GitFailed, ValueError, struct.error) as error:
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


class _Look:
    """One look."""

    def __init__(
        self,
        layout: Layout,
        plumbing: Plumbing,
        refs: Refs,
        project: Project,
        rules: CaptureRules,
    ) -> None:
        self._layout = layout
        self._plumbing = plumbing
        self._refs = refs
        self._project = project
        self._rules = rules
        self._root = project.root
        self._place = Place(
            gitdir=layout.gitdir(project.id),
            root=project.root,
            index=layout.index(project.id),
            excludes=layout.excludes_file(rules.exclude),
        )
        self._state_path = f"{self._place.gitdir}/state.json"
        self._state = _State.load(self._state_path)
        self._chains: dict[str, str] = {"": _REAL}
        self._aged = False

    def run(self) -> Live:
        self._remove_stale_lock()
        state, before, began = self._state, mark(self._place.index), int(time.time())
        settled = before is not None and state.index == before and state.rules == self._rules_mark()
        work = _Work()
        self._check_nested(work)
        if work:
            settled = False
            self._stage(work)
            work = _Work()
        rows, words = self._status()
        for path, tracked in rows:
            self._judge(path, tracked, work)
        if not settled and before is not None:
            self._check_all(work)
        if words:
            self._find_unreadable(work)
        if self._too_many(work):
            return self._refuse()
        first = _count(self._place.index) == 0 and len(work.add) > MANY
        if len(work.add) <= MANY:
            self._open_each(work)
        elif not first:
            self._store_many(work)
        self._note_gaps(work)
        refreshed = before is not None and mark(self._place.index) != before
        self._note_modes(work, refreshed, began)
        if work or not settled:
            if first:
                self._record_all(work, began)
            else:
                self._stage(work)
            state.tree = self._write_tree()
            self._refs.write(self._layout.own_ref("live", self._project.id), state.tree)
        if work or not settled or refreshed or self._aged:
            state.index, state.looked = mark(self._place.index), began
            state.rules = self._rules_mark()
            state.save(self._state_path)
        return Live(state.tree, work.gaps, dict(state.modes))

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

    def _remove_stale_lock(self) -> None:
        """A lock of git's on this index is a dead process's: every writer holds ours."""
        try:
            os.unlink(self._place.index + ".lock")
        except FileNotFoundError:
            pass

    # ------------------------------------------------------------------ judging

    def _judge(self, path: str, tracked: bool, work: _Work) -> None:
        """Decide what becomes of one path that git reported."""
        directory, _, _ = path.rstrip("/").rpartition("/")
        chain = self._chain(directory)
        if chain not in (_REAL, _GONE):  # inside a nested repository, or below what can't be read
            self._outside(chain, work)
            return
        info = self._lstat(path, work) if chain == _REAL else None
        if info is None:
            if tracked:
                work.remove.add(path)
            return
        if stat.S_ISDIR(info.st_mode):
            self._judge_directory(path.rstrip("/"), tracked, work)
            return
        gap = self._barred(path, info)
        if gap:
            work.gaps[path] = gap
            if tracked:
                work.remove.add(path)
        else:
            work.add[path] = info
            if tracked:
                work.tracked.add(path)

    def _judge_directory(self, path: str, tracked: bool, work: _Work) -> None:
        if has_git(os.path.join(self._root, path)):
            work.nested.add(path)
        elif tracked:
            work.remove.add(path)

    def _outside(self, where: str, work: _Work) -> None:
        kind, path = where[0], where[1:]
        if kind == _NESTED:
            work.nested.add(path)
        else:
            work.gaps[path] = Gap(path, GapReason.UNREADABLE, "its directory cannot be read")

    def _lstat(self, path: str, work: _Work) -> os.stat_result | None:
        try:
            return os.lstat(os.path.join(self._root, path.rstrip("/")))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            work.gaps[path] = Gap(path, GapReason.UNREADABLE, error.strerror or "")
            return None

    def _barred(self, path: str, info: os.stat_result) -> Gap | None:
        """The gap a path is by its name, kind and size."""
        if any(part.lower() == ".git" for part in path.split("/")):
            return Gap(path, GapReason.UNSUPPORTED_NAME)
        reason = self._rules.gap_for(path, info.st_mode, info.st_size)
        if reason:
            detail = f"{info.st_size} bytes" if reason is GapReason.TOO_LARGE else ""
            return Gap(path, reason, detail)
        return None

    def _open_each(self, work: _Work) -> None:
        """Take out what can't be read or is a secret by its first line, before git meets it."""
        for path, info in list(work.add.items()):
            gap = None if stat.S_ISLNK(info.st_mode) else self._closed(path)
            if gap:
                self._leave_out(gap, work)

    def _leave_out(self, gap: Gap, work: _Work) -> None:
        """What was to be added turns out to be a gap."""
        del work.add[gap.path]
        work.gaps[gap.path] = gap
        if gap.path in work.tracked:
            work.remove.add(gap.path)

    def _closed(self, path: str) -> Gap | None:
        try:
            # Not just access(): this is the one open that can't hang on a FIFO or follow a link.
            fd = os.open(os.path.join(self._root, path), _OPEN)
        except FileNotFoundError:
            return None
        except OSError as error:
            return Gap(path, GapReason.UNREADABLE, error.strerror or "")
        try:
            if self._rules.bars_secrets(named=False) and is_secret_content(os.read(fd, 128)):
                return Gap(path, GapReason.SECRET, "its first line is a private key's")
        except OSError as error:
            return Gap(path, GapReason.UNREADABLE, error.strerror or "")
        finally:
            os.close(fd)
        return None

    def _chain(self, directory: str) -> str:
        """What the directories down to here are: all real, gone (or a link), or barred, and where.

        Every directory is looked at once, so a nested repository is noticed as soon as anything
        in it changes, even if git has been following its files from before it was one.
        """
        known = self._chains.get(directory)
        if known is not None:
            return known
        above = self._chain(directory.rpartition("/")[0])
        verdict = above if above != _REAL else self._one(directory)
        self._chains[directory] = verdict
        return verdict

    def _one(self, directory: str) -> str:
        full = os.path.join(self._root, directory)
        try:
            if not stat.S_ISDIR(os.lstat(full).st_mode):
                return _GONE
            os.lstat(full + "/.git")
        except (FileNotFoundError, NotADirectoryError):
            return _REAL if os.path.isdir(full) else _GONE
        except OSError:
            return _BARRED + directory
        return _NESTED + directory

    # ------------------------------------------------------------------ what git can't say

    def _check_nested(self, work: _Work) -> None:
        """Drop the gitlink of what is no repository any more: git never looks below one."""
        for path in list(self._state.nested):
            full = os.path.join(self._root, path)
            if os.path.islink(full) or not has_git(full):
                self._state.nested.remove(path)
                work.remove.add(path)

    def _check_all(self, work: _Work) -> None:
        """Hold every entry of the index to the rules in force: they changed, or it is not ours.

        Another program's index has gitlinks with the nested repository's own commit, files over
        the cap, and what was ignored only since.
        """
        for entry in Index.load(self._place.index):
            path = entry.path
            if path in work.remove or path in work.add:
                continue
            if entry.state.mode == GITLINK:
                if entry.state.content == NESTED_CONTENT and has_git(f"{self._root}/{path}"):
                    self._state.nested = sorted({*self._state.nested, path})
                else:
                    self._judge(path, True, work)
            elif entry.size > self._rules.max_file_bytes or is_secret_name(path):
                self._judge(path, True, work)
        ignored = ["ls-files", "-z", "--cached", "--ignored", "--exclude-standard"]
        for name in self._plumbing.run(ignored, self._place).out.split(b"\0"):
            if name:
                work.remove.add(os.fsdecode(name))
                work.add.pop(os.fsdecode(name), None)

    def _find_unreadable(self, work: _Work) -> None:
        """Git warned: find what it could not look at, and never take that for deleted."""
        closed = _unlistable(self._root)
        if closed:
            asked = b"".join(os.fsencode(path) + b"/\0" for path in closed)
            check = ["check-ignore", "-z", "--stdin", "--no-index"]
            out = self._plumbing.run(check, self._place, given=asked, ok=(0, 1)).out
            ignored = {os.fsdecode(name).rstrip("/") for name in out.split(b"\0") if name}
            for path, why in closed.items():
                if path not in ignored:
                    work.gaps[path] = Gap(path, GapReason.UNREADABLE, why)
        for entry in Index.load(self._place.index):
            if entry.state.mode == GITLINK or entry.path in work.remove:
                continue
            full = os.path.join(self._root, entry.path)
            try:
                os.lstat(full)
            except PermissionError as error:
                if not any(gap.covers(entry.path) for gap in work.gaps.values()):
                    work.gaps[entry.path] = Gap(
                        entry.path, GapReason.UNREADABLE, error.strerror or ""
                    )
                work.remove.add(entry.path)
            except OSError:
                pass

    def _note_modes(self, work: _Work, refreshed: bool, began: int) -> None:
        """Notice every chmod, also one that git takes for nothing (0644 to 0600).

        Such a one shows in the ctime, for which git rewrites the index. So only a rewritten index
        is looked at, and in it only entries not older than the last look.
        """
        modes, old = self._state.modes, self._state.young
        paths = set(old)
        if refreshed:
            touched = Index.load(self._place.index).touched_since(self._state.looked - _YOUNG)
            paths.update(map(os.fsdecode, touched))
        young = [p for p in paths - work.add.keys() if self._note_mode(p, self._peek(p), began)]
        young += [p for p, info in work.add.items() if self._note_mode(p, info, began)]
        for path in work.remove:
            modes.pop(path, None)
        for top in work.nested:
            for path in [p for p in modes if p.startswith(top + "/")]:
                del modes[path]
        self._state.young = sorted(young)
        self._aged = self._state.young != old

    def _note_mode(self, path: str, info: os.stat_result | None, began: int) -> bool:
        """Remember the mode if it is odd; whether the inode is so young that it may yet change."""
        odd = odd_mode(info.st_mode) if info else None
        if odd is None:
            self._state.modes.pop(path, None)
        else:
            self._state.modes[path] = odd
        return info is not None and info.st_ctime >= began - _YOUNG

    def _peek(self, path: str) -> os.stat_result | None:
        try:
            return os.lstat(os.path.join(self._root, path))
        except OSError:
            return None

    def _note_gaps(self, work: _Work) -> None:
        """Nested repositories and special files known from before are gaps each time."""
        self._note_special(work)
        for path in (*self._state.nested, *work.nested):
            work.gaps[path] = Gap(path, GapReason.NESTED_REPOSITORY)
        self._state.nested = sorted({*self._state.nested, *work.nested})

    def _note_special(self, work: _Work) -> None:
        """Special files: git lists none, so directories where something changed are looked into."""
        places = {path.rpartition("/")[0] for path in (*work.add, *work.remove)}
        found = {path for path in self._state.special if self._is_special(path)}
        if not self._state.index:
            places |= {path.rpartition("/")[0] for path in work.add} | {""}
        for directory in places:
            if self._chain(directory) == _REAL:
                found.update(_special(self._root, directory))
        self._state.special = sorted(found)
        for path in found:
            work.gaps.setdefault(path, Gap(path, GapReason.SPECIAL_FILE))

    def _is_special(self, path: str) -> bool:
        try:
            mode = os.lstat(os.path.join(self._root, path)).st_mode
        except OSError:
            return False
        return not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode))

    def _rules_mark(self) -> str:
        """Names the rules in force, all that is outside the project's own ignore files."""
        exclude = mark(self._layout.path("info", "exclude"))
        rules = self._rules
        return f"{self._place.excludes} {exclude} {rules.max_file_bytes} {rules.secrets}"

    # ------------------------------------------------------------------ too many files

    def _too_many(self, work: _Work) -> bool:
        count = _count(self._place.index) + len(work.add) - len(work.remove)
        return count > self._rules.max_files

    def _refuse(self) -> Live:
        why = f"more than {self._rules.max_files} files"
        return Live(EMPTY_TREE, {".": Gap(".", GapReason.TOO_MANY, why)}, {}, whole=False)

    # ------------------------------------------------------------------ staging

    def _stage(self, work: _Work) -> None:
        gone = sorted(work.remove - work.add.keys())
        lines = [b"0 %s\t%s\0" % (b"0" * 40, os.fsencode(path)) for path in gone]
        for path in sorted(work.nested):
            oid = NESTED_CONTENT.encode()
            lines.append(b"160000 %s\t%s\0" % (oid, os.fsencode(path)))
        if lines:
            command = ["update-index", "-z", "--add", "--replace", "--index-info"]
            self._plumbing.run(command, self._place, given=b"".join(lines))
        if work.nested:
            # Taken as valid, git does not even look for the nested repository's HEAD.
            names = b"".join(os.fsencode(path) + b"\0" for path in sorted(work.nested))
            valid = ["update-index", "-z", "--assume-unchanged", "--stdin"]
            self._plumbing.run(valid, self._place, given=names)
        self._add(sorted(work.add), work)
        if any(os.path.basename(p) == ".gitignore" for p in (*work.add, *work.remove)):
            self._drop_ignored(work)

    def _store_many(self, work: _Work) -> None:
        """Many changed files: their contents into one pack, so that git finds them stored."""
        with PackWriter(self._layout.path("objects")) as writer:
            for gap in record(self._root, work.add, self._rules, writer).gaps.values():
                self._leave_out(gap, work)
            if len(writer):
                writer.finish()

    def _record_all(self, work: _Work, began: int) -> None:
        """A first snapshot: everything into one pack, and an index that says so."""
        with PackWriter(self._layout.path("objects")) as writer:
            batch = record(self._root, work.add, self._rules, writer)
            for gap in batch.gaps.values():
                self._leave_out(gap, work)
            nested = sorted(work.nested)
            root_tree(batch.entries, nested, writer)
            writer.finish()
        links = [(os.fsencode(path), bytes.fromhex(NESTED_CONTENT)) for path in nested]
        write_index(self._place.index, batch.entries, links, began - _YOUNG)

    def _add(self, paths: Sequence[str], work: _Work) -> None:
        """Stage paths; git takes all or none, so a culprit is found by halving and is a gap."""
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

    def _give_up(self, path: str, error: GitFailed, work: _Work) -> None:
        again = _Work()
        self._judge(path, True, again)
        work.gaps.update(again.gaps or {path: Gap(path, GapReason.VANISHED, error.words)})
        work.add.pop(path)
        given = b"0 %s\t%s\0" % (b"0" * 40, os.fsencode(path))
        self._plumbing.run(["update-index", "-z", "--index-info"], self._place, given=given)

    def _drop_ignored(self, work: _Work) -> None:
        """An ignore file changed: what it covers now leaves the tree."""
        command = ["ls-files", "-z", "--cached", "--ignored", "--exclude-standard"]
        names = [n for n in self._plumbing.run(command, self._place).out.split(b"\0") if n]
        if not names:
            return
        given = b"".join(b"0 %s\t%s\0" % (b"0" * 40, name) for name in names)
        self._plumbing.run(["update-index", "-z", "--index-info"], self._place, given=given)
        for name in names:
            self._state.modes.pop(os.fsdecode(name), None)
            work.add.pop(os.fsdecode(name), None)

    def _write_tree(self) -> str:
        return self._plumbing.run(["write-tree"], self._place).out.decode().strip()


# --------------------------------------------------------------------------- small parts

_REAL, _GONE, _NESTED, _BARRED = "real", "gone", "N", "B"


def _lines(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def _count(index: str) -> int:
    """How many entries an index has: four bytes of its header."""
    try:
        with open(index, "rb") as file:
            return int.from_bytes(file.read(12)[8:12], "big")
    except OSError:
        return 0


def _special(root: str, directory: str) -> list[str]:
    """Files in a directory that are neither file, link nor directory."""
    try:
        with os.scandir(os.path.join(root, directory)) as entries:
            names = [
                e.name
                for e in entries
                if not (e.is_symlink() or e.is_dir(follow_symlinks=False))
                and not e.is_file(follow_symlinks=False)
            ]
    except OSError:
        return []
    return [f"{directory}/{name}" if directory else name for name in names]


def _unlistable(root: str) -> dict[str, str]:
    """Directories that can't be listed or entered, with the reason."""
    from hermes_checkpoints.excludes import DEFAULT_EXCLUDES

    skip = {pattern.rstrip("/") for pattern in DEFAULT_EXCLUDES if pattern.endswith("/")}
    closed: dict[str, str] = {}
    stack = [""]
    while stack:
        here = stack.pop()
        try:
            with os.scandir(os.path.join(root, here)) as entries:
                names = [e.name for e in entries if e.is_dir(follow_symlinks=False)]
            os.lstat(os.path.join(root, here, "."))
        except OSError as error:
            closed[here] = error.strerror or ""
            continue
        stack += [
            f"{here}/{name}" if here else name
            for name in names
            if name not in skip and name != ".git"
        ]
    return closed
