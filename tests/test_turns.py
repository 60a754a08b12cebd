"""Turns: idempotent ids, scopes that sub-agents inherit, marks shared by processes."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from pathlib import Path

from hermes_checkpoints.records import ToolCall
from hermes_checkpoints.turns import Mark, Marks, Scope, Turns


def test_the_same_id_is_the_same_turn() -> None:
    """Beginning a turn with the id it has changes nothing; none means a new one."""
    turns = Turns("s")
    assert turns.begin("m1", None) == "m1"
    assert turns.of() == Scope("s", "m1")
    turns.begin("m1", None)
    turns.begin("m2", None)
    assert turns.since("s", "m1") == 2
    assert turns.begin(None, None) != turns.begin(None, None)


def test_dropped_turns_are_not_counted() -> None:
    """A later count leaves out the turns that a rollback has taken out of the chat."""
    turns = Turns("s")
    for name in ("m1", "m2", "m3"):
        turns.begin(name, None)
    turns.drop("s", 2)
    turns.begin("m4", None)
    assert turns.since("s", "m1") == 2
    assert turns.since("s", "m2") is None
    turns.drop("s", 0)
    turns.drop("another", 1)
    assert turns.since("s", "m1") == 2


def test_without_any_turn_there_is_one() -> None:
    """A host that never begins a turn has a single one."""
    turns = Turns("s")
    assert turns.of() == turns.of()


def test_a_nested_scope_is_a_sub_agent_of_the_root_turn() -> None:
    """Inside a scope the root's session and turn go on, whatever the inner one is called."""
    turns = Turns("s")
    with turns.scope("root", "session", "/a"), turns.scope("child", "other", "/b"):
        assert turns.of() == Scope("session", "root", "/b")
    assert turns.of().session == "s"


def test_threads_and_tasks_that_copy_the_context_inherit_the_scope() -> None:
    """A scope reaches a task and a thread run in a copy of the context."""
    turns = Turns("s")
    seen: list[Scope] = []

    async def task() -> None:
        seen.append(turns.of())

    with turns.scope("t", None, None):
        asyncio.run(task())
        thread = threading.Thread(
            target=contextvars.copy_context().run, args=(lambda: seen.append(turns.of()),)
        )
        thread.start()
        thread.join()
    assert seen == [Scope("s", "t"), Scope("s", "t")]


def test_a_thread_without_the_context_falls_back_to_the_open_scope() -> None:
    """In a thread that inherits nothing, the scope that is open counts, and after it none."""
    turns = Turns("s")
    seen: list[Scope] = []

    def ask() -> None:
        thread = threading.Thread(target=lambda: seen.append(turns.of()))
        thread.start()
        thread.join()

    with turns.scope("t", "x", None):
        ask()
    ask()
    assert seen[0] == Scope("x", "t")
    assert seen[1].session == "s"


def test_a_calls_own_ids_count_outside_a_scope() -> None:
    """Native ids serve where no scope is active, and beat one only if they are said to."""
    turns = Turns("s")
    native = ToolCall("x", session_id="n", turn_id="m")
    assert turns.of(native) == Scope("n", "m")
    with turns.scope("t", None, None):
        assert turns.of(native) == Scope("s", "t")
        stubborn = ToolCall("x", session_id="n", turn_id="m", native_ids=True)
        assert turns.of(stubborn).turn == "m"


def test_turns_are_counted_per_session() -> None:
    """`since` counts a session's turns from one on and knows no others."""
    turns = Turns("s")
    for name in ("a", "b", "c"):
        turns.begin(name, None)
    assert turns.since("s", "b") == 2
    assert turns.since("s", "z") is None
    assert turns.since("other", "b") is None


def test_marks_survive_processes_and_damage(tmp_path: Path) -> None:
    """A mark is read by another reader; a damaged file means no marks, and is written anew."""
    marks = Marks(tmp_path / "turns.json")
    assert marks.get("s") is None
    marks.put("s", Mark("t", "c1"))
    assert Marks(tmp_path / "turns.json").get("s") == Mark("t", "c1")
    for damage in ("{", "[]", '{"s": 1}'):
        (tmp_path / "turns.json").write_text(damage, encoding="utf-8")
        assert marks.get("s") is None
    marks.put("s", Mark("t2", ""))
    assert marks.get("s") == Mark("t2", "")


def test_marks_do_not_grow_without_end(tmp_path: Path) -> None:
    """Only the newest sessions are remembered."""
    marks = Marks(tmp_path / "turns.json")
    for n in range(60):
        marks.put(f"s{n}", Mark("t", "c"))
    assert marks.get("s0") is None
    assert marks.get("s59") == Mark("t", "c")
