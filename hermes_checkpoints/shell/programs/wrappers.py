"""Programs that run other programs: sudo, env, xargs, find, watch, terminals, schedulers."""

from __future__ import annotations

import re

from ..arguments import UNKNOWN, source, words
from ..call import Call
from ..effects import Kind

_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_FIND_VALUES = words(
    """
    -name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -size -mtime
    -mmin -newer -user -group -perm -maxdepth -mindepth -printf -lname -ilname -links -inum
    -samefile -fstype -atime -ctime -amin -cmin -uid -gid -anewer -cnewer -used -context -D
    -newermt -newerct -newerat -newerBt -newermm -files0-from -regextype
    """
)
_FIND_RUNS = ("-exec", "-execdir", "-ok", "-okdir")


def sudo(call: Call) -> None:
    """sudo and doas: the rest is the command, after assignments."""
    parsed = call.parse(
        ("-u", "-g", "-C", "-D", "-h", "-p", "-R", "-r", "-t", "-T", "-U", "-a", "-c", "--user",
         "--group", "--chdir", "--host", "--prompt", "--chroot", "--role", "--type", "--close-from",
         "--command-timeout", "--other-user"),
        ("-l", "-v", "-k", "-K", "-e", "--list", "--validate", "--edit"),
        style="first",
    )  # fmt: skip
    if parsed.has("-e", "--edit"):
        call.effects(Kind.WRITE, parsed.operands)
        return
    rest = parsed.operands
    while rest and _ASSIGNED.match(rest[0]):
        rest = rest[1:]
    if not rest or parsed.has("-l", "--list"):
        return
    with call.walk.working_in(parsed.values("-D", "--chdir")):
        call.run(rest)


def env(call: Call) -> None:
    """env: assignments, a directory, a string to split, then the command."""
    parsed = call.parse(
        ("-u", "--unset", "-C", "--chdir", "-S", "--split-string", "-P"), (), style="first"
    )
    rest = parsed.operands
    with call.walk.working_in(parsed.values("-C", "--chdir")):
        split = parsed.values("-S", "--split-string")
        if split:
            call.shell(" ".join(map(source, [*split, *rest])))
            return
        while rest and (_ASSIGNED.match(rest[0]) or rest[0] == "-"):
            rest = rest[1:]
        if rest:
            call.run(rest)


def substitute_user(call: Call) -> None:
    """su and runuser: `-c` has shell text, runuser also takes a command."""
    takes = ("-c", "--command", "-s", "--shell", "-u", "--user", "-g", "--group", "-G", "-w")
    parsed = call.parse(takes)
    for text in parsed.values("-c", "--command", "--session-command"):
        call.shell(source(text))
    if call.name == "runuser" and not parsed.has("-c", "--command"):
        rest = call.parse(takes, style="first").operands
        if parsed.has("-u", "--user") and rest:
            call.run(rest)
    elif not parsed.has("-c", "--command") and call.stdin is not None:
        call.shell(call.stdin)


def command_builtin(call: Call) -> None:
    """`command NAME …`, but `command -v NAME` only looks it up."""
    rest = call.args
    while rest and rest[0].startswith("-"):
        if "v" in rest[0].lower():
            return
        rest = rest[1:]
    if rest:
        call.run(rest)


def execute(call: Call) -> None:
    """`exec [-a NAME] COMMAND`."""
    rest = call.parse(("-a",), style="first").operands
    if rest:
        call.run(rest)


def with_items(call: Call, template: list[str], places: list[str]) -> None:
    """Run a command on items that are not known beyond where they come from."""
    if not template:
        return
    item = UNKNOWN
    filled = [arg.replace("{}", item) if "{}" in arg else arg for arg in template]
    if filled == template:
        filled.append(item)
    with call.walk.located(places):
        call.run(filled, stdin="")


