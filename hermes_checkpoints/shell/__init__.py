"""What a shell command does to files, found by reading it.

`classify(text, cwd)` answers with `Effects`; nothing is run and no file is looked at.
"""

from __future__ import annotations

from .classifier import classify
from .effects import Effect, Effects, Kind
from .rules import CommandRules

__all__ = ["CommandRules", "Effect", "Effects", "Kind", "classify"]
