"""The two operations that touch what is written: forgetting a path, moving a project's history.

Owns the one exception to stable ids. The caller holds the locks, and reclaims afterwards.
"""

from __future__ import annotations

import os
from dataclasses import replace

from hermes_checkpoints.errors import StoreError
from hermes_checkpoints.records import Gap, GapReason
from hermes_checkpoints.stores.git.history import History
from hermes_checkpoints.stores.git.layout import Layout
from hermes_checkpoints.stores.git.objects import Loose
from hermes_checkpoints.stores.git.plumbing import Plumbing
from hermes_checkpoints.stores.git.refs import Refs
from hermes_checkpoints.stores.git.trees import Trees
from hermes_checkpoints.stores.rows import Row

__all__ = ["Rewrite"]


class Rewrite:
    """Rewrites histories of one store."""

    def __init__(
        self,
        layout: Layout,
        plumbing: Plumbing,
        refs: Refs,
        loose: Loose,
        trees: Trees,
        history: History,
    ) -> None:
        self._layout = layout
        self._plumbing = plumbing
        self._refs = refs
        self._loose = loose
        self._trees = trees
        self._history = history

    # ------------------------------------------------------------------ forgetting a path

    def forget_path(self, project_id: str, path: str) -> dict[str, str]:
        """Write every checkpoint that held the path anew, and those after it: old id -> new."""
        before = self._history.catalogue(project_id)
        renamed: dict[str, str] = {}
        done: list[Row] = []
        parent = ""
        for row in reversed(before.rows):
            new = self._without(row, path, parent, renamed)
            done.append(new)
            parent = (new.checkpoint.id, *new.checkpoint.supplements)[-1]
        if not renamed:
            return {}
        self._history.replace_all(project_id, before, tuple(reversed(done)), renamed)
        self._strip_keeps(project_id, path)
        self._refs.delete(self._layout.own_ref("live", project_id))
        ids = {row.checkpoint.id for row in before.rows}
        return {old: new for old, new in renamed.items() if old in ids}

    def _without(self, row: Row, path: str, parent: str, renamed: dict[str, str]) -> Row:
        """A row without the path; `renamed` learns the new ids of its commits.

        The oldest one loses its parent: what was dropped behind it may hold the path.
        """
        one = row.checkpoint
        ids: list[str] = []
        tree = one.tree
        for commit in (one.id, *one.supplements):
            raw = self._plumbing.run(["cat-file", "commit", commit]).out
            head, _, message = raw.partition(b"\n\n")
            lines = head.split(b"\n")
            tree = self._stripped(lines[0].split(b" ")[1].decode(), path)
            new = [b"tree " + tree.encode()]
            new += [b"parent " + parent.encode()] if parent else []
            new += [line for line in lines if not line.startswith((b"tree ", b"parent "))]
            if ids:
                message = message.replace(one.id.encode(), ids[0].encode())  # its `Supplements`
            parent = self._loose.write(b"commit", b"\n".join(new) + b"\n\n" + message, sync=True)
            if parent != commit:
                renamed[commit] = parent
            ids.append(parent)
        less = replace(
            one,
            id=ids[0],
            tree=tree,
            files=None,
            insertions=None,
            deletions=None,
            named=tuple(p for p in one.named if not _within(p, path)),
            modes={p: m for p, m in one.modes.items() if not _within(p, path)},
            empty_dirs=tuple(p for p in one.empty_dirs if not _within(p, path)),
            versions=tuple(v for v in one.versions if not _within(v[0], path)),
            version_modes={v: m for v, m in one.version_modes.items() if not _within(v[0], path)},
            supplements=tuple(ids[1:]),
        )
        if tree != one.tree and one.gaps is not None:
            less = replace(less, gaps=(*one.gaps, Gap(path, GapReason.FORGOTTEN)))
        if less.versions != one.versions:
            renamed.setdefault(one.id, less.id)
        return Row(less, self._stripped(row.live, path) if row.live != one.tree else tree)

    def _stripped(self, tree: str, path: str) -> str:
        try:
            found = self._trees.some(tree, [path])
        except StoreError:
            return tree  # the live part of an old checkpoint: an id, not an object any more
        if path not in found:
            return tree
        return self._trees.patch(tree, {path: None}, whole_directories=True)

    def _strip_keeps(self, project_id: str, path: str) -> None:
        for ref, tree in self._refs.below(self._layout.own_ref("open", project_id)).items():
            stripped = self._stripped(tree, path)
            if stripped != tree:
                self._refs.write(ref, stripped)

    # ------------------------------------------------------------------ moving a project

    def relink(self, old_id: str, new_id: str) -> None:
        """Give all refs and files of one project to another."""
        layout, refs = self._layout, self._refs
        moved: dict[str, str] = {}
        for kind in ("live", "meta"):
            moved[layout.own_ref(kind, old_id)] = layout.own_ref(kind, new_id)
        for kind in ("open", "pins", "kept"):
            for ref in refs.below(layout.own_ref(kind, old_id)):
                moved[ref] = ref.replace(f"/{old_id}/", f"/{new_id}/", 1)
        moved[layout.ref(old_id)] = layout.ref(new_id)
        for name in ("boundaries", "catalogue", "projects"):
            _move(layout.path(name, f"{old_id}.json"), layout.path(name, f"{new_id}.json"))
        for old, new in moved.items():
            oid = refs.read(old)
            if oid:
                refs.write(new, oid, sync=True)
        for old in moved:
            refs.delete(old)
        layout.set_head(new_id, refs.read(layout.ref(new_id)) or "")


def _within(path: str, outer: str) -> bool:
    return path == outer or path.startswith(outer.rstrip("/") + "/")


def _move(old: str, new: str) -> None:
    try:
        os.replace(old, new)
    except FileNotFoundError:
        pass
