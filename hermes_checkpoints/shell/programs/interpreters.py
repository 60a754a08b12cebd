"""Shells and interpreters: code on the command line or on standard input, and scripts."""

from __future__ import annotations

import re

from ..apply import looks_like_path
from ..arguments import UNKNOWN, source, words
from ..call import Call
from ..effects import Kind
from .code import scan_code

_INLINE = {  # interpreter -> options whose value is code
    "python": ("-c",), "node": ("-e", "--eval", "-p", "--print", "-pe"), "deno": (),
    "bun": ("-e", "--eval", "-p", "--print"), "php": ("-r", "-B", "-R", "-E"), "lua": ("-e",),
    "Rscript": ("-e",), "R": ("-e",), "osascript": ("-e",), "elixir": ("-e", "--eval"),
    "groovy": ("-e",), "julia": ("-e", "-E", "--eval", "--print"), "scala": ("-e",),
    "tclsh": (), "ghc": ("-e",), "clojure": ("-e", "--eval"), "bb": ("-e",), "racket": ("-e",),
    "guile": ("-c",), "swift": ("-e",), "ts-node": ("-e", "--eval", "-p"), "tsx": ("-e", "--eval"),
    "irb": (), "perl": (), "ruby": (), "coffee": ("-e",), "raku": ("-e",), "java": (),
    "ocaml": ("-e",), "nix": (),
}  # fmt: skip
_VALUED = {
    "python": ("-W", "-X", "--check-hash-based-pycs"),
    "node": ("-r", "--require", "--import", "--loader", "--input-type", "-C", "--env-file"),
    "php": ("-d", "-c", "-S", "-t", "-z"),
    "java": ("-cp", "-classpath", "--class-path", "-p"),
}
_CHECKS = {
    "python": ("-V", "--version", "-h", "--help", "-VV"),
    "node": ("-v", "--version", "-h", "--help", "-c", "--check"),
    "php": ("-v", "-l", "-i", "-m", "--version", "--ini", "-h"),
    "java": ("-version", "--version", "-h", "-help"),
    "deno": ("-V", "--version", "-h", "--help"),
}
_ATTACHED = ("php", "lua", "Rscript", "julia", "ocaml", "raku")  # `-eCODE` is one word
_SHELL_VALUED = frozenset(("-o", "+o", "-O", "+O", "--rcfile", "--init-file"))


def shell(call: Call) -> None:
    """sh, bash and kin: `-c TEXT`, a script file, or text on standard input."""
    args, at, code, checks = call.args, 0, False, False
    while at < len(args):
        arg = args[at]
        if arg in _SHELL_VALUED or (re.fullmatch(r"-[a-zA-Z]*o", arg) and "c" not in arg):
            at += 2
            continue
        if arg in ("--version", "--help"):
            return
        if not arg.startswith(("-", "+")) or arg in ("-", "--"):
            at += arg in ("-", "--")
            break
        if not arg.startswith("--"):
            checks = checks or "n" in arg[1:]
            code = code or "c" in arg[1:]
            if arg == "-s":
                at = len(args) if call.stdin is not None else at + 1
                break
            at += arg.startswith("-") and arg.endswith("o")
        at += 1
    rest = args[at:]
    if checks:
        return
    if code:
        if rest:
            with call.walk.positional(rest[2:]):
                call.shell(source(rest[0]))
    elif rest and not (rest[0] == "/dev/stdin" and call.stdin is not None):
        call.unknown("a script")
    elif call.stdin:
        with call.walk.positional(rest[1:]):
            call.shell(call.stdin)


def interpret(call: Call) -> None:
    """Any other interpreter."""
    language = _language(call.name)
    args = call.args
    if language in ("perl", "ruby"):
        _line_language(call, language)
        return
    if language == "deno" and args[:1] == ["eval"]:
        scan_code(call, language, next((a for a in args[1:] if not a.startswith("-")), UNKNOWN))
        return
    if language in ("deno", "bun") and args and not args[0].startswith("-") and args[0] != "run":
        _toolchain(call, language)
        return
    at = 0
    while at < len(args):
        arg = args[at]
        following = args[at + 1] if at + 1 < len(args) else UNKNOWN
        code = _inline(language, arg, following)
        if code is not None:
            scan_code(call, language, code)
            return
        if language == "python" and arg.startswith("-m"):
            module = arg[2:] or following
            rest = args[at + 1 :] if arg[2:] else args[at + 2 :]
            run_module(call, module, rest)
            return
        if arg in _CHECKS.get(language, ("--version", "--help", "-v", "-V")):
            return
        if arg in ("-", "/dev/stdin"):
            break
        if arg in _VALUED.get(language, ()):
            at += 2
        elif arg.startswith("-") and arg != "--":
            at += 1
        else:
            _script_file(call, args[at:])
            return
    if call.stdin:
        scan_code(call, language, call.stdin)


def _inline(language: str, arg: str, following: str) -> str | None:
    """The code an option gives: in the next argument, after `=`, or right behind the letter."""
    options = _INLINE[language]
    if arg in options:
        return following
    name, equals, value = arg.partition("=")
    if equals and name.startswith("--") and name in options:
        return value
    if language == "python" and (flags := re.match(r"-[bBdEiIOPqsSuvx]*c", arg)):
        return arg[flags.end() :] or following
    if language in _ATTACHED and arg[:2] in options and arg[1] != "-":
        return arg[2:]
    return None


