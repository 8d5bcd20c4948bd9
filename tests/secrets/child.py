"""An MCP server over standard input and output that gives away its whole environment, in every form. A program, not a module."""

from __future__ import annotations

import json
import os
import sys


def main() -> None:
    """Serve until the input ends."""
    everything = json.dumps(dict(os.environ))
    print(f"started with {everything}", file=sys.stderr, flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        match message["method"]:
            case "initialize":
                version = message["params"]["protocolVersion"]
                result: object = {
                    "protocolVersion": version,
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "c", "version": "1"},
                }
            case "tools/list":
                schema = {"type": "object", "properties": {}, "additionalProperties": False}
                result = {"tools": [{"name": "tell", "description": "Tell.", "inputSchema": schema}]}
            case "tools/call":
                words = os.environ.get("CHILD_TOKEN", "")
                text = f"{everything}\n{words}\n{words.encode().hex()}"
                result = {"content": [{"type": "text", "text": text}]}
            case _:
                result = {}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
