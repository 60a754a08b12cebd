"""MCP: FastMCP servers with the middleware, the proxy as a process, and our own server."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hermes_checkpoints as hc
from tests.frameworks.conftest import FILES, Scene

pytestmark = pytest.mark.framework

_EXAMPLES = Path(__file__).parents[2] / "examples"
GENERATIONS = [None, "legacy"]


@pytest.fixture(autouse=True)
def _framework() -> None:
    pytest.importorskip("fastmcp", reason="FastMCP is not installed")


def meta(turn: str, session: str = "chat") -> dict[str, str]:
    """What a host that knows its turns sends along."""
    return {"hermes/session": session, "hermes/turn": turn}


def files_server(scene: Scene, **options: Any) -> Any:
    """A server of one's own, with the middleware."""
    from fastmcp import FastMCP
    from hermes_checkpoints.integrations.mcp import CheckpointMiddleware

    server: Any = FastMCP("files")
    server.add_middleware(CheckpointMiddleware(scene.manager, **options))

    @server.tool
    def write_file(path: str, content: str = "written") -> str:
        return scene.write(path, content)

    @server.tool
    async def terminal(command: str) -> int:
        return scene.shell(command)

    @server.tool(annotations={"readOnlyHint": True})
    def frobnicate() -> str:
        return "nothing"

    @server.tool
    def twiddle() -> str:
        return scene.write("twiddled.txt", "x")

    return server


def connect(server: Any, generation: str | None = None) -> Any:
    from fastmcp import Client

    return Client(server) if generation is None else Client(server, mode=generation)


# --------------------------------------------------------------------------- the middleware


@pytest.mark.parametrize("generation", GENERATIONS)
def test_parallel_calls_of_a_turn(scene: Scene, generation: str | None) -> None:
    """Parallel calls share their turn's checkpoint, whichever generation the client speaks."""

    async def session() -> None:
        async with connect(files_server(scene), generation) as client:
            paths = ["notes.txt", "new.txt", "src/app.py"]
            calls = [client.call_tool("write_file", {"path": p}, meta=meta("t1")) for p in paths]
            await asyncio.gather(*calls)
            await client.call_tool("terminal", {"command": "rm data.bin; exit 3"}, meta=meta("t1"))

    asyncio.run(session())
    assert len(scene.checkpoints) == 1
    assert {(c.session_id, c.turn_id) for c in scene.calls} == {("chat", "t1")}
    assert scene.written == {"notes.txt", "new.txt", "src/app.py", "data.bin"}
    scene.rollback(session="chat")
    assert scene.is_back()


def test_the_hosts_turns(scene: Scene) -> None:
    """Each turn that the host names has its own checkpoint."""

    async def session() -> None:
        async with connect(files_server(scene)) as client:
            for turn in ("t1", "t2", "t2"):
                await client.call_tool("write_file", {"path": f"{turn}.txt"}, meta=meta(turn))

    asyncio.run(session())
    assert [c.turn for c in scene.checkpoints] == ["t2", "t1"]


def test_turns_of_a_host_that_says_nothing(scene: Scene) -> None:
    """Without ids, a pause of the given length ends the turn."""
    now = [0.0]

    async def session() -> None:
        async with connect(files_server(scene, idle=20, clock=lambda: now[0])) as client:
            for n, later in enumerate((0, 19, 19, 21)):
                now[0] += later
                await client.call_tool("write_file", {"path": f"{n}.txt"})

    asyncio.run(session())
    assert len(scene.checkpoints) == 2
    scene.rollback("/rollback 2")
    assert scene.is_back()


def test_a_failing_tool(scene: Scene) -> None:
    """A tool's error reaches the client unchanged, and what it did before is taken back."""
    from fastmcp.exceptions import ToolError

    async def session() -> None:
        async with connect(files_server(scene)) as client:
            with pytest.raises(ToolError, match="disk full"):
                await client.call_tool("write_file", {"path": "boom"})

    asyncio.run(session())
    assert scene.written == {"boom"}
    scene.rollback()
    assert scene.is_back()


def test_hints(scene: Scene) -> None:
    """An unknown tool is believed to read only if it says so; without a word it may write."""

    async def session() -> None:
        async with connect(files_server(scene)) as client:
            await client.call_tool("frobnicate", {})
            assert scene.checkpoints == []
            await client.call_tool("twiddle", {})

    asyncio.run(session())
    assert len(scene.checkpoints) == 1


