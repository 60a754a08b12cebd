"""Records as text for people: the only place where the library's facts become words.

Owns every layout, label, size, age and date a person reads, and makes names fit to show. Does not
print, decide or look anything up; what it is not given it does not say.
Texts end without a newline.
"""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hermes_checkpoints.errors import CheckpointError
from hermes_checkpoints.inventory import (
    Archive,
    Drop,
    DropReason,
    Explanation,
    Presence,
    ProjectStatus,
    PruneResult,
    Status,
)
from hermes_checkpoints.records import (
    Checkpoint,
    Failed,
    Gap,
    GapReason,
    Outcome,
    Plan,
    Project,
    Report,
    Skipped,
    StepKind,
    Taken,
    Unchanged,
)
from hermes_checkpoints.shell.effects import Effects
from hermes_checkpoints.stores.base import Diff, Problem, ProjectRecord

__all__ = [
    "SLASH",
    "Words",
    "age",
    "chat_only",
    "checkpoint_line",
    "clear_question",
    "complaint",
    "cut_diff",
    "effects",
    "explanation",
    "forgotten",
    "holders",
    "listing",
    "names",
    "no_checkpoints",
    "note",
    "orphans",
    "other_history",
    "outcome",
    "plan",
    "problems",
    "prune_result",
    "relinked",
    "report",
    "safe",
    "sentence",
    "size",
    "status",
    "usage",
    "when",
]


@dataclass(frozen=True, slots=True)
class Words:
    """What the person types where the text is shown: a chat's `/rollback`, or a shell command.

    `restore` stands before a checkpoint's number, `verb` before every other verb, `log` lists the
    checkpoints, `upkeep` stands before the commands of the command line.
    """

    restore: str = "/rollback"
    verb: str = "/rollback"
    log: str = "/rollback"
    upkeep: str = "hermes checkpoints"

    @classmethod
    def of_slash(cls, name: str, command: str) -> Words:
        """The words of a chat in which the command is called `name`."""
        return cls(name, name, name, command)

    @classmethod
    def of_command(cls, command: str) -> Words:
        """The words of a command line that is started as `command`."""
        return cls(f"{command} restore", command, f"{command} log", command)

    def translated(self, text: str) -> str:
        """A sentence that speaks of `/rollback`, as it is typed here."""
        return _ROLLBACK.sub(self._said, text)

    def _said(self, found: re.Match[str]) -> str:
        if found["verb"]:
            return f"{self.verb} {found['verb']}"
        if found["next"]:
            return f"{found['next']}{self.restore}"
        return f"{self.restore} <N>" if found["which"] else self.log


_ROLLBACK = re.compile(
    r"(?P<next>next `?)?(?<![\w/])/rollback\b(?: (?P<verb>undo|plan|diff)\b| (?P<which><N>))?"
)

SLASH = Words()


# --------------------------------------------------------------------------- names


# Joiners that scripts and emoji need; alone they cannot change what a line seems to say.
_HARMLESS = "\u200c\u200d"


def safe(text: str) -> str:
    """Text that can't move the cursor, reverse the line or break an encoder, still recognisable.

    Control, bidi and other invisible characters become escapes such as `\\x1b` and `\\u202e`; a
    byte that is no valid text (a surrogate, as `os.fsdecode` makes it) becomes `\\xff`.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(c) for c in text)


def _shown(char: str) -> str:
    kind = unicodedata.category(char)
    if kind not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") or char in _HARMLESS:
        return char
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    short = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(char)
    return short or char.encode("unicode_escape", "surrogatepass").decode("ascii")


def names(paths: Iterable[str], most: int = 0) -> str:
    """Paths on one line; with `most`, no more than that and how many there are besides."""
    shown = [safe(p) for p in paths]
    if most and len(shown) > most:
        return f"{', '.join(shown[:most])} (+{len(shown) - most})"
    return ", ".join(shown)


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"


# --------------------------------------------------------------------------- numbers


def size(amount: int) -> str:
    """Bytes as `512 B`, `4.2 MB`, `1.3 GB`."""
    if amount < 1024:
        return f"{amount} B"
    value = amount / 1024
    for unit in ("KB", "MB", "GB"):
        if value < 1024:
            return f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TB"


def age(seconds: float) -> str:
    """How long ago, in its largest unit: `just now`, `5m ago`, `2h ago`, `9d ago`."""
    if seconds < 60:
        return "just now"
    for length, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= length:
            return f"{int(seconds // length)}{unit} ago"
    raise AssertionError("unreachable: a minute or more has a unit")


def when(moment: float) -> str:
    """A time as local date and minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))


