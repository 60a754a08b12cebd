"""Single tools with rules of their own: databases, make, compilers, Go, crypto."""

from __future__ import annotations

import re

from ..apply import looks_like_path
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


_SQL_LITERAL = re.compile(r"'(?:[^']|'')*'")
_SQL_FILE = (
    re.compile(  # duckdb's `COPY … TO 'FILE'`, sqlite's `writefile('FILE', …)`, `VACUUM INTO`
        r"(?i)\bto\s+'([^']{1,400})'|\bwritefile\s*\(\s*'([^']{1,400})'|\binto\s+'([^']{1,400})'"
    )
)
_DOT_OUTPUT = re.compile(r"(?m)^\s*\.(?:output|once|save|backup|log|trace|excel|archive)\s+(\S+)")
_DOT_SHELL = re.compile(r"(?m)^\s*\.(?:shell|system)\s+(\S.*)$")
_PSQL_SHELL = re.compile(
    r"(?m)\\!\s*(\S.*)$|\\(?:o|out|w|write)\s+(\S+)|\\copy\b.{1,400}?\bto\s+'?([^\s']+)"
)


def sql_client(call: Call) -> None:
    """psql and mysql: the server is elsewhere; `-o`, `\\o`, `\\!` and `\\copy … to` are here."""
    takes = ("-c", "-d", "-h", "-p", "-U", "-u", "-f", "-e", "-v", "-D", "-P", "-N", "-B", "-o",
             "-L", "--output", "--log-file", "--tee", "--command", "--execute", "--file",
             "--dbname", "--host", "--username", "--user", "--set", "--variable")  # fmt: skip
    if call.name == "psql":
        parsed = call.parse(takes)
    else:
        parsed = call.parse([name for name in takes if name not in ("-p", "-N", "-B", "-v", "-L")])
    for path in parsed.values("-o", "--output", "-L", "--log-file", "--tee"):
        call.effect(Kind.WRITE, path)
    texts = [*parsed.values("-c", "--command", "-e", "--execute"), call.stdin or ""]
    for match in _PSQL_SHELL.finditer("\n".join(texts)[:MAX_CODE]):
        shell, output, copied = match.groups()
        if shell or (output or "").startswith("|"):
            call.shell(shell or output[1:])
        elif (output or copied).lower() not in ("stdout", "pstdout"):
            call.effect(Kind.WRITE, output or copied, certain=False)


def debugger(call: Call) -> None:
    """gdb and lldb: they run the program they are given, and commands of a shell."""
    parsed = call.parse(("-p", "-ex", "-x", "-o", "-s", "--pid", "--command", "--eval-command",
                         "-iex", "-c", "--core"), style="single")  # fmt: skip
    for text in parsed.values("-ex", "-iex", "-eval-command", "-o"):
        match = re.match(r"\s*(?:shell|!|platform shell|make)\s*(.*)", text)
        if match:
            call.shell(match[1])
        elif re.match(
            r"\s*(?:python|script|source|dump|gcore|generate-core|call|print\s+\w+\()", text
        ):
            call.unknown(text)
    if parsed.has("-x", "-command", "-s") or parsed.operands:
        call.unknown("the program")


def package_script(call: Call) -> None:
    """`npm run`: alone it lists the scripts there are."""
    if call.parse(("--prefix", "-w", "--workspace")).operands:
        call.here(Kind.UNKNOWN)


def cmake(call: Call) -> None:
    """cmake: configures into `-B`, builds there, installs below a prefix; `-E` is a toolbox."""
    if call.args[:1] == ["-E"]:
        _cmake_tool(call)
        return
    parsed = call.parse(("-B", "-S", "-G", "-D", "-C", "-P", "-T", "-A", "--preset", "--build",
                         "--install", "--prefix", "--config", "--target", "-t", "-j", "--parallel",
                         "--component"), ("--version", "--help"))  # fmt: skip
    if parsed.has("--version", "--help"):
        return
    if parsed.has("--install"):
        prefixes = parsed.values("--prefix")
        call.effects(Kind.WRITE, prefixes or [UNKNOWN], certain=False)
        call.here(Kind.WRITE, "--install")
    elif parsed.has("--build"):
        call.effects(Kind.UNKNOWN, parsed.values("--build"), certain=False)
        call.here(Kind.UNKNOWN, "--build")
    elif parsed.has("-P"):
        call.unknown("-P")
    else:
        call.effects(Kind.WRITE, parsed.values("-B") or ["."], certain=False)


_CMAKE_TOOLS = {
    "rm": "rm", "remove": "rm -f", "remove_directory": "rm -r", "copy": "cp",
    "copy_directory": "cp -r", "rename": "mv", "touch": "touch", "make_directory": "mkdir",
    "tar": "tar", "create_symlink": "ln -sf", "copy_if_different": "cp", "time": "env",
    "env": "env",
}  # fmt: skip


