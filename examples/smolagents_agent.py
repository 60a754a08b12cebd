"""A smolagents agent wrecks a project; `/rollback` brings the files and its memory back.

    pip install 'hermes-checkpoints[smolagents]'
    python examples/smolagents_agent.py

The model is scripted: no network, no key. Exits with 1 if a byte or a step is not as it was.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hermes_checkpoints.integrations.smolagents import drop_turns, guard_agent
from smolagents import CodeAgent, Model, tool
from smolagents.models import ChatMessage, MessageRole
from smolagents.monitoring import LogLevel

import hermes_checkpoints as hc

WRECK = """
import os
write_file("src/app.py", "# rewritten")
os.remove(notes)
os.makedirs(junk)
"""
SCRIPT = ["final_answer('Hello.')", WRECK, "final_answer('Done.')"]


class ScriptedModel(Model):
    """Says what it was told to say."""

    def generate(self, *args: Any, **options: Any) -> Any:
        text = f"Thought: as told.\n<code>\n{SCRIPT.pop(0)}\n</code>"
        return ChatMessage(role=MessageRole.ASSISTANT, content=text)


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch, "project")
        (root / "src").mkdir(parents=True)
        (root / "pyproject.toml").write_text("[project]\nname = 'scratch'\n")
        (root / "src/app.py").write_text("print('hello')\n")
        (root / "notes.txt").write_bytes(b"written by hand\r\n")

        @tool
        def write_file(path: str, text: str) -> str:
            """Write a file.

            Args:
                path: where
                text: what
            """
            (root / path).write_text(text)
            return "ok"

        manager = hc.CheckpointManager(hc.Config(base=Path(scratch, "checkpoints")), cwd=root)
        agent = CodeAgent(
            tools=[write_file],
            model=ScriptedModel(model_id="scripted"),
            additional_authorized_imports=["os", "posix"],  # so that code writes without a tool
            verbosity_level=LogLevel.OFF,
        )
        guard_agent(agent, manager)
        names = {"notes": str(root / "notes.txt"), "junk": str(root / "junk")}
        agent.run("Hi.", additional_args=names)
        files, steps = contents(root), list(agent.memory.steps)

        agent.run("Tidy up.", reset=False)
        print("after the agent:", sorted(contents(root)))

        reply = hc.RollbackCommand(manager).run("/rollback 1", cwd=root)
        drop_turns(agent, reply.drop_turns)
        print(reply.text)
        manager.close()

        files_back, chat_back = contents(root) == files, agent.memory.steps == steps
        print(f"files back: {files_back}, chat back: {chat_back}")
        return 0 if reply.ok and files_back and chat_back else 1


def contents(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


if __name__ == "__main__":
    sys.exit(main())
