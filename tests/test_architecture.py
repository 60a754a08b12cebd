"""The house as `docs/architecture.md` draws it: layers, and one door per dependency."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import hermes_checkpoints

_ROOT = Path(__file__).parents[1]
_PACKAGE = "hermes_checkpoints"
_ARCHITECTURE = _ROOT / "docs" / "architecture.md"


# --------------------------------------------------------------------------- reading the source


def _modules() -> dict[str, Path]:
    """Every module that is shipped, by its dotted name."""
    found = {}
    for base, prefix in ((_ROOT / _PACKAGE, _PACKAGE), (_ROOT / "integrations", "integrations")):
        for file in base.rglob("*.py"):
            parts = file.relative_to(base).with_suffix("").parts
            name = ".".join((prefix, *parts)).removesuffix(".__init__")
            found[name.replace("integrations", f"{_PACKAGE}.integrations")] = file
    return found


_MODULES = _modules()


@cache
def _imports(module: str) -> frozenset[str]:
    """The modules one imports, anywhere in it, relative ones resolved."""
    return frozenset(_imported(module, ast.parse(_MODULES[module].read_text(encoding="utf-8"))))


def _imported(module: str, tree: ast.AST) -> Iterator[str]:
    is_package = _MODULES[module].name == "__init__.py"
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: None if is_package else -1]
            base = above[: len(above) - node.level + 1] if node.level else []
            source = ".".join([*base, *filter(None, [node.module])])
            names = [f"{source}.{alias.name}" for alias in node.names]
            yield from (name if name in _MODULES else source for name in names)


# --------------------------------------------------------------------------- layers


def _layers() -> dict[str, int]:
    """The layer of each part, as the architecture page draws it."""
    block = re.search(r"```layers\n(.*?)```", _ARCHITECTURE.read_text(encoding="utf-8"), re.S)
    assert block, "docs/architecture.md has no block of layers"
    lines = [re.split(r"\s{2,}", line) for line in block[1].strip().splitlines()]
    return {part: int(number) for number, parts, *_ in lines for part in parts.split()}


def _part(module: str) -> str:
    """What a module belongs to: its first name below the package, or the front door."""
    return module.split(".")[1] if "." in module else module


_UPWARDS = {
    # `CheckpointManager.wrap` is the one method that hands over to a layer above, when called.
    ("manager", "middleware"),
}


def test_every_module_has_a_layer() -> None:
    """Every module has a place in the drawing, and the drawing has no place that is empty."""
    assert {_part(module) for module in _MODULES} == set(_layers())


def test_every_module_is_explained() -> None:
    """Every part of the house has a line on the architecture page that says what it is for."""
    rows = re.findall(r"^\| (`[^|]+) \|", _ARCHITECTURE.read_text(encoding="utf-8"), re.M)
    explained = {name for row in rows for name in re.findall(r"`([\w.]+)`", row)}
    assert {_part(module) for module in _MODULES} <= explained


def test_imports_point_down() -> None:
    """No module imports from a layer above its own."""
    layers = _layers()
    wrong = [
        f"{module} imports {target}"
        for module in _MODULES
        for target in _imports(module)
        if target.split(".")[0] == _PACKAGE
        and layers[_part(target)] > layers[_part(module)]
        and (_part(module), _part(target)) not in _UPWARDS
    ]
    assert not wrong


def test_integrations_use_the_front_door() -> None:
    """Adapters use public names only: those of the front door, and the mountable `cli`."""
    wrong = [
        f"{module} imports {target}"
        for module in _MODULES
        if _part(module) == "integrations"
        for target in _imports(module)
        if target.startswith(f"{_PACKAGE}.")
        and _part(target) != "integrations"
        and target != f"{_PACKAGE}.cli"
    ]
    assert not wrong


# --------------------------------------------------------------------------- doors

_DOORS = {
    "wrapt": ("middleware",),
    "bashlex": ("shell",),
    "yaml": ("config",),
    "git": ("stores.git",),
    "subprocess": ("stores.git", "cli.program"),  # `run --` starts a person's program
    "filelock": ("stores",),
    "rich": ("cli",),
    "argparse": ("cli",),
    "prompt_toolkit": ("completion", "slash"),  # slash names its type only
    "isal": ("stores.git",),
}


_OPTIONAL = {"prompt_toolkit", "isal"}


@pytest.mark.parametrize("dependency", _DOORS)
def test_one_door(dependency: str) -> None:
    """Each outside dependency is imported behind its door only, and a required one is."""
    doors = tuple(f"{_PACKAGE}.{door}" for door in _DOORS[dependency])
    users = [m for m in _MODULES if dependency in {t.split(".")[0] for t in _imports(m)}]
    assert [m for m in users if not f"{m}.".startswith(tuple(f"{d}." for d in doors))] == []
    assert users or dependency in _OPTIONAL


def test_no_unknown_dependency() -> None:
    """The library imports the standard library, itself, and what it has a door for."""
    known = {*sys.stdlib_module_names, _PACKAGE, *_DOORS}
    wrong = [
        f"{module} imports {target}"
        for module in _MODULES
        if _part(module) != "integrations"
        for target in _imports(module)
        if target.split(".")[0] not in known
    ]
    assert not wrong


def test_only_the_command_line_prints() -> None:
    """`print` is called by the command line only."""
    printing = [
        module
        for module, file in _MODULES.items()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]
    assert {_part(module) for module in printing} <= {"cli"}


_READ_THE_ENVIRONMENT = {
    "config",
    "cli.hook",  # a program: its host speaks to it by variables
    "cli.install",  # the same
    "cli.mcp",  # the server behind the proxy gets the environment it would have had
    "integrations.hermes",  # the same: Hermes tells its plugins so where its tools act
    "shell.classifier",  # `~` is what the shell that will run the command takes it for
}


def test_only_config_reads_the_environment() -> None:
    """Environment variables and the home directory are read by `config` and the named few only."""
    reading = re.compile(r"os\.environ|os\.getenv|Path\.home\(\)")
    readers = {m for m, f in _MODULES.items() if reading.search(f.read_text(encoding="utf-8"))}
    assert {m.removeprefix(f"{_PACKAGE}.") for m in readers} <= _READ_THE_ENVIRONMENT


# --------------------------------------------------------------------------- what is loaded


def _loaded(code: str, cwd: Path) -> set[str]:
    """The top-level modules that are loaded when `code` has run in a fresh interpreter."""
    program = f"{code}\nimport sys\nprint(*{{m.split('.')[0] for m in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=cwd, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


_OUTSIDE = {*_DOORS, "gitdb", "smmap", "pygments", "markdown_it"} - {"subprocess", "argparse"}


def test_front_door_is_light(tmp_path: Path) -> None:
    """Importing the package loads no third-party module."""
    loaded = _loaded("import hermes_checkpoints; hermes_checkpoints.ToolCall", tmp_path)
    assert loaded & _OUTSIDE == set()


_DECORATED = """
import hermes_checkpoints as hc
manager = hc.CheckpointManager(hc.Config(base="base"))
@hc.file_tool(path="path", manager=manager)
def save(path, content):
    open(path, "w").write(content)
