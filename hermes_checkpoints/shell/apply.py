"""A rule applied to a call: from operands and options to effects."""

from __future__ import annotations

import re

from .arguments import UNKNOWN, Parsed, is_url, source
from .call import Call
from .effects import Kind
from .rules.grammar import Action, Rule

_PATH_LIKE = re.compile(r"~?[./]|.*/|.*\.[A-Za-z0-9]{1,8}$")


def looks_like_path(argument: str) -> bool:
    """Whether a word is more likely a path than a name, a number or a setting."""
    if is_url(argument) or UNKNOWN in argument or len(argument) > 300:
        return False
    argument = source(argument)
    return bool(_PATH_LIKE.match(argument)) and not re.search(r"[\s=:;(){}@<>|]", argument)


def apply(rule: Rule, call: Call) -> None:
    """Report what `rule` says the call does."""
    parsed = call.parse(rule.takes, rule.knows, style=rule.style)
    words = {*parsed.options, *parsed.operands[:1]}
    if rule.harmless & words:
        return
    if rule.needed and not rule.needed & words:
        return
    with call.walk.working_in(parsed.values(*rule.cwd)):
        parsed.operands += parsed.values(*rule.into)
        for action in rule.actions:
            if action.given and not action.given & words:
                continue
            if action.absent & words:
                continue
            _act(action, call, parsed)
        for text in parsed.values(*rule.scripts):
            call.shell(text)
        if rule.runs is not None:
            rest = parsed.operands[rule.runs :]
            if rest:
                call.run(rest)


_OUTPUT = re.compile(  # long options whose value is a file to write, in most programs there are
    r"--?(?:out|outfile|out-?(?:file|dir|put.*)|output|export-.+|(?:report|results?|save)-?(?:file|to|path|dir)?"
    r"|write-?to|dump-file|dest(?:ination)?(?:-dir)?|junit-?xml|html-report|to-file)(?:=(.*))?",
    re.I | re.S,
)


def report_outputs(call: Call, *short: str) -> None:
    """What a program that only reads writes all the same: the values of its output options.

    `short` are the one-letter options that name an output of this program, too. A value that does
    not look like a path is a format (`--output json`).
    """
    args = call.args
    for at, arg in enumerate(args):
        if arg == "--":
            return
        if arg[:1] != "-" or len(arg) < 2:
            continue
        following = args[at + 1] if at + 1 < len(args) else ""
        value: str | None = None
        if arg in short:
            value = following
        elif arg[:2] in short and arg[1] != "-":
            value = arg[2:].removeprefix("=")
        elif match := _OUTPUT.fullmatch(arg):
            value = following if match[1] is None else match[1]
        if value and value[0] != "-" and looks_like_path(value):
            call.effect(Kind.WRITE, value, certain=False)


def _act(action: Action, call: Call, parsed: Parsed) -> None:
    for where in action.where:
        place, _, default = where.partition("|")
        if default and not _targets(place, parsed, call):
            place = default
        if place == "cwd":
            call.here(action.kind)
            continue
        for target in _targets(place, parsed, call):
            call.effect(action.kind, target, certain=action.certain)


def _targets(place: str, parsed: Parsed, call: Call) -> list[str]:
    operands = parsed.operands
    if place == "all":
        return operands
    if place == "nowhere":
        return [UNKNOWN]
    if place == "first":
        return operands[:1]
    if place == "last":
        return operands[-1:]
    if place == "but-last":
        return operands[:-1]
    if place == "paths":
        return [operand for operand in operands if looks_like_path(operand)]
    if place == "after--":
        return operands[parsed.after :] if parsed.after is not None else []
    if place[0] == "@":
        return [call.walk.state.home + place[2:] if place[1] == "~" else place[1:]]
    if place[0].isdigit():
        start = int(place.rstrip("-")) - 1
        return operands[start:] if place.endswith("-") else operands[start : start + 1]
    return parsed.values(place)
