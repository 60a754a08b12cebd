"""The files of a project: read and written without following a link out of it.

Owns every access to a project's files that is not a store's own scan. Each path is relative to the
root with `/`; every ancestor is opened without following links, so that a directory swapped for
a link between two steps leads nowhere. Knows nothing of checkpoints.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

from hermes_checkpoints.records import SYMLINK, FileState, canonical_mode, content_id

__all__ = [
    "Found",
    "Unreadable",
    "exists",
    "files_below",
    "is_directory",
    "is_vacant",
    "look",
    "make_directory",
    "open_directory",
    "open_parent",
    "prune_directory",
    "remove",
    "remove_directory",
    "rename",
    "set_permissions",
    "stage",
    "state_of",
]


class Unreadable(OSError):
    """A path exists and cannot be read, or is neither file, link nor directory."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a look at a path found: its state, its permission bits and its size in bytes."""

    state: FileState
    permissions: int
    size: int


@contextmanager
def open_parent(root: str, path: str) -> Iterator[tuple[int, str]]:
    """A descriptor of the directory that holds `path`, and the last part of the name.

    Raises `FileNotFoundError` or `NotADirectoryError` if an ancestor is missing, is a file or is a
    symbolic link.
    """
    directory, _, name = path.rpartition("/")
    with open_directory(root, directory) as at:
        yield at, (name if _BY_DESCRIPTOR else os.path.join(root, path))


@contextmanager
def open_directory(root: str, directory: str, *, make: bool = False) -> Iterator[int]:
    """A descriptor of a directory of the project (`""` or `"."` for the root).

    With `make`, it and its missing ancestors are created. Raises as `open_parent`.
    """
    if not _BY_DESCRIPTOR:
        _check_by_name(root, directory, make)
        yield _NO_DESCRIPTOR
        return
    at = os.open(root, _DIRECTORY)
    try:
        for part in _parts(directory):
            below = _enter(at, part, make)
            os.close(at)
            at = below
        yield at
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotADirectoryError(errno.ENOTDIR, "is a symbolic link", directory) from error
        raise
    finally:
        os.close(at)


# Not every system has every flag, nor calls that go by a directory's descriptor. Without these a
# whole path is used where else a name in a directory is, after a look at each of its ancestors.
_BY_DESCRIPTOR = os.open in os.supports_dir_fd
_NO_DESCRIPTOR = cast(int, None)  # what every `dir_fd` argument takes for "none"


def _flag(name: str) -> int:
    return int(getattr(os, name, 0))


_ALWAYS = _flag("O_CLOEXEC") | _flag("O_BINARY")
_NOFOLLOW = _flag("O_NOFOLLOW")
_DIRECTORY = os.O_RDONLY | _flag("O_DIRECTORY") | _ALWAYS
_READ = os.O_RDONLY | _NOFOLLOW | _ALWAYS | _flag("O_NONBLOCK")  # a FIFO would block for ever
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW | _ALWAYS


def _parts(directory: str) -> list[str]:
    return [] if directory in ("", ".") else directory.split("/")


def _enter(at: int, part: str, make: bool) -> int:
    try:
        return os.open(part, _DIRECTORY | _NOFOLLOW, dir_fd=at)
    except FileNotFoundError:
        if not make:
            raise
        os.mkdir(part, dir_fd=at)
        return os.open(part, _DIRECTORY | _NOFOLLOW, dir_fd=at)


def _check_by_name(root: str, directory: str, make: bool) -> None:
    here = root
    for part in _parts(directory):
        here = os.path.join(here, part)
        if make and not os.path.lexists(here):
            os.mkdir(here)
        if not stat.S_ISDIR(os.lstat(here).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, "is no directory", directory)


def look(root: str, path: str, *, limit: int | None = None) -> Found | None:
    """What is at `path`; `None` if nothing is, or a directory.

    Raises `Unreadable` if it can't be read, is a special file, or is larger than `limit` bytes.
    """
    try:
        with open_parent(root, path) as (at, name):
            info = os.lstat(name, dir_fd=at)
            if stat.S_ISDIR(info.st_mode):
                return None
            data = _content(at, name, info, limit)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise Unreadable(error.errno, "cannot be read", path) from error
    state = FileState(canonical_mode(info.st_mode), content_id(data))
    return Found(state, stat.S_IMODE(info.st_mode), len(data))


def state_of(root: str, path: str) -> FileState | None:
    """The state of one path; `None` if nothing (or a directory) is there. Raises `Unreadable`."""
    found = look(root, path)
    return found.state if found else None


