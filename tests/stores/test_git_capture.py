"""How the git store records: what git thinks of it, what it costs, what it leaves alone."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from hermes_checkpoints.config import VIBEOS
from hermes_checkpoints.errors import StoreUnavailable
from hermes_checkpoints.excludes import CaptureRules
from hermes_checkpoints.records import content_id
from hermes_checkpoints.stores.git import glance, scan
from hermes_checkpoints.stores.git.untracked import Untracked
from hermes_checkpoints.testing.contract import ODD_NAMES, raises, reasons
from tests.stores.kit import GitScene, as_nobody, children, public_place, run_git

# ------------------------------------------------------------------ what git thinks of it


def fill(scene: GitScene, count: int = 120) -> None:
    for number in range(count):
        scene.put(f"d{number % 7}/e{number % 3}/f{number}", os.urandom(number * 40))
    for name in ODD_NAMES[:-1]:  # `git~1` is what --strict is strict about
        scene.put(b"odd/" + name, name)
    scene.put("run", "#!/bin/sh\n", 0o755)
    scene.link("link", "d0")
    scene.nested("n")


def test_a_first_snapshot_is_one_sound_pack(tmp_path: Path) -> None:
    """The pack of a first snapshot passes `index-pack --strict` and holds what git would add."""
    scene = GitScene(tmp_path)
    fill(scene)
    made = scene.taken()
    (pack,) = (scene.path / "objects/pack").glob("*.pack")
    done = run_git("index-pack", "--strict", "-o", str(tmp_path / "idx"), str(pack))
    assert done.returncode == 0
    assert (tmp_path / "idx").read_bytes() == pack.with_suffix(".idx").read_bytes()
    scene.fsck()
    env_index = tmp_path / "plain-index"
    plain = ("--git-dir", str(scene.path), "--work-tree", str(scene.root))
    tree = _tree_of_git_add(scene, env_index, plain)
    mine = scene.git("ls-tree", "-r", "-z", made.tree).split("\0")
    assert {line for line in mine if not line.startswith("160000")} == set(tree.split("\0"))


def _tree_of_git_add(scene: GitScene, index: Path, plain: tuple[str, ...]) -> str:
    """What `git add -A` makes of the project, its nested repository left out."""
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_INDEX_FILE": str(index)}
    options = ("-c", "core.bare=false", "-c", "core.protectNTFS=false")

    def git(*args: str) -> bytes:
        command = ["git", *plain, *options, *args]
        done = subprocess.run(command, cwd=scene.root, env=env, check=True, capture_output=True)
        return done.stdout

    git("add", "-A", ":!n")
    tree = git("write-tree").decode().strip()
    return git("ls-tree", "-r", "-z", tree).decode("utf-8", "surrogateescape")


def test_the_first_index_is_gits(tmp_path: Path) -> None:
    """The index of a first snapshot is one that git takes without reading a single file."""
    scene = GitScene(tmp_path)
    fill(scene)
    for here, _, names in os.walk(scene.root):
        for name in names:
            if not os.path.islink(os.path.join(here, name)):
                os.utime(os.path.join(here, name), (1, 1))
    made = scene.taken()
    with children() as started:
        assert scene.capture() is None
    assert len(started) == 1
    assert scene.store.list(scene.project)[0].tree == made.tree


def test_everything_written_is_sound(tmp_path: Path) -> None:
    """After captures, supplements, pins and drops, `fsck` has nothing to say."""
    scene = GitScene(tmp_path)
    scene.put(".gitignore", "ignored\n")
    scene.put("ignored", "1")
    ids = []
    for number in range(4):
        scene.put("d/a", f"{number}")
        ids.append(scene.taken(named=["ignored"] if number == 1 else ()).id)
    scene.put("d/a", "person's")
    with scene.store.lock(scene.project):
        seen = scene.observe("d/a", "ignored", scan=False)
        assert scene.store.supplement(scene.project, ids[-1], seen)
    scene.store.pin(scene.project, ids[0], "label")
    scene.store.drop(scene.project, ids[:2])
    scene.store.compact(full=True)
    scene.fsck()
    assert scene.store.verify(read_data=True) == []


def test_the_list_can_be_made_anew(tmp_path: Path) -> None:
    """Without its catalogue the list is read from the commits, the same to the last field."""
    scene = GitScene(tmp_path)
    scene.put(".gitignore", "ignored\n")
    scene.put("ignored", "1", 0o600)
    scene.put(".env", "s")
    ids = []
    for number in range(5):
        scene.put("a", f"{number}\n")
        named = ["ignored"] if number == 3 else ()
        ids.append(scene.taken(f"r{number}", named=named, labels={"Turn": str(number)}).id)
    scene.put("a", "person's", 0o600)
    with scene.store.lock(scene.project):
        scene.store.supplement(scene.project, ids[-1], scene.observe("a", scan=False))
    scene.store.pin(scene.project, ids[1], "p")
    scene.store.drop(scene.project, [ids[0], ids[1], ids[2]])
    before = scene.store.list(scene.project)
    assert [one.id for one in before] == [ids[4], ids[3], ids[1]]
    (scene.path / "catalogue" / f"{scene.project.id}.json").unlink()
    assert scene.again().store.list(scene.project) == before


def test_gitpython_is_used(tmp_path: Path) -> None:
    """Contents and history are read through GitPython, with our environment and options."""
    scene = GitScene(tmp_path)
    scene.put("a", "1")
    scene.taken()
    with children() as started:
        assert list(scene.store.read(scene.project, [content_id(b"1")])) == [b"1"]
    assert "git" in sys.modules
    assert len(started) == 1 and "core.hooksPath=/dev/null" in started[0]
    assert "cat-file --batch" in started[0]


def test_a_capture_does_not_import_gitpython(tmp_path: Path) -> None:
    """Its 55 ms are paid by whoever reads contents or a stale list, not by a tool call."""
    program = (
        "import sys; sys.path[:0] = sys.argv[2:]\n"
        "from pathlib import Path; from tests.stores.kit import GitScene\n"
        "scene = GitScene(Path(sys.argv[1])); scene.put('a', '1'); scene.taken()\n"
        "scene.capture(); scene.ids(); sys.exit('git' in sys.modules)"
    )
    words = [str(tmp_path), str(Path(__file__).parents[2]), *sys.path]
    subprocess.run([sys.executable, "-c", program, *words], check=True)


def test_no_child_outlives_a_call(tmp_path: Path) -> None:
    """Nothing is left running after a read, even one that was broken off."""
    scene = GitScene(tmp_path)
    scene.put("a", "1")
    scene.taken()
    reading = scene.store.read(scene.project, [content_id(b"1")] * 3)
    next(reading)
    reading.close()  # type: ignore[attr-defined]
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


# ------------------------------------------------------------------ what it costs


@pytest.mark.parametrize(
    ("most", "still", "one", "new"), [(2_000, 0, 1, 2), (0, 1, 2, 2)], ids=["small", "large"]
)
def test_children_per_capture(
    most: int, still: int, one: int, new: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a capture costs in a small project, and in a large one, which is left to git.

    The first change after a first snapshot, which is a pack, reads its trees by a child.
    """
    monkeypatch.setattr(glance, "MOST_FILES", most)
    scene = GitScene(tmp_path)
    for number in range(60):
        scene.put(f"d/f{number}", "1")
    scene.put("d/odd", "1", 0o600)
    scene.nested("n")
    scene.put(".env", "s")
    scene.taken()
    cost = {}
    if most:
        scene.settle()
    with children() as started:
        assert scene.capture() is None
    cost["nothing"] = len(started)
    scene.put("d/f1", "changed")
    with children() as started:
        scene.taken()
    cost["one"] = len(started)
    scene.put("d/new", "1")
    with children() as started:
        scene.taken(named=["d/new"])
    cost["new"] = len(started)
    for number in range(60):
        scene.put(f"d/f{number}", "changed again")
    with children() as started:
        scene.taken()
    cost["many"] = len(started)
    scene.store.list(scene.project)
    with children() as started:
        scene.store.list(scene.project)
        scene.store.get(scene.project, scene.ids()[0])
        scene.again().store.list(scene.project)
    cost["list"] = len(started)
    with children() as started:
        scene.observe("d/f2", "missing", scan=False)
    cost["named only"] = len(started)
    assert cost == {
        "nothing": still,
        "one": one,
        "new": new,
        "many": 3,
        "list": 0,
        "named only": 0,
    }


