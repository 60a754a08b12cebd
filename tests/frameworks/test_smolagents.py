"""smolagents: guarded agents with a scripted model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.frameworks.conftest import Scene

pytestmark = pytest.mark.framework


@pytest.fixture(autouse=True)
def _framework() -> None:
    pytest.importorskip("smolagents", reason="smolagents is not installed")


def test_a_run_of_parallel_calls_is_taken_back_with_its_memory(scene: Scene) -> None:
    """Parallel calls, one of which fails, are one turn; files and memory go back."""
    agent = make_agent(
        scene, [final("0")], [write("notes.txt"), write("boom")], [final("1")], [final("2")]
    )
    agent.run("zero", reset=False)
    before = list(agent.memory.steps)
    agent.run("one", reset=False)
    assert scene.written == {"notes.txt", "boom"}
    assert len(scene.checkpoints) == 1
    assert undo(scene, agent) == 1
    assert scene.is_back()
    assert scene.chat_is_back(agent.memory.steps == before)
    assert agent.run("two", reset=False) == "2"


def test_turns_are_dropped_as_many_as_the_checkpoint_is_old(scene: Scene) -> None:
    """A rollback over three runs, one of them without any tool, drops all three."""
    script = [
        [final("0")],
        [write("a.txt")],
        [final("1")],
        [final("2")],
        [shell("rm a.txt; exit 3")],
    ]
    agent = make_agent(scene, *script, [final("3")])
    agent.run("zero")
    before = list(agent.memory.steps)
    for text in ("one", "two", "three"):
        agent.run(text, reset=False)
    assert undo(scene, agent, "/rollback 2") == 3
    assert scene.is_back()
    assert scene.chat_is_back(agent.memory.steps == before)


@pytest.mark.parametrize("stream", [False, True])
def test_code_that_writes_without_a_tool_is_protected(scene: Scene, stream: bool) -> None:
    """A `CodeAgent` that may import `os` has its own writes recorded beside those of tools."""
    code = f"import os\nos.remove({str(scene.root / 'data.bin')!r})\nwrite_file('notes.txt', 'x')"
    agent = make_code_agent(scene, code, "final_answer('1')", imports=["os", "posix"])
    result = agent.run("one", stream=stream)
    assert not stream or list(result)
    assert scene.written == {"data.bin", "notes.txt"}
    assert len(scene.checkpoints) == 1
    undo(scene, agent)
    assert scene.is_back()
    assert scene.chat_is_back(agent.memory.steps == [])


def test_the_code_of_an_agent_that_cannot_write_costs_nothing(scene: Scene) -> None:
    """Where code can write only through tools, only the tools are looked at."""
    agent = make_code_agent(scene, "write_file('notes.txt', 'x')", "final_answer('1')")
    agent.run("one")
    assert [c.name for c in scene.calls] == ["write_file"]
    undo(scene, agent)
    assert scene.is_back()


def test_a_managed_agent_writes_in_its_managers_turn(scene: Scene) -> None:
    """What a managed agent writes belongs to the run that asked it."""
    inner = make_agent(scene, [write("src/app.py")], [final("done")], guarded=False)
    inner.name, inner.description = "coder", "writes"
    ask = ("coder", {"task": "x", "additional_args": {}})
    agent = make_agent(scene, [write("notes.txt")], [ask], [final("1")], managed_agents=[inner])
    agent.run("one")
    assert scene.written == {"notes.txt", "src/app.py"}
    assert len(scene.checkpoints) == 1
    assert undo(scene, agent) == 1
    assert scene.is_back()


def test_the_example_runs(run_example: Callable[[str], str]) -> None:
    """The example wrecks a project and has all of it back."""
    assert "files back: True, chat back: True" in run_example("smolagents_agent.py")


# --------------------------------------------------------------------------- an agent's parts


def make_agent(scene: Scene, *script: Any, guarded: bool = True, **options: Any) -> Any:
    from hermes_checkpoints.integrations.smolagents import guard_agent
    from smolagents import ToolCallingAgent
    from smolagents.monitoring import LogLevel

    agent = ToolCallingAgent(
        tools=make_tools(scene),
        model=scripted(list(script)),
        verbosity_level=LogLevel.OFF,
        max_steps=5,
        **options,
    )
    return guard_agent(agent, scene.manager) if guarded else agent


def make_code_agent(scene: Scene, *code: str, imports: Any = ()) -> Any:
    from hermes_checkpoints.integrations.smolagents import guard_agent
    from smolagents import CodeAgent
    from smolagents.monitoring import LogLevel

    agent = CodeAgent(
        tools=make_tools(scene),
        model=scripted([f"Thought: x\n<code>\n{text}\n</code>" for text in code]),
        additional_authorized_imports=list(imports),
        verbosity_level=LogLevel.OFF,
        max_steps=5,
    )
    return guard_agent(agent, scene.manager)


def make_tools(scene: Scene) -> list[Any]:
    from smolagents import tool

    @tool
    def write_file(path: str, text: str) -> str:
        """Write a file.

        Args:
            path: where
            text: what
        """
        return scene.write(path, text)

    @tool
    def terminal(command: str) -> str:
        """Run a command.

        Args:
            command: the command
        """
        return f"exit code {scene.shell(command)}"

    return [write_file, terminal]


def scripted(script: list[Any]) -> Any:
    from smolagents import Model
    from smolagents.models import (
        ChatMessage,
        ChatMessageToolCall,
        ChatMessageToolCallFunction,
        MessageRole,
    )

    class Scripted(Model):
        def generate(self, messages: Any, **options: Any) -> Any:
            reply = script.pop(0)
            if isinstance(reply, str):
                return ChatMessage(role=MessageRole.ASSISTANT, content=reply)
            calls = [
                ChatMessageToolCall(
                    id=f"c{number}",
                    type="function",
                    function=ChatMessageToolCallFunction(name=name, arguments=arguments),
                )
                for number, (name, arguments) in enumerate(reply)
            ]
            return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=calls)

    return Scripted(model_id="scripted")


def write(path: str) -> Any:
    return "write_file", {"path": path, "text": "written"}


def shell(command: str) -> Any:
    return "terminal", {"command": command}


def final(text: str) -> Any:
    return "final_answer", {"answer": text}


def undo(scene: Scene, agent: Any, text: str = "/rollback 1") -> int:
    """Roll files and memory back, as a host does; returns how many turns went."""
    from hermes_checkpoints.integrations.smolagents import drop_turns

    return drop_turns(agent, scene.rollback(text).drop_turns)
