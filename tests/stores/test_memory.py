"""The memory store keeps the contract, and is stricter than it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_checkpoints.config import Config
from hermes_checkpoints.errors import StoreError
from hermes_checkpoints.stores.base import Store
from hermes_checkpoints.stores.memory import MemoryStore, open_store
from hermes_checkpoints.testing.contract import Scene, StoreContract


class TestMemoryStore(StoreContract):
    """The contract, for the memory store."""

    def make_store(self, place: Path) -> Store:
        return MemoryStore()


def test_unheld_states_are_gone(tmp_path: Path) -> None:
    """A state that nothing holds cannot be read once the project's lock is released."""
    scene = Scene(MemoryStore(), tmp_path / "project")
    scene.put("a", "1")
    seen = scene.observe()
    with pytest.raises(StoreError):
        scene.store.entries(scene.project, seen.tree)


def test_misuse_is_an_error(tmp_path: Path) -> None:
    """What only some stores would let pass is refused here."""
    scene = Scene(MemoryStore(), tmp_path / "project")
    with pytest.raises(ValueError):
        scene.observe("/absolute")
    with pytest.raises(ValueError):
        scene.observe("a/../b")
    with scene.store.lock(scene.project):
        seen = scene.observe()
        with pytest.raises(ValueError):
            scene.store.keep(scene.project, "a/b", seen.tree)
        with pytest.raises(ValueError):
            scene.store.capture(scene.project, seen, reason="two\nlines")
        with pytest.raises(ValueError):
            scene.store.capture(scene.project, seen, reason="r", labels={"a b": "c"})


def test_one_store_per_base(tmp_path: Path) -> None:
    """Two openers of one base in a process share a store."""
    config = Config(base=tmp_path, store="memory")
    assert open_store(config) is open_store(config)
    assert open_store(config) is not open_store(config.with_(base=tmp_path / "other"))
