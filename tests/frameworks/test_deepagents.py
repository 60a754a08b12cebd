"""deepagents: a guarded backend under real agents and sub-agents with a scripted model."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

import pytest

from tests.frameworks.conftest import Scene
from tests.frameworks.test_langchain import CONFIG, ask, calls, chat, message, said, scripted, undo

pytestmark = pytest.mark.framework


@pytest.fixture(autouse=True)
def _framework() -> None:
    pytest.importorskip("deepagents", reason="deepagents is not installed")


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_sub_agents_commands_are_the_turns(scene: Scene, way: str) -> None:
    """Files edited by the agent and by its sub-agent's failed command go back together."""
    agent = make_agent(
        scene,
        [
            said("0"),
            calls(edit("/notes.txt", "by hand", "by an agent")),
            calls({"name": "task", "args": {"description": "x", "subagent_type": GENERAL}}),
            calls({"name": "execute", "args": {"command": "rm src/app.py; echo > new; exit 3"}}),
            said("sub-agent done"),
            said("done"),
        ],
    )
    ask(agent, "zero")
    before = chat(agent)
    if way == "sync":
        ask(agent, "one")
    else:
        asyncio.run(agent.ainvoke(message("one"), CONFIG))
    assert "src/app.py" not in scene.files
    assert scene.written == {"notes.txt", "src/app.py", "new"}
    assert [(c.session, c.turn) for c in scene.checkpoints] == [("thread", scene.calls[0].turn_id)]
    undo(scene, agent)
    assert scene.is_back()
    assert scene.chat_is_back(chat(agent) == before)


def test_the_agents_own_tools_are_protected_beside_the_built_in_ones(scene: Scene) -> None:
    """A tool of the host passes through the middleware, a built-in one through the backend."""
    agent = make_agent(
        scene,
        [
            calls(
                {"name": "patch", "args": {"path": "notes.txt", "text": "x"}},
                {"name": "write_file", "args": {"file_path": "/src/b.py", "content": "b"}},
            ),
            said("1"),
        ],
    )
    ask(agent, "one")
    assert scene.written == {"notes.txt", "src/b.py"}
    undo(scene, agent)
    assert scene.is_back()


def test_parts_of_a_composite_backend_are_guarded_and_state_is_not(scene: Scene) -> None:
    """A route on this disk is protected; one that lives in the graph's state needs nothing."""
    from deepagents.backends import CompositeBackend, FilesystemBackend, StateBackend
    from hermes_checkpoints.integrations.deepagents import guard_backend

    memory = StateBackend()
    source = FilesystemBackend(root_dir=scene.root / "src", virtual_mode=True)
    backend = guard_backend(CompositeBackend(memory, {"/src/": source}), scene.manager)
    assert backend.default is memory
    backend.write("/src/new.py", "x")
    asyncio.run(backend.aedit("/src/app.py", "hello", "goodbye"))
    assert scene.written == {"src/new.py", "src/app.py"}
    scene.rollback()
    assert scene.is_back()


def test_a_backend_nobody_knows_may_change_anything(scene: Scene) -> None:
    """What a backend of the host's own writes is found by looking at the whole project."""
    from deepagents.backends import BackendProtocol
    from hermes_checkpoints.integrations.deepagents import guard_backend

    class Own(BackendProtocol):
        def write(self, file_path: str, content: str) -> Any:
            scene.write(file_path, content)

    guard_backend(Own(), scene.manager).write("src/app.py", "gone")
    assert scene.written == {"src/app.py"}
    scene.rollback()
    assert scene.is_back()


def test_the_example_runs(run_example: Callable[[str], str]) -> None:
    """The example wrecks a project and has all of it back."""
    assert "files back: True, chat back: True" in run_example("deepagents_agent.py")


# --------------------------------------------------------------------------- an agent's parts

GENERAL = "general-purpose"


def make_agent(scene: Scene, script: list[Any]) -> Any:
    from deepagents import create_deep_agent
    from deepagents.backends import LocalShellBackend
    from hermes_checkpoints.integrations.deepagents import CheckpointMiddleware, guard_backend
    from langchain_core.tools import tool
    from langgraph.checkpoint.memory import InMemorySaver

    @tool
    def patch(path: str, text: str) -> str:
        """Patch a file."""
        return scene.write(path, text)

    backend = LocalShellBackend(
        root_dir=scene.root, virtual_mode=True, env={"PATH": os.environ["PATH"]}
    )
    return create_deep_agent(
        scripted(script),
        tools=[patch],
        backend=guard_backend(backend, scene.manager),
        middleware=[CheckpointMiddleware(scene.manager)],
        checkpointer=InMemorySaver(),
    )


def edit(path: str, old: str, new: str) -> dict[str, Any]:
    args = {"file_path": path, "old_string": old, "new_string": new}
    return {"name": "edit_file", "args": args}
