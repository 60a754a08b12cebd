"""After any edits a look finds the tree that git itself would write from nothing."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from hermes_checkpoints.stores.git import scan
from tests.stores.kit import GitScene

NAMES = ["a", "b.py", "c.tmp", "d.log", "é", "x y", "lib", "lib.py", "lib-x", "lib0", "-q", "[z]"]
RULES = ["*.tmp", "!c.tmp", "*.log", "/lib", "lib/", "deep/", "é", "b.py"]


class Edits:
    """Random edits of a directory, the nasty ones included."""

    def __init__(self, root: Path, seed: int) -> None:
        self._root = str(root)
        self._random = random.Random(seed)

    def some(self, *, calm: bool = False) -> None:
        """A few edits; `calm` are those that let every name be."""
        for _ in range(self._random.randint(0, 6)):
            try:
                self._random.choice(self.calm if calm else self.kinds)(self)
            except OSError:
                pass  # two edits that do not fit together

    def _any(self, *, directories: bool) -> str:
        found = [
            os.path.join(here, name)
            for here, dirs, files in os.walk(self._root)
            for name in (dirs if directories else files)
        ]
        return self._random.choice(found or [self._root])

    def _place(self) -> str:
        above = self._any(directories=True) if self._random.random() < 0.6 else self._root
        return os.path.join(above, self._random.choice(NAMES))

    def write(self) -> None:
        path = self._place()
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.unlink(path)
        with open(path, "wb") as file:
            file.write(self._random.randbytes(self._random.choice([0, 5, 5, 300, 9000])))

    def same_size(self) -> None:
        path = self._any(directories=False)
        if path.endswith(".gitignore"):  # by chance it might hide itself, and is held all the same
            return
        before = os.stat(path)
        with open(path, "r+b") as file:
            file.write(self._random.randbytes(before.st_size))
        if self._random.random() < 0.5:
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def rewrite(self) -> None:
        path = self._any(directories=False)
        if not path.endswith(".gitignore"):
            with open(path, "wb") as file:
                file.write(self._random.randbytes(self._random.choice([0, 5, 300])))

    def directory(self) -> None:
        os.makedirs(self._place() + self._random.choice(["", "/deep/er"]), exist_ok=True)

    def remove(self) -> None:
        os.unlink(self._any(directories=False))

    def remove_directory(self) -> None:
        path = self._any(directories=True)
        if path != self._root:
            shutil.rmtree(path)

    def link(self) -> None:
        os.symlink(self._random.choice(["a", "lib", "../nowhere"]), self._place())

    def mode(self) -> None:
        path = self._any(directories=False)
        if not os.path.islink(path):
            os.chmod(path, self._random.choice([0o644, 0o755, 0o600, 0o700]))

    def move(self) -> None:
        os.rename(self._any(directories=False), self._any(directories=False))

    def move_directory(self) -> None:
        old, new = self._any(directories=True), self._place()
        if old != self._root and not os.path.lexists(new) and not new.startswith(old + "/"):
            os.rename(old, new)

    def rules(self) -> None:
        above = self._any(directories=True) if self._random.random() < 0.4 else self._root
        lines = self._random.sample(RULES, self._random.randint(0, 4))
        with open(os.path.join(above, ".gitignore"), "w") as file:
            file.write("\n".join(lines) + "\n")

    kinds = (
        *(write, write, write, same_size, same_size, directory, remove, remove_directory),
        *(link, mode, mode, move, move_directory, rules),
    )
    calm = (same_size, rewrite, rewrite, mode)


def from_nothing(scene: GitScene, *but: str) -> str:
    """What `git add -A` with a new index makes of the project, some files left out."""
    index = scene.base / "fresh-index"
    index.unlink(missing_ok=True)
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_INDEX_FILE": str(index)}
    where = ["--git-dir", str(scene.path), "--work-tree", str(scene.root), "-c", "core.bare=false"]

    def git(*args: str) -> str:
        command = ["git", *where, *args]
        done = subprocess.run(command, cwd=scene.root, env=env, check=True, capture_output=True)
        return done.stdout.decode().strip()

    git("add", "-A", "--", ".", *(f":(exclude){path}" for path in but))
    return git("write-tree")


def modes_of(root: Path) -> dict[str, int]:
    found = {}
    for here, _, names in os.walk(root):
        for name in names:
            path = os.path.join(here, name)
            if not os.path.islink(path):
                found[os.path.relpath(path, root)] = os.stat(path).st_mode & 0o7777
    return found


def drive(scene: GitScene, seed: int, rounds: int) -> None:
    """Edit in rounds, all kinds and calm ones in turns, and compare each time."""
    edits = Edits(scene.root, seed)
    for number in range(rounds):
        edits.some(calm=bool(number // 4 % 2))
        seen = scene.observe()
        assert seen.tree == from_nothing(scene), f"seed {seed} round {number}"
        entries = scene.store.entries(scene.project, seen.tree)
        odd = {p: m for p, m in modes_of(scene.root).items() if m not in (0o644, 0o755)}
        wanted = {p: m for p, m in odd.items() if p in entries}
        assert seen.modes == wanted, f"seed {seed} round {number}"
        with scene.store.lock(scene.project):
            again = scene.observe()
            scene.store.capture(scene.project, again, reason=f"{number}")
        assert again == seen, f"seed {seed} round {number}"
        if number % 10 == 9:
            scene = scene.again()
    scene.fsck()


@pytest.mark.parametrize("many", [0, 3, 48])
def test_random_edits(many: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever path a change takes, the tree is git's own and every odd mode is known."""
    monkeypatch.setattr(scan, "MANY", many)
    drive(GitScene(tmp_path), seed=many, rounds=25)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(12))
def test_many_random_edits(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for longer."""
    monkeypatch.setattr(scan, "MANY", (0, 3, 48)[seed % 3])
    drive(GitScene(tmp_path), seed=seed, rounds=120)
