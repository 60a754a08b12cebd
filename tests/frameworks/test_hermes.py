"""Hermes Agent 0.19: the real agent with our plugin, and its checkpoint module beside ours."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.frameworks.conftest import FILES

pytestmark = pytest.mark.framework

_ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _framework() -> None:
    pytest.importorskip("hermes_cli", reason="hermes-agent is not installed")


_PRELUDE = """
import json, os, sys, time
from pathlib import Path
import hermes_plugin as example

project = Path("project").resolve()
example.prepare(Path("home").resolve(), project)
turns = json.loads(sys.argv[1])

def script(messages):
    users = [n for n, m in enumerate(messages) if m["role"] == "user"]
    said = [str(messages[n]["content"]) for n in users]
    for turn, replies in reversed(turns.items()):
        for at, text in zip(reversed(users), reversed(said)):
            if turn in text:
                done = sum(m["role"] == "assistant" for m in messages[at:])
                return replies[done] if done < len(replies) else "done"
    return "done"

model = example.ScriptedModel(script)
agent = example.start(model.url)
from hermes_cli.plugins import get_plugin_manager
plugins = get_plugin_manager()
(plugin,) = {c.__self__ for c in plugins._hooks["pre_tool_call"]}
manager = plugin.manager
seen = []
begin = manager.before
def watched(call):
    seen.append([call.name, call.session_id, call.turn_id])
    return begin(call)
manager.before = watched
chat = []

def ask(text):
    global chat
    chat = agent.run_conversation(text, conversation_history=chat)["messages"]

def log():
    return [c.reason for c in manager.list_checkpoints(project)]
"""


class Hermes:
    """Runs the agent in a process of its own: it keeps state in module variables."""

    def __init__(self, place: Path, record: Callable[[str, object], None]) -> None:
        self.place = place
        self.root = place / "project"
        self.record = record
        for name, content in FILES.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_bytes(content)

    def __call__(self, code: str, **turns: list[Any]) -> dict[str, Any]:
        """Run `code` with a model that answers prompts with `turns`; the names `code` leaves."""
        end = "\nprint('\\n' + json.dumps({'seen': seen, **result}))"
        done = subprocess.run(
            [sys.executable, "-c", _PRELUDE + code + end, json.dumps(turns)],
            cwd=self.place,
            env={**_environment(), "PYTHONPATH": f"{_ROOT / 'examples'}:{_ROOT}"},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        self.record("hooks", len(result["seen"]))
        return result

    def is_back(self) -> bool:
        found = sorted(p for p in self.root.rglob("*") if p.is_file())
        back = {p.relative_to(self.root).as_posix(): p.read_bytes() for p in found} == FILES
        self.record("files", "yes" if back else "NO")
        return back


def _environment() -> dict[str, str]:
    import os

    return {k: v for k, v in os.environ.items() if not k.startswith(("HERMES_", "TERMINAL_"))}


@pytest.fixture
def hermes(tmp_path: Path, record_property: Callable[[str, object], None]) -> Hermes:
    return Hermes(tmp_path, record_property)


def write(path: str, call: str) -> list[Any]:
    return ["write_file", {"path": path, "content": "written\n"}, call]


def shell(command: str, call: str) -> list[Any]:
    return ["terminal", {"command": command}, call]


def test_a_turn_of_parallel_calls(hermes: Hermes) -> None:
    """Parallel writes and a failing command share a checkpoint, and `/rewind 1` takes all back."""
    found = hermes(
        """
ask("one")
written = sorted(p.name for p in project.iterdir())
result = {"log": log(), "written": written, "said": example.slash_command("rewind")("1")}
""",
        one=[
            [write("a.txt", "c1"), write("src/b.txt", "c2")],
            [shell("rm notes.txt; exit 3", "c3")],
        ],
    )
    assert len(found["log"]) == 1
    assert "a.txt" in found["written"]
    assert "notes.txt" not in found["written"]
    assert "/undo 1" in found["said"]
    assert [name for name, _, _ in found["seen"]] == ["write_file", "write_file", "terminal"]
    assert hermes.is_back()


def test_every_turn_has_a_checkpoint(hermes: Hermes) -> None:
    """Two messages make two checkpoints, however many requests to the model each takes."""
    found = hermes(
        """
