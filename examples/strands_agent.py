"""A Strands agent wrecks a project; `/rollback` brings the files and the chat back.

    pip install 'hermes-checkpoints[strands]'
    python examples/strands_agent.py

The model is scripted: no network, no key. Exits with 1 if a byte or a message is not as it was.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hermes_checkpoints.integrations.strands import CheckpointHooks, drop_turns
from strands import Agent, tool
from strands.models import Model

import hermes_checkpoints as hc

REWRITE = ("write_file", {"path": "src/app.py", "text": "# rewritten\n"})
WRECK = ("shell", {"command": "rm notes.txt; echo junk > junk.txt; exit 3"})
SCRIPT: list[Any] = ["Hello.", [REWRITE, WRECK], "Done."]


class ScriptedModel(Model):
    """Says what it was told to say."""

    def __init__(self) -> None:
        self.replies = iter(SCRIPT)

    def update_config(self, **options: Any) -> None: ...

    def get_config(self) -> dict[str, Any]:
        return {}

    async def structured_output(self, *args: Any, **options: Any) -> Any:
        yield {}

    async def stream(self, *args: Any, **options: Any) -> Any:
        reply = next(self.replies)
        yield {"messageStart": {"role": "assistant"}}
        for chunk in text(reply) if isinstance(reply, str) else calls(reply):
            yield chunk
        reason = "end_turn" if isinstance(reply, str) else "tool_use"
        yield {"messageStop": {"stopReason": reason}}


def text(reply: str) -> Iterator[dict[str, Any]]:
    yield {"contentBlockStart": {"start": {}}}
    yield {"contentBlockDelta": {"delta": {"text": reply}}}
    yield {"contentBlockStop": {}}


def calls(reply: list[tuple[str, dict[str, str]]]) -> Iterator[dict[str, Any]]:
    for name, arguments in reply:
        yield {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": name}}}}
        yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(arguments)}}}}
        yield {"contentBlockStop": {}}


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch, "project")
        (root / "src").mkdir(parents=True)
        (root / "pyproject.toml").write_text("[project]\nname = 'scratch'\n")
        (root / "src/app.py").write_text("print('hello')\n")
        (root / "notes.txt").write_bytes(b"written by hand\r\n")

        @tool
        def write_file(path: str, text: str) -> str:
            """Write a file."""
            (root / path).write_text(text)
            return "ok"

        @tool
        def shell(command: str) -> str:
            """Run a command."""
            done = subprocess.run(command, shell=True, cwd=root, capture_output=True, text=True)
            return f"exit code {done.returncode}\n{done.stdout}{done.stderr}"

        manager = hc.CheckpointManager(hc.Config(base=Path(scratch, "checkpoints")), cwd=root)
        agent = Agent(
            model=ScriptedModel(),
            tools=[write_file, shell],
            hooks=[CheckpointHooks(manager)],
            callback_handler=None,
        )
        agent("Hi.")
        files, chat = contents(root), list(agent.messages)

        agent("Tidy up.")
        print("after the agent:", sorted(contents(root)))

        reply = hc.RollbackCommand(manager).run("/rollback 1", cwd=root)
        drop_turns(agent, reply.drop_turns)
        print(reply.text)
        manager.close()

        files_back, chat_back = contents(root) == files, agent.messages == chat
        print(f"files back: {files_back}, chat back: {chat_back}")
        return 0 if reply.ok and files_back and chat_back else 1


def contents(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


if __name__ == "__main__":
    sys.exit(main())
