"""Labelled commands: what must be seen, what must not alarm, which paths must be named."""

from __future__ import annotations

import pytest

from hermes_checkpoints.shell import classify

from . import cases


@pytest.fixture(autouse=True)
def _labelled_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", cases.HOME)


@pytest.mark.parametrize("parser", ["auto", "reader"])
@pytest.mark.parametrize("name", cases.SETS)
def test_recall(name: str, parser: str) -> None:
    """At least 99.5 % of the commands that plainly change files are seen to."""
    rows = [case for case in cases.load(name) if case.destructive and not case.ambiguous]
    missed = [
        case.text
        for case in rows
        if not classify(case.text, cases.PLACE, parser=parser).destructive
    ]
    assert len(missed) <= 0.005 * len(rows), missed


@pytest.mark.parametrize("parser", ["auto", "reader"])
@pytest.mark.parametrize("name", cases.SETS)
def test_false_alarms(name: str, parser: str) -> None:
    """At most 3 % of the commands that plainly only read are taken for more."""
    rows = [case for case in cases.load(name) if not case.destructive and not case.ambiguous]
    alarms = [
        case.text for case in rows if classify(case.text, cases.PLACE, parser=parser).destructive
    ]
    assert len(alarms) <= 0.03 * len(rows), alarms


@pytest.mark.parametrize("name", cases.SETS)
def test_targets(name: str) -> None:
    """At least 95 % of the commands whose targets are known have every target named."""
    rows = [case for case in cases.load(name) if case.destructive and case.targets]
    missed = [
        (case.text, case.targets)
        for case in rows
        if not all(cases.covers(classify(case.text, cases.PLACE), path) for path in case.paths)
    ]
    assert len(missed) <= 0.05 * len(rows), missed


@pytest.mark.parametrize("name", cases.SETS)
def test_both_parsers_agree(name: str) -> None:
    """Every labelled command has the same effects whichever parser reads it."""
    for case in cases.load(name):
        with_bashlex = classify(case.text, cases.PLACE)
        assert with_bashlex == classify(case.text, cases.PLACE, parser="reader"), case.text


def test_creation_is_not_destruction() -> None:
    """A command that only brings new files changes something and destroys nothing."""
    for text in ("mkdir -p a/b", "touch new", "git clone https://example.org/r.git", "cp -n a b"):
        effects = classify(text, cases.PLACE)
        assert effects.changes
        assert not effects.destructive, text
