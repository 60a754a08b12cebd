"""What is timed on one tree, and the bound that each figure has to reach."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import hermes_checkpoints as hc
from tests.benchmarks.measure import Timing, busy_thread, in_turns, timed
from tests.benchmarks.rivals import Floor, Hermes, Ours, Rival
from tests.benchmarks.trees import LARGE, MEDIUM, SMALL, Tree, edit, plant

__all__ = ["Row", "run"]


@dataclass
class Row:
    """One figure. `bound` is what `value` must reach (`at_least`) or not exceed."""

    tree: str
    what: str
    value: float
    unit: str
    bound: float | None = None
    at_least: bool = True
    detail: str = ""
    children: int | None = None

    @property
    def good(self) -> bool:
        if self.bound is None:
            return True
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def __str__(self) -> str:
        sign = "≥" if self.at_least else "≤"
        wanted = "" if self.bound is None else f" ({sign} {self.bound:g})"
        started = "" if self.children is None else f", {self.children} children"
        mark = "ok  " if self.good else "SHORT"
        value = f"{self.value:9.2f} {self.unit}{wanted}"
        return f"{mark} {self.tree:12s} {self.what:34s} {value:28s} {self.detail}{started}"


# What each row must reach, as ratios to Hermes Agent 0.19.0.
_BOUNDS = {
    MEDIUM.name: {
        "nothing changed": 15.0,
        "1 file changed": 14.0,
        "100 files changed": 6.0,
        "first snapshot": 3.0,
        "at the cap": 18.0,
        "list 20": 50.0,
        "diff of 40 files": 4.0,
        "restore one file": 6.0,
        "restore 100 files": 3.0,
    },
    SMALL.name: {"nothing changed": 10.0, "1 file changed": 5.0},
    LARGE.name: {"nothing changed": 15.0, "1 file changed": 15.0},
}


@dataclass
class _Bench:
    """One tree with the rivals that are timed on it."""

    tree: Tree
    base: Path
    wheel: Path | None
    rounds: int

    def __post_init__(self) -> None:
        self.root = self.base / "tree"
        self.base.mkdir(parents=True)
        self.files = plant(self.tree, self.root)
        self.rng = random.Random(self.tree.name)
        # git takes what is younger than its index for possibly changed; so would every rival.
        _settle(self.files)

    def rivals(self, name: str, *, max_snapshots: int = 1_000) -> dict[str, Rival]:
        place = self.base / name
        place.mkdir()
        found: dict[str, Rival] = {"ours": Ours(place, max_snapshots=max_snapshots)}
        if self.wheel is not None:
            found["hermes"] = Hermes(place, self.wheel, max_snapshots=max_snapshots)
        return found

    def edit(self, count: int) -> None:
        edit(self.files, self.rng, count)

    def ratio(self, what: str, timings: dict[str, Timing]) -> Row:
        """A row of ours against Hermes."""
        ours = timings["ours"]
        bound = _BOUNDS[self.tree.name].get(what)
        if "hermes" not in timings:
            return Row(self.tree.name, what, float("nan"), "x", bound, detail="reference missing")
        theirs = timings["hermes"]
        return Row(
            self.tree.name,
            what,
            theirs.median / ours.median,
            "x",
            bound,
            detail=f"ours {ours}, Hermes {theirs}",
            children=ours.started,
        )

    def row(self, what: str, value: float, unit: str, bound: float, detail: str, *on: Tree) -> Row:
        """A row that must not exceed its bound on the trees it is set for (all, if none)."""
        set_here = bound if not on or self.tree in on else None
        return Row(self.tree.name, what, value, unit, set_here, at_least=False, detail=detail)


def run(tree: Tree, base: Path, wheel: Path | None, rounds: int) -> Iterator[Row]:
    """All rows of one tree."""
    bench = _Bench(tree, base, wheel, max(3, rounds // 3) if tree is LARGE else rounds)
    yield from _first(bench)
    yield from _snapshots(bench)
    if tree is LARGE:
        yield from _memory(bench)
        return
    yield from _looking_back(bench)
    yield from _calls(bench)
    yield from _hook(bench)
    yield from _cap(bench)
    yield from _disk(bench)


def _first(bench: _Bench) -> Iterator[Row]:
    timings = {"ours": Timing()}
    if bench.wheel is not None:
        timings["hermes"] = Timing()
    for n in range(1 if bench.tree is LARGE else 3):
        for name, rival in bench.rivals(f"first{n}").items():
            timed(lambda rival=rival: rival.snapshot(bench.root), timings[name])  # type: ignore[misc]
    yield bench.ratio("first snapshot", timings)


def _snapshots(bench: _Bench) -> Iterator[Row]:
    rivals, floor = bench.rivals("warm"), Floor(bench.base, bench.root)
    for rival in rivals.values():
        rival.snapshot(bench.root)
    works = {name: (lambda r=r: r.snapshot(bench.root)) for name, r in rivals.items()}
    bench.edit(1)
    for rival in rivals.values():
        rival.snapshot(bench.root)
    floor.sync()
    time.sleep(2.1)  # git re-reads what is younger than its index; all start from rest
    for work in (*works.values(), floor.status):
        work()
    still = in_turns({**works, "floor": floor.status, "walk": floor.walk}, rounds=bench.rounds)
    yield bench.ratio("nothing changed", still)
    ours = still["ours"]
    yield bench.row(
        "nothing changed / git status",
        ours.median / still["floor"].median,
        "x",
        1.5,
        f"floor {still['floor']}, scandir+lstat {still['walk']}",
        MEDIUM,
        LARGE,
    )
    for count in (1, 100):
        changed = in_turns(
            works, rounds=bench.rounds, prepare=lambda count=count: bench.edit(count)
        )
        what = "1 file changed" if count == 1 else "100 files changed"
        yield bench.ratio(what, changed)
        if count == 1 and bench.tree is LARGE:
            floor.sync()
            edited = in_turns({"floor": floor.status}, rounds=3, prepare=lambda: bench.edit(1))
            yield bench.row(
                "1 file changed / git status",
                changed["ours"].median / edited["floor"].median,
                "x",
                1.5,
                f"floor {edited['floor']}",
            )
    yield from _convoy(bench, rivals["ours"], ours)


def _convoy(bench: _Bench, ours: Rival, alone: Timing) -> Iterator[Row]:
    """The same while one other Python thread is busy; files that just changed have settled."""
    time.sleep(4.1)  # files younger than 2 whole seconds are looked at one by one
    for what, prepare in (("nothing changed", lambda: None), ("1 file", lambda: bench.edit(1))):
        rest = in_turns({"ours": lambda: ours.snapshot(bench.root)}, rounds=5, prepare=prepare)
        with busy_thread():
            busy = in_turns({"ours": lambda: ours.snapshot(bench.root)}, rounds=5, prepare=prepare)
        yield bench.row(
            f"{what}, a busy thread beside",
            busy["ours"].median / rest["ours"].median,
            "x",
            3.0,
            f"busy {busy['ours']}, alone {rest['ours']}",
            LARGE,
        )


def _looking_back(bench: _Bench) -> Iterator[Row]:
    rivals = bench.rivals("back")
    for _ in range(20):
        for rival in rivals.values():
            rival.snapshot(bench.root)
        bench.edit(5)
    ids = {name: rival.ids(bench.root) for name, rival in rivals.items()}
    listing = {name: (lambda r=r: r.ids(bench.root)) for name, r in rivals.items()}
    yield bench.ratio("list 20", in_turns(listing, rounds=bench.rounds))
    newest = {name: rivals[name].ids(bench.root)[0] for name in rivals}
    bench.edit(40)
    diffs = {
        name: (lambda r=r, name=name: r.diff(bench.root, newest[name]))
        for name, r in rivals.items()
    }
    yield bench.ratio("diff of 40 files", in_turns(diffs, rounds=bench.rounds))
    for rival in rivals.values():
        rival.snapshot(bench.root)
    target = {name: rivals[name].ids(bench.root)[0] for name in rivals}
    file = bench.files[7]
    path = file.relative_to(bench.root).as_posix()
    one = _restores(bench, rivals, target, [file], path)
    yield bench.ratio("restore one file", one)
    many = _restores(bench, rivals, target, bench.rng.sample(bench.files, 100), None)
    yield bench.ratio("restore 100 files", many)
    assert all(len(found) == 20 for found in ids.values())


def _restores(
    bench: _Bench,
    rivals: dict[str, Rival],
    target: dict[str, str],
    files: list[Path],
    path: str | None,
) -> dict[str, Timing]:
    """Time restores; each rival undoes the same edit."""
    timings = {name: Timing() for name in rivals}
    for n in range(max(3, bench.rounds // 2)):
        for name, rival in rivals.items():
            for file in files:
                with open(file, "a", encoding="ascii") as out:
                    out.write(f"# spoiled {n}\n")
            timed(
                lambda rival=rival, name=name: rival.restore(bench.root, target[name], path),  # type: ignore[misc]
                timings[name],
            )
    return timings


def _calls(bench: _Bench) -> Iterator[Row]:
    """What a call costs beyond its turn's snapshot."""
    place = bench.base / "calls"
    place.mkdir()
    ours = Ours(place)
    manager = ours.manager

    @hc.command_tool(command="command", cwd="cwd", manager=manager)
    def terminal(command: str, cwd: str) -> None: ...

    def read_only() -> None:
        for _ in range(1000):
            terminal("git status --short | head -3", cwd=str(bench.root))

    reading = Timing()
    terminal("git status --short | head -3", cwd=str(bench.root))
    timed(read_only, reading)
    yield bench.row(
        "decorated read-only command",
        reading.median,
        "µs",
        100.0,
        f"{reading.started} children in 1,000 calls",
    )
    ours.snapshot(bench.root)
    works = {
        "still": lambda: ours.snapshot(bench.root),
        "second": lambda: terminal("make all", cwd=str(bench.root)),
    }
    manager.new_turn()
    terminal("make all", cwd=str(bench.root))
    time.sleep(2.1)
    both = in_turns(works, rounds=bench.rounds)
    yield bench.row(
        "second mutating command of a turn",
        both["second"].median / both["still"].median,
        "x of nothing changed",
        3.0,
        f"{both['second']}, {both['second'].started} children",
    )


