"""A look at named paths that stores nothing, for calls that can change nothing else.

Owns nothing but that look: what is there, and why what is not held is not, are `reading`'s to say.
"""

from __future__ import annotations

from collections.abc import Iterable

from hermes_checkpoints.excludes import CaptureRules
from hermes_checkpoints.records import FileState, Gap, GapReason, content_id
from hermes_checkpoints.stores import reading
from hermes_checkpoints.stores.base import Observation

__all__ = ["look_by_name"]


def look_by_name(root: str, paths: Iterable[str], rules: CaptureRules) -> Observation:
    """What `Store.observe` would find of named paths without a scan. Nothing is stored."""
    states: dict[str, FileState | None] = {}
    gaps: dict[str, Gap] = {}
    empty: set[str] = set()
    modes: dict[str, int] = {}
    for path in paths:
        inside = reading.repository_above(root, path)
        if inside:
            gaps[inside] = Gap(inside, GapReason.NESTED_REPOSITORY)
            continue
        found = reading.below(root, path)
        if found is not None:
            gaps.update((gap.path, gap) for gap in found.gaps)
            empty.update(found.empty_dirs)
            for directory, mode in found.directories.items():
                reading.note_directory(modes, directory, mode)
        for file in (path,) if found is None else found.files:
            if file in states:
                continue
            there = reading.read(root, file, rules, named=True)
            if isinstance(there, Gap):
                gaps[file] = there
            elif there is None:
                states[file] = None
            else:
                states[file] = state = FileState(there.mode, content_id(there.data))
                odd = None if state.is_link else reading.odd_mode(there.permissions)
                if odd is not None:
                    modes[file] = odd
    return Observation(
        tree="",
        named=states,
        gaps=tuple(gaps[path] for path in sorted(gaps) if not states.get(path)),
        modes=modes,
        empty_dirs=tuple(sorted(empty)),
        whole=False,
    )
