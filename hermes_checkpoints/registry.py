"""What each known agent tool touches: from a tool's name and arguments to a `ToolEffect`.

Owns the table of tools. What stands in their arguments is `arguments`' to find, what a command does
`shell`'s; no file is touched. Whatever is not recognised may change files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from hermes_checkpoints.arguments import (
    CWD_ARGUMENTS,
    Names,
    as_names,
    find_command,
    find_cwd,
    find_paths,
    values_of,
)
from hermes_checkpoints.patches import argument_key, as_paths, paths_in_patch
from hermes_checkpoints.records import ToolCall, ToolEffect

__all__ = ["ToolRegistry"]


# --------------------------------------------------------------------------- the registry


class ToolRegistry:
    """What tools do to files, by name; starts with the tools of the common agents.

    Names count in any spelling (`WriteFile`, `write_file`, `write-file`) and behind a server's
    prefix (`mcp__server__write_file`). A later entry replaces an earlier one.
    """

    def __init__(self) -> None:
        self._rules: dict[str, _Rule] = {}

    def add_file_tool(
        self, name: str, *, path: Names = (), patch: Names = (), cwd: Names = ()
    ) -> None:
        """A tool that writes, moves or removes the files it is told.

        `path`, `patch` and `cwd` name the arguments that hold paths, a patch or a list of edits,
        and the directory that relative paths start from. Without `path` and `patch`, the usual
        argument names are tried.
        """
        self._add(name, _Rule(ToolEffect.FILE, as_names(path), as_names(patch), cwd=as_names(cwd)))

    def add_command_tool(self, name: str, *, command: Names = (), cwd: Names = ()) -> None:
        """A tool that runs a shell command, given as text or as a list of words."""
        self._add(name, _Rule(ToolEffect.COMMAND, command=as_names(command), cwd=as_names(cwd)))

    def add_any_tool(self, name: str, *, cwd: Names = ()) -> None:
        """A tool that may change anything below its working directory: one that runs code."""
        self._add(name, _Rule(ToolEffect.ANY, cwd=as_names(cwd)))

    def add_read_only(self, *names: str) -> None:
        """Tools that change no file."""
        for name in names:
            self._add(name, _Rule(ToolEffect.NONE))

    def copy(self) -> ToolRegistry:
        """A registry with the same entries, that can be changed on its own."""
        other = ToolRegistry()
        other._rules.update(self._rules)
        return other

    def resolve(self, call: ToolCall, *, unknown_tools: str = "snapshot") -> ToolCall:
        """`call` with its effect, and the paths, command and directory that its arguments hold.

        An effect that is already set stays, and so do paths, command and directory; missing paths
        or a missing command are looked for. A file tool without a path, or a command tool without
        a command, may change anything. A tool that nobody knows may too, unless `unknown_tools` is
        `"ignore"`.
        """
        try:
            return self._resolved(call, unknown_tools)
        except Exception:  # noqa: BLE001 - promise: the tool runs, whatever its arguments are
            return replace(call, effect=ToolEffect.ANY)

    def _resolved(self, call: ToolCall, unknown_tools: str) -> ToolCall:
        if call.effect is not None:
            return _completed(call, _Rule(call.effect))
        rule = self._rule(call, unknown_tools)
        if _changes_nothing(call, rule):
            rule = _NOTHING
        cwd = find_cwd(call.arguments, rule.cwd)
        return _completed(replace(call, cwd=_joined(call.cwd, cwd)), rule)

    def _add(self, name: str, rule: _Rule) -> None:
        self._rules[argument_key(name)] = rule

    def _rule(self, call: ToolCall, unknown_tools: str) -> _Rule:
        for name, own in _spellings(call.name):
            rule = self._rules.get(name) or _known(name, own=own)
            if rule is not None:
                return rule
        words = argument_key(re.split(_SEPARATORS, call.name)[-1]).split("_")
        if _only_reads(words, call.arguments):
            return _NOTHING
        if _SHELL_WORDS.intersection(words) and find_command(call.arguments):
            return _COMMAND
        return _NOTHING if unknown_tools == "ignore" else _ANYTHING


@dataclass(frozen=True, slots=True)
class _Rule:
    """What a tool does, and which arguments say to what; without names the usual ones are tried.

    `selects` says that an argument chooses between reading and writing; `spares` names path
    arguments that are only read; `lands_in` that a destination may be a directory.
    """

    effect: ToolEffect
    path: tuple[str, ...] = ()
    patch: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    cwd: tuple[str, ...] = ()
    selects: bool = False
    spares: frozenset[str] = frozenset()
    lands_in: bool = False


def _completed(call: ToolCall, rule: _Rule) -> ToolCall:
    """`call` with what `rule` says and its arguments hold."""
    effect, paths, command = rule.effect, call.paths, call.command
    if effect is ToolEffect.NONE:
        return replace(call, effect=effect)
    if effect is ToolEffect.COMMAND:
        patched = _patch_as_command(call.arguments)
        if patched:
            return replace(call, effect=ToolEffect.FILE, paths=patched)
        command = command or find_command(call.arguments, rule.command)
        effect = ToolEffect.COMMAND if command else ToolEffect.ANY
    elif effect is ToolEffect.FILE:
        paths = paths or _paths(call.arguments, rule)
        effect = ToolEffect.FILE if paths else ToolEffect.ANY
    if (effect, paths, command) == (call.effect, call.paths, call.command):
        return call  # a decorator has filled it in already
    return replace(call, effect=effect, paths=paths, command=command)


def _paths(arguments: Mapping[str, object], rule: _Rule) -> tuple[str, ...]:
    kept = {k: v for k, v in arguments.items() if argument_key(k) not in rule.spares}
    found = find_paths(kept, rule.path, rule.patch)
    if rule.lands_in:
        found = (*found, *_landings(arguments))
    return tuple(dict.fromkeys(found))


def _landings(arguments: Mapping[str, object]) -> Iterator[str]:
    """Where a moved or copied file lands if its destination turns out to be a directory."""
    usual = {argument_key(k): v for k, v in arguments.items()}
    sources = [p for k, v in usual.items() if k in _SOURCES for p in as_paths(v)]
    places = [p for k, v in usual.items() if k in _DESTINATIONS for p in as_paths(v)]
    for place in places:
        for source in sources:
            yield os.path.join(place, os.path.basename(source.rstrip("/\\")))


def _changes_nothing(call: ToolCall, rule: _Rule) -> bool:
    """Whether a tool was asked to read, or a file tool only to show what it would do."""
    if rule.effect is not ToolEffect.FILE and not rule.selects:
        return False
    usual = {argument_key(k): v for k, v in call.arguments.items()}
    if rule.effect is ToolEffect.FILE and True in (usual.get("dry_run"), usual.get("preview_only")):
        return True
    chosen = next((usual[k] for k in _SELECTORS if k in usual), None)
    return rule.selects and isinstance(chosen, str) and chosen.lower() in _READING_CHOICES


def _patch_as_command(arguments: Mapping[str, object]) -> tuple[str, ...]:
    """The paths of `["apply_patch", "*** Begin Patch …"]`, which some models send to a shell."""
    if all(isinstance(value, str) for value in arguments.values()):
        return ()
    for value in values_of(arguments, ("command", "cmd", "argv", "action.command")):
        if isinstance(value, (list, tuple)) and len(value) == 2:
            program, body = value
            if program in ("apply_patch", "applypatch") and isinstance(body, str):
                return paths_in_patch(body)
    return ()


def _joined(base: str | None, cwd: str) -> str | None:
    """A tool's working directory, which may be relative to the session's."""
    if not cwd:
        return base
    return cwd if base is None or cwd.startswith("~") else os.path.join(base, cwd)


# --------------------------------------------------------------------------- names

_SEPARATORS = r"__|[./:]"


def _spellings(name: str) -> Iterator[tuple[str, bool]]:
    """A tool's names to look up, and whether it is the host's own: with and without prefixes."""
    yield argument_key(name), True
    if name.startswith("mcp__"):
        yield argument_key(name.split("__", 2)[-1]), False
    last = re.split(_SEPARATORS, name)[-1]
    if last != name:
        yield argument_key(last), False


def _known(name: str, *, own: bool) -> _Rule | None:
    """What the table says. Behind a server's prefix, one common word proves too little."""
    rule = _KNOWN.get(name)
    if own:
        return rule or _HOSTS.get(name)
    return None if rule is not None and rule.effect is ToolEffect.FILE and "_" not in name else rule


