"""Where things are in the store, its creation and its cheap repair.

Owns names of files and refs, permissions, the managed block of `info/exclude`, the move of an
older layout to `legacy-*`. Starts git once, to create the repository; reads no objects.

    <base>/
      store/                 bare git repository, private (0700)
        refs/<ns>/<id>       tip of a project's history
        refs/<ns>-live/<id>  the state its index holds, so that nothing in it can be pruned
        refs/<ns>-meta/<id>  what checkpoints know beyond their tree
        refs/<ns>-open/<id>/ states kept for a while
        refs/<ns>-pins/<id>/ pinned checkpoints, refs/<ns>-kept/<id>/ those left standing alone
        worktrees/<id>/      the project's git directory: HEAD is its tip
        indexes/<id>         its index, a disposable cache of `stat` data
        projects/<id>.json   where it lives, when it was last touched
        boundaries/<id>.json where its list ends
        catalogue/<id>.json  its list, derived
        locks/ excludes/ home/
      legacy-*/ corrupt-*/   older layouts and stores beyond repair, set aside
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import time

from hermes_checkpoints.errors import StoreUnavailable
from hermes_checkpoints.excludes import DEFAULT_EXCLUDES
from hermes_checkpoints.stores.git.smallfiles import write_bytes

__all__ = ["ATTRIBUTES", "Layout", "names_in"]

# Byte-exact whatever a project's .gitattributes say: with these five, git 2.39 converted nothing.
ATTRIBUTES = "* -text -eol -ident -filter -working-tree-encoding\n"

_CONFIG = """[gc]
\tauto = 0
\tautoDetach = false
[maintenance]
\tauto = false
[core]
\tlooseCompression = 1
[user]
\tname = Checkpoints
\temail = checkpoints@localhost
[commit]
\tgpgSign = false
"""

_BEGIN = "# >>> hermes_checkpoints: brought up to date by itself; your own patterns go below >>>"
_END = "# <<< hermes_checkpoints <<<"

# Patterns that the built-in feature of the host writes into a new store and that would hide what
# may well be a person's work. They go when the managed block is first written.
_TOO_WIDE = frozenset(
    (
        *("dist/", "build/", "target/", "out/", "coverage/", ".coverage", "env/", ".git/"),
        *("*.so", "*.dylib", "*.dll", "*.o", "*.a", "*.jar", "*.class", "*.exe", "*.obj"),
        *("*.mp4", "*.mov", "*.mkv", "*.webm", "*.zip", "*.tar", "*.tar.gz", "*.tgz", "*.7z"),
        *("*.rar", "*.iso", ".env", ".env.*", ".env.local", ".env.*.local"),
        *("Thumbs.db", "*.log", "*.pyc", "*.pyo"),
    )
)

_DIRECTORIES = (
    "refs",
    "objects",
    "objects/pack",
    "objects/info",
    "info",
    "indexes",
    "projects",
    "worktrees",
    "boundaries",
    "catalogue",
    "locks",
    "excludes",
    "home",
)


class Layout:
    """The paths and ref names of one store."""

    def __init__(self, base: str, namespace: str, v1_marker: str) -> None:
        self.base = base
        self.store = os.path.join(base, "store")
        self.namespace = namespace
        self._v1_marker = v1_marker
        self._excludes: dict[tuple[str, ...], str] = {}
        self._real_base = ""

    # ------------------------------------------------------------------ names

    def path(self, *parts: str) -> str:
        return os.path.join(self.store, *parts)

    def index(self, project_id: str) -> str:
        return f"{self.store}/indexes/{project_id}"

    def gitdir(self, project_id: str) -> str:
        return f"{self.store}/worktrees/{project_id}"

    def document(self, project_id: str) -> str:
        return f"{self.store}/projects/{project_id}.json"

    def lock(self, name: str) -> str:
        return f"{self.store}/locks/{name}"

    @property
    def null(self) -> str:
        """A directory that is always empty: the children's home."""
        return f"{self.store}/home"

    def ref(self, project_id: str) -> str:
        return f"refs/{self.namespace}/{project_id}"

    def own_ref(self, kind: str, project_id: str, *rest: str) -> str:
        """A ref of ours beside the tip; kinds are `live meta open pins kept`."""
        return "/".join((f"refs/{self.namespace}-{kind}", project_id, *rest))

    # ------------------------------------------------------------------ standing

    @property
    def exists(self) -> bool:
        return os.path.exists(f"{self.store}/HEAD")

    @property
    def sound(self) -> bool:
        """Whether git would take it for a repository, and our parts are there: four `stat`s.

        Without `refs/` git 2.39 says "not a git repository", even when all refs are packed.
        """
        try:
            for name in ("refs", "objects", "locks", "excludes"):
                if not stat.S_ISDIR(os.stat(f"{self.store}/{name}").st_mode):
                    return False
            return os.path.getsize(f"{self.store}/HEAD") > 0
        except OSError:
            return False

    def prepare(self) -> None:
        """Make the directories that locks need. Raises `StoreUnavailable`."""
        try:
            closed = not os.stat(self.store).st_mode & 0o077
            if closed and stat.S_ISDIR(os.stat(f"{self.store}/locks").st_mode):
                return
        except OSError:
            pass
        try:
            os.makedirs(self.base, mode=0o700, exist_ok=True)
            os.makedirs(f"{self.store}/locks", mode=0o700, exist_ok=True)
            for private in (self.base, self.store):
                if os.stat(private).st_mode & 0o077:
                    os.chmod(private, 0o700)
        except OSError as error:
            raise self.unusable(error) from error

    def furnish(self) -> None:
        """Make what a repository just created, or one made by the host's own feature, lacks."""
        try:
            for name in _DIRECTORIES:
                os.makedirs(self.path(name), mode=0o700, exist_ok=True)
            if not os.path.exists(self.path("HEAD")) or not os.path.getsize(self.path("HEAD")):
                write_bytes(self.path("HEAD"), b"ref: refs/heads/none\n")
            self._add_config()
            self._update_attributes()
            self._update_excludes()
        except OSError as error:
            raise self.unusable(error) from error

    def furnish_project(self, project_id: str, root: str) -> None:
        """The project's git directory. Without `locked`, any `git gc` deletes it (git 2.39)."""
        gitdir = self.gitdir(project_id)
        if os.path.exists(f"{gitdir}/HEAD"):
            return
        os.makedirs(gitdir, mode=0o700, exist_ok=True)
        write_bytes(f"{gitdir}/commondir", b"../..\n")
        write_bytes(f"{gitdir}/gitdir", os.fsencode(root) + b"/.git\n")
        write_bytes(f"{gitdir}/locked", b"in use by hermes_checkpoints\n")
        self.set_head(project_id, "")

    def set_head(self, project_id: str, oid: str) -> None:
        """What `git status` compares the index with: the tip, so that it has little to say.

        Detached, as `git fsck` (2.39) calls a HEAD that names a ref outside `refs/heads` strange.
        """
        head = oid or "ref: refs/heads/none"
        write_bytes(f"{self.gitdir(project_id)}/HEAD", head.encode() + b"\n")

    def root_of(self, project_id: str) -> str:
        """Where a project is, as its git directory has it; empty if that is not known."""
        try:
            with open(f"{self.gitdir(project_id)}/gitdir", "rb") as file:
                return os.fsdecode(file.read().removesuffix(b"\n").removesuffix(b"/.git"))
        except OSError:
            return ""

    def unusable(self, error: OSError) -> StoreUnavailable:
        what = error.strerror or type(error).__name__
        return StoreUnavailable(
            f"the checkpoint store {self.store} cannot be used: {what}",
            hint=f"see that {error.filename or self.store} is a directory you may write to",
        )

    # ------------------------------------------------------------------ contents of files

    def excludes_file(self, patterns: tuple[str, ...]) -> str:
        """A file with the configured patterns, for `core.excludesFile`; named by its content."""
        if not patterns:
            return os.devnull
        known = self._excludes.get(patterns)
        if known and os.path.exists(known):
            return known
        text = ("\n".join(patterns) + "\n").encode("utf-8", "surrogateescape")
        path = self.path("excludes", hashlib.sha256(text).hexdigest()[:16])
        if not os.path.exists(path):
            write_bytes(path, text)
        self._excludes[patterns] = path
        return path

    def own_patterns(self, root: str) -> tuple[str, ...]:
        """Ignore patterns for what of the store lies in a project: it never captures itself."""
        base = self._real_base = self._real_base or os.path.realpath(self.base)
        top = root.rstrip("/") + "/"
        if base == root:
            return ("/store/", "/legacy-*/", "/corrupt-*/", "/.last_prune")
        if not base.startswith(top):
            return ()
        return ("/" + re.sub(r"([\\*?\[\]!# ])", r"\\\1", base[len(top) :]) + "/",)

    def _add_config(self) -> None:
        path = self.path("config")
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                text = file.read()
        except FileNotFoundError:
            text = ""
        if "[core]" not in text:
            text += "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"
        if "maintenance" not in text:
            write_bytes(path, (text + _CONFIG).encode("utf-8", "surrogateescape"))

    def _update_attributes(self) -> None:
        path = self.path("info", "attributes")
        if _text(path) != ATTRIBUTES:
            write_bytes(path, ATTRIBUTES.encode())

    def _update_excludes(self) -> None:
        """Bring the managed block up to date; lines outside it are the person's and stay."""
        path = self.path("info", "exclude")
        old = _text(path) or ""
        block = "\n".join((_BEGIN, *DEFAULT_EXCLUDES, _END)) + "\n"
        new = block + _own_lines(old)
        if new != old:
            write_bytes(path, new.encode("utf-8", "surrogateescape"))

    # ------------------------------------------------------------------ older layouts

    def move_v1(self, now: float) -> list[str]:
        """Move one-repository-per-project directories to `legacy-<time>`; returns their names."""
        try:
            with os.scandir(self.base) as entries:
                old = [e.name for e in entries if self._is_v1(e)]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self.unusable(error) from error
        if not old:
            return []
        stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
        archive = os.path.join(self.base, f"legacy-{stamp}")
        os.makedirs(archive, mode=0o700, exist_ok=True)
        for name in old:
            shutil.move(os.path.join(self.base, name), os.path.join(archive, name))
        return old

    def _is_v1(self, entry: os.DirEntry[str]) -> bool:
        if entry.name == "store" or entry.name.startswith(("legacy-", "corrupt-", ".")):
            return False
        marker = os.path.join(entry.path, self._v1_marker)
        return entry.is_dir(follow_symlinks=False) and os.path.exists(marker)

    def archives(self) -> list[str]:
        """Names of the archives of older layouts."""
        return sorted(n for n in names_in(self.base) if n.startswith("legacy-"))


def _own_lines(text: str) -> str:
    """What a person wrote into an exclude file: all but the managed block."""
    lines = text.splitlines()
    if _BEGIN in lines and _END in lines[lines.index(_BEGIN) :]:
        first, last = lines.index(_BEGIN), lines.index(_END)
        kept = lines[:first] + lines[last + 1 :]
    else:
        ours = _TOO_WIDE.union(DEFAULT_EXCLUDES)
        kept = [line for line in lines if line.strip() not in ours]
    return "".join(line + "\n" for line in kept)


# --------------------------------------------------------------------------- small parts


def _text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except FileNotFoundError:
        return None


def names_in(directory: str) -> list[str]:
    """Names in a directory, sorted; none if it is missing, as in a store just being made."""
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []
