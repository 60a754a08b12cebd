"""`/rollback`: the grammar, what each verb does, bad input, chats, and completion."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from pytest_mock import MockerFixture

from hermes_checkpoints.config import Config
from hermes_checkpoints.manager import CheckpointManager, sandbox_refusal
from hermes_checkpoints.middleware import command_tool, file_tool
from hermes_checkpoints.records import Report
from hermes_checkpoints.slash import RollbackCommand, _native, _split
from hermes_checkpoints.stores.base import Diff


class Chat:
    """A project, an agent's tools that work in it, and a person who types."""

    def __init__(self, root: Path, manager: CheckpointManager) -> None:
        self.root = root
        self.manager = manager
        self.command = RollbackCommand(manager)

        @file_tool(path="path", manager=manager)
        def write_file(path: str, content: str) -> None:
            Path(path).write_text(content, encoding="utf-8")

        @command_tool(command="command", cwd="cwd", manager=manager)
        def terminal(command: str, cwd: str) -> None:
            subprocess.run(command, shell=True, cwd=cwd, check=True)

        self._write, self._terminal = write_file, terminal

    def writes(self, name: str, content: str) -> None:
        """One turn in which the agent writes one file."""
        self.manager.new_turn()
        self._write(str(self.root / name), content)

    def runs(self, command: str) -> None:
        """One turn in which the agent runs one command."""
        self.manager.new_turn()
        self._terminal(command, str(self.root))

    def text(self, name: str) -> str | None:
        place = self.root / name
        return place.read_text(encoding="utf-8") if place.exists() else None

    def tree(self) -> dict[str, bytes]:
        """Every file of the project."""
        return {str(p): p.read_bytes() for p in self.root.rglob("*") if p.is_file()}


@pytest.fixture
def chat(tmp_path: Path, project_dir: Path) -> Iterator[Chat]:
    config = Config(base=tmp_path / "base", store="memory")
    with CheckpointManager(config, session_id="s1") as manager:
        yield Chat(project_dir, manager)


@pytest.fixture
def busy_chat(chat: Chat) -> Chat:
    """Two turns: `a` is 0, then 1, then 2; a person's note is edited in the end."""
    (chat.root / "a").write_text("0", encoding="utf-8")
    (chat.root / "notes.md").write_text("old", encoding="utf-8")
    chat.writes("a", "1")
    chat.writes("a", "2")
    (chat.root / "notes.md").write_text("mine", encoding="utf-8")
    return chat


# --------------------------------------------------------------------------- verbs


def test_the_list_is_what_is_said_without_a_verb(busy_chat: Chat) -> None:
    """`/rollback`, `/rollback list` and nothing at all are the same list, newest first."""
    texts = {busy_chat.command.run(t, cwd=busy_chat.root).text for t in ("", "/rollback", "list")}
    assert len(texts) == 1
    (text,) = texts
    first, second = busy_chat.manager.list_checkpoints(busy_chat.root)
    assert f"1. {first.short_id}" in text
    assert f"2. {second.short_id}" in text


def test_an_empty_list_is_no_error(chat: Chat, tmp_path: Path) -> None:
    """It names the directory, and the other project that has checkpoints."""
    chat.writes("a", "1")
    other = tmp_path / "other"
    other.mkdir()
    (other / "package.json").touch()
    reply = chat.command.run("/rollback", cwd=other)
    assert reply.ok
    assert f"No checkpoints for {other}." in reply.text
    assert str(chat.root) in reply.text


def test_a_moved_project_is_told_how_to_get_its_list_back(chat: Chat, tmp_path: Path) -> None:
    """The empty list of its new place names the old one and the command."""
    chat.writes("a", "1")
    moved = tmp_path / "moved"
    chat.root.rename(moved)
    text = chat.command.run("/rollback", cwd=moved).text
    assert f"hermes checkpoints relink {chat.root} {moved}" in text


def test_a_plain_rollback_keeps_hand_edits(busy_chat: Chat) -> None:
    """The agent's file is back, the person's note is not touched and is listed."""
    reply = busy_chat.command.run("/rollback 2", cwd=busy_chat.root)
    assert reply.ok
    assert (busy_chat.text("a"), busy_chat.text("notes.md")) == ("0", "mine")
    assert "↷ Kept your hand-edits: notes.md" in reply.text
    assert "Use /rollback <N> --all to restore those too." in reply.text


def test_all_restores_hand_edits_too(busy_chat: Chat) -> None:
    """With `--all`, before or after the number, everything is as it was."""
    reply = busy_chat.command.run("/rollback --all 2", cwd=busy_chat.root)
    assert reply.ok
    assert (busy_chat.text("a"), busy_chat.text("notes.md")) == ("0", "old")


