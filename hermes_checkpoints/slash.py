"""`/rollback`: text in, a typed reply out.

Owns the grammar, what each verb asks of the manager, and completion. Needs no terminal, never
prompts, never raises. Words come from `render`, decisions from the manager.

    /rollback [list]                          the numbered list
    /rollback <which> [path...] [option...]   restore: everything, or these paths
    /rollback diff <which> [path...]          from that checkpoint to the files now
    /rollback plan <which> [path...] [--all]  what a restore would do
    /rollback undo [--busy-ok]                take back the last rollback
    /rollback help                            this, for people

`<which>` is a number in the list or an id of at least four characters. Options: `--all`,
`--busy-ok`, and one of `--files-only` and `--chat-only`; `--` ends them.
"""

from __future__ import annotations

import logging
import os
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hermes_checkpoints import render
from hermes_checkpoints.errors import CheckpointError, CheckpointNotFound
from hermes_checkpoints.intent import is_sandbox
from hermes_checkpoints.inventory import Presence
from hermes_checkpoints.manager import CheckpointManager, sandbox_refusal
from hermes_checkpoints.records import Report, Step

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer

__all__ = ["Reply", "RollbackCommand", "Suggestion"]

_log = logging.getLogger("hermes_checkpoints")

DIFF_LINES = 200
"""Lines of a patch that fit into a chat."""

LISTED = 100
"""Paths of one list that fit into a chat."""

_REMEMBERED = 5.0  # seconds

_VERBS = ("list", "diff", "plan", "undo", "help")
_OPTIONS = {
    "--all": "restore your hand-edits too",
    "--busy-ok": "even while a tool is running here",
    "--files-only": "leave the chat as it is",
    "--chat-only": "leave the files as they are",
}
_ALLOWED = {
    "list": (),
    "help": (),
    "diff": (),
    "plan": ("--all",),
    "undo": ("--busy-ok",),
    "restore": tuple(_OPTIONS),
}