ask("one")
ask("two")
rewind = example.slash_command("rewind")
result = {"log": log(), "list": rewind(""), "plan": rewind("plan 2"), "said": rewind("2")}
""",
        one=[[write("a.txt", "c1")], [write("b.txt", "c2")]],
        two=[[shell("rm data.bin", "c3")]],
    )
    assert found["log"] == ["before terminal: rm data.bin", "before write_file: a.txt"]
    assert "/rewind <N>" in found["list"]
    assert "data.bin" in found["plan"]
    assert hermes.is_back()


def test_a_sub_agent_in_the_background(hermes: Hermes) -> None:
    """What a delegated task writes, even after the turn returned, belongs to the turn."""
    found = hermes(
        """
ask("one")
leases = manager.books.of(manager.project(project)).leases
while not (project / "late.txt").exists() or leases.running():
    time.sleep(0.05)  # in the scratch process: the sub-agent is a thread of Hermes
result = {"log": log(), "said": example.slash_command("rewind")("1")}
""",
        one=[
            [write("a.txt", "c1")],
            [["delegate_task", {"goal": "SUBGOAL", "context": "x"}, "c2"]],
        ],
        SUBGOAL=[[write("late.txt", "s1")]],
    )
    (late,) = [call for call in found["seen"] if call[0] == "write_file"][1:]
    assert late[1:] == found["seen"][0][1:]
    assert len(found["log"]) == 1
    assert hermes.is_back()


def test_a_call_that_cannot_be_protected_is_blocked(hermes: Hermes) -> None:
    """With `on_failure: block` Hermes does not run a tool whose target can't be held."""
    hermes(
        """
object.__setattr__(manager.config, "on_failure", "block")
object.__setattr__(manager.config, "max_file_size_mb", 0)
ask("one")
result = {}
""",
        one=[[shell("rm notes.txt", "c1")]],
    )
    assert hermes.is_back()


def test_checkpoint_by_hand_and_command_line(hermes: Hermes) -> None:
    """`/checkpoint` takes one at any time, and `hermes checkpoint log` lists it."""
    found = hermes(
        """
import argparse, contextlib, io
said = example.slash_command("checkpoint")("before lunch")
again = example.slash_command("checkpoint")("")
command = plugins._cli_commands["checkpoint"]
parser = argparse.ArgumentParser(prog="hermes checkpoint")
command["setup_fn"](parser)
with contextlib.redirect_stdout(io.StringIO()) as out:
    code = command["handler_fn"](parser.parse_args(["log"]))
result = {"said": said, "again": again, "out": out.getvalue(), "code": code}
"""
    )
    assert "is taken" in found["said"]
    assert "Nothing has changed" in found["again"]
    assert "before lunch" in found["out"]
    assert "hermes checkpoint restore <N>" in found["out"]
    assert found["code"] == 0


def test_the_session_ends(hermes: Hermes) -> None:
    """When Hermes finalises a session, a shell's restore takes its writes for the agent's."""
    hermes(
        """
ask("one")
from hermes_cli.plugins import invoke_hook
invoke_hook("on_session_finalize", session_id=agent.session_id)
manager.restore(project, 1)
result = {}
""",
        one=[[write("a.txt", "c1")]],
    )
    assert hermes.is_back()


