"""`classify` is total, linear, and cannot be talked out of a destructive command."""

from __future__ import annotations

import json
import shlex
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_checkpoints.shell import Effects, Kind, classify

from . import cases
from .scripts import Maker

_FRAGMENTS = (
    "rm", "echo", "git", "-rf", "a", "b/c", "'", '"', "`", "$(", ")", "${", "}", "$((", "))", "(",
    "{", ";", "&", "&&", "|", "||", "\n", "<<EOF\n", "EOF", "<<'E'", "<<<", ">", ">>", "2>&1",
    "<(", "[[", "]]", "((", "if", "then", "fi", "for", "in", "do", "done", "case", "esac", ";;",
    "function", "!", "\\", "$'", "$x", "*", "?", "[", "~", "#", "=", "x=", "a=(", "eval",
    "bash -c", "xargs", "find", "-exec", "\\;", "+", "sed -i", "python3 -c", "perl -e", "{a,b}",
    "{1..9}", "\r\n", "\t", "é", "\x01", "\x7f", "time", "coproc", "!(a", "sudo", "env -S", "cd",
    "alias x=", "%s", "pwsh -c",
)  # fmt: skip
_DESTRUCTIVE = (
    "rm -rf build", "mv a b", "cp a b", "sed -i s/a/b/ f", "git reset --hard", "git clean -fd",
    "truncate -s 0 f", "dd if=a of=b", "shred f", "tee f", "python3 -c 'open(\"f\",\"w\")'",
    "find . -delete", "tar xf a.tar", "unlink f", "chmod 600 f", "ln -sf a b", "npm install",
)  # fmt: skip
_WRAPPERS = (
    "{}", "sudo {}", "sudo -u app {}", "env A=1 {}", "nice -n 5 {}", "timeout 5 {}", "nohup {} &",
    "command {}", "time {}", "( {} )", "{{ {}; }}", "ls && {}", "ls; {}", "ls | {}", "ls\n{}",
    "! {}", "if true; then {}; fi", "for i in 1 2; do {}; done", "while x; do {}; done",
    "f() {{ {}; }}; f", "case x in *) {};; esac", "echo $( {} )", 'echo "$( {} )"', "echo `{}`",
    "cat <( {} )", "x=$( {} )", "cat <<E\n$( {} )\nE", "echo ${{v:-$( {} )}}", "eval {q}",
    "bash -c {q}",
    "sh -ec {q}", "bash <<< {q}", "bash <<'E'\n{}\nE", "echo {q} | sh",
    "trap {q} EXIT",
    "su -c {q}", "ssh h x; {}", "[[ -f a ]] && {}", "(( 1 )) && {}", "a=(1 2); {}",
    "cat <<'E' > /dev/null; {}\nx\nE", "exec {}", "stdbuf -oL {}", "flock /tmp/l {}",
    "xargs -0 {}", "watch {}", "coproc {}", "cd sub && {}", "true || {}", "busybox {}",
    "env -S {q}", "printf '%s' {q} | bash", "declare x; {}", "set -e\n{}", "# note\n{}",
)  # fmt: skip
_QUOTED = st.sampled_from(
    ("plain", "single", "double", "ansi", "backslash", "split", "empty", "path")
)


def _quote_word(word: str, how: str) -> str:
    """The same word of a command, written otherwise."""
    if how == "single":
        return f"'{word}'"
    if how == "double":
        return f'"{word}"'
    if how == "ansi":
        return "$'" + "".join(f"\\x{ord(c):02x}" for c in word) + "'"
    if how == "backslash":
        return "\\" + word
    if how == "split":
        return f"{word[:1]}''{word[1:]}"
    if how == "empty":
        return f'""{word}'
    if how == "path":
        return f"/usr/bin/{word}"
    return word


@given(st.lists(st.sampled_from(_FRAGMENTS), max_size=25), st.booleans())
@settings(max_examples=600)
def test_total_on_fragments(parts: list[str], spaced: bool) -> None:
    """Any mixture of shell fragments gets an answer with a reason, of plain data."""
    answer = classify((" " if spaced else "").join(parts), "/w")
    assert isinstance(answer, Effects)
    assert answer.why.endswith(".")
    assert "\n" not in answer.why
    assert "failed on it" not in answer.why, answer.why
    for effect in answer.effects:
        assert effect.path is None or effect.path.startswith("/")
        assert effect.path is not None or not effect.certain
    json.dumps([effect.path for effect in answer.effects])


