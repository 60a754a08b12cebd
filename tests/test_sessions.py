"""Sessions and leases: a dead owner is never taken for a live one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_checkpoints.sessions import Leases, Owner, Sessions


def dead_pid() -> int:
    """The id of a process of ours that has ended."""
    done = subprocess.Popen([sys.executable, "-c", "pass"])
    done.wait()
    return done.pid


def test_this_process_lives_and_an_ended_one_does_not() -> None:
    """An owner lives exactly as long as its process."""
    assert Owner.of(os.getpid()).alive
    assert not Owner(dead_pid()).alive


def test_a_process_id_used_again_is_somebody_else() -> None:
    """The same id with another start time, or of another boot, is not the owner."""
    me = Owner.of(os.getpid())
    if not me.start:
        pytest.skip("this system does not tell when a process started")
    assert not Owner(me.pid, "1", me.boot).alive
    assert not Owner(me.pid, me.start, "another boot").alive


def test_a_session_runs_until_its_end_or_its_process_ends(tmp_path: Path) -> None:
    """A session is running if it has begun, was not ended, and its process lives."""
    sessions = Sessions(tmp_path)
    assert not sessions.running("a")
    sessions.begin("a")
    sessions.begin("b/../ü", dead_pid())
    assert sessions.running("a")
    assert not sessions.running("b/../ü")
    sessions.end("a")
    assert not sessions.running("a")


def test_leases_of_dead_processes_are_removed(tmp_path: Path) -> None:
    """A running call is listed with its tool and age; a dead owner's lease goes."""
    leases = Leases(tmp_path / "leases")
    assert leases.running() == []
    leases.open("one", "terminal", "s1")
    leases.open("two", "terminal", "s2", dead_pid())
    (running,) = leases.running()
    assert (running.call, running.tool, running.session) == ("one", "terminal", "s1")
    assert 0 <= running.age < 60
    assert len(list((tmp_path / "leases").iterdir())) == 1
    assert leases.running(but=frozenset({"one"})) == []
    leases.close("one")
    assert leases.running() == []


def test_a_damaged_lease_is_no_lease(tmp_path: Path) -> None:
    """Garbage where a lease should be neither blocks nor breaks."""
    leases = Leases(tmp_path)
    (tmp_path / "x.json").write_text("{", encoding="utf-8")
    (tmp_path / "y.json").write_text(json.dumps({"owner": 1}), encoding="utf-8")
    assert leases.running() == []


def test_the_files_are_private(tmp_path: Path) -> None:
    """Whatever the umask, only the owner can read them."""
    old = os.umask(0)
    try:
        Sessions(tmp_path / "s").begin("a")
    finally:
        os.umask(old)
    (file,) = (tmp_path / "s").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "s").stat().st_mode & 0o777 == 0o700
