"""Claude Code deletes a file with Bash, which its own rewind does not undo, and gets it back.

    pip install hermes-checkpoints claude-agent-sdk     # the latter only for its bundled CLI
    python examples/claude_code/session.py

The real command-line program runs against a scripted API on this machine, in a scratch home.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from scripted_api import Block, ScriptedApi, text, tool


def main() -> None:
    claude = find_claude()
    if claude is None:
        sys.exit("no Claude Code: pip install claude-agent-sdk, or put `claude` on the PATH")
    with tempfile.TemporaryDirectory() as scratch, ScriptedApi(script) as api:
        home, project = Path(scratch, "home"), Path(scratch, "project")
        home.mkdir()
        (project / ".git").mkdir(parents=True)
        (project / "thesis.txt").write_text("three years of work\n")
        environment = scratch_environment(home, api.url)

        checkpoints("install claude-code --yes", project, environment)
        ask(claude, "tidy up", project, environment)
        print("after the turn: ", sorted(p.name for p in project.glob("*.txt")))

        print(checkpoints("log", project, environment))
        print(checkpoints("restore 1", project, environment))
        print("after restoring:", sorted(p.name for p in project.glob("*.txt")))
        assert (project / "thesis.txt").read_text() == "three years of work\n"


def script(messages: list[dict[str, Any]]) -> list[Block]:
    """The model: it tidies up once, and is content."""
    if "tool_result" in str(messages[-1]):
        return [text("All tidy.")]
    return [tool("Bash", "toolu_1", command="rm thesis.txt", description="tidy up")]


def find_claude() -> str | None:
    """The program that the SDK brings along, or the one on the PATH."""
    spec = importlib.util.find_spec("claude_agent_sdk")
    for place in (spec.submodule_search_locations or []) if spec else []:
        bundled = Path(place, "_bundled", "claude")
        if bundled.exists():
            return str(bundled)
    return shutil.which("claude")


def scratch_environment(home: Path, url: str) -> dict[str, str]:
    """An environment in which Claude Code knows nobody and calls nobody but us."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("CLAUDE", "ANTHROPIC"))}
    return {
        **kept,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', os.defpath)}",
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "scripted",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
    }


def ask(claude: str, prompt: str, project: Path, environment: dict[str, str]) -> str:
    """One turn of a session that ends with it."""
    words = [claude, "-p", prompt, "--allowedTools", "Bash", "Write", "Edit"]
    return _output(words, project, environment)


def checkpoints(command: str, project: Path, environment: dict[str, str]) -> str:
    """What a person types at a shell."""
    words = ["-c", "import sys; from hermes_checkpoints.cli import main; sys.exit(main())"]
    return _output([sys.executable, *words, *command.split()], project, environment)


def _output(words: list[str], project: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        words,
        cwd=project,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout


if __name__ == "__main__":
    main()
