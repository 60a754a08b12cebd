"""A Google ADK agent wrecks a project; `/rollback` brings the files and the session back.

    pip install 'hermes-checkpoints[adk]'
    python examples/google_adk_agent.py

The model is scripted: no network, no key. Exits with 1 if a byte or a message is not as it was.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps.app import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types
from hermes_checkpoints.integrations.google_adk import CheckpointPlugin, drop_turns

import hermes_checkpoints as hc


def say(text: str) -> types.Part:
    return types.Part(text=text)


def call(tool: str, **arguments: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(name=tool, args=arguments))


SCRIPT = [
    [say("Hello.")],
    [
        call("write_file", path="src/app.py", text="# rewritten\n"),
        call("terminal", command="rm notes.txt; echo junk > junk.txt; exit 3"),
    ],
    [say("Done.")],
    [say("Hello again.")],
]
TOLD: list[list[str]] = []


class ScriptedModel(BaseLlm):
    """Says what it was told to say, and notes what it was shown."""

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        TOLD.append([p.text for c in llm_request.contents for p in c.parts if p.text])
        yield LlmResponse(content=types.Content(role="model", parts=SCRIPT[len(TOLD) - 1]))


async def play(scratch: str) -> int:
    root = Path(scratch, "project")
    (root / "src").mkdir(parents=True)
    (root / "pyproject.toml").write_text("[project]\nname = 'scratch'\n")
    (root / "src/app.py").write_text("print('hello')\n")
    (root / "notes.txt").write_bytes(b"written by hand\r\n")

    def write_file(path: str, text: str) -> dict[str, str]:
        """Write a file."""
        (root / path).write_text(text)
        return {"status": "ok"}

    def terminal(command: str) -> dict[str, int]:
        """Run a command."""
        return {"exit_code": subprocess.run(command, shell=True, cwd=root).returncode}

    manager = hc.CheckpointManager(hc.Config(base=Path(scratch, "checkpoints")), cwd=root)
    agent = LlmAgent(name="main", model=ScriptedModel(model="x"), tools=[write_file, terminal])
    app = App(name="app", root_agent=agent, plugins=[CheckpointPlugin(manager)])
    sessions = InMemorySessionService()
    runner = Runner(app=app, session_service=sessions)
    await sessions.create_session(app_name="app", user_id="user", session_id="session-1")

    async def ask(text: str) -> None:
        message = types.Content(role="user", parts=[say(text)])
        async for _ in runner.run_async(
            user_id="user", session_id="session-1", new_message=message
        ):
            pass

    await ask("Hi.")
    files = contents(root)

    await ask("Tidy up.")
    print("after the agent:", sorted(contents(root)))

    reply = hc.RollbackCommand(manager).run("/rollback 1", cwd=root, session_id="session-1")
    await drop_turns(runner, "user", "session-1", reply.drop_turns)
    print(reply.text)
    manager.close()

    files_back = contents(root) == files
    await ask("Hi again.")
    chat_back = TOLD[-1] == ["Hi.", "Hello.", "Hi again."]  # "Tidy up." is not shown to the model
    print(f"files back: {files_back}, chat back: {chat_back}")
    return 0 if reply.ok and files_back and chat_back else 1


def contents(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        sys.exit(asyncio.run(play(directory)))
