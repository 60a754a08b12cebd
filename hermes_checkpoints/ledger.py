"""The ledger: who last wrote what in a project, as content ids. Append-only.

One JSON line per call. Paths are escaped as JSON does it, so any bytes survive. A torn last line
(a kill while it was written) is passed over. Knows nothing of stores; compaction is upkeep's.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_checkpoints.records import FileState

__all__ = ["AGENT", "RESTORE", "Entry", "Ledger"]

AGENT = "agent"
RESTORE = "restore"


@dataclass(frozen=True, slots=True)
class Entry:
    """One path changed by one call.

    `before` and `after` are its states around the call (`None`: nothing there). `checkpoint` is the
    id of the newest checkpoint at that time. `kind` is `AGENT` or `RESTORE`; `call` names the tool
    call or the restore. `certain` is false for a change seen between two looks at the project
    around a command, during which a person may have edited too.
    Of a restore, `target` is the id of the checkpoint it went to, and `version` is true where it
    put back not that checkpoint's content but a person's version from between two agent writes.
    `moved` is true of a new path whose file is older than the call: perhaps the call only moved it
    there, from where no checkpoint looks, so it is not the agent's to delete.
    """

    path: str
    before: FileState | None
    after: FileState | None
    checkpoint: str = ""
    session: str = ""
    turn: str = ""
    call: str = ""
    tool: str = ""
    time: float = 0.0
    kind: str = AGENT
    certain: bool = True
    target: str = ""
    version: bool = False
    moved: bool = False


class Ledger:
    """The ledger of one project, in one file. Appends are atomic; readers need no lock."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._seen = 0
        self._inode = 0
        self._entries: list[Entry] = []

    @property
    def exists(self) -> bool:
        """Whether there is a ledger at all, be it empty."""
        return self.file.exists()

    def create(self) -> None:
        """Begin a ledger if there is none."""
        if not self.exists:
            self._append("")

    def append(self, entries: Sequence[Entry]) -> None:
        """Record what one call changed; `entries` share all but path, states and flags."""
        if entries:
            self._append(json.dumps(_line(entries), separators=(",", ":")) + "\n")

    def void(self, call: str) -> None:
        """Take back all entries of a restore, as undo does: they count as never written."""
        self._append(json.dumps({"void": call}, separators=(",", ":")) + "\n")

    def entries(self) -> list[Entry]:
        """All entries, oldest first, without the voided ones. Reads only what is new."""
        self._read()
        return list(self._entries)

    def since(self, call: str) -> list[Entry] | None:
        """What was recorded after a call; `None` if nothing of the call is in the ledger."""
        entries = self.entries()
        last = max((n for n, entry in enumerate(entries) if entry.call == call), default=None)
        return None if last is None else entries[last + 1 :]

    def last(self, path: str) -> Entry | None:
        """The last entry of a path."""
        self._read()
        return next((e for e in reversed(self._entries) if e.path == path), None)

    def rewrite(self, keep: Iterable[Entry]) -> None:
        """Replace the whole ledger, for compaction. The caller holds the project's lock."""
        spare = self.file.with_suffix(".new")
        with open(spare, "w", encoding="ascii", opener=_private) as out:
            for entry in keep:
                out.write(json.dumps(_line([entry]), separators=(",", ":")) + "\n")
            out.flush()
            os.fsync(out.fileno())
        os.replace(spare, self.file)

    def _append(self, text: str) -> None:
        self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(self.file, "ab", opener=_private) as out:
            if text and out.tell() and not self._ends_whole():
                text = "\n" + text
            out.write(text.encode("ascii"))

    def _ends_whole(self) -> bool:
        with open(self.file, "rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"

    def _read(self) -> None:
        try:
            with open(self.file, "rb") as file:
                inode = os.fstat(file.fileno()).st_ino
                if inode != self._inode:
                    self._inode, self._seen, self._entries = inode, 0, []
                file.seek(self._seen)
                text = file.read()
        except FileNotFoundError:
            self._seen, self._inode, self._entries = 0, 0, []
            return
        whole = text[: text.rfind(b"\n") + 1]
        self._seen += len(whole)
        for line in whole.splitlines():
            self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            record = json.loads(line)
            if "void" in record:
                self._entries = [e for e in self._entries if e.call != record["void"]]
            else:
                self._entries.extend(_entries(record))
        except (ValueError, KeyError, TypeError, AttributeError):
            return  # a damaged line: what it said is unknown, and unknown means the person's


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _line(entries: Sequence[Entry]) -> dict[str, Any]:
    first = entries[0]
    line: dict[str, Any] = {
        "time": round(first.time, 3),
        "kind": first.kind,
        "checkpoint": first.checkpoint,
        "session": first.session,
        "turn": first.turn,
        "call": first.call,
        "tool": first.tool,
        "certain": first.certain,
        "wrote": [[e.path, _dump(e.before), _dump(e.after)] for e in entries],
    }
    if first.target:
        line["target"] = first.target
    if versions := [e.path for e in entries if e.version]:
        line["versions"] = versions
    if moved := [e.path for e in entries if e.moved]:
        line["moved"] = moved
    return line


def _entries(record: dict[str, Any]) -> list[Entry]:
    versions, moved = (frozenset(record.get(flag, ())) for flag in ("versions", "moved"))
    return [
        Entry(
            path=path,
            before=_load(before),
            after=_load(after),
            checkpoint=record["checkpoint"],
            session=record["session"],
            turn=record["turn"],
            call=record["call"],
            tool=record["tool"],
            time=record["time"],
            kind=record["kind"],
            certain=record["certain"],
            target=record.get("target", ""),
            version=path in versions,
            moved=path in moved,
        )
        for path, before, after in record["wrote"]
    ]


def _dump(state: FileState | None) -> str:
    return f"{state.mode:o} {state.content}" if state else ""


def _load(text: str) -> FileState | None:
    if not text:
        return None
    mode, content = text.split(" ")
    return FileState(int(mode, 8), content)
