"""Every exception the library raises, in one tree.

    CheckpointError                 anything of ours
    ├── ConfigError                 a configuration value is wrong: file, key, value
    ├── StoreError                  the store could not do what was asked
    │   ├── StoreUnavailable        no git, no store directory, not writable, damaged
    │   ├── StoreBusy               a lock was not to be had in time
    │   └── CaptureFailed           the project could not be recorded; nothing was
    ├── CheckpointNotFound          no such checkpoint of this project
    ├── SelectionError              a path to restore is outside, or matches nothing
    ├── RestoreRefused              a restore was refused before anything changed
    │   ├── Busy                    a wrapped tool is running in the project
    │   └── ProjectMoved            the project changed since the plan was made
    ├── RestoreFailed               a restore broke off; says which undo brings back what
    └── NotProtected                `on_failure: block` stopped the tool before it ran

Each carries a message (what was tried, on what, what came of it) and a `hint`: what the person
can do next, where possible something to paste.
"""

from __future__ import annotations

__all__ = [
    "Busy",
    "CaptureFailed",
    "CheckpointError",
    "CheckpointNotFound",
    "ConfigError",
    "NotProtected",
    "ProjectMoved",
    "RestoreFailed",
    "RestoreRefused",
    "SelectionError",
    "StoreBusy",
    "StoreError",
    "StoreUnavailable",
]


class CheckpointError(Exception):
    """Anything that goes wrong here. `str(error)` is a sentence fit to show."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class ConfigError(CheckpointError):
    """A configuration value is wrong; the message names file, key and value."""


class StoreError(CheckpointError):
    """The store could not do what was asked of it."""


class StoreUnavailable(StoreError):
    """There is no usable store: no git, a path that is a file, no permission, damage."""


class StoreBusy(StoreError):
    """A lock was not to be had in time."""


class CaptureFailed(StoreError):
    """The project could not be recorded, and no checkpoint was made."""


class CheckpointNotFound(CheckpointError):
    """There is no such checkpoint of this project."""


class SelectionError(CheckpointError):
    """A path to restore lies outside the project, or matches nothing."""


class RestoreRefused(CheckpointError):
    """A restore was refused before anything changed."""


class Busy(RestoreRefused):
    """A wrapped tool is running in this project."""


class ProjectMoved(RestoreRefused):
    """The project changed since the plan was made."""


class RestoreFailed(CheckpointError):
    """A restore broke off; the message says what changed and how to take it back."""


class NotProtected(CheckpointError):
    """What the tool can destroy is not held, and `on_failure: block` stopped it before it ran."""
