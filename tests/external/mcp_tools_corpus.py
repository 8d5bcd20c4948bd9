"""The corpus of real tool definitions: what 96 public MCP servers answered to `tools/list`."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]


def corpus() -> Path | None:
    """The folder with the answers: under `AEL_CORPUS`, else `../shared/corpus` beside the checkout; None where neither has them."""
    named = os.environ.get("AEL_CORPUS")
    places = ([Path(named)] if named else []) + [CHECKOUT.parent / "shared" / "corpus"]
    return next((place / "mcp-tools" for place in places if (place / "mcp-tools").is_dir()), None)


@dataclass(frozen=True)
class Tool:
    """A tool as its server lists it."""

    server: str
    definition: dict[str, Any]

    @property
    def id(self) -> str:
        """`server/tool`, for messages and seeds."""
        return f"{self.server}/{self.definition['name']}"

    def schemas(self) -> Iterator[tuple[str, Any]]:
        """Its input schema, and its output schema where it has one. Arguments are an object, also where the schema leaves that open."""
        yield "input", {"type": "object", **self.definition["inputSchema"]}
        if "outputSchema" in self.definition:
            yield "output", self.definition["outputSchema"]


@lru_cache(maxsize=1)
def servers(folder: Path) -> dict[str, tuple[Tool, ...]]:
    """Server and version -> its tools, in the order in which it lists them."""
    found: dict[str, tuple[Tool, ...]] = {}
    for file in sorted(folder.glob("*.json.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as text:
            answer = json.load(text)
        name = f"{answer['package']}@{answer['version']}"
        found[name] = tuple(Tool(name, definition) for definition in answer["tools"])
    return found


def tools(folder: Path) -> list[Tool]:
    """All tools of all servers."""
    return [tool for listed in servers(folder).values() for tool in listed]