def test_content_is_read_only_where_something_changed(tmp_path: Path) -> None:
    """A second look at an unchanged tree opens no file of the project."""
    scene = GitScene(tmp_path)
    for number in range(60):
        scene.put(f"f{number}", "1")
        os.utime(scene.root / f"f{number}", (1, 1))
    scene.taken()
    opened = []

    def hook(event: str, args: Any) -> None:
        if event == "open" and str(args[0]).startswith(str(scene.root)):
            opened.append(args[0])

    sys.addaudithook(hook)
    scene.capture()
    assert opened == []


@pytest.mark.parametrize("mode", [0o644, 0o664], ids=oct)
def test_metadata_does_not_grow_with_the_tree(mode: int, tmp_path: Path) -> None:
    """What is kept beside the contents does not grow by the size of the tree with each capture."""
    scene = GitScene(tmp_path)
    for number in range(300):
        scene.put(f"f{number}", "1", mode)

    def room() -> int:
        files = [path for path in scene.base.rglob("*") if path.is_file()]
        return sum(path.stat().st_size for path in files if "worktrees" not in path.parts)

    sizes = []
    for number in range(21):
        scene.put("f0", f"{number}")
        assert len(scene.taken().modes) == (300 if mode == 0o664 else 0)
        sizes.append(room())
    assert (sizes[-1] - sizes[0]) / 20 < 12_000
    meta = scene.git("ls-tree", f"refs/hermes-meta/{scene.project.id}").splitlines()
    assert len(meta) == 21 and len({line.split()[2] for line in meta}) == 1


