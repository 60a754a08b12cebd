"""A disk without room: on a small tmpfs of its own, where the test may mount one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FULL = """
import errno, json, os, subprocess, sys
place, steps = sys.argv[1], [int(word) for word in sys.argv[2].split(",")]
sys.path[:0] = sys.argv[3:]
from pathlib import Path
from hermes_checkpoints.config import Config
from hermes_checkpoints.errors import CheckpointError
from hermes_checkpoints.manager import CheckpointManager
from hermes_checkpoints.records import ToolCall
from tests.stores.kit import run_git

base, project = Path(place, "disk/base"), Path(place, "project")
filler = Path(place, "disk/filler")
said = {"outcomes": [], "wrong": [], "notices": 0, "refused": 0, "upkeep": []}

def fill(left):
    '''Take all room but `left` KB.'''
    with open(filler, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError as error:
            assert error.errno == errno.ENOSPC
        file.truncate(max(0, file.tell() - left * 1024))

def whole(manager):
    '''Every listed checkpoint can be read, all of it.'''
    known = manager.project(project)
    for one in manager.list_checkpoints(project):
        states = manager.store.entries(known, one.tree)
        for _ in manager.store.read(known, [s.content for s in states.values()]):
            pass

def turn(manager, text):
    manager.new_turn()
    call = ToolCall("write_file", {"path": str(project / "a"), "content": ""}, cwd=str(project))
    with manager.guard(call) as guard:
        (project / "a").write_text(text)
    return type(guard.outcome).__name__

config = Config(base=base, auto_prune=False, max_snapshots=100)
for number, left in enumerate(steps):
    notices = []
    with CheckpointManager(config, on_notice=notices.append) as manager:
        (project / "noise").write_bytes(os.urandom(60_000))
        turn(manager, f"before {number}")
        listed = manager.list_checkpoints(project)
        (project / "noise").write_bytes(os.urandom(60_000))
        fill(left)
        outcome = turn(manager, f"full {number}")
        said["outcomes"].append([left, outcome])
        said["notices"] += bool(notices)
        now = manager.list_checkpoints(project)
        if now[-len(listed):] != listed or len(now) - len(listed) != (outcome == "Taken"):
            said["wrong"].append(f"{left}: {outcome}, but {len(listed)} became {len(now)}")
        if (outcome == "Failed") is not bool(notices):
            said["wrong"].append(f"{left}: {outcome}, told {notices}")
        if outcome == "Failed":
            try:
                manager.restore(project, 1, keep_edits=False)
                said["wrong"].append(f"{left}: restored without a way back")
            except CheckpointError:
                said["refused"] += 1
            if (project / "a").read_text() != f"full {number}":
                said["wrong"].append(f"{left}: a refused rollback changed a file")
        said["upkeep"].append(manager.store.compact(full=True).why_not)
        whole(manager)
        filler.unlink()
        if outcome == "Failed" and turn(manager, f"room {number}") != "Taken":
            said["wrong"].append(f"{left}: nothing is taken though there is room again")
        whole(manager)
        manager.store.compact(full=True)
        said["wrong"] += [f"{left}: {p.what}" for p in manager.verify(read_data=True)]
        said["wrong"] += [str(p) for p in (base / "store").rglob("tmp_*")]
done = run_git("--git-dir", str(base / "store"), "fsck", "--full", "--no-dangling", check=False)
said["fsck"] = [done.returncode, done.stdout.decode()]
print(json.dumps(said))
"""

MOUNT = 'mount -t tmpfs -o size=6m,mode=700 none "$0" && exec "$@"'


def _on_a_small_disk(place: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a program that alone sees a tmpfs of 6 MB at `place`, which ends with it."""
    place.mkdir(exist_ok=True)
    words = ["unshare", "--mount", "sh", "-c", MOUNT, str(place), *command]
    try:
        return subprocess.run(words, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        pytest.skip(f"a full disk is NOT tested: {error}")


def test_a_disk_without_room(tmp_path: Path) -> None:
    """With any little room left tools run, what was listed can be read, and a failure is told.

    Without a safety checkpoint there is no rollback; with room again all goes on by itself.
    """
    tried = _on_a_small_disk(tmp_path / "disk", "true")
    if tried.returncode:
        pytest.skip(f"no tmpfs can be mounted here, so a full disk is NOT tested: {tried.stderr}")
    (tmp_path / "project").mkdir()
    (tmp_path / "project/pyproject.toml").touch()
    steps = [0, 4, 8, 12, 16, 24, 32, 48, 64, 72, 80, 88, 96, 128, 256]
    where = [str(Path(__file__).parents[2]), *sys.path]
    words = ["-c", FULL, str(tmp_path), ",".join(map(str, steps)), *where]
    done = _on_a_small_disk(tmp_path / "disk", sys.executable, *words)
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert said["wrong"] == []
    outcomes = {outcome for _, outcome in said["outcomes"]}
    assert outcomes == {"Taken", "Failed"}
    assert said["refused"] == sum(outcome == "Failed" for _, outcome in said["outcomes"])
    assert said["fsck"] == [0, ""]
