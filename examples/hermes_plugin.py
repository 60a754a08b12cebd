"""Hermes Agent with the plugin: two turns, the second goes wrong, `/rewind 1` takes it back.

    pip install hermes-checkpoints hermes-agent==0.19.0
    python examples/hermes_plugin.py

The real agent runs in a scratch home against a scripted model on this machine: no network, no key.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Message = dict[str, Any]
Script = Callable[[list[Message]], "str | list[tuple[str, dict[str, Any], str]]"]
"""From the chat to what the model says, or to its tool calls: name, arguments, id."""


def main() -> None:
    scratch = Path(tempfile.mkdtemp())
    project = scratch / "project"
    (project / ".git").mkdir(parents=True)
    (project / "thesis.txt").write_text("three years of work\n")
    prepare(scratch / "home", project)

    model = ScriptedModel(script)
    agent = start(model.url)
    chat = agent.run_conversation("take a note")["messages"]
    agent.run_conversation("tidy up", conversation_history=chat)
    print("after two turns:", sorted(p.name for p in project.glob("*.txt")))

    print(slash_command("rewind")("1"))
    print("after /rewind 1:", sorted(p.name for p in project.glob("*.txt")))
    assert (project / "thesis.txt").read_text() == "three years of work\n"


def script(messages: list[Message]) -> str | list[tuple[str, dict[str, Any], str]]:
    """A model that takes a note, and at the next word tidies up too much."""
    said = [m["role"] if m["role"] == "tool" else str(m["content"]) for m in messages]
    if "tidy up" in said and "tool" not in said[said.index("tidy up") :]:
        return [("terminal", {"command": "rm thesis.txt"}, "call_2")]
    if "tool" not in said:
        return [("write_file", {"path": "note.txt", "content": "a note\n"}, "call_1")]
    return "done"  # also when Hermes asks whether that was checked


def prepare(home: Path, project: Path) -> None:
    """A home in which the plugin is switched on; as a directory, so that this runs from a checkout.

    Where the package is installed, `enabled: [hermes-checkpoints]` is all.
    """
    plugin = home / ".hermes" / "plugins" / "hermes-checkpoints"
    plugin.mkdir(parents=True)
    (plugin / "plugin.yaml").write_text(
        "name: hermes-checkpoints\nversion: 0.1.0\ndescription: checkpoints\n"
    )
    (plugin / "__init__.py").write_text(
        "from hermes_checkpoints.integrations.hermes import register\n"
    )
    (home / ".hermes" / "config.yaml").write_text(
        "plugins:\n  enabled: [hermes-checkpoints]\n"
        "checkpoints:\n  auto_prune: false\n"
        "model:\n  default: scripted\n"
    )
    os.environ.update(HOME=str(home), HERMES_HOME=str(home / ".hermes"), TERMINAL_CWD=str(project))
    os.environ.pop("TERMINAL_ENV", None)
    os.chdir(project)


def start(url: str) -> Any:
    """Hermes as its own entry points start it, with the plugins of its home."""
    from hermes_cli.plugins import (  # type: ignore[import-not-found, unused-ignore]
        discover_plugins,
    )
    from run_agent import AIAgent  # type: ignore[import-not-found, unused-ignore]

    discover_plugins()
    return AIAgent(
        base_url=url,
        api_key="scripted",
        provider="custom",
        model="scripted",
        quiet_mode=True,
        skip_context_files=True,
        skip_memory=True,
        enabled_toolsets=["file", "terminal", "delegation"],
        tool_delay=0,
    )


def slash_command(name: str) -> Callable[[str], str]:
    """What Hermes runs when a person types `/name …`."""
    from hermes_cli.plugins import (  # type: ignore[import-not-found, unused-ignore]
        get_plugin_command_handler,
    )

    handler: Callable[[str], str] = get_plugin_command_handler(name)
    return handler


class ScriptedModel:
    """A chat-completions API on this machine that says what a script says."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, messages: list[Message]) -> tuple[Message, str]:
        """The model's message and why it stopped."""
        said = self.script(messages)
        if isinstance(said, str):
            return {"role": "assistant", "content": said}, "stop"
        calls = [
            {
                "id": call,
                "type": "function",
                "index": index,
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for index, (name, arguments, call) in enumerate(said)
        ]
        return {"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                models = [{"id": "scripted", "object": "model", "context_length": 200_000}]
                self._send(json.dumps({"object": "list", "data": models}), "application/json")

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if "messages" not in body:  # questions about the server's kind
                    self._send("{}", "application/json")
                    return
                message, why = model.answer(body["messages"])
                usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
                common = {"id": "x", "created": 0, "model": "scripted", "usage": usage}
                if not body.get("stream"):
                    choice = {"index": 0, "message": message, "finish_reason": why}
                    answer = {**common, "object": "chat.completion", "choices": [choice]}
                    self._send(json.dumps(answer), "application/json")
                    return
                choice = {"index": 0, "delta": message, "finish_reason": why}
                chunk = {**common, "object": "chat.completion.chunk", "choices": [choice]}
                self._send(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n", "text/event-stream")

            def _send(self, text: str, kind: str) -> None:
                body = text.encode()
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler


if __name__ == "__main__":
    main()
