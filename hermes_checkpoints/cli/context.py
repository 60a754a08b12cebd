"""What every command gets: configuration, a manager, words and output."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING

from hermes_checkpoints.cli.output import Output
from hermes_checkpoints.config import Config, HostProfile

if TYPE_CHECKING:
    import argparse
    from types import SimpleNamespace

    from hermes_checkpoints.housekeeping import Housekeeping
    from hermes_checkpoints.manager import CheckpointManager
    from hermes_checkpoints.render import Words

__all__ = ["Context"]


class Context:
    """One run of one command. Opens nothing before it is asked for."""

    def __init__(self, args: argparse.Namespace | SimpleNamespace) -> None:
        self.args = args
        self.command: str = args.checkpoints_command
        self.out = Output(json=args.json)
        self._manager: CheckpointManager | None = None

    @cached_property
    def config(self) -> Config:
        """The configuration as the host has it."""
        host: str | HostProfile = self.args.host
        base = {} if self.args.base is None else {"base": self.args.base}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            config = Config.from_file(self.args.config, host=host, **base)
        for warning in caught:
            self.out.note(f"warning: {warning.message}")
        return config

    @property
    def manager(self) -> CheckpointManager:
        """A manager for what a person typed: on whatever the configuration says, no sweep."""
        if self._manager is None:
            from hermes_checkpoints.manager import CheckpointManager

            config = self.config.with_(enabled=True, auto_prune=False)
            self._manager = CheckpointManager(config, cwd=self.directory, on_notice=self.out.note)
        return self._manager

    @contextmanager
    def session(self) -> Iterator[None]:
        """Speak for the agent from within which the command was typed, if one there was.

        What that agent wrote is then its own, and not another session's that still runs.
        """
        from hermes_checkpoints.cli.hook import host_process

        agent = self.manager.books.sessions.of_process(host_process())
        with self.manager.turn(session_id=agent) if agent else nullcontext():
            yield

    @property
    def house(self) -> Housekeeping:
        """The upkeep of the store."""
        return self.manager.housekeeping

    @property
    def directory(self) -> str:
        """The directory that the command is about."""
        return os.path.abspath(getattr(self.args, "directory", None) or ".")

    @cached_property
    def words(self) -> Words:
        """What texts tell the person to type."""
        from hermes_checkpoints.render import Words

        return Words.of_command(self.command)

    def close(self) -> None:
        """End the session, if one began."""
        if self._manager is not None:
            self._manager.close()
