"""LlamaIndex, which has no hook: decorated functions under a real agent with a scripted model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import hermes_checkpoints as hc
from tests.frameworks.conftest import Scene

pytestmark = [
    pytest.mark.framework,
    # LlamaIndex looks at all attributes of its models, old ones too
    pytest.mark.filterwarnings("ignore:The `__fields:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Accessing the 'model_:DeprecationWarning"),
]


@pytest.fixture(autouse=True)
def _framework() -> None:
    pytest.importorskip("llama_index.core", reason="LlamaIndex is not installed")


def test_decorated_tools_are_taken_back_with_the_hosts_memory(scene: Scene) -> None:
    """Sync and async tools, one of which fails, are one turn of the host's; memory goes back."""

    async def play() -> None:
        from llama_index.core.memory import ChatMemoryBuffer

        memory = ChatMemoryBuffer.from_defaults(token_limit=100_000)
        script = ["0", [write("notes.txt"), write("boom"), remove("data.bin")], "1"]
        agent = make_agent(scene, script)
        with scene.manager.turn():
            await agent.run(user_msg="zero", memory=memory)
        before = list(memory.get_all())
        with scene.manager.turn():
            await agent.run(user_msg="one", memory=memory)
        assert scene.written == {"notes.txt", "boom", "data.bin"}
        assert len(scene.checkpoints) == 1
        assert scene.rollback().drop_turns == 1
        memory.set(before)
        assert scene.chat_is_back(list(memory.get_all()) == before)

    asyncio.run(play())
    assert scene.is_back()


def test_the_schema_is_the_functions(scene: Scene) -> None:
    """A decorated function tells the model of the arguments it has."""
    from llama_index.core.tools import FunctionTool

    for function in make_functions(scene):
        tool = FunctionTool.from_defaults(function)
        assert "path" in tool.metadata.get_parameters_dict()["properties"]


# --------------------------------------------------------------------------- an agent's parts


def make_functions(scene: Scene) -> list[Any]:
    @hc.file_tool(path="path", manager=scene.manager)
    def write_file(path: str, text: str) -> str:
        """Write a file."""
        return scene.write(path, text)

    @hc.file_tool(path="path", manager=scene.manager)
    async def delete_file(path: str) -> str:
        """Remove a file."""
        (scene.root / path).unlink()
        return "gone"

    return [write_file, delete_file]


def make_agent(scene: Scene, script: list[Any]) -> Any:
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.base.llms.types import (
        ChatMessage,
        MessageRole,
        TextBlock,
        ToolCallBlock,
    )
    from llama_index.core.llms.mock import MockFunctionCallingLLM
    from llama_index.core.tools import FunctionTool

    def respond(messages: Any, **options: Any) -> Any:
        reply = script.pop(0)
        blocks = (
            [TextBlock(text=reply)]
            if isinstance(reply, str)
            else [
                ToolCallBlock(tool_name=name, tool_kwargs=arguments, tool_call_id=f"c{n}")
                for n, (name, arguments) in enumerate(reply)
            ]
        )
        return ChatMessage(role=MessageRole.ASSISTANT, blocks=blocks)

    write_file, delete_file = make_functions(scene)
    return FunctionAgent(
        name="main",
        tools=[
            FunctionTool.from_defaults(write_file),
            FunctionTool.from_defaults(async_fn=delete_file),
        ],
        llm=MockFunctionCallingLLM(response_generator=respond),
        streaming=False,
    )


def write(path: str) -> Any:
    return "write_file", {"path": path, "text": "written"}


def remove(path: str) -> Any:
    return "delete_file", {"path": path}
