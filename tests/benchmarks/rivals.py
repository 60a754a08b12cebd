"""The three that are timed: ours, Hermes Agent 0.19.0 as it is, and the floor."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, Protocol

import hermes_checkpoints as hc

__all__ = ["Floor", "Hermes", "Ours", "Rival", "fetch_hermes"]

_WHEEL = "hermes-agent==0.19.0"


class Rival(Protocol):
    """What a checkpoint system is asked in a benchmark."""

    name: str

    def snapshot(self, root: Path) -> None: ...

    def ids(self, root: Path) -> list[str]: ...

    def diff(self, root: Path, checkpoint: str) -> None: ...

    def restore(self, root: Path, checkpoint: str, path: str | None = None) -> None: ...

    def upkeep(self) -> None: ...

    def size(self) -> int: ...


class Ours:
    """This library, through its public surface."""

    name = "ours"

    def __init__(self, base: Path, *, max_snapshots: int = 1_000, max_files: int = 200_000) -> None:
        self.base = base / "ours"
        config = hc.Config(
            base=self.base,
            max_snapshots=max_snapshots,
            max_files=max_files,
            max_total_size_mb=100_000,
            auto_prune=False,
        )
        self.manager = hc.CheckpointManager(config, session_id="bench")

    def snapshot(self, root: Path) -> None:
        self.manager.new_turn()
        outcome = self.manager.ensure_checkpoint(root, "bench")
        if isinstance(outcome, (hc.Failed, hc.Skipped)):
            raise RuntimeError(outcome.why)

    def ids(self, root: Path) -> list[str]:
        return [c.id for c in self.manager.list_checkpoints(root)]

    def diff(self, root: Path, checkpoint: str) -> None:
        self.manager.diff(root, checkpoint)

    def restore(self, root: Path, checkpoint: str, path: str | None = None) -> None:
        paths = [path] if path else []
        report = self.manager.restore(root, checkpoint, paths, keep_edits=False)
        if not report.ok:
            raise RuntimeError(str(report))

    def upkeep(self) -> None:
        self.manager.prune()

    def size(self) -> int:
        return _on_disk(self.base / "store")


class Hermes:
    """Hermes Agent's own CheckpointManager, from its wheel, unchanged."""

    name = "hermes"

    def __init__(self, base: Path, wheel: Path, *, max_snapshots: int = 1_000) -> None:
        home = base / "hermes"
        home.mkdir(parents=True)
        os.environ["HERMES_HOME"] = str(home)
        if str(wheel) not in sys.path:
            sys.path.insert(0, str(wheel))
        import tools.checkpoint_manager as theirs  # type: ignore[import-not-found]

        theirs.CHECKPOINT_BASE = home / "checkpoints"
        theirs._MAX_FILES = 10**9  # it counts ignored files too, and would skip the large tree
        self._base = home / "checkpoints"
        self._module: Any = theirs
        self._manager = theirs.CheckpointManager(
            enabled=True, max_snapshots=max_snapshots, max_total_size_mb=100_000
        )

    def _here(self) -> None:
        self._module.CHECKPOINT_BASE = self._base

    def snapshot(self, root: Path) -> None:
        self._here()
        self._manager.new_turn()
        self._manager.ensure_checkpoint(str(root), "bench")

    def ids(self, root: Path) -> list[str]:
        self._here()
        return [c["hash"] for c in self._manager.list_checkpoints(str(root))]

    def diff(self, root: Path, checkpoint: str) -> None:
        self._here()
        self._manager.diff(str(root), checkpoint)

    def restore(self, root: Path, checkpoint: str, path: str | None = None) -> None:
        self._here()
        self._manager.restore(str(root), checkpoint, path)

    def upkeep(self) -> None:
        """It collects garbage within each snapshot at its cap."""

    def size(self) -> int:
        return _on_disk(self._base / "store")


class Floor:
    """git's own stat walk of the tree with a warm index: what no snapshot can beat."""

    def __init__(self, base: Path, root: Path) -> None:
        self._env = {
            "PATH": os.environ["PATH"],
            "HOME": str(base),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_DIR": str(base / "floor.git"),
            "GIT_WORK_TREE": str(root),
        }
        self._root = root
        self._git("init", "-q", "--template=")
        for key in ("core.untrackedCache=true", "core.preloadIndex=true"):
            self._git("config", *key.split("="))
        self._git("config", "status.showUntrackedFiles", "all")
        self._git("add", "-A")
        self._git("-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "floor")
        self.status()

    def status(self) -> None:
        self._git("status", "--porcelain=v2", "-z")

    def sync(self) -> None:
        """Take the tree as it is now for the state it is compared with."""
        self._git("add", "-A")
        self.status()

    def walk(self) -> None:
        """A bare scandir and lstat walk in this process."""
        todo = [str(self._root)]
        while todo:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name != "node_modules":
                            todo.append(entry.path)
                    else:
                        entry.stat(follow_symlinks=False)

    def _git(self, *arguments: str) -> None:
        subprocess.run(
            ["git", *arguments], cwd=self._root, env=self._env, check=True, capture_output=True
        )


def fetch_hermes(cache: Path) -> Path | None:
    """The unpacked wheel of the reference, fetched once; `None` where it can't be had."""
    place = cache / "hermes-agent-0.19.0"
    if (place / "tools" / "checkpoint_manager.py").exists():
        return place
    fetched = cache / "wheels"
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(fetched), _WHEEL],
        capture_output=True,
        check=False,
    )
    wheels = sorted(fetched.glob("hermes_agent-0.19.0*.whl"))
    if done.returncode or not wheels:
        return None
    shutil.rmtree(place, ignore_errors=True)
    with zipfile.ZipFile(wheels[0]) as archive:
        archive.extractall(place)
    return place


def _on_disk(directory: Path) -> int:
    """Bytes that a directory takes on disk, in whole blocks as `du` counts them."""
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            total += os.lstat(os.path.join(folder, name)).st_blocks * 512
    return total
