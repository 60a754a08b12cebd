"""Downloads and copies between machines: only the local side matters."""

from __future__ import annotations

import re

from ..apply import report_outputs
from ..arguments import STAR, UNKNOWN, is_url, words
from ..call import Call
from ..effects import Kind

_REMOTE = re.compile(r"(?:[\w.-]+@)?[\w.\[\]-]{2,}:|(?:rsync|s3|gs|az|r2|sftp|ssh|https?)://")
_CURL_TAKES = words(
    """
    -X -d -H -u -F -e -A -b -c -C -D -E -K -m -o -P -Q -r -t -T -U -w -x -y -Y -z --request
    --data --data-raw --data-binary --data-urlencode --header --user --form --referer
    --user-agent --cookie --cookie-jar --dump-header --cert --key --cacert --config --max-time
    --output --output-dir --connect-timeout --retry --retry-delay --upload-file --write-out
    --proxy --url --json --trace --trace-ascii --stderr --etag-save --etag-compare --resolve
    --range --limit-rate --interface --libcurl --hsts --alt-svc --netrc-file --form-string
    --max-redirs --ciphers --oauth2-bearer --aws-sigv4 --time-cond --variable --rate
    """
)
_CURL_OUTPUTS = ("-o", "--output", "-D", "--dump-header", "-c", "--cookie-jar", "--trace",
                 "--trace-ascii", "--stderr", "--etag-save", "--libcurl", "--hsts",
                 "--alt-svc")  # fmt: skip
_WGET_TAKES = words(
    """
    -O -o -a -P -U -e -t -T -w -Q -i -B -A -R -D -I -X -l --output-document --output-file
    --append-output --directory-prefix --user-agent --header --tries --timeout --wait --quota
    --input-file --level --accept --reject --domains --post-data --post-file --user --password
    --limit-rate --load-cookies --save-cookies --method --body-data --cut-dirs --referer
    """
)
_RSYNC_TAKES = words(
    """
    -e --rsh --exclude --include --exclude-from --include-from --files-from -f --filter
    --bwlimit --log-file --partial-dir -T --temp-dir --compare-dest --copy-dest --link-dest
    --out-format --password-file --port --rsync-path --timeout --max-size --min-size --chmod
    --chown -M -B --info --debug --backup-dir --suffix --modify-window --max-delete --block-size
    """
)


def is_remote(argument: str) -> bool:
    """Whether a copy's source or destination is on another machine."""
    return bool(_REMOTE.match(argument)) or is_url(argument)


def curl(call: Call) -> None:
    """curl: writes what `-o`, `-O` and a few others name."""
    parsed = call.parse(_CURL_TAKES, ("--remote-name", "--remote-name-all", "--create-dirs"))
    with call.walk.working_in(parsed.values("--output-dir")):
        for path in parsed.values("-o", "--output"):
            call.effect(Kind.WRITE, re.sub(r"#\d", STAR, path))
        if parsed.has("-O", "--remote-name", "--remote-name-all"):
            urls = [u for u in parsed.operands + parsed.values("--url") if "/" in u or "." in u]
            call.effects(Kind.WRITE, [_last_segment(url) for url in urls])
    for path in parsed.values(*(name for name in _CURL_OUTPUTS if name not in ("-o", "--output"))):
        call.effect(Kind.WRITE, path)
    if parsed.has("-K", "--config"):
        call.unknown("-K")


def _last_segment(url: str) -> str:
    """The file name curl and wget give to what they fetch."""
    path = re.sub(r"[?#].*", "", url.partition("://")[2] or url).rstrip("/")
    _, slash, tail = path.rpartition("/")
    return (tail if slash else "index.html") or UNKNOWN


