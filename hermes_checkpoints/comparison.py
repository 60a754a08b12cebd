"""What changed between a checkpoint and the files now, for people to read; secrets masked.

Looks and compares; changes nothing. Repositories that the checkpoint links to are compared, too,
each by itself, and shown as parts of the project.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hermes_checkpoints import worktree
from hermes_checkpoints.books import Books
from hermes_checkpoints.config import Config
from hermes_checkpoints.excludes import is_secret_content, is_secret_name
from hermes_checkpoints.links import linked_checkpoint, linked_project, links_of
from hermes_checkpoints.records import Change, Checkpoint, Project
from hermes_checkpoints.stores.base import Diff, Store

__all__ = ["compare"]

_HEAD = 4096  # a file whose header makes it a secret is small; a longer one is not looked into


@dataclass(frozen=True, slots=True)
class _Found:
    """Differences, and further lines of the summary."""

    diff: Diff
    lines: bytes = b""


def compare(
    store: Store, config: Config, project: Project, checkpoint: Checkpoint, paths: Sequence[str]
) -> Diff:
    """From a checkpoint to the files now, lines added since shown as `+`.

    `paths` (relative to the project) are files or directories to look at, all if empty. A path that
    one side could not hold is left out: its absence there says nothing.
    """
    found = list(_compare(store, config, project, checkpoint, paths))
    stat = _one_summary([one.diff.stat for one in found])
    lines = b"".join(one.lines for one in found)
    return Diff(stat + lines, b"".join(one.diff.patch for one in found))


def _compare(
    store: Store, config: Config, project: Project, checkpoint: Checkpoint, paths: Sequence[str]
) -> Iterator[_Found]:
    """The differences of a project, then those of the repositories linked in it."""
    links = links_of(store, project, checkpoint)
    with store.lock(project):  # what was just observed can be read for as long
        seen = store.observe(project, config.capture_rules, named=checkpoint.named)
        now = store.combined(project, seen)
        gaps = (*seen.gaps, *(checkpoint.gaps or ()))
        changes = [
            c
            for c in store.changes(project, checkpoint.tree, now)
            if not _is_link(c)
            and not any(c.path.startswith(f"{link}/") for link in links)
            and not any(g.covers(c.path) for g in gaps)
            and _selected(c.path, paths)
        ]
        secret = _secret(store, project, changes, checkpoint)
        shown = [c.path for c in changes if c.path not in secret]
        diff = store.diff(project, checkpoint.tree, now, shown) if shown else Diff(b"", b"")
    lines = b"".join(b" %s | content masked (secret)\n" % _bytes(path) for path in sorted(secret))
    yield _Found(diff, lines)
    for path, inner_id in sorted(links.items()):
        inside = _inside(path, paths)
        if inside is None:
            continue
        inner = linked_project(project, path)
        held = linked_checkpoint(store, Books(config.base_path), inner, inner_id)
        if held is None or not worktree.is_directory(project.root, path):
            why = b"is not there now" if held else b"has lost its checkpoint"
            yield _Found(Diff(b"", b""), b" %s | nested repository that %s\n" % (_bytes(path), why))
            continue
        for one in _compare(store, config, inner, held, inside):
            diff = Diff(_stat_below(path, one.diff.stat), _patch_below(path, one.diff.patch))
            yield _Found(diff, _stat_below(path, one.lines))


def _inside(link: str, paths: Sequence[str]) -> list[str] | None:
    """The part of a selection that lies in a linked repository; empty: all, `None`: nothing."""
    if _selected(link, paths):
        return []
    return [p[len(link) + 1 :] for p in paths if p.startswith(f"{link}/")] or None


def _is_link(change: Change) -> bool:
    """Whether only the entry of a nested repository changed, which says nothing to a person."""
    return any(side is not None and side.is_gitlink for side in (change.old, change.new))


def _selected(path: str, paths: Iterable[str]) -> bool:
    chosen = [p.rstrip("/") for p in paths]
    return not chosen or any(path == p or p == "." or path.startswith(p + "/") for p in chosen)


def _secret(
    store: Store, project: Project, changes: Iterable[Change], checkpoint: Checkpoint
) -> set[str]:
    """The changed paths whose content must not be shown.

    Only a file that a call named can be a secret by its content: any other would be a gap.
    """
    changes = list(changes)
    found = {c.path for c in changes if is_secret_name(c.path)}
    named = [
        (c.path, side.content)
        for c in changes
        if c.path in checkpoint.named and c.path not in found
        for side in (c.old, c.new)
        if side is not None
    ]
    contents = store.read(project, [content for _, content in named])
    for (path, _), data in zip(named, contents, strict=True):
        if len(data) <= _HEAD and is_secret_content(data):
            found.add(path)
    return found


def _bytes(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


# --------------------------------------------------------------------------- one diff of several


_SUMMARY = re.compile(
    rb" (\d+) files? changed(?:, (\d+) insertions?\(\+\))?(?:, (\d+) deletions?\(-\))?\n"
)
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")  # a carriage return ends no line here
_SIDE = re.compile(rb'(?<![^ ])("?)([ab])/')


def _one_summary(stats: Sequence[bytes]) -> bytes:
    """The lines of several summaries, with their last lines, if they have any, made one."""
    if len(stats) == 1:
        return stats[0]
    totals = [
        [int(n or 0) for n in found.groups()] for s in stats for found in _SUMMARY.finditer(s)
    ]
    lines = b"".join(_SUMMARY.sub(b"", s) for s in stats)
    if not totals:
        return lines
    files, plus, minus = map(sum, zip(*totals, strict=True))
    parts = [b" %d file%s changed" % (files, b"" if files == 1 else b"s")]
    if plus or not minus:
        parts.append(b"%d insertion%s(+)" % (plus, b"" if plus == 1 else b"s"))
    if minus or not plus:
        parts.append(b"%d deletion%s(-)" % (minus, b"" if minus == 1 else b"s"))
    return lines + b", ".join(parts) + b"\n"


def _stat_below(prefix: str, stat: bytes) -> bytes:
    """A summary with the place of a repository in front of its files."""

    def moved(line: bytes) -> bytes:
        if not line.startswith(b" ") or _SUMMARY.fullmatch(line):
            return line
        quote = b'"' if line.startswith(b' "') else b""
        return b" %s%s/%s" % (quote, _bytes(prefix), line[1 + len(quote) :])

    return b"".join(map(moved, stat.splitlines(keepends=True)))


def _patch_below(prefix: str, patch: bytes) -> bytes:
    """A unified diff with the place of a repository in front of its files.

    Lines of the files themselves are counted off, for they may look like headers.
    """
    found, old, new = [], 0, 0
    for line in _LINE.findall(patch):
        if old > 0 or new > 0:
            old -= line[:1] in b" -\n"
            new -= line[:1] in b" +\n"
        elif hunk := _HUNK.match(line):
            old, new = (1 if n is None else int(n) for n in hunk.groups())
        elif line.startswith((b"diff --git ", b"--- ", b"+++ ", b"Binary files ")):
            sides = 1 if line.startswith((b"--- ", b"+++ ")) else 2
            line = _SIDE.sub(lambda m: b"%s%s/%s/" % (*m.groups(), _bytes(prefix)), line, sides)
        found.append(line)
    return b"".join(found)
