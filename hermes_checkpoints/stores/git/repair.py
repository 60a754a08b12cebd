"""Finding and mending damage: of one project's history, of the store as a whole.

Owns `verify`, setting a broken history aside, and quarantine. A history that does not resolve is
noted in `broken/`, outside `refs/`: one bad ref makes every repack fail for all projects (2.39).
"""

from __future__ import annotations

import logging
import os
import re
import stat
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from hermes_checkpoints.errors import StoreError, StoreUnavailable
from hermes_checkpoints.stores.base import Problem
from hermes_checkpoints.stores.git.history import History, Reach
from hermes_checkpoints.stores.git.index import Index
from hermes_checkpoints.stores.git.layout import Layout, names_in
from hermes_checkpoints.stores.git.locks import Locks
from hermes_checkpoints.stores.git.plumbing import GitFailed, Plumbing
from hermes_checkpoints.stores.git.reclaim import Reclaim
from hermes_checkpoints.stores.git.refs import Refs
from hermes_checkpoints.stores.git.scan import Scanner
from hermes_checkpoints.stores.git.smallfiles import read_json, write_bytes, write_json

__all__ = ["Repair"]

_log = logging.getLogger("hermes_checkpoints")
_HOUR = 3600.0
_PACKED = re.compile(r"[0-9a-f]{40} refs/[!-~]+|\^[0-9a-f]{40}|# pack-refs with:.*")


