"""Deleting files and directories of the store, read-only ones included.

Owns the retry with write permission (git's objects are read-only) and the report of what stayed.
"""

from __future__ import annotations

import os

__all__ = ["remove", "remove_all"]


def remove(path: str) -> None:
    """Remove a file or a directory, if it is there. Raises `OSError` for what stays."""
    stayed = remove_all(path)
    if stayed:
        raise OSError(0, "could not be deleted", stayed[0])


def remove_all(path: str) -> list[str]:
    """Remove a file or a directory and all in it; what stayed, as paths."""
    if not os.path.isdir(path) or os.path.islink(path):
        return [] if _unlink(path) else [path]
    stayed: list[str] = []
    for here, directories, names in os.walk(path, topdown=False):
        stayed += [p for name in names if not _unlink(p := os.path.join(here, name))]
        for name in directories:
            inner = os.path.join(here, name)
            if os.path.islink(inner):
                _unlink(inner)
            else:
                _rmdir(inner)
    return stayed if stayed or _rmdir(path) else [path]


def _unlink(path: str) -> bool:
    """Whether a file is gone; a directory without write permission is given it (git's are)."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return True
    except PermissionError:
        try:
            os.chmod(os.path.dirname(path), 0o700)
            os.chmod(path, 0o600)
            os.unlink(path)
        except OSError:
            return False
    except OSError:
        return False
    return True


def _rmdir(path: str) -> bool:
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
