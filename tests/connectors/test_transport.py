"""A transport written in AEL: what it is handed, what it may say, and what that means to whoever called the operation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ael.diagnostics.render import render_all
from ael.host import open_host
from ael.journal.entry import State
from ael.journal.memory import MemoryJournal
from ael.run.bindings import Options
from ael.run.outcome import DeclaredError, Faulted, Outcome, Unsettled, Value
from ael.run.ports import CallContext
from ael.types.fault import Failure, Fault, FaultKind
from tests.programs import open_files

PACK = 'pack shop {\n  version "1.0.0"\n  extern "outside"\n}\n'
MAIN = """\
use std/transport.{Call, NotSent, Outcome, Transport}

permission orders.read
permission orders.pay includes orders.read
permission wire.use

pub record Order { id: String, total: Int(0..1_000) }
pub error NotFound { id: String }

pub service Orders {
  get(id: String) -> Order fails NotFound
    needs orders.read
    repeat idempotent
    retry(attempts: 3, base: 1ms)

  pay(id: String, amount?: Int) -> Unit
    needs orders.pay
    repeat never

  book(id: String) -> String
    needs orders.pay
    repeat reconcile
    timeout 20s
}

tool wire(request: Call) -> Outcome fails NotSent
  needs wire.use
  repeat reconcile
  timeout none
  limit input 2MB, output 2MB
  extern "outside:wire"

provide Transport as mail
  grants wire.use
{
  fn carry(request: Call) -> Outcome fails NotSent, Uncertain {
    if request.settings.has("broken") {
      let _lost = wire(request) catch { NotSent _ => Outcome.Open(reason: ""), Uncertain _ => Outcome.Open(reason: "") }
      assert false
    }
    try wire(request)
  }
}

node get(id: String) -> Order fails NotFound
  grants orders.read
{
  try Orders.get(id)
}

node pay(id: String) -> Unit fails Uncertain
  grants orders.pay
{
  try Orders.pay(id)
}

