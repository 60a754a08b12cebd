"""A store made by Hermes Agent 0.19.0 opens here, and that program reads ours."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from hermes_checkpoints.config import Config
from hermes_checkpoints.errors import StoreError
from hermes_checkpoints.manager import CheckpointManager
from hermes_checkpoints.records import Checkpoint, ToolCall
from tests.stores.kit import GitScene, run_git

WHEEL = "hermes-agent==0.19.0"

DRIVER = """
import json, os, pathlib, sys
home, project, *steps = sys.argv[2:]
os.environ["HERMES_HOME"] = home
sys.path.insert(0, sys.argv[1])
import tools.checkpoint_manager as cm
cm.CHECKPOINT_BASE = pathlib.Path(home) / "checkpoints"
manager = cm.CheckpointManager(enabled=True, max_snapshots=20)
said = []
for step in steps:
    verb, _, rest = step.partition(" ")
    if verb == "take":
        manager.new_turn()
        said.append(manager.ensure_checkpoint(project, rest))
    elif verb == "list":
        said.append([[c["hash"], c["reason"]] for c in manager.list_checkpoints(project)])
    elif verb == "restore":
        said.append(manager.restore(project, rest)["success"])
    elif verb == "put":
        name, _, text = rest.partition("=")
        (pathlib.Path(project) / name).write_text(text)
print(json.dumps(said))
"""


RECLAIMER = """
import os, pathlib, sys
home, project, stop = sys.argv[2:]
os.environ["HERMES_HOME"] = home
sys.path.insert(0, sys.argv[1])
import tools.checkpoint_manager as cm
cm.CHECKPOINT_BASE = pathlib.Path(home) / "checkpoints"
run, collected = cm._run_git, 0
def counted(args, *rest, **options):
    global collected
    collected += args[:2] == ["gc", "--prune=now"]
    return run(args, *rest, **options)
cm._run_git = counted
manager = cm.CheckpointManager(enabled=True, max_snapshots=2)
number = 0
while not pathlib.Path(stop).exists():
    number += 1
    (pathlib.Path(project) / "a").write_text(f"theirs {number}")
    manager.new_turn()
    manager.ensure_checkpoint(project, f"{number}")
print(collected)
"""


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked wheel, without its dependencies; its checkpoint module needs only PyYAML."""
    place = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "-d", str(place)]
    done = subprocess.run([*command, WHEEL], capture_output=True, text=True, check=False)
    found = list(place.glob("*.whl"))
    if done.returncode or not found:
        pytest.skip(f"{WHEEL} cannot be fetched, so interoperability is NOT tested: {done.stderr}")
    with zipfile.ZipFile(found[0]) as archive:
        archive.extractall(place / "unpacked")
    return place / "unpacked"


