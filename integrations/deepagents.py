"""deepagents: a guarded backend, so that sub-agents' files and commands are covered as well.

    agent = create_deep_agent(
        model,
        backend=guard_backend(LocalShellBackend(root_dir=root), manager),
        middleware=[CheckpointMiddleware(manager)],
    )

A middleware of the main agent does not reach the tools of its sub-agents; the backend does, as all
of them use it. The middleware adds the turn, and protects the agent's own tools. The chat's way
back is LangChain's: `drop_turns`.
"""

from __future__ import annotations

import copy
import functools
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar, cast

import hermes_checkpoints as hc

from ._common import needs

with needs("deepagents"):
    from deepagents import backends
    from deepagents.backends.sandbox import BaseSandbox

from . import langchain
from .langchain import adrop_turns, drop_turns

__all__ = ["CheckpointMiddleware", "adrop_turns", "drop_turns", "guard_backend"]


class CheckpointMiddleware(langchain.CheckpointMiddleware):
    """LangChain's, but it leaves deepagents' own tools to the backend, which knows their paths."""

    def call(self, request: Any) -> hc.ToolCall:
        """A request as the library sees it."""
        call = super().call(request)
        return replace(call, effect=hc.ToolEffect.NONE) if _is_built_in(request.tool) else call


def _is_built_in(tool: Any) -> bool:
    function = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
    return str(getattr(function, "__module__", "")).startswith("deepagents.")


B = TypeVar("B")


def guard_backend(backend: B, manager: hc.CheckpointManager) -> B:
    """A backend like `backend`, that protects what it writes, deletes or runs on this machine.

    Of a composite backend each part is guarded. Backends that keep files elsewhere (in the graph's
    state, in a store, in a sandbox) come back as they are; one that is not known may change
    anything below the manager's working directory.
    """
    if isinstance(backend, backends.CompositeBackend):
        return _composite(backend, manager)
    if isinstance(backend, _ELSEWHERE):
        return backend
    if callable(backend) and not isinstance(backend, backends.BackendProtocol):
        made = backend  # what makes one for each run, as older releases have it
        return cast("B", lambda runtime: guard_backend(made(runtime), manager))
    twin = copy.copy(backend)
    for name, (tool, subject) in _CALLS.items():
        for method in (name, "a" + name):
            if hasattr(backend, method):
                wrap = _guarded_async if method != name else _guarded
                told = functools.partial(_call, backend, tool, subject)
                setattr(twin, method, wrap(getattr(backend, method), told, manager))
    return twin


def _composite(backend: Any, manager: hc.CheckpointManager) -> Any:
    twin = copy.copy(backend)
    twin.default = guard_backend(backend.default, manager)
    twin.routes = {k: guard_backend(v, manager) for k, v in backend.routes.items()}
    twin.sorted_routes = [(k, twin.routes[k]) for k, _ in backend.sorted_routes]
    return twin


_ELSEWHERE: tuple[type, ...] = (
    BaseSandbox,
    *(
        getattr(backends, name)
        for name in ("StateBackend", "StoreBackend", "ContextHubBackend")
        if hasattr(backends, name)
    ),
)


# --------------------------------------------------------------------------- one call


def _guarded(
    method: Callable[..., Any], told: Callable[..., hc.ToolCall], manager: hc.CheckpointManager
) -> Callable[..., Any]:
    @functools.wraps(method)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        with manager.guard(told(*args, **kwargs)):
            return method(*args, **kwargs)

    return guarded


def _guarded_async(
    method: Callable[..., Any], told: Callable[..., hc.ToolCall], manager: hc.CheckpointManager
) -> Callable[..., Any]:
    @functools.wraps(method)
    async def guarded(*args: Any, **kwargs: Any) -> Any:
        async with manager.guard(told(*args, **kwargs)):
            return await method(*args, **kwargs)

    return guarded


def _call(backend: Any, tool: str, subject: str, *args: Any, **kwargs: Any) -> hc.ToolCall:
    """A backend's call as the library sees it: its first argument says what it is about."""
    about = args[0] if args else kwargs.get(subject)
    call = hc.ToolCall(tool, session_id=langchain.thread_id(), effect=hc.ToolEffect.ANY)
    if not isinstance(backend, backends.FilesystemBackend):
        return call
    call = replace(call, cwd=str(backend.cwd))
    if tool == "execute":
        return replace(call, effect=hc.ToolEffect.COMMAND, command=str(about))
    named = [about] if isinstance(about, str) else [path for path, _ in about or ()]
    paths = tuple(_real(backend, path) for path in named)
    return replace(call, effect=hc.ToolEffect.FILE, paths=paths)


def _real(backend: Any, path: str) -> str:
    """Where a path of the backend is on disk; a virtual one begins at its root directory."""
    return os.path.join(backend.cwd, path.lstrip("/") if backend.virtual_mode else path)


_CALLS = {  # a backend's method: what its tool is called, and which argument says what it is about
    "write": ("write_file", "file_path"),
    "edit": ("edit_file", "file_path"),
    "delete": ("delete", "file_path"),
    "upload_files": ("upload_files", "files"),
    "execute": ("execute", "command"),
}