node book(id: String) -> String fails Uncertain
  grants orders.pay
{
  try Orders.book(id)
}
"""
LINE = 'runs = memory\nservice Orders = mail("box:9", name: "depot.Orders", shelf: 3, wait: 2s, broken_: false)\n'
Act = Callable[[dict[str, Any]], object]


class Wire:
    """The outside: what is done with each call, the last again and again."""

    def __init__(self, *acts: object) -> None:
        self.acts = list(acts)
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []

    async def __call__(self, *, request: dict[str, Any], call: CallContext) -> object:
        self.requests.append(request)
        self.keys.append(call.key)
        act = self.acts.pop(0) if len(self.acts) > 1 else self.acts[0]
        if isinstance(act, BaseException):
            raise act
        return act


def carried(folder: Path, wire: Wire, entry: str, deploy: str = LINE, **options: Any) -> Outcome:
    """How an entry ends whose service goes by the connector."""
    outside = "async def wire(request):\n    raise AssertionError\n"
    opened, bag = open_files(folder, {"pack.ael": PACK, "main.ael": MAIN, "deploy.ael": deploy, "outside.py": outside})
    assert opened is not None, render_all(bag.sorted())
    host = open_host(opened, functions={"main.wire": wire})

    async def scenario() -> Outcome:
        async with host:
            said = Options(**{"tenant": "acme", "caller": "tester", "run": "test", **options})
            return await host.engine.start(entry, {"id": "A-1"}, said).outcome()

    return asyncio.run(scenario())


def value(found: object) -> dict[str, object]:
    return {"kind": "Value", "value": found}


@pytest.mark.feature("A11.5", "A11.1", "A8.7", "K40")
def test_what_it_is_handed(tmp_path: Path) -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    wire = Wire(value("booked"))
    found = carried(tmp_path, wire, "book", trace_parent=parent)
    assert isinstance(found, Value), found
    [request] = wire.requests
    assert request["service"] == "depot.Orders"
    assert request["operation"] == "book"
    assert request["arguments"] == {"id": "A-1"}
    assert request["repeat"] == "reconcile"
    assert request["address"] == "box:9"
    assert request["settings"] == {"shelf": 3, "wait": 2.0, "broken_": False}
    assert (request["tenant"], request["caller"]) == ("acme", "tester")
    assert request["trace"].startswith("00-0af7651916cd43dd8448eb211c80319c-")
    assert timedelta(0) < request["time_left"] <= timedelta(seconds=20)
    again = Wire(value("booked"))
    carried(tmp_path / "again", again, "book")
    assert again.requests[0]["key"] == request["key"], "the key of the effect, the same whoever carries it"


ENDINGS: list[tuple[str, object, object]] = [
    ("get", value({"id": "A-1", "total": 3}), {"id": "A-1", "total": 3}),
    ("get", {"kind": "Failed", "error": "NotFound", "fields": {"id": "A-1"}}, ("main.NotFound", {"id": "A-1"})),
    ("get", {"kind": "Failed", "error": "main.NotFound", "fields": {"id": "A-1"}}, ("main.NotFound", {"id": "A-1"})),
    ("get", {"kind": "Failed", "error": "Other", "fields": {}}, FaultKind.MALFORMED),
    ("get", {"kind": "Failed", "error": "NotFound", "fields": {"id": 7}}, FaultKind.MALFORMED),
    ("get", value({"id": "A-1", "total": "3"}), FaultKind.MALFORMED),
    ("get", value({"id": "A-1", "total": 1_001}), FaultKind.MALFORMED),
    ("get", value({"id": "A-1", "total": 3, "more": 1}), FaultKind.MALFORMED),
    ("get", value(None), FaultKind.MALFORMED),
    ("get", value({"result": {"id": "A-1", "total": 3}}), FaultKind.MALFORMED),
    ("get", {"kind": "Faulted", "fault": "Denied", "message": "not you", "retry_after": None}, FaultKind.DENIED),
    ("get", {"kind": "Faulted", "fault": "Broken", "message": "", "retry_after": None}, FaultKind.DISCONNECTED),
    ("get", {"kind": "Faulted", "fault": "Cancelled", "message": "", "retry_after": None}, FaultKind.DISCONNECTED),
    ("get", {"kind": "Open", "reason": "who knows"}, FaultKind.DISCONNECTED),
    ("pay", value({}), None),
    ("pay", value({"paid": True}), None),
    ("pay", {"kind": "Faulted", "fault": "Denied", "message": "not you", "retry_after": None}, FaultKind.DENIED),
    ("pay", {"kind": "Open", "reason": "who knows"}, "uncertain"),
    ("pay", {"kind": "Failed", "error": "Other", "fields": {}}, "uncertain"),
    ("pay", {"kind": "Faulted", "fault": "Broken", "message": "", "retry_after": None}, "uncertain"),
    ("pay", ConnectionError("lost"), "uncertain"),
    ("pay", ValueError("a mistake of the way out"), "uncertain"),
    ("pay", "no outcome at all", "uncertain"),
    ("pay", Failure("NotSent", {"reason": "full"}), FaultKind.UNAVAILABLE),
    ("book", value(7), "uncertain"),
    ("book", value("x" * 70_000), "uncertain"),
    ("book", Fault(FaultKind.TIMEOUT, "slow"), "uncertain"),
]


@pytest.mark.feature("A11.5", "A11.6", "A8.5", "K11", "K26", "K47")
@pytest.mark.parametrize(("entry", "act", "expected"), ENDINGS, ids=range(len(ENDINGS)))
def test_each_ending(entry: str, act: object, expected: object, tmp_path: Path) -> None:
    """Values and errors by the operation's own types, strictly; faults are the other side's word; whatever else may have taken effect."""
    found = carried(tmp_path, Wire(act), entry)
    match expected:
        case "uncertain":
            assert isinstance(found, Unsettled), found
            assert found.operation == f"Orders.{entry}", "it is the operation that is open, whatever carried it"
            assert found.step == f"{entry}/Orders.{entry}@0"
        case FaultKind():
            assert isinstance(found, Faulted), found
            assert found.kind is expected, found
        case (error, fields):
            assert isinstance(found, DeclaredError), found
            assert (found.error, found.plain) == (error, fields)
        case _:
            assert isinstance(found, Value), found
            assert found.plain == expected


@pytest.mark.feature("A11.5", "A11.4", "K34")
@pytest.mark.parametrize(
    "act", [ConnectionError("lost"), Failure("NotSent", {"reason": "full"}), {"kind": "Open", "reason": "?"}]
)
def test_idempotent_calls_are_tried_again_under_one_key(act: object, tmp_path: Path) -> None:
    wire = Wire(act, act, value({"id": "A-1", "total": 3}))
    found = carried(tmp_path, wire, "get")
    assert isinstance(found, Value), found
    assert len(wire.requests) == 3
    assert len({request["key"] for request in wire.requests}) == 1
    assert len(set(wire.keys)) == 1


@pytest.mark.feature("A11.5", "A8.5", "K26")
def test_a_mistake_after_it_was_sent_leaves_it_open(tmp_path: Path) -> None:
    """What the connector does wrong after it sent the call is no word of the other side."""
    found = carried(tmp_path, Wire(value({})), "pay", LINE.replace("broken_", "broken"))
    assert isinstance(found, Unsettled), found
    assert found.operation == "Orders.pay"


@pytest.mark.feature("A11.5", "A8.5", "K26", "K27")
@pytest.mark.parametrize("entry", ["get", "pay", "book"])
def test_a_run_goes_on_by_the_repeat_safety_of_the_operation(entry: str, tmp_path: Path) -> None:
    """Cut after every record: idempotent calls end with their value, and what must not be repeated is sent at most once."""
    good = {"get": value({"id": "A-1", "total": 3}), "pay": value({}), "book": value("booked")}[entry]
    outside = "async def wire(request):\n    raise AssertionError\n"
    opened, _ = open_files(tmp_path, {"pack.ael": PACK, "main.ael": MAIN, "deploy.ael": LINE, "outside.py": outside})
    assert opened is not None
    wire = Wire(good)
    host = open_host(opened, functions={"main.wire": wire})
    options = Options(tenant="acme", caller="tester", run="test")

    async def scenario() -> None:
        async with host:
            engine = host.engine
            engine._journal = MemoryJournal()
            whole = engine.start(entry, {"id": "A-1"}, options)
            assert isinstance(await whole.outcome(), Value)
            entries = whole.journal.entries()
            assert len(entries) > 6
            for kept in range(1, len(entries)):
                crashed = MemoryJournal()
                left = crashed.open(whole.journal.header)
                for record in entries[:kept]:
                    left.append(record)
                engine._journal = crashed
                begun = any(e.state is State.STARTED and e.target == "main.wire" for e in entries[:kept])
                before = len(wire.requests)
                found = await engine.start(entry, {"id": "A-1"}, options).outcome()
                sent = len(wire.requests) - before
                if entry == "get":
                    assert isinstance(found, Value), (kept, found)
                else:
                    assert isinstance(found, Value | Unsettled), (kept, found)
                    assert sent + begun <= 1, kept

    asyncio.run(scenario())
