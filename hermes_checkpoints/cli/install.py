"""`install HOST` and `uninstall HOST`: our hooks in a command-line agent's settings file.

Owns what is written there and how it is found again. Shows the change before it makes it, changes
nothing else in the file, and refuses a file that it could not write back as it was.
"""

from __future__ import annotations

import copy
import difflib
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_checkpoints.cli.hook import installed_config
from hermes_checkpoints.errors import CheckpointError

if TYPE_CHECKING:
    import argparse

    from hermes_checkpoints.cli.command import Commands
    from hermes_checkpoints.cli.context import Context

__all__ = ["Settings", "register"]

Groups = dict[str, list[dict[str, Any]]]


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
    code = _change(context, settings, settings.with_groups(groups, agent.name))
    if code == 0 and not context.args.dry_run:
        context.out.note(agent.then)
        _warn_if_off(context)
    return code


def _uninstall(context: Context) -> int:
    agent = _agent(context)
    settings = Settings.read(agent.file(context), agent.all_events)
    return _change(context, settings, settings.without_groups(agent.name))


def _agent(context: Context) -> Agent:
    name = context.args.agent
    if name not in AGENTS:
        raise CheckpointError(
            f"{name} has no settings file that could be edited here",
            hint=f"known are {', '.join(AGENTS)}",
        )
    return AGENTS[name]


def _change(context: Context, settings: Settings, text: str) -> int:
    """Show a change and make it, if a person agrees. The exit code."""
    diff = settings.diff(text)
    data = {"file": str(settings.file), "diff": diff}
    if not diff:
        context.out.result(f"{settings.file} stays as it is: nothing is to be done.", data)
        return 0
    if context.args.dry_run or context.args.yes:
        context.out.result(diff, data)
    elif not context.out.confirmed(diff, "Change the file so?"):
        if not context.out.can_ask:
            context.out.result(diff, data)
        context.out.note("Nothing was changed; --yes changes it without asking.")
        return 1
    if not context.args.dry_run:
        settings.write(text)
        context.out.note(f"{settings.file} is changed.")
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
    its entries have names, by which a person can switch them off.
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


def _is_ours(entry: Any, agent: str) -> bool:
    command = entry.get("command") if isinstance(entry, dict) else None
    pattern = rf"(^|[/\\'\"\s])hermes-checkpoints(\.exe)?['\"]?\s+hook\s+{re.escape(agent)}(\s|$)"
    return isinstance(command, str) and re.search(pattern, command) is not None


# --------------------------------------------------------------------------- the file


@dataclass(frozen=True, slots=True)
class Settings:
    """A settings file as it is: its text, and what that says. No file: empty."""

    file: Path
    text: str
    values: dict[str, Any]

    @classmethod
    def read(cls, file: Path, events: Sequence[str]) -> Settings:
        """The settings, of which `events` are going to be changed.

        Raises `CheckpointError` for a file that could not be written back as it was.
        """
        try:
            text = file.read_bytes().decode("utf-8")  # with its line ends
        except FileNotFoundError:
            return cls(file, "", {})
        except (OSError, UnicodeDecodeError) as error:
            raise CheckpointError(f"{file} cannot be read: {error}") from error
        try:
            values = json.loads(text, object_pairs_hook=_unique) if text.strip() else {}
            _check(values, events)
        except ValueError as error:
            raise CheckpointError(
                f"{file} is not changed, because it is no plain JSON settings file: {error}",
                hint="add the hooks by hand; docs/hooks.md shows them",
            ) from error
        return cls(file, text, values)

    def with_groups(self, groups: Groups, agent: str) -> str:
        """The file's text with our entries, each once and up to date."""
        values = copy.deepcopy(self.values)
        _remove(values, agent, keep=groups)
        hooks = values.setdefault("hooks", {})
        for event, ours in groups.items():
            present = hooks.setdefault(event, [])
            present.extend(group for group in ours if group not in present)
        return self._dump(values)

    def without_groups(self, agent: str) -> str:
        """The file's text without our entries, and without what they alone filled."""
        values = copy.deepcopy(self.values)
        _remove(values, agent, keep={})
        return self._dump(values)

    def diff(self, text: str) -> str:
        """What a change to `text` would change; empty: nothing."""
        name = str(self.file)
        lines = difflib.unified_diff(
            self.text.splitlines(), text.splitlines(), name, name, lineterm=""
        )
        return "\n".join(lines)

    def write(self, text: str) -> None:
        """Replace the file in one step, through a link, keeping its permissions."""
        file = Path(os.path.realpath(self.file))
        file.parent.mkdir(parents=True, exist_ok=True)
        spare = file.with_name(f".{file.name}.{os.getpid()}")
        try:
            spare.write_bytes(text.encode("utf-8"))
            if file.exists():
                shutil.copymode(file, spare)
            os.replace(spare, file)
        finally:
            spare.unlink(missing_ok=True)

    def _dump(self, values: dict[str, Any]) -> str:
        if values == self.values:
            return self.text
        found = re.match(r"\s*\{\r?\n([ \t]+)\"", self.text)
        indent = found.group(1) if found else "  "
        end = "\n" if self.text.endswith("\n") or not self.text else ""
        text = json.dumps(values, indent=indent, ensure_ascii=False) + end
        return text.replace("\n", "\r\n") if "\r\n" in self.text else text


def _remove(values: dict[str, Any], agent: str, *, keep: Groups) -> None:
    """Take our entries out, except whole groups that are in `keep`, and what becomes empty."""
    hooks = values.get("hooks", {})
    for event, groups in list(hooks.items()):
        if not _are_groups(groups):
            continue  # some agents keep switches there too
        kept = keep.get(event, [])
        left = [g if g in kept else _without(g, agent) for g in groups]
        if left == groups:
            continue
        hooks[event] = [group for group in left if group is not None]
        if not hooks[event]:
            del hooks[event]
        if not hooks:
            del values["hooks"]


def _without(group: dict[str, Any], agent: str) -> dict[str, Any] | None:
    """A group without our entries; `None` if it had no others."""
    left = [entry for entry in group["hooks"] if not _is_ours(entry, agent)]
    if len(left) == len(group["hooks"]):
        return group
    return {**group, "hooks": left} if left else None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice in one place")
    return found


def _check(values: Any, events: Sequence[str]) -> None:
    """Raise `ValueError` where the file is not of the shape that agents document."""
    hooks = values.get("hooks", {}) if isinstance(values, dict) else None
    if not isinstance(hooks, dict):
        raise ValueError("it holds no object of settings, or hooks that are none")
    for event in events:
        if not _are_groups(hooks.get(event, [])):
            raise ValueError(f"hooks.{event} is no list of groups with hooks")


def _are_groups(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(g, dict) and isinstance(g.get("hooks"), list) for g in value
    )
