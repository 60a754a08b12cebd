"""Gitignore rules and pathspecs in plain Python, for stores that have no git.

Owns the meaning of the two pattern languages as git documents them. Reads no file system: callers
pass in the text of ignore files and the paths.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from hermes_checkpoints.errors import SelectionError

__all__ = ["IgnoreRules", "select"]


# --------------------------------------------------------------------------- ignore files


@dataclass(frozen=True, slots=True)
class _Rule:
    regex: re.Pattern[str]
    keep: bool
    directories_only: bool


class IgnoreRules:
    """The ignore rules in force in one directory: its own and those of the directories above.

    `below` gives the rules of a subdirectory; nothing is shared that could change later.
    """

    def __init__(self, patterns: Iterable[str] = (), *, _levels: tuple[_Level, ...] = ()) -> None:
        self._levels = _levels or (_Level("", _rules(patterns)),)

    def below(self, directory: str, ignore_file: str) -> IgnoreRules:
        """These rules plus the text of the `.gitignore` in `directory` (`""` for the root)."""
        level = _Level(directory + "/" if directory else "", _rules(ignore_file.split("\n")))
        return IgnoreRules(_levels=(*self._levels, level))

    def ignores(self, path: str, *, is_directory: bool) -> bool:
        """Whether a path directly below is left out; its parents are taken to be let in."""
        for level in reversed(self._levels):
            verdict = level.verdict(path, is_directory)
            if verdict is not None:
                return verdict
        return False

    def hides(self, path: str) -> bool:
        """Whether a file, or a directory above it, is left out by these rules."""
        parts = path.split("/")
        above = ("/".join(parts[:n]) for n in range(1, len(parts)))
        return any(self.ignores(d, is_directory=True) for d in above) or self.ignores(
            path, is_directory=False
        )


@dataclass(frozen=True, slots=True)
class _Level:
    prefix: str
    rules: tuple[_Rule, ...]

    def verdict(self, path: str, is_directory: bool) -> bool | None:
        relative = path[len(self.prefix) :]
        for rule in reversed(self.rules):
            if rule.directories_only and not is_directory:
                continue
            if rule.regex.fullmatch(relative):
                return not rule.keep
        return None


def _rules(lines: Iterable[str]) -> tuple[_Rule, ...]:
    return tuple(rule for line in lines if (rule := _rule(line)))


@lru_cache(maxsize=4096)
def _rule(line: str) -> _Rule | None:
    line = line.rstrip("\r")
    while line.endswith(" ") and not line.endswith("\\ "):
        line = line[:-1]
    if not line or line.startswith("#"):
        return None
    keep = line.startswith("!")
    pattern = line[1:] if keep else line
    directories_only = pattern.endswith("/")
    pattern = pattern.rstrip("/")
    if not pattern:
        return None
    anchored = "/" in pattern
    body = _translate(pattern.lstrip("/"), star_crosses=False)
    if body is None:
        return None
    prefix = "" if anchored else "(?:.*/)?"
    return _Rule(re.compile(prefix + body, re.DOTALL), keep, directories_only)


# --------------------------------------------------------------------------- pathspecs


@dataclass(frozen=True, slots=True)
class _Pathspec:
    regex: re.Pattern[str]
    exclude: bool


def select(candidates: Iterable[str], pathspecs: Sequence[str]) -> list[str]:
    """Which candidates git pathspecs select. Raises `SelectionError` for a bad pathspec."""
    specs = [_pathspec(text) for text in pathspecs]
    wanted = [s for s in specs if not s.exclude]
    barred = [s for s in specs if s.exclude]
    return [
        path
        for path in candidates
        if (not wanted or any(s.regex.fullmatch(path) for s in wanted))
        and not any(s.regex.fullmatch(path) for s in barred)
    ]


_LONG = {"top", "literal", "icase", "glob", "exclude"}
_SHORT = {"/": "top", "!": "exclude", "^": "exclude"}


def _pathspec(text: str) -> _Pathspec:
    magic, pattern = _magic(text)
    if not text or (pattern.startswith("/") and "top" not in magic):
        raise SelectionError(f"{text!r} selects nothing inside the project")
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise SelectionError(f"{text!r} leads out of the project")
    if "literal" in magic and "glob" in magic:
        raise SelectionError(f"{text!r}: 'literal' and 'glob' exclude each other")
    flags = re.DOTALL | (re.IGNORECASE if "icase" in magic else 0)
    clean = "/".join(parts)
    literal = re.escape(clean)
    body: str | None = literal
    if "literal" not in magic:
        body = _translate(clean, star_crosses="glob" not in magic)
    if not clean:
        return _Pathspec(re.compile(".*", flags), "exclude" in magic)
    whole = literal if body is None else f"(?:{body}|{literal})"
    return _Pathspec(re.compile(f"{whole}|{literal}/.*", flags), "exclude" in magic)


def _magic(text: str) -> tuple[set[str], str]:
    if not text.startswith(":"):
        return set(), text
    if text.startswith(":("):
        words, closed, rest = text[2:].partition(")")
        magic = {word for word in words.split(",") if word}
        if not closed or magic - _LONG:
            raise SelectionError(f"{text!r} is no pathspec this store knows")
        return magic, rest
    magic, at = set(), 1
    while at < len(text) and text[at] in _SHORT:
        magic.add(_SHORT[text[at]])
        at += 1
    if at < len(text) and text[at] == ":":
        at += 1
    return magic, text[at:]


# --------------------------------------------------------------------------- globs


def _translate(pattern: str, *, star_crosses: bool) -> str | None:
    """The regular expression of a glob; `None` if the glob is malformed and matches nothing."""
    star, one = (".*", ".") if star_crosses else ("[^/]*", "[^/]")
    out, at = [], 0
    while at < len(pattern):
        char = pattern[at]
        if not star_crosses and pattern.startswith("**", at):
            piece, at = _double_star(pattern, at)
            out.append(piece)
        elif char == "*":
            out.append(star)
            at += 1
        elif char == "?":
            out.append(one)
            at += 1
        elif char == "[":
            piece, at = _bracket(pattern, at)
            if not piece:
                return None
            out.append(piece)
        elif char == "\\":
            if at + 1 == len(pattern):
                return None
            out.append(re.escape(pattern[at + 1]))
            at += 2
        else:
            out.append(re.escape(char))
            at += 1
    return "".join(out)


def _double_star(pattern: str, at: int) -> tuple[str, int]:
    starts = at == 0 or pattern[at - 1] == "/"
    end = at + 2
    if starts and pattern.startswith("/", end):
        return "(?:.*/)?", end + 1
    if starts and end == len(pattern):
        return ".*", end
    while pattern.startswith("*", end):
        end += 1
    return "[^/]*", end


_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "xdigit": "0-9a-fA-F",
}


def _bracket(pattern: str, at: int) -> tuple[str, int]:
    """A bracket expression as a regular expression; an empty one if it never closes."""
    end = at + 1
    negated = pattern[end : end + 1] in ("!", "^")
    end += negated
    body, first = "", True
    while end < len(pattern) and (first or pattern[end] != "]"):
        first = False
        if pattern.startswith("[:", end) and ":]" in pattern[end:]:
            name, _, _ = pattern[end + 2 :].partition(":]")
            body += _CLASSES.get(name, "")
            end += len(name) + 4
            continue
        if pattern[end] == "\\" and end + 1 < len(pattern):
            end += 1
            body += re.escape(pattern[end])
        elif pattern[end] == "-":
            body += "-"
        else:
            body += re.escape(pattern[end])
        end += 1
    if end >= len(pattern):
        return "", at
    return (f"(?!/)[{'^' if negated else ''}{body}]" if body else "(?!)"), end + 1
