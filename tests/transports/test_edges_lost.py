"""Items that get lost on an edge, receivers that are away for a while, runs that die: each is delivered, and acted on once (D9, K26)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ael.journal.entry import State
from ael.journal.memory import MemoryJournal
from ael.run.bindings import Options
from ael.run.delivery import DELIVERIES
from ael.run.outcome import Value
from tests.ports import free_port
from tests.transports.edged import AWAY, DESK, edged, lines
from tests.transports.places import PLACES, Placed, Setting, ledger, placed, serving, serving_grpc
from tests.transports.proxy import Proxy, between
from tests.transports.test_context import until
from tests.transports.test_grpc_lost import Wire
from tests.transports.test_grpc_lost import between as wired

ELSEWHERE = ("process", *AWAY)
EDGES = ("bare.start -> bare.look", "one.start -> one.look", "strikes.start -> strikes.hit")


class Heard:
    """The events of a run, by name."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __call__(self, event: object) -> None:
        self.names.append(type(event).__name__)


def plain(outcome: object) -> object:
    """The plain value of a run."""
    assert isinstance(outcome, Value), outcome
    return outcome.plain


@pytest.mark.feature("A11.3", "A11.4", "A8.5", "K26", "K34", "D9")
def test_a_lost_answer_is_asked_for_again_under_its_key(tmp_path: Path) -> None:
    """Once done is not done again: the receiver knows the key. What must not be done twice is `Uncertain`, which an edge may meet."""
    proxies: list[Proxy] = []

    async def scenario() -> None:
        async with edged("https", tmp_path, *EDGES, through=between(proxies), options="failures: 1_000") as program:
            [proxy] = proxies
            proxy.plan[:] = ["lose", "lose"]
            assert plain(await program.run("bare", {"id": "A"})) == {"id": "A", "more": ["a", "b"]}
            assert [span.path for span in program.of("retry")] == ["bare/look#1/there"] * 2
            keys = {line for request in proxy.requests for line in request.lower().split(b"\r\n") if b"idempotency-key" in line}
            assert (len(proxy.requests), len(keys)) == (3, 1)
            assert [call["what"] for call in program.ledger] == ["A"]
            proxy.plan[:] = ["lose"]
            assert plain(await program.run("strikes", {"id": "S"})) == "doubted S"
            assert [call["what"] for call in program.ledger] == ["A", "S"]
            proxy.plan[:] = ["lose"] * DELIVERIES.attempts
            before = len(proxy.requests)
            assert plain(await program.run("one", {"id": "B"})) == "failed B", "and some time it is over: an edge `on Fault`"
            assert len(proxy.requests) - before == DELIVERIES.attempts
            assert [call["what"] for call in program.ledger] == ["A", "S", "B"]

    asyncio.run(scenario())


@pytest.mark.feature("A11.3", "A11.4", "A8.5", "K26", "D9")
def test_a_connection_of_grpc_that_breaks_in_a_visit(tmp_path: Path) -> None:
    """The run there is given up with it; what may be repeated is done again under the same keys."""
    wires: list[Wire] = []

    async def scenario() -> None:
        async with edged("grpc", tmp_path, *EDGES, through=wired(wires), options="failures: 1_000") as program:
            for entry, what in (("bare", "wait:a"), ("strikes", "wait:b")):
                running = asyncio.ensure_future(program.run(entry, {"id": what}))
                await until(lambda what=what: any(call["what"] == what for call in program.ledger))
                wires[0].cut()
                (program.folder / what.removeprefix("wait:")).touch()
                found = plain(await running)
                assert found == ({"id": what, "more": ["a", "b"]} if entry == "bare" else f"doubted {what}")
                made = [call for call in program.ledger if call["what"] == what]
                assert len({call["key"] for call in made}) == 1
                assert len(made) <= (2 if entry == "bare" else 1)

    asyncio.run(scenario())


