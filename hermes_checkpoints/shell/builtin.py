"""The shell's own commands: those that move it, set its names, or run text in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from .arguments import UNKNOWN, is_literal, source
from .call import Call
from .effects import Kind
from .words import State

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.S)
_FORMAT = re.compile(r"%(?:%|[-+ #0]*\d*(?:\.\d+)?[a-zA-Z])|\\([0-7]{1,3}|.)", re.S)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "a": "\a"}
_SUBSCRIPT = re.compile(r"\w\[[^\]]*(?:\$\(|`)")
_VENV = re.compile(r"(?:.*/)?(?:bin|Scripts)/activate(?:\.\w+)?")


def change_directory(call: Call) -> None:
    """`cd [DIR]`: from here on paths are relative to another directory."""
    walk, state = call.walk, call.walk.state
    operands = [arg for arg in call.args if arg == "-" or not arg.startswith("-")]
    before = state.places
    if not operands:
        state.places = walk.moved(state.home)
    elif operands[0] == "-":
        state.places = state.previous
    else:
        state.places = walk.moved(operands[0])
    state.previous = before


def push_directory(call: Call) -> None:
    """`pushd DIR`."""
    state = call.walk.state
    operands = [arg for arg in call.args if not arg.startswith(("-", "+"))]
    before = state.places
    if operands:
        state.stack.append(before)
        del state.stack[:-64]
        state.places = call.walk.moved(operands[0])
    elif state.stack:
        state.places = state.stack.pop()
        state.stack.append(before)
    else:
        state.places = (None,)
    state.previous = before


def pop_directory(call: Call) -> None:
    """`popd`."""
    state = call.walk.state
    state.previous = state.places
    state.places = state.stack.pop() if state.stack else (None,)


def evaluate(call: Call) -> None:
    """`eval WORD…`: the words are a script."""
    if call.args:
        call.shell(" ".join(map(source, call.args)), same_process=True)


def source_file(call: Call) -> None:
    """`. FILE`: unknown commands, except that a virtual environment's script is known."""
    if call.args and not _VENV.fullmatch(call.args[0]):
        call.unknown()


def trap(call: Call) -> None:
    """`trap COMMANDS SIGNAL…`: at the end, or whenever the signal comes."""
    args = [arg for arg in call.args if arg not in ("--", "-p", "-l")]
    if len(args) > 1 and args[0] not in ("-", ""):
        if any(signal.upper() in ("EXIT", "0", "SIGEXIT") for signal in args[1:]):
            call.walk.traps.append((source(args[0]), (call.name, source(args[0])[:60])))
        else:
            call.shell(source(args[0]), same_process=False)


def alias(call: Call) -> None:
    """`alias NAME=TEXT…`."""
    for arg in call.args:
        name, equals, text = arg.partition("=")
        if equals:
            call.walk.define(call.walk.state.aliases, name, source(text))


def unalias(call: Call) -> None:
    """`unalias NAME…`."""
    for arg in call.args:
        call.walk.state.aliases.pop(arg, None)


def export(call: Call) -> None:
    """`export`, `declare`, `local`, `readonly`: assignments given as arguments."""
    variables = call.walk.state.variables
    evaluates(call)
    for arg in call.args:
        match = _ASSIGNMENT.fullmatch(arg)
        if match:
            value = source(match[3])
            old = variables.get(match[1], UNKNOWN)
            if match[2]:
                value = old + value if isinstance(old, str) else UNKNOWN
            if call.name in ("local", "declare", "typeset"):
                call.walk.local(match[1])
            call.walk.state.assign(match[1], value)
            call.walk.named(match[1], value)


def unset(call: Call) -> None:
    """`unset NAME…`."""
    for arg in call.args:
        call.walk.state.assign(arg, "")
        call.walk.state.functions.pop(arg, None)


def set_options(call: Call) -> None:
    """`set -e` ends the script at a failure; `set -- WORD…` sets positional parameters."""
    for arg in call.args:
        if arg == "--":
            break
        if re.fullmatch(r"[-+][a-z]*e[a-z]*|errexit", arg):
            call.walk.state.strict = arg[0] != "+"
    if "--" in call.args:
        call.walk.set_positional(call.args[call.args.index("--") + 1 :])


def shift(call: Call) -> None:
    """`shift [N]`."""
    walk = call.walk
    old = walk.state.variables.get("@")
    count = int(call.args[0]) if call.args and call.args[0].isdigit() else 1
    walk.set_positional(list(old[count:]) if isinstance(old, tuple) else [UNKNOWN] * 9)


def read_names(call: Call) -> None:
    """`read NAME…`, `mapfile NAME`, `getopts …`: variables whose value is not known."""
    if call.name in ("mapfile", "readarray"):
        for text in call.parse(("-d", "-n", "-O", "-s", "-u", "-C", "-c")).values("-C"):
            call.shell(source(text))
    evaluates(call)
    for arg in call.args:
        if arg.isidentifier():
            call.walk.state.assign(arg, UNKNOWN)


