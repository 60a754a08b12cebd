"""An Agno agent wrecks a project; `/rollback` brings the files and the session back.

    pip install 'hermes-checkpoints[agno]'
    python examples/agno_agent.py

The model is scripted: no network, no key. Exits with 1 if a byte or a run is not as it was.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.base import Model
from agno.models.response import ModelResponse
from hermes_checkpoints.integrations.agno import checkpoint_hook, drop_turns, turn_hook

import hermes_checkpoints as hc

REWRITE = ("write_file", {"path": "src/app.py", "text": "# rewritten\n"})
WRECK = ("terminal", {"command": "rm notes.txt; echo junk > junk.txt; exit 3"})
SCRIPT: list[Any] = ["Hello.", [REWRITE, WRECK], "Done."]


class ScriptedModel(Model):
    """Says what it was told to say."""

    def invoke(self, *args: Any, **options: Any) -> Any:
        reply = SCRIPT.pop(0)
        if isinstance(reply, str):
            return ModelResponse(role="assistant", content=reply)
        calls = [
            {
                "id": name,
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for name, arguments in reply
        ]
        return ModelResponse(role="assistant", tool_calls=calls)

    async def ainvoke(self, *args: Any, **options: Any) -> Any:
        return self.invoke()

    def invoke_stream(self, *args: Any, **options: Any) -> Any:
        yield self.invoke()

    async def ainvoke_stream(self, *args: Any, **options: Any) -> Any:
        yield self.invoke()

    def _parse_provider_response(self, response: Any, **options: Any) -> Any:
        return response

    def _parse_provider_response_delta(self, response: Any) -> Any:
        return response


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch, "project")
        (root / "src").mkdir(parents=True)
        (root / "pyproject.toml").write_text("[project]\nname = 'scratch'\n")
        (root / "src/app.py").write_text("print('hello')\n")
        (root / "notes.txt").write_bytes(b"written by hand\r\n")

        def write_file(path: str, text: str) -> str:
            """Write a file."""
            (root / path).write_text(text)
            return "ok"

        def terminal(command: str) -> str:
            """Run a command."""
            done = subprocess.run(command, shell=True, cwd=root, capture_output=True, text=True)
            return f"exit code {done.returncode}\n{done.stdout}{done.stderr}"

        manager = hc.CheckpointManager(hc.Config(base=Path(scratch, "checkpoints")), cwd=root)
        agent = Agent(
            model=ScriptedModel(id="scripted"),
            tools=[write_file, terminal],
            tool_hooks=[checkpoint_hook(manager)],
            pre_hooks=[turn_hook(manager)],
            db=InMemoryDb(),
            session_id="session-1",
            telemetry=False,
        )

        def chat() -> list[str]:
            session: Any = agent.get_session(session_id="session-1")
            return [run.run_id for run in session.runs]

        agent.run("Hi.")
        files, runs = contents(root), chat()

        agent.run("Tidy up.")
        print("after the agent:", sorted(contents(root)))

        reply = hc.RollbackCommand(manager).run("/rollback 1", cwd=root, session_id="session-1")
        drop_turns(agent, "session-1", reply.drop_turns)
        print(reply.text)
        manager.close()

        files_back, chat_back = contents(root) == files, chat() == runs
        print(f"files back: {files_back}, chat back: {chat_back}")
        return 0 if reply.ok and files_back and chat_back else 1


def contents(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


if __name__ == "__main__":
    sys.exit(main())
