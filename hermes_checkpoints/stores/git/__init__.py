"""The default store: one shared shadow git repository. See `layout` for what is where."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_checkpoints.config import Config
    from hermes_checkpoints.stores.git.store import GitStore

__all__ = ["open_store"]


def open_store(config: Config) -> GitStore:
    """The store below `config.base_path`; it is created by the first capture, not before."""
    from hermes_checkpoints.stores.git.store import GitStore

    return GitStore(config)
