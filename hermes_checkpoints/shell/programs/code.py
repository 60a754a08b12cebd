"""Code given inline to an interpreter: what it writes, by the names of the calls it makes.

Python is read by its syntax tree (`python_code`); other languages by patterns, since a call looks
much the same in all of them. Everything found is "may", never certain.
"""

from __future__ import annotations

import re

from ..apply import looks_like_path
from ..arguments import STAR, UNKNOWN
from ..call import MAX_CODE, Call
from ..effects import Kind
from .calls import CALLED, reads_only

_WRITES = re.compile(
    r"\b(?:unlink|unlinkSync|rmtree|rmdir|rmdirSync|rmSync|rm_rf|rm_f|rm_r|remove|removeSync|"
    r"remove_file|remove_dir\w*|rename|renameSync|renames|truncate|truncateSync|ftruncate|"
    r"write_text|write_bytes|writeFile|writeFileSync|writeTextFile\w*|writeSync|appendFile\w*|"
    r"copyFile\w*|cpSync|copyfile|copytree|copy2|shutil|symlink\w*|link|mkdir\w*|mkpath|makedirs|"
    r"chmod\w*|chown\w*|utime|touch|file_put_contents|fwrite|fputs|fputcsv|move_uploaded_file|"
    r"FileUtils|Bun\.write|createWriteStream|write\.csv|write\.table|write_csv|saveRDS|save|"
    r"writeLines|sink|file\.(?:remove|rename|copy|create|append)|dir\.create|unzip|untar|"
    r"outputFile\w*|outputJson\w*|writeJson\w*|ensureFile\w*|ensureDir\w*|emptyDir\w*|spit|"
    r"moveSync|extractAllTo|dump)\b\s*[!?]?(?=[\s(\"'.])"
    r"|\bFile\.(?:delete|write|rename|open|rm!?|cp!?|unlink|rm_rf!?|symlink|chmod|truncate|copy)"
    r"|\bFile\.(?:WriteAll\w+|Delete|Move|Copy|AppendAll\w+)|\bIO\.write\b|\bPathname\b"
    r"|\bopen\s*\(?[^)\n]{0,200},\s*(?:mode\s*=\s*)?['\"]\s*\+?(?:[rb]*[wax][bt+]*['\"]|r\+|>|\|)"
    r"|\bio\.open\s*\([^)]{0,200}['\"][rb]*[wa]|\bfopen\s*\([^)]{0,200}['\"][rb]*[wacx+]"
    r"|\bfile\s+(?:delete|rename|copy|mkdir)\b|\.delete\s*\(\)|\.write\s*\(|\.save\s*\("
)
_RUNS = re.compile(
    r"\b(?:os\.system|system|popen|execSync|execFileSync|spawn\w*|child_process|shell_exec|"
    r"passthru|proc_open|subprocess|check_call|check_output|Popen|qx|Open3|do\s+shell\s+script|"
    r"os\.execute|eval|exec|instance_eval|__import__|b64decode|marshal|require_relative|load|"
    r"Process\.spawn|\$`|Deno\.(?:run|Command)|zx|dofile|loadfile|require_once)\b(?!\s*\.)"
    r"|\b(?:require|import|from|include|do)\s*\(?\s*['\"]\.{1,2}/(?![^'\"]*\.json['\"])"
)
_RUN_TEXT = re.compile(
    r"(?:os\.system|execSync|\bexec|\bsystem|popen|shell_exec|passthru|do shell script|"
    r"os\.execute|getoutput|spawnSync|\bcall|IO\.popen)\s*\(?\s*(['\"`])((?:\\.|(?!\1).){0,4000})\1(?=\s*[,)\n;]|\s*$)"
)
_BACKTICKS = re.compile(r"(?:`([^`\n]+)`|(?:\bqx|%x)[({\[/]([^)}\]/\n]+)[)}\]/])")
_COMMENT = re.compile(r"(?m)^\s*(?:#(?!!)|//).*$")
_PRINTED = re.compile(
    r"\b(?:print|puts|echo|console\.\w+|printf|say|println|cat|message|p)\b\s*\(?\s*"
    r"(?:(['\"`])(?:\\.|(?!\1)[^\n\\])*\1)(?=\s*[,);\n]|\s*$)"
)
_READ_ONLY_CALLS = re.compile(
    r"(?:process\.stdout\.write|sys\.stdout\.write|\$stdout\.write|STDOUT\.write|io\.write"
    r"|Deno\.stdout\.write\w*|\.dumps"
    r"|\bopen\s{0,9}\(?\s{0,9}(?:my\s{1,9})?[$\w]{1,99}\s{0,9},\s{0,9}['\"]<[^'\">+]{0,40}['\"]\s{0,9},[^)\n;]{0,200})"
)
_STRING = re.compile(r"(['\"`])((?:\\.|(?!\1)[^\\\n]){1,200})\1")
_WRITTEN_FIRST = re.compile(  # calls whose first argument is the path, in several languages
    r"\b(?:unlink\w*|rm\w*|remove\w*|delete|write\w*|appendFile\w*|file_put_contents|mkdir\w*|"
    r"truncate\w*|touch|rename\w*|chmod\w*|spit|mv|cp\w*|copy\w*|move\w*)[!?]?\s*\(?\s*(['\"`])([^'\"`\n$\\]{1,200})\1"
)
_OPENED = re.compile(
    r"\b(?:f?open|openSync|File\.open)\s{0,9}\(\s{0,9}['\"]([^'\"\n$\\]{1,200})['\"]\s{0,9},\s{0,9}['\"](?:[rb]?[wax]|r\+)"
)
_ELSEWHERE = re.compile(  # a path put together, or relative to a directory the code moves to
    r"\bchdir\b|['\"]\s{0,9}(?:\+|\.\.?|<>)\s{0,9}['\"$\w]|[\w)]\s{0,9}\+\s{0,9}['\"]"
)
_WRITTEN_SECOND = re.compile(
    r"\b(?:rename\w*|mv|cp\w*|copy\w*|move\w*|symlink\w*)\s{0,9}\(?\s{0,9}['\"`][^'\"`\n]{1,200}['\"`]\s{0,9},"
    r"\s{0,9}['\"`]([^'\"`\n$\\]{1,200})['\"`]"
)
_REQUIRED = re.compile(
    r"\b(?:require|require_once|import|from|use|include|library)\b\s*\(?\s*(['\"])[^'\"\n]*\1"
)
_NOT_PATHS = re.compile(r"[rwabxt+]{1,3}|utf-?8|ascii|latin1|fs(?:/promises)?|node:.*|\.|fs-extra")
_NAME = re.compile(r"[\w.~/@+*-]*[\w/*][\w.@+*-]*")
_CHILD_PROCESS = re.compile(
    r"(?:\{[^{}]{0,200}\}\s{0,9}=\s{0,9})?require\s*\(\s*['\"](?:node:)?child_process['\"]\s*\)\s*\.?"
)
_STARTS = re.compile(  # calls that start a process, up to their first argument
    r"\b(?:spawn\w*|exec|execFile\w*|execSync|system2?|popen\w*|Popen|run|fork|cmd|call|check_call|"
    r"check_output|capture2e?|capture3|command|Command)\b\s{0,9}\(?\s{0,9}(?=['\"\[])\[?"
)
_ITEM = re.compile(
    r"\s{0,99}(?:'((?:[^'\\]|\\.){0,2000})'|\"((?:[^\"\\]|\\.){0,2000})\"|([^\s,()\[\]{}'\";]{1,99}))"
    r"\s{0,99}(,(?:\s{0,99}(?:\[|args\s{0,9}[:=]\s{0,9}\[))?)?"
)
_PIPED = re.compile(
    r"['\"](?:-\||\|-)['\"]|\bopen\s{0,9}\(?\s{0,9}['\"]\s{0,9}\|"
)  # perl's open on a process
_WORD_LIST = re.compile(r"[\[(]\s*((?:['\"][^'\"]*['\"]\s*,?\s*\[?\s*)+)\]?")
_LIST_WORD = re.compile(r"['\"]([^'\"]*)['\"]")
_TEMPLATES = re.compile(r"require\(|=>|\bconst\b|\blet\b")  # JavaScript: a backquote quotes
_UNKNOWN_CALL = re.compile(r"[^\w'\"/.\0 -]\0|^\0")
_FINDER = re.compile(r"\b(?:delete|move|duplicate|make new)\b")
MAX_TARGETS = 20


