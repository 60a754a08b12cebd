"""Whose doing is what is there now: a walk back through the ledger, one path at a time.

Owns the question what a plain restore may replace, and with what. Pure: knows the entries of the
ledger and the order of the checkpoints, looks at no file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from hermes_checkpoints.ledger import RESTORE, Entry
from hermes_checkpoints.records import Checkpoint, FileState

__all__ = ["Finding", "History", "same"]


_RULES = ".gitignore"


@dataclass(frozen=True, slots=True)
class Finding:
    """What the ledger says of a path.

    `ours`: what is there now may be replaced, by `target`; else it is somebody's, and `why` says
    whose. `version` is true when `target` is a person's version (or absence) that lay between
    the agent's writes, and not the checkpoint's state. `certain` is false where all that is known
    of the oldest write is two looks around a command.
    """

    ours: bool
    why: str
    target: FileState | None = None
    version: bool = False
    certain: bool = True


def same(one: FileState | None, other: FileState | None) -> bool:
    """Whether two states have the same bytes and the same kind; an exec bit is no content."""
    if one is None or other is None:
        return one is other
    return one.content == other.content and one.is_link == other.is_link


class History:
    """The ledger's entries since a checkpoint, by path.

    `checkpoints` is the project's list, newest first. `ours` says whether an entry's session may be
    overruled: the calling one, ended ones, restores.
    """

    def __init__(
        self,
        entries: Iterable[Entry],
        checkpoints: Sequence[Checkpoint],
        target: Checkpoint,
        ours: Callable[[Entry], bool],
    ) -> None:
        self._age = {c.id: age for age, c in enumerate(checkpoints)}
        self._target = target
        self._overruled = ours
        self._entries: dict[str, list[Entry]] = {}
        self._rules: dict[tuple[str, str], list[Entry]] = {}
        for entry in self._later(list(entries)):
            self._entries.setdefault(entry.path, []).append(entry)
            if entry.path.rpartition("/")[2] == _RULES and entry.before is not None:
                self._rules.setdefault((entry.session, entry.call), []).append(entry)

    @property
    def paths(self) -> frozenset[str]:
        """Every path that was written since the checkpoint."""
        return frozenset(self._entries)

    @property
    def tools(self) -> set[str]:
        """What wrote since the checkpoint."""
        return {entry.tool for entries in self._entries.values() for entry in entries}

    def rules_changed(self, path: str) -> list[Entry]:
        """Changes of ignore files by the calls that are said to have made a path.

        Such a call may have brought to light what was there.
        """
        made = [e for e in self._entries.get(path, ()) if e.before is None and not e.certain]
        return [
            change
            for entry in made
            for change in self._rules.get((entry.session, entry.call), ())
            if path.startswith(change.path.removesuffix(_RULES))
        ]

    def _ours(self, entry: Entry) -> bool:
        return not entry.moved and self._overruled(entry)

    def trace(self, path: str, now: FileState | None, then: FileState | None) -> Finding:
        """Who made the present state of a path, and what a plain restore may put there."""
        entries = self._entries.get(path, [])
        if not entries:
            return Finding(False, _not_recorded(now, then))
        newest = entries[-1]
        if not same(newest.after, now):
            return Finding(False, _changed_after(newest, now))
        if newest.moved:
            why = f"older than {_tool(newest)}'s call, which may have moved it here"
            return Finding(False, why)
        if not self._ours(newest):
            return Finding(False, f"{_by(newest)} of session {newest.session}, which still runs")
        target, oldest = self._walk(entries, now, then)
        if same(target, then):
            return Finding(True, _why(newest, now), then, certain=oldest.certain)
        if same(target, now):
            return Finding(False, "your version, which a rollback brought back")
        whose = self._whose(entries, oldest, target)
        why = f"{whose} version from before {_tool(oldest)} changed it"
        return Finding(True, why, target, version=True, certain=oldest.certain)

    def _whose(self, entries: Sequence[Entry], oldest: Entry, state: FileState | None) -> str:
        """Whose the state is that our run of writes began from."""
        at = entries.index(oldest)
        before = entries[at - 1] if at else None
        if before is None or before.moved or self._ours(before):
            return "your"
        return f"session {before.session}'s" if same(before.after, state) else "your"

    def _walk(
        self, entries: Sequence[Entry], state: FileState | None, then: FileState | None
    ) -> tuple[FileState | None, Entry]:
        """The state before the unbroken run of our writes that ends in `state`, and its first.

        The run ends where a write did not begin from what the write before it had left: what it
        began from is a person's.
        """
        at = len(entries) - 1
        oldest = entries[at]
        while True:
            entry = entries[at]
            if not same(entry.after, state) or not self._ours(entry):
                return state, oldest
            oldest = entry
            if entry.kind == RESTORE:
                if same(state, then):
                    return then, oldest
                before = self._before_restore(entries, at)
                if before is None:
                    return then, oldest
                if before < 0:
                    return state, oldest
                at = before
                continue
            state = entry.before
            if at == 0:
                return state, oldest
            at -= 1

    def _before_restore(self, entries: Sequence[Entry], at: int) -> int | None:
        """Which entry made the state that a restore put back; -1: a person did.

        `None`: the state is of a moment before the checkpoint, which therefore may replace it. A
        restore makes everything between its target and itself as if it had never been.
        """
        restore = entries[at]
        if restore.version:
            return None if at == 0 else -1
        target = self._age.get(restore.target)
        if target is None or target >= self._age[self._target.id]:
            return None
        oldest = len(self._age)  # an entry whose checkpoint was dropped is older than them all
        earlier = (n for n in range(at) if self._age.get(entries[n].checkpoint, oldest) > target)
        return max(earlier, default=-1)

    def _later(self, entries: Sequence[Entry]) -> Iterator[Entry]:
        """The entries since the target, in their order.

        An entry whose checkpoint was dropped lies between its neighbours in the ledger. Where they
        leave it open, only the clock is left, and that may count whole seconds: in doubt an entry
        is older, and what it says of a path is not known.
        """
        target = self._age[self._target.id]
        following = self._following(entries)
        before: int | None = None
        for entry, after in zip(entries, following, strict=True):
            age = self._age.get(entry.checkpoint)
            if age is not None:
                before = age
                later = age <= target
            elif after is not None and target <= after:
                later = False
            elif before is not None and before <= target:
                later = True
            else:
                later = entry.time >= self._target.time + 1
            if later:
                yield entry

    def _following(self, entries: Sequence[Entry]) -> list[int | None]:
        """For each entry the age of the checkpoint that the next entry with a known one has."""
        known: int | None = None
        found: list[int | None] = []
        for entry in reversed(entries):
            found.append(known)
            known = self._age.get(entry.checkpoint, known)
        return found[::-1]


def _tool(entry: Entry) -> str:
    return entry.tool or ("a rollback" if entry.kind == RESTORE else "the agent")


def _by(entry: Entry) -> str:
    return f"{'removed' if entry.after is None else 'written'} by {_tool(entry)}"


def _why(entry: Entry, now: FileState | None) -> str:
    unsure = "" if entry.certain else ", or by somebody else while it ran"
    return f"{'removed' if now is None else 'written'} by {_tool(entry)}{unsure}"


def _not_recorded(now: FileState | None, then: FileState | None) -> str:
    if now is None:
        return "removed, and not by a recorded call"
    return "made by you" if then is None else "changed, and not by a recorded call"


def _changed_after(newest: Entry, now: FileState | None) -> str:
    if now is None:
        return f"removed by you after {_tool(newest)} had written it"
    if newest.after is None:
        return f"made anew by you after {_tool(newest)} had removed it"
    return f"changed by you after {_tool(newest)} had written it"
