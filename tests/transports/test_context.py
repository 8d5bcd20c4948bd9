"""What goes with a call wherever the service runs: its key, the trace, the tenant, the time that is left, and that it was given up."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ael.run.bindings import Options
from ael.run.outcome import Faulted, Unsettled, Value
from ael.types.fault import FaultKind
from tests.transports.places import EVERYWHERE, Setting, placed
from tests.transports.programs import SHOP
from tests.transports.proxy import Proxy, between

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def until(holds: Callable[[], bool]) -> None:
    """Wait for something that happens in another process."""
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.02)


@pytest.mark.feature("A16.1", "A11.1", "A8.7", "K40", "K43")
@pytest.mark.parametrize("place", EVERYWHERE)
def test_key_trace_and_tenant_arrive(place: str, tmp_path: Path) -> None:
    """The key inside is the same when the same run asks again; the trace is the caller's; the tenant its own, or that of its token."""

    async def scenario() -> None:
        async with placed(place, tmp_path, SHOP) as program:
            ended = [
                await program.run("get", {"id": "A"}, run="one", trace_parent=PARENT),
                await program.run("get", {"id": "A"}, run="one"),
                await program.run("get", {"id": "A"}, run="two"),
            ]
            assert all(isinstance(outcome, Value) for outcome in ended)
            made = program.ledger
            assert len({call["key"] for call in made}) == 2, "one for each run, whoever asks again"
            assert len(made) == (3 if place == "in process" else 2), "a server that knows the key does not do it again"
            assert made[0]["trace"].startswith("00-0af7651916cd43dd8448eb211c80319c-")
            assert {call["tenant"] for call in made} == {"acme"}
            assert {call["caller"] for call in made} == {"client" if place in ("https", "grpc") else "tester"}
            [span] = [span for span in program.of("operation") if span.trace == PARENT[3:35]]
            assert span.name == "main.Orders.get"
            assert span.outcome == "value"
            assert span.attributes.get("placement") == {"in process": None}.get(place, place)

    asyncio.run(scenario())


@pytest.mark.feature("A16.1", "A11.1", "K39")
@pytest.mark.parametrize("place", EVERYWHERE)
def test_a_cancel_reaches_what_runs_inside(place: str, tmp_path: Path) -> None:
    """For `never` it leaves open what happened; what was to be done outside has heard of it."""

    async def scenario() -> None:
        async with placed(place, tmp_path, SHOP) as program:
            marks = program.folder / "cancelled"
            for entry in ("get", "pay"):
                what = f"wait:{entry}"
                run = program.host.engine.start(entry, {"id": what}, Options(caller="tester", tenant="acme"))
                await until(lambda what=what: any(call["what"] == what for call in program.ledger))
                run.cancel()
                outcome = await run.outcome()
                assert isinstance(outcome, Faulted)
                assert outcome.kind is FaultKind.CANCELLED
                assert bool(outcome.details.get("uncertain")) == (entry == "pay")
                await until(lambda what=what: marks.exists() and what in marks.read_text())

    asyncio.run(scenario())


@pytest.mark.feature("A16.1", "A11.1", "K46", "A11.4")
def test_the_time_that_is_left_shrinks_on_the_way(tmp_path: Path) -> None:
    """What the other side is given is less than the caller had, and never more than its own limit."""
    proxies: list[Proxy] = []

    async def scenario() -> None:
        async with placed("https", tmp_path, SHOP, Setting(through=between(proxies))) as program:
            await program.run("get", {"id": "A"})
            await program.run("within", {"id": "A"})
            given = [
                int(line.split(b":")[1])
                for request in proxies[0].requests
                for line in request.split(b"\r\n")
                if line.startswith(b"connect-timeout-ms")
            ]
            assert 0 < given[0] <= 60_000
            assert 0 < given[1] <= 1_000

    asyncio.run(scenario())


@pytest.mark.feature("K34", "A11.4")
def test_retries_are_counted_over_both_sides(tmp_path: Path) -> None:
    """What is inside may try again only as often as its caller has left."""
    again = "/// Do it, and try again.\ntool again(what: String) -> String\n  needs world.act\n  repeat idempotent\n"
    again += "  retry(attempts: 5, base: 10ms)\n{\n  act(what)\n}\n\npub service"
    main = SHOP.replace("pub service", again).replace(
        "fn retried(id: String) -> String { act(id) }", "fn retried(id: String) -> String { again(id) }"
    )

    async def scenario(place: str) -> int:
        async with placed(place, tmp_path / place, main) as program:
            outcome = await program.run("retried", {"id": "lose"})
            assert isinstance(outcome, Faulted)
            return len(program.ledger)

    assert asyncio.run(scenario("in process")) == asyncio.run(scenario("https")) == 3


@pytest.mark.feature("A11.1", "K40")
@pytest.mark.parametrize("place", EVERYWHERE)
def test_one_host_in_two_event_loops(place: str, tmp_path: Path) -> None:
    """Connections and processes belong to the loop that made them; the next one has its own."""

    async def once() -> None:
        async with placed(place, tmp_path, SHOP) as program:
            assert isinstance(await program.run("get", {"id": "A"}), Value)

    asyncio.run(once())
    asyncio.run(once())


def test_an_uncertain_ending_is_the_callers_own(tmp_path: Path) -> None:
    """Its key is the key of the call, and its place that of the call in the caller's run."""

    async def scenario() -> None:
        async with placed("https", tmp_path, SHOP) as program:
            outcome = await program.run("pay_briefly", {"id": "wait:never"})
            assert isinstance(outcome, Unsettled)
            [span] = program.of("operation")
            assert outcome.key == span.attributes["key"]

    asyncio.run(scenario())


@pytest.mark.feature("A11.1", "A11.2", "A8.6")
def test_what_is_served_runs_where_the_servers_own_deployment_says(tmp_path: Path) -> None:
    """Over HTTPS to a server, and from there to its processes: one key, one trace, one effect."""

    async def scenario() -> None:
        async with placed("https", tmp_path, SHOP, Setting(server="service Orders = process(workers: 2)\n")) as program:
            outcome = await program.run("get", {"id": "A"}, trace_parent=PARENT)
            assert isinstance(outcome, Value)
            [call] = program.ledger
            assert call["pid"] != os.getpid()
            assert call["trace"].startswith(PARENT[:36])
            missing = await program.run("caught", {"id": "none"})
            assert isinstance(missing, Value)
            assert missing.plain == "not found: none A-1,ä\n"

    asyncio.run(scenario())
