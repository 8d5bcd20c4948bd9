"""What happens inside of a call reaches whoever follows it, wherever it runs; it decides nothing, holds nothing up, and tells no secret."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ael.run import events as e
from ael.run.outcome import DeclaredError, Faulted, Unsettled, Value
from ael.server import progress
from ael.server.connection import ABORT
from ael.server.dispatch import Reply as Ended
from ael.server.progress import Stream, Watch
from tests.server.support import Reply, head
from tests.transports.desk import PARTS, SCRIPT, SERVE, desk, served
from tests.transports.places import PLACES, TOKEN, ledger, serving
from tests.transports.test_context import until
from tests.transports.test_protocol import OWN, code, post

WORKER, ONCE, HIT = "/shop.Nodes/Worker", "/shop.Nodes/Once", "/shop.Nodes/Hit"
EVENTS = {"Accept": "text/event-stream"}
TELLING = SCRIPT.replace("at it", f"at {TOKEN}")
"""A model that says a secret, which comes in several pieces."""


def shape(event: e.Event) -> tuple[object, ...]:
    """An event without what is another each time, and without what the operator keeps."""
    match event:
        case e.RunStarted(entry=entry):
            return "run", entry
        case e.RunFinished(ending=ending):
            return "end", ending
        case e.Text(path=path, text=text):
            return "text", path, text
        case e.Logged():
            return ()
    left = {"run", "seconds", "usage", "cost", "detail", "reason", "by"}
    return (type(event).__name__, *(getattr(event, name) for name in event.__match_args__ if name not in left))


@pytest.mark.feature("A16.5", "B25", "A11.1", "D9")
@pytest.mark.parametrize("place", PLACES)
def test_progress_is_the_same_everywhere(place: str, tmp_path: Path) -> None:
    """Nodes, edges, turns, text, tools with their durations: at the same paths, in the same order, of the same run."""

    async def told(where: str, folder: Path) -> tuple[list[e.Event], list[tuple[object, ...]]]:
        async with desk(where, folder) as program:
            events: list[e.Event] = []
            outcome = await program.run("front", {"id": "A"}, on_event=events.append)
            assert isinstance(outcome, Value)
            assert outcome.plain == "DONE"
            assert {event.run for event in events} == {events[0].run}
            return events, [found for event in events if (found := shape(event))]

    here = asyncio.run(told("in process", tmp_path / "here"))[1]
    events, there = asyncio.run(told(place, tmp_path / "there"))
    assert there == here
    assert ("EdgeTaken", "front/worker@0/shout#1", "worker", "think -> shout") in there
    [finished] = [event for event in events if isinstance(event, e.ToolFinished)]
    assert (finished.tool, finished.ending) == ("act", "value")
    assert finished.seconds > 0
    [first, last] = [event for event in events if isinstance(event, e.TurnFinished)]
    inside = place in ("in process", "process")
    assert (first.usage.total > 0, last.cost is not None) == (inside, inside), "tokens and money are its operator's"
    assert any(isinstance(event, e.Logged) for event in events) == inside


@pytest.mark.feature("A16.5", "B25", "A4.2", "D9")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["edge", "kept"])
def test_progress_along_edges_and_of_kept_runs(kind: str, place: str, tmp_path: Path) -> None:
    """An edge that leads elsewhere, and a server that keeps its runs, tell the same."""
    parts = ("edge worker.start -> worker.think", "edge worker.think -> worker.shout") if kind == "edge" else PARTS
    runs = "runs = memory\n" if kind == "edge" else 'runs = sqlite("runs.db")\n'

    async def told(where: str, folder: Path) -> list[tuple[object, ...]]:
        async with desk(where, folder, parts=parts, runs=runs) as program:
            events: list[e.Event] = []
            outcome = await program.run("front", {"id": "A"}, on_event=events.append)
            assert isinstance(outcome, Value), outcome
            return [found for event in events if (found := shape(event))]

    here = asyncio.run(told("in process", tmp_path / "here"))
    assert asyncio.run(told(place, tmp_path / "there")) == here


@pytest.mark.feature("A16.5", "K40")
@pytest.mark.parametrize("place", PLACES[1:])
def test_outcomes_are_those_of_calls_that_nobody_follows(place: str, tmp_path: Path) -> None:
    """Values, errors, faults, uncertain ones: followed or not, the same, and made once."""

    async def scenario() -> None:
        async with desk(place, tmp_path) as program:
            for entry, given in (("only", "A"), ("only", ""), ("only", "break:it"), ("strikes", "lose")):
                plain = await program.run(entry, {"id": given})
                followed = await program.run(entry, {"id": given}, on_event=lambda event: None)
                assert type(plain) is type(followed)
                match plain, followed:
                    case (Value(plain=one), Value(plain=two)) | (DeclaredError(plain=one), DeclaredError(plain=two)):
                        assert one == two
                    case Faulted(kind=one), Faulted(kind=two):
                        assert one is two
                    case Unsettled(operation=one), Unsettled(operation=two):
                        assert one == two == "strike"
            made = [call["what"] for call in program.ledger]
            assert made == ["A", "A", "break:it", "break:it", "lose", "lose"]

    asyncio.run(scenario())


# --- over HTTP, by hand ---------------------------------------------------------------------------------------------------


def events_of(reply: Reply) -> list[tuple[str, Any]]:
    """The events of a stream by name, in order."""
    found = []
    for block in reply.body.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "data" in fields:
            found.append((fields["event"], json.loads(fields["data"])))
    return found


@pytest.mark.feature("A16.5", "A16.8", "K41", "A11.1")
def test_a_stream_by_hand(tmp_path: Path) -> None:
    """Typed events, then the end with the result; what is the operator's is not in it, and no secret."""

    async def scenario() -> None:
        async with served(tmp_path, script=TELLING) as (_, port, _):
            reply = await post(port, WORKER, b'{"id": "A"}', EVENTS)
            assert reply.status == 200
            assert reply.headers["content-type"] == "text/event-stream"
            assert reply.headers["cache-control"] == "no-store"
            events = events_of(reply)
            assert [name for name, _ in events if name != "text"] == [
                "run_started", "node_started", "edge_taken", "node_started", "turn_started", "turn_finished", "tool_started",
                "tool_finished", "turn_started", "turn_finished", "node_finished", "edge_taken", "node_started",
                "node_finished", "edge_taken", "node_finished", "end",
            ]  # fmt: skip
            end = events[-1][1]
            assert "tool:act" in end["taint"]
            assert end["result"] == {"result": "DONE"}
            assert end["run"] == events[0][1]["run"]
            said = [data for name, data in events if name == "text"]
            assert {one["path"] for one in said} == {"worker/think#1/turn1", "worker/think#1/turn2"}
            assert "".join(one["text"] for one in said) == "I look at ***, and then I know. done"
            whole = reply.body.decode()
            for kept in (TOKEN, TOKEN[:6], "operator alone", "usage", "cost", "detail", "acme", "client"):
                assert kept not in whole, kept
            plain = await post(port, ONCE, b'{"id": "A"}', {"Accept": "text/event-stream;q=0, application/json"})
            assert plain.json == {"result": "A"}

    asyncio.run(scenario())


