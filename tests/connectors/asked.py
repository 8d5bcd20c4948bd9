"""A program whose model is a connector in AEL, behind which a Python function says what comes back."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ael.diagnostics.render import render_all
from ael.host import Host, open_host
from ael.project.program import Opened
from ael.run.bindings import Options
from ael.run.events import Event
from ael.run.outcome import Outcome
from ael.run.ports import CallContext
from ael.run.trace import SpanList
from tests.programs import open_files

PACK = 'pack shop {\n  version "1.0.0"\n  extern "outside"\n}\n'
SHOP = """\
use std/model.{Answer, Model, NoTurn, Request}

permission out.use
permission orders.read

tool ask_there(request: Request, after: String?) -> Answer fails NoTurn
  needs out.use
  repeat idempotent
  timeout none
  limit input 64MB, output 8MB
  extern "outside:ask"

provide Model as remote
  grants out.use
{
  fn ask(request: Request, after: String?) -> Answer fails NoTurn {
    try ask_there(request, after)
  }
}

model big {
  provider remote
  name "large"
  temperature 0.5
  fallback spare
}

model spare {
  provider scripted
}

/// Look an order up. Call this first.
tool look_up(id: String(max: 8)) -> String
  needs orders.read
  repeat idempotent
{
  "order ${id}"
}

pub record Reply {
  text: String(max: 200)
  sure: Bool = true
}

node answer(question: String) -> Reply
  model big
  policy loop(steps: 4, tool_calls: 6)
  grants orders.read
  tools look_up
  budget tokens 20_000, time 60s
  attempts 2
{
  instructions "Answer the question."
}

node plain(question: String) -> String
  model big
  policy one_call
  budget tokens 4_000, time 60s
{
  instructions "Answer in a word."
}

node hasty(question: String) -> String
  model big
  policy one_call
  budget tokens 4_000, time 1s
{
  instructions "Answer in a word."
}
"""
DEPLOY = 'runs = memory\nmodel spare = scripted("spare.json")\n'
SPARE = '[{"final": "from the spare"}]'

DONE: dict[str, object] = {"stop": "Done"}
Given = Callable[..., object] | Mapping[str, object] | BaseException


def turn(text: str = "", **fields: object) -> dict[str, object]:
    """A `Turn`."""
    return {"text": text, "stop": "Done", **fields}


def call(name: str, arguments: str | None = "{}", id: str = "") -> dict[str, object]:
    """A `Proposed`."""
    return {"id": id, "name": name, **({} if arguments is None else {"arguments": arguments})}


@dataclass
class Asked:
    """What one run of the program gave, and what the connector was asked for it."""

    outcome: Outcome
    requests: list[Any]
    spans: SpanList
    events: list[Event]
    host: Host


@dataclass
class Outside:
    """What answers the connector: one after the other, the last of them again and again."""

    given: list[Given]
    requests: list[Any] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    cancelled: int = 0

    async def ask(self, *, request: dict[str, Any], after: str | None = None, call: CallContext) -> object:
        self.requests.append((request, after))
        self.keys.append(call.key)
        found = self.given.pop(0) if len(self.given) > 1 else self.given[0]
        if isinstance(found, BaseException):
            raise found
        if not callable(found):
            return found
        try:
            result = found(request, after)
            return await result if inspect.isawaitable(result) else result
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


def opened_in(folder: Path, main: str = SHOP, deploy: str = DEPLOY) -> Opened:
    """The program, checked, under a deployment."""
    outside = "def ask():\n    raise AssertionError\n"
    files = {"pack.ael": PACK, "main.ael": main, "deploy.ael": deploy, "spare.json": SPARE, "outside.py": outside}
    found, bag = open_files(folder, files)
    assert found is not None, render_all(bag.sorted())
    return found


def ask(
    folder: Path,
    *given: Given,
    entry: str = "plain",
    main: str = SHOP,
    deploy: str = DEPLOY,
    follow: bool = False,
    input: Mapping[str, object] | None = None,
    **options: Any,
) -> Asked:
    """Run an entry whose connector is answered by `given`."""
    outside, spans, events = Outside(list(given)), SpanList(), list[Event]()
    host = open_host(opened_in(folder, main, deploy), sinks=[spans], functions={"main.ask_there": outside.ask})
    if follow:
        options["on_event"] = events.append

    async def scenario() -> Outcome:
        async with host:
            said = Options(caller="tester", run="test", **options)
            return await host.engine.start(entry, input or {"question": "Where?"}, said).outcome()

    return Asked(asyncio.run(scenario()), outside.requests, spans, events, host)
