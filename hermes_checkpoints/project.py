"""Which project a path belongs to: one function for tools, `/rollback` and the command line.

Owns root finding, project ids, the too-broad rules and containment. Reads directory entries only;
the environment comes from `config`.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from functools import lru_cache

from hermes_checkpoints.config import home_directory, temporary_directories
from hermes_checkpoints.records import Project

__all__ = ["contains", "find_project", "project_at", "project_id", "relative_path", "too_broad"]

_VCS_MARKERS = (".git", ".hg")
_PACKAGE_MARKERS = (
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "package.json",
    "deno.json",
    "Cargo.toml",
    "go.mod",
    "Makefile",
    "CMakeLists.txt",
    "meson.build",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "build.sbt",
    "Gemfile",
    "composer.json",
    "mix.exs",
    "pubspec.yaml",
    "Package.swift",
    "stack.yaml",
    "dune-project",
    "flake.nix",
)


def project_id(root: str) -> str:
    """First 16 hex digits of the SHA-256 of the resolved absolute path."""
    return hashlib.sha256(os.fsencode(root)).hexdigest()[:16]


def find_project(
    path: str | os.PathLike[str], *, cwd: str | os.PathLike[str] | None = None
) -> Project:
    """The project that `path` belongs to; the path need not exist.

    In this order: the nearest ancestor (or the path itself, if a directory) with `.git` or `.hg`;
    the session's working directory `cwd`, if it contains the path; the outermost ancestor with a
    package marker; else the path's own directory as a named-only project. A directory that is too
    broad is none of the first three, whatever lies in it.
    """
    place = _resolve(path)
    start = place if os.path.isdir(place) else os.path.dirname(place)
    ancestors = list(_upwards(start))
    for directory in ancestors:
        if _has(directory, _VCS_MARKERS) and not too_broad(directory):
            return _project(directory)
    session = _resolve(cwd) if cwd is not None else None
    if session in ancestors and os.path.isdir(session) and not too_broad(session):
        return _project(session)
    for directory in reversed(ancestors):
        if _has(directory, _PACKAGE_MARKERS) and not too_broad(directory):
            return _project(directory)
    return project_at(_existing(start), named_only="is outside any project")


def project_at(root: str | os.PathLike[str], *, named_only: str = "") -> Project:
    """The project whose root is exactly this directory; named-only if it is too broad."""
    text = _resolve(root)
    return _project(text, named_only or too_broad(text))


def too_broad(directory: str | os.PathLike[str]) -> str:
    """Why a directory is never snapshotted whole, or an empty string.

    The file system's root, the home directory, their ancestors, temp roots, and mount points
    without a package or version-control marker.
    """
    path, home = os.fspath(directory), str(home_directory())
    if contains(path, home):
        return "is the home directory" if path == home else "holds the home directory"
    if os.path.dirname(path) == path:
        return "is the root of a file system"
    if path in _temp_roots():
        return "is a directory for temporary files"
    if any(contains(path, temp) for temp in _temp_roots()):
        return "holds a directory for temporary files"
    if os.path.ismount(path) and not _has(path, (*_VCS_MARKERS, *_PACKAGE_MARKERS)):
        return "is a mount point without a project in it"
    return ""


def contains(root: str | os.PathLike[str], path: str | os.PathLike[str]) -> bool:
    """Whether `path` is `root` or lies below it; both absolute and resolved."""
    outer, inner = os.fspath(root), os.fspath(path)
    return inner == outer or inner.startswith(outer.rstrip(os.sep) + os.sep)


def relative_path(project: Project, path: str | os.PathLike[str]) -> str | None:
    """`path` relative to the project with `/`, or `None` if it lies outside.

    The directory of `path` is resolved, its last part is not: a symbolic link is itself a path of
    the project, while a file reached through a link out of it is none. The root is `"."`.
    """
    absolute = os.path.abspath(path)
    if _resolve(absolute) == project.root:
        return "."
    directory, name = os.path.split(absolute)
    place = os.path.join(os.path.realpath(directory), name)
    if not contains(project.root, place) or place == project.root:
        return None
    return os.path.relpath(place, project.root).replace(os.sep, "/")


# --------------------------------------------------------------------------- small parts


def _project(root: str, why_not_whole: str = "") -> Project:
    return Project(root, project_id(root), not why_not_whole, why_not_whole)


def _resolve(path: str | os.PathLike[str]) -> str:
    return os.path.realpath(os.path.expanduser(path))


def _upwards(directory: str) -> Iterator[str]:
    """A directory and all above it."""
    while True:
        yield directory
        above = os.path.dirname(directory)
        if above == directory:
            return
        directory = above


def _existing(directory: str) -> str:
    return next(d for d in _upwards(directory) if os.path.isdir(d))


def _has(directory: str, names: tuple[str, ...]) -> bool:
    """Whether a directory has one of these entries.

    Asked of every ancestor before every call, so the answer is kept for as long as the directory
    itself has not changed. One that changed less than a second ago could change again within the
    resolution of its time stamp (4 ms on ext4), and is asked anew.
    """
    try:
        info = os.stat(directory)
    except OSError:
        return False
    age = time.time_ns() - info.st_mtime_ns
    key = (directory, names)
    stamp = (info.st_mtime_ns, info.st_ino, info.st_dev)
    known = _known.get(key)
    if known is not None and known[0] == stamp:
        return known[1]
    found = any(os.path.exists(os.path.join(directory, name)) for name in names)
    if age > _SETTLED:
        if len(_known) > _MOST_KNOWN:
            _known.clear()
        _known[key] = (stamp, found)
    return found


_SETTLED = 1_000_000_000  # nanoseconds
_MOST_KNOWN = 4096
_known: dict[tuple[str, tuple[str, ...]], tuple[tuple[int, int, int], bool]] = {}


@lru_cache(maxsize=1)
def _temp_roots() -> frozenset[str]:
    usual = ("/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/dev/shm")
    return frozenset(os.path.realpath(p) for p in (*temporary_directories(), *usual))