def xargs(call: Call) -> None:
    """xargs: a command on items from standard input."""
    takes = ("-I", "-n", "-P", "-L", "-d", "-a", "-E", "-s", "-J", "-R", "-S", "--arg-file",
             "--max-args", "--max-procs", "--delimiter", "--max-lines", "--max-chars",
             "--process-slot-var")  # fmt: skip
    parsed = call.parse(takes, ("-i", "--replace"), style="first")
    if not parsed.operands:
        return
    template = list(parsed.operands)
    marks = [m for m in parsed.values("-I", "-J", "--replace") if m and m != UNKNOWN]
    for mark in marks:
        template = [arg.replace(mark, "{}") for arg in template]
    lines = parsed.has("-0", "--null") or parsed.values("-d", "--delimiter") == ["\\n"]
    items = _known_items(call.stdin, lines=lines)
    if items is not None and not marks and not parsed.has("-a", "--arg-file"):
        call.run(template + items, stdin="")
    else:
        with_items(call, template, list(call.walk.listed))


def _known_items(stdin: str | None, *, lines: bool) -> list[str] | None:
    """The items on standard input, by words or by lines (`-0`: see `builtin.formatted`)."""
    if stdin is None or UNKNOWN in stdin or len(stdin) > 10_000:
        return None
    if lines:
        return [line for line in stdin.split("\n") if line]
    return None if re.search(r"['\"\\]", stdin) else stdin.split()


def parallel(call: Call) -> None:
    """GNU parallel: `parallel COMMAND ::: ITEM…`, or items on standard input."""
    takes = ("-j", "--jobs", "-N", "-n", "-I", "-a", "--arg-file", "--colsep", "-d", "--delimiter",
             "--results", "--joblog", "--timeout", "--tmpdir", "--load", "--delay", "--retries",
             "-P", "--max-procs", "-L", "--wd", "--workdir")  # fmt: skip
    parsed = call.parse(takes, style="first")
    for path in parsed.values("--joblog", "--results"):
        call.effect(Kind.WRITE, path)
    rest, items = parsed.operands, []
    for mark in (":::", ":::+", "::::"):
        if mark in rest:
            at = rest.index(mark)
            items = [item for item in rest[at + 1 :] if not item.startswith(":::")]
            rest = rest[:at]
            if mark == "::::":
                items = [UNKNOWN]
    if not rest:
        for text in items or [UNKNOWN if call.stdin is None else call.stdin]:
            call.shell(source(text))
        return
    known = _known_items(call.stdin, lines=True) if not items else None
    listed = [] if items or known else list(call.walk.listed)
    for item in items[:32] or (known or [])[:32] or listed or [UNKNOWN]:
        filled = [arg.replace("{}", item) for arg in rest]
        if filled == rest and not re.search(r"\{[^}]*\}", " ".join(rest)):
            filled.append(item)
        filled = [re.sub(r"\{[./#%0-9]+\}", UNKNOWN, arg) for arg in filled]
        call.shell(" ".join(arg if " " in arg else call.walk.requoted(arg) for arg in filled))


def find(call: Call) -> None:
    """find: `-delete`, `-fprint` and commands per match."""
    args = call.args
    at = 0
    while at < len(args) and args[at] in ("-H", "-L", "-P"):
        at += 1
    roots: list[str] = []
    while at < len(args) and not args[at].startswith(("-", "(", "!")):
        roots.append(args[at])
        at += 1
    roots = roots or ["."]
    while at < len(args):
        word = args[at]
        following = args[at + 1] if at + 1 < len(args) else UNKNOWN
        if word in _FIND_VALUES:
            at += 2
            continue
        if word == "-delete":
            for root in roots:
                call.walk.effect(Kind.DELETE, root, ("find", "-delete", root), certain=False)
        elif word in ("-fprint", "-fprint0", "-fls", "-fprintf"):
            call.effect(Kind.WRITE, following)
            at += 2 if word == "-fprintf" else 1
        elif word in _FIND_RUNS:
            at = _find_run(call, at + 1, roots)
        at += 1


