"""Compound commands through bashlex: the only door to it.

bashlex 0.18 raises on much of bash, hides commands in some of the rest, and does not return from
an unterminated `${`; `sound` admits only text whose constructs it was measured to read as bash
does. Its tree is turned into ours word by word; words are lexed by our reader, because bashlex
drops the quoting that decides what is active in them.
"""

from __future__ import annotations

import re
import sys
from typing import Any

from .reader import Reader
from .syntax import (
    Assignment,
    Command,
    Compound,
    Node,
    Part,
    Pipeline,
    Redirect,
    Script,
    Step,
    Unreadable,
    Word,
)

MAX_LENGTH = 8192  # bashlex takes 0.1 ms a command: this bounds the time it may take
MAX_PARENTHESES = 24  # it recurses, and is quadratic in nested substitutions

_UNSOUND = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f]"  # control characters, carriage returns among them
    r"|<<(?!<)"  # here-documents: raises on quoted ones, hides commands in the others
    r"|\$['\"\[]|\$\(\(|\(\(|\[\[|\$\{(?![A-Za-z_]\w*\})"
    r"|=\(|[?*+@!]\("  # arrays, extended globs
    r"|\{\w+\}[<>]|(?<!\S)#|\\$"
    r"|\b(?:case|select|coproc|time|function|esac)\b"
)
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.", re.S)
_STANDALONE = re.compile(r"(?:^|[\s;|&(=<>])(?:'[^']*'|\"[^\"]*\")(?=$|[\s;|&)<>])")
_REDIRECTION = re.compile(r"\d*[<>]&-?|&>>?|>\||\d*[<>]")
_CONTROL = re.compile(r"[;|&\n]|(?<![$<>])\(")
_SUBSTITUTION = re.compile(r"\$\(|[<>]\(|`")
_NEEDS_LEXING = re.compile(r"[\\'\"$`<>()]")


def available() -> bool:
    """Whether bashlex can be used: installed, and its grammar (docstrings) not stripped."""
    if sys.flags.optimize >= 2:
        return False
    try:
        import bashlex  # noqa: F401
    except ImportError:
        return False
    return True


def sound(text: str) -> bool:
    """Whether `text` is a compound command within what bashlex reads soundly."""
    if not _CONTROL.search(text.strip()):
        return False
    if len(text) > MAX_LENGTH or text.count("(") > MAX_PARENTHESES or _UNSOUND.search(text):
        return False
    nested = _SUBSTITUTION.search(text)
    if nested and ("\n" in text or "\\" in text):
        return False  # later lines of `$(…)` are dropped; backslashes in backquotes misread
    bare = _QUOTED.sub(_blank, text)
    if "'" in bare or '"' in bare:
        return False
    quotes = sum(1 for match in _QUOTED.finditer(text) if match[0][0] != "\\")
    if quotes != len(_STANDALONE.findall(text)):
        return False  # quotes glued to other text: substitutions beside them get lost
    return bool(_CONTROL.search(_REDIRECTION.sub(" ", bare)))


def _blank(match: re.Match[str]) -> str:
    return "_" * len(match[0])


def read_compound(text: str) -> Script:
    """The script bashlex reads; raises `Unreadable` for whatever goes wrong in it."""
    import bashlex

    converter = _Converter(text)
    try:
        return tuple(step for tree in bashlex.parse(text) for step in converter.steps(tree))
    except Exception as error:  # noqa: BLE001  # it raises eight types; our reader takes over
        raise Unreadable(f"bashlex: {type(error).__name__}") from None


class _Converter:
    """From bashlex' nodes, which name positions in `text`, to ours."""

    def __init__(self, text: str) -> None:
        self.text = text

    def steps(self, node: Any) -> Script:
        if node.kind != "list":
            return (Step(self.node(node)),)
        steps: list[Step] = []
        for part in node.parts:
            if part.kind == "operator":
                op = part.op if part.op in ("&", "&&", "||") else ""
                steps[-1] = steps[-1]._replace(op=op)
            else:
                steps.append(Step(self.node(part)))
        return tuple(steps)

    def node(self, node: Any) -> Node:
        if node.kind == "command":
            return self.command(node)
        if node.kind == "pipeline":
            commands = [self.node(p) for p in node.parts if p.kind not in ("pipe", "reservedword")]
            return commands[0] if len(commands) == 1 else Pipeline(tuple(commands))
        if node.kind == "compound":
            return self.compound(node)
        if node.kind == "function":
            return Compound("function", ((Step(self.node(node.body)),),), (), node.name.word)
        raise Unreadable(f"bashlex: {node.kind}")

    def command(self, node: Any) -> Command:
        words: list[Word] = []
        assignments: list[Assignment] = []
        redirects: list[Redirect] = []
        for part in node.parts:
            if part.kind == "word":
                words.append(self.word(part))
            elif part.kind == "assignment":
                assignments.append(self.assignment(part))
            elif part.kind == "redirect":
                redirects.append(self.redirect(part))
            else:
                raise Unreadable(f"bashlex: {part.kind}")
        return Command(tuple(words), tuple(assignments), tuple(redirects))

    def compound(self, node: Any) -> Compound:
        redirects = tuple(self.redirect(redirect) for redirect in node.redirects)
        first = node.list[0]
        if first.kind == "reservedword":
            kind = "subshell" if first.word == "(" else "group"
            body = self.steps(node.list[1])
            return Compound(kind, (body,), redirects)  # type: ignore[arg-type]  # one of the kinds
        if first.kind == "if":
            bodies = [self.steps(p) for p in first.parts if p.kind != "reservedword"]
            return Compound("if", tuple(bodies), redirects)
        if first.kind in ("while", "until"):
            bodies = [self.steps(p) for p in first.parts if p.kind != "reservedword"]
            return Compound(first.kind, tuple(bodies), redirects)
        if first.kind == "for":
            return self.for_loop(first, redirects)
        raise Unreadable(f"bashlex: {first.kind}")

    def for_loop(self, node: Any, redirects: tuple[Redirect, ...]) -> Compound:
        *head, body = [part for part in node.parts if part.kind != "reservedword"]
        name, *items = head
        has_in = any(p.kind == "reservedword" and p.word == "in" for p in node.parts)
        words = tuple(map(self.word, items)) if has_in else None
        return Compound("for", (self.steps(body),), redirects, name.word, words)

    def redirect(self, node: Any) -> Redirect:
        fd = None if node.input is None else str(node.input)
        if isinstance(node.output, (int, str)):  # a descriptor, or `-`
            text = str(node.output)
            return Redirect(node.type, fd, Word((Part("text", text),), text))
        return Redirect(node.type, fd, self.word(node.output))

    def word(self, node: Any) -> Word:
        start, end = node.pos
        raw = self.text[start:end]
        if not _NEEDS_LEXING.search(raw):
            return Word((Part("text", raw),), raw)
        reader = self.reader(node)
        word = reader.word()
        if reader.at != end:
            raise Unreadable("bashlex: a word ends elsewhere")
        return word

    def assignment(self, node: Any) -> Assignment:
        reader = self.reader(node)
        assignment = reader.assignment()
        if assignment is None or reader.at != node.pos[1]:
            raise Unreadable("bashlex: an assignment ends elsewhere")
        return assignment

    def reader(self, node: Any) -> Reader:
        """Our word lexer, at the node, knowing the substitutions bashlex read in it."""
        ready = {
            part.pos[0]: (part.pos[1], self.steps(part.command))
            for part in node.parts
            if part.kind in ("commandsubstitution", "processsubstitution")
        }
        reader = Reader(self.text, ready=ready)
        reader.at = node.pos[0]
        return reader
