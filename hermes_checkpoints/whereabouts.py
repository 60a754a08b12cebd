"""Is a project's directory still there: live, orphan or unreachable.

Owns the one classifier and the evidence it needs: which directory the parent was when the project
was last captured. Reads directory entries only. A wrong "orphan" deletes the history of a drive
that is merely unplugged, so anything less than proof is "unreachable".
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import asdict, dataclass
from pathlib import Path

from hermes_checkpoints.inventory import Presence
from hermes_checkpoints.sessions import write_private

__all__ = ["Place", "look_for", "place_of", "read_place", "write_place"]


@dataclass(frozen=True, slots=True)
class Place:
    """Which directory something is: device, inode, and the id of its file system (0: not said)."""

    device: int
    inode: int
    volume: int = 0

    def is_same(self, other: Place) -> bool:
        """Whether two places are one directory.

        The id of a file system, where there is one, says more than the device's number: it stays
        when devices are numbered anew, and it tells two drives apart that were mounted at one
        place with one number (the topmost directory of every ext4 volume has inode 2).
        """
        if self.inode != other.inode:
            return False
        if self.volume and other.volume:
            return self.volume == other.volume
        return self.device == other.device


def place_of(directory: str | os.PathLike[str]) -> Place | None:
    """Which directory is there; `None` if none is, or it can't be asked."""
    try:
        info = os.stat(directory)
        if not stat.S_ISDIR(info.st_mode):
            return None
        volume = os.statvfs(directory).f_fsid if hasattr(os, "statvfs") else 0
        return Place(info.st_dev, info.st_ino, volume)
    except OSError:
        return None


def look_for(root: str, parent: Place | None, device: int = 0) -> tuple[Presence, str]:
    """The presence of a project's directory, and the evidence as a sentence.

    `parent` is its parent as it was at the last capture, `device` its own device then; `None` and 0
    where nobody wrote that down.
    """
    try:
        info = os.stat(root)
    except (FileNotFoundError, NotADirectoryError):
        return _absent(root, parent)
    except OSError as error:
        return Presence.UNREACHABLE, f"it cannot be looked at ({error.strerror})"
    if not stat.S_ISDIR(info.st_mode):
        return _absent(root, parent)
    # An unmounted volume leaves the empty directory it was mounted on.
    if device and info.st_dev != device and _is_empty(root):
        return Presence.UNREACHABLE, "an empty directory of another volume stands in its place"
    return Presence.LIVE, "the directory is there"


def read_place(file: Path) -> Place | None:
    """A place as `write_place` noted it."""
    try:
        data = json.loads(file.read_text(encoding="ascii"))
        return Place(int(data["device"]), int(data["inode"]), int(data["volume"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_place(file: Path, place: Place) -> None:
    """Note a place, if it is not what the file says already."""
    if read_place(file) != place:
        write_private(file, json.dumps(asdict(place)))


def _absent(root: str, known: Place | None) -> tuple[Presence, str]:
    now = place_of(os.path.dirname(root))
    if known is None:
        return Presence.UNREACHABLE, "it is not there, and nothing proves that it was deleted"
    if now is None:
        return Presence.UNREACHABLE, "its parent directory is not there either"
    if not now.is_same(known):
        return Presence.UNREACHABLE, "its parent is another directory than the one we knew"
    return Presence.ORPHAN, "it is gone, and its parent is the directory we knew"


def _is_empty(directory: str) -> bool:
    try:
        with os.scandir(directory) as entries:
            return next(entries, None) is None
    except OSError:
        return True
