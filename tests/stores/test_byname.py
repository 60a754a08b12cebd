"""A look at named paths that stores nothing finds what a store would."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_checkpoints.excludes import CaptureRules
from hermes_checkpoints.stores.byname import look_by_name
from hermes_checkpoints.stores.memory import MemoryStore
from hermes_checkpoints.testing.contract import Scene
from tests.stores.kit import GitScene


@pytest.mark.parametrize("kind", ["memory", "git"])
def test_a_look_by_name_is_an_observation_of_names(kind: str, tmp_path: Path) -> None:
    """States, gaps, modes and empty directories are those that the store finds without a scan."""
    memory = kind == "memory"
    scene = Scene(MemoryStore(), tmp_path / "project") if memory else GitScene(tmp_path)
    scene.put("d/usual", "1", 0o644)
    scene.put("d/odd", "1", 0o600)
    scene.put("d/program", "1", 0o700)
    scene.put("d/large", "x" * 20)
    scene.link("d/link", "usual")
    scene.nested("d/repo")
    (scene.root / "d/empty").mkdir()
    (scene.root / "d").chmod(0o700)
    scene.put("f", "2", 0o440)
    names = ["d", "f", "nothing", "d/repo/x"]
    rules = CaptureRules(max_file_bytes=10)
    seen = scene.observe(*names, rules=rules, scan=False)
    found = look_by_name(str(scene.root), names, rules)
    assert found.modes == {"d/": 0o700, "d/odd": 0o600, "d/program": 0o700, "f": 0o440}
    for what in ("named", "gaps", "modes", "empty_dirs"):
        assert getattr(found, what) == getattr(seen, what)
