"""What people read: samples of the specification to the letter, and names made harmless."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_checkpoints import render
from hermes_checkpoints.errors import CheckpointError, StoreUnavailable
from hermes_checkpoints.inventory import (
    Archive,
    Drop,
    DropReason,
    Explanation,
    Failure,
    Presence,
    ProjectStatus,
    PruneResult,
    Status,
)
from hermes_checkpoints.records import (
    REGULAR,
    AlreadyTaken,
    Checkpoint,
    Failed,
    FileState,
    Gap,
    GapReason,
    Plan,
    Project,
    Report,
    Skipped,
    Step,
    StepKind,
    Taken,
    Unchanged,
)
from hermes_checkpoints.shell.effects import Effect, Effects, Kind
from hermes_checkpoints.stores.base import Diff, Problem

PROJECT = Project("/path/to/project", "0" * 16)
SHELL = render.Words.of_command("hermes checkpoints")
HOUR, DAY = 3600.0, 86400.0


def at(text: str) -> float:
    return time.mktime(time.strptime(text, "%Y-%m-%d %H:%M"))


def checkpoint(**values: object) -> Checkpoint:
    given: dict[str, object] = {
        "id": "a1b2c3d4e5f6",
        "time": at("2026-03-16 04:36"),
        "reason": "before write_file",
        "tree": "t",
        "gaps": (),
    }
    return Checkpoint(**{**given, **values})  # type: ignore[arg-type]


def step(kind: StepKind, path: str, why: str = "because") -> Step:
    return Step(kind, path, why, FileState(REGULAR, "1"), FileState(REGULAR, "2"))


# --------------------------------------------------------------------------- the list

LIST = """\
📸 Checkpoints for /path/to/project:

  1. 4270a8c  2026-03-16 04:36  before patch  (1 file, +1/-0)
  2. eaf4c1f  2026-03-16 04:35  before write_file
  3. b3f9d2e  2026-03-16 04:34  before terminal: sed -i s/old/new/ config.py  (1 file, +1/-1)

  /rollback <N>             restore to checkpoint N (keeps your hand-edits)
  /rollback <N> --all       full restore, overwriting your hand-edits too
  /rollback diff <N>        preview changes since checkpoint N
  /rollback <N> <file>      restore a single file from checkpoint N"""


def test_the_list_looks_like_the_sample() -> None:
    """Three checkpoints of the specification's sample give its text, character by character."""
    listed = [
        checkpoint(id="4270a8c" + "0" * 33, reason="before patch", files=1, insertions=1),
        checkpoint(id="eaf4c1f" + "0" * 33, time=at("2026-03-16 04:35"), files=0),
        checkpoint(
            id="b3f9d2e" + "0" * 33,
            time=at("2026-03-16 04:34"),
            reason="before terminal: sed -i s/old/new/ config.py",
            files=1,
            insertions=1,
            deletions=1,
        ),
    ]
    assert render.listing(PROJECT, listed) == LIST


def test_a_row_says_what_its_checkpoint_does_not_hold() -> None:
    """Three gaps are named with their reasons, more are counted."""
    gaps = tuple(Gap(f"{n}.bin", GapReason.TOO_LARGE) for n in "abcde")
    row = render.checkpoint_line(checkpoint(gaps=gaps))
    assert row.endswith("[not held: a.bin (too large), b.bin (too large), c.bin (too large) (+2)]")


def test_unknown_gaps_are_said_to_be_unknown() -> None:
    """A checkpoint made by another tool is never shown as one without gaps."""
    assert render.checkpoint_line(checkpoint(gaps=None)).endswith("[gaps unknown]")


def test_a_nested_repository_is_named_once() -> None:
    """Where the reason names nested repositories, the row does not name them again."""
    gaps = (Gap("tool", GapReason.NESTED_REPOSITORY),)
    told = checkpoint(gaps=gaps, reason="before x [nested git repos not captured: tool]")
    untold = checkpoint(gaps=gaps, reason="before x")
    assert render.checkpoint_line(told).count("tool") == 1
    assert "tool (nested git repository)" in render.checkpoint_line(untold)


def test_a_named_only_project_says_what_is_protected() -> None:
    """The list of a directory that is too broad says that only named files are in it."""
    home = Project("/home/you", "1" * 16, whole=False, why_not_whole="is the home directory")
    text = render.listing(home, [checkpoint()])
    assert "Only files that a call names are protected here" in text
    assert "is the home directory" in text


