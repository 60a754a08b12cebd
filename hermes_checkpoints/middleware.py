"""Decorators for an agent's tools: a checkpoint before the call, a record of it after.

Owns how a Python callable is wrapped: what its arguments are called, whether it is a function, a
coroutine or a generator, and that nobody who looks at it sees a difference. What protecting means
is the manager's affair (`CheckpointManager.guard`). The only module that imports wrapt.
"""

from __future__ import annotations

import copy
import functools
import inspect
import types
import warnings
from collections.abc import (
    AsyncGenerator,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from dataclasses import dataclass, field
from enum import Enum, auto
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

import wrapt

from hermes_checkpoints.arguments import (
    COMMAND_ARGUMENTS,
    EDIT_ARGUMENTS,
    PATCH_ARGUMENTS,
    Names,
    as_names,
    find_command,
    find_cwd,
    find_paths,
)
from hermes_checkpoints.manager import active_manager
from hermes_checkpoints.patches import PATH_ARGUMENTS, argument_key
from hermes_checkpoints.records import ToolCall, ToolEffect

if TYPE_CHECKING:
    from hermes_checkpoints.manager import CheckpointManager

__all__ = ["any_tool", "command_tool", "file_tool", "wrap_tools"]

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


# --------------------------------------------------------------------------- the decorators


@overload
def file_tool(tool: F, /) -> F: ...
@overload
def file_tool(
    *,
    path: Names = (),
    patch: Names = (),
    cwd: Names = (),
    manager: CheckpointManager | None = None,
    environment: str = "local",
) -> Callable[[F], F]: ...
def file_tool(
    tool: Any = None,
    /,
    *,
    path: Names = (),
    patch: Names = (),
    cwd: Names = (),
    manager: CheckpointManager | None = None,
    environment: str = "local",
) -> Any:
    """Protect a tool that writes, moves or removes the files it is told.

    `path` names the argument that holds a path, or several; `operation.path` is a field of one.
    Values may be text, bytes, path-like, or collections of those. `patch` names arguments that
    hold a patch or a list of edits. Without both, arguments with usual names are taken, and a tool
    that has none is a `TypeError` here and now. `cwd` names the argument with the directory that
    relative paths start from; without it, that is the session's working directory. Without
    `manager`, the one that is active at the call counts. `environment` is where the tool acts:
    `local`, `ssh`, or the name of a sandbox.

    Works on functions, methods, class and static methods (in either order of decorators),
    partials and callable objects; sync, async, generators and async generators. The tool's
    signature, type, result and exceptions stay as they are.
    """
    told = _Told(ToolEffect.FILE, path, patch, cwd=cwd, manager=manager, environment=environment)
    return _decorator(tool, told)


@overload
def command_tool(tool: F, /) -> F: ...
@overload
def command_tool(
    *,
    command: Names = (),
    cwd: Names = (),
    manager: CheckpointManager | None = None,
    environment: str = "local",
) -> Callable[[F], F]: ...
def command_tool(
    tool: Any = None,
    /,
    *,
    command: Names = (),
    cwd: Names = (),
    manager: CheckpointManager | None = None,
    environment: str = "local",
) -> Any:
    """Protect a tool that runs shell commands.

    `command` names the argument that holds the command, text or a list of words; `cwd` the one
    with its working directory. Without them, arguments with usual names are taken. The rest is as
    in `file_tool`.
    """
    told = _Told(
        ToolEffect.COMMAND, command=command, cwd=cwd, manager=manager, environment=environment
    )
    return _decorator(tool, told)


@overload
def any_tool(tool: F, /) -> F: ...
@overload
def any_tool(
    *,
    cwd: Names = (),
    manager: CheckpointManager | None = None,
    environment: str = "local",
) -> Callable[[F], F]: ...
def any_tool(
    tool: Any = None,
    /,
    *,
    cwd: Names = (),
    manager: CheckpointManager | None = None,
    environment: str = "local",
) -> Any:
    """Protect a tool that may change anything below its working directory, such as a code runner.

    `cwd` names the argument with that directory. The rest is as in `file_tool`.
    """
    told = _Told(ToolEffect.ANY, cwd=cwd, manager=manager, environment=environment)
    return _decorator(tool, told)


def wrap_tools(
    tools: Iterable[T],
    *,
    manager: CheckpointManager | None = None,
    read_only: Sequence[str] = (),
    environment: str = "local",
) -> list[T]:
    """The same tools, each protected by what the registry knows of its name and arguments.

    Takes functions, methods, partials and objects that are called. `read_only` names those that
    change nothing; they come back as they are, and so do tools that are decorated already. The
    tool objects of a framework come back as they are too, with a warning: its adapter in
    `hermes_checkpoints.integrations` knows where they are called.
    """
    told = _Told(None, manager=manager, environment=environment)
    harmless = {argument_key(name) for name in read_only}
    return [_wrapped(tool, told, harmless) for tool in tools]


def _wrapped(tool: T, told: _Told, harmless: set[str]) -> T:
    if isinstance(tool, (_Tool, _BoundTool)) or argument_key(_name(tool)) in harmless:
        return tool
    if not _is_function(tool):
        warnings.warn(
            f"{_name(tool)} ({type(tool).__name__}) is not protected: wrap_tools takes functions;"
            " use the framework's adapter in hermes_checkpoints.integrations",
            RuntimeWarning,
            stacklevel=4,
        )
        return tool
    return _protected(tool, _subject(tool), told)


_CALLED_BY_FRAMEWORKS = ("run", "_run", "invoke", "func", "forward", "on_invoke_tool", "entrypoint")


def _is_function(tool: object) -> bool:
    """Whether a tool is called as it stands, and not through a framework's method."""
    if isinstance(tool, type) or not callable(tool):
        return False
    if inspect.isroutine(tool) or isinstance(tool, functools.partial):
        return True
    return not any(hasattr(tool, name) for name in _CALLED_BY_FRAMEWORKS)


# --------------------------------------------------------------------------- what is wrapped


@dataclass(frozen=True, slots=True)
class _Told:
    """What a decorator was told. Without an effect, the manager's registry decides."""

    effect: ToolEffect | None
    path: Names = ()
    patch: Names = ()
    command: Names = ()
    cwd: Names = ()
    manager: CheckpointManager | None = None
    environment: str = "local"

    @property
    def names(self) -> list[str]:
        """The arguments that were named."""
        named = (self.path, self.patch, self.command, self.cwd)
        return [name.partition(".")[0] for names in named for name in as_names(names)]

    @property
    def needs(self) -> bool:
        """Whether the tool must have an argument of a usual name, as none was named."""
        return self.effect in _USUAL and not (self.path or self.patch or self.command)


_USUAL = {
    ToolEffect.FILE: PATH_ARGUMENTS.union(PATCH_ARGUMENTS, EDIT_ARGUMENTS),
    ToolEffect.COMMAND: frozenset(name.partition(".")[0] for name in COMMAND_ARGUMENTS),
}


class _Kind(Enum):
    """How a tool runs: at the call, when awaited, or bit by bit when iterated."""

    FUNCTION = auto()
    COROUTINE = auto()
    GENERATOR = auto()
    ASYNC_GENERATOR = auto()


@dataclass(frozen=True, slots=True)
class _Subject:
    """The callable under the decorator, as far as calling it goes.

    `bound` are arguments that a partial holds; `takes_instance` says that the instance or class
    of a method call is the first of `parameters`, which are `None` where Python cannot tell.
    """

    name: str
    kind: _Kind
    parameters: inspect.Signature | None
    bound: tuple[tuple[Any, ...], Mapping[str, Any]] = ((), {})
    takes_instance: bool = False

    def arguments(
        self, instance: object, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> dict[str, object]:
        """The call's arguments by name; the keywords alone where they do not fit."""
        if self.parameters is None:
            return dict(kwargs)
        first = (instance,) if self.takes_instance and instance is not None else ()
        try:
            call = self.parameters.bind(
                *self.bound[0], *first, *args, **{**self.bound[1], **kwargs}
            )
        except TypeError:  # the tool itself will say what is wrong with them
            return dict(kwargs)
        call.apply_defaults()
        found = dict(call.arguments)
        if first:
            del found[next(iter(self.parameters.parameters))]
        for parameter in self.parameters.parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                found.update(found.pop(parameter.name))
        return found


def _subject(tool: Any) -> _Subject:
    target = tool.__func__ if isinstance(tool, (classmethod, staticmethod)) else tool
    method = inspect.isfunction(target) and not isinstance(tool, staticmethod)
    bound: tuple[tuple[Any, ...], Mapping[str, Any]] = ((), {})
    if isinstance(target, functools.partial):
        bound = target.args, target.keywords
        target = target.func
    try:
        parameters = inspect.signature(target)
    except (TypeError, ValueError):  # some callables written in C
        parameters = None
    return _Subject(_name(tool), _kind(target), parameters, bound, takes_instance=method)


def _kind(target: Any) -> _Kind:
    for function in (target, getattr(target, "__call__", None)):  # noqa: B004 - its own flags
        if inspect.isasyncgenfunction(function):
            return _Kind.ASYNC_GENERATOR
        if inspect.iscoroutinefunction(function):
            return _Kind.COROUTINE
        if inspect.isgeneratorfunction(function):
            return _Kind.GENERATOR
    return _Kind.FUNCTION


def _name(tool: Any) -> str:
    target = tool.func if isinstance(tool, functools.partial) else tool
    for attribute in ("__name__", "name"):
        name = getattr(target, attribute, None)
        if isinstance(name, str):
            return name
    return type(target).__name__


def _decorator(tool: Any, told: _Told) -> Any:
    if tool is None:
        return functools.partial(_decorate, told=told)
    return _decorate(tool, told=told)


def _decorate(tool: Any, *, told: _Told) -> Any:
    is_method = isinstance(tool, (classmethod, staticmethod))
    if isinstance(tool, type) or not (callable(tool) or is_method):
        raise TypeError(
            f"a decorator of tools was given {tool!r}, which is no function; options are named:"
            " @file_tool(path='file_path')"
        )
    subject = _subject(tool)
    _check(subject, told)
    return _protected(tool, subject, told)


def _protected(tool: T, subject: _Subject, told: _Told) -> T:
    wrapper: Any = _Tool(cast("Any", tool), _Protected(subject, told))
    return cast("T", wrapper)  # to everyone who looks, it is the tool


def _check(subject: _Subject, told: _Told) -> None:
    """Refuse names that the tool does not have, where that can be known."""
    if subject.parameters is None:
        return
    known = subject.parameters.parameters
    if any(p.kind is p.VAR_KEYWORD for p in known.values()):
        return
    has = f"{subject.name} has {', '.join(known) or 'no arguments'}"
    for name in told.names:
        if name not in known and argument_key(name) not in map(argument_key, known):
            raise TypeError(f"there is no argument {name!r}: {has}")
    if told.needs and not _USUAL[told.effect or ToolEffect.NONE].intersection(
        map(argument_key, known)
    ):
        option = "path" if told.effect is ToolEffect.FILE else "command"
        raise TypeError(f"no argument is known as a {option}: {has}; say which, {option}='…'")


# --------------------------------------------------------------------------- a call


@dataclass(slots=True)
class _Protected:
    """What wrapt runs in place of a tool."""

    subject: _Subject
    told: _Told
    has_warned: bool = field(default=False)

    def __call__(
        self, wrapped: Callable[..., Any], instance: object, args: Any, kwargs: Any
    ) -> Any:
        manager = self.told.manager or active_manager()
        if manager is None:
            self._warn()
            return wrapped(*args, **kwargs)
        running = _Running(manager, self._call(instance, args, kwargs))
        start = functools.partial(wrapped, *args, **kwargs)
        if self.subject.kind is _Kind.COROUTINE:
            return running.coroutine(start)
        if self.subject.kind is _Kind.GENERATOR:
            return running.generator(start)
        if self.subject.kind is _Kind.ASYNC_GENERATOR:
            return running.async_generator(start)
        return running.function(start)

    def _call(self, instance: object, args: Any, kwargs: Any) -> ToolCall:
        told = self.told
        arguments: dict[str, object] = {}
        try:
            arguments = self.subject.arguments(instance, args, kwargs)
            call = ToolCall(
                self.subject.name, arguments, environment=told.environment, effect=told.effect
            )
            return call if told.effect is None else _filled(call, told)
        except Exception:  # noqa: BLE001 - promise: the tool runs, whatever its arguments are
            return ToolCall(
                self.subject.name,
                arguments,
                environment=told.environment,
                effect=ToolEffect.ANY,
            )

    def _warn(self) -> None:
        if self.has_warned:
            return
        self.has_warned = True
        warnings.warn(
            f"{self.subject.name} runs without checkpoints: it was given no manager and none is"
            " active; pass manager=… to its decorator or call it in `with manager.activate():`",
            RuntimeWarning,
            stacklevel=3,
        )


def _filled(call: ToolCall, told: _Told) -> ToolCall:
    """`call` with what its arguments hold. What holds nothing may change anything."""
    paths: tuple[str, ...] = ()
    command = ""
    if told.effect is ToolEffect.FILE:
        paths = find_paths(call.arguments, told.path, told.patch)
    elif told.effect is ToolEffect.COMMAND:
        command = find_command(call.arguments, told.command)
    return ToolCall(
        call.name,
        call.arguments,
        cwd=find_cwd(call.arguments, told.cwd) or None,
        environment=call.environment,
        effect=told.effect if paths or command else ToolEffect.ANY,
        paths=paths,
        command=command,
    )


@dataclass(frozen=True, slots=True)
class _Running:
    """One call, in each of the ways a tool can run. The guard is entered when the tool's own code
    first runs, and left when it ends, however it ends.
    """

    manager: CheckpointManager
    call: ToolCall

    def function(self, start: Callable[[], Any]) -> Any:
        with self.manager.guard(self.call):
            result = start()
        return self._later(result)

    async def coroutine(self, start: Callable[[], Any]) -> Any:
        async with self.manager.guard(self.call):
            return await start()

    def generator(self, start: Callable[[], Generator[Any, Any, Any]]) -> Generator[Any, Any, Any]:
        with self.manager.guard(self.call):
            return (yield from start())

    async def async_generator(
        self, start: Callable[[], AsyncGenerator[Any, Any]]
    ) -> AsyncGenerator[Any, Any]:
        async with self.manager.guard(self.call), aclosing(start()) as tool:
            try:
                item = await anext(tool)
                while True:
                    try:
                        sent = yield item
                    except GeneratorExit:
                        raise
                    except BaseException as error:  # noqa: BLE001 - thrown in for the tool to see
                        item = await tool.athrow(error)
                    else:
                        item = await tool.asend(sent)
            except StopAsyncIteration:
                return

    def _later(self, result: Any) -> Any:
        """What a plain function returned: work that is still to be done is guarded as well."""
        if isinstance(result, types.CoroutineType):
            work: Coroutine[Any, Any, Any] = result
            return self.coroutine(lambda: work)
        if isinstance(result, types.GeneratorType):
            return self.generator(lambda: result)
        if isinstance(result, types.AsyncGeneratorType):
            return self.async_generator(lambda: result)
        return result


if TYPE_CHECKING:  # generic for type checkers only
    _Wrapper = wrapt.FunctionWrapper[..., Any]
    _BoundWrapper = wrapt.BoundFunctionWrapper[..., Any]
else:
    _Wrapper = wrapt.FunctionWrapper
    _BoundWrapper = wrapt.BoundFunctionWrapper


class _BoundTool(_BoundWrapper):
    """A decorated method, of an instance or a class; pickled and copied as a method is."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        owner = getattr(self, "__self__", None)
        if owner is None:
            return _look_up, (self.__module__, self.__qualname__)
        return getattr, (owner, self.__name__)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        owner = getattr(self, "__self__", None)
        return self if owner is None else getattr(copy.deepcopy(owner, memo), self.__name__)


class _Tool(_Wrapper):
    """A decorated tool; pickled by name and copied as itself, as a function is."""

    __bound_function_wrapper__ = _BoundTool

    def __reduce_ex__(self, protocol: Any) -> Any:
        return str(self.__qualname__)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self


def _look_up(module: str, name: str) -> Any:
    return functools.reduce(getattr, name.split("."), import_module(module))