def test_a_hint_does_not_unprotect_a_known_tool(scene: Scene) -> None:
    """A file tool that says it only reads is protected all the same."""
    from fastmcp import FastMCP
    from hermes_checkpoints.integrations.mcp import CheckpointMiddleware

    server: Any = FastMCP("liar")
    server.add_middleware(CheckpointMiddleware(scene.manager))

    @server.tool(annotations={"readOnlyHint": True})
    def delete_file(path: str) -> None:
        (scene.root / path).unlink()

    async def session() -> None:
        async with connect(server) as client:
            await client.call_tool("delete_file", {"path": "notes.txt"})

    asyncio.run(session())
    scene.rollback()
    assert scene.is_back()


def test_a_call_that_cannot_be_protected(scene: Scene, tmp_path: Path) -> None:
    """With `on_failure: block` the client gets an error and the tool does not run."""
    from fastmcp.exceptions import ToolError

    config = hc.Config(base=tmp_path / "b", on_failure="block", max_file_size_mb=0)
    scene.manager = hc.CheckpointManager(config, cwd=scene.root)

    async def session() -> None:
        async with connect(files_server(scene)) as client:
            with pytest.raises(ToolError, match="not held"):
                await client.call_tool("write_file", {"path": "notes.txt"})

    asyncio.run(session())
    scene.manager.close()
    assert scene.is_back()


# --------------------------------------------------------------------------- the proxy


@pytest.mark.parametrize("generation", GENERATIONS)
def test_the_proxy_as_a_process(scene: Scene, tmp_path: Path, generation: str | None) -> None:
    """Before a server of the older generation, hosts of either generation see its tools guarded."""
    server = [sys.executable, str(_EXAMPLES / "mcp_old_file_server.py")]

    async def session() -> list[Any]:
        words = ["mcp-proxy", "--base", str(tmp_path / "base"), "--", *server]
        async with connect(program(scene, words), generation) as client:
            assert {t.name for t in await client.list_tools()} == {
                "read_text",
                "write_file",
                "run_command",
            }
            await client.call_tool("read_text", {"path": "notes.txt"})
            await client.call_tool("write_file", {"path": "src/app.py", "content": "x"})
            done = await client.call_tool("run_command", {"command": "rm notes.txt; exit 4"})
            wrong = {"path": "no/such/place", "content": ""}
            failed = await client.call_tool("write_file", wrong, raise_on_error=False)
        return [done, failed]

    done, failed = asyncio.run(session())
    assert done.content[0].text.startswith("exit 4")
    assert failed.is_error
    assert [c.reason for c in scene.checkpoints] == ["before write_file: src/app.py"]
    scene.rollback()
    assert scene.is_back()


def program(scene: Scene, words: list[str]) -> Any:
    """Our program as a host starts it."""
    from fastmcp.client.transports import StdioTransport

    code = "import sys; from hermes_checkpoints.cli import main; sys.exit(main())"
    return StdioTransport(
        sys.executable, ["-c", code, *words], cwd=str(scene.root), keep_alive=False
    )


# --------------------------------------------------------------------------- our own server