# ------------------------------------------------------------------ what it leaves alone


def test_nothing_of_the_users_git_is_read_or_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs planted in global, project, nested and environment configuration never run."""
    mark = tmp_path / "ran"
    program = f"touch {mark}; false"
    home = tmp_path / "home"
    home.mkdir()
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("pre-commit", "post-commit", "post-index-change", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\n{program}\n")
        (hooks / name).chmod(0o755)
    text = (
        f"[core]\n\tfsmonitor = {program}\n\thooksPath = {hooks}\n\texcludesFile = {home}/ignore\n"
        f"[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = {program}\n"
    )
    (home / ".gitconfig").write_text(text)
    (home / "ignore").write_text("*.txt\n")
    scene = GitScene(tmp_path)
    scene.put("a.txt", "1")
    for directory in (scene.root, scene.root / "n"):
        directory.mkdir(exist_ok=True)
        run_git("init", "-q", cwd=directory)
        (directory / ".git/config").write_text(text)
        (directory / ".git/info/exclude").write_text("*.txt\n")
        (directory / "inner").write_text("x")
    run_git("-c", "core.fsmonitor=false", "add", "a.txt", "inner", cwd=scene.root, check=False)
    for path in mark.parent.glob("ran"):
        path.unlink()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_DIR", str(scene.root / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(scene.root / ".git/index"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", program)
    before = _bytes_below(scene.root)
    made = scene.taken(named=["n", "a.txt", ".git/config"])
    scene.put("a.txt", "2")
    before["a.txt"] = b"2"
    second = scene.taken()
    scene.store.diff(scene.project, made.tree, second.tree)
    scene.store.match(["a.txt"], ["*.txt"])
    list(scene.store.read(scene.project, [content_id(b"1")]))
    scene.store.verify(read_data=True, fix=True)
    scene.store.would_free({scene.project.id: [made.id]})
    scene.store.drop(scene.project, [made.id])
    scene.store.compact(full=True)
    scene.store.forget_path(scene.project, "inner")
    assert not mark.exists()
    assert _bytes_below(scene.root) == before
    assert "a.txt" in scene.holds(scene.store.list(scene.project)[0])


def _bytes_below(top: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(top)): path.read_bytes()
        for path in top.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def test_the_store_is_private(tmp_path: Path) -> None:
    """Directories are 0700 and files at most 0600, whatever the umask."""
    for umask in (0o000, 0o022, 0o077):
        scene = GitScene(tmp_path / f"{umask:o}")
        old = os.umask(umask)
        try:
            fill(scene)
            scene.taken()
            scene.put("a", "changed")
            scene.taken()
            scene.store.compact(full=True)
        finally:
            os.umask(old)
        for path in (scene.base, *scene.base.rglob("*")):
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_a_store_inside_the_project_does_not_snapshot_itself(tmp_path: Path) -> None:
    """A base below the project's root is in no checkpoint."""
    scene = GitScene(tmp_path)
    scene = GitScene(scene.root, ".")
    scene.put("a", "1")
    made = scene.taken()
    assert sorted(scene.holds(made)) == ["a"]
    assert scene.capture() is None


