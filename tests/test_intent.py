"""Intents: what a resolved call is about to change."""

from __future__ import annotations

import os
from pathlib import Path

from hermes_checkpoints.intent import Intent, intent_of, is_sandbox
from hermes_checkpoints.records import ToolCall, ToolEffect


def of_command(command: str, cwd: Path) -> Intent | None:
    return intent_of(ToolCall("sh", effect=ToolEffect.COMMAND, command=command), str(cwd))


def of_file(*paths: str, cwd: Path) -> Intent | None:
    return intent_of(ToolCall("write_file", effect=ToolEffect.FILE, paths=paths), str(cwd))


def test_a_file_tool_changes_its_paths_and_nothing_else(tmp_path: Path) -> None:
    """Relative paths start from the working directory, and hashing them is enough."""
    intent = of_file("a.txt", "/etc/b", cwd=tmp_path)
    assert intent is not None
    assert intent.targets == (f"{tmp_path}/a.txt", "/etc/b")
    assert intent.certain
    assert intent.places == ()


def test_writing_through_a_link_changes_what_it_leads_to(tmp_path: Path) -> None:
    """Both the link and the file it leads to are targets of a write; of a removal only the link."""
    (tmp_path / "real").write_text("x", encoding="utf-8")
    os.symlink("real", tmp_path / "link")
    written, removed = of_file("link", cwd=tmp_path), of_command("rm link", tmp_path)
    assert written is not None
    assert removed is not None
    assert set(written.targets) == {f"{tmp_path}/link", f"{tmp_path}/real"}
    assert removed.targets == (f"{tmp_path}/link",)


def test_a_database_brings_its_companions(tmp_path: Path) -> None:
    """The write-ahead log and its kin are captured with the database they belong to."""
    for name in ("a.db", "a.db-wal"):
        (tmp_path / name).touch()
    intent = of_file("a.db", cwd=tmp_path)
    assert intent is not None
    assert intent.targets == (f"{tmp_path}/a.db", f"{tmp_path}/a.db-wal")


def test_a_reading_command_changes_nothing(tmp_path: Path) -> None:
    """What provably only reads has no intent."""
    assert of_command("ls -la 2>&1 | wc -l", tmp_path) is None
    assert intent_of(ToolCall("read", effect=ToolEffect.NONE), str(tmp_path)) is None


def test_a_removed_directory_is_a_target_with_all_that_is_in_it(tmp_path: Path) -> None:
    """`rm -rf DIR` names the directory, and nothing else can change."""
    (tmp_path / "d").mkdir()
    intent = of_command("rm -rf d", tmp_path)
    assert intent is not None
    assert intent.targets == (f"{tmp_path}/d",)
    assert intent.certain


def test_a_directory_that_is_written_below_is_left_to_the_scan(tmp_path: Path) -> None:
    """A copy into a directory is no certain target; the whole project is looked at."""
    (tmp_path / "d").mkdir()
    intent = of_command("cp a d", tmp_path)
    assert intent is not None
    assert not intent.certain
    assert f"{tmp_path}/d" in intent.places


def test_a_pattern_makes_a_command_uncertain(tmp_path: Path) -> None:
    """A glob leads to the directory it starts in, which may be another project's."""
    intent = of_command("rm /srv/app/logs/*.log", tmp_path)
    assert intent is not None
    assert not intent.certain
    assert "/srv/app/logs" in intent.places
    assert str(tmp_path) in intent.places


def test_code_may_change_anything(tmp_path: Path) -> None:
    """A tool that runs code names no target and is never certain."""
    intent = intent_of(ToolCall("execute_code", effect=ToolEffect.ANY), str(tmp_path))
    assert intent is not None
    assert intent.places == (str(tmp_path),)
    assert not intent.certain


def test_paths_of_an_unknown_tool_are_hints(tmp_path: Path) -> None:
    """A file is a target, a directory a place, and what is not there is neither."""
    (tmp_path / "d").mkdir()
    (tmp_path / "f").touch()
    call = ToolCall("frob", effect=ToolEffect.ANY, paths=("d", "f", "none", "/"))
    intent = intent_of(call, str(tmp_path))
    assert intent is not None
    assert intent.targets == (f"{tmp_path}/f",)
    assert intent.places == (str(tmp_path), f"{tmp_path}/d", "/")


def test_reasons_follow_the_grammar(tmp_path: Path) -> None:
    """A command's reason is the command, a file tool's the tool and its one path."""
    command, file = of_command("rm x", tmp_path), of_file("x", cwd=tmp_path)
    assert command is not None
    assert file is not None
    assert command.reason() == "before terminal: rm x"
    assert file.reason("x") == "before write_file: x"


def test_only_local_and_ssh_are_this_machine() -> None:
    """Every other environment is a sandbox, whatever its name."""
    assert not is_sandbox("local")
    assert not is_sandbox("ssh")
    assert is_sandbox("docker")
    assert is_sandbox("some new sandbox")
