"""A Microsoft agent-framework agent wrecks a project; `/rollback` brings files and chat back.

    pip install 'hermes-checkpoints[agent-framework]'
    python examples/agent_framework_agent.py

The client is scripted: no network, no key. Exits with 1 if a byte or a message is not as it was.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
    tool,
)
from hermes_checkpoints.integrations.agent_framework import checkpoint_middleware, drop_turns

import hermes_checkpoints as hc


def call(name: str, **arguments: str) -> Content:
    return Content.from_function_call(call_id=name, name=name, arguments=json.dumps(arguments))


SCRIPT = [
    [Content.from_text("Hello.")],
    [
        call("write_file", path="src/app.py", text="# rewritten\n"),
        call("terminal", command="rm notes.txt; echo junk > junk.txt; exit 3"),
    ],
    [Content.from_text("Done.")],
]


class ScriptedClient(FunctionInvocationLayer, BaseChatClient):
    """Says what it was told to say."""

    def _inner_get_response(self, **options: Any) -> Any:
        async def respond() -> ChatResponse:
            return ChatResponse(messages=[Message(role="assistant", contents=SCRIPT.pop(0))])

        return respond()


async def play(scratch: str) -> int:
    root = Path(scratch, "project")
    (root / "src").mkdir(parents=True)
    (root / "pyproject.toml").write_text("[project]\nname = 'scratch'\n")
    (root / "src/app.py").write_text("print('hello')\n")
    (root / "notes.txt").write_bytes(b"written by hand\r\n")

    @tool(approval_mode="never_require")
    def write_file(path: str, text: str) -> str:
        """Write a file."""
        (root / path).write_text(text)
        return "ok"

    @tool(approval_mode="never_require")
    def terminal(command: str) -> str:
        """Run a command."""
        return f"exit code {subprocess.run(command, shell=True, cwd=root).returncode}"

    manager = hc.CheckpointManager(hc.Config(base=Path(scratch, "checkpoints")), cwd=root)
    agent = Agent(
        client=ScriptedClient(),
        tools=[write_file, terminal],
        middleware=checkpoint_middleware(manager),
    )
    session = agent.create_session()

    def chat() -> list[Any]:
        return [(m.role, m.text) for s in session.state.values() for m in s.get("messages", [])]

    await agent.run("Hi.", session=session)
    files, said = contents(root), chat()

    await agent.run("Tidy up.", session=session)
    print("after the agent:", sorted(contents(root)))

    command = hc.RollbackCommand(manager)
    reply = command.run("/rollback 1", cwd=root, session_id=session.session_id)
    drop_turns(session, reply.drop_turns)
    print(reply.text)
    manager.close()

    files_back, chat_back = contents(root) == files, chat() == said
    print(f"files back: {files_back}, chat back: {chat_back}")
    return 0 if reply.ok and files_back and chat_back else 1


def contents(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        sys.exit(asyncio.run(play(directory)))
