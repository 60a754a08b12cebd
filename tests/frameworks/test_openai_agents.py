"""OpenAI Agents SDK: guarded tools under real runs with a scripted model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.frameworks.conftest import Scene

pytestmark = pytest.mark.framework


@pytest.fixture(autouse=True)
def _framework(monkeypatch: pytest.MonkeyPatch) -> None:
    agents = pytest.importorskip("agents", reason="the OpenAI Agents SDK is not installed")
    agents.set_tracing_disabled(True)


def test_a_run_of_parallel_calls_is_taken_back_with_its_session(scene: Scene) -> None:
    """Parallel function tools, one of which fails, are one turn; files and session go back."""

    async def play() -> bool:
        session = make_session()
        agent = make_agent(scene, [said("0")], [write("a.txt"), write("boom")], [said("1")])
        await ask(scene, agent, "zero", session)
        before = await session.get_items()
        await ask(scene, agent, "one", session)
        assert {"a.txt", "boom"} <= scene.written
        assert len(scene.checkpoints) == 1
        await undo(scene, session)
        return bool(await session.get_items() == before)

    assert scene.chat_is_back(asyncio.run(play()))
    assert scene.is_back()


def test_turns_are_dropped_as_many_as_the_checkpoint_is_old(scene: Scene) -> None:
    """A rollback over three runs, one of them without any tool, drops all three."""

    async def play() -> bool:
        session = make_session()
        script = [[said("0")], [write("a.txt")], [said("1")], [said("2")], [write("b.txt")]]
        agent = make_agent(scene, *script, [said("3")])
        await ask(scene, agent, "zero", session)
        before = await session.get_items()
        for text in ("one", "two", "three"):
            await ask(scene, agent, text, session)
        assert await undo(scene, session, "/rollback 2") == 3
        return bool(await session.get_items() == before)

    assert scene.chat_is_back(asyncio.run(play()))
    assert scene.is_back()


def test_shell_and_apply_patch_are_protected(scene: Scene) -> None:
    """A failed shell command and the operations of a patch are recorded and go back."""

    async def play() -> None:
        script = [
            [shell("rm notes.txt", "echo > src/b.py; exit 3")],
            [patch("update_file", "src/app.py", "@@\n-print('hello')\n+print('bye')\n")],
            [patch("delete_file", "data.bin")],
            [patch("create_file", "c.txt", "+new\n")],
            [said("1")],
        ]
        await ask(scene, make_agent(scene, *script), "one", make_session())

    asyncio.run(play())
    assert scene.files.keys() == {"pyproject.toml", "src/app.py", "src/b.py", "c.txt"}
    assert scene.written == {"notes.txt", "src/b.py", "src/app.py", "data.bin", "c.txt"}
    assert len(scene.checkpoints) == 1
    scene.rollback(session="session")
    assert scene.is_back()


def test_a_local_shell_is_protected_and_a_hosted_one_is_left_alone(scene: Scene) -> None:
    """`LocalShellTool` acts here, in its working directory; a hosted shell does not act here."""
    from agents import LocalShellTool, ShellTool
    from hermes_checkpoints.integrations.openai_agents import guard_tools

    def execute(request: Any) -> str:
        return str(scene.shell("rm src/app.py"))

    hosted = ShellTool(environment={"type": "container_auto"})
    local, same = guard_tools([LocalShellTool(executor=execute), hosted], scene.manager)
    assert same is hosted
    action = SimpleNamespace(command=["rm", "app.py"], working_directory=str(scene.root / "src"))
    data = SimpleNamespace(call_id="c1", action=action)
    asyncio.run(local.executor(SimpleNamespace(ctx_wrapper=None, data=data)))
    assert scene.written == {"src/app.py"}
    scene.rollback()
    assert scene.is_back()


@pytest.mark.parametrize("host_turn", [True, False])
def test_an_agent_used_as_a_tool_writes_in_its_callers_turn(scene: Scene, host_turn: bool) -> None:
    """What a sub-agent writes belongs to the run that called it, with and without a host's turn."""
    from agents import Agent, Runner
    from hermes_checkpoints.integrations.openai_agents import guard_tools

    model = scripted([[write("src/app.py")], [said("done")]])
    inner = Agent(name="inner", model=model, tools=make_tools(scene))
    delegate = guard_tools([inner.as_tool("delegate", "x")], scene.manager)
    agent = make_agent(scene, [write("notes.txt")], [delegated()], [said("1")], tools=delegate)
    if host_turn:
        asyncio.run(ask(scene, agent, "one", make_session()))
    else:
        asyncio.run(Runner.run(agent, "one"))
    assert {"notes.txt", "src/app.py"} <= scene.written
    assert len(scene.checkpoints) == 1
    scene.rollback(session="session" if host_turn else None)
    assert scene.is_back()


def test_without_the_hosts_turns_each_run_is_one(scene: Scene) -> None:
    """Streamed and sync runs of a host that opens no turn have a checkpoint each."""
    from agents import Runner

    script = [[write("a.txt")], [said("1")], [write("b.txt"), write("notes.txt")], [said("2")]]
    agent = make_agent(scene, *script)

    async def stream() -> None:
        result = Runner.run_streamed(agent, "two")
        async for _ in result.stream_events():
            pass

    Runner.run_sync(agent, "one")
    before = scene.files
    asyncio.run(stream())
    assert len(scene.checkpoints) == 2
    assert scene.rollback().drop_turns == 1
    assert scene.is_back(before)