def _find_run(call: Call, start: int, roots: list[str]) -> int:
    """Run find's `-exec` command from `start`; the index of the word that ends it."""
    stop = start
    while stop < len(call.args):
        word = call.args[stop]
        if word == ";" or (word == "+" and call.args[stop - 1] == "{}"):
            break
        stop += 1
    template = call.args[start:stop]
    if template and any("{}" in arg for arg in template):
        with_items(call, template, roots)
    elif template:
        call.run(template, stdin="")
    return stop


def fd_find(call: Call) -> None:
    """fd: `-x` and `-X` run a command per match."""
    takes = ("-t", "-e", "-d", "-E", "-j", "-S", "-c", "--type", "--extension", "--max-depth",
             "--exclude", "--search-path", "--base-directory", "--changed-within")  # fmt: skip
    for index, arg in enumerate(call.args):
        if arg in ("-x", "-X", "--exec", "--exec-batch"):
            parsed = Call(call.walk, call.name, call.args[:index]).parse(takes)
            places = parsed.operands[1:] + parsed.values("--search-path", "--base-directory")
            with_items(call, call.args[index + 1 :], places or ["."])
            return


def flock(call: Call) -> None:
    """`flock LOCK COMMAND…` or `flock LOCK -c TEXT`; the lock file is created."""
    parsed = call.parse(("-w", "-E", "--timeout", "--wait", "--conflict-exit-code"), style="first")
    rest = parsed.operands
    if rest and not rest[0].isdigit():
        call.effect(Kind.CREATE, rest[0])
    rest = rest[1:]
    if rest[:1] in (["-c"], ["--command"]):
        call.shell(source(rest[1]) if len(rest) > 1 else UNKNOWN)
    elif rest:
        call.run(rest)


def watch(call: Call) -> None:
    """watch and entr: the words are joined to shell text."""
    takes = ("-n", "-q", "--interval", "--equexit", "-x")
    rest = call.parse(() if call.name == "entr" else takes, style="first").operands
    if len(rest) == 1:
        call.shell(source(rest[0]))
    elif rest:
        call.run(rest, stdin="")


def script(call: Call) -> None:
    """script(1) records a session in a file and runs a command."""
    parsed = call.parse(("-c", "--command", "-I", "-O", "-B", "-T", "-t", "--log-out", "-o"))
    for text in parsed.values("-c", "--command"):
        call.shell(source(text))
    kind = Kind.APPEND if parsed.has("-a", "--append") else Kind.WRITE
    files = parsed.operands[:1] + parsed.values("-O", "-B", "-T", "--log-out")
    call.effects(kind, files or ["typescript"])
    if len(parsed.operands) > 1:
        call.run(parsed.operands[1:])  # BSD: script FILE COMMAND


def terminal(call: Call) -> None:
    """tmux: new windows and sent keys carry shell text."""
    parsed = call.parse(
        ("-t", "-s", "-n", "-c", "-S", "-L", "-f", "-x", "-y", "-F", "-l", "-p", "-e")
    )
    words = parsed.operands
    if not words:
        return
    verb, rest = words[0], words[1:]
    if verb in ("send-keys", "send"):
        for text in rest:
            if UNKNOWN in text or (re.search(r"\s|^\w+$", text) and not _is_key(text)):
                call.shell(source(text))
    elif verb in (
        "new", "new-session", "new-window", "neww", "split-window", "splitw", "respawn-pane",
        "respawn-window", "run-shell", "run", "if-shell", "popup", "display-popup",
    ):  # fmt: skip
        if len(rest) == 1:
            call.shell(source(rest[0]))
        elif rest:
            call.run(rest)


def _is_key(text: str) -> bool:
    return bool(
        re.fullmatch(r"(?:[CMS]-.|Enter|Escape|Space|Tab|Up|Down|Left|Right|BSpace|q|y|n)", text)
    )


