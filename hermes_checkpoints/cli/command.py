"""The parser: which commands there are, and the options of each."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module

from hermes_checkpoints.cli.running import FAILED, PROGRAM, USAGE, Run, defaults, run
from hermes_checkpoints.config import HERMES, HostProfile

__all__ = ["Commands", "add_arguments", "add_session_flag", "main"]

# Each has `register(commands)`. A command in a module of its own is one more line here.
_MODULES = ("upkeep", "rollback", "look", "program", "hook", "install", "mcp")


def main(words: Sequence[str]) -> int:
    """The program `hermes-checkpoints`, called with `words`."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM, description="Checkpoints of what AI agents change, and rollback."
    )
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
    parser.set_defaults(**defaults(parser.prog, host))
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
