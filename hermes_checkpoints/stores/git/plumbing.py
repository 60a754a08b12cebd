"""Running git: one environment, one set of options, children that end.

Owns every start of a git process. Imports no GitPython (55 ms), so that a tool call does not pay
for it; `library` runs GitPython's own children through here.
"""

from __future__ import annotations

import os
import selectors
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, cast

from hermes_checkpoints.config import inherited_environment
from hermes_checkpoints.errors import StoreError, StoreUnavailable
from hermes_checkpoints.stores.git.layout import Layout

__all__ = ["GitFailed", "Place", "Plumbing", "Result"]

# Each line is there for a fault that was seen without it.
_OPTIONS = (
    "core.fsmonitor=false",  # runs a program
    "core.hooksPath=" + os.devnull,  # `--no-verify` is not enough: post-commit still runs
    "core.attributesFile=" + os.devnull,
    "core.untrackedCache=true",  # 5,000 files: 9 ms for a status instead of 14
    "status.showUntrackedFiles=all",  # the untracked cache serves -uall only if configured (2.36)
    "core.preloadIndex=true",
    "core.splitIndex=false",  # the index is one file: `index` reads it
    "core.sparseCheckout=false",
    "index.version=2",
    "feature.manyFiles=false",
    "core.fileMode=true",
    "core.symlinks=true",
    "core.trustctime=true",
    "core.checkStat=default",
    "core.autocrlf=false",
    "core.protectNTFS=false",  # a file may be called `git~1` here
    "core.protectHFS=false",
    "core.precomposeUnicode=false",
    "core.quotePath=false",
    "core.looseCompression=1",
    "core.logAllRefUpdates=false",
    "core.commitGraph=false",  # Hermes' gc writes one, which speaks of commits that are gone
    "gc.auto=0",  # a detached gc was killed by hosts and left locks
    "maintenance.auto=false",
    "commit.gpgSign=false",
    "protocol.allow=never",
)
_TIMEOUT = 120.0
_GRACE = 5.0


class GitFailed(StoreError):
    """A git command ended with an unexpected status; `status` and `words` are its own."""

    def __init__(self, args: Sequence[str], status: int, words: str) -> None:
        super().__init__(f"git {args[0]} failed ({status}): {words or 'without a word'}")
        self.status = status
        self.words = words


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command runs: git directory, work tree and index; `None` for the bare store."""

    gitdir: str
    root: str
    index: str
    excludes: str = os.devnull


@dataclass(frozen=True, slots=True)
class Result:
    """What a command printed, and how it ended."""

    out: bytes
    err: bytes
    status: int


class Plumbing:
    """Starts git for one store."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._found: dict[str, str] = {}
        self._options = [item for option in _OPTIONS for item in ("-c", option)]

    @property
    def program(self) -> str:
        """The git on PATH. Raises `StoreUnavailable`."""
        inherited = inherited_environment()
        path = inherited.get("PATH", os.defpath)
        found = self._found.get(path) or shutil.which("git", path=path)
        if not found:
            raise StoreUnavailable(
                "there is no git on PATH, so checkpoints are off",
                hint="install git (2.36 or newer serves best) and start again",
            )
        self._found[path] = found
        return found

    def environment(self, place: Place | None = None) -> dict[str, str]:
        """The whole environment of a child: nothing of the caller's but a few named variables.

        The home is an empty directory because git 2.30 knows no GIT_CONFIG_GLOBAL.
        """
        environment = {
            **inherited_environment(),
            "HOME": self._layout.null,
            "XDG_CONFIG_HOME": self._layout.null,
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_DIR": place.gitdir if place else self._layout.store,
        }
        if place:
            environment["GIT_WORK_TREE"] = place.root
            environment["GIT_INDEX_FILE"] = place.index
        return environment

    def command(self, args: Sequence[str], place: Place | None = None) -> list[str]:
        """The whole command line."""
        excludes = place.excludes if place else os.devnull
        options = [*self._options, "-c", f"core.excludesFile={excludes}"]
        return [self.program, *options, "--literal-pathspecs", *args]

    def start(
        self,
        args: Sequence[str],
        place: Place | None = None,
        *,
        extra: dict[str, str] | None = None,
        at: str = "",
        pathspecs: bool = False,
        given: bytes | None = None,
        buffered: bool = True,
    ) -> subprocess.Popen[bytes]:
        """A running child with pipes; whoever starts it ends it. `given` empty: nothing to read."""
        command = self.command(args, place)
        if pathspecs:
            command.remove("--literal-pathspecs")
        environment = self.environment(place)
        environment.update(extra or {})
        try:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL if given == b"" else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=at or (place.root if place else self._layout.store),
                env=environment,
                bufsize=-1 if buffered else 0,
                umask=0o077 if os.name == "posix" else -1,
            )
        except OSError as error:
            raise StoreError(f"git could not be started: {error}") from error

    def run(
        self,
        args: Sequence[str],
        place: Place | None = None,
        *,
        given: bytes = b"",
        ok: Iterable[int] = (0,),
        timeout: float | None = None,
        extra: dict[str, str] | None = None,
        at: str = "",
        pathspecs: bool = False,
    ) -> Result:
        """Run to the end. Raises `GitFailed` for a status that is not in `ok`."""
        child = self.start(
            args, place, extra=extra, at=at, pathspecs=pathspecs, given=given, buffered=False
        )
        wait = timeout or _TIMEOUT
        try:
            out, err = _talk(child, given, time.monotonic() + wait)
        except _TooLong as late:
            end(child)
            raise StoreError(f"git {args[0]} took longer than {wait:.0f} s and was ended") from late
        except BaseException:
            end(child)
            raise
        if child.returncode not in ok:
            raise GitFailed(args, child.returncode, first_line(err))
        return Result(out, err, child.returncode)


