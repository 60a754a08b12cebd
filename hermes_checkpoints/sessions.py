"""Who is at work: sessions, and the calls that are running in a project (leases).

Both are small files that name their owner's process so surely that a dead one is never taken for
a live one: process id, its start time, and the boot it belongs to.
"""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

__all__ = ["Lease", "Leases", "Owner", "Sessions", "call_file", "file_name", "write_private"]


@dataclass(frozen=True, slots=True)
class Owner:
    """A process, identified beyond the reuse of its id.

    `start` is its start time in clock ticks since boot and `boot` the boot's id; empty where the
    system does not tell.
    """

    pid: int
    start: str = ""
    boot: str = ""

    @classmethod
    def of(cls, pid: int) -> Owner:
        return cls(pid, _start_time(pid), _boot_id())

    @property
    def alive(self) -> bool:
        if self.boot and self.boot != _boot_id():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass  # it lives, and is somebody else's
        return not self.start or _start_time(self.pid) == self.start


class Sessions:
    """The sessions a store has seen: a file each, under one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def begin(self, session: str, pid: int | None = None) -> None:
        """Say that a session runs, owned by a process (this one)."""
        owner = Owner.of(os.getpid() if pid is None else pid)
        write_private(self._file(session), json.dumps({"session": session, **asdict(owner)}))

    def end(self, session: str) -> None:
        """Say that a session has ended."""
        self._file(session).unlink(missing_ok=True)

    def running(self, session: str) -> bool:
        """Whether a session's process lives and no end of it was seen."""
        owner = _read_owner(self._file(session))
        return owner is not None and owner.alive

    def sweep(self) -> None:
        """Remove what dead processes left: a session without a file has ended all the same."""
        for file in _json_files(self._directory):
            owner = _read_owner(file)
            if owner is None or not owner.alive:
                file.unlink(missing_ok=True)

    def of_process(self, pid: int) -> str | None:
        """The session that a process owns; of several, the one that began or went on last."""
        owned = [f for f in self._files() if _is_of(_read_owner(f), pid)]
        newest = max(owned, key=lambda f: f.stat().st_mtime_ns, default=None)
        return _read_session(newest) if newest else None

    def dead(self) -> list[str]:
        """The sessions whose process is gone, and whose end nobody has said."""
        owners = {f: _read_owner(f) for f in self._files()}
        dead = [_read_session(f) for f, owner in owners.items() if owner and not owner.alive]
        return [session for session in dead if session is not None]

    def _files(self) -> list[Path]:
        try:
            return sorted(f for f in self._directory.iterdir() if f.suffix == ".json")
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _file(self, session: str) -> Path:
        return self._directory / f"{file_name(session)}.json"


@dataclass(frozen=True, slots=True)
class Lease:
    """A wrapped tool call that is running in a project."""

    call: str
    tool: str
    session: str
    since: float
    owner: Owner

    @property
    def age(self) -> float:
        """Seconds since it began."""
        return max(0.0, time.time() - self.since)


class Leases:
    """The running calls of one project."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def open(self, call: str, tool: str, session: str, pid: int | None = None) -> None:
        """Say that a call begins, run by a process (this one)."""
        owner = Owner.of(os.getpid() if pid is None else pid)
        lease = Lease(call, tool, session, time.time(), owner)
        write_private(self._directory / f"{file_name(call)}.json", json.dumps(asdict(lease)))

    def close(self, call: str) -> None:
        """Say that a call has ended."""
        (self._directory / f"{file_name(call)}.json").unlink(missing_ok=True)

    def running(self, *, but: frozenset[str] = frozenset()) -> list[Lease]:
        """The calls that are running, oldest first, without those named in `but`.

        Leases of dead processes are removed on the way.
        """
        found = []
        for file in _json_files(self._directory):
            lease = _read_lease(file)
            if lease is None or not lease.owner.alive:
                file.unlink(missing_ok=True)
            elif lease.call not in but:
                found.append(lease)
        return sorted(found, key=lambda lease: lease.since)


def _json_files(directory: Path) -> list[Path]:
    try:
        return [f for f in directory.iterdir() if f.suffix == ".json"]
    except (FileNotFoundError, NotADirectoryError):
        return []


def call_file(directory: Path, session: str, call: str) -> Path:
    """Where a call that has begun is kept for the process that will end it."""
    return directory / f"{file_name(session + ' ' + call)}.json"


def write_private(file: Path, text: str) -> None:
    """Replace a file in one step; only its owner can read it."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    spare = file.with_name(f".{file.name}.{os.getpid()}-{time.monotonic_ns()}")
    fd = os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8", errors="surrogatepass") as out:
        out.write(text)
    os.replace(spare, file)


def file_name(name: str) -> str:
    """A file name for an id that may hold anything; two ids never share one."""
    if re.fullmatch(r"[A-Za-z0-9_-]{1,80}", name):
        return name
    import hashlib

    return "~" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _read_owner(file: Path) -> Owner | None:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        return Owner(int(data["pid"]), str(data["start"]), str(data["boot"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _is_of(owner: Owner | None, pid: int) -> bool:
    return owner is not None and owner.pid == pid and owner.alive


def _read_session(file: Path) -> str | None:
    try:
        return str(json.loads(file.read_text(encoding="utf-8"))["session"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _read_lease(file: Path) -> Lease | None:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        owner = Owner(**data["owner"])
        return Lease(data["call"], data["tool"], data["session"], float(data["since"]), owner)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _start_time(pid: int) -> str:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""  # no /proc: the process id alone has to do
    return text.rpartition(")")[2].split()[19]


@lru_cache(maxsize=1)
def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
