"""What git pathspecs select, told by git over an index of its own and an empty work tree.

Owns that throw-away place. Touches neither store nor project.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence

from hermes_checkpoints.errors import SelectionError
from hermes_checkpoints.stores.git.plumbing import GitFailed, Place, Plumbing

__all__ = ["Matcher"]

_EMPTY_BLOB = b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


class Matcher:
    """Resolves pathspecs against candidate paths."""

    def __init__(self, plumbing: Plumbing) -> None:
        self._plumbing = plumbing

    def match(self, candidates: Iterable[str], pathspecs: Sequence[str]) -> list[str]:
        """Which candidates are selected. Raises `SelectionError` with git's words."""
        with tempfile.TemporaryDirectory(prefix="hermes-checkpoints-") as place:
            gitdir = os.path.join(place, "git")
            made = ["init", "--quiet", "--bare", "--template=", gitdir]
            self._plumbing.run(made, extra={"GIT_DIR": gitdir}, at=place)
            os.mkdir(os.path.join(place, "empty"))
            found: list[str] = []
            for number, paths in enumerate(_layers(candidates)):
                index = os.path.join(place, f"index{number}")
                where = Place(gitdir, os.path.join(place, "empty"), index)
                found += self._select(where, paths, pathspecs)
        return found

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
