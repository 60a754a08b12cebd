"""A pydantic-ai agent wrecks a project; `/rollback` brings the files and the chat back.

    pip install 'hermes-checkpoints[pydantic-ai]'
    python examples/pydantic_ai_agent.py

The model is scripted: no network, no key. Exits with 1 if a byte or a message is not as it was.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hermes_checkpoints.integrations.pydantic_ai import CheckpointCapability, drop_turns
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

import hermes_checkpoints as hc


def call(tool: str, **arguments: Any) -> ToolCallPart:
    return ToolCallPart(tool, arguments, tool_call_id=f"call-{tool}")


SCRIPT = [
    [TextPart("Hello.")],
    [
        call("write_file", path="src/app.py", text="# rewritten\n"),
        call("terminal", command="rm notes.txt; echo junk > junk.txt; exit 3"),
    ],
    [TextPart("Done.")],
]


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch, "project")
        (root / "src").mkdir(parents=True)
        (root / "pyproject.toml").write_text("[project]\nname = 'scratch'\n")
        (root / "src/app.py").write_text("print('hello')\n")
        (root / "notes.txt").write_bytes(b"written by hand\r\n")

        manager = hc.CheckpointManager(hc.Config(base=Path(scratch, "checkpoints")), cwd=root)
        replies = iter(SCRIPT)
        agent = Agent(
            FunctionModel(lambda messages, info: ModelResponse(parts=list(next(replies)))),
            capabilities=[CheckpointCapability(manager)],
        )

        @agent.tool_plain
        def write_file(path: str, text: str) -> str:
            """Write a file."""
            (root / path).write_text(text)
            return "ok"

        @agent.tool_plain
        def terminal(command: str) -> str:
            """Run a command."""
            done = subprocess.run(command, shell=True, cwd=root, capture_output=True, text=True)
            return f"exit code {done.returncode}\n{done.stdout}{done.stderr}"

        chat = agent.run_sync("Hi.").all_messages()
        files = contents(root)

        result = agent.run_sync("Tidy up.", message_history=chat)
        print("after the agent:", sorted(contents(root)))

        command = hc.RollbackCommand(manager)
        reply = command.run("/rollback 1", cwd=root, session_id=result.conversation_id)
        history = drop_turns(result.all_messages(), reply.drop_turns)
        print(reply.text)
        manager.close()

        files_back = contents(root) == files
        chat_back = history == chat
        print(f"files back: {files_back}, chat back: {chat_back}")
        return 0 if reply.ok and files_back and chat_back else 1


def contents(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


if __name__ == "__main__":
    sys.exit(main())
