"""A git store that was damaged, killed, or ran out of room goes on, and says what is wrong."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_checkpoints.errors import CheckpointNotFound, StoreError
from hermes_checkpoints.testing.contract import raises
from tests.stores.kit import GitScene

# ------------------------------------------------------------------ damage of every kind


def _index(scene: GitScene) -> Path:
    return scene.path / "indexes" / scene.project.id


def _object(scene: GitScene, oid: str) -> Path:
    return scene.path / "objects" / oid[:2] / oid[2:]


def _unpack(scene: GitScene) -> None:
    """Every object as a file of its own."""
    for pack in (scene.path / "objects/pack").glob("*.pack"):
        aside = pack.rename(scene.path / pack.name)
        pack.with_suffix(".idx").unlink()
        with open(aside, "rb") as file:
            scene.git("unpack-objects", "-q", stdin=file)
        aside.unlink()


def _garble_packed_refs(scene: GitScene) -> None:
    scene.git("pack-refs", "--all")
    with open(scene.path / "packed-refs", "a") as file:
        file.write("nonsense\n")


def _garble_index(scene: GitScene) -> None:
    _index(scene).write_bytes(b"DIRC garbage")


def _truncate_index(scene: GitScene) -> None:
    _index(scene).write_bytes(_index(scene).read_bytes()[:-30])


def _empty_index(scene: GitScene) -> None:
    _index(scene).write_bytes(b"")


def _stale_index_lock(scene: GitScene) -> None:
    Path(f"{_index(scene)}.lock").write_bytes(b"")


def _stale_ref_lock(scene: GitScene) -> None:
    (scene.path / "refs/hermes" / f"{scene.project.id}.lock").write_bytes(b"")


def _lose_refs_directory(scene: GitScene) -> None:
    scene.git("pack-refs", "--all")
    shutil.rmtree(scene.path / "refs")


def _lose_head(scene: GitScene) -> None:
    (scene.path / "HEAD").write_bytes(b"")


def _lose_gitdir(scene: GitScene) -> None:
    shutil.rmtree(scene.path / "worktrees")


def _garble_state(scene: GitScene) -> None:
    (scene.path / "worktrees" / scene.project.id / "state.json").write_text('{"format": 1, "x": 2}')


def _garble_catalogue(scene: GitScene) -> None:
    (scene.path / "catalogue" / f"{scene.project.id}.json").write_text("{")


def _garble_document(scene: GitScene) -> None:
    (scene.path / "projects" / f"{scene.project.id}.json").write_text("not json")


def _garble_boundary(scene: GitScene) -> None:
    (scene.path / "boundaries" / f"{scene.project.id}.json").write_text("[1")


def _garble_config(scene: GitScene) -> None:
    (scene.path / "config").write_text("[core\nnonsense")


def _lose_info(scene: GitScene) -> None:
    shutil.rmtree(scene.path / "info")


HARMLESS = [
    _garble_index,
    _truncate_index,
    _empty_index,
    _stale_index_lock,
    _stale_ref_lock,
    _lose_refs_directory,
    _lose_head,
    _lose_gitdir,
    _garble_state,
    _garble_catalogue,
    _garble_document,
    _garble_boundary,
    _garble_config,
    _lose_info,
    _garble_packed_refs,
]


@pytest.mark.parametrize("damage", HARMLESS, ids=lambda f: f.__name__.strip("_"))
def test_repaired_by_the_next_capture(damage: Callable[[GitScene], None], tmp_path: Path) -> None:
    """What can be made anew is, by whoever comes next: history and captures go on."""
    scene = GitScene(tmp_path)
    scene.put("a", "1")
    scene.put("d/b", "1")
    first = scene.taken()
    scene.put("a", "2")
    second = scene.taken()
    damage(scene)
    for one in (scene, scene.again()):
        assert one.capture() is None
        scene.put("a", f"{id(one)}")
        made = one.taken()
        assert one.ids()[0] == made.id and one.ids()[-2:] == [second.id, first.id]
        assert one.holds(first) == {"a": b"1", "d/b": b"1"}
    scene.fsck()
    scene.store.verify(fix=True)
    assert scene.store.verify(read_data=True) == []


def test_a_blob_only_the_index_knows(tmp_path: Path) -> None:
    """Content that was pruned behind the index's back is recorded again."""
    scene = GitScene(tmp_path)
    scene.put("a", "1")
    scene.taken()
    scene.put("new", "only observed")
    seen = scene.observe()
    state = scene.store.entries(scene.project, seen.tree)["new"]
    _object(scene, state.content).unlink()
    _object(scene, seen.tree).unlink()
    scene.put("b", "1")
    made = scene.taken()
    assert scene.holds(made)["new"] == b"only observed"
    scene.fsck()


