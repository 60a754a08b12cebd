"""A person, an agent and rollbacks against a plain-dictionary model, in every order.

The model knows files as `path -> (content, permissions)` and, per path, the agent's calls as
`(before, after)`. It knows nothing of ledgers, plans or stores.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from hermes_checkpoints import bookkeeping
from hermes_checkpoints.errors import RestoreRefused, SelectionError
from hermes_checkpoints.records import Report
from tests.scene import Scene, put

State = tuple[str, int] | None
Files = dict[str, tuple[str, int]]

CAP = 400
FILES = ("a", "b", "c.txt", "d", "d/a", "d/e", "d/e/f", "x/y.txt", "ign/x", "ign/y")
PATHS = st.sampled_from(FILES)
SOME = st.lists(PATHS, min_size=1, max_size=3, unique=True)
NUMBERS = st.integers(min_value=0, max_value=50)
SELECTIONS = st.sampled_from(["a", "d", "d/a", "*.txt", "d/*", ":(glob)*", "x/y.txt", "ign/x", "."])


class Killed(BaseException):
    """The process ends here."""


@dataclass
class Rolled:
    """A rollback that was done: what undo must bring back."""

    files: Files
    touched: set[str]
    last: dict[str, State]
    agent_before: bool


@dataclass
class Model:
    """What the agent last left at each path, its calls since each checkpoint, the rollbacks."""

    last: dict[str, State] = field(default_factory=dict)
    calls: dict[str, list[tuple[str, State, State]]] = field(default_factory=dict)
    restored: set[str] = field(default_factory=set)
    rolled: list[Rolled] = field(default_factory=list)
    agent_since: bool = True


class Rollbacks(RuleBasedStateMachine):
    """Everything a person, an agent and `/rollback` may do to one small project."""

    store = "memory"

    @initialize()
    def begin(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="model-"))
        self.scene = Scene(self.directory, self.store, max_file_size_mb=CAP / 2**20)
        self.model = Model()
        self.count = 0
        self.outside = self.directory / "outside"
        self.outside.mkdir()
        (self.outside / "f").write_text("outside")
        self.scene.user("a", self.text())
        self.scene.turn()

    def teardown(self) -> None:
        if hasattr(self, "directory"):
            self.scene.store.close()
            shutil.rmtree(self.directory, ignore_errors=True)

    # ------------------------------------------------------------------ parts

    def text(self, big: bool = False) -> str:
        """A content that was never there before."""
        self.count += 1
        return f"content {self.count}" + (" " * CAP if big else "")

    def files(self) -> Files:
        return self.scene.tree()

    def is_own_file(self, path: str) -> bool:
        """Whether a regular file is there, and not by way of a link."""
        place = self.scene.root / path
        links = [up for up in (place, *place.parents) if up.is_symlink()]
        return place.is_file() and not links

    def is_dir(self, path: str) -> bool:
        return (self.scene.root / path).is_dir()

    def directories(self) -> set[str]:
        root = self.scene.root
        return {
            str(place.relative_to(root))
            for place in root.rglob("*")
            if place.is_dir() and not place.is_symlink()
        }

    def clear(self, path: str) -> Path:
        """Make room for a file: what is above it or in its place goes."""
        place = self.scene.root / path
        for up in reversed(place.relative_to(self.scene.root).parents):
            above = self.scene.root / up
            if above.is_symlink() or above.is_file():
                above.unlink()
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        elif os.path.lexists(place):
            place.unlink()
        return place

    def agent(self, paths: list[str], act: dict[str, str | None], session: str = "s1") -> None:
        """A call that names `paths` and does `act`; the model notes what it changed."""
        before_call = self.files()
        in_the_way = [
            p for p in before_call for q in paths if p.startswith(q + "/") or q.startswith(p + "/")
        ]
        before = self.scene.protect([*paths, *in_the_way])
        first = self.scene.list[0].id
        for path, text in act.items():
            place = self.clear(path)
            if text is not None:
                put(place, text)
        after = self.files()
        everything = sorted(set(before_call) | set(after))
        changed = [p for p in everything if before_call.get(p) != after.get(p)]
        # The call's own before-states: paths that vanished with a directory were looked at, too.
        whole = {**self.states(before_call, changed), **before}
        self.scene.attribute({p: whole.get(p) for p in changed}, changed, session=session)
        for path in changed:
            self.model.last[path] = after.get(path)
            call = (first, before_call.get(path), after.get(path))
            self.model.calls.setdefault(path, []).append(call)
        self.model.agent_since = True

    def states(self, files: Files, paths: list[str]) -> dict[str, object]:
        from hermes_checkpoints.records import EXECUTABLE, REGULAR, SYMLINK, FileState, content_id

        found: dict[str, object] = {}
        for path in paths:
            if path not in files:
                found[path] = None
                continue
            text, bits = files[path]
            link = text.startswith("-> ")
            mode = SYMLINK if link else EXECUTABLE if bits & 0o100 else REGULAR
            data = os.fsencode(text[3:]) if link else text.encode("latin-1")
            found[path] = FileState(mode, content_id(data))
        return found

    # ------------------------------------------------------------------ the person

    @rule(path=PATHS, big=st.sampled_from([False, False, False, True]))
    def user_writes(self, path: str, big: bool) -> None:
        put(self.clear(path), self.text(big))

    @rule(path=PATHS)
    def user_appends(self, path: str) -> None:
        place = self.scene.root / path
        if self.is_own_file(path):
            place.write_text(place.read_text() + self.text())

    @rule(path=PATHS)
    def user_deletes(self, path: str) -> None:
        self.clear(path)

    @rule(path=PATHS, mode=st.sampled_from([0o600, 0o644, 0o755, 0o640]))
    def user_changes_mode(self, path: str, mode: int) -> None:
        if self.is_own_file(path):
            (self.scene.root / path).chmod(mode)

    @rule(path=PATHS, inside=st.booleans())
    def user_links(self, path: str, inside: bool) -> None:
        put(self.clear(path), Path("a") if inside else self.outside)

    @rule(old=PATHS, new=PATHS)
    def user_renames(self, old: str, new: str) -> None:
        place = self.scene.root / old
        if self.is_own_file(old) and not new.startswith(old) and not old.startswith(new):
            kept = self.scene.root.parent / "moving"
            place.rename(kept)
            target = self.clear(new)
            target.parent.mkdir(parents=True, exist_ok=True)
            kept.rename(target)

    @rule(on=st.booleans())
    def user_ignores(self, on: bool) -> None:
        put(self.clear(".gitignore"), ("ign/\n" if on else "") + f"# {self.text()}\n")

    @rule()
    def user_makes_a_repository(self) -> None:
        put(self.clear("nest/.git/HEAD"), "ref")
        put(self.scene.root / "nest/file", self.text())

    @rule()
    def user_removes_the_repository(self) -> None:
        self.clear("nest")

    # ------------------------------------------------------------------ the agent

    @rule()
    def new_turn(self) -> None:
        self.scene.turn()

    @rule(paths=SOME)
    def agent_writes(self, paths: list[str]) -> None:
        self.agent(paths, {path: self.text() for path in paths})

    @rule(path=PATHS)
    def agent_deletes(self, path: str) -> None:
        self.agent([path], {path: None})

    @rule(path=PATHS)
    def other_session_writes(self, path: str) -> None:
        self.scene.books.sessions.begin("other")
        self.agent([path], {path: self.text()}, session="other")
        for changed, calls in self.model.calls.items():
            if calls and calls[-1][2] == self.model.last.get(changed):
                self.model.restored.add(changed)  # its part is judged by the invariants only

    @rule()
    def other_session_ends(self) -> None:
        self.scene.books.sessions.end("other")

    @precondition(lambda self: len(self.scene.list) > 3)
    @rule()
    def oldest_is_dropped(self) -> None:
        self.scene.store.drop(self.scene.project, [self.scene.list[-1].id])
        self.scene.store.compact(full=True)

    @precondition(lambda self: self.scene.list)
    @rule(path=PATHS)
    def path_is_forgotten(self, path: str) -> None:
        """Nobody wrote the path any more, and the checkpoints that held it have new ids."""
        scene, model = self.scene, self.model
        ids = scene.store.forget_path(scene.project, path)
        bookkeeping.forget_path(scene.books.of(scene.project), path, ids)
        model.rolled.clear()
        for known in list(model.calls):
            calls = [(ids.get(first, first), old, new) for first, old, new in model.calls[known]]
            model.calls[known] = calls
            if known == path or known.startswith(path + "/"):
                del model.calls[known]
                model.last.pop(known, None)

    @rule(path=st.sampled_from(["d", "e", "x/z"]))
    def user_makes_a_directory(self, path: str) -> None:
        self.clear(path).mkdir(parents=True, exist_ok=True)

    @precondition(lambda self: self.scene.list)
    @rule(path=st.sampled_from(["d", "e", "x/z"]))
    def agent_removes_a_directory(self, path: str) -> None:
        """A call that names a directory, and removes it with all below."""
        self.agent([path], {path: None})

    # ------------------------------------------------------------------ rollbacks

    @precondition(lambda self: self.scene.list)
    @rule(number=NUMBERS)
    def plain_rollback(self, number: int) -> None:
        self.roll(number, False, ())

    @precondition(lambda self: self.scene.list)
    @rule(number=NUMBERS)
    def full_rollback(self, number: int) -> None:
        self.roll(number, True, ())

    @precondition(lambda self: self.scene.list)
    @rule(number=NUMBERS, selection=SELECTIONS, every=st.booleans())
    def selected_rollback(self, number: int, selection: str, every: bool) -> None:
        self.roll(number, every, (selection,))

    @precondition(lambda self: self.scene.list)
    @rule(number=NUMBERS, step=st.integers(min_value=0, max_value=12))
    def killed_rollback(self, number: int, step: int) -> None:
        self.roll(number, True, (), kill=step)

    def roll(self, number: int, every: bool, paths: tuple[str, ...], kill: int = -1) -> None:
        scene, before = self.scene, self.files()
        checkpoints = scene.list
        number = number % len(checkpoints) + 1
        target = checkpoints[number - 1]
        last = dict(self.model.last)
        plan = scene.plan(number, all=every) if kill >= 0 else None
        recorded = self.recorded()
        try:
            report = self.interrupted(number, every, kill) if kill >= 0 else None
            report = report or scene.rollback(number, *paths, all=every)
        except (RestoreRefused, SelectionError) as refused:
            assert self.files() == before
            assert [c.id for c in scene.list] == [c.id for c in checkpoints]
            assert target.nested or isinstance(refused, SelectionError)
            return
        after = self.files()
        self.says_what_is(report, before, after)
        self.everything_is_saved(report, before, after)
        if every and not paths:
            kept = {s.path for s in report.kept} | {g.path for g in report.unrestorable}
            if plan:  # the report of what was finished later does not repeat what was kept
                kept |= {s.path for s in plan.steps if s.kind.value.startswith("keep")}
            self.is_the_checkpoint(target.id, report, after, kept)
        if not every:
            self.only_the_agents(target.id, report, before, after, paths)
        touched = {*report.restored, *report.deleted}
        if self.recorded() > recorded:
            self.model.rolled.append(Rolled(before, touched, last, self.model.agent_since))
            self.model.restored |= touched
            self.model.agent_since = False
            for path in touched:
                self.model.last[path] = after.get(path)
        if not paths and ".gitignore" not in touched:  # then other rules are in force now
            self.again_changes_nothing(target.id, every)

    def recorded(self) -> int:
        """How many rollbacks undo could take back: also one that only made a directory is one."""
        return len(self.scene.books.of(self.scene.project).rollbacks.done())

    def again_changes_nothing(self, target: str, every: bool) -> None:
        """The same rollback once more finds nothing to do."""
        before = self.files()
        checkpoint = self.scene.store.get(self.scene.project, target)
        report = self.scene.recovery.restore(
            self.scene.project, checkpoint, keep_edits=not every, session="s1"
        )
        assert self.files() == before, report

    def interrupted(self, number: int, every: bool, step: int) -> Report | None:
        """A rollback that is killed, and what the next one makes of it."""
        left = [step]

        def count(_: str) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise Killed

        self.scene.recovery.step = count
        try:
            return self.scene.rollback(number, all=every)
        except Killed:
            pass
        finally:
            self.scene.recovery.step = lambda _: None
        return self.scene.recovery.recover(self.scene.project)

    @precondition(lambda self: hasattr(self, "model") and self.model.rolled)
    @rule()
    def undo(self) -> None:
        before = self.files()
        rolled = self.model.rolled[-1]
        try:
            report = self.scene.undo()
        except RestoreRefused:
            assert self.model.agent_since
            assert self.files() == before
            self.model.rolled.clear()
            return
        after = self.files()
        self.says_what_is(report, before, after)
        if not report.ok:
            self.model.rolled.clear()  # it may be tried again when the way is free
            self.model.restored |= rolled.touched
            return
        self.model.rolled.pop()
        self.model.agent_since = rolled.agent_before
        kept = {s.path for s in report.kept}
        for path in rolled.touched - kept:
            assert after.get(path) == rolled.files.get(path), path
        for path in set(after) - rolled.touched - {new for _, new in report.aside}:
            assert after[path] == before.get(path), path
        for path in rolled.touched:
            self.model.last[path] = rolled.last.get(path)

    @precondition(lambda self: self.scene.list)
    @rule(number=NUMBERS, every=st.booleans())
    def rollback_and_undo(self, number: int, every: bool) -> None:
        """A rollback that is undone at once leaves every file and directory as it was."""
        before, directories = self.files(), self.directories()
        number, recorded = number % len(self.scene.list) + 1, self.recorded()
        try:
            self.scene.rollback(number, all=every)
        except RestoreRefused:
            return
        if self.recorded() > recorded:
            assert self.scene.undo().ok
        assert self.files() == before
        assert self.directories() == directories

    @precondition(lambda self: self.scene.list)
    @rule(number=NUMBERS, every=st.booleans())
    def plan(self, number: int, every: bool) -> None:
        """A plan changes nothing and is what the rollback then does."""
        before = self.files()
        number = number % len(self.scene.list) + 1
        plan = self.scene.plan(number, all=every)
        assert self.files() == before
        if plan.refusal:
            assert plan.checkpoint.nested
            return
        paths = [step.path for step in plan.steps]
        assert len(paths) == len(set(paths))

    # ------------------------------------------------------------------ what must be true

    def says_what_is(self, report: Report, before: Files, after: Files) -> None:
        """Every change on disk is in the report, and everything in the report is on disk."""
        for path, _ in report.failed:  # nothing fails here but where a person's file is in the way
            assert report.action == "undo"
            ways = (path, *map(str, Path(path).parents))
            assert any(way in after for way in ways) or self.is_dir(path)
        lists = (
            set(report.restored),
            set(report.deleted),
            {s.path for s in report.kept},
            {g.path for g in report.unrestorable},
            {p for p, _ in report.failed},
        )
        assert sum(map(len, lists)) == len(set().union(*lists)), "lists overlap"
        changed = {p for p in {*before, *after} if before.get(p) != after.get(p)}
        aside = {p for pair in report.aside for p in pair}
        assert changed <= {*report.restored, *report.deleted, *aside}
        assert not set(report.deleted) & set(after)
        assert set(report.restored) <= set(after)
        for path in lists[2] - aside:
            assert before.get(path) == after.get(path), path
        for old, new in report.aside:
            assert after.get(new) == before.get(old)
        assert not any(p.endswith(".restoring") for p in after)

    def everything_is_saved(self, report: Report, before: Files, after: Files) -> None:
        """Whatever was overwritten or deleted is in the snapshot before."""
        gone = [p for p in before if after.get(p) != before[p] and p not in dict(report.aside)]
        if not gone:
            return
        assert report.safety
        held = self.scene.store.states(self.scene.project, report.safety.tree, gone)
        assert held == self.states(before, gone)

    def is_the_checkpoint(
        self, target: str, report: Report, after: Files, excused: set[str]
    ) -> None:
        """After a full rollback every path is as the checkpoint holds it."""
        checkpoint = self.scene.store.get(self.scene.project, target)
        entries = self.scene.store.entries(self.scene.project, checkpoint.tree)
        wanted = [p for p in entries if p not in excused]
        assert self.states(after, wanted) == {p: entries[p] for p in wanted}
        for path in wanted:
            text, bits = after[path]
            if not text.startswith("-> "):
                usual = 0o755 if entries[path].mode & 0o100 else 0o644
                assert bits == checkpoint.modes.get(path, usual), path
        moved = {new for _, new in report.aside}
        for path in set(after) - set(entries) - excused - moved:
            ignored = path.startswith("ign/")
            gap = any(g.covers(path) for g in checkpoint.gaps or ())
            big = len(after[path][0]) > CAP
            aside = ".aside-" in path
            assert ignored or gap or big or aside or path.startswith("nest/"), path

    def only_the_agents(
        self, target: str, report: Report, before: Files, after: Files, paths: tuple[str, ...]
    ) -> None:
        """A plain rollback changed only what the agent last left as it was, and all of that."""
        named = set(paths)
        for path in {*before, *after}:
            if before.get(path) == after.get(path) or path in named or path in dict(report.aside):
                continue
            if path in {new for _, new in report.aside}:
                continue
            assert path in self.model.last, f"{path} was never the agent's"
            assert alike(self.model.last[path], before.get(path)), f"{path} was the person's"
        if not paths:
            for path in self.plainly_the_agents(target, before, after):
                then = self.expected(path, target)
                assert alike(after.get(path), then), f"{path} should be {then}"

    def plainly_the_agents(self, target: str, before: Files, after: Files) -> list[str]:
        """Paths whose whole story since the checkpoint the model can tell."""
        checkpoint = self.scene.store.get(self.scene.project, target)
        entries = self.scene.store.entries(self.scene.project, checkpoint.tree)
        involved = {*before, *after, *entries}
        return [
            path
            for path, calls in self.model.calls.items()
            if calls
            and path not in self.model.restored
            and not path.startswith("ign/")
            and not any(len(s[0]) > CAP for c in calls for s in c[1:] if s)
            and not any(g.covers(path) for g in checkpoint.gaps or ())
            and not any(other.startswith(path + "/") for other in involved)
            and not any(path.startswith(other + "/") for other in involved)
            and self.since(path, target)
            and alike(before.get(path), calls[-1][2])
            and len((before.get(path) or ("", 0))[0]) <= CAP
        ]

    def since(self, path: str, target: str) -> list[tuple[str, State, State]]:
        ages = {c.id: age for age, c in enumerate(self.scene.list)}
        calls = self.model.calls[path]
        return [c for c in calls if ages.get(c[0], 10**6) <= ages[target]]

    def expected(self, path: str, target: str) -> State:
        """The state before the unbroken run of the agent's calls that ends now."""
        calls = self.since(path, target)
        at = len(calls) - 1
        while at and alike(calls[at - 1][2], calls[at][1]):
            at -= 1
        return calls[at][1]

    @invariant()
    def nothing_outside_changes(self) -> None:
        """No rollback writes or deletes through a link out of the project."""
        if hasattr(self, "outside"):
            assert sorted(os.listdir(self.outside)) == ["f"]
            assert (self.outside / "f").read_text() == "outside"


def alike(one: State, other: State) -> bool:
    """The same content; permissions aside."""
    return (one and one[0]) == (other and other[0])


class RollbacksOnGit(Rollbacks):
    """The same, on the store people use."""

    store = "git"


def run(machine: type[Rollbacks], examples: int) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_rollbacks_keep_their_promises_in_any_order() -> None:
    """Whatever was done before, a rollback saves first, touches only what it may, and undoes."""
    run(Rollbacks, 200)


@pytest.mark.long
def test_rollbacks_keep_their_promises_in_very_many_orders() -> None:
    """The same with 2,000 examples."""
    run(Rollbacks, 2000)


def test_rollbacks_on_git_keep_their_promises() -> None:
    """A few orders of everything on the git store, where each step takes long."""
    run(RollbacksOnGit, 10)


@pytest.mark.long
def test_rollbacks_on_git_keep_their_promises_in_many_orders() -> None:
    """The same with 200 examples."""
    run(RollbacksOnGit, 200)
