"""Strands Agents: the hooks under a real agent with a scripted model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.frameworks.conftest import FILES, Scene, refuse

pytestmark = pytest.mark.framework


@pytest.fixture(autouse=True)
def _framework() -> None:
    pytest.importorskip("strands", reason="Strands Agents is not installed")


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_turn_of_parallel_calls_is_taken_back_with_its_messages(scene: Scene, way: str) -> None:
    """Parallel calls, one of which fails, are one turn; files and messages go back."""
    agent = make_agent(scene, "0", [write("notes.txt"), write("boom")], "1", "2")
    ask(agent, "zero", way)
    before = list(agent.messages)
    ask(agent, "one", way)
    assert scene.written == {"notes.txt", "boom"}
    assert len(scene.checkpoints) == 1
    assert undo(scene, agent) == 1
    assert scene.is_back()
    assert scene.chat_is_back(agent.messages == before)
    ask(agent, "two", way)


def test_turns_are_dropped_as_many_as_the_checkpoint_is_old(scene: Scene) -> None:
    """A rollback over three turns, one of them without any tool, drops all three."""
    agent = make_agent(scene, "0", [write("a.txt")], "1", "2", [shell("rm a.txt; exit 3")], "3")
    ask(agent, "zero")
    before = list(agent.messages)
    for text in ("one", "two", "three"):
        ask(agent, text)
    assert undo(scene, agent, "/rollback 2") == 3
    assert scene.is_back()
    assert scene.chat_is_back(agent.messages == before)


def test_an_agent_called_by_a_tool_writes_in_its_callers_turn(scene: Scene) -> None:
    """The inner agent has hooks of its own, and no turn of its own."""
    from strands import tool

    @tool
    def delegate(task: str) -> str:
        """Ask the inner agent."""
        return str(make_agent(scene, [write("src/app.py")], "done")(task))

    agent = make_agent(
        scene, [write("notes.txt")], [("delegate", {"task": "x"})], "1", more=[delegate]
    )
    ask(agent, "one")
    assert {"notes.txt", "src/app.py"} <= scene.written
    assert len(scene.checkpoints) == 1
    assert undo(scene, agent) == 1
    assert scene.is_back()


def test_an_interrupted_call_goes_on_in_its_turn(scene: Scene) -> None:
    """A tool that asks the person is run again in the turn that asked, and no call stays open."""
    from strands import tool

    @tool(context=True)
    def write_file(path: str, text: str, tool_context: Any) -> str:
        """Write a file when a person has said yes."""
        scene.write(path, "half")
        tool_context.interrupt("approve", reason=path)
        return scene.write(path, text)

    agent = make_agent(scene, [write("notes.txt")], "1", tools=[write_file])
    asked = agent("one")
    assert asked.stop_reason == "interrupt"
    answer = {"interruptId": asked.interrupts[0].id, "response": "yes"}
    agent([{"interruptResponse": answer}])
    assert scene.files["notes.txt"] == b"written"
    assert len({c.turn_id for c in scene.calls}) == 1
    assert undo(scene, agent) == 1
    assert scene.is_back()
    assert scene.chat_is_back(agent.messages == [])


def test_a_call_that_is_not_protected_is_cancelled(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `on_failure: block` the model is told why, and the agent goes on."""
    monkeypatch.setattr(scene.manager, "guard", refuse)
    agent = make_agent(scene, [write("notes.txt")], "1")
    ask(agent, "one")
    (result,) = (part["toolResult"] for part in agent.messages[2]["content"])
    assert result["status"] == "error"
    assert "not held" in str(result["content"])
    assert scene.files["notes.txt"] == FILES["notes.txt"]


def test_the_example_runs(run_example: Callable[[str], str]) -> None:
    """The example wrecks a project and has all of it back."""
    assert "files back: True, chat back: True" in run_example("strands_agent.py")


# --------------------------------------------------------------------------- an agent's parts


def make_agent(scene: Scene, *script: Any, tools: Any = None, more: Any = ()) -> Any:
    from hermes_checkpoints.integrations.strands import CheckpointHooks
    from strands import Agent, tool
    from strands.models import Model

    replies = iter(script)

    class Scripted(Model):
        def update_config(self, **options: Any) -> None: ...

        def get_config(self) -> dict[str, Any]:
            return {}

        async def structured_output(self, *args: Any, **options: Any) -> Any:
            yield {}

        async def stream(self, *args: Any, **options: Any) -> Any:
            for chunk in chunks(next(replies)):
                yield chunk

    @tool
    def write_file(path: str, text: str) -> str:
        """Write a file."""
        return scene.write(path, text)

    @tool(name="shell")
    def run_shell(command: str) -> int:
        """Run a command."""
        return scene.shell(command)

    return Agent(
        model=Scripted(),
        tools=[*([write_file, run_shell] if tools is None else tools), *more],
        hooks=[CheckpointHooks(scene.manager)],
        callback_handler=None,
    )


def chunks(reply: Any) -> Any:
    """What a model streams: text, or tool calls."""
    yield {"messageStart": {"role": "assistant"}}
    if isinstance(reply, str):
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": reply}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}
        return
    for number, (name, arguments) in enumerate(reply):
        use = {"name": name, "toolUseId": f"t{number}"}
        yield {"contentBlockStart": {"start": {"toolUse": use}}}
        yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(arguments)}}}}
        yield {"contentBlockStop": {}}
    yield {"messageStop": {"stopReason": "tool_use"}}


def write(path: str) -> Any:
    return "write_file", {"path": path, "text": "written"}


def shell(command: str) -> Any:
    return "shell", {"command": command}


def ask(agent: Any, text: str, way: str = "sync") -> None:
    if way == "sync":
        agent(text)
    else:
        asyncio.run(agent.invoke_async(text))


def undo(scene: Scene, agent: Any, text: str = "/rollback 1") -> int:
    """Roll files and chat back, as a host does; returns how many turns went."""
    from hermes_checkpoints.integrations.strands import drop_turns

    reply = scene.rollback(text)
    drop_turns(agent, reply.drop_turns)
    return reply.drop_turns
