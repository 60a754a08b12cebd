"""Decorated tools: guarded at the right time, and in every other way as they were."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
import inspect
import pickle
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast, get_type_hints

import pytest

from hermes_checkpoints.errors import NotProtected
from hermes_checkpoints.manager import CheckpointManager
from hermes_checkpoints.middleware import any_tool, command_tool, file_tool, wrap_tools
from hermes_checkpoints.records import ToolCall, ToolEffect


class Recorder:
    """Stands in for a manager: writes down when calls begin and end."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.calls: list[ToolCall] = []
        self.threads: list[int] = []
        self.refuses = False

    def guard(self, call: ToolCall) -> _Guard:
        return _Guard(self, call)

    def says(self, event: str) -> None:
        self.events.append(event)

    @property
    def call(self) -> ToolCall:
        """The one call there was."""
        (call,) = self.calls
        return call

    @property
    def manager(self) -> CheckpointManager:
        return cast("CheckpointManager", self)


class _Guard:
    def __init__(self, recorder: Recorder, call: ToolCall) -> None:
        self.recorder, self.call = recorder, call

    def __enter__(self) -> None:
        if self.recorder.refuses:
            raise NotProtected("no")
        self.recorder.says("begin")
        self.recorder.calls.append(self.call)
        self.recorder.threads.append(threading.get_ident())

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        self.recorder.says(f"end {kind.__name__}" if kind else "end")

    async def __aenter__(self) -> None:
        await asyncio.to_thread(self.__enter__)

    async def __aexit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        await asyncio.shield(asyncio.to_thread(self.__exit__, kind, *exc))


@pytest.fixture
def seen() -> Recorder:
    return Recorder()


# --------------------------------------------------------------------------- what is guarded


def test_function(seen: Recorder) -> None:
    """A function runs between the begin and the end of its guard, and its result is the result."""
    result = object()

    @file_tool(path="path", manager=seen.manager)
    def save(path: str, content: str = "x") -> object:
        seen.says(f"save {path} {content}")
        return result

    assert save("a") is result
    assert seen.events == ["begin", "save a x", "end"]
    assert seen.call == ToolCall(
        "save", {"path": "a", "content": "x"}, effect=ToolEffect.FILE, paths=("a",)
    )


def test_exception(seen: Recorder) -> None:
    """A tool's exception comes out as the same object, without a cause; the guard has seen it."""
    error = KeyError("boom")

    @file_tool(path="path", manager=seen.manager)
    def save(path: str) -> None:
        raise error

    with pytest.raises(KeyError) as caught:
        save("a")
    assert caught.value is error
    assert error.__cause__ is None
    assert error.__context__ is None
    assert seen.events == ["begin", "end KeyError"]


def test_coroutine(seen: Recorder) -> None:
    """A coroutine is guarded while it runs, off the event loop, and not when it is only made."""

    @file_tool(path="path", manager=seen.manager)
    async def save(path: str) -> str:
        seen.says("run")
        return path

    async def main() -> None:
        made = save("a")
        assert seen.events == []
        assert await made == "a"

    asyncio.run(main())
    assert seen.events == ["begin", "run", "end"]
    assert threading.get_ident() not in seen.threads


def test_cancelled_coroutine(seen: Recorder) -> None:
    """A cancelled call ends its guard, and the cancellation comes through."""

    @file_tool(path="path", manager=seen.manager)
    async def save(path: str, running: asyncio.Event) -> None:
        running.set()
        await asyncio.Event().wait()

    async def main() -> None:
        running = asyncio.Event()
        task = asyncio.create_task(save("a", running))
        await running.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert seen.events == ["begin", "end CancelledError"]


def test_generator(seen: Recorder) -> None:
    """A generator is guarded from its first item to its end, and talks to its caller as before."""

    @file_tool(path="path", manager=seen.manager)
    def save(path: str) -> Any:
        try:
            got = yield path
        except ValueError:
            got = "thrown"
        yield got
        return "result"

    made = save("a")
    assert seen.events == []
    assert next(made) == "a"
    assert seen.events == ["begin"]
    assert made.throw(ValueError()) == "thrown"
    with pytest.raises(StopIteration) as stopped:
        next(made)
    assert stopped.value.value == "result"
    assert seen.events == ["begin", "end"]


