"""What a store must do, as tests: subclass `StoreContract`, say how to make your store, run pytest.

    from hermes_checkpoints.testing import StoreContract

    class TestMyStore(StoreContract):
        def make_store(self, place):
            return MyStore(place / "store")

Owns the contract of `hermes_checkpoints.stores.base` as executable sentences. Needs no pytest to be
imported: the methods are plain functions that take a directory of their own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest import SkipTest

from hermes_checkpoints.errors import (
    CaptureFailed,
    CheckpointNotFound,
    SelectionError,
    StoreBusy,
    StoreError,
)
from hermes_checkpoints.excludes import CaptureRules
from hermes_checkpoints.project import project_at
from hermes_checkpoints.records import Checkpoint, GapReason, Project, content_id
from hermes_checkpoints.stores.base import Observation, Store

__all__ = ["StoreContract"]

RULES = CaptureRules(max_file_bytes=100_000)
SMALL = CaptureRules(max_file_bytes=100)

ODD_NAMES = (
    b"new\nline",
    b" leading and trailing ",
    b"caf\xe9.txt",
    b"-dash",
    b":colon",
    b"[a]*?.txt",
    b"back\\slash",
    b'quo"te\ttab',
    "ünï.txt".encode(),
    b"git~1",
)


class Scene:
    """One project and one store, with short words for what the tests do to them."""

    def __init__(self, store: Store, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.store, self.root = store, root
        self.project: Project = project_at(root)

    def put(self, path: str | bytes, data: str | bytes = "", mode: int | None = None) -> None:
        target = os.path.join(os.fsencode(self.root), os.fsencode(path))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        if mode is not None:
            os.chmod(target, mode)

    def link(self, path: str, target: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).symlink_to(target)

    def remove(self, path: str) -> None:
        target = self.root / path
        if target.is_dir() and not target.is_symlink():
            for inner in target.iterdir():
                self.remove(f"{path}/{inner.name}")
            target.rmdir()
        else:
            target.unlink()

    def nested(self, path: str, *, commit: bool = True) -> None:
        """Something that is a git repository to anyone who looks."""
        for name in ("objects", "refs/heads"):
            (self.root / path / ".git" / name).mkdir(parents=True)
        self.put(f"{path}/.git/HEAD", "ref: refs/heads/main\n")
        if commit:
            self.put(f"{path}/.git/refs/heads/main", "1" * 40 + "\n")

    def observe(self, *named: str, rules: CaptureRules = RULES, scan: bool = True) -> Observation:
        return self.store.observe(self.project, rules, named=named, scan=scan)

    def capture(
        self,
        reason: str = "before write_file",
        *,
        named: Sequence[str] = (),
        rules: CaptureRules = RULES,
        scan: bool = True,
        labels: dict[str, str] | None = None,
    ) -> Checkpoint | None:
        """Observe and capture in one step, as the manager does."""
        with self.store.lock(self.project):
            seen = self.store.observe(self.project, rules, named=named, scan=scan)
            return self.store.capture(self.project, seen, reason=reason, labels=labels)

    def taken(self, *args: str, **options: object) -> Checkpoint:
        made = self.capture(*args, **options)  # type: ignore[arg-type]
        assert made is not None, "no checkpoint was made"
        return made

    def holds(self, checkpoint: Checkpoint) -> dict[str, bytes]:
        """Every path of a checkpoint with its bytes, nested repositories left out."""
        states = self.store.entries(self.project, checkpoint.tree)
        files = {path: s.content for path, s in states.items() if not s.is_gitlink}
        contents = self.store.read(self.project, files.values())
        return dict(zip(files, contents, strict=True))

    def ids(self) -> list[str]:
        return [one.id for one in self.store.list(self.project)]


def reasons(gaps: Sequence[object] | None) -> dict[str, GapReason]:
    return {gap.path: gap.reason for gap in gaps or ()}  # type: ignore[attr-defined]


def raises(kind: type[Exception], action: Callable[[], object]) -> Exception:
    """The error that `action` must end with."""
    try:
        action()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


class StoreContract:
    """Every sentence that must be true of a store."""

    # ------------------------------------------------------------------ what a subclass says

    def make_store(self, place: Path) -> Store:
        """A new, empty store that keeps what it keeps below `place`."""
        raise NotImplementedError

    def reopen(self, store: Store, place: Path) -> Store:
        """The same store as another process would open it; the default is the same object."""
        return store

    def scene(self, place: Path) -> Scene:
        scene = Scene(self.make_store(place), place / "project")
        self._opened.append(scene.store)
        return scene

    def setup_method(self) -> None:
        """Note what a test opens; pytest calls this."""
        self._opened: list[Store] = []

    def teardown_method(self) -> None:
        """Close what a test opened; pytest calls this."""
        for store in self._opened:
            store.close()

    # ------------------------------------------------------------------ capture

    def test_first_capture_is_listed(self, tmp_path: Path) -> None:
        """The first capture of a project is its only checkpoint, found by id and by beginning."""
        scene = self.scene(tmp_path)
        scene.put("a", "1")
        made = scene.taken("before write_file: a")
        assert scene.ids() == [made.id]
        assert scene.store.get(scene.project, made.id).reason == "before write_file: a"
        assert scene.store.get(scene.project, made.id[:4]).id == made.id
        assert made.gaps == () and made.whole

    def test_unchanged_is_no_checkpoint(self, tmp_path: Path) -> None:
        """Capturing a project in which nothing changed makes no checkpoint."""
        scene = self.scene(tmp_path)
        scene.put("a", "1")
        scene.taken()
        assert scene.capture() is None
        scene.put("a", "1")
        assert scene.capture() is None
        assert len(scene.ids()) == 1

    def test_empty_project(self, tmp_path: Path) -> None:
        """A project without files has a checkpoint without paths."""
        scene = self.scene(tmp_path)
        made = scene.taken()
        assert scene.holds(made) == {}
        assert scene.capture() is None

    def test_bytes_are_exact(self, tmp_path: Path) -> None:
        """What is read back is what was there, whatever a `.gitattributes` says."""
        scene = self.scene(tmp_path)
        files: dict[str, bytes] = {
            ".gitattributes": b"* text=auto\n*.id ident\n"
            b"*.u filter=lfs working-tree-encoding=UTF-16\n",
            "crlf.txt": b"a\r\nb\r\n",
            "x.id": b"$Id: deadbeef $\n",
            "x.u": "hé".encode("utf-16"),
            "binary": bytes(range(256)) * 40,
            "empty": b"",
        }
        for path, data in files.items():
            scene.put(path, data)
        assert scene.holds(scene.taken()) == files

    def test_contents_have_one_identity(self, tmp_path: Path) -> None:
        """A file's content is named by `content_id`, and equal states have equal ids."""
        scene = self.scene(tmp_path)
        scene.put("a", "one")
        with scene.store.lock(scene.project):
            first = scene.observe("a")
            scene.put("a", "two")
            second = scene.observe("a")
            scene.put("a", "one")
            third = scene.observe("a")
        assert first.named["a"] is not None
        assert first.named["a"].content == content_id(b"one")
        assert first.tree == third.tree != second.tree

    def test_odd_names(self, tmp_path: Path) -> None:
        """Every name a file can have here comes back as the same bytes."""
        scene = self.scene(tmp_path)
        for name in ODD_NAMES:
            scene.put(name, name)
            scene.put(b"dir/" + name + b"/" + name, name)
        held = scene.holds(scene.taken())
        for name in ODD_NAMES:
            assert held[os.fsdecode(name)] == name
            assert held[os.fsdecode(b"dir/" + name + b"/" + name)] == name
        assert scene.capture() is None

    def test_links_are_links(self, tmp_path: Path) -> None:
        """A symbolic link is stored as a link and never followed."""
        scene = self.scene(tmp_path)
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "secret.txt").write_text("not ours")
        scene.put("d/f", "1")
        scene.link("to_file", "d/f")
        scene.link("to_dir", "d")
        scene.link("dangling", "nowhere")
        scene.link("out", str(outside))
        made = scene.taken()
        held = scene.holds(made)
        assert held["to_file"] == b"d/f" and held["to_dir"] == b"d"
        assert held["out"] == os.fsencode(str(outside))
        assert not any("secret.txt" in path for path in held)
        states = scene.store.entries(scene.project, made.tree)
        assert all(states[p].is_link for p in ("to_file", "to_dir", "dangling", "out"))
        assert scene.observe("out/secret.txt").named == {"out/secret.txt": None}

    def test_exec_bit(self, tmp_path: Path) -> None:
        """The exec bit is part of a state."""
        scene = self.scene(tmp_path)
        scene.put("run", "#!/bin/sh\n", 0o755)
        first = scene.taken()
        (scene.root / "run").chmod(0o644)
        second = scene.taken()
        states = [scene.store.entries(scene.project, one.tree)["run"] for one in (first, second)]
        assert [oct(state.mode) for state in states] == ["0o100755", "0o100644"]

    def test_odd_modes(self, tmp_path: Path) -> None:
        """Permission bits other than 0644 and 0755 are remembered, and only those."""
        scene = self.scene(tmp_path)
        wanted = {"k": 0o600, "group": 0o664, "ro": 0o444, "x": 0o700}
        for path, mode in wanted.items():
            scene.put(path, path, mode)
        scene.put("usual", "", 0o644)
        scene.put("program", "", 0o755)
        assert dict(scene.taken().modes) == wanted

    def test_chmod_alone_is_a_change(self, tmp_path: Path) -> None:
        """A change of permissions that git would not see makes a checkpoint."""
        scene = self.scene(tmp_path)
        for path in ("a", "b", "c"):
            scene.put(path, path, 0o644)
        scene.taken()
        assert scene.capture() is None
        (scene.root / "b").chmod(0o600)
        assert dict(scene.taken().modes) == {"b": 0o600}
        assert scene.capture() is None
        (scene.root / "b").chmod(0o644)
        assert dict(scene.taken().modes) == {}

    def test_odd_modes_of_directories(self, tmp_path: Path) -> None:
        """Permission bits other than 0755 of directories with files are remembered, too."""
        scene = self.scene(tmp_path)
        for path in ("closed/in/a", "usual/a", "b"):
            scene.put(path, path)
        (scene.root / "usual").chmod(0o755)
        (scene.root / "closed/in").chmod(0o750)
        (scene.root / "closed").chmod(0o700)
        wanted = {"closed/": 0o700, "closed/in/": 0o750}
        assert dict(scene.taken().modes) == wanted
        assert scene.capture() is None
        scene.put("b", "2")
        assert dict(scene.taken().modes) == wanted
        scene.remove("closed")
        scene.put("closed/a", "anew")
        (scene.root / "closed").chmod(0o755)
        assert dict(scene.taken().modes) == {}

    def test_a_named_directory_tells_its_modes(self, tmp_path: Path) -> None:
        """A directory that is named tells its permission bits, whatever an earlier look found."""
        scene = self.scene(tmp_path)
        scene.put("d/in/a", "1")
        for path in ("d", "d/in"):
            (scene.root / path).chmod(0o755)
        scene.taken()
        (scene.root / "d").chmod(0o700)
        assert dict(scene.taken(named=["d"]).modes) == {"d/": 0o700}
        assert scene.capture(named=["d"]) is None

    def test_rules_are_told(self, tmp_path: Path) -> None:
        """A checkpoint tells under which patterns it was taken; with others there is a new one."""
        scene = self.scene(tmp_path)
        scene.put("a", "1")
        assert scene.taken().exclude == RULES.patterns
        assert scene.capture() is None
        rules = CaptureRules(exclude=("data/",))
        assert scene.taken(rules=rules).exclude == rules.patterns
        assert scene.capture(rules=rules) is None

    def test_swaps_of_kind(self, tmp_path: Path) -> None:
        """A path that turns from file to directory to link is what it is each time."""
        scene = self.scene(tmp_path)
        scene.put("x", "file")
        scene.put("y/inner", "deep")
        scene.taken()
        scene.remove("x")
        scene.put("x/inner", "now below")
        scene.remove("y")
        scene.put("y", "now a file")
        assert scene.holds(scene.taken()) == {"x/inner": b"now below", "y": b"now a file"}
        scene.remove("x")
        scene.link("x", "y")
        assert scene.holds(scene.taken()) == {"x": b"y", "y": b"now a file"}
        scene.remove("x")
        assert scene.holds(scene.taken()) == {"y": b"now a file"}

    def test_same_size_edit_in_the_same_moment(self, tmp_path: Path) -> None:
        """An edit of the same size, right after a capture and with the old mtime, is noticed."""
        scene = self.scene(tmp_path)
        for number in range(5):
            scene.put("a", f"{number}")
            scene.taken()
        old = (scene.root / "a").stat().st_atime_ns - 10**10
        for data in "XYZ":
            scene.put("a", data)
            os.utime(scene.root / "a", ns=(old, old))
            assert scene.holds(scene.taken()) == {"a": data.encode()}

    def test_the_project_is_not_touched(self, tmp_path: Path) -> None:
        """Observing and capturing leave every file, time and name of the project as it was."""
        scene = self.scene(tmp_path)
        scene.put("a", "1")
        scene.put("d/b", "2", 0o600)
        scene.link("l", "a")

        def look() -> list[tuple[str, int, int, int]]:
            found = []
            for here, dirs, files in os.walk(scene.root):
                for name in (*dirs, *files):
                    info = os.lstat(os.path.join(here, name))
                    found.append((name, info.st_mode, info.st_mtime_ns, info.st_ctime_ns))
            return sorted(found)

        before = look()
        made = scene.taken(named=["a", "d", "nothing"])
        scene.store.pin(scene.project, made.id, "p")
        scene.store.compact()
        assert look() == before

    # ------------------------------------------------------------------ what stays out

    def test_ignore_files_count(self, tmp_path: Path) -> None:
        """The project's and nested `.gitignore` files decide, deeper ones first."""
        scene = self.scene(tmp_path)
        scene.put(".gitignore", "*.log\n!keep.log\n/top\nbuild/\n")
        scene.put("src/.gitignore", "gen/\n*.gen\n!x.gen\n")
        for path in ("a.log", "keep.log", "top", "src/top", "src/gen/a", "src/y.gen", "src/x.gen"):
            scene.put(path, path)
        scene.put("build/o", "o")
        scene.put("lib/build", "a file")
        held = scene.holds(scene.taken())
        assert sorted(held) == [
            ".gitignore",
            "keep.log",
            "lib/build",
            "src/.gitignore",
            "src/top",
            "src/x.gen",
        ]

    def test_ignore_rules_that_change(self, tmp_path: Path) -> None:
        """What an ignore file covers from now on leaves the tree, and comes back with the file."""
        scene = self.scene(tmp_path)
        scene.put("a.tmp", "1")
        scene.put("b", "1")
        scene.taken()
        scene.put(".gitignore", "*.tmp\n")
        assert sorted(scene.holds(scene.taken())) == [".gitignore", "b"]
        scene.remove(".gitignore")
        assert sorted(scene.holds(scene.taken())) == ["a.tmp", "b"]

    def test_ignore_files_that_ignore_themselves(self, tmp_path: Path) -> None:
        """Every ignore file of a directory that is let in is held, whenever it came."""
        scene = self.scene(tmp_path)
        scene.put("a", "1")
        scene.put("out/.gitignore", "*\n")
        scene.put("out/o", "o")
        assert sorted(scene.holds(scene.taken())) == ["a", "out/.gitignore"]
        assert scene.capture() is None
        scene.put("deep/er/.gitignore", "*\n")
        scene.put("deep/er/o", "o")
        held = ["a", "deep/er/.gitignore", "out/.gitignore"]
        assert sorted(scene.holds(scene.taken())) == held
        scene.put(".gitignore", ".gitignore\ndeep/\n")
        assert sorted(scene.holds(scene.taken())) == [".gitignore", "a", "out/.gitignore"]
        assert scene.capture() is None
        scene.put("out/.gitignore", "*.o\n.gitignore\n")
        made = scene.taken()
        assert scene.holds(made)["out/.gitignore"] == b"*.o\n.gitignore\n"
        assert "out/o" in scene.holds(made)
        scene.remove(".gitignore")
        scene.remove("out/.gitignore")
        assert sorted(scene.holds(scene.taken())) == ["a", "deep/er/.gitignore", "out/o"]

    def test_default_excludes(self, tmp_path: Path) -> None:
        """Dependencies and caches stay out; directories that could be source do not."""
        scene = self.scene(tmp_path)
        for path in ("node_modules/x/i.js", "a/__pycache__/m.pyc", ".venv/bin/python"):
            scene.put(path, "")
        source = ["build/b", "dist/d", "env/e", "out/o", "target/t", "coverage/c", "notes.log"]
        for path in source:
            scene.put(path, path)
        assert sorted(scene.holds(scene.taken())) == sorted(source)

    def test_configured_excludes(self, tmp_path: Path) -> None:
        """Configured patterns stay out, and what they cover later leaves the tree."""
        scene = self.scene(tmp_path)
        scene.put("a.csv", "1")
        scene.put("b", "1")
        scene.taken()
        rules = CaptureRules(exclude=("*.csv",))
        assert sorted(scene.holds(scene.taken(rules=rules))) == ["b"]
        assert sorted(scene.holds(scene.taken())) == ["a.csv", "b"]

    def test_version_control_of_the_project_stays_out(self, tmp_path: Path) -> None:
        """The project's own `.git` is in no checkpoint, be it a directory or a file."""
        scene = self.scene(tmp_path)
        scene.put("a", "1")
        scene.put(".git/config", "[core]\n")
        assert sorted(scene.holds(scene.taken())) == ["a"]
        scene.remove(".git")
        scene.put(".git", "gitdir: elsewhere\n")
        assert scene.capture() is None
        assert reasons(scene.observe(".git/config", ".git").gaps) == {
            ".git": GapReason.UNSUPPORTED_NAME
        }

    def test_large_files_are_gaps(self, tmp_path: Path) -> None:
        """A file over the cap is a gap, and not a byte of it is stored."""
        scene = self.scene(tmp_path)
        scene.put("a", "1")
        scene.put("big", b"x" * 200)
        made = scene.taken(rules=SMALL, named=["big"])
        assert sorted(scene.holds(made)) == ["a"]
        assert reasons(made.gaps) == {"big": GapReason.TOO_LARGE}
        content = content_id(b"x" * 200)
        raises(StoreError, lambda: list(scene.store.read(scene.project, [content])))

    def test_a_file_that_grows(self, tmp_path: Path) -> None:
        """A file that grows over the cap becomes a gap and leaves the tree."""
        scene = self.scene(tmp_path)
        scene.put("a", "1")
        scene.put("f", "small")
        scene.taken(rules=SMALL)
        scene.put("f", b"x" * 200)
        made = scene.taken(rules=SMALL)
        assert sorted(scene.holds(made)) == ["a"]
        assert reasons(made.gaps) == {"f": GapReason.TOO_LARGE}
        scene.put("f", "small again")
        assert scene.taken(rules=SMALL).gaps == ()

    def test_secrets(self, tmp_path: Path) -> None:
        """Secrets are gaps by name and by header, captured when named, unless never."""
        scene = self.scene(tmp_path)
        key = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"
        for path in (".env", ".env.local", "id_rsa", "server.pem"):
            scene.put(path, "s")
        scene.put("deploy", key)
        for path in (".env.example", "id_rsa.pub"):
            scene.put(path, "public")
        made = scene.taken()
        assert sorted(scene.holds(made)) == [".env.example", "id_rsa.pub"]
        assert set(reasons(made.gaps).values()) == {GapReason.SECRET}
        assert len(made.gaps or ()) == 5
        named = scene.taken(named=[".env", "deploy"])
        assert scene.holds(named)[".env"] == b"s"
        assert ".env" in named.named
        assert ".env" not in reasons(named.gaps) and "id_rsa" in reasons(named.gaps)
        never = scene.observe(".env", rules=CaptureRules(secrets="never"))
        assert reasons(never.gaps)[".env"] is GapReason.SECRET
        always = scene.taken(rules=CaptureRules(secrets="always"))
        assert always.gaps == () and "deploy" in scene.holds(always)

    def test_special_files_are_gaps(self, tmp_path: Path) -> None:
        """A FIFO is a gap and blocks nothing, also where a file used to be."""
        scene = self.scene(tmp_path)
        scene.put("a", "1")
        scene.put("was_file", "1")
        os.mkfifo(scene.root / "fifo")
        assert reasons(scene.taken().gaps) == {"fifo": GapReason.SPECIAL_FILE}
        scene.remove("was_file")
        os.mkfifo(scene.root / "was_file")
        made = scene.taken()
        assert reasons(made.gaps) == dict.fromkeys(("fifo", "was_file"), GapReason.SPECIAL_FILE)
        assert sorted(scene.holds(made)) == ["a"]
        assert reasons(scene.observe("fifo").gaps)["fifo"] is GapReason.SPECIAL_FILE

    def test_unreadable_files_are_gaps(self, tmp_path: Path) -> None:
        """What can't be read is a gap, and the rest is captured."""
        if not hasattr(os, "geteuid") or os.geteuid() == 0:
            raise SkipTest("root reads everything; the git store's own tests change the user")
        scene = self.scene(tmp_path)
        scene.put("a", "1")
        scene.put("s", "secret", 0)
        made = scene.taken()
        assert sorted(scene.holds(made)) == ["a"]
        assert reasons(made.gaps) == {"s": GapReason.UNREADABLE}

    def test_too_many_files(self, tmp_path: Path) -> None:
        """Over `max_files` nothing is captured whole, and named paths still are."""
        scene = self.scene(tmp_path)
        for number in range(12):
            scene.put(f"f{number}", "1")
            scene.put(f"node_modules/m{number}", "1")
        rules = CaptureRules(max_files=10)
        made = scene.taken(rules=rules, named=["f3"])
        assert scene.holds(made) == {"f3": b"1"}
        assert not made.whole and reasons(made.gaps) == {".": GapReason.TOO_MANY}
        assert scene.taken(rules=CaptureRules(max_files=12)).whole

    # ------------------------------------------------------------------ nested repositories

    def test_nested_repositories_are_gaps(self, tmp_path: Path) -> None:
        """A nested repository is a gap, an entry of its own kind, and a note in the reason."""
        for commit in (True, False):
            scene = self.scene(tmp_path / str(commit))
            scene.put("a", "1")
            scene.nested("tool", commit=commit)
            scene.put("tool/x", "inner")
            made = scene.taken("before write_file: a")
            assert scene.holds(made) == {"a": b"1"}
            assert made.nested == ("tool",)
            assert made.reason == "before write_file: a [nested git repos not captured: tool]"
            assert scene.store.list(scene.project)[0].reason == made.reason
            assert scene.store.entries(scene.project, made.tree)["tool"].is_gitlink
            scene.put("tool/x", "changed")
            assert scene.capture() is None

    def test_note_of_many_nested_repositories(self, tmp_path: Path) -> None:
        """The note names three nested repositories and counts the rest."""
        scene = self.scene(tmp_path)
        for name in "edcba":
            scene.nested(f"sub/{name}")
        made = scene.taken("r")
        assert made.reason == "r [nested git repos not captured: sub/a, sub/b, sub/c (+2)]"

    def test_nested_repository_named(self, tmp_path: Path) -> None:
        """Naming a nested repository, or a directory above one, does not enter it."""
        scene = self.scene(tmp_path)
        scene.nested("d/n")
        scene.put("d/n/x", "1")
        scene.put("d/y", "1")
        seen = scene.observe("d", "d/n", "d/n/x")
        assert sorted(seen.named) == ["d/y"]
        assert reasons(seen.gaps) == {"d/n": GapReason.NESTED_REPOSITORY}

    def test_nested_repository_that_ends(self, tmp_path: Path) -> None:
        """When its `.git` goes, the files of a nested repository are the project's."""
        scene = self.scene(tmp_path)
        scene.nested("n")
        scene.put("n/x", "1")
        scene.taken()
        scene.remove("n/.git")
        made = scene.taken()
        assert scene.holds(made) == {"n/x": b"1"} and made.gaps == ()
        scene.remove("n")
        assert scene.holds(scene.taken()) == {}

    def test_directory_that_becomes_a_repository(self, tmp_path: Path) -> None:
        """A directory in which a repository is made is a gap once anything in it changes."""
        scene = self.scene(tmp_path)
        scene.put("n/x", "1")
        scene.put("n/y", "1")
        scene.taken()
        scene.nested("n")
        scene.put("n/x", "2")
        made = scene.taken()
        assert made.nested == ("n",) and scene.holds(made) == {}

    # ------------------------------------------------------------------ named paths

    def test_named_paths_ignore_the_rules(self, tmp_path: Path) -> None:
        """A named path is captured although ignored, is listed as such, and does not stick."""
        scene = self.scene(tmp_path)
        scene.put(".gitignore", "gen/\n")
        scene.put("gen/x", "v1")
        scene.put("a", "1")
        first = scene.taken(named=["gen/x", "a"])
        assert scene.holds(first)["gen/x"] == b"v1"
        assert first.named == ("gen/x",)
        assert scene.capture() is None
        scene.put("a", "2")
        second = scene.taken()
        assert "gen/x" not in scene.holds(second) and second.named == ()
        scene.put("gen/x", "v2")
        assert scene.capture() is None
        assert scene.holds(scene.taken(named=["gen/x"]))["gen/x"] == b"v2"

    def test_named_path_that_is_not_there(self, tmp_path: Path) -> None:
        """A named path where nothing is, is recorded as nothing."""
        scene = self.scene(tmp_path)
        scene.put("a", "1")
        seen = scene.observe("missing", "a/below", "no/such/dir")
        assert seen.named == {"missing": None, "a/below": None, "no/such/dir": None}
        assert seen.unruled == frozenset() and seen.gaps == ()

    def test_named_directory(self, tmp_path: Path) -> None:
        """A named directory stands for all below it, empty directories included."""
        scene = self.scene(tmp_path)
        scene.put(".gitignore", "d/ignored\n")
        scene.put("d/a", "1")
        scene.put("d/ignored", "2", 0o600)
        (scene.root / "d/e/f").mkdir(parents=True)
        made = scene.taken(named=["d"])
        assert set(scene.holds(made)) == {".gitignore", "d/a", "d/ignored"}
        assert made.named == ("d/ignored",) and made.empty_dirs == ("d/e/f",)
        assert made.modes == {"d/ignored": 0o600}
        assert scene.capture(named=["d"]) is None

    def test_only_named(self, tmp_path: Path) -> None:
        """Without a scan, and in a named-only project, a state is nothing but the named paths."""
        scene = self.scene(tmp_path)
        scene.put("a", "1")
        scene.put("b", "1")
        made = scene.taken(named=["a"], scan=False)
        assert scene.holds(made) == {"a": b"1"} and not made.whole
        scene.project = project_at(scene.root, named_only="is outside any project")
        assert scene.holds(scene.taken(named=["b"])) == {"b": b"1"}
        with scene.store.lock(scene.project):
            empty = scene.observe()
            assert scene.store.entries(scene.project, empty.tree) == {}
            assert not empty.whole

    # ------------------------------------------------------------------ states

    def test_changes(self, tmp_path: Path) -> None:
        """Changes name each differing path once; a rename is a path gone and a path come."""
        scene = self.scene(tmp_path)
        scene.put("same", "1")
        scene.put("edited", "1")
        scene.put("moved", "a long enough text to be taken for a rename\n" * 5)
        first = scene.taken()
        scene.put("edited", "2")
        (scene.root / "moved").rename(scene.root / "new")
        second = scene.taken()
        changes = {c.path: c for c in scene.store.changes(scene.project, first.tree, second.tree)}
        assert set(changes) == {"edited", "moved", "new"}
        assert changes["moved"].new is None and changes["new"].old is None
        assert scene.store.changes(scene.project, first.tree, first.tree) == []

    def test_states(self, tmp_path: Path) -> None:
        """Single paths are told apart from absent ones and from directories, literally."""
        scene = self.scene(tmp_path)
        scene.put("d/f[1]", "1")
        scene.put("d/f1", "2")
        made = scene.taken()
        found = scene.store.states(scene.project, made.tree, ["d/f[1]", "d", "no", "d/f*"])
        assert found["d/f[1]"] is not None
        assert found["d/f[1]"].content == content_id(b"1")
        assert found["d"] is None and found["no"] is None and found["d/f*"] is None

    def test_keep_and_release(self, tmp_path: Path) -> None:
        """A kept state can be read for as long as it is kept."""
        scene = self.scene(tmp_path)
        scene.put("a", "1")
        with scene.store.lock(scene.project):
            seen = scene.observe("a")
            scene.store.keep(scene.project, "call-1", seen.tree)
        scene.put("a", "2")
        scene.taken()
        scene.store.compact(full=True)
        assert scene.store.entries(scene.project, seen.tree)["a"].content == content_id(b"1")
        assert list(scene.store.read(scene.project, [content_id(b"1")])) == [b"1"]
        scene.store.release(scene.project, "call-1")
        scene.store.release(scene.project, "call-1")
        assert scene.ids() and len(scene.ids()) == 1

    def test_reading_in_order(self, tmp_path: Path) -> None:
        """Contents come in the order asked; a missing one is an error that names it."""
        scene = self.scene(tmp_path)
        for name in "abc":
            scene.put(name, name * 3)
        scene.taken()
        wanted = [content_id(b"ccc"), content_id(b"aaa"), content_id(b"ccc")]
        assert list(scene.store.read(scene.project, wanted)) == [b"ccc", b"aaa", b"ccc"]
        missing = content_id(b"never seen")
        error = raises(StoreError, lambda: list(scene.store.read(scene.project, [missing])))
        assert missing in str(error)

    def test_a_state_that_is_not_there(self, tmp_path: Path) -> None:
        """A state the store does not have is an error, never an empty state."""
        scene = self.scene(tmp_path)
        scene.put("a", "1")
        made = scene.taken()
        store, project, unknown = scene.store, scene.project, "1" * 40
        raises(StoreError, lambda: store.entries(project, unknown))
        raises(StoreError, lambda: store.changes(project, unknown, made.tree))
        raises(StoreError, lambda: store.states(project, unknown, ["a"]))

    def test_diff(self, tmp_path: Path) -> None:
        """A diff summarises and shows lines, new files included, and can be limited to paths."""
        scene = self.scene(tmp_path)
        scene.put("a", "one\ntwo\n")
        first = scene.taken()
        scene.put("a", "one\n2\n")
        scene.put("new[1]", "fresh\n")
        second = scene.taken()
        whole = scene.store.diff(scene.project, first.tree, second.tree)
        assert b"new[1]" in whole.stat and b"a " in whole.stat
        assert b"\n-two\n+2\n" in whole.patch and b"\n+fresh\n" in whole.patch
        part = scene.store.diff(scene.project, first.tree, second.tree, ["new[1]"])
        assert b"+fresh" in part.patch and b"+2" not in part.patch
        none = scene.store.diff(scene.project, first.tree, second.tree, ["new*"])
        assert none.patch == b""

    def test_match(self, tmp_path: Path) -> None:
        """Pathspecs select as git's do, also where candidates lie in one another's way."""
        scene = self.scene(tmp_path)
        scene.put("a", "1")
        scene.taken()
        store = scene.store
        paths = ["a.txt", "src/b.txt", "src/x/c.py", "report[1].txt", "x", "x/y"]

        def chosen(*specs: str) -> list[str]:
            return sorted(store.match(paths, specs))

        assert chosen("*.txt") == ["a.txt", "report[1].txt", "src/b.txt"]
        assert chosen(":(glob)*.txt") == ["a.txt", "report[1].txt"]
        assert chosen("src") == chosen("src/") == ["src/b.txt", "src/x/c.py"]
        assert chosen(":(exclude)src", "*.txt") == ["a.txt", "report[1].txt"]
        assert chosen(":(literal)report[1].txt") == ["report[1].txt"]
        assert chosen("x") == ["x", "x/y"]
        assert chosen(".") == sorted(paths)
        assert chosen("nothing") == []
        for bad in ("../a.txt", ":(nonsense)a", "/etc/passwd", ""):
            raises(SelectionError, lambda bad=bad: store.match(paths, [bad]))  # type: ignore[misc]

    # ------------------------------------------------------------------ supplements

    def test_supplement_adds(self, tmp_path: Path) -> None:
        """A supplement adds what the checkpoint lacks and changes nothing that it holds."""
        scene = self.scene(tmp_path)
        scene.put(".gitignore", "data\n")
        scene.put("data", "rows", 0o600)
        scene.put("a", "1")
        first = scene.taken(labels={"Turn": "7"})
        scene.put("a", "agent's")
        with scene.store.lock(scene.project):
            seen = scene.observe("data", "a", scan=False)
            more = scene.store.supplement(scene.project, first.id, seen)
        assert more is not None
        assert more.id == first.id and scene.ids() == [first.id]
        assert scene.holds(more) == {".gitignore": b"data\n", "data": b"rows", "a": b"1"}
        assert more.named == ("data",) and more.modes == {"data": 0o600}
        assert [(p, s.content) for p, s in more.versions] == [("a", content_id(b"agent's"))]
        assert list(scene.store.read(scene.project, [content_id(b"agent's")])) == [b"agent's"]
        assert more.labels == {"Turn": "7"} and len(more.supplements) == 1
        with scene.store.lock(scene.project):
            again = scene.observe("data", "a", scan=False)
            assert scene.store.supplement(scene.project, first.id, again) is None

    def test_supplement_of_permissions(self, tmp_path: Path) -> None:
        """A version has its permission bits, and other bits alone make one of a named path."""
        scene = self.scene(tmp_path)
        scene.put("a", "1", 0o644)
        scene.put("b", "1", 0o644)
        first = scene.taken()
        scene.put("a", "2", 0o600)
        (scene.root / "b").chmod(0o600)
        with scene.store.lock(scene.project):
            seen = scene.observe("a", "b", scan=False)
            more = scene.store.supplement(scene.project, first.id, seen)
            assert scene.store.supplement(scene.project, first.id, seen) is None
        assert more is not None and dict(more.modes) == {}
        one, two = (content_id(text) for text in (b"1", b"2"))
        assert [(path, state.content) for path, state in more.versions] == [("a", two), ("b", one)]
        assert dict(more.version_modes) == {("a", two): 0o600, ("b", one): 0o600}
        assert scene.store.get(scene.project, first.id) == more
        scene.store.forget_path(scene.project, "a")
        assert dict(scene.store.list(scene.project)[0].version_modes) == {("b", one): 0o600}

    def test_supplement_from_a_scan(self, tmp_path: Path) -> None:
        """A supplement from a whole observation takes what is new and never a deletion."""
        scene = self.scene(tmp_path)
        scene.put("gone", "1")
        scene.put("a", "1")
        first = scene.taken()
        scene.remove("gone")
        scene.put("new", "person's")
        with scene.store.lock(scene.project):
            more = scene.store.supplement(scene.project, first.id, scene.observe())
        assert more is not None
        assert scene.holds(more) == {"gone": b"1", "a": b"1", "new": b"person's"}
        assert more.named == () and more.versions == ()

    def test_supplement_where_the_place_is_taken(self, tmp_path: Path) -> None:
        """A path that the checkpoint has no room for is kept as a version."""
        scene = self.scene(tmp_path)
        scene.put("d/f", "1")
        scene.put("x", "1")
        first = scene.taken()
        scene.remove("d")
        scene.put("d", "now a file")
        scene.remove("x")
        scene.put("x/y", "now below")
        with scene.store.lock(scene.project):
            seen = scene.observe("d", "x/y", scan=False)
            more = scene.store.supplement(scene.project, first.id, seen)
        assert more is not None and scene.holds(more) == {"d/f": b"1", "x": b"1"}
        assert sorted(path for path, _ in more.versions) == ["d", "x/y"]

    def test_supplement_of_an_older_checkpoint(self, tmp_path: Path) -> None:
        """Only the newest checkpoint can grow."""
        scene = self.scene(tmp_path)
        scene.put("a", "1")
        first = scene.taken()
        scene.put("a", "2")
        scene.taken()
        with scene.store.lock(scene.project):
            seen = scene.observe("a", scan=False)
            raises(
                CheckpointNotFound,
                lambda: scene.store.supplement(scene.project, first.id, seen),
            )

    def test_capture_after_a_supplement(self, tmp_path: Path) -> None:
        """A grown checkpoint still counts as the newest: nothing changed is no checkpoint."""
        scene = self.scene(tmp_path)
        scene.put(".gitignore", "data\n")
        scene.put("data", "rows")
        first = scene.taken()
        with scene.store.lock(scene.project):
            seen = scene.observe("data", scan=False)
            assert scene.store.supplement(scene.project, first.id, seen)
        assert scene.capture() is None
        assert scene.capture(named=["data"]) is None
        scene.put("b", "1")
        second = scene.taken()
        assert scene.ids() == [second.id, first.id]
        assert "data" not in scene.holds(second)

    # ------------------------------------------------------------------ history

    def test_order_statistics_and_labels(self, tmp_path: Path) -> None:
        """The list is newest first, counts lines against the one before, and keeps labels."""
        scene = self.scene(tmp_path)
        scene.put("a", "one\ntwo\n")
        scene.taken("first", labels={"Session": "s 1", "Turn": "t", "Tool": "write_file"})
        scene.put("a", "one\n2\nthree\n")
        scene.put("b", "x\n")
        scene.taken("second")
        newest, oldest = scene.store.list(scene.project, counts=True)
        assert (newest.reason, oldest.reason) == ("second", "first")
        assert (newest.files, newest.insertions, newest.deletions) == (2, 3, 1)
        assert (oldest.files, oldest.insertions, oldest.deletions) == (None, None, None)
        assert oldest.labels == {"Session": "s 1", "Turn": "t", "Tool": "write_file"}
        assert newest.labels == {} and newest.time >= oldest.time > 0

    def test_ids_of_others_are_refused(self, tmp_path: Path) -> None:
        """No id but this project's own checkpoints' is accepted, whatever it looks like."""
        scene = self.scene(tmp_path)
        other = Scene(scene.store, tmp_path / "other")
        scene.put("a", "1")
        other.put("b", "1")
        mine, theirs = scene.taken(), other.taken()
        wrong = [theirs.id, mine.tree, content_id(b"1"), "0" * 40, mine.id[:3], "", "-x", "HEAD"]
        for bad in (*wrong, "../x", "/etc", "*", "\n"):
            raises(
                CheckpointNotFound,
                lambda bad=bad: scene.store.get(scene.project, bad),  # type: ignore[misc]
            )
            raises(
                CheckpointNotFound,
                lambda bad=bad: scene.store.pin(scene.project, bad, "p"),  # type: ignore[misc]
            )

    def test_two_projects_with_equal_trees(self, tmp_path: Path) -> None:
        """Two projects with equal files have histories of their own."""
        scene = self.scene(tmp_path)
        other = Scene(scene.store, tmp_path / "other")
        for one in (scene, other):
            one.put("a", "1")
        first, second = scene.taken(), other.taken()
        assert first.id != second.id
        scene.store.forget(scene.project)
        assert other.holds(second) == {"a": b"1"} and scene.ids() == []

    def test_drop(self, tmp_path: Path) -> None:
        """Dropping takes checkpoints off the list; the others keep id, date and content."""
        scene = self.scene(tmp_path)
        made = []
        for number in range(5):
            scene.put("a", f"{number}\n")
            made.append(scene.taken(f"r{number}"))
        before = {one.id: one for one in scene.store.list(scene.project)}
        scene.store.drop(scene.project, [made[0].id, made[1].id, "0" * 40])
        assert scene.ids() == [one.id for one in made[:1:-1]]
        scene.store.compact(full=True)
        for one in scene.store.list(scene.project):
            assert (one.id, one.time, one.tree) in {(b.id, b.time, b.tree) for b in before.values()}
            assert scene.holds(one)
        raises(CheckpointNotFound, lambda: scene.store.get(scene.project, made[0].id))
        scene.put("a", "after")
        assert scene.taken().id == scene.ids()[0]

    def test_drop_from_the_middle(self, tmp_path: Path) -> None:
        """Dropping from the middle leaves older and newer ones readable, also after a compact."""
        scene = self.scene(tmp_path)
        made = []
        for number in range(4):
            scene.put("a", f"{number}\n")
            made.append(scene.taken())
        scene.store.drop(scene.project, [made[1].id])
        scene.store.compact(full=True)
        assert scene.ids() == [made[3].id, made[2].id, made[0].id]
        assert scene.holds(scene.store.get(scene.project, made[0].id)) == {"a": b"0\n"}
        scene.store.drop(scene.project, [made[0].id])
        assert scene.ids() == [made[3].id, made[2].id]

    def test_drop_all(self, tmp_path: Path) -> None:
        """When all are dropped the list is empty, and the next capture begins anew."""
        scene = self.scene(tmp_path)
        scene.put("a", "1")
        made = scene.taken()
        scene.store.drop(scene.project, [made.id])
        assert scene.ids() == []
        scene.store.compact(full=True)
        again = scene.taken()
        assert again.id != made.id and scene.holds(again) == {"a": b"1"}

    def test_pins(self, tmp_path: Path) -> None:
        """A pinned checkpoint is not dropped, for as long as any pin is on it."""
        scene = self.scene(tmp_path)
        made = []
        for number in range(3):
            scene.put("a", f"{number}\n")
            made.append(scene.taken())
        store, project = scene.store, scene.project
        store.pin(project, made[0].id, "restore")
        store.pin(project, made[0].id[:8], "a label/of mine")
        assert store.get(project, made[0].id).pins == ("a label/of mine", "restore")
        store.drop(project, [made[0].id, made[1].id])
        assert scene.ids() == [made[2].id, made[0].id]
        store.compact(full=True)
        assert scene.holds(store.get(project, made[0].id)) == {"a": b"0\n"}
        store.unpin(project, made[0].id, "restore")
        store.drop(project, [made[0].id])
        assert scene.ids() == [made[2].id, made[0].id]
        store.unpin(project, made[0].id, "a label/of mine")
        store.unpin(project, made[0].id, "never there")
        assert scene.ids() == [made[2].id, made[0].id]
        store.drop(project, [made[0].id])
        assert scene.ids() == [made[2].id]

    # ------------------------------------------------------------------ the store as a whole

    def test_nothing_there(self, tmp_path: Path) -> None:
        """Asking an empty store is no error: it has no projects and no checkpoints."""
        scene = self.scene(tmp_path)
        assert scene.ids() == [] and scene.store.projects() == []
        raises(CheckpointNotFound, lambda: scene.store.get(scene.project, "1234567"))
        scene.store.release(scene.project, "none")
        scene.store.drop(scene.project, ["1234567"])
        scene.store.unpin(scene.project, "1234567", "none")
        scene.store.forget(scene.project)
        assert scene.store.verify() == []

    def test_projects(self, tmp_path: Path) -> None:
        """Every project is listed with its directory, times, count and identity."""
        scene = self.scene(tmp_path)
        scene.put("a", "1")
        scene.taken()
        (record,) = scene.store.projects()
        info = scene.root.stat()
        assert record.project == scene.project and record.checkpoints == 1
        assert (record.device, record.inode) == (info.st_dev, info.st_ino)
        assert 0 < record.created_at <= record.last_touch and record.problem == ""

    def test_compact_gives_back(self, tmp_path: Path) -> None:
        """What dropped checkpoints alone held is given back, about as much as was foretold."""
        scene = self.scene(tmp_path)
        scene.put("keep", os.urandom(20_000))
        scene.put("a", os.urandom(90_000))
        first = scene.taken()
        scene.put("a", "small")
        second = scene.taken()
        scene.store.compact(full=True)
        foretold = scene.store.would_free({scene.project.id: [first.id]})
        assert 80_000 < foretold < 110_000
        scene.store.drop(scene.project, [first.id])
        done = scene.store.compact(full=True)
        assert done.before - done.after > 80_000
        assert scene.holds(second)["a"] == b"small"
        assert scene.store.verify(read_data=True) == []

    def test_forget_path(self, tmp_path: Path) -> None:
        """A forgotten path is in no checkpoint any more, and its bytes are nowhere."""
        scene = self.scene(tmp_path)
        scene.put("a", "1")
        first = scene.taken("clean")
        scene.put("d/secret", "hunter2 hunter2")
        second = scene.taken("with")
        scene.put("a", "2")
        third = scene.taken("later")
        renamed = scene.store.forget_path(scene.project, "d")
        assert set(renamed) == {second.id, third.id} and first.id not in renamed
        assert scene.ids() == [renamed[third.id], renamed[second.id], first.id]
        assert [one.reason for one in scene.store.list(scene.project)] == ["later", "with", "clean"]
        for one in scene.store.list(scene.project):
            assert "d/secret" not in scene.holds(one)
            forgotten = [g.path for g in one.gaps or () if g.reason is GapReason.FORGOTTEN]
            assert forgotten == ([] if one.id == first.id else ["d"])
        gone = content_id(b"hunter2 hunter2")
        raises(StoreError, lambda: list(scene.store.read(scene.project, [gone])))
        assert scene.store.forget_path(scene.project, "d") == {}

    def test_relink(self, tmp_path: Path) -> None:
        """A moved project gets its history back under its new place."""
        scene = self.scene(tmp_path)
        scene.put("a", "1")
        made = scene.taken()
        scene.put("a", "2")
        newest = scene.taken()
        scene.root.rename(tmp_path / "moved")
        moved = Scene(scene.store, tmp_path / "moved")
        scene.store.relink(scene.project, moved.project)
        assert moved.ids() == [newest.id, made.id] and scene.ids() == []
        assert moved.holds(scene.store.get(moved.project, made.id)) == {"a": b"1"}
        assert moved.capture() is None
        assert [r.project.root for r in scene.store.projects()] == [str(moved.root)]
        other = Scene(scene.store, tmp_path / "other")
        raises(StoreError, lambda: scene.store.relink(other.project, moved.project))

    def test_verify_finds_nothing_wrong(self, tmp_path: Path) -> None:
        """A sound store has no problems, with or without reading every byte."""
        scene = self.scene(tmp_path)
        scene.put("a", "1")
        scene.taken()
        assert scene.store.verify() == []
        assert scene.store.verify(read_data=True) == []

    def test_size_and_clear(self, tmp_path: Path) -> None:
        """Size counts what is kept; after clear nothing is, and the store works on."""
        scene = self.scene(tmp_path)
        scene.put("a", os.urandom(50_000))
        scene.taken()
        size = scene.store.size()
        assert size.total >= size.store > 50_000
        scene.store.clear()
        assert scene.store.size().store < 40_000
        assert scene.ids() == [] and scene.store.projects() == []
        assert scene.taken()

    def test_another_process_sees_it(self, tmp_path: Path) -> None:
        """What one opener of the store wrote, another one reads."""
        scene = self.scene(tmp_path)
        scene.put("a", "1")
        first = scene.taken("r", labels={"Turn": "1"})
        again = self.reopen(scene.store, tmp_path)
        assert again.list(scene.project) == scene.store.list(scene.project)
        assert list(again.read(scene.project, [content_id(b"1")])) == [b"1"]
        assert Scene(again, scene.root).capture() is None
        again.pin(scene.project, first.id, "p")
        assert scene.store.get(scene.project, first.id).pins == ("p",)
        again.close()
        again.close()
        assert again.list(scene.project)

    def test_a_project_that_is_gone(self, tmp_path: Path) -> None:
        """A directory that is gone can't be captured, and its history stays."""
        scene = self.scene(tmp_path)
        scene.put("a", "1")
        made = scene.taken()
        scene.root.rename(tmp_path / "away")
        raises(CaptureFailed, scene.observe)
        assert scene.ids() == [made.id]

    # ------------------------------------------------------------------ at once

    def test_lock_is_reentrant_and_exclusive(self, tmp_path: Path) -> None:
        """A thread may lock a project again; another one waits, and gives up in time."""
        scene = self.scene(tmp_path)
        other = Scene(scene.store, tmp_path / "other")
        seen: list[str] = []

        def elsewhere() -> None:
            with other.store.lock(other.project, timeout=1):
                seen.append("other project")
            try:
                with scene.store.lock(scene.project, timeout=0.05):
                    seen.append("entered")
            except StoreBusy:
                seen.append("busy")

        with scene.store.lock(scene.project), scene.store.lock(scene.project):
            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()
        assert seen == ["other project", "busy"]

    def test_threads_capture_at_once(self, tmp_path: Path) -> None:
        """Captures of many threads all succeed or find nothing new, and all can be read."""
        scene = self.scene(tmp_path)
        scene.put("f", "start")
        failures: list[BaseException] = []

        def work(number: int) -> None:
            try:
                for step in range(3):
                    scene.put(f"f{number}", f"{number} {step}")
                    scene.capture(f"thread {number}")
            except BaseException as error:  # noqa: BLE001  # told below
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        scene.capture()
        listed = scene.store.list(scene.project)
        assert len({one.id for one in listed}) == len(listed)
        assert scene.holds(listed[0]) == {
            "f": b"start",
            **{f"f{number}": f"{number} 2".encode() for number in range(4)},
        }
        assert scene.store.verify(read_data=True) == []
