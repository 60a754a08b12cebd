"""The store that forgets: in this process's memory, for tests.

Stricter than any real store: a state that nothing holds is gone as soon as the project's lock is
released, so that code which relies on luck fails here first.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hermes_checkpoints.errors import StoreBusy
from hermes_checkpoints.stores.plain import PlainStore

if TYPE_CHECKING:
    from hermes_checkpoints.config import Config
    from hermes_checkpoints.excludes import CaptureRules
    from hermes_checkpoints.records import Checkpoint, Project
    from hermes_checkpoints.stores.base import Observation

__all__ = ["MemoryStore", "open_store"]

_TIMEOUT = 10.0
_stores: dict[str, MemoryStore] = {}


def open_store(config: Config) -> MemoryStore:
    """The memory store of a base: the same one for every opener in this process."""
    return _stores.setdefault(str(config.base_path), MemoryStore())


class _MemoryDrawer:
    """A dictionary with locks."""

    def __init__(self) -> None:
        self._bytes: dict[str, bytes] = {}
        self._locks: dict[str, threading.RLock] = {}
        self._guard = threading.Lock()

    def get(self, name: str) -> bytes | None:
        return self._bytes.get(name)

    def put(self, name: str, data: bytes) -> None:
        with self._guard:
            self._bytes[name] = data

    def delete(self, name: str) -> None:
        with self._guard:
            self._bytes.pop(name, None)

    def names(self, prefix: str) -> Iterable[str]:
        with self._guard:
            return [name for name in self._bytes if name.startswith(prefix)]

    @contextmanager
    def lock(self, name: str, timeout: float | None) -> Iterator[None]:
        with self._guard:
            lock = self._locks.setdefault(name, threading.RLock())
        if not lock.acquire(timeout=_TIMEOUT if timeout is None else timeout):
            raise StoreBusy(f"the lock of {name} was not to be had in time")
        try:
            yield
        finally:
            lock.release()

    def size(self) -> int:
        with self._guard:
            return sum(map(len, self._bytes.values()))


class MemoryStore(PlainStore):
    """Checkpoints in memory. Misuse that a real store might let pass is an error here."""

    def __init__(self) -> None:
        super().__init__(_MemoryDrawer())
        self._depth: dict[tuple[int, str], int] = {}
        self._fresh: dict[str, set[str]] = {}

    @contextmanager
    def lock(self, project: Project, *, timeout: float | None = None) -> Iterator[None]:
        mine = (threading.get_ident(), project.id)
        with super().lock(project, timeout=timeout):
            self._depth[mine] = self._depth.get(mine, 0) + 1
            try:
                yield
            finally:
                self._depth[mine] -= 1
                if not self._depth[mine]:
                    del self._depth[mine]
                    self._forget_unheld(project)

    def observe(
        self,
        project: Project,
        rules: CaptureRules,
        *,
        named: Sequence[str] = (),
        scan: bool = True,
    ) -> Observation:
        _insist(all(_is_relative(path) for path in named), f"named paths are relative: {named!r}")
        with self.lock(project):
            observation = super().observe(project, rules, named=named, scan=scan)
            self._fresh.setdefault(project.id, set()).add(observation.tree)
            return observation

    def keep(self, project: Project, key: str, tree: str) -> None:
        _insist(re.fullmatch(r"[A-Za-z0-9_-]+", key) is not None, f"no key of a keep: {key!r}")
        super().keep(project, key, tree)

    def capture(
        self,
        project: Project,
        observation: Observation,
        *,
        reason: str,
        labels: Mapping[str, str] | None = None,
    ) -> Checkpoint | None:
        _insist(reason.strip() and "\n" not in reason, f"a reason is one line: {reason!r}")
        for key, value in (labels or {}).items():
            _insist(re.fullmatch(r"[A-Za-z][A-Za-z-]*", key) is not None, f"no label: {key!r}")
            _insist("\n" not in value, f"the value of a label is one line: {value!r}")
        return super().capture(project, observation, reason=reason, labels=labels)

    def _forget_unheld(self, project: Project) -> None:
        fresh = self._fresh.pop(project.id, set())
        held = self._reachable({}) if fresh else set()
        for tree in fresh:
            if f"state/{tree}" not in held:
                self._drawer.delete(f"state/{tree}")


def _insist(fine: object, otherwise: str) -> None:
    if not fine:
        raise ValueError(otherwise)


def _is_relative(path: str) -> bool:
    return path == "." or not {"", ".", ".."} & set(path.split("/"))
