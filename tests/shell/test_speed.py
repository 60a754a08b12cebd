"""What it costs: bounds generous enough for a busy machine, and what is never imported."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from hermes_checkpoints.shell import classifier, classify

from . import cases


def _modules_after(statement: str) -> set[str]:
    code = (
        "import sys\nfrom hermes_checkpoints.shell import classify\n"
        f"{statement}\nprint(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_is_light() -> None:
    """Importing the package loads no third-party module and no code for single programs."""
    modules = _modules_after("pass")
    assert not modules & {"bashlex", "yaml", "git", "wrapt", "rich"}
    assert "hermes_checkpoints.shell.programs.git" not in modules


def test_single_commands_load_no_bashlex() -> None:
    """No single simple command loads bashlex."""
    texts = ["ls -la", "rm -rf build", "echo hi > out 2>&1", "git status", "X=1 sed -i s/a/b/ f"]
    assert "bashlex" not in _modules_after(f"for t in {texts!r}: classify(t, '/w')")


def test_compound_commands_are_read_by_bashlex() -> None:
    """A compound command loads bashlex, unless the host asked for our reader."""
    assert "bashlex" in _modules_after("classify('cd a && rm -rf b', '/w')")
    assert "bashlex" not in _modules_after("classify('cd a && rm b', '/w', parser='reader')")


def test_without_docstrings_the_reader_takes_all() -> None:
    """Under -OO bashlex cannot be imported, and the answer is the same."""
    code = (
        "import sys\nfrom hermes_checkpoints.shell import classify\n"
        "print(classify('cd a && rm b', '/w').effects[0].path, 'bashlex' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["/w/a/b", "False"], done.stderr


def test_median() -> None:
    """The median over the corpus is far below a millisecond uncached, and less when cached."""
    texts = [case.text for case in cases.load("corpus.jsonl")]
    for text in texts:
        classify(text, "/w")
    uncached, cached = [], []
    classifier._classify.cache_clear()
    for text in texts[:800]:
        started = time.perf_counter()
        classify(text, "/w")
        uncached.append(time.perf_counter() - started)
    for text in texts[:800]:
        started = time.perf_counter()
        classify(text, "/w")
        cached.append(time.perf_counter() - started)
    assert statistics.median(uncached) < 1e-3
    assert statistics.median(cached) < 1e-4
