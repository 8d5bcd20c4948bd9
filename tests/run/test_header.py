"""The key of an effect goes out with every request that is made for it, and the trace with it (feature A8.7)."""

from __future__ import annotations

import asyncio
import http.client
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from ael.journal.memory import MemoryJournal
from ael.run.bindings import Options
from ael.run.outcome import Outcome, Value
from ael.types.signature import Repeat
from ael.types.spec import RetrySpec
from ael.types.type import IntType
from tests.net.loopback import CLOSE, Answer, Asked, Loopback, whole
from tests.run.helpers import code, engine, parameter, run, tool, unit, value_of


@pytest.mark.feature("A8.7")
def test_the_key_of_an_effect_is_a_header_of_the_requests_that_are_made_for_it() -> None:
    """A function that makes requests over HTTP: the same key for each attempt of one effect, another for the next effect."""
    replies = iter([Answer([CLOSE], raw=True), whole(b"ok"), whole(b"ok")])
    told: list[Mapping[str, str]] = []

    async def serve() -> tuple[Outcome, list[Asked]]:
        async with Loopback(lambda _: next(replies)) as server:

            def pay(n: int, *, call: Any) -> str:
                told.append(call.headers)
                connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
                try:
                    connection.request("POST", f"/pay/{n}", b"{}", call.headers)
                    return connection.getresponse().read().decode()
                finally:
                    connection.close()

            async def main(k: Any) -> object:
                return f"{await k.act(0, 'main.pay', (1,))} {await k.act(1, 'main.pay', (2,))}"

            paying = tool("pay", None, parameter("n", IntType()), repeat=Repeat.IDEMPOTENT, retry=RetrySpec(3, "fixed", 1, 1))
            made = engine(unit(tools=[paying], nodes=[code("main", main)]), externs={"main.pay": pay}, random=lambda: 0.0)
            parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
            outcome = await made.start("main", None, Options(caller="c", run="r", trace_parent=parent)).outcome()
            return outcome, server.asked

    outcome, asked = asyncio.run(serve())
    assert value_of(outcome) == "ok ok"
    assert [one.path for one in asked] == ["/pay/1", "/pay/1", "/pay/2"]
    first, second, third = [one.headers["idempotency-key"] for one in asked]
    assert first == second
    assert third != first
    assert {one.headers["traceparent"].split("-")[1] for one in asked} == {"4bf92f3577b34da6a3ce929d0e0e4736"}
    assert [headers["Idempotency-Key"] for headers in told] == [first, second, third]


@pytest.mark.feature("A8.7")
def test_the_key_is_the_same_when_a_run_goes_on_after_an_interruption() -> None:
    """What was started and not answered is sent again with the header it had."""
    keys: list[str] = []
    journal = MemoryJournal()

    def pay(*, call: Any) -> str:
        keys.append(call.headers["Idempotency-Key"])
        if len(keys) == 1:
            threading.Event().wait(0.2)
        return "paid"

    async def main(k: Any) -> object:
        return await k.act(0, "main.pay", ())

    made = unit(tools=[tool("pay", None, repeat=Repeat.IDEMPOTENT)], nodes=[code("main", main)])
    options = Options(caller="c", run="r1")

    async def interrupted() -> None:
        one = engine(made, externs={"main.pay": pay}, journal=journal).start("main", None, options)
        while not keys:
            await asyncio.sleep(0.005)
        entries = one.journal.entries()
        fresh = MemoryJournal()
        copy = fresh.open(one.journal.header)
        for entry in entries:
            copy.append(entry)
        journals.append(fresh)
        await one.outcome()

    journals: list[MemoryJournal] = []
    asyncio.run(interrupted())
    assert isinstance(run(engine(made, externs={"main.pay": pay}, journal=journals[0]), "main", options=options), Value)
    assert len(keys) == 2
    assert keys[0] == keys[1]
