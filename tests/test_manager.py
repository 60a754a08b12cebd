"""Turns and tools: what is captured when, and whose doing a change is."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_checkpoints.config import Config
from hermes_checkpoints.errors import CaptureFailed, CheckpointNotFound, NotProtected
from hermes_checkpoints.ledger import Entry
from hermes_checkpoints.manager import CheckpointManager
from hermes_checkpoints.records import (
    AlreadyTaken,
    Failed,
    Outcome,
    Project,
    Skipped,
    Taken,
    ToolCall,
    ToolEffect,
    Unchanged,
)
from hermes_checkpoints.stores.base import Observation


class Session:
    """An agent's session: a manager, its project, and tools played by hand."""

    def __init__(self, base: Path, root: Path, store: str, **options: Any) -> None:
        self.root = root
        self.notices: list[str] = []
        session = options.pop("session_id", "s1")
        self.manager = CheckpointManager(
            Config(base=base, store=store, auto_prune=False, **options),
            session_id=session,
            cwd=root,
            on_notice=self.notices.append,
        )

    def write(self, path: str, text: str | None, **call: Any) -> Outcome:
        """The agent's `write_file`; `None` removes the file."""
        with self.manager.guard(ToolCall("write_file", {"path": path}, **call)) as guard:
            put(self.root / path, text)
        return guard.outcome

    def run(self, command: str, act: Callable[[], object] = lambda: None, **call: Any) -> Outcome:
        """The agent's `terminal`; `act` stands for what the command does."""
        with self.manager.guard(ToolCall("terminal", {"command": command}, **call)) as guard:
            act()
        return guard.outcome

    @property
    def ids(self) -> list[str]:
        return [c.id for c in self.manager.list_checkpoints(self.root)]

    @property
    def ledger(self) -> list[Entry]:
        return self.manager.books.of(self.manager.project(self.root)).ledger.entries()

    def held(self, path: str, at: int = 0) -> bytes | None:
        """What a checkpoint holds at a path."""
        store, project = self.manager.store, self.manager.project(self.root)
        checkpoint = self.manager.list_checkpoints(self.root)[at]
        state = store.states(project, checkpoint.tree, [path])[path]
        return next(iter(store.read(project, [state.content]))) if state else None


def put(file: Path, text: str | None) -> None:
    if text is None:
        file.unlink()
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


Open = Callable[..., Session]


@pytest.fixture(params=["memory", "git"])
def session(request: pytest.FixtureRequest, tmp_path: Path, project_dir: Path) -> Iterator[Open]:
    """Opens sessions in one project and one store."""
    opened: list[Session] = []

    def make(**options: Any) -> Session:
        root = options.pop("root", project_dir)
        opened.append(Session(tmp_path / "base", root, request.param, **options))
        return opened[-1]

    yield make
    for one in opened:
        one.manager.close()


# --------------------------------------------------------------------------- turns


def test_a_turn_has_one_checkpoint(session: Open) -> None:
    """Four writes of one turn make one checkpoint, which holds what was before the first."""
    s = session()
    put(s.root / "a", "0")
    assert isinstance(s.write("a", "1"), Taken)
    assert all(isinstance(s.write("a", str(n)), AlreadyTaken) for n in (2, 3, 4))
    assert len(s.ids) == 1
    assert s.held("a") == b"0"


def test_a_new_turn_takes_a_new_one_and_the_same_turn_does_not(session: Open) -> None:
    """`new_turn` with the id it has changes nothing; with another id it begins anew."""
    s = session()
    s.manager.new_turn("m1")
    s.write("a", "1")
    s.manager.new_turn("m1")
    assert isinstance(s.write("a", "2"), AlreadyTaken)
    s.manager.new_turn("m2")
    assert isinstance(s.write("a", "3"), Taken)
    assert s.held("a") == b"2"


def test_nothing_changed_makes_none_and_serves_the_turn(session: Open) -> None:
    """An unchanged project needs no new checkpoint, and a later call of that turn takes none."""
    s = session()
    put(s.root / "a", "0")
    s.write("a", "0")
    s.manager.new_turn()
    assert isinstance(s.write("a", "1"), Unchanged)
    assert isinstance(s.write("a", "2"), AlreadyTaken)
    assert len(s.ids) == 1
    assert s.held("a") == b"0"


def test_another_process_shares_the_turn(session: Open) -> None:
    """A second manager with the same session and turn finds the checkpoint that serves it."""
    first, second = session(), session()
    put(first.root / "a", "0")
    for s in (first, second):
        s.manager.new_turn("m1")
    assert isinstance(first.write("a", "1"), Taken)
    assert isinstance(second.write("a", "2"), AlreadyTaken)
    assert first.held("a") == b"0"


