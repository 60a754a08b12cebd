"""One decorator for all: a decorated function is the tool it was, in every framework.

Each case is run in the environment of its framework, by `run.py`.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
from collections.abc import Callable
from typing import Any

import pytest

import hermes_checkpoints as hc
from tests.frameworks.conftest import Scene

ARGUMENTS = {"path": "notes.txt", "text": "written"}

Seen = tuple[list[str], Any]  # the names of the arguments in the schema, and the call's result


def langchain(function: Any) -> Seen:
    from langchain_core.tools import tool

    made = tool(function)
    if inspect.iscoroutinefunction(function):
        return list(made.args), done(made.ainvoke(ARGUMENTS))
    return list(made.args), made.invoke(ARGUMENTS)


def openai_agents(function: Any) -> Seen:
    from agents import function_tool
    from agents.tool_context import ToolContext

    made = function_tool(function)
    text = json.dumps(ARGUMENTS)
    context: Any = ToolContext(None, tool_name=made.name, tool_call_id="c", tool_arguments=text)
    return list(made.params_json_schema["properties"]), done(made.on_invoke_tool(context, text))


def pydantic_ai(function: Any) -> Seen:
    from pydantic_ai.tools import Tool

    made = Tool(function, takes_ctx=False)
    schema = made.function_schema
    return list(schema.json_schema["properties"]), done(schema.call(dict(ARGUMENTS), None))


def adk(function: Any) -> Seen:
    from google.adk.tools import FunctionTool

    made = FunctionTool(function)
    declared = made._get_declaration()
    schema = getattr(declared, "parameters_json_schema", None)
    names = schema["properties"] if schema else declared.parameters.properties
    return list(names), done(made.run_async(args=dict(ARGUMENTS), tool_context=_Blank()))


class _Blank:
    """A tool context in which nothing is set."""

    def __getattr__(self, name: str) -> None:
        return None


def strands(function: Any) -> Seen:
    from strands import tool

    made = tool(function)
    return list(made.tool_spec["inputSchema"]["json"]["properties"]), done(made(**ARGUMENTS))


def agno(function: Any) -> Seen:
    from agno.tools.function import Function, FunctionCall

    made = Function.from_callable(function)
    made.process_entrypoint()
    call = FunctionCall(function=made, arguments=dict(ARGUMENTS))
    is_async = inspect.iscoroutinefunction(function)
    result = done(call.aexecute()) if is_async else call.execute()
    return list(made.parameters["properties"]), result.result


def crewai(function: Any) -> Seen:
    from crewai.tools import tool

    made = tool("write_file")(function)
    is_async = inspect.iscoroutinefunction(function)
    result = done(made.arun(**ARGUMENTS)) if is_async else made.run(**ARGUMENTS)
    return list(made.args_schema.model_json_schema()["properties"]), result


def smolagents(function: Any) -> Seen:
    from smolagents import tool

    if inspect.iscoroutinefunction(function):
        pytest.skip("smolagents has no async tools")
    made = tool(function)
    return list(made.inputs), made(**ARGUMENTS)


def agent_framework(function: Any) -> Seen:
    from agent_framework import tool

    made = tool(function, approval_mode="never_require")
    result = done(made.invoke(arguments=dict(ARGUMENTS)))
    return list(made.parameters()["properties"]), getattr(result[0], "text", result)


def llama_index(function: Any) -> Seen:
    from llama_index.core.tools import FunctionTool

    if inspect.iscoroutinefunction(function):
        made = FunctionTool.from_defaults(async_fn=function)
        result = done(made.acall(**ARGUMENTS))
    else:
        made = FunctionTool.from_defaults(function)
        result = made.call(**ARGUMENTS)
    return list(made.metadata.get_parameters_dict()["properties"]), result.content


def haystack(function: Any) -> Seen:
    from haystack.tools import create_tool_from_function

    made = create_tool_from_function(function)
    is_async = inspect.iscoroutinefunction(function)
    result = done(made.invoke_async(**ARGUMENTS)) if is_async else made.invoke(**ARGUMENTS)
    return list(made.parameters["properties"]), result


def autogen(function: Any) -> Seen:
    from autogen_core import CancellationToken
    from autogen_core.tools import FunctionTool

    made = FunctionTool(function, description="x")
    result = done(made.run_json(ARGUMENTS, CancellationToken()))
    return list(made.schema["parameters"]["properties"]), result


def mcp(function: Any) -> Seen:
    from fastmcp import Client, FastMCP

    server: Any = FastMCP("x")
    server.tool(function)

    async def ask() -> Seen:
        async with Client(server) as client:
            (made,) = await client.list_tools()
            schema = getattr(made, "input_schema", None) or made.inputSchema
            result = await client.call_tool(made.name, ARGUMENTS)
            return list(schema["properties"]), result.data

    return done(ask())


FRAMEWORKS: dict[str, tuple[str, Callable[[Any], Seen]]] = {
    "langchain": ("langchain_core", langchain),
    "openai-agents": ("agents", openai_agents),
    "pydantic-ai": ("pydantic_ai", pydantic_ai),
    "adk": ("google.adk", adk),
    "strands": ("strands", strands),
    "agno": ("agno", agno),
    "crewai": ("crewai", crewai),
    "smolagents": ("smolagents", smolagents),
    "agent-framework": ("agent_framework", agent_framework),
    "llama-index": ("llama_index.core", llama_index),
    "haystack": ("haystack", haystack),
    "autogen": ("autogen_core", autogen),
    "mcp": ("fastmcp", mcp),
}


@pytest.mark.framework
@pytest.mark.filterwarnings("default::DeprecationWarning")  # of the frameworks and theirs
@pytest.mark.filterwarnings("default::ImportWarning")  # CrewAI
@pytest.mark.filterwarnings("default:.* has decorators other than @tool")  # smolagents
@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.parametrize("kind", ["function", "coroutine", "method"])
def test_a_decorated_function_is_the_tool_it_was(scene: Scene, name: str, kind: str) -> None:
    """The schema has the function's arguments, the result is its result, and it is protected."""
    module, use = FRAMEWORKS[name]
    try:
        importlib.import_module(module)
    except ImportError:
        pytest.skip(f"{name} is not installed")
    names, result = use(make_function(scene, kind))
    assert names == ["path", "text"]
    assert "ok" in str(result)
    assert scene.files["notes.txt"] == b"written"
    scene.rollback()
    assert scene.is_back()


def make_function(scene: Scene, kind: str) -> Any:
    @hc.file_tool(path="path", manager=scene.manager)
    def write_file(path: str, text: str) -> str:
        """Write a file.

        Args:
            path: where
            text: what
        """
        return scene.write(path, text)

    @hc.file_tool(path="path", manager=scene.manager)
    async def awrite_file(path: str, text: str) -> str:
        """Write a file.

        Args:
            path: where
            text: what
        """
        return scene.write(path, text)

    class Tools:
        @hc.file_tool(path="path", manager=scene.manager)
        def write_file(self, path: str, text: str) -> str:
            """Write a file.

            Args:
                path: where
                text: what
            """
            return scene.write(path, text)

    return {"function": write_file, "coroutine": awrite_file, "method": Tools().write_file}[kind]


def done(work: Any) -> Any:
    async def wait() -> Any:
        return await work

    return asyncio.run(wait()) if inspect.isawaitable(work) else work
