"""A scripted agent for hosts' own tests: turns, tool calls and a person's edits, in order.

    outcomes = play(manager, [Turn("1"), Write("a.py", "new"), Command("rm b.py", delete)])

Every step acts in the project's directory, which is the manager's. No shell is run: what a command
does is the `act` it is given, so that a test needs no program and no luck.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from hermes_checkpoints.manager import CheckpointManager
from hermes_checkpoints.records import Outcome, ToolCall

__all__ = ["Command", "Edit", "Step", "Turn", "Write", "play"]


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of the person; the same id again is the same turn."""

    id: str | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """The agent writes a file with `write_file`."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """The agent runs a shell command with `terminal`; `act` does to the project what it would."""

    text: str
    act: Callable[[Path], object]


@dataclass(frozen=True, slots=True)
class Edit:
    """The person writes a file; no tool call is around it."""

    path: str
    text: str


Step = Turn | Write | Command | Edit


def play(manager: CheckpointManager, script: Iterable[Step]) -> list[Outcome]:
    """Do what the script says, in the manager's directory; what came of each tool call, in order.

    What an `act` raises passes through, as a tool's exception does.
    """
    root = Path(manager.cwd)
    outcomes: list[Outcome] = []
    for step in script:
        if isinstance(step, Turn):
            manager.new_turn(step.id)
        elif isinstance(step, Edit):
            _put(root / step.path, step.text)
        else:
            with manager.guard(_call(step, root)) as guard:
                outcomes.append(guard.outcome)
                if isinstance(step, Write):
                    _put(root / step.path, step.text)
                else:
                    step.act(root)
    return outcomes


def _call(step: Write | Command, root: Path) -> ToolCall:
    if isinstance(step, Write):
        arguments = {"path": step.path, "content": step.text}
        return ToolCall("write_file", arguments, cwd=str(root))
    return ToolCall("terminal", {"command": step.text}, cwd=str(root))


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
