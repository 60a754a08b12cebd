"""The front end: shell text to the syntax tree, always.

What cannot be read becomes one `Opaque` node, which may do anything. bashlex reads the compound
commands it is known to read soundly (`compounds`), our own reader everything else: each text is
read by one of them, and tests hold that both build the same tree.
"""

from __future__ import annotations

from . import compounds
from .reader import read
from .syntax import Opaque, Script, Unreadable

MAX_LENGTH = 256 * 1024


def parse(text: str, parser: str = "auto") -> Script | Opaque:
    """The script, or `Opaque` with the reason when it cannot be read. Never raises."""
    if len(text) > MAX_LENGTH:
        return Opaque("it is too long to read")
    text = text.replace("\r\n", "\n")
    if parser == "auto" and compounds.sound(text) and compounds.available():
        try:
            return compounds.read_compound(text)
        except Unreadable:
            pass  # `sound` was too generous: our reader knows more of the language
    try:
        return read(text)
    except Unreadable as error:
        return Opaque(f"it cannot be read: {error}")
    except RecursionError:
        return Opaque("it is nested too deeply")
