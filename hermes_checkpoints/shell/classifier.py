"""`classify`: the one question hosts ask, answered for every input, and remembered."""

from __future__ import annotations

import os
import re
from functools import lru_cache

from .effects import Effect, Effects, Kind
from .rules import CommandRules, Rules
from .script import MAX_LENGTH, parse
from .syntax import Opaque
from .walk import Walk

_UNSENDABLE = re.compile("[\0\ud800-\udc7f\udd00-\udfff]")  # no bytes stand for these
_CMDLETS = re.compile(  # a text that begins like this was most likely written for PowerShell
    r"\s*\(?(?:Get|Set|Add|Remove|New|Copy|Move|Rename|Clear|Out|Expand|Compress)-"
    r"(?:ChildItem|Item\w*|Content|Archive|File|Location)\b"
)
PARSERS = ("auto", "reader")
_PHRASES = {
    Kind.DELETE: "deletes",
    Kind.WRITE: "writes",
    Kind.CREATE: "creates",
    Kind.MOVE: "moves",
    Kind.APPEND: "appends to",
    Kind.MODE: "changes the metadata of",
    Kind.LINK: "replaces the link",
    Kind.GIT_WORKTREE: "changes the work tree at",
    Kind.UNKNOWN: "may change",
}


def classify(
    text: str,
    cwd: str | os.PathLike[str],
    *,
    rules: CommandRules | None = None,
    parser: str = "auto",
) -> Effects:
    """What the shell command `text`, started in `cwd`, does to which files.

    Never raises for any `text`, and answers in time linear in its length: what is not understood
    may change files. `rules` are the host's own; `parser` is `auto`, or `reader` to do without
    bashlex. Answers are remembered.
    """
    if parser not in PARSERS:
        raise ValueError(f"parser is one of {', '.join(PARSERS)}, not {parser!r}")
    # The shell that will run the text expands `~` from this environment; so must its reader.
    home = os.environ.get("HOME") or os.path.expanduser("~")
    place = os.fspath(cwd)
    return _classify(text, _normal(place) if os.path.isabs(place) else os.path.abspath(place),
                     home, rules, parser)  # fmt: skip


@lru_cache(maxsize=64)
def _normal(place: str) -> str:
    return os.path.abspath(place)


@lru_cache(maxsize=1024)
def _classify(text: str, cwd: str, home: str, rules: CommandRules | None, parser: str) -> Effects:
    if _UNSENDABLE.search(text):
        return _opaque("it contains characters no shell can be given")
    if len(text) > MAX_LENGTH:
        return _opaque("it is too long to read")
    walk = Walk(cwd, home, Rules(rules), lambda nested: parse(nested, parser))
    try:
        steps = parse(text, parser)
        if _CMDLETS.match(text) and (isinstance(steps, Opaque) or "\\" in text):
            with walk.guessing():  # beside what a POSIX shell makes of it
                walk.run(["pwsh", "-Command", text])
        if isinstance(steps, Opaque):
            walk.opaque(steps.why)
        else:
            walk.script(steps)
            walk.finish()
    except Exception as error:  # noqa: BLE001  # `classify` is total: a fault of ours is doubt
        walk.opaque(f"the classifier failed on it ({type(error).__name__})")
    effects = tuple(walk.found.values())
    return Effects(effects, _why(effects, walk))


def _opaque(why: str) -> Effects:
    effect = Effect(Kind.UNKNOWN, None, False, (why,))
    return Effects((effect,), f"The text may change any file: {why}.")


def _shown(text: str) -> str:
    """A text fit for one line of any terminal."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    return printable if len(printable) <= 100 else printable[:99] + "…"


def _why(effects: tuple[Effect, ...], walk: Walk) -> str:
    if walk.trouble:
        return f"The text may change any file: {_shown(walk.trouble)}."
    if not effects:
        named = _shown(", ".join(list(walk.programs)[:4]))
        return f"Nothing in it changes files ({named})." if named else "There is nothing to run."
    first = next((effect for effect in effects if effect.kind is not Kind.CREATE), effects[0])
    doubt = "" if first.certain or first.kind is Kind.UNKNOWN else "probably "
    path = _shown(first.path) if first.path else "files it does not name"
    sentence = f"{_shown(first.evidence[0])} {doubt}{_PHRASES[first.kind]} {path}"
    more = len(effects) - 1
    return sentence + (f", and {more} more effect{'s' if more > 1 else ''}." if more else ".")
