"""The plan, decided from dictionaries: no files, no store."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from hermes_checkpoints.authorship import History
from hermes_checkpoints.ledger import AGENT, RESTORE, Entry
from hermes_checkpoints.records import (
    EXECUTABLE,
    REGULAR,
    SYMLINK,
    Checkpoint,
    FileState,
    Gap,
    GapReason,
    Plan,
    Project,
    Step,
    StepKind,
    content_id,
)
from hermes_checkpoints.restore import (
    Scope,
    Side,
    Situation,
    above,
    directories_of,
    make_plan,
    moved_since,
)

PROJECT = Project("/w", "0" * 16)
OLD = Checkpoint("old", 10.0, "", "t")
NEW = Checkpoint("new", 20.0, "", "t")
LIST = (NEW, OLD)


def file(text: str, mode: int = REGULAR) -> FileState:
    return FileState(mode, content_id(text.encode()))


def files(**texts: str) -> dict[str, FileState]:
    return {path.replace("__", "/"): file(text) for path, text in texts.items()}


def wrote(
    path: str,
    before: str | None,
    after: str | None,
    *,
    at: str = "old",
    kind: str = AGENT,
    target: str = "",
    version: bool = False,
    session: str = "s",
    certain: bool = True,
    time: float = 15.0,
) -> Entry:
    return Entry(
        path=path,
        before=None if before is None else file(before),
        after=None if after is None else file(after),
        checkpoint=at,
        session=session,
        tool="rollback" if kind == RESTORE else "patch",
        kind=kind,
        target=target,
        version=version,
        certain=certain,
        time=time,
    )


def history(entries: Iterable[Entry], target: Checkpoint = OLD) -> History:
    return History(entries, LIST, target, lambda entry: entry.session != "running")


def plan(
    then: dict[str, FileState],
    now: dict[str, FileState],
    *entries: Entry,
    keep_edits: bool = True,
    target: Checkpoint = OLD,
    held: bool = True,
    gaps_then: tuple[Gap, ...] | None = (),
    gaps_now: tuple[Gap, ...] = (),
    modes_then: dict[str, int] | None = None,
    modes_now: dict[str, int] | None = None,
    whole: bool = True,
    **more: object,
) -> Plan:
    situation = Situation(
        then=Side(then, gaps=gaps_then, modes=modes_then or {}, whole=whole),
        now=Side(now, gaps=gaps_now, modes=modes_now or {}),
        history=history(entries, target),
        held=lambda _path, _state: held,
        **more,  # type: ignore[arg-type]
    )
    return make_plan(PROJECT, target, situation, keep_edits=keep_edits)


def only(it: Plan) -> Step:
    (step,) = it.steps
    return step


# --------------------------------------------------------------------------- the walk


@pytest.mark.parametrize(
    ("story", "now", "back"),
    [
        ([("1", "2")], "2", "1"),
        ([("1", "2"), ("2", "3")], "3", "1"),
        ([("1", None)], None, "1"),
        ([(None, "2")], "2", None),
        ([("1", "2"), ("mine", "3")], "3", "mine"),
        ([("1", "2"), ("mine", None)], None, "mine"),
        ([("mine", "2")], "2", "mine"),
        ([("1", "2"), ("mine", "3"), ("3", "4")], "4", "mine"),
        ([("1", "2"), (None, "3")], "3", None),
    ],
)
def test_the_walk_stops_at_what_a_person_put_there(
    story: list[tuple[str | None, str | None]], now: str | None, back: str | None
) -> None:
    """The unbroken run of the agent's writes that ends now is taken back, no more."""
    then = {} if story[0][0] is None else files(f="1")
    entries = [wrote("f", before, after) for before, after in story]
    it = plan(then, {} if now is None else files(f=now), *entries)
    step = only(it)
    assert step.kind is (StepKind.WRITE if back else StepKind.DELETE)
    assert step.then == (file(back) if back else None)
    assert step.version == (back != (None if not then else "1"))


def test_an_exec_bit_is_no_content() -> None:
    """A file that only became executable since the agent wrote it is still the agent's."""
    now = {"f": file("2", EXECUTABLE)}
    assert only(plan(files(f="1"), now, wrote("f", "1", "2"))).kind is StepKind.WRITE


def test_a_link_is_no_file() -> None:
    """A link whose target reads like the file's bytes is something else."""
    now = {"f": FileState(SYMLINK, file("2").content)}
    assert only(plan(files(f="1"), now, wrote("f", "1", "2"))).kind is StepKind.KEEP_YOURS


def test_a_version_the_store_lacks_is_not_put_back() -> None:
    """Where the person's version is not held, the file stays, with the reason."""
    step = only(plan(files(f="1"), files(f="2"), wrote("f", "mine", "2"), held=False))
    assert step.kind is StepKind.KEEP_YOURS
    assert "not stored" in step.why


