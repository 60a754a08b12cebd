"""File programs that say more than operands and options do: ln, rmdir -p, dd, install, touch."""

from __future__ import annotations

import posixpath
import re

from ..arguments import UNKNOWN, Parsed
from ..call import Call
from ..effects import Kind


def copy(call: Call) -> None:
    """cp and install: the destination is written, or created with `-n`."""
    takes: tuple[str, ...] = (
        "-t", "--target-directory", "-S", "--suffix", "-m", "--mode", "-o", "--owner", "-g",
        "--group", "--backup-dir",
    )  # fmt: skip
    if call.name in ("cp", "gcp", "copy"):
        takes = ("-t", "--target-directory", "-S", "--suffix")
    knows = ("--no-clobber", "--directory", "--update", "--force", "--no-target-directory")
    parsed = call.parse(takes, knows)
    operands = parsed.operands
    if parsed.has("-d", "--directory") and call.name in ("install", "ginstall"):
        call.effects(Kind.CREATE, operands)
        return
    kind = Kind.CREATE if parsed.has("--no-clobber") else Kind.WRITE
    if call.name in ("cp", "gcp") and parsed.has("-n"):
        kind = Kind.CREATE
    targets, sources = _into(parsed)
    if sources or parsed.has("-t", "--target-directory"):
        call.effects(kind, targets, sources=sources)
        _arrivals(call, kind, targets, sources)


def _arrivals(call: Call, kind: Kind, targets: list[str], sources: list[str]) -> None:
    """Into `.` or `..`, which surely are directories: the names the sources have there."""
    for target in targets:
        if target.strip("./") or target[:1] != ".":
            continue
        for source in sources:
            name = posixpath.basename(source.rstrip("/"))
            if name not in ("", ".", ".."):
                call.effect(kind, f"{target.rstrip('/')}/{name}", certain=False)


def move(call: Call) -> None:
    """mv: the sources go, the destination is written; one without the other can't be."""
    takes: tuple[str, ...] = ("-t", "--target-directory", "-S", "--suffix", "-B")
    parsed = call.parse(takes, ("--no-target-directory",))
    targets, sources = _into(parsed)
    if sources:
        call.effects(Kind.MOVE, parsed.operands[: len(sources)])
    if targets:
        call.effects(Kind.MOVE, targets, sources=sources)
        _arrivals(call, Kind.MOVE, targets, sources)


def _into(parsed: Parsed) -> tuple[list[str], list[str]]:
    """Where it goes, and what goes there; with `-T`, what is in it and not itself."""
    targets, sources = parsed.values("-t", "--target-directory"), list(parsed.operands)
    if not targets and sources:
        targets = [sources.pop()]
    if parsed.has("-T", "--no-target-directory"):
        sources = [f"{source}/." for source in sources]
    return targets, sources


def link(call: Call) -> None:
    """ln: creates a link; with `-f` it replaces what was there."""
    takes: tuple[str, ...] = ("-t", "--target-directory", "-S", "--suffix")
    parsed = call.parse(takes, ("--force", "--symbolic", "--no-target-directory"))
    kind = Kind.LINK if parsed.has("-f", "--force", "-i", "-b", "--backup") else Kind.CREATE
    targets = parsed.values("-t", "--target-directory")
    if not targets and len(parsed.operands) == 1:
        targets = [posixpath.basename(parsed.operands[0].rstrip("/")) or UNKNOWN]
    if targets or parsed.operands:
        sources = _into(parsed)[1]
        call.effects(kind, targets or parsed.operands[-1:], sources=sources)


def remove_directory(call: Call) -> None:
    """rmdir: `-p` removes the parents too."""
    parsed = call.parse((), ("--parents", "--ignore-fail-on-non-empty"))
    for operand in parsed.operands:
        call.effect(Kind.DELETE, operand)
        while parsed.has("-p", "--parents") and (operand := posixpath.dirname(operand)) not in (
            "", "/", ".",
        ):  # fmt: skip
            call.effect(Kind.DELETE, operand)


