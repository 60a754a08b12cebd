"""A small project is looked at without a child: it sees what git would, or leaves it to git."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_checkpoints.errors import CaptureFailed
from hermes_checkpoints.records import GapReason
from hermes_checkpoints.stores.git import glance, scan
from tests.stores.kit import GitScene, children, run_git
from tests.stores.test_git_random import drive, from_nothing


@pytest.fixture
def scene(tmp_path: Path) -> GitScene:
    """A project that was captured, and has settled."""
    scene = GitScene(tmp_path)
    for name in ("a", "b", "d/a", "d/e/a", "d/e/b"):
        scene.put(name, f"{name} 1")
    scene.put("run.sh", "#!/bin/sh\n", 0o755)
    scene.put(".gitignore", "*.tmp\nout/\n")
    scene.put("d/.gitignore", "*.log\n")
    scene.put("x.tmp")
    scene.put("out/big.bin", "built")
    scene.put(".env", "secret")
    scene.link("link", "a")
    scene.taken()
    scene.settle()
    return scene


def git_index(scene: GitScene, *args: str) -> str:
    """What git says of the project's private index."""
    gitdir = scene.path / "worktrees" / scene.project.id
    index = scene.path / "indexes" / scene.project.id
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_INDEX_FILE": str(index)}
    command = ["git", "--git-dir", str(gitdir), "--work-tree", str(scene.root), *args]
    done = subprocess.run(command, cwd=scene.root, env=env, check=True, capture_output=True)
    return done.stdout.decode()


# ------------------------------------------------------------------ what it sees


def edit(scene: GitScene) -> None:
    scene.put("d/e/a", "2")


def edit_same_size(scene: GitScene) -> None:
    before = os.stat(scene.root / "b")
    with open(scene.root / "b", "r+b") as file:
        file.write(b"X")
    os.utime(scene.root / "b", ns=(before.st_atime_ns, before.st_mtime_ns))


def edit_several(scene: GitScene) -> None:
    for name in ("a", "d/a", "d/e/b"):
        scene.put(name, "several")


def make_executable(scene: GitScene) -> None:
    os.chmod(scene.root / "a", 0o755)


def make_private(scene: GitScene) -> None:
    os.chmod(scene.root / "a", 0o600)


def empty(scene: GitScene) -> None:
    scene.put("d/a", "")


def touch(scene: GitScene) -> None:
    os.utime(scene.root / "d/a", (1, 1))


@pytest.mark.parametrize(
    "change",
    [edit, edit_same_size, edit_several, make_executable, make_private, empty, touch],
)
def test_contents_and_modes(scene: GitScene, change: Callable[[GitScene], None]) -> None:
    """Changed contents cost no child; git agrees with the index that has them, later."""
    change(scene)
    with children() as started:
        seen = scene.observe()
    assert started == []
    assert seen.tree == from_nothing(scene, ".env")
    assert seen.modes == ({"a": 0o600} if change is make_private else {})
    assert scene.observe() == seen
    for path, state in scene.store.entries(scene.project, seen.tree).items():
        assert scene.observe(path).named == {path: state}
    scene.put("new", "for which git is asked")
    seen = scene.observe()
    assert seen.tree == from_nothing(scene, ".env")
    assert git_index(scene, "write-tree").strip() == seen.tree
    staged = git_index(scene, "ls-files", "--stage", "-z")
    git_index(scene, "update-index", "-q", "--really-refresh")
    assert git_index(scene, "ls-files", "--stage", "-z") == staged
    assert git_index(scene, "diff-files") == ""
    scene.fsck()


def test_what_it_leaves_out_stays_a_gap(scene: GitScene) -> None:
    """Files that are in no index are judged each time, and taken in when they may be."""
    assert [(gap.path, gap.reason) for gap in scene.observe().gaps] == [(".env", GapReason.SECRET)]
    scene.put("big", b"x" * (11 << 20))
    scene.settle()
    assert {gap.path for gap in scene.observe().gaps} == {".env", "big"}
    with open(scene.root / "big", "r+b") as file:
        file.truncate(3)
    seen = scene.observe()
    assert {gap.path for gap in seen.gaps} == {".env"}
    assert seen.tree == from_nothing(scene, ".env")