def test_a_lost_tip_is_set_aside(tmp_path: Path) -> None:
    """A history whose newest checkpoint is lost makes room for a new one; others go on."""
    scene = GitScene(tmp_path)
    other = GitScene(tmp_path, "other")
    for one in (scene, other):
        one.put("a", "1")
        one.taken()
    for damage in ("missing", "empty", "garbled ref"):
        _unpack(scene)
        tip = scene.tip()
        if damage == "missing":
            _object(scene, tip).unlink()
        elif damage == "empty":
            _object(scene, tip).chmod(0o600)
            _object(scene, tip).write_bytes(b"")
        else:
            (scene.path / "refs/hermes" / scene.project.id).write_text("\0" * 40)
        again = scene.again()
        problems = again.store.verify()
        assert any(p.project == scene.project.id and p.fix for p in problems), damage
        again.store.verify(fix=True)
        scene.put("a", damage)
        made = again.taken()
        # A ref that is garbled hides a history that is whole: nothing of it is lost.
        kept = [tip] if damage == "garbled ref" else []
        assert again.ids() == [made.id, *kept] and again.holds(made) == {"a": damage.encode()}
        assert other.again().capture() is None
        (record,) = (r for r in again.store.projects() if r.project.id == scene.project.id)
        assert "set aside" in record.problem
        assert list((scene.path / "broken").glob(f"{scene.project.id}-*"))
        scene.store.compact(full=True)
        scene.fsck()


def test_a_lost_tip_does_not_stop_a_capture(tmp_path: Path) -> None:
    """Without any doctor, the next capture sets a broken history aside by itself."""
    scene = GitScene(tmp_path)
    scene.put("a", "1")
    scene.taken()
    _object(scene, scene.tip()).unlink()
    scene.put("a", "2")
    again = scene.again()
    made = again.taken()
    assert again.ids() == [made.id]
    scene.fsck()


def test_a_lost_tip_costs_only_the_newest(tmp_path: Path) -> None:
    """Where the newest checkpoint is lost, as by a power cut, the older ones stay in the list."""
    scene = GitScene(tmp_path)
    made = []
    for number in range(3):
        scene.put("a", f"content {number}")
        made.append(scene.taken())
    _unpack(scene)
    _object(scene, scene.tip()).unlink()
    scene.put("a", "later")
    again = scene.again()
    later = again.taken()
    assert again.ids() == [later.id, made[1].id, made[0].id]
    assert again.holds(again.store.get(scene.project, made[1].id)) == {"a": b"content 1"}
    scene.fsck()


