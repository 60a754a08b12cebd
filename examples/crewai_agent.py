"""A crew of CrewAI wrecks a project; `/rollback` brings the files back.

    pip install 'hermes-checkpoints[crewai]'
    python examples/crewai_agent.py

The model is scripted: no network, no key. Exits with 1 if a byte is not as it was.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SCRATCH = tempfile.TemporaryDirectory()
os.environ.update(  # before CrewAI is imported: no telemetry, nothing in the home directory
    CREWAI_DISABLE_TELEMETRY="true",
    CREWAI_TRACING_ENABLED="false",
    OTEL_SDK_DISABLED="true",
    CREWAI_STORAGE_DIR=str(Path(SCRATCH.name, "crewai")),
)

from crewai import Agent, BaseLLM, Crew, Task  # noqa: E402
from crewai.tools import tool  # noqa: E402
from hermes_checkpoints.integrations.crewai import checkpoints  # noqa: E402

import hermes_checkpoints as hc  # noqa: E402

REWRITE = ("write_file", {"path": "src/app.py", "text": "# rewritten\n"})
WRECK = ("terminal", {"command": "rm notes.txt; echo junk > junk.txt; exit 3"})
SCRIPT: list[Any] = [[REWRITE], [WRECK], "Final Answer: done"]


class ScriptedModel(BaseLLM):
    """Says what it was told to say."""

    def call(self, *args: Any, **options: Any) -> Any:
        reply = SCRIPT.pop(0)
        if isinstance(reply, str):
            return reply
        return [
            {
                "id": name,
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for name, arguments in reply
        ]

    def supports_function_calling(self) -> bool:
        return True

    def supports_stop_words(self) -> bool:
        return False

    def get_context_window_size(self) -> int:
        return 100_000


def main(scratch: str) -> int:
    root = Path(scratch, "project")
    (root / "src").mkdir(parents=True)
    (root / "pyproject.toml").write_text("[project]\nname = 'scratch'\n")
    (root / "src/app.py").write_text("print('hello')\n")
    (root / "notes.txt").write_bytes(b"written by hand\r\n")
    files = contents(root)

    @tool("write_file")
    def write_file(path: str, text: str) -> str:
        """Write a file."""
        (root / path).write_text(text)
        return "ok"

    @tool("terminal")
    def terminal(command: str) -> str:
        """Run a command."""
        return f"exit code {subprocess.run(command, shell=True, cwd=root).returncode}"

    manager = hc.CheckpointManager(hc.Config(base=Path(scratch, "checkpoints")), cwd=root)
    model = ScriptedModel(model="scripted")
    coder = Agent(
        role="coder", goal="tidy", backstory="none", llm=model, tools=[write_file, terminal]
    )
    task = Task(description="Tidy up.", expected_output="a word", agent=coder)
    with checkpoints(manager):
        Crew(agents=[coder], tasks=[task]).kickoff()
    print("after the crew:", sorted(contents(root)))

    reply = hc.RollbackCommand(manager).run("/rollback 1", cwd=root)
    print(reply.text)
    manager.close()

    files_back = contents(root) == files
    print(f"files back: {files_back}")
    return 0 if reply.ok and files_back else 1


def contents(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


if __name__ == "__main__":
    with SCRATCH as directory:
        sys.exit(main(directory))
