"""The same edges in the process, between processes and over the network: values, order, ends, limits, rights, keys and traces (D9)."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from ael.run.bindings import Options
from ael.run.events import EdgeTaken
from ael.run.outcome import DeclaredError, Faulted, Value
from ael.run.permission import Layer
from ael.types.fault import FaultKind
from tests.transports.edged import AWAY, edged
from tests.transports.places import EVERYWHERE
from tests.transports.test_context import PARENT, until


def value(outcome: object) -> object:
    """The plain value of a run."""
    assert isinstance(outcome, Value), outcome
    return outcome.plain


@pytest.mark.feature("A11.1", "A11.2", "A11.3", "D9")
@pytest.mark.parametrize("place", EVERYWHERE)
def test_values_order_and_ends_are_the_same_everywhere(place: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        edges = ("one.start -> one.look", "each_of.plan -> each_of.look", "both.left -> both.join", "bare.start -> bare.look")
        async with edged(place, tmp_path, *edges, server="serve = [look, join]\n") as program:
            assert value(await program.run("one", {"id": "A"})) == "A"
            assert value(await program.run("one", {"id": ""})) == "empty ", "an edge `on` a declared error"
            assert value(await program.run("one", {"id": "break:it"})) == "failed break:it", "an edge `on Fault`"
            ids = [f"{number}" for number in range(9)]
            found = value(await program.run("each_of", {"ids": ids}))
            assert found == [{"id": one, "more": []} for one in ids], "results in the order of the items"
            assert value(await program.run("both", {"ids": ["L", "R"]})) == "L&R", "an edge that waits for both"
            assert value(await program.run("bare", {"id": "ä\n"})) == {"id": "ä\n", "more": ["a", "b"]}
            empty = await program.run("bare", {"id": ""})
            assert isinstance(empty, DeclaredError)
            assert (empty.error, empty.plain) == ("main.Empty", {"id": "none of 2"})
            own = {call["pid"] for call in program.ledger if call["what"] not in ("L", "R")}
            assert (own == {os.getpid()}) == (place != "process"), "the visits are where the deployment says"

    asyncio.run(scenario())


@pytest.mark.feature("A11.1", "A11.3", "D9", "B15")
@pytest.mark.parametrize("place", EVERYWHERE)
def test_an_agent_is_visited_along_an_edge(place: str, tmp_path: Path) -> None:
    """A subagent elsewhere, in rounds: each visit is one of its own, and the edges inside of it are where they are placed there."""

    async def scenario() -> None:
        edges = ("rounds.start -> rounds.one", "rounds.one -> rounds.one")
        async with edged(place, tmp_path, *edges) as program:
            assert value(await program.run("rounds", {"id": "A"})) == "A+++"
            made = program.ledger
            assert [call["what"] for call in made] == ["A", "A+", "A++", "A+++"]
            assert len({call["key"] for call in made}) == 4
            assert [span.path for span in program.of("agent")] == [*(f"rounds/one#{n}" for n in (1, 2, 3, 4)), "rounds"]

    asyncio.run(scenario())


@pytest.mark.feature("A11.3", "D9", "K46")
@pytest.mark.parametrize("place", EVERYWHERE)
def test_limits_of_time_are_kept_and_told_the_same(place: str, tmp_path: Path) -> None:
    """The node's own time, and that of the agent around it: the same fault, in the same words."""

    async def scenario() -> None:
        edges = ("briefly.start -> briefly.brief", "hurried.start -> hurried.look")
        async with edged(place, tmp_path, *edges) as program:
            # What starts and connects takes its time before anything is limited.
            for entry, holder in (("briefly", "the node `brief`"), ("hurried", "the agent `hurried`")):
                warm = await program.run(entry, {"id": "A"})
                while not isinstance(warm, Value):
                    warm = await program.run(entry, {"id": "A"})
                late = await program.run(entry, {"id": "wait:never"})
                assert isinstance(late, Faulted)
                assert late.kind is FaultKind.DEADLINE_EXCEEDED
                assert late.message == f"the time of {holder} is up"
                assert late.details["spender"] == holder

    asyncio.run(scenario())


