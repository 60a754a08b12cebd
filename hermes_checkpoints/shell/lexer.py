"""The word level of the shell language: quoting, expansions, redirections, here-documents.

A cursor over the text; `reader` adds the commands. It is linear in its input: every look-ahead is
bounded, every nesting is capped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from .syntax import (
    Assignment,
    Heredoc,
    Opaque,
    Part,
    PartKind,
    Redirect,
    Script,
    Step,
    Unreadable,
    Word,
)

MAX_DEPTH = 30
MAX_ARITHMETIC = 4096  # bounds the look-ahead that tells `((…))` from a subshell in a subshell

_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_PLAIN = re.compile(r"[^ \t\n;&|<>()\\'\"$`]+")
_DOUBLE_PLAIN = re.compile(r"[^\"\\$`]+")
_WORD_AHEAD = re.compile(r"[^ \t\n;&|<>()]*")
_OPERATOR = re.compile(r";;&|;;|;&|&&|\|\||\|&|;|&(?!>)|\||\n|\)|\(")
_REDIRECT = re.compile(
    r"(?:(?P<fd>\d+|\{[A-Za-z_]\w*\})?(?P<op><<<|<<-|<<|<>|<&|<|>>|>\||>&|>)|(?P<both>&>>|&>))"
)
_ASSIGN = re.compile(r"([A-Za-z_]\w*)(\[[^\]\n]*\])?(\+?)=")
_VARIABLE = re.compile(r"[A-Za-z_]\w*|[0-9$#?!*@-]")
_ARITHMETIC_MARK = re.compile(r"[()'\"\\]")
_BRACE_MARK = re.compile(r"[<>]\(|[}'\"\\$`]")
_SUBSTITUTION_MARK = re.compile(r"\\|\$\(|[<>]\(|`")
_ANSI_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|c(.)|(.))", re.S
)
_ANSI_LETTERS = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v",
    "e": "\x1b", "E": "\x1b", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip


class Lexer:
    """A cursor over the text, and the grammar as methods.

    `ready` maps the start of a substitution to its end and commands, when another parser has
    read it already.
    """

    __slots__ = ("at", "depth", "end", "pending", "ready", "text")

    def __init__(
        self, text: str, depth: int = 0, ready: Mapping[int, tuple[int, Script]] | None = None
    ) -> None:
        if depth > MAX_DEPTH:
            raise Unreadable("nested too deeply")
        self.text = text
        self.at = 0
        self.end = len(text)
        self.depth = depth
        self.ready = ready
        self.pending: list[tuple[Heredoc, str, bool]] = []

    def script(self, stop: frozenset[str]) -> Script:
        """Commands up to one of the stop words: the reader's part."""
        raise NotImplementedError

    def whole(self) -> Script:
        """The whole text as a script."""
        steps = self.script(frozenset())
        if self.at < self.end:
            raise Unreadable(f"unexpected {self.text[self.at]!r}")
        return steps

    def substitutions(self, text: str) -> Script:
        """The commands that run when `text`, an expansion or a here-document, is expanded."""
        found: list[Step] = []
        inner = type(self)(text, self.depth + 1)
        while mark := _SUBSTITUTION_MARK.search(text, inner.at):
            token, inner.at = mark.group(), mark.end()
            if token == "\\":
                inner.at += 1
                continue
            if token == "$(" and inner.arithmetic_starts():
                inner.at += 1  # what an arithmetic expression contains is found by going on
                continue
            try:
                if token == "`":
                    inner.at = mark.start()
                    found.extend(inner.backticks())
                else:
                    found.extend(inner.until_parenthesis())
            except Unreadable as error:
                found.append(Step(Opaque(str(error))))
                break  # going on from here could cost a scan of the rest at every mark
        return tuple(found)

    # -- blanks, operators, words ahead

    def blanks(self) -> None:
        text = self.text
        while self.at < self.end:
            if match := _BLANK.match(text, self.at):
                self.at = match.end()
            if not text.startswith("#", self.at):
                return
            match = _COMMENT.match(text, self.at)
            self.at = match.end() if match else self.at
            if not text.startswith((" ", "\t", "\\\n"), self.at):
                return

    def newlines(self) -> None:
        """Skip blanks, comments and newlines; a newline is where here-documents begin."""
        while True:
            self.blanks()
            if not self.text.startswith("\n", self.at):
                return
            self.at += 1
            self.heredocs()

    def operator(self) -> str:
        match = _OPERATOR.match(self.text, self.at)
        return match.group() if match else ""

    def ahead(self) -> str:
        """The characters up to the next metacharacter: a keyword, if it is one."""
        match = _WORD_AHEAD.match(self.text, self.at)
        return match.group() if match else ""

    def expect(self, keyword: str) -> None:
        self.newlines()
        if self.ahead() != keyword:
            raise Unreadable(f"expected {keyword}")
        self.at += len(keyword)

    def heredocs(self) -> None:
        pending, self.pending = self.pending, []
        for heredoc, delimiter, dash in pending:
            heredoc.text = self.heredoc_text(delimiter, dash)
            if not heredoc.quoted:
                heredoc.body = self.substitutions(heredoc.text)

    def heredoc_text(self, delimiter: str, dash: bool) -> str:
        lines: list[str] = []
        while self.at < self.end:
            stop = self.text.find("\n", self.at)
            stop = self.end if stop < 0 else stop
            line = self.text[self.at : stop]
            self.at = min(stop + 1, self.end)
            line = line.lstrip("\t") if dash else line
            if line == delimiter:
                break
            lines.append(line)
        return "\n".join(lines)

    # -- words

    def word(self) -> Word:
        text, start = self.text, self.at
        parts: list[Part] = []
        while self.at < self.end:
            if match := _PLAIN.match(text, self.at):
                parts.append(Part("text", match.group()))
                self.at = match.end()
                continue
            character = text[self.at]
            if reader := self._WORD_READERS.get(character):
                reader(self, parts)
            elif character in "<>" and text.startswith("(", self.at + 1):
                parts.append(Part("process", character, False, self.substitution(2)))
            elif character == "(" and parts and parts[-1].text[-1:] in tuple("?*+@!"):
                parts.append(self.extended_pattern())
            else:
                break
        if self.at == start:
            raise Unreadable(f"a word is missing at {start}")
        return Word(tuple(parts), text[start : self.at])

    def escape(self, parts: list[Part]) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        self.at = min(self.at + 2, self.end)
        if following and following != "\n":
            parts.append(Part("text", following, True))

    def single(self, parts: list[Part]) -> None:
        stop = self.text.find("'", self.at + 1)
        if stop < 0:
            raise Unreadable("unterminated single quote")
        parts.append(Part("text", self.text[self.at + 1 : stop], True))
        self.at = stop + 1

    def double(self, parts: list[Part]) -> None:
        text, size = self.text, len(parts)
        self.at += 1
        while self.at < self.end:
            if match := _DOUBLE_PLAIN.match(text, self.at):
                parts.append(Part("text", match.group(), True))
                self.at = match.end()
            elif text[self.at] == '"':
                self.at += 1
                if len(parts) == size:
                    parts.append(Part("text", "", True))
                return
            elif text[self.at] == "\\":
                following = text[self.at + 1 : self.at + 2]
                if following in tuple('$`"\\\n'):
                    parts.append(Part("text", "" if following == "\n" else following, True))
                    self.at += 2
                else:
                    parts.append(Part("text", "\\", True))
                    self.at += 1
            elif text[self.at] == "$":
                self.dollar(parts, quoted=True)
            else:
                parts.append(Part("command", "`", True, self.backticks()))
        raise Unreadable("unterminated double quote")

    def backtick(self, parts: list[Part]) -> None:
        parts.append(Part("command", "`", False, self.backticks()))

    def backticks(self) -> Script:
        """The commands between backquotes, where a backslash hides `$`, itself and the quote."""
        if self.ready is not None:
            return self.substitution(1)
        at, pieces = self.at + 1, []
        while at < self.end:
            character = self.text[at]
            if character == "\\" and self.text[at + 1 : at + 2] in tuple("$`\\"):
                pieces.append(self.text[at + 1])
                at += 2
            elif character == "`":
                self.at = at + 1
                return type(self)("".join(pieces), self.depth + 1).whole()
            else:
                pieces.append(character)
                at += 1
        raise Unreadable("unterminated backquote")

    def substitution(self, skip: int) -> Script:
        """The commands of a `$(…)`, `<(…)` or `>(…)` that starts at the cursor."""
        if self.ready is not None:
            if self.at not in self.ready:
                raise Unreadable("the other parser saw no substitution here")
            self.at, steps = self.ready[self.at]
            return steps
        self.at += skip
        return self.until_parenthesis()

    def until_parenthesis(self) -> Script:
        inner = type(self)(self.text, self.depth + 1)
        inner.at = self.at
        steps = inner.script(frozenset(")"))
        inner.newlines()
        if not self.text.startswith(")", inner.at):
            raise Unreadable("unterminated parenthesis")
        self.at = inner.at + 1
        return steps

    def extended_pattern(self) -> Part:
        """The parenthesised rest of an extended glob such as `!(a|b)`."""
        start, level = self.at, 0
        for at in range(start, min(self.end, start + MAX_ARITHMETIC)):
            level += {"(": 1, ")": -1}.get(self.text[at], 0)
            if level == 0:
                self.at = at + 1
                inner = self.text[start : self.at]
                return Part("pattern", inner, False, self.substitutions(inner[1:]))
        raise Unreadable("unterminated pattern")

    def plain_dollar(self, parts: list[Part]) -> None:
        self.dollar(parts, quoted=False)

    def dollar(self, parts: list[Part], quoted: bool) -> None:
        text, at = self.text, self.at
        if text.startswith("$((", at) and (stop := self.arithmetic_end(at + 3)) >= 0:
            self.at = stop + 2
            parts.append(self.expansion("arithmetic", text[at + 3 : stop], quoted))
        elif text.startswith("$(", at):
            parts.append(Part("command", "$", quoted, self.substitution(2)))
        elif text.startswith("${", at):
            self.at += 2
            body = self.parameter(quoted)
            parts.append(Part("variable", text[at + 2 : self.at - 1], quoted, body))
        elif text.startswith("$[", at):
            stop = text.find("]", at, at + MAX_ARITHMETIC)
            if stop < 0:
                raise Unreadable("unterminated $[")
            self.at = stop + 1
            parts.append(self.expansion("arithmetic", text[at + 2 : stop], quoted))
        elif not quoted and text.startswith("$'", at):
            self.ansi_quote(parts)
        elif not quoted and text.startswith('$"', at):
            self.at += 1
            self.double(parts)
        elif match := _VARIABLE.match(text, at + 1):
            self.at = match.end()
            parts.append(Part("variable", match.group(), quoted))
        else:
            self.at += 1
            parts.append(Part("text", "$", quoted))

    def expansion(self, kind: PartKind, inner: str, quoted: bool) -> Part:
        return Part(kind, inner, quoted, self.substitutions(inner))

    def ansi_quote(self, parts: list[Part]) -> None:
        at = self.at + 2
        while at < self.end and self.text[at] != "'":
            at += 2 if self.text[at] == "\\" else 1
        if at >= self.end:
            raise Unreadable("unterminated $'")
        parts.append(Part("text", _decode_ansi(self.text[self.at + 2 : at]), True))
        self.at = at + 1

    def arithmetic_starts(self) -> bool:
        """Whether the cursor stands on the second `(` of an arithmetic expression."""
        return self.text.startswith("(", self.at) and self.arithmetic_end(self.at + 1) >= 0

    def arithmetic_end(self, start: int) -> int:
        """Where the `))` that closes an arithmetic expression stands, or -1: it is none."""
        level, at, limit = 0, start, min(self.end, start + MAX_ARITHMETIC)
        while mark := _ARITHMETIC_MARK.search(self.text, at, limit):
            at = mark.end()
            character = mark.group()
            if character == "(":
                level += 1
            elif character == "\\":
                at += 1
            elif character == ")":
                if level == 0:
                    return mark.start() if self.text.startswith("))", mark.start()) else -1
                level -= 1
            else:
                at = self.text.find(character, at, limit) + 1
                if at == 0:
                    return -1
        return -1

    def parameter(self, quoted: bool) -> Script:
        """Move past the `}` that closes a `${`; what runs while it is expanded."""
        self.deeper()
        parts: list[Part] = []
        while mark := _BRACE_MARK.search(self.text, self.at):
            self.at = mark.start()
            character = mark.group()
            if character == "}":
                self.at += 1
                self.depth -= 1
                return tuple(step for part in parts for step in part.body)
            if character == "\\":
                self.at += 2
            elif character == "'" and (quoted or self.text.find("'", self.at + 1) < 0):
                self.at += 1  # between double quotes it quotes nothing
            elif len(character) == 2:
                parts.append(Part("process", character, False, self.substitution(2)))
            else:
                self._WORD_READERS[character](self, parts)
        raise Unreadable("unterminated ${")

    def deeper(self) -> None:
        """Go one level down, within the limit."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Unreadable("nested too deeply")

    # -- redirections, assignments

    def redirect(self, redirects: list[Redirect]) -> bool:
        """Read a redirection at the cursor into `redirects`, if there is one."""
        match = _REDIRECT.match(self.text, self.at)
        if not match:
            return False
        op = match["op"] or match["both"]
        if op in ("<", ">") and self.text.startswith("(", match.end()):
            return False
        self.at = match.end()
        self.blanks()
        target = self.word()
        heredoc = self.heredoc(target, op == "<<-") if op in ("<<", "<<-") else None
        redirects.append(Redirect(op, match["fd"], target, heredoc))
        return True

    def heredoc(self, target: Word, dash: bool) -> Heredoc:
        """A here-document whose body is still to come; its delimiter is not expanded."""
        heredoc = Heredoc(quoted=any(mark in target.raw for mark in "'\"\\"))
        delimiter = "".join(p.text if p.kind == "text" else "$" + p.text for p in target.parts)
        self.pending.append((heredoc, delimiter, dash))
        return heredoc

    def redirects_after(self) -> tuple[Redirect, ...]:
        redirects: list[Redirect] = []
        self.blanks()
        while self.redirect(redirects):
            self.blanks()
        return tuple(redirects)

    def assignment(self) -> Assignment | None:
        match = _ASSIGN.match(self.text, self.at)
        if not match:
            return None
        self.at = match.end()
        name, index, append = match[1], match[2] or "", bool(match[3])
        value: Word | tuple[Word, ...]
        if self.text.startswith("(", self.at):
            self.at += 1
            value = self.array()
        elif self.at >= self.end or self.text[self.at] in " \t\n;&|)":
            value = Word((), "")
        else:
            value = self.word()
        if index and isinstance(value, Word):
            hidden = self.substitutions(index)
            value = Word((*value.parts, Part("arithmetic", index, True, hidden)), value.raw)
        return Assignment(name, value, append)

    def array(self) -> tuple[Word, ...]:
        words: list[Word] = []
        while True:
            self.newlines()
            if self.text.startswith(")", self.at):
                self.at += 1
                return tuple(words)
            words.append(self.word())

    _WORD_READERS: Mapping[str, Callable[[Lexer, list[Part]], None]] = {
        "\\": escape,
        "'": single,
        '"': double,
        "$": plain_dollar,
        "`": backtick,
    }


def _decode_ansi(text: str) -> str:
    return _ANSI_ESCAPE.sub(_ansi_character, text)


def _ansi_character(match: re.Match[str]) -> str:
    hexadecimal, octal, short, long, control, letter = match.groups()
    if control:
        return chr(ord(control) & 31)
    if letter:
        return _ANSI_LETTERS.get(letter, "\\" + letter)
    code = int(octal, 8) & 255 if octal else int(hexadecimal or short or long, 16)
    return chr(code) if code <= 0x10FFFF else "\ufffd"