def _hook(bench: _Bench) -> Iterator[Row]:
    """One hook process, from start to end, beside a Python that does nothing."""
    home = bench.base / "hook"
    home.mkdir()
    env = {**os.environ, "HERMES_HOME": str(home), "HOME": str(home)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled
    event = {
        "session_id": "s",
        "prompt_id": "p",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "rm -f x.tmp"},
        "cwd": str(bench.root),
    }

    def hook() -> None:
        event["tool_use_id"] = f"t{time.monotonic_ns()}"
        command = [sys.executable, "-m", "hermes_checkpoints.cli", "hook", "claude-code"]
        subprocess.run(command, input=json.dumps(event), text=True, env=env, check=True)

    def nothing() -> None:
        subprocess.run([sys.executable, "-c", "pass"], env=env, check=True)

    hook()
    both = in_turns({"hook": hook, "python": nothing}, rounds=bench.rounds)
    bound = 200.0 if bench.tree is SMALL else 1_000.0
    detail = f"python -c pass {both['python']}"
    yield bench.row("hook process", both["hook"].median, "ms", bound, detail)


def _cap(bench: _Bench) -> Iterator[Row]:
    yield from _cap_alone(bench)
    rivals = bench.rivals("cap", max_snapshots=20)
    at = {n: Timing() for n in rivals}
    for n in range(20 + max(5, bench.rounds)):
        bench.edit(1)
        for name, rival in rivals.items():
            if n > 20:
                timed(lambda rival=rival: rival.snapshot(bench.root), at[name])  # type: ignore[misc]
            else:
                rival.snapshot(bench.root)
    yield bench.ratio("at the cap", at)


