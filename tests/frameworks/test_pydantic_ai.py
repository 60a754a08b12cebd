"""pydantic-ai: the capability and the toolset under real runs with a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.frameworks.conftest import Scene

pytestmark = pytest.mark.framework


@pytest.fixture(autouse=True)
def _framework() -> None:
    pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_run_of_parallel_calls_is_taken_back_with_its_history(scene: Scene, way: str) -> None:
    """Parallel tools of a run are one turn; files and history go back to before it."""
    agent = make_agent(scene, [said("0")], [write("notes.txt"), remove("data.bin")], [said("1")])
    first = run(agent, "zero", way=way)
    before = first.all_messages()
    result = run(agent, "one", before, way=way)
    assert scene.written == {"notes.txt", "data.bin"}
    assert [(c.session, c.turn) for c in scene.checkpoints] == [
        (result.conversation_id, result.run_id)
    ]
    history = undo(scene, result)
    assert scene.is_back()
    assert scene.chat_is_back(history == before)


def test_turns_are_dropped_as_many_as_the_checkpoint_is_old(scene: Scene) -> None:
    """A rollback over three runs, one of them without any tool, drops all three."""
    script = [[said("0")], [write("a.txt")], [said("1")], [said("2")], [write("b.txt")]]
    agent = make_agent(scene, *script, [said("3")], [said("4")])
    result = run(agent, "zero")
    before = result.all_messages()
    for text in ("one", "two", "three"):
        result = run(agent, text, result.all_messages())
    history = undo(scene, result, "/rollback 2")
    assert scene.is_back()
    assert scene.chat_is_back(history == before)
    assert run(agent, "four", history).output == "4"


def test_streams_are_protected(scene: Scene) -> None:
    """A streamed run passes through the same guard."""
    agent = make_agent(scene, [write("a.txt")], [said("done")])

    async def stream() -> None:
        async with agent.run_stream("one") as result:
            async for _ in result.stream_text():
                pass

    asyncio.run(stream())
    assert scene.written == {"a.txt"}
    scene.rollback(session=scene.calls[0].session_id)
    assert scene.is_back()


def test_tools_that_fail_or_ask_for_a_retry_have_their_damage_recorded(scene: Scene) -> None:
    """What a tool did before `ModelRetry`, or before it raised out of the run, goes back."""
    agent = make_agent(scene, [write("retry")], [write("boom")])
    with pytest.raises(OSError, match="disk full"):
        run(agent, "one")
    assert scene.written == {"retry", "boom"}
    scene.rollback(session=scene.calls[0].session_id)
    assert scene.is_back()


def test_a_delegate_writes_in_its_callers_turn(scene: Scene) -> None:
    """A shared toolset protects an agent without the capability; its caller's turn is its own."""
    from hermes_checkpoints.integrations.pydantic_ai import CheckpointToolset
    from pydantic_ai import Agent

    toolset = CheckpointToolset(make_tools(scene), scene.manager)
    inner = Agent(scripted([write("src/app.py")], [said("done")]), toolsets=[toolset])
    outer = make_agent(scene, [write("notes.txt")], [call("delegate")], [said("1")])

    @outer.tool_plain
    async def delegate() -> str:
        """Ask the inner agent."""
        return str((await inner.run("inner")).output)

    result = run(outer, "one")
    assert {"notes.txt", "src/app.py"} <= scene.written
    assert [c.turn for c in scene.checkpoints] == [result.run_id]
    undo(scene, result)
    assert scene.is_back()


def test_a_toolset_alone_is_the_turn_of_what_it_calls(scene: Scene) -> None:
    """Without a capability anywhere, a delegate still writes in the turn of its caller."""
    from hermes_checkpoints.integrations.pydantic_ai import CheckpointToolset
    from pydantic_ai import Agent

    tools = make_tools(scene)
    inner_tools = CheckpointToolset(make_tools(scene), scene.manager)
    inner = Agent(scripted([write("src/app.py")], [said("done")]), toolsets=[inner_tools])

    @tools.tool_plain
    async def delegate() -> str:
        """Ask the inner agent."""
        return str((await inner.run("inner")).output)

    script = [[write("notes.txt")], [call("delegate")], [said("1")]]
    outer = Agent(scripted(*script), toolsets=[CheckpointToolset(tools, scene.manager)])
    result = run(outer, "one")
    assert {"notes.txt", "src/app.py"} <= scene.written
    assert [(c.session, c.turn) for c in scene.checkpoints] == [
        (result.conversation_id, result.run_id)
    ]
    undo(scene, result)
    assert scene.is_back()