_CMAKE_READS = words(
    "echo cat compare_files capabilities sleep md5sum sha1sum sha256sum sha512sum environment help"
    " true false"
)


def _cmake_tool(call: Call) -> None:
    verb, *rest = call.args[1:] or ["help"]
    if verb in _CMAKE_TOOLS:
        call.run([*_CMAKE_TOOLS[verb].split(), *rest])
    elif verb == "chdir" and len(rest) > 1:
        with call.walk.working_in(rest[:1]):
            call.run(rest[1:])
    elif verb not in _CMAKE_READS:
        call.unknown(verb)


def package_file(call: Call) -> None:
    """dpkg-deb, and dpkg in its place: `-x` and `-e` unpack, `-b` writes a package."""
    parsed = call.parse((), ("--extract", "--build", "--vextract", "--raw-extract", "--control"))
    operands = parsed.operands
    if parsed.has("-x", "-X", "-R", "--extract", "--vextract", "--raw-extract", "-e", "--control"):
        call.effects(Kind.WRITE, operands[1:2] or ["DEBIAN"])
    elif parsed.has("-b", "--build"):
        package = operands[0].rstrip("/") + ".deb" if operands else UNKNOWN
        call.effects(Kind.WRITE, operands[1:2] or [package])


def sqlite(call: Call) -> None:
    """sqlite3 and duckdb: the database changes unless the SQL only reads."""
    parsed = call.parse(
        ("-cmd", "-init", "-separator", "-nullvalue", "-vfs", "-newline", "-c", "-s"),
        ("-readonly", "--readonly", "-version", "-help", "-json", "-csv", "-header", "-column",
         "-line", "-list", "-html", "-box", "-markdown", "-batch", "-table", "-noheader", "-bail"),
    )  # fmt: skip
    if parsed.has("-version", "-help") or not (parsed.operands or parsed.options):
        return
    database, *statements = parsed.operands or [":memory:"]
    statements += parsed.values("-cmd", "-c", "-s")
    if not statements and call.stdin is not None:
        statements = [call.stdin]
    text = "\n".join(statements)
    if len(text) > MAX_CODE:
        call.effect(Kind.WRITE, database, certain=False)
        return
    for match in _DOT_OUTPUT.finditer(text):
        path = match[1].strip("'\"")
        if path.startswith("|"):
            call.unknown("a pipe")
        elif path not in ("off", "stdout", "stderr"):
            call.effect(Kind.WRITE, path, certain=False)
    for match in _DOT_SHELL.finditer(text):
        call.shell(match[1])
    for match in _SQL_FILE.finditer(text):
        call.effect(Kind.WRITE, match[1] or match[2] or match[3], certain=False)
    if re.search(r"(?i)\bwritefile\s*\((?!\s*')|\bedit\s*\(", text):
        call.unknown("writefile")
    if not statements or database == ":memory:":
        return
    bare = _SQL_LITERAL.sub("''", text)
    if _SQL_READS.match(bare) and not _SQL_WRITES.search(bare):
        if not parsed.has("-readonly", "--readonly"):
            call.effect(Kind.CREATE, database)  # opening a database that is not there makes one
    elif not parsed.has("-readonly", "--readonly"):
        call.effect(Kind.WRITE, database, certain=UNKNOWN not in text)


def make(call: Call) -> None:
    """make: recipes are unknown code; the directory they work in is known."""
    parsed = call.parse(
        _MAKE_TAKES, ("--dry-run", "--just-print", "--recon", "--question", "--version", "--help")
    )
    if parsed.has("-n", "--dry-run", "--just-print", "--recon", "-q", "--question", "-v",
                  "--version", "--help"):  # fmt: skip
        told = parsed.has("--eval") or "-" in parsed.values("-f", "--file", "--makefile")
        if not told or parsed.has("-v", "--version", "--help"):
            return  # else `$(shell …)` and `+` lines of a makefile in the text itself still run
    goals = [operand for operand in parsed.operands if "=" not in operand]
    destructive = any(re.search(r"clean|reset|purge|distclean", goal) for goal in goals)
    with call.walk.working_in(parsed.values("-C", "--directory")):
        if destructive:
            call.here(Kind.DELETE, " ".join(goals))
        call.here(Kind.UNKNOWN, " ".join(goals) or "the first target")


def compiler(call: Call) -> None:
    """gcc and its kin: `-o`, else a.out or an object beside each source."""
    parsed = call.parse(
        _COMPILERS_TAKE, ("-E", "-c", "-S", "-M", "-MM", "-MD", "-MMD", "-MP", "-fsyntax-only")
    )
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