@pytest.mark.feature("A11.3", "A4.2", "A4.14", "D9")
@pytest.mark.parametrize("place", EVERYWHERE)
def test_grants_only_shrink_along_an_edge(place: str, tmp_path: Path) -> None:
    """What is refused here is refused there, in the same words, and nothing was done."""

    async def scenario() -> None:
        async with edged(place, tmp_path, "bare.start -> bare.look") as program:
            nobody = Layer("the caller `tester`", frozenset({"world.strike"}))
            denied = await program.run("bare", {"id": "A"}, caller_layer=nobody)
            assert isinstance(denied, Faulted)
            assert denied.kind is FaultKind.DENIED
            assert "`main.act` needs the permission `world.act`" in denied.message
            assert program.ledger == []

    asyncio.run(scenario())


@pytest.mark.feature("A11.3", "A16.1", "A16.2", "A8.7", "D9", "K40", "K43")
@pytest.mark.parametrize("place", EVERYWHERE)
def test_keys_traces_tenants_and_events_go_along(place: str, tmp_path: Path) -> None:
    """One key for each item, the same when the run asks again; one trace; the tenant; and the events and spans of this side."""
    taken: list[tuple[str, str]] = []

    def seen(event: object) -> None:
        if isinstance(event, EdgeTaken):
            taken.append((event.path, event.edge))

    async def scenario() -> None:
        async with edged(place, tmp_path, "each_of.plan -> each_of.look") as program:
            ids = ["A", "B", "C"]
            for _ in range(2):
                await program.run("each_of", {"ids": ids}, run="one", trace_parent=PARENT, on_event=seen)
            await program.run("each_of", {"ids": ids}, run="two", tenant="acme")
            made = program.ledger
            keys = {call["key"] for call in made}
            assert len(keys) == 6, "one for each item of each run"
            known = place != "in process"
            assert len(made) == (6 if known else 9), "who knows a key does not do it again"
            assert all(call["trace"].startswith(PARENT[:36]) for call in made[:3])
            assert {call["tenant"] for call in made} == {"acme"}
            assert {call["caller"] for call in made} == {"client" if place in AWAY else "tester"}
            assert taken[:3] == [
                ("each_of/plan#1", "start -> plan"),
                ("each_of/look#1", "plan -> each look"),
                ("each_of/finish", "look -> finish"),
            ]
            first = [span for span in program.of("node") if span.name == "look"][:3]
            assert [span.path for span in sorted(first, key=lambda span: span.sequence)] == [
                f"each_of/look#1[{at}]" for at in range(3)
            ]
            assert {span.trace for span in first} == {PARENT[3:35]}
            calls = program.of("operation")
            assert len(calls) == (9 if known else 0)
            assert {span.attributes["placement"] for span in calls} == ({place} if known else set())
            assert {span.parent for span in calls[:3]} <= {span.sequence for span in first}, "one tree"

    asyncio.run(scenario())


@pytest.mark.feature("A11.3", "D9", "K39")
@pytest.mark.parametrize("place", EVERYWHERE)
def test_a_cancel_reaches_every_visit_under_way(place: str, tmp_path: Path) -> None:
    """What was to be done outside has heard of it; for `never` it is left open what happened."""

    async def scenario() -> None:
        async with edged(place, tmp_path, "each_of.plan -> each_of.look", "each_hit.plan -> each_hit.hit") as program:
            marks = program.folder / "cancelled"
            for entry in ("each_of", "each_hit"):
                ids = [f"wait:{entry}{number}" for number in range(3)]
                run = program.host.engine.start(entry, {"ids": ids}, Options(caller="tester", tenant="acme"))
                await until(lambda ids=ids: {call["what"] for call in program.ledger} >= set(ids))
                run.cancel()
                outcome = await run.outcome()
                assert isinstance(outcome, Faulted)
                assert outcome.kind is FaultKind.CANCELLED
                assert bool(outcome.details.get("uncertain")) == (entry == "each_hit")
                await until(lambda ids=ids: marks.exists() and set(marks.read_text().split("\n")) >= set(ids))

    asyncio.run(scenario())


