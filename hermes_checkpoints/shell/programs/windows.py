"""PowerShell and cmd.exe: their verbs, as a command line of their own or of a POSIX shell."""

from __future__ import annotations

import re

from ..arguments import STAR, UNKNOWN, source, words
from ..call import MAX_CODE, Call
from ..effects import Kind

_CMDLETS = {
    "remove-item": (Kind.DELETE, "all"), "ri": (Kind.DELETE, "all"), "rm": (Kind.DELETE, "all"),
    "del": (Kind.DELETE, "all"), "erase": (Kind.DELETE, "all"), "rd": (Kind.DELETE, "all"),
    "rmdir": (Kind.DELETE, "all"), "clear-content": (Kind.WRITE, "first"),
    "clc": (Kind.WRITE, "first"), "clear-item": (Kind.WRITE, "first"),
    "move-item": (Kind.MOVE, "all"), "mi": (Kind.MOVE, "all"), "mv": (Kind.MOVE, "all"),
    "move": (Kind.MOVE, "all"), "rename-item": (Kind.MOVE, "all"), "rni": (Kind.MOVE, "all"),
    "ren": (Kind.MOVE, "all"), "rename": (Kind.MOVE, "all"), "copy-item": (Kind.WRITE, "last"),
    "cpi": (Kind.WRITE, "last"), "cp": (Kind.WRITE, "last"), "copy": (Kind.WRITE, "last"),
    "set-content": (Kind.WRITE, "first"), "sc": (Kind.WRITE, "first"),
    "add-content": (Kind.APPEND, "first"), "ac": (Kind.APPEND, "first"),
    "out-file": (Kind.WRITE, "first"), "tee-object": (Kind.WRITE, "first"),
    "tee": (Kind.WRITE, "first"), "new-item": (Kind.CREATE, "first"), "ni": (Kind.CREATE, "first"),
    "mkdir": (Kind.CREATE, "all"), "md": (Kind.CREATE, "all"), "mklink": (Kind.CREATE, "first"),
    "expand-archive": (Kind.WRITE, "last"), "compress-archive": (Kind.WRITE, "last"),
    "set-itemproperty": (Kind.MODE, "first"), "attrib": (Kind.MODE, "all"),
    "icacls": (Kind.MODE, "first"), "cacls": (Kind.MODE, "first"), "takeown": (Kind.MODE, "all"),
    "set-acl": (Kind.MODE, "first"), "xcopy": (Kind.WRITE, "last"),
    "robocopy": (Kind.WRITE, "second"), "export-csv": (Kind.WRITE, "first"),
    "export-clixml": (Kind.WRITE, "first"), "export-csv:": (Kind.WRITE, "first"),
    "start-transcript": (Kind.WRITE, "first"), "unblock-file": (Kind.MODE, "first"),
    "format": (Kind.WRITE, "all"), "format-volume": (Kind.WRITE, "all"),
}  # fmt: skip
_READS = words(
    """
    get-childitem gci ls dir get-content gc cat type select-string sls findstr find where-object
    where ? foreach-object % foreach select-object select sort-object sort measure-object
    measure format-table ft format-list fl format-wide fw write-output write write-host echo
    write-error test-path resolve-path rvpa split-path join-path get-item gi get-location gl pwd
    get-process gps ps get-service get-command gcm get-help help get-date get-host get-member gm
    get-variable convertto-json convertfrom-json convertto-csv convertfrom-csv import-csv
    import-clixml out-string out-null out-host out-default group-object group compare-object
    diff tree ver set vol more fc comp whoami hostname ipconfig ping tasklist systeminfo
    get-filehash get-psdrive get-acl invoke-restmethod irm test-connection start-sleep sleep
    get-unique get-random new-object new-guid set-location sl cd chdir push-location pushd
    pop-location popd set-strictmode set-variable sv rem cls clear clear-host if exit return
    get-alias prompt title color path date time assoc ftype setlocal endlocal get-computerinfo
    get-wmiobject get-ciminstance stop-process kill taskkill get-eventlog get-itemproperty
    get-package where.exe read-host true false
    """
)
_PATH_PARAMETERS = frozenset(
    ("-path", "-literalpath", "-filepath", "-destination", "-destinationpath", "-outfile",
     "-lp", "-newname", "-name", "-pspath")
)  # fmt: skip
_VALUE_PARAMETERS = frozenset(
    ("-value", "-encoding", "-itemtype", "-type", "-filter", "-include", "-exclude", "-delimiter",
     "-erroraction", "-ea", "-width", "-inputobject", "-stream", "-credential", "-target",
     "-compressionlevel", "-depth", "-property", "-uri", "-method", "-body", "-headers")
)  # fmt: skip
_SHELL_PARAMETERS = frozenset(  # of powershell itself, those with a value
    ("-executionpolicy", "-ep", "-ex", "-version", "-workingdirectory", "-wd", "-windowstyle", "-w",
     "-inputformat", "-outputformat", "-configurationname")
)  # fmt: skip
_PIECE = re.compile(
    r"'([^']*)'|\"((?:[^\"`]|`.)*)\"|(\$\([^)]*\)|\$[\w:]+)|([^\s'\"|;&{}()<>$]+)|(\|\||&&|[|;&{}()\n])|(\d?>>?(?:&\d)?)"
)
_ENCODED = re.compile(r"(?i)[-/]e(?:nc?|nco.*|ncodedcommand)?$")
_CODE = re.compile(
    r"(?i)\b(?:invoke-expression|iex|start-process|saps|invoke-command|icm)\b|\[(?:System\.)?IO\.\w+\]::"
)


