"""The language the rules are written in: one entry per program or subcommand, text to `Rule`.

    truncate gtruncate = write all; takes -s --size -r --reference

Left of the `=` stand the names (a subcommand with its program: `cargo>clean`), right of it clauses:

    reads                     it changes nothing, but for the values of options that name an output
                              (`--output`, `--export-…`: see `apply.report_outputs`); `reads -o`:
                              `-o` is one, too
    KIND WHERE… [if|unless OPTION…]
                              what it does to what; KIND as in `effects.Kind`, with `?` before it
                              when that is never certain. WHERE: `all`, `first`, `last`, `2`, `2-`
                              (operands), `but-last`, `paths` (operands that look like paths),
                              `after--`, `cwd`, `nowhere` (not known), `@name` (a fixed path), an
                              option (its value); `all|cwd`: the second when there is none
    takes OPTION…             these have a value, which is no operand
    unless WORD…              with one of these options or first operands it changes nothing
    only OPTION…              without one of these it changes nothing
    into OPTION…              the value is the destination: it counts as the last operand
    cwd OPTION…               the value is the directory it works in
    style STYLE               how options are read: see `arguments.parse`
    runs WHERE                the operands from there on are a command: `1-`, `2-`
    script OPTION…            the value is shell text that is run
    sub                       its first operand picks an entry `NAME SUBCOMMAND`; the other
                              clauses hold when there is none
    by MODULE.FUNCTION        code in `programs/` takes over
    as NAME                   the same as another entry
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from ..effects import Kind

KINDS = {kind.value: kind for kind in Kind}
STYLES = ("gnu", "first", "single", "slash")
_WHERE = re.compile(
    r"(?:all|first|last|but-last|paths|after--|cwd|nowhere|\d+-?|@.+|[-/].+)"
    r"(?:\|(?:cwd|nowhere|@.+))?"
)
_OPTION = re.compile(r"[-+/].+|[a-zA-Z][\w:-]*=?")


@dataclass(frozen=True, slots=True)
class Action:
    """One `KIND WHERE…` clause."""

    kind: Kind
    certain: bool
    where: tuple[str, ...]
    given: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Rule:
    """What one program, or one of its subcommands, does to files."""

    actions: tuple[Action, ...] = ()
    takes: frozenset[str] = frozenset()
    knows: frozenset[str] = frozenset()
    harmless: frozenset[str] = frozenset()
    needed: frozenset[str] = frozenset()
    into: tuple[str, ...] = ()
    cwd: tuple[str, ...] = ()
    style: str = "gnu"
    runs: int | None = None
    scripts: tuple[str, ...] = ()
    subcommands: bool = False
    output: bool = False
    handler: str = ""
    same_as: str = ""

    def within(self, program: Rule) -> Rule:
        """This subcommand's rule, with the options its program has before any subcommand."""
        return replace(
            self,
            takes=self.takes | program.takes,
            cwd=(*self.cwd, *program.cwd),
            style=program.style if self.style == "gnu" else self.style,
        )


@dataclass(slots=True)
class _Draft:
    """A rule being read, clause by clause."""

    actions: list[Action] = field(default_factory=list)
    takes: set[str] = field(default_factory=set)
    knows: set[str] = field(default_factory=set)
    harmless: set[str] = field(default_factory=set)
    needed: set[str] = field(default_factory=set)
    ordered: dict[str, tuple[str, ...]] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)

    def rule(self) -> Rule:
        runs = self.words.get("runs")
        return Rule(
            actions=tuple(self.actions),
            takes=frozenset(self.takes),
            knows=frozenset(self.knows - self.takes),
            harmless=frozenset(self.harmless),
            needed=frozenset(self.needed),
            into=self.ordered.get("into", ()),
            cwd=self.ordered.get("cwd", ()),
            style=self.words.get("style", "gnu"),
            runs=int(runs[:-1]) - 1 if runs else None,
            scripts=self.ordered.get("script", ()),
            subcommands="sub" in self.words,
            output="-o" in self.words,
            handler=self.words.get("by", ""),
            same_as=self.words.get("as", ""),
        )


def parse_entries(table: str) -> dict[str, str]:
    """A table's lines by name; the clauses stay text until the program is met.

    Indented lines go on with the entry before; a line that starts with `#` is a comment.
    """
    entries: dict[str, str] = {}
    names: list[str] = []
    for line in table.splitlines():
        if not line or line[0] == "#":
            continue
        if line[0] == " ":
            for name in names:
                entries[name] += ";" + line
            continue
        left, _, right = line.partition(" =")
        names = [name.replace(">", " ") for name in left.split()]
        for name in names:
            if name in entries:
                raise ValueError(f"the entry {name!r} stands twice")
            entries[name] = right
    return entries


def parse_rule(text: str) -> Rule:
    """The clauses of one entry as a `Rule`; raises ValueError with a sentence."""
    draft = _Draft()
    for clause in text.split(";"):
        words = clause.split()
        if words:
            _clause(draft, words[0], words[1:])
    return draft.rule()


def _clause(draft: _Draft, head: str, rest: list[str]) -> None:
    if head.lstrip("?") in KINDS:
        draft.actions.append(_action(draft, head, rest))
    elif head == "reads" and rest == ["-o"]:
        draft.words["-o"] = head
    elif head in ("reads", "sub"):
        _expect(not rest, f"`{head}` stands alone")
        draft.words[head] = head
    elif head == "takes":
        draft.takes.update(_options(rest))
    elif head in ("unless", "only"):
        (draft.harmless if head == "unless" else draft.needed).update(_options(rest))
        draft.knows.update(rest)
    elif head in ("into", "cwd", "script"):
        draft.ordered[head] = tuple(_options(rest))
        draft.takes.update(rest)
    elif head in ("style", "runs", "by", "as"):
        draft.words[head] = _word(head, rest)
    else:
        raise ValueError(f"{head!r} is no clause of a rule")


def _word(head: str, rest: list[str]) -> str:
    """The one word after `style`, `runs`, `by` or `as`."""
    _expect(bool(rest), f"`{head}` needs a word after it")
    if head == "style":
        _expect(rest[0] in STYLES, f"a style is one of {', '.join(STYLES)}")
    if head == "runs":
        _expect(re.fullmatch(r"[1-9]-", rest[0]), "`runs` needs a place such as 1-")
    return " ".join(rest)


def _action(draft: _Draft, head: str, words: list[str]) -> Action:
    where: list[str] = []
    given: set[str] = set()
    absent: set[str] = set()
    goal: set[str] | None = None
    for word in words:
        if word in ("if", "unless"):
            goal = given if word == "if" else absent
        elif goal is not None:
            goal.add(word)
        else:
            _expect(_WHERE.fullmatch(word), f"{word!r} names no place")
            where.append(word)
    _expect(bool(where), f"`{head}` needs a place")
    draft.takes.update(word.split("|")[0] for word in where if word[0] in "-/")
    draft.knows |= given | absent
    kind = KINDS[head.lstrip("?")]
    return Action(kind, head[0] != "?", tuple(where), frozenset(given), frozenset(absent))


def _options(words: list[str]) -> list[str]:
    _expect(bool(words), "options are missing")
    for word in words:
        _expect(_OPTION.fullmatch(word), f"{word!r} is no option")
    return words


def _expect(holds: object, sentence: str) -> None:
    if not holds:
        raise ValueError(sentence)
