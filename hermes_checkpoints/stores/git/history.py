"""A project's history: commits on its ref, what they know beyond their tree, and the list of them.

Owns commit messages and trailers, the metadata blobs, the boundary where the list ends, and the
catalogue: the list as a file, derived from all of these, so that a warm list starts no child.

Nothing is ever rewritten. Dropping moves the boundary; what lies behind it goes when `upkeep`
reclaims. A checkpoint left standing behind the boundary (pinned, or among dropped ones) is an
*island*: a ref keeps it, the boundary file says where it stands.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hermes_checkpoints.errors import StoreError
from hermes_checkpoints.records import Checkpoint, Project
from hermes_checkpoints.stores import rows
from hermes_checkpoints.stores.git.commits import grouped, message
from hermes_checkpoints.stores.git.index import mark
from hermes_checkpoints.stores.git.layout import Layout
from hermes_checkpoints.stores.git.objects import Entry, Loose, commit_bytes, tree_bytes
from hermes_checkpoints.stores.git.plumbing import Plumbing
from hermes_checkpoints.stores.git.refs import Refs
from hermes_checkpoints.stores.git.smallfiles import read_json, write_json
from hermes_checkpoints.stores.rows import Row

if TYPE_CHECKING:  # GitPython, which a warm list does without
    from hermes_checkpoints.stores.git.library import Commit, Library

__all__ = ["Catalogue", "History", "Reach"]

_FORMAT = 2
_REGULAR = 0o100644
_HEAD = 82  # "<old> <new>\n" before the figures of a pair


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The list of one project: newest first. `meta` are the entries of its metadata tree."""

    tip: str
    rows: tuple[Row, ...] = ()
    meta: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class _Boundary:
    """Where the list ends: the oldest commit of the unbroken part, and the islands behind it."""

    base: str = ""
    islands: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Reach:
    """What a walk over objects starts from, and the commits behind which it does not go."""

    tips: list[str]
    bases: list[str]


