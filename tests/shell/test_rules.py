"""The rules as data, and what a host may add to them."""

from __future__ import annotations

import dataclasses
import json

import pytest

from hermes_checkpoints.shell import CommandRules, Kind, classify
from hermes_checkpoints.shell.programs import handler
from hermes_checkpoints.shell.rules import builtin_entries, parse_rule


def test_every_entry_is_a_rule() -> None:
    """Every entry of the tables parses, and the code it refers to exists."""
    for name, text in builtin_entries().items():
        rule = parse_rule(text)
        if rule.handler:
            assert callable(handler(rule.handler)), name
        if rule.same_as:
            assert rule.same_as in builtin_entries(), name


def test_subcommands_belong_to_a_program() -> None:
    """The entry `program subcommand` has an entry for its program that looks for it."""
    for name in builtin_entries():
        program, _, subcommand = name.rpartition(" ")
        if program:
            assert parse_rule(builtin_entries()[program]).subcommands, (program, subcommand)


def test_an_added_rule_makes_a_program_stricter() -> None:
    """Without `trust` a host's rule is held beside the library's own."""
    rules = CommandRules.from_mapping({"cat": "write last", "git fetch": "delete cwd"})
    assert classify("cat a b", "/w", rules=rules).effects[0].path == "/w/b"
    assert classify("git fetch", "/w", rules=rules).destructive
    assert not classify("git fetch", "/w").destructive


def test_an_added_rule_does_not_clear_an_unknown_program() -> None:
    """An unknown program with an untrusted rule may still change anything."""
    rules = CommandRules.from_mapping({"frob": "create all"})
    assert classify("frob x", "/w", rules=rules).destructive


def test_a_trusted_rule_replaces() -> None:
    """With `trust: true` the host's rule is the whole truth."""
    rules = CommandRules.from_mapping({"frob": {"rule": "reads", "trust": True}})
    assert not classify("frob x", "/w", rules=rules).changes
    assert classify("frob x", "/w").destructive


def test_a_trusted_wrapper() -> None:
    """A host's own wrapper can be taught, and what it wraps is seen."""
    rules = CommandRules.from_mapping(
        {"rtx-run": {"rule": "style first; takes -e; runs 1-", "trust": True}}
    )
    assert not classify("rtx-run -e x ls", "/w", rules=rules).destructive
    (effect,) = classify("rtx-run -e x rm a", "/w", rules=rules).effects
    assert (effect.kind, effect.path) == (Kind.DELETE, "/w/a")


@pytest.mark.parametrize(
    ("mapping", "word"),
    [
        ({"frob": "reads"}, "trust"),
        ({"frob": ""}, "trust"),
        ({"frob": "eats all"}, "eats"),
        ({"frob": "write somewhere"}, "somewhere"),
        ({"frob": "write"}, "place"),
        ({"frob": 3}, "rule"),
        ({"frob": {"rule": "write all", "trusted": True}}, "trusted"),
        ({"frob": {"rule": "write all", "trust": "yes"}}, "trust"),
        ({"frob": {"rule": "by git.git", "trust": True}}, "by"),
        ({"frob": "as nothing-known"}, "nothing-known"),
        ({"frob": "takes"}, "options"),
        ({"frob": "runs x"}, "runs"),
        ({" ": "write all"}, "name"),
    ],
)
def test_a_wrong_rule_is_refused(mapping: dict[str, object], word: str) -> None:
    """A rule that cannot be read, or that would hide effects untrusted, is refused by name."""
    with pytest.raises(ValueError, match=word):
        CommandRules.from_mapping(mapping)


def test_effects_become_json() -> None:
    """An answer is plain data: `dataclasses.asdict` makes it JSON."""
    data = json.loads(json.dumps(dataclasses.asdict(classify("cd a && rm -rf b", "/w"))))
    assert data["effects"] == [
        {
            "kind": "delete",
            "path": "/w/a/b",
            "certain": True,
            "evidence": ["rm", "b"],
            "route": "",
            "sources": [],
        }
    ]
    assert data["why"] == "rm deletes /w/a/b."


def _sources(command: str) -> dict[str | None, tuple[str, ...]]:
    return {e.path: e.sources for e in classify(command, "/w").effects}


def test_what_is_put_into_a_directory_is_named() -> None:
    """A destination knows the sources that arrive in it, if it is a directory."""
    for program in ("cp", "mv", "install", "ln -f", "git mv", "gio move"):
        assert _sources(f"{program} a /x/b dist/")["/w/dist"] == ("/w/a", "/x/b"), program
    assert _sources("cp -r new/. dist")["/w/dist"] == ("/w/new/.",)
    assert _sources("mv -t dist a")["/w/dist"] == ("/w/a",)
    assert _sources("cp -rT new dist")["/w/dist"] == ("/w/new/.",)
    assert _sources("rsync -a new/ old host:x dist")["/w/dist"] == ("/w/new/.", "/w/old")
    assert _sources("mv a b")["/w/a"] == ()


def test_the_way_a_path_is_walked_is_kept() -> None:
    """Where `..` or a closing slash may lead through a link, the effect keeps the words' way."""
    routes = {
        "cd ld && rm ../f": "/w/ld/../f",
        "rm -rf ld/": "/w/ld/",
        "rm ../*.log": "/w/../*.log",
        "rm a/b ./c": "",
    }
    for command, route in routes.items():
        assert classify(command, "/w").effects[0].route == route, command


def test_git_clean_names_what_no_scan_sees() -> None:
    """With `-x` or `-X` ignored files go, so all below the directory is named for certain."""
    assert [(e.path, e.certain) for e in classify("git clean -fdX", "/w").effects] == [("/w", True)]
    (effect,) = classify("cd sub && git clean -fdx build", "/w").effects
    assert (effect.path, effect.certain) == ("/w/sub/build", True)
    assert not classify("git clean -fd", "/w").certain
    assert not classify("git clean -fdx '*.o'", "/w").certain
