"""Programs whose arguments are a language of their own: the code that table rules refer to.

A handler takes a `Call` and reports effects through it; rules name it with `by NAME`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..call import Call
from . import (
    archives,
    containers,
    editors,
    files,
    git,
    interpreters,
    tools,
    transfer,
    windows,
    wrappers,
)

Handler = Callable[[Call], None]

HANDLERS: Mapping[str, Handler] = {
    **archives.HANDLERS,
    **containers.HANDLERS,
    **editors.HANDLERS,
    **files.HANDLERS,
    **git.HANDLERS,
    **interpreters.HANDLERS,
    **tools.HANDLERS,
    **transfer.HANDLERS,
    **windows.HANDLERS,
    **wrappers.HANDLERS,
}
