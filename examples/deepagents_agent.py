"""A deep agent's sub-agent wrecks a project; `/rollback` brings the files and the chat back.

    pip install 'hermes-checkpoints[deepagents]'
    python examples/deepagents_agent.py

The model is scripted: no network, no key. Exits with 1 if a byte or a message is not as it was.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import LocalShellBackend
from hermes_checkpoints.integrations.deepagents import (
    CheckpointMiddleware,
    drop_turns,
    guard_backend,
)
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

import hermes_checkpoints as hc


class ScriptedModel(FakeMessagesListChatModel):
    """Says what it was told to say, whatever tools it has."""

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self


def call(name: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{name}"}])


SCRIPT = [
    AIMessage("Hello."),
    call("write_file", file_path="/src/new.py", content="# new\n"),
    call("task", description="Clean up.", subagent_type="general-purpose"),
    call("execute", command="rm notes.txt; echo junk > src/app.py; exit 3"),  # the sub-agent
    AIMessage("Cleaned up."),
    AIMessage("Done."),
]


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch, "project")
        (root / "src").mkdir(parents=True)
        (root / "pyproject.toml").write_text("[project]\nname = 'scratch'\n")
        (root / "src/app.py").write_text("print('hello')\n")
        (root / "notes.txt").write_bytes(b"written by hand\r\n")

        manager = hc.CheckpointManager(hc.Config(base=Path(scratch, "checkpoints")), cwd=root)
        shell = LocalShellBackend(root, virtual_mode=True, env={"PATH": os.environ["PATH"]})
        agent = create_deep_agent(
            ScriptedModel(responses=SCRIPT),
            backend=guard_backend(shell, manager),
            middleware=[CheckpointMiddleware(manager)],
            checkpointer=InMemorySaver(),
        )
        config: Any = {"configurable": {"thread_id": "thread-1"}}
        agent.invoke({"messages": [HumanMessage("Hi.")]}, config)
        files, chat = contents(root), agent.get_state(config).values["messages"]

        agent.invoke({"messages": [HumanMessage("Tidy up.")]}, config)
        print("after the agent:", sorted(contents(root)))

        reply = hc.RollbackCommand(manager).run("/rollback 1", cwd=root, session_id="thread-1")
        drop_turns(agent, config, reply.drop_turns)
        print(reply.text)
        manager.close()

        files_back = contents(root) == files
        chat_back = agent.get_state(config).values["messages"] == chat
        print(f"files back: {files_back}, chat back: {chat_back}")
        return 0 if reply.ok and files_back and chat_back else 1


def contents(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


if __name__ == "__main__":
    sys.exit(main())