def test_generator_closed_early(seen: Recorder) -> None:
    """A generator that is closed ends its guard; one that never began never had one."""

    @file_tool(path="path", manager=seen.manager)
    def save(path: str) -> Iterator[int]:
        yield 1
        yield 2

    made = save("a")
    next(made)
    made.close()  # type: ignore[attr-defined]  # it is a generator
    save("b").close()  # type: ignore[attr-defined]
    assert seen.events == ["begin", "end GeneratorExit"]


def test_async_generator(seen: Recorder) -> None:
    """An async generator is guarded from its first item to its end, and can be sent to."""

    @file_tool(path="path", manager=seen.manager)
    async def save(path: str) -> Any:
        got = yield path
        try:
            yield got
        except ValueError:
            yield "thrown"

    async def main() -> None:
        made = save("a")
        assert seen.events == []
        assert await anext(made) == "a"
        assert await made.asend("sent") == "sent"
        assert await made.athrow(ValueError()) == "thrown"
        assert seen.events == ["begin"]
        assert [item async for item in made] == []

    asyncio.run(main())
    assert seen.events == ["begin", "end"]


def test_async_generator_closed_early(seen: Recorder) -> None:
    """An async generator that is closed closes the tool's own, then ends its guard."""

    @file_tool(path="path", manager=seen.manager)
    async def save(path: str) -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            seen.says("cleanup")

    async def main() -> None:
        made = save("a")
        await anext(made)
        await made.aclose()  # type: ignore[attr-defined]  # it is an async generator

    asyncio.run(main())
    assert seen.events == ["begin", "cleanup", "end GeneratorExit"]


def test_async_generator_that_fails(seen: Recorder) -> None:
    """An exception out of an async generator is the same object, and the guard has seen it."""
    error = KeyError("boom")

    @file_tool(path="path", manager=seen.manager)
    async def save(path: str) -> AsyncIterator[int]:
        yield 1
        raise error

    async def main() -> None:
        made = save("a")
        await anext(made)
        with pytest.raises(KeyError) as caught:
            await anext(made)
        assert caught.value is error
        assert error.__cause__ is None

    asyncio.run(main())
    assert seen.events == ["begin", "end KeyError"]


@pytest.mark.parametrize("order", ["outside", "inside"])
@pytest.mark.parametrize("kind", [classmethod, staticmethod])
def test_class_and_static_methods(seen: Recorder, kind: Any, order: str) -> None:
    """Class and static methods work with the decorator on either side, from class and instance."""
    decorator = file_tool(path="path", manager=seen.manager)

    def with_class(cls: type, path: str) -> tuple[type, str]:
        return cls, path

    def without(path: str) -> str:
        return path

    function: Any = with_class if kind is classmethod else without

    class Tools:
        save = decorator(kind(function)) if order == "outside" else kind(decorator(function))

    class More(Tools):
        pass

    expected = [(Tools, "a"), (Tools, "b"), (More, "c")] if kind is classmethod else list("abc")
    assert [Tools.save("a"), Tools().save("b"), More.save("c")] == expected
    assert [call.paths for call in seen.calls] == [("a",), ("b",), ("c",)]


def test_method(seen: Recorder) -> None:
    """A method is guarded from the instance, from the class and when decorated bound."""

    class Tools:
        @file_tool(path="path", manager=seen.manager)
        def save(self, path: str, more: str = "x") -> tuple[Tools, str]:
            return self, path

        def plain(self, path: str) -> tuple[Tools, str]:
            return self, path

    tools = Tools()
    bound = file_tool(path="path", manager=seen.manager)(tools.plain)
    assert tools.save("a") == (tools, "a")
    assert Tools.save(tools, "b") == (tools, "b")
    assert bound("c") == (tools, "c")
    assert [call.paths for call in seen.calls] == [("a",), ("b",), ("c",)]
    assert "self" not in seen.calls[0].arguments