def print_formatted(call: Call) -> None:
    """`printf`: only `-v NAME` has an effect here."""
    if call.args[:1] == ["-v"] and len(call.args) > 2:
        evaluates(call)
        call.walk.state.assign(call.args[1], formatted(call.args[2:]))


def evaluates(call: Call) -> None:
    """Commands that evaluate the subscript of a variable's name, and what is substituted in it."""
    if any(_SUBSCRIPT.search(arg) for arg in call.args):
        call.unknown("a subscript")


def completions(call: Call) -> None:
    """`compgen -C COMMAND`, `compgen -F FUNCTION`: they are run."""
    parsed = call.parse(("-C", "-F", "-A", "-G", "-P", "-S", "-W", "-X"))
    if call.name == "compgen":
        for text in parsed.values("-C", "-F"):
            call.shell(source(text), same_process=True)


def remember(call: Call) -> None:
    """`hash -p PATH NAME`: from here on NAME runs PATH."""
    if len(call.args) > 2 and call.args[0] == "-p":
        for name in call.args[2:]:
            call.walk.define(call.walk.state.aliases, name, source(call.args[1]))


def history(call: Call) -> None:
    """`history -w FILE` writes the list to a file."""
    parsed = call.parse(("-d",))
    if parsed.has("-w", "-a"):
        kind = Kind.WRITE if parsed.has("-w") else Kind.APPEND
        call.effects(kind, parsed.operands[:1])


def nothing(call: Call) -> None:
    """A command that changes nothing outside the shell."""


def printed(args: list[str], state: State) -> str | None:
    """What a command prints, if the text tells; None otherwise."""
    if not args:
        return None
    name, rest = args[0].rpartition("/")[2], args[1:]
    if name == "echo":
        words = list(rest)
        escapes = False
        while words and re.fullmatch(r"-[neE]+", words[0]):
            escapes = escapes or "e" in words.pop(0)
        text = " ".join(map(source, words))
        return formatted([text.replace("%", "%%")]) if escapes else text
    if name == "printf" and rest:
        return formatted(rest[1:] if rest[0] == "--" else rest)
    if name == "pwd":
        return state.places[0] if len(state.places) == 1 else None
    if name in ("dirname", "basename") and len(rest) == 1 and is_literal(rest[0]):
        head, _, tail = rest[0].rstrip("/").rpartition("/")
        return tail if name == "basename" else (head or ".")
    return None


def formatted(args: list[str]) -> str:
    """The text `printf FORMAT ARG…` makes, its format reused until the arguments are used up."""
    template, values = source(args[0]), [source(arg) for arg in args[1:]]
    pieces: list[str] = []

    def fill(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        if match[1]:
            octal = match[1].isdigit() and match[1] != "8" and match[1] != "9"
            if octal:  # NUL ends an item for `xargs -0`; the shell itself drops it
                return chr(int(match[1], 8) & 255) if match[1].strip("0") else "\n"
            return _ESCAPES.get(match[1], match[0])
        return values.pop(0) if values else ""

    while True:
        left = len(values)
        pieces.append(_FORMAT.sub(fill, template))
        if not values or len(values) == left or len(pieces) > 1000:
            break
    return "".join(pieces)


_CHANGE_SHELL: dict[str, Callable[[Call], None]] = {
    "cd": change_directory,
    "chdir": change_directory,
    "pushd": push_directory,
    "popd": pop_directory,
    "eval": evaluate,
    ".": source_file,
    "source": source_file,
    "trap": trap,
    "alias": alias,
    "unalias": unalias,
    "export": export,
    "declare": export,
    "typeset": export,
    "local": export,
    "readonly": export,
    "unset": unset,
    "set": set_options,
    "shift": shift,
    "read": read_names,
    "mapfile": read_names,
    "readarray": read_names,
    "getopts": read_names,
    "printf": print_formatted,
    "hash": remember,
    "compgen": completions,
    "complete": completions,
    "[": evaluates,
    "test": evaluates,
    "let": evaluates,
    "history": history,
}
_HARMLESS = (

        ":", "true", "false", "echo", "pwd", "dirs", "exit", "return", "break",
        "continue", "wait", "jobs", "bg", "fg", "kill", "type", "help",
        "shopt", "ulimit", "umask", "times", "disown", "suspend", "logout", "bind",
        "compopt", "enable", "caller", "setopt", "unsetopt", "autoload", "rehash",
    )  # fmt: skip
BUILTINS: Mapping[str, Callable[[Call], None]] = {
    **_CHANGE_SHELL,
    **dict.fromkeys(_HARMLESS, nothing),
}
