"""An agent of the OpenAI Agents SDK wrecks a project; `/rollback` brings files and chat back.

    pip install 'hermes-checkpoints[openai-agents]'
    python examples/openai_agents_agent.py

The model is scripted: no network, no key. Exits with 1 if a byte or an item is not as it was.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from agents import Agent, Runner, ShellTool, SQLiteSession, function_tool, set_tracing_disabled
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.usage import Usage
from hermes_checkpoints.integrations.openai_agents import drop_turns, guard_tools
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from openai.types.responses.response_function_shell_tool_call import (
    Action,
    ResponseFunctionShellToolCall,
)

import hermes_checkpoints as hc


def say(text: str) -> ResponseOutputMessage:
    content: list[Any] = [ResponseOutputText(text=text, type="output_text", annotations=[])]
    return ResponseOutputMessage(
        id="message", type="message", role="assistant", status="completed", content=content
    )


def function_call(tool: str, **arguments: str) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        call_id=tool, type="function_call", name=tool, arguments=json.dumps(arguments)
    )


def shell_call(*commands: str) -> ResponseFunctionShellToolCall:
    action = Action(commands=list(commands), timeout_ms=None, max_output_length=None)
    return ResponseFunctionShellToolCall(
        id="shell-1", call_id="shell-1", type="shell_call", status="completed", action=action
    )


SCRIPT: list[list[Any]] = [
    [say("Hello.")],
    [function_call("write_file", path="src/app.py", text="# rewritten\n")],
    [shell_call("rm notes.txt", "echo junk > junk.txt; exit 3")],
    [say("Done.")],
]


class ScriptedModel(Model):
    """Says what it was told to say."""

    async def get_response(self, *args: Any, **options: Any) -> ModelResponse:
        return ModelResponse(output=SCRIPT.pop(0), usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **options: Any) -> Any:
        raise NotImplementedError


async def play(scratch: str) -> int:
    root = Path(scratch, "project")
    (root / "src").mkdir(parents=True)
    (root / "pyproject.toml").write_text("[project]\nname = 'scratch'\n")
    (root / "src/app.py").write_text("print('hello')\n")
    (root / "notes.txt").write_bytes(b"written by hand\r\n")

    @function_tool
    def write_file(path: str, text: str) -> str:
        """Write a file."""
        (root / path).write_text(text)
        return "ok"

    async def run_commands(request: Any) -> str:
        codes = [
            subprocess.run(command, shell=True, cwd=root).returncode
            for command in request.data.action.commands
        ]
        return f"exit codes {codes}"

    manager = hc.CheckpointManager(hc.Config(base=Path(scratch, "checkpoints")), cwd=root)
    tools: list[Any] = [write_file, ShellTool(executor=run_commands)]
    agent = Agent(name="main", model=ScriptedModel(), tools=guard_tools(tools, manager))
    session = SQLiteSession("session-1")

    async def ask(text: str) -> None:
        with manager.turn(session_id=session.session_id):
            await Runner.run(agent, text, session=session)

    await ask("Hi.")
    files, chat = contents(root), await session.get_items()

    await ask("Tidy up.")
    print("after the agent:", sorted(contents(root)))

    command = hc.RollbackCommand(manager)
    reply = command.run("/rollback 1", cwd=root, session_id=session.session_id)
    await drop_turns(session, reply.drop_turns)
    print(reply.text)
    manager.close()

    files_back = contents(root) == files
    chat_back = await session.get_items() == chat
    print(f"files back: {files_back}, chat back: {chat_back}")
    return 0 if reply.ok and files_back and chat_back else 1


def contents(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


if __name__ == "__main__":
    set_tracing_disabled(True)
    with tempfile.TemporaryDirectory() as directory:
        sys.exit(asyncio.run(play(directory)))