def test_partial(seen: Recorder) -> None:
    """A partial is guarded with the arguments that it holds."""

    def save(path: str, content: str, *, mode: str) -> str:
        return path + content + mode

    held = functools.partial(save, "a", mode="w")
    tool = file_tool(path="path", manager=seen.manager)(held)
    assert tool("x") == "axw"
    assert (seen.call.name, seen.call.paths) == ("save", ("a",))


def test_callable_object(seen: Recorder) -> None:
    """An object that is called is guarded under the name of its class, async ones when awaited."""

    class Save:
        def __call__(self, path: str) -> str:
            return path

    class Later:
        async def __call__(self, path: str) -> str:
            return path

    now = file_tool(path="path", manager=seen.manager)(Save())
    later = file_tool(path="path", manager=seen.manager)(Later())
    assert now("a") == "a"
    made = later("b")
    assert len(seen.calls) == 1
    assert asyncio.run(made) == "b"
    assert [(call.name, call.paths) for call in seen.calls] == [("Save", ("a",)), ("Later", ("b",))]


@pytest.mark.parametrize("kind", ["coroutine", "generator", "async generator"])
def test_work_that_is_returned(seen: Recorder, kind: str) -> None:
    """A plain function that returns work to be done has the work guarded, too."""

    async def coroutine() -> None:
        seen.says("work")

    def generator() -> Iterator[None]:
        seen.says("work")
        yield

    async def async_generator() -> AsyncIterator[None]:
        seen.says("work")
        yield

    work: dict[str, Callable[[], Any]] = {
        "coroutine": coroutine,
        "generator": generator,
        "async generator": async_generator,
    }

    @file_tool(path="path", manager=seen.manager)
    def save(path: str) -> Any:
        return work[kind]()

    async def main() -> None:
        made = save("a")
        if kind == "coroutine":
            await made
        elif kind == "generator":
            assert list(made) == [None]
        else:
            assert [item async for item in made] == [None]

    asyncio.run(main())
    assert seen.events == ["begin", "end", "begin", "work", "end"]


def test_guard_that_refuses(seen: Recorder) -> None:
    """A tool that is blocked does not run, and the typed error says so."""
    seen.refuses = True

    @file_tool(path="path", manager=seen.manager)
    def save(path: str) -> None:
        seen.says("run")

    @file_tool(path="path", manager=seen.manager)
    async def save_later(path: str) -> None:
        seen.says("run")

    with pytest.raises(NotProtected):
        save("a")
    with pytest.raises(NotProtected):
        asyncio.run(save_later("a"))
    assert seen.events == []


# --------------------------------------------------------------------------- what is called


@pytest.mark.parametrize(
    ("value", "effect", "paths"),
    [
        ("a", ToolEffect.FILE, ("a",)),
        (Path("a"), ToolEffect.FILE, ("a",)),
        (b"a", ToolEffect.FILE, ("a",)),
        (["a", Path("b")], ToolEffect.FILE, ("a", "b")),
        (None, ToolEffect.ANY, ()),
        (3, ToolEffect.ANY, ()),
        ([], ToolEffect.ANY, ()),
    ],
)
def test_path_values(
    seen: Recorder, value: object, effect: ToolEffect, paths: tuple[str, ...]
) -> None:
    """Every kind of path counts; a value that holds none may mean any change."""

    @file_tool(path="where", manager=seen.manager)
    def save(where: object) -> object:
        return where

    assert save(value) is value
    assert (seen.call.effect, seen.call.paths) == (effect, paths)


def test_several_and_dotted_paths(seen: Recorder) -> None:
    """Several arguments, keyword arguments and fields of arguments can hold the paths."""

    @file_tool(path=("source", "operation.path", "extra"), cwd="base", manager=seen.manager)
    def move(source: str, *, operation: Any, base: str = "d", **more: str) -> None: ...

    move(source="a", operation=SimpleNamespace(path="b"), extra="c")
    assert (seen.call.paths, seen.call.cwd) == (("a", "b", "c"), "d")


