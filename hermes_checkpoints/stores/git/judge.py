"""What becomes of a path that git reported: recorded, left out as a gap, or removed.

Owns the decision, by `lstat` and the capture rules, and what git does not tell at all: special
files, nested repositories in directories it already follows, directories it could not open.
Changes nothing.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from hermes_checkpoints.excludes import DEFAULT_EXCLUDES, CaptureRules, is_secret_content
from hermes_checkpoints.records import Gap, GapReason
from hermes_checkpoints.stores.reading import has_git

__all__ = ["Judge", "Work", "ruled_directories", "unlistable"]

_OPEN = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_REAL, _GONE, _NESTED, _BARRED = "real", "gone", "N", "B"


@dataclass(slots=True)
class Work:
    """What a look wants done to the index, and the gaps it found.

    `add` maps paths to their `lstat`; `tracked` are those of them that the index has, `stale` those
    that it takes for unchanged and that are not.
    """

    add: dict[str, os.stat_result] = field(default_factory=dict)
    tracked: set[str] = field(default_factory=set)
    stale: set[str] = field(default_factory=set)
    remove: set[str] = field(default_factory=set)
    nested: set[str] = field(default_factory=set)
    gaps: dict[str, Gap] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.add or self.remove or self.nested)

    def leave_out(self, gap: Gap) -> None:
        """What was to be added turns out to be a gap."""
        self.add.pop(gap.path, None)
        self.gaps[gap.path] = gap
        if gap.path in self.tracked:
            self.remove.add(gap.path)


class Judge:
    """Decides for one look at one project; every directory is looked at once.

    `directories` are the modes of those that were, `None` where there is none.
    """

    def __init__(self, root: str, rules: CaptureRules) -> None:
        self._root = root
        self._rules = rules
        self._chains: dict[str, str] = {"": _REAL}
        self.directories: dict[str, int | None] = {}

    def stream(
        self, rows: Iterable[tuple[str, bool]], work: Work
    ) -> Iterator[tuple[str, os.stat_result]]:
        """Judge rows one by one, and give each path that is to be added, as it is found."""
        for path, tracked in rows:
            self.judge(path, tracked, work)
            info = work.add.get(path)
            if info:
                yield path, info

    def judge(self, path: str, tracked: bool, work: Work) -> None:
        """Decide about one path; git writes a nested repository with a slash at its end."""
        if path.endswith("/"):
            path = path[:-1]
        chain = self._chain(path.rpartition("/")[0])
        if chain is not _REAL and chain is not _GONE:
            self._outside(chain, work)
            return
        info = self._lstat(path, work) if chain is _REAL else None
        if info is None:
            if tracked:
                work.remove.add(path)
        elif stat.S_ISDIR(info.st_mode):
            self._judge_directory(path, tracked, work)
        else:
            self._judge_file(path, tracked, info, work)

    def _judge_file(self, path: str, tracked: bool, info: os.stat_result, work: Work) -> None:
        gap = self._barred(path, info)
        if gap:
            work.gaps[path] = gap
            if tracked:
                work.remove.add(path)
            return
        work.add[path] = info
        if tracked:
            work.tracked.add(path)

    def _judge_directory(self, path: str, tracked: bool, work: Work) -> None:
        if has_git(f"{self._root}/{path}"):
            work.nested.add(path)
        elif tracked:
            work.remove.add(path)

    def _outside(self, where: str, work: Work) -> None:
        """The path lies in a nested repository, or below a directory that can't be entered."""
        kind, path = where[0], where[1:]
        if kind == _NESTED:
            work.nested.add(path)
        else:
            work.gaps[path] = Gap(path, GapReason.UNREADABLE, "it cannot be entered")

    def _lstat(self, path: str, work: Work) -> os.stat_result | None:
        """`None` if nothing is there, or if that can't be told, which is a gap."""
        try:
            return os.lstat(f"{self._root}/{path}")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            work.gaps[path] = Gap(path, GapReason.UNREADABLE, error.strerror or "")
            return None

    def _barred(self, path: str, info: os.stat_result) -> Gap | None:
        """The gap a path is by its name, kind and size."""
        if ".git" in path.lower() and ".git" in path.lower().split("/"):
            return Gap(path, GapReason.UNSUPPORTED_NAME)
        reason = self._rules.gap_for(path, info.st_mode, info.st_size)
        if reason is None:
            return None
        detail = f"{info.st_size} bytes" if reason is GapReason.TOO_LARGE else ""
        return Gap(path, reason, detail)

    # ------------------------------------------------------------------ contents

    def open_each(self, work: Work) -> None:
        """Take out what can't be read or is a secret by its first line, before git meets it."""
        for path, info in list(work.add.items()):
            gap = None if stat.S_ISLNK(info.st_mode) else self._closed(path)
            if gap:
                work.leave_out(gap)

    def is_secret(self, path: str) -> bool:
        """Whether a file is a secret by its first line."""
        gap = self._closed(path)
        return gap is not None and gap.reason is GapReason.SECRET

    def _closed(self, path: str) -> Gap | None:
        """The gap a file is by what happens when it is opened."""
        try:
            # Not just access(): this is the one open that can't hang on a FIFO or follow a link.
            fd = os.open(f"{self._root}/{path}", _OPEN)
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

    # ------------------------------------------------------------------ directories

    def _chain(self, directory: str) -> str:
        """What the directories down to here are: all real, gone (or a link), or barred, and where.

        So a nested repository is noticed as soon as anything in it changes, even if git has been
        following its files from before it was one.
        """
        known = self._chains.get(directory)
        if known is None:
            above = self._chain(directory.rpartition("/")[0])
            known = self._chains[directory] = self._one(directory) if above is _REAL else above
        return known

    def _one(self, directory: str) -> str:
        full = f"{self._root}/{directory}"
        try:
            mode = os.lstat(full).st_mode
            real = stat.S_ISDIR(mode)
            self.directories[directory] = mode if real else None
            if not real:
                return _GONE
            os.lstat(f"{full}/.git")
        except (FileNotFoundError, NotADirectoryError):
            if os.path.isdir(full):
                return _REAL
            self.directories[directory] = None
            return _GONE
        except OSError:
            return _BARRED + directory
        return _NESTED + directory

    # ------------------------------------------------------------------ special files

    def special_files(self, work: Work, known: Iterable[str], *, first: bool) -> list[str]:
        """FIFOs, sockets and devices: known ones that are still there, and those near changes.

        Git lists none that it does not follow, so directories where something changed are looked
        into; the others were when something in them was recorded.
        """
        found = {path for path in known if self._is_special(path)}
        places = {path.rpartition("/")[0] for path in (*work.add, *work.remove)}
        for directory in places | ({""} if first else set()):
            if self._chain(directory) is _REAL:
                found.update(_special(self._root, directory))
        return sorted(found)

    def _is_special(self, path: str) -> bool:
        try:
            mode = os.lstat(f"{self._root}/{path}").st_mode
        except OSError:
            return False
        return not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode))