def _cap_alone(bench: _Bench) -> Iterator[Row]:
    """What dropping one for each costs, with nobody beside.

    On ext4, files are slow to create for minutes after many were deleted: the reference deletes
    some at each snapshot at its cap, our upkeep after 25 snapshots. So ours ends before that.
    """
    place = bench.base / "cap-alone"
    place.mkdir()
    ours = Ours(place, max_snapshots=10)
    below, at = Timing(), Timing()
    for n in range(24):
        bench.edit(1)
        into = Timing() if n < 4 or n == 10 else below if n < 10 else at
        timed(lambda: ours.snapshot(bench.root), into)
    yield bench.row(
        "at the cap / below it",
        at.median / below.median,
        "x",
        1.15,
        f"below {below}, at {at}",
        MEDIUM,
    )


def _disk(bench: _Bench) -> Iterator[Row]:
    rivals = bench.rivals("disk", max_snapshots=20)
    times = Timing()
    for _ in range(100):
        for name, rival in rivals.items():
            if name == "ours":
                timed(lambda rival=rival: rival.snapshot(bench.root), times)  # type: ignore[misc]
            else:
                rival.snapshot(bench.root)
        bench.edit(5)
    for rival in rivals.values():
        rival.upkeep()
    sizes = {name: rival.size() for name, rival in rivals.items()}
    early = sorted(times.runs[5:25])[10]
    late = sorted(times.runs[-20:])[10]
    yield bench.row(
        "last 20 of 100 snapshots / first",
        late / early,
        "x",
        1.3,
        f"{early:.1f} to {late:.1f} ms",
        MEDIUM,
    )
    if "hermes" in sizes:
        yield bench.row(
            "disk after 100, 20 kept",
            sizes["ours"] / sizes["hermes"],
            "x of Hermes",
            1.1,
            f"ours {sizes['ours'] / 1e6:.1f} MB, Hermes {sizes['hermes'] / 1e6:.1f} MB",
            MEDIUM,
        )


# The kernel's own mark of this program: `ru_maxrss` is inherited from the process that began it.
_PEAK = """
import sys
import hermes_checkpoints as hc
from tests.benchmarks.rivals import Ours
from pathlib import Path
def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
idle = peak()
ours = Ours(Path(sys.argv[1]))
for _ in range(3):
    ours.snapshot(Path(sys.argv[2]))
print((peak() - idle) / 1024)
"""


def _memory(bench: _Bench) -> Iterator[Row]:
    place = bench.base / "memory"
    place.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", _PEAK, str(place), str(bench.root)],
        capture_output=True,
        text=True,
        check=True,
    )
    yield bench.row("peak memory above idle", float(done.stdout), "MB", 150.0, "3 snapshots")


def _settle(files: list[Path]) -> None:
    """Give files a time well in the past, so that nobody has to take them for just changed."""
    past = time.time() - 3600
    for file in files:
        os.utime(file, (past, past))
