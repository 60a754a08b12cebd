"""The front end: two parsers, one tree; every command of a script is found."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_checkpoints.shell import compounds
from hermes_checkpoints.shell.reader import read
from hermes_checkpoints.shell.script import parse
from hermes_checkpoints.shell.syntax import (
    Command,
    Compound,
    Node,
    Opaque,
    Pipeline,
    Redirect,
    Script,
    Unreadable,
    Word,
)

from . import cases
from .scripts import Maker


def _words(words: tuple[Word, ...]) -> Iterator[str]:
    for word in words:
        for part in word.parts:
            yield from _commands(part.body)


def _redirects(redirects: tuple[Redirect, ...]) -> Iterator[str]:
    for redirect in redirects:
        yield from _words((redirect.target,))
        if redirect.heredoc is not None:
            yield from _commands(redirect.heredoc.body)


def _node(node: Node) -> Iterator[str]:
    if isinstance(node, Command):
        if node.words and node.words[0].literal:
            yield node.words[0].literal
        yield from _words(node.words)
        for assignment in node.assignments:
            value = assignment.value
            yield from _words((value,) if isinstance(value, Word) else value)
        yield from _redirects(node.redirects)
    elif isinstance(node, Pipeline):
        for command in node.commands:
            yield from _node(command)
    elif isinstance(node, Compound):
        yield from _words(node.words or ())
        for body in node.bodies:
            yield from _commands(body)
        yield from _redirects(node.redirects)
    else:
        yield "opaque"


def _commands(script: Script) -> Iterator[str]:
    for step in script:
        yield from _node(step.node)


def _compare(seeds: range) -> tuple[int, int]:
    """How many generated scripts bashlex may read, and how many of them it then raised on."""
    sound = raised = 0
    for seed in seeds:
        maker = Maker(seed, odd=seed % 2 == 0)
        text = maker.script()
        ours = read(text)
        found = sorted(name for name in _commands(ours) if name.startswith("m"))
        assert found == sorted(maker.markers), text
        if not compounds.sound(text):
            continue
        sound += 1
        try:
            theirs = compounds.read_compound(text)
        except Unreadable:
            raised += 1
            continue
        assert theirs == ours, text
    return sound, raised


def test_generated_scripts() -> None:
    """Of generated scripts our reader finds each command, and bashlex builds the same tree."""
    sound, raised = _compare(range(3000))
    assert sound > 300
    assert raised < 0.1 * sound


@pytest.mark.long
def test_many_generated_scripts() -> None:
    """The same holds for 30,000 scripts."""
    sound, raised = _compare(range(100_000, 130_000))
    assert sound > 3000
    assert raised < 0.1 * sound


def test_labelled_commands() -> None:
    """Every labelled command that bashlex reads has the tree our reader builds."""
    compared = 0
    for case in cases.load("corpus.jsonl") + cases.load("agents.jsonl"):
        if compounds.sound(case.text):
            assert compounds.read_compound(case.text) == read(case.text), case.text
            compared += 1
    assert compared > 200


@pytest.mark.parametrize(
    "text",
    [
        "a; cat <<'EOF'\nx\nEOF",
        "git commit -m'fix ${ bug'; a",
        "awk -F'${' x; a",
        "X='${' ls; a",
        "echo 'a'$(rm x)'b'; a",
        "echo ${V:-$(rm x)}; a",
        "cat <<E; a\n$(rm x)\nE",
        "'r''m' x; a",
        "$'\\x72m' x; a",
        "echo $(a\nrm b); c",
        "((i++)); a",
        "[[ -f x ]]; a",
        "a=(1 2); b",
        "case x in y) a;; esac",
        "time a; b",
        "a\r\nb; c",
        "a # it's; b",
    ],
)
def test_unsound_for_bashlex(text: str) -> None:
    """What bashlex 0.18 hangs on, raises on or reads wrongly is never given to it."""
    assert not compounds.sound(text)


@pytest.mark.parametrize(
    "text",
    [
        "a && b", "a; b", "a | b", "a &", "(a)", "{ a; }", "if a; then b; fi", "a\nb",
        "for i in x y; do a $i; done", "while a; do b; done", 'echo "$(a; b)" | c', "f() { a; }; f",
        "cd src && rm -rf build", "ls 2>&1 | head -5",
    ],
)  # fmt: skip
def test_sound_for_bashlex(text: str) -> None:
    """Ordinary compound commands are read by bashlex."""
    assert compounds.sound(text)


@pytest.mark.parametrize(
    "text", ["ls -la", "rm -rf build", "echo hi > out", "a 2>&1", "X=1 a 'b c'", "a $(b)", "a >&2"]
)
def test_single_commands_need_no_bashlex(text: str) -> None:
    """A single simple command is left to our reader."""
    assert not compounds.sound(text)


@pytest.mark.parametrize(
    "text",
    ["echo 'x", 'echo "x', "echo $(a", "echo `a", "echo ${a", "(a", "a)", "if a; then b", "a &&",
     "for", "case x in", "{ a", "do", "a | | b", "[[ x", "> ", "f() "],
)  # fmt: skip
def test_broken_text_is_opaque(text: str) -> None:
    """Text that bash would reject is opaque, with the reason."""
    answer = parse(text)
    assert isinstance(answer, Opaque)
    assert answer.why


def test_quoted_heredoc_is_data() -> None:
    """Nothing runs in a here-document whose delimiter is quoted, and the line goes on after it."""
    script = read("cat <<'A' > f; rm x\n$(rm no) `rm no`\nA\nls")
    assert list(_commands(script)) == ["cat", "rm", "ls"]


def test_heredoc_substitutions_run() -> None:
    """What an unquoted here-document substitutes does run, also where `$((` is no arithmetic."""
    assert "rm" in list(_commands(read("cat <<A\n$(rm x)\nA")))
    assert "rm" in list(_commands(read("cat <<A\n$((rm x); ls)\nA")))
    assert "rm" not in list(_commands(read("cat <<A\n\\$(rm x)\nA")))


_PLAIN = st.text(alphabet="ab1-_./ \t'\"\\=%é", max_size=40)


@given(_PLAIN)
def test_words_are_those_of_shlex(text: str) -> None:
    """Where both accept a text, its words are those of shlex.split."""
    try:
        expected = shlex.split(text)
        script = read(text)
    except (ValueError, Unreadable):
        return
    if not expected:
        assert not script
        return
    (step,) = script
    assert isinstance(step.node, Command)
    if not step.node.assignments:
        assert [word.literal for word in step.node.words] == expected
