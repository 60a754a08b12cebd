"""Python code given inline: which files its calls write, as far as its literals tell.

A reading of the syntax tree, never an execution. Calls of unknown modules, and code that makes
code, may do anything; everything found is "may", never certain.
"""

from __future__ import annotations

import ast
import posixpath
import re

from ..apply import looks_like_path
from ..arguments import STAR, UNKNOWN, words
from ..call import Call
from ..effects import Kind

_HARMLESS_MODULES = words(
    """
    __future__ abc argparse array ast asyncio base64 binascii bisect calendar cmath codecs
    collections colorsys configparser contextlib copy csv dataclasses datetime decimal difflib
    dis email enum errno faulthandler fileinput fnmatch fractions functools gc getpass gettext
    glob gzip hashlib heapq hmac html http importlib inspect io ipaddress itertools json keyword
    linecache locale logging lzma math mimetypes numbers operator os pathlib pickle pickletools
    pkgutil platform pprint pstats pwd queue random re reprlib resource sched secrets select
    selectors shelve shlex shutil signal site socket sqlite3 ssl stat statistics string struct
    subprocess symtable sys sysconfig tarfile tempfile termios textwrap threading time timeit
    token tokenize tomllib trace traceback types typing unicodedata urllib uuid
    warnings weakref xml zipfile zlib zoneinfo builtins bz2 ctypes concurrent multiprocessing
    attr attrs bs4 boto3 chardet certifi click cv2 dateutil django docx fastapi flask httpx
    jinja2 jsonschema lxml magic markdown matplotlib networkx numpy openpyxl orjson packaging
    pandas PIL polars psutil psycopg2 pyarrow pydantic pygments pypdf PyPDF2
    pytz requests rich ruamel scipy seaborn simplejson sklearn     starlette sympy tabulate
    tensorflow tiktoken toml tomli tomlkit torch torchvision tqdm
    transformers typing_extensions ujson wheel xgboost yaml nbformat docutils
    """
)
_FIRST = {  # function -> what happens to its first argument
    "os.remove": Kind.DELETE, "os.unlink": Kind.DELETE, "os.rmdir": Kind.DELETE,
    "os.removedirs": Kind.DELETE, "shutil.rmtree": Kind.DELETE, "os.truncate": Kind.WRITE,
    "os.mkdir": Kind.CREATE, "os.makedirs": Kind.CREATE, "os.mkfifo": Kind.CREATE,
    "os.chmod": Kind.MODE, "os.chown": Kind.MODE, "os.utime": Kind.MODE, "os.lchown": Kind.MODE,
    "shutil.chown": Kind.MODE, "shutil.make_archive": Kind.WRITE, "numpy.save": Kind.WRITE,
    "numpy.savetxt": Kind.WRITE, "numpy.savez": Kind.WRITE, "shelve.open": Kind.WRITE,
    "logging.FileHandler": Kind.APPEND, "logging.handlers.RotatingFileHandler": Kind.APPEND,
    "logging.handlers.TimedRotatingFileHandler": Kind.APPEND,
    "logging.handlers.WatchedFileHandler": Kind.APPEND, "dbm.open": Kind.WRITE,
    "matplotlib.pyplot.savefig": Kind.WRITE, "cv2.imwrite": Kind.WRITE,
}  # fmt: skip
_SECOND = {
    "shutil.copy": Kind.WRITE, "shutil.copy2": Kind.WRITE, "shutil.copyfile": Kind.WRITE,
    "shutil.copytree": Kind.WRITE, "os.symlink": Kind.CREATE, "os.link": Kind.CREATE,
    "shutil.unpack_archive": Kind.WRITE, "urllib.request.urlretrieve": Kind.WRITE,
    "torch.save": Kind.WRITE, "shutil.copymode": Kind.MODE, "shutil.copystat": Kind.MODE,
    "joblib.dump": Kind.WRITE,
}  # fmt: skip
_BOTH = frozenset(("os.rename", "os.replace", "os.renames", "shutil.move"))
_SHELL = words(
    """
    os.system os.popen subprocess.run subprocess.call subprocess.check_call
    subprocess.check_output subprocess.Popen subprocess.getoutput subprocess.getstatusoutput
    asyncio.create_subprocess_shell
    """
)
_PROGRAM = {  # calls that run a program: which argument its list is, or where its words start
    "os.execv": 1, "os.execve": 1, "os.execvp": 1, "os.execvpe": 1, "os.spawnv": 2,
    "os.spawnve": 2, "os.spawnvp": 2, "os.posix_spawn": 1, "os.posix_spawnp": 1,
    "os.execl": 1, "os.execlp": 1, "os.spawnl": 2, "os.spawnlp": 2,
    "asyncio.create_subprocess_exec": 0, "asyncio.subprocess.create_subprocess_exec": 0,
}  # fmt: skip
_KEYWORDS = {  # the keywords under which a path is given, best first
    0: ("path", "file", "filename", "name", "src", "fname", "path_or_buf", "excel_writer", "dst",
        "fp", "buf", "base_name", "key", "arr"),
    1: ("dst", "target", "filename", "extract_dir", "f"),
}  # fmt: skip
_MIRRORS = frozenset(  # ways to a function that do not name it
    ("getattr", "vars", "globals", "locals", "operator.methodcaller", "operator.attrgetter",
     "importlib.reload", "builtins.getattr")
)  # fmt: skip
_REFLECTED = frozenset(("os", "shutil", "subprocess", "pathlib", "builtins", "posix", "io"))
_OPENERS = words(
    """
    open io.open codecs.open gzip.open bz2.open lzma.open os.fdopen
    """
)
_ARCHIVES = frozenset(("tarfile.open", "zipfile.ZipFile", "tarfile.TarFile"))
_CODE = words(
    """
    exec eval compile __import__ importlib.import_module runpy.run_path runpy.run_module
    execfile os.open os.write pickle.loads marshal.loads ctypes.CDLL breakpoint
    """
)
_METHODS = {  # method of an unknown object -> what happens to the object
    "unlink": Kind.DELETE, "rmdir": Kind.DELETE, "write_text": Kind.WRITE,
    "write_bytes": Kind.WRITE, "touch": Kind.CREATE, "mkdir": Kind.CREATE, "chmod": Kind.MODE,
    "symlink_to": Kind.CREATE, "hardlink_to": Kind.CREATE, "rmtree": Kind.DELETE,
}  # fmt: skip
_SAVERS = words(
    """
    to_csv to_json to_parquet to_excel to_pickle to_feather to_hdf to_html to_markdown to_sql
    savefig save save_pretrained write_image write_html export tofile save_model extract
    extractall write_csv write_parquet write_json dump_to_file
    """
)
_RETURNS_TEXT = frozenset(("to_csv", "to_json", "to_html", "to_markdown", "export"))
_PATH_CLASSES = words(
    """
    pathlib.Path pathlib.PurePath pathlib.PosixPath str os.fspath os.path.abspath
    os.path.realpath os.path.normpath os.path.expandvars
    """
)
_EFFECTFUL = frozenset(
    (*_FIRST, *_SECOND, *_BOTH, *_SHELL, *_PROGRAM, *_CODE, "open", "io.open")
) - {name for name, kind in (_FIRST | _SECOND).items() if kind is Kind.CREATE}
_KNOWN = _EFFECTFUL | frozenset((*_FIRST, *_OPENERS, *_ARCHIVES, *_PATH_CLASSES))
_SAME_PATH = frozenset(("resolve", "absolute", "expanduser", "as_posix", "strip"))
_SQL_WRITE = re.compile(r"(?i)^\s*(?:insert|update|delete|drop|create|alter|vacuum|replace)\b")
_UNCLEAN = re.compile("[\0-\x08]")
MAX_HINTS = 20


