"""A store made by Hermes Agent 0.19.0 opens here, and that program reads ours."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.stores.kit import GitScene

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
