"""Reading history and contents through GitPython.

Owns the import of GitPython (55 ms, so only what needs it pays) and its children: they get our
environment and options through GitPython's own hook, `Repo.GitCommandWrapperType`. Writes nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import git
from git.exc import BadName, BadObject

from hermes_checkpoints.errors import StoreError
from hermes_checkpoints.stores.git.plumbing import Plumbing

__all__ = ["Commit", "Library"]

_MISSING = (BadName, BadObject, ValueError, KeyError, IndexError, OSError)


@dataclass(frozen=True, slots=True)
class Commit:
    """What a commit says."""

    oid: str
    tree: str
    parent: str
    time: float
    message: str


class Library:
    """The store's history and blobs, by one `cat-file --batch` child at a time.

    No child outlives its session: one that a host inherits by `fork` would answer two askers.
    """

    def __init__(self, store: str, plumbing: Plumbing) -> None:
        self._guard = threading.RLock()
        self._sessions = 0
        self._store = store
        self._repo = _open(store, plumbing)

    @contextmanager
    def session(self) -> Iterator[None]:
        """Several questions about commits to one child, which ends with the outermost session."""
        with self._guard:
            self._sessions += 1
            try:
                yield
            finally:
                self._sessions -= 1
                if not self._sessions:
                    self.close()

    def commit(self, oid: str) -> Commit | None:
        """A commit, or `None` if it is missing, damaged or no commit."""
        with self.session():
            try:
                found = git.Commit(self._repo, bytes.fromhex(oid))
                parents = found.parents
                message = found.message
                text = message if isinstance(message, str) else message.decode("utf-8", "replace")
                return Commit(
                    oid=oid,
                    tree=found.tree.hexsha,
                    parent=parents[0].hexsha if parents else "",
                    time=float(found.committed_date),
                    message=text,
                )
            except (*_MISSING, AttributeError):
                self.close()
                return None

    def contents(self, oids: Iterable[str]) -> Iterator[bytes]:
        """The bytes of blobs, in order, by a child of its own that ends with the iteration.

        Raises `StoreError` naming the one that is missing.
        """
        runner = self._repo.GitCommandWrapperType(self._store)
        try:
            for oid in oids:
                yield _content(runner, oid)
        finally:
            runner.clear_cache()

    def close(self) -> None:
        """End the child; the next question starts another."""
        with self._guard:
            self._repo.git.clear_cache()


def _content(runner: git.Git, oid: str) -> bytes:
    try:
        _, kind, _, data = runner.get_object_data(oid)
    except _MISSING as error:
        raise StoreError(
            f"content {oid} is not in the store, or is damaged",
            hint="`hermes-checkpoints doctor` tells what else is",
        ) from error
    if kind not in (b"blob", "blob"):
        raise StoreError(f"{oid} is no content of a file")
    return bytes(data)


def _open(store: str, plumbing: Plumbing) -> git.Repo:
    class Runner(git.Git):
        """GitPython's command runner with our environment and options."""

        def execute(self, command: Any, *_: Any, **options: Any) -> Any:
            arguments = _arguments(command)
            if options.get("as_process"):
                return self.AutoInterrupt(plumbing.start(arguments), arguments)
            out = plumbing.run(arguments).out
            return out.decode("utf-8", "surrogateescape").rstrip("\n")

    class Repository(git.Repo):
        GitCommandWrapperType = Runner

    return Repository(store)


def _arguments(command: Sequence[str] | str) -> list[str]:
    """GitPython's command line without the program's name."""
    words = [command] if isinstance(command, str) else list(command)
    return words[1:]
