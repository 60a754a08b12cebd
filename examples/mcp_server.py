"""A FastMCP server of your own with the middleware, and an agent that undoes with our server.

pip install 'hermes-checkpoints[mcp]'
python examples/mcp_server.py
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from fastmcp import Client, FastMCP
from hermes_checkpoints.integrations.mcp import CheckpointMiddleware, checkpoint_server

import hermes_checkpoints as hc


async def main() -> None:
    scratch = Path(tempfile.mkdtemp())
    project = scratch / "project"
    project.mkdir()
    (project / "thesis.txt").write_text("three years of work\n")
    config = hc.Config(base=scratch / "checkpoints")
    with hc.CheckpointManager(config, cwd=project) as manager:
        await use(project, manager)
    assert (project / "thesis.txt").read_text() == "three years of work\n"


async def use(project: Path, manager: hc.CheckpointManager) -> None:
    """A call that goes wrong, and the plan that the agent shows before it restores."""
    files: FastMCP[None] = FastMCP("files")
    files.add_middleware(CheckpointMiddleware(manager))

    def write_file(path: str, content: str) -> str:
        (project / path).write_text(content)
        return "ok"

    files.tool(write_file)
    async with Client(files) as client:
        await client.call_tool("write_file", {"path": "thesis.txt", "content": ""})
    print("after the call:", (project / "thesis.txt").read_text())

    undo = checkpoint_server(manager, session=lambda: manager.session_id)
    async with Client(undo) as client:
        wanted = {"checkpoint": "1"}
        plan = (await client.call_tool("plan_restore", wanted)).structured_content or {}
        print("the plan restores:", plan["restores"])
        await client.call_tool("restore_checkpoint", {**wanted, "token": plan["token"]})
    print("after restoring:", (project / "thesis.txt").read_text())


if __name__ == "__main__":
    asyncio.run(main())
