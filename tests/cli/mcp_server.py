"""A small MCP server over standard input and output, in plain Python, which does what a JSON file says. A program, not a module.

The file (its only argument) is read at every request: `tools`, `resources`, `resourceTemplates`, `prompts` are what it lists;
`answers` is tool -> result of a call (`{"error": {…}}` for a JSON-RPC error, `"hang"` for none, `"die"` to end at once); `ask` is a
question that is put to the client before a call is answered, whose reply is the answer then; `contents` is URI -> text; `log` names a
file to which every request is written, a line each (after the `environment`, if that is true); `noise` is printed before the first
answer.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

WHAT = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}


def answer(state: dict, method: str, params: dict) -> object:
    """The result of a request, or an `error`."""
    if method == "initialize":
        capabilities = {"tools": {"listChanged": True}}
        capabilities |= {"resources": {}} if "resources" in state or "resourceTemplates" in state else {}
        capabilities |= {"prompts": {}} if "prompts" in state else {}
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": capabilities,
            "serverInfo": state.get("server", {"name": "little", "version": "1.0"}),
        }
    if method == "ping":
        return {}
    if method in WHAT and (what := WHAT[method]) in state:
        listed = state[what]
        size = state.get("page", len(listed) or 1)
        at = int(params.get("cursor", "0"))
        more = {"nextCursor": str(at + size)} if at + size < len(listed) else {}
        return {what: listed[at : at + size], **more}
    if method == "tools/call":
        return state.get("answers", {}).get(
            params["name"], {"content": [{"type": "text", "text": json.dumps(params["arguments"])}]}
        )
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": state["contents"][params["uri"]]}]}
    return {"error": {"code": -32601, "message": f"no method {method}"}}


def main() -> None:
    """Serve until the input ends."""
    file = Path(sys.argv[1])
    state = json.loads(file.read_text())
    if "log" in state and state.get("environment"):
        Path(state["log"]).write_text(json.dumps(dict(os.environ)) + "\n")
    if "noise" in state:
        print(state["noise"], flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        state = json.loads(file.read_text())
        if "log" in state:
            with Path(state["log"]).open("a") as log:
                log.write(line)
        if "id" not in message or "method" not in message:
            continue
        if "ask" in state and message["method"] == "tools/call":
            print(json.dumps({"jsonrpc": "2.0", "id": "q1", "method": "elicitation/create", "params": state["ask"]}), flush=True)
            reply = json.loads(sys.stdin.readline())
            content = [{"type": "text", "text": json.dumps(reply["result"], sort_keys=True)}]
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"content": content}}), flush=True)
            continue
        result = answer(state, message["method"], message.get("params", {}))
        if result == "die":
            os._exit(3)
        if result == "hang":
            time.sleep(600)
        body = result if isinstance(result, dict) and set(result) == {"error"} else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)


if __name__ == "__main__":
    main()
