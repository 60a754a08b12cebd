"""LangChain and LangGraph: the middleware in real agents with a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import hermes_checkpoints as hc
from tests.frameworks.conftest import FILES, Scene, refuse

pytestmark = pytest.mark.framework


@pytest.fixture(autouse=True)
def _framework() -> None:
    pytest.importorskip("langchain", reason="LangChain is not installed")


def test_a_turn_of_parallel_writes_is_taken_back_with_its_chat(scene: Scene) -> None:
    """One checkpoint serves the parallel writes of a turn; files and chat go back to before it."""
    agent = make_agent(
        scene,
        [said("hello"), calls(write("notes.txt"), write("src/new.py"), write("c.txt")), said("ok")],
    )
    ask(agent, "hi")
    before = chat(agent)
    ask(agent, "write")
    assert len(scene.checkpoints) == 1
    assert {c.turn_id for c in scene.calls} == {last_human(agent)}
    undo(scene, agent)
    assert scene.is_back()
    assert scene.chat_is_back(chat(agent) == before)


def test_turns_are_dropped_as_many_as_the_checkpoint_is_old(scene: Scene) -> None:
    """A rollback over two turns, one of them without any tool, drops both from the chat."""
    script = [said("0"), calls(write("a.txt")), said("1"), said("2"), calls(write("b.txt"))]
    agent = make_agent(scene, [*script, said("3"), calls(write("d.txt")), said("4")])
    ask(agent, "zero")
    before = chat(agent)
    for text in ("one", "two", "three"):
        ask(agent, text)
    assert undo(scene, agent, "/rollback 2") == 3
    assert scene.is_back()
    assert scene.chat_is_back(chat(agent) == before)
    ask(agent, "four")
    assert scene.files["d.txt"] == b"written"


def test_a_turn_that_was_dropped_is_not_dropped_again(scene: Scene) -> None:
    """After a rollback an earlier checkpoint counts only the turns that are still in the chat."""
    script = [said("0"), calls(write("a.txt")), said("1"), calls(write("b.txt")), said("2")]
    agent = make_agent(scene, [*script, calls(write("d.txt")), said("3")])
    ask(agent, "zero")
    before = chat(agent)
    ask(agent, "one")
    ask(agent, "two")
    undo(scene, agent)
    ask(agent, "three")
    first = scene.checkpoints[-1]
    assert undo(scene, agent, f"/rollback {first.id}") == 2
    assert scene.is_back()
    assert scene.chat_is_back(chat(agent) == before)


def test_a_message_that_a_summary_replaced_is_found_in_older_states(scene: Scene) -> None:
    """A turn in which the chat was summarised is one turn, and goes as a whole."""
    from langchain.agents.middleware import SummarizationMiddleware

    brief = SummarizationMiddleware(
        scripted([said("in short")]), trigger=("messages", 4), keep=("messages", 1)
    )
    wreck = [calls(write("a.txt")), calls(write("notes.txt")), calls(write("b.txt"))]
    agent = make_agent(scene, [said("0"), *wreck, said("1"), said("2")], more=[brief])
    ask(agent, "zero")
    before = chat(agent)
    ask(agent, "one")
    assert "one" not in str(chat(agent))
    assert len({c.turn for c in scene.checkpoints}) == 1
    assert undo(scene, agent) == 1
    assert scene.is_back()
    assert scene.chat_is_back(chat(agent) == before)
    ask(agent, "two")


def test_a_thread_without_older_states_loses_the_messages_alone() -> None:
    """Where the checkpointer has only the present, the messages of the turns are removed."""
    from hermes_checkpoints.integrations.langchain import drop_turns
    from langchain_core.messages import AIMessage, HumanMessage
    from langgraph.types import StateSnapshot

    messages = [HumanMessage("0", id="h0"), AIMessage("0", id="a0"), HumanMessage("1", id="h1")]
    only = StateSnapshot({"messages": messages}, (), CONFIG, {"source": "loop"}, None, None, (), ())

    class Graph:
        def get_state_history(self, config: Any) -> Any:
            return iter([only])

        def update_state(self, config: Any, values: Any) -> None:
            self.removed = [m.id for m in values["messages"]]

    graph = Graph()
    drop_turns(graph, CONFIG, 1)
    assert graph.removed == ["h1"]
    drop_turns(graph, CONFIG, 9)
    assert graph.removed == ["h0", "a0", "h1"]


def test_an_agent_called_by_a_tool_writes_in_its_callers_turn(scene: Scene) -> None:
    """What the inner agent writes, in a thread of its own, belongs to the turn of the tool."""
    from langchain_core.tools import tool

    inner = make_agent(scene, [calls(write("src/app.py")), said("done")])

    @tool
    def delegate(task: str) -> str:
        """Ask the inner agent."""
        inner.invoke(message(task), {"configurable": {"thread_id": "inner"}})
        return "done"

    ask_inner = {"name": "delegate", "args": {"task": "x"}}
    script = [calls(write("notes.txt")), calls(ask_inner), said("1")]
    agent = make_agent(scene, script, tools=[writer(scene), delegate])
    ask(agent, "one")
    assert {"notes.txt", "src/app.py"} <= scene.written
    assert {c.session for c in scene.checkpoints} == {"thread"}
    assert len(scene.checkpoints) == 1
    assert undo(scene, agent) == 1
    assert scene.is_back()


def test_the_first_turn_is_taken_back_to_an_empty_chat(scene: Scene) -> None:
    """Where the thread has no state before the turn, its messages are removed."""
    agent = make_agent(scene, [calls(write("a.txt")), said("1"), said("2")])
    ask(agent, "one")
    undo(scene, agent)
    assert scene.is_back()
    assert scene.chat_is_back(chat(agent) == [])
    ask(agent, "two")
    assert len(chat(agent)) == 2


def test_async_runs_are_protected_and_taken_back(scene: Scene) -> None:
    """`astream` and `ainvoke` pass through the same guard, and the chat goes back the async way."""
    agent = make_agent(
        scene,
        [calls(write("a.txt"), write("notes.txt")), said("1"), calls(write("b.txt")), said("")],
    )

    async def play() -> list[str]:
        from hermes_checkpoints.integrations.langchain import adrop_turns

        async for _ in agent.astream(message("one"), CONFIG):
            pass
        before = chat(agent)
        files = scene.files
        await agent.ainvoke(message("two"), CONFIG)
        reply = scene.rollback(session="thread")
        await adrop_turns(agent, CONFIG, reply.drop_turns)
        assert scene.is_back(files)
        return before

    assert scene.chat_is_back(asyncio.run(play()) == chat(agent))
    assert len(scene.calls) == 3


def test_a_tool_that_raises_has_its_damage_recorded(scene: Scene) -> None:
    """The exception leaves the run as ever; what the tool did before is undone, the chat healed."""
    agent = make_agent(scene, [said("0"), calls(write("boom")), said("1")])
    ask(agent, "zero")
    before = chat(agent)
    with pytest.raises(OSError, match="disk full"):
        ask(agent, "one")
    assert "boom" in scene.written
    undo(scene, agent)
    assert scene.is_back()
    assert scene.chat_is_back(chat(agent) == before and agent.get_state(CONFIG).next == ())


def test_an_interrupted_call_goes_on_in_its_turn(scene: Scene) -> None:
    """The call that a resume runs again, under the same id, is protected in the same turn."""
    from langchain_core.tools import tool
    from langgraph.types import Command, interrupt

    @tool
    def write_file(path: str, text: str) -> str:
        """Write after approval."""
        scene.write(path, "half")
        interrupt({"ask": path})
        return scene.write(path, text)

    agent = make_agent(scene, [calls(write("a.txt")), said("1")], tools=[write_file])
    ask(agent, "one")
    assert scene.files["a.txt"] == b"half"
    agent.invoke(Command(resume="yes"), CONFIG)
    assert scene.files["a.txt"] == b"written"
    assert len({(c.turn_id, c.call_id) for c in scene.calls}) == 1
    assert len(scene.calls) == 2
    undo(scene, agent)
    assert scene.is_back()
    assert scene.chat_is_back(chat(agent) == [])


@pytest.mark.filterwarnings("ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning")
def test_the_persistent_shell_is_followed_where_it_goes(scene: Scene) -> None:
    """A failed command is recorded, and a relative name counts where an earlier `cd` has led."""
    from langchain.agents.middleware import ShellToolMiddleware

    script = [
        calls(shell("rm notes.txt; (exit 3)")),
        calls(shell("cd src")),
        calls(shell("rm app.py")),
        said("1"),
    ]
    middleware = ShellToolMiddleware(workspace_root=str(scene.root), tool_name="my_shell")
    agent = make_agent(scene, script, more=[middleware])
    ask(agent, "one")
    assert scene.files.keys() == {"pyproject.toml", "data.bin"}
    assert scene.written == {"notes.txt", "src/app.py"}
    undo(scene, agent)
    assert scene.is_back()


def test_the_file_management_toolkit_is_known(scene: Scene) -> None:
    """The toolkit's tools are protected where their `root_dir` is."""
    toolkits = pytest.importorskip(
        "langchain_community.agent_toolkits", reason="langchain-community is not installed"
    )
    tools = toolkits.FileManagementToolkit(root_dir=str(scene.root / "src")).get_tools()
    move = {"name": "move_file", "args": {"source_path": "app.py", "destination_path": "b.py"}}
    remove = {"name": "file_delete", "args": {"file_path": "b.py"}}
    script = [calls(write("app.py", "file_path")), calls(move), calls(remove), said("1")]
    agent = make_agent(scene, script, tools=tools)
    ask(agent, "one")
    assert "src/app.py" not in scene.files
    assert {"src/app.py", "src/b.py"} <= scene.written
    undo(scene, agent)
    assert scene.is_back()


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_bare_tool_node_is_protected_by_the_same_methods(scene: Scene, way: str) -> None:
    """`ToolNode` takes the middleware's methods; an error it handles is recorded all the same."""
    graph = make_graph(scene, [calls(write("a.txt"), write("boom")), said("1")])
    if way == "sync":
        graph.invoke(message("one"), CONFIG)
    else:
        asyncio.run(graph.ainvoke(message("one"), CONFIG))
    assert {"a.txt", "boom"} <= scene.written
    undo(scene, graph)
    assert scene.is_back()
    assert scene.chat_is_back(chat(graph) == [])


