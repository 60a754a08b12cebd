"""git: which of its verbs touch the work tree, and with which flags they do not."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ..arguments import STAR, UNKNOWN, Parsed, is_literal, source, words
from ..call import Call
from ..effects import Kind

_GLOBAL_TAKES = ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path",
                 "--super-prefix", "--config-env", "--attr-source")  # fmt: skip
_ALIAS = re.compile(r"alias\.([\w-]+)=(.*)", re.S)
_RUNS = re.compile(  # settings whose value is a command
    r"(?i)core\.(?:editor|pager|fsmonitor|sshcommand|askpass|gitproxy)|sequence\.editor|"
    r"diff\.external|interactive\.difffilter|pager\.\w+|credential\.(?:.+\.)?helper|gpg\.(?:.+\.)?program|"
    r"uploadpack\.packobjectshook|(?:filter|diff|merge|mergetool|difftool|trailer|browser|man)\..+\."
    r"(?:clean|smudge|process|textconv|command|driver|cmd)"
)
_INDEX_ONLY = words(
    """
    status log diff show blame branch tag fetch remote add stage commit push rev-parse ls-files
    ls-tree cat-file describe shortlog reflog gc grep config help merge-base name-rev rev-list
    for-each-ref for-each-repo show-ref symbolic-ref update-ref update-index notes fsck
    count-objects var whatchanged cherry range-diff diff-tree diff-index diff-files ls-remote
    maintenance prune prune-packed repack pack-refs pack-objects unpack-objects index-pack
    hash-object mktag mktree write-tree commit-tree check-ignore check-attr check-mailmap
    check-ref-format verify-commit verify-tag verify-pack version bugreport replace
    interpret-trailers stripspace credential daemon send-email request-pull instaweb gui gitk
    column rerere annotate show-branch merge-tree patch-id fmt-merge-msg get-tar-commit-id
    fast-export fast-import send-pack fetch-pack upload-pack receive-pack commit-graph
    multi-pack-index diff-pairs last-modified backfill refs repo sh-setup
    """
)
_WHOLE_TREE = words(
    """
    merge pull rebase cherry-pick revert am filter-branch filter-repo read-tree checkout-index
    subtree svn p4 citool mergetool undo sync flow bisect-run town branchless absorb
    merge-resolve merge-recursive merge-octopus replay history
    """
)
_DIFF_VERBS = ("log", "diff", "show", "diff-tree", "diff-index", "diff-files", "rev-list",
               "whatchanged", "range-diff", "format-patch", "stash")  # fmt: skip


def git(call: Call) -> None:
    """git: global options, aliases given on the command line, then the verb."""
    parsed = call.parse(_GLOBAL_TAKES, ("-p", "--help", "--version", "-h"), style="first")
    words = parsed.operands
    if not words or parsed.has("--help", "--version", "-h", "--html-path", "--man-path"):
        return
    verb, rest = words[0], words[1:]
    for setting in parsed.values("-c"):
        _setting(call, setting)
    places = parsed.values("-C") + parsed.values("--work-tree")
    with call.walk.working_in(places):
        if not is_literal(verb):
            call.here(Kind.GIT_WORKTREE)
            return
        for setting in parsed.values("-c"):
            alias = _ALIAS.fullmatch(setting)
            if alias and alias[1] == verb:
                _run_alias(call, source(alias[2]), rest)
                return
        if "-h" in rest or "--help" in rest:
            return
        _verb(Call(call.walk, f"git {verb}", rest, call.stdin), verb)


def _setting(call: Call, setting: str) -> None:
    """`-c NAME=COMMAND`: settings that name a program git runs."""
    name, _, value = setting.partition("=")
    if not _RUNS.fullmatch(name) or not value or UNKNOWN in value:
        return
    shell = value.startswith("!")
    if shell or name.lower() != "credential.helper":
        with call.walk.guessing():
            call.shell(source(value[1:] if shell else value))


def _remote_program(call: Call) -> None:
    """fetch and its like: the program at the other end, which may be this one."""
    parsed = call.parse(("--upload-pack", "--receive-pack", "--exec", "-o", "-j", "--depth"),
                        ("--dry-run",))  # fmt: skip
    for text in parsed.values("--upload-pack", "--receive-pack", "--exec"):
        call.shell(source(text))
    for operand in parsed.operands:
        if operand.startswith("ext::"):
            call.unknown("ext::")


def _grep(call: Call) -> None:
    for arg in call.args:
        if arg == "--":
            return
        if arg[:2] == "-O" or arg.startswith("--open-files-in-pager="):
            text = arg[2:] if arg[1] == "O" else arg.partition("=")[2]
            call.shell(source(text)) if text else None


def _pull(call: Call) -> None:
    parsed = call.parse(("-s", "-X", "-j", "--depth", "--upload-pack"), ("--dry-run", "--rebase"))
    _remote_program(call)
    if not parsed.has("--dry-run"):
        _tree(call)


def _subtree(call: Call) -> None:
    parsed = call.parse(("-P", "--prefix", "-m", "-b"))
    if parsed.operands[:1] not in (["split"], ["push"]):
        for prefix in parsed.values("-P", "--prefix"):
            call.effect(Kind.GIT_WORKTREE, prefix, certain=False)
        _tree(call)


def _filter_repo(call: Call) -> None:
    if "--analyze" not in call.args and "--dry-run" not in call.args:
        _tree(call)


def _run_alias(call: Call, text: str, rest: list[str]) -> None:
    arguments = " ".join(map(call.walk.requoted, rest))
    if text.startswith("!"):
        call.shell(f"{text[1:]} {arguments}")
    else:
        call.shell(f"command git {text} {arguments}")


def _verb(call: Call, verb: str) -> None:
    if verb in _DIFF_VERBS:
        for path in call.parse(("--output",)).values("--output"):
            call.effect(Kind.WRITE, path)
    if handler := _VERBS.get(verb):
        handler(call)
    elif verb in _WHOLE_TREE:
        _tree(call)
    elif verb not in _INDEX_ONLY:
        _tree(call)  # an unknown verb or a configured alias


def _tree(call: Call, targets: list[str] | None = None, kind: Kind = Kind.GIT_WORKTREE) -> None:
    """The work tree changes: whole, or these pathspecs of it."""
    if not targets or targets == ["."]:
        call.here(kind, "worktree")
        return
    for target in targets:
        pathspec = target.startswith(":")
        if pathspec:
            call.here(kind, target)
        else:
            call.effect(kind, _globbed(target))


def _globbed(pathspec: str) -> str:
    """git expands `*` in a pathspec itself, even a quoted one."""
    return pathspec.replace("*", STAR) if "*" in pathspec else pathspec


def _reset(call: Call) -> None:
    parsed = call.parse((), ("--hard", "--soft", "--mixed", "--merge", "--keep", "--patch"))
    if parsed.has("--hard", "--merge", "--keep"):
        _tree(call)


def _clean(call: Call) -> None:
    parsed = call.parse(("-e", "--exclude"), ("--dry-run", "--force", "--interactive"))
    if parsed.has("-n", "--dry-run"):
        return
    ignored = parsed.has("-x", "-X")  # those no scan sees: all below is named
    for target in parsed.operands or ["."]:
        if ignored and "*" not in target and not target.startswith(":"):
            call.effect(Kind.DELETE, target)
        else:
            _tree(call, [target], Kind.DELETE)


def _checkout(call: Call) -> None:
    takes = ("-b", "-B", "--orphan", "--conflict", "--pathspec-from-file")
    parsed = call.parse(takes, ("--detach", "--theirs", "--ours", "--patch", "--force", "--track"))
    operands, after = parsed.operands, parsed.after
    if after is not None:
        _tree(call, operands[after:])
    elif parsed.has("-b", "--orphan") and not operands and not parsed.has("-f", "--force"):
        return
    elif parsed.has("--theirs", "--ours", "-p", "--patch") and operands:
        _tree(call, operands)
    elif len(operands) > 1 and not parsed.has("-b", "-B", "-t", "--track"):
        _tree(call, operands[1:])
        call.here(Kind.GIT_WORKTREE, "worktree")
    else:
        files = [op for op in operands if re.search(r"\.\w{1,5}$|/$|^\.", op) and op != "."]
        _tree(call)
        if files:
            _tree(call, files)


def _switch(call: Call) -> None:
    parsed = call.parse(("-c", "-C", "--create", "--force-create", "--orphan", "--conflict"),
                        ("--discard-changes", "--force", "--detach"))  # fmt: skip
    fresh = parsed.has("-c", "--create") and not parsed.operands
    if not fresh or parsed.has("-f", "--discard-changes", "--force"):
        _tree(call)


def _restore(call: Call) -> None:
    parsed = call.parse(("-s", "--source", "--pathspec-from-file"),
                        ("--staged", "--worktree", "--patch", "--ours", "--theirs"))  # fmt: skip
    if parsed.has("-S", "--staged") and not parsed.has("-W", "--worktree"):
        return
    _tree(call, parsed.operands)


def _stash(call: Call) -> None:
    verb = call.args[0] if call.args else "push"
    if verb in ("list", "show", "drop", "clear", "create", "store", "export", "import"):
        return
    parsed = call.parse(("-m", "--message", "--pathspec-from-file"))
    if verb == "push" and parsed.after is not None:
        _tree(call, parsed.operands[parsed.after :])
    elif verb == "push" and len(parsed.operands) > 1:
        _tree(call, parsed.operands[1:])
    else:
        _tree(call)


def _remove(call: Call) -> None:
    parsed = call.parse(("--pathspec-from-file",), ("--cached", "--dry-run", "--force"))
    if not parsed.has("--cached", "-n", "--dry-run"):
        _tree(call, parsed.operands, Kind.DELETE)


def _move(call: Call) -> None:
    parsed = call.parse((), ("--dry-run", "--force"))
    if parsed.operands and not parsed.has("-n", "--dry-run"):
        *sources, target = parsed.operands
        call.effects(Kind.MOVE, sources)
        call.effect(Kind.MOVE, target, sources=sources)


def _apply(call: Call) -> None:
    parsed = call.parse(("-p", "-C", "--directory", "--exclude", "--include", "--whitespace"),
                        ("--check", "--stat", "--numstat", "--summary", "--cached",
                         "--index", "--apply", "--reject", "--3way"))  # fmt: skip
    if parsed.has("--apply") or not parsed.has("--check", "--stat", "--numstat", "--summary",
                                               "--cached"):  # fmt: skip
        _tree(call, parsed.values("--directory"))


def _worktree(call: Call) -> None:
    verb, *rest = call.args or [""]
    parsed = Call(call.walk, call.name, rest).parse(("-b", "-B", "--reason"))
    if verb == "remove":
        call.effects(Kind.DELETE, parsed.operands)
    elif verb == "move":
        call.effects(Kind.MOVE, parsed.operands)
    elif verb == "add":
        call.effects(Kind.CREATE, parsed.operands[:1])


def _submodule(call: Call) -> None:
    parsed = call.parse(("--reference", "-b", "--branch", "--name", "--depth", "-j"))
    verb, *operands = parsed.operands or ["status"]
    if verb in ("status", "summary", "init", "sync", "set-url", "set-branch", "absorbgitdirs"):
        if verb.startswith("set-"):
            call.effect(Kind.WRITE, ".gitmodules")
        return
    if verb == "add":
        name = operands[0].rstrip("/").rpartition("/")[2].removesuffix(".git") if operands else ""
        call.effects(Kind.CREATE, operands[1:] or [name or UNKNOWN])
        call.effect(Kind.WRITE, ".gitmodules")
    elif verb == "foreach":
        call.shell(" ".join(map(source, operands)))
        call.here(Kind.GIT_WORKTREE, "foreach")
    else:
        _tree(call, operands)


def _rebase(call: Call) -> None:
    parsed = call.parse(("-x", "--exec", "--onto", "-s", "-X", "--strategy"))
    for text in parsed.values("-x", "--exec"):
        call.shell(source(text))
    if not parsed.has("--show-current-patch", "--quit", "--edit-todo"):
        _tree(call)


def _bisect(call: Call) -> None:
    verb, *rest = call.args or [""]
    if verb in ("log", "view", "visualize", "terms", "help", ""):
        return
    if verb == "run" and rest:
        call.run(rest)
    _tree(call)


def _filter_branch(call: Call) -> None:
    parsed = call.parse(("--tree-filter", "--index-filter", "--msg-filter", "--env-filter",
                         "--commit-filter", "--setup", "--subdirectory-filter"))  # fmt: skip
    for text in parsed.values("--tree-filter", "--index-filter", "--msg-filter", "--setup"):
        call.shell(source(text))
    _tree(call)


def _clone(call: Call) -> None:
    parsed = call.parse(("-b", "--branch", "--depth", "-o", "--origin", "-c", "--config",
                         "--reference", "-j", "--jobs", "--filter", "-u", "--upload-pack",
                         "--template", "--separate-git-dir", "--shallow-since"))  # fmt: skip
    operands = parsed.operands
    for text in parsed.values("-u", "--upload-pack"):
        call.shell(source(text))
    if len(operands) > 1:
        call.effect(Kind.CREATE, operands[1])
    elif operands:
        name = re.split(r"[/:]", operands[0].rstrip("/"))[-1].removesuffix(".git")
        call.effect(Kind.CREATE, name or UNKNOWN)


def _init(call: Call) -> None:
    parsed = call.parse(("--template", "--separate-git-dir", "--object-format", "-b",
                         "--initial-branch"))  # fmt: skip
    call.effect(Kind.CREATE, (parsed.operands[:1] or ["."])[0] + "/.git")


def _archive(call: Call) -> None:
    for path in call.parse(("-o", "--output", "--format", "--prefix")).values("-o", "--output"):
        call.effect(Kind.WRITE, path)


def _bundle(call: Call) -> None:
    operands = call.parse(()).operands
    if operands[:1] == ["create"]:
        call.effects(Kind.WRITE, operands[1:2])


def _format_patch(call: Call) -> None:
    parsed = call.parse(("-o", "--output-directory", "--start-number", "--subject-prefix", "-v"))
    if not parsed.has("--stdout"):
        directories = parsed.values("-o", "--output-directory")
        call.effects(Kind.WRITE, directories, certain=False) if directories else None
        with call.walk.working_in(directories):
            call.effect(Kind.WRITE, STAR + ".patch", certain=False)


def _sparse(call: Call) -> None:
    if call.args[:1] not in (["list"], ["check-rules"]):
        _tree(call)


def _large_files(call: Call) -> None:
    verb = call.args[0] if call.args else ""
    if verb in ("pull", "checkout", "migrate"):
        _tree(call)
    elif verb in ("track", "untrack"):
        call.effect(Kind.WRITE, ".gitattributes")


def _merge_file(call: Call) -> None:
    parsed: Parsed = call.parse(("-L", "--marker-size"), ("--stdout",))
    if not parsed.has("-p", "--stdout"):
        call.effects(Kind.WRITE, parsed.operands[:1])


def _difftool(call: Call) -> None:
    if call.parse(("-x", "--extcmd")).has("-x", "--extcmd"):
        call.unknown()


def _config(call: Call) -> None:
    """`git config -f FILE` writes a file of the tree, `--global` the user's; else git's own."""
    parsed = call.parse(
        ("-f", "--file", "--type", "--default", "--blob"),
        ("--list", "--get", "--get-all", "--get-regexp", "--get-urlmatch", "--global", "--system",
         "--unset", "--unset-all", "--add", "--replace-all", "--edit", "--remove-section",
         "--rename-section"),
    )  # fmt: skip
    verb, *rest = parsed.operands or [""]
    if parsed.has("--get", "--list", "-l", "--get-all", "--get-regexp", "--get-urlmatch"):
        return
    changes = ("-e", "--edit", "--unset", "--unset-all", "--remove-section", "--rename-section")
    if verb in ("get", "list") or not (parsed.has(*changes) or verb == "edit" or rest):
        return
    files = parsed.values("-f", "--file")
    if parsed.has("--global"):
        files = [call.walk.state.home + "/.gitconfig"]
    elif parsed.has("--system"):
        files = ["/etc/gitconfig"]
    call.effects(Kind.WRITE, files) if files else None


_VERBS: Mapping[str, Callable[[Call], None]] = {
    "reset": _reset,
    "clean": _clean,
    "checkout": _checkout,
    "switch": _switch,
    "restore": _restore,
    "stash": _stash,
    "rm": _remove,
    "mv": _move,
    "apply": _apply,
    "worktree": _worktree,
    "submodule": _submodule,
    "rebase": _rebase,
    "bisect": _bisect,
    "filter-branch": _filter_branch,
    "clone": _clone,
    "init": _init,
    "archive": _archive,
    "bundle": _bundle,
    "format-patch": _format_patch,
    "sparse-checkout": _sparse,
    "lfs": _large_files,
    "merge-file": _merge_file,
    "difftool": _difftool,
    "config": _config,
    "fetch": _remote_program,
    "ls-remote": _remote_program,
    "push": _remote_program,
    "grep": _grep,
    "pull": _pull,
    "subtree": _subtree,
    "filter-repo": _filter_repo,
}