def hermes(wheel: Path, scene: GitScene, *steps: str) -> list[Any]:
    words = [str(wheel), str(scene.base.parent), str(scene.root), *steps]
    command = [sys.executable, "-W", "ignore", "-c", DRIVER, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return said


class HermesScene(GitScene):
    """A scene whose base is where the other program looks for it."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self.base = place / "checkpoints"
        self.config = self.config.with_(base=self.base)
        from hermes_checkpoints.stores.git import open_store

        self.store = open_store(self.config)


@pytest.mark.long
def test_its_store_opens_here(wheel: Path, tmp_path: Path) -> None:
    """Its history is listed with unknown gaps, can be read, and goes on with ours."""
    scene = HermesScene(tmp_path)
    scene.put("a", "1")
    scene.put("build/b", "it leaves this out")
    said = hermes(wheel, scene, "take one", "put a=2", "take two", "list")
    assert said[:2] == [True, True]
    theirs = [one for one, _ in said[2]]
    assert scene.ids() == theirs
    newest = scene.store.list(scene.project, counts=True)[0]
    assert newest.gaps is None and newest.reason == "two"
    assert (newest.files, newest.insertions, newest.deletions) == (1, 1, 1)
    assert scene.holds(newest) == {"a": b"2"}
    made = scene.taken("ours")
    assert scene.ids() == [made.id, *theirs]
    assert scene.holds(made)["build/b"] == b"it leaves this out"
    (record,) = scene.store.projects()
    assert record.project.root == str(scene.root) and record.checkpoints == 3
    assert scene.store.verify(read_data=True) == []
    scene.fsck()


@pytest.mark.long
def test_it_reads_our_store(wheel: Path, tmp_path: Path) -> None:
    """It lists and restores ours, also behind a boundary, and what it adds is noticed."""
    scene = HermesScene(tmp_path)
    ids = []
    for number in range(4):
        scene.put("a", f"{number}")
        ids.append(scene.taken(f"r{number}").id)
    scene.store.drop(scene.project, ids[:1])
    scene.store.compact(full=True)
    (said,) = hermes(wheel, scene, "list")
    assert said == [[ids[3], "r3"], [ids[2], "r2"], [ids[1], "r1"]]
    assert hermes(wheel, scene, f"restore {ids[1]}") == [True]
    assert (scene.root / "a").read_text() == "1"
    assert hermes(wheel, scene, "put a=theirs", "take by hermes")[-1] is True
    again = scene.again()
    again.store.close()
    listed = scene.store.list(scene.project)
    assert listed[0].reason == "by hermes" and listed[0].gaps is None
    assert ids[3] in [one.id for one in listed]
    scene.put("a", "ours again")
    made = scene.taken("ours again")
    assert scene.holds(made) == {"a": b"ours again"}
    assert any("another program" in problem.what for problem in scene.store.verify())
    assert hermes(wheel, scene, "list")[0][0] == [made.id, "ours again"]
    scene.fsck()


def _harmed(manager: CheckpointManager, made: dict[Path, dict[str, str]]) -> set[str]:
    """Ids of the projects that lack a checkpoint they should list, or hold one that is torn."""
    found = set()
    for project, expected in made.items():
        listed = {one.id: one for one in manager.list_checkpoints(project)}
        newest = list(expected)[-manager.config.max_snapshots :]
        whole = all(
            one in listed and _is_whole(manager, project, listed[one], expected[one])
            for one in newest
        )
        if not whole:
            found.add(manager.project(project).id)
    return found


def _is_whole(manager: CheckpointManager, project: Path, one: Checkpoint, expected: str) -> bool:
    found = manager.project(project)
    try:
        states = manager.store.entries(found, one.tree)
        contents = manager.store.read(found, [s.content for s in states.values()])
        files = dict(zip(states, contents, strict=True))
    except StoreError:
        return False
    return files["a"].decode() == expected


@pytest.mark.long
def test_its_garbage_collector_beside_us(wheel: Path, tmp_path: Path) -> None:
    """While it runs `gc --prune=now`, tools run, others are unaffected, and verify names a loss."""
    config = Config(base=tmp_path / "checkpoints", auto_prune=False)
    ours = [tmp_path / name for name in ("one", "two")]
    quiet, theirs = tmp_path / "quiet", tmp_path / "theirs"
    for project in (*ours, quiet, theirs):
        project.mkdir()
        (project / "pyproject.toml").touch()
        (project / "a").write_text("first")
    stop = tmp_path / "stop"
    written: dict[Path, dict[str, str]] = {project: {} for project in (*ours, quiet)}
    with CheckpointManager(config) as manager:
        manager.snapshot(quiet, "before all")
        before = manager.list_checkpoints(quiet)
        written[quiet][before[0].id] = "first"
        words = [str(wheel), str(tmp_path), str(theirs), str(stop)]
        other = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", RECLAIMER, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            for number in range(240):
                file = ours[number % 2] / "a"
                was = file.read_text()
                manager.new_turn()
                call = ToolCall(
                    "write_file", {"path": str(file), "content": ""}, cwd=str(file.parent)
                )
                with manager.guard(call) as guard:
                    file.write_text(f"{number}")
                assert file.read_text() == f"{number}"
                made = getattr(guard.outcome, "checkpoint", None)
                if made is not None:
                    written[file.parent][made.id] = was
        finally:
            stop.touch()
            out, err = other.communicate(timeout=120)
        assert other.returncode == 0, err
        problems = list(manager.verify(read_data=True))
        harmed = _harmed(manager, written)
        number = sum(len(one) for one in written.values())
        print(
            f"\n240 turns beside {out.strip()} runs of its `gc --prune=now`: {number}"
            f" checkpoints made, {len(harmed)} of 3 projects lost some; verify: {problems}"
        )
        assert int(out) > 5
        assert number > 200
        assert harmed <= {problem.project for problem in problems}
        assert manager.list_checkpoints(quiet) == before
        assert manager.project(quiet).id not in harmed
        manager.verify(fix=True)
        for project in ours:
            newest = manager.list_checkpoints(project)[0]
            assert _is_whole(manager, project, newest, written[project][newest.id])
            assert manager.snapshot(project, "afterwards")
            assert manager.list_checkpoints(project)[0].reason == "afterwards"
        assert list(manager.verify(read_data=True)) == []
    store = str(config.base_path / "store")
    assert run_git("--git-dir", store, "fsck", "--full", "--no-dangling").stdout == b""