def test_parallel_first_calls_wait_for_the_one_snapshot(session: Open) -> None:
    """No write of a turn happens before the snapshot that precedes them all is done."""
    s = session()
    names = [f"f{n}" for n in range(6)]
    for name in names:
        put(s.root / name, "0")
    s.manager.new_turn("m")
    threads = [threading.Thread(target=s.write, args=(name, "1")) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(s.ids) == 1
    assert [s.held(name) for name in names] == [b"0"] * 6


def test_a_reading_call_takes_none(session: Open) -> None:
    """A command that only reads, and a tool that does, start nothing."""
    s = session()
    s.run("ls -la")
    with s.manager.guard(ToolCall("read_file", {"path": "a"})):
        pass
    assert s.ids == []


def test_disabled_touches_no_disk(session: Open, tmp_path: Path) -> None:
    """With `enabled` off no call makes a store or a child."""
    s = session(enabled=False)
    assert isinstance(s.write("a", "1"), Skipped)
    assert isinstance(s.manager.ensure_checkpoint(s.root), Skipped)
    assert not (tmp_path / "base").exists()


# --------------------------------------------------------------------------- supplements and names


def test_what_a_person_wrote_between_two_calls_is_held_too(session: Open) -> None:
    """A person's bytes that a later call of the turn is about to overwrite are stored."""
    s = session()
    put(s.root / "a", "0")
    s.write("a", "1")
    put(s.root / "a", "mine")
    s.write("a", "2")
    (checkpoint,) = s.manager.list_checkpoints(s.root)
    assert s.held("a") == b"0"
    (version,) = checkpoint.versions
    assert version[0] == "a"
    project = s.manager.project(s.root)
    assert list(s.manager.store.read(project, [version[1].content])) == [b"mine"]


def test_an_uncertain_command_brings_the_persons_changes_into_the_checkpoint(
    session: Open,
) -> None:
    """Before a command that may change anything, everything a person changed is stored."""
    s = session()
    put(s.root / "a", "0")
    s.write("a", "1")
    put(s.root / "new", "mine")
    s.run("make all")
    assert s.held("new") == b"mine"
    assert s.held("a") == b"0"


def test_what_the_agent_wrote_is_no_supplement(session: Open) -> None:
    """The agent's own files of this turn are not added to what was before it."""
    s = session()
    put(s.root / "a", "0")
    s.write("a", "1")
    s.write("b", "1")
    s.run("make all", lambda: put(s.root / "c", "1"))
    s.run("make all")
    s.write("c", "2")
    (checkpoint,) = s.manager.list_checkpoints(s.root)
    assert s.held("b") is None
    assert s.held("c") is None
    assert checkpoint.versions == ()


@pytest.mark.parametrize("first", [True, False])
def test_an_ignored_file_that_is_named_is_held(session: Open, first: bool) -> None:
    """A named target is captured although it is ignored, in the first call or a later one."""
    s = session()
    put(s.root / ".gitignore", "*.db\nbuild/\n")
    put(s.root / "x.db", "rows")
    put(s.root / "build/o", "object")
    if not first:
        s.write("a", "1")
    s.run("rm -rf x.db build")
    assert s.held("x.db") == b"rows"
    assert s.held("build/o") == b"object"
    assert len(s.ids) == 1


def test_a_target_over_the_cap_is_said_before_the_tool_runs(session: Open) -> None:
    """A file too large to hold is named to the host, and the tool still runs."""
    s = session(max_file_size_mb=0.001)
    put(s.root / "big", "x" * 5000)
    s.write("big", "small")
    assert any("big" in n and "not protected" in n for n in s.notices)
    assert (s.root / "big").read_text(encoding="utf-8") == "small"
    assert s.ledger == []


def test_outside_any_project_the_named_file_is_held(session: Open, tmp_path: Path) -> None:
    """A file in no project is captured by name, its neighbours are not, and the host is told."""
    s = session()
    lone = tmp_path / "lone"
    put(lone / "a", "0")
    put(lone / "b", "0")
    s.write(str(lone / "a"), "1")
    (checkpoint,) = s.manager.list_checkpoints(lone)
    project = s.manager.project(lone)
    assert set(s.manager.store.entries(project, checkpoint.tree)) == {"a"}
    assert not checkpoint.whole
    assert any("outside any project" in n for n in s.notices)


def test_every_project_a_command_names_is_protected(session: Open, tmp_path: Path) -> None:
    """`cd OTHER && rm x` checkpoints the other project and the one it runs in."""
    s = session()
    put(tmp_path / "other/go.mod", "")
    put(tmp_path / "other/x", "1")
    s.run(f"cd {tmp_path}/other && rm x", (tmp_path / "other/x").unlink)
    assert len(s.ids) == 1
    assert len(s.manager.list_checkpoints(tmp_path / "other")) == 1


# --------------------------------------------------------------------------- attribution


def test_a_file_tools_write_is_recorded(session: Open) -> None:
    """The ledger knows path, states, checkpoint, session, turn and tool of a write."""
    s = session()
    put(s.root / "a", "0")
    s.manager.new_turn("m1")
    s.write("a", "1")
    (entry,) = s.ledger
    assert (entry.path, entry.session, entry.turn, entry.tool) == ("a", "s1", "m1", "write_file")
    assert entry.checkpoint == s.ids[0]
    assert entry.before != entry.after
    assert entry.certain


def test_a_write_that_changes_nothing_is_not_recorded(session: Open) -> None:
    """Only changed bytes make an entry."""
    s = session()
    put(s.root / "a", "0")
    s.write("a", "0")
    assert s.ledger == []


def test_a_failed_call_is_recorded(session: Open) -> None:
    """A call that raised after it wrote is the agent's doing all the same."""
    s = session()
    error = KeyError("boom")
    with (
        pytest.raises(KeyError) as caught,
        s.manager.guard(ToolCall("write_file", {"path": "a"})),
    ):
        put(s.root / "a", "1")
        raise error
    assert caught.value is error
    assert [e.path for e in s.ledger] == ["a"]


def test_what_an_uncertain_command_changed_is_the_agents(session: Open) -> None:
    """Written, made and removed files of a command that names none are found by looking."""
    s = session()
    for name in ("a", "b"):
        put(s.root / name, "0")

    def act() -> None:
        put(s.root / "a", "1")
        put(s.root / "b", None)
        put(s.root / "c", "1")

    s.run("python3 build.py", act)
    assert {e.path: (e.before is None, e.after is None) for e in s.ledger} == {
        "a": (False, False),
        "b": (False, True),
        "c": (True, False),
    }
    assert not any(e.certain for e in s.ledger)


def test_a_certain_command_claims_only_its_targets(session: Open) -> None:
    """What a person edits while `rm x` runs is not the agent's doing."""
    s = session()
    put(s.root / "x", "0")
    put(s.root / "notes", "0")

    def act() -> None:
        put(s.root / "x", None)
        put(s.root / "notes", "mine")

    s.run("rm x", act)
    assert [e.path for e in s.ledger] == ["x"]


def test_an_overlapping_call_keeps_its_own_writes(session: Open) -> None:
    """What another session wrote while a command ran is that session's."""
    s, other = session(), session(session_id="s2")
    s.run("make", lambda: (other.write("theirs", "1"), put(s.root / "ours", "1")))
    assert {e.path: e.session for e in s.ledger} == {"theirs": "s2", "ours": "s1"}


def test_a_call_within_a_call_is_claimed_once(session: Open) -> None:
    """A write inside a running command makes one entry; a later change of it begins there."""
    s = session()

    def act() -> None:
        s.write("a", "1")
        s.write("b", "1")
        put(s.root / "b", "2")

    s.run("make", act)
    a, *b = s.ledger
    assert a.path == "a"
    assert [e.path for e in b] == ["b", "b"]
    assert b[1].before == b[0].after


def test_a_file_that_cannot_be_held_is_not_claimed(session: Open) -> None:
    """A file over the cap before or after is unknown, and unknown is never the agent's."""
    s = session(max_file_size_mb=0.001)
    put(s.root / "big", "x" * 5000)
    put(s.root / "grows", "0")
    s.run("rm big grows", lambda: (put(s.root / "big", "s"), put(s.root / "grows", "x" * 5000)))
    assert s.ledger == []


# --------------------------------------------------------------------------- split calls


def test_before_and_after_may_come_from_two_processes(session: Open) -> None:
    """A call begun by one manager is ended, and attributed, by another."""
    first, second = session(), session()
    put(first.root / "a", "0")
    call = ToolCall("write_file", {"path": "a"}, call_id="c1", turn_id="m1")
    assert isinstance(first.manager.before(call), Taken)
    put(first.root / "a", "1")
    second.manager.after("c1")
    assert [e.path for e in first.ledger] == ["a"]
    leases = first.manager.books.of(first.manager.project(first.root)).leases
    assert leases.running() == []


def test_before_is_idempotent_per_call(session: Open) -> None:
    """A hook that fires twice, or again after the end, makes no second checkpoint or record."""
    s = session()
    put(s.root / "a", "0")
    call = ToolCall("write_file", {"path": "a"}, call_id="c1")
    s.manager.before(call)
    s.manager.before(call)
    put(s.root / "a", "1")
    s.manager.after("c1")
    s.manager.after("c1")
    assert isinstance(s.manager.before(call), Skipped)
    assert len(s.ids) == len(s.ledger) == 1
    project = s.manager.project(s.root)
    assert s.manager.books.of(project).leases.running() == []


def test_a_running_call_holds_a_lease(session: Open) -> None:
    """While a call runs, others see it; when it has ended, by whatever way, they don't."""
    s = session()
    leases = s.manager.books.of(s.manager.project(s.root)).leases
    seen: list[str] = []
    s.run("make", lambda: seen.extend(lease.tool for lease in leases.running()))
    assert seen == ["terminal: make"]
    assert leases.running() == []


# --------------------------------------------------------------------------- async


def test_in_async_code_the_snapshot_is_off_the_loop(session: Open) -> None:
    """The event loop goes on while the snapshot is taken, and the turn's scope is known there."""
    s = session()
    put(s.root / "a", "0")
    where: list[bool] = []
    observe = s.manager.store.observe

    def watched(*args: Any, **kwargs: Any) -> Any:
        where.append(threading.current_thread() is threading.main_thread())
        return observe(*args, **kwargs)

    async def call() -> None:
        with s.manager.turn("m7"):
            async with s.manager.guard(ToolCall("write_file", {"path": "a"})):
                put(s.root / "a", "1")

    s.manager.store.observe = watched  # type: ignore[method-assign]
    asyncio.run(call())
    assert where
    assert not any(where)
    assert [e.turn for e in s.ledger] == ["m7"]


def test_a_cancelled_call_is_recorded(session: Open) -> None:
    """What a call wrote before it was cancelled is the agent's doing."""
    s = session()

    async def tool() -> None:
        async with s.manager.guard(ToolCall("write_file", {"path": "a"})):
            put(s.root / "a", "1")
            await asyncio.Event().wait()

    async def main() -> None:
        task = asyncio.create_task(tool())
        while not (s.root / "a").exists():
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert [e.path for e in s.ledger] == ["a"]


def test_a_call_cancelled_while_it_is_protected_leaves_no_lease(session: Open) -> None:
    """A cancellation during the snapshot ends the call as soon as the snapshot is through."""
    s = session()
    go, entered = threading.Event(), threading.Event()
    observe = s.manager.store.observe

    def slow(*args: Any, **kwargs: Any) -> Any:
        entered.set()
        go.wait(30)
        return observe(*args, **kwargs)

    s.manager.store.observe = slow  # type: ignore[method-assign]

    async def tool() -> None:
        async with s.manager.guard(ToolCall("write_file", {"path": "a"})):
            raise AssertionError("the tool must not run")

    async def main() -> None:
        task = asyncio.create_task(tool())
        await asyncio.to_thread(entered.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()

    asyncio.run(main())
    assert s.manager.books.of(s.manager.project(s.root)).leases.running() == []


# --------------------------------------------------------------------------- trouble


def broken(s: Session) -> list[int]:
    """Make every observation fail; returns a list that grows with each attempt."""
    tries: list[int] = []

    def fail(*args: Any, **kwargs: Any) -> Any:
        tries.append(1)
        raise CaptureFailed("the disk is on fire")

    s.manager.store.observe = fail  # type: ignore[method-assign]
    return tries


def test_a_failed_snapshot_never_stops_the_tool_and_is_told_once(session: Open) -> None:
    """The tool runs, the outcome says what failed, and the host hears of it a single time."""
    s = session()
    broken(s)
    outcomes = [s.write("a", str(n)) for n in range(2)]
    assert all(isinstance(o, Failed) and "on fire" in o.why for o in outcomes)
    assert (s.root / "a").read_text(encoding="utf-8") == "1"
    assert len([n for n in s.notices if "on fire" in n]) == 1


def test_a_failure_does_not_use_up_the_turn(session: Open) -> None:
    """The next call of the turn takes the checkpoint that the first could not."""
    s = session()
    put(s.root / "a", "0")
    works = s.manager.store.observe
    broken(s)
    s.write("b", "1")
    s.manager.store.observe = works  # type: ignore[method-assign]
    assert isinstance(s.write("a", "1"), Taken)


def test_a_project_that_keeps_failing_is_left_alone_for_a_while(session: Open) -> None:
    """After three failures in a row there is no attempt until the time is up."""
    s = session()
    now = [0.0]
    s.manager._calls.clock = lambda: now[0]
    tries = broken(s)
    for n in range(6):
        s.write("a", str(n))
    assert len(tries) == 3
    now[0] = 61.0
    s.write("a", "x")
    assert len(tries) == 4
    s.write("a", "y")
    assert len(tries) == 4


def test_one_failing_project_does_not_cost_the_others(session: Open, tmp_path: Path) -> None:
    """A call over two projects protects the good one when the other fails."""
    s = session()
    put(tmp_path / "other/go.mod", "")
    observe = s.manager.store.observe

    def partly(project: Any, *args: Any, **kwargs: Any) -> Any:
        if project.root.endswith("other"):
            raise CaptureFailed("no")
        return observe(project, *args, **kwargs)

    s.manager.store.observe = partly  # type: ignore[method-assign]
    outcome = s.run(f"rm a {tmp_path}/other/b")
    assert isinstance(outcome, Failed)
    assert len(s.ids) == 1


@pytest.mark.parametrize("why", ["failed", "cap"])
def test_block_stops_the_tool_before_it_runs(session: Open, why: str) -> None:
    """With `on_failure: block` what is not held is not destroyed: a typed error comes first."""
    s = session(on_failure="block", max_file_size_mb=0.001)
    put(s.root / "a", "x" * 5000)
    if why == "failed":
        broken(s)
    with pytest.raises(NotProtected, match="write_file was not run") as error:
        s.write("a", "gone")
    assert error.value.hint
    assert (s.root / "a").stat().st_size == 5000
    assert s.manager.books.of(s.manager.project(s.root)).leases.running() == []


@pytest.mark.parametrize("environment", ["docker", "modal", "a sandbox of tomorrow"])
def test_a_sandboxs_calls_leave_the_host_alone(session: Open, environment: str) -> None:
    """For a tool that acts elsewhere nothing is captured, read or recorded here."""
    s = session()
    put(s.root / "a", "0")
    assert isinstance(s.write("a", "1", environment=environment), Skipped)
    assert s.ids == []
    assert s.ledger == []


# --------------------------------------------------------------------------- what is not held


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("what", ["too large", "secret", "nested"])
def test_what_cannot_be_held_blocks_any_call_of_a_turn(
    session: Open, what: str, first: bool
) -> None:
    """With `on_failure: block` a target that is not held stops the first call and a later one."""
    s = session(on_failure="block", max_file_size_mb=0.001, secrets="never")
    path, command = {
        "too large": ("src/big", ""),
        "secret": (".env", ""),
        "nested": ("src/inner/.git/HEAD", "rm -rf src"),
    }[what]
    put(s.root / path, "x" * (5000 if what == "too large" else 10))
    if not first:
        s.write("a", "1")
    with pytest.raises(NotProtected):
        s.run(command) if command else s.write(path, "gone")
    assert any("not protected" in notice for notice in s.notices)


def test_what_was_unknown_is_no_absence(session: Open) -> None:
    """A file too large to hold that a later call of the turn made small is not new."""
    s = session(max_file_size_mb=0.001)
    put(s.root / "big", "x" * 5000)
    s.write("a", "1")
    s.write("big", "small")
    assert [e.path for e in s.ledger] == ["a"]
    s.manager.restore(s.root, 1)
    assert (s.root / "big").read_text(encoding="utf-8") == "small"


def test_a_linked_repository_is_held(session: Open) -> None:
    """With `nested_repos: capture` a repository below what is removed does not block the call."""
    s = session(on_failure="block", nested_repos="capture")
    put(s.root / "src/inner/.git/HEAD", "ref: refs/heads/main\n")
    put(s.root / "src/inner/f", "0")
    s.run("rm -rf src")
    s.run("rm -rf src")
    assert s.notices == []


def test_an_empty_directory_that_a_later_call_removes_comes_back(session: Open) -> None:
    """A directory without files is held before a later call, unless it came up in the turn."""
    s = session()
    old = s.root / "old/empty"
    old.mkdir(parents=True)
    _age(old)
    s.write("a", "1")
    (s.root / "new").mkdir()

    def act() -> None:
        for directory in (old, old.parent, s.root / "new"):
            directory.rmdir()

    s.run("rm -rf old new", act)
    s.manager.restore(s.root, 1)
    assert old.is_dir()
    assert not (s.root / "new").exists()


def test_many_files_not_held_are_said_at_once(session: Open) -> None:
    """One call makes one notice of its kind, with a few names and a count."""
    s = session(max_file_size_mb=0.001)
    for n in range(9):
        put(s.root / f"d/{n}", "x" * 5000)
    s.run("rm -rf d")
    (notice,) = s.notices
    assert "d/0, d/1, d/2 (+6)" in notice


def test_a_project_with_too_many_files_is_never_compared(session: Open) -> None:
    """A look that was refused says nothing of what a command did, before it or after it."""
    s = session(max_files=5)
    for n in range(4):
        put(s.root / f"f{n}", "0")

    def put_new(text: str | None) -> None:
        for n in range(5):
            put(s.root / f"new{n}", text)

    s.run("make", lambda: put_new("1"))
    s.run("make", lambda: put_new(None))
    assert s.ledger == []
    s.manager.new_turn()
    s.run("rm f0", lambda: put(s.root / "f0", None))
    assert [e.path for e in s.ledger] == ["f0"]


def test_named_files_are_held_where_there_are_too_many(session: Open) -> None:
    """`on_failure: block` lets a call pass whose targets are held, be the project ever so big."""
    s = session(max_files=3, on_failure="block")
    for n in range(9):
        put(s.root / f"f{n}", "0")
    s.write("f0", "1")
    s.write("f1", "1")
    assert [s.held("f0"), s.held("f1")] == [b"0", b"0"]


# --------------------------------------------------------------------------- moved, not made


def _age(path: Path) -> None:
    os.utime(path, (1_000_000_000.5, 1_000_000_000.5))


def test_a_file_that_was_moved_here_is_not_made_by_the_agent(session: Open, tmp_path: Path) -> None:
    """A new file older than the command is kept by a rollback, if nothing else is held of it."""
    s = session()
    put(s.root / ".gitignore", "*.db\n")
    put(s.root / "x.db", "rows")
    put(tmp_path / "outside", "precious")
    _age(s.root / "x.db")
    _age(tmp_path / "outside")

    def act() -> None:
        (s.root / "x.db").rename(s.root / "x.old")
        (tmp_path / "outside").rename(s.root / "inside")
        put(s.root / "made", "1")

    s.run("python3 -c pass; ./tool", act)
    assert {e.path: e.moved for e in s.ledger} == {"inside": True, "x.old": True, "made": False}
    report = s.manager.restore(s.root, 1)
    assert {step.path for step in report.kept if "may have moved it here" in step.why} == {
        "inside",
        "x.old",
    }
    assert (s.root / "x.old").read_text(encoding="utf-8") == "rows"
    assert (s.root / "inside").read_text(encoding="utf-8") == "precious"
    assert not (s.root / "made").exists()


def test_what_was_moved_here_is_held_before_the_next_command(session: Open, tmp_path: Path) -> None:
    """A file that is nobody's making is stored before a later command of the turn destroys it."""
    s = session()
    put(tmp_path / "outside", "precious")
    _age(tmp_path / "outside")
    s.run("./tool", lambda: (tmp_path / "outside").rename(s.root / "inside"))
    s.run("./tool", lambda: put(s.root / "inside", "gone"))
    assert s.held("inside") == b"precious"
    s.manager.restore(s.root, 1)
    assert (s.root / "inside").read_text(encoding="utf-8") == "precious"


def test_a_renamed_file_goes_back(session: Open) -> None:
    """A file that keeps its old time under a new name is the agent's, for its content is held."""
    s = session()
    put(s.root / "old", "0")
    put(s.root / "copied", "1")
    for name in ("old", "copied"):
        _age(s.root / name)

    def act() -> None:
        (s.root / "old").rename(s.root / "new")
        shutil.copy2(s.root / "copied", s.root / "copy")

    s.run("./tool", act)
    assert {e.path for e in s.ledger} == {"old", "new", "copy"}
    s.manager.restore(s.root, 1)
    assert {p.name for p in s.root.iterdir()} == {"pyproject.toml", "old", "copied"}


def test_a_moved_directory_of_ignored_files_goes_back(session: Open) -> None:
    """`mv DIR NEW` holds what is ignored in DIR, so that it is there again and NEW is not."""
    s = session()
    put(s.root / ".gitignore", "data/\n")
    put(s.root / "data/p", "precious")
    _age(s.root / "data/p")
    s.run("mv data data.bak", lambda: (s.root / "data").rename(s.root / "data.bak"))
    s.manager.restore(s.root, 1)
    assert (s.root / "data/p").read_text(encoding="utf-8") == "precious"
    assert not (s.root / "data.bak/p").exists()


def test_ignored_files_a_command_overwrites_or_cleans_are_held(session: Open) -> None:
    """A copy into an ignored directory, and `git clean -x`, hold what they destroy."""
    s = session()
    put(s.root / ".gitignore", "dist/\n")
    put(s.root / "new/f", "new")
    put(s.root / "dist/f", "0")
    put(s.root / "dist/g", "1")
    s.run("cp new/f dist/", lambda: put(s.root / "dist/f", "new"))
    assert s.held("dist/f") == b"0"
    s.manager.restore(s.root, 1)
    assert (s.root / "dist/f").read_text(encoding="utf-8") == "0"
    s.manager.new_turn()
    s.run("git clean -fdX", lambda: put(s.root / "dist/g", None))
    s.manager.restore(s.root, 1)
    assert (s.root / "dist/g").read_text(encoding="utf-8") == "1"


# --------------------------------------------------------------------------- others, and trouble


def test_what_another_session_wrote_meanwhile_is_held(session: Open) -> None:
    """What a running session wrote while a command ran is stored before the next command."""
    mine, theirs = session(), session(session_id="s2")
    put(mine.root / "notes", "0")
    mine.run("make", lambda: theirs.write("notes", "theirs"))
    mine.run("make", lambda: put(mine.root / "notes", "gone"))
    (checkpoint,) = [c for c in mine.manager.list_checkpoints(mine.root) if c.session == "s1"][:1]
    project = mine.manager.project(mine.root)
    contents = [state.content for path, state in checkpoint.versions if path == "notes"]
    held = [*mine.manager.store.read(project, contents), mine.held("notes")]
    assert b"theirs" in held


@pytest.mark.parametrize("moment", ["observe", "capture"])
def test_an_interrupted_protection_leaves_no_lease(
    session: Open, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Ctrl-C while a checkpoint is taken leaves no call behind that a rollback would wait for."""
    s = session()
    put(s.root / "a", "0")
    s.write("a", "1")
    s.manager.new_turn()
    put(s.root / "a", "mine")

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(s.manager.store, moment, interrupted)
        with pytest.raises(KeyboardInterrupt):
            s.write("a", "2")
    assert s.manager.books.of(s.manager.project(s.root)).leases.running() == []
    assert isinstance(s.write("a", "3"), Taken)


def test_an_interrupt_ends_the_projects_that_are_protected_already(
    session: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the second of two projects closes the lease of the first, too."""
    s = session()
    put(tmp_path / "other/go.mod", "")
    observe, seen = s.manager.store.observe, []

    def second(project: Project, *args: Any, **options: Any) -> Observation:
        seen.append(project)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return observe(project, *args, **options)

    monkeypatch.setattr(s.manager.store, "observe", second)
    with pytest.raises(KeyboardInterrupt):
        s.run(f"rm a {tmp_path}/other/b")
    assert len(seen) == 2
    assert all(s.manager.books.of(project).leases.running() == [] for project in seen)


def test_a_callback_that_raises_costs_no_protection(session: Open) -> None:
    """What the host's `on_notice` raises is not the call's trouble: it is held and attributed."""
    s = session(max_file_size_mb=0.001)
    put(s.root / "a", "0")
    put(s.root / "big", "x" * 5000)
    s.manager._on_notice = lambda _: 1 / 0  # type: ignore[assignment]
    outcome = s.run("rm a big", lambda: put(s.root / "a", None))
    assert isinstance(outcome, Taken)
    assert [e.path for e in s.ledger] == ["a"]


def test_a_list_that_cannot_be_trimmed_costs_no_protection(
    session: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call is held and attributed although the list of checkpoints could not be trimmed."""
    s = session(max_snapshots=1)

    def broken_drop(*_: object) -> None:
        raise CaptureFailed("no")

    monkeypatch.setattr(s.manager.store, "drop", broken_drop)
    for n in range(3):
        s.manager.new_turn()
        assert isinstance(s.write("a", str(n)), Taken)
    assert len(s.ledger) == 3


def test_an_undo_while_a_call_runs_costs_no_attribution(session: Open) -> None:
    """What another call did meanwhile stays that call's, whatever has left the ledger."""
    s = session()
    put(s.root / "a", "0")
    s.write("a", "1")
    s.manager.restore(s.root, 1)
    with s.manager.guard(ToolCall("write_file", {"path": "b"})):
        s.manager.books.of(s.manager.project(s.root)).ledger.void(s.ledger[-1].call)
        s.write("b", "1")
    assert [e.path for e in s.ledger] == ["a", "b"]


# --------------------------------------------------------------------------- looking back


def test_numbers_come_before_ids(session: Open) -> None:
    """Up to the count a number is a place in the list; beyond it, and by letters, an id."""
    s = session()
    for n in range(3):
        s.manager.new_turn()
        s.write("a", str(n))
    newest, _, oldest = s.ids
    assert s.manager.find(s.root, 1).id == newest
    assert s.manager.find(s.root, "3").id == oldest
    assert s.manager.find(s.root, oldest[:8]).id == oldest
    for wrong in ("0", "4", "99", "foo", "-x", "zzzz", ""):
        with pytest.raises(CheckpointNotFound):
            s.manager.find(s.root, wrong)


def test_a_subdirectory_is_about_its_project(session: Open) -> None:
    """Looking back from below the root finds the project's checkpoints."""
    s = session()
    put(s.root / "deep/er/x", "0")
    s.write("a", "1")
    assert len(s.manager.list_checkpoints(s.root / "deep/er")) == 1


def test_the_list_is_cut_at_max_snapshots(session: Open) -> None:
    """The oldest go as new ones come; the ids of those that stay do not change."""
    s = session(max_snapshots=3)
    seen: list[str] = []
    for n in range(5):
        s.manager.new_turn()
        s.write("a", str(n))
        seen.insert(0, s.ids[0])
        assert s.ids == seen[:3]


def test_a_label_pins_a_snapshot(session: Open) -> None:
    """A snapshot with a label outlives the cap."""
    s = session(max_snapshots=2)
    put(s.root / "a", "0")
    s.manager.snapshot(s.root, "before the release", label="release")
    pinned = s.ids[0]
    for n in range(4):
        s.manager.new_turn()
        s.write("a", str(n + 1))
    assert pinned in s.ids


def test_code_in_process_is_covered(session: Open) -> None:
    """A tool of unknown name may change anything, so the project is held before it."""
    s = session()
    put(s.root / "a", "0")
    with s.manager.guard(ToolCall("frobnicate", {"x": 1}, effect=ToolEffect.ANY)):
        put(s.root / "a", "1")
    assert s.held("a") == b"0"
    assert [e.path for e in s.ledger] == ["a"]


def test_the_process_may_stand_anywhere(session: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative paths start from the session's directory, not from the process's."""
    s = session()
    put(s.root / "a", "0")
    monkeypatch.chdir(os.path.dirname(s.root))
    s.write("a", "1")
    assert s.held("a") == b"0"


# --------------------------------------------------------------------------- which history


def test_a_deleted_repository_is_reached_from_its_place(session: Open) -> None:
    """What `rm -rf` of a nested repository took comes back where it was, made anew or not."""
    s = session()
    put(s.root / "n/wip", "precious")
    (s.root / "n/.git").mkdir()
    s.run("rm -rf n", lambda: shutil.rmtree(s.root / "n"))
    assert s.manager.project(s.root / "n").root == str(s.root / "n")
    (s.root / "n").mkdir()
    assert s.manager.restore(s.root / "n", 1).ok
    assert (s.root / "n/wip").read_text(encoding="utf-8") == "precious"


def test_a_marker_above_hides_no_history(session: Open, tmp_path: Path) -> None:
    """When a directory becomes part of a larger project, the ids of its own checkpoints work."""
    s = session(root=tmp_path / "x/p")
    put(s.root / "pyproject.toml", "")
    put(s.root / "a", "precious")
    s.manager._cwd = str(tmp_path / "elsewhere")
    s.write(str(s.root / "a"), "1")
    (old,) = s.ids
    put(tmp_path / "x/package.json", "{}")
    s.manager.new_turn()
    s.write(str(s.root / "a"), "2")
    assert s.manager.project(s.root).root == str(tmp_path / "x")
    (other,) = s.manager.other_histories(s.root)
    assert other.project.root == str(s.root)
    assert s.manager.restore(s.root, old[:12], keep_edits=False).ok
    assert (s.root / "a").read_text(encoding="utf-8") == "precious"


def test_what_was_captured_whole_is_rolled_back_whole(session: Open, tmp_path: Path) -> None:
    """A project that was whole by its turn's directory is so for a rollback outside the turn."""
    s = session()
    plain = tmp_path / "plain"
    put(plain / "a", "1")
    with (
        s.manager.turn("t", cwd=plain),
        s.manager.guard(ToolCall("terminal", {"command": "python3 gen.py"})),
    ):
        put(plain / "new", "x")
    assert s.manager.restore(plain, 1).ok
    assert not (plain / "new").exists()


def test_the_processs_directory_is_the_sessions_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A manager without a `cwd` protects the directory its process works in as a whole."""
    plain = tmp_path / "plain"
    put(plain / "a", "1")
    monkeypatch.chdir(plain)
    with CheckpointManager(Config(base=tmp_path / "base", store="memory")) as manager:
        assert isinstance(manager.ensure_checkpoint("."), Taken)
        assert manager.list_checkpoints(".")[0].whole
