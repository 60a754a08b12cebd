"""A small project with an agent, a person and a store, for tests of rollback."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from hermes_checkpoints.books import Books
from hermes_checkpoints.config import Config
from hermes_checkpoints.ledger import Entry
from hermes_checkpoints.project import project_id
from hermes_checkpoints.records import Checkpoint, FileState, Plan, Project, Report
from hermes_checkpoints.recovery import Recovery
from hermes_checkpoints.stores.base import Store
from hermes_checkpoints.stores.git import open_store as git_store
from hermes_checkpoints.stores.memory import MemoryStore
from hermes_checkpoints.worktree import Unreadable, files_below, is_directory, look

Content = str | bytes | Path | None


class Scene:
    """One project: the person writes with `user`, the agent with `write` and `shell`.

    The agent's calls do what the library's guard does around a tool: a checkpoint at the first one
    of a turn, a supplement where the checkpoint lacks what is there, an entry in the ledger after.
    """

    def __init__(self, directory: Path, store: Store | str = "memory", **config: object) -> None:
        self.root = directory / "w"
        self.root.mkdir(parents=True, exist_ok=True)
        root = os.path.realpath(self.root)
        self.project = Project(root, project_id(root))
        self.config = Config(base=directory / "base", **config)  # type: ignore[arg-type]
        self.store = _STORES[store](self.config) if isinstance(store, str) else store
        self.books = Books(self.config.base_path)
        self.recovery = Recovery(store=self.store, books=self.books, config=self.config)
        self.session = "s1"
        self._turns = 0
        self._calls = 0
        self._fresh = True
        self.books.sessions.begin(self.session)

    # ------------------------------------------------------------------ acting

    def user(self, path: str, content: Content = "", mode: int | None = None) -> None:
        """The person writes a file (a `Path`: a link), or deletes it (`None`)."""
        put(self.root / path, content, mode)

    def turn(self) -> None:
        """A new message of the person."""
        self._turns += 1
        self._fresh = True

    def write(
        self, files: dict[str, Content], *, session: str = "", certain: bool = True, tool: str = ""
    ) -> None:
        """One call of the agent that writes (or deletes, or links) some paths."""
        before = self.protect(list(files))
        for path, content in files.items():
            put(self.root / path, content)
        self.attribute(before, list(files), session=session, certain=certain, tool=tool)

    def shell(self, *paths: str) -> _Command:
        """A call of the agent that may do anything to `paths` in the `with` block."""
        return _Command(self, list(paths))

    def protect(self, paths: list[str]) -> dict[str, FileState | None]:
        """What holds the state before a call, and that state of the named paths."""
        with self.store.lock(self.project):
            if self._fresh:
                self._checkpoint(paths)
            else:
                newest = self.store.list(self.project)[0]
                rules = self.config.capture_rules
                lacking = self._persons(paths)
                seen = self.store.observe(self.project, rules, named=lacking, scan=False)
                self.store.supplement(self.project, newest.id, seen)
        return states_of(self.project.root, paths)

    def _checkpoint(self, paths: list[str]) -> None:
        seen = self.store.observe(self.project, self.config.capture_rules, named=paths)
        labels = {"Session": self.session, "Turn": f"t{self._turns}", "Tool": "write_file"}
        self.store.capture(self.project, seen, reason="before write_file", labels=labels)
        self.books.of(self.project).ledger.create()
        self._fresh = False

    def attribute(
        self,
        before: dict[str, FileState | None],
        paths: list[str],
        *,
        session: str = "",
        certain: bool = True,
        tool: str = "",
    ) -> None:
        self._calls += 1
        now = states_of(self.project.root, {*before, *paths})
        entries = [
            Entry(
                path=path,
                before=before.get(path),
                after=now.get(path),
                checkpoint=self.store.list(self.project)[0].id,
                session=session or self.session,
                turn=f"t{self._turns}",
                call=f"call-{self._calls}",
                tool=tool or "write_file",
                time=self.recovery.clock(),
                certain=certain,
            )
            for path in sorted({*before, *now})
            if before.get(path) != now.get(path)
        ]
        self.books.of(self.project).ledger.append(entries)

    def _persons(self, paths: list[str]) -> list[str]:
        """Those paths whose content is not what the agent last left there."""
        entries = self.books.of(self.project).ledger.entries()
        running = self.books.sessions.running
        last = {
            e.path: e.after if e.session == self.session or not running(e.session) else None
            for e in entries
        }
        now = states_of(self.project.root, paths)
        directories = [p for p in paths if is_directory(self.project.root, p)]
        return [*directories, *(p for p, s in now.items() if s and last.get(p) != s)]

    # ------------------------------------------------------------------ rolling back

    @property
    def list(self) -> list[Checkpoint]:
        return list(self.store.list(self.project))

    def plan(self, number: int = 1, *paths: str, all: bool = False) -> Plan:
        return self.recovery.plan(
            self.project,
            self.list[number - 1],
            paths=paths,
            base_dir=self.project.root,
            keep_edits=not all,
            session=self.session,
        )

    def rollback(
        self, number: int = 1, *paths: str, all: bool = False, base: str = "", **more: object
    ) -> Report:
        return self.recovery.restore(
            self.project,
            self.list[number - 1],
            paths=paths,
            base_dir=os.path.join(self.project.root, base),
            keep_edits=not all,
            session=self.session,
            **more,  # type: ignore[arg-type]
        )

    def undo(self) -> Report:
        return self.recovery.undo(self.project, session=self.session)

    # ------------------------------------------------------------------ looking

    def __getitem__(self, path: str) -> str | None:
        """A file's text, `-> target` for a link, `None` for nothing."""
        place = self.root / path
        if place.is_symlink():
            return f"-> {os.readlink(place)}"
        return place.read_text() if place.is_file() else None

    def mode(self, path: str) -> int:
        return stat.S_IMODE((self.root / path).lstat().st_mode)

    def stored(self) -> object:
        """All that store and records hold, byte for byte."""
        drawer = getattr(self.store, "_drawer", None)
        return photograph(self.config.base_path), dict(getattr(drawer, "_bytes", {}))

    def tree(self) -> dict[str, tuple[str, int]]:
        """Every file and link below the root: what it holds, and its permission bits."""
        return photograph(self.root)


