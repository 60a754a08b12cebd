"""`nested_repos: capture`: nested repositories are projects of their own, linked from outside."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

import hermes_checkpoints as hc
from hermes_checkpoints.linked import LinkedRecovery
from hermes_checkpoints.recovery import Recovery
from hermes_checkpoints.sessions import Owner


class Scene:
    """An outer project with a repository `tool`, and one `tool/deep` in that."""

    def __init__(self, base: Path, root: Path, store: str, **options: Any) -> None:
        self.root = root
        for path, text in self.files.items():
            put(root / path, text)
        for repository in ("tool", "tool/deep"):
            (root / repository / ".git").mkdir()
        self.manager = hc.CheckpointManager(
            hc.Config(
                base=base,
                store=store,
                auto_prune=False,
                **{"nested_repos": "capture", **options},
            ),
            session_id="s",
            cwd=root,
        )
        self.slash = hc.RollbackCommand(self.manager)

    files: ClassVar = {"a": "a0", "tool/x": "x0", "tool/y": "y0", "tool/deep/z": "z0"}

    def agent(self, changes: dict[str, str | None]) -> None:
        """A turn in which a command that names nothing changes files everywhere."""
        self.manager.new_turn()
        with self.manager.guard(hc.ToolCall("terminal", {"command": "make all"})):
            for path, text in changes.items():
                put(self.root / path, text)

    def remove(self, name: str) -> None:
        """A turn in which a command removes a directory with all that is in it."""
        self.manager.new_turn()
        with self.manager.guard(hc.ToolCall("terminal", {"command": f"rm -rf {name}"})):
            shutil.rmtree(self.root / name)

    def stopping(self, stop: Callable[[str], None]) -> LinkedRecovery:
        """Recovery that calls `stop` before each change."""
        m = self.manager
        return LinkedRecovery(Recovery(store=m.store, books=m.books, config=m.config, step=stop))

    def restore(self, recovery: LinkedRecovery, number: int = 1) -> hc.Report:
        checkpoint = self.manager.list_checkpoints(self.root)[number - 1]
        project = self.manager.project(self.root)
        return recovery.restore(project, checkpoint, keep_edits=False, session="s")

    def say(self, line: str) -> hc.Reply:
        return self.slash.run(line, cwd=self.root)

    @property
    def now(self) -> dict[str, str]:
        return {
            os.path.relpath(os.path.join(folder, name), self.root): Path(folder, name).read_text(
                encoding="utf-8"
            )
            for folder, _, names in os.walk(self.root)
            for name in names
            if name != "pyproject.toml"
        }


def put(file: Path, text: str | None) -> None:
    if text is None:
        file.unlink()
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


Make = Callable[..., Scene]


@pytest.fixture(params=["memory", "git"])
def make(request: pytest.FixtureRequest, tmp_path: Path, project_dir: Path) -> Iterator[Make]:
    made: list[Scene] = []

    def opened(**options: Any) -> Scene:
        made.append(Scene(tmp_path / "base", project_dir, request.param, **options))
        return made[-1]

    yield opened
    for scene in made:
        scene.manager.close()


WRECK = {"a": "a1", "tool/x": None, "tool/new": "n1", "tool/deep/z": "z1"}


def test_a_full_rollback_brings_nested_repositories_back(make: Make) -> None:
    """With capture nothing is refused, and what was changed in every repository comes back."""
    scene = make()
    scene.agent(WRECK)
    (checkpoint,) = scene.manager.list_checkpoints(scene.root)
    assert checkpoint.nested == ()
    assert "not captured" not in checkpoint.reason
    reply = scene.say("/rollback 1 --all")
    assert reply.ok, reply.text
    assert scene.now == scene.files
    assert reply.report is not None
    assert {"a", "tool/x", "tool/deep/z"} <= set(reply.report.restored)
    assert "tool/new" in reply.report.deleted


def test_a_change_inside_a_repository_alone_makes_a_checkpoint(make: Make) -> None:
    """The outer project has a new checkpoint when only a linked repository changed."""
    scene = make()
    scene.agent({"tool/x": "x1"})
    scene.agent({"a": "a1"})
    assert len(scene.manager.list_checkpoints(scene.root)) == 2
    assert scene.say("/rollback 1 --all").ok
    assert scene.now == {**scene.files, "tool/x": "x1"}


def test_undo_takes_back_all_parts_of_one_rollback(make: Make) -> None:
    """One `/rollback undo` undoes what one `/rollback` did in every repository."""
    scene = make()
    scene.agent(WRECK)
    wrecked = scene.now
    assert scene.say("/rollback 1 --all").ok
    reply = scene.say("/rollback undo")
    assert reply.ok, reply.text
    assert scene.now == wrecked


def test_undo_reaches_a_part_even_if_the_outer_project_had_nothing_to_restore(make: Make) -> None:
    """A rollback that changed only a linked repository is undone from outside."""
    scene = make()
    scene.agent({"tool/x": "x1"})
    assert scene.say("/rollback 1 --all").ok
    assert scene.now == scene.files
    assert scene.say("/rollback undo").ok
    assert scene.now == {**scene.files, "tool/x": "x1"}


@pytest.mark.parametrize(
    ("selection", "back"),
    [
        ("tool/x", {"tool/x"}),
        ("tool/deep", {"tool/deep/z"}),
        ("tool", {"tool/x", "tool/deep/z"}),
        ("a", {"a"}),
        (".", {"a", "tool/x", "tool/deep/z"}),
        ("'tool/*'", {"tool/x", "tool/deep/z"}),
        ("a tool/deep/z", {"a", "tool/deep/z"}),
    ],
)
def test_selections_reach_into_linked_repositories(
    make: Make, selection: str, back: set[str]
) -> None:
    """A path in, of or above a linked repository, or a pattern, restores just what it selects."""
    scene = make()
    scene.agent({"a": "a1", "tool/x": "x1", "tool/deep/z": "z1"})
    reply = scene.say(f"/rollback 1 {selection} --all")
    assert reply.ok, reply.text
    changed = {path for path in scene.files if scene.now[path] != scene.files[path]}
    assert changed == {"a", "tool/x", "tool/deep/z"} - back


def test_a_plan_shows_all_parts_and_is_carried_out(make: Make) -> None:
    """A plan names paths of linked repositories with their place, and applies to all of them."""
    scene = make()
    scene.agent(WRECK)
    plan = scene.manager.plan(scene.root, 1, keep_edits=False)
    assert {s.path for s in plan.steps} == {"a", "tool/x", "tool/new", "tool/deep/z"}
    assert scene.manager.restore(scene.root, 1, keep_edits=False, plan=plan).ok
    assert scene.now == scene.files


def test_a_plan_whose_linked_part_moved_on_is_refused(make: Make) -> None:
    """A change inside a linked repository since the plan was made stops the whole."""
    scene = make()
    scene.agent(WRECK)
    plan = scene.manager.plan(scene.root, 1, keep_edits=False)
    put(scene.root / "tool/y", "mine")
    before = scene.now
    with pytest.raises(hc.ProjectMoved, match="y"):
        scene.manager.restore(scene.root, 1, keep_edits=False, plan=plan)
    assert scene.now == before


def test_hand_edits_in_linked_repositories_are_kept(make: Make) -> None:
    """A plain rollback keeps a person's edit wherever it is."""
    scene = make()
    scene.agent({"tool/x": "x1", "tool/y": "y1"})
    put(scene.root / "tool/y", "mine")
    reply = scene.say("/rollback 1")
    assert reply.ok
    assert scene.now["tool/y"] == "mine"


