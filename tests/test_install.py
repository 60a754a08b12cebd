"""`install HOST` and `uninstall HOST`: what they write, and all that they leave alone."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_checkpoints import cli
from hermes_checkpoints.cli.hosts import HOSTS
from hermes_checkpoints.cli.install import AGENTS
from hermes_checkpoints.cli.settings import Edit, Settings
from hermes_checkpoints.errors import CheckpointError

FILES = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini-cli": ".gemini/settings.json",
}

SETTINGS = """{
    "model": "opus",
    "größe": 1.5,
    "permissions": {
        "allow": [
            "Bash(ls:*)"
        ]
    },
    "hooks": {
        "PreToolUse": [
            {
                "matcher": "Bash",
                "hooks": [
                    {
                        "type": "command",
                        "command": "my-own-hook"
                    }
                ]
            }
        ],
        "Notification": []
    }
}
"""


class Shell:
    """A person at a shell."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.out = self.err = ""

    def __call__(self, *words: str) -> int:
        try:
            code = cli.main(words)
        except SystemExit as end:
            code = int(end.code or 0)
        self.out, self.err = self._capsys.readouterr()
        return code


@pytest.fixture
def shell(
    capsys: pytest.CaptureFixture[str], project_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> Shell:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(project_dir)
    return Shell(capsys)


@pytest.fixture
def settings(home: Path) -> Callable[..., Path]:
    """The person's settings file of a host, with a text in it."""

    def write(text: str = SETTINGS, host: str = "claude-code") -> Path:
        file = home / FILES[host]
        file.parent.mkdir()
        file.write_bytes(text.encode("utf-8"))
        return file

    return write


# --------------------------------------------------------------------------- what is written


@pytest.mark.parametrize("host", AGENTS)
def test_every_event_that_is_installed_is_understood(host: str, shell: Shell, home: Path) -> None:
    """The file names exactly the events that the hook of this host reads, and our command."""
    assert shell("install", host, "--yes") == 0
    hooks = json.loads((home / FILES[host]).read_text())["hooks"]
    assert set(hooks) == set(HOSTS[host].events)
    commands = {e["command"] for groups in hooks.values() for g in groups for e in g["hooks"]}
    assert len(commands) == 1
    assert re.search(rf"hermes-checkpoints hook {host}$", commands.pop())


@pytest.mark.parametrize(
    ("host", "tools"),
    [
        ("claude-code", ["Bash", "Edit", "Write", "MultiEdit", "NotebookEdit", "mcp__x__delete"]),
        ("codex", ["Bash", "apply_patch", "mcp__x__delete"]),
        ("gemini-cli", ["run_shell_command", "write_file", "replace", "mcp__x__delete"]),
    ],
)
def test_tools_that_change_files_are_matched(host: str, tools: list[str]) -> None:
    """The matcher takes every tool of the host that changes files, and not those that read."""
    matcher = re.compile(AGENTS[host].matcher)
    assert all(matcher.fullmatch(tool) for tool in tools)
    assert not any(matcher.fullmatch(tool) for tool in ("Read", "Grep", "Glob", "read_file"))


def test_the_rest_stays(shell: Shell, settings: Callable[..., Path]) -> None:
    """Everything else in the file stays, in its order, in its layout, at its permissions."""
    file = settings()
    file.chmod(0o640)
    assert shell("install", "claude-code", "--yes") == 0
    before, after = json.loads(SETTINGS), json.loads(file.read_text())
    assert list(after) == list(before)
    assert {k: v for k, v in after.items() if k != "hooks"} == {
        k: v for k, v in before.items() if k != "hooks"
    }
    assert after["hooks"]["PreToolUse"][0] == before["hooks"]["PreToolUse"][0]
    assert '\n    "größe": 1.5,\n' in file.read_text(encoding="utf-8")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


@pytest.mark.parametrize("text", [SETTINGS, SETTINGS.rstrip("\n"), SETTINGS.replace("\n", "\r\n")])
def test_uninstall_takes_exactly_ours(
    text: str, shell: Shell, settings: Callable[..., Path]
) -> None:
    """Installed and uninstalled, the file is what it was, byte for byte."""
    file = settings(text)
    shell("install", "claude-code", "--yes")
    assert file.read_bytes() != text.encode("utf-8")
    assert shell("uninstall", "claude-code", "--yes") == 0
    assert file.read_bytes() == text.encode("utf-8")


def test_rollback_is_made_known(shell: Shell, settings: Callable[..., Path]) -> None:
    """Claude Code gets a command of that name, shown before, and loses it with the hooks."""
    command = settings().parent / "commands" / "rollback.md"
    shell("install", "claude-code", "--dry-run")
    assert "+argument-hint:" in shell.out
    assert not command.exists()
    shell("install", "claude-code", "--yes")
    assert "checkpoint" in command.read_text()
    assert shell("install", "claude-code") == 0
    assert "stays as it is" in shell.out
    shell("uninstall", "claude-code", "--yes")
    assert not command.exists()


def test_a_command_of_ones_own_stays(shell: Shell, settings: Callable[..., Path]) -> None:
    """A person's own `/rollback` is neither replaced nor removed, and that is said."""
    command = settings().parent / "commands" / "rollback.md"
    command.parent.mkdir()
    command.write_text("my own")
    for verb in ("install", "uninstall"):
        assert shell(verb, "claude-code", "--yes") == 0
        assert str(command) in shell.err
        assert command.read_text() == "my own"


def test_switches_among_the_hooks(shell: Shell, settings: Callable[..., Path]) -> None:
    """What an agent keeps among its hooks that is no event stays as it is."""
    text = json.dumps({"hooks": {"enabled": True, "disabled": ["x"]}}, indent=2)
    file = settings(text, "gemini-cli")
    assert shell("install", "gemini-cli", "--yes") == 0
    hooks = json.loads(file.read_text())["hooks"]
    assert (hooks["enabled"], hooks["disabled"]) == (True, ["x"])
    assert hooks["BeforeTool"][0]["hooks"][0]["name"] == "hermes-checkpoints"
    shell("uninstall", "gemini-cli", "--yes")
    assert file.read_text() == text


def test_installing_twice(shell: Shell, settings: Callable[..., Path]) -> None:
    """Installing again changes nothing, wherever our entries now stand in their lists."""
    file = settings()
    shell("install", "claude-code", "--yes")
    values = json.loads(file.read_text())
    values["hooks"]["PreToolUse"].append({"matcher": "X", "hooks": []})
    file.write_text(json.dumps(values))
    before = file.read_bytes()
    assert shell("install", "claude-code") == 0
    assert "stays as it is" in shell.out
    assert file.read_bytes() == before


def test_an_older_entry_is_replaced(shell: Shell, settings: Callable[..., Path]) -> None:
    """An entry that another installation left is replaced, also where it shares a group."""
    old = {"type": "command", "command": "/old/bin/hermes-checkpoints hook claude-code"}
    mine = {"type": "command", "command": "my-own-hook"}
    file = settings(json.dumps({"hooks": {"PreToolUse": [{"hooks": [old, mine]}]}}))
    shell("install", "claude-code", "--yes")
    first, second = json.loads(file.read_text())["hooks"]["PreToolUse"]
    assert first == {"hooks": [mine]}
    assert len(second["hooks"]) == 1
    assert "/old/bin" not in file.read_text()


def test_another_hosts_entry_is_not_ours(shell: Shell, settings: Callable[..., Path]) -> None:
    """A hook of the same program for another host is left alone."""
    other = {"type": "command", "command": "hermes-checkpoints hook codex"}
    text = json.dumps({"hooks": {"Stop": [{"hooks": [other]}]}})
    file = settings(text)
    assert shell("uninstall", "claude-code", "--yes") == 0
    assert file.read_text() == text


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
_THEIRS = st.fixed_dictionaries({"type": st.just("command"), "command": st.text()})
_GROUP = st.fixed_dictionaries({"hooks": st.lists(_THEIRS)}, optional={"matcher": st.text()})
_EVENTS = st.sampled_from(["PreToolUse", "PostToolUse", "SessionEnd", "Notification", "disabled"])
_HOOKS = st.dictionaries(_EVENTS, st.lists(_GROUP, min_size=1), min_size=1)


@given(
    rest=st.dictionaries(st.text().filter(lambda key: key != "hooks"), _JSON),
    hooks=st.none() | _HOOKS,
    indent=st.sampled_from([2, 4, "\t"]),
)
def test_any_settings_survive(
    rest: dict[str, Any], hooks: Any, indent: int | str, tmp_path: Path
) -> None:
    """Whatever a person has in the file, what we put in and take out leaves it as it was."""
    values = rest if hooks is None else {**rest, "hooks": hooks}
    text = json.dumps(values, indent=indent, ensure_ascii=False) if values else ""
    file = tmp_path / "settings.json"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    agent = AGENTS["claude-code"]
    groups = agent.groups("hermes-checkpoints hook claude-code")
    try:
        settings = Settings.read(file, agent.all_events)
    except CheckpointError:  # half a surrogate pair is no UTF-8
        return
    Edit(file, text, settings.with_groups(groups, agent.name).after).make()
    installed = Settings.read(file, agent.all_events)
    assert installed.with_groups(groups, agent.name).diff == ""
    removed = installed.without_groups(agent.name).after
    assert removed == text or (not values and removed == "{}\n")


def test_nothing_to_uninstall(shell: Shell, home: Path) -> None:
    """Uninstalling where nothing is installed creates no file."""
    assert shell("uninstall", "claude-code", "--yes") == 0
    assert list(home.iterdir()) == []


def test_in_the_project(shell: Shell, project_dir: Path, home: Path) -> None:
    """`--project` writes into the project, with a command that holds no path of this machine."""
    assert shell("install", "claude-code", "--project", "--yes") == 0
    values = json.loads((project_dir / FILES["claude-code"]).read_text())
    entry: dict[str, Any] = values["hooks"]["PreToolUse"][0]["hooks"][0]
    assert entry["command"] == "hermes-checkpoints hook claude-code"
    assert list(home.iterdir()) == []


def test_options_go_along(shell: Shell, home: Path, tmp_path: Path) -> None:
    """The store and the configuration that `install` was given are the hook's too."""
    shell("install", "claude-code", "--yes", "--base", str(tmp_path / "a b"), "--host", "vibeos")
    values = json.loads((home / FILES["claude-code"]).read_text())
    command = values["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    assert command.endswith(f"hook claude-code --host vibeos --base '{tmp_path / 'a b'}'")


def test_through_a_link(
    shell: Shell, settings: Callable[..., Path], home: Path, tmp_path: Path
) -> None:
    """A settings file that is a link stays one, and its target is changed."""
    file = settings()
    target = tmp_path / "dotfiles.json"
    file.rename(target)
    file.symlink_to(target)
    shell("install", "claude-code", "--yes")
    assert file.is_symlink()
    assert "hermes-checkpoints" in target.read_text()


def test_the_hosts_own_variable(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host whose directory was moved by its variable is found there."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "moved"))
    shell("install", "claude-code", "--yes")
    assert (tmp_path / "moved" / "settings.json").exists()


# --------------------------------------------------------------------------- asking


def test_nobody_to_ask(shell: Shell, settings: Callable[..., Path]) -> None:
    """Without a terminal and without `--yes` the change is shown and not made."""
    file = settings()
    assert shell("install", "claude-code") == 1
    assert '+                        "command": ' in shell.out
    assert "Nothing was changed" in shell.err
    assert file.read_text() == SETTINGS


def test_dry_run(shell: Shell, settings: Callable[..., Path]) -> None:
    """`--dry-run` shows the change and ends well."""
    file = settings()
    assert shell("install", "claude-code", "--dry-run", "--yes") == 0
    assert "+++" in shell.out
    assert file.read_text() == SETTINGS


@pytest.mark.parametrize(("said", "done"), [("y", True), ("", False), ("no", False)])
def test_asking(
    said: str,
    done: bool,
    shell: Shell,
    settings: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A person sees the change, is asked, and only a clear yes makes it."""
    file = settings()
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda question: said)
    assert shell("install", "claude-code") == (0 if done else 1)
    assert "+++" in shell.out
    assert (file.read_text() != SETTINGS) is done


@pytest.mark.parametrize(
    "text",
    [
        "{ // a comment\n}",
        '{"hooks": []}',
        '{"hooks": {"PreToolUse": {}}}',
        '{"hooks": {"PreToolUse": [{"command": "x"}]}}',
        "[]",
        '{"a": 1, "a": 2}',
        "{",
    ],
)
def test_a_file_that_could_not_be_kept(
    text: str, shell: Shell, settings: Callable[..., Path]
) -> None:
    """A file that is no plain settings file is refused, named, and left as it is."""
    file = settings(text)
    assert shell("install", "claude-code", "--yes") == 1
    assert str(file) in shell.err
    assert file.read_text() == text


def test_an_empty_file(shell: Shell, settings: Callable[..., Path]) -> None:
    """An empty settings file is one without settings."""
    file = settings("")
    assert shell("install", "claude-code", "--yes") == 0
    assert "PreToolUse" in file.read_text()


def test_off_is_said(shell: Shell, home: Path) -> None:
    """Where the configuration says `enabled: false`, installing says that nothing will be taken."""
    (home / ".hermes").mkdir()
    (home / ".hermes" / "config.yaml").write_text("checkpoints: {enabled: false}\n")
    assert shell("install", "claude-code", "--yes") == 0
    assert "enabled: false" in shell.err


def test_hermes_is_told_what_to_add(shell: Shell, home: Path) -> None:
    """Hermes' YAML is not edited: the lines to add are shown."""
    assert shell("install", "hermes") == 0
    assert "pre_tool_call:" in shell.out
    assert "hook hermes" in shell.out
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_an_unknown_host(command: str, shell: Shell) -> None:
    """An unknown host is refused with those that are known."""
    assert shell(command, "nobody") == 1
    assert "claude-code" in shell.err
