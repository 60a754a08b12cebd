"""The command line: `hermes-checkpoints …`, or mounted under a host's own parser.

    main(argv)                 the program
    add_arguments(parser)      mount it: all commands below a host's parser
    run(args)                  do what was parsed; returns the exit code
    add_session_flag(parser)   the host's own `--checkpoints`

Exit codes: 0 done, 1 failed or in part, 2 wrong usage, 3 refused because of a conflict.
"""

from hermes_checkpoints.cli.command import add_arguments, add_session_flag, main, run

__all__ = ["add_arguments", "add_session_flag", "main", "run"]
