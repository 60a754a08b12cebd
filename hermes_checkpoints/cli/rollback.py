"""The `/rollback` verbs from a shell: log, diff, plan, restore, undo, snapshot."""

from __future__ import annotations

import argparse
import shlex
import time
from typing import TYPE_CHECKING

from hermes_checkpoints import render
from hermes_checkpoints.cli.context import Context
from hermes_checkpoints.reasons import one_line
from hermes_checkpoints.records import Failed

if TYPE_CHECKING:
    from hermes_checkpoints.cli.command import Commands

__all__ = ["register"]


def register(commands: Commands) -> None:
    """Add the commands of this module."""
    _about_a_directory(commands.add("log", _log, "the checkpoints of a project, newest first"))

    differ = commands.add("diff", _diff, "from a checkpoint to the files now")
    _about_a_checkpoint(differ)

    planner = commands.add("plan", _plan, "what a restore would do; changes nothing")
    _about_a_checkpoint(planner)
    planner.add_argument("--all", action="store_true", help="as if hand-edits were restored too")

    restorer = commands.add("restore", _restore, "bring a checkpoint back, keeping hand-edits")
    _about_a_checkpoint(restorer)
    restorer.add_argument("--all", action="store_true", help="restore hand-edits too")
    _may_be_busy(restorer)
    restorer.add_argument("-n", "--dry-run", action="store_true", help="the same as plan")
    restorer.add_argument("-y", "--yes", action="store_true", help="accepted; nothing is asked")

    undoer = commands.add("undo", _undo, "take back the last restore; again walks further back")
    _about_a_directory(undoer)
    _may_be_busy(undoer)

    snapper = commands.add("snapshot", _snapshot, "take a checkpoint now")
    _about_a_directory(snapper)
    snapper.add_argument("reason", nargs="*", metavar="WORD", help="why")
    snapper.add_argument("--label", default="", help="keep it from being pruned under this name")


def _log(context: Context) -> int:
    project = context.manager.project(context.directory)
    checkpoints = context.manager.list_checkpoints(context.directory)
    if checkpoints:
        text = render.listing(project, checkpoints, context.words)
        if pending := context.manager.recovery.pending(project):
            context.out.note(render.note(pending, context.words))
    else:
        text = _none(context)
    context.out.result(text, checkpoints)
    return 0


def _none(context: Context) -> str:
    project = context.manager.project(context.directory)
    moved = context.house.moved_from(project)
    return render.no_checkpoints(
        project,
        enabled=context.config.enabled,
        others=[p for p in context.house.status().projects if p.checkpoints],
        moved_from=moved.root if moved else "",
        now=time.time(),
        words=context.words,
    )


def _diff(context: Context) -> int:
    checkpoint = context.manager.find(context.directory, context.args.which)
    diff = context.manager.diff(context.directory, checkpoint.id, paths=context.args.paths)
    text = render.cut_diff(diff, checkpoint, words=context.words)
    data = {
        "checkpoint": checkpoint.id,
        "stat": diff.stat.decode("utf-8", "surrogateescape"),
        "patch": diff.patch.decode("utf-8", "surrogateescape"),
    }
    context.out.result(text, data)
    return 0


def _plan(context: Context) -> int:
    args = context.args
    checkpoint = context.manager.find(context.directory, args.which)
    with context.session():
        plan = context.manager.plan(
            context.directory, checkpoint.id, paths=args.paths, keep_edits=not args.all
        )
    rest = [*(["--all"] if args.all else []), *args.paths]
    typed = f"{context.words.restore} {checkpoint.short_id} {shlex.join(rest)}".rstrip()
    context.out.result(render.plan(plan, context.words, typed), plan)
    return 3 if plan.refusal else 0


def _restore(context: Context) -> int:
    args = context.args
    if args.dry_run:
        return _plan(context)
    keep, busy_ok = not args.all, args.busy_ok
    with context.session():
        report = context.manager.restore(
            context.directory, args.which, args.paths, keep_edits=keep, busy_ok=busy_ok
        )
    context.out.result(render.report(report, context.words), report)
    return 0 if report.ok else 1


def _undo(context: Context) -> int:
    with context.session():
        report = context.manager.undo(context.directory, busy_ok=context.args.busy_ok)
    context.out.result(render.report(report, context.words), report)
    return 0 if report.ok else 1


def _snapshot(context: Context) -> int:
    reason = one_line(" ".join(context.args.reason)) or "snapshot"
    outcome = context.manager.snapshot(context.directory, reason, context.args.label)
    context.out.result(render.outcome(outcome, context.words), {type(outcome).__name__: outcome})
    return 1 if isinstance(outcome, Failed) else 0


def _about_a_directory(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-C", dest="directory", metavar="DIR", help="the project (default: the current directory)"
    )


def _about_a_checkpoint(parser: argparse.ArgumentParser) -> None:
    _about_a_directory(parser)
    parser.add_argument("which", metavar="N|ID", help="a number in the log, or an id")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="only these")


def _may_be_busy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--busy-ok", action="store_true", help="even while a tool is running here")