@dataclass(frozen=True, slots=True)
class Reply:
    """What to show, whether all went well, and how many of the session's last turns to drop.

    `report` is set after a restore or undo.
    """

    text: str
    ok: bool
    report: Report | None = None
    drop_turns: int = 0


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One way to go on: `text` replaces the `length` characters before the cursor."""

    text: str
    length: int
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class _Request:
    verb: str
    which: str = ""
    paths: tuple[str, ...] = ()
    options: frozenset[str] = frozenset()


class _BadInput(Exception):
    """What was typed is no command; the text says what to type instead."""


class RollbackCommand:
    """`/rollback` for a host's prompt or chat.

    `environment` is where the session's tools act (`local`, `ssh`, or a sandbox's name), `name`
    what the host calls the command. One object may serve many chats: give each call its `cwd` and
    `session_id`.
    """

    def __init__(
        self, manager: CheckpointManager, *, environment: str = "local", name: str = "/rollback"
    ) -> None:
        self._manager = manager
        self._environment = environment
        self._name = name
        self._words = render.Words.of_slash(name, manager.config.host.command)
        self._seen: tuple[tuple[str, str], float, list[tuple[str, Step]]] = (("", ""), 0.0, [])

    def run(
        self,
        text: str = "",
        *,
        cwd: str | os.PathLike[str] | None = None,
        session_id: str | None = None,
        environment: str | None = None,
    ) -> Reply:
        """Do what was typed, with or without the command's name in front. Never raises."""
        place = os.fspath(cwd) if cwd is not None else self._manager.cwd
        where = self._environment if environment is None else environment
        try:
            request = _parse(self._arguments(text), self._name)
            with self._manager.session(session_id):
                return self._do(request, place, where)
        except _BadInput as error:
            return Reply(str(error), ok=False)
        except CheckpointError as error:
            return Reply(self._complaint(error), ok=False)
        except Exception as error:  # noqa: BLE001  promise: /rollback never takes a host down
            _log.debug("%s failed", self._name, exc_info=error)
            return Reply(render.complaint(error, self._words), ok=False)

    # ------------------------------------------------------------------ verbs

    def _do(self, request: _Request, cwd: str, environment: str) -> Reply:
        if request.verb == "help":
            return Reply(render.usage(self._words), ok=True)
        if request.verb == "list":
            return self._list(cwd)
        if is_sandbox(environment):
            return Reply(render.sentence(sandbox_refusal(environment)), ok=False)
        verbs: dict[str, Callable[[_Request, str], Reply]] = {
            "diff": self._diff,
            "plan": self._plan,
            "undo": self._undo,
            "restore": self._restore,
        }
        return verbs[request.verb](request, cwd)

    def _list(self, cwd: str) -> Reply:
        project = self._manager.project(cwd)
        checkpoints = self._manager.list_checkpoints(cwd)
        if checkpoints:
            text = render.listing(project, checkpoints, self._words)
            if pending := self._manager.recovery.pending(project):
                text = f"{render.note(pending, self._words)}\n\n{text}"
            for other in self._manager.other_histories(cwd):
                text += f"\n\n{render.note(render.other_history(other), self._words)}"
            return Reply(text, ok=True)
        known = self._manager.status().projects
        others = [p for p in known if p.checkpoints and p.project.id != project.id]
        gone = any(p.presence is not Presence.LIVE for p in others)
        moved = self._manager.housekeeping.moved_from(project) if gone else None
        text = render.no_checkpoints(
            project,
            enabled=self._manager.config.enabled,
            others=others,
            moved_from=moved.root if moved else "",
            now=time.time(),
            words=self._words,
        )
        return Reply(text, ok=True)

    def _diff(self, request: _Request, cwd: str) -> Reply:
        checkpoint = self._manager.find(cwd, request.which)
        diff = self._manager.diff(cwd, checkpoint.id, paths=request.paths)
        text = render.cut_diff(diff, checkpoint, lines=DIFF_LINES, words=self._words)
        return Reply(text, ok=True)

    def _plan(self, request: _Request, cwd: str) -> Reply:
        checkpoint = self._manager.find(cwd, request.which)
        everything = "--all" in request.options
        plan = self._manager.plan(
            cwd, checkpoint.id, paths=request.paths, keep_edits=not everything
        )
        typed = shlex.join([*request.paths, *(["--all"] if everything else [])])
        command = f"{self._name} {checkpoint.short_id} {typed}".rstrip()
        return Reply(render.plan(plan, self._words, command, most=LISTED), ok=not plan.refusal)

    def _restore(self, request: _Request, cwd: str) -> Reply:
        checkpoint = self._manager.find(cwd, request.which)
        if "--chat-only" in request.options:
            report = self._manager.rewind_chat(cwd, checkpoint.id)
            text = render.chat_only(checkpoint, report.drop_turns)
            return Reply(text, ok=True, report=report, drop_turns=report.drop_turns)
        report = self._manager.restore(
            cwd,
            checkpoint.id,
            request.paths,
            keep_edits="--all" not in request.options,
            busy_ok="--busy-ok" in request.options,
            chat="--files-only" not in request.options,
        )
        return self._reported(report)

    def _undo(self, request: _Request, cwd: str) -> Reply:
        busy_ok = "--busy-ok" in request.options
        return self._reported(self._manager.undo(cwd, busy_ok=busy_ok))

    def _reported(self, report: Report) -> Reply:
        text = render.report(report, self._words, most=LISTED)
        return Reply(text, report.ok, report, report.drop_turns)

    # ------------------------------------------------------------------ small parts

    def _arguments(self, text: str) -> str:
        words = text.split(None, 1)
        named = bool(words) and words[0] == self._name
        return "".join(words[1:]) if named else text

    def _complaint(self, error: CheckpointError) -> str:
        if isinstance(error, CheckpointNotFound) and not error.hint:
            error = CheckpointNotFound(error.message, hint=f"{self._name} lists them")
        return render.complaint(error, self._words)

    # ------------------------------------------------------------------ completion

    def complete(self, text: str, *, cwd: str | os.PathLike[str] | None = None) -> list[Suggestion]:
        """How the text before the cursor may go on. Never raises; empty for other commands."""
        name, blank, rest = text.lstrip().partition(" ")
        if not blank:
            length = len(name)
            return [Suggestion(self._name, length)] if self._name.startswith(name) else []
        if name != self._name:
            return []
        place = os.fspath(cwd) if cwd is not None else self._manager.cwd
        done, _, word = rest.rpartition(" ")
        try:
            found = list(self._continuations(done.split(), word, place))
        except Exception as error:  # noqa: BLE001  promise: a key press never fails
            _log.debug("no completion", exc_info=error)
            return []
        return [Suggestion(t, len(word), m) for t, m in found if t.startswith(word)]

    def completer(self, *, cwd: str | os.PathLike[str] | None = None) -> Completer:
        """A completer for `prompt_toolkit` (needs the `repl` extra)."""
        from hermes_checkpoints.completion import RollbackCompleter

        return RollbackCompleter(self, cwd=cwd)

    def _continuations(self, done: Sequence[str], word: str, cwd: str) -> Iterator[tuple[str, str]]:
        first = done[0] if done else ""
        if word.startswith("-"):
            verb = first if first in _VERBS else "restore"
            yield from ((o, _OPTIONS[o]) for o in _ALLOWED[verb])
        elif not done:
            yield from ((v, _MEANINGS[v]) for v in _VERBS)
            yield from self._checkpoints(cwd, ids=bool(word))
        elif first in ("diff", "plan") and len(done) == 1:
            yield from self._checkpoints(cwd, ids=bool(word))
        elif first not in ("list", "undo", "help"):
            which = done[1] if first in ("diff", "plan") else first
            yield from self._files(cwd, which)

    def _checkpoints(self, cwd: str, *, ids: bool) -> Iterator[tuple[str, str]]:
        listed = self._manager.list_checkpoints(cwd)
        for number, checkpoint in enumerate(listed, 1):
            yield str(number), render.checkpoint_line(checkpoint)
        if ids:
            yield from ((c.short_id, render.checkpoint_line(c)) for c in listed)

    def _files(self, cwd: str, which: str) -> Iterator[tuple[str, str]]:
        """The files that a restore would change, relative to `cwd`."""
        for root, step in self._changed(cwd, which):
            path = os.path.relpath(os.path.join(root, step.path), cwd)
            if not path.startswith(os.pardir + os.sep):
                yield shlex.quote(path), step.kind.value

    def _changed(self, cwd: str, which: str) -> list[tuple[str, Step]]:
        """The steps of a plan, remembered for a few seconds: every key asks for them."""
        key, until, steps = self._seen
        if key != (cwd, which) or time.monotonic() > until:
            plan = self._manager.plan(cwd, which, keep_edits=False)
            steps = [(plan.project.root, step) for step in plan.steps]
            self._seen = ((cwd, which), time.monotonic() + _REMEMBERED, steps)
        return steps


