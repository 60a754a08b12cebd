"""What command-line agents tell their hooks, and what they understand in return.

Owns the differences between their protocols; does nothing with the events but read them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar

__all__ = ["HOSTS", "Event", "Host", "Kind"]

Answer = dict[str, Any]


class Kind(Enum):
    """What an event means here, whatever its host calls it."""

    PROMPT = "a person said something: a turn begins"
    BEFORE = "a tool is about to run"
    AFTER = "a tool has run, or failed"
    TURN_END = "the agent has finished its turn"
    SESSION_END = "the session is over"


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a host.

    `turn` is empty where the host has no ids for turns. `project` is the directory the session
    began in, `cwd` where it is now. `prompt` is what the person said.
    """

    kind: Kind
    session: str
    turn: str = ""
    call: str = ""
    cwd: str = ""
    project: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    environment: str = "local"
    prompt: str = ""


class Host:
    """A command-line agent with hooks in the manner of Claude Code.

    `events` are its names of events. `failures_unsaid`: no event follows a tool that failed, so a
    call without an end may well have run. `project_variable` names the environment variable that
    holds the directory its session began in.
    """

    name = ""
    events: ClassVar[Mapping[str, Kind]] = {}
    failures_unsaid = False
    project_variable = ""

    def read(self, data: Mapping[str, Any], environ: Mapping[str, str]) -> Event | None:
        """The event in a hook's input; `None` if it is none that matters here."""
        kind = self.events.get(str(data.get("hook_event_name")))
        if kind is None:
            return None
        tool, arguments = str(data.get("tool_name") or ""), _mapping(data.get("tool_input"))
        cwd = self.directory(data, environ)
        return Event(
            kind=kind,
            session=str(data.get("session_id") or ""),
            turn=self.turn(data),
            call=self.call(data) or _digest(tool, arguments),
            cwd=cwd,
            project=environ.get(self.project_variable) or cwd,
            tool=tool,
            arguments=_with_patch(tool, arguments),
            environment=self.environment(environ),
            prompt=str(data.get("prompt") or ""),
        )

    def turn(self, data: Mapping[str, Any]) -> str:
        return str(data.get("prompt_id") or data.get("turn_id") or "")

    def call(self, data: Mapping[str, Any]) -> str:
        return str(data.get("tool_use_id") or "")

    def directory(self, data: Mapping[str, Any], environ: Mapping[str, str]) -> str:
        return str(data.get("cwd") or os.getcwd())

    def environment(self, environ: Mapping[str, str]) -> str:
        return "local"

    def tell(self, text: str) -> Answer | None:
        """An answer that shows a text to the person; `None` if the host knows none."""
        return {"systemMessage": text}

    def deny(self, why: str) -> Answer:
        """An answer that keeps a tool from running."""
        return {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": why,
            }
        }

    def swallow(self, text: str) -> Answer | None:
        """An answer to a prompt that shows a text and keeps the prompt from the model."""
        return {"decision": "block", "reason": text}


class ClaudeCode(Host):
    """Claude Code 2.1: every id there is, sub-agents under their parent's."""

    name = "claude-code"
    events: ClassVar[Mapping[str, Kind]] = {
        "UserPromptSubmit": Kind.PROMPT,
        "PreToolUse": Kind.BEFORE,
        "PostToolUse": Kind.AFTER,
        "PostToolUseFailure": Kind.AFTER,
        "SessionEnd": Kind.SESSION_END,
    }
    project_variable = "CLAUDE_PROJECT_DIR"


class Codex(Host):
    """Codex: Claude Code's events, but none after a tool that failed and none at the end."""

    name = "codex"
    events: ClassVar[Mapping[str, Kind]] = {
        "UserPromptSubmit": Kind.PROMPT,
        "PreToolUse": Kind.BEFORE,
        "PostToolUse": Kind.AFTER,
        "Stop": Kind.TURN_END,
    }
    failures_unsaid = True


class GeminiCli(Host):
    """Gemini CLI: names of its own, ids for sessions only."""

    name = "gemini-cli"
    events: ClassVar[Mapping[str, Kind]] = {
        "BeforeAgent": Kind.PROMPT,
        "BeforeTool": Kind.BEFORE,
        "AfterTool": Kind.AFTER,
        "SessionEnd": Kind.SESSION_END,
    }
    project_variable = "GEMINI_PROJECT_DIR"

    def deny(self, why: str) -> Answer:
        return {"decision": "deny", "reason": why}

    def swallow(self, text: str) -> Answer:
        return {"decision": "deny", "reason": text}


class Hermes(Host):
    """Hermes Agent's shell hooks: ids under `extra`, and no way to show the person a text."""

    name = "hermes"
    events: ClassVar[Mapping[str, Kind]] = {
        "pre_tool_call": Kind.BEFORE,
        "post_tool_call": Kind.AFTER,
        "on_session_finalize": Kind.SESSION_END,
    }

    def turn(self, data: Mapping[str, Any]) -> str:
        return str(_mapping(data.get("extra")).get("turn_id") or "")

    def call(self, data: Mapping[str, Any]) -> str:
        return str(_mapping(data.get("extra")).get("tool_call_id") or "")

    def directory(self, data: Mapping[str, Any], environ: Mapping[str, str]) -> str:
        # Where its tools work. `auto` and `.` occur too, and mean the process's directory.
        configured = environ.get("TERMINAL_CWD", "")
        return configured if os.path.isabs(configured) else super().directory(data, environ)

    def environment(self, environ: Mapping[str, str]) -> str:
        return environ.get("TERMINAL_ENV", "").strip().lower() or "local"

    def tell(self, text: str) -> None:
        return None

    def deny(self, why: str) -> Answer:
        return {"action": "block", "message": why}

    def swallow(self, text: str) -> None:
        return None


HOSTS: Mapping[str, Host] = {h.name: h for h in (ClaudeCode(), Codex(), GeminiCli(), Hermes())}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _digest(tool: str, arguments: Mapping[str, Any]) -> str:
    """A call's id where the host gives none: the same before and after."""
    text = json.dumps([tool, arguments], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _with_patch(tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Codex tells hooks of a patch under the name of a command."""
    patch = arguments.get("command")
    if tool == "apply_patch" and isinstance(patch, str):
        return {**arguments, "patch": patch}
    return arguments
