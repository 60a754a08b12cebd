"""The store's locks: files, exclusive, shared by processes, waited for a bounded time.

Owns one `filelock` per name. `locks/<project id>` guards a project's index and history,
`locks/store` what all projects share. Order: store before project, projects by id.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from hermes_checkpoints.errors import StoreBusy
from hermes_checkpoints.stores.git.layout import Layout

__all__ = ["Locks"]

_WAIT = 10.0  # seconds; a first snapshot of 50,000 files takes about 4
_POLL = 0.005


class Locks:
    """The locks of one store. Re-entrant in a thread, exclusive between threads."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._guard = threading.Lock()
        self._locks: dict[str, FileLock] = {}
        self._thread = threading.local()

    @contextmanager
    def held(self, name: str, timeout: float | None = None) -> Iterator[None]:
        """Hold a lock. Raises `StoreBusy`."""
        if self._pid != os.getpid():  # a forked child holds none, and filelock refuses to lend any
            self._begin()
        depths: dict[str, int] = self._thread.__dict__
        if depths.get(name):  # filelock counts too, at 50 times the price
            depths[name] += 1
            try:
                yield
            finally:
                depths[name] -= 1
            return
        lock = self._acquired(name, _WAIT if timeout is None else timeout)
        depths[name] = 1
        try:
            yield
        finally:
            depths[name] = 0
            lock.release()

    def holds(self, name: str) -> bool:
        """Whether this thread holds a lock."""
        return self._pid == os.getpid() and bool(self._thread.__dict__.get(name))

    def _acquired(self, name: str, wait: float) -> FileLock:
        with self._guard:
            lock = self._locks.get(name)
            if lock is None:
                lock = self._locks[name] = FileLock(self._layout.lock(name), mode=0o600)
        try:
            lock.acquire(timeout=wait, poll_interval=_POLL)
        except Timeout as error:
            raise StoreBusy(
                f"another process is using the checkpoints ({name}); gave up after {wait:g} s",
                hint="try again when it is done",
            ) from error
        return lock
