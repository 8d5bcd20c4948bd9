"""One agent, served over the Connect protocol and as a tool of MCP: the same answer, the same declared error (A10.3)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.server.support import opened
from tests.server.support import serving as serving_mcp
from tests.transports.places import serving
from tests.transports.test_protocol import post

PROGRAM = """
error Odd { n: Int }

node half(n: Int) -> Int fails Odd {
  if n % 2 == 1 { fail Odd(n: n) }
  n div 2
}
node less(n: Int) -> Int { n - 1 }

/// Halve a number until it is small.
pub agent worker(n: Int) -> Int fails Odd
{
  edge start -> half
  edge half -> half when half > 10 up to 5
  edge half -> less otherwise
  edge less -> finish
}
"""


@pytest.mark.feature("A10.3")
def test_an_agent_answers_the_same_over_every_protocol(tmp_path: Path) -> None:
    async def over_connect(n: int) -> object:
        async with serving(tmp_path / "connect", PROGRAM, "runs = memory\n") as (alone, port, _):
            [path] = [path for path in alone.served.methods if path.endswith("/Worker")]
            reply = await post(port, path, json.dumps({"n": n}).encode())
            return reply.json["result"] if reply.status == 200 else reply.json["details"][0]["debug"]["error"]

    async def over_mcp(n: int) -> object:
        async with serving_mcp(opened(tmp_path / "mcp", PROGRAM)) as served:
            result = (await served.call("worker", {"n": n})).json["result"]
            if not result.get("isError"):
                return result["structuredContent"]["result"]
            return "main.Odd" if "Odd" in result["content"][0]["text"] else result

    for n, wanted in ((48, 5), (8, 3), (3, "main.Odd")):
        assert asyncio.run(over_mcp(n)) == wanted
        assert asyncio.run(over_connect(n)) == wanted