def test_a_state_has_all_its_channels_back(scene: Scene) -> None:
    """What tools keep in the thread beside the messages goes back with them."""
    from langchain.agents import AgentState
    from langchain_core.messages import ToolMessage
    from langchain_core.tools import tool
    from langgraph.types import Command

    class Counting(AgentState):
        done: int

    @tool
    def write_file(path: str, text: str) -> Any:
        """Write, and count."""
        scene.write(path, text)
        told = ToolMessage("ok", tool_call_id=path)
        return Command(update={"done": len(scene.calls), "messages": [told]})

    script = [
        calls({**write("a.txt"), "id": "a.txt"}),
        said("1"),
        calls({**write("b.txt"), "id": "b.txt"}),
        said("2"),
    ]
    agent = make_agent(scene, script, tools=[write_file], state_schema=Counting)
    ask(agent, "one")
    ask(agent, "two")
    assert agent.get_state(CONFIG).values["done"] == 2
    undo(scene, agent)
    assert scene.chat_is_back(agent.get_state(CONFIG).values["done"] == 1)


def test_tools_that_act_in_a_sandbox_leave_this_machine_alone(scene: Scene) -> None:
    """For a sandbox no host file is read and no checkpoint taken."""
    from hermes_checkpoints.integrations.langchain import CheckpointMiddleware
    from langchain.agents import create_agent

    protect = CheckpointMiddleware(scene.manager, environment="docker")
    model = scripted([calls(write("notes.txt")), said("1")])
    create_agent(model, [writer(scene)], middleware=[protect]).invoke(message("one"))
    assert scene.files["notes.txt"] == b"written"
    assert not scene.checkpoints