def screen(call: Call) -> None:
    """GNU screen: the rest is a command."""
    if any(arg in ("-X", "stuff") for arg in call.args):
        call.unknown()
        return
    if any(arg in ("-ls", "-list", "-r", "-x", "-wipe", "-d") for arg in call.args):
        return
    takes = ("-S", "-t", "-c", "-s", "-e", "-h", "-p", "-T")
    args = [arg for arg in call.args if not re.fullmatch(r"-[dDmqUaAiOL]+", arg)]
    args = ["-S" if re.fullmatch(r"-[dDmqUaAiOL]+S", arg) else arg for arg in args]
    rest = Call(call.walk, call.name, args).parse(takes, style="first").operands
    if rest:
        call.run(rest)


def schedule(call: Call) -> None:
    """at and batch run the text on standard input later."""
    if call.stdin is not None and not any(arg in ("-l", "-r", "-d") for arg in call.args):
        call.shell(call.stdin)
    elif any(arg.startswith("-f") for arg in call.args):
        call.unknown()


def crontab(call: Call) -> None:
    """crontab: anything but `-l` replaces the table, which is in no project."""
    if "-l" not in call.args:
        call.effect(Kind.WRITE, UNKNOWN)


def time_program(call: Call) -> None:
    """time(1): `-o FILE` is written."""
    parsed = call.parse(("-f", "-o", "--format", "--output"), style="first")
    for path in parsed.values("-o", "--output"):
        kind = Kind.APPEND if parsed.has("-a", "--append") else Kind.WRITE
        call.effect(kind, path)
    if parsed.operands:
        call.run(parsed.operands)


def runner(call: Call) -> None:
    """`npx PACKAGE …`, `uvx …`: the program's name may carry a version."""
    takes = ("-p", "--package", "--from", "--with", "--python", "--spec", "-w", "--prefix")
    parsed = call.parse(takes, ("-y", "--yes", "--no-install"), style="first")
    if call.name == "npx" and parsed.has("-c", "--call") and call.args:
        rest = call.parse((*takes, "-c", "--call"), style="first")
        for text in rest.values("-c", "--call"):
            call.shell(source(text))
        return
    words = parsed.operands
    if words:
        head, at, _ = words[0][1:].partition("@")
        name = words[0][:1] + head if at else words[0]
        scope, slash, base = name.partition("/")
        for known in (base, scope[1:]) if slash and scope[:1] == "@" else ():
            if call.walk.rules.find(known) is not None:  # @biomejs/biome, @angular/ng, @sql/cli
                name = known
                break
        call.run([name, *words[1:]])


def mingled(call: Call) -> None:
    """`hyperfine TEXT…`, `concurrently TEXT…`: every operand is shell text."""
    takes = ("-w", "-r", "-m", "-M", "-p", "-c", "-n", "-N", "--warmup", "--runs", "--prepare",
             "--cleanup", "--export-json", "--export-markdown", "--export-csv", "--names",
             "--prefix", "--prefix-colors", "-S", "--shell", "-s", "--setup", "-k")  # fmt: skip
    parsed = call.parse(takes, ("-k",))
    texts = parsed.operands + parsed.values("-p", "--prepare", "-c", "--cleanup", "-s", "--setup")
    if call.name != "hyperfine":
        texts = parsed.operands
    for text in texts:
        call.shell(source(text))
    for path in parsed.values("--export-json", "--export-markdown", "--export-csv"):
        call.effect(Kind.WRITE, path)


def tool_exec(call: Call) -> None:
    """`mise exec TOOL@VERSION -- COMMAND`."""
    if "--" in call.args:
        call.run(call.args[call.args.index("--") + 1 :])
        return
    parsed = call.parse(("-c", "--command", "-j"))
    for text in parsed.values("-c", "--command"):
        call.shell(source(text))
    rest = [word for word in parsed.operands if "@" not in word]
    if rest and not parsed.has("-c", "--command"):
        call.run(rest)


def nix_command(call: Call) -> None:
    """`nix develop -c COMMAND` and `nix shell … -c COMMAND`."""
    for index, arg in enumerate(call.args):
        if arg in ("-c", "--command"):
            call.run(call.args[index + 1 :])
            return
