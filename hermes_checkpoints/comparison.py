"""What changed between a checkpoint and the files now, for people to read; secrets masked.

Looks and compares; changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hermes_checkpoints.config import Config
from hermes_checkpoints.excludes import is_secret_content, is_secret_name
from hermes_checkpoints.records import Change, Checkpoint, Project
from hermes_checkpoints.stores.base import Diff, Store

__all__ = ["compare"]

_HEAD = 4096  # a file whose header makes it a secret is small; a longer one is not looked into


def compare(
    store: Store, config: Config, project: Project, checkpoint: Checkpoint, paths: Sequence[str]
) -> Diff:
    """From a checkpoint to the files now, lines added since shown as `+`.

    `paths` (relative to the project) are files or directories to look at, all if empty. A path that
    one side could not hold is left out: its absence there says nothing.
    """
    with store.lock(project):  # what was just observed can be read for as long
        seen = store.observe(project, config.capture_rules, named=checkpoint.named)
        now = store.combined(project, seen)
        gaps = (*seen.gaps, *(checkpoint.gaps or ()))
        changes = [
            c
            for c in store.changes(project, checkpoint.tree, now)
            if not _is_link(c)
            and not any(g.covers(c.path) for g in gaps)
            and _selected(c.path, paths)
        ]
        secret = _secret(store, project, changes, checkpoint)
        shown = [c.path for c in changes if c.path not in secret]
        diff = store.diff(project, checkpoint.tree, now, shown) if shown else Diff(b"", b"")
    lines = b"".join(b" %s | content masked (secret)\n" % _bytes(path) for path in sorted(secret))
    return Diff(diff.stat + lines, diff.patch)


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
