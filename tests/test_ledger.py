"""The ledger: what was appended is read back, whatever happened to the file."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_checkpoints.ledger import AGENT, RESTORE, Entry, Ledger
from hermes_checkpoints.records import REGULAR, FileState, content_id

ONE = FileState(REGULAR, content_id(b"1"))
TWO = FileState(REGULAR, content_id(b"2"))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledgers" / "writes.jsonl")


def entry(path: str = "f", call: str = "c1", **more: object) -> Entry:
    return replace(Entry(path, ONE, TWO, checkpoint="cp", session="s", call=call), **more)  # type: ignore[arg-type]


def test_what_was_appended_is_read_back(ledger: Ledger) -> None:
    """Every field survives the file."""
    wrote = [entry("a"), entry("b", before=None), entry("m", before=None, moved=True)]
    restored = entry("c", "r1", kind=RESTORE, target="t", version=True, certain=False)
    ledger.append(wrote)
    ledger.append([restored, replace(restored, path="d", version=False)])
    assert Ledger(ledger.file).entries() == [
        *wrote,
        restored,
        replace(restored, path="d", version=False),
    ]


@given(st.binary(min_size=1).filter(lambda name: b"\0" not in name))
def test_any_name_survives(tmp_path: Path, name: bytes) -> None:
    """Names are bytes: what is no valid text is read back all the same."""
    ledger = Ledger(tmp_path / "names" / f"{abs(hash(name))}.jsonl")
    ledger.append([entry(os.fsdecode(name))])
    assert os.fsencode(ledger.entries()[-1].path) == name


def test_only_what_is_new_is_read(ledger: Ledger) -> None:
    """A second reader's appends are seen by the first, without a new start."""
    ledger.append([entry("a")])
    assert len(ledger.entries()) == 1
    Ledger(ledger.file).append([entry("b")])
    assert [e.path for e in ledger.entries()] == ["a", "b"]
    assert ledger.last("b") == entry("b")
    assert ledger.last("nothing") is None


def test_an_empty_ledger_exists(ledger: Ledger) -> None:
    """A ledger without entries is not the same as no ledger."""
    assert not ledger.exists
    assert ledger.entries() == []
    ledger.create()
    ledger.create()
    assert ledger.exists
    assert ledger.entries() == []


def test_a_torn_line_is_passed_over(ledger: Ledger) -> None:
    """A kill in the middle of a line loses that line and no other."""
    ledger.append([entry("a")])
    ledger.append([entry("lost")])
    whole = ledger.file.read_bytes()
    ledger.file.write_bytes(whole[:-20])
    fresh = Ledger(ledger.file)
    assert [e.path for e in fresh.entries()] == ["a"]
    fresh.append([entry("b")])
    assert [e.path for e in fresh.entries()] == ["a", "b"]
    assert [e.path for e in Ledger(ledger.file).entries()] == ["a", "b"]


def test_damaged_lines_are_unknown(ledger: Ledger) -> None:
    """Lines that say nothing sensible are passed over."""
    ledger.append([entry("a")])
    with open(ledger.file, "ab") as out:
        out.write(b'nonsense\n[]\n{"wrote": 1}\n{"wrote": [["x", "zz", ""]]}\n')
    ledger.append([entry("b")])
    assert [e.path for e in Ledger(ledger.file).entries()] == ["a", "b"]


def test_a_voided_call_was_never_made(ledger: Ledger) -> None:
    """Undo takes the entries of a restore back, in every reader."""
    ledger.append([entry("a")])
    ledger.append([entry("a", "r1", kind=RESTORE), entry("b", "r1", kind=RESTORE)])
    assert len(ledger.entries()) == 3
    ledger.void("r1")
    assert ledger.entries() == [entry("a")]
    assert Ledger(ledger.file).entries() == [entry("a")]


def test_what_came_after_a_call(ledger: Ledger) -> None:
    """The entries since a call are those after its last one; an unknown call has none."""
    ledger.append([entry("a", "r1", kind=RESTORE), entry("b", "r1", kind=RESTORE)])
    assert ledger.since("r1") == []
    ledger.append([entry("c", "c9")])
    assert ledger.since("r1") == [entry("c", "c9")]
    assert ledger.since("unknown") is None


def test_a_rewritten_ledger_is_read_anew(ledger: Ledger) -> None:
    """Compaction by another process is noticed."""
    for name in "abc":
        ledger.append([entry(name)])
    assert len(ledger.entries()) == 3
    Ledger(ledger.file).rewrite([entry("c")])
    assert ledger.entries() == [entry("c")]
    ledger.append([entry("d")])
    assert [e.path for e in ledger.entries()] == ["c", "d"]


def test_appends_from_many_threads_are_whole(ledger: Ledger) -> None:
    """Appends at once neither mix nor get lost."""

    def write(number: int) -> None:
        own = Ledger(ledger.file)
        for n in range(20):
            own.append([entry(f"{number}/{n}" + "x" * 200, kind=AGENT)])

    threads = [threading.Thread(target=write, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({e.path for e in ledger.entries()}) == 120


def test_a_ledger_is_private(ledger: Ledger) -> None:
    """Only its owner can read it."""
    ledger.append([entry("a")])
    assert ledger.file.stat().st_mode & 0o777 == 0o600
