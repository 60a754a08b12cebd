"""Is a path protected, since when, or why not.

Owns the order in which the possible reasons are asked; each is somebody else's rule. Writes
nothing, in the project or the store.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from hermes_checkpoints.excludes import DEFAULT_EXCLUDES, is_secret_name
from hermes_checkpoints.inventory import Explanation
from hermes_checkpoints.manager import CheckpointManager
from hermes_checkpoints.project import relative_path
from hermes_checkpoints.records import Checkpoint, FileState, GapReason, Project
from hermes_checkpoints.stores.base import Store
from hermes_checkpoints.stores.patterns import IgnoreRules
from hermes_checkpoints.worktree import Unreadable, look

__all__ = ["explain"]


def explain(
    manager: CheckpointManager, path: str | os.PathLike[str], *, enabled: bool
) -> Explanation:
    """Whether a checkpoint holds a path (of a directory: anything in it), and why not.

    `enabled` is what the host's configuration says.
    """
    place = os.path.join(manager.cwd, path)
    project = manager.project(place if os.path.isdir(place) else os.path.dirname(place))
    inside = relative_path(project, place) or os.fspath(path)
    checkpoints = manager.list_checkpoints(project.root)
    held = [c for c in checkpoints if _holds(manager.store, project, c, inside)]
    if not held:
        why = _rule_against(manager, project, inside, checkpoints)
        why = why or _why_not_yet(project, checkpoints, enabled=enabled)
        return Explanation(project, inside, False, why)
    newest = held[0]
    current = _is_current(manager.store, project, newest, inside)
    why = _why(newest is checkpoints[0], current)
    since = _unbroken(checkpoints, held)
    return Explanation(project, inside, True, why, newest, since, current)


def _holds(store: Store, project: Project, checkpoint: Checkpoint, path: str) -> bool:
    state = _state(store, project, checkpoint, path)
    if state is not None:
        return not state.is_gitlink
    below = "" if path == "." else path + "/"
    return any(p.startswith(below) for p in store.entries(project, checkpoint.tree))


def _state(store: Store, project: Project, checkpoint: Checkpoint, path: str) -> FileState | None:
    if path == ".":
        return None
    return store.states(project, checkpoint.tree, [path])[path]


def _is_current(store: Store, project: Project, checkpoint: Checkpoint, path: str) -> bool:
    try:
        found = look(project.root, path)
    except Unreadable:
        return False
    return found is not None and found.state == _state(store, project, checkpoint, path)


def _unbroken(checkpoints: Sequence[Checkpoint], held: Sequence[Checkpoint]) -> Checkpoint:
    """The oldest of the run of checkpoints that ends with the newest holder."""
    start = checkpoints.index(held[0])
    oldest = held[0]
    for mine, theirs in zip(held, checkpoints[start:], strict=False):
        if mine is not theirs:
            break
        oldest = mine
    return oldest


def _why(in_newest: bool, current: bool) -> str:
    if current:
        return "a checkpoint holds it as it is now"
    if in_newest:
        return "the newest checkpoint holds it; what changed since is saved before the next change"
    return "an older checkpoint holds it, the newest does not"


def _why_not_yet(project: Project, checkpoints: Sequence[Checkpoint], *, enabled: bool) -> str:
    if not enabled:
        return "checkpoints are off"
    if not project.whole:
        return "only files that a call names are saved here, and none named it yet"
    if not checkpoints:
        return "the project has no checkpoint yet; the first is taken before the next change"
    return "no checkpoint holds it yet; the next one will"


def _rule_against(
    manager: CheckpointManager, project: Project, path: str, checkpoints: Sequence[Checkpoint]
) -> str:
    """The first rule that keeps a path out, as a sentence; empty if none is known to."""
    try:
        info = os.lstat(os.path.join(project.root, path))
    except FileNotFoundError:
        return "there is no such file, and no checkpoint holds one"
    except OSError as error:
        return f"it cannot be looked at ({error.strerror})"
    if _in_nested_repository(project, path):
        return "it lies in a nested git repository, which is a project of its own"
    rules = manager.config.capture_rules
    if not stat.S_ISDIR(info.st_mode):
        barred = rules.gap_for(path, info.st_mode, info.st_size, named=True)
        if barred is GapReason.TOO_LARGE:
            cap = rules.max_file_bytes / (1 << 20)
            return f"it is larger than max_file_size_mb ({cap:g} MB)"
        if barred is not None:
            return f"it is never captured ({barred.value})"
        if is_secret_name(path) and rules.bars_secrets(named=False):
            return "it looks like a secret, so it is saved only before a call that names it"
    for gap in (checkpoints[0].gaps or ()) if checkpoints else ():
        if gap.covers(path):
            return f"the newest checkpoint could not hold it ({gap.detail or gap.reason.value})"
    if _is_ignored(project.root, path, rules.exclude):
        return "an ignore rule leaves it out, so it is saved only before a call that names it"
    return ""


def _is_ignored(root: str, path: str, exclude: Sequence[str]) -> bool:
    """Whether the ignore files as they are now, `exclude`, or our own list leave a path out."""
    rules = IgnoreRules((*exclude, *DEFAULT_EXCLUDES))
    parts = path.split("/")
    for depth in range(len(parts)):
        directory, here = "/".join(parts[:depth]), "/".join(parts[: depth + 1])
        rules = rules.below(directory, _text(os.path.join(root, directory, ".gitignore")))
        if rules.ignores(here, is_directory=os.path.isdir(os.path.join(root, here))):
            return True
    return False


def _text(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


def _in_nested_repository(project: Project, path: str) -> bool:
    at = os.path.join(project.root, path)
    while len(at) > len(project.root):
        if os.path.lexists(os.path.join(at, ".git")):
            return True
        at = os.path.dirname(at)
    return False
