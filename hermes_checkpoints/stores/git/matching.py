"""What git pathspecs select and ignore files leave out, told by git in a place of its own.

Owns that throw-away place: a repository without objects and a work tree that holds at most ignore
files. Touches neither store nor project.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from hermes_checkpoints.errors import SelectionError
from hermes_checkpoints.stores.git.plumbing import GitFailed, Place, Plumbing

__all__ = ["Matcher"]

_EMPTY_BLOB = b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


class Matcher:
    """Resolves pathspecs and ignore rules against paths that need not exist."""

    def __init__(self, plumbing: Plumbing) -> None:
        self._plumbing = plumbing

    def match(self, candidates: Iterable[str], pathspecs: Sequence[str]) -> list[str]:
        """Which candidates are selected. Raises `SelectionError` with git's words."""
        with self._throw_away() as (gitdir, tree):
            found: list[str] = []
            for number, paths in enumerate(_layers(candidates)):
                where = Place(gitdir, tree, os.path.join(gitdir, f"index{number}"))
                found += self._select(where, paths, pathspecs)
        return found

    def ignored(self, paths: Iterable[str], ignore_files: Mapping[str, bytes]) -> set[str]:
        """Which files the ignore files (path -> content) leave out, tracked or not."""
        given = b"".join(os.fsencode(path) + b"\0" for path in paths)
        if not given:
            return set()
        with self._throw_away() as (gitdir, tree):
            for path, content in ignore_files.items():
                file = os.path.join(tree, path)
                os.makedirs(os.path.dirname(file), exist_ok=True)
                with open(file, "wb") as out:
                    out.write(content)
            where = Place(gitdir, tree, os.path.join(gitdir, "index"))
            # Status 1 says that none is ignored.
            command = ["check-ignore", "--no-index", "-z", "--stdin"]
            said = self._plumbing.run(command, where, given=given, ok=(0, 1), pathspecs=True).out
        return {os.fsdecode(name) for name in said.split(b"\0") if name}

    @contextmanager
    def _throw_away(self) -> Iterator[tuple[str, str]]:
        with tempfile.TemporaryDirectory(prefix="hermes-checkpoints-") as place:
            gitdir, tree = os.path.join(place, "git"), os.path.join(place, "tree")
            made = ["init", "--quiet", "--bare", "--template=", gitdir]
            self._plumbing.run(made, extra={"GIT_DIR": gitdir}, at=place)
            os.mkdir(tree)
            yield gitdir, tree

    def _select(self, where: Place, paths: Sequence[str], pathspecs: Sequence[str]) -> list[str]:
        lines = (b"100644 %s\t%s\0" % (_EMPTY_BLOB, os.fsencode(path)) for path in paths)
        command = ["update-index", "-z", "--add", "--index-info"]
        self._plumbing.run(command, where, given=b"".join(lines))
        listing = ["ls-files", "-z", "--cached", "--", *pathspecs]
        try:
            out = self._plumbing.run(listing, where, pathspecs=True).out
        except GitFailed as error:
            raise SelectionError(
                f"{' '.join(pathspecs)}: {error.words.removeprefix('fatal: ')}",
                hint="give paths below the project, or git pathspecs such as '*.txt'",
            ) from error
        return [os.fsdecode(name) for name in out.split(b"\0") if name]


def _layers(candidates: Iterable[str]) -> list[list[str]]:
    """Candidates in groups that one index can hold: no path is a directory of another."""
    rest, layers = sorted(set(candidates)), []
    while rest:
        layer: set[str] = set()
        later: list[str] = []
        for path in rest:
            parts = path.split("/")
            above = ("/".join(parts[:i]) for i in range(1, len(parts)))
            if any(part.lower() == ".git" for part in parts):
                continue  # no checkpoint holds such a path
            if any(directory in layer for directory in above):
                later.append(path)
            else:
                layer.add(path)
        layers.append(sorted(layer))
        rest = later
    return layers