def scan_python(call: Call, text: str) -> bool:
    """Report what the code writes; False when it is no Python that can be parsed."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    _Reading(call).read(tree)
    return True


class _Reading:
    def __init__(self, call: Call) -> None:
        self.call = call
        self.modules: dict[str, str] = {}
        self.strangers: set[str] = set()
        self.values: dict[str, list[str]] = {}
        self.files: set[str] = set()
        self.literals: dict[str, None] = {}
        self.vague = False
        self.writes_sql = False
        self.stars: list[str] = []
        self.moves: list[str] = []

    def read(self, tree: ast.Module) -> None:
        nodes = list(ast.walk(tree))
        for node in nodes:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._import(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                self._literal(node.value)
        for node in nodes:
            self._binding(node)
        called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        for node in nodes:
            if isinstance(node, ast.Call) and self._name(node.func) == "os.chdir" and node.args:
                self.moves += self._paths(node.args[0])
        for node in nodes:
            if isinstance(node, ast.Call):
                self._call(node)
            elif isinstance(node, (ast.Name, ast.Attribute)) and id(node) not in called:
                self._value(node)
        if self.vague:
            for literal in list(self.literals)[:MAX_HINTS]:
                self.call.effect(Kind.WRITE, literal, certain=False)

    # -- names

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        prefix = f"{node.module or ''}." if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            if alias.name == "*":
                self.stars.append(prefix)
                if prefix.split(".")[0] not in _HARMLESS_MODULES:
                    self.call.unknown(f"import * from {prefix[:-1]}")
                continue
            full = prefix + alias.name
            name = alias.asname or (alias.name if prefix else alias.name.split(".")[0])
            self.modules[name] = full if prefix or alias.asname else name
            if full.split(".")[0] not in _HARMLESS_MODULES:
                self.strangers.add(name)

    def _literal(self, value: str) -> None:
        if looks_like_path(value):
            self.literals.setdefault(value)
        if _SQL_WRITE.match(value):
            self.writes_sql = True

    def _binding(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, node.value)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
            if node.value is not None:
                self._bind(node.target, node.value)
        elif isinstance(node, (ast.For, ast.comprehension)):
            self._bind(node.target, node.iter, items=True)
        elif isinstance(node, ast.With):
            for item in node.items:
                if isinstance(item.optional_vars, ast.Name):
                    self.files.add(item.optional_vars.id)

    def _bind(self, target: ast.expr, value: ast.expr, *, items: bool = False) -> None:
        walked = items and isinstance(value, ast.Call) and self._name(value.func) == "os.walk"
        if walked and isinstance(target, ast.Tuple) and isinstance(value, ast.Call):
            self._bind(target.elts[0], value.args[0] if value.args else value)
            return
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for left, right in zip(target.elts, value.elts, strict=False):
                self._bind(left, right)
        if not isinstance(target, ast.Name):
            return
        if items:
            found = self._items(value)
        elif isinstance(value, ast.Call) and self._name(value.func) in _OPENERS:
            self.files.add(target.id)
            return
        else:
            found = self._paths(value)
        self.values.setdefault(target.id, []).extend(found)

    def _items(self, node: ast.expr) -> list[str]:
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return [path for item in node.elts for path in self._paths(item)]
        if isinstance(node, ast.Call):
            name = self._name(node.func)
            if name in ("sorted", "list", "set", "reversed", "tuple") and node.args:
                return self._items(node.args[0])
            if name in ("glob.glob", "glob.iglob") and node.args:
                return [path.replace("*", STAR) for path in self._paths(node.args[0])]
            if name == "os.listdir" and node.args:
                return self._paths(node.args[0])
            if isinstance(node.func, ast.Attribute) and node.func.attr in (
                "glob",
                "rglob",
                "iterdir",
            ):
                return self._paths(node.func.value)
        return [UNKNOWN]

    def _name(self, node: ast.expr) -> str:
        """The dotted name an expression has, imports resolved; empty for anything else."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Call) and self._name(node.func) == "__import__" and node.args:
            module = node.args[0]
            if isinstance(module, ast.Constant) and isinstance(module.value, str):
                return ".".join([module.value, *reversed(parts)])
        if not isinstance(node, ast.Name):
            return ""
        name = self.modules.get(node.id, node.id)
        for star in self.stars:
            if node.id not in self.modules and star + ".".join([name, *reversed(parts)]) in _KNOWN:
                name = star + name
        return ".".join([name, *reversed(parts)])

    # -- values that are paths

    def _paths(self, node: ast.expr) -> list[str]:
        """The paths an expression may be; `UNKNOWN` among them when its value is not known."""
        if isinstance(node, ast.Constant):
            return [_UNCLEAN.sub(UNKNOWN, node.value)] if isinstance(node.value, str) else [UNKNOWN]
        if isinstance(node, ast.Name):
            return self.values.get(node.id, [UNKNOWN])[:8]
        if isinstance(node, ast.JoinedStr):
            return ["".join(self._piece(value) for value in node.values)]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            return self._joined([node.left, node.right])
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return [self._paths(node.left)[0] + self._paths(node.right)[0]]
        if isinstance(node, ast.Call):
            return self._called_path(node)
        if isinstance(node, ast.Attribute) and node.attr == "parent":
            return [posixpath.dirname(path) or "." for path in self._paths(node.value)]
        if isinstance(node, ast.IfExp):
            return self._paths(node.body) + self._paths(node.orelse)
        return [UNKNOWN]

    def _piece(self, node: ast.expr) -> str:
        if isinstance(node, ast.FormattedValue):
            node = node.value
        found = self._paths(node)
        return found[0] if len(found) == 1 else UNKNOWN

    def _called_path(self, node: ast.Call) -> list[str]:
        name = self._name(node.func)
        if name in _PATH_CLASSES and node.args:
            return self._joined(node.args)
        if name in _PATH_CLASSES:
            return ["."]
        if name == "os.path.join":
            return self._joined(node.args)
        if name in ("os.path.expanduser",) and node.args:
            home = self.call.walk.state.home
            return [
                re.sub(r"^~(?=/|$)", lambda _: home, path) for path in self._paths(node.args[0])
            ]
        if name in ("os.getcwd", "pathlib.Path.cwd"):
            return ["."]
        if name == "pathlib.Path.home":
            return [self.call.walk.state.home]
        if isinstance(node.func, ast.Attribute):
            if node.func.attr in _SAME_PATH:
                return self._paths(node.func.value)
            if node.func.attr == "joinpath":
                return self._joined([node.func.value, *node.args])
            if node.func.attr in ("with_suffix", "with_name") and node.args:
                return [self._renamed(node)]
        return [UNKNOWN]

    def _renamed(self, node: ast.Call) -> str:
        assert isinstance(node.func, ast.Attribute)
        base, new = self._paths(node.func.value)[0], self._paths(node.args[0])[0]
        if node.func.attr == "with_suffix":
            return posixpath.splitext(base)[0] + new
        return posixpath.join(posixpath.dirname(base), new)

    def _joined(self, nodes: list[ast.expr]) -> list[str]:
        choices = [self._paths(node) for node in nodes]
        heads = choices[0]
        for tails in choices[1:]:
            heads = [posixpath.join(head, tail) for head in heads for tail in tails][:16]
        return heads

    # -- calls

    def _effect(self, kind: Kind, node: ast.expr | None) -> None:
        for path in [UNKNOWN] if node is None else self._paths(node):
            self.vague = self.vague or path.startswith(UNKNOWN)
            self.call.effect(kind, path, certain=False)
            for move in self.moves:
                self.call.effect(kind, posixpath.join(move, path), certain=False)

    def _argument(self, node: ast.Call, at: int) -> ast.expr | None:
        """The path among the arguments: by position, else by one of its usual keywords."""
        if len(node.args) > at:
            return None if isinstance(node.args[at], ast.Starred) else node.args[at]
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        return next((given[name] for name in _KEYWORDS[at] if name in given), None)

    def _value(self, node: ast.Name | ast.Attribute) -> None:
        """A function that has an effect, used as a value: whoever gets it may call it."""
        name = self._name(node)
        method = isinstance(node, ast.Attribute) and node.attr in _METHODS and name not in _KNOWN
        reflected = name in ("sys.modules", "__builtins__") or (
            name.endswith(".__dict__") and name.split(".")[0] in _REFLECTED
        )
        stored = isinstance(node.ctx, (ast.Store, ast.Del))
        if not stored and (name in _EFFECTFUL or method or reflected):
            self.vague = True
            self.call.unknown(name or getattr(node, "attr", ""))

    def _call(self, node: ast.Call) -> None:
        name = self._name(node.func)
        args = node.args
        if name in _OPENERS or name in _ARCHIVES:
            self._open(node, self._argument(node, 0), args[1:2])
        elif name in _FIRST:
            self._effect(_FIRST[name], self._argument(node, 0))
        elif name in _SECOND:
            self._effect(_SECOND[name], self._argument(node, 1))
        elif name in _BOTH:
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            for at, end in enumerate(("src", "dst")):
                self._effect(Kind.MOVE, args[at] if len(args) > at else given.get(end))
        elif name in _PROGRAM:
            self._program(node, _PROGRAM[name])
        elif name in _MIRRORS:
            self._mirror(node, name)
        elif name == "logging.basicConfig":
            for keyword in node.keywords:
                if keyword.arg == "filename":
                    self._effect(Kind.APPEND, keyword.value)
        elif name in _SHELL:
            self._shell(node)
        elif name in _CODE:
            if name != "__import__" or not (args and isinstance(args[0], ast.Constant)):
                self.call.unknown(name)
        elif name == "sqlite3.connect" and self.writes_sql:
            self._effect(Kind.WRITE, args[0] if args else None)
        elif name == "os.chdir":
            pass  # `moves` has it
        elif name.split(".")[0] in self._stranger_names():
            self.call.unknown(name)
        elif isinstance(node.func, ast.Name) and node.func.id in self.strangers:
            self.call.unknown(node.func.id)
        elif name == "fileinput.input" or name == "fileinput.FileInput":
            if any(keyword.arg == "inplace" for keyword in node.keywords):
                self._effect(Kind.WRITE, args[0] if args else None)
        elif isinstance(node.func, ast.Attribute):
            self._method(node, node.func)

    def _stranger_names(self) -> set[str]:
        return {self.modules[name].split(".")[0] for name in self.strangers}

    def _open(self, node: ast.Call, path: ast.expr | None, modes: list[ast.expr]) -> None:
        modes = modes + [k.value for k in node.keywords if k.arg == "mode"]
        if any(keyword.arg is None for keyword in node.keywords):
            self._effect(Kind.WRITE, path)
        for mode in modes:
            literal = mode.value if isinstance(mode, ast.Constant) else None
            if not isinstance(literal, str) or set(literal) & set("wax+"):
                append = isinstance(literal, str) and "a" in literal
                self._effect(Kind.APPEND if append else Kind.WRITE, path)

    def _mirror(self, node: ast.Call, name: str) -> None:
        """`getattr(os, "remove")` and its like, on modules that have effects."""
        of = self._name(node.args[0]).split(".")[0] if node.args else ""
        if name.startswith("operator") or of in _REFLECTED or not node.args:
            self.vague = True
            self.call.unknown(name)

    def _program(self, node: ast.Call, start: int) -> None:
        """`os.execvp(FILE, [WORD…])`, `os.execlp(FILE, WORD…)`, `create_subprocess_exec(WORD…)`."""
        words = node.args[start:]
        if len(words) == 1 and isinstance(words[0], (ast.List, ast.Tuple)):
            words = list(words[0].elts)
        known = [self._paths(word)[0] for word in words if not isinstance(word, ast.Starred)]
        if known:
            self.call.run(known, stdin="")
        else:
            self.call.unknown("exec")

    def _shell(self, node: ast.Call) -> None:
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        command = node.args[0] if node.args else keywords.get("args", keywords.get("cmd"))
        with self.call.walk.working_in(
            [p for k in node.keywords if k.arg == "cwd" for p in self._paths(k.value)[:1]]
        ):
            if isinstance(command, (ast.List, ast.Tuple)):
                fed = keywords.get("input")
                stdin = "" if fed is None else self._paths(fed)[0]
                words = [self._paths(item)[0] for item in command.elts]
                self.call.run(words, stdin=stdin)
            elif command is None and node.keywords:
                self.call.unknown("subprocess")
            elif command is not None:
                text = self._paths(command)[0]
                if text.startswith(UNKNOWN):
                    self.call.unknown("subprocess")
                else:
                    self.call.shell(text)

    def _method(self, node: ast.Call, function: ast.Attribute) -> None:
        method, receiver = function.attr, function.value
        if method in _METHODS:
            self._effect(_METHODS[method], receiver)
        elif method == "open" and not self._name(receiver).startswith(("webbrowser", "PIL")):
            self._open(node, receiver, node.args[:1])
        elif method in ("rename", "replace") and len(node.args) == 1 and not node.keywords:
            if method == "rename" or self._is_path(receiver):
                self._effect(Kind.MOVE, receiver)
                self._effect(Kind.MOVE, node.args[0])
        elif method in _SAVERS and not (
            method in _RETURNS_TEXT and self._argument(node, 0) is None
        ):
            target = self._argument(node, 0)
            if method in ("extract", "extractall"):
                self._extract(node)
            elif target is not None:
                self._effect(Kind.WRITE, target)
            elif method in ("save", "export"):
                self.call.unknown(method)
        elif method == "write" and self._name(receiver) == "zipfile":
            self._effect(Kind.WRITE, None)

    def _extract(self, node: ast.Call) -> None:
        paths = [k.value for k in node.keywords if k.arg == "path"] + node.args[:1]
        if paths and node.func.__class__ is ast.Attribute and len(node.args) + len(node.keywords):
            self._effect(Kind.WRITE, paths[0])
        else:
            self.call.here(Kind.WRITE, "extractall")

    def _is_path(self, node: ast.expr) -> bool:
        """Whether an expression is more likely a path object than a text."""
        if isinstance(node, ast.Call):
            return self._name(node.func) in ("pathlib.Path", "pathlib.PurePath")
        return isinstance(node, ast.Name) and any(
            looks_like_path(value) for value in self.values.get(node.id, ())
        )