def test_numbers_of_two_digits_keep_the_columns() -> None:
    """The tenth row starts where the first does."""
    rows = render.listing(PROJECT, [checkpoint()] * 10).split("\n")
    assert rows[2].index("a1b2c3d") == rows[11].index("a1b2c3d")


def test_an_empty_list_says_where_it_looked_and_who_has_some() -> None:
    """The directory, whether checkpoints are on, and other projects are all named."""
    others = [ProjectStatus(Project(f"/p{n}", str(n)), 3, 0.0, Presence.LIVE) for n in range(12)]
    text = render.no_checkpoints(PROJECT, enabled=False, others=others, now=2 * HOUR)
    assert "No checkpoints for /path/to/project." in text
    assert "Checkpoints are off" in text
    assert "/p0  (3, 2h ago)" in text
    assert "and 2 more: hermes checkpoints status" in text
    assert "Checkpoints are on" in render.no_checkpoints(PROJECT, enabled=True)


def test_a_moved_project_can_be_pasted_back() -> None:
    """The relink command quotes both places."""
    text = render.no_checkpoints(PROJECT, enabled=True, moved_from="/old place")
    assert "hermes checkpoints relink '/old place' /path/to/project" in text


# --------------------------------------------------------------------------- diff


def test_a_diff_is_summary_then_patch() -> None:
    """The summary comes first, and tabs stay tabs."""
    diff = Diff(stat=b" a | 2 +-\n", patch=b"--- a\n+++ b\n-x\n+\ty\n")
    assert render.cut_diff(diff, checkpoint()) == " a | 2 +-\n\n--- a\n+++ b\n-x\n+\ty"


def test_a_long_diff_is_cut_and_says_so() -> None:
    """The note counts what is missing and names the command that shows it."""
    diff = Diff(stat=b"s", patch=b"\n".join(b"+%d" % n for n in range(10)))
    text = render.cut_diff(diff, checkpoint(), lines=4)
    assert "+3" in text
    assert "+4" not in text
    assert "6 more lines. All of it: hermes checkpoints diff a1b2c3d" in text


def test_no_difference_is_said() -> None:
    """An empty diff is a sentence."""
    text = render.cut_diff(Diff(b"", b""), checkpoint())
    assert text == "Nothing has changed since checkpoint a1b2c3d."


def test_a_diff_cannot_move_the_cursor() -> None:
    """Escape sequences and bytes that are no text are shown as escapes."""
    text = render.cut_diff(Diff(b"s", b"+\x1b[2J\xff"), checkpoint())
    assert "+\\x1b[2J\\xff" in text


# --------------------------------------------------------------------------- plan and report


def test_a_plan_names_every_path_with_its_reason() -> None:
    """Write, delete, keep, unsaved and unrestorable paths are separate lists."""
    plan = Plan(
        PROJECT,
        checkpoint(),
        keep_edits=True,
        steps=(
            step(StepKind.WRITE, "w.py", "the agent changed it"),
            step(StepKind.DELETE, "d.py", "the agent made it"),
            step(StepKind.KEEP_YOURS, "k.md", "you changed it"),
            step(StepKind.KEEP_UNSAVED, "u.bin", "larger than the cap"),
        ),
        empty_dirs=("logs",),
        unrestorable=(Gap("big", GapReason.TOO_LARGE),),
        notes=("the checkpoint is partial",),
    )
    text = render.plan(plan, typed="/rollback 1")
    for part in (
        "Would restore (1):\n  w.py  the agent changed it",
        "Would delete (1):\n  d.py  the agent made it",
        "Would keep as yours (1):\n  k.md  you changed it",
        "what is there (1):\n  u.bin  larger than the cap",
        "Would make empty directories (1):\n  logs",
        "Can't be restored (1):\n  big  too large",
        "The checkpoint is partial.",
        "Nothing has been changed. To do it: /rollback 1",
    ):
        assert part in text


def test_a_refused_plan_offers_nothing() -> None:
    """The refusal is shown, and no command to go on with."""
    plan = Plan(PROJECT, checkpoint(), True, refusal="it holds the nested repository tool")
    text = render.plan(plan)
    assert "Would be refused: it holds the nested repository tool." in text
    assert "To do it" not in text


def test_a_report_opens_like_the_sample() -> None:
    """The headline, the counts with the way back, the kept edits, the way to restore them."""
    report = Report(
        ok=True,
        action="restore",
        project=PROJECT,
        target=checkpoint(),
        restored=("src/app.py",),
        deleted=("new.py",),
        kept=(step(StepKind.KEEP_YOURS, "src/config.py"), step(StepKind.KEEP_YOURS, "notes.md")),
    )
    assert render.report(report).split("\n")[:4] == [
        "✅ Restored to checkpoint a1b2c3d4: before write_file",
        "1 file is back, 1 deleted, 2 kept as yours, 0 failed; `/rollback undo` takes this back.",
        "↷ Kept your hand-edits: src/config.py, notes.md",
        "Use /rollback <N> --all to restore those too.",
    ]


