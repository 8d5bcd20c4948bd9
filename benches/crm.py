"""The small server of the benchmark `mcp`, as both of its sides know it: its one tool, how it is reached, how it is started.

Standard library only: every side and the server import this, each in an environment of its own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

NEW, OLD = "2026-07-28", "2025-11-25"
"""The newest revisions of the protocol's two eras."""
VARIABLE = "BENCH_MCP"
"""The environment variable that tells a side its way to the server."""
TOOL: dict[str, Any] = {
    "name": "get",
    "description": "Read one customer by the public identifier.",
    "inputSchema": {
        "type": "object",
        "properties": {"id": {"type": "string"}},
        "required": ["id"],
        "additionalProperties": False,
    },
    "outputSchema": {
        "type": "object",
        "properties": {
            "id": {"type": "string", "maxLength": 64},
            "name": {"type": "string", "maxLength": 120},
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
            "plan": {"enum": ["Free", "Pro"]},
            "tags": {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 10},
        },
        "required": ["id", "name", "age", "plan", "tags"],
        "additionalProperties": False,
    },
}


def customer(id: str) -> dict[str, object]:
    """What the tool answers."""
    return {"id": id, "name": "Ada Example", "age": 36, "plan": "Pro", "tags": ["kitchen", "steel", "shelf-7"]}


@dataclass(frozen=True)
class Way:
    """A way to the server: `words` start it as a child process in `cwd`, or it listens at `url`; `protocol` is what it speaks there.

    `folder` has the AEL program that is bound to it.
    """

    name: str
    protocol: str
    words: tuple[str, ...]
    cwd: str
    url: str
    folder: str

    def environment(self) -> Mapping[str, str]:
        """What a measured process is started with, so that `way` finds this there."""
        return {VARIABLE: json.dumps(asdict(self))}


def way() -> Way:
    """The way that this process was given."""
    given = json.loads(os.environ[VARIABLE])
    return Way(**{**given, "words": tuple(given["words"])})