def wget(call: Call) -> None:
    """wget: writes `-O`, or a new file in `-P`; recursion and `-N` replace files."""
    parsed = call.parse(_WGET_TAKES, ("--spider", "--mirror", "--recursive", "--timestamping"))
    for path in parsed.values("-o", "--output-file", "--save-cookies"):
        call.effect(Kind.WRITE, path)
    for path in parsed.values("-a", "--append-output"):
        call.effect(Kind.APPEND, path)
    if parsed.has("--spider", "--help", "--version", "-V"):
        return
    documents = parsed.values("-O", "--output-document")
    if documents:
        call.effects(Kind.WRITE, documents)
        return
    with call.walk.working_in(parsed.values("-P", "--directory-prefix")):
        if parsed.has("-m", "-r", "--mirror", "--recursive", "-N", "--timestamping", "-c"):
            call.here(Kind.WRITE, "-r")
        else:
            call.effects(Kind.CREATE, [_last_segment(url) for url in parsed.operands])


def rsync(call: Call) -> None:
    """rsync: writes a local destination; `--remove-source-files` deletes the sources."""
    parsed = call.parse(
        _RSYNC_TAKES, ("--dry-run", "--list-only", "--remove-source-files", "--delete")
    )
    if parsed.has("-n", "--dry-run", "--list-only") or len(parsed.operands) < 2:
        return
    *sources, destination = parsed.operands
    if not is_remote(destination):
        local = [path for path in sources if not is_remote(path)]
        arriving = [f"{path}." if path.endswith("/") else path for path in local]  # what is in it
        call.effect(Kind.WRITE, destination, sources=arriving)
        if any(name.startswith("--del") for name in parsed.options):
            call.effect(Kind.DELETE, destination)
    if parsed.has("--remove-source-files"):
        call.effects(Kind.DELETE, [path for path in sources if not is_remote(path)] or [])
    for path in parsed.values("--log-file"):
        call.effect(Kind.APPEND, path)
    for path in parsed.values("--backup-dir"):
        call.effect(Kind.WRITE, path)


def secure_copy(call: Call) -> None:
    """scp: writes a local destination."""
    takes: tuple[str, ...] = (
        "-c", "-F", "-i", "-J", "-l", "-o", "-P", "-S", "-D", "-X",
    )  # fmt: skip
    operands = call.parse(takes).operands
    if len(operands) > 1 and not is_remote(operands[-1]):
        _arrives(call, operands[-1], operands[:-1])


def _arrives(call: Call, destination: str, sources: list[str]) -> None:
    """A copy arrives: in a directory that is no more than a place, under the sources' own names."""
    call.effect(Kind.WRITE, destination)
    if re.fullmatch(r"\.{1,2}/?|(?:\.{1,2}/)+\.\.", destination):
        for source in sources:
            name = re.split(r"[/:]", source.rstrip("/"))[-1]
            if name not in ("", ".", ".."):
                call.effect(Kind.WRITE, f"{destination.rstrip('/')}/{name}", certain=False)


def file_transfer(call: Call) -> None:
    """sftp: `HOST:FILE [LOCAL]` fetches; a batch or what it is fed may, too."""
    parsed = call.parse(("-b", "-B", "-c", "-D", "-F", "-i", "-J", "-l", "-o", "-P", "-R", "-S",
                         "-s", "-X"))  # fmt: skip
    remote, *local = parsed.operands or [""]
    if local:
        call.effects(Kind.WRITE, local[:1])
    elif re.search(r":.", remote.partition("://")[2] or remote):
        call.effect(Kind.WRITE, re.split(r"[/:]", remote.rstrip("/"))[-1] or UNKNOWN, certain=False)
    text = call.stdin or ""
    if parsed.has("-b") and parsed.values("-b") != ["-"]:
        call.unknown("-b")
    elif UNKNOWN in text:
        call.unknown("what it is told")
    for match in re.finditer(
        r"(?m)^\s*-?(?:get|reget|mget)\s+(?:-\w+\s+)*(\S+)(?:\s+(\S+))?", text
    ):
        call.effect(Kind.WRITE, match[2] or match[1].rpartition("/")[2], certain=False)
    for match in re.finditer(r"(?m)^\s*!\s*(\S.*)$", text):
        call.shell(match[1])


