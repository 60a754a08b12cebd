"""Stream editors and editors in batch mode: sed, awk, and what is like them."""

from __future__ import annotations

import re

from ..apply import looks_like_path
from ..arguments import UNKNOWN, is_literal
from ..call import MAX_CODE, Call
from ..effects import Kind

_SED_WRITE = re.compile(r"(?:^|[;{}\n/0-9$,!]|(?<=\s))\s*[wW]\s+([^\n;}]+)")
_SED_SUBSTITUTE = re.compile(
    r"s([^\\\n\w\s])(?:\\.|(?!\1).)*\1(?:\\.|(?!\1).)*\1([gpiIMm0-9e]*)(?:w\s*([^\n]+))?", re.S
)
_SED_EXECUTE = re.compile(
    r"(?:^|[;{}\n])\s*(?:\d+|\$)?(?:,(?:\d+|\$))?!?\s*e(?:\s+([^\n]+)|\s*(?=[;}\n]|$))"
)
_EDITOR_WRITES = re.compile(
    r"(?m)^[\s:]*(?:[%\d,$.']*\s*)?w(?:rite)?!?\s+(?:>>\s*)?(?!!)(\S[^|\n]*)"
)
_EDITOR_SHELL = re.compile(
    r"(?m)^[\s:]*(?:[%\d,$.']*\s*)?(?:w\s*|r\s*)?!\s*(\S.*)$|\bsystem\(['\"]([^'\"]*)['\"]"
)
_EDITOR_OPENS = re.compile(
    r"(?m)^[\s:]*(?:e|edit|sav|saveas|f|file|cd|sp|vs|new|tabe\w*)!?\s+(\S+)"
)
_AWK_OUTPUT = re.compile(
    r"\b(?:print|printf)\b[^;}\n|]{0,500}?(?<![=<>!(])>{1,2}\s*(\"(?:[^\"\\]|\\.){0,2000}\"|[\w$]+)([^;}\n]*)"
)
_AWK_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"?')  # never fails, so it is linear
_AWK_SYSTEM = re.compile(r'system\s*\(\s*"((?:[^"\\]|\\.){0,2000})"\s*\)')
_AWK_PIPE = re.compile(r'\|\s*"((?:[^"\\]|\\.){0,2000})"|"((?:[^"\\]|\\.){0,500})"\s*\|\s*getline')
_LINE_OPTIONS = "EnrsuzbplaHLR"  # sed's options without a value, GNU and BSD


def sed(call: Call) -> None:
    """sed: `-i` edits the files; without it a script can still write or execute."""
    scripts: list[str] = []
    operands: list[str] = []
    in_place, suffix, at, args = False, "", 0, call.args
    while at < len(args):
        arg = args[at]
        at += 1
        if arg == "--":
            operands += args[at:]
            break
        if arg.startswith("--"):
            name, _, value = arg.partition("=")
            if "--in-place".startswith(name) and len(name) > 3:
                in_place, suffix = True, value
            elif "--expression".startswith(name) or name == "--file":
                scripts.append(value or (args[at] if at < len(args) else UNKNOWN))
                at += 0 if value else 1
        elif arg.startswith("-") and len(arg) > 1:
            body = arg[1:].lstrip(_LINE_OPTIONS)
            if body[:1] in ("i", "I"):
                in_place, suffix = True, body[1:]
            elif body[:1] in ("e", "f"):
                script = body[1:] or (args[at] if at < len(args) else UNKNOWN)
                at += 0 if body[1:] else 1
                scripts.append(script if body[0] == "e" else UNKNOWN)
        else:
            operands.append(arg)
    if in_place and operands[:1] == [""]:
        operands = operands[1:]  # BSD: `-i ''`
    if not scripts and operands:
        scripts.append(operands.pop(0))
    if in_place:
        call.effects(Kind.WRITE, operands)
        if suffix and is_literal(suffix) and "*" not in suffix and not suffix.startswith("'"):
            call.effects(Kind.WRITE, [f"{file}{suffix}" for file in operands])
    for script in scripts:
        _sed_script(call, script)


def _sed_script(call: Call, script: str) -> None:
    if len(script) > MAX_CODE:
        call.unknown("a long script")
        return
    if UNKNOWN in script:
        return  # a part of a pattern, as a rule; the program text itself comes from a variable
    bare = _SED_SUBSTITUTE.sub(" ; ", script)
    for match in _SED_SUBSTITUTE.finditer(script):
        if match[3]:
            call.effect(Kind.WRITE, match[3].strip())
        if "e" in match[2]:
            call.unknown("s///e")
    for match in _SED_WRITE.finditer(bare):
        call.effect(Kind.WRITE, match[1].strip())
    for match in _SED_EXECUTE.finditer(bare):
        call.shell(match[1]) if match[1] else call.unknown("e")


