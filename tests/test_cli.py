"""The command line: every command, its exit codes, its JSON, and how a host mounts it."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_checkpoints import cli
from hermes_checkpoints.books import Books
from hermes_checkpoints.manager import CheckpointManager
from hermes_checkpoints.middleware import file_tool
from hermes_checkpoints.stores import memory

COMMANDS = [
    "status",
    "list",
    "prune",
    "clear",
    "clear-legacy",
    "log",
    "diff",
    "plan",
    "restore",
    "undo",
    "snapshot",
    "classify",
    "verify",
    "doctor",
    "explain",
    "forget",
    "relink",
    "run",
    "hook",
]


class Shell:
    """A person at a shell in a project, on the in-memory store."""

    def __init__(self, root: Path, base: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self.base = base
        self._capsys = capsys
        self.out = self.err = ""

    def __call__(self, *argv: str) -> int:
        """Run a command; its output is in `out` and `err` afterwards."""
        self._capsys.readouterr()
        try:
            code = cli.main(argv)
        except SystemExit as exit:
            code = int(exit.code or 0)
        self.out, self.err = self._capsys.readouterr()
        return code

    def json(self, *argv: str) -> Any:
        """The result of a command that goes well, as a program sees it."""
        assert self(*argv, "--json") == 0, self.err
        return json.loads(self.out)

    def agent_writes(self, name: str, content: str) -> None:
        """An agent's turn in another process, as it were: write one file, and end."""
        with CheckpointManager.from_file() as manager:

            @file_tool(path="path", manager=manager)
            def write_file(path: str, content: str) -> None:
                Path(path).write_text(content, encoding="utf-8")

            write_file(str(self.root / name), content)

    def text(self, name: str) -> str:
        return (self.root / name).read_text(encoding="utf-8")


@pytest.fixture
def shell(
    tmp_path: Path,
    project_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Shell]:
    home = tmp_path / "hermes"
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text("checkpoints: {enabled: true, store: memory}\n")
    (home / "checkpoints").mkdir(mode=0o700)
    monkeypatch.setenv("HERMES_HOME", str(home))
    monkeypatch.chdir(project_dir)
    yield Shell(project_dir, home / "checkpoints", capsys)
    memory._stores.pop(str(home / "checkpoints"), None)