class History:
    """The histories of one store. Methods that write expect the project's lock to be held."""

    def __init__(
        self,
        layout: Layout,
        plumbing: Plumbing,
        refs: Refs,
        loose: Loose,
        library: Callable[[], Library],
    ) -> None:
        self._layout = layout
        self._plumbing = plumbing
        self._refs = refs
        self._loose = loose
        self._library = library
        self._loaded: dict[str, tuple[list[Any], Catalogue]] = {}
        self._encoded: dict[str, dict[int, tuple[Row, dict[str, Any]]]] = {}

    # ------------------------------------------------------------------ reading

    def catalogue(self, project_id: str) -> Catalogue:
        """The list, from the catalogue file if it is true of the present tip, else made anew."""
        tip = self._refs.read(self._layout.ref(project_id)) or ""
        path = self._path(project_id)
        boundary = mark(self._boundary_path(project_id))
        known = self._loaded.get(project_id)
        if known and known[0] == [tip, mark(path), boundary]:
            return known[1]
        found = self._read(path, tip, boundary) or self._rebuild(project_id, tip)
        self._loaded[project_id] = ([tip, mark(path), boundary], found)
        return found

    def pins(self, project_id: str) -> dict[str, list[str]]:
        """Names of the pins on each checkpoint."""
        prefix = self._layout.own_ref("pins", project_id)
        found: dict[str, list[str]] = {}
        for ref in self._refs.below(prefix):
            checkpoint_id, _, name = ref[len(prefix) + 1 :].partition("/")
            found.setdefault(checkpoint_id, []).append(_unquoted(name))
        return found

    def checkpoints(self, project_id: str, *, counts: bool) -> list[Checkpoint]:
        """All checkpoints, newest first, with pins and, if wanted, statistics."""
        catalogue = self.catalogue(project_id)
        if counts:
            catalogue = self._counted(project_id, catalogue)
        pins = self.pins(project_id)
        return [
            replace(row.checkpoint, pins=tuple(sorted(pins[row.checkpoint.id])))
            if row.checkpoint.id in pins
            else row.checkpoint
            for row in catalogue.rows
        ]

    # ------------------------------------------------------------------ writing

    def append(
        self,
        project: Project,
        row: Row,
        *,
        supplements: str = "",
        before: Catalogue,
    ) -> Checkpoint:
        """Write a checkpoint (or the supplement of the newest) and make it the tip.

        The ref moves last but for the catalogue, so that a kill before leaves all as it was.
        """
        now = round(time.time(), 6)
        labels = dict(row.checkpoint.labels)
        live = "" if row.live == row.checkpoint.tree else row.live
        text = message(project, row.checkpoint, labels, supplements, live, now)
        parents = [before.tip] if before.tip else []
        who = self._layout.namespace.title()
        data = commit_bytes(row.checkpoint.tree, parents, text, now, who=f"{who} Checkpoints")
        oid = self._loose.write(b"commit", data, sync=True)
        if supplements:
            ids = (*row.checkpoint.supplements, oid)
            done = Row(replace(row.checkpoint, supplements=ids), row.live)
            kept = (done, *before.rows[1:])
        else:
            done = Row(replace(row.checkpoint, id=oid, time=now), row.live)
            kept = (done, *before.rows)
        meta = self._add_meta(project.id, done, oid, before, kept)
        self._refs.write(self._layout.ref(project.id), oid, sync=True)
        self._layout.set_head(project.id, oid)
        self._save(project.id, Catalogue(oid, kept, meta))
        return done.checkpoint

    def drop(self, project_id: str, gone: Iterable[str]) -> None:
        """Take checkpoints off the list; pinned ones stay."""
        catalogue = self.catalogue(project_id)
        kept, chain = self._left(project_id, catalogue, gone)
        if len(kept) == len(catalogue.rows):
            return
        islands = kept[len(chain) :]
        for row in islands:
            last = _commits(row)[-1]
            self._refs.write(self._layout.own_ref("kept", project_id, row.checkpoint.id), last)
        base = chain[-1].checkpoint.id if chain else ""
        boundary = _Boundary(base, tuple(_commits(row) for row in islands))
        if not chain:
            self._refs.delete(self._layout.ref(project_id))
            self._layout.set_head(project_id, "")
        self._write_boundary(project_id, boundary)
        standing = {row.checkpoint.id for row in kept}
        for ref in self._refs.below(self._layout.own_ref("kept", project_id)):
            if ref.rpartition("/")[2] not in standing:
                self._refs.delete(ref)
        tip = catalogue.tip if chain else ""
        self._save(project_id, Catalogue(tip, tuple(kept), catalogue.meta))

    def after_drop(self, project_id: str, gone: Sequence[str]) -> Reach | None:
        """What would hold objects after a drop; `None` if no checkpoint were left."""
        catalogue = self.catalogue(project_id)
        kept, chain = self._left(project_id, catalogue, gone)
        if gone and not kept:
            return None
        refs = self._refs
        tips = [refs.read(self._layout.own_ref(kind, project_id)) for kind in ("live", "meta")]
        tips += refs.below(self._layout.own_ref("open", project_id)).values()
        tips += [catalogue.tip] if chain or not gone else []
        tips += [_commits(row)[-1] for row in kept[len(chain) :]]
        bases = [_commits(row)[0] for row in kept[len(chain) :]]
        if len(kept) == len(catalogue.rows):
            bases = self.bases(project_id)
        elif chain:
            bases.append(chain[-1].checkpoint.id)
        return Reach([tip for tip in tips if tip], bases)

    def _left(
        self, project_id: str, catalogue: Catalogue, gone: Iterable[str]
    ) -> tuple[list[Row], list[Row]]:
        """The rows a drop leaves, and those of them that hang unbroken on the tip."""
        pins = self.pins(project_id)
        out = {one for one in gone if one not in pins}
        kept = [row for row in catalogue.rows if row.checkpoint.id not in out]
        islands = {commits[0] for commits in self._boundary(project_id).islands}
        chain: list[Row] = []
        for row in catalogue.rows:
            if row.checkpoint.id in out or row.checkpoint.id in islands:
                break
            chain.append(row)
        return kept, chain

    def replace_all(
        self,
        project_id: str,
        before: Catalogue,
        after: tuple[Row, ...],
        renamed: Mapping[str, str],
    ) -> None:
        """Put rewritten checkpoints in the place of the old ones: refs, metadata, boundary."""
        islands = self._boundary(project_id).islands
        meta: dict[str, str] = {}
        for row in after:
            meta.update(self._meta_of(row, _commits(row)[-1]))
        self._write_meta(project_id, meta)
        new_islands = tuple(tuple(renamed.get(c, c) for c in commits) for commits in islands)
        for kind in ("kept", "pins"):
            prefix = self._layout.own_ref(kind, project_id)
            for ref, oid in self._refs.below(prefix).items():
                one, slash, name = ref[len(prefix) + 1 :].partition("/")
                new = f"{prefix}/{renamed.get(one, one)}{slash}{name}"
                self._refs.write(new, renamed.get(oid, oid))
                if new != ref:
                    self._refs.delete(ref)
        tip = renamed.get(before.tip, before.tip)
        if before.tip:
            self._refs.write(self._layout.ref(project_id), tip, sync=True)
            self._layout.set_head(project_id, tip)
        self._write_boundary(project_id, _Boundary("", new_islands))
        self._save(project_id, Catalogue(tip, after, meta))

    def pin(self, project_id: str, row: Row, name: str) -> None:
        ref = self._layout.own_ref("pins", project_id, row.checkpoint.id, _quoted(name))
        self._refs.write(ref, _commits(row)[-1])

    def unpin(self, project_id: str, checkpoint_id: str, name: str) -> None:
        ref = self._layout.own_ref("pins", project_id, checkpoint_id, _quoted(name))
        self._refs.delete(ref)

    def remembered(self, project_id: str) -> list[str]:
        """Commits of the history, newest first, by the catalogue alone, whatever the ref says."""
        value = read_json(self._path(project_id)) or {}
        try:
            found = [[*reversed(row.get("supplements", ())), row["id"]] for row in value["rows"]]
        except (AttributeError, KeyError, TypeError):
            return []
        return [commit for group in found for commit in group]

    def rewind(self, project_id: str, commit: str) -> None:
        """Let go of what is newer than a commit."""
        self._refs.write(self._layout.ref(project_id), commit, sync=True)
        self._refs.delete(self._layout.own_ref("live", project_id))
        with suppress(FileNotFoundError):
            os.unlink(self._path(project_id))
        self._loaded.pop(project_id, None)

    def cut(self, project_id: str) -> None:
        """Let go of a history that can't be read; islands that can be stay."""
        broken = [
            ref
            for kind in ("kept", "pins", "open")
            for ref, oid in self._refs.below(self._layout.own_ref(kind, project_id)).items()
            if not self._is_there(oid)
        ]
        single = [self._layout.own_ref(kind, project_id) for kind in ("live", "meta")]
        for ref in (self._layout.ref(project_id), *single, *broken):
            self._refs.delete(ref)
        self._layout.set_head(project_id, "")
        for path in (self._path(project_id), self._boundary_path(project_id)):
            try:
                os.unlink(path)
            except FileNotFoundError:
                pass
        self._loaded.pop(project_id, None)

    def _is_there(self, oid: str) -> bool:
        command = ["ls-tree", "-r", "-t", "--name-only", "-z", oid]
        return self._plumbing.run(command, ok=range(256)).status == 0

    def strangers(self, project_id: str) -> int:
        """Checkpoints another program made after our first."""
        known = [row.checkpoint.gaps is not None for row in self.catalogue(project_id).rows]
        first = len(known) - known[::-1].index(True) if True in known else 0
        return known[:first].count(False)

    def forget(self, project_id: str) -> None:
        """Remove every ref and file of a project's history."""
        for kind in ("live", "meta"):
            self._refs.delete(self._layout.own_ref(kind, project_id))
        for kind in ("open", "pins", "kept"):
            for ref in self._refs.below(self._layout.own_ref(kind, project_id)):
                self._refs.delete(ref)
        self._refs.delete(self._layout.ref(project_id))
        for path in (self._path(project_id), self._boundary_path(project_id)):
            try:
                os.unlink(path)
            except FileNotFoundError:
                pass
        self._loaded.pop(project_id, None)

    def forget_cached(self) -> None:
        """The files are gone."""
        self._loaded.clear()
        self._encoded.clear()

    # ------------------------------------------------------------------ metadata

    def _add_meta(
        self, project_id: str, row: Row, oid: str, before: Catalogue, kept: Sequence[Row]
    ) -> dict[str, str]:
        """Write what the checkpoint knows and hold it by the project's metadata ref."""
        meta = {**_of_rows(before.meta or {}, kept), **self._meta_of(row, oid)}
        self._write_meta(project_id, meta)
        return meta

    def _meta_of(self, row: Row, oid: str) -> dict[str, str]:
        """Entries for one checkpoint, under the id of its last commit."""
        value = rows.encode(row)
        # Nothing in it that differs each time: equal knowledge is one blob, stored once.
        told = (
            "gaps",
            "named",
            "modes",
            "empty_dirs",
            "versions",
            "version_modes",
            "whole",
            "exclude",
        )
        data = json.dumps({k: value[k] for k in told if k in value}, sort_keys=True).encode()
        entries = {oid: self._loose.write(b"blob", data)}
        for number, (_, state) in enumerate(row.checkpoint.versions):
            entries[f"{oid}-{number}"] = state.content
        return entries

    def trim_meta(self, project_id: str) -> None:
        """Let go of what dropped checkpoints knew; a capture does so by the way."""
        catalogue = self.catalogue(project_id)
        meta = _of_rows(catalogue.meta or {}, catalogue.rows)
        if meta != catalogue.meta:
            self._write_meta(project_id, meta)
            self._save(project_id, replace(catalogue, meta=meta))

    def _write_meta(self, project_id: str, meta: Mapping[str, str]) -> None:
        tree = {name.encode(): Entry(_REGULAR, blob) for name, blob in meta.items()}
        root = self._loose.write(b"tree", tree_bytes(tree))
        self._refs.write(self._layout.own_ref("meta", project_id), root)

    def _read_meta(self, project_id: str) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
        """The metadata tree's entries, and what each commit's blob says."""
        root = self._refs.read(self._layout.own_ref("meta", project_id))
        if not root:
            return {}, {}
        try:
            listing = self._plumbing.run(["ls-tree", "-z", root]).out
        except StoreError:
            return {}, {}
        entries: dict[str, str] = {}
        for line in listing.split(b"\0"):
            head, _, name = line.partition(b"\t")
            if name:
                entries[name.decode()] = head.split(b" ")[2].decode()
        said: dict[str, dict[str, Any]] = {}
        for commit, blob in entries.items():
            if "-" not in commit:
                try:
                    said[commit] = json.loads(next(self._library().contents([blob])))
                except (StoreError, ValueError):
                    continue
        return entries, said

    # ------------------------------------------------------------------ the catalogue

    def _read(self, path: str, tip: str, boundary: list[int] | None) -> Catalogue | None:
        value = read_json(path)
        if (
            not value
            or value.get("format") != _FORMAT
            or value.get("tip") != tip
            or value.get("boundary") != boundary
        ):
            return None
        try:
            shared = value["modes"]
            read = ({**row, "modes": shared[row["modes"]]} for row in value["rows"])
            found = tuple(rows.decode(row) for row in read)
        except (KeyError, IndexError, ValueError, TypeError):
            return None
        return Catalogue(tip, found, value["meta"])

    def _save(self, project_id: str, catalogue: Catalogue) -> None:
        boundary = mark(self._boundary_path(project_id))
        path = self._path(project_id)
        value = {
            "format": _FORMAT,
            "tip": catalogue.tip,
            "boundary": boundary,
            "rows": self._encoded_rows(project_id, catalogue.rows),
            "meta": catalogue.meta,
        }
        _share_modes(value)
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            write_json(path, value)
        except OSError:
            pass  # it is derived: whoever can write makes it anew
        self._loaded[project_id] = ([catalogue.tip, mark(path), boundary], catalogue)

    def _encoded_rows(self, project_id: str, kept: Sequence[Row]) -> list[dict[str, Any]]:
        """Rows for the catalogue's file; of those that it had before, nothing is made anew."""
        before = self._encoded.get(project_id, {})
        now = {
            id(row): before[id(row)] if id(row) in before else (row, rows.encode(row))
            for row in kept
        }
        self._encoded[project_id] = now  # holds the rows, so that no other takes over an id
        return [dict(value) for _, value in now.values()]

    def _rebuild(self, project_id: str, tip: str) -> Catalogue:
        """The list from the commits themselves: after another program wrote, or a loss."""
        boundary = self._boundary(project_id)
        if not tip and not boundary.islands:
            return Catalogue("", (), {})
        with self._library().session():
            return self._reread(project_id, tip, boundary)

    def _reread(self, project_id: str, tip: str, boundary: _Boundary) -> Catalogue:
        entries, said = self._read_meta(project_id)
        chains = [self._walk(tip, boundary.base)] if tip else []
        chains += [self._walk(commits[-1], commits[0]) for commits in boundary.islands]
        found_rows: list[Row] = []
        for chain in chains:
            found_rows += grouped(chain, said)
        catalogue = Catalogue(tip, tuple(found_rows), entries)
        self._save(project_id, catalogue)
        return catalogue

    def _walk(self, tip: str, base: str) -> list[Commit]:
        """Commits from the tip to the base, or to one that is missing: there the history ends."""
        chain: list[Commit] = []
        at = tip
        while at:
            commit = self._library().commit(at)
            if commit is None:
                break
            chain.append(commit)
            if at == base:
                break
            at = commit.parent
        return chain

    def _counted(self, project_id: str, catalogue: Catalogue) -> Catalogue:
        """The list with statistics, which are counted once, here, and then remembered."""
        pairs = zip(catalogue.rows, catalogue.rows[1:], strict=False)
        todo = [
            (before.checkpoint.tree, row.checkpoint.tree)
            for row, before in pairs
            if row.checkpoint.files is None
        ]
        if not todo:
            return catalogue
        counts = self._count(todo)
        done = []
        for at, row in enumerate(catalogue.rows):
            if row.checkpoint.files is None and at + 1 < len(catalogue.rows):
                key = (catalogue.rows[at + 1].checkpoint.tree, row.checkpoint.tree)
                if key in counts:
                    files, plus, minus = counts[key]
                    one = replace(row.checkpoint, files=files, insertions=plus, deletions=minus)
                    row = Row(one, row.live)
            done.append(row)
        counted = Catalogue(catalogue.tip, tuple(done), catalogue.meta)
        self._save(project_id, counted)
        return counted

    def _count(
        self, pairs: Iterable[tuple[str, str]]
    ) -> dict[tuple[str, str], tuple[int, int, int]]:
        """Files, insertions and deletions between pairs of trees, by one child."""
        counts: dict[tuple[str, str], tuple[int, int, int]] = {}
        wanted = {pair for pair in pairs if pair[0] != pair[1]}
        for pair in set(pairs) - wanted:
            counts[pair] = (0, 0, 0)
        if not wanted:
            return counts
        given = b"".join(f"{old} {new}\n".encode() for old, new in sorted(wanted))
        command = ["diff-tree", "--stdin", "-r", "-z", "--numstat", "--no-renames"]
        try:
            out = self._plumbing.run(command, given=given).out
        except StoreError:
            return counts  # a damaged tree: the list does without the figures
        for old, new in wanted:
            counts[old, new] = (0, 0, 0)
        key, at = ("", ""), 0
        while at < len(out):
            head = out[at : at + _HEAD].decode("ascii", "replace")
            pair = (head[:40], head[41:81])
            if pair in counts:
                key, at = pair, at + _HEAD
                continue
            end = out.index(b"\0", at)
            plus, minus = out[at:end].split(b"\t", 2)[:2]
            files, more, less = counts[key]
            counts[key] = (files + 1, more + _number(plus), less + _number(minus))
            at = end + 1
        return counts

    # ------------------------------------------------------------------ the boundary

    def _boundary(self, project_id: str) -> _Boundary:
        value = read_json(self._boundary_path(project_id))
        if value is None:  # lost: the refs that hold islands still say which there are
            prefix = self._layout.own_ref("kept", project_id)
            kept = self._refs.below(prefix).items()
            return _Boundary("", tuple((ref[len(prefix) + 1 :], oid) for ref, oid in kept))
        islands = value.get("islands", ())
        return _Boundary(value.get("base", ""), tuple(tuple(commits) for commits in islands))

    def _write_boundary(self, project_id: str, boundary: _Boundary) -> None:
        value = {"base": boundary.base, "islands": [list(commits) for commits in boundary.islands]}
        write_json(self._boundary_path(project_id), value)

    def bases(self, project_id: str) -> list[str]:
        """The commits whose parents are to be forgotten."""
        boundary = self._boundary(project_id)
        found = [commits[0] for commits in boundary.islands]
        return [boundary.base, *found] if boundary.base else found

    def commits(self, project_id: str) -> list[str]:
        """The commits of what is listed, newest first."""
        return [one for row in self.catalogue(project_id).rows for one in reversed(_commits(row))]

    def _path(self, project_id: str) -> str:
        return self._layout.path("catalogue", f"{project_id}.json")

    def _boundary_path(self, project_id: str) -> str:
        return self._layout.path("boundaries", f"{project_id}.json")


