"""Microsoft agent-framework: the middleware under a real agent with a scripted client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.frameworks.conftest import Scene

pytestmark = pytest.mark.framework


@pytest.fixture(autouse=True)
def _framework() -> None:
    pytest.importorskip("agent_framework", reason="agent-framework is not installed")


@pytest.mark.parametrize("way", ["run", "stream"])
def test_a_run_of_parallel_calls_is_taken_back_with_its_session(scene: Scene, way: str) -> None:
    """Parallel calls, one of which fails, are one turn; files and session go back."""

    async def play() -> None:
        agent = make_agent(scene, "0", [write("notes.txt"), write("boom")], "1", "2")
        session = agent.create_session()
        await ask(agent, "zero", session, way)
        before = chat(session)
        assert len(before) == 2
        await ask(agent, "one", session, way)
        assert scene.written == {"notes.txt", "boom"}
        assert [c.session for c in scene.checkpoints] == [session.session_id]
        assert undo(scene, session) == 1
        assert scene.chat_is_back(chat(session) == before)
        await ask(agent, "two", session, way)

    asyncio.run(play())
    assert scene.is_back()


def test_turns_are_dropped_as_many_as_the_checkpoint_is_old(scene: Scene) -> None:
    """A rollback over three runs, one of them without any tool, drops all three."""

    async def play() -> None:
        wreck = [("run_shell", {"command": "rm a.txt; exit 3"})]
        agent = make_agent(scene, "0", [write("a.txt")], "1", "2", wreck, "3")
        session = agent.create_session()
        await ask(agent, "zero", session)
        before = chat(session)
        assert len(before) == 2
        for text in ("one", "two", "three"):
            await ask(agent, text, session)
        assert undo(scene, session, "/rollback 2") == 3
        assert scene.chat_is_back(chat(session) == before)

    asyncio.run(play())
    assert scene.is_back()


def test_an_agent_used_as_a_tool_writes_in_its_callers_turn(scene: Scene) -> None:
    """What the inner agent writes belongs to the run that asked it."""

    async def play() -> None:
        inner = make_agent(scene, [write("src/app.py")], "done", name="coder")
        script = [[write("notes.txt")], [("coder", {"task": "x"})], "1"]
        agent = make_agent(scene, *script, more=[inner.as_tool(approval_mode="never_require")])
        session = agent.create_session()
        await ask(agent, "one", session)
        assert {"notes.txt", "src/app.py"} <= scene.written
        assert len(scene.checkpoints) == 1
        undo(scene, session)
        assert scene.chat_is_back(chat(session) == [])

    asyncio.run(play())
    assert scene.is_back()


def test_the_example_runs(run_example: Callable[[str], str]) -> None:
    """The example wrecks a project and has all of it back."""
    assert "files back: True, chat back: True" in run_example("agent_framework_agent.py")


# --------------------------------------------------------------------------- an agent's parts


def make_agent(scene: Scene, *script: Any, more: Any = (), name: str = "main") -> Any:
    from agent_framework import Agent, tool
    from hermes_checkpoints.integrations.agent_framework import checkpoint_middleware

    @tool(approval_mode="never_require")
    def write_file(path: str, text: str) -> str:
        """Write a file."""
        return scene.write(path, text)

    @tool(approval_mode="never_require")
    def run_shell(command: str) -> str:
        """Run a command."""
        return f"exit code {scene.shell(command)}"

    return Agent(
        client=scripted(list(script)),
        name=name,
        tools=[write_file, run_shell, *more],
        middleware=checkpoint_middleware(scene.manager),
    )


def scripted(script: list[Any]) -> Any:
    from agent_framework import (
        BaseChatClient,
        ChatResponse,
        ChatResponseUpdate,
        Content,
        FunctionInvocationLayer,
        Message,
        ResponseStream,
    )

    def contents() -> list[Any]:
        reply = script.pop(0)
        if isinstance(reply, str):
            return [Content.from_text(reply)]
        return [
            Content.from_function_call(call_id=f"c{n}", name=name, arguments=json.dumps(arguments))
            for n, (name, arguments) in enumerate(reply)
        ]

    class Scripted(FunctionInvocationLayer, BaseChatClient):
        def _inner_get_response(
            self, *, messages: Any, stream: bool, options: Any, **more: Any
        ) -> Any:
            async def whole() -> Any:
                return ChatResponse(messages=[Message(role="assistant", contents=contents())])

            async def pieces() -> Any:
                yield ChatResponseUpdate(role="assistant", contents=contents())

            if stream:
                return ResponseStream(pieces(), finalizer=ChatResponse.from_updates)
            return whole()

    return Scripted()


def write(path: str) -> Any:
    return "write_file", {"path": path, "text": "written"}


async def ask(agent: Any, text: str, session: Any, way: str = "run") -> None:
    if way == "run":
        await agent.run(text, session=session)
        return
    stream = agent.run(text, session=session, stream=True)
    async for _ in stream:
        pass
    await stream.get_final_response()


def chat(session: Any) -> list[Any]:
    states = [s for s in session.state.values() if isinstance(s, dict)]
    return [(m.role, m.text) for s in states for m in s.get("messages", ())]


def undo(scene: Scene, session: Any, text: str = "/rollback 1") -> int:
    """Roll files and session back, as a host does; returns how many turns went."""
    from hermes_checkpoints.integrations.agent_framework import drop_turns

    reply = scene.rollback(text, session=session.session_id)
    drop_turns(session, reply.drop_turns)
    return reply.drop_turns