@pytest.fixture
def worked(shell: Shell) -> Shell:
    """An agent wrote `a` twice: 0, 1, 2."""
    (shell.root / "a").write_text("0", encoding="utf-8")
    shell.agent_writes("a", "1")
    shell.agent_writes("a", "2")
    return shell


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Somebody at a terminal who answers every question the same way."""

    def answers(word: str) -> None:
        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        monkeypatch.setattr("builtins.input", lambda prompt="": word)

    return answers


# --------------------------------------------------------------------------- looking


def test_status_is_what_is_done_without_a_command(worked: Shell) -> None:
    """No command, `status` and `list` say the same, with a row for the project."""
    assert worked() == 0
    nothing = worked.out
    assert worked("status") == 0
    assert worked.out == nothing
    assert worked("list") == 0
    assert worked.out == nothing
    assert f"Checkpoint base: {worked.base}" in nothing
    assert str(worked.root) in nothing
    (project,) = worked.json("status")["projects"]
    assert (project["checkpoints"], project["presence"]) == (2, "live")


def test_looking_creates_no_store(shell: Shell) -> None:
    """After every command that only looks, the base is as empty as before."""
    for argv in (["status"], ["log"], ["verify"], ["doctor"], ["explain", "a"], ["prune", "-n"]):
        shell(*argv)
    assert list(shell.base.iterdir()) == []


def test_the_log_is_the_list_and_a_json_list(worked: Shell) -> None:
    """Newest first, with the commands of a shell below, from any directory with `-C`."""
    assert worked("log") == 0
    assert "hermes-checkpoints restore <N> --all" in worked.out
    listed = worked.json("log", "-C", str(worked.root))
    assert isinstance(listed, list)
    assert [c["reason"] for c in listed] == ["before write_file: a"] * 2
    assert listed[0]["id"].startswith(listed[0]["short_id"])


def test_an_empty_log_says_where_it_looked(shell: Shell) -> None:
    """Exit code 0, an empty JSON list, and the directory in the text."""
    assert shell("log") == 0
    assert f"No checkpoints for {shell.root}" in shell.out
    assert shell.json("log") == []


def test_a_diff_goes_from_the_checkpoint_to_now(worked: Shell) -> None:
    """Lines added since show as added."""
    assert worked("diff", "2") == 0
    assert "+2" in worked.out
    assert "-0" in worked.out
    assert "+2" in worked.json("diff", "2", "a")["patch"]


def test_classify_shows_effects(shell: Shell) -> None:
    """Destructive or not is in the JSON, with each path."""
    found = shell.json("classify", "rm -rf build")
    assert found["destructive"] is True
    assert found["effects"][0]["path"] == str(shell.root / "build")
    assert shell.json("classify", "ls")["changes"] is False
    assert shell("classify", "--", "rm", "-rf", "x") == 0
    assert "rm -rf x" in shell.out


def test_classify_knows_the_hosts_own_rules(shell: Shell) -> None:
    """What `commands` says of a program is what the classifier sees."""
    assert shell.json("classify", "frobnicate x")["destructive"] is True
    config = shell.base.parent / "config.yaml"
    trusted = "frobnicate: {rule: reads, trust: true}"
    config.write_text(f"checkpoints: {{store: memory, commands: {{{trusted}}}}}\n")
    assert shell.json("classify", "frobnicate x")["changes"] is False
    config.write_text("checkpoints: {store: memory, commands: {frobnicate: [1]}}\n")
    assert shell("classify", "frobnicate x") == 2
    assert f"{config}: checkpoints.commands: 'frobnicate'" in shell.err


def test_verify_finds_nothing_wrong_with_a_sound_store(worked: Shell) -> None:
    """Exit code 0, an empty list, with all data read too."""
    assert worked.json("verify", "--read-data") == []
    assert worked("verify") == 0
    assert worked.out == "No problem found.\n"


def test_verify_fails_where_something_is_wrong(worked: Shell) -> None:
    """A lost object is a problem and exit code 1."""
    store = memory._stores[str(worked.base)]
    for name in list(store._drawer.names("content/")) or list(store._drawer.names("blob/")):
        store._drawer.delete(name)
    assert worked("verify", "--read-data") == 1
    assert "problem" in worked.out


def test_doctor_finds_what_is_wrong_with_the_set_up(worked: Shell) -> None:
    """A base that others can read is found, mended with `--fix`, and then no problem."""
    assert worked("doctor") == 0, worked.out
    worked.base.chmod(0o755)
    assert worked("doctor") == 1
    assert f"chmod 700 {worked.base}" in worked.out
    assert worked("doctor", "--fix") == 1
    assert worked("doctor") == 0


def test_doctor_says_that_checkpoints_are_off(shell: Shell) -> None:
    """That is the commonest reason for a missing undo."""
    (shell.base.parent / "config.yaml").write_text("checkpoints: {store: memory}\n")
    assert shell("doctor") == 1
    assert "checkpoints are off" in shell.out


def test_doctor_names_projects_that_are_gone(worked: Shell) -> None:
    """With both ways out: relink if it was moved, prune if not."""
    os.chdir(worked.root.parent)
    worked.root.rename(worked.root.parent / "moved")
    assert worked("doctor") == 1
    assert "relink OLD NEW" in worked.out


EXPLAINED = {
    "a": (True, "as it is now"),
    "big": (False, "max_file_size_mb"),
    ".env": (False, "secret"),
    "missing": (False, "no such file"),
    "ignored": (False, "ignore rule"),
    "node_modules/x": (False, "ignore rule"),
    "nested/x": (False, "nested git repository"),
    "fifo": (False, "special file"),
}


@pytest.mark.parametrize(("path", "expected"), EXPLAINED.items())
def test_explain_says_why(shell: Shell, path: str, expected: tuple[bool, str]) -> None:
    """Protected or not, the reason is the one that applies."""
    (shell.base.parent / "config.yaml").write_text(
        "checkpoints: {enabled: true, store: memory, max_file_size_mb: 0.001}\n"
    )
    for name in ("a", ".env", "ignored"):
        (shell.root / name).write_text("x", encoding="utf-8")
    (shell.root / "big").write_bytes(b"x" * 5000)
    (shell.root / ".gitignore").write_text("ignored\n", encoding="utf-8")
    (shell.root / "nested/.git").mkdir(parents=True)
    (shell.root / "nested/x").touch()
    (shell.root / "node_modules").mkdir()
    (shell.root / "node_modules/x").touch()
    os.mkfifo(shell.root / "fifo")
    shell("snapshot")
    found = shell.json("explain", path)
    assert (found["protected"], expected[1] in found["why"]) == (expected[0], True), found
    assert shell("explain", path) == 0


def test_explain_tells_since_when(worked: Shell) -> None:
    """The oldest of an unbroken run of checkpoints is named; a newer file is told to wait."""
    (worked.root / "b").write_text("1", encoding="utf-8")
    assert worked.json("explain", "b")["why"].startswith("no checkpoint holds it yet")
    worked("snapshot")
    found = worked.json("explain", "a")
    assert found["current"] is True
    assert found["since"]["id"] == worked.json("log")[2]["id"]
    assert worked.json("explain", "b")["since"]["id"] == worked.json("log")[0]["id"]
    assert worked.json("explain", ".")["protected"] is True


# --------------------------------------------------------------------------- restoring


def test_restore_and_undo_from_a_shell(worked: Shell) -> None:
    """The writes of ended sessions are ours, so a plain restore takes them back."""
    assert worked("restore", "2") == 0, worked.err
    assert worked.text("a") == "0"
    assert "`hermes-checkpoints undo` takes this back" in worked.out
    assert worked("undo") == 0
    assert worked.text("a") == "2"


def test_a_plan_changes_nothing(worked: Shell) -> None:
    """`plan` and `restore -n` are the same, as text and as JSON."""
    assert worked("plan", "2", "--all") == 0
    planned = worked.out
    assert "hermes-checkpoints restore" in planned
    assert worked("restore", "2", "--all", "-n") == 0
    assert worked.out == planned
    assert [s["path"] for s in worked.json("plan", "2")["steps"]] == ["a"]
    assert worked.text("a") == "2"


def test_hand_edits_are_kept_unless_all(worked: Shell) -> None:
    """A person's note stays, with `--all` it goes back too."""
    worked("snapshot")
    (worked.root / "pyproject.toml").write_text("# mine", encoding="utf-8")
    report = worked.json("restore", "1")
    assert [s["path"] for s in report["kept"]] == ["pyproject.toml"]
    assert worked("restore", "1", "--all") == 0
    assert worked.text("pyproject.toml") == ""