def _script_file(call: Call, words: list[str]) -> None:
    call.unknown("a script")
    for word in words[1:]:
        value = word.partition("=")[2] if word.startswith("-") else word
        if value and looks_like_path(value):
            call.effect(Kind.UNKNOWN, value, certain=False)


_SAME_LANGUAGE = {
    "pypy": "python", "py": "python", "ipython": "python", "pythonw": "python", "nodejs": "node",
    "luajit": "lua", "clj": "clojure", "runghc": "ghc", "ghci": "ghc", "jruby": "ruby",
}  # fmt: skip


def _language(name: str) -> str:
    base = re.sub(r"[\d.]+$", "", name)
    base = _SAME_LANGUAGE.get(base, base)
    return base if base in _INLINE else "python"


def _toolchain(call: Call, language: str) -> None:
    """`deno fmt`, `bun install`: the interpreters that are also package managers."""
    verb = call.args[0]
    if verb in ("fmt", "install", "add", "remove", "update", "upgrade", "init", "cache", "link",
                "unlink", "create", "patch", "outdated", "clean", "i", "rm"):  # fmt: skip
        if verb == "outdated" or "--check" in call.args:
            return
        call.here(Kind.WRITE, verb)
    elif verb in ("check", "lint", "info", "doc", "types", "help", "pm", "why", "lsp", "audit"):
        if "--fix" in call.args:
            call.here(Kind.WRITE, "--fix")
    elif verb == "test":
        call.effect(Kind.CREATE, UNKNOWN)
    elif verb in ("x", "exec"):
        call.run(call.args[1:])
    else:
        call.here(Kind.UNKNOWN, verb)


def _line_language(call: Call, language: str) -> None:
    """perl and ruby: `-i` edits files in place, `-e` has code."""
    in_place, suffix, at, args = False, "", 0, call.args
    programs: list[str] = []
    files: list[str] = []
    while at < len(args):
        arg = args[at]
        at += 1
        if files or not arg.startswith("-") or len(arg) < 2:
            files.append(arg)
            continue
        if arg in ("-v", "-V", "--version", "--help", "-c", "-wc", "-h"):
            return
        if arg == "--":
            files += args[at:]
            break
        body = arg[1:]
        switches = re.match(r"(?:[acflnpsSTuUwWX]|[0l]\d*|F[^ei]*)*", body)
        rest = body[switches.end() :] if switches else body
        if rest.startswith("i"):
            in_place, suffix, rest = True, rest[1:], ""
        if rest[:1] in ("e", "E"):
            programs.append(rest[1:] or (args[at] if at < len(args) else UNKNOWN))
            at += 0 if rest[1:] else 1
        elif arg in ("-I", "-M", "-r", "-C"):
            at += 1
    if in_place:
        call.effects(Kind.WRITE, files)
        if suffix.startswith("."):
            call.effects(Kind.WRITE, [file + suffix for file in files])
    elif programs:
        for program in programs:
            scan_code(call, language, program)
    elif files and files[:1] not in (["-"], ["/dev/stdin"]):
        _script_file(call, files)
    elif call.stdin:
        scan_code(call, language, call.stdin)


def run_module(call: Call, module: str, rest: list[str]) -> None:
    """`python -m MODULE`: the same tool under its module's name, or unknown code."""
    if module in ("zipfile", "tarfile"):
        call.walk.run(["python-archive", *rest])
    elif module == "json.tool":
        operands = [arg for arg in rest if not arg.startswith("-")]
        call.effects(Kind.WRITE, operands[1:2]) if len(operands) > 1 else None
    elif module == "timeit":
        _timed(call, rest)
    elif module == "sqlite3" and len(rest) > 1:
        call.walk.run(["sqlite3", *rest])
    elif module == "gzip":
        _gzipped(call, rest)
    elif module in _QUIET_MODULES or rest[:1] in (["--help"], ["--version"]):
        return
    elif module in ("venv", "virtualenv"):
        call.effects(Kind.CREATE, [arg for arg in rest if not arg.startswith("-")])
    else:
        name = _MODULE_PROGRAMS.get(module, module)
        if call.walk.rules.find(name) is not None:
            call.walk.run([name, *rest], call.stdin)
        else:
            _script_file(call, [module, *rest])


def _timed(call: Call, rest: list[str]) -> None:
    """`python -m timeit`: its operands and its set-up are code."""
    takes = ("-n", "-r", "-s", "-u", "--number", "--repeat", "--setup", "--unit")
    parsed = Call(call.walk, call.name, rest).parse(takes, style="first")
    for code in ("\n".join(parsed.values("-s", "--setup")), "\n".join(parsed.operands)):
        if code:
            scan_code(call, "python", code)


def _gzipped(call: Call, rest: list[str]) -> None:
    """`python -m gzip FILE` writes FILE.gz, `-d FILE.gz` writes FILE; both keep the input."""
    for file in (arg for arg in rest if not arg.startswith("-")):
        unpacks = any(arg in ("-d", "--decompress") for arg in rest)
        call.effect(Kind.WRITE, file.removesuffix(".gz") if unpacks else file + ".gz")


_QUIET_MODULES = words(
    """
    http.server site this dis calendar platform sysconfig tokenize ast pydoc tabnanny
    py_compile compileall doctest ensurepip inspect locale webbrowser keyword base64 quopri
    symtable token asyncio pstats
    """
)
_MODULE_PROGRAMS = {"nose2": "pytest", "pip._internal": "pip", "IPython": "ipython",
                    "PyInstaller": "pyinstaller", "sphinx": "sphinx-build",
                    "pre_commit": "pre-commit", "http": "http"}  # fmt: skip