def gcloud(call: Call) -> None:
    """gcloud: `compute scp` and `storage` copy, `config set` and log-ins write its settings."""
    operands = call.parse(("--project", "--zone", "--region", "--format", "--filter",
                           "--configuration", "--account"), style="gnu").operands  # fmt: skip
    if operands[:2] == ["compute", "scp"]:
        if len(operands) > 3 and not is_remote(operands[-1]):
            _arrives(call, operands[-1], operands[2:-1])
    elif operands[:1] == ["config"] and operands[1:2] in (["set"], ["unset"], ["configurations"]):
        if operands[2:3] not in (["list"], ["describe"]):
            call.effect(Kind.WRITE, call.walk.state.home + "/.config/gcloud", certain=False)
    elif operands[-1:] == ["get-credentials"] or operands[1:3] == ["clusters", "get-credentials"]:
        call.effect(Kind.WRITE, call.walk.state.home + "/.kube/config", certain=False)
    elif operands[:2] in (["auth", "login"], ["auth", "application-default"], ["init"]):
        call.effect(Kind.WRITE, call.walk.state.home + "/.config/gcloud", certain=False)
    else:
        cloud_copy(call)
    report_outputs(call)


def azure(call: Call) -> None:
    """az: downloads write what `-f`, `--file` or `-d`, `--destination` names."""
    parsed = call.parse(("-f", "--file", "-d", "--destination", "-n", "--name", "-c",
                         "--container-name", "-p", "--path", "-g", "-s", "--source",
                         "--dest", "--account-name"))  # fmt: skip
    if any(word.startswith("download") for word in parsed.operands):
        outputs = parsed.values("-f", "--file", "-d", "--destination", "--dest")
        call.effects(Kind.WRITE, outputs, certain=False)
    elif parsed.operands[:1] in (["login"], ["configure"], ["account"], ["config"]):
        if parsed.operands[1:2] not in (["show"], ["list"], ["get"], ["list-locations"]):
            call.effect(Kind.WRITE, call.walk.state.home + "/.azure", certain=False)
    elif "get-credentials" in parsed.operands:
        files = parsed.values("-f", "--file") or [call.walk.state.home + "/.kube/config"]
        call.effects(Kind.WRITE, files, certain=False)
    report_outputs(call)


def cloud_copy(call: Call) -> None:
    """aws s3, gsutil, gcloud storage, rclone, azcopy: `VERB SOURCE DESTINATION`."""
    takes: tuple[str, ...] = (
        "--exclude", "--include", "--profile", "--region", "--acl", "--endpoint-url", "-x",
        "--storage-class", "--project", "--transfers", "--filter", "--config",
    )  # fmt: skip
    parsed = call.parse(takes, ("--dryrun", "--dry-run", "--delete"))
    operands = parsed.operands
    verbs = [i for i, word in enumerate(operands) if word in _CLOUD_VERBS]
    if (
        not verbs
        or parsed.has("--dryrun", "--dry-run")
        or (call.name == "gsutil" and parsed.has("-n") and "rsync" in operands)
    ):
        return
    verb, paths = operands[verbs[0]], operands[verbs[0] + 1 :]
    local = [path for path in paths if not is_remote(path)]
    if verb in ("rm", "delete", "purge", "deletefile", "rmdir", "rmdirs"):
        call.effects(Kind.DELETE, local) if local and call.name == "rclone" else None
        return
    if len(paths) > 1 and not is_remote(paths[-1]):
        call.effect(Kind.WRITE, paths[-1])
    elif verb in ("get", "cp") and len(paths) == 1 and is_remote(paths[0]):
        call.effect(Kind.WRITE, _last_segment(paths[0]), certain=False)
    if verb in ("mv", "move", "moveto") and not is_remote(paths[0] if paths else "s3://"):
        call.effect(Kind.DELETE, paths[0])


_CLOUD_VERBS = words(
    """
    cp sync mv rsync copy move copyto moveto bisync download get rm delete purge deletefile rmdir
    rmdirs
    """
)


