"""What type checkers must see of the public names; checked by mypy, never run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

from typing_extensions import assert_type

import hermes_checkpoints as hc

manager = hc.CheckpointManager(hc.Config(base=Path("x"), max_snapshots=20), session_id="s", cwd=".")


@hc.file_tool(path="path", manager=manager)
def write_file(path: str, content: bytes = b"") -> int:
    return 1


@hc.file_tool
def bare(path: str) -> int:
    return 1


@hc.command_tool(command="command", cwd="workdir", manager=manager)
async def terminal(command: str, workdir: str | None = None) -> str:
    return command


@hc.any_tool()
def lines(code: str) -> Iterator[str]:
    yield code


@hc.any_tool
async def later_lines(code: str) -> AsyncIterator[str]:
    yield code


class Tools:
    @hc.file_tool(path=("source", "target"))
    def move(self, source: str, target: str) -> bool:
        return True

    @hc.file_tool(path="path")
    @classmethod
    def make(cls, path: str) -> Tools:
        return cls()

    @classmethod
    @hc.file_tool(path="path")
    def make_too(cls, path: str) -> Tools:
        return cls()

    @hc.file_tool(path="path")
    @staticmethod
    def remove(path: str) -> float:
        return 1.0

    @staticmethod
    @hc.file_tool(path="path")
    def remove_too(path: str) -> float:
        return 1.0


assert_type(write_file("a"), int)
assert_type(bare("a"), int)
assert_type(lines("x"), Iterator[str])
assert_type(later_lines("x"), AsyncIterator[str])
assert_type(Tools().move("a", "b"), bool)
assert_type(Tools.make("a"), Tools)
assert_type(Tools.make_too("a"), Tools)
assert_type(Tools.remove("a"), float)
assert_type(Tools.remove_too("a"), float)

write_file()  # type: ignore[call-arg]
write_file(3)  # type: ignore[arg-type]
Tools().move("a")  # type: ignore[call-arg]
hc.file_tool("path")  # type: ignore[call-overload]
hc.file_tool(paths="path")  # type: ignore[call-overload]


def wrapping(tools: list[Callable[..., int]]) -> None:
    assert_type(hc.wrap_tools(tools, manager=manager), list[Callable[..., int]])


def outcome(found: hc.Outcome) -> str:
    """Every outcome is one of five."""
    match found:
        case hc.Taken(checkpoint):
            return checkpoint.id
        case hc.AlreadyTaken() | hc.Unchanged():
            return ""
        case hc.Skipped(why):
            return why
        case hc.Failed(error):
            return str(error)


async def waiting() -> None:
    running = assert_type(terminal("ls"), Coroutine[Any, Any, str])
    assert_type(await running, str)
    assert_type([line async for line in later_lines("x")], list[str])


registry = hc.ToolRegistry()
registry.add_file_tool("store", path="where")
assert_type(registry.resolve(hc.ToolCall("store")), hc.ToolCall)
assert_type(registry.copy(), hc.ToolRegistry)
assert_type(manager.ensure_checkpoint("."), hc.Outcome)
assert_type(manager.list_checkpoints("."), list[hc.Checkpoint])
assert_type(manager.diff(".", 1), hc.Diff)
assert_type(manager.status(), hc.Status)
assert_type(manager.prune(), hc.PruneResult)
assert_type(manager.compact(), hc.Upkeep)
assert_type(manager.plan(".", 1), hc.Plan)
assert_type(manager.restore(".", 1), hc.Report)
assert_type(manager.undo("."), hc.Report)
assert_type(hc.active_manager(), hc.CheckpointManager | None)

rollback = hc.RollbackCommand(manager)
assert_type(rollback.run("/rollback 1", cwd="."), hc.Reply)
assert_type(hc.shell.classify("rm x", cwd="/w"), hc.shell.Effects)

with manager.activate() as active, manager.turn("t") as turn:
    assert_type(active, hc.CheckpointManager)
    assert_type(turn, str)
with manager.guard(hc.ToolCall("write_file", {"path": "a"}, effect=hc.ToolEffect.FILE)) as guard:
    assert_type(guard, hc.Guard)
