"""Commands that look closer: classify, verify, doctor, explain."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hermes_checkpoints import render
from hermes_checkpoints.cli.context import Context
from hermes_checkpoints.intent import command_rules

if TYPE_CHECKING:
    from hermes_checkpoints.cli.command import Commands
    from hermes_checkpoints.stores.base import Problem

__all__ = ["register"]


def register(commands: Commands) -> None:
    """Add the commands of this module."""
    classifier = commands.add("classify", _classify, "what the classifier sees in a command")
    classifier.add_argument(
        "words", nargs="+", metavar="CMD", help="a command line, best quoted as one word"
    )
    classifier.add_argument("-C", dest="directory", metavar="DIR", help="where it would run")

    verifier = commands.add("verify", _verify, "is the store sound")
    verifier.add_argument("--read-data", action="store_true", help="read every byte of it")

    doctor = commands.add("doctor", _doctor, "what is wrong with this set-up")
    doctor.add_argument("--fix", action="store_true", help="repair what can be repaired")

    explainer = commands.add("explain", _explain, "is a path protected, since when, or why not")
    explainer.add_argument("path", metavar="PATH")


def _classify(context: Context) -> int:
    from hermes_checkpoints.shell import classify

    command = " ".join(context.args.words)
    config = context.config
    place = os.path.abspath(context.directory)
    found = classify(command, place, rules=command_rules(config), parser=config.parser)
    data = {"command": command, "destructive": found.destructive, "changes": found.changes}
    data |= {"certain": found.certain, "why": found.why, "effects": found.effects}
    context.out.result(render.effects(command, found), data)
    return 0


def _verify(context: Context) -> int:
    found: list[Problem] = []
    if context.house.has_store:
        with context.out.progress("Verifying…"):
            found = list(context.manager.verify(read_data=context.args.read_data))
    context.out.result(render.problems(found), found)
    return 1 if found else 0


def _doctor(context: Context) -> int:
    from hermes_checkpoints.doctor import diagnose

    with context.out.progress("Looking…"):
        found = diagnose(
            context.manager,
            command=context.command,
            enabled=context.config.enabled,
            fix=context.args.fix,
        )
    context.out.result(render.problems(found), found)
    return 1 if found else 0


def _explain(context: Context) -> int:
    from hermes_checkpoints.explain import explain

    found = explain(context.manager, context.args.path, enabled=context.config.enabled)
    context.out.result(render.explanation(found), found)
    return 0