# --------------------------------------------------------------------------- the list


def listing(project: Project, checkpoints: Sequence[Checkpoint], words: Words = SLASH) -> str:
    """The numbered list, newest first, with the commands that use it."""
    lines = [f"📸 Checkpoints for {safe(project.root)}:", ""]
    lines += [f"{n:>3}. {checkpoint_line(c)}" for n, c in enumerate(checkpoints, 1)]
    if not project.whole:
        lines += ["", f"  {_named_only(project)}"]
    first = words.restore
    rows = (
        (f"{first} <N>", "restore to checkpoint N (keeps your hand-edits)"),
        (f"{first} <N> --all", "full restore, overwriting your hand-edits too"),
        (f"{words.verb} diff <N>", "preview changes since checkpoint N"),
        (f"{first} <N> <file>", "restore a single file from checkpoint N"),
    )
    return "\n".join([*lines, "", _rows(rows)])


def usage(words: Words = SLASH) -> str:
    """Every command of `/rollback`, with what it does."""
    name = words.restore
    return _rows(
        (
            (words.log, "the numbered list of checkpoints"),
            (f"{name} <N>", "restore to checkpoint N (keeps your hand-edits)"),
            (f"{name} <N> --all", "full restore, overwriting your hand-edits too"),
            (f"{name} <N> <path>...", "restore only these files, directories or patterns"),
            (f"{name} <N> --files-only", "restore the files and leave the chat"),
            (f"{name} <N> --chat-only", "drop the chat's turns and leave the files"),
            (f"{name} <N> --busy-ok", "restore even while a tool is running here"),
            (f"{words.verb} diff <N> [path]...", "what changed since checkpoint N"),
            (f"{words.verb} plan <N> [path]...", "what a restore would do; changes nothing"),
            (f"{words.verb} undo", "take back the last rollback; again walks further"),
        )
    )


def _rows(rows: Sequence[tuple[str, str]]) -> str:
    """Commands and what they do, in two columns."""
    width = max(len(command) for command, _ in rows) + 6
    return "\n".join(f"  {command:<{width}}{does}" for command, does in rows)


def checkpoint_line(checkpoint: Checkpoint) -> str:
    """One checkpoint on one line: id, local time, reason, counts, what it does not hold."""
    parts = [checkpoint.short_id, when(checkpoint.time), safe(checkpoint.reason)]
    if checkpoint.files:
        added, removed = checkpoint.insertions or 0, checkpoint.deletions or 0
        parts.append(f"({_count(checkpoint.files, 'file')}, +{added}/-{removed})")
    if gaps := _gaps_note(checkpoint):
        parts.append(gaps)
    return "  ".join(parts)


def _gaps_note(checkpoint: Checkpoint) -> str:
    if checkpoint.gaps is None:
        return "[gaps unknown]"
    # The reason names nested repositories already.
    told = "nested git repos not captured" in checkpoint.reason
    gaps = [g for g in checkpoint.gaps if not (told and g.reason is GapReason.NESTED_REPOSITORY)]
    if not gaps:
        return ""
    shown = ", ".join(f"{safe(g.path)} ({_gap_reason(g)})" for g in gaps[:3])
    more = f" (+{len(gaps) - 3})" if len(gaps) > 3 else ""
    return f"[not held: {shown}{more}]"


def _gap_reason(gap: Gap) -> str:
    return f"{gap.reason.value}: {safe(gap.detail)}" if gap.detail else gap.reason.value


def _named_only(project: Project) -> str:
    why = project.why_not_whole or "can't be snapshotted whole"
    return f"Only files that a call names are protected here: the directory {why}."


