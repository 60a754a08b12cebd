"""`mcp` and `mcp-proxy` where they can't start."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from hermes_checkpoints import cli
from hermes_checkpoints.sessions import Sessions


@pytest.fixture(autouse=True)
def _without_the_framework(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastmcp", None)
    monkeypatch.delitem(sys.modules, "hermes_checkpoints.integrations.mcp", raising=False)


@pytest.mark.parametrize("words", [["mcp"], ["mcp-proxy", "--", "server"]])
def test_a_missing_framework_is_named(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where FastMCP is missing, standard error names the extra that brings it."""
    assert cli.main([*words, "-C", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "pip install 'hermes-checkpoints[mcp]'" in err


def test_a_proxy_before_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """A proxy that is not told which server to run says so and ends with 2."""
    assert cli.main(["mcp-proxy"]) == 2
    assert "which server" in capsys.readouterr().err


def test_the_adapter_says_what_it_needs() -> None:
    """Importing the adapter without its framework is an ImportError that names the extra."""
    with pytest.raises(ImportError, match=r"hermes-checkpoints\[mcp\]"):
        import hermes_checkpoints.integrations.mcp  # noqa: F401


def test_the_session_of_a_host(tmp_path: Path) -> None:
    """A host's session is the one it began last; one that ended, or another's, is none of its."""
    sessions = Sessions(tmp_path)
    assert sessions.of_process(os.getpid()) is None
    sessions.begin("other", os.getppid())
    assert sessions.of_process(os.getpid()) is None
    for time, name in enumerate(("first", "second"), 1):
        sessions.begin(name, os.getpid())
        os.utime(tmp_path / f"{name}.json", (time, time))
    assert sessions.of_process(os.getpid()) == "second"
    sessions.end("second")
    assert sessions.of_process(os.getpid()) == "first"
