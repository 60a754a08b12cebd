"""A Messages API on this machine that says what a script says: no network, no key."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Block = dict[str, Any]
Script = Callable[[list[dict[str, Any]]], list[Block]]


def text(words: str) -> Block:
    """What the model says."""
    return {"type": "text", "text": words}


def tool(name: str, call: str, **arguments: Any) -> Block:
    """What the model wants done."""
    return {"type": "tool_use", "id": call, "name": name, "input": arguments}


class ScriptedApi:
    """Serves while it is entered. `script` gets the chat's messages and returns what comes next."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[dict[str, Any]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> ScriptedApi:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """One message of the model."""
        self.requests.append(body)
        # Requests without tools are for a title and the like.
        blocks = self.script(body["messages"]) if body.get("tools") else [text("title")]
        wants = any(block["type"] == "tool_use" for block in blocks)
        return {
            "id": f"msg_{len(self.requests)}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "scripted"),
            "content": blocks,
            "stop_reason": "tool_use" if wants else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                self._send(b"", "text/plain")

            def do_GET(self) -> None:
                self._send(b"{}", "application/json")

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
                if not self.path.split("?")[0].endswith("/v1/messages"):
                    self._send(b'{"input_tokens": 1}', "application/json")
                    return
                message = api.answer(body)
                if body.get("stream"):
                    self._send(b"".join(_stream(message)), "text/event-stream")
                else:
                    self._send(json.dumps(message).encode(), "application/json")

            def _send(self, body: bytes, kind: str) -> None:
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler


def _stream(message: dict[str, Any]) -> Iterator[bytes]:
    """A message as server-sent events."""
    empty = {**message, "content": [], "stop_reason": None}
    yield _event("message_start", message=empty)
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            start = {**block, "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield _event("content_block_start", index=index, content_block=start)
        yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield _event("message_delta", delta=end, usage={"output_tokens": 1})
    yield _event("message_stop")


def _event(name: str, **values: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **values})}\n\n".encode()
