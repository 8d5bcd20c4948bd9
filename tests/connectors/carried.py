"""The programs of the placement suite with a transport written in AEL: what they say to each other goes by its code.

Its way out is one Python function, which asks an `ael serve` over loopback; the rest (what is asked, what an answer means) is AEL.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from ael.host import open_host
from ael.net.address import parse_endpoint, rules
from ael.run.placement import PlacedCall
from ael.run.ports import CallContext
from ael.run.trace import SpanList
from ael.services.elsewhere import Policy
from ael.services.remote import Fixed, Remote
from ael.types.fault import Fault
from ael.types.value import Secret
from tests.transports.places import TOKEN, Placed, Setting, opened_in, serving

CONNECTOR = """

use std/transport.{Call, NotSent, Outcome, Transport}

permission wire.send

pub record Back {
  kind: "value" | "error" | "fault" | "uncertain" | "unsent"
  value: Json
  name: String
  message: String(max: 4_096)
}

/// Ask the other side.
tool wire(request: Call) -> Back
  needs wire.send
  repeat never
  timeout none
  limit input 2MB, output 2MB
  extern "outside:act"

provide Transport as carried
  grants wire.send
{
  fn carry(request: Call) -> Outcome fails NotSent, Uncertain {
    let back = try wire(request)
    match back.kind {
      "value" => Outcome.Value(value: back.value)
      "error" => Outcome.Failed(error: back.name, fields: back.value)
      "fault" => Outcome.Faulted(fault: back.name, message: back.message, retry_after: null)
      "unsent" => { fail NotSent(reason: back.message) }
      "uncertain" => Outcome.Open(reason: back.message)
    }
  }
}
"""

Wire = Callable[..., Any]


def wire_to(port: int) -> Wire:
    """The way out: a call over the Connect protocol, and what came back as the record `Back`."""
    allowed = rules(frozenset({"127.0.0.1"}))
    remote = Remote(
        "shop.Orders",
        Fixed(parse_endpoint(f"http://127.0.0.1:{port}", allowed)),
        Policy(),
        token=Secret("T", TOKEN),
        allowed=allowed,
    )
    remotes = {"shop.Orders": remote}

    async def wire(*, request: dict[str, Any], call: CallContext) -> dict[str, object]:
        name = request["service"]
        found = remotes.get(name)
        if found is None:
            found = remotes[name] = Remote(
                name,
                Fixed(parse_endpoint(f"http://127.0.0.1:{port}", allowed)),
                Policy(),
                token=Secret("T", TOKEN),
                allowed=allowed,
            )
        context = CallContext(
            call.run, call.step, request["key"], call.tenant, call.caller, "",
            call.deadline, request["trace"],
        )  # fmt: skip
        body = json.dumps(request["arguments"]).encode()
        back: dict[str, object] = {"kind": "value", "value": None, "name": "", "message": ""}
        try:
            answer = await found.call(
                PlacedCall(
                    request["operation"], body, request["repeat"] == "idempotent", 70_000, request["attempts"], (), context
                )
            )
        except Fault as fault:
            if fault.details.get("sent") is False:
                return {**back, "kind": "unsent", "message": fault.message}
            raise
        if answer.ending is None:
            value = json.loads(answer.value or b"null")
            return {**back, "value": value["result"] if set(value) == {"result"} else value}
        ending = answer.ending
        match ending["outcome"]:
            case "error":
                return {**back, "kind": "error", "name": ending["error"], "value": ending["value"]}
            case "fault":
                return {**back, "kind": "fault", "name": ending["kind"], "message": str(ending["message"])[:4_000]}
            case _:
                return {**back, "kind": "uncertain", "message": "it is open there"}

    return wire


@asynccontextmanager
async def placed(place: str, folder: Path, main: str, setting: Setting | None = None) -> AsyncIterator[Placed]:
    """The program with its service behind a transport of its own, as `tests.transports.places.placed` has it elsewhere."""
    assert place == "connector"
    given = setting or Setting()
    spans = SpanList()
    sys.modules.pop("outside", None)
    os.environ["ORDERS_TOKEN"] = TOKEN
    async with AsyncExitStack() as stack:
        stack.callback(sys.path.__setitem__, slice(None), list(sys.path))
        alone, port, stop = await stack.enter_async_context(serving(folder / "server", main, given.runs + given.server))
        outer = port if given.through is None else await stack.enter_async_context(given.through(port))
        lines = given.runs + given.client
        lines += "".join(f'service {name} = carried("loopback", shelf: 3)\n' for name in given.services)
        opened = opened_in(folder, main + CONNECTOR, lines)
        sys.path.insert(0, str(folder / "server"))
        host = open_host(opened, sinks=[spans], functions={"main.wire": wire_to(outer)}, **given.more)
        await stack.enter_async_context(host)
        yield Placed(host, folder / "server", spans, alone, port, stop.set)
