"""Agno: the hooks under a real agent with a scripted model."""

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
    pytest.importorskip("agno", reason="Agno is not installed")


@pytest.mark.parametrize("way", ["sync", "async", "stream"])
def test_a_run_of_several_calls_is_taken_back_with_its_session(scene: Scene, way: str) -> None:
    """The calls of a run, one of which fails, are one turn; files and session go back."""
    agent = make_agent(scene, "0", [write("notes.txt"), write("boom")], "1", "2")
    ask(agent, "zero", way)
    ask(agent, "one", way)
    assert scene.written == {"notes.txt", "boom"}
    assert [c.session for c in scene.checkpoints] == ["session"]
    assert undo(scene, agent, way=way) == 1
    assert scene.is_back()
    ask(agent, "two", way)
    assert scene.chat_is_back(TOLD[-1] == ["zero", "two"])


def test_turns_are_dropped_as_many_as_the_checkpoint_is_old(scene: Scene) -> None:
    """A rollback over three runs, one of them without any tool, drops all three."""
    agent = make_agent(
        scene, "0", [write("a.txt")], "1", "2", [shell("rm a.txt; exit 3")], "3", "4"
    )
    for text in ("zero", "one", "two", "three"):
        ask(agent, text)
    assert undo(scene, agent, "/rollback 2") == 3
    assert scene.is_back()
    ask(agent, "four")
    assert scene.chat_is_back(TOLD[-1] == ["zero", "four"])


def test_async_and_sync_tools_share_the_hook(scene: Scene) -> None:
    """In an async run both kinds of tools are protected."""

    async def delete_file(path: str) -> str:
        """Remove a file."""
        (scene.root / path).unlink()
        return "gone"

    remove = ("delete_file", {"path": "data.bin"})
    agent = make_agent(scene, [write("a.txt"), remove], "1", more=[delete_file])
    ask(agent, "one", "async")
    assert scene.written == {"a.txt", "data.bin"}
    undo(scene, agent)
    assert scene.is_back()


def test_a_member_of_a_team_writes_in_the_teams_turn(scene: Scene) -> None:
    """What a member writes belongs to the run of the team that asked it."""
    from agno.db.in_memory import InMemoryDb
    from agno.team import Team
    from hermes_checkpoints.integrations.agno import checkpoint_hook, turn_hook

    member = make_agent(scene, [write("src/app.py")], "done", name="coder", db=None)
    delegate = ("delegate_task_to_member", {"member_id": "coder", "task": "x"})
    team = Team(
        members=[member],
        model=scripted([[delegate], "1"]),
        tool_hooks=[checkpoint_hook(scene.manager)],
        pre_hooks=[turn_hook(scene.manager)],
        db=InMemoryDb(),
        session_id="session",
        telemetry=False,
    )
    result = ask(team, "one")
    assert "src/app.py" in scene.written
    assert {(c.session, c.turn) for c in scene.checkpoints} == {("session", result.run_id)}
    assert undo(scene, team) == 1
    assert scene.is_back()
    assert scene.chat_is_back(not team.get_session(session_id="session").runs)


def test_the_example_runs(run_example: Callable[[str], str]) -> None:
    """The example wrecks a project and has all of it back."""
    assert "files back: True, chat back: True" in run_example("agno_agent.py")


# --------------------------------------------------------------------------- an agent's parts


TOLD: list[list[str]] = []  # what the models were shown of the person


def make_agent(scene: Scene, *script: Any, more: Any = (), **options: Any) -> Any:
    from agno.agent import Agent
    from agno.db.in_memory import InMemoryDb
    from hermes_checkpoints.integrations.agno import checkpoint_hook, turn_hook

    def write_file(path: str, text: str) -> str:
        """Write a file."""
        return scene.write(path, text)

    def run_shell_command(command: str) -> str:
        """Run a command."""
        return f"exit code {scene.shell(command)}"

    return Agent(
        model=scripted(list(script)),
        tools=[write_file, run_shell_command, *more],
        tool_hooks=[checkpoint_hook(scene.manager)],
        pre_hooks=[turn_hook(scene.manager)],
        session_id="session",
        add_history_to_context=True,
        telemetry=False,
        **{"db": InMemoryDb(), **options},
    )


def scripted(script: list[Any]) -> Any:
    from agno.models.base import Model
    from agno.models.response import ModelResponse

    class Scripted(Model):
        def reply(self, messages: Any) -> Any:
            TOLD.append([m.content for m in messages if m.role == "user"])
            reply = script.pop(0)
            if isinstance(reply, str):
                return ModelResponse(role="assistant", content=reply)
            calls = [
                {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": text}}
                for n, (name, arguments) in enumerate(reply)
                for text in [json.dumps(arguments)]
            ]
            return ModelResponse(role="assistant", tool_calls=calls)

        def invoke(self, messages: Any, *args: Any, **options: Any) -> Any:
            return self.reply(messages)

        async def ainvoke(self, messages: Any, *args: Any, **options: Any) -> Any:
            return self.reply(messages)

        def invoke_stream(self, messages: Any, *args: Any, **options: Any) -> Any:
            yield self.reply(messages)

        async def ainvoke_stream(self, messages: Any, *args: Any, **options: Any) -> Any:
            yield self.reply(messages)

        def _parse_provider_response(self, response: Any, **options: Any) -> Any:
            return response

        def _parse_provider_response_delta(self, response: Any) -> Any:
            return response

    return Scripted(id="scripted")


def write(path: str) -> Any:
    return "write_file", {"path": path, "text": "written"}


def shell(command: str) -> Any:
    return "run_shell_command", {"command": command}


def ask(agent: Any, text: str, way: str = "sync") -> Any:
    async def stream() -> list[Any]:
        return [event async for event in agent.arun(text, stream=True)]

    if way == "sync":
        return agent.run(text)
    return asyncio.run(agent.arun(text) if way == "async" else stream())


def undo(scene: Scene, agent: Any, text: str = "/rollback 1", way: str = "sync") -> int:
    """Roll files and session back, as a host does; returns how many turns went."""
    from hermes_checkpoints.integrations.agno import adrop_turns, drop_turns

    reply = scene.rollback(text, session="session")
    if way == "sync":
        return drop_turns(agent, "session", reply.drop_turns)
    return asyncio.run(adrop_turns(agent, "session", reply.drop_turns))
