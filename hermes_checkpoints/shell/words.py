"""Words to arguments: brace, tilde, parameter expansion, splitting, in the order bash has them.

Values are constants found in the same text; whatever is not known there is marked as unknown
(`arguments.UNKNOWN`), never guessed.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from .arguments import GUESS, QUERY, SET, STAR, UNKNOWN
from .reader import Reader
from .syntax import Part, Script, Unreadable, Word

MAX_BRACES = 512
_GROUPS_TRIED = 64  # per word; each try is a scan of the rest
_MAX_BRACED = 4096  # characters of a word with braces
MAX_PLACES = 4
MAX_VARIABLES = 512  # more are not kept, which makes them unknown; states are copied often
_OPEN, _COMMA, _CLOSE, _SPLIT = "\4", "\5", "\6", "\7"
_ACTIVE = str.maketrans(
    {"*": STAR, "?": QUERY, "[": SET, "{": _OPEN, ",": _COMMA, "}": _CLOSE}
    | {chr(code): UNKNOWN for code in range(1, 9)}
)
_GLOBS = str.maketrans({"*": STAR, "?": QUERY, "[": SET, " ": _SPLIT, "\t": _SPLIT, "\n": _SPLIT})
_LITERAL = str.maketrans({_OPEN: "{", _COMMA: ",", _CLOSE: "}"})
_SPECIAL = re.compile(r"[*?\[{~\x00-\x08]")
_FORGED = re.compile("[\1-\x08]")
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9@*]")
_PARAMETER = re.compile(
    r"(?P<name>[A-Za-z_]\w*|[0-9@*])(?P<index>\[[@*]\])?"
    r"(?:(?P<op>:?[-=+?]|%%?|##?)(?P<word>.*))?",
    re.S,
)
_SEQUENCE = re.compile(
    r"(?:(-?\d{1,9})\.\.(-?\d{1,9})|([A-Za-z])\.\.([A-Za-z]))(?:\.\.-?(\d{1,9}))?"
)

Value = str | tuple[str, ...]


@dataclass(slots=True)
class Budget:
    """What one classification may still spend; at zero, doubt takes over."""

    characters: int = 1 << 18
    braces: int = MAX_BRACES
    iterations: int = 256
    calls: int = 256
    commands: int = 20_000

    def spend(self, what: str, amount: int = 1) -> bool:
        left: int = getattr(self, what) - amount
        if left < 0:
            setattr(self, what, 0)
            return False
        setattr(self, what, left)
        return True


@dataclass(slots=True)
class State:
    """What a shell process carries from one command to the next.

    `places` are the directories it may be in: one when that is certain, None in it when unknown.
    `strict` says that a command that fails ends the script (`set -e`); `doubted` are the functions
    that may as well not be defined.
    """

    places: tuple[str | None, ...]
    home: str
    variables: dict[str, Value] = field(default_factory=dict)
    previous: tuple[str | None, ...] = (None,)
    stack: list[tuple[str | None, ...]] = field(default_factory=list)
    functions: dict[str, Script] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    strict: bool = False
    doubted: frozenset[str] = frozenset()

    def copy(self) -> State:
        return State(
            self.places,
            self.home,
            dict(self.variables),
            self.previous,
            list(self.stack),
            dict(self.functions),
            dict(self.aliases),
            self.strict,
            self.doubted,
        )

    def assign(self, name: str, value: Value) -> None:
        """Set a variable, unless there are too many."""
        if len(self.variables) < MAX_VARIABLES or name in self.variables:
            self.variables[name] = value
        if name == "HOME" and isinstance(value, str):
            self.home = value

    def merge(self, other: State) -> None:
        """Become the state that holds if either this one or the other does."""
        self.places = tuple(dict.fromkeys(self.places + other.places))[:MAX_PLACES]
        for name in self.variables.keys() | other.variables.keys():
            if self.variables.get(name) != other.variables.get(name):
                self.variables[name] = UNKNOWN
        self.strict = self.strict and other.strict
        if self.home != other.home:
            self.home = UNKNOWN
        if self.functions != other.functions:
            self._merge_functions(other)
        self.aliases = other.aliases | self.aliases
        if self.stack != other.stack:
            self.stack = []

    def _merge_functions(self, other: State) -> None:
        """A function that may not be there is doubted; of two readings both are kept."""
        common = self.functions.keys() & other.functions.keys()
        missing = self.functions.keys() ^ other.functions.keys()
        both = {
            name: self.functions[name] + other.functions[name]
            for name in common
            if self.functions[name] != other.functions[name]
            and len(self.functions[name]) < MAX_VARIABLES
        }
        self.functions = other.functions | self.functions | both
        self.doubted = self.doubted | other.doubted | missing

    def lookup(self, name: str) -> Value | None:
        """A variable's value, None if the text does not set it."""
        if name in self.variables:
            return self.variables[name]
        if name == "HOME":
            return self.home
        if name == "PWD":
            return (self.places[0] or UNKNOWN) if len(self.places) == 1 else UNKNOWN
        if name == "OLDPWD":
            return (self.previous[0] or UNKNOWN) if len(self.previous) == 1 else UNKNOWN
        if name == "IFS":
            return " \t\n"
        return None