def test_an_id_is_as_good_as_a_number(busy_chat: Chat) -> None:
    """Four characters of an id name its checkpoint."""
    oldest = busy_chat.manager.list_checkpoints(busy_chat.root)[1]
    reply = busy_chat.command.run(f"/rollback {oldest.id[:8]}", cwd=busy_chat.root)
    assert reply.report is not None
    assert reply.report.target is not None
    assert reply.report.target.id == oldest.id


def test_paths_restore_only_themselves(busy_chat: Chat) -> None:
    """A name with blanks in quotes is restored, the rest stays, and no turn is dropped."""
    (busy_chat.root / "my file").write_text("0", encoding="utf-8")
    busy_chat.runs("echo 1 > 'my file'; echo 3 > a")
    reply = busy_chat.command.run("/rollback 1 'my file'", cwd=busy_chat.root)
    assert reply.ok
    assert (busy_chat.text("my file"), busy_chat.text("a")) == ("0", "3\n")
    assert reply.drop_turns == 0


def test_a_plan_changes_nothing_and_names_the_command(busy_chat: Chat) -> None:
    """What would be done is listed, and the command that does it can be pasted."""
    before = busy_chat.tree()
    reply = busy_chat.command.run("/rollback plan 2 --all", cwd=busy_chat.root)
    assert reply.ok
    assert "notes.md" in reply.text
    short = busy_chat.manager.list_checkpoints(busy_chat.root)[1].short_id
    assert reply.text.endswith(f"/rollback {short} --all")
    assert busy_chat.tree() == before
    assert busy_chat.command.run(f"/rollback {short} --all", cwd=busy_chat.root).ok
    assert busy_chat.text("notes.md") == "old"


def test_undo_takes_back_a_rollback(busy_chat: Chat) -> None:
    """Afterwards the project is as before the rollback, and undoing again is refused."""
    before = busy_chat.tree()
    busy_chat.command.run("/rollback 2 --all", cwd=busy_chat.root)
    assert busy_chat.tree() != before
    reply = busy_chat.command.run("/rollback undo", cwd=busy_chat.root)
    assert reply.ok
    assert busy_chat.tree() == before
    assert reply.drop_turns == 0
    assert not busy_chat.command.run("/rollback undo", cwd=busy_chat.root).ok


def test_a_diff_is_cut_for_a_chat(busy_chat: Chat, mocker: MockerFixture) -> None:
    """The manager's diff is shown up to 200 lines, with the paths passed on."""
    diff = Diff(b" a | 300 +\n", b"".join(b"+%d\n" % n for n in range(300)))
    asked = mocker.patch.object(busy_chat.manager, "diff", return_value=diff)
    reply = busy_chat.command.run("/rollback diff 1 a", cwd=busy_chat.root)
    assert reply.ok
    assert "… 100 more lines." in reply.text
    assert asked.call_args.kwargs["paths"] == ("a",)


def test_it_works_from_a_subdirectory(busy_chat: Chat) -> None:
    """The project is found from below, and paths are relative to where the person is."""
    below = busy_chat.root / "src"
    below.mkdir()
    (below / "b").write_text("0", encoding="utf-8")
    busy_chat.writes("src/b", "1")
    reply = busy_chat.command.run("/rollback 1 b", cwd=below)
    assert reply.ok
    assert busy_chat.text("src/b") == "0"


def test_help_lists_every_verb_and_option(chat: Chat) -> None:
    """Nothing that can be typed is left out."""
    text = chat.command.run("/rollback help", cwd=chat.root).text
    words = ("diff", "plan", "undo", "--all", "--busy-ok", "--files-only", "--chat-only")
    assert all(word in text for word in words)


def test_a_broken_off_rollback_is_announced(busy_chat: Chat, mocker: MockerFixture) -> None:
    """The list says so before anything else."""
    recovery = type(busy_chat.manager.recovery)
    mocker.patch.object(recovery, "pending", return_value="a rollback was interrupted")
    text = busy_chat.command.run("/rollback", cwd=busy_chat.root).text
    assert text.startswith("A rollback was interrupted.\n\n📸")


def test_a_host_may_call_it_otherwise(busy_chat: Chat) -> None:
    """With another name, that name is understood and is what texts tell the person to type."""
    command = RollbackCommand(busy_chat.manager, name="/undo")
    text = command.run("/undo", cwd=busy_chat.root).text
    assert "/undo <N> --all" in text
    assert "/rollback" not in text
    assert "/rollback" not in command.run("/undo 99", cwd=busy_chat.root).text