_STORES: dict[str, Callable[[Config], Store]] = {
    "memory": lambda _: MemoryStore(),
    "git": git_store,
}


class _Command:
    """A tool call around which the project is looked at."""

    def __init__(self, scene: Scene, paths: list[str]) -> None:
        self._scene, self._paths = scene, paths

    def __enter__(self) -> Path:
        self._before = self._scene.protect(self._paths)
        return self._scene.root

    def __exit__(self, *_: object) -> None:
        self._scene.attribute(self._before, self._paths, certain=False, tool="terminal")


def put(place: Path, content: Content, mode: int | None = None) -> None:
    """Make a file, a link to a `Path`, or nothing of a path; parents are made."""
    if content is None:
        place.unlink()
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, Path):
        place.symlink_to(content)
        return
    place.write_bytes(content if isinstance(content, bytes) else content.encode())
    if mode is not None:
        place.chmod(mode)


def photograph(root: Path) -> dict[str, tuple[str, int]]:
    found = {}
    for place in sorted(root.rglob("*")):
        if place.is_symlink():
            found[str(place.relative_to(root))] = (f"-> {os.readlink(place)}", 0)
        elif place.is_file():
            bits = stat.S_IMODE(place.stat().st_mode)
            found[str(place.relative_to(root))] = (place.read_bytes().decode("latin-1"), bits)
    return found


class DiskDrawer:
    """Named bytes in files, so that another process finds what one has stored."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._locks: dict[tuple[int, str], FileLock] = {}

    def get(self, name: str) -> bytes | None:
        try:
            return (self._directory / name).read_bytes()
        except FileNotFoundError:
            return None

    def put(self, name: str, data: bytes) -> None:
        place = self._directory / name
        place.parent.mkdir(parents=True, exist_ok=True)
        spare = place.with_name(f"{place.name}.{os.getpid()}")
        spare.write_bytes(data)
        spare.replace(place)

    def delete(self, name: str) -> None:
        (self._directory / name).unlink(missing_ok=True)

    def names(self, prefix: str) -> Iterable[str]:
        files = [p for p in self._directory.rglob("*") if p.is_file()]
        found = [p.relative_to(self._directory).as_posix() for p in files]
        return [name for name in found if name.startswith(prefix)]

    @contextmanager
    def lock(self, name: str, timeout: float | None) -> Iterator[None]:
        self._directory.mkdir(parents=True, exist_ok=True)
        key = os.getpid(), name  # a lock does not outlive a fork
        lock = self._locks.setdefault(key, FileLock(self._directory / f"{name}.lock"))
        with lock.acquire(timeout=10 if timeout is None else timeout):
            yield

    def size(self) -> int:
        return 0


def states_of(root: str, paths: Iterable[str]) -> dict[str, FileState | None]:
    """The states of paths, directories expanded; what can't be read is left out."""
    found: dict[str, FileState | None] = {}
    for path in paths:
        for one in list(files_below(root, path)) or [path]:
            try:
                there = look(root, one)
            except Unreadable:
                continue
            found[one] = there.state if there else None
    return found