def no_checkpoints(
    project: Project,
    *,
    enabled: bool,
    others: Sequence[ProjectStatus] = (),
    moved_from: str = "",
    now: float = 0.0,
    words: Words = SLASH,
) -> str:
    """Instead of an empty list: where was looked, whether checkpoints are on, who has some."""
    lines = [f"No checkpoints for {safe(project.root)}."]
    if enabled:
        lines.append("Checkpoints are on: one is taken before the next change the agent makes.")
    else:
        lines.append(
            "Checkpoints are off: set `enabled: true` under `checkpoints:` in the configuration, "
            "or start with --checkpoints."
        )
    if not project.whole:
        lines.append(_named_only(project))
    if moved_from:
        lines.append(
            f"This directory seems to be {safe(moved_from)}, moved. To take its checkpoints over: "
            f"{words.upkeep} relink {_quoted(moved_from)} {_quoted(project.root)}"
        )
    if others:
        lines += ["", "Other projects with checkpoints:"]
        lines += [
            f"  {safe(p.project.root)}  ({p.checkpoints}, {age(now - p.last_touch)})"
            for p in others[:10]
        ]
        if len(others) > 10:
            lines.append(f"  … and {len(others) - 10} more: {words.upkeep} status")
    return "\n".join(lines)


def _quoted(path: str) -> str:
    shown = safe(path)
    plain = shown.replace("/", "").replace("-", "").replace("_", "").replace(".", "")
    return shown if plain.isalnum() else "'" + shown.replace("'", "'\\''") + "'"


# --------------------------------------------------------------------------- diff


def cut_diff(
    diff: Diff, checkpoint: Checkpoint, *, lines: int | None = None, words: Words = SLASH
) -> str:
    """The summary, then the patch; after `lines` lines of it (all, if `None`) a note."""
    if not diff.patch.strip() and not diff.stat.strip():
        return f"Nothing has changed since checkpoint {checkpoint.short_id}."
    patch = _safe_lines(diff.patch)
    cut = patch if lines is None else patch[:lines]
    text = [*_safe_lines(diff.stat), "", *cut]
    if len(cut) < len(patch):
        text += [
            "",
            f"… {_count(len(patch) - len(cut), 'more line')}. "
            f"All of it: {words.upkeep} diff {checkpoint.short_id}",
        ]
    return "\n".join(text).strip("\n")


def _safe_lines(data: bytes) -> list[str]:
    text = data.decode("utf-8", "surrogateescape").strip("\n")
    return ["\t".join(safe(part) for part in line.split("\t")) for line in text.split("\n")]


# --------------------------------------------------------------------------- plan


_STEP_TITLES = {
    StepKind.WRITE: "Would restore",
    StepKind.DELETE: "Would delete",
    StepKind.KEEP_YOURS: "Would keep as yours",
    StepKind.KEEP_UNSAVED: "Would leave, because no checkpoint holds what is there",
}


def plan(it: Plan, words: Words = SLASH, typed: str = "", *, most: int = 0) -> str:
    """What a restore would do, each path with its reason. `typed` is the command that does it.

    With `most`, no list is longer than that, and says where the rest can be read.
    """
    lines = [f"Plan for checkpoint {_named(it.checkpoint)}"]
    if it.refusal:
        refusal = f"Would be refused: {_stopped(words.translated(it.refusal))}"
        return "\n".join([*lines, refusal, *_notes(it, words)])
    lines.append(_plan_counts(it))
    for kind, title in _STEP_TITLES.items():
        lines += _section(title, [(s.path, s.why) for s in it.of(kind)], most)
    lines += _section("Would make empty directories", [(p, "") for p in it.empty_dirs], most)
    gaps = [(g.path, _gap_reason(g)) for g in it.unrestorable]
    lines += _section("Can't be restored", gaps, most)
    lines += _notes(it, words)
    if most and any(len(it.of(kind)) > most for kind in _STEP_TITLES):
        lines += ["", f"All of it: {words.upkeep} plan {it.checkpoint.short_id}"]
    command = typed or f"{words.restore} {it.checkpoint.short_id}"
    if it.writes or it.deletes or it.empty_dirs:
        lines += ["", f"Nothing has been changed. To do it: {command}"]
    return "\n".join(lines)


def _plan_counts(it: Plan) -> str:
    unsaved = len(it.of(StepKind.KEEP_UNSAVED))
    parts = [
        f"{_count(len(it.writes), 'file')} would come back",
        f"{len(it.deletes):,} would go",
        f"{len(it.kept):,} would stay as yours",
    ]
    if unsaved:
        parts.append(f"{unsaved:,} would stay because no checkpoint holds them")
    if it.unrestorable:
        parts.append(f"{len(it.unrestorable):,} can't be restored")
    return ", ".join(parts) + "."


def _named(checkpoint: Checkpoint) -> str:
    return f"{checkpoint.id[:8]}: {safe(checkpoint.reason)}"