def test_a_call_that_is_not_protected_is_not_run(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `on_failure: block` the typed error leaves the run, and the tool has not run."""
    monkeypatch.setattr(scene.manager, "guard", refuse)
    with pytest.raises(hc.NotProtected):
        ask(make_agent(scene, [calls(write("notes.txt")), said("1")]), "one")
    assert scene.files == FILES


def test_a_host_that_opens_a_turn_has_the_say(scene: Scene) -> None:
    """Inside `manager.turn` the calls belong to the host's session and turn."""
    agent = make_agent(scene, [calls(write("a.txt")), said("1")])
    with scene.manager.turn("message-7", session_id="chat-3"):
        ask(agent, "one")
    newest = scene.checkpoints[0]
    assert (newest.session, newest.turn) == ("chat-3", "message-7")


def test_the_example_runs(run_example: Callable[[str], str]) -> None:
    """The example wrecks a project and has all of it back."""
    assert "files back: True, chat back: True" in run_example("langchain_agent.py")


# --------------------------------------------------------------------------- an agent's parts

CONFIG: Any = {"configurable": {"thread_id": "thread"}}


def make_agent(
    scene: Scene, script: list[Any], *, tools: Any = None, more: Any = (), **options: Any
) -> Any:
    from hermes_checkpoints.integrations.langchain import CheckpointMiddleware
    from langchain.agents import create_agent
    from langgraph.checkpoint.memory import InMemorySaver

    return create_agent(
        scripted(script),
        tools=[writer(scene)] if tools is None else tools,
        middleware=[*more, CheckpointMiddleware(scene.manager)],
        checkpointer=InMemorySaver(),
        **options,
    )


def make_graph(scene: Scene, script: list[Any]) -> Any:
    from hermes_checkpoints.integrations.langchain import CheckpointMiddleware
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    protect = CheckpointMiddleware(scene.manager)
    replies = iter(script)
    node = ToolNode(
        [writer(scene)],
        handle_tool_errors=True,
        wrap_tool_call=protect.wrap_tool_call,
        awrap_tool_call=protect.awrap_tool_call,
    )
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [next(replies)]})
    graph.add_node("tools", node)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition, ["tools", END])
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=InMemorySaver())


