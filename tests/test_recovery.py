"""Rollback over real directories, one kind of reported fault after another."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from hermes_checkpoints.errors import (
    Busy,
    CaptureFailed,
    CheckpointNotFound,
    ProjectMoved,
    RestoreFailed,
    RestoreRefused,
    SelectionError,
    StoreError,
)
from hermes_checkpoints.records import GapReason, Project, StepKind
from hermes_checkpoints.stores.memory import MemoryStore
from tests.scene import Scene, states_of


@pytest.fixture(params=["memory", "git"])
def store(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def scene(tmp_path: Path, store: str) -> Iterator[Scene]:
    scene = Scene(tmp_path, store)
    yield scene
    scene.store.close()


@pytest.fixture
def capped(tmp_path: Path, store: str) -> Iterator[Scene]:
    """A scene in which files over 100 bytes are too large."""
    scene = Scene(tmp_path, store, max_file_size_mb=0.0001)
    yield scene
    scene.store.close()


# --------------------------------------------------------------------------- whose is it


def test_what_the_agent_changed_made_and_removed_goes_back(scene: Scene) -> None:
    """A plain rollback takes back every kind of change the agent made."""
    scene.user("changed", "1")
    scene.user("removed", "1")
    scene.turn()
    scene.write({"changed": "2", "removed": None, "made/deep": "x"})
    report = scene.rollback()
    assert scene.tree() == {"changed": ("1", 0o644), "removed": ("1", 0o644)}
    assert report.ok
    assert set(report.restored) == {"changed", "removed"}
    assert report.deleted == ("made/deep",)
    assert not (scene.root / "made").exists()


def test_what_the_person_did_stays(scene: Scene) -> None:
    """A plain rollback leaves edits, new files and deletions of the person, and lists them."""
    for name in ("agents", "edited", "deleted"):
        scene.user(name, "1")
    scene.turn()
    scene.write({"agents": "2"})
    scene.user("edited", "mine")
    scene.user("results.jsonl", "mine")
    scene.user("deleted", None)
    report = scene.rollback()
    assert (scene["agents"], scene["edited"], scene["results.jsonl"]) == ("1", "mine", "mine")
    assert scene["deleted"] is None
    assert [s.path for s in report.kept] == ["deleted", "edited", "results.jsonl"]


def test_an_edit_on_top_of_the_agents_write_stays(scene: Scene) -> None:
    """A file the agent wrote and the person went on with is the person's."""
    scene.user("f", "1")
    scene.turn()
    scene.write({"f": "2"})
    scene.user("f", "2 and mine")
    assert [s.path for s in scene.rollback().kept] == ["f"]
    assert scene["f"] == "2 and mine"


def test_a_file_made_anew_after_the_agent_removed_it_stays(scene: Scene) -> None:
    """What stands where the agent removed a file is the person's."""
    scene.user("f", "1")
    scene.turn()
    scene.write({"f": None})
    scene.user("f", "mine")
    scene.rollback()
    assert scene["f"] == "mine"


def test_all_overwrites_hand_edits(scene: Scene) -> None:
    """With --all the state of the checkpoint comes back, whoever changed it."""
    scene.user("f", "1")
    scene.user("gone", "1")
    before = scene.tree()
    scene.turn()
    scene.write({"f": "2"})
    scene.user("f", "mine")
    scene.user("gone", None)
    scene.user("new", "mine")
    assert scene.rollback(all=True).ok
    assert scene.tree() == before


def test_the_work_in_progress_of_the_person_comes_back(scene: Scene) -> None:
    """What a person had not committed anywhere when the agent began is what comes back."""
    scene.user("f", "base\nwip\n")
    scene.turn()
    scene.write({"f": "agent"})
    scene.rollback()
    assert scene["f"] == "base\nwip\n"


def test_a_version_between_two_writes_of_the_agent_comes_back(scene: Scene) -> None:
    """A plain rollback stops at the person's version, and a second one changes nothing."""
    scene.user("f", "1")
    scene.turn()
    scene.write({"f": "2"})
    scene.user("f", "mine")
    scene.write({"f": "3"})
    plan = scene.plan()
    assert [(s.path, s.version) for s in plan.writes] == [("f", True)]
    assert "your version" in plan.writes[0].why
    scene.rollback()
    assert scene["f"] == "mine"
    scene.rollback(2)
    assert scene["f"] == "mine"
    scene.rollback(2, all=True)
    assert scene["f"] == "1"


def test_a_version_from_before_the_agents_first_write_comes_back(scene: Scene) -> None:
    """An edit between the checkpoint and the agent's first write of a file is not walked past."""
    scene.user("f", "1")
    scene.turn()
    scene.write({"other": "x"})
    scene.user("f", "mine")
    scene.write({"f": "2"})
    scene.rollback()
    assert scene["f"] == "mine"


def test_a_persons_file_that_came_and_went_comes_back(scene: Scene) -> None:
    """What a person made since the checkpoint, and the agent removed, is brought back."""
    scene.user("f", "1")
    scene.user("g", "1")
    scene.turn()
    scene.write({"other": "x"})
    scene.user("new", "mine")
    scene.user("f", "mine")
    scene.write({"new": None})
    scene.write({"f": "1"})  # as `git checkout f` does
    assert {s.path for s in scene.plan().writes} == {"f", "new"}
    scene.rollback()
    assert (scene["f"], scene["new"], scene["other"]) == ("mine", "mine", None)
    scene.rollback(2)
    assert (scene["f"], scene["new"]) == ("mine", "mine")


def test_a_version_that_was_not_stored_is_said(scene: Scene) -> None:
    """Where the person's version cannot be read, the file stays and the reason is named."""
    scene.user("f", "1")
    scene.turn()
    scene.write({"f": "2"})
    scene.user("f", "mine")
    before = states_of(scene.project.root, ["f"])
    scene.user("f", "3")
    scene.attribute(before, ["f"])
    report = scene.rollback()
    assert scene["f"] == "3"
    assert "was not stored" in report.kept[0].why


def test_writes_of_a_session_that_still_runs_are_kept_and_named(scene: Scene) -> None:
    """Another session's files count as the person's while its process lives, and as ours after."""
    scene.user("a", "1")
    scene.user("b", "1")
    scene.turn()
    scene.write({"a": "2"})
    scene.books.sessions.begin("other")
    scene.write({"b": "2"}, session="other")
    report = scene.rollback()
    assert (scene["a"], scene["b"]) == ("1", "2")
    assert "session other" in report.kept[0].why
    scene.books.sessions.end("other")
    scene.rollback(2)
    assert scene["b"] == "1"


def test_our_write_over_another_sessions_goes_back_to_theirs(scene: Scene) -> None:
    """Of a file two running sessions wrote, only the calling session's part is taken back."""
    scene.user("f", "1")
    scene.turn()
    scene.books.sessions.begin("other")
    scene.write({"f": "theirs"}, session="other")
    scene.write({"f": "ours"})
    assert "session other" in scene.plan().writes[0].why
    scene.rollback()
    assert scene["f"] == "theirs"