def scan_code(call: Call, language: str, text: str) -> None:
    """Report what a piece of code writes, as far as its text tells."""
    if text == UNKNOWN or len(text) > MAX_CODE:
        call.unknown("code")
        return
    if language == "python":
        from .python_code import scan_python  # imports `ast`, which costs milliseconds

        if scan_python(call, text):
            return
    code = _PRINTED.sub(" ", _READ_ONLY_CALLS.sub(" ", _COMMENT.sub("", text)))
    if _UNKNOWN_CALL.search(code) and '"' not in code:
        call.unknown("code")
    doubt = bool(_PIPED.search(code))
    code = _without_lists(call, code)
    for command in _shell_texts(code):
        call.shell(command)
    rest = _RUN_TEXT.sub(" ", code)
    if _RUNS.search(_CHILD_PROCESS.sub("", rest)):
        _run_lists(call, rest)
    if language == "osascript" and _FINDER.search(rest):
        call.unknown("a script of the Finder")
    if _WRITES.search(rest):
        _written(call, rest)
    elif doubt or (language in CALLED and not reads_only(language, rest)):
        call.unknown("code")
        for path in (*_path_literals(rest), *_WRITTEN_SECOND.findall(rest)):
            call.effect(Kind.UNKNOWN, path, certain=False)
        for match in _WRITTEN_FIRST.finditer(rest):
            call.effect(Kind.UNKNOWN, match[2], certain=False)


