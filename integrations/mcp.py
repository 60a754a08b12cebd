"""MCP: middleware for FastMCP servers, a proxy before any server, and a server of our own.

    server = FastMCP("files")
    server.add_middleware(CheckpointMiddleware(manager))

MCP has no turns, and since its revision of 2026-07-28 no sessions: see `CheckpointMiddleware` for
what stands in for them. Needs FastMCP 4: pip install 'hermes-checkpoints[mcp]'
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hermes_checkpoints.integrations._common import needs

import hermes_checkpoints as hc

with needs("mcp"):
    from fastmcp import FastMCP
    from fastmcp.client.transports import StdioTransport
    from fastmcp.exceptions import ToolError
    from fastmcp.server import create_proxy
    from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext

__all__ = ["CheckpointMiddleware", "checkpoint_server", "proxy"]

IDLE = 20.0
"""Seconds without a call after which the next one begins a turn."""


class CheckpointMiddleware(Middleware):
    """Protects every tool call of a FastMCP server, or of a proxy.

    A host that knows its turns sends them along: `_meta` with `hermes/session` and `hermes/turn`.
    For all others the session is this process, and a turn ends after `idle` seconds without a call.
    `cwd` is where the server's tools resolve relative paths (default: the manager's directory).
    """

    def __init__(
        self,
        manager: hc.CheckpointManager,
        *,
        cwd: str | os.PathLike[str] | None = None,
        idle: float = IDLE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._manager = manager
        self._cwd = os.path.abspath(cwd if cwd is not None else manager.cwd)
        self._idle = idle
        self._clock = clock
        self._last = float("-inf")
        self._running = 0
        self._reading: dict[str, bool] = {}

    async def on_call_tool(
        self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]
    ) -> Any:
        """Around one call; an exception of the tool passes through."""
        name, arguments = context.message.name, context.message.arguments or {}
        meta = _meta(context)
        if not meta.get("hermes/turn"):
            self._begin_turn_after_idle()
        call = hc.ToolCall(
            name,
            arguments,
            cwd=self._cwd,
            session_id=str(meta.get("hermes/session", "")),
            turn_id=str(meta.get("hermes/turn", "")),
            native_ids=True,
            effect=await self._effect(name, arguments, context),
        )
        self._running += 1
        try:
            async with self._manager.guard(call):
                return await call_next(context)
        except hc.NotProtected as error:
            raise ToolError(str(error)) from error
        finally:
            self._running -= 1
            self._last = self._clock()

    def _begin_turn_after_idle(self) -> None:
        if not self._running and self._clock() - self._last > self._idle:
            self._manager.new_turn()

    async def _effect(
        self, name: str, arguments: Mapping[str, Any], context: MiddlewareContext[Any]
    ) -> hc.ToolEffect | None:
        """Nothing, where a tool that we do not know says that it only reads."""
        call = hc.ToolCall(name, arguments)
        known = self._manager.registry.resolve(call, unknown_tools="ignore")
        if known.effect is hc.ToolEffect.NONE and await self._reads(name, context):
            return hc.ToolEffect.NONE
        return None

    async def _reads(self, name: str, context: MiddlewareContext[Any]) -> bool:
        server = context.fastmcp_context.fastmcp if context.fastmcp_context else None
        if name not in self._reading and server is not None:
            tool = await server.get_tool(name)
            hints = tool.annotations if tool else None
            self._reading[name] = bool(hints and hints.read_only_hint)
        return self._reading.get(name, False)


def _meta(context: MiddlewareContext[Any]) -> Mapping[str, Any]:
    """What the host sent along with a call; FastMCP 4 leaves it with the request."""
    request = context.fastmcp_context.request_context if context.fastmcp_context else None
    found = getattr(request, "meta", None)
    return found if isinstance(found, Mapping) else {}


def proxy(
    command: Sequence[str],
    manager: hc.CheckpointManager,
    *,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    idle: float = IDLE,
) -> FastMCP[Any]:
    """A server that passes everything on to the stdio server `command`, and guards its tools.

    Both speak either generation of the protocol, whatever the other one speaks.
    """
    place = os.path.abspath(cwd if cwd is not None else manager.cwd)
    program, *arguments = command
    backend = StdioTransport(program, arguments, env=dict(env) if env else None, cwd=place)
    # Without a mode the backend would be spoken to as the host speaks to us: a host of today and
    # a server of the older generation would then see no tools at all.
    server = create_proxy(backend, mode="auto", name="hermes-checkpoints")
    server.add_middleware(CheckpointMiddleware(manager, cwd=place, idle=idle))
    return server


# --------------------------------------------------------------------------- our own server


@dataclass(frozen=True, slots=True)
class Entry:
    """One checkpoint. `number` is its place in the list, newest first."""

    number: int
    id: str
    time: float
    reason: str
    not_held: list[str]


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """What a restore would do, and the token that allows exactly that."""

    token: str
    checkpoint: str
    reason: str
    restores: list[str]
    deletes: list[str]
    keeps: dict[str, str]
    cannot_restore: dict[str, str]
    notes: list[str]
    refused: str


@dataclass(frozen=True, slots=True)
class RestoreAnswer:
    """What a restore did."""

    ok: bool
    restored: list[str]
    deleted: list[str]
    kept: list[str]
    failed: dict[str, str]
    undo: str


_DIFF_CHARACTERS = 20_000
_READS = {"readOnlyHint": True, "openWorldHint": False}
_CHANGES = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False}


def checkpoint_server(
    manager: hc.CheckpointManager, *, session: Callable[[], str | None] = lambda: None
) -> FastMCP[Any]:
    """An MCP server that lets an agent list, compare, plan and restore checkpoints.

    It restores only what it has shown: `restore` takes the token of a plan, and refuses it when the
    project, the selection or what is known of its files is no longer the one planned with.
    `session` says whose chat the agent's is, so that its writes are known as its own.
    """
    server: FastMCP[Any] = FastMCP(
        "hermes-checkpoints",
        instructions="Undo for what you changed: list the checkpoints of a project, plan a restore,"
        " show the plan to the person, then restore with the plan's token.",
    )
    desk = _Desk(manager, session)
    for tool, hints in (
        (desk.list_checkpoints, _READS),
        (desk.diff_checkpoint, _READS),
        (desk.plan_restore, _READS),
        (desk.restore_checkpoint, _CHANGES),
    ):
        server.tool(tool, annotations=hints)
    return server


class _Desk:
    """The tools of the server. Their docstrings are what the agent reads."""

    def __init__(self, manager: hc.CheckpointManager, session: Callable[[], str | None]) -> None:
        self._manager = manager
        self._session = session

    async def list_checkpoints(self, directory: str = ".") -> list[Entry]:
        """List a project's checkpoints, newest first."""
        found = await self._do(lambda: self._manager.list_checkpoints(directory))
        return [
            Entry(n, c.short_id, c.time, _text(c.reason), [_text(g.path) for g in c.gaps or ()])
            for n, c in enumerate(found, 1)
        ]

    async def diff_checkpoint(
        self, checkpoint: str, directory: str = ".", paths: list[str] | None = None
    ) -> str:
        """Show what changed from a checkpoint (a number or an id) to the files now."""
        found = await self._do(lambda: self._manager.diff(directory, checkpoint, paths=paths or ()))
        text = (found.stat + b"\n" + found.patch).decode("utf-8", "replace")
        if len(text) <= _DIFF_CHARACTERS:
            return text
        return text[:_DIFF_CHARACTERS] + "\n… cut; name paths to see less at a time"

    async def plan_restore(
        self,
        checkpoint: str,
        directory: str = ".",
        paths: list[str] | None = None,
        overwrite_edits: bool = False,
    ) -> PlanAnswer:
        """Say what restoring a checkpoint would do; changes nothing.

        `paths` restores only those. A person's edits are kept unless `overwrite_edits`.
        """
        plan = await self._do(
            lambda: self._plan(directory, checkpoint, paths or [], overwrite_edits)
        )
        return PlanAnswer(
            token="" if plan.refusal else _token(plan, paths or [], overwrite_edits),
            checkpoint=plan.checkpoint.short_id,
            reason=_text(plan.checkpoint.reason),
            restores=[_text(s.path) for s in plan.writes],
            deletes=[_text(s.path) for s in plan.deletes],
            keeps={_text(s.path): _text(s.why) for s in plan.kept},
            cannot_restore={_text(g.path): g.reason.value for g in plan.unrestorable},
            notes=[_text(note) for note in plan.notes],
            refused=_text(plan.refusal),
        )

    async def restore_checkpoint(
        self,
        token: str,
        checkpoint: str,
        directory: str = ".",
        paths: list[str] | None = None,
        overwrite_edits: bool = False,
    ) -> RestoreAnswer:
        """Do what `plan_restore` said, with its token and the same arguments."""
        report = await self._do(
            lambda: self._restore(token, directory, checkpoint, paths or [], overwrite_edits)
        )
        return RestoreAnswer(
            ok=report.ok,
            restored=[_text(p) for p in report.restored],
            deleted=[_text(p) for p in report.deleted],
            kept=[_text(s.path) for s in report.kept],
            failed={_text(path): _text(why) for path, why in report.failed},
            undo=f"plan_restore {report.safety.short_id}" if report.safety else "",
        )

    def _plan(self, directory: str, which: str, paths: list[str], overwrite: bool) -> hc.Plan:
        return self._manager.plan(directory, which, paths=paths, keep_edits=not overwrite)

    def _restore(
        self, token: str, directory: str, which: str, paths: list[str], overwrite: bool
    ) -> hc.Report:
        plan = self._plan(directory, which, paths, overwrite)
        if plan.refusal:
            raise hc.RestoreRefused(plan.refusal)
        if token != _token(plan, paths, overwrite):
            raise hc.ProjectMoved(
                "this token belongs to another plan, or the project has changed since",
                hint="plan_restore shows what would happen now",
            )
        return self._manager.restore(
            directory, plan.checkpoint.id, paths, keep_edits=not overwrite, plan=plan
        )

    async def _do(self, work: Callable[[], Any]) -> Any:
        """Off the event loop and in the agent's session; trouble becomes the tool's error."""

        def in_session() -> Any:
            session = self._session()
            if session is None:
                return work()
            with self._manager.turn(session_id=session):
                return work()

        try:
            return await asyncio.to_thread(in_session)
        except hc.CheckpointError as error:
            raise ToolError(
                _text(f"{error}. {error.hint}" if error.hint else str(error))
            ) from error


def _token(plan: hc.Plan, paths: Sequence[str], overwrite: bool) -> str:
    """What a plan was made of: the project's state, the checkpoint, the selection, the steps."""
    steps = [(s.kind.value, s.path, repr(s.now), repr(s.then)) for s in plan.steps]
    made_of = (plan.project.id, plan.checkpoint.id, plan.basis, sorted(paths), overwrite, steps)
    return hashlib.sha256(repr(made_of).encode("utf-8", "backslashreplace")).hexdigest()[:20]


def _text(text: str) -> str:
    """Text that JSON can carry: a byte that is no valid text becomes `\\udcff`."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
