"""Claude Code: the real command-line program, our hook, and a scripted API on this machine."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import hermes_checkpoints as hc
from tests.frameworks.conftest import FILES

pytestmark = pytest.mark.framework

Block = dict[str, Any]
Reply = list[Block] | Callable[[], list[Block]]
_EXAMPLES = Path(__file__).parents[2] / "examples" / "claude_code"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The example's module, which finds and runs the program."""
    monkeypatch.syspath_prepend(_EXAMPLES)
    yield import_module("session")
    for name in ("session", "scripted_api"):
        sys.modules.pop(name, None)


@dataclass
class Claude:
    """Claude Code in a project, with a script for a model."""

    example: ModuleType
    program: str
    root: Path
    home: Path
    record: Callable[[str, object], None]
    allowed: tuple[str, ...] = ()
    requests: list[dict[str, Any]] = field(default_factory=list)

    def turn(self, prompt: str, *replies: Reply, options: tuple[str, ...] = ()) -> str:
        """One turn; the model says `replies`, one after the other, and then that it is done."""
        left = list(replies)

        def script(messages: list[dict[str, Any]]) -> list[Block]:
            self.requests.append(next(m for m in reversed(messages) if m["role"] == "user"))
            reply = left.pop(0) if left else [{"type": "text", "text": "done"}]
            return reply() if callable(reply) else reply

        with self.example.ScriptedApi(script) as api:
            environment = self.example.scratch_environment(self.home, api.url)
            words = [self.program, "-p", prompt, "--output-format", "json", *options]
            words += ["--allowedTools", "Bash", "Write", "Edit", "Agent", *self.allowed]
            said: str = self.example._output(words, self.root, environment)
        return said

    def checkpoints(self, command: str) -> str:
        """What a person types at a shell."""
        environment = self.example.scratch_environment(self.home, "")
        said: str = self.example.checkpoints(command, self.root, environment)
        return said

    @property
    def files(self) -> dict[str, bytes]:
        found = sorted(p for p in self.root.rglob("*") if p.is_file())
        return {p.relative_to(self.root).as_posix(): p.read_bytes() for p in found}

    def is_back(self) -> bool:
        back = self.files == FILES
        self.record("files", "yes" if back else "NO")
        return back

    @property
    def log(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.checkpoints("log --json"))
        return found

    @property
    def written(self) -> set[str]:
        """The paths that the ledger says the agent wrote."""
        base = self.home / ".hermes" / "checkpoints"
        with hc.CheckpointManager(hc.Config(base=base), cwd=self.root) as manager:
            book = manager.books.of(manager.project(self.root))
            return {entry.path for entry in book.ledger.entries()}


@pytest.fixture
def claude(
    example: ModuleType,
    tmp_path: Path,
    home: Path,
    record_property: Callable[[str, object], None],
) -> Iterator[Claude]:
    program = example.find_claude()
    if program is None:
        pytest.skip("no Claude Code: neither claude-agent-sdk nor `claude` is installed")
    root = tmp_path / "project"
    for name, content in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    found = Claude(example, program, root, home, record_property)
    # The sweep at a session's end runs in a process of its own, which could outlive the test.
    (home / ".hermes").mkdir()
    (home / ".hermes" / "config.yaml").write_text("checkpoints: {auto_prune: false}\n")
    found.checkpoints("install claude-code --yes")
    yield found
    record_property("hooks", len(found.written))


def bash(command: str, call: str = "toolu_1") -> Block:
    arguments = {"command": command, "description": "x"}
    return {"type": "tool_use", "id": call, "name": "Bash", "input": arguments}


def test_what_bash_removed_comes_back(claude: Claude) -> None:
    """A file that `Bash(rm)` lost comes back with `hermes-checkpoints restore`."""
    claude.turn("tidy up", [bash("rm notes.txt data.bin")])
    assert set(claude.files) == set(FILES) - {"notes.txt", "data.bin"}
    assert [c["reason"] for c in claude.log] == ["before terminal: rm notes.txt data.bin"]
    claude.checkpoints("restore 1")
    assert claude.is_back()