# --------------------------------------------------------------------------- the chat


@pytest.mark.parametrize("number, turns", [(1, 1), (2, 2)])
def test_a_rollback_drops_the_turns_from_its_checkpoint_on(
    busy_chat: Chat, number: int, turns: int
) -> None:
    """One turn for the newest checkpoint, two for the one before."""
    reply = busy_chat.command.run(str(number), cwd=busy_chat.root)
    assert reply.drop_turns == turns


def test_only_the_last_of_the_turns_that_a_checkpoint_served_is_dropped(chat: Chat) -> None:
    """A turn that changed nothing stays in the chat when the one after it is taken back."""
    chat.writes("a", "1")
    chat.writes("a", "1")
    chat.writes("a", "2")
    reply = chat.command.run("1", cwd=chat.root)
    assert (chat.root / "a").read_text(encoding="utf-8") == "1"
    assert reply.drop_turns == 1


def test_a_turn_is_dropped_once(busy_chat: Chat) -> None:
    """What a rollback has taken out of the chat does not count in the next one."""
    assert busy_chat.command.run("1", cwd=busy_chat.root).drop_turns == 1
    oldest = busy_chat.manager.list_checkpoints(busy_chat.root)[-1]
    assert busy_chat.command.run(oldest.id, cwd=busy_chat.root).drop_turns == 1


def test_files_only_leaves_the_chat(busy_chat: Chat) -> None:
    """Files are back, and neither the reply nor its report drops a turn."""
    reply = busy_chat.command.run("/rollback 2 --files-only", cwd=busy_chat.root)
    assert busy_chat.text("a") == "0"
    assert reply.drop_turns == 0
    assert reply.report is not None
    assert reply.report.drop_turns == 0


def test_chat_only_leaves_the_files(busy_chat: Chat) -> None:
    """No file and no checkpoint changes; the turns are dropped."""
    before, listed = busy_chat.tree(), busy_chat.manager.list_checkpoints(busy_chat.root)
    reply = busy_chat.command.run("/rollback 2 --chat-only", cwd=busy_chat.root)
    assert reply.ok
    assert reply.drop_turns == 2
    assert busy_chat.tree() == before
    assert busy_chat.manager.list_checkpoints(busy_chat.root) == listed


def test_a_rollback_that_failed_in_part_is_not_ok(busy_chat: Chat, mocker: MockerFixture) -> None:
    """The reply says so, and no turn is dropped."""
    project = busy_chat.manager.project(busy_chat.root)
    report = Report(False, "restore", project, failed=(("a", "the directory is read-only"),))
    mocker.patch.object(busy_chat.manager, "restore", return_value=report)
    reply = busy_chat.command.run("/rollback 1", cwd=busy_chat.root)
    assert (reply.ok, reply.drop_turns) == (False, 0)
    assert "the directory is read-only" in reply.text


def test_one_command_serves_many_chats(tmp_path: Path) -> None:
    """Each session sees its own writes as the agent's, and those of a running one are kept."""
    root = tmp_path / "w"
    root.mkdir()
    for name in ("pyproject.toml", "a", "b"):
        (root / name).write_text("0", encoding="utf-8")
    config = Config(base=tmp_path / "base", store="memory")
    with CheckpointManager(config, session_id="host") as manager:
        chat = Chat(root, manager)
        for session, name in (("one", "a"), ("two", "b")):
            with manager.turn(f"turn of {session}", session_id=session):
                chat._write(str(root / name), session)
        oldest = manager.list_checkpoints(root)[-1].id
        reply = chat.command.run(f"/rollback {oldest}", cwd=root, session_id="one")
        assert reply.ok
        assert (chat.text("a"), chat.text("b")) == ("0", "two")
        assert reply.drop_turns == 1


# --------------------------------------------------------------------------- sandboxes


@pytest.mark.parametrize("verb", ["diff 1", "plan 1", "1", "1 --all", "1 --chat-only", "undo"])
def test_a_sandbox_can_only_list(busy_chat: Chat, verb: str) -> None:
    """All else is refused with the public reason, and no host file is touched."""
    before = busy_chat.tree()
    command = RollbackCommand(busy_chat.manager, environment="docker")
    assert command.run("list", cwd=busy_chat.root).ok
    reply = command.run(verb, cwd=busy_chat.root)
    assert not reply.ok
    assert sandbox_refusal("docker")[1:] in reply.text
    assert busy_chat.tree() == before
    assert command.run("plan 1", cwd=busy_chat.root, environment="ssh").ok


