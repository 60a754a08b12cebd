"""A complete store over anything that can keep named bytes.

Owns the layout of a store as *drawers*: contents, states and one document per project. A backend
supplies a `Drawer` (get, put, delete, list, lock) and has a store that keeps the whole contract.
Made for clarity and small projects: every state is one document, and a scan reads every file.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cache
from typing import Any, Protocol

from hermes_checkpoints.errors import CaptureFailed, CheckpointNotFound, StoreError
from hermes_checkpoints.excludes import CaptureRules
from hermes_checkpoints.records import (
    GITLINK,
    Change,
    Checkpoint,
    FileState,
    Gap,
    GapReason,
    Project,
    content_id,
)
from hermes_checkpoints.stores import reading, rows
from hermes_checkpoints.stores.base import (
    NESTED_CONTENT,
    Diff,
    Observation,
    Problem,
    Problems,
    ProjectRecord,
    Records,
    StoreSize,
    Upkeep,
)
from hermes_checkpoints.stores.patterns import IgnoreRules, select
from hermes_checkpoints.stores.rows import Row

__all__ = ["Drawer", "PlainStore"]


class Drawer(Protocol):
    """Named bytes. Names are made of letters, digits, `-` and `/`; a `put` is atomic."""

    def get(self, name: str) -> bytes | None:
        """The bytes put under a name, or `None`."""
        ...

    def put(self, name: str, data: bytes) -> None:
        """Keep bytes under a name, replacing what was there."""
        ...

    def delete(self, name: str) -> None:
        """Forget a name; nothing happens if it is not there."""
        ...

    def names(self, prefix: str) -> Iterable[str]:
        """All names that begin with `prefix`."""
        ...

    def lock(self, name: str, timeout: float | None) -> AbstractContextManager[None]:
        """An exclusive lock, re-entrant in a thread. Raises `StoreBusy`."""
        ...

    def size(self) -> int:
        """Bytes used."""
        ...


class PlainStore:
    """The store contract over a `Drawer`."""

    remote = False

    def __init__(self, drawer: Drawer) -> None:
        self._drawer = drawer

    # ------------------------------------------------------------------ states

    @contextmanager
    def lock(self, project: Project, *, timeout: float | None = None) -> Iterator[None]:
        with self._drawer.lock(project.id, timeout):
            yield

    def observe(
        self,
        project: Project,
        rules: CaptureRules,
        *,
        named: Sequence[str] = (),
        scan: bool = True,
    ) -> Observation:
        with self.lock(project):
            if not os.path.isdir(project.root):
                raise CaptureFailed(f"{project.root} is no directory any more; nothing to record")
            look = _Look(project, rules, self._save)
            if scan and project.whole:
                look.scan()
            for path in named:
                look.name(path)
            return look.observation(self._put_state(look.states), scan and project.whole)

    def combined(self, project: Project, observation: Observation) -> str:
        with self.lock(project):
            present = {p: s for p, s in observation.named.items() if s}
            return self._put_state({**self._state(observation.tree), **present})

    def ignored(self, project: Project, tree: str, paths: Iterable[str]) -> set[str]:
        states = self._state(tree)

        @cache
        def rules_in(directory: str) -> IgnoreRules:
            """The ignore rules in force in a directory of the state."""
            above = rules_in(directory.rpartition("/")[0]) if directory else IgnoreRules()
            name = f"{directory}/.gitignore" if directory else ".gitignore"
            return above.below(directory, os.fsdecode(self._bytes(states.get(name))))

        @cache
        def left_out(path: str, is_directory: bool) -> bool:
            directory = path.rpartition("/")[0]
            if directory and left_out(directory, True):
                return True
            return rules_in(directory).ignores(path, is_directory=is_directory)

        return {path for path in paths if left_out(path, False)}

    def keep(self, project: Project, key: str, tree: str) -> None:
        with self.lock(project):
            self._state(tree)
            document = self._document(project)
            document["keeps"][key] = tree
            self._write(project, document)

    def release(self, project: Project, key: str) -> None:
        with self.lock(project):
            document = self._document(project)
            if document["keeps"].pop(key, None):
                self._write(project, document)

    def changes(self, project: Project, old: str, new: str) -> list[Change]:
        before, after = self._state(old), self._state(new)
        return [
            Change(path, before.get(path), after.get(path))
            for path in sorted(before.keys() | after.keys())
            if before.get(path) != after.get(path)
        ]

    def entries(self, project: Project, tree: str) -> dict[str, FileState]:
        return self._state(tree)

    def states(
        self, project: Project, tree: str, paths: Iterable[str]
    ) -> dict[str, FileState | None]:
        held = self._state(tree)
        return {path: held.get(path) for path in paths}

    def read(self, project: Project, contents: Iterable[str]) -> Iterator[bytes]:
        for content in contents:
            data = self._drawer.get(f"content/{content}")
            if data is None:
                raise StoreError(f"content {content} is not in the store")
            yield data

    def diff(self, project: Project, old: str, new: str, paths: Sequence[str] = ()) -> Diff:
        stat, patch = [], []
        for change in self.changes(project, old, new):
            if paths and not any(_within(change.path, path) for path in paths):
                continue
            text = self._patch(project, change)
            patch.append(text)
            plus = sum(line.startswith(b"+") for line in text.split(b"\n")[4:])
            minus = sum(line.startswith(b"-") for line in text.split(b"\n")[4:])
            stat.append(b" %s | +%d -%d\n" % (os.fsencode(change.path), plus, minus))
        return Diff(b"".join(stat), b"".join(patch))

    def match(self, candidates: Iterable[str], pathspecs: Sequence[str]) -> list[str]:
        return select(candidates, pathspecs)

    # ------------------------------------------------------------------ history

    def capture(
        self,
        project: Project,
        observation: Observation,
        *,
        reason: str,
        labels: Mapping[str, str] | None = None,
    ) -> Checkpoint | None:
        with self.lock(project):
            document = self._document(project)
            newest = self._rows(document)[0] if document["checkpoints"] else None
            if newest:
                held = self.states(project, newest.checkpoint.tree, observation.named)
                if rows.equal(newest, observation, held):
                    return None
            tree = self._overlaid(observation)
            checkpoint = Checkpoint(
                id=_new_id(),
                time=time.time(),
                reason=rows.annotated(reason, observation.gaps),
                tree=tree,
                gaps=observation.gaps,
                named=tuple(sorted(observation.unruled)),
                modes=dict(observation.modes),
                empty_dirs=observation.empty_dirs,
                whole=observation.whole,
                exclude=observation.exclude,
                labels=dict(labels or {}),
            )
            document["checkpoints"].append(rows.encode(Row(checkpoint, observation.tree)))
            self._touch(project, document)
            self._write(project, document)
            return self.get(project, checkpoint.id)

    def supplement(
        self, project: Project, checkpoint_id: str, observation: Observation
    ) -> Checkpoint | None:
        with self.lock(project):
            document = self._document(project)
            row = rows.find(self._rows(document)[:1], project, checkpoint_id)
            checkpoint = row.checkpoint
            held = self._state(checkpoint.tree)
            observed = {**self._state(observation.tree)}
            observed.update({p: s for p, s in observation.named.items() if s})
            add = rows.addition(checkpoint, observation, observed, held, _blocked(observed, held))
            if not add:
                return None
            tree = self._put_state({**held, **add.paths})
            more = rows.grown(checkpoint, add, observation, tree)
            more = replace(more, supplements=(*more.supplements, _new_id()))
            document["checkpoints"][-1] = rows.encode(Row(more, row.live))
            self._touch(project, document)
            self._write(project, document)
            return self.get(project, checkpoint.id)

    def list(self, project: Project, *, counts: bool = False) -> list[Checkpoint]:
        found = [row.checkpoint for row in self._rows(self._document(project))]
        if not counts:
            return found
        return [
            self._counted(project, one, before)
            for one, before in zip(found, [*found, None][1:], strict=True)
        ]

    def get(self, project: Project, checkpoint_id: str) -> Checkpoint:
        return rows.find(self._rows(self._document(project)), project, checkpoint_id).checkpoint

    def pin(self, project: Project, checkpoint_id: str, name: str) -> None:
        with self.lock(project):
            checkpoint = self.get(project, checkpoint_id)
            document = self._document(project)
            pins = document["pins"].setdefault(checkpoint.id, [])
            if name not in pins:
                pins.append(name)
                self._write(project, document)

    def unpin(self, project: Project, checkpoint_id: str, name: str) -> None:
        with self.lock(project):
            document = self._document(project)
            try:
                pins = document["pins"].get(self.get(project, checkpoint_id).id, [])
            except CheckpointNotFound:
                return
            if name in pins:
                pins.remove(name)
                self._write(project, document)

    def drop(self, project: Project, checkpoint_ids: Sequence[str]) -> None:
        with self.lock(project):
            document = self._document(project)
            gone = {i for i in checkpoint_ids if not document["pins"].get(i)}
            kept = [c for c in document["checkpoints"] if c["id"] not in gone]
            if len(kept) != len(document["checkpoints"]):
                document["checkpoints"] = kept
                self._write(project, document)

    # ------------------------------------------------------------------ the store as a whole

    def projects(self) -> Records:
        found = []
        for name in self._drawer.names("project/"):
            document = self._load(name)
            if document:
                found.append(_record(name.removeprefix("project/"), document))
        return found

    def forget(self, project: Project) -> None:
        with self.lock(project):
            self._drawer.delete(f"project/{project.id}")

    def forget_path(self, project: Project, path: str) -> dict[str, str]:
        with self.lock(project):
            document = self._document(project)
            renamed: dict[str, str] = {}
            for at, row in enumerate(rows.decode(c) for c in document["checkpoints"]):
                without = self._without(row, path)
                if without:
                    renamed[row.checkpoint.id] = without.checkpoint.id
                    document["checkpoints"][at] = rows.encode(without)
            document["pins"] = {renamed.get(k, k): v for k, v in document["pins"].items()}
            document["keeps"] = {
                key: self._put_state(_strip(self._state(tree), path))
                for key, tree in document["keeps"].items()
            }
            self._write(project, document)
        self.compact(full=True)
        return renamed

    def relink(self, old: Project, new: Project) -> None:
        first, second = sorted((old, new), key=lambda p: p.id)
        with self.lock(first), self.lock(second):
            if self._document(new)["checkpoints"]:
                raise StoreError(f"{new.root} has checkpoints of its own; nothing was relinked")
            document = self._document(old)
            if not document["checkpoints"]:
                raise StoreError(f"{old.root} has no checkpoints to relink")
            document["root"] = new.root
            self._touch(new, document)
            self._write(new, document)
            self._drawer.delete(f"project/{old.id}")

    def would_free(self, drops: Mapping[str, Sequence[str]]) -> int:
        before, after = self._reachable({}), self._reachable(drops)
        return sum(len(self._drawer.get(name) or b"") for name in before - after)

    def compact(self, *, budget: float = 60.0, full: bool = False) -> Upkeep:
        before = self._drawer.size()
        with self._drawer.lock("store", None):
            held = self._reachable({})
            for prefix in ("content/", "state/"):
                for name in list(self._drawer.names(prefix)):
                    if name not in held:
                        self._drawer.delete(name)
        return Upkeep(before, self._drawer.size())

    def verify(self, *, read_data: bool = False, fix: bool = False) -> Problems:
        problems = []
        for record in self.projects():
            for checkpoint in self.list(record.project):
                try:
                    states = self._state(checkpoint.tree)
                except StoreError as error:
                    problems.append(Problem(str(error), record.project.id))
                    continue
                problems += self._lost(record.project.id, states, read_data)
        return problems

    def size(self) -> StoreSize:
        used = self._drawer.size()
        return StoreSize(total=used, store=used)

    def clear(self) -> None:
        for prefix in ("project/", "state/", "content/"):
            for name in list(self._drawer.names(prefix)):
                self._drawer.delete(name)

    def close(self) -> None:
        """Nothing is held between calls."""

    # ------------------------------------------------------------------ documents

    def _document(self, project: Project) -> dict[str, Any]:
        found = self._load(f"project/{project.id}")
        if found is None:
            now = time.time()
            found = {
                "root": project.root,
                "created": now,
                "touched": now,
                "checkpoints": [],
                "pins": {},
                "keeps": {},
            }
        return found

    def _load(self, name: str) -> dict[str, Any] | None:
        data = self._drawer.get(name)
        return None if data is None else dict(json.loads(data))

    def _write(self, project: Project, document: Mapping[str, Any]) -> None:
        self._drawer.put(f"project/{project.id}", json.dumps(document, sort_keys=True).encode())

    def _touch(self, project: Project, document: dict[str, Any]) -> None:
        document["touched"] = time.time()
        document["whole"], document["why"] = project.whole, project.why_not_whole
        try:
            info = os.stat(project.root)
        except OSError:
            return
        document["device"], document["inode"] = info.st_dev, info.st_ino

    def _rows(self, document: Mapping[str, Any]) -> Sequence[Row]:
        """Newest first."""
        pins = document["pins"]
        return [
            rows.decode(c, sorted(pins.get(c["id"], ()))) for c in reversed(document["checkpoints"])
        ]

    # ------------------------------------------------------------------ contents and states

    def _save(self, data: bytes) -> str:
        content = content_id(data)
        if self._drawer.get(f"content/{content}") is None:
            self._drawer.put(f"content/{content}", data)
        return content

    def _put_state(self, states: Mapping[str, FileState]) -> str:
        data = json.dumps({p: [s.mode, s.content] for p, s in states.items()}, sort_keys=True)
        tree = hashlib.sha1(data.encode(), usedforsecurity=False).hexdigest()
        self._drawer.put(f"state/{tree}", data.encode())
        return tree

    def _state(self, tree: str) -> dict[str, FileState]:
        data = self._drawer.get(f"state/{tree}")
        if data is None:
            raise StoreError(f"state {tree} is not in the store")
        return {path: FileState(*state) for path, state in json.loads(data).items()}

    def _overlaid(self, observation: Observation) -> str:
        """The state a checkpoint holds: the tree with the named states laid over it."""
        states = self._state(observation.tree)
        for path, state in observation.named.items():
            if state is None:
                states.pop(path, None)
            else:
                states[path] = state
        return self._put_state(states)

    def _without(self, row: Row, path: str) -> Row | None:
        """The checkpoint without a path, under a new id; `None` if it never held it."""
        one = row.checkpoint
        held = self._state(one.tree)
        versions = tuple(v for v in one.versions if not _within(v[0], path))
        if _strip(held, path) == held and versions == one.versions:
            return None
        less = replace(
            one,
            id=_new_id(),
            tree=self._put_state(_strip(held, path)),
            named=tuple(p for p in one.named if not _within(p, path)),
            modes={p: m for p, m in one.modes.items() if not _within(p, path)},
            versions=versions,
            version_modes={v: m for v, m in one.version_modes.items() if not _within(v[0], path)},
        )
        if less.tree != one.tree and one.gaps is not None:
            less = replace(less, gaps=(*one.gaps, Gap(path, GapReason.FORGOTTEN)))
        return Row(less, self._put_state(_strip(self._state(row.live), path)))

    def _reachable(self, drops: Mapping[str, Sequence[str]]) -> set[str]:
        """The names that checkpoints and keeps hold, those to be dropped left out."""
        trees, held = set(), set()
        for name in self._drawer.names("project/"):
            document = self._load(name) or {}
            gone = set(drops.get(name.removeprefix("project/"), ()))
            trees |= set(document.get("keeps", {}).values())
            for row in (rows.decode(c) for c in document.get("checkpoints", ())):
                if row.checkpoint.id not in gone or document["pins"].get(row.checkpoint.id):
                    trees |= {row.checkpoint.tree, row.live}
                    held |= {f"content/{s.content}" for _, s in row.checkpoint.versions}
        for tree in trees:
            held |= {f"content/{state.content}" for state in self._state(tree).values()}
        return held | {f"state/{tree}" for tree in trees}

    def _lost(self, project_id: str, states: Mapping[str, FileState], read_data: bool) -> Problems:
        problems = []
        for path, state in states.items():
            if state.is_gitlink:
                continue
            data = self._drawer.get(f"content/{state.content}")
            if data is None:
                problems.append(Problem(f"the content of {path} is lost", project_id))
            elif read_data and content_id(data) != state.content:
                problems.append(Problem(f"the content of {path} is damaged", project_id))
        return problems

    # ------------------------------------------------------------------ differences

    def _counted(
        self, project: Project, checkpoint: Checkpoint, before: Checkpoint | None
    ) -> Checkpoint:
        if before is None:
            return checkpoint
        changed = self.changes(project, before.tree, checkpoint.tree)
        plus = minus = 0
        for change in changed:
            for line in self._patch(project, change).split(b"\n")[4:]:
                plus += line.startswith(b"+")
                minus += line.startswith(b"-")
        return replace(checkpoint, files=len(changed), insertions=plus, deletions=minus)

    def _patch(self, project: Project, change: Change) -> bytes:
        name = os.fsencode(change.path)
        head = b"diff --git a/%s b/%s\n" % (name, name)
        old, new = self._bytes(change.old), self._bytes(change.new)
        if b"\0" in old or b"\0" in new:
            return head + b"Binary files differ\n"
        lines = difflib.diff_bytes(
            difflib.unified_diff,
            old.splitlines(keepends=True),
            new.splitlines(keepends=True),
            b"a/" + name if change.old else b"/dev/null",
            b"b/" + name if change.new else b"/dev/null",
        )
        body = b"".join(
            line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"
            for line in lines
        )
        return head + (body and b"index\n" + body)

    def _bytes(self, state: FileState | None) -> bytes:
        if state is None or state.is_gitlink:
            return b""
        return self._drawer.get(f"content/{state.content}") or b""


# --------------------------------------------------------------------------- looking


class _Look:
    """One look at a project: what it found so far."""

    def __init__(self, project: Project, rules: CaptureRules, save: Any) -> None:
        self._root, self._rules, self._save = project.root, rules, save
        self.states: dict[str, FileState] = {}
        self._named: dict[str, FileState | None] = {}
        self._gaps: dict[str, Gap] = {}
        self._modes: dict[str, int] = {}
        self._empty: set[str] = set()
        self._too_many = False

    def scan(self) -> None:
        """Record everything the rules let in."""
        ignore = IgnoreRules(self._rules.patterns)
        stack = [("", ignore)]
        while stack and not self._too_many:
            directory, rules = stack.pop()
            rules = rules.below(directory, self._ignore_file(directory))
            for name, is_directory in self._listing(directory):
                path = f"{directory}/{name}" if directory else name
                hidden = rules.ignores(path, is_directory=is_directory)
                if hidden and (is_directory or not reading.is_ignore_file(path)):
                    continue
                if not is_directory:
                    self._record(path, self.states, named=False)
                elif reading.has_git(os.path.join(self._root, path)):
                    self.states[path] = FileState(GITLINK, NESTED_CONTENT)
                    self._gaps[path] = Gap(path, GapReason.NESTED_REPOSITORY)
                else:
                    self._note_directory(path)
                    stack.append((path, rules))
            self._too_many = len(self.states) > self._rules.max_files
        if self._too_many:
            self.states.clear()
            self._gaps = {".": Gap(".", GapReason.TOO_MANY, f"over {self._rules.max_files}")}

    def name(self, path: str) -> None:
        """Record a named path, or everything below it."""
        inside = reading.repository_above(self._root, path)
        if inside:
            self._gaps[inside] = Gap(inside, GapReason.NESTED_REPOSITORY)
            return
        found = reading.below(self._root, path)
        if found is None:
            if not self._record(path, self._named, named=True):
                self._named[path] = None
            return
        self._gaps.update({gap.path: gap for gap in found.gaps})
        self._empty.update(found.empty_dirs)
        for directory, mode in found.directories.items():
            reading.note_directory(self._modes, directory, mode)
        for file in found.files:
            self._record(file, self._named, named=True)

    def observation(self, tree: str, whole: bool) -> Observation:
        held = {path for path, state in self._named.items() if state}
        gaps = [gap for path, gap in self._gaps.items() if path not in held]
        return Observation(
            tree=tree,
            named=self._named,
            unruled=frozenset(p for p in held if self.states.get(p) != self._named[p]),
            gaps=tuple(sorted(gaps, key=lambda gap: gap.path)),
            modes={
                p: m
                for p, m in self._modes.items()
                if p in self.states or p in held or p[-1] == "/"
            },
            empty_dirs=tuple(sorted(self._empty)),
            whole=whole and not self._too_many,
            exclude=self._rules.patterns,
        )

    def _record(self, path: str, into: dict[str, Any], *, named: bool) -> bool:
        """Whether there is anything at the path, be it only a gap."""
        found = reading.read(self._root, path, self._rules, named=named)
        if found is None:
            return False
        if isinstance(found, Gap):
            self._gaps[path] = found
            return True
        into[path] = FileState(found.mode, self._save(found.data))
        odd = reading.odd_mode(found.permissions | (0o120000 if into[path].is_link else 0))
        if odd is not None:
            self._modes[path] = odd
        return True

    def _listing(self, directory: str) -> list[tuple[str, bool]]:
        try:
            with os.scandir(os.path.join(self._root, directory)) as found:
                entries = [(e.name, e.is_dir(follow_symlinks=False)) for e in found]
        except OSError as error:
            self._gaps[directory] = Gap(directory, GapReason.UNREADABLE, error.strerror or "")
            return []
        return [(name, is_dir) for name, is_dir in entries if name != ".git"]

    def _note_directory(self, path: str) -> None:
        try:
            mode = os.lstat(os.path.join(self._root, path)).st_mode
        except OSError:
            return
        reading.note_directory(self._modes, path, mode)

    def _ignore_file(self, directory: str) -> str:
        path = f"{directory}/.gitignore" if directory else ".gitignore"
        found = reading.read(self._root, path, self._rules, named=False)
        return os.fsdecode(found.data) if isinstance(found, reading.Contents) else ""


# --------------------------------------------------------------------------- small parts


def _new_id() -> str:
    return hashlib.sha1(uuid.uuid4().bytes, usedforsecurity=False).hexdigest()


def _within(path: str, outer: str) -> bool:
    return path == outer or path.startswith(outer.rstrip("/") + "/")


def _strip(states: Mapping[str, FileState], path: str) -> dict[str, FileState]:
    return {p: s for p, s in states.items() if not _within(p, path)}


def _blocked(observed: Iterable[str], held: Mapping[str, FileState]) -> frozenset[str]:
    """The observed paths whose place in the held tree is taken: by a directory or a file above."""
    directories = {"/".join(p.split("/")[:i]) for p in held for i in range(1, p.count("/") + 1)}
    return frozenset(
        p
        for p in observed
        if p in directories
        or any("/".join(p.split("/")[:i]) in held for i in range(1, p.count("/") + 1))
    )


def _record(project_id: str, document: Mapping[str, Any]) -> ProjectRecord:
    whole, why = document.get("whole", True), document.get("why", "")
    return ProjectRecord(
        project=Project(document["root"], project_id, whole, why),
        created_at=document["created"],
        last_touch=document["touched"],
        checkpoints=len(document["checkpoints"]),
        device=document.get("device", 0),
        inode=document.get("inode", 0),
    )
