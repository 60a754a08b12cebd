"""A file of a command-line agent's that we change: what it says, and the change as an edit.

Owns finding our entries in a settings file, and writing it back as it was but for them.
"""

from __future__ import annotations

import copy
import difflib
import json
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_checkpoints.errors import CheckpointError

__all__ = ["Edit", "Groups", "Settings", "text_of"]

Groups = dict[str, list[dict[str, Any]]]
"""By event, what stands in the settings: groups of hooks with a matcher."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A file's text before and after a change; `None` after: the file goes."""

    file: Path
    before: str
    after: str | None

    @property
    def diff(self) -> str:
        """What changes; empty: nothing."""
        name = str(self.file)
        lines = difflib.unified_diff(
            self.before.splitlines(), (self.after or "").splitlines(), name, name, lineterm=""
        )
        return "\n".join(lines)

    def make(self) -> None:
        """Replace the file in one step, through a link, keeping its permissions."""
        file = Path(os.path.realpath(self.file))
        if self.after is None:
            file.unlink(missing_ok=True)
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        spare = file.with_name(f".{file.name}.{os.getpid()}")
        try:
            spare.write_bytes(self.after.encode("utf-8"))
            if file.exists():
                shutil.copymode(file, spare)
            os.replace(spare, file)
        finally:
            spare.unlink(missing_ok=True)


def text_of(file: Path) -> str | None:
    """A file's text with its line ends; `None` if there is none. Raises `CheckpointError`."""
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{file} cannot be read: {error}") from error


@dataclass(frozen=True, slots=True)
class Settings:
    """A settings file as it is: its text, and what that says. No file: empty."""

    file: Path
    text: str
    values: dict[str, Any]

    @classmethod
    def read(cls, file: Path, events: Sequence[str]) -> Settings:
        """The settings, of which `events` are going to be changed.

        Raises `CheckpointError` for a file that could not be written back as it was.
        """
        text = text_of(file) or ""
        try:
            values = json.loads(text, object_pairs_hook=_unique) if text.strip() else {}
            _check(values, events)
        except ValueError as error:
            raise CheckpointError(
                f"{file} is not changed, because it is no plain JSON settings file: {error}",
                hint="add the hooks by hand; docs/hooks.md shows them",
            ) from error
        return cls(file, text, values)

    def with_groups(self, groups: Groups, agent: str) -> Edit:
        """The file with our entries, each once and up to date."""
        values = copy.deepcopy(self.values)
        _remove(values, agent, keep=groups)
        hooks = values.setdefault("hooks", {})
        for event, ours in groups.items():
            present = hooks.setdefault(event, [])
            present.extend(group for group in ours if group not in present)
        return Edit(self.file, self.text, self._dump(values))

    def without_groups(self, agent: str) -> Edit:
        """The file without our entries, and without what they alone filled."""
        values = copy.deepcopy(self.values)
        _remove(values, agent, keep={})
        return Edit(self.file, self.text, self._dump(values))

    def _dump(self, values: dict[str, Any]) -> str:
        if values == self.values:
            return self.text
        found = re.match(r"\s*\{\r?\n([ \t]+)\"", self.text)
        indent = found.group(1) if found else "  "
        end = "\n" if self.text.endswith("\n") or not self.text else ""
        text = json.dumps(values, indent=indent, ensure_ascii=False) + end
        return text.replace("\n", "\r\n") if "\r\n" in self.text else text


def _remove(values: dict[str, Any], agent: str, *, keep: Groups) -> None:
    """Take our entries out, except whole groups that are in `keep`, and what becomes empty."""
    hooks = values.get("hooks", {})
    for event, groups in list(hooks.items()):
        if not _are_groups(groups):
            continue  # some agents keep switches there too
        kept = keep.get(event, [])
        left = [g if g in kept else _without(g, agent) for g in groups]
        if left == groups:
            continue
        hooks[event] = [group for group in left if group is not None]
        if not hooks[event]:
            del hooks[event]
        if not hooks:
            del values["hooks"]


def _without(group: dict[str, Any], agent: str) -> dict[str, Any] | None:
    """A group without our entries; `None` if it had no others."""
    left = [entry for entry in group["hooks"] if not _is_ours(entry, agent)]
    if len(left) == len(group["hooks"]):
        return group
    return {**group, "hooks": left} if left else None


def _is_ours(entry: Any, agent: str) -> bool:
    command = entry.get("command") if isinstance(entry, dict) else None
    pattern = rf"(^|[/\\'\"\s])hermes-checkpoints(\.exe)?['\"]?\s+hook\s+{re.escape(agent)}(\s|$)"
    return isinstance(command, str) and re.search(pattern, command) is not None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice in one place")
    return found


def _check(values: Any, events: Sequence[str]) -> None:
    """Raise `ValueError` where the file is not of the shape that agents document."""
    hooks = values.get("hooks", {}) if isinstance(values, dict) else None
    if not isinstance(hooks, dict):
        raise ValueError("it holds no object of settings, or hooks that are none")
    for event in events:
        if not _are_groups(hooks.get(event, [])):
            raise ValueError(f"hooks.{event} is no list of groups with hooks")


def _are_groups(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(g, dict) and isinstance(g.get("hooks"), list) for g in value
    )
