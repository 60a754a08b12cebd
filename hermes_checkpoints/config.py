"""Configuration: the only reader of configuration files, environment variables and the home.

Owns `Config` (SPEC of the keys: docs/configuration.md) and `HostProfile` (all that differs between
host agents). Does not open stores or start anything.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from hermes_checkpoints.errors import ConfigError
from hermes_checkpoints.excludes import CaptureRules

__all__ = [
    "HERMES",
    "VIBEOS",
    "Config",
    "HostProfile",
    "environment_path",
    "home_directory",
    "inherited_environment",
]


@dataclass(frozen=True, slots=True)
class HostProfile:
    """All that differs between hosts.

    `home` is the host's directory (a `~` is the user's home), `home_variable` the environment
    variable that overrides it, `namespace` the part of ref names after `refs/`, `v1_marker` the
    marker file of the older one-repository-per-project layout, `command` what messages tell the
    person to type, `delete_orphans` the host's default.
    """

    name: str
    home: str
    home_variable: str
    namespace: str
    v1_marker: str
    command: str
    delete_orphans: bool = False

    def home_path(self) -> Path:
        """The host's home directory, its override considered."""
        override = os.environ.get(self.home_variable, "")
        return _expand(override or self.home)


HERMES = HostProfile(
    name="hermes",
    home="~/.hermes",
    home_variable="HERMES_HOME",
    namespace="hermes",
    v1_marker="HERMES_WORKDIR",
    command="hermes checkpoints",
)
VIBEOS = HostProfile(
    name="vibeos",
    home="~/.vibeos",
    home_variable="VIBEOS_HOME",
    namespace="vibeos",
    v1_marker="VIBEOS_WORKDIR",
    command="vibeos checkpoints",
    delete_orphans=True,
)
_PROFILES = {p.name: p for p in (HERMES, VIBEOS)}


def home_directory() -> Path:
    """The user's home directory, resolved."""
    return Path(os.path.realpath(os.path.expanduser("~")))


def temporary_directories() -> list[str]:
    """Where the environment says that temporary files go."""
    return [os.environ[name] for name in ("TMPDIR", "TEMP", "TMP") if os.environ.get(name)]


def environment_path() -> str:
    """The search path for programs."""
    return os.environ.get("PATH", os.defpath)


def inherited_environment() -> dict[str, str]:
    """The variables that programs started by a store may see, and no others."""
    names = ("PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "WINDIR")
    return {name: os.environ[name] for name in names if name in os.environ}


@dataclass(frozen=True, slots=True)
class Config:
    """What the library may do, and within which limits.

    Built in code it is enabled unless it says otherwise; read from a file it is off by default.
    Sizes are in MB (2**20 bytes), as in the file; the properties in bytes are for code.
    `base` is where the store lives (default: `checkpoints` in the host's home).
    Raises `ConfigError` naming key and value for a wrong type, a negative number or a word that
    is no choice.
    """

    enabled: bool = True
    max_snapshots: int = 20
    max_total_size_mb: float = 500
    max_file_size_mb: float = 10
    auto_prune: bool = True
    retention_days: float = 7
    min_interval_hours: float = 24
    delete_orphans: bool | None = None
    max_files: int = 50_000
    base: str | os.PathLike[str] | None = None
    store: str = "git"
    nested_repos: str = "refuse"
    secrets: str = "named"
    on_failure: str = "continue"
    unknown_tools: str = "snapshot"
    parser: str = "auto"
    busy_threads: str = "hurry"
    exclude: tuple[str, ...] | list[str] = ()
    commands: Mapping[str, Any] = field(default_factory=dict)
    host: HostProfile = HERMES
    source: str = ""

    def __post_init__(self) -> None:
        for f in fields(self):
            if f.name in _CHECKS:
                value = _CHECKS[f.name](self._where(f.name), getattr(self, f.name))
                object.__setattr__(self, f.name, value)
        object.__setattr__(self, "base", self._base())

    # ---------------------------------------------------------------- reading

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        host: str | HostProfile = HERMES,
        enabled: bool | None = None,
        default_enabled: bool = False,
        **overrides: Any,
    ) -> Config:
        """Read the `checkpoints:` section of a YAML file.

        `path` defaults to `config.yaml` in the host's home; a missing file means defaults, which in
        a file are *off*. `enabled` is the host's session flag and overrides only that key;
        `default_enabled` is what holds where the file does not say: true for what a person has
        installed. `overrides` are further keys that win over the file. Unknown keys warn and are
        named.
        Raises `ConfigError` naming file, key and value.
        """
        profile = _profile(host)
        file = _expand(path) if path is not None else profile.home_path() / "config.yaml"
        values = {"enabled": default_enabled, **_section(file), **overrides}
        if enabled is not None:
            values["enabled"] = enabled
        known = {f.name for f in fields(cls)} - {"host", "source"}
        for key in sorted(set(map(str, values)) - known):
            warnings.warn(
                f"{file}: unknown key checkpoints.{key} is ignored; known are "
                + ", ".join(sorted(known)),
                stacklevel=2,
            )
        return cls(
            **{k: v for k, v in values.items() if k in known}, host=profile, source=str(file)
        )

    def with_(self, **changes: Any) -> Config:
        """A copy with some values changed, checked anew."""
        return replace(self, **changes)

    # ---------------------------------------------------------------- derived

    @property
    def base_path(self) -> Path:
        """The directory that holds `store/`, the markers and the `legacy-*` archives."""
        return Path(os.fspath(self.base))  # type: ignore[arg-type]  # set in __post_init__

    @property
    def capture_rules(self) -> CaptureRules:
        return CaptureRules(
            max_file_bytes=int(self.max_file_size_mb * _MB),
            max_files=self.max_files,
            exclude=tuple(self.exclude),
            secrets=self.secrets,  # type: ignore[arg-type]  # checked in __post_init__
        )

    @property
    def max_total_bytes(self) -> int:
        return int(self.max_total_size_mb * _MB)

    @property
    def orphans_go(self) -> bool:
        """Whether the sweep may delete orphans: the file's word, else the host's default."""
        return self.host.delete_orphans if self.delete_orphans is None else self.delete_orphans

    def _base(self) -> str:
        if self.base is None:
            return str(self.host.home_path() / "checkpoints")
        return str(_expand(self.base))

    def _where(self, key: str) -> str:
        return f"{self.source}: checkpoints.{key}" if self.source else f"checkpoints.{key}"


