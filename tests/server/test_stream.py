"""`GET /runs/RUN/events`: what happens in a run, live, for whoever may know, from exactly where a listener was (A12.15, K35)."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from ael.durable.decide import decide, waiting
from ael.durable.execute import Execution
from ael.durable.worker import Worker
from ael.journal.database import DatabaseStore
from ael.journal.entry import Ending, Entry, Kind, State
from ael.project.serving import CallerBinding
from ael.run.bindings import Options
from ael.server.caller import Callers
from ael.server.desk import Desk, serve
from ael.server.listener import bind
from ael.server.stream import AT_ONCE, NotSeen, Streams, seen
from ael.types.value import Secret
from tests.durable.shop import Shop, created
from tests.journal.places import Place, place, server
from tests.run.fakes import call, calls, model, said
from tests.run.helpers import engine, node, unit

__all__ = ["place", "server"]

ANN, EVE = "ann-0123456789abcdef", "eve-0123456789abcdef"


class Stream:
    """A response to `GET /runs/RUN/events` under way, read as a client does."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.status = 0
        self.headers: dict[str, str] = {}
        self.comments = 0

    async def head(self) -> Stream:
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        self.status = int(lines[0].split()[1])
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        return self

    async def json(self) -> Any:
        return json.loads(await self._reader.readexactly(int(self.headers["content-length"])))

    async def events(self) -> AsyncIterator[tuple[str, str, dict[str, Any]]]:
        """The name, id ("" for none) and data of each event, to the end of the response."""
        text = ""
        while size := int((await self._reader.readline()).strip() or b"0", 16):
            text += (await self._reader.readexactly(size)).decode()
            await self._reader.readline()
            *blocks, text = text.split("\n\n")
            for block in blocks:
                fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
                self.comments += block.startswith(":")
                if "event" in fields:
                    yield fields["event"], fields.get("id", ""), json.loads(fields["data"])
        assert text == ""

    async def all(self) -> list[tuple[str, str, dict[str, Any]]]:
        return [event async for event in self.events()]

    def close(self) -> None:
        self._writer.transport.abort()