def powershell(call: Call) -> None:
    """powershell and pwsh: `-Command TEXT`, `-File`, `-EncodedCommand`."""
    words: list[str] = []
    at = 0
    while at < len(call.args):
        arg = call.args[at]
        low = arg.lower()
        if _ENCODED.match(arg):
            call.unknown("-EncodedCommand")
            return
        if low in ("-file", "-f"):
            call.unknown("a script")
            return
        if low in ("-command", "-c", "/c", "-commandwithargs"):
            words = call.args[at + 1 :]
            break
        if low in _SHELL_PARAMETERS:
            at += 2
            continue
        if not arg.startswith("-"):
            words = call.args[at:]
            break
        at += 1
    if words == ["-"] or (not words and call.stdin):
        words = [call.stdin or UNKNOWN]
    if len(words) == 1 and re.search(r"(?i)^[^\s]+\.ps1$", words[0]):
        call.unknown("a script")
    elif words:
        _statements(call, " ".join(map(source, words)))


def cmd(call: Call) -> None:
    """cmd.exe: `/c TEXT`."""
    for index, arg in enumerate(call.args):
        if re.fullmatch(r"(?i)/[ckr]", arg):
            _statements(call, " ".join(map(source, call.args[index + 1 :])).strip('"'))
            return
        if re.match(r"(?i)/[ckr]\S", arg):
            _statements(call, " ".join(map(source, [arg[2:], *call.args[index + 1 :]])))
            return
    if call.stdin:
        _statements(call, call.stdin)


def verb(call: Call) -> None:
    """A PowerShell or cmd verb typed as the command itself."""
    with call.walk.located(list(call.walk.listed)):
        _command(call, call.name.lower(), call.args, piped=call.stdin is not None)


def _statements(call: Call, text: str) -> None:
    """Take PowerShell or cmd text apart into commands and redirections."""
    words: list[str] = []
    redirect = ""
    piped = False
    if len(text) > MAX_CODE:
        call.unknown("a long script")
        return
    if _CODE.search(text):
        call.unknown("code that runs code")
    for match in _PIECE.finditer(text):
        single, double, variable, bare, separator, arrow = match.groups()
        if separator is not None:
            if words:
                _command(call, words[0].lower(), words[1:], piped=piped)
            words, piped = [], separator == "|"
            continue
        if arrow is not None:
            redirect = "" if "&" in arrow else arrow.lstrip("0123456789")
            continue
        word = next((w for w in (single, double, bare) if w is not None), UNKNOWN)
        if variable is not None or (double is not None and "$" in double):
            word = re.sub(r"\$\{?[\w:]+\}?|\$\([^)]*\)", UNKNOWN, word)
        if redirect:
            kind = Kind.APPEND if redirect == ">>" else Kind.WRITE
            call.effect(kind, _path(word))
            redirect = ""
        else:
            words.append(word)
    if words:
        _command(call, words[0].lower(), words[1:], piped=piped)


def _command(call: Call, name: str, args: list[str], *, piped: bool = False) -> None:
    name = name.removesuffix(".exe")
    lowered = [arg.lower() for arg in args]
    if "-whatif" in lowered or "/?" in args or "-?" in args:
        return
    if name in ("invoke-webrequest", "iwr", "wget", "curl", "start-bitstransfer") and (
        "-outfile" in lowered or "-destination" in lowered or "-o" in lowered
    ):
        option = next(o for o in ("-outfile", "-destination", "-o") if o in lowered)
        call.effects(Kind.WRITE, list(map(_path, args[lowered.index(option) + 1 :][:1])))
        return
    if name in ("set-location", "sl", "cd", "chdir", "push-location", "pushd"):
        operands = _operands(name, [arg for arg in args if arg.lower() != "/d"])
        if operands:
            call.walk.state.places = call.walk.moved(operands[-1])
        return
    if name in _CMDLETS:
        kind, where = _CMDLETS[name]
        if name in ("new-item", "ni") and "-force" in lowered:
            kind = Kind.WRITE
        operands = _operands(name, args)
        if where == "first":
            operands = operands[:1]
        elif where == "last":
            operands = operands[-1:]
        elif where == "second":
            operands = operands[1:2]
        if not operands and not piped and not args:
            return
        call.effects(kind, operands)
    elif (
        name not in _READS
        and name[:1] not in ("$", "\0", "-", "[", "@", "%", "?", "'")
        and not (
            name.startswith(
                ("get-", "test-", "select-", "format-", "measure-", "convert", "write-")
            )
            or re.fullmatch(r"[\d.]+", name)
        )
    ):
        call.walk.run([name, *args], stdin="")


def _operands(name: str, args: list[str]) -> list[str]:
    """The paths among a cmdlet's arguments."""
    found: list[str] = []
    at = 0
    while at < len(args):
        arg = args[at]
        low = arg.lower()
        at += 1
        if low in _PATH_PARAMETERS and at < len(args):
            found += args[at].split(",")
            at += 1
        elif low in _VALUE_PARAMETERS:
            at += 1
        elif (
            low.startswith("-")
            or re.fullmatch(r"/[a-z?][\w:+-]*", low)
            or (name == "attrib" and low.startswith(("+", "-")))
        ):
            continue
        else:
            found += arg.split(",") if "," in arg else [arg]
    return [_path(path) for path in found if path]


def _path(text: str) -> str:
    text = text.replace("*", STAR)
    return text if re.match(r"[A-Za-z]:", text) else text.replace("\\", "/")
