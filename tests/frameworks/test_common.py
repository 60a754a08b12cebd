"""What holds for every adapter, with or without its framework."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from hermes_checkpoints.integrations._common import begin_turn, scope

import hermes_checkpoints as hc
from tests.frameworks.run import FRAMEWORKS, ROOT, judged

ADAPTERS = {
    "langchain": ("langchain.agents.middleware", "langchain"),
    "deepagents": ("deepagents", "deepagents"),
    "openai_agents": ("agents", "openai-agents"),
    "pydantic_ai": ("pydantic_ai.capabilities", "pydantic-ai"),
    "google_adk": ("google.adk.plugins.base_plugin", "adk"),
    "strands": ("strands.hooks", "strands"),
    "agno": ("agno", "agno"),
    "crewai": ("crewai.hooks", "crewai"),
    "smolagents": ("smolagents.memory", "smolagents"),
    "agent_framework": ("agent_framework", "agent-framework"),
}


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_missing_framework_names_its_extra(adapter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing an adapter without its framework says what to install."""
    framework, extra = ADAPTERS[adapter]
    monkeypatch.setitem(sys.modules, framework, None)
    monkeypatch.delitem(sys.modules, f"hermes_checkpoints.integrations.{adapter}", raising=False)
    with pytest.raises(ImportError, match=rf"pip install 'hermes-checkpoints\[{extra}\]'"):
        importlib.import_module(f"hermes_checkpoints.integrations.{adapter}")


def test_a_call_is_the_turn_of_all_that_is_called_inside(tmp_path: Path) -> None:
    """In a call's scope a sub-agent begins no turn, and its calls are the caller's."""
    config = hc.Config(base=tmp_path / "base", auto_prune=False)
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    inner = hc.ToolCall("write_file", {"path": "b"}, session_id="inner", turn_id="1")
    with hc.CheckpointManager(config, cwd=root) as manager:
        outer = hc.ToolCall("task", session_id="outer", turn_id="7")
        with scope(manager, outer), manager.guard(outer):
            begin_turn(manager, "1", "inner")
            with scope(manager, inner), manager.guard(inner):
                (root / "b").touch()
        (root / "a").write_text("by hand")
        manager.ensure_checkpoint(root)
        newest = manager.list_checkpoints(root)[-1]
    assert (newest.session, newest.turn) == ("outer", "7")


def test_a_skipped_test_is_not_a_passed_one(tmp_path: Path) -> None:
    """A framework whose tests were all skipped has not run; one failure makes it a failure."""
    results = tmp_path / "results.xml"
    skipped = "<testcase name='a'><skipped/></testcase>"
    noted = "<properties><property name='hooks' value='3'/></properties>"
    passed = f"<testcase name='b'>{noted}</testcase>"
    results.write_text(f"<testsuite>{skipped}</testsuite>")
    row = judged("x", "1", results, "")
    assert (row.ran, row.failed, row.result) == (False, False, "1 skipped")
    results.write_text(f"<testsuite>{skipped}{passed}</testsuite>")
    row = judged("x", "1", results, "")
    assert (row.ran, row.hooks, row.result) == (True, "3", "1 passed, 1 skipped")
    results.write_text(f"<testsuite>{passed}<testcase name='c'><failure/></testcase></testsuite>")
    assert judged("x", "1", results, "why").failed


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_adapter_is_documented_and_shown(adapter: str) -> None:
    """Each has a page that the index names, an example, tests, and a line in `run.py`."""
    page = adapter.replace("_", "-") + ".md"
    assert (ROOT / "docs/integrations" / page).is_file()
    assert f"]({page})" in (ROOT / "docs/integrations/index.md").read_text(encoding="utf-8")
    example = adapter.removesuffix("_agent") + "_agent.py"
    assert example in (ROOT / "docs/integrations" / page).read_text(encoding="utf-8")
    assert (ROOT / "examples" / example).is_file()
    assert any(f.tests == f"test_{adapter}.py" for f in FRAMEWORKS)


def test_no_adapter_is_forgotten() -> None:
    """Every module of `integrations` for a framework is in the table above."""
    others = {"__init__", "_common", "hermes", "hermes_compat", "mcp"}
    modules = {file.stem for file in (ROOT / "integrations").glob("*.py")} - others
    assert modules == set(ADAPTERS)