def _section(title: str, rows: Sequence[tuple[str, str]], most: int = 0) -> list[str]:
    if not rows:
        return []
    shown = [(safe(path), safe(why)) for path, why in (rows[:most] if most else rows)]
    width = min(max(len(path) for path, _ in shown), 48)
    lines = [f"  {path:<{width}}  {why}".rstrip() for path, why in shown]
    if len(shown) < len(rows):
        lines.append(f"  … and {len(rows) - len(shown):,} more")
    return ["", f"{title} ({len(rows):,}):", *lines]


def _notes(it: Plan | Report, words: Words) -> list[str]:
    return ["", *(note(n, words) for n in it.notes)] if it.notes else []


def other_history(it: ProjectRecord) -> str:
    """That another project around here has checkpoints, too."""
    count = _count(it.checkpoints, "checkpoint")
    return f"{it.project.root} has {count} of its own, which this list leaves out; their ids work"


def note(text: str, words: Words = SLASH) -> str:
    """A sentence that the person must see."""
    return sentence(words.translated(safe(text)))


# --------------------------------------------------------------------------- report


def report(it: Report, words: Words = SLASH, *, most: int = 0) -> str:
    """What a restore or undo did: the upshot, then a list for each fate of a path.

    With `most`, no list of what went well is longer than that; failures are always named.
    """
    lines = [_headline(it), _upshot(it, words)]
    if it.kept:
        lines.append(f"↷ Kept your hand-edits: {names((s.path for s in it.kept), 20)}")
        if it.action != "undo":
            lines.append(f"Use {words.restore} <N> --all to restore those too.")
    lines += _section("Restored", [(p, "") for p in it.restored], most)
    lines += _section("Deleted", [(p, "") for p in it.deleted], most)
    lines += _section("Kept as yours", [(s.path, s.why) for s in it.kept], most)
    lines += _section("Not restorable", [(g.path, _gap_reason(g)) for g in it.unrestorable])
    lines += _section("Failed", list(it.failed))
    lines += _section("Moved aside", [(old, f"is now {new}") for old, new in it.aside])
    return "\n".join(lines + _notes(it, words))


def _headline(it: Report) -> str:
    if it.action == "undo":
        return (
            "✅ The last rollback is undone" if it.ok else "⚠️ The last rollback is undone in part"
        )
    to = f" to checkpoint {_named(it.target)}" if it.target else ""
    return f"✅ Restored{to}" if it.ok else f"⚠️ Restored in part{to}"


def _upshot(it: Report, words: Words) -> str:
    counts = [_count(len(it.restored), "file is", "files are") + " back"]
    if it.deleted:
        counts.append(f"{len(it.deleted):,} deleted")
    counts.append(f"{len(it.kept):,} kept as yours")
    if it.unrestorable:
        counts.append(f"{len(it.unrestorable):,} not restorable")
    counts.append(f"{len(it.failed):,} failed")
    changed = it.restored or it.deleted or it.failed
    if not changed:
        return f"{', '.join(counts)}; nothing had to be changed."
    if it.action == "undo":
        back = f"`{words.verb} undo` walks further back"
    elif it.ok:
        back = f"`{words.verb} undo` takes this back"
    else:
        back = f"`{words.verb} undo` brings the state before back"
    return f"{', '.join(counts)}; {back}."


def chat_only(checkpoint: Checkpoint, turns: int) -> str:
    """That the chat goes back and the files stay."""
    dropped = _count(turns, "turn")
    return f"The chat goes back {dropped}, to before {_named(checkpoint)}; no file was changed."


# --------------------------------------------------------------------------- trouble


def sentence(text: str) -> str:
    """Text that begins with a capital, unless with a path or command, and ends with a stop."""
    text = text.strip()
    word = text.split(" ", 1)[0]
    if word.isalpha():
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", "…")) else text + "."


def _stopped(text: str) -> str:
    """Foreign text made safe, with a stop at its end."""
    shown = _lines(text.strip())
    return shown if shown.endswith((".", "!", "?", "…")) else shown + "."


def complaint(error: BaseException, words: Words = SLASH) -> str:
    """An error as one sentence, then what the person can do."""
    if isinstance(error, CheckpointError):
        hint = [f"→ {words.translated(_lines(error.hint))}"] if error.hint else []
        return "\n".join([sentence(words.translated(_lines(error.message))), *hint])
    kind = type(error).__name__
    return f"Something went wrong in the library itself ({kind}): {_stopped(str(error))}"