# --------------------------------------------------------------------------- bad input

BAD = {
    "0": "numbered from 1",
    "99": "there are 1 to 2",
    "foo": "neither a number",
    "²": "neither a number",
    "1.5": "neither a number",
    "foobar": "foobar",
    "deadbeef": "deadbeef",
    "-x": "no option -x",
    "-1": "no option -1",
    "1 -x": "no option -x",
    "1 ../x": "..",
    "1 /etc/passwd": "/etc/passwd",
    "1 nothing-like-this": "nothing-like-this",
    "1 :(bad)x": "bad",
    "diff": "Say which checkpoint",
    "plan": "Say which checkpoint",
    "diff foo": "neither a number",
    "diff 1 --all": "no meaning",
    "list 1": "nothing more",
    "undo 1": "nothing more",
    "undo --all": "no meaning",
    "undo": "no rollback",
    "'1": "quote",
    "1 --files-only --chat-only": "exclude each other",
    "1 a --chat-only": "never touch the chat",
    "a" * 5000: "neither a number",
    "1 \x00": "",
    "\ud800": "neither a number",
}


@pytest.mark.parametrize(("typed", "said"), BAD.items(), ids=range(len(BAD)))
def test_bad_input_is_answered_and_changes_nothing(busy_chat: Chat, typed: str, said: str) -> None:
    """One clear answer with what to do next, not ok, files and checkpoints as before."""
    before, listed = busy_chat.tree(), busy_chat.manager.list_checkpoints(busy_chat.root)
    reply = busy_chat.command.run(f"/rollback {typed}", cwd=busy_chat.root)
    assert not reply.ok
    assert said in reply.text
    assert "library itself" not in reply.text
    assert (reply.report, reply.drop_turns) == (None, 0)
    assert busy_chat.tree() == before
    assert busy_chat.manager.list_checkpoints(busy_chat.root) == listed


@given(st.text(max_size=40))
def test_nothing_that_is_typed_raises(tmp_path_factory: pytest.TempPathFactory, typed: str) -> None:
    """Any text gets a reply."""
    root = tmp_path_factory.mktemp("w")
    config = Config(base=root / "base", store="memory", auto_prune=False)
    with CheckpointManager(config) as manager:
        assert RollbackCommand(manager).run(typed, cwd=root).text


def test_another_projects_checkpoint_is_refused(busy_chat: Chat, tmp_path: Path) -> None:
    """An id is looked for in this project only, and none of the other's files appear here."""
    other = tmp_path / "other"
    other.mkdir()
    for name in ("package.json", "secret"):
        (other / name).touch()
    busy_chat._write(str(other / "secret"), "x")
    foreign = busy_chat.manager.list_checkpoints(other)[0].id
    before = busy_chat.tree()
    assert not busy_chat.command.run(f"/rollback {foreign} --all", cwd=busy_chat.root).ok
    assert busy_chat.tree() == before


def test_a_deleted_project_can_be_listed_but_not_restored(busy_chat: Chat) -> None:
    """The refusal names the directory and how to make it again."""
    shutil.rmtree(busy_chat.root)
    assert busy_chat.command.run("/rollback", cwd=busy_chat.root).ok
    reply = busy_chat.command.run("/rollback 1", cwd=busy_chat.root)
    assert not reply.ok
    assert f"mkdir {busy_chat.root}" in reply.text
    assert not busy_chat.root.exists()


def _no_git(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(base))


