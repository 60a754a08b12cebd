"""The example of a store of one's own keeps the contract, and is found by its entry point."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_checkpoints.config import Config
from hermes_checkpoints.errors import ConfigError
from hermes_checkpoints.stores import known_stores, open_store
from hermes_checkpoints.stores.base import Store
from hermes_checkpoints.testing.contract import Scene, StoreContract

EXAMPLE = Path(__file__).parents[2] / "examples" / "directory_store"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example as an installer leaves it: its module and its metadata on the path."""
    place = tmp_path_factory.mktemp("site")
    (place / "directory_store.py").write_text((EXAMPLE / "directory_store.py").read_text())
    metadata = place / "hermes_checkpoints_directory_store-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: hermes-checkpoints-directory-store\nVersion: 0.1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[hermes_checkpoints.stores]\ndirectory = directory_store:open_store\n"
    )
    return place


@pytest.fixture(autouse=True)
def on_path(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(installed)
    yield
    sys.modules.pop("directory_store", None)


class TestDirectoryStore(StoreContract):
    """The contract, for the example."""

    def make_store(self, place: Path) -> Store:
        return open_store(Config(base=place / "base", store="directory"))

    def reopen(self, store: Store, place: Path) -> Store:
        return self.make_store(place)


def test_it_is_known_by_its_entry_point(tmp_path: Path) -> None:
    """An installed store is chosen by its name, and an unknown name lists the known ones."""
    assert sorted(known_stores()) == ["directory", "git", "memory"]
    with pytest.raises(ConfigError) as caught:
        open_store(Config(base=tmp_path, store="restic"))
    assert "'restic'; known are directory, git, memory" in str(caught.value)


def test_it_survives_its_process(tmp_path: Path, installed: Path) -> None:
    """What one process captured, another one lists."""
    scene = Scene(open_store(Config(base=tmp_path / "base", store="directory")), tmp_path / "p")
    scene.put("a", "1")
    made = scene.taken("before write_file: a")
    program = (
        "import sys; from hermes_checkpoints.config import Config;"
        "from hermes_checkpoints.stores import open_store;"
        "from hermes_checkpoints.project import project_at;"
        "s = open_store(Config(base=sys.argv[1], store='directory'));"
        "print([c.id for c in s.list(project_at(sys.argv[2]))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "base"), str(tmp_path / "p")],
        env={"PYTHONPATH": str(installed), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str([made.id])
