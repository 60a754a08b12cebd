"""`mcp-proxy -- CMD…` and `mcp`: MCP servers on standard input and output.

Owns the processes' surroundings; the servers are in the MCP integration. Standard output is the
protocol's: whatever a person is to know goes to standard error.
"""

from __future__ import annotations

import argparse
import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hermes_checkpoints.cli.hook import host_process, installed_config
from hermes_checkpoints.errors import CheckpointError

if TYPE_CHECKING:
    from hermes_checkpoints.cli.command import Commands
    from hermes_checkpoints.cli.context import Context
    from hermes_checkpoints.manager import CheckpointManager

__all__ = ["register"]


def register(commands: Commands) -> None:
    """Add the commands of this module."""
    about = "an MCP server that lets an agent list, compare, plan and restore checkpoints"
    _about_a_project(commands.add("mcp", _serve, about))

    about = "stand before a stdio MCP server and protect its tool calls"
    proxy = commands.add("mcp-proxy", _proxy, about)
    _about_a_project(proxy)
    proxy.add_argument(
        "--idle",
        type=float,
        default=20.0,
        metavar="SECONDS",
        help="a turn ends after this long without a call, where the host does not tell (20)",
    )
    proxy.add_argument("program", nargs=argparse.REMAINDER, metavar="-- CMD…")


def _about_a_project(parser: argparse.ArgumentParser) -> None:
    about = "where the tools work (default: the current directory)"
    parser.add_argument("-C", dest="directory", metavar="DIR", help=about)


def _serve(context: Context) -> int:
    with _manager(context) as manager:
        # The agent that asks is the one that started us: its hooks have the same host.
        host = host_process()
        server = _integration().checkpoint_server(
            manager, session=lambda: manager.books.sessions.of_process(host)
        )
        server.run("stdio", show_banner=False, log_level="WARNING")
    return 0


def _proxy(context: Context) -> int:
    words = context.args.program
    words = words[1:] if words[:1] == ["--"] else words
    if not words:
        context.out.note(f"Say which server to run: {context.command} mcp-proxy -- CMD…")
        return 2
    with _manager(context) as manager:
        server = _integration().proxy(words, manager, env=os.environ, idle=context.args.idle)
        server.run("stdio", show_banner=False, log_level="WARNING")
    return 0


def _manager(context: Context) -> CheckpointManager:
    """On unless the file says `enabled: false`, as for hooks: who starts this has opted in."""
    from hermes_checkpoints.manager import CheckpointManager

    place = os.path.abspath(context.directory)
    return CheckpointManager(installed_config(context), cwd=place, on_notice=context.out.note)


def _integration() -> Any:
    try:  # by name: an integration is above us, and brings a framework along
        return import_module("hermes_checkpoints.integrations.mcp")
    except ImportError as error:
        raise CheckpointError(str(error)) from error