def test_a_report_in_a_shell_names_shell_commands() -> None:
    """What to type next is what can be typed there."""
    kept = (step(StepKind.KEEP_YOURS, "a"),)
    report = Report(True, "restore", PROJECT, checkpoint(), restored=("b",), kept=kept)
    text = render.report(report, SHELL)
    assert "`hermes checkpoints undo` takes this back" in text
    assert "Use hermes checkpoints restore <N> --all to restore those too." in text


def test_a_failed_report_says_how_to_get_back() -> None:
    """Failure is in the headline, each failed path has its reason, and undo is named."""
    report = Report(
        ok=False,
        action="restore",
        project=PROJECT,
        target=checkpoint(),
        restored=("a",),
        failed=(("b", "the directory is read-only"),),
        unrestorable=(Gap("big", GapReason.TOO_LARGE, "12 MB"),),
        aside=(("x/y", "x.kept/y"),),
        notes=("git's own state is not restored",),
    )
    text = render.report(report)
    assert text.startswith("⚠️ Restored in part to checkpoint a1b2c3d4")
    assert "1 failed; `/rollback undo` brings the state before back." in text
    assert "Failed (1):\n  b  the directory is read-only" in text
    assert "Not restorable (1):\n  big  too large: 12 MB" in text
    assert "Moved aside (1):\n  x/y  is now x.kept/y" in text
    assert text.endswith("\n\ngit's own state is not restored.")


def test_a_rollback_that_changed_nothing_says_so() -> None:
    """No undo is offered where there is nothing to take back."""
    text = render.report(Report(True, "restore", PROJECT, checkpoint()))
    assert "nothing had to be changed" in text
    assert "undo" not in text


def test_long_lists_are_cut_for_a_chat_but_failures_are_not() -> None:
    """The rest is counted, and a plan names the command that lists all of it."""
    many = tuple(f"f{n}" for n in range(9))
    report = Report(
        False, "restore", PROJECT, checkpoint(), restored=many, failed=tuple((p, "x") for p in many)
    )
    text = render.report(report, most=3)
    assert "Restored (9):\n  f0\n  f1\n  f2\n  … and 6 more" in text
    assert text.count("  x") == 9
    steps = tuple(step(StepKind.WRITE, p) for p in many)
    planned = render.plan(Plan(PROJECT, checkpoint(), True, steps=steps), most=3)
    assert "… and 6 more" in planned
    assert "All of it: hermes checkpoints plan a1b2c3d" in planned
    assert "more" not in render.plan(Plan(PROJECT, checkpoint(), True, steps=steps))


def test_an_undo_names_itself() -> None:
    """The headline of an undo is its own, in full and in part."""
    done = render.report(Report(True, "undo", PROJECT, restored=("a",)))
    part = render.report(Report(False, "undo", PROJECT, failed=(("a", "no"),)))
    assert done.startswith("✅ The last rollback is undone\n1 file is back")
    assert part.startswith("⚠️ The last rollback is undone in part")


def test_going_back_in_the_chat_only_says_that_files_stay() -> None:
    """The number of turns is told, and that no file was changed."""
    assert "back 2 turns" in render.chat_only(checkpoint(), 2)
    assert "no file was changed" in render.chat_only(checkpoint(), 1)


# --------------------------------------------------------------------------- status

STATUS = """\
Checkpoint base: /home/you/.hermes/checkpoints
Total size:      142.3 MB
  store/         138.1 MB
  legacy-*       4.2 MB
Projects:        2

  WORKDIR                                                       COMMITS    LAST TOUCH  STATE
  /home/you/code/hermes-agent                                        20       2h ago  live
  /home/you/code/old-prototype                                        3       9d ago  live

Legacy archives (1):
  legacy-20260506-050616                           4.2 MB

Clear with: hermes checkpoints clear-legacy"""

MB = 1 << 20
NOW = 100 * DAY


def live(root: str, checkpoints: int, ago: float, **more: object) -> ProjectStatus:
    return ProjectStatus(
        Project(root, root[-16:]),
        checkpoints,
        NOW - ago,
        **{"presence": Presence.LIVE, **more},  # type: ignore[arg-type]
    )


