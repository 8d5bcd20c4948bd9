"""A small MCP server on standard input and output, with the standard library only, that misbehaves as its arguments say."""

import json
import os
import signal
import sys
import time
from typing import Any

HOW = set(sys.argv[1:])
OLD = "2025-11-25"
NEW = "2026-07-28"
BEGUN = '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"'
FOUND = {
    "resultType": "complete",
    "ttlMs": 0,
    "cacheScope": "private",
    "supportedVersions": [NEW],
    "capabilities": {"tools": {}},
}


def say(value: object) -> None:
    raw(json.dumps(value) + "\n")


def raw(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def reply(id: Any, result: object) -> None:
    say({"jsonrpc": "2.0", "id": id, "result": result})


def progress(meta: dict[str, Any], at: int) -> None:
    told = {"progressToken": meta["progressToken"], "progress": at, "total": 9}
    say({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})


def words(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], **({"resultType": "complete"} if "new" in HOW else {})}


def call(id: Any, name: str, arguments: dict[str, Any], meta: dict[str, Any]) -> None:
    match name:
        case "echo":
            reply(id, words(str(arguments.get("text"))))
        case "environment":
            reply(id, words(json.dumps(dict(os.environ))))
        case "folder":
            reply(id, words(os.getcwd()))
        case "pids":
            reply(id, words(json.dumps([os.getpid(), os.getpgrp()])))
        case "exit":
            sys.stderr.write("last words\n")
            sys.stderr.flush()
            os._exit(int(arguments.get("code", 3)))
        case "shut":
            os.close(1)
            time.sleep(60)
        case "hang":
            pass
        case "deaf":
            time.sleep(60)
        case "slow":
            time.sleep(arguments["seconds"])
            reply(id, words("late"))
        case "raw":
            raw(arguments["text"].replace("ID", str(id)) + "\n")
        case "long":
            raw(BEGUN.replace("ID", str(id)))
            for _ in range(arguments["pieces"]):
                raw("x" * 65_536)
            raw('"}]}}\n')
        case "endless":
            raw(BEGUN.replace("ID", str(id)))
            while True:
                raw("x" * 65_536)
        case "flood":
            for at in range(arguments["count"]):
                say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
                say({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": f"line {at}"}})
            reply(id, words("flooded"))
        case "noise":
            for _ in range(arguments["lines"]):
                raw("just a line of a log\n")
            reply(id, words("noisy"))
        case "progress":
            for at in range(arguments["count"]):
                progress(meta, at)
                time.sleep(arguments["pause"])
            reply(id, words("there"))
        case "progress for ever":
            at = 0
            while True:
                at += 1
                progress(meta, at)
                time.sleep(0.05)
        case "ask":
            say({"jsonrpc": "2.0", "id": "q1", "method": arguments["method"], "params": arguments.get("params", {})})
            waiting["q1"] = id
        case "grandchild":
            pid = os.fork()
            if pid == 0:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                time.sleep(60)
            reply(id, words(str(pid)))
        case _:
            say({"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": f"no tool {name}"}})


waiting: dict[Any, Any] = {}
cancelled: list[Any] = []


def main() -> None:
    if "banner" in HOW:
        raw("Welcome to the server!\n{not json\n\n")
    if "all noise" in HOW:
        for _ in range(5_000):
            raw("noise\n")
    if "stubborn" in HOW:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin:
        message = json.loads(line)
        method, id, params = message.get("method"), message.get("id"), message.get("params", {})
        match method:
            case "server/discover" if "new" in HOW:
                reply(id, FOUND)
            case "server/discover" if "dies at discover" in HOW:
                sys.exit(1)
            case "server/discover" if "silent" in HOW:
                pass
            case "server/discover":
                say({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}})
            case "initialize":
                reply(
                    id, {"protocolVersion": OLD, "capabilities": {"tools": {}}, "serverInfo": {"name": "child", "version": "1"}}
                )
            case "tools/list":
                reply(id, {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]})
            case "tools/call" if params["name"] == "cancelled":
                reply(id, words(json.dumps(cancelled)))
            case "tools/call":
                call(id, params["name"], params.get("arguments", {}), params.get("_meta", {}))
            case "ping":
                reply(id, {})
            case "notifications/cancelled":
                cancelled.append(params["requestId"])
            case None if id in waiting:
                reply(waiting.pop(id), words(json.dumps(message.get("result", message.get("error")))))
            case _ if id is not None:
                say({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}})
    if "stubborn" in HOW:
        time.sleep(60)


main()