def test_var_positional_paths(seen: Recorder) -> None:
    """Paths can be all of the positional arguments."""

    @file_tool(path="paths", manager=seen.manager)
    def remove(*paths: str) -> int:
        return len(paths)

    assert remove("a", "b") == 2
    assert seen.call.paths == ("a", "b")


def test_patch_argument(seen: Recorder) -> None:
    """A tool can be told by the argument that holds its patch."""

    @file_tool(patch="text", manager=seen.manager)
    def amend(text: str) -> None: ...

    amend("*** Begin Patch\n*** Delete File: a\n*** End Patch")
    amend("what is this")
    assert [(c.effect, c.paths) for c in seen.calls] == [
        (ToolEffect.FILE, ("a",)),
        (ToolEffect.ANY, ()),
    ]


def test_bare_file_tool(seen: Recorder) -> None:
    """Without names, the arguments with usual names are taken."""

    @file_tool
    def save(file_path: str, content: str) -> None: ...

    @file_tool()
    def amend(patch: str) -> None: ...

    with active(seen):
        save("a", "x")
        amend("--- a\n+++ a\n@@ -1 +1 @@\n-1\n+2\n")
    assert [call.paths for call in seen.calls] == [("a",), ("a",)]


def test_command_tool(seen: Recorder) -> None:
    """A command tool hands over its command and its working directory."""

    @command_tool(command="line", cwd="place", manager=seen.manager, environment="docker")
    def run(line: str | list[str], place: str | None = None) -> None: ...

    run("ls", "/x")
    run(["rm", "-r", "a b"])
    run([])
    assert [(c.effect, c.command, c.cwd) for c in seen.calls] == [
        (ToolEffect.COMMAND, "ls", "/x"),
        (ToolEffect.COMMAND, "rm -r 'a b'", None),
        (ToolEffect.ANY, "", None),
    ]
    assert seen.calls[0].environment == "docker"


def test_bare_command_tool(seen: Recorder) -> None:
    """Without names, a command tool's command and directory are found by their usual names."""

    @command_tool
    def run(cmd: str, workdir: str = "/x") -> None: ...

    with active(seen):
        run("ls")
    assert (seen.call.command, seen.call.cwd) == ("ls", "/x")


def test_any_tool(seen: Recorder) -> None:
    """A code runner's call may change anything below its directory."""

    @any_tool(cwd="base", manager=seen.manager)
    def evaluate(code: str, base: str) -> None: ...

    @any_tool
    def plain(code: str) -> None: ...

    evaluate("1", "/x")
    with active(seen):
        plain("1")
    assert [(c.effect, c.cwd) for c in seen.calls] == [
        (ToolEffect.ANY, "/x"),
        (ToolEffect.ANY, None),
    ]


def test_wrong_arguments(seen: Recorder) -> None:
    """Arguments that do not fit raise the tool's own TypeError, word for word."""

    def save(path: str) -> None: ...

    tool = cast("Any", file_tool(path="path", manager=seen.manager)(save))
    with pytest.raises(TypeError) as plain:
        cast("Any", save)()
    with pytest.raises(TypeError) as decorated:
        tool()
    assert str(decorated.value) == str(plain.value)


def test_hostile_values(seen: Recorder) -> None:
    """A value that cannot be looked at does not keep the tool from running."""

    class Hostile:
        def __fspath__(self) -> str:
            raise RuntimeError("no")

    @file_tool(path="path", manager=seen.manager)
    def save(path: object) -> str:
        return "ran"

    assert save(Hostile()) == "ran"
    assert seen.call.effect is ToolEffect.ANY


