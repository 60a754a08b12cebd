"""Undo for AI agents: a checkpoint before a tool call can destroy files, and `/rollback`.

    import hermes_checkpoints as hc

    manager = hc.CheckpointManager(hc.Config())

    @hc.file_tool(path="path", manager=manager)
    def write_file(path, content): ...

    print(hc.RollbackCommand(manager).run("/rollback 1", cwd=".").text)

The front door, and only that: every public name, loaded when it is first asked for. Importing the
package loads no third-party module.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what type checkers see; `_HOME` below is what runs
    from hermes_checkpoints import shell
    from hermes_checkpoints.config import HERMES, VIBEOS, Config, HostProfile
    from hermes_checkpoints.errors import (
        Busy,
        CaptureFailed,
        CheckpointError,
        CheckpointNotFound,
        ConfigError,
        NotProtected,
        ProjectMoved,
        RestoreFailed,
        RestoreRefused,
        SelectionError,
        StoreBusy,
        StoreError,
        StoreUnavailable,
    )
    from hermes_checkpoints.inventory import PruneResult, Status
    from hermes_checkpoints.manager import CheckpointManager, Guard, active_manager
    from hermes_checkpoints.middleware import any_tool, command_tool, file_tool, wrap_tools
    from hermes_checkpoints.records import (
        AlreadyTaken,
        Checkpoint,
        Failed,
        FileState,
        Gap,
        GapReason,
        Outcome,
        Plan,
        Project,
        Report,
        Skipped,
        Step,
        StepKind,
        Taken,
        ToolCall,
        ToolEffect,
        Unchanged,
    )
    from hermes_checkpoints.registry import ToolRegistry
    from hermes_checkpoints.slash import Reply, RollbackCommand, Suggestion
    from hermes_checkpoints.stores.base import Diff, Problem, Upkeep

__all__ = [
    "HERMES",
    "VIBEOS",
    "AlreadyTaken",
    "Busy",
    "CaptureFailed",
    "Checkpoint",
    "CheckpointError",
    "CheckpointManager",
    "CheckpointNotFound",
    "Config",
    "ConfigError",
    "Diff",
    "Failed",
    "FileState",
    "Gap",
    "GapReason",
    "Guard",
    "HostProfile",
    "NotProtected",
    "Outcome",
    "Plan",
    "Problem",
    "Project",
    "ProjectMoved",
    "PruneResult",
    "Reply",
    "Report",
    "RestoreFailed",
    "RestoreRefused",
    "RollbackCommand",
    "SelectionError",
    "Skipped",
    "Status",
    "Step",
    "StepKind",
    "StoreBusy",
    "StoreError",
    "StoreUnavailable",
    "Suggestion",
    "Taken",
    "ToolCall",
    "ToolEffect",
    "ToolRegistry",
    "Unchanged",
    "Upkeep",
    "active_manager",
    "any_tool",
    "command_tool",
    "file_tool",
    "shell",
    "wrap_tools",
]

_HOME = {
    "config": "HERMES VIBEOS Config HostProfile",
    "errors": "Busy CaptureFailed CheckpointError CheckpointNotFound ConfigError NotProtected"
    " ProjectMoved RestoreFailed RestoreRefused SelectionError StoreBusy StoreError"
    " StoreUnavailable",
    "inventory": "PruneResult Status",
    "manager": "CheckpointManager Guard active_manager",
    "middleware": "any_tool command_tool file_tool wrap_tools",
    "records": "AlreadyTaken Checkpoint Failed FileState Gap GapReason Outcome Plan Project"
    " Report Skipped Step StepKind Taken ToolCall ToolEffect Unchanged",
    "registry": "ToolRegistry",
    "slash": "Reply RollbackCommand Suggestion",
    "stores.base": "Diff Problem Upkeep",
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name == "shell":
        return import_module("hermes_checkpoints.shell")
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value  # the next look-up does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
