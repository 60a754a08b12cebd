"""Reading a project's files under the capture rules: content, or a gap with the reason.

Owns the look at one path and the expansion of a named directory. Follows no link, opens nothing
the rules bar, blocks on no FIFO. Does not interpret ignore files.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field

from hermes_checkpoints.excludes import CaptureRules, is_leftover, is_secret_content
from hermes_checkpoints.records import Gap, GapReason, canonical_mode
from hermes_checkpoints.worktree import open_parent

__all__ = [
    "_USUAL_MODES",
    "Below",
    "Contents",
    "below",
    "has_git",
    "is_ignore_file",
    "note_directory",
    "odd_mode",
    "read",
    "repository_above",
]

_USUAL_MODES = frozenset({0o644, 0o755})
_USUAL_DIRECTORY = 0o755
_OPEN = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True, slots=True)
class Contents:
    """A file's bytes (a link's target), git's mode, and the permission bits."""

    data: bytes
    mode: int
    permissions: int


def odd_mode(st_mode: int) -> int | None:
    """The permission bits of an `lstat` mode if they are worth remembering."""
    bits = stat.S_IMODE(st_mode)
    return None if stat.S_ISLNK(st_mode) or bits in _USUAL_MODES else bits


def note_directory(modes: dict[str, int], directory: str, st_mode: int | None) -> None:
    """Remember the permission bits of a directory if they are odd; `None`: there is none."""
    bits = None if st_mode is None else stat.S_IMODE(st_mode)
    if bits is None or bits == _USUAL_DIRECTORY:
        modes.pop(f"{directory}/", None)
    else:
        modes[f"{directory}/"] = bits


def is_ignore_file(path: str) -> bool:
    """Whether a path is that of a `.gitignore`, which every capture holds, be it ignored itself."""
    return path.rpartition("/")[2] == ".gitignore"


def has_git(directory: str | bytes) -> bool:
    """Whether a directory is the top of a git work tree: something is called `.git` in it."""
    dot_git = b".git" if isinstance(directory, bytes) else ".git"
    try:
        os.lstat(os.path.join(directory, dot_git))  # type: ignore[arg-type]  # both str or bytes
    except OSError:
        return False
    return True


def repository_above(root: str, path: str) -> str:
    """The outermost nested repository that a path lies in; empty if in none."""
    parts = path.split("/")
    for depth in range(1, len(parts)):
        directory = "/".join(parts[:depth])
        if has_git(os.path.join(root, directory)):
            return directory
    return ""


def read(root: str, path: str, rules: CaptureRules, *, named: bool) -> Contents | Gap | None:
    """What is at a path: its contents, the gap it is, or `None` for nothing (or a directory)."""
    unsupported = _unsupported(path)
    try:
        with open_parent(root, path) as (at, name):
            info = os.lstat(name, dir_fd=at)
            if stat.S_ISDIR(info.st_mode):
                return None
            reason = unsupported or rules.gap_for(path, info.st_mode, info.st_size, named=named)
            if reason:
                return Gap(path, reason, _detail(reason, info))
            data = _bytes(at, name, info)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return Gap(path, GapReason.UNREADABLE, error.strerror or "")
    if len(data) > rules.max_file_bytes and not stat.S_ISLNK(info.st_mode):
        return Gap(path, GapReason.TOO_LARGE, "it grew while it was read")
    if rules.bars_secrets(named=named) and is_secret_content(data[:128]):
        return Gap(path, GapReason.SECRET, "its first line is a private key's")
    return Contents(data, canonical_mode(info.st_mode), stat.S_IMODE(info.st_mode))


def _unsupported(path: str) -> GapReason | None:
    """Names no git tree can hold, in any spelling a file system might take for `.git`."""
    held = not any(part.lower() == ".git" for part in path.split("/"))
    return None if held else GapReason.UNSUPPORTED_NAME


def _detail(reason: GapReason, info: os.stat_result) -> str:
    return f"{info.st_size} bytes" if reason is GapReason.TOO_LARGE else ""


def _bytes(at: int, name: str, info: os.stat_result) -> bytes:
    if stat.S_ISLNK(info.st_mode):
        return os.fsencode(os.readlink(name, dir_fd=at))
    with os.fdopen(os.open(name, _OPEN, dir_fd=at), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, "it became a special file")
        return file.read()


# --------------------------------------------------------------------------- named directories


@dataclass(slots=True)
class Below:
    """What lies below a named directory: files and links, gaps, directories without files.

    `directories` are the permission bits of all, its own too.
    """

    files: list[str] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    empty_dirs: list[str] = field(default_factory=list)
    directories: dict[str, int] = field(default_factory=dict)


def below(root: str, path: str) -> Below | None:
    """Everything below a directory of the project; `None` if there is no directory.

    Nested repositories are gaps, and so is what can't be listed. A link is a file.
    """
    try:
        with open_parent(root, path) as (at, name):
            if path != "." and not stat.S_ISDIR(os.lstat(name, dir_fd=at).st_mode):
                return None
    except OSError:
        return None
    found = Below()
    _walk(root, "" if path == "." else path, found)
    return found


def _walk(root: str, directory: str, found: Below) -> None:
    """Depth first with an explicit stack: directories may be nested deeper than Python's."""
    stack = [directory]
    while stack:
        here = stack.pop()
        if here and has_git(os.path.join(root, here)):
            found.gaps.append(Gap(here, GapReason.NESTED_REPOSITORY))
            continue
        try:
            if here:
                found.directories[here] = os.lstat(os.path.join(root, here)).st_mode
            with os.scandir(os.path.join(root, here)) as listing:
                entries = [(e.name, e.is_dir(follow_symlinks=False)) for e in listing]
        except OSError as error:
            found.gaps.append(Gap(here, GapReason.UNREADABLE, error.strerror or ""))
            continue
        entries = [(n, is_dir) for n, is_dir in entries if n != ".git" and not is_leftover(n)]
        if not entries and here:
            found.empty_dirs.append(here)
        for name, is_dir in entries:
            child = f"{here}/{name}" if here else name
            if is_dir:
                stack.append(child)
            else:
                found.files.append(child)