def rust(call: Call) -> None:
    """rustc: `-o`, or a program beside, named as its source."""
    parsed = call.parse(("-o", "--out-dir", "-C", "-L", "-l", "--crate-type", "--crate-name",
                         "--edition", "--emit", "--cfg", "--target", "--extern", "-A", "-W"),
                        ("--version", "--print", "--explain", "--help"))  # fmt: skip
    if parsed.has("--version", "-V", "--print", "--explain", "--help") or not parsed.operands:
        return
    outputs = parsed.values("-o", "--out-dir")
    stem = parsed.operands[0].rpartition("/")[2].removesuffix(".rs")
    names = parsed.values("--crate-name") or [stem]
    call.effects(Kind.WRITE, outputs or names, certain=bool(outputs))
    if not outputs:
        call.here(Kind.WRITE)


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
        _go_module(call, verb, operands)
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


def _go_module(call: Call, verb: str, operands: list[str]) -> None:
    """The verbs that change the module: its files are named beside its directory."""
    if verb == "mod" and operands[:1] in (["graph"], ["why"], ["verify"], ["download"]):
        return
    if operands[:2] == ["work", "sync"] or verb == "work":
        call.effects(Kind.WRITE, ["go.work", "go.work.sum"], certain=False)
    elif verb in ("get", "mod"):
        call.effects(Kind.WRITE, ["go.mod", "go.sum"], certain=False)
        if operands[:1] == ["vendor"]:
            call.effect(Kind.WRITE, "vendor", certain=False)
    elif verb in ("fmt", "fix"):
        paths = [path for path in operands if looks_like_path(path) and "..." not in path]
        call.effects(Kind.WRITE, paths, certain=False) if paths else None
    call.here(Kind.WRITE, verb)


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


_FFMPEG_FLAGS = words("-y -n -an -vn -sn -dn -shortest -hide_banner -nostdin -nostats -stats -re")
_MAGICK_FLAGS = words(
    """
    -strip -flip -flop -trim -negate -normalize -monochrome +repage -auto-orient -append +append
    -coalesce -flatten -transpose -transverse -equalize -enhance -verbose -quiet -mosaic +profile
    -auto-level -auto-gamma -despeckle -contrast +contrast -magnify -ping -dither +dither +matte
    -clone +clone -delete ( ) +swap -alpha_off -composite -autoscale -layers_off -regard-warnings
    """
)
_LAST_FLAGS = words(
    "-v -q -V -h --quiet --verbose --norm -S -T -G -m --ignore-length -lossless -y -n"
)


def converter(call: Call) -> None:
    """ImageMagick, ffmpeg, sox and their kin: the last operand is written.

    When an option follows it, which of the words are operands is a guess: then every word that
    looks like a path and is no input may be the output.
    """
    args = [arg for arg in call.args if arg != "--"]
    if call.name in ("magick", "gm") and args[:1] in (["identify"], ["compare"]):
        return
    flags = _FFMPEG_FLAGS if call.name in ("ffmpeg", "avconv") else _MAGICK_FLAGS | _LAST_FLAGS
    inputs, operands, at = 0, [], 0
    while at < len(args):
        arg = args[at]
        at += 1
        if arg == "-i" and call.name in ("ffmpeg", "avconv"):
            inputs, at = inputs + 1, at + 1
        elif arg[:1] in ("-", "+") and len(arg) > 1 and not re.match(r"-?\d", arg[1:]):
            at += arg not in flags and "=" not in arg and at < len(args)
        else:
            operands.append(arg)
    for name in ("-o", "--output", "-b_output"):
        call.effects(Kind.WRITE, given) if (given := call.parse((name,)).values(name)) else None
    if call.name in ("ffmpeg", "avconv"):
        for output in operands or []:
            _converted(call, output, certain=output == args[-1])
        return
    _last_word(call, args, operands)


def _last_word(call: Call, args: list[str], operands: list[str]) -> None:
    if len(args) < 2:
        return
    trailing = call.name == "sox" and not looks_like_path(args[-1])  # `trim 0 10`
    if not trailing and (args[-1][:1] != "-" or args[-1] == "-"):
        _converted(call, args[-1], certain=True)
        return
    outputs = [operand for operand in operands[1:] if looks_like_path(operand)]
    for output in outputs[-1:]:
        _converted(call, output, certain=False)


def _converted(call: Call, output: str, *, certain: bool) -> None:
    if output in ("null:", "info:", "txt:-", "png:-", "/dev/null") or output.endswith(":-"):
        return
    if output.startswith("pipe:"):
        return
    call.effect(Kind.WRITE, re.sub(r"%0?\d*d", "\1", output), certain=certain)


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
    if call.name == "dpkg" and any(
        re.match(r"-[xXbeRI]$|--(?:extract|build)$", a) for a in call.args
    ):
        package_file(call)
        return
    flags = ("--dry-run", "--simulate", "--list", "--status", "--install")
    parsed = call.parse(("-o", "-c", "-t", "-a", "--root"), flags)
    if call.name == "brew" and not parsed.operands:
        return  # --prefix, --cellar, --repository, --version
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
