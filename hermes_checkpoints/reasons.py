"""The one grammar of reasons: `before <tool>[: <path>]`, `before terminal: <command>`.

Owns cutting and masking. A store may append its note on nested repositories; that is never cut.
"""

from __future__ import annotations

import re

__all__ = ["before_command", "before_rollback", "before_tool", "mask_secrets", "one_line"]

_LONGEST = 60
_MASK = "***"

# What follows a word that announces a secret, and shapes that are secrets wherever they stand.
_WORDS = r"[\w-]*(?:password|passwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)[\w-]*"
_ANNOUNCED = re.compile(
    rf"(?i)((?:{_WORDS}\s*[=:]\s*|--?{_WORDS}\s+)[\"']?(?:bearer\s+|basic\s+)?)([^\s\"'&;|]+)"
)
_AUTHORIZATION = re.compile(r"(?i)(authorization\s*[:=]\s*(?:bearer|basic|token)?\s*)([^\s\"']+)")
_IN_URL = re.compile(r"(://[^/\s:@]*:)([^@\s/]+)(@)")
_SHAPES = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
    r"|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|ASIA[0-9A-Z]{16}|AIza[\w-]{30,}|hf_[A-Za-z0-9]{20,}"
    r"|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{30,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,})"
)
_LOGIN_FLAG = re.compile(r"(\s(?:-u|--user)[\s=]+[^\s:'\"]+:)(\S+)")


def before_tool(tool: str, path: str = "") -> str:
    """The reason of a checkpoint before a file tool."""
    return one_line(f"before {tool}: {path}" if path else f"before {tool}")


def before_command(command: str) -> str:
    """The reason of a checkpoint before a shell command: one line, masked, cut."""
    text = one_line(mask_secrets(command))
    return f"before terminal: {text[:_LONGEST]}" if text else "before terminal"


def before_rollback(short_id: str) -> str:
    """The reason of the snapshot that makes a rollback safe."""
    return f"before rollback to {short_id}"


def one_line(text: str) -> str:
    """Text on one line: every run of white space is one blank."""
    return " ".join(text.split())


def mask_secrets(text: str) -> str:
    """Text with what looks like a token or password replaced by `***`."""
    text = _IN_URL.sub(rf"\1{_MASK}\3", text)
    text = _AUTHORIZATION.sub(rf"\1{_MASK}", text)
    text = _ANNOUNCED.sub(rf"\1{_MASK}", text)
    text = _LOGIN_FLAG.sub(rf"\1{_MASK}", text)
    return _SHAPES.sub(_MASK, text)
