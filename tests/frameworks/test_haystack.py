"""Haystack, whose history is the host's: decorated functions under a real agent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import hermes_checkpoints as hc
from tests.frameworks.conftest import Scene

pytestmark = pytest.mark.framework


@pytest.fixture(autouse=True)
def _framework(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "false")
    pytest.importorskip("haystack", reason="Haystack is not installed")


@pytest.mark.parametrize("way", ["sync", "async"])
def test_decorated_tools_are_taken_back_with_the_hosts_history(scene: Scene, way: str) -> None:
    """Parallel tools, one of which fails, are one turn; the host keeps the history before it."""
    from haystack.dataclasses import ChatMessage

    agent = make_agent(scene, ["0", [write("notes.txt"), write("boom")], "1"])
    history = [ChatMessage.from_user("zero")]
    with scene.manager.turn():
        history = run(agent, history, way)
    with scene.manager.turn():
        after = run(agent, [*history, ChatMessage.from_user("one")], way)
    assert len(after) > len(history)
    assert scene.written == {"notes.txt", "boom"}
    assert len(scene.checkpoints) == 1
    assert scene.rollback().drop_turns == 1
    assert scene.is_back()
    starts = [at for at, message in enumerate(after) if message.role.value == "user"]
    assert scene.chat_is_back(after[: starts[-1]] == history)


# --------------------------------------------------------------------------- an agent's parts


def make_agent(scene: Scene, script: list[Any]) -> Any:
    from haystack import component
    from haystack.components.agents import Agent
    from haystack.dataclasses import ChatMessage, ToolCall
    from haystack.tools import create_tool_from_function

    @hc.file_tool(path="path", manager=scene.manager)
    def write_file(path: str, text: str) -> str:
        """Write a file."""
        return scene.write(path, text)

    def replies() -> dict[str, Any]:
        reply = script.pop(0)
        if isinstance(reply, str):
            return {"replies": [ChatMessage.from_assistant(reply)]}
        calls = [
            ToolCall(tool_name=name, arguments=arguments, id=f"c{n}")
            for n, (name, arguments) in enumerate(reply)
        ]
        return {"replies": [ChatMessage.from_assistant(tool_calls=calls)]}

    class Scripted:
        @component.output_types(replies=list)
        def run(self, messages: list, tools: Any = None, **options: Any) -> Any:  # type: ignore[type-arg]
            return replies()

        @component.output_types(replies=list)
        async def run_async(self, messages: list, tools: Any = None, **options: Any) -> Any:  # type: ignore[type-arg]
            return replies()

    return Agent(
        chat_generator=component(Scripted)(),
        tools=[create_tool_from_function(write_file)],
        raise_on_tool_invocation_failure=False,
    )


def run(agent: Any, messages: list[Any], way: str) -> list[Any]:
    if way == "sync":
        return list(agent.run(messages=messages)["messages"])
    return list(asyncio.run(agent.run_async(messages=messages))["messages"])


def write(path: str) -> Any:
    return "write_file", {"path": path, "text": "written"}
