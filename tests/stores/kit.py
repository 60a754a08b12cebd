"""What the git store's tests share: git as a judge, a count of children, another user."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hermes_checkpoints.config import Config
from hermes_checkpoints.stores.git import open_store
from hermes_checkpoints.stores.git.store import GitStore
from hermes_checkpoints.testing.contract import Scene

NOBODY = 65534


class GitScene(Scene):
    """A scene whose store is a git store below the same directory."""

    store: GitStore

    def __init__(self, place: Path, root: str = "project", **options: Any) -> None:
        self.base = place / "base"
        self.config = Config(base=self.base, **options)
        super().__init__(open_store(self.config), place / root)

    @property
    def path(self) -> Path:
        return self.base / "store"

    def again(self) -> GitScene:
        """The same, as a process that begins now would see it."""
        return GitScene(self.base.parent, self.root.name)

    def git(self, *args: str, check: bool = True, **options: Any) -> str:
        """What git itself says about the store."""
        done = run_git("--git-dir", str(self.path), *args, check=check, **options)
        return done.stdout.decode("utf-8", "surrogateescape")

    def fsck(self) -> None:
        """Git finds nothing wrong."""
        done = run_git("--git-dir", str(self.path), "fsck", "--full", "--no-dangling", check=False)
        said = done.stderr.decode().splitlines()
        # What a project may well have is no fault of the store's: `.gitignore` as a link, `git~1`.
        words = [w for w in said if not w.startswith(("notice:", "warning in tree"))]
        assert (done.returncode, done.stdout, words) == (0, b"", []), done

    def settle(self) -> None:
        """Look until a look needs no child: directories have to be older than a tick of the clock.

        It takes some 20 ms, in which git is asked a few times.
        """
        for _ in range(200):
            with children() as started:
                self.observe()
            if not started:
                return
        raise AssertionError("a small project that nobody changes is looked at with children")

    def tip(self) -> str:
        return self.git("rev-parse", f"refs/hermes/{self.project.id}").strip()


def run_git(*args: str, check: bool = True, **options: Any) -> subprocess.CompletedProcess[bytes]:
    who = {
        f"GIT_{role}_{what}": "u@x"
        for role in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", **who}
    return subprocess.run(["git", *args], env=env, check=check, capture_output=True, **options)


_counting: list[list[str]] = []


def _hook(event: str, args: Any) -> None:
    if event == "subprocess.Popen" and _counting:
        _counting[-1].append(" ".join(str(word) for word in args[1]))


sys.addaudithook(_hook)


@contextmanager
def children() -> Iterator[list[str]]:
    """The commands of the children started meanwhile."""
    started: list[str] = []
    _counting.append(started)
    try:
        yield started
    finally:
        _counting.remove(started)


@contextmanager
def public_place() -> Iterator[Path]:
    """A directory that every user can reach, unlike pytest's."""
    place = Path(tempfile.mkdtemp(prefix="hermes-checkpoints-test-"))
    place.chmod(0o755)
    try:
        yield place
    finally:
        for here, _, _ in os.walk(place):
            os.chmod(here, 0o700)
        shutil.rmtree(place)


def as_nobody(place: Path, action: Callable[[], Any]) -> Any:
    """Run in a child process as a user who may not read everything; what it returns, by JSON."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            if os.geteuid() == 0:
                os.chown(place, NOBODY, NOBODY)
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            os.write(write, json.dumps(action()).encode())
            os._exit(0)
        except BaseException:
            os.write(write, json.dumps({"failed": traceback.format_exc()}).encode())
        finally:
            os._exit(1)
    os.close(write)
    with open(read, "rb") as file:
        said = json.loads(file.read() or b"null")
    os.waitpid(pid, 0)
    assert not (isinstance(said, dict) and "failed" in said), said["failed"]
    return said
