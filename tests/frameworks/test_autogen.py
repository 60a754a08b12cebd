"""AutoGen, which is only maintained: decorated functions under a real agent."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

import hermes_checkpoints as hc
from tests.frameworks.conftest import Scene

pytestmark = pytest.mark.framework


@pytest.fixture(autouse=True)
def _framework() -> None:
    pytest.importorskip("autogen_agentchat", reason="AutoGen is not installed")


def test_decorated_tools_are_taken_back_with_the_agents_state(scene: Scene) -> None:
    """Sync and async tools, one of which fails, are one turn; the host loads the state before."""

    async def play() -> None:
        script = ["0", [write("notes.txt"), write("boom"), remove("data.bin")]]
        agent = make_agent(scene, script)
        with scene.manager.turn():
            await agent.run(task="zero")
        before = await agent.save_state()
        with scene.manager.turn():
            await agent.run(task="one")
        assert scene.written == {"notes.txt", "boom", "data.bin"}
        assert len(scene.checkpoints) == 1
        assert scene.rollback().drop_turns == 1
        assert await agent.save_state() != before
        await agent.load_state(before)
        assert scene.chat_is_back(await agent.save_state() == before)

    asyncio.run(play())
    assert scene.is_back()


# --------------------------------------------------------------------------- an agent's parts


def make_agent(scene: Scene, script: list[Any]) -> Any:
    from autogen_agentchat.agents import AssistantAgent

    @hc.file_tool(path="path", manager=scene.manager)
    def write_file(path: str, text: str) -> str:
        """Write a file."""
        return scene.write(path, text)

    @hc.file_tool(path="path", manager=scene.manager)
    async def delete_file(path: str) -> str:
        """Remove a file."""
        (scene.root / path).unlink()
        return "gone"

    return AssistantAgent("main", model_client=scripted(script), tools=[write_file, delete_file])


def scripted(script: list[Any]) -> Any:
    from autogen_core import FunctionCall
    from autogen_core.models import ChatCompletionClient, CreateResult, ModelInfo, RequestUsage

    class Scripted(ChatCompletionClient):
        async def create(self, messages: Any, **options: Any) -> Any:
            reply = script.pop(0)
            done = isinstance(reply, str)
            content = (
                reply
                if done
                else [
                    FunctionCall(id=f"c{n}", name=name, arguments=json.dumps(arguments))
                    for n, (name, arguments) in enumerate(reply)
                ]
            )
            return CreateResult(
                finish_reason="stop" if done else "function_calls",
                content=content,
                usage=RequestUsage(0, 0),
                cached=False,
            )

        async def create_stream(self, messages: Any, **options: Any) -> Any:
            yield await self.create(messages)

        async def close(self) -> None: ...

        def actual_usage(self) -> Any:
            return RequestUsage(0, 0)

        total_usage = actual_usage

        def count_tokens(self, *args: Any, **options: Any) -> int:
            return 0

        def remaining_tokens(self, *args: Any, **options: Any) -> int:
            return 9999

        @property
        def capabilities(self) -> Any:
            return self.model_info

        @property
        def model_info(self) -> Any:
            return ModelInfo(
                vision=False,
                function_calling=True,
                json_output=False,
                family="unknown",
                structured_output=False,
                multiple_system_messages=True,
            )

    return Scripted()


def write(path: str) -> Any:
    return "write_file", {"path": path, "text": "written"}


def remove(path: str) -> Any:
    return "delete_file", {"path": path}