class _TooLong(Exception):
    """A child did not end in time."""


# For three pipes and a moment; the default one takes six system calls more to set up.
_Selector = getattr(selectors, "PollSelector", selectors.DefaultSelector)


def _talk(child: subprocess.Popen[bytes], given: bytes, deadline: float) -> tuple[bytes, bytes]:
    """Write to a child, read all it says, and wait for its end.

    What `communicate(timeout=...)` does, less its waiting: that sleeps in steps until the child
    has ended, which takes a millisecond when a whole status takes two.
    """
    said: dict[IO[bytes], list[bytes]] = {}
    left = memoryview(given)
    with _Selector() as selector, _closing(child):
        if child.stdin:
            os.set_blocking(child.stdin.fileno(), False)
            selector.register(child.stdin, selectors.EVENT_WRITE)
        for pipe in (child.stdout, child.stderr):
            assert pipe
            said[pipe] = []
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(deadline - time.monotonic())
            if not ready and time.monotonic() >= deadline:
                raise _TooLong
            for key, _ in ready:
                pipe = cast("IO[bytes]", key.fileobj)
                if pipe is child.stdin:
                    left = _written(pipe, left)
                    if not left:
                        selector.unregister(pipe)
                        pipe.close()
                elif data := os.read(key.fd, 1 << 16):
                    said[pipe].append(data)
                else:
                    selector.unregister(pipe)
        out, err = (b"".join(parts) for parts in said.values())
    child.wait()
    return out, err


def _written(pipe: IO[bytes], left: memoryview) -> memoryview:
    """What is left after writing what the pipe takes; nothing if nobody reads any more."""
    try:
        return left[os.write(pipe.fileno(), left[: 1 << 16]) :]
    except BlockingIOError:
        return left
    except BrokenPipeError:
        return left[:0]


@contextmanager
def _closing(child: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe:
                pipe.close()


def end(child: subprocess.Popen[bytes]) -> None:
    """End a child: TERM first, which lets git remove its lock files; KILL leaves them (2.39)."""
    with _closing(child):
        child.terminate()
        try:
            child.wait(timeout=_GRACE)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def first_line(text: bytes) -> str:
    """The line that says what was wrong."""
    lines = text.decode("utf-8", "replace").strip().splitlines()
    for line in lines:
        if line.startswith(("fatal:", "error:")):
            return line
    return lines[0] if lines else ""
