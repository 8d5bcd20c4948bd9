"""A served node that is told to end under four times its load: what it let in ends with its answer, what comes after is told so, nothing is
done that nobody hears of, and the process ends by itself."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from ael.run.outcome import Faulted
from ael.server.answer import answer
from ael.server.exposure import ExposedTool
from ael.types.fault import FaultKind
from tests.load.clients import PROTOCOLS, Load, client
from tests.load.served import LIMIT, Command, command
from tests.load.test_shedding import LISTEN, clients
from tests.transports import places
from tests.transports.programs import SHOP
from tests.transports.test_context import until
from tests.transports.test_protocol import post

RUNS = {"memory": LISTEN, "sqlite": LISTEN.replace("runs = memory", 'runs = sqlite("runs.db")')}
MANY = 1_000_000


def ending(load: Load) -> int:
    """Calls that were told that the server ends."""
    return sum("shutting down" in end.said for end in load.ends.values())


@pytest.mark.feature("A11.4", "A12.12", "K39")
@pytest.mark.parametrize(("protocols", "runs"), [*((one, "memory") for one in PROTOCOLS), ("all", "memory"), ("all", "sqlite")])
def test_the_end_under_load(protocols: str, runs: str, tmp_path: Path) -> None:
    """Calls that last hold the end up; the load goes on beside them and is refused, until the last answer is out."""
    words = PROTOCOLS if protocols == "all" else (protocols,)

    async def scenario(served: Command) -> None:
        async with clients(protocols, served) as load, Load([client(word, served) for word in words]) as held:
            lasting = [asyncio.ensure_future(one.score(-n)) for n, one in enumerate(held.clients, 1)]
            await until(lambda: len(served.did("begin")) == len(lasting))
            running = asyncio.ensure_future(load.run(MANY))
            await until(lambda: load.count("value") >= 200)
            served.process.send_signal(signal.SIGTERM)
            await until(lambda: ending(load) >= 200)
            assert not any(call.done() for call in lasting)
            (served.folder / "go").touch()
            assert [(await call).value for call in lasting] == [1 - 2 * n for n in range(1, len(lasting) + 1)]
            await until(lambda: load.count("unreached") + load.count("lost") >= len(load.clients))
            load.stopped = True
            await running
            assert await asyncio.to_thread(served.ends) == 0, served.said
            checked(load, served)
            assert served.most <= LIMIT

    with command(tmp_path, RUNS[runs]) as served:
        asyncio.run(scenario(served))


def checked(load: Load, served: Command) -> None:
    """What the clients were told is what the provider did."""
    began = sorted(n for n in served.did("begin") if n > 0)
    assert began == load.numbers("value"), "no answer was lost, and nothing was done that was refused"
    assert sorted(served.did("end")) == sorted(served.did("begin")), "nothing was cut off"
    assert all(load.ends[n].value == 2 * n + 1 for n in began)
    assert not load.numbers("fault") + load.numbers("uncertain")
    assert {end.after for end in load.ends.values() if end.kind == "refused"} == {1.0}
    assert "Traceback" not in served.said


@pytest.mark.feature("A11.4", "K39", "K26")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_calls_that_outlast_the_end(protocol: str, tmp_path: Path) -> None:
    """When the time to end is up, calls are cut off and every client hears how: what had begun is in doubt, what waited was not done."""

    async def scenario(served: Command) -> None:
        async with clients(protocol, served) as load:
            calls = [asyncio.ensure_future(one.score(-n)) for n, one in enumerate(load.clients, 1)]
            await until(lambda: len(served.did("begin")) == LIMIT)
            served.process.send_signal(signal.SIGTERM)
            ends = [await call for call in calls]
            assert await asyncio.to_thread(served.ends) == 0, served.said
            begun = sorted(-n for n in served.did("begin"))
            assert served.did("end") == []
            assert len(begun) == LIMIT
            for n, end in enumerate(ends, 1):
                assert end.kind == ("uncertain" if n in begun else "refused"), (n, end)

    with command(tmp_path, LISTEN.replace("drain: 60s", "drain: 1s")) as served:
        asyncio.run(scenario(served))


STRUCK = """
node struck(id: String) -> String fails Uncertain
  grants world.act
{
  try strike(id)
}
"""


@pytest.mark.feature("A11.4", "A8.5", "K26", "K39")
def test_what_is_cut_off_inside_a_node_is_in_doubt(tmp_path: Path) -> None:
    """The call of the node is no effect itself; what it had begun is named, so that nobody takes a refusal for it and asks again."""
    deploy = "runs = memory\nlisten = http(drain: 50ms)\nserve = [struck]\n"

    async def scenario() -> None:
        async with places.serving(tmp_path, SHOP + STRUCK, deploy) as (_, port, stop):
            calls = [
                asyncio.ensure_future(post(port, "/shop.Nodes/Struck", b'{"id": "wait:never"}', headers))
                for headers in ({"Idempotency-Key": "k"}, {})
            ]
            await until(lambda: len(places.ledger(tmp_path)) == len(calls))
            stop.set()
            for call in calls:
                ending = (await call).json["details"][0]["debug"]
                assert (ending["outcome"], ending["operation"], ending["step"]) == ("uncertain", "strike", "struck/strike@0")
                assert ending["key"] in [line["key"] for line in places.ledger(tmp_path)]

    asyncio.run(scenario())


@pytest.mark.feature("K26", "K39")
def test_a_tool_that_was_cut_off_says_what_is_in_doubt() -> None:
    """To a model the doubt comes first, and then why the call ended."""
    tool = ExposedTool("struck", "main.struck", True, {"name": "struck"})
    lost = {"key": "k", "operation": "strike", "step": "struck/strike@0"}
    ended = answer(tool, "r1", Faulted(FaultKind.CANCELLED, "the server is shutting down", {"uncertain": [lost]}))
    told = {"outcome": "uncertain", **lost, "why": "Cancelled: the server is shutting down"}
    assert ended["_meta"] == {"ael/outcome": told, "ael/run": "r1"}
    assert "UNCERTAIN: strike may or may not have taken effect (key k" in str(ended["content"])
    plain = answer(tool, "r1", Faulted(FaultKind.CANCELLED, "the server is shutting down", {}))
    assert "UNCERTAIN" not in str(plain["content"])
