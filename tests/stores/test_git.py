"""The git store keeps the contract."""

from __future__ import annotations

from pathlib import Path

from hermes_checkpoints.config import Config
from hermes_checkpoints.stores.base import Store
from hermes_checkpoints.stores.git import open_store
from hermes_checkpoints.testing import StoreContract


class TestGitStore(StoreContract):
    """The contract, for the git store."""

    def make_store(self, place: Path) -> Store:
        return open_store(Config(base=place / "base"))

    def reopen(self, store: Store, place: Path) -> Store:
        return open_store(Config(base=place / "base"))