Outputs = Callable[[Script], str | None]


class Expander:
    """Expands words in a state; `outputs` tells what a substitution prints, where that is known."""

    __slots__ = ("budget", "outputs")

    def __init__(self, budget: Budget, outputs: Outputs) -> None:
        self.budget = budget
        self.outputs = outputs

    def arguments(self, words: tuple[Word, ...], state: State) -> list[str]:
        found: list[str] = []
        for word in words:
            parts = word.parts
            if len(parts) == 1 and parts[0].kind == "text":
                text = parts[0].text
                if text in ("[", "{}") or not (_FORGED if parts[0].quoted else _SPECIAL).search(
                    text
                ):
                    found.append(text)
                    continue
            found += self.fields(word, state)
        return found

    def fields(self, word: Word, state: State) -> list[str]:
        """The arguments one word becomes."""
        if self.budget.characters <= 0:
            return [UNKNOWN]
        text = self._marked(word, state)
        if not self.budget.spend("characters", len(text)):
            return [UNKNOWN]
        if _OPEN in text and len(text) > _MAX_BRACED:
            return [UNKNOWN]
        braced = self._braces(text) if _OPEN in text else [text]
        found: list[str] = []
        for item in braced:
            item = item.translate(_LITERAL)
            if _SPLIT in item:
                found += [piece for piece in item.split(_SPLIT) if piece]
            elif item or any(part.quoted for part in word.parts):
                found.append(item)
        return found

    def single(self, word: Word, state: State) -> str:
        """The word as one text: assignments and redirection targets are not split."""
        if self.budget.characters <= 0:
            return UNKNOWN
        text = self._marked(word, state).translate(_LITERAL)
        if not self.budget.spend("characters", len(text)):
            return UNKNOWN
        return text.replace(_SPLIT, " ").strip() if _SPLIT in text else text

    def assigned(self, word: Word, state: State) -> str:
        """The word as a variable's value: nothing is active in it but a leading `~`."""
        text = self.single(word, state)
        return text.translate({ord(STAR): "*", ord(QUERY): "?", ord(SET): "["})

    def heredoc(self, text: str, state: State) -> str:
        """A here-document's body with its parameters expanded."""
        try:
            word = Reader('"' + text.replace('"', '\\"') + '"').word()
        except Unreadable:
            return UNKNOWN
        return self.single(word, state)

    def _marked(self, word: Word, state: State) -> str:
        pieces = []
        for index, part in enumerate(word.parts):
            if part.kind == "text":
                text = part.text
                if part.quoted:
                    pieces.append(_FORGED.sub(UNKNOWN, text))
                    continue
                text = text.translate(_ACTIVE)
                if index == 0 and text.startswith("~"):
                    text = _tilde(text, state, last=len(word.parts) == 1)
                pieces.append(text)
            else:
                pieces.append(self._value(part, state))
        return "".join(pieces)

    def _value(self, part: Part, state: State) -> str:
        if part.kind == "variable":
            value = self._parameter(part.text, state)
        elif part.kind == "command":
            value = self.outputs(part.body)
        elif part.kind == "process":
            return "/dev/fd/63"
        elif part.kind == "pattern":
            return STAR
        else:
            value = None
        if value is None:
            return UNKNOWN
        if isinstance(value, tuple):
            return _SPLIT.join(value)
        return value if part.quoted else value.translate(_GLOBS)

    def _parameter(self, text: str, state: State) -> Value | None:
        if _NAME.fullmatch(text):
            return _positional(state.lookup(text), text)
        match = _PARAMETER.fullmatch(text)
        if not match:
            return None
        value = state.lookup(match["name"])
        if match["index"] or match["name"] in ("@", "*"):
            return value if isinstance(value, tuple) and not match["op"] else None
        op, word = match["op"] or "", match["word"] or ""
        if isinstance(value, tuple):
            return None
        if op.endswith(("-", "=")):
            return self._default(value, word, state)
        if value is None or UNKNOWN in value:
            return None
        if op.endswith("+"):
            return self._default(None, word, state)
        if op.startswith(("%", "#")):
            cost = len(value) * len(value) // 8  # every cut is tried against the pattern
            return _trim(value, op, word) if self.budget.spend("characters", cost) else None
        return value

    def _default(self, value: str | None, word: str, state: State) -> str | None:
        """`${V:-word}`: the value if the text sets one, else a guess that nothing else does."""
        if value:
            return value
        word = word.strip("\"'")
        if word.startswith("~"):
            word = _tilde(word, state, last=True)
        return None if re.search(r"[$`\\\x00-\x08]", word) else GUESS + word

    def _braces(self, text: str) -> list[str]:
        """Brace expansion over the marked text, within the one budget."""
        work, found = [text], []
        while work:
            item = work.pop()
            options = _expand_brace(item)
            if options is None:
                found.append(item)
            elif not (
                self.budget.spend("braces", len(options))
                and self.budget.spend("characters", len(item) * len(options))
            ):
                return [UNKNOWN]
            else:
                work.extend(reversed(options))
        return found


