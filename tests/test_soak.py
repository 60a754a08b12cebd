"""A store that lasts: a thousand turns over twenty projects, through the manager."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from pathlib import Path

import pytest

from hermes_checkpoints.config import Config
from hermes_checkpoints.manager import CheckpointManager
from hermes_checkpoints.records import ToolCall

PROJECTS, SESSIONS, TURNS = 20, 10, 100
CAP_MB = 3
KEPT = 5


def _loose(store: Path) -> int:
    """Objects that lie in files of their own; a directory may vanish in upkeep meanwhile."""
    found = os.walk(store / "objects")
    return sum(len(names) for here, _, names in found if len(os.path.basename(here)) == 2)


def _turn(manager: CheckpointManager, project: Path, number: int) -> float:
    """One user message, one file written and one deleted; seconds that the library took."""
    noise, text = project / "noise.bin", project / f"src/m{number % 7}.py"
    command = f"rm -f {project}/src/m{(number + 3) % 7}.py"
    data, begun = os.urandom(10_000), time.perf_counter()
    manager.new_turn()
    tool = 0.0
    for call in (
        ToolCall("write_file", {"path": str(noise), "content": ""}, cwd=str(project)),
        ToolCall("terminal", {"command": command}, cwd=str(project)),
    ):
        with manager.guard(call):
            at = time.perf_counter()
            if call.name == "write_file":
                noise.write_bytes(data)
                text.write_text(f"turn = {number}\n")
            else:
                (project / f"src/m{(number + 3) % 7}.py").unlink(missing_ok=True)
            tool += time.perf_counter() - at
    return time.perf_counter() - begun - tool


@pytest.mark.long
def test_a_thousand_turns(tmp_path: Path) -> None:
    """Under its caps after each session, near them in between, few loose objects, and sound."""
    config = Config(
        base=tmp_path / "base", max_snapshots=KEPT, max_total_size_mb=CAP_MB, auto_prune=False
    )
    store = tmp_path / "base/store"
    projects = [tmp_path / f"p{n}" for n in range(PROJECTS)]
    for project in projects:
        (project / "src").mkdir(parents=True)
        (project / "pyproject.toml").touch()
        for n in range(20):
            (project / f"src/f{n}.py").write_text(f"{project.name} {n}\n" * 20)
    took: list[float] = []
    loose: list[int] = []
    sizes: list[int] = []
    ends: list[int] = []
    notices: list[str] = []
    closing: list[float] = []
    for session in range(SESSIONS):
        manager = CheckpointManager(config, cwd=projects[0], on_notice=notices.append)
        for turn in range(session * TURNS, (session + 1) * TURNS):
            took.append(_turn(manager, projects[turn % PROJECTS], turn))
            loose.append(_loose(store))
            sizes.append(manager.store.size().store)
        begun = time.perf_counter()
        manager.close()
        closing.append(time.perf_counter() - begun)
        ends.append(manager.store.size().store)
    with CheckpointManager(config) as manager:
        listed = [len(manager.list_checkpoints(project)) for project in projects]
        last = manager.list_checkpoints(projects[-1])[0]
        problems = list(manager.verify(read_data=True))
    print(
        f"\n{len(took)} turns over {PROJECTS} projects: median {statistics.median(took) * 1e3:.0f}"
        f" ms, worst {max(took) * 1e3:.0f} ms; close {max(closing) * 1e3:.0f} ms at most;"
        f" store {max(ends) / 1e6:.2f} MB at most after a session, {max(sizes) / 1e6:.2f} MB in"
        f" between (cap {CAP_MB} MiB); {max(loose)} loose objects at most"
    )
    assert notices == []
    assert max(listed) <= KEPT and min(listed) >= 1
    assert last.reason.startswith("before write_file")
    assert max(ends) <= CAP_MB << 20
    assert max(sizes) <= (2 * CAP_MB + 1) << 20
    assert max(loose) < 1500
    assert problems == []
    git = ["git", "--git-dir", str(store), "fsck", "--full", "--no-dangling"]
    done = subprocess.run(git, capture_output=True, text=True, check=False)
    said = [w for w in done.stderr.splitlines() if not w.startswith("notice:")]  # HEAD is unborn
    assert (done.returncode, done.stdout, said) == (0, "", [])
