"""Commands about the store as a whole: status, prune, clear, clear-legacy, forget, relink."""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from hermes_checkpoints import render
from hermes_checkpoints.cli.context import Context
from hermes_checkpoints.inventory import Presence
from hermes_checkpoints.project import project_at, relative_path

if TYPE_CHECKING:
    from hermes_checkpoints.cli.command import Commands

__all__ = ["register", "status"]


def register(commands: Commands) -> None:
    """Add the commands of this module."""
    about = "what the store holds: sizes, projects, archives"
    commands.add("status", status, about)
    commands.add("list", status, f"{about} (the same as status)")

    about = "delete what retention and the caps do not keep, and reclaim its room"
    pruner = commands.add("prune", _prune, about, deletes=True)
    pruner.add_argument("--retention-days", type=number, metavar="N", help="0: no limit")
    pruner.add_argument("--max-size-mb", type=number, metavar="N", help="0: no limit")
    pruner.add_argument(
        "--keep-orphans", action="store_true", help="keep projects whose directory was deleted"
    )

    about = "delete every checkpoint of every project"
    _forcible(commands.add("clear", _clear, about, deletes=True))
    about = "delete only the legacy-* archives of an older layout"
    _forcible(commands.add("clear-legacy", _clear_legacy, about, deletes=True))

    about = "remove a path from every checkpoint of its project, for good; ids change"
    commands.add("forget", _forget, about, deletes=True).add_argument("path", metavar="PATH")

    about = "give the checkpoints of a project that was moved to its new place"
    relinker = commands.add("relink", _relink, about)
    relinker.add_argument("old", metavar="OLD")
    relinker.add_argument("new", metavar="NEW")


def status(context: Context) -> int:
    """Show what the store holds."""
    found = replace(context.house.status(), enabled=context.config.enabled)
    text = render.status(found, now=time.time(), words=context.words)
    context.out.result(text, found)
    return 0


def _prune(context: Context) -> int:
    args = context.args
    with context.out.progress("Reclaiming…"):
        found = context.house.prune(
            retention_days=args.retention_days,
            max_total_size_mb=args.max_size_mb,
            delete_orphans=_orphans_go(context),
            dry_run=args.dry_run,
        )
    context.out.result(render.prune_result(found), found)
    return 0 if found.ok else 1


def _orphans_go(context: Context) -> bool:
    """Whether a person agrees to lose the orphans, having seen them."""
    if context.args.keep_orphans:
        return False
    if context.args.yes or context.args.dry_run:
        return True
    orphans = [p for p in context.house.status().projects if p.presence is Presence.ORPHAN]
    return bool(orphans) and context.out.confirmed(
        render.orphans(orphans), "Delete their checkpoints?"
    )


def _clear(context: Context) -> int:
    found = context.house.status()
    if not context.args.dry_run and not _agreed(context, render.clear_question(found)):
        return 1
    result = context.house.clear(dry_run=context.args.dry_run)
    context.out.result(render.prune_result(result), result)
    return 0 if result.ok else 1


def _clear_legacy(context: Context) -> int:
    question = render.clear_question(context.house.status(), legacy_only=True)
    nothing = not context.house.archives()
    if not nothing and not context.args.dry_run and not _agreed(context, question):
        return 1
    result = context.house.clear_archives(dry_run=context.args.dry_run)
    context.out.result(render.prune_result(result), result)
    return 0 if result.ok else 1


def _agreed(context: Context, question: str) -> bool:
    if context.args.yes or getattr(context.args, "force", False):
        return True
    agreed = context.out.confirmed(question)
    if not agreed:
        text = "Nothing was deleted: " + ("as you wish." if context.out.can_ask else _NOBODY)
        context.out.note(text)
    return agreed


_NOBODY = "nobody is here to confirm it; --yes does without."


def _forget(context: Context) -> int:
    place = os.path.abspath(context.args.path)
    project = context.manager.project(place if os.path.isdir(place) else os.path.dirname(place))
    path = relative_path(project, place)
    if path is None or path == ".":
        context.out.note(f"{render.safe(place)} is no path inside {render.safe(project.root)}.")
        return 2
    holders = context.house.holders(project, path)
    if context.args.dry_run or not holders:
        context.out.result(render.holders(path, holders), holders)
        return 0
    if not _agreed(context, render.holders(path, holders)):
        return 1
    with context.out.progress("Rewriting…"):
        ids = context.house.forget_path(project, path)
    context.out.result(render.forgotten(path, ids), ids)
    return 0


def _relink(context: Context) -> int:
    old, new = project_at(context.args.old), project_at(context.args.new)
    context.house.relink(old, new)
    context.out.result(render.relinked(old, new), {"old": old, "new": new})
    return 0


def _forcible(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-f", "--force", action="store_true", help="the same as --yes")


def number(text: str) -> float:
    """What the command line takes for an amount; argparse shows this name."""
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError(text)
    return value
