"""What the common agents' tools touch, by name and arguments."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_checkpoints.arguments import find_command, find_cwd, find_paths
from hermes_checkpoints.records import ToolCall, ToolEffect
from hermes_checkpoints.registry import ToolRegistry

FILE, COMMAND, ANY, NONE = (
    ToolEffect.FILE,
    ToolEffect.COMMAND,
    ToolEffect.ANY,
    ToolEffect.NONE,
)
_PATCH = "*** Begin Patch\n*** Update File: a\n@@\n-1\n+2\n*** Delete File: b\n*** End Patch"
_DIFF = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n"


def resolve(name: str, arguments: Mapping[str, object], **call: object) -> ToolCall:
    return ToolRegistry().resolve(ToolCall(name, arguments, **call))  # type: ignore[arg-type]


# --------------------------------------------------------------------------- file tools

_FILE_TOOLS: list[tuple[str, str, dict[str, object], tuple[str, ...]]] = [
    ("Claude Code", "Write", {"file_path": "a", "content": "x"}, ("a",)),
    ("Claude Code", "Edit", {"file_path": "a", "old_string": "b/c", "new_string": "d"}, ("a",)),
    ("Claude Code", "MultiEdit", {"file_path": "a", "edits": [{"old_string": "x"}]}, ("a",)),
    ("Claude Code", "NotebookEdit", {"notebook_path": "a.ipynb", "new_source": "x"}, ("a.ipynb",)),
    ("Hermes", "write_file", {"path": "a", "content": "x"}, ("a",)),
    ("Hermes", "patch", {"mode": "replace", "path": "a", "old_string": "x"}, ("a",)),
    ("Hermes", "patch", {"mode": "patch", "patch": _PATCH}, ("a", "b")),
    ("Codex", "apply_patch", {"input": _PATCH}, ("a", "b")),
    ("gemini", "write_file", {"file_path": "a", "content": "x"}, ("a",)),
    ("gemini", "replace", {"file_path": "a", "old_string": "x", "new_string": "y"}, ("a",)),
    ("OpenHands", "str_replace_editor", {"command": "create", "path": "a"}, ("a",)),
    ("Strands", "file_editor", {"command": "str_replace", "path": "a"}, ("a",)),
    ("Anthropic", "str_replace_based_edit_tool", {"command": "insert", "path": "a"}, ("a",)),
    ("deepagents", "edit_file", {"file_path": "/a", "old_string": "x"}, ("/a",)),
    ("deepagents", "delete", {"file_path": "a"}, ("a",)),
    ("LangChain", "file_delete", {"file_path": "a"}, ("a",)),
    ("LangChain", "move_file", {"source_path": "a", "destination_path": "d"}, ("a", "d", "d/a")),
    ("LangChain", "copy_file", {"source_path": "s/a", "destination_path": "d"}, ("d", "d/a")),
    ("OpenAI", "apply_patch", {"operation": {"type": "update", "path": "a", "diff": "@@"}}, ("a",)),
    ("OpenAI", "apply_patch", {"operation": SimpleNamespace(path="a", move_to="b")}, ("a", "b")),
    ("Agno", "save_file", {"file_name": "a", "contents": "x"}, ("a",)),
    ("ADK", "WriteFile", {"path": "a", "content": "x"}, ("a",)),
    ("agent-framework", "file_access_write", {"file_name": "a"}, ("a",)),
    ("Cline", "write_to_file", {"path": "a", "content": "x"}, ("a",)),
    ("Cline", "apply_diff", {"path": "a", "diff": "<<<<<<< SEARCH\nx\n"}, ("a",)),
    ("Cursor", "edit_file", {"target_file": "a", "code_edit": "x"}, ("a",)),
    ("Cursor", "search_replace", {"file_path": "a", "old_string": "x"}, ("a",)),
    ("VS Code", "create_file", {"filePath": "a", "content": "x"}, ("a",)),
    (
        "VS Code",
        "multi_replace_string_in_file",
        {"replacements": [{"filePath": "a"}, {"filePath": "b"}]},
        ("a", "b"),
    ),
    ("opencode", "patch", {"patchText": _PATCH}, ("a", "b")),
    ("opencode", "write", {"filePath": "a", "content": "x"}, ("a",)),
    ("MCP", "mcp__filesystem__write_file", {"path": "a", "content": "x"}, ("a",)),
    ("MCP", "mcp__fs__move_file", {"source": "a", "destination": "b"}, ("a", "b", "b/a")),
    ("goose", "developer__text_editor", {"command": "write", "path": "a"}, ("a",)),
    ("OpenAI", "functions.apply_patch", {"patch": _DIFF}, ("a",)),
]


@pytest.mark.parametrize(("agent", "name", "arguments", "paths"), _FILE_TOOLS)
def test_file_tools(
    agent: str, name: str, arguments: dict[str, object], paths: tuple[str, ...]
) -> None:
    """A known file tool is one, and its targets are found in its arguments."""
    call = resolve(name, arguments)
    assert (call.effect, call.paths) == (FILE, paths), agent


def test_crewai_file_writer() -> None:
    """A tool that takes directory and file name apart is asked for both."""
    arguments = {"filename": "a", "directory": "d", "content": "x"}
    call = resolve("File Writer Tool", arguments, cwd="/w")
    assert (call.effect, call.paths, call.cwd) == (FILE, ("a",), "/w/d")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("apply_patch", {"input": "what is this"}),
        ("apply_patch", {"input": "@@ -1 +1 @@\n-1\n+2\n"}),
        ("write_file", {"where": "a", "content": "x"}),
        ("write_file", {"path": None}),
        ("write_file", {}),
    ],
)
def test_file_tool_without_a_path(name: str, arguments: dict[str, object]) -> None:
    """A file tool whose path cannot be read may change anything."""
    assert resolve(name, arguments).effect is ANY


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("str_replace_editor", {"command": "view", "path": "a"}),
        ("file_editor", {"command": "find_line", "path": "a"}),
        ("edit_file", {"path": "a", "edits": [], "dryRun": True}),
        ("process", {"action": "poll", "session_id": "p1"}),
    ],
)
def test_tool_asked_to_read(name: str, arguments: dict[str, object]) -> None:
    """A tool that is asked to read, or only to show, changes nothing."""
    assert resolve(name, arguments).effect is NONE


# --------------------------------------------------------------------------- command tools

_SCRIPT = ["bash", "-lc", "rm -rf build"]
_COMMAND_TOOLS: list[tuple[str, str, dict[str, object], str, str | None]] = [
    ("Claude Code", "Bash", {"command": "ls"}, "ls", "/w"),
    ("Hermes", "terminal", {"command": "ls", "workdir": "/x"}, "ls", "/x"),
    ("Hermes", "terminal", {"command": "ls", "workdir": "sub"}, "ls", "/w/sub"),
    ("Hermes", "terminal", {"command": "ls", "workdir": "~/x"}, "ls", "~/x"),
    ("Codex", "shell", {"command": _SCRIPT}, "bash -lc 'rm -rf build'", "/w"),
    ("Codex", "exec_command", {"cmd": "ls", "workdir": "/x"}, "ls", "/x"),
    ("gemini", "run_shell_command", {"command": "ls", "directory": "d"}, "ls", "/w/d"),
    ("gemini", "run_shell_command", {"command": "ls", "dir_path": "d"}, "ls", "/w/d"),
    ("OpenHands", "execute_bash", {"command": "ls"}, "ls", "/w"),
    ("deepagents", "execute", {"command": "ls"}, "ls", "/w"),
    ("LangChain", "terminal", {"commands": ["ls", "rm x"]}, "ls\nrm x", "/w"),
    ("LangChain", "terminal", {"commands": "ls"}, "ls", "/w"),
    ("OpenAI", "shell", {"action": {"commands": ["ls", "rm x"]}}, "ls\nrm x", "/w"),
    (
        "OpenAI",
        "local_shell",
        {"action": SimpleNamespace(command=["rm", "-r", "a b"], working_directory="/x")},
        "rm -r 'a b'",
        "/x",
    ),
    ("Strands", "shell", {"command": [{"command": "ls", "timeout": 1}, "rm x"]}, "ls\nrm x", "/w"),
    ("Agno", "run_shell_command", {"args": ["rm", "-f", "x"]}, "rm -f x", "/w"),
    ("Windsurf", "run_command", {"CommandLine": "ls", "Cwd": "/x"}, "ls", "/x"),
    ("MCP", "mcp__desktop__run_bash", {"command": "ls"}, "ls", "/w"),
    ("unknown", "my_bash_runner", {"command": "ls"}, "ls", "/w"),
]


@pytest.mark.parametrize(("agent", "name", "arguments", "command", "cwd"), _COMMAND_TOOLS)
def test_command_tools(
    agent: str, name: str, arguments: dict[str, object], command: str, cwd: str | None
) -> None:
    """A known command tool is one, with its command as text and its working directory."""
    call = resolve(name, arguments, cwd="/w")
    assert (call.effect, call.command, call.cwd) == (COMMAND, command, cwd), agent


def test_list_that_may_be_words_or_commands() -> None:
    """A list that may be the words of one command, or several, is taken as both."""
    assert find_command({"command": ["pwd", "rm x"]}) == "pwd 'rm x'\npwd\nrm x"


def test_patch_sent_to_a_shell() -> None:
    """`["apply_patch", …]` given to a shell is a patch."""
    call = resolve("shell", {"command": ["apply_patch", _PATCH]})
    assert (call.effect, call.paths) == (FILE, ("a", "b"))


@pytest.mark.parametrize("arguments", [{}, {"command": ""}, {"command": []}, {"command": 3}])
def test_command_tool_without_a_command(arguments: dict[str, object]) -> None:
    """A command tool whose command cannot be read may change anything."""
    assert resolve("terminal", arguments).effect is ANY


@pytest.mark.parametrize(
    "name", ["execute_code", "python_repl", "execute_ipython_cell", "write_stdin", "process"]
)
def test_tools_that_run_code(name: str) -> None:
    """A tool that runs code, or types into what runs, may change anything."""
    assert resolve(name, {"code": "1", "command": "rm x", "action": "write"}).effect is ANY


# --------------------------------------------------------------------------- the rest


@pytest.mark.parametrize(
    "name",
    [
        *("Read", "LS", "Glob", "Grep", "read_file", "list_directory", "search_files", "view"),
        *("get_file_info", "find_files", "NotebookRead", "WebFetch", "TodoWrite", "Task"),
        *("delegate_task", "mcp__fs__read_text_file", "mcp__fs__directory_tree", "update_plan"),
        *("grep_search", "ReadManyFiles", "show-diff", "BashOutput", "create_directory"),
    ],
)
def test_reading_tools(name: str) -> None:
    """A tool whose name says that it reads changes nothing."""
    assert resolve(name, {"path": "a"}).effect is NONE


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("find_and_replace", {"path": "a"}),
        ("get_or_create_config", {}),
        ("read_write_sheet", {}),
        ("get_screenshot", {"save_path": "a.png"}),
        ("mcp__agents__task", {}),
        ("mcp__db__replace", {"path": "a"}),
        ("reader", {}),
        ("listen", {}),
        ("frobnicate", {}),
        ("", {}),
    ],
)
def test_unknown_tools(name: str, arguments: dict[str, object]) -> None:
    """A tool that nobody knows may change anything."""
    assert resolve(name, arguments).effect is ANY


def test_unknown_tools_can_be_ignored() -> None:
    """With `unknown_tools: ignore`, a tool that nobody knows changes nothing, a known one does."""
    registry = ToolRegistry()
    unknown, known = ToolCall("frobnicate"), ToolCall("write_file", {"path": "a"})
    assert registry.resolve(unknown, unknown_tools="ignore").effect is NONE
    assert registry.resolve(known, unknown_tools="ignore").effect is FILE


def test_set_effect_stays() -> None:
    """A call that says its effect keeps it, and its paths and its directory."""
    call = ToolCall("terminal", {"path": "b", "cwd": "x"}, "/w", effect=FILE, paths=("a",))
    assert ToolRegistry().resolve(call) == call
    assert resolve("write_file", {"path": "a"}, effect=NONE).effect is NONE


def test_set_effect_gets_what_is_missing() -> None:
    """A call that says its effect gets the paths or the command that its arguments hold."""
    assert resolve("mine", {"patch": _DIFF}, effect=FILE).paths == ("a",)
    assert resolve("mine", {"cmd": "ls"}, effect=COMMAND).command == "ls"
    assert resolve("mine", {"text": "ls"}, effect=COMMAND).effect is ANY


# --------------------------------------------------------------------------- own entries


def test_own_file_tool() -> None:
    """A file tool that was added is known by the arguments it was added with."""
    registry = ToolRegistry()
    registry.add_file_tool("store", path=("spec.where", "also"), cwd="base")
    arguments = {"spec": {"where": "a"}, "also": Path("b"), "path": "no", "base": "d"}
    call = registry.resolve(ToolCall("Store", arguments, "/w"))
    assert (call.effect, call.paths, call.cwd) == (FILE, ("a", "b"), "/w/d")


def test_own_patch_tool() -> None:
    """A file tool can be added by the argument that holds its patch."""
    registry = ToolRegistry()
    registry.add_file_tool("amend", patch="text")
    assert registry.resolve(ToolCall("amend", {"text": _PATCH})).paths == ("a", "b")


def test_own_tools_come_first() -> None:
    """An entry that was added replaces what the registry knew."""
    registry = ToolRegistry()
    registry.add_read_only("terminal", "write_file")
    registry.add_command_tool("read_file", command="what")
    registry.add_any_tool("list_directory")
    assert registry.resolve(ToolCall("terminal", {"command": "rm x"})).effect is NONE
    assert registry.resolve(ToolCall("read_file", {"what": "rm x"})).command == "rm x"
    assert registry.resolve(ToolCall("list_directory")).effect is ANY


def test_copy_stands_alone() -> None:
    """What is added to a copy of a registry does not reach the original."""
    registry = ToolRegistry()
    registry.add_read_only("frobnicate")
    other = registry.copy()
    other.add_any_tool("frobnicate")
    assert registry.resolve(ToolCall("frobnicate")).effect is NONE
    assert other.resolve(ToolCall("frobnicate")).effect is ANY


# --------------------------------------------------------------------------- total


class _Hostile:
    def __fspath__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize("arguments", [{"path": _Hostile()}, {1: "a"}, None])
def test_hostile_arguments(arguments: object) -> None:
    """Arguments that cannot be read make a call that may change anything, and no exception."""
    call = ToolCall("write_file", arguments)  # type: ignore[arg-type]
    assert ToolRegistry().resolve(call).effect is ANY


_VALUES = st.recursive(
    st.none() | st.integers() | st.text() | st.binary() | st.booleans(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
_ARGUMENTS = st.dictionaries(
    st.sampled_from(["path", "command", "commands", "cwd", "patch", "edits", "action", "dry_run"])
    | st.text(),
    _VALUES,
)
_NAMES = st.sampled_from(["write_file", "terminal", "shell", "patch", "copy_file", "x"]) | st.text()


@given(_NAMES, _ARGUMENTS)
def test_resolving_is_total(name: str, arguments: dict[str, object]) -> None:
    """Every call resolves: a file tool to paths, a command tool to a command."""
    call = ToolRegistry().resolve(ToolCall(name, arguments))
    assert call.effect is not None
    assert call.paths or call.effect is not FILE
    assert call.command or call.effect is not COMMAND
    assert ToolRegistry().resolve(call).effect in (call.effect, ANY)


def test_finding() -> None:
    """The finders take names as given or in any usual spelling, and nothing where nothing is."""
    assert find_paths({"filePath": os.fsencode("a")}) == ("a",)
    assert find_paths({"a": {"b": [{"c": "x"}, {"c": "y"}]}}, "a.b.c") == ("x", "y")
    assert find_paths({}) == ()
    assert find_command({"cmd": b"ls"}) == "ls"
    assert find_cwd({"workdir": Path("/x")}) == "/x"
    assert find_cwd({"workdir": 3, "cwd": "/x"}) == "/x"
    assert find_cwd({}) == ""
