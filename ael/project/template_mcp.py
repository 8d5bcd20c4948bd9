"""What `ael new --template mcp` writes: a pack with an MCP server of its own, in plain Python, pinned, with a scripted model and a test."""

from __future__ import annotations

import json

from ael.project.lock import FILE as LOCK
from ael.project.lock import lock_bytes
from ael.types.pin import ServerPins, pin

_TOOL: dict[str, object] = {
    "name": "count",
    "description": "Count the words and the characters of a text.",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string", "maxLength": 10000}},
        "required": ["text"],
        "additionalProperties": False,
    },
    "outputSchema": {
        "type": "object",
        "properties": {"words": {"type": "integer", "minimum": 0}, "characters": {"type": "integer", "minimum": 0}},
        "required": ["words", "characters"],
        "additionalProperties": False,
    },
    "annotations": {"readOnlyHint": True},
}
_SERVER_NAME = {"name": "NAME", "version": "0.1.0"}
_PROTOCOL = "2025-11-25"

_PACK = """\
//! NAME: what it is for.

pack NAME {
  version "0.1.0"
  uses std/process
}
"""

_MAIN = """\
//! Answer questions about a text, with a tool of an MCP server.

/// Look at texts.
permission texts.read

/// The server beside this file. Another one is named here in the same way; `ael mcp list` shows what it offers.
mcp texts {
  tool count  needs texts.read  repeat idempotent
}

model assistant {
  provider anthropic
  name "claude-haiku-4-5"
}

/// Answer one question.
node main(question: String(max: 500) = "How many words are in: to be or not to be?") -> String(max: 1_000)
  model assistant
  policy loop(steps: 4, tool_calls: 4)
  grants texts.read
  tools texts.count
  budget tokens 10_000, time 30s
{
  instructions "Answer the question in one sentence. Count with the tool, never by yourself."
}

test "words are counted by the server" {
  script assistant [
    call("texts__count", ["text": "to be"]),
    final("Two."),
  ]
  script texts.count [final(texts.CountResult(words: 2, characters: 5))]
  assert main("How many words are in: to be?") == "Two."
  assert calls(texts.count) == 1
}
"""

_DEPLOY = """\
//! The default deployment: the server is started as a child process, the model's answers come from a script, so nothing needs a key.
//!
//! For a real model write, and set ANTHROPIC_API_KEY:
//!   model assistant = anthropic("claude-haiku-4-5")

model assistant = scripted("script.json")

command "python3"
mcp texts = stdio("python3", "server.py")
"""

_SCRIPT = """\
[
  {"call": "texts__count", "with": {"text": "to be or not to be"}},
  {"final": "There are six words in it."}
]
"""

_SERVER = '''\
"""An MCP server over standard input and output: one tool, nothing but Python's own library."""

import json
import sys

TOOLS = json.loads("""
TOOLS_JSON
""")


def call(name, arguments):
    """The result of a tool."""
    text = arguments["text"]
    return {"words": len(text.split()), "characters": len(text)}


def answer(method, params):
    """The result of a request, None for one that is not known."""
    if method == "initialize":
        version = params["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "NAME", "version": "0.1.0"}}
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        result = call(params["name"], params["arguments"])
        return {"content": [{"type": "text", "text": json.dumps(result)}], "structuredContent": result}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = answer(message["method"], message.get("params", {}))
    end = {"error": {"code": -32601, "message": "there is no such method"}} if result is None else {"result": result}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **end}), flush=True)
'''

_README = """\
# NAME

    ael check     reports every problem
    ael test      runs the tests, with a scripted model and a scripted server
    ael run .     answers the default question; `--question "…"` asks another one
    ael mcp list  shows what the server offers; after a change of it, `ael mcp pin` shows the difference and takes it

The server is `server.py`. What the program uses of it is pinned in `ael.lock`: keep that file with the program.
"""


def files(name: str) -> dict[str, str]:
    """Path below the new folder -> text."""
    pins = ServerPins(_PROTOCOL, {}, {**_SERVER_NAME, "name": name}, {"count": pin(_TOOL)})
    types = {("main.texts", "count"): "fn(text: String(max: 10000)) -> CountResult"}
    parts = {
        "pack.ael": _PACK,
        "main.ael": _MAIN,
        "deploy.ael": _DEPLOY,
        "script.json": _SCRIPT,
        "server.py": _SERVER.replace("TOOLS_JSON", json.dumps([_TOOL], indent=2)),
        "README.md": _README,
    }
    return {
        **{path: text.replace("NAME", name) for path, text in parts.items()},
        LOCK: lock_bytes({"main.texts": pins}, types).decode(),
    }
