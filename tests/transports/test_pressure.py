"""More calls than there is room for: what is let in is done, the rest is told so in a type, and nothing waits for itself."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ael.run.bindings import Options
from ael.run.outcome import Faulted, Value
from ael.types.fault import FaultKind
from tests.ports import free_port
from tests.transports.places import EVERYWHERE, Setting, placed, serving
from tests.transports.programs import SHOP
from tests.transports.test_context import until


@pytest.mark.feature("A11.4", "K45")
def test_what_finds_no_room_is_told_so(tmp_path: Path) -> None:
    """Two at once and two in line: eight calls that last give four answers and four typed refusals that say when to come again."""
    setting = Setting(server="listen = http(concurrent: 2, queue: 2)\n")

    async def scenario() -> None:
        async with placed("https", tmp_path, SHOP, setting) as program:
            runs = [
                program.host.engine.start("get", {"id": "wait:go"}, Options(caller="tester", tenant="acme")) for _ in range(8)
            ]
            ended = [asyncio.ensure_future(run.outcome()) for run in runs]
            await until(lambda: sum(future.done() for future in ended) == 4)
            for refused in (future.result() for future in ended if future.done()):
                assert isinstance(refused, Faulted)
                assert refused.kind is FaultKind.UNAVAILABLE
                assert "2 calls are in flight and 2 wait" in refused.message
                assert refused.details["retry_after"] == 1.0
            assert len(program.ledger) == 2
            (program.folder / "go").touch()
            outcomes = [await future for future in ended]
            assert sum(isinstance(outcome, Value) for outcome in outcomes) == 4
            assert len(program.ledger) == 4, "what was let in was done, and nothing else"

    asyncio.run(scenario())


@pytest.mark.feature("A11.4", "A9.18")
@pytest.mark.parametrize("place", ["process", "https", "grpc"])
def test_this_side_keeps_to_its_own_limit(place: str, tmp_path: Path) -> None:
    """No more calls are under way than the deployment says; the others wait in a bounded line."""

    async def scenario() -> None:
        async with placed(place, tmp_path, SHOP, Setting(options="concurrent: 2")) as program:
            runs = [
                program.host.engine.start("get", {"id": f"wait:go{n}"}, Options(caller="tester", tenant="acme"))
                for n in range(24)
            ]
            ended = [asyncio.ensure_future(run.outcome()) for run in runs]
            await until(lambda: sum(future.done() for future in ended) == 6 and len(program.ledger) == 2)
            for refused in (future.result() for future in ended if future.done()):
                assert isinstance(refused, Faulted)
                assert "2 calls are under way and the line is full" in refused.message
                assert refused.details["sent"] is False
            for n in range(24):
                (program.folder / f"go{n}").touch()
            outcomes = [await future for future in ended]
            assert sum(isinstance(outcome, Value) for outcome in outcomes) == 18

    asyncio.run(scenario())


@pytest.mark.feature("A11.4", "A11.5")
@pytest.mark.parametrize("place", EVERYWHERE)
def test_the_limit_of_a_provider_holds_everywhere(place: str, tmp_path: Path) -> None:
    main = SHOP.replace("  grants world.act\n{", "  grants world.act\n  limit concurrent 2\n{")

    async def scenario() -> None:
        async with placed(place, tmp_path, main, Setting(workers=1)) as program:
            runs = [
                program.host.engine.start("get", {"id": "wait:go"}, Options(caller="tester", tenant="acme")) for _ in range(3)
            ]
            ended = [asyncio.ensure_future(run.outcome()) for run in runs]
            await until(lambda: any(future.done() for future in ended) and len(program.ledger) == 2)
            [refused] = [future.result() for future in ended if future.done()]
            assert isinstance(refused, Faulted)
            assert refused.kind is FaultKind.UNAVAILABLE
            assert "`Orders.get` runs 2 calls already" in refused.message
            (program.folder / "go").touch()
            assert sum([isinstance(await future, Value) for future in ended]) == 2

    asyncio.run(scenario())


ROUND = """
permission a.b

pub service Ping {
  ping(n: Int) -> Int
    needs a.b
    repeat idempotent
    timeout 60s
}

pub service Pong {
  pong(n: Int) -> Int
    needs a.b
    repeat idempotent
    timeout 60s
}

provide Ping as pings
  grants a.b
{
  fn ping(n: Int) -> Int { if n <= 0 { 0 } else { Pong.pong(n) + 1 } }
}

provide Pong as pongs
  grants a.b
{
  fn pong(n: Int) -> Int { Ping.ping(n - 1) + 1 }
}

node main(n: Int) -> Int
  grants a.b
{
  Ping.ping(n)
}
"""


@pytest.mark.feature("A13.7", "A11.4")
@pytest.mark.parametrize("place", EVERYWHERE)
def test_services_call_each_other(place: str, tmp_path: Path) -> None:
    """In processes and over the network too, each with one place: what comes back into a server that is full is refused, never waits."""
    server = "listen = http(concurrent: 8)\n"

    async def scenario() -> None:
        setting = Setting(services=("Ping", "Pong"), workers=1, server=server)
        async with placed(place, tmp_path, ROUND, setting) as program:
            outcome = await program.run("main", {"n": 3})
            assert isinstance(outcome, Value), outcome
            assert outcome.plain == 6

    asyncio.run(scenario())


@pytest.mark.feature("A13.7")
def test_a_call_that_would_wait_for_itself_is_refused(tmp_path: Path) -> None:
    """A server with one place, whose provider calls the same server: a typed refusal at once, and no deadlock until a time limit."""

    port, main = free_port(), ROUND.replace("timeout 60s", "timeout 10s")
    at = f'host "127.0.0.1"\nservice NAME = https("http://127.0.0.1:{port}", token: secret("T"))\n'
    server = "runs = memory\nlisten = http(concurrent: 1, queue: 8)\n" + at.replace("NAME", "Pong")
    client = 'secret T = env("ORDERS_TOKEN")\n' + at.replace("NAME", "Ping")

    async def scenario() -> None:
        async with (
            serving(tmp_path / "server", main, server, port=port),
            placed("in process", tmp_path / "client", main, Setting(client=client)) as program,
        ):
            outcome = await program.run("main", {"n": 3})
            assert isinstance(outcome, Faulted), outcome
            assert outcome.kind is FaultKind.UNAVAILABLE
            assert "it would wait for itself" in outcome.message

    asyncio.run(scenario())