def test_without_a_ledger_everything_is_restored_and_it_is_said(scene: Scene) -> None:
    """A store from before any ledger restores all, hand-edits too, and says so."""
    scene.user("f", "1")
    scene.turn()
    scene.write({"f": "2"})
    scene.books.of(scene.project).ledger.file.unlink()
    scene.user("f", "mine")
    report = scene.rollback()
    assert scene["f"] == "1"
    assert any("no ledger" in note for note in report.notes)


def test_an_empty_ledger_keeps_everything_and_it_is_said(scene: Scene) -> None:
    """A ledger without entries means that nothing is the agent's."""
    scene.user("f", "1")
    scene.turn()
    scene.protect(["f"])
    scene.user("f", "mine")
    report = scene.rollback()
    assert scene["f"] == "mine"
    assert any("no write of the agent is recorded" in note for note in report.notes)


def test_shell_changes_count_as_the_agents(scene: Scene) -> None:
    """What changed around a command goes back, and the doubt is named."""
    scene.user("code.py", "a")
    scene.turn()
    with scene.shell("code.py") as root:
        (root / "code.py").write_text("b")
    assert "somebody else while it ran" in scene.plan().writes[0].why
    scene.rollback()
    assert scene["code.py"] == "a"


def test_a_rename_is_two_paths(scene: Scene) -> None:
    """After a move the old name is back and the new one gone."""
    scene.user("old", "\n".join(map(str, range(50))))
    before = scene.tree()
    scene.turn()
    with scene.shell("old", "new") as root:
        (root / "old").rename(root / "new")
    scene.rollback()
    assert scene.tree() == before


# --------------------------------------------------------------------------- again and back


def test_restoring_twice_changes_nothing(scene: Scene) -> None:
    """The second rollback to a checkpoint finds nothing to do and takes no snapshot."""
    scene.user("f", "1")
    scene.turn()
    scene.write({"f": "2"})
    scene.rollback()
    count = len(scene.list)
    report = scene.rollback(2)
    assert report.ok
    assert not report.restored
    assert len(scene.list) == count


def test_an_unchanged_file_keeps_its_time(scene: Scene) -> None:
    """A file with the right content is not written again."""
    scene.user("same", "1")
    scene.user("f", "1")
    os.utime(scene.root / "same", (1e9, 1e9))
    scene.turn()
    scene.write({"f": "2"})
    scene.rollback()
    assert (scene.root / "same").stat().st_mtime == 1e9


def test_older_then_newer_then_older(scene: Scene) -> None:
    """Plain rollbacks go to any checkpoint in any order: a restore's own writes are ours."""
    scene.user("f", "0")
    for text in "123":
        scene.turn()
        scene.write({"f": text})
    oldest, middle, newest = (c.id for c in reversed(scene.list))
    by_id = {c.id: c for c in scene.list}
    for checkpoint, text in ((oldest, "0"), (newest, "2"), (middle, "1"), (oldest, "0")):
        scene.recovery.restore(
            scene.project, by_id[checkpoint], base_dir=scene.project.root, session="s1"
        )
        assert scene["f"] == text


def test_a_persons_file_that_a_rollback_brought_back_is_still_the_persons(scene: Scene) -> None:
    """A rollback to a checkpoint with the person's edit does not make that edit the agent's."""
    scene.user("f", "1")
    scene.user("g", "1")
    scene.turn()
    scene.write({"g": "2"})
    scene.user("f", "mine")
    scene.turn()
    scene.write({"f": "3"})
    scene.rollback(1)
    assert scene["f"] == "mine"
    scene.rollback(3)
    assert scene["f"] == "mine"


def test_undo_brings_everything_back(scene: Scene) -> None:
    """After an undo every file is as before the rollback, hand-edits and new files included."""
    scene.user("f", "1")
    scene.user("dir/sub/deep", "1")
    scene.user("key", "k", mode=0o600)
    scene.turn()
    scene.write({"f": "2", "new/x": "n", "key": None})
    with scene.shell("dir/sub/deep", "dir"):
        (scene.root / "dir/sub/deep").unlink()
        (scene.root / "dir/sub").rmdir()
        (scene.root / "dir").rmdir()
        (scene.root / "dir").write_text("a file now")
    scene.user("f", "mine")
    scene.user("hand", "mine")
    before = scene.tree()
    assert scene.rollback(all=True).ok
    assert scene["dir/sub/deep"] == "1"
    report = scene.undo()
    assert report.ok
    assert report.action == "undo"
    assert scene.tree() == before


def test_undo_takes_the_ledger_back_too(scene: Scene) -> None:
    """--all, then undo, then plain: the hand-edit is a hand-edit again."""
    scene.user("f", "1")
    scene.user("g", "1")
    scene.turn()
    scene.write({"f": "2", "g": "2"})
    scene.user("f", "mine")
    target = scene.list[0]
    scene.rollback(all=True)
    scene.undo()
    scene.recovery.restore(scene.project, target, base_dir=scene.project.root, session="s1")
    assert (scene["f"], scene["g"]) == ("mine", "1")


def test_undo_walks_back_and_ends_at_a_new_turn(scene: Scene) -> None:
    """Undo goes back rollback by rollback; what the agent does afterwards ends the chain."""
    scene.user("f", "0")
    scene.turn()
    scene.write({"f": "1"})
    scene.turn()
    scene.write({"f": "2"})
    seen = []
    scene.rollback(1, all=True)
    seen.append(scene["f"])
    scene.rollback(len(scene.list), all=True)
    seen.append(scene["f"])
    for _ in range(2):
        scene.undo()
        seen.append(scene["f"])
    assert seen == ["1", "0", "1", "2"]
    with pytest.raises(RestoreRefused, match="no rollback"):
        scene.undo()
    scene.rollback(3, all=True)
    scene.turn()
    scene.write({"f": "9"})
    with pytest.raises(RestoreRefused, match="does not reach behind a new turn"):
        scene.undo()
    assert scene["f"] == "9"


def test_undo_leaves_what_was_edited_since(scene: Scene) -> None:
    """Undo touches only what still is as the rollback left it."""
    scene.user("f", "1")
    scene.user("g", "1")
    scene.turn()
    scene.write({"f": "2", "g": "2"})
    scene.rollback()
    scene.user("f", "edited")
    report = scene.undo()
    assert (scene["f"], scene["g"]) == ("edited", "2")
    assert [s.path for s in report.kept] == ["f"]


def test_undo_by_number(scene: Scene) -> None:
    """The safety snapshot is item 1 after a rollback, and restoring it takes the rollback back."""
    scene.user("f", "1")
    scene.turn()
    scene.write({"f": "2", "new": "x"})
    scene.user("hand", "mine")
    before = scene.tree()
    target = scene.list[0]
    scene.rollback(all=True)
    assert scene.list[0].reason == f"before rollback to {target.short_id}"
    assert scene.rollback(1, all=True).ok
    assert scene.tree() == before


