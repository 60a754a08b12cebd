"""What programs do to files, as data: the tables, and the rules a host adds to them.

Entries stay text until a program is met, so that importing this costs next to nothing.
`grammar` says how an entry is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from . import building, editing, files, reading, system, wrappers
from .grammar import Rule, parse_entries, parse_rule

__all__ = ["CommandRules", "Rule", "Rules", "builtin_entries", "parse_rule"]

_TABLES = (files, reading, editing, wrappers, building, system)


def _load() -> dict[str, str]:
    entries: dict[str, str] = {}
    for module in _TABLES:
        for name, text in parse_entries(module.TABLE).items():
            if name in entries:
                raise ValueError(f"the entry {name!r} stands in two tables")
            entries[name] = text
    return entries


_ENTRIES = _load()


def builtin_entries() -> Mapping[str, str]:
    """The library's own rules as text, by program or `program subcommand`."""
    return _ENTRIES


@cache
def _builtin(name: str) -> Rule | None:
    text = _ENTRIES.get(name)
    return None if text is None else parse_rule(text)


@dataclass(frozen=True, eq=False, slots=True)
class CommandRules:
    """A host's own rules.

    `added` hold beside the library's own rule for a program, so they can only make it stricter;
    `trusted` take its place.
    """

    added: Mapping[str, Rule]
    trusted: Mapping[str, Rule]

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, object]) -> CommandRules:
        """Rules from a host's YAML: program or `program subcommand` to an entry.

        An entry is the text of a rule (see `docs/classifier.md`), or a mapping with `rule` and
        `trust`. Raises ValueError with one sentence.
        """
        added: dict[str, Rule] = {}
        trusted: dict[str, Rule] = {}
        for name, entry in mapping.items():
            key = " ".join(str(name).split())
            if not key:
                raise ValueError("a rule needs the name of a program")
            rule, trust = _host_rule(key, entry)
            (trusted if trust else added)[key] = rule
        return cls(added, trusted)


def _host_rule(name: str, entry: object) -> tuple[Rule, bool]:
    trust: object = False
    if isinstance(entry, Mapping):
        unknown = sorted(str(key) for key in entry if key not in ("rule", "trust"))
        if unknown:
            raise ValueError(f"{name!r}: an entry has `rule` and `trust`, not {unknown[0]!r}")
        trust = entry.get("trust", False)
        entry = entry.get("rule")
    if not isinstance(entry, str):
        raise ValueError(f"{name!r}: a rule is a text such as 'write all', not {entry!r}")
    if not isinstance(trust, bool):
        raise ValueError(f"{name!r}: `trust` is true or false, not {trust!r}")
    try:
        rule = parse_rule(entry)
    except ValueError as error:
        raise ValueError(f"{name!r}: {error}") from None
    if rule.handler or rule.same_as:
        if rule.same_as and rule.same_as not in _ENTRIES:
            raise ValueError(f"{name!r}: there is no rule for {rule.same_as!r}")
        if rule.handler:
            raise ValueError(f"{name!r}: `by` is for the library's own rules")
    if not trust and not (rule.actions or rule.runs is not None or rule.scripts or rule.same_as):
        raise ValueError(
            f"{name!r}: `{entry.strip() or 'nothing'}` can only make the rule laxer, "
            "which needs `trust: true`"
        )
    return rule, trust


class Rules:
    """Where the walk looks programs up: the host's trusted rules, then the library's."""

    __slots__ = ("host",)

    def __init__(self, host: CommandRules | None = None) -> None:
        self.host = host

    def find(self, name: str) -> Rule | None:
        """The rule for a program or `program subcommand`, None if there is none."""
        if self.host is not None and name in self.host.trusted:
            return self.host.trusted[name]
        return _builtin(name)

    def added(self, name: str, args: list[str]) -> Iterator[tuple[Rule, list[str]]]:
        """What the host says beside that, for a program and for its subcommand: rule, arguments."""
        if self.host is None:
            return
        if name in self.host.added:
            yield self.host.added[name], args
        at = next((at for at, arg in enumerate(args) if not arg.startswith("-")), None)
        if at is not None and f"{name} {args[at]}" in self.host.added:
            yield self.host.added[f"{name} {args[at]}"], args[:at] + args[at + 1 :]
