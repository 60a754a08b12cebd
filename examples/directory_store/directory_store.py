"""A store that keeps plain files in a directory: no git, no database, readable by anything.

A `Drawer` of files is all it brings; `PlainStore` makes the store contract of it, and
`hermes_checkpoints.testing.StoreContract` holds it to that. Good for small projects on a machine
without git, and as a beginning for a store elsewhere.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from hermes_checkpoints import Config
from hermes_checkpoints.errors import StoreBusy, StoreUnavailable
from hermes_checkpoints.stores.plain import PlainStore

WAIT = 10.0


def open_store(config: Config) -> PlainStore:
    """What the entry point names: a store below the configured base."""
    return PlainStore(DirectoryDrawer(Path(config.base_path) / "directory-store"))


class DirectoryDrawer:
    """Named bytes as files; a write is a rename, so nobody sees half of one."""

    def __init__(self, top: Path) -> None:
        self._top = top
        self._guard = threading.Lock()
        self._locks: dict[str, FileLock] = {}

    def get(self, name: str) -> bytes | None:
        try:
            return (self._top / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def put(self, name: str, data: bytes) -> None:
        path = self._top / name
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.tmp")
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError as error:
            raise StoreUnavailable(
                f"{self._top} cannot be written: {error.strerror}",
                hint="see that it is a directory you may write to, with room left",
            ) from error

    def delete(self, name: str) -> None:
        (self._top / name).unlink(missing_ok=True)

    def names(self, prefix: str) -> list[str]:
        found = (path for path in (self._top / prefix).glob("*") if path.suffix != ".tmp")
        return [path.relative_to(self._top).as_posix() for path in found]

    @contextmanager
    def lock(self, name: str, timeout: float | None) -> Iterator[None]:
        with self._guard:
            if name not in self._locks:
                places = self._top / "locks"
                places.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._locks[name] = FileLock(places / name, mode=0o600)
            lock = self._locks[name]
        try:
            lock.acquire(timeout=WAIT if timeout is None else timeout, poll_interval=0.01)
        except Timeout as error:
            raise StoreBusy(f"another process is using {self._top} ({name})") from error
        try:
            yield
        finally:
            lock.release()

    def size(self) -> int:
        return sum(path.stat().st_size for path in self._top.rglob("*") if path.is_file())
