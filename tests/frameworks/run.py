"""Every adapter against the framework it is for, each in an environment of its own.

    python tests/frameworks/run.py [--only langchain,openai-agents] [--floor]

Makes `.venvs/<framework>`, installs the extra, runs that framework's tests there, and prints a
table. What could not be installed is listed with the reason, what was skipped is not called
passed. Exits with 1 if anything that ran has failed, 2 if nothing ran.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import venv
import xml.etree.ElementTree as ET
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import requires
from pathlib import Path

ROOT = Path(__file__).parents[2]
VENVS = ROOT / ".venvs"
TESTS = ("pytest>=8.0", "pytest-mock>=3.12", "hypothesis>=6.100")
LIMIT = 900  # seconds for one installation, and for one framework's tests


@dataclass(frozen=True)
class Framework:
    """What to install and what to run. `package` is the one whose version is shown.

    `floor` are packages that the oldest release needs as they were when it came out.
    """

    name: str
    package: str
    tests: str
    extra: str = ""
    more: tuple[str, ...] = ()
    floor: tuple[str, ...] = ()


FRAMEWORKS = (
    Framework("langchain", "langchain", "test_langchain.py", "langchain", ("langchain-community",)),
    Framework("deepagents", "deepagents", "test_deepagents.py", "deepagents"),
    Framework(
        "openai-agents",
        "openai-agents",
        "test_openai_agents.py",
        "openai-agents",
        floor=("openai==2.26.0",),
    ),
    Framework("pydantic-ai", "pydantic-ai-slim", "test_pydantic_ai.py", "pydantic-ai"),
    Framework("adk", "google-adk", "test_google_adk.py", "adk"),
    Framework("strands", "strands-agents", "test_strands.py", "strands"),
    Framework("agno", "agno", "test_agno.py", "agno"),
    Framework("crewai", "crewai", "test_crewai.py", "crewai"),
    Framework("smolagents", "smolagents", "test_smolagents.py", "smolagents"),
    Framework(
        "agent-framework", "agent-framework-core", "test_agent_framework.py", "agent-framework"
    ),
    Framework(
        "llama-index", "llama-index-core", "test_llama_index.py", more=("llama-index-core>=0.14",)
    ),
    Framework("haystack", "haystack-ai", "test_haystack.py", more=("haystack-ai>=3.0",)),
    Framework("autogen", "autogen-agentchat", "test_autogen.py", more=("autogen-agentchat>=0.7",)),
    Framework("mcp", "fastmcp", "test_mcp.py", "mcp"),
    Framework("hermes-agent", "hermes-agent", "test_hermes.py", more=("hermes-agent",)),
    Framework(
        "claude-code",
        "claude-agent-sdk",
        "test_claude_cli.py",
        more=("claude-agent-sdk", "fastmcp>=4,<5"),
    ),
)


@dataclass(frozen=True)
class Row:
    """What came of one framework."""

    framework: str
    version: str = "-"
    hooks: str = "-"
    files: str = "-"
    chat: str = "-"
    result: str = ""
    ran: bool = False
    failed: bool = False
    output: str = ""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", help="frameworks to run, separated by commas")
    parser.add_argument("--floor", action="store_true", help="install the oldest release allowed")
    asked = parser.parse_args(arguments)
    names = asked.only.split(",") if asked.only else [f.name for f in FRAMEWORKS]
    unknown = set(names) - {f.name for f in FRAMEWORKS}
    if unknown:
        parser.error(f"no such framework: {', '.join(sorted(unknown))}")
    chosen = [f for f in FRAMEWORKS if f.name in names]
    with ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(lambda framework: examine(framework, floor=asked.floor), chosen))
    report(rows)
    if any(row.failed for row in rows):
        return 1
    return 0 if any(row.ran for row in rows) else 2


def examine(framework: Framework, *, floor: bool = False) -> Row:
    """Install one framework and run its tests."""
    file = Path(__file__).parent / framework.tests
    if not file.exists():
        return Row(framework.name, result=f"not run: there is no {framework.tests}")
    place = VENVS / (framework.name + ("-floor" if floor else ""))
    try:
        python = install(framework, place, floor=floor)
    except (subprocess.SubprocessError, OSError) as error:
        return Row(framework.name, result=f"not installed: {reason(error)}")
    version = run(
        [python, "-c", f"import importlib.metadata as m; print(m.version('{framework.package}'))"]
    ).stdout.strip()
    results = place / "results.xml"
    results.unlink(missing_ok=True)
    told = ["-q", "-m", "framework", "-o", "junit_family=xunit1", f"--junitxml={results}"]
    mine = f"not {_DECORATED} or {framework.name}]"  # of the decorator's tests, the framework's
    files = [str(file), str(file.parent / "test_decorator.py")]
    command = [python, "-m", "pytest", *told, "-k", mine, *files]
    try:
        output = run(command, check=False).stdout
    except subprocess.TimeoutExpired:
        return Row(framework.name, version, result=f"FAILED: not done in {LIMIT} s", failed=True)
    if not results.exists():
        return Row(framework.name, version, result="FAILED: no results", failed=True, output=output)
    return judged(framework.name, version, results, output)


_DECORATED = "test_a_decorated_function_is_the_tool_it_was"


def install(framework: Framework, place: Path, *, floor: bool) -> Path:
    """The interpreter of an environment that has the library, the framework and the tests' needs.

    One that was made for the same requirements is used again.
    """
    extra = f"[{framework.extra}]" if framework.extra else ""
    pins = (*floors(framework.extra), *framework.floor) if floor else ()
    wanted = ["-e", f"{ROOT}{extra}", *TESTS, *framework.more, *pins]
    python, made_for = place / "bin" / "python", place / "made-for"
    made = (ROOT / "pyproject.toml").read_text(encoding="utf-8") + "\n".join(wanted)
    if not made_for.exists() or made_for.read_text(encoding="utf-8") != made:
        venv.create(place, with_pip=True, clear=True)
        run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *wanted])
        made_for.write_text(made, encoding="utf-8")
    return python


def floors(extra: str) -> tuple[str, ...]:
    """The oldest release of each package that an extra allows."""
    lines = requires("hermes-checkpoints") or []
    mine = [line for line in lines if re.search(rf"extra == ['\"]{extra}['\"]", line)]
    found = [re.match(r"([\w.-]+)>=([\w.]+)", line) for line in mine]
    return tuple(f"{m[1]}=={m[2]}" for m in found if m)


def run(command: list[str | Path], *, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=ROOT,
        check=check,
        timeout=LIMIT,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def reason(error: Exception) -> str:
    """Why an installation failed: pip's own last words."""
    output = getattr(error, "stdout", None) or str(error)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["no reason given"])[-1]