def test_a_file_that_turns_secret_is_left_out(scene: GitScene) -> None:
    """What may not be recorded by its first line is opened here too."""
    scene.put("a", "-----BEGIN RSA PRIVATE KEY-----\n")
    seen = scene.observe()
    assert "a" in {gap.path for gap in seen.gaps}
    assert "a" not in scene.store.entries(scene.project, seen.tree)


# ------------------------------------------------------------------ what it leaves to git


def add(scene: GitScene) -> None:
    scene.put("d/e/new", "1")


def add_below_new_directory(scene: GitScene) -> None:
    scene.put("n/m/new", "1")


def remove(scene: GitScene) -> None:
    scene.remove("d/a")


def rename(scene: GitScene) -> None:
    (scene.root / "a").rename(scene.root / "d/z")


def replace_by_link(scene: GitScene) -> None:
    scene.remove("d/e/a")
    scene.link("d/e/a", "b")


def replace_directory_by_link(scene: GitScene) -> None:
    (scene.root / "d/e").rename(scene.root / "elsewhere")
    scene.link("d/e", "../elsewhere")


def replace_directory_by_file(scene: GitScene) -> None:
    scene.remove("d/e")
    scene.put("d/e", "a file now")


def change_rules(scene: GitScene) -> None:
    scene.put(".gitignore", "d/e/\n")


def change_inner_rules(scene: GitScene) -> None:
    scene.put("d/.gitignore", "a\n")


def show_more(scene: GitScene) -> None:
    scene.put(".gitignore", "")


def remove_rules(scene: GitScene) -> None:
    scene.remove("d/.gitignore")


def all_at_once(scene: GitScene) -> None:
    for change in (edit, make_executable, add, rename, change_inner_rules):
        change(scene)


@pytest.mark.parametrize(
    "change",
    [
        *(add, add_below_new_directory, remove, rename, replace_by_link, all_at_once),
        *(replace_directory_by_link, replace_directory_by_file, change_rules),
        *(change_inner_rules, show_more, remove_rules),
    ],
)
def test_names_and_rules(scene: GitScene, change: Callable[[GitScene], None]) -> None:
    """Names that come and go, and rules that change, are seen by git."""
    change(scene)
    seen = scene.observe()
    assert seen.tree == from_nothing(scene, ".env")
    scene.settle()
    assert scene.observe() == seen


def test_a_directory_becomes_a_repository(scene: GitScene) -> None:
    """It is one as soon as anything in it changes; until then its files are held as before."""
    scene.nested("d/e")
    scene.settle()
    scene.put("d/e/a", "not the outer project's")
    seen = scene.observe()
    assert "d/e" in {gap.path for gap in seen.gaps}