def test_selected_paths_only(worked: Shell) -> None:
    """A path that matches nothing is a failure that names it."""
    assert worked("restore", "2", "a") == 0
    assert worked.text("a") == "0"
    assert worked("restore", "1", "nothing-here") == 1
    assert "nothing-here" in worked.err
    assert worked.out == ""


def test_a_busy_project_is_a_conflict(worked: Shell) -> None:
    """Exit code 3 and the running tool's name; `--busy-ok` goes ahead."""
    with CheckpointManager.from_file() as manager:
        project = manager.project(worked.root)
        Books(worked.base).of(project).leases.open("call-1", "terminal", "s")
        assert worked("restore", "2") == 3
        assert "Terminal (call call-1) has been running" in worked.err
        assert worked("undo") == 3
        assert worked("restore", "2", "--busy-ok") == 0


def test_a_snapshot_can_be_labelled(shell: Shell) -> None:
    """The reason is what was typed; a label keeps it; nothing new makes none."""
    (shell.root / "a").write_text("1", encoding="utf-8")
    assert shell("snapshot", "before", "lunch", "--label", "lunch") == 0
    (made,) = shell.json("log")
    assert made["reason"] == "before lunch"
    assert made["pins"] == ["lunch"]
    assert "Unchanged" in shell.json("snapshot")