def test_namespaces(tmp_path: Path) -> None:
    """Another host's refs are under its own name."""
    scene = GitScene(tmp_path, host=VIBEOS)
    scene.put("a", "1")
    scene.taken()
    refs = scene.git("for-each-ref", "--format=%(refname)").split()
    assert f"refs/vibeos/{scene.project.id}" in refs
    assert all(ref.startswith("refs/vibeos") for ref in refs)


# ------------------------------------------------------------------ exclude files


def test_excludes_of_an_existing_store_are_brought_up_to_date(tmp_path: Path) -> None:
    """The managed block is renewed, a person's own lines stay, and what it covers leaves."""
    scene = GitScene(tmp_path)
    scene.put("a.mine", "1")
    scene.put("node_modules/x", "1")
    scene.put("build/b", "1")
    scene.taken()
    exclude = scene.path / "info/exclude"
    exclude.write_text("dist/\nbuild/\n*.log\n# my own\n*.mine\n")
    again = scene.again()
    assert sorted(again.holds(again.taken())) == ["build/b"]
    text = exclude.read_text()
    assert text.endswith("# my own\n*.mine\n") and text.count("node_modules/\n") == 1
    assert "\nbuild/\n" not in text
    assert scene.again().capture() is None
    assert exclude.read_text() == text


# ------------------------------------------------------------------ trouble


def test_unreadable_files_and_directories(tmp_path: Path) -> None:
    """What can't be read or entered is a gap, also if it was captured before; never a deletion."""
    with public_place() as place:

        def act() -> Any:
            scene = GitScene(place)
            for path in ("a", "s", "d/x", "d/y/z", "e/f"):
                scene.put(path, path)
            first = scene.taken()
            (scene.root / "s").chmod(0)
            scene.put("new", "secret", 0)
            (scene.root / "d").chmod(0)
            (scene.root / "e").chmod(0o444)
            scene.put("a", "2")
            made = scene.taken()
            gaps = {path: reason.value for path, reason in reasons(made.gaps).items()}
            idle = scene.capture() is None
            for path, mode in (("s", 0o644), ("new", 0o644), ("d", 0o755), ("e", 0o755)):
                (scene.root / path).chmod(mode)
            last = scene.taken()
            held = [sorted(scene.holds(one)) for one in (first, made, last)]
            return [held, gaps, idle, last.gaps == ()]

        held, gaps, idle, well = as_nobody(place, act)
    assert held[0] == ["a", "d/x", "d/y/z", "e/f", "s"]
    assert set(held[1]) == {"a", "s"} or set(held[1]) == {"a"}
    assert set(gaps) >= {"d", "new"} and set(gaps.values()) == {"unreadable"}
    assert "e" in gaps or "e/f" in gaps
    assert idle and well and held[2] == ["a", "d/x", "d/y/z", "e/f", "new", "s"]


def test_first_snapshot_with_unreadable_files(tmp_path: Path) -> None:
    """An unreadable file among many costs only itself."""
    with public_place() as place:

        def act() -> Any:
            scene = GitScene(place)
            for number in range(60):
                scene.put(f"f{number}", f"{number}")
            scene.put("s", "secret", 0)
            scene.put("d/x", "x")
            (scene.root / "d").chmod(0)
            made = scene.taken()
            (scene.root / "d").chmod(0o755)
            return [len(scene.holds(made)), sorted(reasons(made.gaps))]

        assert as_nobody(place, act) == [60, ["d", "s"]]