def test_an_exception_that_leaves_the_run_leaves_it_as_ever(scene: Scene) -> None:
    """With `failure_error_function=None` the run raises; the damage is recorded."""
    from agents import Agent, Runner, function_tool
    from hermes_checkpoints.integrations.openai_agents import guard_tools

    @function_tool(failure_error_function=None)
    def write_file(path: str, text: str) -> str:
        """Write a file."""
        return scene.write(path, text)

    model = scripted([[write("boom")], [said("1")]])
    agent = Agent(name="main", model=model, tools=guard_tools([write_file], scene.manager))
    with pytest.raises(Exception, match="disk full"):
        asyncio.run(Runner.run(agent, "one"))
    assert scene.written == {"boom"}
    scene.rollback()
    assert scene.is_back()


def test_a_hosts_own_history_is_cut_by_turns() -> None:
    """A list of items loses its last turns, and no more than it has."""
    from hermes_checkpoints.integrations.openai_agents import without_turns

    user, other = {"role": "user", "content": "x"}, {"type": "function_call"}
    history = [user, other, user, other, other]
    assert without_turns(history, 1) == [user, other]
    assert without_turns(history, 0) == history
    assert without_turns(history, 9) == []


def test_the_example_runs(run_example: Callable[[str], str]) -> None:
    """The example wrecks a project and has all of it back."""
    assert "files back: True, chat back: True" in run_example("openai_agents_agent.py")


# --------------------------------------------------------------------------- an agent's parts


def make_session() -> Any:
    from agents import SQLiteSession

    return SQLiteSession("session")


def make_agent(scene: Scene, *script: list[Any], tools: Any = ()) -> Any:
    from agents import Agent

    return Agent(name="main", model=scripted(script), tools=[*make_tools(scene), *tools])


def make_tools(scene: Scene) -> list[Any]:
    from agents import ApplyPatchTool, ShellTool, function_tool
    from hermes_checkpoints.integrations.openai_agents import guard_tools

    @function_tool
    def write_file(path: str, text: str) -> str:
        """Write a file."""
        return scene.write(path, text)

    async def execute(request: Any) -> str:
        return " ".join(str(scene.shell(command)) for command in request.data.action.commands)

    tools = [write_file, ShellTool(executor=execute), ApplyPatchTool(editor=Editor(scene))]
    return guard_tools(tools, scene.manager)


class Editor:
    """Applies patches as the SDK's own example does."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def create_file(self, operation: Any) -> Any:
        from agents.apply_diff import apply_diff

        self.scene.write(operation.path, apply_diff("", operation.diff, mode="create"))

    def update_file(self, operation: Any) -> Any:
        from agents.apply_diff import apply_diff

        old = (self.scene.root / operation.path).read_text(encoding="utf-8")
        self.scene.write(operation.path, apply_diff(old, operation.diff))

    async def delete_file(self, operation: Any) -> Any:
        (self.scene.root / operation.path).unlink()


def scripted(script: Any) -> Any:
    """A model like the SDK's own `ScriptedModel`, which older releases do not have."""
    from agents.items import ModelResponse
    from agents.models.interface import Model
    from agents.usage import Usage
    from openai.types.responses import Response, ResponseCompletedEvent

    replies = iter(script)

    class Scripted(Model):
        async def get_response(self, *args: Any, **options: Any) -> Any:
            return ModelResponse(output=list(next(replies)), usage=Usage(), response_id=None)

        async def stream_response(self, *args: Any, **options: Any) -> Any:
            response = Response(
                id="r",
                created_at=0,
                model="scripted",
                object="response",
                output=list(next(replies)),
                parallel_tool_calls=True,
                tool_choice="auto",
                tools=[],
            )
            yield ResponseCompletedEvent(
                type="response.completed", response=response, sequence_number=0
            )

    return Scripted()


def said(text: str) -> Any:
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    content = [ResponseOutputText(text=text, type="output_text", annotations=[])]
    return ResponseOutputMessage(
        id="m", type="message", role="assistant", status="completed", content=content
    )


def call(tool: str, call_id: str, **arguments: str) -> Any:
    from openai.types.responses import ResponseFunctionToolCall

    return ResponseFunctionToolCall(
        id=call_id,
        call_id=call_id,
        type="function_call",
        name=tool,
        arguments=json.dumps(arguments),
    )


def write(path: str) -> Any:
    return call("write_file", f"c-{path}", path=path, text="written")


def delegated() -> Any:
    return call("delegate", "c-delegate", input="do it")


def shell(*commands: str) -> Any:
    from openai.types.responses.response_function_shell_tool_call import (
        Action,
        ResponseFunctionShellToolCall,
    )

    action = Action(commands=list(commands), timeout_ms=None, max_output_length=None)
    return ResponseFunctionShellToolCall(
        id="s1", call_id="s1", type="shell_call", status="completed", action=action
    )


def patch(kind: str, path: str, diff: str | None = None) -> Any:
    operation = {"type": kind, "path": path, "diff": diff}
    operation = {k: v for k, v in operation.items() if v is not None}
    call = {"type": "apply_patch_call", "call_id": f"p-{path}", "id": f"p-{path}"}
    return {**call, "status": "completed", "operation": operation}


async def ask(scene: Scene, agent: Any, text: str, session: Any) -> None:
    from agents import Runner

    with scene.manager.turn(session_id=session.session_id):
        await Runner.run(agent, text, session=session)


async def undo(scene: Scene, session: Any, text: str = "/rollback 1") -> int:
    """Roll files and session back, as a host does; returns how many turns went."""
    from hermes_checkpoints.integrations.openai_agents import drop_turns

    reply = scene.rollback(text, session=session.session_id)
    await drop_turns(session, reply.drop_turns)
    return reply.drop_turns