def test_a_git_that_does_not_work_costs_no_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken git is told apart from a broken store, which is then left as it is."""
    scene = GitScene(tmp_path)
    scene.put("a", "1")
    kept = scene.taken()
    sick = tmp_path / "bin"
    sick.mkdir()
    (sick / "git").write_text("#!/bin/sh\necho fatal: no >&2\nexit 128\n")
    (sick / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{sick}:{os.environ['PATH']}")
    scene.put("a", "2")
    raises(StoreError, lambda: scene.again().taken())
    monkeypatch.undo()
    assert kept.id in scene.again().ids()
    assert not list(tmp_path.rglob("corrupt-*"))


def test_lost_content_is_found_and_named(tmp_path: Path) -> None:
    """Verify names a checkpoint whose content is lost; with fix it is off the list, others stay."""
    scene = GitScene(tmp_path)
    made = []
    for number in range(3):
        scene.put("a", f"content {number}")
        made.append(scene.taken())
    content = scene.store.entries(scene.project, made[1].tree)["a"].content
    _object(scene, content).unlink()
    assert any("lost" in p.what for p in scene.store.verify())
    error = raises(StoreError, lambda: scene.holds(made[1]))
    assert content in str(error)
    scene.store.verify(fix=True)
    assert scene.ids() == [made[2].id, made[0].id]
    assert scene.holds(made[0]) == {"a": b"content 0"}
    raises(CheckpointNotFound, lambda: scene.store.get(scene.project, made[1].id))
    done = scene.store.compact(full=True)
    assert done.why_not == ""
    assert scene.store.verify(read_data=True) == []
    scene.fsck()


def test_damaged_content_is_found_by_reading_it(tmp_path: Path) -> None:
    """Only reading every byte finds a flipped one, and it does."""
    scene = GitScene(tmp_path)
    scene.put("a", os.urandom(2000))
    made = scene.taken()
    path = _object(scene, scene.store.entries(scene.project, made.tree)["a"].content)
    data = bytearray(path.read_bytes())
    data[1000] ^= 0xFF
    path.chmod(0o600)
    path.write_bytes(data)
    assert scene.store.verify() == []
    assert any("fsck" in p.what for p in scene.store.verify(read_data=True))


def test_a_store_beyond_repair_is_quarantined(tmp_path: Path) -> None:
    """What git does not take for a store is moved away whole, and a new one begins."""
    scene = GitScene(tmp_path)
    scene.put("a", "1")
    scene.taken()
    config = scene.path / "config"
    config.unlink()
    config.mkdir()
    (config / "x").write_text("")
    again = scene.again()
    (scene.path / "refs").rename(scene.path / "refs-lost")
    made = again.taken()
    assert again.ids() == [made.id]
    (aside,) = scene.base.glob("corrupt-*")
    assert (aside / "refs-lost").is_dir()
    scene.fsck()


def test_shallow_is_derived(tmp_path: Path) -> None:
    """A lost, wrong or malformed `shallow` is named by verify and written anew with fix."""
    scene = GitScene(tmp_path)
    ids = []
    for number in range(4):
        scene.put("a", f"{number}")
        ids.append(scene.taken().id)
    scene.store.drop(scene.project, ids[:2])
    scene.store.compact(full=True)
    shallow = scene.path / "shallow"
    said = f"{shallow} is not what the histories say"
    assert shallow.read_text() == ids[2] + "\n"
    for wrong in ("nonsense\n", ids[2] + "\n" + "0" * 40 + "\n", ids[2] + "\n" + ids[3] + "\n"):
        shallow.chmod(0o600)
        shallow.write_text(wrong)
        assert said in [p.what for p in scene.store.verify()]
        scene.store.verify(fix=True)
        assert shallow.read_text() == ids[2] + "\n"
    shallow.unlink()
    assert [p.what for p in scene.store.verify()] == [said]
    scene.store.verify(fix=True)
    assert shallow.read_text() == ids[2] + "\n"
    assert scene.again().ids() == [ids[3], ids[2]]
    scene.fsck()


def test_a_commit_graph_of_another_program_is_not_believed(tmp_path: Path) -> None:
    """It may speak of commits that are gone; verify does not go by it, and upkeep removes it."""
    scene = GitScene(tmp_path)
    made = []
    for number in range(3):
        scene.put("a", f"{number}")
        made.append(scene.taken())
    scene.git("commit-graph", "write", "--reachable")
    assert (scene.path / "objects/info/commit-graph").exists()
    _object(scene, made[1].id).unlink()
    assert any("lost" in p.what for p in scene.again().store.verify())
    scene.store.verify(fix=True)
    again = scene.again()
    assert again.ids() == [made[2].id, made[0].id]
    assert again.holds(made[0]) == {"a": b"0"}
    scene.git("commit-graph", "write", "--reachable")
    assert scene.store.compact(full=True).why_not == ""
    assert again.store.verify(read_data=True) == []
    scene.fsck()


@pytest.mark.parametrize("supplement", [False, True])
def test_shallow_may_lag(supplement: bool, tmp_path: Path) -> None:
    """What is dropped after an upkeep is behind the boundary at the next one: no damage till then.

    Nor is it damage that something is lost which only dropped checkpoints hold.
    """
    scene = GitScene(tmp_path)
    for number in range(8):
        scene.put("a", f"{number}")
        made = scene.taken()
        if supplement:
            scene.put("extra", f"extra {number}")
            scene.store.supplement(scene.project, made.id, scene.observe("extra"))
    scene.store.drop(scene.project, scene.ids()[5:])
    scene.store.compact(full=True)
    before = (scene.path / "shallow").read_text()
    gone = scene.store.list(scene.project)[-1]
    content = scene.store.entries(scene.project, gone.tree)["a"].content
    scene.store.drop(scene.project, scene.ids()[3:])
    assert scene.store.verify(read_data=True) == []
    _unpack(scene)
    _object(scene, content).unlink()
    assert scene.again().store.verify() == []
    assert (scene.path / "shallow").read_text() == before
    scene.store.compact(full=True)
    assert (scene.path / "shallow").read_text() == scene.ids()[-1] + "\n"
    scene.fsck()


def test_leftovers_are_swept(tmp_path: Path) -> None:
    """Temporary packs and objects of dead processes go; a young one may be someone's."""
    scene = GitScene(tmp_path)
    scene.put("a", "1")
    scene.taken()
    pack = scene.path / "objects/pack"
    old, young = pack / "tmp_pack_old", pack / "tmp_pack_young"
    stray = scene.path / "objects/ab" / "tmp_obj_x"
    stray.parent.mkdir(exist_ok=True)
    for path in (old, young, stray):
        path.write_bytes(b"x" * 1000)
    for path in (old, stray):
        os.utime(path, (1, 1))
    assert len([p for p in scene.store.verify() if "died" in p.what]) == 2
    done = scene.store.compact()
    assert sorted(os.path.basename(name) for name in done.swept) == ["tmp_obj_x", "tmp_pack_old"]
    assert not old.exists() and not stray.exists() and young.exists()
    scene.store.compact(full=True)
    assert not young.exists()


