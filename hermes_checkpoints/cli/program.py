"""`run -- CMD…`: any program, with a checkpoint before it and its changes attributed to it."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import threading
from typing import TYPE_CHECKING

from hermes_checkpoints import render
from hermes_checkpoints.cli.context import Context
from hermes_checkpoints.reasons import before_command
from hermes_checkpoints.records import Failed, ToolCall, ToolEffect

if TYPE_CHECKING:
    from hermes_checkpoints.cli.command import Commands

__all__ = ["register"]


def register(commands: Commands) -> None:
    """Add the command of this module."""
    about = "run a program with a checkpoint before it; passes its exit status on"
    runner = commands.add("run", _run, about)
    runner.add_argument("-C", dest="directory", metavar="DIR", help="where to run it")
    runner.add_argument("program", nargs=argparse.REMAINDER, metavar="-- CMD…")


def _run(context: Context) -> int:
    words = context.args.program
    words = words[1:] if words[:1] == ["--"] else words
    if not words:
        context.out.note(f"Say what to run: {context.command} run -- CMD…")
        return 2
    directory = os.path.abspath(context.directory)
    command = shlex.join(words)
    outcome = context.manager.ensure_checkpoint(directory, before_command(command))
    if isinstance(outcome, Failed):
        context.out.note(render.outcome(outcome, context.words))
    call = ToolCall(
        "terminal",
        {"command": command},
        cwd=directory,
        effect=ToolEffect.COMMAND,
        command=command,
    )
    with context.manager.guard(call):
        return _status_of(context, words, directory)


def _status_of(context: Context, words: list[str], directory: str) -> int:
    """The program's exit status as a shell gives it: 127 not found, 126 no program, 128+signal."""
    try:
        child = subprocess.Popen(words, cwd=directory)
    except FileNotFoundError:
        context.out.note(f"There is no program {render.safe(words[0])}.")
        return 127
    except OSError as error:
        context.out.note(f"{render.safe(words[0])} cannot be run: {error.strerror}.")
        return 126
    status = _patiently(child)
    return 128 - status if status < 0 else status


def _patiently(child: subprocess.Popen[bytes]) -> int:
    """Wait for the program; an interrupt is the program's to handle, so that we can attribute."""
    if threading.current_thread() is not threading.main_thread():
        return child.wait()  # only the main thread may set, or gets, signals
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return child.wait()
    finally:
        signal.signal(signal.SIGINT, before)