def test_shell_hooks(hermes: Hermes) -> None:
    """As a shell hook, in the lines that `install hermes` shows, a turn is protected as well."""
    found = hermes(
        """
import contextlib, io, yaml
from hermes_checkpoints import cli
from agent.shell_hooks import register_from_config
with contextlib.redirect_stdout(io.StringIO()) as out:
    cli.main(["install", "hermes"])
lines = out.getvalue().split("\\n\\n", 1)[1]
command = f"{sys.executable} -m hermes_checkpoints.cli hook hermes"
shown = yaml.safe_load(lines)
for entries in shown["hooks"].values():
    assert entries[0]["command"].endswith("hook hermes")
    entries[0]["command"] = command
plugins._hooks.clear()  # not the plugin this time
assert len(register_from_config(shown, accept_hooks=True)) == 3
ask("one")
ask("two")
from hermes_cli.plugins import invoke_hook
taken = log()
invoke_hook("on_session_finalize", session_id=agent.session_id)
manager.restore(project, 2)
result = {"log": taken}
""",
        one=[[write("a.txt", "c1"), write("b.txt", "c2")]],
        two=[[shell("rm data.bin; exit 3", "c3")]],
    )
    assert found["seen"] == []
    assert found["log"] == [
        "before terminal: rm data.bin; exit 3",
        "before write_file: a.txt",
    ]
    assert hermes.is_back()


def test_compatible_signatures() -> None:
    """Every public function takes the parameters of Hermes' own, by name and order."""
    from hermes_checkpoints.integrations import hermes_compat as ours
    from tools import checkpoint_manager as theirs

    for name in ours.__all__:
        if callable(getattr(ours, name)):
            assert _parameters(getattr(ours, name)) == _parameters(getattr(theirs, name)), name
    for name, method in inspect.getmembers(ours.CheckpointManager, inspect.isfunction):
        if not name.startswith("_"):
            assert _parameters(method) == _parameters(getattr(theirs.CheckpointManager, name)), name


def _parameters(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)


def test_compatible_dictionaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hermes' module and ours answer the same calls with the same keys, and types of values."""
    from hermes_checkpoints.integrations import hermes_compat as ours
    from tools import checkpoint_manager as theirs

    shapes = [_shape_of_a_session(m, tmp_path / m.__name__, monkeypatch) for m in (theirs, ours)]
    for shape in shapes:
        shape["list"].pop("message", None)  # ours alone: one of Hermes' surfaces reads it
        shape["restore"].pop("message", None)
    assert shapes[0] == shapes[1]


def _shape_of_a_session(
    module: Any, place: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, dict[str, str]]:
    project = place / "project"
    project.mkdir(parents=True)
    (project / "a.txt").write_text("1\n")
    monkeypatch.setattr(module, "CHECKPOINT_BASE", place / "base")
    manager = module.CheckpointManager(enabled=True)
    assert manager.ensure_checkpoint(str(project), "first")
    (project / "a.txt").write_text("2\n")
    (project / "new.txt").write_text("new\n")
    (entry,) = manager.list_checkpoints(str(project))
    answers = {
        "list": entry,
        "diff": manager.diff(str(project), entry["hash"]),
        "wrong": manager.diff(str(project), "zzz"),
        "restore": manager.restore(str(project), entry["hash"]),
        "file": manager.restore(str(project), entry["hash"], "a.txt"),
        "prune": module.prune_checkpoints(checkpoint_base=place / "base"),
        "status": module.store_status(place / "base"),
        "legacy": module.clear_legacy(place / "base"),
        "clear": module.clear_all(place / "base"),
    }
    answers["project"] = answers["status"]["projects"][0]
    assert (project / "a.txt").read_text() == "1\n"
    assert (project / "new.txt").exists()
    answers["file"].pop("message", None)
    return {
        k: {key: type(v).__name__ for key, v in answer.items()} for k, answer in answers.items()
    }


def test_example(run_example: Callable[[str], str]) -> None:
    """The example loses a file in its second turn and gets it back."""
    assert "after /rewind 1: ['note.txt', 'thesis.txt']" in run_example("hermes_plugin.py")
