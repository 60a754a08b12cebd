"""What every test gets: a home of its own, no inherited git variables, scratch places."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("default")


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test sees the user's home, configuration or git settings."""
    home = tmp_path_factory.mktemp("home")
    for name in [n for n in os.environ if n.startswith(("GIT_", "HERMES_", "VIBEOS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    return home


@pytest.fixture
def home(_own_home: Path) -> Path:
    return _own_home


@pytest.fixture
def project_dir(tmp_path: Path) -> Path:
    """An empty project with a package marker."""
    root = tmp_path / "w"
    root.mkdir()
    (root / "pyproject.toml").touch()
    return root