def test_a_turn_with_a_write_and_a_failing_command(claude: Claude) -> None:
    """Parallel calls share a checkpoint; a created file, and what a failed command did, go back."""
    new = {"file_path": str(claude.root / "new.txt"), "content": "new"}
    write = {"type": "tool_use", "id": "toolu_2", "name": "Write", "input": new}
    claude.turn("do", [bash("echo more >> notes.txt"), write], [bash("rm data.bin; exit 3", "t3")])
    assert claude.written == {"notes.txt", "new.txt", "data.bin"}
    assert len(claude.log) == 1
    claude.checkpoints("restore 1")
    assert claude.is_back()


def test_hand_edits_stay(claude: Claude) -> None:
    """What a person edits between two turns stays when both turns are taken back."""
    claude.turn("one", [bash("rm data.bin")])
    (claude.root / "notes.txt").write_text("mine")
    claude.turn("two", [bash("rm src/app.py")])
    assert len(claude.log) == 2
    claude.checkpoints("restore 2")
    assert claude.files == {**FILES, "notes.txt": b"mine"}


def test_a_sub_agent(claude: Claude) -> None:
    """A command that a sub-agent runs belongs to the turn and is taken back with it."""
    task = {"description": "sub", "prompt": "remove it", "subagent_type": "general-purpose"}
    agent = {"type": "tool_use", "id": "toolu_a", "name": "Agent", "input": task}
    claude.turn("delegate", [agent], [bash("rm notes.txt", "toolu_s")])
    assert claude.written == {"notes.txt"}
    claude.checkpoints("restore 1")
    assert claude.is_back()


def test_rollback_typed_into_claude(claude: Claude) -> None:
    """`/rollback 1` as a prompt brings the files back in the running session; no model sees it."""
    said = json.loads(claude.turn("tidy up", [bash("rm notes.txt")]))
    before = len(claude.requests)
    claude.turn("/rollback 1", options=("--resume", said["session_id"]))
    assert claude.is_back()
    assert len(claude.requests) == before


def test_a_command_typed_within_claude(claude: Claude) -> None:
    """The program's own shell restores what this session wrote, while the session runs."""
    restore = f"{sys.executable} -m hermes_checkpoints.cli restore 1 --busy-ok"
    claude.turn("tidy up", [bash("rm notes.txt")], [bash(restore, "toolu_2")])
    assert claude.is_back()


def test_our_server_within_claude(claude: Claude) -> None:
    """The agent plans and restores with our MCP server, which knows its session's writes."""
    pytest.importorskip("fastmcp", reason="FastMCP is not installed")
    name = "mcp__hermes-checkpoints__"
    server = {"command": sys.executable, "args": ["-m", "hermes_checkpoints.cli", "mcp"]}
    (claude.home / "mcp.json").write_text(
        json.dumps({"mcpServers": {"hermes-checkpoints": server}})
    )
    options = ("--mcp-config", str(claude.home / "mcp.json"))

    def ask(tool: str, call: str, **arguments: str) -> Block:
        arguments = {"checkpoint": "1", **arguments}
        return {"type": "tool_use", "id": call, "name": name + tool, "input": arguments}

    def restore() -> list[Block]:
        (token,) = re.findall(r"token\W+([0-9a-f]{20})", json.dumps(claude.requests[-1]))
        return [ask("restore_checkpoint", "toolu_3", token=token)]

    claude.allowed = (name + "plan_restore", name + "restore_checkpoint")
    steps = ([bash("rm notes.txt")], [ask("plan_restore", "toolu_2")], restore)
    claude.turn("tidy up", *steps, options=options)
    assert claude.is_back()


def test_a_call_that_cannot_be_protected_is_denied(claude: Claude) -> None:
    """With `on_failure: block` the program does not run a tool whose target can't be held."""
    settings = "checkpoints: {auto_prune: false, on_failure: block, max_file_size_mb: 0}\n"
    (claude.home / ".hermes" / "config.yaml").write_text(settings)
    claude.turn("tidy up", [bash("rm notes.txt")])
    assert claude.is_back()
    assert "not held" in json.dumps(claude.requests[-1])


def test_uninstalled(claude: Claude) -> None:
    """After `uninstall` the program runs its tools without us."""
    claude.checkpoints("uninstall claude-code --yes")
    claude.turn("tidy up", [bash("rm notes.txt")])
    assert claude.log == []


def test_example(claude: Claude, run_example: Callable[[str], str]) -> None:
    """The example loses a file and gets it back."""
    assert "after restoring: ['thesis.txt']" in run_example("claude_code/session.py")
