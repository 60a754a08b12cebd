"""One program about to run: its arguments, and how to say what it does.

Rules and program handlers see only this; the walk behind it keeps the state of the shell.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .arguments import UNKNOWN, Parsed, is_url, parse, shown
from .effects import Kind

if TYPE_CHECKING:
    from .walk import Walk

SINKS = frozenset(
    ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/full", "/dev/zero",
     "/dev/random", "/dev/urandom", "NUL", "nul", "$null")
)  # fmt: skip
_SINK_PARENTS = ("/dev/fd/", "/dev/pts/", "/dev/tcp/", "/dev/udp/", "/proc/self/fd/")


MAX_CODE = 1 << 15  # characters of inline code that are read; the patterns are not all linear


def is_sink(target: str) -> bool:
    """Whether writing there changes no file."""
    return target in SINKS or target.startswith(_SINK_PARENTS)


@dataclass(slots=True)
class Call:
    """`stdin` is the text the program reads; None when nothing is fed to it."""

    walk: Walk
    name: str
    args: list[str]
    stdin: str | None = None

    def parse(
        self, takes: Collection[str] = (), knows: Collection[str] = (), *, style: str = "gnu"
    ) -> Parsed:
        return parse(self.args, takes, knows, style=style)

    def effect(
        self, kind: Kind, target: str, *, certain: bool = True, sources: Collection[str] = ()
    ) -> None:
        """It does `kind` to the path `target`; `sources` go into it, if it is a directory."""
        if kind in (Kind.WRITE, Kind.APPEND, Kind.CREATE) and (target == "-" or is_sink(target)):
            return
        if is_url(target):
            return
        evidence = (self.name, shown(target))
        self.walk.effect(kind, target, evidence, certain=certain, sources=sources)

    def effects(
        self,
        kind: Kind,
        targets: Collection[str],
        *,
        certain: bool = True,
        sources: Collection[str] = (),
    ) -> None:
        """It does `kind` to each of `targets`; to something unknown, if there is none."""
        for target in targets or (UNKNOWN,):
            self.effect(kind, target, certain=certain, sources=sources)

    def here(self, kind: Kind, why: str = "") -> None:
        """It does `kind` to something in the working directory."""
        evidence = (self.name, why or shown(self.args[0])) if why or self.args else (self.name,)
        self.walk.effect(kind, ".", evidence, certain=False)

    def unknown(self, why: str = "") -> None:
        """It may change anything."""
        evidence = (self.name, why) if why else (self.name, *map(shown, self.args[:3]))
        self.walk.unknown(evidence)

    def run(self, args: list[str], *, stdin: str | None = None) -> None:
        """It starts another program."""
        direct = self.name == "time"  # a word of the shell's own
        self.walk.run(args, self.stdin if stdin is None else stdin, direct=direct)

    def shell(self, text: str, *, same_process: bool = False) -> None:
        """It runs shell text, in a process of its own unless said otherwise."""
        self.walk.text(text, (self.name, shown(text)[:60]), same_process=same_process)