def test_a_call_is_protected_once_by_capability_and_toolset(scene: Scene) -> None:
    """An agent with both has each change recorded once."""
    from hermes_checkpoints.integrations.pydantic_ai import CheckpointCapability, CheckpointToolset
    from pydantic_ai import Agent

    agent = Agent(
        scripted([write("a.txt")], [said("1")]),
        toolsets=[CheckpointToolset(make_tools(scene), scene.manager)],
        capabilities=[CheckpointCapability(scene.manager)],
    )
    run(agent, "one")
    book = scene.manager.books.of(scene.manager.project(scene.root))
    assert [entry.path for entry in book.ledger.entries()] == ["a.txt"]


def test_an_approved_call_belongs_to_the_turn_that_asked(scene: Scene) -> None:
    """A run that resumes deferred calls has an id of its own and goes on in the turn before."""
    from pydantic_ai import DeferredToolRequests, DeferredToolResults

    agent = make_agent(
        scene,
        [write("a.txt"), write("notes.txt", tool="write_approved")],
        [said("1")],
        output_type=[str, DeferredToolRequests],
    )
    asked = run(agent, "one")
    assert isinstance(asked.output, DeferredToolRequests)
    answer = DeferredToolResults(approvals={c.tool_call_id: True for c in asked.output.approvals})
    result = run(agent, None, asked.all_messages(), deferred_tool_results=answer)
    assert scene.files["notes.txt"] == b"written"
    assert [c.turn for c in scene.checkpoints] == [asked.run_id]
    assert scene.chat_is_back(undo(scene, result) == [])
    assert scene.is_back()


def test_the_example_runs(run_example: Callable[[str], str]) -> None:
    """The example wrecks a project and has all of it back."""
    assert "files back: True, chat back: True" in run_example("pydantic_ai_agent.py")


# --------------------------------------------------------------------------- an agent's parts


def make_agent(scene: Scene, *script: list[Any], **options: Any) -> Any:
    from hermes_checkpoints.integrations.pydantic_ai import CheckpointCapability
    from pydantic_ai import Agent

    return Agent(
        scripted(*script),
        toolsets=[make_tools(scene)],
        capabilities=[CheckpointCapability(scene.manager)],
        **options,
    )


def make_tools(scene: Scene) -> Any:
    from pydantic_ai import ModelRetry
    from pydantic_ai.toolsets import FunctionToolset

    tools: Any = FunctionToolset()

    @tools.tool_plain
    def write_file(path: str, text: str) -> str:
        """Write a file."""
        done = scene.write(path, text)
        if path == "retry":
            raise ModelRetry("try another path")
        return done

    @tools.tool_plain(requires_approval=True)
    def write_approved(path: str, text: str) -> str:
        """Write a file when a person has said yes."""
        return scene.write(path, text)

    @tools.tool_plain
    async def delete_file(path: str) -> str:
        """Remove a file."""
        (scene.root / path).unlink()
        return "gone"

    return tools


def scripted(*script: list[Any]) -> Any:
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import DeltaToolCall, FunctionModel

    replies = iter(script)

    def respond(messages: Any, info: Any) -> Any:
        return ModelResponse(parts=list(next(replies)))

    async def stream(messages: Any, info: Any) -> Any:
        for at, part in enumerate(next(replies)):
            if isinstance(part, TextPart):
                yield part.content
            else:
                args = part.args_as_json_str()
                yield {at: DeltaToolCall(part.tool_name, args, tool_call_id=part.tool_call_id)}

    return FunctionModel(respond, stream_function=stream)


def said(text: str) -> Any:
    from pydantic_ai.messages import TextPart

    return TextPart(text)


def call(tool: str, **arguments: Any) -> Any:
    from pydantic_ai.messages import ToolCallPart

    return ToolCallPart(tool, arguments, tool_call_id=f"c-{tool}-{arguments.get('path')}")


def write(path: str, tool: str = "write_file") -> Any:
    return call(tool, path=path, text="written")


def remove(path: str) -> Any:
    return call("delete_file", path=path)


def run(
    agent: Any, text: str | None, history: Any = None, *, way: str = "async", **options: Any
) -> Any:
    if way == "sync":
        return agent.run_sync(text, message_history=history, **options)
    return asyncio.run(agent.run(text, message_history=history, **options))


def undo(scene: Scene, result: Any, text: str = "/rollback 1") -> list[Any]:
    """Roll files back as a host does; returns the history that is left."""
    from hermes_checkpoints.integrations.pydantic_ai import drop_turns

    reply = scene.rollback(text, session=result.conversation_id)
    return drop_turns(result.all_messages(), reply.drop_turns)
