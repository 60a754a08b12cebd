"""Decorated tools with a real manager on real git: what they destroyed comes back."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import hermes_checkpoints as hc


@pytest.fixture
def manager(project_dir: Path, tmp_path: Path) -> Iterator[hc.CheckpointManager]:
    for name in "abc":
        (project_dir / name).write_text("old")
    made = hc.CheckpointManager(hc.Config(base=tmp_path / "base"), cwd=project_dir)
    with made:
        yield made


def rolled_back(manager: hc.CheckpointManager, project: Path, number: int = 1) -> dict[str, str]:
    """The project's files after a plain rollback."""
    report = manager.restore(project, number)
    assert report.ok
    assert not report.kept
    files = {p.name: p.read_text() for p in project.iterdir() if p.is_file()}
    return {name: text for name, text in files.items() if name != "pyproject.toml"}


def untouched() -> dict[str, str]:
    return dict.fromkeys("abc", "old")


def test_every_kind_of_tool(manager: hc.CheckpointManager, project_dir: Path) -> None:
    """What functions, commands and code runners did in one turn comes back by one rollback."""

    @hc.file_tool(path="path", manager=manager)
    def write_file(path: Path, content: str) -> None:
        path.write_text(content)

    @hc.command_tool(command="command", cwd="workdir", manager=manager)
    def terminal(command: str, workdir: Path) -> int:
        return subprocess.run(command, shell=True, cwd=workdir).returncode

    @hc.any_tool(manager=manager)
    def run_code(code: str, place: Path) -> None:
        exec(code, {"place": place})

    manager.new_turn("one")
    write_file(project_dir / "a", "new")
    assert terminal("rm b && exit 3", workdir=project_dir) == 3
    run_code("(place / 'made').write_text('x'); (place / 'c').write_text('x')", project_dir)
    assert len(manager.list_checkpoints(project_dir)) == 1
    assert rolled_back(manager, project_dir) == untouched()


def test_lazy_tools(manager: hc.CheckpointManager, project_dir: Path) -> None:
    """What coroutines and generators did between their steps comes back."""

    @hc.file_tool(path="path", manager=manager)
    async def save(path: Path) -> None:
        await asyncio.sleep(0)
        path.write_text("new")

    @hc.file_tool(path="path", manager=manager)
    def save_by_bits(path: Path) -> Iterator[int]:
        yield 1
        path.write_text("new")
        yield 2

    @hc.file_tool(path="path", manager=manager)
    async def save_by_bits_later(path: Path) -> AsyncIterator[int]:
        yield 1
        path.write_text("new")
        yield 2

    async def main() -> None:
        await save(project_dir / "a")
        assert [i async for i in save_by_bits_later(project_dir / "b")] == [1, 2]

    manager.new_turn("one")
    asyncio.run(main())
    for i in save_by_bits(project_dir / "c"):
        if i == 2:
            break  # the generator is closed, not finished
    assert rolled_back(manager, project_dir) == untouched()


def test_failed_and_cancelled_calls(manager: hc.CheckpointManager, project_dir: Path) -> None:
    """What a call did before it raised, or was cancelled, comes back."""
    error = OSError("full")

    @hc.file_tool(path="path", manager=manager)
    def save(path: Path) -> None:
        path.write_text("half")
        raise error

    @hc.file_tool(path="path", manager=manager)
    async def save_later(path: Path, written: asyncio.Event) -> None:
        path.write_text("half")
        written.set()
        await asyncio.Event().wait()

    async def main() -> None:
        written = asyncio.Event()
        task = asyncio.create_task(save_later(project_dir / "b", written))
        await written.wait()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    manager.new_turn("one")
    with pytest.raises(OSError, match="full") as caught:
        save(project_dir / "a")
    assert caught.value is error
    asyncio.run(main())
    assert rolled_back(manager, project_dir) == untouched()


def test_parallel_calls(manager: hc.CheckpointManager, project_dir: Path) -> None:
    """Parallel calls of one turn share one checkpoint, which precedes each of their writes."""

    @hc.file_tool(path="path")
    def save(path: Path) -> None:
        path.write_text("new")

    @hc.file_tool(path="path")
    async def save_later(path: Path) -> None:
        path.write_text("new")

    async def together() -> None:
        await asyncio.gather(*(save_later(project_dir / name) for name in "abc"))

    with manager.activate(), manager.turn("threads"), ThreadPoolExecutor(3) as pool:
        running = [
            pool.submit(contextvars.copy_context().run, save, project_dir / name) for name in "abc"
        ]
        for future in running:
            future.result()
    assert rolled_back(manager, project_dir) == untouched()
    with manager.activate(), manager.turn("tasks"):
        asyncio.run(together())
    turns = [c.turn for c in manager.list_checkpoints(project_dir)]
    assert (turns.count("threads"), turns.count("tasks")) == (1, 1)
    assert rolled_back(manager, project_dir) == untouched()


def test_wrapped_tools(manager: hc.CheckpointManager, project_dir: Path) -> None:
    """Wrapped tools are protected by name and arguments, an unknown one like a code runner."""

    def write_file(path: str, content: str) -> None:
        (project_dir / path).write_text(content)

    def apply_patch(input: str) -> None:
        (project_dir / "b").unlink()

    def frobnicate(how: str) -> None:
        (project_dir / "c").write_text(how)

    def read_file(path: str) -> str:
        return (project_dir / path).read_text()

    tools: list[Any] = manager.wrap([write_file, apply_patch, frobnicate, read_file])
    assert tools[3]("a") == "old"
    assert manager.list_checkpoints(project_dir) == []
    tools[0]("a", content="new")
    tools[1]("*** Begin Patch\n*** Delete File: b\n*** End Patch")
    tools[2]("new")
    assert [c.reason for c in manager.list_checkpoints(project_dir)] == ["before write_file: a"]
    assert rolled_back(manager, project_dir) == untouched()


def test_patch_over_two_projects(
    manager: hc.CheckpointManager, project_dir: Path, tmp_path: Path
) -> None:
    """A patch that reaches into another project has that project protected as well."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "package.json").touch()
    (other / "x").write_text("old")

    @hc.file_tool(manager=manager)
    def apply_patch(patch: str) -> None:
        (project_dir / "a").write_text("new")
        (other / "x").unlink()

    apply_patch(f"--- a/a\n+++ b/a\n@@ -1 +1 @@\n-old\n+new\n--- {other}/x\n+++ /dev/null\n")
    assert rolled_back(manager, project_dir) == untouched()
    assert manager.restore(other, 1).ok
    assert (other / "x").read_text() == "old"


def test_blocked_tool(project_dir: Path, tmp_path: Path) -> None:
    """With `on_failure: block`, a tool whose target cannot be held does not run."""
    (tmp_path / "base").write_text("in the way")
    config = hc.Config(base=tmp_path / "base", on_failure="block")

    @hc.file_tool(path="path", manager=hc.CheckpointManager(config, cwd=project_dir))
    def save(path: Path) -> None:
        path.write_text("new")

    with pytest.raises(hc.NotProtected):
        save(project_dir / "a")
    assert not (project_dir / "a").exists()