def test_errors_have_json_too(worked: Shell) -> None:
    """Message, hint, kind and exit code, on standard output."""
    assert worked("restore", "99", "--json") == 1
    error = json.loads(worked.out)
    assert error["kind"] == "CheckpointNotFound"
    assert error["exit_code"] == 1
    assert "hermes-checkpoints log" in error["hint"]


# --------------------------------------------------------------------------- deleting


def test_prune_says_what_goes_and_a_dry_run_only_says_it(worked: Shell) -> None:
    """A count above the configured one goes; the dry run before changes nothing."""
    config = worked.base.parent / "config.yaml"
    config.write_text("checkpoints: {enabled: true, store: memory, max_snapshots: 1}\n")
    assert worked("prune", "--dry-run") == 0
    assert "Would drop 1 checkpoint" in worked.out
    assert len(worked.json("log")) == 2
    assert worked("prune") == 0
    assert "Dropped 1 checkpoint" in worked.out
    assert len(worked.json("log")) == 1


def orphaned(shell: Shell) -> None:
    os.chdir(shell.root.parent)
    shutil.rmtree(shell.root)


def test_orphans_stay_when_nobody_can_be_asked(worked: Shell) -> None:
    """Without a terminal and without `-y` they are named as kept."""
    orphaned(worked)
    assert worked("prune") == 0
    assert f"Kept {worked.root} (orphan)" in worked.out


def test_orphans_go_after_a_yes(worked: Shell, person: Callable[[str], None]) -> None:
    """They are listed first; a no keeps them, a yes deletes them."""
    orphaned(worked)
    person("n")
    assert worked("prune") == 0
    assert "1 project whose directory was deleted" in worked.out
    assert "Kept" in worked.out
    person("y")
    assert worked("prune") == 0
    assert "Dropped the project" in worked.out


def test_orphans_can_be_kept_or_taken_without_a_question(worked: Shell) -> None:
    """`--keep-orphans` wins over `-y`."""
    orphaned(worked)
    assert worked.json("prune", "-y", "--keep-orphans")["drops"] == []
    assert [d["reason"] for d in worked.json("prune", "-n")["drops"]] == ["directory deleted"]
    assert len(worked.json("prune", "-y")["drops"]) == 1


def test_a_declined_clear_exits_1(worked: Shell, person: Callable[[str], None]) -> None:
    """Nothing is deleted by a no, by nobody, or by a dry run."""
    assert worked("clear") == 1
    assert "--yes" in worked.err
    person("n")
    assert worked("clear") == 1
    assert "2 checkpoints of" in worked.out
    assert worked("clear", "-n") == 0
    assert len(worked.json("log")) == 2


@pytest.mark.parametrize("flag", ["-f", "-y", "--force", "--yes"])
def test_clear_takes_everything(worked: Shell, flag: str) -> None:
    """All of these flags do without a question."""
    assert worked("clear", flag) == 0
    assert worked.json("log") == []
    assert worked.text("a") == "2"


def test_clear_legacy_takes_only_archives(worked: Shell, person: Callable[[str], None]) -> None:
    """Checkpoints stay; without archives there is nothing to ask."""
    assert worked("clear-legacy") == 0
    (worked.base / "legacy-20260506-050616").mkdir()
    assert worked("clear-legacy") == 1
    person("y")
    assert worked("clear-legacy") == 0
    assert "Deleted legacy-20260506-050616" in worked.out
    assert len(worked.json("log")) == 2


def test_forget_removes_a_path_for_good(worked: Shell) -> None:
    """Old and new ids are told; a dry run lists the checkpoints that hold it."""
    before = {c["id"] for c in worked.json("log")}
    assert {c["id"] for c in worked.json("forget", "a", "-n")} == before
    assert worked("forget", "a") == 1
    ids = worked.json("forget", "a", "-y")
    assert set(ids) == before
    assert {c["id"] for c in worked.json("log")} == set(ids.values())
    assert worked.json("explain", "a")["protected"] is False
    assert worked("forget", "a") == 0
    assert "No checkpoint holds a" in worked.out