def test_undo_saves_what_no_checkpoint_holds_any_more(scene: Scene) -> None:
    """With its target dropped, an undo first takes a snapshot of what it replaces."""
    scene.user("f", "1")
    scene.turn()
    scene.write({"f": "2"})
    target = scene.list[0]
    scene.rollback()
    scene.store.drop(scene.project, [target.id])
    assert scene.undo().ok
    assert scene["f"] == "2"
    assert len(scene.list) == 2


def test_undo_without_the_state_before_changes_nothing(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the contents from before are gone, undo says that it can't and changes nothing."""
    scene.user("f", "1")
    scene.turn()
    scene.write({"f": "2"})
    scene.rollback()

    def gone(_: object, contents: Iterable[str]) -> Iterator[bytes]:
        raise StoreError(f"content {next(iter(contents))} is not in the store")

    monkeypatch.setattr(scene.store, "read", gone)
    with pytest.raises(RestoreFailed, match="nothing in the project was changed"):
        scene.undo()
    assert scene["f"] == "1"


# --------------------------------------------------------------------------- what is not held


def test_absence_from_a_checkpoint_is_no_proof(capped: Scene) -> None:
    """A file that was over the cap is never taken for one that the agent made."""
    scene = capped
    scene.user("a", "1")
    scene.user("big", "u" * 200)
    scene.turn()
    scene.write({"a": "2", "big": "small"})
    for every in (False, True):
        report = scene.rollback(len(scene.list), all=every)
        assert scene["big"] == "small"
        assert [(g.path, g.reason) for g in report.unrestorable] == [("big", GapReason.TOO_LARGE)]
    assert scene["a"] == "1"


def test_what_cannot_be_saved_first_is_not_overwritten(capped: Scene) -> None:
    """A file that has grown over the cap stays, for nothing could bring it back."""
    scene = capped
    scene.user("f", "1")
    scene.turn()
    scene.write({"f": "x" * 200, "g": "y"})
    assert [s.kind for s in scene.plan(all=True).steps if s.path == "f"] == [StepKind.KEEP_UNSAVED]
    report = scene.rollback(all=True)
    assert scene["f"] == "x" * 200
    assert [g.path for g in report.unrestorable] == ["f"]
    assert scene["g"] is None


def test_data_unignored_since_is_not_deleted(scene: Scene) -> None:
    """What the ignore rules of then left out was perhaps there, and stays."""
    scene.user(".gitignore", "data/\n")
    scene.user("data/p", "p")
    scene.turn()
    with scene.shell(".gitignore") as root:
        (root / ".gitignore").write_text("")
    scene.attribute({}, ["data/p"], certain=False)  # as two scans around the command see it
    assert "rules of then" in scene.plan(all=True).kept[0].why
    for every in (False, True):
        scene.rollback(len(scene.list), all=every)
        assert scene["data/p"] == "p"
        assert scene[".gitignore"] == "data/\n"


def test_data_ignored_since_is_not_deleted(scene: Scene) -> None:
    """What today's ignore rules leave out is not taken for gone or new, and stays."""
    scene.user(".gitignore", "")
    scene.turn()
    scene.write({"a": "1"})
    scene.user(".gitignore", "data/\n")
    scene.user("data/p", "p")
    scene.rollback(all=True)
    assert (scene["data/p"], scene[".gitignore"], scene["a"]) == ("p", "", None)


def test_a_file_ignored_since_is_seen_all_the_same(scene: Scene) -> None:
    """A file that the checkpoint holds and today's rules bar is saved before it is overwritten."""
    scene.user("data/p", "1")
    scene.turn()
    scene.write({"data/p": "2"})
    scene.user(".gitignore", "data/\n")
    scene.user("data/p", "mine")
    assert [s.path for s in scene.rollback().kept] == [".gitignore", "data/p"]
    scene.rollback(1, all=True)
    assert scene["data/p"] == "1"
    scene.undo()
    assert scene["data/p"] == "mine"


def test_an_ignored_target_is_protected(scene: Scene) -> None:
    """An ignored file that the agent wrote by name comes back, and its rollback can be undone."""
    scene.user(".gitignore", "gen/\n")
    scene.user("gen/x", "v1")
    scene.turn()
    scene.write({"gen/x": "v2"})
    scene.rollback()
    assert scene["gen/x"] == "v1"
    scene.undo()
    assert scene["gen/x"] == "v2"


def test_an_ignored_file_the_agent_made_is_not_removed(scene: Scene) -> None:
    """Ignored files are never removed by a rollback, and the plan says so."""
    scene.user(".gitignore", "gen/\n")
    scene.turn()
    scene.write({"gen/x": "v1", "a": "x"})
    report = scene.rollback(all=True)
    assert scene["gen/x"] == "v1"
    assert [s.path for s in report.kept] == ["gen/x"]


def test_a_secret_is_left_alone_and_named(scene: Scene) -> None:
    """A secret that no checkpoint holds is neither deleted nor called restored."""
    scene.user(".env", "TOKEN=1")
    scene.user("a", "1")
    scene.turn()
    scene.write({"a": "2"})
    scene.user(".env", "TOKEN=2")
    report = scene.rollback(all=True)
    assert scene[".env"] == "TOKEN=2"
    assert [(g.path, g.reason) for g in report.unrestorable] == [(".env", GapReason.SECRET)]


def test_a_secret_that_is_held_is_saved_before_it_is_overwritten(
    tmp_path: Path, store: str
) -> None:
    """A secret that a checkpoint holds comes back although today's rules bar it from a scan."""
    scene = Scene(tmp_path, store, secrets="always")
    scene.user(".env", "TOKEN=1")
    scene.turn()
    scene.write({"a": "2"})
    scene.user(".env", "TOKEN=mine")
    later = Scene(tmp_path, scene.store)
    assert later.rollback(all=True).ok
    assert later[".env"] == "TOKEN=1"
    later.undo()
    assert later[".env"] == "TOKEN=mine"
    scene.store.close()


def test_no_snapshot_no_restore(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the state before can't be saved, nothing is restored."""
    scene.user("f", "1")
    scene.turn()
    scene.write({"f": "2", "new": "x"})
    before = scene.tree()

    def fail(*_: object, **__: object) -> None:
        raise CaptureFailed("no room")

    monkeypatch.setattr(scene.store, "capture", fail)
    with pytest.raises(RestoreRefused, match="could not be saved"):
        scene.rollback()
    assert scene.tree() == before


# --------------------------------------------------------------------------- what is on disk


def test_bytes_modes_and_links_come_back(scene: Scene) -> None:
    """Content is byte-exact, permission bits are kept, a link is a link."""
    scene.user("crlf", b"a\r\n\xff\0")
    scene.user("key", "k", mode=0o600)
    scene.user("run", "#!", mode=0o755)
    scene.user("odd", "x", mode=0o640)
    scene.user("link", Path("crlf"))
    scene.user("dangling", Path("/nowhere/at/all"))
    before = scene.tree()
    scene.turn()
    scene.write(dict.fromkeys(("crlf", "key", "run", "odd", "link", "dangling")))
    assert scene.tree() == {}
    scene.rollback()
    assert scene.tree() == before


def test_names_are_bytes(scene: Scene) -> None:
    """Names with a newline, a blank, no ASCII and no valid text go and come like any other."""
    names = ["报.txt", " lead", "new\nline", os.fsdecode(b"bad\xff"), "-x", "[a]*"]
    for name in names:
        scene.user(name, "1")
    before = scene.tree()
    scene.turn()
    scene.write(dict.fromkeys(names, "2"))
    assert scene.rollback().ok
    assert scene.tree() == before
    scene.undo()
    assert {text for text, _ in scene.tree().values()} == {"2"}


def test_only_permissions_differ(scene: Scene) -> None:
    """With --all changed permissions alone are set back, without writing the file."""
    scene.user("f", "1")
    os.utime(scene.root / "f", (1e9, 1e9))
    scene.turn()
    scene.write({"g": "x"})
    (scene.root / "f").chmod(0o600)
    assert [s.path for s in scene.rollback().kept] == ["f"]
    assert scene.mode("f") == 0o600
    scene.rollback(2, all=True)
    assert (scene.mode("f"), (scene.root / "f").stat().st_mtime) == (0o644, 1e9)
    scene.undo()
    assert scene.mode("f") == 0o600


def test_a_file_that_became_a_directory(scene: Scene) -> None:
    """The directory goes and the file is back."""
    scene.user("x", "f")
    before = scene.tree()
    scene.turn()
    with scene.shell("x", "x/a", "x/b/c") as root:
        (root / "x").unlink()
        (root / "x/b").mkdir(parents=True)
        (root / "x/a").write_text("1")
        (root / "x/b/c").write_text("1")
    swapped = scene.tree()
    assert scene.rollback().ok
    assert scene.tree() == before
    scene.undo()
    assert scene.tree() == swapped


def test_a_directory_that_became_a_file(scene: Scene) -> None:
    """The file goes and the directory is back."""
    scene.user("d/e/f", "1")
    before = scene.tree()
    scene.turn()
    with scene.shell("d/e/f", "d") as root:
        (root / "d/e/f").unlink()
        (root / "d/e").rmdir()
        (root / "d").rmdir()
        (root / "d").write_text("z")
    assert scene.rollback().ok
    assert scene.tree() == before
    scene.undo()
    assert scene["d"] == "z"


@pytest.mark.parametrize("every", [False, True])
def test_what_no_snapshot_holds_is_moved_out_of_the_way(capped: Scene, every: bool) -> None:
    """An uncaptured file in a directory that must become a file is moved aside and named."""
    scene = capped
    scene.user("x", "f")
    scene.user("y", "1")
    scene.turn()
    with scene.shell("x", "x/huge.dat") as root:
        (root / "x").unlink()
        (root / "x").mkdir()
    scene.user("x/huge.dat", "h" * 200)
    scene.write({"y": "2"})
    assert any("x/huge.dat" in note for note in scene.plan(all=every).notes)
    report = scene.rollback(all=every)
    assert (scene["x"], scene["y"]) == ("f", "1")
    assert report.aside == (("x/huge.dat", "x.aside-1/huge.dat"),)
    assert scene["x.aside-1/huge.dat"] == "h" * 200
    scene.undo()
    assert scene["x/huge.dat"] == "h" * 200


def test_the_persons_files_are_not_moved_out_of_the_way(scene: Scene) -> None:
    """A plain rollback does not put a file where a directory with the person's files is now."""
    scene.user("x", "f")
    scene.turn()
    with scene.shell("x") as root:
        (root / "x").unlink()
        (root / "x").mkdir()
    scene.user("x/mine", "mine")
    report = scene.rollback()
    assert scene["x/mine"] == "mine"
    assert {s.path for s in report.kept} == {"x", "x/mine"}
    assert scene.rollback(1, all=True).ok
    assert scene["x"] == "f"


def test_nothing_is_written_through_a_link_out_of_the_project(scene: Scene) -> None:
    """A directory that became a link is a directory again; what the link led to is untouched."""
    outside = scene.root.parent / "outside"
    outside.mkdir()
    (outside / "f").write_text("outside")
    scene.user("d/f", "in")
    before = scene.tree()
    scene.turn()
    with scene.shell("d/f", "d") as root:
        (root / "d/f").unlink()
        (root / "d").rmdir()
        (root / "d").symlink_to(outside)
    assert scene.rollback().ok
    assert scene.tree() == before
    assert (outside / "f").read_text() == "outside"
    scene.undo()
    assert scene["d"] == f"-> {outside}"
    assert (outside / "f").read_text() == "outside"


def test_nothing_is_deleted_through_a_link_out_of_the_project(scene: Scene) -> None:
    """A link that became a directory is a link again; a file of that name outside stays."""
    outside = scene.root.parent / "outside"
    outside.mkdir()
    (outside / "f").write_text("outside")
    scene.user("d", outside)
    scene.turn()
    with scene.shell("d", "d/f") as root:
        (root / "d").unlink()
        (root / "d").mkdir()
        (root / "d/f").write_text("a")
    assert scene.rollback().ok
    assert scene["d"] == f"-> {outside}"
    assert (outside / "f").read_text() == "outside"


def test_a_link_put_in_place_of_a_directory_meanwhile_leads_nowhere(scene: Scene) -> None:
    """A directory swapped for a link right before a write makes that write fail, no more."""
    outside = scene.root.parent / "outside"
    outside.mkdir()
    scene.user("d/f", "1")
    scene.user("e", "1")
    scene.turn()
    scene.write({"d/f": "2", "e": "2"})

    def swap(what: str) -> None:
        if what == "write d/f":
            (scene.root / "d").rename(scene.root / "was")
            (scene.root / "d").symlink_to(outside)

    scene.recovery.step = swap
    report = scene.rollback()
    assert not report.ok
    assert [path for path, _ in report.failed] == ["d/f"]
    assert list(outside.iterdir()) == []
    assert scene["e"] == "1"


def test_empty_directories_come_and_go(scene: Scene) -> None:
    """Directories that a targeted command removed come back, those the restore empties go."""
    (scene.root / "empty/inner").mkdir(parents=True)
    scene.turn()
    with scene.shell("empty") as root:
        (root / "empty/inner").rmdir()
        (root / "empty").rmdir()
    scene.write({"p/q/r": "x"})
    report = scene.rollback()
    assert report.ok
    assert (scene.root / "empty/inner").is_dir()
    assert not (scene.root / "p").exists()
    scene.undo()
    assert not (scene.root / "empty").exists()
    assert scene["p/q/r"] == "x"


def test_a_checkpoint_of_an_empty_project_restores(scene: Scene) -> None:
    """Rolling back to nothing removes what the agent made, successfully."""
    scene.turn()
    scene.write({"a": "1"})
    assert scene.rollback().ok
    assert scene.tree() == {}


def test_very_many_paths(scene: Scene) -> None:
    """Thousands of long names need no argument list."""
    names = [f"{'long' * 20}/{number:05}{'x' * 100}" for number in range(2000)]
    for name in names:
        scene.user(name, "1")
    scene.turn()
    scene.write(dict.fromkeys(names))
    assert len(scene.rollback().restored) == len(names)
    assert len(scene.tree()) == len(names)


# --------------------------------------------------------------------------- what goes wrong


def test_the_failure_of_one_file_is_that_files(scene: Scene) -> None:
    """Of ten files one can't be written: nine are back, one is named, the report is not ok."""
    for number in range(10):
        scene.user(f"f{number}", "1")
    scene.turn()
    scene.write({f"f{number}": "2" for number in range(10)})

    def fail(what: str) -> None:
        if what == "write f5":
            raise PermissionError(errno.EPERM, "Operation not permitted")

    scene.recovery.step = fail
    report = scene.rollback()
    assert not report.ok
    assert report.failed == (("f5", "Operation not permitted"),)
    assert len(report.restored) == 9
    assert report.safety
    assert any(report.safety.short_id in note for note in report.notes)
    scene.recovery.step = lambda _: None
    assert scene.undo().ok
    assert {text for text, _ in scene.tree().values()} == {"2"}


@pytest.mark.parametrize("moment", ["stage", "write"])
def test_a_full_disk_leaves_everything_as_it_was(scene: Scene, moment: str) -> None:
    """When there is no room for a file, all that was done is taken back, and it is said."""
    for number in range(4):
        scene.user(f"d{number}/f", "1")
    scene.turn()
    scene.write({**{f"d{number}/f": "2" for number in range(4)}, "new": "x"})
    before = scene.tree()
    count = 0

    def fill(what: str) -> None:
        nonlocal count
        count += what.startswith(moment)
        if what.startswith(moment) and count == 3:
            raise OSError(errno.ENOSPC, "No space left on device")

    scene.recovery.step = fill
    report = scene.rollback()
    assert not report.ok
    assert scene.tree() == before
    assert any("put back" in note for note in report.notes)
    assert not report.restored
    assert not scene.recovery.pending(scene.project)


def test_a_disk_too_full_to_put_back_is_said(scene: Scene) -> None:
    """When not even the old state fits, the journal stays, and the next rollback goes on."""
    scene.user("a", "1")
    scene.user("b", "1")
    scene.turn()
    scene.write({"a": "2", "b": "2"})
    full = False

    def fill(what: str) -> None:
        nonlocal full
        full = full or what == "write b"
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")

    scene.recovery.step = fill
    report = scene.rollback()
    assert not report.ok
    assert any("not all could be put back" in note for note in report.notes)
    assert scene.books.of(scene.project).journal.exists
    scene.recovery.step = lambda _: None
    report = scene.rollback(2)
    assert "has been finished" in report.notes[0]
    assert (scene["a"], scene["b"]) == ("1", "1")


def test_what_could_not_be_recorded_is_taken_up_later(scene: Scene) -> None:
    """When the records can't be written, it is an error that says so; the next one records it."""
    scene.user("f", "1")
    scene.turn()
    scene.write({"f": "2"})

    def fill(what: str) -> None:
        if what == "record":
            raise OSError(errno.ENOSPC, "No space left on device")

    scene.recovery.step = fill
    with pytest.raises(RestoreFailed, match="could not be recorded"):
        scene.rollback()
    scene.recovery.step = lambda _: None
    assert scene["f"] == "1"
    assert scene.undo().ok
    assert scene["f"] == "2"


def test_a_damaged_content_changes_nothing(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A content that can't be read, or is not what it should be, is an error that names it."""
    scene.user("a", "1")
    scene.user("b", "1 too")
    scene.turn()
    scene.write({"a": "2", "b": "2", "c": "x"})
    before = scene.tree()
    monkeypatch.setattr(
        scene.store, "read", lambda _, ids: iter([b"1"] + [b"rot"] * len(list(ids)))
    )
    with pytest.raises((RestoreFailed, ValueError), match=r"of b is damaged.*nothing"):
        scene.rollback()
    assert scene.tree() == before
    assert not scene.recovery.pending(scene.project)


def test_a_replaced_store_has_no_such_checkpoint(scene: Scene) -> None:
    """When the store was replaced meanwhile, the checkpoint is not found and nothing changes."""
    scene.user("f", "1")
    scene.turn()
    scene.write({"f": "2"})
    checkpoint, before = scene.list[0], scene.tree()
    scene.store.forget(scene.project)
    with pytest.raises(CheckpointNotFound):
        scene.recovery.restore(scene.project, checkpoint, base_dir=scene.project.root)
    assert scene.tree() == before


def test_another_projects_checkpoint_is_refused(tmp_path: Path) -> None:
    """A checkpoint restores only into its own project."""
    store = MemoryStore()  # one for both projects
    one, two = Scene(tmp_path / "1", store), Scene(tmp_path / "2", store)
    one.user("secret", "s")
    one.turn()
    one.write({"secret": "t"})
    two.user("f", "1")
    two.turn()
    two.write({"f": "2"})
    with pytest.raises(CheckpointNotFound):
        two.recovery.restore(two.project, one.list[0], base_dir=two.project.root)
    assert two.tree() == {"f": ("2", 0o644)}


def test_a_file_changed_while_the_rollback_runs_is_left(scene: Scene) -> None:
    """An edit between plan and write wins, and is listed as kept."""
    scene.user("a", "1")
    scene.user("b", "1")
    scene.turn()
    scene.write({"a": "2", "b": "2"})

    def edit(what: str) -> None:
        if what == "write a":
            (scene.root / "b").write_text("mine")

    scene.recovery.step = edit
    report = scene.rollback()
    assert (scene["a"], scene["b"]) == ("1", "mine")
    assert [(s.path, s.why) for s in report.kept] == [("b", "changed while the rollback ran")]


def test_a_running_tool_makes_the_project_busy(scene: Scene) -> None:
    """A rollback while a wrapped tool runs is refused, names it, and can be had all the same."""
    scene.user("f", "1")
    scene.turn()
    scene.write({"f": "2"})
    leases = scene.books.of(scene.project).leases
    leases.open("call-77", "terminal", "s1")
    with pytest.raises(Busy, match=r"terminal \(call call-77\)") as refused:
        scene.rollback()
    assert "--busy-ok" in refused.value.hint
    with pytest.raises(Busy):
        scene.undo()
    assert scene["f"] == "2"
    assert scene.rollback(own_calls=frozenset({"call-77"})).ok
    assert scene["f"] == "1"
    leases.close("call-77")


def test_a_tool_that_begins_while_the_lock_is_waited_for_is_seen(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that opened its lease before the rollback had the lock makes it busy, too."""
    scene.user("f", "1")
    scene.turn()
    scene.write({"f": "2"})
    lock = scene.store.lock

    def late(project: Project) -> AbstractContextManager[None]:
        scene.books.of(project).leases.open("late", "terminal", "s1")
        return lock(project)

    monkeypatch.setattr(scene.store, "lock", late)
    with pytest.raises(Busy, match="late"):
        scene.rollback()
    assert scene["f"] == "2"


def test_a_plan_that_no_longer_fits_is_refused(scene: Scene) -> None:
    """Applying a plan whose project has moved on is refused, and names what moved."""
    scene.user("a", "1")
    scene.user("b", "1")
    scene.turn()
    scene.write({"a": "2", "b": "2"})
    plan = scene.plan()
    scene.user("b", "mine")
    with pytest.raises(ProjectMoved, match="b"):
        scene.rollback(plan=plan)
    assert scene["a"] == "2"
    assert scene.rollback(plan=scene.plan()).ok
    assert scene["a"] == "1"


def test_a_plan_changes_nothing(scene: Scene) -> None:
    """A plan names what would be written, deleted and kept; files and list stay as they are."""
    scene.user("code", "1")
    scene.user("notes", "1")
    scene.turn()
    scene.write({"code": "2", "fresh": "x"})
    scene.user("notes", "mine")
    before, count = scene.tree(), len(scene.list)
    kinds = {s.path: s.kind for s in scene.plan().steps}
    assert kinds == {
        "code": StepKind.WRITE,
        "fresh": StepKind.DELETE,
        "notes": StepKind.KEEP_YOURS,
    }
    assert (scene.tree(), len(scene.list)) == (before, count)


def test_a_directory_that_was_made_anew_is_said(scene: Scene) -> None:
    """A project directory deleted and made again is noticed; its new files are saved first."""
    scene.user("f", "1")
    scene.turn()
    scene.write({"f": "2"})
    (scene.root / "f").unlink()
    (scene.root.parent / "spare").mkdir()  # so that the inode is not used again
    scene.root.rename(scene.root.parent / "old")
    scene.root.mkdir()
    scene.user("f", "new")
    report = scene.rollback(all=True)
    assert any("made anew" in note for note in report.notes)
    assert scene["f"] == "1"
    scene.undo()
    assert scene["f"] == "new"


def test_a_missing_directory_is_refused(scene: Scene) -> None:
    """A project whose directory is gone can't be restored into; the hint says how."""
    scene.turn()
    scene.write({"f": "2"})
    checkpoint = scene.list[0]
    (scene.root / "f").unlink()
    scene.root.rmdir()
    with pytest.raises(RestoreRefused, match="no directory") as refused:
        scene.recovery.restore(scene.project, checkpoint, base_dir=scene.project.root)
    assert "mkdir" in refused.value.hint


def test_gits_own_state_is_not_promised(scene: Scene) -> None:
    """After a git command of the agent the report says that git's own state stays."""
    scene.user("f", "1")
    with scene.store.lock(scene.project):
        seen = scene.store.observe(scene.project, scene.config.capture_rules)
        scene.store.capture(scene.project, seen, reason="before terminal: git reset --hard")
    assert any("git's own state" in note for note in scene.plan().notes)
    scene.turn()
    scene.write({"f": "2"}, tool="terminal: cd x && git reset --hard HEAD~1")
    scene.user("g", "so that there is another checkpoint")
    assert any("git's own state" in note for note in scene.plan().notes)
    scene.turn()
    scene.write({"f": "3"}, tool="terminal: git status")
    assert not scene.plan().notes


def test_the_target_is_pinned_meanwhile(scene: Scene) -> None:
    """The oldest checkpoint can't be dropped while it is being restored, and can be after."""
    scene.user("f", "0")
    for text in "123":
        scene.turn()
        scene.write({"f": text})
    oldest = scene.list[-1]

    def trim(what: str) -> None:
        scene.store.drop(scene.project, [c.id for c in scene.list])

    scene.recovery.step = trim
    assert scene.rollback(3, all=True).ok
    assert scene["f"] == "0"
    assert oldest.id in {c.id for c in scene.list}
    scene.store.drop(scene.project, [oldest.id])
    assert oldest.id not in {c.id for c in scene.list}


# --------------------------------------------------------------------------- selections


@pytest.fixture
def many(scene: Scene) -> Scene:
    """A project with agent's and person's changes in several places."""
    for name in ("a.txt", "b.py", "src/c.txt", "src/d.py", "report[1].txt", "report1.txt"):
        scene.user(name, "1")
    scene.turn()
    scene.write(dict.fromkeys(("a.txt", "b.py", "src/c.txt", "src/d.py", "report[1].txt"), "2"))
    scene.user("report1.txt", "mine")
    return scene


def changed_back(scene: Scene) -> set[str]:
    return {path for path, (text, _) in scene.tree().items() if text == "1"}


@pytest.mark.parametrize(
    ("paths", "back"),
    [
        (["a.txt"], {"a.txt"}),
        (["./a.txt"], {"a.txt"}),
        (["*.txt"], {"a.txt", "src/c.txt", "report[1].txt"}),
        ([":(glob)*.txt"], {"a.txt", "report[1].txt"}),
        ([":(glob)src/**"], {"src/c.txt", "src/d.py"}),
        (["src"], {"src/c.txt", "src/d.py"}),
        (["src/"], {"src/c.txt", "src/d.py"}),
        (["*.txt", ":(exclude)src"], {"a.txt", "report[1].txt"}),
        ([":!src", ":!*.py"], {"a.txt", "report[1].txt"}),
        (["a.txt", "src/d.py"], {"a.txt", "src/d.py"}),
        (["report[1].txt"], {"report[1].txt"}),
        (["report1.txt"], {"report1.txt"}),
        (["."], {"a.txt", "b.py", "src/c.txt", "src/d.py", "report[1].txt"}),
    ],
)
def test_a_selection_restores_what_it_names(many: Scene, paths: list[str], back: set[str]) -> None:
    """A literal name wins, even hand-edited; patterns and directories follow the ledger."""
    assert many.rollback(1, *paths).ok
    assert changed_back(many) == back


@pytest.mark.parametrize(
    ("paths", "back"),
    [
        (["c.txt"], {"src/c.txt"}),
        (["*.txt"], {"src/c.txt"}),
        ([":(glob)*.py"], {"src/d.py"}),
        ([":/a.txt"], {"a.txt"}),
        ([":(top)*.py"], {"b.py", "src/d.py"}),
        (["."], {"src/c.txt", "src/d.py"}),
    ],
)
def test_a_selection_is_relative_to_where_it_is_typed(
    many: Scene, paths: list[str], back: set[str]
) -> None:
    """In a subdirectory names and patterns mean that directory's, `:/` the root's."""
    assert many.rollback(1, *paths, base="src").ok
    assert changed_back(many) == back


def test_an_absolute_path_inside_the_project_is_taken(many: Scene) -> None:
    """The absolute name of a file selects it from anywhere."""
    many.rollback(1, f"{many.project.root}/a.txt", base="src")
    assert changed_back(many) == {"a.txt"}


@pytest.mark.parametrize(
    "path", ["../o", "src/../a.txt", "/etc/passwd", "nothing", "*.nothing", "", ":(glob)../*", "-x"]
)
def test_a_bad_selection_changes_nothing(many: Scene, path: str) -> None:
    """Paths outside, with `..`, or that match nothing are refused: files and store as before."""
    before = many.tree(), many.stored()
    with pytest.raises(SelectionError):
        many.rollback(1, path)
    assert (many.tree(), many.stored()) == before


def test_files_made_since_can_be_selected(scene: Scene) -> None:
    """A name that only the present tree has selects it, whoever made the file."""
    scene.turn()
    scene.write({"agents.txt": "x"})
    scene.user("mine.txt", "x")
    assert [s.path for s in scene.rollback(1, "*.txt").kept] == ["mine.txt"]
    assert scene["agents.txt"] is None
    assert scene.rollback(2, "mine.txt").deleted == ("mine.txt",)


def test_a_selected_path_that_is_not_held_is_no_success(capped: Scene) -> None:
    """Restoring only a file that the checkpoint does not hold is not ok, and says why."""
    scene = capped
    scene.user("big", "u" * 200)
    scene.turn()
    scene.write({"a": "2"})
    report = scene.rollback(1, "big")
    assert not report.ok
    assert [g.path for g in report.unrestorable] == ["big"]


# --------------------------------------------------------------------------- nested repositories


@pytest.fixture
def nested(scene: Scene) -> Scene:
    """A project with a repository inside that its checkpoint does not hold."""
    scene.user("a", "1")
    scene.user("b.txt", "1")
    scene.user("tools/inner/.git/HEAD", "ref")
    scene.user("tools/inner/x", "wip")
    scene.turn()
    scene.write({"a": "2", "b.txt": "2"})
    return scene


@pytest.mark.parametrize(
    "paths", [[], ["tools"], ["tools/inner"], ["tools/inner/x"], ["*"], ["."], ["tools/inner/*.c"]]
)
@pytest.mark.parametrize("every", [False, True])
def test_what_reaches_a_nested_repository_is_refused(
    nested: Scene, paths: list[str], every: bool
) -> None:
    """Such a rollback names the repository and leaves project and store byte-identical."""
    nested.plan(1, "a")  # what a look records may stay; a refusal adds nothing to it
    before = nested.tree(), nested.stored()
    with pytest.raises(RestoreRefused, match="tools/inner"):
        nested.rollback(1, *paths, all=every)
    assert "tools/inner" in nested.plan(1, *paths).refusal
    assert (nested.tree(), nested.stored()) == before


@pytest.mark.parametrize("paths", [["a"], ["b.txt"], ["*.txt"], ["*", ":(exclude)tools"]])
def test_what_avoids_a_nested_repository_restores(nested: Scene, paths: list[str]) -> None:
    """Selections that don't reach the repository restore, and undo takes them back."""
    before = nested.tree()
    assert nested.rollback(1, *paths).ok
    assert nested.tree() != before
    assert nested["tools/inner/x"] == "wip"
    assert nested.undo().ok
    assert nested.tree() == before


def test_a_recorded_repository_that_became_a_link_is_still_refused(nested: Scene) -> None:
    """The refusal goes by what the checkpoint recorded, not by what is on disk today."""
    (nested.root / "tools/inner").rename(nested.root.parent / "away")
    (nested.root / "tools/inner").symlink_to(nested.root.parent / "away")
    with pytest.raises(RestoreRefused):
        nested.rollback(1, "tools/inner")


def test_a_file_that_became_a_link_into_a_repository_restores(nested: Scene) -> None:
    """The selection of a recorded file is that file, wherever a link of its name leads today."""
    nested.user("a", None)
    nested.user("a", Path("tools/inner/x"))
    assert nested.rollback(1, "a").ok
    assert nested["a"] == "1"
    assert nested["tools/inner/x"] == "wip"


@pytest.mark.parametrize("name", [".git", ".git/config"])
def test_the_projects_own_git_is_no_part_of_a_plan(scene: Scene, name: str) -> None:
    """A `.git` that is a file, as in a worktree, or a directory stays as it is now."""
    scene.user(name, "1")
    scene.user("f", "1")
    scene.turn()
    scene.write({"f": "2"})
    scene.user(name, "2")
    report = scene.rollback(all=True)
    assert (scene["f"], scene[name]) == ("1", "2")
    assert not any(".git" in s.path for s in scene.plan(all=True).steps)
    assert not report.unrestorable


def test_a_repository_made_since_is_left_alone(scene: Scene) -> None:
    """Files of the checkpoint that lie in a repository now stay as they are, and are named."""
    scene.user("sub/x", "1")
    scene.turn()
    scene.write({"a": "x"})
    scene.user("sub/.git/HEAD", "ref")
    scene.user("sub/x", "2")
    report = scene.rollback(all=True)
    assert scene["sub/x"] == "2"
    assert [(g.path, g.reason) for g in report.unrestorable] == [
        ("sub/x", GapReason.NESTED_REPOSITORY)
    ]


def test_what_is_missing_in_a_repository_made_since_comes_back(scene: Scene) -> None:
    """A file of the checkpoint is written where nothing is, though a repository was made around it.

    Undo removes it again.
    """
    scene.user("sub/x", "1")
    scene.user("sub/y", "1")
    scene.turn()
    scene.write({"a": "x"})
    scene.user("sub/.git/HEAD", "ref")
    scene.user("sub/x", None)
    scene.user("sub/y", "2")
    assert [(s.path, s.kind) for s in scene.plan().steps if s.path == "sub/x"] == [
        ("sub/x", StepKind.KEEP_YOURS)
    ]
    report = scene.rollback(all=True)
    assert (scene["sub/x"], scene["sub/y"]) == ("1", "2")
    assert [g.path for g in report.unrestorable] == ["sub/y"]
    assert scene.undo().ok
    assert scene["sub/x"] is None


def test_what_a_link_hides_in_a_repository_made_since_is_left(scene: Scene) -> None:
    """A file is not written into a repository made since, if its directory is a link today."""
    scene.user("sub/d/x", "1")
    scene.turn()
    scene.write({"a": "x"})
    scene.user("sub/.git/HEAD", "ref")
    scene.user("sub/d/x", None)
    (scene.root / "sub/d").rmdir()
    scene.user("sub/d", Path(".."))
    scene.rollback(all=True)
    assert scene["sub/d"] == "-> .."
    assert scene["x"] is None


@pytest.mark.parametrize("every", [False, True])
def test_a_repository_that_came_since_is_mentioned(scene: Scene, every: bool) -> None:
    """A repository that the checkpoint does not know stays, and plan and report name it."""
    scene.user("a", "1")
    scene.turn()
    scene.write({"a": "2"})
    scene.user("vendor/dep/.git/HEAD", "ref")
    scene.user("vendor/dep/x", "1")
    named = "vendor/dep: a git repository that the checkpoint does not know stays as it is"
    assert named in scene.plan(all=every).notes
    assert named not in scene.plan(1, "a", all=every).notes
    report = scene.rollback(all=every)
    assert report.ok
    assert named in report.notes
    assert scene["vendor/dep/x"] == "1"


# --------------------------------------------------------------------------- rules that changed


@pytest.mark.parametrize("every", [False, True])
def test_what_an_ignore_file_hid_is_no_new_file(scene: Scene, every: bool) -> None:
    """What comes to light when an ignore file goes stays, and the ignore file is back.

    Also where the file had hidden itself.
    """
    scene.user("a", "1")
    scene.user("out/.gitignore", "*\n")
    scene.user("out/p", "precious")
    scene.turn()
    scene.write({"a": "2"})
    before = states_of(scene.project.root, ["out/.gitignore"])
    scene.user("out/.gitignore", None)
    scene.attribute(before, ["out/.gitignore", "out/p"], certain=False)
    scene.rollback(all=every)
    assert (scene["a"], scene["out/.gitignore"], scene["out/p"]) == ("1", "*\n", "precious")


def test_what_later_rules_hid_is_no_new_file(scene: Scene) -> None:
    """What comes to light when a call changes rules that came after the checkpoint stays, too."""
    scene.user("a", "1")
    scene.turn()
    scene.write({"a": "2"})
    scene.user("out/.gitignore", "p\n")
    scene.user("out/p", "precious")
    before = states_of(scene.project.root, ["out/.gitignore"])
    scene.protect(["out/.gitignore"])
    scene.user("out/.gitignore", "q\n")
    scene.user("out/made", "agent's")
    scene.attribute(before, ["out/.gitignore", "out/p", "out/made"], certain=False)
    plan = scene.plan()
    assert {s.path: s.kind for s in plan.steps if s.path != "a"} == {
        "out/.gitignore": StepKind.WRITE,
        "out/made": StepKind.DELETE,
        "out/p": StepKind.KEEP_YOURS,
    }
    scene.rollback()
    assert (scene["out/p"], scene["out/made"]) == ("precious", None)


@pytest.mark.parametrize("every", [False, True])
def test_what_the_configuration_left_out_then_is_no_new_file(
    scene: Scene, tmp_path: Path, every: bool
) -> None:
    """What the patterns of then left out stays when they are dropped; other new files go."""
    then = Scene(tmp_path, scene.store, exclude=["data/"])
    then.user("a", "1")
    then.user("data/p", "precious")
    then.turn()
    then.write({"a": "2", "b": "new"})
    assert set(scene.rollback(all=every).deleted) == {"b"}
    assert (scene["a"], scene["data/p"]) == ("1", "precious")


def test_new_patterns_make_a_new_checkpoint(scene: Scene, tmp_path: Path) -> None:
    """A checkpoint serves only as long as the patterns are those it was taken under."""
    scene.user("a", "1")
    for one in (scene, Scene(tmp_path, scene.store, exclude=["data/"])):
        one.turn()
        one.protect(["a"])
        one.turn()
        one.protect(["a"])
    assert len(scene.list) == 2


def test_what_a_killed_rollback_had_staged_is_in_no_checkpoint(scene: Scene) -> None:
    """Spare files of a rollback are not captured, neither by a look nor by name."""
    scene.user("d/f", "1")
    scene.user("d/.0123456789ab-0.restoring", "1")
    scene.user("d/mine.restoring", "1")
    scene.turn()
    scene.write({"a": "1"})
    with scene.store.lock(scene.project):
        seen = scene.store.observe(scene.project, scene.config.capture_rules, named=["d"])
        held = scene.store.entries(scene.project, scene.store.combined(scene.project, seen))
    assert set(held) == {"a", "d/f", "d/mine.restoring"}


# --------------------------------------------------------------------------- permissions


def test_a_version_keeps_its_permissions(scene: Scene) -> None:
    """A person's version from between two writes comes back with the bits it had."""
    scene.user("key", "k0", 0o600)
    scene.user("usual", "u0", 0o600)
    scene.turn()
    scene.write({"a": "1"})
    scene.user("key", "k1", 0o640)
    scene.user("usual", "u1", 0o644)
    scene.write({"key": None, "usual": None})
    scene.rollback()
    assert (scene["key"], scene.mode("key")) == ("k1", 0o640)
    assert (scene["usual"], scene.mode("usual")) == ("u1", 0o644)
    scene.rollback(2, all=True)
    assert (scene["key"], scene.mode("key")) == ("k0", 0o600)


@pytest.mark.parametrize("content", [None, "k", "other"])
def test_a_chmod_since_the_checkpoint_is_held(scene: Scene, content: str | None) -> None:
    """The bits a person gave a file within the turn come back; with --all, those of then."""
    scene.user("key", "k", 0o644)
    scene.turn()
    scene.write({"a": "1"})
    scene.user("key", "k", 0o600)
    scene.write({"key": None})
    if content is not None:
        scene.write({"key": content})
    scene.rollback()
    assert (scene["key"], scene.mode("key")) == ("k", 0o600)
    scene.rollback(2, all=True)
    assert (scene["key"], scene.mode("key")) == ("k", 0o644)


def test_a_directory_comes_back_with_its_permissions(scene: Scene) -> None:
    """A directory that a rollback makes anew is as closed as it was, and undo removes it again."""
    scene.user("d/in/k", "k")
    scene.user("d/usual/k", "k")
    (scene.root / "d").chmod(0o700)
    (scene.root / "d/in").chmod(0o550)
    scene.turn()
    with scene.shell("d") as root:
        (root / "d/in").chmod(0o700)
        shutil.rmtree(root / "d")
    assert scene.rollback().ok
    assert [scene.mode(d) for d in ("d", "d/in", "d/usual")] == [0o700, 0o550, 0o755]
    assert scene["d/in/k"] == "k"
    (scene.root / "d/in").chmod(0o750)
    scene.undo()
    assert not (scene.root / "d").exists()


def test_undo_brings_directories_back_with_their_permissions(scene: Scene) -> None:
    """A directory that a rollback removed comes back closed when that is undone."""
    scene.user("a", "1")
    scene.turn()
    with scene.shell("d/k") as root:
        (root / "d").mkdir(mode=0o700)
        (root / "d/k").write_text("k")
    scene.rollback()
    assert not (scene.root / "d").exists()
    scene.undo()
    assert (scene["d/k"], scene.mode("d")) == ("k", 0o700)


def test_empty_directories_come_back_with_their_permissions(scene: Scene) -> None:
    """An empty directory that a command named has its bits again."""
    scene.user("a", "1")
    (scene.root / "d").mkdir(mode=0o700)
    scene.turn()
    with scene.shell("d") as root:
        (root / "d").rmdir()
    scene.rollback()
    assert scene.mode("d") == 0o700
