"""Finding and opening a store by the name given in `checkpoints.store`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from hermes_checkpoints.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint

    from hermes_checkpoints.config import Config
    from hermes_checkpoints.stores.base import Store

__all__ = ["known_stores", "open_store"]

_GROUP = "hermes_checkpoints.stores"
# Found without entry points, which take a walk over every installed distribution.
_OWN = {
    "git": "hermes_checkpoints.stores.git",
    "memory": "hermes_checkpoints.stores.memory",
}


def known_stores() -> tuple[str, ...]:
    """The names of all registered stores, sorted. Loads none."""
    return tuple(sorted({*_OWN, *(point.name for point in _registered())}))


def open_store(config: Config) -> Store:
    """The store that `config.store` names. Raises `ConfigError` listing the known ones."""
    return _opener(config.store)(config)


def _opener(name: str) -> Callable[[Config], Store]:
    if name in _OWN:
        opener: Callable[[Config], Store] = import_module(_OWN[name]).open_store
        return opener
    for point in _registered():
        if point.name == name:
            return cast("Callable[[Config], Store]", point.load())
    raise ConfigError(
        f"checkpoints.store: there is no store named {name!r}; "
        f"known are {', '.join(known_stores())}",
        hint="install the package that registers it, or choose one of those",
    )


def _registered() -> tuple[EntryPoint, ...]:
    from importlib.metadata import entry_points  # 20 ms, and never needed for our own stores

    return tuple(entry_points(group=_GROUP))