# --------------------------------------------------------------------------- commits and rows


def _share_modes(value: dict[str, Any]) -> None:
    """Write equal modes once: under umask 002 every file of a project has one."""
    shared: list[dict[str, int]] = []
    for row in value["rows"]:
        modes = row.get("modes", {})
        if not shared or shared[-1] != modes:
            shared.append(modes)
        row["modes"] = len(shared) - 1
    value["modes"] = shared


def _of_rows(meta: Mapping[str, str], kept: Iterable[Row]) -> dict[str, str]:
    """The metadata entries that belong to the commits of some rows."""
    wanted = {commit for row in kept for commit in _commits(row)}
    return {name: blob for name, blob in meta.items() if name.partition("-")[0] in wanted}


def _commits(row: Row) -> tuple[str, ...]:
    """A checkpoint's commits, oldest first."""
    return (row.checkpoint.id, *row.checkpoint.supplements)


def _number(text: bytes) -> int:
    return 0 if text == b"-" else int(text)


def _quoted(name: str) -> str:
    """A pin's name as one part of a ref's name, whatever it is."""
    return "p" + "".join(c if c.isalnum() and c.isascii() else f"_{ord(c):x}_" for c in name)


def _unquoted(part: str) -> str:
    return re.sub(r"_([0-9a-f]+)_", lambda match: chr(int(match[1], 16)), part[1:])
