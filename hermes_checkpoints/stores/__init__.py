"""Finding and opening a store by the name given in `checkpoints.store`."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from hermes_checkpoints.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes_checkpoints.config import Config
    from hermes_checkpoints.stores.base import Store

__all__ = ["known_stores", "open_store"]

_GROUP = "hermes_checkpoints.stores"


def known_stores() -> dict[str, Callable[[Config], Store]]:
    """Every registered store: name -> a callable that opens it. Loads none but the built-in."""
    from hermes_checkpoints.stores.git import open_store as git
    from hermes_checkpoints.stores.memory import open_store as memory

    found: dict[str, Callable[[Config], Store]] = {"git": git, "memory": memory}
    for point in entry_points(group=_GROUP):
        if point.name not in found:
            found[point.name] = _loader(point.load)
    return found


def open_store(config: Config) -> Store:
    """The store that `config.store` names. Raises `ConfigError` listing the known ones."""
    if config.store == "git":  # the common case needs no look at entry points
        from hermes_checkpoints.stores.git import open_store as git

        return git(config)
    known = known_stores()
    if config.store not in known:
        names = ", ".join(sorted(known))
        raise ConfigError(
            f"checkpoints.store: there is no store named {config.store!r}; known are {names}",
            hint="install the package that registers it, or choose one of those",
        )
    return known[config.store](config)


def _loader(load: Callable[[], Callable[[Config], Store]]) -> Callable[[Config], Store]:
    return lambda config: load()(config)
