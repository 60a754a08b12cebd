"""The store's locks: files, exclusive, shared by processes, waited for a bounded time.

Owns one `filelock` per name. `locks/<project id>` guards a project's index and history,
`locks/store` what all projects share. Order: store before project, projects by id.
"""

from __future__ import annotations

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
        self._guard = threading.Lock()
        self._locks: dict[str, FileLock] = {}

    @contextmanager
    def held(self, name: str, timeout: float | None = None) -> Iterator[None]:
        """Hold a lock. Raises `StoreBusy`."""
        with self._guard:
            lock = self._locks.get(name)
            if lock is None:
                lock = self._locks[name] = FileLock(self._layout.lock(name), mode=0o600)
        wait = _WAIT if timeout is None else timeout
        try:
            lock.acquire(timeout=wait, poll_interval=_POLL)
        except Timeout as error:
            raise StoreBusy(
                f"another process is using the checkpoints ({name}); gave up after {wait:g} s",
                hint="try again when it is done",
            ) from error
        try:
            yield
        finally:
            lock.release()
