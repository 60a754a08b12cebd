"""Programs whose arguments are a language of their own: the code that table rules refer to.

A handler takes a `Call` and reports effects through it. A rule names it with `by MODULE.FUNCTION`,
and its module is imported when such a program is first met.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import cast

from ..call import Call

Handler = Callable[[Call], None]


@cache
def handler(name: str) -> Handler:
    """The handler a rule names."""
    module, _, function = name.partition(".")
    return cast(Handler, getattr(import_module(f"{__name__}.{module}"), function))
