"""The other side of both protocols, on a free port of this machine: a model that plays three turns, and a stock of pears.

`python server.py TOKEN` prints its address. Each request is a `PUT` under a key, and what was made of a key is told again.
"""

from __future__ import annotations

import json
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

STOCK = {"pear": 12, "apple": 0}
DONE: dict[str, dict[str, object]] = {}
TURNS: dict[str, list[dict[str, object]]] = {}
LOCK = Lock()


def turn_after(messages: list[dict[str, str]]) -> list[dict[str, object]]:
    """What the model says next, in parts, by how often it was asked before."""
    asked = sum(message["from"] == "model" for message in messages)
    usage = {"input": 200 + 80 * asked, "output": 24}
    if asked == 0:
        calls = [
            {"id": "a", "name": "rules", "arguments": '{"question": "How many pears may one customer have?"}'},
            {"id": "b", "name": "left", "arguments": '{"item": "pear"}'},
        ]
        return [{"text": "Let me "}, {"text": "look. "}, {"calls": calls, "stop": "Calls", "usage": usage}]
    if asked == 1:
        calls = [{"id": "c", "name": "sell", "arguments": '{"item": "pear", "count": 3}'}]
        return [{"calls": calls, "stop": "Calls", "usage": usage}]
    receipt = json.loads(messages[-1]["text"])
    said = f"Sold {receipt['count']} pears, receipt {receipt['number']}. At most ten, says the rule."
    result = json.dumps({"text": said, "sure": True})
    return [{"final": result[:30]}, {"final": result[30:], "stop": "Done", "usage": usage}]


def called(operation: str, arguments: dict[str, object]) -> dict[str, object]:
    """One call of the service `Stock`."""
    item = str(arguments["item"])
    if operation == "left":
        return {"value": STOCK.get(item, 0)}
    if operation != "sell":
        return {"fault": "BadArguments", "message": f"there is no {operation}"}
    count = int(str(arguments["count"]))
    if STOCK.get(item, 0) < count:
        return {"failed": "SoldOut", "fields": {"item": item}}
    STOCK[item] -= count
    return {"value": {"number": 100 + len(DONE), "item": item, "count": count}}


class Handler(BaseHTTPRequestHandler):
    """`PUT /turns/KEY`, `GET /turns/KEY/N`, `PUT /calls/KEY`."""

    def do_PUT(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        _, kind, key = self.path.split("/")
        with LOCK:
            if not self.allowed():
                return
            if kind == "turns":
                TURNS.setdefault(key, turn_after(body["messages"]))
                self.part(key, 0)
            else:
                if key not in DONE:
                    DONE[key] = called(body["operation"], body["arguments"])
                self.answer(200, DONE[key])

    def do_GET(self) -> None:
        _, _, key, at = self.path.split("/")
        with LOCK:
            if self.allowed():
                self.part(key, int(at))

    def part(self, key: str, at: int) -> None:
        parts = TURNS[key]
        last = at == len(parts) - 1
        self.answer(200, parts[at] if last else {**parts[at], "next": f"{key}/{at + 1}"})

    def allowed(self) -> bool:
        if self.headers["authorization"] == f"Bearer {sys.argv[1]}":
            return True
        self.answer(401, {"why": "who are you?"})
        return False

    def answer(self, status: int, value: dict[str, object]) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """It says nothing."""


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()
