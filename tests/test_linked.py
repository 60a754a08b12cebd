"""`nested_repos: capture`: nested repositories are projects of their own, linked from outside."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

import hermes_checkpoints as hc


class Scene:
    """An outer project with a repository `tool`, and one `tool/deep` in that."""

    def __init__(self, base: Path, root: Path, store: str, **options: Any) -> None:
        self.root = root
        for path, text in self.files.items():
            put(root / path, text)
        for repository in ("tool", "tool/deep"):
            (root / repository / ".git").mkdir()
        self.manager = hc.CheckpointManager(
            hc.Config(base=base, store=store, nested_repos="capture", auto_prune=False, **options),
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
