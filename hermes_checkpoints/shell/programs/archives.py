"""Archives and compressors: what they unpack, write, replace and remove."""

from __future__ import annotations

import re

from ..arguments import UNKNOWN, Parsed, words
from ..call import Call
from ..effects import Kind

_PACKED = re.compile(r"(.+)\.(?:gz|bz2|xz|zst|lz4|lzma|lz|br|Z)$")
_SUFFIXES = {
    "gzip": ".gz", "pigz": ".gz", "bzip2": ".bz2", "pbzip2": ".bz2", "lbzip2": ".bz2",
    "xz": ".xz", "pxz": ".xz", "zstd": ".zst", "zstdmt": ".zst", "pzstd": ".zst", "lz4": ".lz4",
    "lzma": ".lzma", "compress": ".Z", "lzip": ".lz", "brotli": ".br",
}  # fmt: skip
_KEEPS = ("zstd", "unzstd", "zstdmt", "pzstd", "lz4", "unlz4", "brotli", "unbrotli")
_TAR_TAKES = words(
    """
    -f -C -T -X -g -b -N -I -K -V -F -H -L --file --directory --exclude --transform
    --strip-components --files-from --exclude-from --owner --group --mode --mtime
    --use-compress-program --to-command --listed-incremental --one-top-level --xform --newer
    --suffix --format --checkpoint-action --index-file --volno-file --info-script
    --new-volume-script --rsh-command
    """
)
_TAR_RUNS = words(
    """
    --to-command --use-compress-program -I -F --info-script --new-volume-script --rsh-command
    """
)
_TAR_KNOWS = words(
    """
    --extract --get --list --create --append --update --delete --concatenate --catenate --diff
    --compare --to-stdout --remove-files --keep-old-files --skip-old-files --unlink-first
    """
)


def tar(call: Call) -> None:
    """tar: extracts below `-C`, or writes the archive."""
    args = list(call.args)
    if args and args[0] and not args[0].startswith("-"):
        args = _from_bundle(args)
    parsed = Call(call.walk, call.name, args).parse(_TAR_TAKES, _TAR_KNOWS)
    for command in parsed.values(*_TAR_RUNS):
        call.shell(command)
    for action in parsed.values("--checkpoint-action"):
        if action.startswith("exec="):
            call.shell(action[5:])
    for path in parsed.values("--index-file", "--volno-file"):
        call.effect(Kind.WRITE, path)
    if parsed.has("-x", "--extract", "--get"):
        if not parsed.has("-O", "--to-stdout", "--to-command"):
            places = parsed.values("--one-top-level") or parsed.values("-C", "--directory")
            call.effect(Kind.WRITE, places[-1] if places else ".", certain=False)
    elif parsed.has("-c", "-r", "-u", "-A", "--create", "--append", "--update", "--delete",
                    "--concatenate", "--catenate"):  # fmt: skip
        call.effects(Kind.WRITE, parsed.values("-f", "--file") or ["-"])
        for snapshot in parsed.values("-g", "--listed-incremental"):
            call.effect(Kind.WRITE, snapshot)
        if parsed.has("--remove-files"):
            with call.walk.working_in(parsed.values("-C", "--directory")):
                call.effects(Kind.DELETE, parsed.operands)
    elif not parsed.has("-t", "--list", "-d", "--diff", "--compare", "--help", "--version"):
        call.unknown()


def _from_bundle(args: list[str]) -> list[str]:
    """`tar xzf a.tar -C d`: the first word is options without a dash, values follow in order."""
    rest, options = args[1:], []
    for letter in args[0]:
        options.append("-" + letter)
        if "-" + letter in _TAR_TAKES and rest:
            options.append(rest.pop(0))
    return options + rest


def compressor(call: Call) -> None:
    """gzip and its kin replace FILE with FILE.gz, or back; `-k` and `-c` keep it."""
    takes: tuple[str, ...] = ("-S", "--suffix", "-T", "--threads", "-M", "-F", "-D")
    takes = ("-o", *takes) if call.name in _KEEPS else takes
    parsed = call.parse(takes, ("--stdout", "--to-stdout", "--list", "--test", "--keep", "--rm"))
    if parsed.has("-c", "-l", "-t", "--stdout", "--to-stdout", "--list", "--test", "--help"):
        return
    for output in parsed.values("-o"):
        call.effect(Kind.WRITE, output)
    keeps = parsed.has("-k", "--keep") or (call.name in _KEEPS and not parsed.has("--rm", "-j"))
    forced = Kind.WRITE if parsed.has("-f", "--force") or not keeps else Kind.CREATE
    for file in parsed.operands:
        if file == "-":
            continue
        if not keeps:
            call.effect(Kind.DELETE, file)
        if not parsed.has("-o"):
            call.effect(forced, _partner(call.name, file))