def disk_dump(call: Call) -> None:
    """dd: `of=FILE`."""
    for arg in call.args:
        if arg.startswith("of="):
            call.effect(Kind.WRITE, arg[3:])
        elif arg.startswith(UNKNOWN):
            call.effect(Kind.WRITE, UNKNOWN)


def touch(call: Call) -> None:
    """touch: creates; with a given time it changes the time of what is there."""
    takes: tuple[str, ...] = ("-d", "-t", "-r", "--date", "--reference", "--time")
    parsed = call.parse(takes, ("--no-create",))
    changes = parsed.has("-d", "-t", "-r", "-c", "--date", "--reference", "--no-create")
    call.effects(Kind.MODE if changes else Kind.CREATE, parsed.operands)


def permissions(call: Call) -> None:
    """chmod and its kin: the first operand is the mode, unless an option gives it."""
    takes: tuple[str, ...] = ("--reference", "-m", "-M", "-x", "-n", "-v", "-s")
    if call.name in ("chmod", "chown", "chgrp", "chattr", "chflags", "chcon"):
        takes = (
            ("--reference", "-u", "-r", "-t", "-l") if call.name == "chcon" else ("--reference",)
        )
    args = call.args
    if args in (["--help"], ["--version"]):
        return
    if args and re.fullmatch(r"-[rwxXstugo]+(?:,.*)?", args[0]) and args[0] not in ("-R", "-r"):
        args = args[1:] and ["--", args[0], *args[1:]]  # `chmod -x FILE`: a mode, not an option
    parsed = Call(call.walk, call.name, args).parse(takes)
    given = parsed.has("--reference", "-m", "-M", "-x", "-b", "-k", "-d", "-s")
    if call.name == "chcon" and parsed.has("-u", "-r", "-t", "-l"):
        given = True
    operands = parsed.operands if given and call.name != "chmod" else parsed.operands[1:]
    if parsed.has("--reference"):
        operands = parsed.operands
    call.effects(Kind.MODE, operands)


def extended_attributes(call: Call) -> None:
    """xattr: `-w`, `-d` and `-c` change attributes."""
    parsed = call.parse(())
    if parsed.has("-c"):
        call.effects(Kind.MODE, parsed.operands)
    elif parsed.has("-w"):
        call.effects(Kind.MODE, parsed.operands[2:])
    elif parsed.has("-d"):
        call.effects(Kind.MODE, parsed.operands[1:])


def split(call: Call) -> None:
    """split and csplit write files with a prefix, over those there are."""
    takes: tuple[str, ...] = (
        "-b", "-l", "-n", "-a", "-C", "-t", "-f", "--bytes", "--lines", "--number", "--prefix",
        "--suffix-length", "--filter", "--additional-suffix", "--separator",
    )  # fmt: skip
    parsed = call.parse(takes)
    for command in parsed.values("--filter"):
        call.shell(command)
    prefix = (parsed.operands[1:2] or ["x"])[0]
    if call.name.endswith("csplit"):
        prefix = (parsed.values("-f", "--prefix") or ["xx"])[0]
    call.effect(Kind.WRITE, prefix + "\1", certain=False)


def temporary(call: Call) -> None:
    """mktemp creates a file of a new name."""
    parsed = call.parse(("-p", "--tmpdir", "--suffix", "-t"), ("--dry-run",))
    if not parsed.has("-u", "--dry-run"):
        call.effects(Kind.CREATE, [op.replace("X", "\2") for op in parsed.operands], certain=False)


def rename(call: Call) -> None:
    """rename and mmv: operands after the expression are renamed."""
    parsed = call.parse(("-e", "-E"), ("--no-act", "--nono", "--dry-run", "--just-print"))
    if parsed.has("-n", "--no-act", "--nono", "--dry-run"):
        return
    operands = parsed.operands if parsed.has("-e", "-E") else parsed.operands[1:]
    files = [op for op in operands if not op.startswith("#")]
    if call.name in ("mmv", "zmv"):
        files = [parsed.operands[0].replace("*", "\1")] if parsed.operands else []
    if call.name == "zmv":
        call.here(Kind.MOVE)
        return
    call.effects(Kind.MOVE, files, certain=False)
