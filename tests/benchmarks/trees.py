"""Seeded project trees: the same bytes for the same size, on every machine."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

__all__ = ["LARGE", "MEDIUM", "SMALL", "Tree", "edit", "plant"]


@dataclass(frozen=True)
class Tree:
    """A kind of tree: its files, the ignored dependencies beside them, and a few big files."""

    name: str
    files: int
    dependencies: int
    big: int


SMALL = Tree("200 files", 200, 300, 0)
MEDIUM = Tree("5,000 files", 5_000, 2_000, 2)
LARGE = Tree("50,000 files", 50_000, 5_000, 3)

_ENDS = (".py", ".ts", ".js", ".json", ".md", ".css", ".go", ".rs", ".yaml")
_NAMES = ("src", "lib", "core", "api", "tests", "models", "views", "pkg", "server", "client")


def plant(tree: Tree, root: Path) -> list[Path]:
    """Make a tree; returns its source files in a fixed order."""
    rng = random.Random(tree.name)
    words = [
        "".join(rng.choices("abcdefghijklmnopqrstuvwxyz_", k=rng.randint(2, 11)))
        for _ in range(4_000)
    ]
    root.mkdir(parents=True)
    (root / ".gitignore").write_text("node_modules/\n*.tmp\n", encoding="ascii")
    (root / "package.json").write_text('{"name": "bench"}\n', encoding="ascii")
    folders = _folders(rng, tree.files)
    for folder in folders:
        (root / folder).mkdir(parents=True, exist_ok=True)
    files = []
    for n in range(tree.files):
        file = root / rng.choice(folders) / f"{rng.choice(words)}{n}{rng.choice(_ENDS)}"
        file.write_text(_text(rng, words), encoding="ascii")
        files.append(file)
    for n in range(tree.dependencies):
        file = root / f"node_modules/p{n // 25}/f{n}.js"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_text(rng, words), encoding="ascii")
    for n in range(tree.big):
        (root / f"asset{n}.bin").write_bytes(rng.randbytes(11 << 20))
    return files


def edit(files: list[Path], rng: random.Random, count: int) -> None:
    """Add a line to some files."""
    for file in rng.sample(files, count):
        with open(file, "a", encoding="ascii") as out:
            out.write(f"# edit {rng.getrandbits(40)}\n")


def _folders(rng: random.Random, files: int) -> list[str]:
    folders = ["src"]
    while len(folders) < max(4, files // 14):
        above = rng.choice(folders[-400:])
        if above.count("/") >= 6:
            above = "src"
        folders.append(f"{above}/{rng.choice(_NAMES)}{len(folders)}")
    return folders


def _text(rng: random.Random, words: list[str]) -> str:
    """Text of 1 to 20 KB that compresses about as source code does."""
    size = min(20_000, max(1_000, int(rng.lognormvariate(8.7, 0.75))))
    lines: list[str] = []
    length = 0
    some = rng.choices(words, k=120)
    while length < size:
        lines.append("    " * rng.randint(0, 3) + " ".join(rng.choices(some, k=rng.randint(2, 9))))
        length += len(lines[-1]) + 1
    return "\n".join(lines) + "\n"