_MB = 1 << 20


def _expand(path: str | os.PathLike[str]) -> Path:
    return Path(os.path.abspath(Path(path).expanduser()))


def _profile(host: str | HostProfile) -> HostProfile:
    if isinstance(host, HostProfile):
        return host
    if host not in _PROFILES:
        raise ConfigError(
            f"host: there is no host profile {host!r}; known are {', '.join(sorted(_PROFILES))}",
            hint="pass a HostProfile for a host of your own",
        )
    return _PROFILES[host]


def _section(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: cannot be read ({error})") from error
    import yaml  # only a host with a configuration file pays for it

    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{file}: is no valid YAML ({error})") from error
    section = document.get("checkpoints") if isinstance(document, dict) else None
    if section is None:
        return {}
    if not isinstance(section, dict):
        raise ConfigError(f"{file}: checkpoints: must be a mapping, not {section!r}")
    return {str(k): v for k, v in section.items()}


# --------------------------------------------------------------------------- checks


def _flag(where: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{where}: must be true or false, not {value!r}")
    return value


def _optional_flag(where: str, value: Any) -> bool | None:
    return None if value is None else _flag(where, value)


def _number(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        raise ConfigError(f"{where}: must be a number, not {value!r}")
    if value < 0:
        raise ConfigError(f"{where}: must not be negative, but is {value!r}")
    return value


def _count(where: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(f"{where}: must be a whole number, not {value!r}")
    if value < 1:
        raise ConfigError(f"{where}: must be at least 1, but is {value!r}")
    return value


def _choice(*choices: str) -> Callable[[str, Any], str]:
    def check(where: str, value: Any) -> str:
        if value not in choices:
            raise ConfigError(f"{where}: must be one of {', '.join(choices)}, not {value!r}")
        return str(value)

    return check


def _name(where: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{where}: must be a name, not {value!r}")
    return value


def _path(where: str, value: Any) -> Any:
    if value is not None and not isinstance(value, (str, os.PathLike)):
        raise ConfigError(f"{where}: must be a path, not {value!r}")
    return value


def _patterns(where: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(v, str) for v in value):
        raise ConfigError(f"{where}: must be a list of patterns, not {value!r}")
    return tuple(value)


def _mapping(where: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where}: must be a mapping, not {value!r}")
    return value


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "enabled": _flag,
    "max_snapshots": _count,
    "max_total_size_mb": _number,
    "max_file_size_mb": _number,
    "auto_prune": _flag,
    "retention_days": _number,
    "min_interval_hours": _number,
    "delete_orphans": _optional_flag,
    "max_files": _count,
    "base": _path,
    "store": _name,
    "nested_repos": _choice("refuse", "capture"),
    "secrets": _choice("named", "never", "always"),
    "on_failure": _choice("continue", "block"),
    "unknown_tools": _choice("snapshot", "ignore"),
    "parser": _choice("auto", "reader"),
    "busy_threads": _choice("hurry", "wait"),
    "exclude": _patterns,
    "commands": _mapping,
}