_MEANINGS = {
    "list": "the numbered list",
    "diff": "what changed since a checkpoint",
    "plan": "what a restore would do",
    "undo": "take back the last rollback",
    "help": "how to use it",
}


# --------------------------------------------------------------------------- grammar


def _parse(text: str, name: str) -> _Request:
    words, options = _sorted_out(_split(text), name)
    first = words[0] if words else "list"
    verb = first if first in _VERBS else "restore"
    for option in sorted(options):
        if option not in _ALLOWED[verb]:
            raise _BadInput(f"{option} has no meaning for `{name} {_shown(verb)}`. {_see(name)}")
    if {"--files-only", "--chat-only"} <= options:
        raise _BadInput("--files-only and --chat-only exclude each other: leave one out.")
    if verb in ("list", "undo", "help"):
        if len(words) > 1:
            raise _BadInput(
                f"`{name} {verb}` takes nothing more, but there is {_shown(words[1])}. {_see(name)}"
            )
        return _Request(verb, options=options)
    which, paths = _which(words if verb == "restore" else words[1:], verb, name)
    if paths and options & {"--files-only", "--chat-only"}:
        raise _BadInput(
            "Selected paths never touch the chat, so --files-only and --chat-only "
            "go with a whole rollback only: leave the option or the paths out."
        )
    return _Request(verb, which, paths, options)


def _which(words: Sequence[str], verb: str, name: str) -> tuple[str, tuple[str, ...]]:
    if not words:
        raise _BadInput(f"Say which checkpoint: `{name} {verb} <N>`. `{name}` lists them.")
    which = words[0]
    number = which.isascii() and which.isdigit()
    if number and int(which) == 0:
        raise _BadInput(f"Checkpoints are numbered from 1, the newest. `{name}` lists them.")
    if not number and not _is_id(which):
        raise _BadInput(
            f"{_shown(which)} is neither a number in the list nor an id of at least four "
            f"characters. {_see(name)}"
        )
    return which, tuple(_native(p) for p in words[1:])


def _is_id(word: str) -> bool:
    """Stores choose their ids; hexadecimal ones, and names of letters and digits, can be typed."""
    return 4 <= len(word) <= 64 and word.isascii() and word.isalnum()


def _sorted_out(words: Sequence[str], name: str) -> tuple[list[str], frozenset[str]]:
    """Words and options; after `--` everything is a word."""
    plain: list[str] = []
    options: set[str] = set()
    for at, word in enumerate(words):
        if word == "--":
            plain += words[at + 1 :]
            break
        if word.startswith("-") and word != "-":
            if word not in _OPTIONS:
                raise _BadInput(
                    f"There is no option {_shown(word)}; there are {', '.join(_OPTIONS)}. "
                    f"For a file of that name: `{name} <N> -- {_shown(word)}`."
                )
            options.add(word)
        else:
            plain.append(word)
    return plain, frozenset(options)


def _split(text: str, *, windows: bool = os.sep == "\\") -> list[str]:
    """Words as a shell sees them; on Windows a backslash is a part of a path."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.commenters = ""
    if windows:
        lexer.escape = ""
    try:
        return list(lexer)
    except ValueError:
        raise _BadInput("A quote is opened and not closed: close it, or leave it out.") from None


def _native(path: str, *, windows: bool = os.sep == "\\") -> str:
    return path.replace("\\", "/") if windows else path


def _shown(word: str) -> str:
    return render.safe(word if len(word) <= 60 else word[:60] + "…")


def _see(name: str) -> str:
    return f"`{name}` lists the checkpoints, `{name} help` the commands."