def _lines(text: str) -> str:
    return "\n".join(safe(line) for line in text.split("\n"))


# --------------------------------------------------------------------------- status


def status(it: Status, *, now: float, words: Words = SLASH) -> str:
    """Sizes, a row for each project, legacy archives, and what is wrong."""
    lines = [
        f"Checkpoint base: {safe(it.base)}",
        f"Total size:      {size(it.total)}",
        f"  store/         {size(it.store)}",
        f"  legacy-*       {size(sum(a.size for a in it.archives))}",
        f"Projects:        {len(it.projects)}",
    ]
    if it.projects:
        header = f"  {'WORKDIR':<60}  {'COMMITS':>7}  {'LAST TOUCH':>12}  STATE"
        lines += ["", header, *(_status_row(p, now) for p in it.projects)]
    if it.archives:
        lines += ["", *_archives(it.archives), "", f"Clear with: {words.upkeep} clear-legacy"]
    if trouble := _status_trouble(it, now, words):
        lines += ["", *trouble]
    return "\n".join(lines)


def _status_row(it: ProjectStatus, now: float) -> str:
    touched = age(now - it.last_touch)
    where = safe(it.project.root)
    return f"  {where:<60}  {it.checkpoints:>7}  {touched:>11}  {it.presence.value}"


def _archives(archives: Sequence[Archive]) -> list[str]:
    rows = [f"  {safe(a.name):<44} {size(a.size):>10}" for a in archives]
    return [f"Legacy archives ({len(archives)}):", *rows]


def _status_trouble(it: Status, now: float, words: Words) -> list[str]:
    lines = [sentence(_lines(p)) for p in it.problems]
    if not it.enabled:
        lines.append("Checkpoints are off: no tool call takes one (`enabled: false`).")
    if it.cap and it.store > it.cap:
        lines.append(
            f"The store is {size(it.store - it.cap)} over its cap of {size(it.cap)}: "
            f"{words.upkeep} prune --dry-run shows what can go."
        )
    for project in it.projects:
        where = safe(project.project.root)
        if project.presence is not Presence.LIVE:
            lines.append(f"{where} is {project.presence.value}: {safe(project.why)}.")
        if project.problem:
            lines.append(f"{where}: {_stopped(project.problem)}")
        if failure := project.failure:
            times = "" if failure.count == 1 else f" ({failure.count} times running)"
            lines.append(
                f"{where}: no checkpoint could be taken {age(now - failure.time)}{times}: "
                f"{_stopped(failure.error)}"
            )
    return lines


# --------------------------------------------------------------------------- upkeep


_DROP_REASONS = {
    DropReason.COUNT: "more than max_snapshots",
    DropReason.STALE: "not touched for retention_days",
    DropReason.ORPHAN: "its directory was deleted",
    DropReason.SIZE: "the store was over max_total_size_mb",
    DropReason.ASKED: "as asked",
}


def prune_result(it: PruneResult) -> str:
    """What went (or would go), why, and how much came back."""
    would = "Would drop" if it.dry_run else "Dropped"
    lines = [_drop_line(d, would) for d in it.drops]
    would = "Would delete" if it.dry_run else "Deleted"
    lines += [f"{would} {safe(a.name)} ({size(a.size)})." for a in it.archives]
    if not lines:
        lines.append("Nothing to drop.")
    freed = max(0, it.before - it.after) + sum(a.size for a in it.archives)
    frees = "would come back" if it.dry_run else "came back"
    lines.append(f"{size(freed)} {frees}; the store takes {size(it.after)}.")
    if it.still_over:
        lines.append(f"The store is still over its cap, because {it.still_over}.")
    lines += [f"Kept {safe(p.project.root)} ({p.presence.value}): {safe(p.why)}." for p in it.left]
    lines += [f"Could not delete {safe(what)}: {_stopped(why)}" for what, why in it.failed]
    return "\n".join(lines)


def _drop_line(drop: Drop, would: str) -> str:
    count = _count(len(drop.checkpoints), "checkpoint")
    whole = "the project with " if drop.whole else ""
    why = _DROP_REASONS[drop.reason]
    return f"{would} {whole}{count} of {safe(drop.project.root)}: {why}."


