"""A program with an MCP server of the tests behind it: files for a folder, and what the server lists."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

SERVER = Path(__file__).with_name("mcp_server.py").resolve()

PACK = 'pack desk {\n  version "0.1.0"\n  uses std/process\n}\n'
DEPLOY = f"""\
command {json.dumps(sys.executable)}
mcp files = stdio({json.dumps(sys.executable)}, {json.dumps(str(SERVER))}, "state.json")
"""
MAIN = """\
permission files.read
permission files.write includes files.read

mcp files {
  tool read_file needs files.read repeat idempotent
  tool write_file as "write-file" needs files.write
}

node main(path: String(max: 200) = "a.txt") -> String
  grants files.read
{
  let file = files.read_file(path: path)
  file.content
}

node put(path: String(max: 200), content: String(max: 200)) -> String fails Uncertain
  grants files.write
{
  try files.write_file(path: path, content: content)
}
"""

READ = {
    "name": "read_file",
    "description": "Read a file.\nOnly below the folder.",
    "inputSchema": {
        "type": "object",
        "properties": {"path": {"type": "string", "maxLength": 4096}, "head": {"type": "integer", "minimum": 1}},
        "required": ["path"],
        "additionalProperties": False,
    },
    "outputSchema": {"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"]},
    "annotations": {"readOnlyHint": True, "openWorldHint": False},
}
WRITE = {
    "name": "write-file",
    "description": "Write a file.",
    "inputSchema": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
        "additionalProperties": False,
    },
}
ODD = {"name": "odd", "inputSchema": {"type": "object", "properties": {"x": {"$ref": "https://example.com/x.json"}}}}
"""A tool without an exact type."""
STATE = {
    "tools": [READ, WRITE, ODD],
    "answers": {
        "read_file": {"content": [{"type": "text", "text": '{"content": "hello"}'}], "structuredContent": {"content": "hello"}},
        "write-file": {"content": [{"type": "text", "text": "written"}]},
    },
}


def desk(**state: object) -> dict[str, str]:
    """The files of the program; `state` replaces parts of what the server does."""
    return {"pack.ael": PACK, "deploy.ael": DEPLOY, "main.ael": MAIN, "state.json": json.dumps({**STATE, **state})}


def http_free_where() -> str:
    """How the server is shown."""
    return f"stdio {shlex.join([sys.executable, str(SERVER), 'state.json'])}"