@dataclass
class Served:
    """A desk on a port of this machine."""

    port: int
    streams: Streams
    task: asyncio.Future[None]
    opened: list[Stream] = field(default_factory=list)

    async def end(self) -> None:
        """End the desk."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def get(self, path: str, token: str = ANN, seen: str | None = None, method: str = "GET", buffer: int = 0) -> Stream:
        sock = socket.socket()
        if buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", self.port))
        reader, writer = await asyncio.open_connection(sock=sock, limit=2**12 if buffer else 2**20)
        last = "" if seen is None else f"Last-Event-ID: {seen}\r\n"
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n{last}\r\n".encode())
        self.opened.append(Stream(reader, writer))
        return await self.opened[-1].head()


@asynccontextmanager
async def desk(
    store: DatabaseStore, tools: frozenset[str] = frozenset({"main.pay"}), most: int = 32, share: int = 8
) -> AsyncIterator[Served]:
    bindings = (CallerBinding("ann", "A"), CallerBinding("eve", "E", "other"))
    callers = Callers(bindings, {"A": Secret("A", ANN), "E": Secret("E", EVE)})
    streams = Streams(store, tools, most, share)
    bound = bind("127.0.0.1", 0, known=True)
    made = Desk(store, callers, {"boss": ("ann",)}, None, lambda: 1_000_000.0, lambda: None, streams)
    task = asyncio.ensure_future(serve(made, bound))
    served = Served(bound.getsockname()[1], streams, task)
    try:
        yield served
    finally:
        await served.end()
        for stream in served.opened:
            stream.close()
        await asyncio.sleep(0)


async def until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.02)


RECORDS = ["proposed", "started", "answered"]


@pytest.mark.feature("A12.15")
def test_a_run_is_followed_to_its_end_wherever_it_is_executed(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        shop = Shop(asks=True)
        execution = shop.execution(store)
        await created(execution, "r1", n=2)
        async with desk(store) as served, place.open() as other:
            stream = await served.get("/runs/r1/events")
            assert (stream.status, stream.headers["content-type"]) == (200, "text/event-stream")
            events = stream.events()
            assert (await anext(events))[::2] == ("state", {"run": "r1", "state": "ready", "waits": [], "ending": None})
            # A worker with a connection of its own, as another process has.
            worker = Worker({"program": shop.execution(other)}, 1)
            found: list[tuple[str, str, dict[str, Any]]] = []
            for _ in range(2):
                await worker.until_idle()
                async for event in events:
                    found.append(event)
                    if event[0] == "state" and event[2]["state"] == "parked":
                        break
                [asked] = await waiting(store)
                assert found[-1][2]["waits"] == [{"kind": "approval", "step": asked.path}]
                await decide(
                    store, asked, approved=True, by="ann", reason="the secret reason", arguments=None,
                    members={"boss": ("ann",)}, now=asked.asked,
                )  # fmt: skip
            await worker.until_idle()
            found += [event async for event in events]
            name, id, data = found[-1]
            records = [event for event in found if event[0] == "record"]
            assert (name, id) == ("end", f"{len(records) - 1}.end")
            assert (data["state"], data["ending"]) == ("ended", "value")
            assert [event[1] for event in records] == [str(at) for at in range(len(records))]
            assert [event[2]["seq"] for event in records] == list(range(len(records)))
            pays = [event[2] for event in records if event[2]["kind"] == "tool"]
            assert [one["state"] for one in pays] == 2 * RECORDS
            assert {one["target"] for one in pays} == {"main.pay"}
            entries = await store.entries("r1")
            assert [event[2]["step"] for event in records] == [entry.path for entry in entries]
            assert "secret" not in json.dumps(found), "no content"
            assert {key for event in records for key in event[2]} == {
                "run", "seq", "step", "kind", "target", "state", "ending", "at",
            }  # fmt: skip

    place.run(body)


@pytest.mark.feature("A12.15")
def test_a_listener_goes_on_exactly_after_the_record_that_it_saw_last(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        execution = Shop().execution(store)
        await created(execution, "r1", n=AT_ONCE)  # more records than go out in one piece
        await Worker({"program": execution}, 1).until_idle()
        count = len(await store.entries("r1"))
        assert count > 2 * AT_ONCE
        async with desk(store) as served:
            whole = await (await served.get("/runs/r1/events")).all()
            assert [id for _, id, _ in whole] == [*map(str, range(count)), f"{count - 1}.end"]
            for last in (0, 1, AT_ONCE - 1, AT_ONCE, count - 2, count - 1):
                rest = await (await served.get("/runs/r1/events", seen=str(last))).all()
                assert rest == whole[last + 1 :]
            done = await served.get("/runs/r1/events", seen=f"{count - 1}.end")
            assert done.status == 204, "a listener that saw the end need not come again"
            for wrong in ("x", "-7", "1.start", "99999999999999"):
                assert (await served.get("/runs/r1/events", seen=wrong)).status == 400

    place.run(body)


@pytest.mark.feature("A12.15", "K43")
def test_a_state_is_told_without_content_and_another_tenants_run_is_not_there(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        shop = Shop(asks=True)
        execution = shop.execution(store)
        await created(execution, "r1")
        await Worker({"program": execution}, 1).until_idle()
        async with desk(store) as served:
            told = await (await served.get("/runs/r1")).json()
            assert (told["state"], told["entry"], told["caller"]) == ("parked", "main.main", "ann")
            assert told["waits"] == [{"kind": "approval", "step": (await waiting(store))[0].path}]
            assert not {"input", "outcome", "pinned"} & told.keys()
            for path in ("/runs/r1", "/runs/r1/events"):
                assert (await served.get(path, EVE)).status == 404
                assert (await served.get(path, "nobody-0123456789abc")).status == 401
                assert (await served.get(path, method="POST")).status == 405
                assert (await served.get(path.replace("r1", "r2"))).status == 404

    place.run(body)


def test_what_a_deployment_says_of_its_bindings_is_no_content_of_a_stream(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        execution = Shop().execution(store)
        await created(execution, "r1")
        held = await store.hold("r1", "w", 60.0)
        assert held is not None
        await store.park("r1", held.row.epoch, "a worker with the bindings (setting main.x was `hidden`; y at z)", None, 0.0)
        async with desk(store) as served:
            told = await (await served.get("/runs/r1")).json()
            assert told["waits"] == [{"kind": "time", "step": None}]

    place.run(body)


@pytest.mark.feature("A12.15", "K41")
def test_a_name_that_a_model_made_up_is_content(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        made = engine(unit(nodes=[node("main")]), model(calls(call("the_card_is_4711", {}, "1")), said("done")))
        execution = Execution(made, store, "w1", 60.0)
        await execution.create("main", {}, Options(run="r1", caller="ann"))
        await Worker({"program": execution}, 1).until_idle()
        assert "the_card_is_4711" in str(await store.entries("r1"))
        async with desk(store) as served:
            found = await (await served.get("/runs/r1/events")).all()
            assert "4711" not in json.dumps(found)
            assert [e[2]["target"] for e in found if e[0] == "record" and e[2]["kind"] == "tool"] == [None, None]

    place.run(body)


@pytest.mark.feature("A12.15")
def test_there_are_so_many_listeners_and_each_caller_has_a_share(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        execution = Shop().execution(store)
        await created(execution, "r1")
        await created(execution, "e1", tenant="other")
        async with desk(store, most=3, share=2) as served:
            open = [await served.get("/runs/r1/events") for _ in range(2)]
            full = await served.get("/runs/r1/events")
            assert (full.status, full.headers["retry-after"]) == (503, "10")
            assert "ann has 2 streams open" in str(await full.json())
            other = await served.get("/runs/e1/events", EVE)
            assert other.status == 200
            assert (await served.get("/runs/e1/events", EVE)).status == 503
            assert (await served.get("/runs/r1")).status == 200, "deciding and looking go on"
            for stream in (*open, other):
                stream.close()
            await until(lambda: served.streams._open.total() == 0)
            again = await served.get("/runs/r1/events")
            assert again.status == 200

    place.run(body)


@pytest.mark.feature("A12.15", "K35")
def test_a_comment_says_that_a_quiet_stream_is_alive(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Streams, "quiet", 0.05)
    monkeypatch.setattr(Streams, "look", 0.02)

    async def body(store: DatabaseStore) -> None:
        execution = Shop().execution(store)
        await created(execution, "r1")
        async with desk(store) as served:
            stream = await served.get("/runs/r1/events")
            read = asyncio.ensure_future(stream.all())
            await until(lambda: stream.comments > 2)
            await Worker({"program": execution}, 1).until_idle()
            assert (await read)[-1][0] == "end"

    place.run(body)


@pytest.mark.feature("A12.15", "K35")
def test_a_listener_that_does_not_read_is_dropped(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Streams, "slow", 0.5)

    async def body(store: DatabaseStore) -> None:
        execution = Shop().execution(store)
        await created(execution, "r1")
        held = await store.hold("r1", "w", 60.0)
        assert held is not None
        # More than the buffers of both sides take.
        for at in range(8_000):
            held.journal.append(
                Entry(f"{at}/{'x' * 1_000}", State.ANSWERED, Kind.EFFECT, "now", "", "", None, Ending.VALUE, 0.0, 0.0)
            )
        await store.release("r1", held.row.epoch)
        async with desk(store) as served:
            lazy = await served.get("/runs/r1/events", buffer=4_096)
            await until(lambda: served.streams._open.total() == 0, 20.0)
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await lazy.all()

    place.run(body)


@pytest.mark.feature("A12.15")
def test_streams_end_with_their_desk(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        await created(Shop().execution(store), "r1")
        async with desk(store) as served:
            stream = await served.get("/runs/r1/events")
            await served.end()
            assert [name for name, _, _ in await stream.all()] == ["state"]

    place.run(body)


@pytest.mark.parametrize(("header", "found"), [(None, (-1, False)), ("", (-1, False)), ("7", (7, False)), ("-1.end", (-1, True))])
def test_what_a_listener_saw(header: str | None, found: tuple[int, bool]) -> None:
    assert seen(header) == found
    with pytest.raises(NotSeen):
        seen("-2")