def judged(name: str, version: str, results: Path, output: str) -> Row:
    """A row out of what the tests said, and of what they noted as properties."""
    cases = list(ET.parse(results).getroot().iter("testcase"))
    kinds = Counter(next((c.tag for c in case if c.tag in _KINDS), "passed") for case in cases)
    noted: dict[str, list[str]] = {"hooks": [], "files": [], "chat": []}
    for prop in ET.parse(results).getroot().iter("property"):
        noted.get(prop.get("name", ""), []).append(prop.get("value", ""))
    failed = kinds["failure"] + kinds["error"]
    words = [f"{kinds[k]} {w}" for k, w in _KINDS.items() if kinds[k]]
    if kinds["passed"]:
        words.insert(0, f"{kinds['passed']} passed")
    return Row(
        name,
        version,
        str(sum(map(int, noted["hooks"]))) if noted["hooks"] else "-",
        share(noted["files"]),
        share(noted["chat"]),
        ("FAILED: " if failed else "") + (", ".join(words) or "no tests"),
        ran=bool(kinds["passed"] or failed),
        failed=bool(failed),
        output=output if failed else "",
    )


_KINDS = {"failure": "failed", "error": "in error", "skipped": "skipped"}


def share(noted: list[str]) -> str:
    return f"{noted.count('yes')}/{len(noted)}" if noted else "-"


def report(rows: list[Row]) -> None:
    for row in rows:
        if row.output:
            print(f"--- {row.framework}\n{row.output}")
    titles = ("framework", "version", "hooks seen", "files restored", "chat undone", "result")
    table = [titles, *((r.framework, r.version, r.hooks, r.files, r.chat, r.result) for r in rows)]
    widths = [max(len(line[column]) for line in table) for column in range(len(titles))]
    for line in table:
        print(
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        )


if __name__ == "__main__":
    sys.exit(main())
