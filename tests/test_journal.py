"""The journal and the rollbacks: what was put on disk is what is read back."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from hermes_checkpoints.applier import Move, Task
from hermes_checkpoints.journal import DamagedJournal, Journal, Rollbacks
from hermes_checkpoints.records import EXECUTABLE, REGULAR, FileState, content_id

ONE, TWO = FileState(REGULAR, content_id(b"1")), FileState(EXECUTABLE, content_id(b"2"))
TASK = Task(
    id="t1",
    action="restore",
    target="cp",
    safety="before",
    moves=(
        Move(os.fsdecode(b"bad\xff/f"), ONE, TWO, 0o644, 0o755, version=True),
        Move("gone", TWO, None, 0o600),
        Move("new", None, ONE, None, 0o640),
    ),
    asides=(("x", "x.aside-1"),),
    dirs=("empty",),
    fresh=("bad",),
    stale=("old/dir",),
    session="s",
    turn="t",
    time=12.5,
    undoes="",
)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "book" / "journal.json")


@pytest.fixture
def rollbacks(tmp_path: Path) -> Rollbacks:
    return Rollbacks(tmp_path / "book" / "rollbacks.jsonl")


def test_a_task_survives_the_disk(journal: Journal, rollbacks: Rollbacks) -> None:
    """Every field comes back, names that are no text too."""
    assert journal.read() is None
    journal.write(TASK)
    rollbacks.add(TASK)
    assert journal.read() == TASK
    assert rollbacks.done() == [TASK]


def test_taking_back_twice_is_the_task_again() -> None:
    """The inverse swaps what was and what shall be, for files, names and directories."""
    back = TASK.inverse()
    assert back.moves[0] == Move(TASK.moves[0].path, TWO, ONE, 0o755, 0o644, version=True)
    assert back.asides == (("x.aside-1", "x"),)
    assert (back.dirs, back.stale) == (("old/dir",), ("empty", "bad"))
    assert back.inverse().moves == TASK.moves


def test_a_journal_is_abandoned_when_its_process_is_dead(journal: Journal) -> None:
    """While its process lives a rollback is under way, not interrupted."""
    assert not journal.abandoned
    child = os.fork()
    if child == 0:
        journal.write(TASK)
        os._exit(0)
    os.waitpid(child, 0)
    assert journal.abandoned
    journal.write(TASK)
    assert not journal.abandoned
    journal.remove()
    assert not journal.exists


def test_a_damaged_journal_is_told_from_none(journal: Journal) -> None:
    """It is an error that names the file, and it can be moved aside."""
    journal.write(TASK)
    (file,) = (journal.set_aside().parent).iterdir()
    assert not journal.exists
    file.rename(file.with_suffix(".json"))
    file.with_suffix(".json").write_text('{"task": {}}')
    assert journal.abandoned
    with pytest.raises(DamagedJournal, match=r"journal\.json"):
        journal.read()


def test_what_is_undone_is_gone(rollbacks: Rollbacks) -> None:
    """The rollbacks are those not undone, oldest first, each as it was last recorded."""
    second = replace(TASK, id="t2")
    rollbacks.add(TASK)
    rollbacks.add(second)
    rollbacks.add(replace(second, session="other"))
    assert [t.session for t in rollbacks.done()] == ["s", "other"]
    rollbacks.undone("t2")
    rollbacks.undone("never")
    assert rollbacks.done() == [TASK]
    rollbacks.rewrite([second])
    assert rollbacks.done() == [second]


def test_a_torn_or_damaged_record_is_passed_over(rollbacks: Rollbacks, tmp_path: Path) -> None:
    """A kill in the middle of a record loses that record and no other."""
    rollbacks.add(TASK)
    file = tmp_path / "book" / "rollbacks.jsonl"
    with open(file, "ab") as out:
        out.write(b'{"task": {"id": 1}}\n[]\n{"task": {"id": "torn"')
    rollbacks.add(replace(TASK, id="t2"))
    assert [t.id for t in rollbacks.done()] == ["t1", "t2"]