@hc.command_tool(manager=manager)
def run(command): ...
save("w/a", "2")
"""


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "pyproject.toml").touch()
    (tmp_path / "w" / "a").write_text("1")
    return tmp_path


def test_file_tool_is_light(scene: Path) -> None:
    """A decorated file tool that took a checkpoint loads no shell parser, YAML or rich."""
    loaded = _loaded(_DECORATED + "assert len(manager.list_checkpoints('w')) == 1", scene)
    assert loaded & {"bashlex", "yaml", "rich", "prompt_toolkit", "argparse"} == set()


def test_bashlex_is_used(scene: Path) -> None:
    """A compound command is parsed by bashlex."""
    assert "bashlex" in _loaded(_DECORATED + "run('for x in a b; do rm $x; done')", scene)


def test_bashlex_can_be_left_out(scene: Path) -> None:
    """With `parser: reader`, bashlex is never loaded."""
    code = _DECORATED.replace("base=", "parser='reader', base=")
    assert "bashlex" not in _loaded(code + "run('for x in a b; do rm $x; done')", scene)


def test_gitpython_is_used(scene: Path) -> None:
    """Restoring reads history and objects through GitPython."""
    assert "git" in _loaded(_DECORATED + "manager.restore('w', 1)", scene)


# --------------------------------------------------------------------------- the front door


def test_front_door_has_every_public_name() -> None:
    """Every public name is listed, loads, is documented, and is that of the module it lives in."""
    for name in hermes_checkpoints.__all__:
        value = getattr(hermes_checkpoints, name)
        assert name in dir(hermes_checkpoints)
        assert value.__doc__
        if name in hermes_checkpoints._MODULE_OF:
            module = import_module(f"{_PACKAGE}.{hermes_checkpoints._MODULE_OF[name]}")
            assert value is getattr(module, name)
            assert name in module.__all__
    assert set(hermes_checkpoints.__all__) == {*hermes_checkpoints._MODULE_OF, "shell"}


def test_front_door_says_what_it_does_not_have() -> None:
    """A name that is not public raises AttributeError naming it."""
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        hermes_checkpoints.nonsense  # noqa: B018


def test_every_package_of_the_tree_is_shipped() -> None:
    """A wheel holds each directory of the package that has modules."""
    text = (_ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = re.search(r"^packages = \[(.*?)\]", text, re.DOTALL | re.MULTILINE)
    assert listed is not None
    shipped = set(re.findall(r'"([\w.]+)"', listed[1]))
    modules = (_ROOT / _PACKAGE).rglob("*.py")
    found = {".".join(file.parent.relative_to(_ROOT).parts) for file in modules}
    assert shipped == found | {f"{_PACKAGE}.integrations"}