def test_clear_where_files_are_read_only(tmp_path: Path) -> None:
    """Clearing deletes what was made read-only, too."""
    scene = GitScene(tmp_path)
    scene.put("a", "1")
    scene.taken()
    for path in (scene.path / "objects").rglob("*"):
        path.chmod(0o500 if path.is_dir() else 0o400)
    scene.store.clear()
    assert sorted(p.name for p in scene.path.iterdir()) == ["locks"]


# ------------------------------------------------------------------ no room


def test_no_room_left(tmp_path: Path) -> None:
    """A write that the disk refuses is an error of ours, and leaves the history as it was."""
    scene = GitScene(tmp_path)
    scene.put("a", "1")
    first = scene.taken()
    for number in range(60):
        scene.put(f"f{number}", os.urandom(40_000))
    script = tmp_path / "capture.py"
    script.write_text(
        "import sys; sys.path[:0] = sys.argv[3:]\n"
        "from pathlib import Path\n"
        "from tests.stores.kit import GitScene\n"
        "scene = GitScene(Path(sys.argv[1]))\n"
        "try: print(scene.capture())\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )

    def limit() -> None:
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))

    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), str(Path(__file__).parents[2]), *sys.path],
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=True,
    )
    kind = done.stdout.split(" ", 1)[0]
    assert kind in ("StoreUnavailable", "CaptureFailed", "StoreError"), done.stdout + done.stderr
    assert scene.again().ids() == [first.id]
    assert list((scene.path / "objects/pack").glob("tmp_*")) == []
    assert scene.again().taken()
    scene.fsck()


