"""`install HOST` and `uninstall HOST`: our hooks in a command-line agent's settings file.

Owns what is written for each agent, and the asking: a change is shown before it is made. How a file
is changed is in `settings`.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_checkpoints.cli.hook import installed_config
from hermes_checkpoints.cli.settings import Edit, Groups, Settings, text_of
from hermes_checkpoints.errors import CheckpointError

if TYPE_CHECKING:
    import argparse

    from hermes_checkpoints.cli.command import Commands
    from hermes_checkpoints.cli.context import Context

__all__ = ["AGENTS", "register"]


def register(commands: Commands) -> None:
    """Add the commands of this module."""
    about = "put our hooks into the settings of a command-line agent, after showing the change"
    _about_settings(commands.add("install", _install, about, deletes=True))
    about = "take our hooks out of the settings of a command-line agent, and nothing else"
    _about_settings(commands.add("uninstall", _uninstall, about, deletes=True))


def _about_settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", metavar="HOST", help=", ".join((*AGENTS, "hermes")))
    parser.add_argument(
        "--project", action="store_true", help="in this project's settings instead of yours"
    )
    parser.add_argument(
        "-C", dest="directory", metavar="DIR", help="the project (default: the current directory)"
    )


def _install(context: Context) -> int:
    if context.args.agent == "hermes":
        context.out.text(_HERMES.format(command=_command(context, "hermes")))
        return 0
    agent = _agent(context)
    settings = Settings.read(agent.file(context), agent.all_events)
    groups = agent.groups(_command(context, agent.name))
    edits = [settings.with_groups(groups, agent.name), *_command_file(agent, context, wanted=True)]
    code = _change(context, edits)
    if code == 0 and not context.args.dry_run:
        context.out.note(agent.then)
        _warn_if_off(context)
    return code


def _uninstall(context: Context) -> int:
    agent = _agent(context)
    settings = Settings.read(agent.file(context), agent.all_events)
    edits = [settings.without_groups(agent.name), *_command_file(agent, context, wanted=False)]
    return _change(context, edits)


def _command_file(agent: Agent, context: Context, *, wanted: bool) -> list[Edit]:
    """The file by which the agent knows `/rollback`, unless a person has one of that name."""
    if not agent.command_file:
        return []
    file = agent.file(context).parent / agent.command_file
    text = text_of(file)
    if text not in (None, ROLLBACK_COMMAND):
        context.out.note(f"{file} is not ours and stays; so /rollback needs a space in front.")
        return []
    return [Edit(file, text or "", ROLLBACK_COMMAND if wanted else None)]


def _agent(context: Context) -> Agent:
    name = context.args.agent
    if name not in AGENTS:
        raise CheckpointError(
            f"{name} has no settings file that could be edited here",
            hint=f"known are {', '.join(AGENTS)}",
        )
    return AGENTS[name]


def _change(context: Context, edits: Sequence[Edit]) -> int:
    """Show a change and make it, if a person agrees. The exit code."""
    due = [edit for edit in edits if edit.diff]
    diff = "\n".join(edit.diff for edit in due)
    data = {"files": [str(edit.file) for edit in due], "diff": diff}
    if not due:
        context.out.result(f"{edits[0].file} stays as it is: nothing is to be done.", data)
        return 0
    if context.args.dry_run or context.args.yes:
        context.out.result(diff, data)
    elif not context.out.confirmed(diff, "Change it so?"):
        if not context.out.can_ask:
            context.out.result(diff, data)
        context.out.note("Nothing was changed; --yes changes it without asking.")
        return 1
    for edit in () if context.args.dry_run else due:
        edit.make()
        context.out.note(f"{edit.file} is {'removed' if edit.after is None else 'changed'}.")
    return 0


def _warn_if_off(context: Context) -> None:
    config = installed_config(context)
    if not config.enabled:
        context.out.note(
            f"But {config.source} says `enabled: false` under `checkpoints:`, so the hooks will "
            "take no checkpoints."
        )


# --------------------------------------------------------------------------- what is written


@dataclass(frozen=True, slots=True)
class Agent:
    """Where an agent's settings lie and which of its events we want.

    `timeout` is in the agent's own unit. `then` is what the person has to know afterwards. `named`:
    its entries have names, by which a person can switch them off. `command_file` is where, beside
    the settings, it looks for a command named `/rollback`, which it would refuse otherwise.
    """

    name: str
    directory: str
    variable: str
    filename: str
    events: tuple[str, ...]
    tool_events: tuple[str, ...]
    matcher: str
    timeout: int
    then: str
    named: bool = False
    command_file: str = ""

    def file(self, context: Context) -> Path:
        """The settings file: the project's, or the person's own."""
        if context.args.project:
            return Path(os.path.abspath(context.directory)) / self.directory / self.filename
        own = os.environ.get(self.variable, "")
        return (Path(own) if own else Path("~").expanduser() / self.directory) / self.filename

    @property
    def all_events(self) -> tuple[str, ...]:
        return (*self.events, *self.tool_events)

    def groups(self, command: str) -> Groups:
        """Our entries by event."""
        entry = {"type": "command", "command": command, "timeout": self.timeout}
        if self.named:
            entry = {"name": "hermes-checkpoints", **entry}
        plain: Groups = {event: [{"hooks": [entry]}] for event in self.events}
        matched = {"matcher": self.matcher, "hooks": [entry]}
        return {**plain, **{event: [matched] for event in self.tool_events}}


AGENTS: Mapping[str, Agent] = {
    agent.name: agent
    for agent in (
        Agent(
            "claude-code",
            ".claude",
            "CLAUDE_CONFIG_DIR",
            "settings.json",
            ("UserPromptSubmit", "SessionEnd"),
            ("PreToolUse", "PostToolUse", "PostToolUseFailure"),
            "Bash|PowerShell|Edit|MultiEdit|NotebookEdit|Write|mcp__.*",
            120,
            "Sessions of Claude Code that start from now on are protected.",
            command_file="commands/rollback.md",
        ),
        Agent(
            "codex",
            ".codex",
            "CODEX_HOME",
            "hooks.json",
            ("UserPromptSubmit", "Stop"),
            ("PreToolUse", "PostToolUse"),
            "Bash|apply_patch|mcp__.*",
            120,
            "Codex runs new hooks only once you have trusted them: type /hooks in Codex.",
        ),
        Agent(
            "gemini-cli",
            ".gemini",
            "",
            "settings.json",
            ("BeforeAgent", "SessionEnd"),
            ("BeforeTool", "AfterTool"),
            "run_shell_command|write_file|replace|mcp__.*",
            120_000,
            "Sessions of Gemini CLI that start from now on are protected, if hooks are switched on"
            " there: type /hooks panel.",
            named=True,
        ),
    )
}

ROLLBACK_COMMAND = """\
---
description: Bring files back to a checkpoint
argument-hint: "[list | N [path] | diff N | plan N | undo]"
disable-model-invocation: true
---
The hook of hermes-checkpoints answers this command before a model sees it. If you read this, the
hook is not installed here: say so, and do nothing else.
"""
"""Makes the command known; the hook answers it."""

_HERMES = """\
Hermes keeps its hooks in config.yaml, whose comments would not survive an edit from here. The
plugin does more (see docs/hermes.md); for shell hooks add:

hooks:
  pre_tool_call:
    - command: {command}
      timeout: 120
  post_tool_call:
    - command: {command}
      timeout: 120
  on_session_finalize:
    - command: {command}"""


def _command(context: Context, agent: str) -> str:
    """What the agent is to run. In a project's file, which others share, without our paths."""
    args = context.args
    program = "hermes-checkpoints"
    if not args.project:
        beside = Path(sys.executable).parent / program
        program = str(beside) if beside.exists() else shutil.which(program) or program
    options = [
        word
        for name in ("host", "base", "config")
        if isinstance(value := getattr(args, name), str)
        for word in (f"--{name}", value if name == "host" else os.path.abspath(value))
    ]
    return shlex.join([program, "hook", agent, *options])
