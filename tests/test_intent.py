"""Intents: what a resolved call is about to change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

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


def _fill(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()


def _targets(command: str, cwd: Path) -> set[str]:
    """The targets of a command, relative to where it works."""
    intent = of_command(command, cwd)
    return {os.path.relpath(t, cwd) for t in intent.targets} if intent else set()


def test_a_moved_directory_is_a_target_with_all_that_is_in_it(tmp_path: Path) -> None:
    """`mv DIR NEW` takes the directory away, so it is held like one that is removed."""
    _fill(tmp_path, "d/f")
    assert _targets("mv d new", tmp_path) == {"d", "new"}
    assert _targets("mv d d2 && rm x", tmp_path) == {"d", "d2", "x"}


def test_what_a_copy_meets_in_a_directory_is_a_target(tmp_path: Path) -> None:
    """`cp f dist/` overwrites `dist/f` as surely as if it had been named; `new` ones are none."""
    _fill(tmp_path, "new/f", "new/sub/g", "new/other", "dist/f", "dist/sub/g", "dist/new/sub/g")
    for program in ("cp", "mv", "install", "ln -sf"):
        assert "dist/f" in _targets(f"{program} new/f dist/", tmp_path), program
    assert _targets("cp -r new/. dist/", tmp_path) == {"dist/f", "dist/sub/g"}
    assert _targets("cp -r new/* dist", tmp_path) == {"dist/f", "dist/sub/g"}
    assert _targets("cp -r new dist", tmp_path) == {"dist/new/sub/g"}
    assert _targets("rsync -a new/ dist/", tmp_path) == {"dist/f", "dist/sub/g"}
    assert _targets("cp -rT new dist", tmp_path) == {"dist/f", "dist/sub/g"}
    intent = of_command("cp new/f dist", tmp_path)
    assert intent is not None
    assert not intent.certain


def test_what_a_pattern_names_is_a_target(tmp_path: Path) -> None:
    """`rm dist/*` and `find dist -delete` name what is there, though they are not certain."""
    _fill(tmp_path, "dist/a.js", "dist/b.js", "dist/sub/c")
    assert _targets("rm dist/*.js", tmp_path) == {"dist/a.js", "dist/b.js"}
    assert _targets("rm -rf dist/*", tmp_path) == {"dist/a.js", "dist/b.js", "dist/sub"}
    assert _targets("sed -i s/a/b/ dist/*", tmp_path) == {"dist/a.js", "dist/b.js"}
    assert _targets("find dist -delete", tmp_path) == {"dist"}
    assert _targets("find . -name '*.js' -delete", tmp_path) == set()


def test_too_many_are_left_to_the_scan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a pattern names is not counted without end, nor is a working directory that goes."""
    _fill(tmp_path, "dist/a", "dist/b", "dist/sub/c")
    monkeypatch.setattr("hermes_checkpoints.intent._MOST_GUESSED", 2)
    assert _targets("find dist -delete", tmp_path) == set()
    assert _targets("git clean -fdx", tmp_path) == {"."}
    monkeypatch.setattr("hermes_checkpoints.intent._MOST_NAMED", 2)
    assert _targets("git clean -fdx", tmp_path) == set()


def test_dots_go_up_from_where_a_link_leads(tmp_path: Path) -> None:
    """`link/../f` is the file beside the link's target; the one beside the link is held as well."""
    _fill(tmp_path, "w/f", "far/out/g", "far/f")
    os.symlink("../far/out", tmp_path / "w/link")
    both = {"f", "../far/f"}
    cwd = tmp_path / "w"
    written = of_file("link/../f", cwd=cwd)
    assert written is not None
    assert {os.path.relpath(t, cwd) for t in written.targets} == both
    assert _targets("cd link && rm ../f", cwd) == both
    assert _targets("rm link/../f", cwd) == both
    assert _targets("rm ./x/../f", cwd) == {"f"}


def test_a_slash_at_the_end_of_a_link_means_what_is_behind_it(tmp_path: Path) -> None:
    """`rm -rf link/` empties the directory the link leads to, and that is held."""
    _fill(tmp_path, "far/f")
    os.symlink("far", tmp_path / "link")
    assert _targets("rm -rf link/", tmp_path) == {"link", "far"}
    assert _targets("rm -rf link", tmp_path) == {"link"}