def scripted(script: list[Any]) -> Any:
    from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel

    class Scripted(FakeMessagesListChatModel):
        def bind_tools(self, tools: Any, **options: Any) -> Any:
            return self

    return Scripted(responses=script)


def writer(scene: Scene) -> Any:
    from langchain_core.tools import tool

    @tool
    def write_file(path: str, text: str) -> str:
        """Write a file."""
        return scene.write(path, text)

    return write_file


def said(text: str) -> Any:
    from langchain_core.messages import AIMessage

    return AIMessage(text)


def calls(*tool_calls: dict[str, Any]) -> Any:
    from langchain_core.messages import AIMessage

    numbered = [{"id": f"c{n}", **call} for n, call in enumerate(tool_calls)]
    return AIMessage("", tool_calls=numbered)


def write(path: str, argument: str = "path") -> dict[str, Any]:
    return {"name": "write_file", "args": {argument: path, "text": "written"}}


def shell(command: str) -> dict[str, Any]:
    return {"name": "my_shell", "args": {"command": command}}


def message(text: str) -> Any:
    return {"messages": [("user", text)]}


def ask(agent: Any, text: str) -> None:
    agent.invoke(message(text), CONFIG)


def chat(agent: Any) -> list[Any]:
    return [(m.type, m.content) for m in agent.get_state(CONFIG).values.get("messages", [])]


def last_human(agent: Any) -> str:
    messages = agent.get_state(CONFIG).values["messages"]
    return str([m.id for m in messages if m.type == "human"][-1])


def undo(scene: Scene, agent: Any, text: str = "/rollback 1") -> int:
    """Roll files and chat back, as a host does; returns how many turns went."""
    from hermes_checkpoints.integrations.langchain import drop_turns

    reply: hc.Reply = scene.rollback(text, session="thread")
    drop_turns(agent, CONFIG, reply.drop_turns)
    return reply.drop_turns
