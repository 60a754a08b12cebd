"""An agent wrecks a project with two decorated tools, and `/rollback` brings it back.

Run it with `make demo`, or `python examples/quickstart.py`. It works in a scratch directory and
ends with status 1 if a single byte is not as it should be.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import hermes_checkpoints as hc

FILES = {
    "pyproject.toml": "[project]\nname = 'shop'\n",
    "src/cart.py": "TAX = 0.19\n\n\ndef total(prices):\n    return sum(prices) * (1 + TAX)\n",
    "src/report.py": "def lines(cart):\n    return [str(item) for item in cart]\n",
    "docs/usage.md": "# Usage\n\nCall `total`.\n",
    "data/orders.csv": "id,price\n1,10\n2,20\n",
    "notes.md": "- ask about VAT\n",
}


def main() -> int:
    """Play one session; 0 if every step left the files as it should."""
    with tempfile.TemporaryDirectory(prefix="quickstart-") as scratch:
        project = Path(scratch, "shop")
        write_all(project)
        return play(project, Path(scratch, "checkpoints"))


def play(project: Path, base: Path) -> int:
    """The session itself."""
    manager = hc.CheckpointManager(hc.Config(base=base), session_id="demo", cwd=project)

    @hc.file_tool(path="path", manager=manager)
    def write_file(path: str, content: str) -> str:
        (project / path).write_text(content, encoding="utf-8")
        return ""

    @hc.command_tool(command="command", manager=manager)
    def terminal(command: str) -> str:
        done = subprocess.run(
            command, shell=True, cwd=project, capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr

    rollback = hc.RollbackCommand(manager)
    wrong: list[str] = []

    def say(line: str) -> None:
        reply = rollback.run(line, cwd=project)
        print(f"\nyou> {line}\n{reply.text}")
        if not reply.ok:
            wrong.append(line)

    def expect(what: str, state: dict[str, str]) -> None:
        good = read_all(project) == state
        print(f"   {'✓' if good else '✗'} {what}")
        if not good:
            wrong.append(what)

    print("A person asks for a refactoring. The agent sets to work:\n")
    manager.new_turn("refactor the shop")
    act("write_file src/cart.py", write_file("src/cart.py", "TAX = 0\n"))
    act("sed -i", terminal("sed -i s/total/sum_of/ docs/usage.md"))
    act("rm -rf data", terminal("rm -rf data"))
    act("a redirect", terminal("echo oops > src/report.py"))
    act("write_file src/new.py", write_file("src/new.py", "import cart\n"))
    wrecked = read_all(project)

    print("\nMeanwhile the person writes a note of her own.")
    (project / "notes.md").write_text("- ask about VAT\n- call Ada\n", encoding="utf-8")

    say("/rollback")
    say("/rollback diff 1")
    say("/rollback plan 1")
    say("/rollback 1")
    expect("every file of the project is back, byte for byte", {**FILES, "notes.md": MINE})
    say("/rollback undo")
    expect("the rollback is undone", {**wrecked, "notes.md": MINE})
    say("/rollback 2 --all")
    expect("with --all the note is as it was, too", FILES)
    manager.close()
    print("\nSomething is wrong: " + "; ".join(wrong) if wrong else "\nEvery byte is right.")
    return 1 if wrong else 0


MINE = "- ask about VAT\n- call Ada\n"


def act(what: str, result: str) -> None:
    """Show one step of the agent."""
    print(f"   agent: {what}" + (f"  -> {result.strip()}" if result.strip() else ""))


def write_all(project: Path) -> None:
    """Make the project."""
    for name, text in FILES.items():
        file = project / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def read_all(project: Path) -> dict[str, str]:
    """What the project holds now."""
    return {
        file.relative_to(project).as_posix(): file.read_text(encoding="utf-8")
        for file in sorted(project.rglob("*"))
        if file.is_file()
    }


if __name__ == "__main__":
    sys.exit(main())
