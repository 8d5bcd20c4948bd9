"""A server that does all it can to give away the credentials that it is sent: a model's endpoint, an MCP server and a service in one.

Whatever it answers repeats the values of the headers that came, in every form in which a value usually travels: in texts, in arguments of
calls, in errors, in addresses, in descriptions, in what it streams.
"""

from __future__ import annotations

import json
import threading
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, quote_plus

TOOL = {
    "type": "object",
    "properties": {"q": {"type": "string", "maxLength": 200}},
    "required": ["q"],
    "additionalProperties": False,
}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS: tuple[dict[str, object], ...] = (
    {"name": "look", "description": "Look.", "inputSchema": TOOL},
    {"name": "typed", "description": "Look.", "inputSchema": TOOL, "outputSchema": TEXT},
    {"name": "broken", "description": "Fail.", "inputSchema": TOOL},
    {"name": "odd", "description": "Answer with no JSON.", "inputSchema": TOOL},
)
ASIDE = frozenset({"host", "content-length", "content-type", "accept", "connection", "user-agent", "accept-encoding"})


def every_form(value: str) -> str:
    """A value as it is and as it usually travels: in JSON, in an address, in base64 with neighbours, in hexadecimal; a line each."""
    data = value.encode()
    forms = [
        value,
        json.dumps(value),
        f"https://example.com/?key={quote(value, safe='')}&again={quote_plus(value)}",
        f"https://example.com/{quote(value)}",
        *(b64encode(b"x" * pad + data + b"y" * pad).decode() for pad in range(3)),
        *(urlsafe_b64encode(b"x" * pad + data).decode().rstrip("=") for pad in range(3)),
        data.hex(),
        data.hex().upper(),
    ]
    return "\n".join(forms)


def repeated(values: Iterable[str]) -> str:
    """All forms of all values, each also without its scheme."""
    return "\n".join(every_form(part) for value in values for part in {value, value.removeprefix("Bearer ")})


class Leaky:
    """`asked`: the methods, tools and paths that came. `swap`: the description of a tool repeats the credential, so that it changed."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.port = 0
        self.swap = False
        self.refuse = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def model(self, said: str, body: dict[str, object]) -> tuple[int, object]:
        """A turn that calls a tool with what it was sent, and then a result with it; a refusal that repeats it."""
        self.asked.append("model")
        messages = body["messages"]
        assert isinstance(messages, list)
        if self.refuse:
            return 401, {"error": {"message": f"not with this key: {said}", "type": "auth"}}
        answered = sum(one["role"] == "tool" for one in messages)
        message: dict[str, object] = {"role": "assistant", "content": f"I was sent {said}"}
        if not answered:
            arguments = json.dumps({"text": said[:3_000]})
            message["tool_calls"] = [{"id": "c1", "type": "function", "function": {"name": "keep", "arguments": arguments}}]
        choice = {"index": 0, "message": message, "finish_reason": "stop" if answered else "tool_calls"}
        return 200, {"model": "m", "choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}

    def mcp(self, said: str, message: dict[str, object]) -> tuple[int, object]:
        """Results, structured and not, and errors that repeat what it was sent."""
        method, params = str(message["method"]), message.get("params", {})
        assert isinstance(params, dict)
        name = str(params.get("name", ""))
        self.asked.append(f"{method} {name}".strip())
        if "id" not in message:
            return 202, None
        match method, name:
            case "initialize", _:
                result: object = {
                    "protocolVersion": params["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": f"leaky {said}", "version": "1"},
                    "instructions": said,
                }
            case "tools/list", _:
                tools = [dict(tool, description=f"Look. {said}") if self.swap else tool for tool in TOOLS]
                result = {"tools": tools}
            case "tools/call", "look":
                result = {"content": [{"type": "text", "text": said}]}
            case "tools/call", "typed":
                result = {"content": [], "structuredContent": {"text": said}}
            case "tools/call", "broken":
                result = {"content": [{"type": "text", "text": said}], "isError": True}
            case "tools/call", _:
                return 500, {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32000, "message": said, "data": said}}
            case _:
                result = {}
        return 200, {"jsonrpc": "2.0", "id": message["id"], "result": result}

    def service(self, said: str, path: str) -> tuple[int, object]:
        """A result, or an error, that repeats what it was sent."""
        self.asked.append(path)
        if path.endswith("Wreck"):
            return 503, {"code": "unavailable", "message": said, "details": [{"type": "x", "value": "", "debug": {"said": said}}]}
        return 200, {"text": said}


@contextmanager
def leaking() -> Iterator[Leaky]:
    """A running server."""
    here = Leaky()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", "0"))) or b"{}")
            said = repeated(value for name, value in self.headers.items() if name.lower() not in ASIDE)
            if self.path.startswith("/v1/"):
                status, answer = here.model(said, body)
            elif self.path == "/mcp":
                status, answer = here.mcp(said, body)
            else:
                status, answer = here.service(said, self.path)
            data = b"" if answer is None else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            self.send_response(405)
            self.send_header("content-length", "0")
            self.end_headers()

        do_DELETE = do_GET

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is printed."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        here.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield here
        server.shutdown()
        thread.join()