def test_what_a_listed_checkpoint_links_to_stays(make: Make) -> None:
    """Dropping a repository's own old checkpoints never takes one that is linked from outside."""
    scene = make(max_snapshots=2)
    scene.agent({"a": "a1"})
    inner = scene.root / "tool"
    for n in range(5):
        scene.manager.new_turn()
        with scene.manager.guard(hc.ToolCall("write_file", {"path": str(inner / "x")})):
            put(inner / "x", f"x{n + 1}")
    reply = scene.say("/rollback 1 --all")
    assert reply.ok, reply.text
    assert scene.now == scene.files


def test_nothing_of_a_repositorys_git_is_captured(make: Make) -> None:
    """The `.git` of a linked repository is in no checkpoint."""
    scene = make()
    put(scene.root / "tool/.git/config", "secret")
    scene.agent({"a": "a1"})
    project = scene.manager.project(scene.root / "tool")
    (checkpoint,) = scene.manager.list_checkpoints(scene.root / "tool")
    assert set(scene.manager.store.entries(project, checkpoint.tree)) == {"x", "y", "deep"}


# --------------------------------------------------------------------------- it is not there


@pytest.mark.parametrize("option", ["", " --all"])
def test_a_repository_that_was_removed_comes_back(make: Make, option: str) -> None:
    """The files of a linked repository that the agent removed are back, those inside it too."""
    scene = make()
    scene.remove("tool")
    reply = scene.say("/rollback 1" + option)
    assert reply.ok, reply.text
    assert scene.now == scene.files
    assert "its .git is in no checkpoint" in reply.text


