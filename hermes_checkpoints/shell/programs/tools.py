"""Single tools with rules of their own: databases, make, compilers, Go, crypto."""

from __future__ import annotations

import re

from ..arguments import UNKNOWN, words
from ..call import MAX_CODE, Call
from ..effects import Kind

_SQL_READS = re.compile(
    r"(?is)\s*(?:select|with|explain|values|show|describe|pragma\s+\w+\s*;?\s*$|\.(?:schema|tables|dump|mode|headers?|indexes|databases|help|width|fullschema|timer|nullvalue|separator)\b)"
)
_SQL_WRITES = re.compile(
    r"(?i)\b(?:insert|update|delete|drop|create|alter|attach|vacuum|replace\s+into|reindex|copy|"
    r"export|import|\.(?:import|restore|output|once|save|backup|read|shell|system))\b|"
    r"\.(?:import|restore|output|once|save|backup|read|shell|system)\b"
)
_MAKE_TAKES = words(
    """
    -C -f -j -I -o -W -l --directory --file --makefile --jobs --include-dir --old-file --what-if
    --load-average -O --output-sync --eval
    """
)
_COMPILERS_TAKE = words(
    """
    -o -I -L -l -D -U -x -std -include -isystem -MF -MT -MQ -T -u -z -arch -framework -target
    --target --sysroot -isysroot -Xlinker -Xclang -march -mtune
    """
)


def sqlite(call: Call) -> None:
    """sqlite3 and duckdb: the database changes unless the SQL only reads."""
    parsed = call.parse(
        ("-cmd", "-init", "-separator", "-nullvalue", "-vfs", "-newline", "-c", "-s"),
        ("-readonly", "--readonly", "-version", "-help", "-json", "-csv", "-header", "-column",
         "-line", "-list", "-html", "-box", "-markdown", "-batch", "-table", "-noheader", "-bail"),
    )  # fmt: skip
    if parsed.has("-readonly", "--readonly", "-version", "-help") or not parsed.operands:
        return
    database, *statements = parsed.operands
    statements += parsed.values("-cmd", "-c", "-s")
    if not statements and call.stdin is not None:
        statements = [call.stdin]
    text = "\n".join(statements)
    if len(text) > MAX_CODE:
        call.effect(Kind.WRITE, database, certain=False)
        return
    for match in re.finditer(r"(?m)^\s*\.(?:output|once|save|backup)\s+(\S+)", text):
        call.effect(Kind.WRITE, match[1].strip("'\""), certain=False)
    if not statements or database == ":memory:":
        return
    if _SQL_READS.match(text) and not _SQL_WRITES.search(text):
        call.effect(Kind.CREATE, database)  # opening a database that is not there makes one
    else:
        call.effect(Kind.WRITE, database, certain=UNKNOWN not in text)


def make(call: Call) -> None:
    """make: recipes are unknown code; the directory they work in is known."""
    parsed = call.parse(
        _MAKE_TAKES, ("--dry-run", "--just-print", "--recon", "--question", "--version", "--help")
    )
    if parsed.has("-n", "--dry-run", "--just-print", "--recon", "-q", "--question", "-v",
                  "--version", "--help"):  # fmt: skip
        return
    goals = [operand for operand in parsed.operands if "=" not in operand]
    destructive = any(re.search(r"clean|reset|purge|distclean", goal) for goal in goals)
    with call.walk.working_in(parsed.values("-C", "--directory")):
        if destructive:
            call.here(Kind.DELETE, " ".join(goals))
        call.here(Kind.UNKNOWN, " ".join(goals) or "the first target")


def compiler(call: Call) -> None:
    """gcc and its kin: `-o`, else a.out or an object beside each source."""
    parsed = call.parse(_COMPILERS_TAKE, ("-E", "-c", "-S", "-M", "-MM", "-fsyntax-only"))
    for path in parsed.values("-MF"):
        call.effect(Kind.WRITE, path)
    outputs = parsed.values("-o")
    if outputs:
        call.effects(Kind.WRITE, outputs)
    elif not parsed.operands or parsed.has("-E", "-M", "-MM", "-fsyntax-only", "-###"):
        return
    elif parsed.has("-c", "-S"):
        suffix = ".o" if parsed.has("-c") else ".s"
        stems = [re.sub(r"\.\w+$", suffix, op.rpartition("/")[2]) for op in parsed.operands]
        call.effects(Kind.WRITE, stems)
    else:
        call.effect(Kind.WRITE, "a.out")