def clear_question(it: Status, *, legacy_only: bool = False) -> str:
    """What a `clear` would lose, as the beginning of a question."""
    archives = _archives(it.archives) if it.archives else []
    if legacy_only:
        return "\n".join(["This deletes for good:", *archives])
    lines = ["This deletes for good, and no rollback will be possible any more:"]
    lines += [
        f"  {_count(p.checkpoints, 'checkpoint')} of {safe(p.project.root)}" for p in it.projects
    ]
    return "\n".join([*lines, *archives])


def orphans(found: Sequence[ProjectStatus]) -> str:
    """Projects whose directory was deleted, before a sweep takes their checkpoints."""
    lines = [
        f"  {safe(p.project.root)}  ({_count(p.checkpoints, 'checkpoint')}; {safe(p.why)})"
        for p in found
    ]
    return "\n".join([f"{_count(len(found), 'project')} whose directory was deleted:", *lines])


def holders(path: str, found: Sequence[Checkpoint]) -> str:
    """The checkpoints from which a path would be removed."""
    if not found:
        return f"No checkpoint holds {safe(path)}."
    lines = [f"  {checkpoint_line(c)}" for c in found]
    count = _count(len(found), "checkpoint")
    return "\n".join([f"{safe(path)} would be removed for good from {count}:", *lines])


def forgotten(path: str, ids: Mapping[str, str]) -> str:
    """That a path is gone, and which checkpoints have new ids."""
    lines = [f"  {old[:12]} → {new[:12]}" for old, new in ids.items()]
    count = _count(len(ids), "checkpoint")
    again = "It is saved again unless an ignore rule or `exclude` leaves it out from now on."
    return "\n".join([f"{safe(path)} is gone from {count}, whose ids are new:", *lines, again])


def relinked(old: Project, new: Project) -> str:
    """That a moved project has its checkpoints again."""
    return f"The checkpoints of {safe(old.root)} are those of {safe(new.root)} now."


def outcome(it: Outcome, words: Words = SLASH) -> str:
    """What asking for a checkpoint came to."""
    if isinstance(it, Taken):
        return f"Taken: {checkpoint_line(it.checkpoint)}"
    if isinstance(it, Failed):
        return complaint(it.error, words)
    if isinstance(it, Skipped):
        return sentence(safe(it.why))
    held = f": {checkpoint_line(it.checkpoint)}" if it.checkpoint else ""
    if isinstance(it, Unchanged):
        return f"Nothing changed since the newest checkpoint{held or '.'}"
    return f"This turn has its checkpoint{held or '.'}"


def problems(found: Sequence[Problem], words: Words = SLASH) -> str:
    """What `verify` or `doctor` found, and what can be done about it."""
    if not found:
        return "No problem found."
    lines = [_count(len(found), "problem") + " found:"]
    for problem in found:
        where = f"{safe(problem.project)}: " if problem.project else ""
        lines.append(f"  {where}{_stopped(problem.what)}")
        if problem.fix:
            lines.append(f"    → {_lines(problem.fix)}")
    return "\n".join(lines)


# --------------------------------------------------------------------------- looking closer


def explanation(it: Explanation) -> str:
    """Whether a path is protected, since when, or why not."""
    word = "protected" if it.protected else "not protected"
    lines = [f"{safe(it.path)} is {word}: {_stopped(it.why)}"]
    lines.append(f"Project: {safe(it.project.root)}")
    if not it.project.whole:
        lines.append(_named_only(it.project))
    if it.held:
        state = "as it is now" if it.current else "as it was then"
        lines.append(f"Newest checkpoint that holds it, {state}: {checkpoint_line(it.held)}")
    if it.since and it.since != it.held:
        lines.append(f"Held without a break since: {checkpoint_line(it.since)}")
    return "\n".join(lines)


def effects(command: str, it: Effects) -> str:
    """What the classifier sees in a command, an effect a line."""
    verdict = "can destroy or change files" if it.destructive else "only creates files"
    if not it.changes:
        verdict = "changes no files"
    lines = [f"{safe(command)}", f"{sentence(verdict)} {sentence(safe(it.why))}".strip()]
    for effect in it.effects:
        sure = "" if effect.certain else " (perhaps)"
        path = "an unknown path" if effect.path is None else safe(effect.path)
        by = safe(" ".join(effect.evidence))
        lines.append(f"  {effect.kind.value:<12} {path}{sure}  [{by}]")
    return "\n".join(lines)
