"""The paths a person selects for a restore: literal names first, then git pathspecs.

Owns how what was typed becomes names and pathspecs relative to the project's root, and which
nested repositories a selection reaches. Looks at no file: callers say which names are known.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hermes_checkpoints.errors import SelectionError
from hermes_checkpoints.project import relative_path
from hermes_checkpoints.records import Project

__all__ = ["Match", "Selection", "parse", "within"]

Match = Callable[[Iterable[str], Sequence[str]], list[str]]
"""Which candidates some pathspecs select: `Store.match`."""

_ROOT = "."
_WILD = "*?[\\"


@dataclass(frozen=True, slots=True)
class Selection:
    """What was selected, relative to the root: `names` literally (`"."` is all), `pathspecs` by
    pattern. Nothing at all means everything.
    """

    names: tuple[str, ...] = ()
    pathspecs: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.names or self.pathspecs)

    @property
    def wanted(self) -> tuple[str, ...]:
        """The pathspecs that select, without those that exclude."""
        return tuple(p for p in self.pathspecs if "exclude" not in _split(p)[0])

    def pick(
        self, candidates: Iterable[str], match: Match
    ) -> tuple[frozenset[str], frozenset[str]]:
        """Which candidates are selected, and which of them by their own name."""
        candidates = list(candidates)
        named = frozenset(candidates).intersection(self.names)
        below = tuple("" if name == _ROOT else f"{name}/" for name in self.names)
        chosen = {p for p in candidates if p.startswith(below)}.union(named)
        if self.pathspecs:
            chosen.update(match(candidates, self.pathspecs))
        return frozenset(chosen), named

    def unmatched(self, candidates: Iterable[str], match: Match) -> tuple[str, ...]:
        """The pathspecs that select none of the candidates."""
        candidates = list(candidates)
        excluding = [p for p in self.pathspecs if p not in self.wanted]
        positive = self.wanted or ((_ROOT,) if excluding else ())
        return tuple(p for p in positive if not match(candidates, [p, *excluding]))

    def reaches(self, repository: str, match: Match) -> bool:
        """Whether the selection takes in a repository, something in it, or what it lies in."""
        if any(within(name, repository) or within(repository, name) for name in self.names):
            return True
        if any(within(_fixed_part(p), repository) for p in self.wanted):
            return True
        return bool(self.pathspecs and match([repository], self.pathspecs))


def parse(
    project: Project, paths: Iterable[str], *, base_dir: str, known: Callable[[str], bool]
) -> Selection:
    """Read what was typed in `base_dir`; `known` says whether a relative path names something.

    Raises `SelectionError` for a path outside the project and for one with `..` in it.
    """
    base = relative_path(project, base_dir) or _ROOT
    names, pathspecs = [], []
    for text in paths:
        name = _name(project, text, base, known)
        if name is not None:
            names.append(name)
        else:
            pathspecs.append(_rebased(project, text, base))
    return Selection(tuple(dict.fromkeys(names)), tuple(dict.fromkeys(pathspecs)))


def within(path: str, directory: str) -> bool:
    """Whether a path is the directory or lies below it."""
    return directory == _ROOT or path == directory or path.startswith(directory + "/")


# --------------------------------------------------------------------------- names


def _name(project: Project, text: str, base: str, known: Callable[[str], bool]) -> str | None:
    """The relative name a text is, if it names anything; `None` if it must be a pathspec."""
    path = _slashed(text)
    if not path or "\0" in path:
        raise SelectionError("an empty path selects nothing", hint="name a file or a pattern")
    _refuse_parts(path, text)
    if os.path.isabs(text):
        return _absolute(project, text, path)
    name = _joined(base, path)
    if name == _ROOT or known(name):
        return name
    if path[0] == ":":
        return None
    through = relative_path(project, os.path.join(project.root, name))
    if through is None:
        raise _outside(project, text)
    return through if known(through) else None


def _absolute(project: Project, text: str, path: str) -> str | None:
    root = _slashed(project.root).rstrip("/")
    if path.rstrip("/") == root:
        return _ROOT
    if path.startswith(root + "/"):
        return _joined(_ROOT, path[len(root) + 1 :])
    through = relative_path(project, text)
    if through is None:
        raise _outside(project, text)
    return through


def _joined(base: str, path: str) -> str:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if base != _ROOT:
        parts.insert(0, base)
    return "/".join(parts) or _ROOT


def _slashed(text: str) -> str:
    return text.replace("\\", "/") if os.sep == "\\" else text


def _refuse_parts(path: str, text: str) -> None:
    if ".." in path.split("/"):
        raise SelectionError(
            f"{text!r}: a path with `..` in it is not taken",
            hint="name the path from the project's root, or absolutely",
        )
    if ".git" in path.split("/"):
        raise SelectionError(
            f"{text!r}: what is in `.git` is git's own, and in no checkpoint",
            hint="git's own commands bring back commits, branches and the index",
        )


def _outside(project: Project, text: str) -> SelectionError:
    return SelectionError(
        f"{text!r} is outside the project {project.root}",
        hint="only paths inside the project can be restored",
    )


# --------------------------------------------------------------------------- pathspecs

_SHORT = {"/": "top", "!": "exclude", "^": "exclude"}


def _split(pathspec: str) -> tuple[frozenset[str], str]:
    """The magic words of a pathspec and its pattern."""
    if pathspec.startswith(":("):
        words, closed, pattern = pathspec[2:].partition(")")
        if closed:
            return frozenset(w for w in words.split(",") if w), pattern
    elif pathspec.startswith(":"):
        end = 1
        while pathspec[end : end + 1] in _SHORT:
            end += 1
        magic = frozenset(_SHORT[c] for c in pathspec[1:end])
        return magic, pathspec[end:].removeprefix(":")
    return frozenset(), pathspec


def _rebased(project: Project, text: str, base: str) -> str:
    """A pathspec typed in `base`, as it reads at the root."""
    magic, pattern = _split(text)
    _refuse_parts(pattern, text)
    if pattern.startswith("/"):
        raise _outside(project, text)
    if base == _ROOT or "top" in magic:
        return text
    prefix = base if "literal" in magic else "".join("\\" * (c in _WILD) + c for c in base)
    joined = f"{prefix}/{pattern}"
    return f":({','.join(sorted(magic))}){joined}" if magic else joined


def _fixed_part(pathspec: str) -> str:
    """What every match begins with, up to the first wildcard."""
    magic, pattern = _split(pathspec)
    if "literal" in magic:
        return pattern.rstrip("/")
    end = next((n for n, c in enumerate(pattern) if c in _WILD), len(pattern))
    return pattern[:end].rstrip("/")
