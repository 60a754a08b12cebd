"""The command line: `hermes-checkpoints …`, or mounted under a host's own parser.

    main(argv)                 the program
    add_arguments(parser)      mount it: all commands below a host's parser
    run(args)                  do what was parsed; returns the exit code
    add_session_flag(parser)   the host's own `--checkpoints`

Exit codes: 0 done, 1 failed or in part, 2 wrong usage, 3 refused because of a conflict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_checkpoints.cli.running import main, run

if TYPE_CHECKING:
    from hermes_checkpoints.cli.command import add_arguments, add_session_flag

__all__ = ["add_arguments", "add_session_flag", "main", "run"]


def __getattr__(name: str) -> object:
    """What needs a parser, which a hook does without."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hermes_checkpoints.cli import command

    return getattr(command, name)
