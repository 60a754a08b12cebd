"""Configuration: defaults, files, hosts, and errors that name what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_checkpoints.config import VIBEOS, Config, HostProfile
from hermes_checkpoints.errors import ConfigError


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_in_code_it_is_on_and_in_a_file_off(tmp_path: Path) -> None:
    """A config built in code is enabled, one read from a file that does not say so is not."""
    assert Config().enabled
    assert not Config.from_file(write(tmp_path / "c.yaml", "checkpoints: {}\n")).enabled
    assert not Config.from_file(tmp_path / "missing.yaml").enabled


def test_every_key_of_the_file_is_read(tmp_path: Path) -> None:
    """Each documented key arrives with its value."""
    text = f"""
checkpoints:
  enabled: true
  max_snapshots: 3
  max_total_size_mb: 1.5
  max_file_size_mb: 2
  auto_prune: false
  retention_days: 9
  min_interval_hours: 1
  delete_orphans: true
  max_files: 77
  base: {tmp_path}/base
  store: memory
  nested_repos: capture
  secrets: never
  on_failure: block
  unknown_tools: ignore
  parser: reader
  exclude: ["*.bin"]
  commands: {{deploy: {{reads: true}}}}
"""
    config = Config.from_file(write(tmp_path / "c.yaml", text))
    assert config.enabled
    assert config.max_snapshots == 3
    assert config.max_total_bytes == 3 << 19
    assert config.capture_rules.max_file_bytes == 2 << 20
    assert not config.auto_prune
    assert (config.retention_days, config.min_interval_hours) == (9, 1)
    assert config.orphans_go
    assert config.capture_rules.max_files == 77
    assert config.base_path == tmp_path / "base"
    assert (config.store, config.nested_repos, config.secrets) == ("memory", "capture", "never")
    assert (config.on_failure, config.unknown_tools, config.parser) == ("block", "ignore", "reader")
    assert config.capture_rules.exclude == ("*.bin",)
    assert config.commands == {"deploy": {"reads": True}}


def test_the_session_flag_overrides_enabled_only(tmp_path: Path) -> None:
    """`enabled=True` beats the file and leaves its other keys alone."""
    file = write(tmp_path / "c.yaml", "checkpoints: {enabled: false, max_snapshots: 4}\n")
    config = Config.from_file(file, enabled=True)
    assert config.enabled
    assert config.max_snapshots == 4


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("max_snapshots: -1", "-1"),
        ("max_snapshots: many", "'many'"),
        ("max_snapshots: 1.5", "1.5"),
        ("max_total_size_mb: -3", "-3"),
        ("retention_days: .nan", "nan"),
        ("enabled: 1", "1"),
        ("secrets: maybe", "'maybe'"),
        ("on_failure: explode", "'explode'"),
        ("exclude: '*.o'", "'*.o'"),
        ("commands: [a]", "['a']"),
        ("base: 7", "7"),
    ],
)
def test_a_wrong_value_names_file_key_and_value(tmp_path: Path, line: str, named: str) -> None:
    """A wrong type, a negative number or an unknown word is an error that can be acted on."""
    file = write(tmp_path / "c.yaml", f"checkpoints:\n  {line}\n")
    with pytest.raises(ConfigError) as error:
        Config.from_file(file)
    key = line.partition(":")[0]
    assert str(file) in str(error.value)
    assert f"checkpoints.{key}" in str(error.value)
    assert named in str(error.value)


@pytest.mark.parametrize("text", ["checkpoints: [1]\n", "checkpoints: {a\n", "\xff"])
def test_a_file_that_is_no_mapping_is_an_error(tmp_path: Path, text: str) -> None:
    """A broken file is an error that names it, never silence."""
    file = tmp_path / "c.yaml"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match=r"c\.yaml"):
        Config.from_file(file)


def test_an_unknown_key_warns_and_is_named(tmp_path: Path) -> None:
    """A misspelt key is pointed out and the rest is used."""
    file = write(tmp_path / "c.yaml", "checkpoints: {max_snapshot: 3, max_files: 5}\n")
    with pytest.warns(UserWarning, match=r"checkpoints\.max_snapshot "):
        config = Config.from_file(file)
    assert config.max_files == 5


def test_hosts_differ_in_home_namespace_and_orphans(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: Path
) -> None:
    """Each profile has its own home, its override variable, and its orphan default."""
    assert Config.from_file().base_path == home / ".hermes" / "checkpoints"
    vibeos = Config.from_file(host="vibeos")
    assert vibeos.host is VIBEOS
    assert vibeos.base_path == home / ".vibeos" / "checkpoints"
    assert vibeos.orphans_go
    monkeypatch.setenv("VIBEOS_HOME", str(tmp_path))
    assert Config.from_file(host="vibeos").base_path == tmp_path / "checkpoints"


def test_a_host_of_ones_own_takes_one_line(tmp_path: Path) -> None:
    """A host passes a profile of its own; an unknown name lists the known ones."""
    mine = HostProfile("mine", str(tmp_path), "MINE_HOME", "mine", "MINE_WORKDIR", "mine undo")
    assert Config.from_file(host=mine).base_path == tmp_path / "checkpoints"
    with pytest.raises(ConfigError, match="hermes, vibeos"):
        Config.from_file(host="nobody")
