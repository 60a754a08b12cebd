"""What of a project's records nothing needs any more, and what must follow a change of ids.

Owns the upkeep of ledger and rollbacks; what they mean is `authorship`'s and `recovery`'s. All of
it runs under the project's lock, and never while a call is open there: an open call remembers how
long the ledger was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hermes_checkpoints.books import Book
from hermes_checkpoints.ledger import Entry
from hermes_checkpoints.records import Checkpoint

__all__ = ["forget_path", "tidy"]


def tidy(book: Book, checkpoints: Sequence[Checkpoint]) -> None:
    """Drop what is older than every checkpoint that is left.

    A restore asks only what was written since its target, and the oldest target is the oldest
    checkpoint. A rollback whose safety checkpoint is gone can't be taken back.
    """
    known = {c.id for c in checkpoints}
    rollbacks = book.rollbacks.done()
    kept = [task for task in rollbacks if task.safety in known]
    if len(kept) < len(rollbacks):
        book.rollbacks.rewrite(kept)
    if not book.ledger.exists or not checkpoints:
        return
    oldest, calls = checkpoints[-1].time, {task.id for task in kept}
    entries = book.ledger.entries()
    # A store may keep times in whole seconds, so one of them is allowed for.
    live = [e for e in entries if e.checkpoint in known or e.time >= oldest - 1 or e.call in calls]
    if len(live) < len(entries):
        book.ledger.rewrite(live)


def forget_path(book: Book, path: str, ids: Mapping[str, str]) -> None:
    """Nobody wrote `path`, there is no way back through it, and checkpoints have new ids."""
    book.rollbacks.rewrite([])
    if not book.ledger.exists:
        return
    prefix = path.rstrip("/") + "/"
    book.ledger.rewrite(
        _renamed(e, ids)
        for e in book.ledger.entries()
        if e.path != path and not e.path.startswith(prefix)
    )


def _renamed(entry: Entry, ids: Mapping[str, str]) -> Entry:
    checkpoint = ids.get(entry.checkpoint, entry.checkpoint)
    return replace(entry, checkpoint=checkpoint, target=ids.get(entry.target, entry.target))