def test_status_looks_like_the_sample() -> None:
    """Sizes, columns and the archive are where the specification has them."""
    found = Status(
        base="/home/you/.hermes/checkpoints",
        enabled=True,
        total=int(142.3 * MB),
        store=int(138.1 * MB),
        cap=500 * MB,
        projects=(
            live("/home/you/code/hermes-agent", 20, 2 * HOUR),
            live("/home/you/code/old-prototype", 3, 9 * DAY),
        ),
        archives=(Archive("legacy-20260506-050616", int(4.2 * MB)),),
    )
    assert render.status(found, now=NOW) == STATUS


def test_status_tells_what_is_wrong() -> None:
    """Off, over the cap, gone, damaged and failing are each a line, and the hint is mild."""
    found = Status(
        base="/b",
        enabled=False,
        store=3 * MB,
        cap=MB,
        projects=(
            live("/gone", 1, 0, presence=Presence.ORPHAN, why="it is gone"),
            live("/bad", 1, 0, problem="its history was set aside"),
            live("/sad", 1, 0, failure=Failure(NOW - 120, "disk full", 3)),
        ),
        problems=("there is no git on PATH",),
    )
    text = render.status(found, now=NOW)
    for part in (
        "There is no git on PATH.",
        "Checkpoints are off",
        "2.0 MB over its cap of 1.0 MB: hermes checkpoints prune --dry-run",
        "/gone is orphan: it is gone.",
        "/bad: its history was set aside.",
        "/sad: no checkpoint could be taken 2m ago (3 times running): disk full.",
    ):
        assert part in text
    assert "clear" not in text


def test_a_prune_tells_what_went_why_and_how_much_came_back() -> None:
    """Each drop has its reason, what stayed is named, and an unmet cap is explained."""
    drops = (
        Drop(PROJECT, ("a", "b"), DropReason.COUNT),
        Drop(PROJECT, ("c",), DropReason.STALE, whole=True),
    )
    found = PruneResult(
        dry_run=False,
        drops=drops,
        archives=(Archive("legacy-x", MB),),
        left=(live("/usb", 2, 0, presence=Presence.UNREACHABLE, why="it is not there"),),
        before=3 * MB,
        after=MB,
        still_over="one checkpoint alone is larger",
        failed=(("/p", "it is locked"),),
    )
    text = render.prune_result(found)
    for part in (
        "Dropped 2 checkpoints of /path/to/project: more than max_snapshots.",
        "Dropped the project with 1 checkpoint of /path/to/project: not touched",
        "Deleted legacy-x (1.0 MB).",
        "3.0 MB came back; the store takes 1.0 MB.",
        "still over its cap, because one checkpoint alone is larger.",
        "Kept /usb (unreachable): it is not there.",
        "Could not delete /p: it is locked.",
    ):
        assert part in text
    dry = render.prune_result(PruneResult(True, drops, before=2, after=1))
    assert "Would drop 2 checkpoints" in dry
    assert "1 B would come back" in dry
    assert render.prune_result(PruneResult(True)).startswith("Nothing to drop.")


def test_a_clear_names_what_is_lost() -> None:
    """The question before a clear lists every project; for archives only, only archives."""
    found = Status("/b", True, projects=(live("/a", 2, 0),), archives=(Archive("legacy-1", 5),))
    everything = render.clear_question(found)
    assert "2 checkpoints of /a" in everything
    assert "legacy-1" in everything
    assert "/a" not in render.clear_question(found, legacy_only=True)


# --------------------------------------------------------------------------- the rest


def test_an_error_is_a_sentence_and_what_to_do() -> None:
    """Ours carry a hint; others name their type."""
    ours = render.complaint(CheckpointError("there is no checkpoint 9", hint="/rollback"))
    assert ours == "There is no checkpoint 9.\n→ /rollback"
    assert render.complaint(CheckpointError("/x is a file.")) == "/x is a file."
    assert "(KeyError): 'x'." in render.complaint(KeyError("x"))