@pytest.mark.feature("A16.5", "A11.6", "K42")
def test_what_never_began_is_refused_as_ever(tmp_path: Path) -> None:
    """With a status, and no stream; what began and failed is told at the end of one, with the error of the protocol."""

    async def scenario() -> None:
        async with served(tmp_path) as (_, port, _):
            for body, headers, status in (
                (b'{"id": 1}', EVENTS, 400),
                (b"{", EVENTS, 400),
                (b'{"id": "A"}', {**EVENTS, "Authorization": "Bearer nobody-knows-this-token"}, 401),
                (b'{"id": "A"}', {**EVENTS, "Host": "attacker.example"}, 403),
            ):
                reply = await post(port, ONCE, body, headers)
                assert (reply.status, reply.headers["content-type"]) == (status, "application/json")
                assert code(reply)
            assert not ledger(tmp_path)
            empty = events_of(await post(port, ONCE, b'{"id": ""}', EVENTS))
            name, end = empty[-1]
            assert (name, end["status"], end["error"]["code"]) == ("end", 400, "failed_precondition")
            assert end["error"]["details"][0]["debug"]["error"] == "main.Empty"
            key = {**EVENTS, "Idempotency-Key": "one"}
            first = events_of(await post(port, ONCE, b'{"id": "B"}', key))
            again = events_of(await post(port, ONCE, b'{"id": "B"}', key))
            assert len(first) > 1
            assert again == [first[-1]], "the recorded answer, and nothing that happened again"
            assert [call["what"] for call in ledger(tmp_path)] == ["B"]

    asyncio.run(scenario())


@asynccontextmanager
async def opened(port: int, path: str, body: bytes, headers: Mapping[str, str]) -> AsyncIterator[asyncio.StreamReader]:
    """A request whose answer is read by whoever asked."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(head("POST", path, body, {"Host": f"127.0.0.1:{port}", **OWN, **headers}) + body)
        await writer.drain()
        yield reader
    finally:
        writer.close()


@pytest.mark.feature("A16.5", "K39", "A16.1")
def test_a_client_that_goes_away_ends_its_call(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with served(tmp_path) as (alone, port, _):
            async with opened(port, ONCE, b'{"id": "wait:never"}', EVENTS) as reader:
                await reader.readuntil(b"event: node_started")
                await until(lambda: len(ledger(tmp_path)) == 1)
            await until(lambda: (tmp_path / "cancelled").exists())
            await until(lambda: alone.served.dispatch.in_flight == 0)

    asyncio.run(scenario())


ASKING = """\
permission world.act

role boss

/// Act outside. Call it once.
tool act(what: String) -> String
  needs world.act
  repeat idempotent
  approval required by boss
  extern "outside:act"