def go(call: Call) -> None:
    """go: builds write `-o`; `get`, `mod`, `fmt` and `generate` change the module."""
    takes = ("-o", "-C", "-run", "-count", "-timeout", "-tags", "-ldflags", "-gcflags", "-mod",
             "-p", "-coverprofile", "-cpuprofile", "-memprofile", "-blockprofile", "-mutexprofile",
             "-trace", "-bench", "-benchtime", "-cover", "-covermode", "-f", "-modfile", "-exec",
             "-outputdir", "-overlay", "-asmflags", "-coverpkg", "-vettool")  # fmt: skip
    words = call.args
    if not words:
        return
    verb, inner = words[0], Call(call.walk, call.name, words[1:], call.stdin)
    parsed = inner.parse(takes, ("-w", "-n", "-fix"), style="single")
    with call.walk.working_in(parsed.values("-C")):
        for path in parsed.values("-o", "-coverprofile", "-cpuprofile", "-memprofile", "-trace",
                                  "-blockprofile", "-mutexprofile", "-outputdir"):  # fmt: skip
            call.effect(Kind.WRITE, path)
        _go_verb(call, verb, parsed.operands, parsed.has("-o"), parsed.has("-w"), parsed.has("-n"))


def _go_verb(
    call: Call, verb: str, operands: list[str], output: bool, write: bool, dry: bool
) -> None:
    if verb in ("list", "version", "doc", "help", "bug") or dry:
        return
    if verb == "env":
        if write:
            call.effect(Kind.WRITE, UNKNOWN)
    elif verb in ("vet", "telemetry"):
        return
    elif verb == "test":
        call.effect(Kind.CREATE, UNKNOWN)
    elif verb in ("fmt", "fix", "get", "generate", "work", "mod"):
        if verb != "mod" or operands[:1] not in (["graph"], ["why"], ["verify"], ["download"]):
            call.here(Kind.WRITE, verb)
    elif verb == "clean":
        call.here(Kind.DELETE, verb)
    elif verb == "tool":
        if operands and operands[0] not in (
            "cover",
            "pprof",
            "trace",
            "nm",
            "objdump",
            "dist",
            "vet",
        ):
            call.unknown()
    elif not output:
        call.here(Kind.UNKNOWN, verb)


def openssl(call: Call) -> None:
    """openssl: `-out`, `-keyout` and the few others that name files to write."""
    outputs = ("-out", "-keyout", "-CAserial", "-writerand", "-sess_out", "-certsout")
    args = call.args
    for index, arg in enumerate(args):
        if arg in outputs:
            call.effect(Kind.WRITE, args[index + 1] if index + 1 < len(args) else UNKNOWN)
    if args[:1] == ["ca"]:
        call.here(Kind.WRITE, "ca")


def gpg(call: Call) -> None:
    """gpg: `-o`, or a file beside the input."""
    takes = ("-o", "--output", "-r", "--recipient", "-u", "--local-user", "--passphrase",
             "--homedir", "--default-key", "--keyserver", "--batch-size")  # fmt: skip
    flags = ("--list-keys", "--verify", "--list-secret-keys", "--fingerprint", "--export",
             "--decrypt", "--detach-sign", "--clearsign", "--clear-sign", "--sign", "--encrypt",
             "--symmetric", "--batch", "--yes", "--armor", "--import", "--delete-keys")  # fmt: skip
    parsed = call.parse(takes, flags)
    outputs = parsed.values("-o", "--output")
    if outputs:
        call.effects(Kind.WRITE, outputs)
        return
    suffix = next(
        (suffix for option, suffix in (("-c", ".gpg"), ("--symmetric", ".gpg"), ("-e", ".gpg"),
         ("--encrypt", ".gpg"), ("-b", ".sig"), ("--detach-sign", ".sig"),
         ("--clearsign", ".asc"), ("--clear-sign", ".asc"), ("-s", ".gpg"), ("--sign", ".gpg"))
         if parsed.has(option)), "",
    )  # fmt: skip
    if suffix:
        suffix = ".asc" if parsed.has("-a", "--armor") else suffix
        call.effects(Kind.WRITE, [file + suffix for file in parsed.operands])
    elif parsed.has("--import", "--delete-keys", "--gen-key", "--full-generate-key"):
        call.effect(Kind.WRITE, UNKNOWN)
    elif parsed.operands and not any(parsed.has(flag) for flag in (*flags[:6], "-d", "-k", "-K")):
        call.effects(Kind.WRITE, [re.sub(r"\.(gpg|asc|pgp)$", "", f) for f in parsed.operands])


def protoc(call: Call) -> None:
    """protoc and buf: `--LANG_out=DIR`."""
    for arg in call.args:
        match = re.fullmatch(r"--\w+_out=(?:[^:]*:)?(.+)", arg)
        if match:
            call.effect(Kind.WRITE, match[1], certain=False)
        elif arg.startswith(("--descriptor_set_out=", "-o")):
            call.effect(Kind.WRITE, arg.removeprefix("--descriptor_set_out=").removeprefix("-o"))


def converter(call: Call) -> None:
    """ImageMagick, ffmpeg, sox: the last operand is written."""
    words = [arg for arg in call.args if arg != "--"]
    if not words or (words[-1].startswith("-") and len(words[-1]) > 1) or len(words) < 2:
        return
    if call.name in ("ffmpeg",) and words[-2:-1] == ["-i"]:
        return  # only an input: ffmpeg shows what is in it
    if words[-1] in ("null:", "info:", "txt:-", "png:-") or words[-1].endswith(":-"):
        return
    call.effect(Kind.WRITE, re.sub(r"%0?\d*d", "\1", words[-1]))