def test_a_file_that_cannot_be_looked_at_is_left_to_git(
    scene: GitScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.lstat

    def barred(path: str, **options: int) -> os.stat_result:
        if str(path).endswith("/d/e/a"):
            raise PermissionError(13, "no")
        return real(path, **options)

    monkeypatch.setattr(os, "lstat", barred)
    with children() as started:
        scene.observe()
    assert len(started) == 1


def test_a_busy_program_leaves_the_look_to_git(
    scene: GitScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where each `lstat` waits for the interpreter's lock, one child is quicker."""
    now = time.perf_counter()
    ticks = iter(range(10**6))
    monkeypatch.setattr(glance.time, "perf_counter", lambda: now + 0.005 * next(ticks))
    with children() as started:
        scene.observe()
    assert [" status " in command for command in started] == [True]


def test_many_changes_are_left_to_git(scene: GitScene) -> None:
    for number in range(60):
        scene.put(f"f{number}", "1")
    scene.settle()
    for number in range(60):
        scene.put(f"f{number}", "2")
    with children() as started:
        seen = scene.observe()
    assert started
    assert seen.tree == from_nothing(scene, ".env")


# ------------------------------------------------------------------ what it may not hide


@pytest.mark.parametrize("what", ["commit", "tree"])
def test_a_lost_state_is_noticed(scene: GitScene, what: str) -> None:
    """That nothing changed is no comfort if what it has not changed from is gone."""
    tip = scene.tip()
    lost = tip if what == "commit" else scene.git("rev-parse", f"{tip}^{{tree}}").strip()
    (scene.path / "objects" / lost[:2] / lost[2:]).unlink()
    with children() as started:
        try:
            scene.capture()
        except CaptureFailed:
            pass
    assert started


def test_a_packed_state_is_trusted_while_the_packs_stay(scene: GitScene) -> None:
    scene.put("a", "2")
    scene.taken()
    scene.store.compact(full=True)
    scene.settle()
    run_git("--git-dir", str(scene.path), "repack", "-adq")
    with children() as started:
        scene.observe()
    assert started
    scene.settle()


def test_a_change_within_a_tick_of_the_look(scene: GitScene) -> None:
    """Same size, same times: what was read right after a change may have changed once more."""
    for number in range(100):
        scene.put("a", f"{number:03}")
        scene.observe()
        scene.put("a", f"{number:03}"[::-1])
        assert scene.observe().tree == from_nothing(scene, ".env"), number


def test_random_edits_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways are taken in one run, and agree with git from nothing each time."""
    real, told = glance.Known.rows, []

    def rows(self: glance.Known, root: str, looked: int) -> list[tuple[str, bool]] | None:
        found = real(self, root, looked)
        told.append(found is not None and any(tracked for _, tracked in found))
        return found

    monkeypatch.setattr(glance.Known, "rows", rows)
    drive(GitScene(tmp_path), seed=5, rounds=60)
    assert told.count(True) > 5
    assert told.count(False) > 5


def test_another_program_adds_what_we_leave_out(scene: GitScene) -> None:
    """The host's own feature may write to the same index: the rules hold for what it put there."""
    scene.put("key", "-----BEGIN RSA PRIVATE KEY-----\n")
    scene.put("a", "waits beside the index")
    scene.observe()
    git_index(scene, "add", "--all", "--force")
    seen = scene.observe()
    assert {"key", ".env"} <= {gap.path for gap in seen.gaps}
    assert seen.tree == from_nothing(scene, "key", ".env")


# ------------------------------------------------------------------ killed


_STEPS = ("open", "write", "rename", "replace", "unlink", "utime", "makedirs")


def _dies_at(step: int, work: Callable[[], object]) -> bool:
    """Do something in a child that dies at its n-th file operation; whether it did."""
    pid = os.fork()
    if not pid:
        done = 0

        def counted(real: Callable[..., object]) -> Callable[..., object]:
            def one(*args: object, **options: object) -> object:
                nonlocal done
                done += 1
                if done == step:
                    os._exit(7)
                return real(*args, **options)

            return one

        for name in _STEPS:
            setattr(os, name, counted(getattr(os, name)))
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status in (0, 7), "the capture failed instead of dying"
    return status == 7


@pytest.mark.long
@pytest.mark.parametrize("new", [False, True], ids=["contents", "names"])
@pytest.mark.parametrize("most", [2_000, 0], ids=["small", "large"])
def test_killed_at_every_step(
    most: int, new: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever waits beside the index when a process dies, the next one sees what is there."""
    monkeypatch.setattr(glance, "MOST_FILES", most)
    monkeypatch.setattr(scan, "MOST_FILES", most)
    died, step = True, 0
    while died:
        step += 1
        scene = GitScene(tmp_path / f"{step}")
        for name in ("a", "b", "d/a", "d/e/a"):
            scene.put(name, name)
        scene.taken()
        if most:
            scene.settle()
        scene.put("a", "waits")
        scene.taken()
        scene.put("d/e/a", "XX")
        scene.put("b", "Y")
        if new:
            scene.put("new", "Z")
        died = _dies_at(step, scene.capture)
        scene = scene.again()
        assert scene.observe().tree == from_nothing(scene), f"step {step}"
        scene.capture()
        held = scene.holds(scene.store.get(scene.project, scene.ids()[0]))
        assert (held["a"], held["b"], held["d/e/a"]) == (b"waits", b"Y", b"XX"), f"step {step}"
        scene.put("b", "again")
        assert scene.observe().tree == from_nothing(scene), f"step {step}"
        scene.fsck()
    assert step > 30