def test_files_that_come_and_go(tmp_path: Path) -> None:
    """Captures beside a process that makes and removes files all succeed."""
    scene = GitScene(tmp_path)
    for number in range(200):
        scene.put(f"d{number % 10}/f{number}", f"{number}")
    scene.taken()
    stop = threading.Event()

    def churn() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            path = scene.root / f"d{number % 10}/t{number % 40}"
            path.write_bytes(b"t" * (number % 5000))
            other = scene.root / f"d{(number + 3) % 10}/t{(number + 3) % 40}"
            other.unlink(missing_ok=True)

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for number in range(15):
            scene.put("d1/f1", f"v{number}")
            assert scene.holds(scene.taken())["d1/f1"] == f"v{number}".encode()
    finally:
        stop.set()
        thread.join()
    scene.fsck()


def test_a_file_git_refuses_is_a_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When staging fails, the culprit is found by halving and the rest is captured."""
    scene = GitScene(tmp_path)
    for number in range(9):
        scene.put(f"f{number}", "1")
    scene.taken()
    for number in range(9):
        scene.put(f"f{number}", "changed")
    scene.put("new", "1")  # else git would not be asked
    from hermes_checkpoints.stores.git.judge import Judge

    real = Judge.open_each

    def spoil(self: Judge, work: Any) -> None:
        real(self, work)
        (scene.root / "f4").unlink(missing_ok=True)
        os.mkfifo(scene.root / "f4")

    monkeypatch.setattr(Judge, "open_each", spoil)
    made = scene.taken()
    assert sorted(scene.holds(made)) == [*(f"f{n}" for n in range(9) if n != 4), "new"]
    assert "f4" in reasons(made.gaps)


def test_no_git_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without git there is one clear sentence, and what is listed stays listed."""
    scene = GitScene(tmp_path)
    scene.put("a", "1")
    scene.taken()
    scene.store.list(scene.project)
    monkeypatch.setenv("PATH", str(tmp_path))
    again = scene.again()
    error = raises(StoreUnavailable, again.observe)
    assert "no git on PATH" in str(error) and error.hint  # type: ignore[attr-defined]
    assert len(again.ids()) == 1


def test_a_store_that_is_a_file(tmp_path: Path) -> None:
    """A file in the store's place is named, and nothing is changed."""
    scene = GitScene(tmp_path)
    scene.base.mkdir()
    scene.path.write_text("mine")
    for action in (scene.observe, scene.ids, scene.store.projects):
        error = raises(StoreUnavailable, action)
        assert str(scene.path) in str(error) and error.hint  # type: ignore[attr-defined]
    assert scene.path.read_text() == "mine"


def test_a_store_that_cannot_be_written(tmp_path: Path) -> None:
    """A read-only base is one clear sentence, not an `OSError`."""
    with public_place() as place:

        def act() -> Any:
            scene = GitScene(place)
            scene.put("a", "1")
            scene.base.mkdir()
            scene.base.chmod(0o500)
            error = raises(StoreUnavailable, scene.taken)
            scene.base.chmod(0o700)
            made = scene.taken()
            objects = scene.path / "objects"
            for directory in (objects, *(p for p in objects.rglob("*") if p.is_dir())):
                directory.chmod(0o500)
            scene.put("a", "2")
            try:
                scene.taken()
                later = "no error"
            except Exception as second:
                later = type(second).__name__
            for directory in (objects, *(p for p in objects.rglob("*") if p.is_dir())):
                directory.chmod(0o700)
            return [str(error), later, scene.ids() == [made.id]]

        words, later, same = as_nobody(place, act)
    assert "cannot be used" in words and same
    assert later in ("StoreUnavailable", "CaptureFailed", "StoreError")


def test_v1_repositories_move_aside(tmp_path: Path) -> None:
    """One-repository-per-project directories are moved unaltered, and stay readable by git."""
    scene = GitScene(tmp_path)
    scene.base.mkdir()
    old = scene.base / "0123456789abcdef"
    run_git("init", "-q", "--bare", str(old))
    (old / "HERMES_WORKDIR").write_text("/somewhere\n")
    (scene.base / "notes").mkdir()
    scene.put("a", "1")
    scene.taken()
    (archive,) = scene.base.glob("legacy-*")
    assert (archive / old.name / "HERMES_WORKDIR").read_text() == "/somewhere\n"
    assert run_git("--git-dir", str(archive / old.name), "fsck").returncode == 0
    assert not old.exists() and (scene.base / "notes").is_dir()
    size = scene.store.size()
    assert size.legacy.keys() == {archive.name} and size.total > size.store


