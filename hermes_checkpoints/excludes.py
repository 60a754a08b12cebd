"""What a whole-tree capture leaves out, and why.

Owns the default exclude patterns, the size and secret rules. Does not walk directories and does
not interpret ignore files: stores do, each with its own means.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from hermes_checkpoints.records import GapReason

__all__ = [
    "DEFAULT_EXCLUDES",
    "CaptureRules",
    "companions",
    "is_leftover",
    "is_secret_content",
    "is_secret_name",
]

SecretsPolicy = Literal["named", "never", "always"]

_LEFTOVER = f".{'[0-9a-f]' * 12}-[0-9]*.restoring"

# Only directories and files that tools can make again. A directory whose name could as well hold
# source (build dist out env target coverage) is skipped only where the project's own ignore rules
# say so: excluding it here has cost people their work in systems of this kind.
DEFAULT_EXCLUDES: tuple[str, ...] = (
    # dependencies
    "node_modules/",
    "bower_components/",
    "jspm_packages/",
    ".venv/",
    "venv/",
    ".tox/",
    ".nox/",
    ".eggs/",
    "*.egg-info/",
    "__pypackages__/",
    ".pnpm-store/",
    ".yarn/cache/",
    ".gradle/",
    ".bundle/",
    # caches
    "__pycache__/",
    "*.py[co]",
    ".cache/",
    ".pytest_cache/",
    ".mypy_cache/",
    ".ruff_cache/",
    ".hypothesis/",
    ".ipynb_checkpoints/",
    ".parcel-cache/",
    ".turbo/",
    ".next/",
    ".nuxt/",
    ".svelte-kit/",
    ".terraform/",
    ".DS_Store",
    # other version-control systems, and working copies beside this one
    ".hg/",
    ".svn/",
    ".jj/",
    ".bzr/",
    ".worktrees/",
    # new contents that a rollback which was killed had not put in their place (`applier`)
    _LEFTOVER,
)


@dataclass(frozen=True, slots=True)
class CaptureRules:
    """What to leave out of a capture.

    `max_file_bytes`: a larger file is a gap, never opened. `max_files`: more candidates than this
    (after excludes) make the project named-only. `exclude`: gitignore-style patterns on top of
    `DEFAULT_EXCLUDES`. `secrets`: `named` leaves them out unless named, `never` always, `always`
    treats them as any file.
    """

    max_file_bytes: int = 10 * 1024 * 1024
    max_files: int = 50_000
    exclude: tuple[str, ...] = ()
    secrets: SecretsPolicy = "named"

    @property
    def patterns(self) -> tuple[str, ...]:
        """All patterns that leave paths out, weakest first, but for the project's own files."""
        return (*self.exclude, *DEFAULT_EXCLUDES)

    def gap_for(self, path: str, mode: int, size: int, *, named: bool = False) -> GapReason | None:
        """Why a path with this `lstat` mode and size must stay out; `None`: it may go in.

        Whether a file's *content* makes it a secret is asked separately, with its first bytes.
        """
        from hermes_checkpoints.records import GapReason  # many classes, costly to import

        if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
            return GapReason.SPECIAL_FILE
        if stat.S_ISREG(mode) and size > self.max_file_bytes:
            return GapReason.TOO_LARGE
        if self.bars_secrets(named=named) and is_secret_name(path):
            return GapReason.SECRET
        return None

    def bars_secrets(self, *, named: bool) -> bool:
        """Whether a secret must stay out."""
        return self.secrets == "never" or (self.secrets == "named" and not named)


_ENV_SAMPLES = (".example", ".sample", ".template")
_KEY_NAMES = frozenset(f"id_{kind}" for kind in ("rsa", "dsa", "ecdsa", "ed25519"))
_KEY_SUFFIXES = (".pem", ".key", ".p12", ".pfx", ".ppk", ".jks", ".keystore", ".kdbx")
_KEY_HEADER = b"-----BEGIN "


def is_secret_name(path: str) -> bool:
    """Whether a file's name says that it holds secrets: `.env`, `.env.*`, private keys.

    `.env.example|sample|template` and `*.pub` are none.
    """
    name = path.rpartition("/")[2].lower()
    if name == ".env" or name.startswith(".env."):
        return not name.endswith(_ENV_SAMPLES)
    if name.endswith(".pub"):
        return False
    return name in _KEY_NAMES or name.endswith(_KEY_SUFFIXES)


def is_secret_content(head: bytes) -> bool:
    """Whether a file's first bytes (64 will do) are the header of a private key."""
    line = head.lstrip()[:64].split(b"\n", 1)[0]
    return line.startswith(_KEY_HEADER) and b"PRIVATE KEY" in line


def is_leftover(name: str) -> bool:
    """Whether a file's name is one under which a rollback stages new contents."""
    return name.endswith(".restoring") and fnmatchcase(name, _LEFTOVER)


def companions(path: str) -> tuple[str, ...]:
    """Files that belong to a database file and must be captured with it."""
    if path.lower().endswith((".db", ".sqlite", ".sqlite3", ".db3")):
        return tuple(path + end for end in ("-wal", "-shm", "-journal"))
    return ()