@given(st.text(max_size=200))
def test_total_on_any_text(text: str) -> None:
    """Any text at all gets an answer, lone surrogates and control characters included."""
    answer = classify(text, "/w")
    answer.why.encode()
    assert "failed on it" not in answer.why


@given(
    st.sampled_from(_DESTRUCTIVE), st.sampled_from(_WRAPPERS), st.sampled_from(_WRAPPERS), _QUOTED
)
@settings(max_examples=800)
def test_wrapping_never_hides(command: str, inner: str, outer: str, how: str) -> None:
    """No quoting of the program and no wrapping makes a destructive command harmless."""
    program, _, rest = command.partition(" ")
    text = f"{_quote_word(program, how)} {rest}"
    for wrapper in (inner, outer):
        if "\n" in text and "{q}" not in wrapper and wrapper not in ("{}", "ls\n{}", "set -e\n{}"):
            return  # a here-document's end must stay a line of its own
        if "`" in text and "`" in wrapper:
            return  # nested backquotes need backslashes
        text = wrapper.format(text, q=shlex.quote(text))
    assert classify(text, "/w").destructive, text


@pytest.mark.parametrize("wrapper", _WRAPPERS)
def test_each_wrapper_names_the_target(wrapper: str) -> None:
    """Through every wrapper the deleted directory is named."""
    command = "rm -rf build"
    text = wrapper.format(command, q=shlex.quote(command))
    paths = {effect.path for effect in classify(text, "/w").effects if effect.kind is Kind.DELETE}
    assert paths & {"/w/build", "/w/sub/build"}, text


@given(st.integers(min_value=0, max_value=10**9))
@settings(max_examples=150)
def test_every_deletion_in_a_script_is_named(seed: int) -> None:
    """In generated scripts of many constructs each `rm` has its target among the effects."""
    maker = _Deleting(seed)
    text = maker.script()
    paths = {effect.path for effect in classify(text, "/w").effects}
    assert {f"/w/{marker}" for marker in maker.markers} <= paths, text


class _Deleting(Maker):
    """A maker whose commands delete a file named like the marker."""

    def simple(self, depth: int) -> str:
        marker = f"m{self.count + 1}"
        return super().simple(depth).replace(marker, f"rm {marker}", 1)

    def substitution(self, depth: int) -> str:
        return super().substitution(0)

    def function(self, depth: int) -> str:
        return self.group(depth)  # a function that is not called does nothing

    def heredoc(self, depth: int) -> str:
        return self.group(depth)


@pytest.mark.parametrize("text", ["", " \n\t", "# rm -rf x", "\n\n", ":", "\\\n"])
def test_nothing_to_do(text: str) -> None:
    """Empty, blank and comment-only texts change nothing, and say so."""
    answer = classify(text, "/w")
    assert not answer.changes
    assert answer.certain
    assert answer.why


@pytest.mark.parametrize(
    "text",
    ["a" * 1_000_000, "rm \0x", "rm \ud800", "echo 'x", '"', "(" * 10_000, "$(" * 10_000,
     "${" * 10_000, "`" * 9_999, "((" * 5_000, "if x; then " * 5_000, "{ " * 10_000],
)  # fmt: skip
def test_bad_input_may_change_anything(text: str) -> None:
    """What cannot be read may change files, and the answer says why."""
    answer = classify(text, "/w")
    assert answer.destructive
    assert not answer.certain
    assert answer.effects[0].kind is Kind.UNKNOWN
    assert "may change" in answer.why


def test_windows_line_ends() -> None:
    """CRLF line ends separate commands and are no part of a name."""
    paths = [effect.path for effect in classify("rm a\r\nrm b\r\n", "/w").effects]
    assert paths == ["/w/a", "/w/b"]


