"""Google ADK: the plugin under a real runner with a scripted model."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from tests.frameworks.conftest import FILES, Scene, refuse

pytestmark = [
    pytest.mark.framework,
    pytest.mark.filterwarnings("ignore:deprecated$:DeprecationWarning"),  # within ADK 1
    # AgentTool's own way of starting a runner
    pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated:DeprecationWarning"),
]


@pytest.fixture(autouse=True)
def _framework() -> None:
    pytest.importorskip("google.adk", reason="Google ADK is not installed")


def test_an_invocation_of_parallel_calls_is_taken_back_with_its_events(scene: Scene) -> None:
    """Parallel calls, a failed command among them, are one turn; files and session go back."""

    async def play() -> None:
        app = await App.of(
            scene, [said("0")], [write("notes.txt"), shell("rm src/app.py; exit 3")], [said("1")]
        )
        await app.ask("zero")
        invocation = await app.ask("one")
        assert scene.written == {"notes.txt", "src/app.py"}
        assert [(c.session, c.turn) for c in scene.checkpoints] == [("session", invocation)]
        await app.undo()
        app.script.append([said("2")])
        await app.ask("two")
        assert scene.chat_is_back(app.told[-1] == ["zero", "0", "two"])

    asyncio.run(play())
    assert scene.is_back()


def test_a_second_rollback_rewinds_past_the_first(scene: Scene) -> None:
    """Invocations that were rewound do not count; one without any tool does."""

    async def play() -> None:
        app = await App.of(scene, [said("0")], [write("a.txt")], [said("1")], [write("b.txt")])
        app.script += [[said("2")], [said("3")], [write("d.txt")], [said("4")], [said("5")]]
        for text in ("zero", "one", "two"):
            await app.ask(text)
        await app.undo()
        await app.ask("three")
        await app.ask("four")
        first = scene.checkpoints[-1].id
        assert await app.undo(f"/rollback {first}") == 3
        await app.ask("five")
        assert scene.chat_is_back(app.told[-1] == ["zero", "0", "five"])

    asyncio.run(play())
    assert scene.is_back()


def test_a_tool_that_raises_has_its_damage_recorded(scene: Scene) -> None:
    """The exception leaves the run as ever, and no call stays open."""

    async def play() -> None:
        app = await App.of(scene, [write("boom")])
        with pytest.raises(OSError, match="disk full"):
            await app.ask("one")
        await app.undo()

    asyncio.run(play())
    assert scene.calls
    assert scene.is_back()


def test_the_agent_of_an_agent_tool_writes_in_its_callers_turn(scene: Scene) -> None:
    """It runs in a session and an invocation of its own, and its files go back with the turn."""

    async def play() -> None:
        app = await App.of(scene, [call("inner", request="go")], [said("1")])
        app.inner_script += [[write("src/app.py")], [said("done")]]
        invocation = await app.ask("one")
        assert "src/app.py" in scene.written
        assert {(c.session, c.turn) for c in scene.checkpoints} == {("session", invocation)}
        await app.undo()

    asyncio.run(play())
    assert scene.is_back()


def test_a_call_that_is_not_protected_is_answered_and_not_run(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `on_failure: block` the model is told why, and the run goes on."""
    monkeypatch.setattr(scene.manager, "guard", refuse)

    async def play() -> None:
        app = await App.of(scene, [write("notes.txt")], [said("1")])
        await app.ask("one")
        assert not app.script

    asyncio.run(play())
    assert scene.files["notes.txt"] == FILES["notes.txt"]


def test_the_example_runs(run_example: Callable[[str], str]) -> None:
    """The example wrecks a project and has all of it back."""
    assert "files back: True, chat back: True" in run_example("google_adk_agent.py")


# --------------------------------------------------------------------------- an agent's parts


class App:
    """An ADK app with one session."""

    def __init__(self, scene: Scene, script: list[Any]) -> None:
        self.scene = scene
        self.script = script
        self.inner_script: list[Any] = []
        self.told: list[list[str]] = []

    @classmethod
    async def of(cls, scene: Scene, *script: list[Any]) -> App:
        from google.adk.agents import LlmAgent
        from google.adk.apps.app import App as AdkApp
        from google.adk.runners import Runner
        from google.adk.sessions import InMemorySessionService
        from google.adk.tools.agent_tool import AgentTool
        from hermes_checkpoints.integrations.google_adk import CheckpointPlugin

        app = cls(scene, list(script))

        def write_file(path: str, text: str) -> dict[str, str]:
            """Write a file."""
            return {"status": scene.write(path, text)}

        async def run_shell_command(command: str) -> dict[str, int]:
            """Run a command."""
            return {"exit_code": await asyncio.to_thread(scene.shell, command)}

        inner = LlmAgent(
            name="inner", model=scripted(app.inner_script, []), tools=[write_file], description="x"
        )
        agent = LlmAgent(
            name="main",
            model=scripted(app.script, app.told),
            tools=[write_file, run_shell_command, AgentTool(inner)],
        )
        plugin = CheckpointPlugin(scene.manager)
        adk = AdkApp(name="app", root_agent=agent, plugins=[plugin])
        app.runner = Runner(app=adk, session_service=InMemorySessionService())
        await app.runner.session_service.create_session(
            app_name="app", user_id="user", session_id="session"
        )
        return app

    runner: Any

    async def ask(self, text: str) -> str:
        from google.genai import types

        message = types.Content(role="user", parts=[said(text)])
        invocation = ""
        async with contextlib.aclosing(
            self.runner.run_async(user_id="user", session_id="session", new_message=message)
        ) as events:
            async for event in events:
                invocation = event.invocation_id
        return invocation

    async def undo(self, text: str = "/rollback 1") -> int:
        """Roll files and session back, as a host does; returns how many turns went."""
        from hermes_checkpoints.integrations.google_adk import drop_turns

        reply = self.scene.rollback(text, session="session")
        assert await drop_turns(self.runner, "user", "session", reply.drop_turns)
        return reply.drop_turns


def scripted(script: list[Any], told: list[list[str]]) -> Any:
    from google.adk.models import BaseLlm, LlmResponse
    from google.genai import types

    class Scripted(BaseLlm):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            told.append([p.text for c in llm_request.contents for p in c.parts if p.text])
            yield LlmResponse(content=types.Content(role="model", parts=script.pop(0)))

    return Scripted(model="scripted")


def said(text: str) -> Any:
    from google.genai import types

    return types.Part(text=text)


def call(tool: str, **arguments: Any) -> Any:
    from google.genai import types

    return types.Part(function_call=types.FunctionCall(name=tool, args=arguments))


def write(path: str) -> Any:
    return call("write_file", path=path, text="written")


def shell(command: str) -> Any:
    return call("run_shell_command", command=command)