def files_below(root: str, path: str) -> Iterator[str]:
    """Every file and link below a directory, nested repositories excepted; nothing for a file."""
    top = root if path == "." else os.path.join(root, path)
    if path != "." and not is_directory(root, path):
        return
    prefix = len(root.rstrip("/")) + 1
    for directory, names, files in os.walk(top):
        if directory != root and ".git" in names + files:
            names.clear()
            continue
        names[:] = [n for n in names if n != ".git"]
        links = [n for n in names if os.path.islink(os.path.join(directory, n))]
        for name in (*files, *links):
            yield os.path.join(directory, name)[prefix:]


def is_directory(root: str, path: str) -> bool:
    """Whether a real directory (no link) is at `path`; `""` is the root."""
    if not path:
        return True
    try:
        with open_parent(root, path) as (at, name):
            return stat.S_ISDIR(os.lstat(name, dir_fd=at).st_mode)
    except OSError:
        return False


def exists(root: str, path: str) -> bool:
    """Whether anything is at `path`: a file, a directory, a link wherever it leads."""
    try:
        with open_parent(root, path) as (at, name):
            os.lstat(name, dir_fd=at)
    except OSError:
        return False
    return True


def is_vacant(root: str, path: str) -> bool:
    """Whether it is certain that nothing is at `path`, and nothing but directories above it."""
    try:
        with open_parent(root, path) as (at, name):
            os.lstat(name, dir_fd=at)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


# --------------------------------------------------------------------------- writing


def stage(root: str, spare: str, data: bytes, *, link: bool, permissions: int) -> None:
    """Write what a file or link is to become under a spare name; `rename` puts it in its place."""
    with open_parent(root, spare) as (at, name):
        if link:
            os.symlink(os.fsdecode(data), name, dir_fd=at)
            return
        fd = os.open(name, _NEW, 0o600, dir_fd=at)
        with os.fdopen(fd, "wb", buffering=0) as out:
            left = memoryview(data)
            while left:
                left = left[out.write(left) :]
            _permit(fd, name, permissions)


def rename(root: str, old: str, new: str) -> None:
    """Give a file or directory another name in the project; replaces a file or link there."""
    with open_parent(root, old) as (here, name):
        if _BY_DESCRIPTOR and old.rpartition("/")[0] == new.rpartition("/")[0]:
            other = new.rpartition("/")[2]
            os.replace(name, other, src_dir_fd=here, dst_dir_fd=here)
            return
        with open_parent(root, new) as (there, other):
            os.replace(name, other, src_dir_fd=here, dst_dir_fd=there)


def remove(root: str, path: str) -> None:
    """Delete a file or link."""
    with open_parent(root, path) as (at, name):
        os.unlink(name, dir_fd=at)


def set_permissions(root: str, path: str, permissions: int) -> None:
    """Set the permission bits of a regular file or a directory."""
    with open_parent(root, path) as (at, name):
        fd = os.open(name, _READ, dir_fd=at)
        try:
            _permit(fd, name, permissions)
        finally:
            os.close(fd)


def _permit(fd: int, name: str, permissions: int) -> None:
    if hasattr(os, "fchmod"):
        os.fchmod(fd, permissions)
    else:
        os.chmod(name, permissions)  # without descriptors the name is a whole path


def make_directory(root: str, directory: str) -> list[str]:
    """Create a directory and its missing ancestors; returns those that were created."""
    if is_directory(root, directory):
        return []
    parts = directory.split("/")
    missing = [
        above
        for above in ("/".join(parts[: n + 1]) for n in range(len(parts)))
        if not is_directory(root, above)
    ]
    with open_directory(root, directory, make=True):
        return missing


def remove_directory(root: str, directory: str) -> bool:
    """Remove a directory if it is empty; whether it is gone."""
    try:
        with open_parent(root, directory) as (at, name):
            os.rmdir(name, dir_fd=at)
    except OSError:
        return not exists(root, directory)
    return True


def prune_directory(root: str, directory: str) -> list[str]:
    """Remove a directory that holds nothing but directories; returns all that went."""
    if not is_directory(root, directory):
        return []
    top = os.path.join(root, directory)
    places = list(os.walk(top, topdown=False))
    links = (os.path.islink(os.path.join(place, n)) for place, names, _ in places for n in names)
    if any(files for _, _, files in places) or any(links):
        return []
    below = [os.path.join(directory, os.path.relpath(place, top)) for place, _, _ in places]
    paths = [os.path.normpath(path).replace(os.sep, "/") for path in below]
    return [path for path in paths if remove_directory(root, path)]


def _content(at: int, name: str, info: os.stat_result, limit: int | None) -> bytes:
    if canonical_mode(info.st_mode) == SYMLINK:
        return os.fsencode(os.readlink(name, dir_fd=at))
    if not stat.S_ISREG(info.st_mode):
        raise Unreadable(errno.EINVAL, "is a special file", name)
    if limit is not None and info.st_size > limit:
        raise Unreadable(errno.EFBIG, "is too large", name)
    fd = os.open(name, _READ, dir_fd=at)
    with os.fdopen(fd, "rb") as file:
        return file.read()
