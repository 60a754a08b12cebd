"""The store itself: the contract of `stores.base`, put together from the parts beside it.

Owns the order of things: lock, make sure the store stands, look, write, point a ref. Everything
that knows a format or starts a process is a part.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from hermes_checkpoints.errors import CaptureFailed, StoreError, StoreUnavailable
from hermes_checkpoints.records import Change, Checkpoint, FileState, Project
from hermes_checkpoints.stores import rows
from hermes_checkpoints.stores.base import (
    Diff,
    Observation,
    Problems,
    ProjectRecord,
    Records,
    StoreSize,
    Upkeep,
)
from hermes_checkpoints.stores.git.history import History
from hermes_checkpoints.stores.git.layout import Layout, names_in
from hermes_checkpoints.stores.git.locks import Locks
from hermes_checkpoints.stores.git.named import Named
from hermes_checkpoints.stores.git.objects import EMPTY_TREE, TREE, Loose
from hermes_checkpoints.stores.git.plumbing import GitFailed, Plumbing
from hermes_checkpoints.stores.git.refs import Refs
from hermes_checkpoints.stores.git.removal import remove, remove_all
from hermes_checkpoints.stores.git.scan import Live, Scanner
from hermes_checkpoints.stores.git.smallfiles import read_json, write_json
from hermes_checkpoints.stores.git.trees import Trees
from hermes_checkpoints.stores.reading import is_ignore_file
from hermes_checkpoints.stores.rows import Row

if TYPE_CHECKING:
    from hermes_checkpoints.config import Config
    from hermes_checkpoints.excludes import CaptureRules
    from hermes_checkpoints.stores.git.library import Library
    from hermes_checkpoints.stores.git.matching import Matcher
    from hermes_checkpoints.stores.git.reclaim import Reclaim
    from hermes_checkpoints.stores.git.repair import Repair
    from hermes_checkpoints.stores.git.rewrite import Rewrite

__all__ = ["GitStore"]

P = ParamSpec("P")
R = TypeVar("R")


def _clearly(
    method: Callable[Concatenate[GitStore, P], R],
) -> Callable[Concatenate[GitStore, P], R]:
    """What the operating system says about the store's files, said as `StoreUnavailable`."""

    @functools.wraps(method)
    def clear(self: GitStore, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(self, *args, **kwargs)
        except OSError as error:
            raise self._layout.unusable(error) from error

    return clear


class GitStore:
    """Checkpoints in one shared bare git repository below `base`."""

    remote = False

    def __init__(self, config: Config) -> None:
        host = config.host
        self._layout = Layout(str(config.base_path), host.namespace, host.v1_marker)
        self._plumbing = Plumbing(self._layout)
        self._locks = Locks(self._layout)
        self._refs = Refs(self._layout, self._plumbing)
        self._loose = Loose(self._layout.path("objects"))
        self._trees = Trees(self._plumbing, self._loose)
        parts = (self._layout, self._plumbing, self._refs, self._loose, self._trees)
        self._scanner = Scanner(*parts)
        self._history = History(
            self._layout, self._plumbing, self._refs, self._loose, self._library
        )
        self._scanner.on_damage = lambda project_id: self._repair.mend(project_id)
        self._books: Library | None = None
        self._furnished = False
        self._seen_to: set[str] = set()  # projects that are locked and whose store stands

    # ------------------------------------------------------------------ parts few calls need

    @cached_property
    def _reclaim(self) -> Reclaim:
        from hermes_checkpoints.stores.git.reclaim import Reclaim

        return Reclaim(self._layout, self._plumbing, self._refs, self._locks, self._history)

    @cached_property
    def _rewrite(self) -> Rewrite:
        from hermes_checkpoints.stores.git.rewrite import Rewrite

        return Rewrite(
            self._layout, self._plumbing, self._refs, self._loose, self._trees, self._history
        )

    @cached_property
    def _repair(self) -> Repair:
        from hermes_checkpoints.stores.git.repair import Repair

        return Repair(
            self._layout,
            self._plumbing,
            self._refs,
            self._locks,
            self._history,
            self._reclaim,
            self._scanner,
        )

    @cached_property
    def _matcher(self) -> Matcher:
        from hermes_checkpoints.stores.git.matching import Matcher

        return Matcher(self._plumbing)

    # ------------------------------------------------------------------ states

    @contextmanager
    def lock(self, project: Project, *, timeout: float | None = None) -> Iterator[None]:
        stands = self._prelude(project)
        with self._holding(project, timeout, stands=stands):
            yield

    @_clearly
    def _prelude(self, project: Project) -> bool:
        """What needs the store's lock comes before the project's. Whether there is a store."""
        self._layout.prepare()
        if not self._layout.exists:
            return False
        self._stand()
        self._know(project)
        return True

    @_clearly
    def observe(
        self,
        project: Project,
        rules: CaptureRules,
        *,
        named: Sequence[str] = (),
        scan: bool = True,
    ) -> Observation:
        with self._ready(project):
            if not os.path.isdir(project.root):
                raise CaptureFailed(f"{project.root} is no directory any more; nothing to record")
            if scan and project.whole:
                live = self._look(project, rules)
            else:
                live = Live(EMPTY_TREE, {}, {}, whole=False)
            found = Named(project.root, rules, live, self._loose)
            for path in named:
                found.record(path)
            return replace(found.observation(), exclude=rules.patterns)

    @_clearly
    def combined(self, project: Project, observation: Observation) -> str:
        with self._ready(project):
            return self._overlaid(observation)

    @_clearly
    def ignored(self, project: Project, tree: str, paths: Iterable[str]) -> set[str]:
        states = self._trees.entries(tree)
        names = [p for p, s in states.items() if is_ignore_file(p) and not s.is_gitlink]
        contents = self.read(project, [states[name].content for name in names])
        return self._matcher.ignored(paths, dict(zip(names, contents, strict=True)))

    def _look(self, project: Project, rules: CaptureRules) -> Live:
        """One scan. If it fails for damage to the whole store that can be mended, one more."""
        try:
            return self._scanner.look(project, rules)
        except CaptureFailed:
            if not self._found_store(doubted=True):
                raise
            self._layout.furnish_project(project.id, project.root)
            return self._scanner.look(project, rules)

    @_clearly
    def keep(self, project: Project, key: str, tree: str) -> None:
        with self._ready(project):
            if tree == EMPTY_TREE:
                self._trees.empty()
            self._refs.write(self._layout.own_ref("open", project.id, key), tree)

    @_clearly
    def release(self, project: Project, key: str) -> None:
        if self._layout.exists:
            with self.lock(project):
                self._refs.delete(self._layout.own_ref("open", project.id, key))

    @_clearly
    def changes(self, project: Project, old: str, new: str) -> list[Change]:
        return self._trees.changes(old, new)

    @_clearly
    def entries(self, project: Project, tree: str) -> dict[str, FileState]:
        return self._trees.entries(tree)

    @_clearly
    def states(
        self, project: Project, tree: str, paths: Iterable[str]
    ) -> dict[str, FileState | None]:
        wanted = list(paths)
        found = self._trees.some(tree, wanted) if wanted else {}
        return {path: _file(found.get(path)) for path in wanted}

    def read(self, project: Project, contents: Iterable[str]) -> Iterator[bytes]:
        return self._library().contents(contents)

    @_clearly
    def diff(self, project: Project, old: str, new: str, paths: Sequence[str] = ()) -> Diff:
        command = ["diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv"]
        both = ["--stat=100", "--patch", "--no-color"]
        out = self._differ([*command, *both, old, new, "--", *paths])
        # The summary ends with an empty line; a file's name in it is quoted, so holds no line end.
        stat, _, patch = out.partition(b"\n\n")
        return Diff(stat + b"\n", patch) if patch else Diff(out, b"")

    @_clearly
    def match(self, candidates: Iterable[str], pathspecs: Sequence[str]) -> list[str]:
        return self._matcher.match(candidates, pathspecs)

    # ------------------------------------------------------------------ history

    @_clearly
    def capture(
        self,
        project: Project,
        observation: Observation,
        *,
        reason: str,
        labels: Mapping[str, str] | None = None,
    ) -> Checkpoint | None:
        with self._ready(project):
            before = self._history.catalogue(project.id)
            if before.rows and self._is_equal(before.rows[0], observation):
                self._touch(project, at_most_hourly=True)
                return None
            tree = self._overlaid(observation)
            checkpoint = Checkpoint(
                id="",
                time=0.0,
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
            done = self._history.append(project, Row(checkpoint, observation.tree), before=before)
            self._touch(project)
            return done

    @_clearly
    def supplement(
        self, project: Project, checkpoint_id: str, observation: Observation
    ) -> Checkpoint | None:
        with self._ready(project):
            before = self._history.catalogue(project.id)
            row = rows.find(before.rows[:1], project, checkpoint_id)
            checkpoint = row.checkpoint
            observed = self._observed(checkpoint, observation)
            held, blocked = self._held(checkpoint.tree, observed)
            gap_paths = [gap.path for gap in observation.gaps if gap.path != "."]
            held.update(self.states(project, checkpoint.tree, gap_paths))
            add = rows.addition(checkpoint, observation, observed, held, blocked)
            if not add:
                return None
            tree = self._trees.patch(checkpoint.tree, add.paths)
            more = Row(rows.grown(checkpoint, add, observation, tree), row.live)
            done = self._history.append(project, more, supplements=checkpoint.id, before=before)
            self._touch(project)
            return done

    @_clearly
    def list(self, project: Project, *, counts: bool = False) -> list[Checkpoint]:
        return self._history.checkpoints(project.id, counts=counts) if self._standing else []

    @_clearly
    def get(self, project: Project, checkpoint_id: str) -> Checkpoint:
        known = self._history.catalogue(project.id).rows if self._standing else ()
        one = rows.find(known, project, checkpoint_id).checkpoint
        pins = self._history.pins(project.id).get(one.id)
        return replace(one, pins=tuple(sorted(pins))) if pins else one

    @_clearly
    def pin(self, project: Project, checkpoint_id: str, name: str) -> None:
        with self._ready(project):
            row = rows.find(self._history.catalogue(project.id).rows, project, checkpoint_id)
            self._history.pin(project.id, row, name)

    @_clearly
    def unpin(self, project: Project, checkpoint_id: str, name: str) -> None:
        if self._layout.exists:
            with self.lock(project):
                self._history.unpin(project.id, checkpoint_id, name)

    @_clearly
    def drop(self, project: Project, checkpoint_ids: Sequence[str]) -> None:
        if self._layout.exists:
            with self.lock(project):
                self._history.drop(project.id, checkpoint_ids)

    # ------------------------------------------------------------------ the store as a whole

    @_clearly
    def projects(self) -> Records:
        if not self._standing:
            return []
        names = names_in(self._layout.path("projects"))
        found = [self._record(name.removesuffix(".json")) for name in names if _is_document(name)]
        return [record for record in found if record]

    @_clearly
    def forget(self, project: Project) -> None:
        if not self._layout.exists:
            return
        with self.lock(project):
            self._history.forget(project.id)
            self._scanner.forget_index(project.id)
            remove(self._layout.gitdir(project.id))
            remove(self._layout.document(project.id))

    @_clearly
    def forget_path(self, project: Project, path: str) -> dict[str, str]:
        if not self._standing:
            return {}
        with self._ready(project):
            renamed = self._rewrite.forget_path(project.id, path)
            if renamed:
                self._scanner.forget_index(project.id)
        if renamed:
            self.compact(full=True)
        return renamed

    @_clearly
    def relink(self, old: Project, new: Project) -> None:
        if not self.list(old):
            raise StoreError(f"{old.root} has no checkpoints to relink")
        first, second = sorted((old, new), key=lambda project: project.id)
        self._stand()
        for one in (old, new):
            self._know(one)
        with self._locks.held(first.id), self._locks.held(second.id):
            if self.list(new):
                raise StoreError(f"{new.root} has checkpoints of its own; nothing was relinked")
            self._rewrite.relink(old.id, new.id)
            for one in (old, new):
                self._scanner.forget_index(one.id)
            remove(self._layout.gitdir(old.id))
            self._history.forget(old.id)
            self._touch(new)

    @_clearly
    def would_free(self, drops: Mapping[str, Sequence[str]]) -> int:
        return self._reclaim.would_free(drops) if self._standing else 0

    @_clearly
    def compact(self, *, budget: float = 60.0, full: bool = False) -> Upkeep:
        return self._reclaim.compact(budget, full=full) if self._standing else Upkeep(0, 0)

    @_clearly
    def verify(self, *, read_data: bool = False, fix: bool = False) -> Problems:
        if not self._standing:
            return []
        if fix:
            self._found_store(doubted=True)
        return self._repair.verify(read_data=read_data, fix=fix)

    @_clearly
    def size(self) -> StoreSize:
        from hermes_checkpoints.stores.git.reclaim import room

        base = self._layout.base
        legacy = {name: room(os.path.join(base, name)) for name in self._layout.archives()}
        return StoreSize(total=room(base), store=room(self._layout.store), legacy=legacy)

    @_clearly
    def clear(self) -> None:
        if not self._standing:
            return
        stayed: list[str] = []
        with self._reclaim.all_locks():
            self._furnished = False
            # The repository's mark first: what is half deleted is then no store any more.
            names = sorted(os.listdir(self._layout.store), key=lambda name: name != "HEAD")
            for name in names:
                if name != "locks":
                    stayed += remove_all(self._layout.path(name))
        self._history.forget_cached()
        if stayed:
            raise StoreError(
                f"{len(stayed)} files could not be deleted, first {stayed[0]}",
                hint=f"delete {self._layout.store} yourself",
            )

    def close(self) -> None:
        if self._books:
            self._books.close()

    # ------------------------------------------------------------------ standing

    @property
    def _standing(self) -> bool:
        """Whether there is a store; something else in its place is an error."""
        if os.path.lexists(self._layout.store) and not os.path.isdir(self._layout.store):
            raise StoreUnavailable(
                f"{self._layout.store} is no directory, so there can be no checkpoint store",
                hint=f"move {self._layout.store} away, or set another `checkpoints.base`",
            )
        return self._layout.exists

    @contextmanager
    def _ready(self, project: Project) -> Iterator[None]:
        """The project's lock on a store that stands and knows the project.

        Whoever holds the lock already has seen to that: once for each time it is taken.
        """
        if project.id in self._seen_to and self._locks.holds(project.id):
            yield
            return
        self._stand()
        self._know(project)
        with self._holding(project, stands=True):
            yield

    @contextmanager
    def _holding(
        self, project: Project, timeout: float | None = None, *, stands: bool
    ) -> Iterator[None]:
        with self._locks.held(project.id, timeout):
            first = stands and project.id not in self._seen_to
            if first:
                self._seen_to.add(project.id)
            try:
                yield
            finally:
                if first:
                    self._seen_to.discard(project.id)

    def _stand(self) -> None:
        self._layout.prepare()
        if not (self._furnished and self._layout.sound):
            self._found_store()

    def _know(self, project: Project) -> None:
        """Give a new project its git directory.

        Under the store's lock, so that a `full` compact knows of every project that may write.
        """
        if not os.path.exists(f"{self._layout.gitdir(project.id)}/HEAD"):
            with self._locks.held("store"):
                self._layout.furnish_project(project.id, project.root)

    def _found_store(self, *, doubted: bool = False) -> bool:
        """Create the store, or mend what it lacks; older layouts move aside.

        Whether git takes it for a store is asked only if that is in doubt, as it costs a child.
        Returns whether it did not, and now does.
        """
        with self._locks.held("store"):
            doubted = doubted or (self._layout.exists and not self._layout.sound)
            self._layout.move_v1(time.time())
            mended = self._furnish()
            if doubted and self._repair.mend_store():
                mended = True
                self._furnish()
            self._furnished = True
            return mended

    def _furnish(self) -> bool:
        """Complete the store's directory; whether one that can't be completed was moved away."""
        self._initialise()
        try:
            self._layout.furnish()
            return False
        except StoreUnavailable as error:
            wrong_kind = (FileExistsError, IsADirectoryError, NotADirectoryError)
            if not isinstance(error.__cause__, wrong_kind):
                raise
            self._repair.quarantine(str(error))
        self._initialise()
        self._layout.furnish()
        return True

    def _initialise(self) -> None:
        if not self._layout.exists:
            made = ["init", "--quiet", "--bare", "--template=", self._layout.store]
            self._plumbing.run(made, extra={"GIT_DIR": self._layout.store})

    def _library(self) -> Library:
        if self._books is None:
            _ = self._plumbing.program  # said in our words if there is none
            from hermes_checkpoints.stores.git.library import Library

            self._books = Library(self._layout.store, self._plumbing)
        return self._books

    # ------------------------------------------------------------------ projects

    def _touch(self, project: Project, *, at_most_hourly: bool = False) -> None:
        """Note that the project was used. The keys are the host's own feature's, and more."""
        path = self._layout.document(project.id)
        document, now = read_json(path) or {}, time.time()
        if at_most_hourly and now - document.get("last_touch", 0) < 3600:
            return
        document.setdefault("created_at", now)
        document.update(workdir=project.root, last_touch=now, whole=project.whole)
        document["why_not_whole"] = project.why_not_whole
        try:
            info = os.stat(project.root)
            document.update(device=info.st_dev, inode=info.st_ino)
        except OSError:
            pass
        write_json(path, document)

    def _record(self, project_id: str) -> ProjectRecord | None:
        document = read_json(self._layout.document(project_id)) or {}
        root = document.get("workdir")
        if not isinstance(root, str):
            return None
        whole, why = document.get("whole", True), document.get("why_not_whole", "")
        return ProjectRecord(
            project=Project(root, project_id, whole, why),
            created_at=document.get("created_at", 0.0),
            last_touch=document.get("last_touch", 0.0),
            checkpoints=len(self._history.catalogue(project_id).rows),
            device=document.get("device", 0),
            inode=document.get("inode", 0),
            problem=document.get("problem", ""),
        )

    # ------------------------------------------------------------------ comparing

    def _is_equal(self, row: Row, observation: Observation) -> bool:
        """Whether the newest checkpoint is what was observed; a child only for forced paths."""
        if row.live != observation.tree:
            return False
        named = observation.named
        forced = {*observation.unruled, *(p for p in row.checkpoint.named if p in named)}
        there = self._trees.some(row.checkpoint.tree, forced) if forced else {}
        held = {p: _file(there.get(p)) if p in forced else named[p] for p in named}
        return rows.equal(row, observation, held)

    def _overlaid(self, observation: Observation) -> str:
        """The tree a checkpoint holds: the live one, with what was recorded only by name."""
        tree = observation.tree
        edits = {path: observation.named[path] for path in observation.unruled}
        if edits:
            return self._trees.patch(tree, edits)
        return self._trees.empty() if tree == EMPTY_TREE else tree

    def _observed(self, checkpoint: Checkpoint, observation: Observation) -> dict[str, FileState]:
        """What an observation has that the checkpoint may lack."""
        observed: dict[str, FileState] = {}
        if observation.tree != EMPTY_TREE:
            for change in self._trees.changes(checkpoint.tree, observation.tree):
                if change.new:
                    observed[change.path] = change.new
        observed.update({path: state for path, state in observation.named.items() if state})
        return observed

    def _held(
        self, tree: str, observed: Iterable[str]
    ) -> tuple[dict[str, FileState | None], frozenset[str]]:
        """The tree's states of paths, and those whose place in it is taken."""
        paths = list(observed)
        above = {path: _above(path) for path in paths}
        there = self._trees.some(tree, {*paths, *(a for some in above.values() for a in some)})
        blocked = frozenset(
            path
            for path in paths
            if (path in there and there[path].mode == TREE)
            or any(a in there and there[a].mode != TREE for a in above[path])
        )
        return {path: _file(there.get(path)) for path in paths}, blocked

    def _differ(self, command: Sequence[str]) -> bytes:
        try:
            return self._plumbing.run(command).out
        except GitFailed as error:
            raise StoreError(f"the two states cannot be compared ({error.words})") from error


# --------------------------------------------------------------------------- small parts


def _file(state: FileState | None) -> FileState | None:
    """A directory is no file state."""
    return None if state is None or state.mode == TREE else state


def _above(path: str) -> tuple[str, ...]:
    """The directories of the project above a path, outermost first."""
    parts = path.split("/")
    return tuple("/".join(parts[:i]) for i in range(1, len(parts)))


def _is_document(name: str) -> bool:
    return name.endswith(".json") and len(name) == 21
