"""Which project a path belongs to: one function for tools, `/rollback` and the command line.

Owns root finding, project ids, the too-broad rules and containment. Reads directory entries only;
the environment comes from `config`.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from functools import lru_cache
from pathlib import Path

from hermes_checkpoints.config import home_directory
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
    start = place if place.is_dir() else place.parent
    ancestors = [d for d in (start, *start.parents) if not too_broad(d)]
    for directory in ancestors:
        if _has(directory, _VCS_MARKERS):
            return project_at(directory)
    session = _resolve(cwd) if cwd is not None else None
    if session is not None and session in ancestors and session.is_dir():
        return project_at(session)
    marked = [d for d in ancestors if _has(d, _PACKAGE_MARKERS)]
    if marked:
        return project_at(marked[-1])
    return project_at(_existing(start), named_only="is outside any project")


def project_at(root: str | os.PathLike[str], *, named_only: str = "") -> Project:
    """The project whose root is exactly this directory; named-only if it is too broad."""
    text = str(_resolve(root))
    why = named_only or too_broad(text)
    return Project(root=text, id=project_id(text), whole=not why, why_not_whole=why)


def too_broad(directory: str | os.PathLike[str]) -> str:
    """Why a directory is never snapshotted whole, or an empty string.

    The file system's root, the home directory, their ancestors, temp roots, and mount points
    without a package or version-control marker.
    """
    path = os.fspath(directory)
    if contains(path, home_directory()):
        own = path == str(home_directory())
        return "is the home directory" if own else "holds the home directory"
    if Path(path).parent == Path(path):
        return "is the root of a file system"
    if path in _temp_roots():
        return "is a directory for temporary files"
    if any(contains(path, temp) for temp in _temp_roots()):
        return "holds a directory for temporary files"
    if os.path.ismount(path) and not _has(Path(path), (*_VCS_MARKERS, *_PACKAGE_MARKERS)):
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
    absolute = Path(os.path.abspath(path))
    place = Path(os.path.realpath(absolute.parent)) / absolute.name
    if str(_resolve(absolute)) == project.root:
        return "."
    if not contains(project.root, place) or str(place) == project.root:
        return None
    return place.relative_to(project.root).as_posix()


# --------------------------------------------------------------------------- small parts


def _resolve(path: str | os.PathLike[str]) -> Path:
    return Path(os.path.realpath(Path(path).expanduser()))


def _existing(directory: Path) -> Path:
    while not directory.is_dir() and directory != directory.parent:
        directory = directory.parent
    return directory


def _has(directory: Path, names: tuple[str, ...]) -> bool:
    return any((directory / name).exists() for name in names)


@lru_cache(maxsize=1)
def _temp_roots() -> frozenset[str]:
    usual = ("/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/dev/shm")
    return frozenset(os.path.realpath(p) for p in (tempfile.gettempdir(), *usual))