pub node ask(what: String) -> String
  grants world.act
{
  act(what)
}
"""


@pytest.mark.feature("A16.5", "A4.5", "K46")
def test_a_caller_hears_that_a_person_is_asked(tmp_path: Path) -> None:
    """Who decides is told by role, not by name. A kept run waits parked, and the key of the call tells later what became of it."""

    async def scenario() -> None:
        deploy = 'runs = sqlite("runs.db")\nrole boss = ["client"]\n'
        async with serving(tmp_path, ASKING, deploy) as (alone, port, _):
            key = {**EVENTS, "Idempotency-Key": "k"}
            events = events_of(await post(port, "/shop.Nodes/Ask", b'{"what": "A"}', key))
            asked = dict(events)["approval_asked"]
            assert asked == {"path": "ask/act@0/approval", "tool": "main.act", "role": "boss"}
            name, end = events[-1]
            assert (name, end["status"], end["error"]["code"]) == ("end", 503, "unavailable")
            assert "waits for a person" in end["error"]["message"]
            assert end["run"] == events[0][1]["run"]
            told = await post(port, f"/runs/{end['run']}", b"", method="GET")
            assert told.json["state"] == "parked"
            assert not ledger(tmp_path)
            assert alone.served.dispatch.in_flight == 0

    asyncio.run(scenario())


@pytest.mark.feature("A16.5", "K35")
def test_a_stream_says_that_it_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress.Stream, "quiet", 0.05)

    async def scenario() -> None:
        async with served(tmp_path) as (_, port, _), opened(port, ONCE, b'{"id": "wait:go"}', EVENTS) as reader:
            await reader.readuntil(b"event: node_started")
            for _ in range(3):
                await reader.readuntil(b":\n\n")
            (tmp_path / "go").touch()
            assert b'"result":{"result":"wait:go"}' in await reader.readuntil(b"event: end\n") + await reader.readuntil(b"}}\n\n")

    asyncio.run(scenario())


@pytest.mark.feature("A16.5", "K35", "K40")
def test_a_reader_that_does_not_read_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call ends while nothing is taken; then the connection is cut."""
    monkeypatch.setattr(progress.Stream, "slow", 0.05)

    async def scenario() -> None:
        cut = asyncio.Event()
        never = asyncio.Event()

        async def send(message: Mapping[str, object]) -> None:
            await never.wait()

        async def receive() -> dict[str, object]:
            await never.wait()
            return {}

        for put in (True, False):
            cut.clear()
            stream = Stream({ABORT: cut.set}, send, Watch(lambda value: value, inside=False))
            call: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()
            if put:
                asyncio.get_running_loop().call_soon(stream.watch.put, e.NodeStarted("r", "a", "a"))
            asyncio.get_running_loop().call_later(0.05, call.set_result, Ended({"outcome": "value", "value": 1}, "r"))
            reply = await stream.call(call, receive)
            assert (reply is None) == put
            assert call.done()
            if reply is not None:
                await stream.end(b"{}")
            assert cut.is_set()

    asyncio.run(scenario())


def test_a_watch_keeps_a_bounded_number() -> None:
    """Content is left out first; it is told how much was missed; what comes after the end is nobody's."""

    async def scenario() -> None:
        watch = Watch(lambda value: value, inside=False)
        for number in range(2 * watch.most):
            watch.put(e.Text("r", "a", str(number)))
        for _ in range(2 * watch.most):
            watch.put(e.NodeStarted("r", "a", "a"))
        found = watch.take()
        assert [one.name for one in found].count("text") == watch.most // 2
        assert [one.name for one in found].count("node_started") == watch.most // 2
        assert (found[-1].name, json.loads(found[-1].data)) == ("missed", {"events": 3 * watch.most})
        watch = Watch(lambda value: value, inside=False)
        watch._room = 100
        for text in ("x" * 50, "x" * 50, "x"):
            watch.put(e.Text("r", "", text))
        assert [one.name for one in watch.take()] == ["text", "missed"]
        watch.put(e.Text("r", "", "y" * (64 * 1024)))
        watch.end()
        watch.put(e.NodeStarted("r", "a", "a"))
        assert [batch async for batch in watch.batches(10)] == []

    asyncio.run(scenario())


@pytest.mark.feature("A11.6", "K42")
def test_a_page_of_a_known_origin_may_follow(tmp_path: Path) -> None:
    """Its browser asks first; for another origin the answer is no."""
    listen = 'listen = http(origins: ["https://app.example.com"])\n'

    async def scenario() -> None:
        async with served(tmp_path, listen + SERVE) as (_, port, _):
            page = {"Origin": "https://app.example.com", "Authorization": "", "Content-Type": ""}
            for path in (ONCE, "/contract"):
                asked = await post(port, path, b"", page, method="OPTIONS")
                assert asked.status == 204
                assert asked.headers["access-control-allow-origin"] == "https://app.example.com"
                assert "Authorization" in asked.headers["access-control-allow-headers"]
                other = await post(port, path, b"", {**page, "Origin": "https://attacker.example"}, method="OPTIONS")
                assert other.status == 403
            told = await post(port, ONCE, b'{"id": "A"}', {**EVENTS, "Origin": "https://app.example.com"})
            assert told.headers["access-control-allow-origin"] == "https://app.example.com"
            assert events_of(told)[-1][0] == "end"

    asyncio.run(scenario())