def aws(call: Call) -> None:
    """aws: only `s3` copies, and commands that take an output file, touch the disk."""
    takes: tuple[str, ...] = ("--profile", "--region", "--output", "--query", "--endpoint-url")
    operands = call.parse(takes).operands
    if operands[:1] == ["s3"]:
        cloud_copy(call)
    elif operands[:2] == ["s3api", "get-object"] or operands[:2] == ["lambda", "invoke"]:
        call.effects(Kind.WRITE, operands[-1:])
    elif operands[:2] == ["eks", "update-kubeconfig"]:
        call.effect(Kind.WRITE, call.walk.state.home + "/.kube/config", certain=False)
    elif operands[:1] == ["configure"] and operands[1:2] in (["list"], ["get"], ["list-profiles"]):
        return
    elif operands[:1] in (["configure"], ["sso"]):
        for name in ("config", "credentials"):
            call.effect(Kind.WRITE, f"{call.walk.state.home}/.aws/{name}", certain=False)
    outputs = ("--output-template-file", "--outfile", "--output-file")
    for path in call.parse((*outputs, "--output")).values(*outputs):
        call.effect(Kind.WRITE, path)


def media_download(call: Call) -> None:
    """yt-dlp, aria2c and the like: `-o`, or some file in the working directory."""
    takes: tuple[str, ...] = (
        "-o", "--output", "-d", "--dir", "-P", "--paths", "-f", "--format", "-O", "--out", "-x",
        "-s", "-j", "-i", "--input-file", "--output-dir",
    )  # fmt: skip
    flags: tuple[str, ...] = (
        "-F",
        "--list-formats",
        "--simulate",
        "--dump-json",
        "-J",
        "-S",
        "--print",
        "-g",
    )
    if call.name in ("yt-dlp", "youtube-dl"):
        takes = ("-o", "--output", "-P", "--paths", "-f", "--format", "-a", "--cookies")
        flags = (*flags, "-s", "-j")
    parsed = call.parse(takes, flags)
    if parsed.has(*(flag for flag in flags if flag != "-S" or call.name == "aria2c")):
        return
    with call.walk.working_in(parsed.values("-d", "--dir", "-P", "--paths", "--output-dir")):
        outputs = parsed.values("-o", "--output", "-O", "--out")
        if outputs:
            call.effects(Kind.WRITE, [re.sub(r"%\([^)]*\)\w", STAR, o) for o in outputs])
        else:
            call.here(Kind.WRITE)


def http_client(call: Call) -> None:
    """HTTPie and xh: `-o FILE` and `--download`."""
    parsed = call.parse(("-o", "--output", "-a", "--auth"), ("--download",))
    outputs = parsed.values("-o", "--output")
    if outputs:
        call.effects(Kind.WRITE, outputs)
    elif parsed.has("-d", "--download"):
        call.here(Kind.WRITE, "--download")


def github(call: Call) -> None:
    """gh and glab: few verbs touch the disk."""
    takes: tuple[str, ...] = (
        "-R", "--repo", "-D", "--dir", "-p", "--pattern", "-n", "--name", "-O", "--output",
        "-t", "--title", "-b", "--body", "-F", "--body-file", "-H", "-B", "-l", "-L", "-q",
        "--jq", "--json", "-X", "-f", "--template", "-a", "-m", "-A",
    )  # fmt: skip
    parsed = call.parse(takes)
    verb = tuple(parsed.operands[:2])
    directories = parsed.values("-D", "--dir")
    if verb in (("pr", "checkout"), ("pr", "co"), ("co",), ("mr", "checkout"), ("repo", "sync")):
        call.here(Kind.GIT_WORKTREE, "checkout")
    elif verb in (
        ("release", "download"),
        ("run", "download"),
        ("gist", "clone"),
        ("job", "artifact"),
    ):
        outputs = parsed.values("-O", "--output") or directories
        if outputs:
            call.effects(Kind.WRITE, outputs)
        else:
            call.here(Kind.WRITE, verb[1])
    elif verb == ("repo", "clone"):
        url = parsed.operands[2:]
        call.effects(Kind.CREATE, url[1:2] or [_last_segment(url[0]) if url else UNKNOWN])
    elif (verb == ("repo", "create") and "--clone" in call.args) or verb == ("repo", "fork"):
        call.here(Kind.CREATE, verb[1])
    elif verb == ("pr", "merge") and ("-d" in call.args or "--delete-branch" in call.args):
        call.here(Kind.GIT_WORKTREE, "merge -d")
    elif verb[:1] in (("extension",), ("codespace",), ("copilot",)) and verb[1:] not in (
        (),
        ("list",),
    ):
        call.unknown()
