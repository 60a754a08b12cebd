"""Nested repositories captured too (`nested_repos: capture`): each a project of its own, linked.

Owns the links. A checkpoint holds a nested repository by a gitlink whose object id is the id of the
checkpoint of that repository, taken at the same time. To git, and to a program that knows nothing
of this, it is an ordinary submodule entry.

Locks are taken from the outside in: a project's before those of the repositories in it, and never
the other way round.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hermes_checkpoints.books import Books
from hermes_checkpoints.config import Config
from hermes_checkpoints.errors import CheckpointError, CheckpointNotFound
from hermes_checkpoints.lines import append_line, read_lines
from hermes_checkpoints.project import project_id, too_broad
from hermes_checkpoints.records import GITLINK, Checkpoint, FileState, GapReason, Project
from hermes_checkpoints.stores.base import Observation, Store

__all__ = ["Links", "linked_checkpoint", "linked_project", "links_of", "nested_projects"]

_PIN = "link-"


@dataclass(frozen=True, slots=True)
class Links:
    """Makes and lets go of the links of one store's checkpoints."""

    store: Store
    books: Books
    config: Config

    def capture(
        self,
        project: Project,
        seen: Observation,
        *,
        reason: str,
        labels: Mapping[str, str],
    ) -> Checkpoint | None:
        """`Store.capture`, with the nested repositories captured first and linked.

        One that can't be captured stays the gap it is. The caller holds the project's lock.
        """
        if self.config.nested_repos != "capture":
            return self.store.capture(project, seen, reason=reason, labels=labels)
        linked = self._link(project, seen, reason, labels)
        made = self.store.capture(project, linked, reason=reason, labels=labels)
        if made is not None:
            self._pin(project, made)
        return made

    def let_go(self, project: Project, dropped: Sequence[str]) -> None:
        """Unpin what dropped checkpoints linked to."""
        if self.config.nested_repos != "capture" or not dropped:
            return
        pins = {_PIN + checkpoint_id for checkpoint_id in dropped}
        for inner, checkpoint in self._inside(project):
            for pin in pins.intersection(checkpoint.pins):
                self.store.unpin(inner, checkpoint.id, pin)

    def renamed(self, project: Project, ids: Mapping[str, str]) -> None:
        """Follow a change of ids, old to new: of what links, and of what is linked to."""
        if not ids:
            return
        for inner, checkpoint in self._inside(project):
            for old, new in ids.items():
                if _PIN + old in checkpoint.pins:
                    self.store.pin(inner, checkpoint.id, _PIN + new)
                    self.store.unpin(inner, checkpoint.id, _PIN + old)
        linked = {c.id for c in self.store.list(project) if any(p.startswith(_PIN) for p in c.pins)}
        if moved := {old: new for old, new in ids.items() if new in linked}:
            append_line(self.books.of(project).renamed_file, moved)

    def _inside(self, project: Project) -> Iterator[tuple[Project, Checkpoint]]:
        """The checkpoints of all projects inside one."""
        for record in self.store.projects():
            if record.project.root.startswith(project.root + os.sep):
                for checkpoint in self.store.list(record.project):
                    yield record.project, checkpoint

    def _link(
        self, project: Project, seen: Observation, reason: str, labels: Mapping[str, str]
    ) -> Observation:
        gaps, links = [], {}
        for gap in seen.gaps:
            held = None
            if gap.reason is GapReason.NESTED_REPOSITORY:
                inner = linked_project(project, gap.path)
                held = self._capture_inner(inner, reason, labels)
            if held is None:
                gaps.append(gap)
            else:
                links[gap.path] = FileState(GITLINK, held.id)
        return replace(
            seen,
            named={**seen.named, **links},
            unruled=seen.unruled.union(links),
            gaps=tuple(gaps),
        )

    def _capture_inner(
        self, project: Project, reason: str, labels: Mapping[str, str]
    ) -> Checkpoint | None:
        try:
            with self.store.lock(project):
                seen = self.store.observe(project, self.config.capture_rules)
                made = self.capture(project, seen, reason=reason, labels=labels)
                self.books.of(project).ledger.create()
                return made or self.store.list(project)[0]
        except (CheckpointError, OSError, IndexError):
            return None

    def _pin(self, project: Project, checkpoint: Checkpoint) -> None:
        """Keep what a checkpoint links to for as long as the checkpoint itself."""
        for path, inner_id in links_of(self.store, project, checkpoint).items():
            self.store.pin(linked_project(project, path), inner_id, _PIN + checkpoint.id)


def links_of(store: Store, project: Project, checkpoint: Checkpoint) -> dict[str, str]:
    """The nested repositories a checkpoint holds: path -> id of their own checkpoint."""
    if not checkpoint.named or checkpoint.gaps is None:
        return {}
    states = store.states(project, checkpoint.tree, checkpoint.named)
    return {path: s.content for path, s in states.items() if s is not None and s.is_gitlink}


def nested_projects(
    open_store: Callable[[], Store],
    config: Config,
    project: Project,
    named: Sequence[str],
    *,
    certain: bool,
) -> list[tuple[Project, tuple[str, ...]]]:
    """The linked repositories that a call may change beside its project, and the paths it names.

    All of them if what the call changes is uncertain, else those below a path it names.
    They are those of the newest checkpoint, which has just been taken or serves the turn.
    """
    if config.nested_repos != "capture":
        return []
    try:
        store = open_store()
        newest = next(iter(store.list(project)), None)
        links = links_of(store, project, newest) if newest else {}
    except (CheckpointError, OSError):
        return []  # the call's own project could not be protected either, and that was said
    found: list[tuple[Project, tuple[str, ...]]] = []
    for path in sorted(links):
        whole = any(n == "." or path.startswith(f"{n}/") for n in named)
        if whole or not certain:
            found.append((linked_project(project, path), (".",) if whole else ()))
    return found


def linked_project(project: Project, path: str) -> Project:
    """The project of a nested repository. Nothing of `path` is resolved: what is a link today was
    none when it was captured, and leads to another repository, or to none.
    """
    return _at(os.path.join(project.root, *path.split("/")))


def linked_checkpoint(
    store: Store, books: Books, project: Project, checkpoint_id: str
) -> Checkpoint | None:
    """What a link leads to, under the id that it has by now; `None` if it is gone."""
    for renamed in read_lines(books.of(project).renamed_file):
        checkpoint_id = renamed.get(checkpoint_id, checkpoint_id)
    try:
        return store.get(project, checkpoint_id)
    except CheckpointNotFound:
        return None


def _at(root: str) -> Project:
    why_not = too_broad(root)
    return Project(root, project_id(root), not why_not, why_not)