class Desk:
    """An agent at our server."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def plan(self, **arguments: Any) -> dict[str, Any]:
        answer = await self._client.call_tool("plan_restore", {"checkpoint": "1", **arguments})
        found: dict[str, Any] = answer.structured_content
        return found

    async def restore(self, token: str, **arguments: Any) -> Any:
        wanted = {"checkpoint": "1", "token": token, **arguments}
        return await self._client.call_tool("restore_checkpoint", wanted, raise_on_error=False)


def at_the_desk(scene: Scene, work: Callable[[Desk], Any]) -> Any:
    """Run `work` with a client of our server, after the agent has lost two files."""
    from hermes_checkpoints.integrations.mcp import checkpoint_server

    with scene.manager.guard(hc.ToolCall("terminal", {"command": "rm notes.txt data.bin"})):
        scene.shell("rm notes.txt data.bin")

    async def session() -> Any:
        server = checkpoint_server(scene.manager, session=lambda: "host")
        async with connect(server) as client:
            return await work(Desk(client))

    return asyncio.run(session())


def test_list_diff_plan_restore(scene: Scene) -> None:
    """An agent sees the checkpoints and the difference, plans, and restores with the token."""
    from hermes_checkpoints.integrations.mcp import checkpoint_server

    async def work(desk: Desk) -> Any:
        listed = await desk._client.call_tool("list_checkpoints", {})
        diff = await desk._client.call_tool("diff_checkpoint", {"checkpoint": "1"})
        plan = await desk.plan()
        restored = await desk.restore(plan["token"])
        return listed.structured_content["result"], diff.data, plan, restored

    listed, diff, plan, restored = at_the_desk(scene, work)
    assert [(e["number"], e["reason"]) for e in listed] == [
        (1, "before terminal: rm notes.txt data.bin")
    ]
    assert "-by hand" in diff
    assert sorted(plan["restores"]) == ["data.bin", "notes.txt"]
    assert restored.structured_content["ok"] is True
    assert restored.structured_content["undo"].startswith("plan_restore ")
    assert scene.is_back()
    assert checkpoint_server(scene.manager) is not None


def test_no_token_no_restore(scene: Scene) -> None:
    """Without the token of a plan nothing is restored."""

    async def work(desk: Desk) -> Any:
        return [await desk.restore(token) for token in ("", "1", "0" * 20)]

    before = set(FILES) - {"notes.txt", "data.bin"}
    assert all(answer.is_error for answer in at_the_desk(scene, work))
    assert set(scene.files) == before
    assert len(scene.checkpoints) == 1


def test_a_token_is_for_one_plan(scene: Scene) -> None:
    """A token allows the selection it was made for and no other."""

    async def work(desk: Desk) -> Any:
        one = await desk.plan(paths=["notes.txt"])
        others = [{"paths": ["data.bin"]}, {}, {"paths": ["notes.txt"], "overwrite_edits": True}]
        refused = [await desk.restore(one["token"], **other) for other in others]
        return refused, await desk.restore(one["token"], paths=["notes.txt"])

    refused, done = at_the_desk(scene, work)
    assert all(answer.is_error for answer in refused)
    assert done.structured_content["restored"] == ["notes.txt"]
    assert set(FILES) - set(scene.files) == {"data.bin"}


def test_a_project_that_has_moved_on(scene: Scene) -> None:
    """A token is refused once anything in the project has changed; the answer says what to do."""

    async def work(desk: Desk) -> Any:
        plan = await desk.plan()
        (scene.root / "other.txt").write_text("somebody was here")
        refused = await desk.restore(plan["token"])
        return refused, await desk.restore((await desk.plan())["token"])

    refused, done = at_the_desk(scene, work)
    assert refused.is_error
    assert "plan_restore" in refused.content[0].text
    assert done.structured_content["ok"] is True
    assert scene.files == {**FILES, "other.txt": b"somebody was here"}


def test_edits_are_kept_unless_told(scene: Scene) -> None:
    """A person's edit is kept by default, and the plan says so."""
    (scene.root / "src/app.py").write_bytes(FILES["src/app.py"])

    async def work(desk: Desk) -> Any:
        (scene.root / "src/app.py").write_text("mine")
        kept, taken = await desk.plan(), await desk.plan(overwrite_edits=True)
        await desk.restore(kept["token"])
        return kept, taken

    kept, taken = at_the_desk(scene, work)
    assert list(kept["keeps"]) == ["src/app.py"]
    assert "src/app.py" in taken["restores"]
    assert scene.files["src/app.py"] == b"mine"


def test_an_unknown_checkpoint(scene: Scene) -> None:
    """What is no checkpoint is an error that says what there is."""

    async def work(desk: Desk) -> Any:
        wanted = {"checkpoint": "7"}
        return await desk._client.call_tool("plan_restore", wanted, raise_on_error=False)

    answer = at_the_desk(scene, work)
    assert answer.is_error
    assert "there are 1 to 1" in answer.content[0].text


def test_the_server_as_a_process(scene: Scene, tmp_path: Path) -> None:
    """`hermes-checkpoints mcp` takes its host's session for that of the agent it serves."""
    scene.manager.new_turn()
    with scene.manager.guard(hc.ToolCall("terminal", {"command": "rm notes.txt"})):
        scene.shell("rm notes.txt")

    async def session() -> Any:
        words = ["mcp", "--base", str(tmp_path / "base")]
        async with connect(program(scene, words)) as client:
            desk = Desk(client)
            return await desk.restore((await desk.plan())["token"])

    assert asyncio.run(session()).structured_content["restored"] == ["notes.txt"]
    assert scene.is_back()


@pytest.mark.parametrize("example", ["mcp_server.py", "mcp_proxy.py"])
def test_examples(example: str, run_example: Callable[[str], str]) -> None:
    """The examples lose what they have and get it back."""
    assert "after" in run_example(example)