def test_callables_without_a_signature(seen: Recorder) -> None:
    """A callable that Python cannot look into is guarded for any change."""
    place: dict[str, int] = {}
    with pytest.raises(ValueError, match="signature"):
        inspect.signature(place.update)
    file_tool(path="path", manager=seen.manager)(place.update)(path=1)
    assert place == {"path": 1}
    assert (seen.call.name, seen.call.effect) == ("update", ToolEffect.ANY)


# --------------------------------------------------------------------------- without a manager


@contextlib.contextmanager
def active(recorder: Recorder) -> Iterator[None]:
    """What `CheckpointManager.activate` does, for a recorder."""
    from hermes_checkpoints.manager import _active

    token = _active.set(recorder.manager)
    try:
        yield
    finally:
        _active.reset(token)


def test_no_manager() -> None:
    """Without any manager a tool runs, and each tool warns once, naming itself."""

    @file_tool(path="path")
    def save(path: str) -> str:
        return path

    @file_tool(path="path")
    async def save_later(path: str) -> str:
        return path

    with pytest.warns(RuntimeWarning, match="save runs without checkpoints") as warned:
        assert [save("a"), save("b")] == ["a", "b"]
    assert len(warned) == 1
    assert warned[0].filename == __file__
    with pytest.warns(RuntimeWarning, match="save_later runs without checkpoints"):
        assert asyncio.run(save_later("a")) == "a"
    assert asyncio.run(save_later("b")) == "b"


def test_active_manager(seen: Recorder) -> None:
    """The manager that is active at the call counts, the decorator's own before it."""
    other = Recorder()

    @file_tool(path="path")
    def save(path: str) -> None: ...

    @file_tool(path="path", manager=other.manager)
    def save_there(path: str) -> None: ...

    with active(seen):
        save("a")
        save_there("b")
    assert (seen.call.paths, other.call.paths) == (("a",), ("b",))


# --------------------------------------------------------------------------- misuse


def test_unknown_argument_name() -> None:
    """Naming an argument that the tool does not have is refused, with what it has."""
    with pytest.raises(TypeError, match=r"no argument 'path': save has where, content"):

        @file_tool(path="path")
        def save(where: str, content: str) -> None: ...


def test_no_usual_argument() -> None:
    """A tool without an argument of a usual name must be told which one it is."""
    with pytest.raises(TypeError, match="known as a path: save has where; say which, path="):

        @file_tool
        def save(where: str) -> None: ...

    with pytest.raises(TypeError, match="known as a command: run has what; say which, command="):

        @command_tool()
        def run(what: str) -> None: ...


@pytest.mark.parametrize("tool", ["path", 3, int, property()])
def test_not_a_function(tool: Any) -> None:
    """Decorating what is no function is refused, and says how options are given."""
    with pytest.raises(TypeError, match="options are named"):
        file_tool(tool)


# --------------------------------------------------------------------------- nobody sees it


def tool_of_module(path: str, content: str = "x") -> str:
    """Save a file."""
    return path


plain_tool = tool_of_module
tool_of_module = file_tool(path="path", manager=Recorder().manager)(tool_of_module)


class Toolbox:
    @file_tool(path="path", manager=Recorder().manager)
    def save(self, path: str) -> str:
        return path

    @file_tool(path="path", manager=Recorder().manager)
    @staticmethod
    def save_static(path: str) -> str:
        return path


def test_looks_the_same() -> None:
    """Name, documentation, signature, annotations and type of a tool are those of the function."""
    assert tool_of_module.__name__ == "tool_of_module"
    assert tool_of_module.__doc__ == plain_tool.__doc__
    assert tool_of_module.__annotations__ == plain_tool.__annotations__
    assert inspect.signature(tool_of_module) == inspect.signature(plain_tool)
    assert get_type_hints(tool_of_module) == get_type_hints(plain_tool)
    assert inspect.isfunction(tool_of_module)
    assert isinstance(tool_of_module, type(plain_tool))
    assert inspect.ismethod(Toolbox().save)
    assert str(inspect.signature(Toolbox().save)) == "(path: 'str') -> 'str'"
    assert inspect.unwrap(tool_of_module) is plain_tool