@pytest.mark.feature("A11.3", "A11.4", "A8.5", "K26", "D9")
def test_a_process_that_dies_in_a_visit(tmp_path: Path) -> None:
    """The next one gets the item under the same key; what must not be done twice is not sent again."""

    async def scenario() -> None:
        async with edged("process", tmp_path, *EDGES) as program:
            assert plain(await program.run("bare", {"id": "die:a"})) == {"id": "die:a", "more": ["a", "b"]}
            made = [call for call in program.ledger if call["what"] == "die:a"]
            assert len(made) == 2
            assert len({call["key"] for call in made}) == 1
            assert len({call["pid"] for call in made}) == 2
            assert plain(await program.run("strikes", {"id": "die:b"})) == "doubted die:b"
            assert [call["what"] for call in program.ledger].count("die:b") == 1

    asyncio.run(scenario())


@pytest.mark.feature("A11.3", "A11.4", "D9", "K34")
@pytest.mark.parametrize("place", PLACES)
def test_what_the_receiver_ends_with_is_its_word(place: str, tmp_path: Path) -> None:
    """A fault in the visit, though it may be gone next time: what happens inside is tried again there, by whoever may, or not at all."""

    async def scenario() -> None:
        async with edged(place, tmp_path, "one.start -> one.look") as program:
            assert plain(await program.run("one", {"id": "lose"})) == "failed lose"
            assert [call["what"] for call in program.ledger] == ["lose"]
            assert program.of("retry") == []

    asyncio.run(scenario())


@pytest.mark.feature("A11.3", "A11.4", "D9")
@pytest.mark.parametrize("place", AWAY)
def test_a_line_that_is_full_holds_its_senders_back(place: str, tmp_path: Path) -> None:
    """With one call at once and eight in line, the items of more runs wait for a place in the line; none is lost, and none is refused."""

    async def scenario() -> None:
        async with edged(place, tmp_path, "strikes.start -> strikes.hit", options="concurrent: 1") as program:
            heard = Heard()
            ids = [f"wait:{number}" for number in range(14)]
            runs = [asyncio.ensure_future(program.run("strikes", {"id": one}, on_event=heard)) for one in ids]
            try:
                await until(lambda: heard.names.count("Retried") > 5 * DELIVERIES.attempts or any(run.done() for run in runs))
                assert (len(program.ledger), [run.done() for run in runs]) == (1, [False] * len(runs))
            finally:
                for one in ids:
                    (program.folder / one.removeprefix("wait:")).touch()
                await asyncio.wait(runs)
            assert [plain(await run) for run in runs] == ids
            assert sorted(call["what"] for call in program.ledger) == sorted(ids)

    asyncio.run(scenario())


@asynccontextmanager
async def away(place: str, folder: Path) -> AsyncIterator[tuple[Placed, Wire, int]]:
    """The program with its edges at a port on which nobody listens yet, and what goes on to its server from there."""
    async with AsyncExitStack() as stack:
        behind = serving if place == "https" else serving_grpc
        _, server, _ = await stack.enter_async_context(behind(folder / "server", DESK, "runs = memory\n"))
        port = free_port()
        setting = Setting(client=lines(place, EDGES, port, "failures: 1_000"), services=())
        program = await stack.enter_async_context(placed("in process", folder, DESK, setting))
        program.folder = folder / "server"
        yield program, Wire(server), port


@pytest.mark.feature("A11.3", "A11.4", "A8.5", "K26", "D9")
@pytest.mark.parametrize("place", AWAY)
@pytest.mark.parametrize("entry", ["one", "strikes"])
def test_a_receiver_that_comes_back_gets_what_was_held_for_it(place: str, entry: str, tmp_path: Path) -> None:
    """What was never sent is sent later, also what must not be done twice; and it is done once."""

    async def scenario() -> None:
        async with away(place, tmp_path) as (program, wire, port):
            heard = Heard()
            running = asyncio.ensure_future(program.run(entry, {"id": "A"}, on_event=heard))
            await until(lambda: "Retried" in heard.names)
            assert program.ledger == []
            server = await asyncio.start_server(wire.handle, "127.0.0.1", port)
            try:
                assert plain(await running) == "A"
            finally:
                server.close()
                wire.cut()
                await server.wait_closed()
            assert [call["what"] for call in program.ledger] == ["A"]

    asyncio.run(scenario())