def _partner(program: str, file: str) -> str:
    """The file a compressor makes of `file`."""
    match = _PACKED.match(file)
    if match:
        return match[1]
    return file + _SUFFIXES[program] if program in _SUFFIXES else UNKNOWN


def zip_archive(call: Call) -> None:
    """zip: writes the archive; `-m` removes what it packed."""
    takes: tuple[str, ...] = (
        "-b", "-n", "-t", "-tt", "-P", "-s", "-x", "-i", "-O", "-Z", "-TT",
        "--unzip-command",
    )  # fmt: skip
    parsed = call.parse(takes, ("-sf", "-T"))
    with call.walk.guessing():
        for command in parsed.values("-TT", "--unzip-command"):
            call.shell(command)
    if parsed.has("-sf") or not parsed.operands:
        return
    if parsed.has("-T") and len(parsed.operands) == 1:
        return  # only tests the archive
    call.effects(Kind.WRITE, parsed.values("-O") or parsed.operands[:1])
    if parsed.has("-m"):
        call.effects(Kind.DELETE, parsed.operands[1:])


def seven_zip(call: Call) -> None:
    """7z and rar: the first operand is the verb."""
    verb, *operands = call.parse(()).operands or [""]
    if verb in ("l", "t", "i", "h", "b", "v", "lb", "lt", "vt", "vb", "p", "k", ""):
        return
    if verb in ("x", "e"):
        outputs = [arg[2:] for arg in call.args if arg.startswith("-o") and len(arg) > 2]
        if call.name in ("rar", "unrar") and operands[1:] and operands[-1].endswith("/"):
            outputs = operands[-1:]
        call.effect(Kind.WRITE, outputs[0] if outputs else ".", certain=False)
        return
    call.effects(Kind.WRITE, operands[:1])
    if "-sdel" in call.args or verb == "m":
        call.effects(Kind.DELETE, operands[1:])


def cpio(call: Call) -> None:
    """cpio: copy-in and pass-through write below the working directory."""
    parsed = call.parse(("-F", "-I", "-O", "-D", "-R", "-H", "-E", "--file", "--directory"))
    if parsed.has("-t", "--list"):
        return
    with call.walk.working_in(parsed.values("-D", "--directory")):
        if parsed.has("-p", "--pass-through"):
            call.effects(Kind.WRITE, parsed.operands[-1:], certain=False)
        elif parsed.has("-i", "--extract"):
            call.here(Kind.WRITE, "-i")
    if parsed.has("-o", "--create"):
        for path in parsed.values("-F", "-O", "--file"):
            call.effect(Kind.WRITE, path)


def object_archive(call: Call) -> None:
    """ar: the key letters say whether the archive is read, written or unpacked."""
    words = [arg for arg in call.args if not arg.startswith("--")]
    key = words[0].lstrip("-") if words else ""
    if key[:1] in ("x",):
        call.here(Kind.WRITE, "x")
    elif key[:1] in ("d", "m", "q", "r", "s"):
        call.effects(Kind.WRITE, words[1:2])


def java_archive(call: Call) -> None:
    """jar: like tar, with its own letters."""
    words = call.args
    key = words[0].lstrip("-") if words else ""
    if key.startswith(("t", "list", "help", "version", "d", "describe", "i")) or not key:
        return
    if key.startswith(("x", "extract")):
        places = [words[i + 1] for i, word in enumerate(words[:-1]) if word in ("-C", "--dir")]
        call.effect(Kind.WRITE, places[0] if places else ".", certain=False)
        return
    named = [word for word in words[1:] if word.endswith((".jar", ".war", ".zip", ".ear"))]
    files = [word.partition("=")[2] for word in words if word.startswith("--file=")]
    call.effects(Kind.WRITE, files or named[:1] or words[1:2])


def python_archive(call: Call) -> None:
    """`python -m zipfile` and `python -m tarfile`."""
    parsed: Parsed = call.parse((), ("--extract", "--create", "--list", "--test"))
    if parsed.has("-e", "--extract"):
        call.effect(Kind.WRITE, (parsed.operands[1:2] or ["."])[0], certain=False)
    elif parsed.has("-c", "--create"):
        call.effects(Kind.WRITE, parsed.operands[:1])