def _only_reads(words: list[str], arguments: Mapping[str, object]) -> bool:
    """Whether a name says that a tool reads, and nothing in name or arguments says it writes."""
    if words[0] not in _READING_WORDS or _CHANGING_WORDS.intersection(words):
        return False
    return not any(argument_key(k) in _OUTPUTS and v for k, v in arguments.items())


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_READING_WORDS = _words(
    "read list ls glob grep rg search find view get show stat describe count lookup inspect"
)
_CHANGING_WORDS = _words(
    "write edit replace delete remove create update move rename set apply patch append insert save"
    " run exec execute download fix sync clean put export install format modify overwrite copy"
)
_SHELL_WORDS = _words("shell bash sh zsh terminal")
_OUTPUTS = _words(
    "output output_path output_file output_dir out out_file out_path save_path save_to save_as"
    " dest dest_path destination destination_path download_path target_path to_file"
)
_SELECTORS = ("command", "action", "operation", "mode", "op")
_READING_CHOICES = _words(
    "view read list ls find find_line search show get cat stat poll log wait status"
)
_SOURCES = _words("source source_path source_file src src_path old_path from_path path")
_DESTINATIONS = _words(
    "destination destination_path destination_file dest dest_path dst dst_path new_path to_path"
    " target target_path move_to"
)

# --------------------------------------------------------------------------- the table

