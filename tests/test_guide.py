"""The guide's Python, run as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

_GUIDE = Path(__file__).parents[1] / "docs" / "guide.md"


def test_the_guide_runs(
    project_dir: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every Python block of the guide runs, in order, in a small project."""
    (project_dir / "src").mkdir()
    (project_dir / "src" / "core.py").write_text("core = 1\n")
    (project_dir / "app.py").write_text("print('works')\n")
    monkeypatch.chdir(project_dir)
    names: dict[str, object] = {"__name__": "guide"}
    for block in re.findall(r"```python\n(.*?)```", _GUIDE.read_text(encoding="utf-8"), re.S):
        exec(compile(block, str(_GUIDE), "exec"), names)
    shown = capsys.readouterr().out
    assert "before write_file: app.py" in shown
    assert "+print('broken')" in shown
    assert "Restored" in shown
    assert (home / ".hermes" / "checkpoints" / "store").is_dir()