@pytest.mark.parametrize(
    ("said", "in_a_shell"),
    [
        ("`/rollback` lists them", "`hermes checkpoints log` lists them"),
        ("/rollback undo does", "hermes checkpoints undo does"),
        ("try `/rollback <N> <path>`", "try `hermes checkpoints restore <N> <path>`"),
        ("the next `/rollback` finishes it", "the next `hermes checkpoints restore` finishes it"),
        ("see /x/rollback", "see /x/rollback"),
    ],
)
def test_hints_name_what_can_be_typed_here(said: str, in_a_shell: str) -> None:
    """A hint about `/rollback` names the shell's command in a shell, and itself in a chat."""
    assert SHELL.translated(said) == in_a_shell
    assert render.SLASH.translated(said) == said
    assert render.complaint(CheckpointError("no", hint=said), SHELL).endswith(in_a_shell)


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (Taken(checkpoint()), "Taken: a1b2c3d"),
        (AlreadyTaken(checkpoint()), "This turn has its checkpoint: a1b2c3d"),
        (AlreadyTaken(), "This turn has its checkpoint."),
        (Unchanged(), "Nothing changed since the newest checkpoint."),
        (Skipped("checkpoints are off"), "Checkpoints are off."),
        (Failed(StoreUnavailable("there is no git")), "There is no git."),
    ],
)
def test_every_outcome_is_a_sentence(outcome: object, text: str) -> None:
    """Each of the five outcomes has its own words."""
    assert render.outcome(outcome).startswith(text)  # type: ignore[arg-type]


def test_problems_carry_what_would_fix_them() -> None:
    """Nothing found is said too."""
    found = [Problem("a ref is broken", "/p", "doctor --fix"), Problem("no room")]
    assert render.problems([]) == "No problem found."
    assert render.problems(found).split("\n") == [
        "2 problems found:",
        "  /p: a ref is broken.",
        "    → doctor --fix",
        "  no room.",
    ]


def test_an_explanation_tells_since_when() -> None:
    """Protected or not, the newest holder and the oldest of the run are shown."""
    old = checkpoint(id="0000000aaaa", reason="before patch")
    held = Explanation(PROJECT, "a", True, "a checkpoint holds it", checkpoint(), old, True)
    assert "a is protected: a checkpoint holds it." in render.explanation(held)
    assert "since: 0000000" in render.explanation(held)
    lost = Explanation(PROJECT, "b", False, "checkpoints are off")
    assert "b is not protected: checkpoints are off." in render.explanation(lost)


def test_a_classified_command_shows_each_effect() -> None:
    """Kind, path, certainty and evidence are on one line; an unknown path is said to be one."""
    found = Effects(
        (
            Effect(Kind.DELETE, "/w/a", True, ("rm",)),
            Effect(Kind.UNKNOWN, None, False, ("make",)),
        ),
        "rm deletes",
    )
    text = render.effects("rm a; make", found)
    assert "delete       /w/a  [rm]" in text
    assert "unknown      an unknown path (perhaps)  [make]" in text
    assert "Changes no files." in render.effects("ls", Effects((), "only reads"))


def test_forgetting_shows_old_and_new_ids() -> None:
    """The one exception to stable ids is told."""
    assert "aaaa → bbbb" in render.forgotten("k", {"aaaa": "bbbb"})
    assert render.holders("k", []) == "No checkpoint holds k."
    assert "1 checkpoint" in render.holders("k", [checkpoint()])


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KB"),
        (int(4.2 * MB), "4.2 MB"),
        (MB * 2048, "2.0 GB"),
        (MB << 21, "2.0 TB"),
    ],
)
def test_sizes_have_one_decimal_and_a_unit(amount: int, text: str) -> None:
    """Sizes read as in the samples."""
    assert render.size(amount) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "just now"), (59, "just now"), (60, "1m ago"), (7200, "2h ago"), (9 * DAY, "9d ago")],
)
def test_ages_have_one_unit(seconds: float, text: str) -> None:
    """Ages read as in the samples; a clock that went back is no negative age."""
    assert render.age(seconds) == text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("plain.py", "plain.py"),
        ("报.txt", "报.txt"),
        ("a\nb", "a\\nb"),
        ("\x1b[2J", "\\x1b[2J"),
        ("abc\u202etxt.exe", "abc\\u202etxt.exe"),
        (os.fsdecode(b"\xff\xfe"), "\\xff\\xfe"),
        ("\ud800", "\\ud800"),
        ("e\u200bvil", "e\\u200bvil"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_names_are_harmless_and_recognisable(name: str, shown: str) -> None:
    """Control, bidi and undecodable characters are escaped, letters of all scripts stay."""
    assert render.safe(name) == shown


@given(st.text())
def test_anything_can_be_printed(name: str) -> None:
    """Whatever a name holds, its shown form is one printable line that any terminal takes."""
    shown = render.safe(name)
    shown.encode("utf-8")
    assert "\n" not in shown
    assert "\x1b" not in shown
    assert all(c.isprintable() or c.isspace() or c in "\u200c\u200d" for c in shown)