_FILE = _Rule(ToolEffect.FILE)
_COMMAND = _Rule(ToolEffect.COMMAND, cwd=(*CWD_ARGUMENTS, "dir_path"))
_ANYTHING = _Rule(ToolEffect.ANY)
_NOTHING = _Rule(ToolEffect.NONE)
_EDITOR = _Rule(ToolEffect.FILE, selects=True)
_PROCESSES = _Rule(ToolEffect.ANY, selects=True)
_MOVE = _Rule(ToolEffect.FILE, lands_in=True)
_COPY = _Rule(ToolEffect.FILE, lands_in=True, spares=_SOURCES - {"path"})

# Names as `argument_key` gives them. One name may be several agents' (`write_file` is Hermes',
# gemini's, deepagents', LangChain's and the MCP file server's); arguments are found by their names.
_TABLE: tuple[tuple[_Rule, str], ...] = (
    # whole files: Hermes, gemini, deepagents, LangChain, MCP; Claude Code; opencode; Agno; ADK;
    # agent-framework; Cline and Roo; Cursor; VS Code; CrewAI
    (_FILE, "write_file write create_file save_file file_write write_to_file overwrite_file"),
    (_FILE, "append_file append_to_file file_access_write file_writer_tool write_text_file"),
    (_FILE, "create_text_file create_new_file new_file touch_file"),
    # parts of files
    (_FILE, "edit_file edit multi_edit multiedit notebook_edit edit_notebook edit_notebook_file"),
    (_FILE, "replace replace_in_file replace_file_chunk replace_file_content search_replace"),
    (_FILE, "search_and_replace str_replace replace_string_in_file insert_content insert_line"),
    (_FILE, "multi_replace_string_in_file insert_edit_into_file insert_text_at_line"),
    (_FILE, "file_access_replace file_access_replace_lines multi_replace_file_content"),
    (_EDITOR, "str_replace_editor str_replace_based_edit_tool file_editor text_editor editor"),
    # patches
    (_FILE, "patch apply_patch applypatch apply_diff patch_file apply_edits"),
    # removing, moving, copying
    (_FILE, "delete delete_file file_delete remove_file file_access_delete delete_files"),
    (_FILE, "delete_directory remove_directory remove_dir rmdir"),
    (_MOVE, "move_file rename_file move rename file_move rename_path move_path"),
    (_COPY, "copy_file file_copy copy copy_path"),
    # shells: Hermes, Claude Code, Codex, gemini, OpenHands, Strands, ADK, Cline, Cursor, VS Code
    (_COMMAND, "shell terminal bash execute execute_bash local_shell exec_command exec"),
    (_COMMAND, "run_shell_command run_shell run_command run_bash execute_command shell_command"),
    (_COMMAND, "run_terminal_cmd run_in_terminal run_terminal_command shell_tool shell_exec"),
    (_COMMAND, "container_exec unified_exec execute_shell_command bash_tool run_terminal"),
    # running code, and typing into something that runs
    (_ANYTHING, "execute_code run_code run_python run_python_code python_repl python python_tool"),
    (_ANYTHING, "python_interpreter code_interpreter execute_python execute_ipython_cell ipython"),
    (_ANYTHING, "python_repl_ast code_executor run_cell execute_cell save_to_file_and_run"),
    (_ANYTHING, "run_python_file_return_variable pip_install_package repl"),
    (_ANYTHING, "write_stdin send_input send_to_terminal"),
    # read only, with names that do not say so
    (_NOTHING, "directory_tree tree web_search web_fetch web_extract fetch_url fetch_webpage"),
    (_NOTHING, "session_search codebase_search file_search grep_search semantic_search"),
    (_NOTHING, "bash_output notebook_read file_glob_search"),
    # our own MCP server: a lease of its own call would keep a restore from starting
    (_NOTHING, "list_checkpoints diff_checkpoint plan_restore restore_checkpoint"),
    # making a directory destroys nothing
    (_NOTHING, "create_directory make_directory create_dir make_dir mkdir"),
)
# Names that say nothing about files only where they are the host's own: behind a server's prefix
# they may be anything. The calls made inside a sub-agent are protected one by one.
_HOST_TABLE: tuple[tuple[_Rule, str], ...] = (
    (
        _NOTHING,
        "task delegate_task agent spawn_agent wait_agent todo todo_write todowrite todoread",
    ),
    (_NOTHING, "todo_read update_plan write_todos think finish clarify ask_user_question"),
    (_NOTHING, "exit_plan_mode enter_plan_mode kill_shell kill_bash task_output task_stop"),
    (_NOTHING, "final_answer submit_plan request_user_input ask_followup_question"),
    (_NOTHING, "attempt_completion webfetch websearch task_tracker vision_analyze skills_list"),
    (_NOTHING, "skill_view"),
    (_PROCESSES, "process"),
)


def _by_name(table: tuple[tuple[_Rule, str], ...]) -> dict[str, _Rule]:
    return {name: rule for rule, names in table for name in names.split()}


_KNOWN = _by_name(_TABLE)
_HOSTS = _by_name(_HOST_TABLE)
