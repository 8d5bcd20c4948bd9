"""An agent that asks a model, calls a tool and logs: a program whose inside is worth following, at any place."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from ael.host import open_host
from ael.run.trace import SpanList
from tests.transports.places import TOKEN, Placed, address, opened_in, serving, serving_grpc

MAIN = """\
permission world.act

error Empty { id: String }

/// Act outside. Call it once.
tool act(what: String) -> String
  needs world.act
  repeat idempotent
  timeout 60s
  extern "outside:act"

/// Strike outside. Call it once.
tool strike(what: String) -> String
  needs world.act
  repeat never
  timeout 60s
  extern "outside:act"

model fast {
  provider openai
  name "gpt-x"
}

/// Think about it.
node think(id: String) -> String
  model fast
  policy loop
  tools act
  grants world.act
  budget tokens 50_000
{
  instructions "Answer."
}

node shout(said: String) -> String {
  log("for the operator alone")
  said.upper()
}

/// Think, then shout.
pub agent worker(id: String) -> String
  grants world.act
{
  edge start -> think
  edge think -> shout
  edge shout -> finish
}

/// Do one thing.
pub node once(id: String) -> String fails Empty
  grants world.act
{
  if id == "" { fail Empty(id: id) }
  act(id)
}

/// Strike once.
pub node hit(id: String) -> String fails Uncertain
  grants world.act
{
  try strike(id)
}

node front(id: String) -> String
  grants world.act
{
  worker(id)
}

node only(id: String) -> String fails Empty
  grants world.act
{
  try once(id)
}

node strikes(id: String) -> String fails Uncertain
  grants world.act
{
  try hit(id)
}
"""
SCRIPT = '[{"text": "I look at it, and then I know. ", "calls": [{"call": "act", "with": {"what": "A"}}]}, {"text": "done"}]'
LINES = 'runs = memory\nmodel fast = scripted("script.json")\n'
PARTS = ("node worker", "node once", "node hit")
SERVE = "serve = [worker, once, hit]\n"


def written(folder: Path, script: str = SCRIPT) -> Path:
    """The folder with its script."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "script.json").write_text(script)
    return folder


@asynccontextmanager
async def served(
    folder: Path, deploy: str = "", script: str = SCRIPT, *, grpc: bool = False, runs: str = "runs = memory\n"
) -> AsyncIterator[tuple[Any, int, Any]]:
    """The program behind a server of its own."""
    behind = serving_grpc if grpc else serving
    lines = LINES.replace("runs = memory\n", runs)
    async with behind(written(folder, script), MAIN, lines + deploy + ("" if "serve" in deploy else SERVE)) as found:
        yield found


@asynccontextmanager
async def desk(
    place: str,
    folder: Path,
    script: str = SCRIPT,
    through: int | None = None,
    *,
    parts: Sequence[str] = PARTS,
    runs: str = "runs = memory\n",
) -> AsyncIterator[Placed]:
    """The program with `parts` at a place. `through`: a port that stands in front of the server; `runs`: where that keeps its runs."""
    written(folder, script)
    async with AsyncExitStack() as stack:
        lines, where = LINES, folder
        if place == "process":
            lines += "".join(f"{part} = process(workers: 1)\n" for part in parts)
        elif place != "in process":
            port = through
            if port is None:
                where = folder / "server"
                context = served(where, "serve = [worker, once, hit, think, shout]\n", script, grpc=place == "grpc", runs=runs)
                _, port, _ = await stack.enter_async_context(context)
            lines += 'host "127.0.0.1"\nsecret T = env("ORDERS_TOKEN")\n'
            os.environ["ORDERS_TOKEN"] = TOKEN
            for part in parts:
                lines += f'{part} = {address(place, port)}, token: secret("T"))\n'
        sys.modules.pop("outside", None)
        opened = opened_in(folder, MAIN, lines)
        sys.path.insert(0, str(where))
        stack.callback(sys.path.remove, str(where))
        host = open_host(opened)
        await stack.enter_async_context(host)
        yield Placed(host, where, SpanList())
