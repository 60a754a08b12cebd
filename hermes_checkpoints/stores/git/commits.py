"""What a commit of ours says, and the checkpoints that a chain of commits is.

Owns the form of messages: a subject, which is the reason, and trailers. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hermes_checkpoints.records import Checkpoint, Project
from hermes_checkpoints.stores import rows
from hermes_checkpoints.stores.rows import Row

if TYPE_CHECKING:
    from hermes_checkpoints.stores.git.library import Commit

__all__ = ["grouped", "message"]

_TRAILER = re.compile(r"([A-Za-z][A-Za-z-]*): (.*)")
_TIME = re.compile(r"\d+\.\d{6}")


def message(
    project: Project,
    checkpoint: Checkpoint,
    labels: Mapping[str, str],
    supplements: str,
    live: str,
    now: float,
) -> bytes:
    """Subject and trailers.

    Project and time also keep two commits of the same tree, in the same second, from one id.
    """
    trailers = {"Project": project.root, "Taken": f"{now:.6f}", **labels}
    trailers["Scope"] = "whole" if checkpoint.whole else "named"
    if supplements:
        trailers["Supplements"] = supplements
    if live:
        trailers["Live"] = live
    lines = [" ".join(checkpoint.reason.split("\n")), ""]
    lines += [f"{key}: {' '.join(value.split(chr(10)))}" for key, value in trailers.items()]
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")


def _trailers(message: str) -> tuple[str, dict[str, str]]:
    """The subject, and the trailers if the last paragraph has nothing else."""
    subject, _, rest = message.partition("\n")
    lines = rest.strip("\n").split("\n\n")[-1].split("\n") if rest.strip() else []
    found = [_TRAILER.fullmatch(line) for line in lines]
    if not all(found):
        return subject, {}
    return subject, {match[1]: match[2] for match in found if match}


def grouped(chain: Sequence[Commit], said: Mapping[str, dict[str, Any]]) -> list[Row]:
    """Rows, newest first, of a chain of commits: each with its supplements as one."""
    found: list[Row] = []
    for commit in reversed(chain):
        subject, labels = _trailers(commit.message)
        supplemented = labels.pop("Supplements", "")
        scope = labels.pop("Scope", "whole")
        labels.pop("Project", None)
        taken = labels.pop("Taken", "")
        live = labels.pop("Live", commit.tree)
        told = said.get(commit.oid)
        if supplemented and found and found[-1].checkpoint.id == supplemented:
            found[-1] = _supplemented(found[-1], commit, told)
            continue
        value: dict[str, Any] = {
            "gaps": None,
            "whole": scope == "whole",
            "live": live,
            **(told or {}),
            "id": commit.oid,
            "time": float(taken) if _TIME.fullmatch(taken) else commit.time,
            "reason": subject,
            "tree": commit.tree,
            "labels": labels,
        }
        found.append(rows.decode(value))
    return found[::-1]


def _supplemented(row: Row, commit: Commit, told: Mapping[str, Any] | None) -> Row:
    ids = (*row.checkpoint.supplements, commit.oid)
    value = {**rows.encode(row), **(told or {}), "tree": commit.tree, "supplements": list(ids)}
    return rows.decode(value)