_GROWING = {
    "operands": lambda n: "rm " + "a " * n,
    "commands": lambda n: "rm a\n" * n,
    "pipes": lambda n: "a | " * n + "b",
    "quotes": lambda n: "echo " + "'a'" * n,
    "substitutions": lambda n: "echo " + "$(a) " * n,
    "braces": lambda n: "rm " + "{a,b}" * n,
    "heredocs": lambda n: "cat <<E\nx\nE\n" * n,
    "variables": lambda n: "".join(f"v{i}=x; a | b; " for i in range(n)),
    "doubling": lambda n: "x=aaaaaaaa;" + 'x="$x$x";' * n + "rm $x",
    "functions": lambda n: "".join(f"f{i}() {{ f{i + 1}; f{i + 1}; }};" for i in range(n)) + "f0",
    "aliases": lambda n: "".join(f"alias a{i}='a{i + 1};a{i + 1}';" for i in range(n)) + "a0",
    "loops": lambda n: (
        "for i in 1 2 3 4 5 6 7 8; do " * min(n, 25) + "rm $i" + "; done" * min(n, 25)
    ),
    "sudo": lambda n: "sudo " * n + "rm x",
    "python": lambda n: "python3 -c '" + "open(1,2)." * n + "'",
    "awk": lambda n: "awk '" + "print a " * n + "'",
    "sed": lambda n: "sed -n '" + "s/a/b/;" * n + "' f",
    "cd": lambda n: "cd a; " * n + "rm x",
    "trims": lambda n: "x=" + "a" * 1000 + ";" + "rm ${x%a*b};" * n,
}


@pytest.mark.parametrize("shape", sorted(_GROWING))
def test_large_inputs_answer_in_time(shape: str) -> None:
    """A text of tens of kilobytes of any one construct is answered within seconds."""
    text = _GROWING[shape](4000)
    started = time.perf_counter()
    classify(text, "/w")
    assert time.perf_counter() - started < 10


def test_same_question_same_answer() -> None:
    """An answer is remembered, for the same text in the same directory only."""
    first = classify("rm x", "/w")
    assert classify("rm x", "/w") is first
    assert classify("rm x", "/v").effects[0].path == "/v/x"


def test_relative_directory_and_path_objects(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative working directory is taken from the process' own; any PathLike will do."""
    monkeypatch.chdir(str(tmp_path))
    assert classify("rm x", ".").effects[0].path == f"{tmp_path}/x"
    assert classify("rm x", cases.DATA).effects[0].path == str(cases.DATA / "x")


def test_unknown_parser() -> None:
    """A parser that does not exist is an error of the caller."""
    with pytest.raises(ValueError, match="parser"):
        classify("ls", "/w", parser="bash")


@pytest.mark.parametrize("program", ["ruby -e", "perl -e", "node -e", "awk", "sed", "python3 -c"])
@pytest.mark.parametrize("unit", ["open ", 'exec "', '\\"', "print a > ", "system(", "q{", "=/a"])
def test_code_answers_in_time(program: str, unit: str) -> None:
    """Code that repeats what a pattern begins with is read about as fast as any other."""
    text = f"{program} {shlex.quote((unit * 30_000)[:30_000])}"
    started = time.perf_counter()
    classify(text, "/w")
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("cd web && test -f x || rm f", "/w/web/f"),
        ("cd web || rm f", "/w/f"),
        ("cd web || exit; rm f", "/w/web/f"),
        ("{ cd web; false; } || rm f", "/w/web/f"),
        ("trap 'rm f' EXIT; cd web", "/w/web/f"),
    ],
)
def test_a_failure_leaves_the_shell_where_it_was(text: str, path: str) -> None:
    """What runs after a failure is placed where the failing command stood."""
    assert path in {effect.path for effect in classify(text, "/w").effects}


def test_a_function_is_the_shells_own() -> None:
    """A program started by another program is never a function of the text."""
    for starter in ("command", "env", "sudo", "timeout 5", "nohup"):
        assert classify(f"rm() {{ :; }}; {starter} rm f", "/w").destructive, starter
    assert not classify("rm() { :; }; rm f", "/w").destructive


def test_a_literal_is_no_statement() -> None:
    """SQL words within a quoted literal change no database."""
    assert not classify("sqlite3 app.db <<< \"SELECT 'DROP me'\"", "/w").destructive
    assert classify("sqlite3 app.db <<< \"SELECT 'x'; DROP TABLE t\"", "/w").destructive


def test_a_program_named_in_a_setting_is_a_guess() -> None:
    """What a setting names runs only maybe: nothing it does is certain."""
    for text in ("EDITOR='rm a' git commit", "git -c core.editor='rm a' commit"):
        answer = classify(text, "/w")
        assert answer.destructive and not answer.certain, text