def _special(root: str, directory: str) -> list[str]:
    """Files in a directory that are neither file, link nor directory."""
    try:
        with os.scandir(f"{root}/{directory}") as entries:
            names = [
                e.name
                for e in entries
                if not (
                    e.is_file(follow_symlinks=False)
                    or e.is_dir(follow_symlinks=False)
                    or e.is_symlink()
                )
            ]
    except OSError:
        return []
    return [f"{directory}/{name}" if directory else name for name in names]


def ruled_directories(root: str) -> list[str]:
    """Directories with an ignore file, nested repositories and our own excludes left out."""
    skip = {pattern.rstrip("/") for pattern in DEFAULT_EXCLUDES if pattern.endswith("/")}
    found = []
    for here, names, files in os.walk(root):
        if here != root and ".git" in (*names, *files):
            names.clear()
            continue
        names[:] = [name for name in names if name not in skip and name != ".git"]
        if ".gitignore" in files:
            found.append(here[len(root) + 1 :])
    return found


def unlistable(root: str) -> dict[str, str]:
    """Directories that can't be listed or entered, with the reason."""
    skip = {pattern.rstrip("/") for pattern in DEFAULT_EXCLUDES if pattern.endswith("/")}
    skip.add(".git")
    closed: dict[str, str] = {}
    stack = [""]
    while stack:
        here = stack.pop()
        try:
            with os.scandir(f"{root}/{here}") as entries:
                names = [e.name for e in entries if e.is_dir(follow_symlinks=False)]
            os.lstat(f"{root}/{here}/.")
        except OSError as error:
            closed[here] = error.strerror or ""
            continue
        stack += [f"{here}/{name}" if here else name for name in names if name not in skip]
    return closed
