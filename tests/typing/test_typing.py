"""What type checkers see of the public names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]


def test_public_names_are_typed(tmp_path: Path) -> None:
    """mypy sees every public name with its type, and the decorators keep that of the tool."""
    mypy = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"]
    done = subprocess.run(
        [*mypy, "--cache-dir", str(tmp_path), "tests/typing/public_names.py"],
        cwd=_ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
