"""A host's prompt with `/rollback` and completion, on `prompt_toolkit` (the `repl` extra).

    python examples/repl.py [DIRECTORY]

The agent of this host is you: `write FILE TEXT…` and `sh COMMAND…` are its two tools, and each line
is a turn. Press Tab after `/rollback `.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter, merge_completers

import hermes_checkpoints as hc


class Host:
    """One chat in one directory."""

    def __init__(self, directory: Path) -> None:
        self.manager = manager = hc.CheckpointManager.from_file(
            enabled=True, cwd=directory, on_notice=print
        )
        self.rollback = hc.RollbackCommand(manager)
        self.directory = directory
        self.chat: list[str] = []

        @hc.file_tool(path="path", manager=manager)
        def write_file(path: str, content: str) -> str:
            place = directory / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(content + "\n", encoding="utf-8")
            return f"wrote {path}"

        @hc.command_tool(command="command", manager=manager)
        def terminal(command: str) -> str:
            done = subprocess.run(
                command, shell=True, cwd=directory, capture_output=True, text=True, check=False
            )
            return (done.stdout + done.stderr).strip()

        self.write_file, self.terminal = write_file, terminal

    def answer(self, line: str) -> str:
        """What the host says to a line."""
        if line.startswith("/rollback"):
            reply = self.rollback.run(line, cwd=self.directory)
            if reply.drop_turns:  # the chat forgets what the files forgot
                del self.chat[-reply.drop_turns :]
            return reply.text
        self.manager.new_turn()
        self.chat.append(line)
        tool, _, rest = line.partition(" ")
        if tool == "write":
            path, _, content = rest.partition(" ")
            return self.write_file(path, content)
        if tool == "sh":
            return self.terminal(rest)
        return "write FILE TEXT…, sh COMMAND…, /rollback, or Ctrl-D to leave"


def main() -> int:
    """Read lines until the end of input."""
    host = Host(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve())
    completer = merge_completers(
        [WordCompleter(["write", "sh"]), host.rollback.completer(cwd=host.directory)]
    )
    session: PromptSession[str] = PromptSession(completer=completer, complete_in_thread=True)
    with host.manager:
        while True:
            try:
                line = session.prompt("you> ").strip()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return 0
            if line:
                print(host.answer(line))


if __name__ == "__main__":
    sys.exit(main())
