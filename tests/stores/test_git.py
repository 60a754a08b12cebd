"""The git store keeps the contract, by its plain paths and by its fast ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_checkpoints.config import Config
from hermes_checkpoints.stores.base import Store
from hermes_checkpoints.stores.git import glance, open_store, scan
from hermes_checkpoints.testing import StoreContract


class TestGitStore(StoreContract):
    """The contract, for the git store."""

    def make_store(self, place: Path) -> Store:
        return open_store(Config(base=place / "base"))

    def reopen(self, store: Store, place: Path) -> Store:
        store = open_store(Config(base=place / "base"))
        self._opened.append(store)
        return store


class TestGitStoreInBulk(TestGitStore):
    """The contract again, with every change written as a pack and every first index by us."""

    @pytest.fixture(autouse=True)
    def bulk(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        monkeypatch.setattr(scan, "MANY", 0)
        yield


class TestGitStoreOfLargeProjects(TestGitStore):
    """The contract again, with every look left to git, as in a project of many files."""

    @pytest.fixture(autouse=True)
    def large(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        monkeypatch.setattr(glance, "MOST_FILES", 0)
        monkeypatch.setattr(scan, "MOST_FILES", 0)
        yield
