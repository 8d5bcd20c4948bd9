"""The customers' server on standard input and output, with the standard library alone; it misbehaves as its arguments say."""

import json
import os
import signal
import sys
import time
from typing import Any

HOW = set(sys.argv[1:])
CUSTOMER = {
    "name": "get_customer",
    "description": "Find a customer.",
    "inputSchema": {
        "type": "object",
        "properties": {"id": {"type": "string", "maxLength": 64}, "note": {"type": "string"}},
        "required": ["id"],
        "additionalProperties": False,
    },
    "outputSchema": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
        "required": ["name", "age"],
        "additionalProperties": False,
    },
}
TICKET = {
    "name": "create_ticket",
    "description": "Create a ticket.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    "annotations": {"idempotentHint": True},
}
QUESTION = {
    "type": "object",
    "properties": {"urgent": {"type": "boolean"}, "days": {"type": "integer", "minimum": 1}},
    "required": ["urgent"],
}


def say(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def reply(id: Any, result: object) -> None:
    say({"jsonrpc": "2.0", "id": id, "result": result})


def words(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def call(id: Any, name: str, arguments: dict[str, Any]) -> None:
    if name == "get_customer":
        if "environment" in HOW:
            reply(id, {"content": [], "structuredContent": {"name": json.dumps(dict(os.environ)), "age": os.getpid()}})
        else:
            reply(id, {"content": [], "structuredContent": {"name": "Ada", "age": 36}})
        return
    match arguments["text"]:
        case "die":
            os._exit(3)
        case "hang":
            pass
        case "broken":
            say({"jsonrpc": "2.0", "id": id, "result": "no object"})
        case "huge":
            say({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": "x" * 9 * 1024 * 1024}]}})
        case "noise":
            sys.stdout.write("just a line of a log\n")
            say({"jsonrpc": "2.0", "id": 999_999, "result": {}})
            say({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "what?"}})
            say({"jsonrpc": "2.0", "method": "notifications/nobody/knows"})
            reply(id, words("T-2"))
        case "flood":
            for _ in range(1_000):
                say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            reply(id, words("T-3"))
        case "ask":
            asked = {"message": "Is it urgent?", "requestedSchema": QUESTION}
            say({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": asked})
            waiting["q"] = id
        case _:
            reply(id, words("T-1"))


waiting: dict[Any, Any] = {}


def main() -> None:
    if "stubborn" in HOW:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "late" in HOW:
        time.sleep(0.5)
    for line in sys.stdin:
        message = json.loads(line)
        method, id, params = message.get("method"), message.get("id"), message.get("params", {})
        match method:
            case "initialize":
                about = {"name": "crm", "version": "1"}
                can = {"tools": {"listChanged": True}}
                reply(id, {"protocolVersion": "2025-11-25", "capabilities": can, "serverInfo": about})
            case "tools/list":
                changed = {**CUSTOMER, "description": "Another."} if "changed" in HOW else CUSTOMER
                reply(id, {"tools": [changed, TICKET]})
            case "tools/call":
                call(id, params["name"], params.get("arguments", {}))
            case "ping":
                reply(id, {})
            case None if id in waiting:
                reply(waiting.pop(id), words(json.dumps(message.get("result", message.get("error")), sort_keys=True)))
            case _ if id is not None:
                say({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}})
    if "stubborn" in HOW:
        time.sleep(60)


main()