class Repair:
    """Looks after one store's health."""

    def __init__(
        self,
        layout: Layout,
        plumbing: Plumbing,
        refs: Refs,
        locks: Locks,
        history: History,
        reclaim: Reclaim,
        scanner: Scanner,
    ) -> None:
        self._layout = layout
        self._plumbing = plumbing
        self._refs = refs
        self._locks = locks
        self._history = history
        self._reclaim = reclaim
        self._scanner = scanner

    # ------------------------------------------------------------------ one project

    def set_aside(self, project_id: str) -> bool:
        """Set a project's history aside if its tip can't be read; whether that was so.

        What a power cut took are the newest checkpoints: where an older one can be read, the
        history ends there. Else the next capture begins a new one. A note keeps the old tip.
        """
        if not self._is_broken(project_id):
            return False
        tip = self._refs.read(self._layout.ref(project_id))
        when = time.strftime("%Y%m%d-%H%M%S")
        note = self._layout.path("broken", f"{project_id}-{when}.json")
        os.makedirs(os.path.dirname(note), mode=0o700, exist_ok=True)
        write_json(note, {"project": project_id, "tip": tip, "time": time.time()})
        known = self._history.remembered(project_id)
        older = next((c for c in known if c != tip and self._resolves(c)), "")
        lost = (tip or "an unreadable ref")[:12]
        if older:
            self._history.rewind(project_id, older)
            problem = f"its history after {older[:7]}, up to {lost}, is damaged and set aside"
        else:
            self._history.cut(project_id)
            problem = f"its history up to {lost} is damaged and set aside"
        self._note_problem(project_id, problem)
        _log.error("checkpoints of project %s: %s (%s)", project_id, problem, note)
        return True

    def _is_broken(self, project_id: str) -> bool:
        """Whether there is a tip, and it can't be read."""
        ref = self._layout.ref(project_id)
        tip = self._refs.read(ref)
        if tip is None:
            return os.path.isfile(self._layout.path(ref))
        return not self._resolves(tip)

    def _resolves(self, tip: str) -> bool:
        """Whether a commit and all of its tree's directories can be read."""
        command = ["ls-tree", "-r", "-t", "--name-only", "-z", tip]
        try:
            self._plumbing.run(command)
        except GitFailed:
            return False
        return True

    # ------------------------------------------------------------------ the store as a whole

    def mend(self, project_id: str) -> None:
        """After a look that failed: mend the store if it is sick, else look at the history."""
        if not self.mend_store(last_resort=False) and not self._refusal():
            self.set_aside(project_id)

    def mend_store(self, *, last_resort: bool = True) -> bool:
        """Make git take it for a store again; whether that was needed, and done.

        Everything cheaper was tried before: missing directories, HEAD, attributes. The last resort
        is to begin a new one; the caller then holds the store's lock.
        """
        words = self._refusal()
        if not words:
            return False
        for mend in (self._renew_config, self._salvage_packed_refs):
            mend()
            if not self._refusal():
                _log.error("the checkpoint store %s was mended: %s", self._layout.store, words)
                return True
        if last_resort:
            self._refuse_sick_git()
            self.quarantine(words)
        return last_resort

    def _refuse_sick_git(self) -> None:
        """Raise rather than give a store up, if git does not work with an empty one either."""
        with tempfile.TemporaryDirectory(prefix="hermes-checkpoints-") as place:
            try:
                init = ["init", "--quiet", "--bare", "--template=", place]
                for command in (init, ["for-each-ref", "--count=1"]):
                    self._plumbing.run(command, extra={"GIT_DIR": place}, at=place)
            except GitFailed as error:
                raise StoreUnavailable(
                    f"git does not work here ({error.words}), so the store is left alone",
                    hint="see whether `git --version` answers",
                ) from error

    def _refusal(self) -> str:
        """Why git does not take it for a store whose refs can be read; empty if it does."""
        try:
            # Of refs only the names: one that points to a lost object is no reason to give up all.
            self._plumbing.run(["for-each-ref", "--count=1", "--format=%(refname)"])
        except GitFailed as error:
            return error.words
        return ""

    def quarantine(self, words: str) -> None:
        """Move the store to `corrupt-<time>`, so that a new one can begin."""
        name = f"corrupt-{time.strftime('%Y%m%d-%H%M%S')}"
        target = os.path.join(self._layout.base, name)
        os.makedirs(target, mode=0o700, exist_ok=True)
        for entry in os.listdir(self._layout.store):
            if entry != "locks":  # others may be waiting for these
                os.rename(self._layout.path(entry), os.path.join(target, entry))
        self._history.forget_cached()
        _log.error(
            "the checkpoint store %s was beyond repair (%s); it is now %s, and a new one begins",
            self._layout.store,
            words,
            target,
        )

    def _renew_config(self) -> None:
        """The old file is kept beside the new one."""
        config = self._layout.path("config")
        if os.path.isfile(config):
            os.replace(config, config + ".broken")
        self._layout.furnish()

    def _salvage_packed_refs(self) -> None:
        """Keep the lines that are refs."""
        path = self._layout.path("packed-refs")
        lines = [line for line in _lines(path) if _PACKED.fullmatch(line)]
        if os.path.isfile(path):
            os.replace(path, path + ".broken")
            write_bytes(path, "".join(line + "\n" for line in lines).encode())

    # ------------------------------------------------------------------ verify

    def verify(self, *, read_data: bool, fix: bool) -> list[Problem]:
        """Everything that is wrong; with `fix`, what can be mended is, as it is found."""
        found = []
        with self._locks.held("store"):
            for finding in self._check(read_data):
                found.append(Problem(finding.what, finding.project, finding.fix))
                if fix and finding.mend:
                    finding.mend()
            if fix:
                self._reclaim.write_shallow()
                self._reclaim.drop_commit_graph()
        return found

    def _check(self, read_data: bool) -> Iterator[_Finding]:
        yield from self._check_files()
        yield from self._check_documents()
        yield from self._check_objects()
        for project_id in self._reclaim.project_ids():
            yield from self._check_project(project_id)
        if read_data:
            yield from self._read_everything()

    def _check_files(self) -> Iterator[_Finding]:
        store = self._layout.store
        if os.name == "posix" and stat.S_IMODE(os.stat(store).st_mode) & 0o077:
            mend = partial(os.chmod, store, 0o700)
            yield _Finding(f"{store} can be read by others", fix="make it private", mend=mend)
        for path in self._reclaim.leftovers(_HOUR):
            what = f"{path} was left by a process that died"
            yield _Finding(what, fix="delete it", mend=partial(_discard, path))
        if self._reclaim.misled():
            what = f"{self._layout.path('shallow')} is not what the histories say"
            yield _Finding(what, fix="write it anew", mend=self._reclaim.write_shallow)

    def _check_documents(self) -> Iterator[_Finding]:
        for directory in ("projects", "boundaries", "catalogue"):
            top = self._layout.path(directory)
            for name in names_in(top):
                path, project = f"{top}/{name}", name.removesuffix(".json")
                if name.endswith(".json") and read_json(path) is None:
                    mend = partial(self._renew, directory, project)
                    yield _Finding(f"{path} is damaged", project, "make it anew", mend)
        for project_id in self._reclaim.project_ids():
            index = self._layout.index(project_id)
            try:
                Index.load(index)
            except (ValueError, OSError, struct.error) as error:
                mend = partial(self._scanner.forget_index, project_id)
                fix = "delete it, it is made anew"
                yield _Finding(f"{index} is damaged ({error})", project_id, fix, mend)

    def _check_objects(self) -> Iterator[_Finding]:
        objects = self._layout.path("objects")
        for fan in names_in(objects):
            directory = f"{objects}/{fan}"
            for name in names_in(directory) if len(fan) == 2 else ():
                path = f"{directory}/{name}"
                if not os.path.getsize(path):
                    mend = partial(_discard, path)
                    yield _Finding(f"{path} is empty", fix="delete it", mend=mend)

    def _check_project(self, project_id: str) -> Iterator[_Finding]:
        document = read_json(self._layout.document(project_id)) or {}
        root = document.get("workdir", project_id)
        if document.get("problem"):
            mend = partial(self._note_problem, project_id, "")
            yield _Finding(f"{root}: {document['problem']}", project_id, "take note of it", mend)
        if self._is_broken(project_id):
            fix = "set its history aside, a new one begins"
            mend = partial(self._set_aside_locked, project_id)
            yield _Finding(f"{root}: its newest checkpoint cannot be read", project_id, fix, mend)
            return
        reach = self._history.after_drop(project_id, ())
        lost = self._missing(reach) if reach and reach.tips else ""
        if lost:
            fix = "take checkpoints that hold it off the list"
            mend = partial(self._drop_damaged, project_id)
            yield _Finding(f"{root}: something it holds is lost ({lost})", project_id, fix, mend)
        strangers = self._history.strangers(project_id)
        if strangers:
            what = f"{root}: another program made {strangers} checkpoints in between"
            yield _Finding(f"{what}; let one program at a time write this store", project_id)

    def _read_everything(self) -> Iterator[_Finding]:
        command = ["fsck", "--full", "--no-dangling", "--no-progress"]
        result = self._plumbing.run(command, ok=range(256), timeout=3600)
        lines = (result.out + result.err).decode("utf-8", "replace").splitlines()
        for line in lines if result.status else ():
            if line.startswith(("error", "missing", "broken", "fatal")):
                yield _Finding(f"git fsck: {line}")

    def _missing(self, reach: Reach) -> str:
        """What git says is missing in what must be there; empty if nothing is."""
        given = "".join(f"{tip}\n" for tip in reach.tips).encode()
        command = ["rev-list", "--objects", "--quiet", "--stdin"]
        try:
            with self._reclaim.as_if_shallow([reach.bases]) as extra:
                self._plumbing.run(command, given=given, extra=extra, timeout=600)
        except GitFailed as error:
            return error.words
        return ""

    def _is_torn(self, oid: str) -> bool:
        """Whether something is missing in one tree, or one history."""
        return bool(self._missing(Reach([oid], [])))

    # ------------------------------------------------------------------ mending

    def _set_aside_locked(self, project_id: str) -> None:
        with self._locks.held(project_id):
            self.set_aside(project_id)

    def _drop_damaged(self, project_id: str) -> None:
        """Take off the list what can't be restored whole: a checkpoint exists or it is gone."""
        with self._locks.held(project_id):
            listed = [row.checkpoint for row in self._history.catalogue(project_id).rows]
            commits = set(self._reclaim.commits_there([self._history.commits(project_id)]))
            damaged = [
                one
                for one in listed
                if not commits.issuperset((one.id, *one.supplements)) or self._is_torn(one.tree)
            ]
            for one in damaged:
                for pin in self._history.pins(project_id).get(one.id, ()):
                    self._history.unpin(project_id, one.id, pin)
            self._history.drop(project_id, [one.id for one in damaged])
            kept = self._refs.below(self._layout.own_ref("open", project_id))
            live = self._layout.own_ref("live", project_id)
            for ref, oid in {**kept, live: self._refs.read(live)}.items():
                if oid and self._is_torn(oid):
                    self._refs.delete(ref)
            self._scanner.forget_index(project_id)
            self._history.trim_meta(project_id)

    def _renew(self, directory: str, project_id: str) -> None:
        """Make a damaged document anew from what else is known."""
        with self._locks.held(project_id):
            _discard(self._layout.path(directory, f"{project_id}.json"))
            root = self._layout.root_of(project_id)
            if directory == "projects" and root:
                now = time.time()
                document = {"workdir": root, "created_at": now, "last_touch": now}
                write_json(self._layout.document(project_id), document)

    def _note_problem(self, project_id: str, problem: str) -> None:
        path = self._layout.document(project_id)
        write_json(path, {**(read_json(path) or {}), "problem": problem})


@dataclass(frozen=True, slots=True)
class _Finding:
    """Something wrong, and how to mend it if that can be done."""

    what: str
    project: str = ""
    fix: str = ""
    mend: Callable[[], object] | None = None


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


def _discard(path: str) -> None:
    try:
        os.unlink(path)
    except OSError as error:
        raise StoreError(f"{path} could not be deleted ({error.strerror})") from error