def _without_lists(call: Call, code: str) -> str:
    """Run programs whose arguments are given one by one; the code without those calls.

    `spawnSync("rm", ["-rf", "dist"])`, `system("rm", "-rf", "dist")`, `exec "rm", "a"`: the first
    literal alone would be read as a whole shell text.
    """
    kept, done = [], 0
    for start in _STARTS.finditer(code):
        if start.start() < done:
            continue
        words: list[str] = []
        listed, at = start[0].endswith("["), start.end()
        while (item := _ITEM.match(code, at)) and len(words) < MAX_TARGETS:
            single, double, _, comma = item.groups()
            text = next((t for t in (single, double) if t is not None), None)
            words.append(UNKNOWN if text is None else re.sub(r"\\(.)", r"\1", text))
            at = item.end()
            listed = listed or (comma or "").endswith("[")
            if not comma:
                break
        while words and words[-1] == UNKNOWN and not listed:
            words.pop()  # a callback, options
        if words and not re.search(r"\s|\0", words[0]) and (listed or len(words) > 1):
            call.run(words, stdin="")
            kept.append(code[done : start.start()])
            done = at
    return " ".join((*kept, code[done:]))


def _path_literals(code: str) -> list[str]:
    found = [match[2] for match in _STRING.finditer(_REQUIRED.sub(" ", code))]
    found = [name for name in found if _NAME.fullmatch(name) and not _NOT_PATHS.fullmatch(name)]
    return list(dict.fromkeys(filter(looks_like_path, found)))[:MAX_TARGETS]


def _shell_texts(code: str) -> list[str]:
    """Shell text among the literals: `system("…")` and its like, and backquotes."""
    texts = [match[2] for match in _RUN_TEXT.finditer(code)]
    if re.search(r"`|\bqx\b|%x", code) and not _TEMPLATES.search(code):
        texts += [quoted or other for quoted, other in _BACKTICKS.findall(code)]
    return [re.sub(r"\\(.)", r"\1", text) for text in texts]


def _run_lists(call: Call, code: str) -> None:
    """Run the argument lists that stand in code that starts processes."""
    lists = [_LIST_WORD.findall(match[1]) for match in _WORD_LIST.finditer(code)]
    commands = [command for command in lists if len(command) > 1]
    for command in commands:
        call.run(command, stdin="")
    if not commands:
        call.unknown("code that runs code")


def _written(call: Call, code: str) -> None:
    """Report the literals that are most likely the paths of the calls that write."""
    code = _REQUIRED.sub(" ", code)
    first = [match[2] for match in _WRITTEN_FIRST.finditer(code)]
    first += [match[1] for match in _WRITTEN_SECOND.finditer(code)]
    first += [match[1] for match in _OPENED.finditer(code)]
    names = [
        match[2]
        for match in _STRING.finditer(code)
        if _NAME.fullmatch(match[2]) and not _NOT_PATHS.fullmatch(match[2])
    ]
    likely = [name for name in names if looks_like_path(name)]
    if not likely:
        likely = [name for name in names if re.fullmatch(r"[\w-]+", name)]
    targets = dict.fromkeys(first + likely)
    for name in list(targets)[:MAX_TARGETS]:
        call.effect(Kind.WRITE, name.replace("*", STAR), certain=False)
    if not targets or _ELSEWHERE.search(code):
        call.effect(Kind.WRITE, UNKNOWN)
