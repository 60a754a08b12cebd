"""`/rollback` completion for `prompt_toolkit`: the only place that imports it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

if TYPE_CHECKING:
    from hermes_checkpoints.slash import RollbackCommand

__all__ = ["RollbackCompleter"]


class RollbackCompleter(Completer):
    """Completes verbs, numbers, ids and the files a restore would change.

    Other input gets no suggestions, so it merges with a host's own completer
    (`prompt_toolkit.completion.merge_completers`).
    """

    def __init__(
        self, command: RollbackCommand, *, cwd: str | os.PathLike[str] | None = None
    ) -> None:
        self._command = command
        self._cwd = cwd

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """What may follow the text before the cursor."""
        for found in self._command.complete(document.text_before_cursor, cwd=self._cwd):
            yield Completion(found.text, -found.length, display_meta=found.meaning)
