"""Giving space back: the `shallow` boundary, repacking, pruning, sweeping.

Owns everything that removes objects. Holds the store's lock throughout; what it may remove beside
running writers is at least an hour old, and only `full`, with every project's lock held, removes
what is younger. Never runs `git gc`: with `--prune=now` beside a writer it corrupted a store
(3 of 225 snapshots, git 2.39); so did nothing below.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass

from hermes_checkpoints.errors import StoreBusy, StoreError
from hermes_checkpoints.stores.base import Upkeep
from hermes_checkpoints.stores.git.history import History
from hermes_checkpoints.stores.git.layout import Layout, names_in
from hermes_checkpoints.stores.git.locks import Locks
from hermes_checkpoints.stores.git.plumbing import Plumbing
from hermes_checkpoints.stores.git.refs import Refs

__all__ = ["Reclaim", "room"]

_HOUR = 3600.0
_MANY_LOOSE = 256
_MANY_PACKS = 20
_DAYS_OF_A_KEEP = 7
_GIVE_WAY = 0.03
_PATIENCE = 5.0


@dataclass(frozen=True, slots=True)
class _Counts:
    """How the objects lie: loose files, packs, bytes of the packs."""

    loose: int
    packs: int
    packed_bytes: int


class Reclaim:
    """Upkeep of one store."""

    def __init__(
        self, layout: Layout, plumbing: Plumbing, refs: Refs, locks: Locks, history: History
    ) -> None:
        self._layout = layout
        self._plumbing = plumbing
        self._refs = refs
        self._locks = locks
        self._history = history

    # ------------------------------------------------------------------ the whole of it

    def compact(self, budget: float, *, full: bool) -> Upkeep:
        """Write the boundary, repack and prune if it pays, sweep leftovers."""
        before = room(self._layout.store)
        try:
            with self._held(full):
                swept, why_not = self._compact(budget, full=full)
        except StoreBusy as error:
            return Upkeep(before, room(self._layout.store), why_not=str(error))
        # Waiting for a lock is polling: who reclaims in a loop would starve those who write.
        time.sleep(_GIVE_WAY)
        return Upkeep(before, room(self._layout.store), tuple(swept), why_not)

    @contextmanager
    def _held(self, full: bool) -> Iterator[None]:
        """The store's lock; for `full` every project's too, in the order of their ids.

        It gives up before others do: a writer that meets a store just being made waits for the
        store's lock while it holds its project's.
        """
        with ExitStack() as stack:
            stack.enter_context(self._locks.held("store", None if full else 0.5))
            if full:
                for project_id in self.project_ids():
                    stack.enter_context(self._locks.held(project_id, _PATIENCE))
            yield

    def all_locks(self) -> AbstractContextManager[None]:
        """Every lock of the store: nobody is writing. Raises `StoreBusy`."""
        return self._held(full=True)

    def _compact(self, budget: float, *, full: bool) -> tuple[list[str], str]:
        deadline = time.monotonic() + budget
        swept = self._sweep(0.0 if full else _HOUR)
        self._end_old_keeps()
        if full:
            for project_id in self.project_ids():
                self._history.trim_meta(project_id)
        self.write_shallow()
        self.drop_commit_graph()
        counts = self._counts()
        if not full and counts.loose <= _MANY_LOOSE and counts.packs <= _MANY_PACKS:
            return swept, ""
        why_not = self._no_room(counts)
        if why_not:
            return swept, why_not
        try:
            self._repack(max(1.0, deadline - time.monotonic()), full=full)
        except StoreError as error:
            swept += self._sweep(0.0 if full else _HOUR)
            return swept, f"the objects could not be repacked: {error}"
        return swept, ""

    def _repack(self, budget: float, *, full: bool) -> None:
        """First what is new becomes a pack; then packs are freed of what nothing holds.

        Deltas are sought among what is new, and what is packed is copied as it is: sought again
        among all of 400 MB, they took more than a minute, so that no upkeep ever came to its end.
        Unreachable objects: none survive `full`; else the young ones wait in a cruft pack. Not as
        loose files: a thousand turns in an hour would leave thousands of them.
        """
        quiet = ["-c", "repack.writeBitmaps=false", "repack", "-q", "-d", "-n"]
        deadline = time.monotonic() + budget

        def run(*command: str, ok: Sequence[int] = (0,)) -> int:
            left = max(1.0, deadline - time.monotonic())
            return self._plumbing.run(command, timeout=left, ok=ok).status

        if not full:
            run("prune", "--expire=1.hour.ago")
        run(*quiet, "--geometric=2")
        if full:
            run(*quiet, "-a", "--window=0")
            run("prune", "--expire=now")
        elif self._boundary_moved():
            cruft = ["--cruft", "--cruft-expiration=1.hour.ago", "--window=0"]
            # Git before 2.37 knows no cruft packs: what is in packs waits for `full`.
            if not run(*quiet, *cruft, ok=(0, 129)):
                self._note_boundary()

    # ------------------------------------------------------------------ the boundary

    def write_shallow(self) -> None:
        """Tell git where histories end, before any object behind goes. Derived, never edited."""
        path = self._layout.path("shallow")
        wanted = self.commits_there(self._history.bases(p) for p in self.project_ids())
        if wanted == _lines(path):
            return
        lock = path + ".lock"
        try:
            os.unlink(lock)  # git's own: we hold the lock that every writer of it takes
        except FileNotFoundError:
            pass
        fd = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w", encoding="ascii") as file:
            file.writelines(line + "\n" for line in wanted)
            file.flush()
            os.fsync(file.fileno())
        if wanted:
            os.replace(lock, path)
        else:
            _unlink(path)
            _unlink(lock)

    def drop_commit_graph(self) -> None:
        """Nothing of ours writes or reads one; what another program wrote turns false."""
        info = self._layout.path("objects", "info")
        _unlink(f"{info}/commit-graph")
        shutil.rmtree(f"{info}/commit-graphs", ignore_errors=True)

    def commits_there(self, bases: Iterable[Collection[str]]) -> list[str]:
        """The ids of those commits that are there: one that is not fails every git."""
        asked = sorted({one for some in bases for one in some})
        if not asked:
            return []
        given = "".join(f"{one}\n" for one in asked).encode()
        answers = self._plumbing.run(["cat-file", "--batch-check"], given=given).out.splitlines()
        return [a.split()[0].decode() for a in answers if a.split()[1:2] == [b"commit"]]

    def misled(self) -> bool:
        """Whether `shallow` says what is wrong. That it lags behind what was dropped is no fault.

        Wrong is: no commit that is there, the middle of a list, or silence about a lost parent.
        """
        there = set(_lines(self._layout.path("shallow")))
        bases: set[str] = set()
        inner: set[str] = set()
        for project_id in self.project_ids():
            ends = self._history.bases(project_id)
            bases.update(ends)
            inner.update(self._history.commits(project_id)[:-1])
        if there & (inner - bases) or there - set(self.commits_there([there])):
            return True
        parents = self._parents(self.commits_there([bases - there]))
        return len(self.commits_there([parents])) < len(parents)

    def _parents(self, commits: Sequence[str]) -> set[str]:
        """The parents that commits name, whatever `shallow` says."""
        given = "".join(f"{one}\n" for one in commits).encode()
        out = self._plumbing.run(["cat-file", "--batch"], given=given).out if commits else b""
        return {found.decode() for found in re.findall(rb"^parent ([0-9a-f]{40})$", out, re.M)}

    @contextmanager
    def as_if_shallow(self, bases: Iterable[Collection[str]]) -> Iterator[dict[str, str]]:
        """What to give a child so that histories end at these commits for it."""
        shallow = self._layout.path(f"shallow.{os.getpid()}.proposed")
        try:
            with open(shallow, "w", encoding="ascii") as file:
                file.writelines(line + "\n" for line in self.commits_there(bases))
            yield {"GIT_SHALLOW_FILE": shallow}
        finally:
            _unlink(shallow)

    def _boundary_moved(self) -> bool:
        """Whether something was dropped since packs were last freed of what nothing holds."""
        return _text(self._layout.path("shallow")) != _text(self._layout.path("shallow.packed"))

    def _note_boundary(self) -> None:
        text = _text(self._layout.path("shallow"))
        with open(self._layout.path("shallow.packed"), "w", encoding="ascii") as file:
            file.write(text)

    # ------------------------------------------------------------------ foretelling

    def would_free(self, drops: Mapping[str, Sequence[str]]) -> int:
        """Bytes that only the checkpoints to be dropped hold. Removes nothing.

        A project that loses all its checkpoints is counted as forgotten.
        """
        ids = self.project_ids()
        before = self._reachable(ids, {})
        return max(0, before - self._reachable(ids, drops))

    def _reachable(self, ids: Sequence[str], drops: Mapping[str, Sequence[str]]) -> int:
        """Bytes reachable if these were dropped, by git's own count."""
        tips: list[str] = []
        bases: list[list[str]] = []
        for project_id in ids:
            after = self._history.after_drop(project_id, drops.get(project_id, ()))
            if after is None:
                continue
            tips += after.tips
            bases.append(after.bases)
        if not tips:
            return 0
        command = ["rev-list", "--disk-usage", "--objects", "--stdin"]
        given = "".join(f"{tip}\n" for tip in tips).encode()
        with self.as_if_shallow(bases) as extra:
            return int(self._plumbing.run(command, given=given, extra=extra).out)

    # ------------------------------------------------------------------ sweeping

    def leftovers(self, older_than: float) -> list[str]:
        """Files that a process left when it died: temporary packs and objects, locks of git's."""
        limit = time.time() - older_than
        found = []
        for directory, names in self._places():
            for name in names:
                path = f"{directory}/{name}"
                if _is_leftover(name) and _mtime(path) <= limit:
                    found.append(path)
        return found

    def _sweep(self, older_than: float) -> list[str]:
        found = self.leftovers(older_than)
        for path in found:
            _unlink(path)
        return [os.path.relpath(path, self._layout.store) for path in found]

    def _places(self) -> Iterator[tuple[str, Sequence[str]]]:
        store = self._layout.store
        objects = f"{store}/objects"
        tops = [store, objects, f"{objects}/pack", *(f"{store}/{d}" for d in _OURS)]
        fans = [f"{objects}/{name}" for name in names_in(objects) if len(name) == 2]
        refs = [here for here, _, _ in os.walk(f"{store}/refs")]
        for directory in (*tops, *fans, *refs):
            yield directory, names_in(directory)

    def _end_old_keeps(self) -> None:
        """States kept by calls that never ended: a week is longer than any tool runs."""
        limit = time.time() - _DAYS_OF_A_KEEP * 86400
        for project_id in self.project_ids():
            for ref in self._refs.below(self._layout.own_ref("open", project_id)):
                if _mtime(self._layout.path(ref)) < limit:
                    self._refs.delete(ref)

    # ------------------------------------------------------------------ measures

    def _counts(self) -> _Counts:
        objects = self._layout.path("objects")
        loose = sum(len(names_in(f"{objects}/{fan}")) for fan in names_in(objects) if len(fan) == 2)
        packs = [n for n in names_in(f"{objects}/pack") if n.endswith(".pack")]
        size = sum(_size(f"{objects}/pack/{name}") for name in packs)
        return _Counts(loose, len(packs), size)

    def _no_room(self, counts: _Counts) -> str:
        """Why there is too little free space to write packs anew before the old ones go."""
        needed = counts.packed_bytes + counts.loose * 4096
        free = shutil.disk_usage(self._layout.store).free
        if free > needed * 1.1:
            return ""
        return f"repacking needs {needed >> 20} MB of free space and there are {free >> 20}"

    def project_ids(self) -> list[str]:
        """Ids of all projects with a history, a document or an index, sorted."""
        documents = {
            name[:-5] for name in names_in(self._layout.path("projects")) if _is_json(name)
        }
        documents.update(names_in(self._layout.path("worktrees")))
        prefix = f"refs/{self._layout.namespace}"
        tips = {ref[len(prefix) + 1 :] for ref in self._refs.below(prefix)}
        return sorted(documents | tips)


_OURS = ("indexes", "projects", "boundaries", "catalogue", "info", "excludes")


def _is_leftover(name: str) -> bool:
    return name.startswith(("tmp_pack_", "tmp_idx_", "tmp_obj_", "tmp_rev_", ".tmp-")) or (
        name.endswith((".lock", ".tmp", ".proposed"))
    )


def _is_json(name: str) -> bool:
    return name.endswith(".json") and len(name) == 21


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def _mtime(path: str) -> float:
    """When a file was last written; a file that is gone is young, so nobody touches it."""
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return time.time() + _HOUR


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _lines(path: str) -> list[str]:
    return _text(path).splitlines()


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def room(directory: str) -> int:
    """Bytes of all files below a directory."""
    total = 0
    for here, _, names in os.walk(directory):
        for name in names:
            total += _size(os.path.join(here, name))
    return total