def exif(call: Call) -> None:
    """exiftool: `-TAG=VALUE` changes the files."""
    writes = any(
        re.match(r"-[\w:.+-]+[<=]", arg) or arg.startswith("-overwrite") for arg in call.args
    )
    if writes or any(arg in ("-tagsFromFile", "-restore_original") for arg in call.args):
        call.effects(Kind.WRITE, [arg for arg in call.args if not arg.startswith("-")])


def ast_grep(call: Call) -> None:
    """ast-grep: `-U` and `-i` rewrite what matches."""
    takes = ("-p", "--pattern", "-r", "--rewrite", "-l", "--lang", "--rule", "-c", "--config",
             "--selector", "--inline-rules", "--globs", "-A", "-B", "-C", "-j")  # fmt: skip
    parsed = call.parse(takes, ("--update-all", "--interactive"))
    if parsed.has("-U", "--update-all", "-i", "--interactive"):
        operands = [op for op in parsed.operands if op not in ("run", "scan")]
        call.effects(Kind.WRITE, operands, certain=False) if operands else call.here(
            Kind.WRITE, "-U"
        )


def test_runner(call: Call) -> None:
    """pytest, jest and the like create caches; with an update flag they rewrite snapshots."""
    updates = ("--snapshot-update", "--inline-snapshot=fix", "--inline-snapshot=create",
               "--force-regen", "--regen-all", "--update-goldens", "--update-snapshots",
               "--updateSnapshot", "--update", "--accept", "--approve")  # fmt: skip
    short = call.name not in ("pytest", "py.test", "unittest", "phpunit", "go")
    if any(arg in updates or (short and arg == "-u") for arg in call.args):
        call.here(Kind.WRITE, "update")
        return
    for path in call.parse(
        ("-o", "--outputFile", "--junitxml", "--junit-xml", "--resultlog")
    ).values("--outputFile", "--junitxml", "--junit-xml", "--resultlog"):
        call.effect(Kind.WRITE, path)
    for arg in call.args:
        match = re.fullmatch(
            r"--(?:html|cov-report)=(?:(?:xml|html|json|lcov|annotate):)?(.+[./].+)", arg
        )
        if match:
            call.effect(Kind.WRITE, match[1], certain=False)
    call.effect(Kind.CREATE, UNKNOWN)


def build_with_goals(call: Call) -> None:
    """mvn, gradle and other task runners: unknown code in the working directory."""
    takes = ("-f", "--file", "-p", "--project-dir", "-pl", "-P", "-D", "-b", "-C", "--cwd", "-d",
             "--dir", "--directory", "-t", "--taskfile", "-w", "--working-directory")  # fmt: skip
    parsed = call.parse(takes, ("--dry-run", "--list", "--version", "--help", "--summary"))
    if parsed.has("--dry-run", "--list", "--version", "--help", "--summary", "--show", "-T"):
        return
    words = parsed.operands
    if words and all(
        re.fullmatch(
            r"(?:.*:)?(?:help|tasks|projects|dependencies|properties|tree|effective-pom|query|cquery|aquery|info|version|list|graph|show|explain|doctor)",
            w,
        )
        for w in words
    ):
        return
    places = parsed.values("-p", "--project-dir", "-C", "--cwd", "--dir", "--directory")
    with call.walk.working_in([p for p in places if p != UNKNOWN]):
        if any(re.search(r"clean", word) for word in words):
            call.here(Kind.DELETE, " ".join(words))
        call.here(Kind.UNKNOWN, " ".join(words[:3]))


_PACKAGE_QUERIES = words(
    """
    list show search info policy depends rdepends query deps leaves outdated doctor config cat
    home log madison help status changelog desc uses options repolist check-update provides
    whatprovides history version
    """
)


def system_package(call: Call) -> None:
    """apt, brew and the like: installing runs code as root, but in no project."""
    flags = ("--dry-run", "--simulate", "--list", "--status", "--install")
    parsed = call.parse(("-o", "-c", "-t", "-a", "--root"), flags)
    verbs = parsed.operands
    if not call.args or (verbs and verbs[0] in _PACKAGE_QUERIES):
        return
    if call.name == "pacman":
        reads = parsed.has("-Q", "-s", "-F") and not parsed.has("-R", "-U")
    elif call.name in ("dpkg", "rpm"):
        reads = not parsed.has("-i", "-U", "-e", "-r", "-P", "-F", "--install", "--purge")
    else:
        reads = parsed.has("-s", "-l", "-L", "--dry-run", "--simulate", "--list", "--version")
    if not reads:
        call.walk.unknown((call.name, *verbs[:2]))