def test_a_repository_comes_back_with_the_directory_around_it(make: Make) -> None:
    """A linked repository below a directory that the agent removed comes back with that."""
    scene = make()
    put(scene.root / "lib/plain", "p0")
    put(scene.root / "lib/own/x", "o0")
    (scene.root / "lib/own/.git").mkdir()
    before = scene.now
    scene.remove("lib")
    reply = scene.say("/rollback 1")
    assert reply.ok, reply.text
    assert scene.now == before


def test_a_repository_that_a_script_removed_comes_back(make: Make) -> None:
    """A command that names nothing and removes a linked repository is known to have done it."""
    scene = make()
    scene.manager.new_turn()
    with scene.manager.guard(hc.ToolCall("terminal", {"command": "make clean"})):
        shutil.rmtree(scene.root / "tool")
    reply = scene.say("/rollback 1")
    assert reply.ok, reply.text
    assert scene.now == scene.files


def test_a_plan_for_a_removed_repository_makes_nothing(make: Make) -> None:
    """A plan names the files that would come back, and the directory is not made for it."""
    scene = make()
    scene.remove("tool")
    plan = scene.manager.plan(scene.root, 1)
    assert {s.path for s in plan.writes} == {"tool/x", "tool/y", "tool/deep/z"}
    assert not (scene.root / "tool").exists()
    assert scene.manager.restore(scene.root, 1, plan=plan).ok
    assert scene.now == scene.files


def test_a_repository_that_a_person_removed_stays_removed(make: Make) -> None:
    """A plain rollback makes no directory for a repository that a person removed."""
    scene = make()
    scene.agent({"a": "a1"})
    shutil.rmtree(scene.root / "tool")
    reply = scene.say("/rollback 1")
    assert reply.ok, reply.text
    assert scene.now == {"a": "a0"}
    assert not (scene.root / "tool").exists()
    assert reply.report is not None
    assert {s.path for s in reply.report.kept} == {"tool/x", "tool/y", "tool/deep/z"}
    assert scene.say("/rollback 2 --all").ok
    assert scene.now == scene.files


def test_undo_takes_a_returned_repository_away_again(make: Make) -> None:
    """Undo leaves neither the files nor the directories of a repository that came back."""
    scene = make()
    scene.remove("tool")
    assert scene.say("/rollback 1").ok
    reply = scene.say("/rollback undo")
    assert reply.ok, reply.text
    assert not (scene.root / "tool").exists()


def test_a_returned_repository_is_no_plain_part_of_the_project(make: Make) -> None:
    """A second rollback leaves alone what the first has brought back, though its `.git` is gone."""
    scene = make()
    scene.remove("tool")
    assert scene.say("/rollback 1 --all").ok
    assert "before rollback" in scene.manager.list_checkpoints(scene.root)[0].reason
    reply = scene.say("/rollback 2 --all")
    assert reply.ok, reply.text
    assert scene.now == scene.files