def test_an_absence_seen_around_a_command_is_no_proof() -> None:
    """Only a call that named the path proves that a person had removed it."""
    entries = wrote("f", "1", "2"), wrote("f", None, "3", certain=False)
    assert only(plan(files(f="1"), files(f="3"), *entries)).kind is StepKind.KEEP_YOURS


def test_older_entries_do_not_count() -> None:
    """What was written before a checkpoint says nothing about what changed since."""
    step = only(plan(files(f="2"), files(f="3"), wrote("f", "1", "3", at="old"), target=NEW))
    assert step.kind is StepKind.KEEP_YOURS


def test_entries_of_a_dropped_checkpoint_go_by_the_clock() -> None:
    """With nothing else to go by, an entry counts if it was surely made after the target."""
    for time, kind in ((5.0, "keep-yours"), (10.5, "keep-yours"), (15.0, "write")):
        entry = wrote("f", "1", "2", at="gone", time=time)
        assert only(plan(files(f="1"), files(f="2"), entry)).kind.value == kind


def test_entries_of_a_dropped_checkpoint_lie_between_their_neighbours() -> None:
    """What was recorded before the target's own entries is older, whatever the clock says."""
    older = wrote("f", "0", "1", at="gone", time=30.0)
    mine = wrote("f", "1", "2", at="new", time=30.0)
    assert only(plan(files(f="1"), files(f="2"), older, mine, target=NEW)).then == file("1")
    between = wrote("f", "2", "3", at="gone", time=0.0)
    first = wrote("g", "2", "2", at="old", time=0.0)
    assert only(plan(files(f="2", g="2"), files(f="3", g="2"), first, between)).then == file("2")
    assert only(plan(files(f="2"), files(f="3"), between)).kind is StepKind.KEEP_YOURS


def test_a_restore_is_ours() -> None:
    """After a rollback to an older checkpoint a plain one to a newer works."""
    entry = wrote("f", "2", "1", at="new", kind=RESTORE, target="old")
    step = only(plan(files(f="2"), files(f="1"), entry, target=NEW))
    assert (step.kind, step.then, step.version) == (StepKind.WRITE, file("2"), False)


def test_a_restore_makes_what_lies_between_undone() -> None:
    """After a rollback the walk goes on before its target, past what the rollback dropped."""
    entries = (
        wrote("f", "1", "2"),
        wrote("f", "dropped by the person's own --all", "3", at="new"),
        wrote("f", "3", "2", at="new", kind=RESTORE, target="new"),
    )
    assert only(plan(files(f="1"), files(f="2"), *entries)).then == file("1")


def test_a_persons_version_is_not_ours_because_a_restore_wrote_it() -> None:
    """What a rollback brought back to a person stays the person's."""
    entries = (
        wrote("f", "mine", "2"),
        wrote("f", "2", "mine", at="new", kind=RESTORE, target="old", version=True),
    )
    assert only(plan(files(f="1"), files(f="mine"), *entries)).kind is StepKind.KEEP_YOURS


def test_a_running_session_is_named() -> None:
    """What another running session wrote is kept, and its name is told."""
    step = only(plan(files(f="1"), files(f="2"), wrote("f", "1", "2", session="running")))
    assert step.kind is StepKind.KEEP_YOURS
    assert "session running" in step.why


# --------------------------------------------------------------------------- absence

BIG = Gap("d", GapReason.TOO_LARGE)


@pytest.mark.parametrize(
    ("reason", "more"),
    [
        ("rules of then", {"ignored_then": frozenset({"f"})}),
        ("does not tell", {"gaps_then": None}),
        ("only named files", {"whole": False}),
    ],
)
def test_absence_is_no_proof(reason: str, more: dict[str, object]) -> None:
    """A path that the checkpoint lacks for some other reason is kept, whoever wrote it."""
    for keep_edits in (True, False):
        entry = wrote("f", None, "1", certain=False)
        step = only(plan({}, files(f="1"), entry, keep_edits=keep_edits, **more))  # type: ignore[arg-type]
        assert step.kind is StepKind.KEEP_YOURS
        assert reason in step.why


def test_a_directory_or_file_in_its_place_is_proof() -> None:
    """Where there was a directory, there was no file; and below a file there was nothing."""
    ignored = frozenset({"d", "x/a"})
    it = plan(
        files(d__f="1", x="1"),
        files(d="2", x__a="2"),
        keep_edits=False,
        ignored_then=ignored,
    )
    assert {(s.path, s.kind) for s in it.deletes} == {
        ("d", StepKind.DELETE),
        ("x/a", StepKind.DELETE),
    }


