"""Documents name everything that can be typed or set, and every example is run."""

from __future__ import annotations

import argparse
import re
from dataclasses import fields
from pathlib import Path

import pytest

from hermes_checkpoints import cli, slash
from hermes_checkpoints.config import Config

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def document(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def _parsers() -> dict[str, argparse.ArgumentParser]:
    parser = argparse.ArgumentParser(prog="hermes-checkpoints")
    cli.add_arguments(parser)
    (below,) = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    return dict(below.choices)


PARSERS = _parsers()


@pytest.mark.parametrize("verb", slash._VERBS)
def test_every_slash_verb_is_documented(verb: str) -> None:
    """Each stands in docs/slash-command.md as it is typed."""
    assert f"`/rollback {verb}" in document("slash-command.md")


@pytest.mark.parametrize("option", slash._OPTIONS)
def test_every_slash_option_is_documented(option: str) -> None:
    """Each stands in docs/slash-command.md."""
    assert f"{option}`" in document("slash-command.md")


@pytest.mark.parametrize("command", PARSERS)
def test_every_command_is_documented(command: str) -> None:
    """Each stands in a table row of docs/command-line.md."""
    rows = [r for r in document("command-line.md").split("\n") if r.startswith("|")]
    assert any(re.search(rf"`{re.escape(command)}[ `]", r.split("|")[1]) for r in rows)


def test_every_option_of_the_command_line_is_documented() -> None:
    """Each long option stands in one of the documents about commands."""
    text = "".join(p.read_text(encoding="utf-8") for p in DOCS.rglob("*.md"))
    options = {
        option
        for parser in PARSERS.values()
        for action in parser._actions
        for option in action.option_strings
        if option.startswith("--") and option != "--help"
    }
    # What can be undone needs no confirmation, and --force is the reference's word for --yes.
    assert {o for o in options if o not in text} <= {"--force"}


@pytest.mark.parametrize(
    "key", [f.name for f in fields(Config) if f.name not in ("host", "source")]
)
def test_every_configuration_key_is_documented(key: str) -> None:
    """Each stands in the sample of docs/configuration.md and is explained below it."""
    sample, _, rest = document("configuration.md").partition("\n```\n")
    assert f"\n  {key}: " in sample
    assert f"`{key}`" in rest or f"`{key}: " in rest


def test_the_sample_configuration_is_valid_and_names_the_defaults(tmp_path: Path) -> None:
    """What the document shows can be pasted, and says what holds without it."""
    sample = re.search(r"```yaml\n(.*?)```", document("configuration.md"), re.DOTALL)
    assert sample is not None
    file = tmp_path / "config.yaml"
    file.write_text(sample[1], encoding="utf-8")
    written = Config.from_file(file)
    default = Config.from_file(tmp_path / "missing.yaml")
    for f in fields(Config):
        if f.name not in ("source", "base", "delete_orphans"):
            assert getattr(written, f.name) == getattr(default, f.name), f.name
    assert written.orphans_go == default.orphans_go


@pytest.mark.parametrize("example", sorted(p.name for p in (ROOT / "examples").glob("*.py")))
def test_every_example_is_run_by_a_test(example: str) -> None:
    """Some test names it; a file that none runs does not belong there."""
    tests = [p for p in (ROOT / "tests").rglob("*.py") if p.name != Path(__file__).name]
    assert any(example in p.read_text(encoding="utf-8") for p in tests)


@pytest.mark.parametrize("page", sorted(p.relative_to(ROOT).as_posix() for p in DOCS.rglob("*.md")))
def test_links_between_documents_lead_somewhere(page: str) -> None:
    """Every relative link names a file, and an anchor in it that is a heading."""
    place = ROOT / page
    for target in re.findall(r"\]\(([^)\s]+)\)", place.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        linked = (place.parent / name).resolve() if name else place
        assert linked.exists(), f"{page} links to {target}"
        if anchor and linked.suffix == ".md":
            assert anchor in _anchors(linked), f"{page} links to {target}"


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}