def _a_file(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base.mkdir()
    (base / "store").write_text("no directory", encoding="utf-8")


@pytest.mark.parametrize("broken", [_no_git, _a_file])
def test_a_store_that_does_not_work_is_a_reply(
    tmp_path: Path,
    project_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    broken: Callable[[Path, pytest.MonkeyPatch], None],
) -> None:
    """No git, or a file where the store should be: a sentence, never an exception."""
    base = tmp_path / "base"
    broken(base, monkeypatch)
    with CheckpointManager(Config(base=base)) as manager:
        for typed in ("/rollback 1", "/rollback undo", "/rollback diff 1"):
            reply = RollbackCommand(manager).run(typed, cwd=project_dir)
            assert not reply.ok
            assert "library itself" not in reply.text


def test_a_fault_of_the_library_is_a_reply(busy_chat: Chat, mocker: MockerFixture) -> None:
    """An exception that nobody foresaw is named and does not reach the host."""
    mocker.patch.object(busy_chat.manager, "find", side_effect=ZeroDivisionError("boom"))
    reply = busy_chat.command.run("/rollback 1", cwd=busy_chat.root)
    assert not reply.ok
    assert "ZeroDivisionError" in reply.text


# --------------------------------------------------------------------------- words


def test_a_backslash_is_part_of_a_path_on_windows() -> None:
    """There it separates, elsewhere it escapes; quotes group on both."""
    assert _split("1 packages\\nested 'a b'", windows=True) == ["1", "packages\\nested", "a b"]
    assert _split("1 a\\ b", windows=False) == ["1", "a b"]
    assert _native("packages\\nested", windows=True) == "packages/nested"
    assert _native("odd\\name", windows=False) == "odd\\name"


def test_after_two_dashes_everything_is_a_path(busy_chat: Chat) -> None:
    """A file whose name begins with a dash can be restored."""
    (busy_chat.root / "-x").write_text("0", encoding="utf-8")
    busy_chat.writes("-x", "1")
    assert busy_chat.command.run("/rollback 1 -- -x", cwd=busy_chat.root).ok
    assert busy_chat.text("-x") == "0"


def test_a_file_may_be_called_like_a_verb(busy_chat: Chat) -> None:
    """After the number, `diff` is a name."""
    (busy_chat.root / "diff").write_text("0", encoding="utf-8")
    busy_chat.writes("diff", "1")
    assert busy_chat.command.run("/rollback 1 diff", cwd=busy_chat.root).ok
    assert busy_chat.text("diff") == "0"


# --------------------------------------------------------------------------- completion


def completions(chat: Chat, text: str) -> set[str]:
    return {s.text for s in chat.command.complete(text, cwd=chat.root)}


def test_completion_offers_verbs_numbers_ids_and_files(busy_chat: Chat) -> None:
    """Each where it can stand."""
    ids = {c.short_id for c in busy_chat.manager.list_checkpoints(busy_chat.root)}
    assert completions(busy_chat, "/ro") == {"/rollback"}
    assert completions(busy_chat, "/rollback ") == {
        "list",
        "diff",
        "plan",
        "undo",
        "help",
        "1",
        "2",
    }
    assert completions(busy_chat, "/rollback d") - ids == {"diff"}
    assert completions(busy_chat, "/rollback diff ") == {"1", "2"}
    some = next(iter(ids))
    assert some in completions(busy_chat, f"/rollback {some[:4]}")
    assert completions(busy_chat, "/rollback 2 ") == {"a", "notes.md"}
    assert completions(busy_chat, "/rollback 2 n") == {"notes.md"}
    assert completions(busy_chat, "/rollback plan 2 --") == {"--all"}
    assert completions(busy_chat, "/rollback undo ") == set()


def test_completion_of_a_name_with_blanks_is_quoted(busy_chat: Chat) -> None:
    """What is offered can be typed as it is."""
    (busy_chat.root / "my file").write_text("0", encoding="utf-8")
    busy_chat.runs("echo 1 > 'my file'")
    assert "'my file'" in completions(busy_chat, "/rollback 1 ")


def test_typing_a_name_looks_at_the_project_once(busy_chat: Chat, mocker: MockerFixture) -> None:
    """Each key asks for completions, and one plan serves a word."""
    planned = mocker.spy(busy_chat.manager, "plan")
    for typed in ("", "n", "no", "not"):
        assert "notes.md" in completions(busy_chat, f"/rollback 2 {typed}")
    assert planned.call_count == 1
    assert completions(busy_chat, "/rollback 1 ") == {"a", "notes.md"}
    assert planned.call_count == 2


def test_completion_never_raises(chat: Chat, mocker: MockerFixture) -> None:
    """A key press in a project without checkpoints, or with a broken store, offers nothing."""
    assert completions(chat, "/rollback 1 ") == set()
    assert completions(chat, "hello wor") == set()
    assert completions(chat, "/other x") == set()
    mocker.patch.object(chat.manager, "list_checkpoints", side_effect=OSError)
    assert completions(chat, "/rollback ") == set()


def test_the_completer_of_prompt_toolkit_gives_the_same(busy_chat: Chat) -> None:
    """It replaces the word before the cursor."""
    completer = busy_chat.command.completer(cwd=busy_chat.root)
    found = list(completer.get_completions(Document("/rollback pl"), CompleteEvent()))
    assert [(c.text, c.start_position) for c in found] == [("plan", -2)]


def test_prompt_toolkit_is_only_imported_for_a_completer() -> None:
    """A host without it can use the command."""
    code = "import hermes_checkpoints.slash, sys; assert 'prompt_toolkit' not in sys.modules"
    env = {**os.environ, "PYTHONWARNINGS": "error"}
    subprocess.run([sys.executable, "-c", code], check=True, env=env)
