"""Several processes use one git store at once."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from hermes_checkpoints.errors import StoreBusy
from hermes_checkpoints.testing.contract import raises
from tests.stores.kit import GitScene, children

WRITER = """
import os, sys
sys.path[:0] = sys.argv[5:]
from pathlib import Path
from tests.stores.kit import GitScene

place, name, project, times = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
scene = GitScene(place, project)
taken = 0
for number in range(times):
    scene.put(f"f{name}", f"{name} {number} {os.getpid()}")
    taken += scene.capture(f"{name} {number}") is not None
print(taken)
"""

RECLAIMER = """
import sys
sys.path[:0] = sys.argv[2:]
from pathlib import Path
from tests.stores.kit import GitScene

scene = GitScene(Path(sys.argv[1]))
rounds = 0
while not (Path(sys.argv[1]) / "stop").exists():
    for record in scene.store.projects():
        ids = [one.id for one in scene.store.list(record.project)]
        scene.store.drop(record.project, ids[3:])
    done = scene.store.compact(full=rounds % 2 == 0)
    assert "repacked" not in done.why_not, done
    rounds += 1
print(rounds)
"""


def start(program: str, *args: object) -> subprocess.Popen[str]:
    words = [str(a) for a in args]
    where = [str(Path(__file__).parents[2]), *sys.path]
    return subprocess.Popen(
        [sys.executable, "-c", program, *words, *where],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(child: subprocess.Popen[str]) -> str:
    out, err = child.communicate(timeout=120)
    assert child.returncode == 0, err
    return out.strip()


def test_eight_processes_on_one_project(tmp_path: Path) -> None:
    """Eight processes times eight captures: each is taken or finds nothing new, none fails."""
    scene = GitScene(tmp_path)
    scene.put("a", "1")
    writers = [start(WRITER, tmp_path, n, "project", 8) for n in range(8)]
    taken = sum(int(ended(writer)) for writer in writers)
    scene.capture("last")
    listed = scene.store.list(scene.project)
    assert 0 < taken <= 64 and len(listed) in (taken, taken + 1)
    held = scene.holds(listed[0])
    assert {f"f{n}" for n in range(8)} | {"a"} == set(held)
    assert all(held[f"f{n}"].startswith(b"%d 7 " % n) for n in range(8))
    scene.fsck()


def test_reclaiming_beside_writers(tmp_path: Path) -> None:
    """Dropping and reclaiming in a loop beside four writers of three projects loses nothing."""
    reclaimer = start(RECLAIMER, tmp_path)
    writers = [start(WRITER, tmp_path, n, f"project{n % 3}", 10) for n in range(4)]
    taken = [int(ended(writer)) for writer in writers]
    (tmp_path / "stop").touch()
    assert int(ended(reclaimer)) > 0 and sum(taken) > 0
    for number in range(3):
        scene = GitScene(tmp_path, f"project{number}")
        scene.capture("last")
        for one in scene.store.list(scene.project):
            assert scene.holds(one)
    assert scene.store.verify(read_data=True) == []
    scene.fsck()


def test_a_busy_store_is_waited_for_a_bounded_time(tmp_path: Path) -> None:
    """While another process holds the project, one waits as long as told and then gives up."""
    scene = GitScene(tmp_path)
    scene.put("a", "1")
    scene.taken()
    program = (
        "import sys, filelock\nwith filelock.FileLock(sys.argv[1]):\n"
        " print('held', flush=True)\n sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(scene.path / "locks" / scene.project.id)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout and holder.stdout.readline() == "held\n"
    began = time.monotonic()

    def enter() -> None:
        with scene.store.lock(scene.project, timeout=0.2):
            pass

    error = raises(StoreBusy, enter)
    assert 0.15 < time.monotonic() - began < 5 and error.hint  # type: ignore[attr-defined]
    holder.communicate("")
    enter()


def test_a_child_of_git_that_hangs_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A git that does not end in time is ended, and the capture fails with a sentence."""
    import os

    from hermes_checkpoints.errors import StoreError
    from hermes_checkpoints.stores.git import plumbing

    scene = GitScene(tmp_path)
    scene.put("a", "1")
    scene.taken()
    fake = tmp_path / "bin"
    fake.mkdir()
    (fake / "git").write_text(f"#!/bin/sh\necho $$ > '{tmp_path}/pid'\nexec sleep 100\n")
    (fake / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(plumbing, "_TIMEOUT", 0.3)
    error = raises(StoreError, scene.again().observe)
    assert "took longer" in str(error)
    pid = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_packs_and_loose_objects_stay_few(tmp_path: Path) -> None:
    """However many captures, with upkeep now and then their objects stay below a bound."""
    scene = GitScene(tmp_path)
    worst = 0
    for number in range(150):
        scene.put(f"d{number % 5}/f", f"{number}")
        made = scene.taken()
        scene.store.drop(scene.project, scene.ids()[10:])
        if number % 10 == 0:
            with children() as started:
                scene.store.compact()
            assert not any(" gc " in command for command in started)
        objects = scene.path / "objects"
        loose = sum(1 for p in objects.glob("??/*"))
        worst = max(worst, loose)
    assert worst < 500 and len(list((scene.path / "objects/pack").glob("*.pack"))) < 25
    assert scene.holds(made) and len(scene.ids()) == 10
    scene.fsck()
