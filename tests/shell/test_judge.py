"""bash is the judge: commands are run in a scratch tree, and files really did change or not.

Only inside fresh user, mount, pid and network namespaces, as an unprivileged user, with a root of
its own; elsewhere these tests are skipped and say so.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_checkpoints.shell import classify

from . import cases

JUDGE = Path(__file__).parent / "judge.sh"
NOBODY = 65534


@pytest.fixture(scope="module")
def room() -> Iterator[Path]:
    """A directory that an unprivileged user can cover with a file system of its own."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o777)
    try:
        yield path
    finally:
        shutil.rmtree(path)


def _run(room: Path, texts: list[str], seconds: int) -> dict[str, set[str] | None]:
    """What each text changed in the scratch tree; None when the tree itself went."""
    if shutil.which("unshare") is None:
        pytest.skip("the judge needs unshare (util-linux)")
    script, commands, root = room / "judge.sh", room / "commands", room / "root"
    root.mkdir(exist_ok=True)
    root.chmod(0o777)
    shutil.copyfile(JUDGE, script)
    lines = [base64.b64encode(text.encode("utf-8", "surrogateescape")).decode() for text in texts]
    commands.write_text("\n".join(lines) + "\n")
    drop = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--net", "--fork",
         "--kill-child", "bash", str(script), str(root), str(commands)],
        capture_output=True, timeout=seconds, env={"PATH": os.defpath + ":/usr/sbin:/sbin"},
        **drop,  # type: ignore[arg-type]
    )  # fmt: skip
    answers = done.stdout.decode().splitlines()
    if not answers:
        pytest.skip(f"no namespaces for the judge here: {done.stderr.decode()[-200:].strip()}")
    changed: dict[str, set[str] | None] = {}
    for answer in answers:
        text, _, paths = answer.partition(" ")
        key = base64.b64decode(text).decode("utf-8", "surrogateescape")
        names = base64.b64decode(paths).decode("utf-8", "surrogateescape").splitlines()
        changed[key] = None if paths == "gone" else {"/w" + name[1:] for name in names}
    assert len(changed) == len(set(texts)), done.stderr[-500:]
    return changed


def _judge(room: Path, rows: list[cases.Case], seconds: int) -> None:
    changed = _run(room, [case.text for case in rows], seconds)
    wrong: list[object] = []
    for case in rows:
        effects, paths = classify(case.text, "/w"), changed[case.text]
        if paths is None:
            continue
        if paths and not effects.changes:
            wrong.append(("said to change nothing", case.text, sorted(paths)))
        if paths and not (case.destructive or case.ambiguous):
            wrong.append(("labelled harmless", case.text, sorted(paths)))
        if effects.certain and effects.effects:
            named = [effect.path or "" for effect in effects.effects]
            for path in paths:
                if not any(_within(path, name) or _within(name, path) for name in named):
                    wrong.append(("certain, but also changed", case.text, path))
    assert not wrong, wrong
    assert any(changed.values()), "nothing changed at all: the judge did not run the commands"


def _within(path: str, directory: str) -> bool:
    """Whether a path is this directory or below it; the other way round it was made for it."""
    return path == directory or path.startswith(directory + "/")


def _everything() -> list[cases.Case]:
    rows = {case.text: case for name in cases.SETS for case in cases.load(name)}
    return list(rows.values())


def test_a_sample_is_as_bash_does(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said to change nothing changes nothing, and what is certain changes nothing else."""
    monkeypatch.setenv("HOME", "/home/u")
    _judge(room, _everything()[::20], seconds=120)


@pytest.mark.long
def test_every_case_is_as_bash_does(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same holds for every labelled command."""
    monkeypatch.setenv("HOME", "/home/u")
    rows = _everything()
    for start in range(0, len(rows), 300):
        _judge(room, rows[start : start + 300], seconds=900)