def test_kind_is_kept(seen: Recorder) -> None:
    """A coroutine function stays one to inspect and asyncio, generators stay generators."""
    decorator = any_tool(manager=seen.manager)

    async def coroutine(*args: object) -> None: ...
    async def async_generator() -> AsyncIterator[int]:
        yield 1

    def generator() -> Iterator[int]:
        yield 1

    class Tools:
        save = decorator(coroutine)

    for tool in (decorator(coroutine), decorator(functools.partial(coroutine)), Tools().save):
        assert inspect.iscoroutinefunction(tool)
    assert inspect.isasyncgenfunction(decorator(async_generator))
    assert inspect.isgeneratorfunction(decorator(generator))
    assert not inspect.iscoroutinefunction(decorator(generator))


@pytest.mark.skipif(not hasattr(inspect, "markcoroutinefunction"), reason="new in Python 3.12")
def test_marked_coroutine_function(seen: Recorder) -> None:
    """A function marked as a coroutine function stays one, and is guarded while it is awaited."""

    async def work() -> None:
        seen.says("work")

    def marked() -> Any:
        return work()

    tool = any_tool(manager=seen.manager)(inspect.markcoroutinefunction(marked))  # type: ignore[attr-defined]
    assert inspect.iscoroutinefunction(tool)
    asyncio.run(tool())
    assert seen.events == ["begin", "work", "end"]


def test_pickle_and_copy() -> None:
    """Decorated tools are pickled and copied as functions and methods are."""
    assert pickle.loads(pickle.dumps(tool_of_module)) is tool_of_module
    assert pickle.loads(pickle.dumps(Toolbox().save))("a") == "a"
    assert pickle.loads(pickle.dumps(Toolbox.save_static))("a") == "a"
    assert copy.deepcopy(tool_of_module) is tool_of_module
    assert copy.copy(tool_of_module) is tool_of_module
    box = Toolbox()
    held = copy.deepcopy({"box": box, "tool": box.save, "static": box.save_static})
    assert cast("Any", held["tool"]).__self__ is held["box"]
    assert held["box"] is not box


# --------------------------------------------------------------------------- wrap_tools


def test_wrap_tools(seen: Recorder) -> None:
    """Wrapped functions leave it to the registry what they do, by name and arguments."""

    def write_file(path: str, content: str) -> str:
        return path

    async def terminal(command: str) -> str:
        return command

    def search(query: str) -> str:
        return query

    wrapped = wrap_tools([write_file, terminal, search], manager=seen.manager, read_only=["search"])
    assert wrapped[2] is search
    assert cast("Any", wrapped[0])("a", "x") == "a"
    asyncio.run(cast("Any", wrapped[1])("ls"))
    assert seen.calls == [
        ToolCall("write_file", {"path": "a", "content": "x"}),
        ToolCall("terminal", {"command": "ls"}),
    ]


def test_wrap_tools_twice(seen: Recorder) -> None:
    """A tool that is decorated already comes back as it is."""

    @file_tool(path="path", manager=seen.manager)
    def save(path: str) -> None: ...

    method = Toolbox().save
    once = wrap_tools([save, method, len], manager=seen.manager)
    assert once[0] is save
    assert once[1] is method
    assert wrap_tools(once, manager=seen.manager)[2] is once[2]


def test_wrap_tools_leaves_frameworks_alone(seen: Recorder) -> None:
    """A framework's tool object comes back as it is, and a warning points to the adapter."""

    class BaseTool:
        name = "write_file"

        def run(self, path: str) -> None: ...

        def __call__(self, path: str) -> None: ...

    tool = BaseTool()
    with pytest.warns(RuntimeWarning, match=r"write_file \(BaseTool\) is not protected"):
        assert wrap_tools([tool], manager=seen.manager) == [tool]
    with pytest.warns(RuntimeWarning, match="takes functions"):
        wrap_tools([{"name": "x"}], manager=seen.manager)