def test_what_a_gap_covers_is_never_touched() -> None:
    """A path below a gap of the checkpoint has no step, and the gap is listed."""
    it = plan({}, files(d__f="1"), wrote("d/f", None, "1"), gaps_then=(BIG,), keep_edits=False)
    assert it.steps == ()
    assert it.unrestorable == (BIG,)


def test_what_a_gap_covers_now_is_not_overwritten() -> None:
    """A path that can't be saved first is kept, with the reason."""
    step = only(plan(files(d="1"), {}, wrote("d", "1", "2"), gaps_now=(BIG,), keep_edits=False))
    assert step.kind is StepKind.KEEP_UNSAVED
    assert "too large" in step.why


# --------------------------------------------------------------------------- permissions


def test_unusual_permissions_come_with_the_content() -> None:
    """A written file gets the bits of then; the usual ones are left out of the step."""
    then = {**files(f="1", g="1"), "x": file("1", EXECUTABLE)}
    it = plan(then, {}, keep_edits=False, modes_then={"f": 0o600})
    assert {s.path: s.permissions for s in it.writes} == {"f": 0o600, "g": None, "x": None}


def test_unknown_permissions_stay_as_they_are() -> None:
    """Of a checkpoint that recorded no bits only the exec bit is restored."""
    then = {"f": file("1"), "x": file("1", EXECUTABLE)}
    modes = {"f": 0o660, "x": 0o640}
    it = plan(then, files(f="2", x="2"), keep_edits=False, gaps_then=None, modes_now=modes)
    assert {s.path: s.permissions for s in it.writes} == {"f": 0o660, "x": 0o750}


def test_permissions_alone_follow_the_ledger() -> None:
    """Bits that changed alone are set by --all, and kept by a plain rollback."""
    for keep_edits, kind in ((True, StepKind.KEEP_YOURS), (False, StepKind.WRITE)):
        it = plan(files(f="1"), files(f="1"), modes_now={"f": 0o600}, keep_edits=keep_edits)
        assert only(it).kind is kind


# --------------------------------------------------------------------------- in the way


def test_a_write_does_not_push_the_persons_files_aside() -> None:
    """Neither a directory with the person's files nor the person's file gives way."""
    it = plan(
        files(x="1", d__f="1"),
        files(x__mine="m", d="m"),
        wrote("x", "1", None),
        wrote("d/f", "1", None),
    )
    assert {s.path: s.kind for s in it.steps} == dict.fromkeys(
        ("x", "x/mine", "d", "d/f"), StepKind.KEEP_YOURS
    )


def test_versions_of_different_moments_do_not_collide() -> None:
    """A file and another one below it never come back together; the person's version wins."""
    entries = wrote("d", "1", None), wrote("d/f", "mine", None)
    it = plan(files(d="1"), {}, *entries)
    assert {s.path: s.kind for s in it.steps} == {
        "d": StepKind.KEEP_YOURS,
        "d/f": StepKind.WRITE,
    }


def test_empty_directories_come_back_where_nothing_stays() -> None:
    """A recorded empty directory is made again unless a file stays in its place."""
    it = plan({}, files(a="mine"), missing_dirs=("a", "b", "a/c"), keep_edits=True, scope=Scope())
    assert it.empty_dirs == ("b",)


# --------------------------------------------------------------------------- selections and plans


def test_what_is_named_is_forced_and_the_rest_left_out() -> None:
    """A path named by itself is restored whoever changed it; others outside have no step."""
    scope = Scope(frozenset({"f", "g"}), frozenset({"f"}))
    it = plan(files(f="1", g="1", h="1"), files(f="m", g="m", h="m"), scope=scope)
    assert {s.path: s.kind for s in it.steps} == {
        "f": StepKind.WRITE,
        "g": StepKind.KEEP_YOURS,
    }


def test_moved_since_names_each_path_whose_step_differs() -> None:
    """Two plans are compared step by step."""
    first = plan(files(a="1", b="1"), files(a="2", b="2"), keep_edits=False)
    second = plan(files(a="1", b="1"), files(a="2", b="3", c="x"), keep_edits=False)
    assert moved_since(first, second) == ("b", "c")
    assert moved_since(first, first) == ()


def test_without_a_ledger_all_is_restored() -> None:
    """No history means that edits can't be told from the agent's writes."""
    situation = Situation(Side(files(f="1")), Side(files(f="2", g="2")))
    it = make_plan(PROJECT, OLD, situation, keep_edits=True)
    assert {s.path: s.kind for s in it.steps} == {"f": StepKind.WRITE, "g": StepKind.DELETE}


def test_the_directories_above_a_path() -> None:
    """Nearest first, without the root."""
    assert list(above("a/b/c")) == ["a/b", "a"]
    assert list(above("a")) == []
    assert directories_of(["a/b/c", "a/d", "e"]) == {"a", "a/b"}