def _tilde(text: str, state: State, *, last: bool) -> str:
    """`~` and `~/…` are the home directory; `~user` is not known here."""
    head, slash, tail = text.partition("/")
    if head == "~" and (slash or last):
        return state.home + slash + tail
    if head == "~+" and len(state.places) == 1 and state.places[0]:
        return state.places[0] + slash + tail
    return UNKNOWN + slash + tail


def _positional(value: Value | None, name: str) -> Value | None:
    if isinstance(value, tuple) and name not in ("@", "*"):
        return value[0] if value else None  # `$array` is its first element
    return value


def _trim(value: str, op: str, pattern: str) -> str | None:
    """`${V%pattern}` and its three relatives, for plain patterns."""
    if re.search(r"[$`'\"\\\x00-\x08]", pattern) or len(value) > 1024:
        return None
    matches = re.compile(fnmatch.translate(pattern)).match
    if op[0] == "%":
        cuts: Iterator[int] = iter(
            range(len(value), -1, -1) if op == "%" else range(len(value) + 1)
        )
        return next((value[:cut] for cut in cuts if matches(value[cut:])), value)
    cuts = iter(range(len(value) + 1) if op == "#" else range(len(value), -1, -1))
    return next((value[cut:] for cut in cuts if matches(value[:cut])), value)


def _expand_brace(text: str) -> list[str] | None:
    """The texts the first expandable brace group makes of `text`; None if there is no group."""
    start = text.find(_OPEN)
    for _ in range(_GROUPS_TRIED):
        if start < 0:
            return None
        commas, close = _group(text, start)
        before = text[:start]
        if close < 0:  # bash expands what closes inside; here the rest of the word is unknown
            return [before + STAR] if _COMMA in text[start:] else None
        after, inner = text[close + 1 :], text[start + 1 : close]
        if commas:
            edges = [start, *commas, close]
            return [before + text[left + 1 : right] + after for left, right in pairwise(edges)]
        if (sequence := _sequence(inner)) is not None:
            return [before + item + after for item in sequence]
        start = text.find(_OPEN, start + 1)
    return [UNKNOWN]


def _group(text: str, start: int) -> tuple[list[int], int]:
    """The commas at the top level of the brace group at `start`, and where it closes (or -1)."""
    level, commas = 0, []
    for at in range(start, len(text)):
        character = text[at]
        if character == _OPEN:
            level += 1
        elif character == _COMMA and level == 1:
            commas.append(at)
        elif character == _CLOSE:
            level -= 1
            if level == 0:
                return commas, at
    return [], -1


def _sequence(inner: str) -> list[str] | None:
    match = _SEQUENCE.fullmatch(inner)
    if not match:
        return None
    if match[3]:
        first, last = ord(match[3]), ord(match[4])
    else:
        first, last = int(match[1]), int(match[2])
    if abs(last - first) > MAX_BRACES:
        return [STAR]
    size = int(match[5] or 1) or 1
    step = size if last >= first else -size
    numbers = range(first, last + (1 if step > 0 else -1), step)
    if match[3]:
        return [chr(number) for number in numbers]
    width = max(len(text) for text in match.group(1, 2)) if re.match("-?0\\d", inner) else 0
    return [str(number).zfill(width) for number in numbers]