def test_many_modes_are_many_entries(tmp_path: Path) -> None:
    """Under umask 002 every file's mode is remembered and comes back."""
    scene = GitScene(tmp_path)
    for number in range(60):
        scene.put(f"f{number}", "1", 0o664)
    made = scene.taken()
    assert dict(made.modes) == {f"f{number}": 0o664 for number in range(60)}
    assert scene.capture() is None
    assert dict(scene.again().store.list(scene.project)[0].modes) == dict(made.modes)


def test_rules_that_get_stricter(tmp_path: Path) -> None:
    """A smaller cap and a stricter rule on secrets reach what was captured before."""
    scene = GitScene(tmp_path)
    scene.put("big", b"x" * 500)
    scene.put("server.pem", "k")
    scene.put("a", "1")
    always = CaptureRules(secrets="always")
    assert set(scene.holds(scene.taken(rules=always))) == {"big", "server.pem", "a"}
    made = scene.taken(rules=CaptureRules(max_file_bytes=100))
    assert set(scene.holds(made)) == {"a"}
    assert set(reasons(made.gaps)) == {"big", "server.pem"}


def test_bulk_threshold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The same project gives the same tree, file by file and in bulk."""
    trees = []
    for number, many in enumerate((0, 10_000)):
        monkeypatch.setattr(scan, "MANY", many)
        scene = GitScene(tmp_path / str(number))
        for name in range(100):
            scene.put(f"d{name % 9}/f{name}", f"{name}")
        scene.put("d-x", "sorts between")
        scene.put("d0.x", "too")
        first = scene.taken().tree
        for name in range(0, 100, 2):
            scene.put(f"d{name % 9}/f{name}", "changed")
        trees.append((first, scene.taken().tree))
        scene.fsck()
    assert trees[0] == trees[1]


def test_ignore_files_are_found_without_an_untracked_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where git keeps no such cache, ignore files that ignore themselves are looked for."""
    monkeypatch.setattr(Untracked, "of", lambda _: None)
    scene = GitScene(tmp_path)
    scene.put(".gitignore", "build/\n")
    scene.put("out/.gitignore", "*\n")
    scene.put("build/.gitignore", "*\n")
    scene.put("node_modules/.gitignore", "*\n")
    scene.nested("inner")
    scene.put("inner/.gitignore", "*\n")
    held = [".gitignore", "out/.gitignore"]
    assert sorted(scene.holds(scene.taken())) == held
    scene.put("later/.gitignore", "*\n")
    scene.put("a", "1")
    assert sorted(scene.holds(scene.taken())) == [".gitignore", "a", "later/.gitignore", held[1]]


@pytest.mark.parametrize("most", [0, 2_000], ids=["large", "small"])
def test_a_directory_that_changes_twice_in_a_second(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that comes after git has read its directory, in the same second, is not overlooked.

    Git compares whole seconds, and trusts what it knows of a directory if its index was written in
    a later one; here it is made to seem so. It overlooks the name until the directory changes.
    """
    monkeypatch.setattr(glance, "MOST_FILES", most)
    monkeypatch.setattr(scan, "MOST_FILES", most)
    scene = GitScene(tmp_path)
    scene.put(".gitignore", "*.tmp\n")
    scene.put("d/a", "1")
    scene.taken()
    index = scene.path / "indexes" / scene.project.id
    state = scene.path / "worktrees" / scene.project.id / "state.json"
    for number in range(20):
        scene.put(f"d/{number}.tmp")
        scene.observe()
        scene.put(f"d/new{number}", "1")
        written = index.stat()
        later = written.st_mtime_ns + 10**9
        if (scene.root / "d").stat().st_mtime_ns // 10**9 != written.st_mtime_ns // 10**9:
            continue  # the second was over
        os.utime(index, ns=(later, later))
        known = json.loads(state.read_text())
        known["index"][2] = later
        state.write_text(json.dumps(known))
        seen = scene.observe()
        assert f"d/new{number}" in scene.store.entries(scene.project, seen.tree)
        return
    raise AssertionError("no second is long enough")
