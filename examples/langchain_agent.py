"""A LangChain agent wrecks a project; `/rollback` brings the files and the chat back.

    pip install 'hermes-checkpoints[langchain]'
    python examples/langchain_agent.py

The model is scripted: no network, no key. Exits with 1 if a byte or a message is not as it was.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hermes_checkpoints.integrations.langchain import CheckpointMiddleware, drop_turns
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
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
    call("write_file", path="src/app.py", text="# rewritten\n"),
    call("terminal", command="rm notes.txt; echo junk > junk.txt; exit 3"),
    AIMessage("Done."),
]


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
        def terminal(command: str) -> str:
            """Run a command."""
            done = subprocess.run(command, shell=True, cwd=root, capture_output=True, text=True)
            return f"exit code {done.returncode}\n{done.stdout}{done.stderr}"

        manager = hc.CheckpointManager(hc.Config(base=Path(scratch, "checkpoints")), cwd=root)
        agent = create_agent(
            ScriptedModel(responses=SCRIPT),
            [write_file, terminal],
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
