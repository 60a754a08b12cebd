"""Somebody's MCP server over stdio, of the protocol's older generation. We do not change it.

Run by `mcp_proxy.py`; by itself it waits for a client on standard input.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

TOOLS = [
    {
        "name": "read_text",
        "description": "Read a file",
        "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "write_file",
        "description": "Write a file",
        "inputSchema": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        },
    },
    {
        "name": "run_command",
        "description": "Run a shell command",
        "inputSchema": {"type": "object", "properties": {"command": {"type": "string"}}},
    },
]


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue  # a notification
        answer = {"jsonrpc": "2.0", "id": request["id"], **respond(request)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def respond(request: dict[str, Any]) -> dict[str, Any]:
    """A result, or an error for what this generation does not know."""
    method, params = request["method"], request.get("params") or {}
    if method == "initialize":
        capabilities: dict[str, Any] = {"tools": {}}
        server = {"name": "old-file-server", "version": "1.0"}
        version = "2025-06-18"
        return {
            "result": {
                "protocolVersion": version,
                "capabilities": capabilities,
                "serverInfo": server,
            }
        }
    if method == "ping":
        return {"result": {}}
    if method == "tools/list":
        return {"result": {"tools": TOOLS}}
    if method == "tools/call":
        return {"result": call(params["name"], params.get("arguments") or {})}
    return {"error": {"code": -32601, "message": f"no method {method}"}}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """What a tool says; trouble is an answer too."""
    try:
        text, failed = use(name, arguments), False
    except OSError as error:
        text, failed = str(error), True
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def use(name: str, arguments: dict[str, Any]) -> str:
    if name == "run_command":
        done = subprocess.run(
            arguments["command"],
            shell=True,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        return f"exit {done.returncode}\n{done.stdout}"
    path = Path(arguments["path"])
    if name == "read_text":
        return path.read_text()
    path.write_text(arguments["content"])
    return "ok"


if __name__ == "__main__":
    main()