@pytest.mark.feature("A11.3", "A11.4", "A13.6", "D9")
@pytest.mark.parametrize("place", EVERYWHERE)
def test_a_full_channel_holds_its_sender_back(place: str, tmp_path: Path) -> None:
    """Four of its items are under way at once, in their order; the next goes when one has ended."""

    async def scenario() -> None:
        async with edged(place, tmp_path, "each_of.plan -> each_of.look") as program:
            ids = [f"wait:{number}" for number in range(7)]
            run = asyncio.ensure_future(program.run("each_of", {"ids": ids}))
            for ended in range(4):
                await until(lambda ended=ended: len(program.ledger) >= 4 + ended)
                came = [call["what"] for call in program.ledger]
                assert sorted(came) == ids[: 4 + ended], "no more than four that have not ended"
                (program.folder / f"{ended}").touch()
            for number in range(4, 7):
                (program.folder / f"{number}").touch()
            assert value(await run) == [{"id": one, "more": []} for one in ids]

    asyncio.run(scenario())


@pytest.mark.feature("A11.4", "A11.3", "D9", "K26")
@pytest.mark.parametrize("place", AWAY)
@pytest.mark.parametrize("entry", ["each_of", "each_hit"])
def test_a_receiver_that_has_no_room_holds_its_sender_back(place: str, entry: str, tmp_path: Path) -> None:
    """A server with one place and no line refuses before anything begins: the items wait here, those that may not be repeated too."""
    target = entry.replace("each_of", "look").replace("each_hit", "hit")

    async def scenario() -> None:
        edge, full = f"{entry}.plan -> {entry}.{target}", "listen = http(concurrent: 1, queue: 0)\n"
        async with edged(place, tmp_path, edge, server=full) as program:
            ids = ["wait:a", "wait:b", "wait:c"]
            retried: list[str] = []

            def seen(event: object) -> None:
                retried.append(type(event).__name__)

            run = asyncio.ensure_future(program.run(entry, {"ids": ids}, on_event=seen))
            await until(lambda: retried.count("Retried") > 8 or run.done())
            assert not run.done(), run.result()
            assert len(program.ledger) == 1, "more often than a delivery is tried that fails"
            for one in ids:
                (program.folder / one.removeprefix("wait:")).touch()
            assert value(await run) == (ids if entry == "each_hit" else [{"id": one, "more": []} for one in ids])
            assert sorted(call["what"] for call in program.ledger) == sorted(ids), "each once"

    asyncio.run(scenario())


@pytest.mark.feature("A11.3", "A11.2")
def test_the_place_of_an_edge_goes_before_that_of_its_node(tmp_path: Path) -> None:
    """In the process though the node is elsewhere, and elsewhere though it is in the process; an edge without a word follows its node."""

    async def pids(deploy: str) -> dict[str, bool]:
        async with edged("in process", tmp_path, client=deploy) as program:
            here = {}
            for entry in ("one", "bare"):
                (program.folder / "ledger").unlink(missing_ok=True)
                assert isinstance(await program.run(entry, {"id": "A"}), Value)
                here[entry] = program.ledger[0]["pid"] == os.getpid()
            return here

    node = "node look = process(workers: 1)\n"
    away = "edge one.start -> one.look = process(workers: 1)\n"
    assert asyncio.run(pids(node)) == {"one": False, "bare": False}
    assert asyncio.run(pids(node + "edge one.start -> one.look = in process\n")) == {"one": True, "bare": False}
    assert asyncio.run(pids(away)) == {"one": False, "bare": True}
    nowhere = 'host "127.0.0.1"\nnode look = https("http://127.0.0.1:9")\n'
    assert asyncio.run(pids(away + nowhere + "edge bare.start -> bare.look = in process\n")) == {"one": False, "bare": True}
