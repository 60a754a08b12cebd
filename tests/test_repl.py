"""`examples/repl.py` on a real pseudo-terminal: keys in, screen out."""

from __future__ import annotations

import os
import re
import select
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
fcntl = pytest.importorskip("fcntl")
termios = pytest.importorskip("termios")

REPL = Path(__file__).parent.parent / "examples" / "repl.py"
PATIENCE = 30.0
_ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[()][A-Z0-9]|[=>])")


class Terminal:
    """A person in front of a program, on a screen of 40 lines."""

    def __init__(self, argv: list[str], env: dict[str, str]) -> None:
        self._mine, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.child = subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs, env=env)
        os.close(theirs)
        self._unread = ""

    def types(self, keys: str) -> None:
        os.write(self._mine, keys.encode())

    def reads(self, until: str) -> str:
        """What appears from here on, up to and with a text."""
        while until not in self._unread:
            ready, _, _ = select.select([self._mine], [], [], PATIENCE)
            assert ready, f"{until!r} did not appear in {self._unread!r}"
            text = os.read(self._mine, 65536).decode("utf-8", "replace")
            if "\x1b[6n" in text:  # asks where the cursor is, as terminals must answer
                self.types("\x1b[1;1R")
            self._unread += _ESCAPES.sub("", text)
        seen, found, self._unread = self._unread.partition(until)
        return seen + found

    def close(self) -> int:
        os.close(self._mine)
        return self.child.wait(PATIENCE)


@pytest.fixture
def terminal(project_dir: Path, home: Path) -> Iterator[Terminal]:
    env = {**os.environ, "TERM": "xterm", "HERMES_HOME": str(home / "hermes")}
    started = Terminal([sys.executable, str(REPL), str(project_dir)], env)
    yield started
    if started.child.poll() is None:
        started.child.kill()
        started.close()


def test_a_person_rolls_back_with_the_tab_key(terminal: Terminal, project_dir: Path) -> None:
    """Two turns, the list, a completed verb, a rollback: the file is back on the disk."""
    terminal.reads("you>")
    terminal.types("write a.txt one\r")
    terminal.reads("wrote a.txt")
    terminal.reads("you>")
    terminal.types("sh echo two > a.txt; printf 'fin%s' ished\r")
    terminal.reads("finished")
    assert (project_dir / "a.txt").read_text(encoding="utf-8") == "two\n"

    terminal.reads("you>")
    terminal.types("/rollback\r")
    assert "before terminal: echo two > a.txt" in terminal.reads("restore a single file")

    terminal.reads("you>")
    terminal.types("/rollback pl")
    terminal.reads("what a restore would do")  # the menu
    terminal.types("\t 1\r")
    terminal.reads("Nothing has been changed.")

    terminal.reads("you>")
    terminal.types("/rollback 1\r")
    terminal.reads("takes this back")
    assert (project_dir / "a.txt").read_text(encoding="utf-8") == "one\n"

    terminal.reads("you>")
    terminal.types("\x04")
    assert terminal.child.wait(PATIENCE) == 0
    terminal.close()