@pytest.mark.parametrize("place", ["link", "dangling", "file"])
def test_what_is_in_the_place_of_a_repository_stays(make: Make, tmp_path: Path, place: str) -> None:
    """With a link or a file in its place a repository is not restorable, and the rest is done."""
    scene = make()
    scene.agent({"a": "a1"})
    shutil.rmtree(scene.root / "tool")
    (tmp_path / "elsewhere/.git").mkdir(parents=True)
    if place == "file":
        put(scene.root / "tool", "mine")
    else:
        (scene.root / "tool").symlink_to(tmp_path / ("elsewhere" if place == "link" else "gone"))
    for option in ("", " --all"):
        put(scene.root / "a", "a1")
        number = len(scene.manager.list_checkpoints(scene.root))
        reply = scene.say(f"/rollback {number}{option}")
        assert not reply.ok
        assert reply.report is not None
        assert [gap.path for gap in reply.report.unrestorable] == ["tool"], reply.text
        assert "in its place now" in reply.text
        assert (scene.root / "a").read_text(encoding="utf-8") == "a0"
        assert (scene.root / "tool").is_symlink() is (place != "file")
        assert os.listdir(tmp_path / "elsewhere") == [".git"]


def test_a_repository_whose_directory_cannot_be_made_is_listed(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the file system refuses the directory, the repository is listed, and the rest done."""
    scene = make()
    scene.agent({"a": "a1"})
    scene.remove("tool/deep")

    def refuse(*_: object) -> list[str]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("hermes_checkpoints.worktree.make_directory", refuse)
    reply = scene.say("/rollback 2 --all")
    assert not reply.ok
    assert "can't be made: Permission denied" in reply.text
    assert scene.now == {path: scene.files[path] for path in ("a", "tool/x", "tool/y")}


def test_a_link_to_a_checkpoint_that_is_gone_is_listed(make: Make) -> None:
    """A repository whose own history was deleted is not restorable, and the rest is done."""
    scene = make()
    scene.agent({"a": "a1"})
    scene.manager.store.forget(scene.manager.project(scene.root / "tool"))
    reply = scene.say("/rollback 1")
    assert not reply.ok
    assert "in the store no more" in reply.text
    assert scene.now == scene.files


# --------------------------------------------------------------------------- all parts, or none


def test_a_tool_that_runs_in_a_repository_stops_the_whole(make: Make) -> None:
    """While a call runs in a linked repository, nothing of the project is rolled back."""
    scene = make()
    scene.agent(WRECK)
    before = scene.now
    call = hc.ToolCall("write_file", {"path": str(scene.root / "tool/deep/z")})
    project = scene.manager.project(scene.root)
    book = scene.manager.books.of(scene.manager.project(scene.root / "tool/deep"))
    with scene.manager.guard(call):
        (lease,) = book.leases.running()
    book.leases.open(lease.call, lease.tool, "another")
    listed = scene.manager.list_checkpoints(scene.root)
    reply = scene.say("/rollback 1 --all")
    assert not reply.ok
    assert "has been running" in reply.text
    assert scene.now == before
    assert scene.manager.list_checkpoints(project.root) == listed


class _Stop(BaseException):
    """The process is killed here."""


def test_killed_anywhere_all_parts_are_finished_and_undone_as_one(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever a rollback is killed, it is announced, the next command finishes it in every
    repository, and undo then takes back all of it.
    """
    scene = make()
    scene.agent(WRECK)
    wrecked = scene.now
    steps: list[str] = []
    scene.restore(scene.stopping(steps.append))
    assert scene.say("/rollback undo").ok
    assert steps.count("journal") == 3
    project = scene.manager.project(scene.root)
    for at in range(len(steps)):
        left = iter(range(at))

        def stop(_: str, left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise _Stop

        number = len(scene.manager.list_checkpoints(scene.root))
        with pytest.raises(_Stop):
            scene.restore(scene.stopping(stop), number)
        with monkeypatch.context() as dead:
            dead.setattr(Owner, "alive", property(lambda _: False))
            assert "was interrupted" in scene.say("/rollback").text
        reply = scene.say("/rollback undo")
        assert reply.ok, reply.text
        assert "finished in all its parts" in reply.text
        assert scene.now == wrecked, steps[at]
        assert not scene.manager.books.of(project).under_way


def test_an_undo_that_was_killed_is_finished(make: Make) -> None:
    """Wherever an undo is killed, the next rollback finds all its parts finished first."""
    scene = make()
    scene.agent(WRECK)
    wrecked = scene.now
    steps: list[str] = []
    scene.restore(scene.stopping(lambda _: None))
    project = scene.manager.project(scene.root)
    scene.stopping(steps.append).undo(project, session="s")
    for at in range(len(steps)):
        left = iter(range(at))

        def stop(_: str, left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise _Stop

        number = len(scene.manager.list_checkpoints(scene.root))
        scene.restore(scene.stopping(lambda _: None), number)
        with pytest.raises(_Stop):
            scene.stopping(stop).undo(project, session="s")
        report = scene.stopping(lambda _: None).recover(project)
        assert report is not None
        assert report.ok
        assert scene.now == wrecked, steps[at]


def test_where_one_part_fails_the_others_are_taken_back(make: Make) -> None:
    """A part whose journal can't be written leaves every repository as it was."""
    scene = make()
    scene.agent(WRECK)
    wrecked = scene.now
    seen: list[str] = []

    def fail(step: str) -> None:
        seen.append(step)
        if step == "journal" and seen.count("journal") == 3:
            raise OSError(28, "No space left on device")

    with pytest.raises(hc.RestoreFailed):
        scene.restore(scene.stopping(fail))
    assert scene.now == wrecked
    assert not scene.manager.books.of(scene.manager.project(scene.root)).under_way
    assert not scene.say("/rollback undo").ok
    assert scene.say("/rollback 2 --all").ok
    assert scene.now == scene.files


def test_nothing_is_taken_up_where_a_tool_runs(make: Make) -> None:
    """A selection elsewhere is refused, too, while a call runs where a part is to be finished."""
    scene = make()
    scene.agent(WRECK)

    def stop(step: str) -> None:
        raise _Stop

    with pytest.raises(_Stop):
        scene.restore(scene.stopping(stop))
    before = scene.now
    scene.manager.books.of(scene.manager.project(scene.root / "tool")).leases.open("c", "t", "x")
    reply = scene.say("/rollback 2 a")
    assert not reply.ok
    assert "has been running" in reply.text
    assert scene.now == before


def test_a_group_journal_that_cannot_be_read_is_set_aside(make: Make) -> None:
    """A damaged journal of all parts is kept and named, and the next rollback goes on."""
    scene = make()
    scene.agent(WRECK)
    book = scene.manager.books.of(scene.manager.project(scene.root))
    book.group_journal_file.write_text("{", encoding="utf-8")
    assert "was interrupted" in scene.say("/rollback").text
    reply = scene.say("/rollback 1 --all")
    assert reply.ok, reply.text
    assert "group.damaged" in reply.text
    assert scene.now == scene.files


def test_what_a_part_has_undone_by_itself_is_not_undone_twice(make: Make) -> None:
    """Undo of the whole leaves alone a repository in which it was undone before."""
    scene = make()
    scene.agent({"a": "a1", "tool/x": "x1"})
    assert scene.say("/rollback 1").ok
    assert scene.slash.run("/rollback undo", cwd=scene.root / "tool").ok
    assert scene.now == {**scene.files, "tool/x": "x1"}
    assert scene.say("/rollback undo").ok
    assert scene.now == {**scene.files, "a": "a1", "tool/x": "x1"}


# --------------------------------------------------------------------------- whose doing it was


def test_what_a_person_put_into_a_repository_is_held_before_a_command(make: Make) -> None:
    """A person's edit in a linked repository, destroyed in the same turn, is what comes back."""
    scene = make()
    scene.manager.new_turn()
    with scene.manager.guard(hc.ToolCall("write_file", {"path": str(scene.root / "a")})):
        put(scene.root / "a", "a1")
    put(scene.root / "tool/deep/z", "mine")
    with scene.manager.guard(hc.ToolCall("terminal", {"command": "make all"})):
        put(scene.root / "tool/deep/z", "z1")
    reply = scene.say("/rollback 1")
    assert reply.ok, reply.text
    assert scene.now == {**scene.files, "tool/deep/z": "mine"}


def test_what_a_command_changes_in_a_repository_is_the_agents(make: Make) -> None:
    """A plain rollback takes back what a command that named nothing did in any repository."""
    scene = make()
    scene.agent(WRECK)
    reply = scene.say("/rollback 1")
    assert reply.ok, reply.text
    assert scene.now == scene.files


def test_without_capture_a_command_protects_no_repository(make: Make) -> None:
    """With `nested_repos: refuse` a command in a project leaves the repositories in it alone."""
    scene = make(nested_repos="refuse")
    scene.agent({"tool/x": "x1"})
    roots = [record.project.root for record in scene.manager.store.projects()]
    assert roots == [os.path.realpath(scene.root)]


# --------------------------------------------------------------------------- words


def test_diff_shows_linked_repositories(make: Make) -> None:
    """A diff names what changed in every repository with its place, also where lines look like
    headers, and one summary counts it all.
    """
    scene = make()
    put(scene.root / "tool/y", "-- a/y\n++ b/y\n")
    scene.agent({"a": "a1", "tool/x": "x1", "tool/deep/z": "z1", "tool/y": "-- a/q\n++ b/q\n"})
    diff = scene.manager.diff(scene.root, 1)
    for path in (b"a", b"tool/x", b"tool/y", b"tool/deep/z"):
        assert b"diff --git a/%s b/%s\n" % (path, path) in diff.patch
        assert b"--- a/%s\n" % path in diff.patch
        assert b" %s " % path in diff.stat
    assert b"\n--- a/y\n+++ b/y\n" not in diff.patch
    assert b"\n--- a/y\n" in diff.patch
    assert diff.stat.count(b"changed") <= 1
    inside = scene.manager.diff(scene.root, 1, paths=["tool/deep"])
    assert inside.patch.count(b"diff --git") == 1
    assert b" tool/deep/z " in inside.stat


def test_diff_names_a_repository_that_is_gone(make: Make) -> None:
    """A linked repository that was removed is a line of the summary."""
    scene = make()
    scene.agent({"a": "a1"})
    shutil.rmtree(scene.root / "tool")
    diff = scene.manager.diff(scene.root, 1)
    assert b" tool | nested repository that is not there now\n" in diff.stat
    assert b"diff --git a/a b/a" in diff.patch


def test_undo_names_paths_as_the_rollback_did(make: Make) -> None:
    """The paths of the outer project have nothing in front of them in the report of an undo."""
    scene = make()
    scene.agent({"a": "a1", "tool/x": "x1"})
    scene.say("/rollback 1")
    reply = scene.say("/rollback undo")
    assert reply.report is not None
    assert set(reply.report.restored) == {"a", "tool/x"}


# --------------------------------------------------------------------------- forgetting


def test_after_forgetting_links_are_let_go(make: Make) -> None:
    """Checkpoints that have new ids unpin what they link to when they are dropped."""
    scene = make()
    scene.agent({"a": "a1"})
    project, inner = (scene.manager.project(scene.root / name) for name in ("", "tool"))
    scene.manager.housekeeping.forget_path(project, "a")
    (checkpoint,) = scene.manager.store.list(project)
    assert [c.pins for c in scene.manager.store.list(inner)] == [(f"link-{checkpoint.id}",)]
    scene.manager.housekeeping._let_go(project, [checkpoint.id])
    assert [c.pins for c in scene.manager.store.list(inner)] == [()]


def test_after_forgetting_in_a_repository_the_links_to_it_hold(make: Make) -> None:
    """A path that is forgotten in a linked repository breaks no rollback of the project."""
    scene = make()
    scene.agent(WRECK)
    inner = scene.manager.project(scene.root / "tool")
    assert scene.manager.housekeeping.forget_path(inner, "y")
    reply = scene.say("/rollback 1 --all")
    assert scene.now == scene.files, reply.text
