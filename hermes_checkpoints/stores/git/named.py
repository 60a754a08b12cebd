"""Recording paths that were asked for by name, whatever the rules say of them.

Owns what becomes of each: a look has found it, or it is read and stored here, or it is a gap. What
is recorded here never enters the index, so nothing asked for once sticks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hermes_checkpoints.excludes import CaptureRules
from hermes_checkpoints.records import FileState, Gap, GapReason
from hermes_checkpoints.stores import reading
from hermes_checkpoints.stores.base import Observation
from hermes_checkpoints.stores.git.objects import Loose
from hermes_checkpoints.stores.git.scan import Live

__all__ = ["Named"]


@dataclass(slots=True)
class Named:
    """Records paths asked for by name; what a look just found of them needs no second one."""

    root: str
    rules: CaptureRules
    live: Live
    loose: Loose
    states: dict[str, FileState | None] = field(default_factory=dict)
    unruled: set[str] = field(default_factory=set)
    gaps: dict[str, Gap] = field(default_factory=dict)
    modes: dict[str, int] = field(default_factory=dict)
    empty_dirs: set[str] = field(default_factory=set)
    directories: dict[str, int] = field(default_factory=dict)

    def record(self, path: str) -> None:
        """Record a path, or everything below it."""
        inside = reading.repository_above(self.root, path)
        if inside:
            self.gaps[inside] = Gap(inside, GapReason.NESTED_REPOSITORY)
            return
        found = reading.below(self.root, path)
        if found is None:
            self._file(path)
            return
        self.gaps.update({gap.path: gap for gap in found.gaps})
        self.empty_dirs.update(found.empty_dirs)
        self.directories.update(found.directories)
        for file in found.files:
            self._file(file)

    def observation(self) -> Observation:
        live = self.live
        gaps = {**live.gaps, **self.gaps}
        held = {path for path, state in self.states.items() if state}
        modes = {**live.modes, **self.modes}
        for directory, mode in self.directories.items():
            reading.note_directory(modes, directory, mode)
        return Observation(
            tree=live.tree,
            named=self.states,
            unruled=frozenset(self.unruled),
            gaps=tuple(gaps[path] for path in sorted(gaps) if path not in held),
            modes=modes,
            empty_dirs=tuple(sorted(self.empty_dirs)),
            whole=live.whole,
        )

    def _file(self, path: str) -> None:
        tracked = self.live.find(path)
        if tracked:
            self.states[path] = tracked
            return
        found = reading.read(self.root, path, self.rules, named=True)
        if isinstance(found, Gap):
            self.gaps[path] = found
        elif found is None:
            self.states[path] = None
        else:
            self.states[path] = FileState(found.mode, self.loose.write(b"blob", found.data))
            self.unruled.add(path)
            odd = reading.odd_mode(found.permissions)
            if odd is not None and not self.states[path].is_link:  # type: ignore[union-attr]
                self.modes[path] = odd
