"""Upkeep that nobody asked for: when it runs, and that it runs off the tool path.

Owns the count of what was captured since the last one, and the thread: at most one at a time. What
upkeep does is `housekeeping`'s.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from hermes_checkpoints.sessions import write_private

__all__ = ["Background", "is_due"]

_log = logging.getLogger(__name__)
_MANY = 25  # captures; each writes about 8 loose objects, and past 256 of them git slows down
_VERY_MANY = 100  # of a host that names turns in its calls only, so that no end of one is seen
_BRIEFLY = 5.0
_OFTEN = 1800.0


class Background:
    """Runs `work(at_end)` after turns and at the end of a session, if something was captured.

    `note` is the file whose time tells other processes when it was last done. Thread-safe.
    """

    def __init__(self, work: Callable[[bool], object], note: Path) -> None:
        self._work = work
        self._note = note
        self._captured = 0
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def captured(self) -> None:
        """Count a checkpoint; beside a tool call, so no more than that."""
        self._captured += 1

    def after_turn(self) -> threading.Thread | None:
        """Work in the background, if it is due and none is at work; the thread, if one began."""
        return self._begin(_MANY)

    def after_call(self) -> threading.Thread | None:
        """The same, where turns do not end in time."""
        return self._begin(_VERY_MANY)

    def _begin(self, many: int) -> threading.Thread | None:
        if self._captured < many:
            return None
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return None
            self._thread = threading.Thread(
                target=self._quietly, args=(False,), name="checkpoints-upkeep", daemon=True
            )
            self._thread.start()
            return self._thread

    def close(self) -> None:
        """Wait briefly for what is at work; else do what is due, as nobody may come after."""
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(_BRIEFLY)
            if thread.is_alive():
                return  # as a daemon, it does not keep the process; leftovers are swept
        if self._captured:
            self.now()

    def now(self) -> None:
        """Work here, as at an end, due or not."""
        self._quietly(True)

    def _quietly(self, at_end: bool) -> None:
        self._captured = 0
        try:
            write_private(self._note, "")
            self._work(at_end)
        except Exception as error:  # noqa: BLE001  promise: no turn and no close fails for upkeep
            _log.warning("the upkeep of the checkpoint store failed: %s", error, exc_info=True)


def is_due(note: Path) -> bool:
    """Whether the last upkeep was long ago, for processes that live for one call only."""
    try:
        since = time.time() - os.stat(note).st_mtime
    except OSError:
        return True
    return not 0 <= since < _OFTEN