@pytest.mark.feature("A11.3", "A11.4", "D9")
@pytest.mark.parametrize("place", AWAY)
def test_a_receiver_that_stays_away_is_told(place: str, tmp_path: Path) -> None:
    """After some deliveries it is `Unavailable`, which an edge may meet: never silence, and never `Uncertain`, since nothing was sent."""

    async def scenario() -> None:
        async with away(place, tmp_path) as (program, _, _):
            for entry in ("one", "strikes"):
                heard = Heard()
                assert plain(await program.run(entry, {"id": "A"}, on_event=heard)) == "failed A"
                assert heard.names.count("Retried") == DELIVERIES.attempts - 1
            assert program.ledger == []

    asyncio.run(scenario())


CUT = (
    DESK
    + """
agent line(ids: List<String>) -> String fails Empty
  grants world.strike
{
  edge start -> plan(ids)
  edge plan -> each look(plan)
  edge look -> hit(look.map(fn(one) => one.id).join("+"))
  edge hit -> finish
  edge hit -> doubted("it") on Uncertain
  edge doubted -> finish
}
"""
)


@pytest.mark.feature("A11.3", "A11.4", "A8.5", "A8.8", "A12.6", "K26", "D9")
@pytest.mark.parametrize("place", ELSEWHERE)
def test_a_run_that_dies_anywhere_delivers_the_rest_under_the_same_keys(place: str, tmp_path: Path) -> None:
    """Its journal is cut after each record in turn: what was answered is not delivered again, what was sent is known by its key, and
    what must not be done twice, sent or not, is `Uncertain`. Nothing is done twice."""

    async def scenario() -> None:
        async with edged(place, tmp_path, "line.plan -> line.look", "line.look -> line.hit", main=CUT) as program:
            engine = program.host.engine
            options = Options(caller="tester", tenant="acme", run="line")
            engine._journal = MemoryJournal()
            first = engine.start("line", {"ids": ["A", "B"]}, options)
            assert plain(await first.outcome()) == "A+B"
            records = first.journal.entries()
            assert [one.path for one in records if one.state is State.STARTED] == [
                "line/look#1[0]/there",
                "line/look#1[1]/there",
                "line/hit#1/there",
            ]
            ends: dict[object, int] = {}
            for length in range(len(records) + 1):
                engine._journal = crashed = MemoryJournal()
                left = crashed.open(first.journal.header)
                for record in records[:length]:
                    left.append(record)
                found = plain(await engine.start("line", {"ids": ["A", "B"]}, options).outcome())
                ends[found] = ends.get(found, 0) + 1
                sent = [call["what"] for call in program.ledger]
                assert sorted(sent) == ["A", "A+B", "B"], f"after record {length}"
            assert ends == {"A+B": len(records), "doubted it": 1}, "between `started` and `answered` of what is `never`"

    asyncio.run(scenario())


@pytest.mark.feature("A11.3", "A11.4", "A8.6", "D9", "K26")
@pytest.mark.parametrize("place", AWAY)
def test_a_receiver_that_starts_anew_knows_what_it_was_sent(place: str, tmp_path: Path) -> None:
    """Over the store of its runs: the item that is delivered again, because its answer was lost, gets the answer of the one before."""
    behind: Any = serving if place == "https" else serving_grpc
    runs = f'runs = sqlite("{tmp_path / "server.db"}")\n'

    async def scenario() -> None:
        port = free_port()
        setting = Setting(client=lines(place, EDGES, port, "failures: 1_000"), services=())
        async with placed("in process", tmp_path, DESK, setting) as program:
            engine = program.host.engine
            options = Options(caller="tester", tenant="acme", run="again")
            async with behind(tmp_path / "server", DESK, runs, port=port):
                engine._journal = MemoryJournal()
                first = engine.start("bare", {"id": "A"}, options)
                found = plain(await first.outcome())
            engine._journal = crashed = MemoryJournal()
            left = crashed.open(first.journal.header)
            for record in first.journal.entries():
                if record.state is not State.ANSWERED:
                    left.append(record)
            async with behind(tmp_path / "server", DESK, runs, port=port):
                assert plain(await engine.start("bare", {"id": "A"}, options).outcome()) == found
            assert [call["what"] for call in ledger(tmp_path / "server")] == ["A"]

    asyncio.run(scenario())