# ------------------------------------------------------------------ killed at every step

KILLED = """
import os, signal, sys
sys.path[:0] = sys.argv[4:]
from pathlib import Path
import subprocess
from tests.stores.kit import GitScene
from hermes_checkpoints.stores.git import plumbing

left = int(sys.argv[2])

def stepwise(module, name):
    real = getattr(module, name)
    def step(*args, **options):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **options)
    setattr(module, name, step)

scene = GitScene(Path(sys.argv[1]))
what = sys.argv[3]
for module, names in ((os, ("replace", "rename", "fsync", "unlink")), (plumbing, ("_talk",))):
    for name in names:
        stepwise(module, name)
if what == "capture":
    scene.taken("killed", named=["ignored"])
elif what == "drop":
    scene.store.drop(scene.project, scene.ids()[2:])
elif what == "compact":
    scene.store.compact(full=True)
elif what == "forget":
    scene.store.forget_path(scene.project, "d")
print("done", left)
"""


LONG = [pytest.param(what, marks=pytest.mark.long) for what in ("compact", "forget")]


@pytest.mark.parametrize("what", ["capture", "drop", *LONG])
def test_killed_at_every_step(what: str, tmp_path: Path) -> None:
    """A kill at any step leaves the history whole, before or after, and the next call works."""
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    start = GitScene(tmp_path / "start")
    start.put(".gitignore", "ignored\n")
    start.put("ignored", "1")
    for number in range(4):
        start.put("d/a", f"{number}")
        start.put("b", f"{number}")
        start.taken(f"r{number}")
    if what == "compact":
        start.store.drop(start.project, start.ids()[2:])
    start.put("d/a", "last")
    start.put("new", "file")
    finished, step = False, 0
    while not finished:
        step += 1
        place = tmp_path / f"k{step}"
        shutil.copytree(start.base.parent, place, symlinks=True)
        _move(start, place)
        scene = GitScene(place)
        before = scene.ids()
        words = [str(place), str(step), what, str(Path(__file__).parents[2]), *sys.path]
        done = subprocess.run([sys.executable, str(script), *words], capture_output=True, text=True)
        finished = done.returncode == 0
        assert finished or done.returncode == -9, done.stderr
        _check_after(scene.again(), what, before)
        shutil.rmtree(place)
        assert step < 200
    assert step > 2


def _move(start: GitScene, place: Path) -> None:
    """A copied store belongs to the copied project."""
    scene = GitScene(place)
    scene.store.relink(start.project, scene.project)


def _check_after(scene: GitScene, what: str, before: list[str]) -> None:
    listed = scene.store.list(scene.project)
    ids = [one.id for one in listed]
    if what == "capture":
        assert ids in (before, [ids[0], *before])
    elif what == "drop":
        assert ids in (before, before[:2])
    elif what == "compact":
        assert ids == before
    else:
        assert len(ids) == len(before)
    for one in listed:
        assert scene.holds(one)
    scene.put("after", "the kill")
    made = scene.taken("after", named=["ignored"])
    assert scene.holds(made)["after"] == b"the kill"
    assert scene.holds(made)["new"] == b"file" and scene.holds(made)["ignored"] == b"1"
    scene.store.compact(full=True)
    for one in scene.store.list(scene.project):
        assert scene.holds(one)
    assert scene.store.verify(read_data=True) == []
    scene.fsck()


def test_documents_are_json(tmp_path: Path) -> None:
    """The project's document has the keys the host's own feature reads."""
    scene = GitScene(tmp_path)
    scene.put("a", "1")
    scene.taken()
    document: dict[str, Any] = json.loads(
        (scene.path / "projects" / f"{scene.project.id}.json").read_text()
    )
    assert document["workdir"] == str(scene.root)
    assert document["created_at"] <= document["last_touch"]