def test_what_is_no_path_of_a_project_cannot_be_forgotten(worked: Shell) -> None:
    """The project itself is cleared or pruned, not forgotten."""
    assert worked("forget", ".", "-y") == 2
    assert len(worked.json("log")) == 2


def test_relink_gives_a_moved_project_its_checkpoints(worked: Shell) -> None:
    """The empty log of the new place tells the command, and it works."""
    new = worked.root.parent / "new"
    os.chdir(worked.root.parent)
    worked.root.rename(new)
    assert worked("log", "-C", str(new)) == 0
    assert f"hermes-checkpoints relink {worked.root} {new}" in worked.out
    assert worked("relink", str(worked.root), str(new)) == 0
    assert len(worked.json("log", "-C", str(new))) == 2


# --------------------------------------------------------------------------- run


def test_run_passes_the_exit_status_on(shell: Shell) -> None:
    """Of a program that fails, of one that is killed, of one that does not exist."""
    assert shell("run", "--", "sh", "-c", "exit 7") == 7
    assert shell("run", "--", "sh", "-c", "kill -9 $$") == 137
    assert shell("run", "--", "no-such-program") == 127
    assert shell("run", "--", str(shell.root / "pyproject.toml")) == 126
    assert shell("run") == 2


def test_what_a_program_did_can_be_rolled_back(shell: Shell) -> None:
    """A checkpoint before, attribution after: a plain restore takes it back."""
    (shell.root / "a").write_text("0", encoding="utf-8")
    assert shell("run", "--", "sh", "-c", "echo 1 > a; echo 2 > b") == 0
    (made,) = shell.json("log")
    assert made["reason"].startswith("before terminal: sh -c")
    assert shell("restore", "1") == 0
    assert shell.text("a") == "0"
    assert not (shell.root / "b").exists()


def test_run_works_with_checkpoints_off(shell: Shell) -> None:
    """Whoever types it has opted in."""
    (shell.base.parent / "config.yaml").write_text("checkpoints: {store: memory}\n")
    (shell.root / "a").write_text("0", encoding="utf-8")
    assert shell("run", "rm", "a") == 0
    assert shell("restore", "1") == 0
    assert shell.text("a") == "0"


# --------------------------------------------------------------------------- usage, hosts


@pytest.mark.parametrize(
    "argv",
    [["bogus"], ["prune", "--retention-days", "x"], ["prune", "--max-size-mb", "-1"], ["plan"]],
)
def test_wrong_usage_exits_2(shell: Shell, argv: list[str]) -> None:
    """argparse says what is wrong."""
    assert shell(*argv) == 2
    assert shell.err


def test_a_wrong_configuration_exits_2(shell: Shell) -> None:
    """The message names file, key and value; unknown keys are only warned of."""
    config = shell.base.parent / "config.yaml"
    config.write_text("checkpoints: {max_snapshots: many}\n")
    assert shell("status") == 2
    assert f"{config}: checkpoints.max_snapshots" in shell.err
    config.write_text("checkpoints: {store: memory, colour: red}\n")
    assert shell("status") == 0
    assert "colour" in shell.err
    assert shell("status", "--host", "nobody") == 2


def test_common_options_stand_before_or_after_the_command(shell: Shell, tmp_path: Path) -> None:
    """`--base` and `--json` do the same in both places."""
    elsewhere = str(tmp_path / "elsewhere")
    assert shell("--base", elsewhere, "--json", "status") == 0
    before = json.loads(shell.out)
    assert shell.json("status", "--base", elsewhere) == before
    assert before["base"] == elsewhere


