"""The way from parsed arguments to an exit code.

Owns what a command says when it fails, and the short way of a hook, which is a process for every
tool call and does without a parser.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from hermes_checkpoints.cli.context import Context
from hermes_checkpoints.config import HERMES, HostProfile
from hermes_checkpoints.errors import (
    CheckpointError,
    ConfigError,
    RestoreRefused,
    StoreBusy,
)

if TYPE_CHECKING:
    import argparse

__all__ = ["FAILED", "PROGRAM", "USAGE", "Run", "defaults", "main", "run"]

PROGRAM = "hermes-checkpoints"
DONE, FAILED, USAGE, CONFLICT = 0, 1, 2, 3

Run = Callable[[Context], int]
"""Does one command and returns the exit code."""


def main(argv: Sequence[str] | None = None) -> int:
    """The program `hermes-checkpoints`."""
    words = list(sys.argv[1:] if argv is None else argv)
    if len(words) == 2 and words[0] == "hook" and not words[1].startswith("-"):
        return _hook(words[1])
    from hermes_checkpoints.cli.command import main

    return main(words)


def _hook(agent: str) -> int:
    """A hook, without collecting garbage: most of it is imports, which make none."""
    collects = gc.isenabled()
    gc.disable()
    try:
        from hermes_checkpoints.cli.hook import hook

        return run(SimpleNamespace(**defaults(PROGRAM, HERMES, hook), agent=agent))
    finally:
        if collects:
            gc.enable()


def defaults(command: str, host: str | HostProfile, do: Run | None = None) -> dict[str, Any]:
    """What every command's arguments have, unless the person says otherwise."""
    return {
        "checkpoints_command": command,
        "checkpoints_run": do,
        "host": host,
        "base": None,
        "config": None,
        "json": False,
    }


def run(args: argparse.Namespace | SimpleNamespace) -> int:
    """Do what was parsed, and say what went wrong. Returns the exit code."""
    context = Context(args)
    try:
        return _chosen(args)(context)
    except CheckpointError as error:
        code = _code_of(error)
        _complain(context, error, code)
        return code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `… | head`
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  the interpreter flushes it at exit
        return FAILED
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _complain(context, CheckpointError(f"{where}{error.strerror or error}"), FAILED)
        return FAILED
    finally:
        context.close()


def _chosen(args: argparse.Namespace | SimpleNamespace) -> Run:
    if args.checkpoints_run is not None:
        chosen: Run = args.checkpoints_run
        return chosen
    from hermes_checkpoints.cli.upkeep import status

    return status


def _code_of(error: CheckpointError) -> int:
    if isinstance(error, ConfigError):
        return USAGE
    return CONFLICT if isinstance(error, (RestoreRefused, StoreBusy)) else FAILED


def _complain(context: Context, error: CheckpointError, code: int) -> None:
    from hermes_checkpoints.render import complaint

    if context.out.json:
        hint, kind = context.words.translated(error.hint), type(error).__name__
        data = {"error": error.message, "hint": hint, "kind": kind, "exit_code": code}
        context.out.result("", data)
    else:
        context.out.note(complaint(error, context.words))
