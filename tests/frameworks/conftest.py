"""A scene for an agent of any framework: a scratch project, a manager that is watched, a rollback.

What a test saw goes into the report as properties (`hooks`, `files`, `chat`), which `run.py` adds
up to its table.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import hermes_checkpoints as hc

FILES = {
    "pyproject.toml": b"[project]\nname = 'scratch'\n",
    "notes.txt": b"by hand\r\n",
    "src/app.py": b"print('hello')\n",
    "data.bin": bytes(range(256)),
}


@dataclass
class Scene:
    """A project that an agent is let loose on."""

    root: Path
    manager: hc.CheckpointManager
    record: Callable[[str, object], None]
    calls: list[hc.ToolCall] = field(default_factory=list)

    @property
    def files(self) -> dict[str, bytes]:
        """Everything in the project."""
        found = sorted(p for p in self.root.rglob("*") if p.is_file())
        return {p.relative_to(self.root).as_posix(): p.read_bytes() for p in found}

    @property
    def checkpoints(self) -> list[hc.Checkpoint]:
        return self.manager.list_checkpoints(self.root)

    @property
    def written(self) -> set[str]:
        """The paths that the ledger says the agent wrote."""
        book = self.manager.books.of(self.manager.project(self.root))
        return {entry.path for entry in book.ledger.entries()}

    def write(self, path: str, text: str) -> str:
        """What a `write_file` tool does; for `boom` it raises, after it has done its damage."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        if path == "boom":
            raise OSError("disk full")
        return "ok"

    def shell(self, command: str) -> int:
        """What a `terminal` tool does."""
        done = subprocess.run(
            command, shell=True, cwd=self.root, stdin=subprocess.DEVNULL, capture_output=True
        )
        return done.returncode

    def rollback(self, text: str = "/rollback 1", *, session: str | None = None) -> hc.Reply:
        """What the person types."""
        reply = hc.RollbackCommand(self.manager).run(text, cwd=self.root, session_id=session)
        assert reply.ok, reply.text
        return reply

    def is_back(self, files: dict[str, bytes] | None = None) -> bool:
        """Whether the project is what it was, byte for byte; noted for the table."""
        back = self.files == (FILES if files is None else files)
        self.record("files", "yes" if back else "NO")
        return back

    def chat_is_back(self, back: bool) -> bool:
        """Note for the table whether the chat is what it was."""
        self.record("chat", "yes" if back else "NO")
        return back


def refuse(call: hc.ToolCall) -> Any:
    """A `manager.guard` with `on_failure: block` that cannot protect."""
    raise hc.NotProtected(f"{call.name} was not run, because what it can destroy is not held")


@pytest.fixture(autouse=True)
def _loop() -> Iterator[None]:
    """An event loop for frameworks' sync entry points, which do not close the one they take."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture
def scene(tmp_path: Path, record_property: Callable[[str, object], None]) -> Iterator[Scene]:
    """A project with some files, and a manager whose guarded calls are noted."""
    root = tmp_path / "project"
    for name, content in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    config = hc.Config(base=tmp_path / "base", auto_prune=False)
    with hc.CheckpointManager(config, session_id="host", cwd=root) as manager:
        scene = Scene(root, manager, record_property)
        guard = manager.guard

        def watched(call: hc.ToolCall) -> Any:
            scene.calls.append(call)
            return guard(call)

        manager.guard = watched  # type: ignore[method-assign]
        yield scene
        record_property("hooks", len(scene.calls))


@pytest.fixture
def run_example(_own_home: Path) -> Callable[[str], str]:
    """Runs one of the examples as a person would; its output, if it says that all is back."""

    def run(name: str) -> str:
        example = Path(__file__).parents[2] / "examples" / name
        done = subprocess.run(
            [sys.executable, example], capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