def awk(call: Call) -> None:
    """awk: `-i inplace`, redirections inside the program, and system()."""
    takes: tuple[str, ...] = (
        "-F", "-v", "-f", "-i", "-l", "-e", "--field-separator", "--assign", "--file",
        "--include", "--source", "--load",
    )  # fmt: skip
    parsed = call.parse(takes)
    operands = parsed.operands
    programs = parsed.values("-e", "--source")
    if parsed.has("-f", "--file"):
        call.unknown("-f")
    elif not programs and operands:
        programs, operands = operands[:1], operands[1:]
    if "inplace" in parsed.values("-i", "--include"):
        call.effects(Kind.WRITE, [file for file in operands if "=" not in file])
    for program in programs:
        _awk_program(call, program)


def _awk_program(call: Call, program: str) -> None:
    if len(program) > MAX_CODE:
        call.unknown("a long program")
        return
    program = re.sub(r"(?m)#[^\n\"]*$", "", program)
    for match in _AWK_OUTPUT.finditer(program):
        target, rest = match[1], match[2].strip()
        if target[0] == '"' and not rest.startswith(('"', "$", "(")):
            call.effect(Kind.WRITE, target[1:-1])
        elif target.isdigit() and not rest:
            call.effect(Kind.WRITE, target)
        elif not _is_comparison(program[match.start() : match.end()]):
            call.effect(Kind.WRITE, UNKNOWN)
    for match in _AWK_SYSTEM.finditer(program):
        call.shell(match[1].replace('\\"', '"'))
    if re.search(r"\bprintf?\b[^;}\n|]{0,500}>{1,2}\s*\(", program):
        call.effect(Kind.WRITE, UNKNOWN)
    for match in _AWK_PIPE.finditer(program) if "|" in program else ():
        text = (match[1] or match[2] or "").replace('\\"', '"')
        call.shell(text)
        if match[1] and re.fullmatch(
            r"\s*(?:/bin/)?(?:sh|bash|zsh|dash|ksh)\b(?:\s+-\w+)*\s*", text
        ):
            call.unknown("what it prints is run")
    rest = _AWK_SYSTEM.sub("", program)
    rest = _AWK_PIPE.sub("", rest) if "|" in rest else rest
    if re.search(r"\bsystem\s*\(|\|\s*[a-z_]\w*\s*[;}]|\|\s*\"", _AWK_STRING.sub('""', rest)):
        call.unknown("system()")


def _is_comparison(statement: str) -> bool:
    """Whether the `>` of a print statement stands in parentheses or after a `?`-less ternary."""
    head = statement.rpartition(">")[0]
    return head.count("(") > head.count(")")


def line_editor(call: Call) -> None:
    """ed and ex read commands and write the file they were given."""
    operands = call.parse(("-p", "-c", "--cmd", "-S", "-u", "-s")).operands
    files = [file for file in operands if not file.startswith("+")]
    if call.name in ("ed", "red"):
        files = call.parse(("-p",)).operands
    commands = [*call.parse(("-c", "--cmd", "-S", "-u")).values("-c", "--cmd"), call.stdin or ""]
    _edits(call, [*commands, *(file[1:] for file in call.args if file.startswith("+"))])
    if not files:
        return
    call.effects(Kind.WRITE, files, certain=not call.stdin)


def _edits(call: Call, commands: list[str]) -> None:
    """What an editor's own commands write elsewhere, and what they run."""
    text = "\n".join(commands)[:MAX_CODE]
    for match in _EDITOR_WRITES.finditer(text):
        call.effect(Kind.WRITE, match[1].strip(), certain=False)
    for match in _EDITOR_OPENS.finditer(text):
        call.effect(Kind.WRITE, match[1], certain=False)
    for match in _EDITOR_SHELL.finditer(text):
        call.shell(match[1] or match[2])


def screen_editor(call: Call) -> None:
    """vi and its kin: with commands they edit in batch; else a person does, later."""
    takes: tuple[str, ...] = (
        "-c", "-S", "-s", "--cmd", "-u", "-i", "-T", "-W", "-w", "--eval", "-e", "-f", "-l",
        "--load", "--funcall", "-q",
    )  # fmt: skip
    if call.name in ("vi", "vim", "nvim", "view", "gvim"):
        takes = ("-c", "-S", "--cmd", "-u", "-i", "-T", "-W", "-w")
    parsed = call.parse(takes, ("-es", "-Es", "-R", "--batch"))
    if call.name in ("vi", "vim", "nvim", "view", "gvim"):
        told = [file[1:] for file in parsed.operands if file.startswith("+")]
        _edits(call, [*parsed.values("-c", "--cmd"), *told])
    if parsed.has("-R") or call.name == "view":
        return
    files = [file for file in parsed.operands if not file.startswith("+")]
    if files:
        call.effects(Kind.WRITE, files)
    elif parsed.has("-c", "-S", "--eval", "--batch", "-f", "-l", "-es"):
        call.unknown()


def yaml_edit(call: Call) -> None:
    """yq: `-i` edits the files among its operands."""
    parsed = call.parse(("-p", "-o", "-s", "--from-file", "-I", "--indent", "--split-exp"),
                        ("--inplace", "--in-place"))  # fmt: skip
    if parsed.has("-i", "--inplace", "--in-place"):
        files = [operand for operand in parsed.operands if looks_like_path(operand)]
        call.effects(Kind.WRITE, files or parsed.operands[-1:])
    if parsed.has("-s", "--split-exp"):
        call.here(Kind.WRITE, "-s")