def test_another_host_has_its_own_store(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--host vibeos` reads that host's home."""
    monkeypatch.setenv("VIBEOS_HOME", str(tmp_path / "vibe"))
    assert shell.json("status", "--host", "vibeos")["base"] == str(tmp_path / "vibe/checkpoints")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_json(shell: Shell, command: str) -> None:
    """`--help` works and names `--json`."""
    assert shell(command, "--help") == 0
    assert "--json" in shell.out


@pytest.mark.parametrize("command", ["prune", "clear", "clear-legacy", "forget", "restore"])
def test_every_command_that_deletes_can_be_tried_first(shell: Shell, command: str) -> None:
    """`-n/--dry-run` and `-y/--yes` are there."""
    assert shell(command, "--help") == 0
    assert "--dry-run" in shell.out
    assert "--yes" in shell.out


def test_a_host_mounts_it_under_its_own_parser(
    worked: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    """Messages then name the host's command, and a bare command is status."""
    parser = argparse.ArgumentParser(prog="hermes")
    below = parser.add_subparsers()
    cli.add_arguments(below.add_parser("checkpoints"))
    (worked.base / "legacy-20260506-050616").mkdir()
    capsys.readouterr()
    assert cli.run(parser.parse_args(["checkpoints"])) == 0
    assert "Clear with: hermes checkpoints clear-legacy" in capsys.readouterr().out
    assert cli.run(parser.parse_args(["checkpoints", "log"])) == 0
    assert "hermes checkpoints restore <N>" in capsys.readouterr().out
    assert cli.run(parser.parse_args(["checkpoints", "restore", "99"])) == 1
    assert "hermes checkpoints log" in capsys.readouterr().err


def test_a_host_gets_its_session_flag() -> None:
    """`--checkpoints` is yes, `--no-checkpoints` no, and neither leaves it to the file."""
    parser = argparse.ArgumentParser()
    cli.add_session_flag(parser)
    given = [["--checkpoints"], ["--no-checkpoints"], []]
    assert [parser.parse_args(a).checkpoints for a in given] == [True, False, None]


def test_names_cannot_play_with_the_terminal(shell: Shell) -> None:
    """Control and bidi characters of a file name are escaped in text and in JSON."""
    name = "\x1b[2J\u202egnp.exe"
    (shell.root / name).write_text("1", encoding="utf-8")
    shell("snapshot")
    (shell.root / name).unlink()
    for argv in (["plan", "1"], ["diff", "1"], ["plan", "1", "--json"], ["restore", "1", "--all"]):
        assert shell(*argv) == 0
        assert "\x1b" not in shell.out
        assert "\u202e" not in shell.out


def test_an_ascii_terminal_gets_escapes(shell: Shell, tmp_path: Path) -> None:
    """Where the encoding has no camera, the list is printed all the same."""
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": os.pathsep.join(sys.path)}
    code = "import sys; from hermes_checkpoints.cli import main; sys.exit(main(sys.argv[1:]))"
    base = str(tmp_path / "real")
    (tmp_path / "c.yaml").write_text("checkpoints: {enabled: true}\n")
    common = ["--base", base, "--config", str(tmp_path / "c.yaml")]
    for argv in (["snapshot"], ["log"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *argv, *common], capture_output=True, env=env, check=False
        )
        assert done.returncode == 0, done.stderr
    assert b"Checkpoints for" in done.stdout
    assert done.stdout.isascii()


def test_a_closed_pipe_is_no_traceback(worked: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """`… | head` ends quietly."""

    def closed(*args: object, **options: object) -> None:
        raise BrokenPipeError

    stdout = sys.stdout
    monkeypatch.setattr("builtins.print", closed)
    assert cli.main(["log"]) == 1
    sys.stdout.close()
    sys.stdout = stdout


def test_a_refused_permission_is_a_sentence(worked: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the system names the file and is no traceback."""

    def refused(*args: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied", "/x")

    monkeypatch.setattr(CheckpointManager, "list_checkpoints", refused)
    assert worked("log") == 1
    assert worked.err == "/x: Permission denied.\n"


def test_progress_is_shown_on_a_terminal_only(
    worked: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal gets a moving sign on standard error; a pipe and JSON get nothing."""
    assert worked("verify") == 0
    assert worked.err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert worked("verify", "--json") == 0
    assert worked.err == ""
    assert worked("verify") == 0
    assert worked.out == "No problem found.\n"
