"""CrewAI: the hooks under a real crew with a scripted model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.frameworks.conftest import FILES, Scene

pytestmark = [
    pytest.mark.framework,
    # of CrewAI itself and of what it brings along
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(autouse=True)
def _framework(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("CREWAI_DISABLE_TELEMETRY", "OTEL_SDK_DISABLED"):
        monkeypatch.setenv(name, "true")
    monkeypatch.setenv("CREWAI_TRACING_ENABLED", "false")
    monkeypatch.setenv("CREWAI_STORAGE_DIR", str(tmp_path / "crewai"))
    pytest.importorskip("crewai", reason="CrewAI is not installed")


@pytest.mark.parametrize("way", ["kickoff", "kickoff_async", "akickoff"])
def test_what_a_crew_did_to_files_is_taken_back(scene: Scene, way: str) -> None:
    """The calls of a crew, one of which fails, are one turn."""
    from hermes_checkpoints.integrations.crewai import checkpoints

    crew = make_crew(scene, [write("notes.txt"), write("c.txt")], [write("boom")], "done")
    with checkpoints(scene.manager, turn_id="kickoff-1"):
        if way == "kickoff":
            crew.kickoff()
        else:
            asyncio.run(getattr(crew, way)())
    assert {"notes.txt", "c.txt", "boom"} <= set(scene.files)
    assert scene.written == {"notes.txt", "c.txt", "boom"}
    assert [c.turn for c in scene.checkpoints] == ["kickoff-1"]
    scene.rollback()
    assert scene.is_back()


def test_each_kickoff_is_a_turn_and_nothing_is_hooked_outside(scene: Scene) -> None:
    """Two crews after each other have a checkpoint each; a third without the `with` has none."""
    from hermes_checkpoints.integrations.crewai import checkpoints

    for path in ("a.txt", "b.txt"):
        with checkpoints(scene.manager):
            make_crew(scene, [write(path)], "done").kickoff()
    before = {name: data for name, data in scene.files.items() if name != "b.txt"}
    make_crew(scene, [write("d.txt")], "done").kickoff()
    assert len(scene.calls) == len(scene.checkpoints) == 2
    scene.rollback()
    assert scene.is_back({**before, "d.txt": b"written"})


def test_a_blocked_call_does_not_run(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `on_failure: block`, what cannot be protected is stopped, though CrewAI fails open."""
    from hermes_checkpoints.integrations.crewai import checkpoints

    import hermes_checkpoints as hc

    def refuse(call: hc.ToolCall) -> Any:
        raise hc.NotProtected("no")

    monkeypatch.setattr(scene.manager, "guard", refuse)
    with checkpoints(scene.manager):
        make_crew(scene, [write("notes.txt")], "done").kickoff()
    assert scene.files["notes.txt"] == FILES["notes.txt"]


def test_the_example_runs(run_example: Callable[[str], str]) -> None:
    """The example wrecks a project and has all of it back."""
    assert "files back: True" in run_example("crewai_agent.py")


# --------------------------------------------------------------------------- a crew's parts


def make_crew(scene: Scene, *script: Any) -> Any:
    from crewai import Agent, BaseLLM, Crew, Task
    from crewai.tools import tool

    class Scripted(BaseLLM):
        steps: list[Any] = []  # noqa: RUF012 - a pydantic field

        def call(self, *args: Any, **options: Any) -> Any:
            reply = self.steps.pop(0)
            if isinstance(reply, str):
                return f"Final Answer: {reply}"
            return [
                {
                    "id": f"c{number}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)},
                }
                for number, (name, arguments) in enumerate(reply)
            ]

        async def acall(self, *args: Any, **options: Any) -> Any:
            return self.call()

        def supports_function_calling(self) -> bool:
            return True

        def supports_stop_words(self) -> bool:
            return False

        def get_context_window_size(self) -> int:
            return 100_000

    @tool("write_file")
    def write_file(path: str, text: str) -> str:
        """Write a file."""
        return scene.write(path, text)

    agent = Agent(
        role="coder",
        goal="x",
        backstory="x",
        llm=Scripted(model="scripted", steps=list(script)),
        tools=[write_file],
    )
    task = Task(description="x", expected_output="x", agent=agent)
    return Crew(agents=[agent], tasks=[task], cache=False)


def write(path: str) -> Any:
    return "write_file", {"path": path, "text": "written"}
