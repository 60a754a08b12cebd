"""The parser, and the way from parsed arguments to an exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from hermes_checkpoints.cli.context import Context
from hermes_checkpoints.config import HERMES, HostProfile
from hermes_checkpoints.errors import (
    CheckpointError,
    ConfigError,
    RestoreRefused,
    StoreBusy,
)

__all__ = ["Commands", "Run", "add_arguments", "add_session_flag", "main", "run"]

DONE, FAILED, USAGE, CONFLICT = 0, 1, 2, 3

Run = Callable[[Context], int]
"""Does one command and returns the exit code."""

# Each has `register(commands)`. A command in a module of its own is one more line here.
_MODULES = ("upkeep", "rollback", "look", "program", "hook", "install", "mcp")


def main(argv: Sequence[str] | None = None) -> int:
    """The program `hermes-checkpoints`."""
    parser = argparse.ArgumentParser(
        prog="hermes-checkpoints", description="Checkpoints of what AI agents change, and rollback."
    )
    words = list(sys.argv[1:] if argv is None else argv)
    # A hook runs before and after every tool call: it does not wait for the other commands.
    is_hook = words[:1] == ["hook"]
    _mount(parser, HERMES, ("hook",) if is_hook else _MODULES)
    try:
        args = parser.parse_args(words)
    except SystemExit as end:
        if is_hook and end.code == USAGE:  # to some agents a hook's 2 says: block the tool
            return FAILED
        raise
    return run(args)


def add_arguments(parser: argparse.ArgumentParser, *, host: str | HostProfile = HERMES) -> None:
    """Put all commands under a parser, a host's own perhaps; then `run(args)` does them.

    `host` is the profile they use unless `--host` names another.
    """
    _mount(parser, host, _MODULES)


def _mount(
    parser: argparse.ArgumentParser, host: str | HostProfile, modules: Sequence[str]
) -> None:
    parser.set_defaults(
        checkpoints_command=parser.prog,
        checkpoints_run=None,
        host=host,
        base=None,
        config=None,
        json=False,
    )
    _add_common(parser)
    commands = Commands(parser)
    for name in modules:
        import_module(f"hermes_checkpoints.cli.{name}").register(commands)


def add_session_flag(parser: argparse.ArgumentParser) -> None:
    """A host's `--checkpoints`: pass `args.checkpoints` as `from_file(…, enabled=…)`.

    `None` unless given, so that the configuration decides.
    """
    parser.add_argument(
        "--checkpoints",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="take checkpoints in this session, whatever the configuration says",
    )


def run(args: argparse.Namespace) -> int:
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


class Commands:
    """The commands of a parser; each module of this package registers its own."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._below = parser.add_subparsers(title="commands", metavar="COMMAND")

    def add(
        self, name: str, do: Run, about: str, *, deletes: bool = False
    ) -> argparse.ArgumentParser:
        """Add a command. One that `deletes` gets `--dry-run` and `--yes`."""
        parser = self._below.add_parser(name, help=about, description=about)
        parser.set_defaults(checkpoints_run=do)
        _add_common(parser)
        if deletes:
            parser.add_argument(
                "-n", "--dry-run", action="store_true", help="only say what would be done"
            )
            parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
        return parser


def _add_common(parser: argparse.ArgumentParser) -> None:
    """Options that may stand before or after a command; the parent's value holds if not given."""
    group = parser.add_argument_group("options of every command")
    unset = argparse.SUPPRESS
    group.add_argument("--json", action="store_true", default=unset, help="print JSON")
    group.add_argument("--host", default=unset, help="whose store: hermes (default) or vibeos")
    group.add_argument("--base", metavar="DIR", default=unset, help="the directory of the store")
    group.add_argument("--config", metavar="FILE", default=unset, help="the configuration file")


def _chosen(args: argparse.Namespace) -> Run:
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
