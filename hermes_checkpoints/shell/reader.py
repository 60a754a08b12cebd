"""Our own tolerant reader of POSIX shell and bash: text to `Script`, or `Unreadable`.

It reads what bash reads, and is lenient where leniency cannot hide a command.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from .lexer import Lexer
from .syntax import (
    Assignment,
    Command,
    Compound,
    CompoundKind,
    Node,
    Part,
    Pipeline,
    Redirect,
    Script,
    Step,
    Unreadable,
    Word,
)

_FUNCTION = re.compile(r"([^\s$`\"'\\=;&|<>()]+)[ \t]*\([ \t]*\)")
_CLOSERS = frozenset(("then", "do", "done", "fi", "esac", "elif", "else", "}"))
_DECLARERS = frozenset(("declare", "typeset", "local", "export", "readonly"))
_CASE_ENDS = (";;&", ";;", ";&")
_BARE = re.compile(r"([^ \t\n;&|<>()\\'\"$`]+)(?:[ \t]+(?!#)|(?=[\n;&|)]|\Z))")


def read(text: str, depth: int = 0) -> Script:
    """The whole text as a script; raises `Unreadable`."""
    return Reader(text, depth).whole()


class Reader(Lexer):
    """The grammar of commands, as methods of the cursor."""

    __slots__ = ()

    # -- lists and pipelines

    def script(self, stop: frozenset[str]) -> Script:
        """Steps up to one of the stop words (or `)`) in command position, or the end."""
        self.deeper()
        steps: list[Step] = []
        while True:
            self.newlines()
            operator = self.operator()
            if self.at >= self.end or self.stops(operator, stop):
                break
            if operator in (";", "&"):
                self.at += 1  # lenient: an empty step hides no command
                continue
            steps.append(self.step(stop))
        self.depth -= 1
        return tuple(steps)

    def stops(self, operator: str, stop: frozenset[str]) -> bool:
        if operator == ")":
            if ")" in stop:
                return True
            raise Unreadable("unexpected )")
        if operator in _CASE_ENDS:
            return "esac" in stop
        return self.ahead() in stop

    def step(self, stop: frozenset[str]) -> Step:
        node = self.pipeline()
        self.blanks()
        operator = self.operator()
        if operator in ("&&", "||", ";", "&"):
            self.at += len(operator)
            if operator in ("&&", "||"):
                self.newlines()
                if self.at >= self.end:
                    raise Unreadable(f"nothing after {operator}")
            return Step(node, "" if operator == ";" else operator)
        if operator == "\n" or self.at >= self.end or operator == ")" or operator in _CASE_ENDS:
            return Step(node)
        raise Unreadable(f"unexpected {self.text[self.at]!r}")

    def pipeline(self) -> Node:
        if self.prefixes():
            return Command(())
        commands = [self.command()]
        while _pipe(self):
            self.newlines()
            commands.append(self.command())
        return commands[0] if len(commands) == 1 else Pipeline(tuple(commands))

    def prefixes(self) -> bool:
        """Skip `!` and `time`; True when nothing is left to run."""
        while True:
            self.blanks()
            keyword = self.ahead()
            if keyword == "!":
                self.at += 1
            elif keyword == "time":
                self.at += 4
                self.blanks()
                while self.ahead() in ("-p", "--"):
                    self.at += len(self.ahead())
                    self.blanks()
                if self.at >= self.end or self.operator() in (";", "\n"):
                    return True
            else:
                return False

    # -- commands

    def command(self) -> Node:
        self.blanks()
        if self.at >= self.end:
            raise Unreadable("a command is missing")
        if self.text.startswith("((", self.at):
            stop = self.arithmetic_end(self.at + 2)
            if stop >= 0:
                body = self.substitutions(self.text[self.at + 2 : stop])
                self.at = stop + 2
                return self.compound("arithmetic", body)
        if self.text[self.at] == "(":
            self.at += 1
            return self.compound("subshell", self.until_parenthesis())
        keyword = self.ahead()
        if reader := self._COMMAND_READERS.get(keyword):
            return reader(self)
        match = _FUNCTION.match(self.text, self.at) if keyword else None
        if match:
            self.at = match.end()
            return self.function_body(match[1])
        if keyword in _CLOSERS:
            raise Unreadable(f"unexpected {keyword}")
        return self.simple()

    def compound(self, kind: CompoundKind, *bodies: Script) -> Compound:
        return Compound(kind, bodies, self.redirects_after())

    def group(self) -> Node:
        self.at += 1
        body = self.script(frozenset("}"))
        self.expect("}")
        return self.compound("group", body)

    def condition(self) -> Node:
        """`[[ … ]]`: an expression; only what its words run is kept."""
        self.at += 2
        found: list[Step] = []
        while True:
            self.newlines()
            if self.at >= self.end:
                raise Unreadable("unterminated [[")
            if self.ahead() == "]]":
                self.at += 2
                return self.compound("condition", tuple(found))
            if self.text[self.at] in "()<>|&;":
                self.at += 1
                continue
            found.extend(step for part in self.word().parts for step in part.body)

    def if_clause(self) -> Node:
        self.at += 2
        bodies: list[Script] = []
        keyword = "elif"
        while keyword == "elif":
            bodies.append(self.script(frozenset(("then",))))
            self.expect("then")
            bodies.append(self.script(frozenset(("elif", "else", "fi"))))
            keyword = self.ahead()
            self.at += len(keyword)
        if keyword == "else":
            bodies.append(self.script(frozenset(("fi",))))
            self.expect("fi")
        elif keyword != "fi":
            raise Unreadable("expected fi")
        return self.compound("if", *bodies)

    def loop(self) -> Node:
        kind: CompoundKind = "while" if self.ahead() == "while" else "until"
        self.at += 5
        condition = self.script(frozenset(("do",)))
        self.expect("do")
        body = self.script(frozenset(("done",)))
        self.expect("done")
        return self.compound(kind, condition, body)

    def for_clause(self) -> Node:
        kind: CompoundKind = "for" if self.ahead() == "for" else "select"
        self.at += len(kind)
        self.blanks()
        words: tuple[Word, ...] | None = ()
        name = ""
        if self.text.startswith("((", self.at):
            stop = self.arithmetic_end(self.at + 2)
            if stop < 0:
                raise Unreadable("unterminated for ((")
            head = self.substitutions(self.text[self.at + 2 : stop])
            self.at = stop + 2
        else:
            head = ()
            name = self.ahead()
            self.at += len(name)
            words = self.items()
        body = self.loop_body()
        redirects = self.redirects_after()
        return Compound(kind, (head, body) if head else (body,), redirects, name, words)

    def items(self) -> tuple[Word, ...] | None:
        self.newlines()
        if self.ahead() != "in":
            return None
        self.at += 2
        words: list[Word] = []
        while True:
            self.blanks()
            if self.at >= self.end or self.text[self.at] in ";\n":
                return tuple(words)
            words.append(self.word())

    def loop_body(self) -> Script:
        self.newlines()
        while self.text.startswith(";", self.at):
            self.at += 1
            self.newlines()
        opener, closer = ("{", "}") if self.ahead() == "{" else ("do", "done")
        self.expect(opener)
        body = self.script(frozenset((closer,)))
        self.expect(closer)
        return body

    def case_clause(self) -> Node:
        self.at += 4
        self.blanks()
        subject = self.word()
        self.expect("in")
        bodies: list[Script] = []
        while True:
            self.newlines()
            if self.at >= self.end:
                raise Unreadable("unterminated case")
            if self.ahead() == "esac":
                self.at += 4
                redirects = self.redirects_after()
                return Compound("case", tuple(bodies), redirects, "", (subject,))
            hidden = self.case_patterns()
            bodies.append(hidden + self.script(frozenset(("esac",))))
            self.newlines()
            if (operator := self.operator()) in _CASE_ENDS:
                self.at += len(operator)

    def case_patterns(self) -> Script:
        """Skip `a | b )`; the commands that run when the patterns are expanded."""
        hidden: list[Step] = []
        if self.text.startswith("(", self.at):
            self.at += 1
        while True:
            self.blanks()
            if self.text.startswith(")", self.at):
                self.at += 1
                return tuple(hidden)
            if self.text.startswith("|", self.at):
                self.at += 1
                continue
            hidden.extend(step for part in self.word().parts for step in part.body)

    def function_keyword(self) -> Node:
        self.at += len("function")
        self.blanks()
        name = self.ahead()
        self.at += len(name)
        self.blanks()
        if self.text.startswith("(", self.at):
            self.at += 1
            self.blanks()
            self.at += 1
        return self.function_body(name)

    def function_body(self, name: str) -> Node:
        self.newlines()
        self.deeper()
        body = self.command()
        self.depth -= 1
        return Compound("function", ((Step(body),),), (), name)

    def coproc(self) -> Node:
        self.at += len("coproc")
        self.blanks()
        here, name = self.at, self.ahead()
        self.at += len(name)
        self.blanks()
        if not (name.isidentifier() and self.text.startswith(("(", "{"), self.at)):
            self.at = here  # no name: the word was the command
        self.deeper()
        body = self.command()
        self.depth -= 1
        return Compound("coproc", ((Step(body),),))

    def simple(self) -> Command:
        words: list[Word] = []
        assignments: list[Assignment] = []
        redirects: list[Redirect] = []
        while True:
            self.blanks()
            if words and (bare := _BARE.match(self.text, self.at)):  # the common case, shortened
                words.append(Word((Part("text", bare[1]),), bare[1]))
                self.at = bare.end()
                continue
            if self.at >= self.end or self.text[self.at] in "\n;|)":
                break
            if self.redirect(redirects):
                continue
            if self.text[self.at] == "&":
                break
            if not words and (assignment := self.assignment()):
                assignments.append(assignment)
                continue
            words.append(self.word())
            if self.text.startswith("(", self.at) and words[0].literal in _DECLARERS:
                self.at += 1
                assignments.append(Assignment(words.pop().raw.rstrip("+="), self.array()))
        if not (words or assignments or redirects):
            raise Unreadable("a command is missing")
        return Command(tuple(words), tuple(assignments), tuple(redirects))

    _COMMAND_READERS: Mapping[str, Callable[[Reader], Node]] = {
        "{": group,
        "[[": condition,
        "if": if_clause,
        "while": loop,
        "until": loop,
        "for": for_clause,
        "select": for_clause,
        "case": case_clause,
        "function": function_keyword,
        "coproc": coproc,
    }


def _pipe(reader: Reader) -> bool:
    """Step over a `|` or `|&`."""
    reader.blanks()
    operator = reader.operator()
    if operator not in ("|", "|&"):
        return False
    reader.at += len(operator)
    return True
