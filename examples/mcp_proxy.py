"""An MCP server that knows nothing of us loses a file; the proxy before it has kept it.

    pip install 'hermes-checkpoints[mcp]'
    python examples/mcp_proxy.py

In a host's settings, `command: CMD` becomes `command: hermes-checkpoints mcp-proxy -- CMD`.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

import hermes_checkpoints as hc

SERVER = Path(__file__).with_name("mcp_old_file_server.py")


async def main() -> None:
    scratch = Path(tempfile.mkdtemp())
    project, base = scratch / "project", scratch / "checkpoints"
    (project / ".git").mkdir(parents=True)
    (project / "thesis.txt").write_text("three years of work\n")

    async with Client(before_the_server(project, base)) as client:
        print("tools:", sorted(tool.name for tool in await client.list_tools()))
        await client.call_tool("write_file", {"path": "note.txt", "content": "a note\n"})
        await client.call_tool("run_command", {"command": "rm thesis.txt"})
    print("after the calls:", sorted(p.name for p in project.glob("*.txt")))

    # The server has ended, so what it wrote is no running session's.
    with hc.CheckpointManager(hc.Config(base=base), cwd=project) as manager:
        print(hc.RollbackCommand(manager).run("/rollback 1", cwd=project).text)
    print("after /rollback 1:", sorted(p.name for p in project.glob("*.txt")))
    assert (project / "thesis.txt").read_text() == "three years of work\n"


def before_the_server(project: Path, base: Path) -> StdioTransport:
    """How a host starts the server: as before, with us in front."""
    program = "import sys; from hermes_checkpoints.cli import main; sys.exit(main())"
    proxy = ["-c", program, "mcp-proxy", "--base", str(base), "-C", str(project)]
    arguments = [*proxy, "--", sys.executable, str(SERVER)]
    env, place = dict(os.environ), str(project)
    return StdioTransport(sys.executable, arguments, env=env, cwd=place, keep_alive=False)


if __name__ == "__main__":
    asyncio.run(main())
