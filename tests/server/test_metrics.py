"""What a server counted, as a scraper reads it: right, bounded in labels, without anything of callers, and for the operator alone."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ael.diagnostics.diagnostic import Bag
from ael.host import HostError
from ael.project.program import open_program
from ael.run import events as e
from ael.run.outcome import Value
from ael.run.ports import Usage
from ael.server import listener
from ael.server.metrics import BUCKETS, Metrics
from ael.server.served import Alone, prepare
from ael.server.stop import Stop
from tests.server.support import Reply, opened
from tests.server.support import serving as serving_mcp
from tests.transports.desk import LINES, MAIN, SERVE, desk, written
from tests.transports.places import TOKEN, opened_in, serving, serving_grpc
from tests.transports.test_context import until
from tests.transports.test_protocol import post

SCRAPER = "scraper-token-0123456789"
METRICS = 'secret S = env("SCRAPER_TOKEN")\nlisten = http(metrics: secret("S"), concurrent: 1, queue: 1)\n'
AUTH = {"Authorization": f"Bearer {SCRAPER}"}
Found = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def samples(text: str) -> Found:
    """What `prometheus_client` reads: each sample by its name and labels."""
    found: Found = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation
        assert family.type in ("counter", "gauge", "histogram")
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found
            found[key] = sample.value
    return found


def of(found: Found, name: str, **labels: str) -> float:
    """One sample; zero where it is not there."""
    return found.get((name, tuple(sorted(labels.items()))), 0.0)


async def read(port: int, headers: Mapping[str, str] = AUTH) -> Found:
    """The metrics of a server."""
    reply = await post(port, "/metrics", b"", headers, method="GET")
    assert reply.status == 200, reply
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    return samples(reply.body.decode())


@asynccontextmanager
async def scraped(folder: Path, more: str = METRICS, *, grpc: bool = False) -> AsyncIterator[tuple[Alone, int]]:
    """The desk of the transports' tests, served, with a token for its metrics."""
    os.environ["SCRAPER_TOKEN"] = SCRAPER
    behind = serving_grpc if grpc else serving
    async with behind(written(folder), MAIN, LINES + SERVE + more) as (alone, port, _):
        yield alone, port


@pytest.mark.feature("A11.4", "A16.5")
def test_calls_runs_models_and_tools(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with scraped(tmp_path) as (_, port):
            await post(port, "/shop.Nodes/Worker", b'{"id": "A"}')
            for body in (b'{"id": "A"}', b'{"id": "B"}', b'{"id": ""}', b'{"id": "break:x"}', b'{"id": 1}'):
                await post(port, "/shop.Nodes/Once", body)
            await post(port, "/shop.Nodes/Hit", b'{"id": "lose"}', {"Idempotency-Key": "k"})
            await post(port, "/shop.Nodes/Once", b"{}", {"Authorization": "Bearer nobody-knows-this-token"})
            await post(port, "/shop.Nodes/made-up", b"{}")
            found = await read(port)
        once = {"method": "/shop.Nodes/Once", "protocol": "connect"}
        assert of(found, "ael_calls_total", **once, outcome="value", code="") == 2
        assert of(found, "ael_calls_total", **once, outcome="error", code="Empty") == 1
        assert of(found, "ael_calls_total", **once, outcome="fault", code="Crashed") == 1
        assert of(found, "ael_calls_total", **once, outcome="fault", code="BadArguments") == 1
        hit = {"method": "/shop.Nodes/Hit", "protocol": "connect"}
        assert of(found, "ael_calls_total", **hit, outcome="uncertain", code="") == 1
        assert of(found, "ael_call_seconds_count", **once) == 5
        assert of(found, "ael_call_seconds_bucket", **once, le="+Inf") == 5
        assert of(found, "ael_requests_refused_total", protocol="connect", status="401") == 1
        assert of(found, "ael_requests_refused_total", protocol="connect", status="404") == 1
        assert of(found, "ael_model_turns_total", model="main.fast") == 2
        assert of(found, "ael_model_tokens_total", model="main.fast", kind="output") > 0
        assert of(found, "ael_tool_calls_total", tool="act", outcome="value") == 1
        assert of(found, "ael_runs_total", outcome="value") == 3
        assert of(found, "ael_runs_total", outcome="error") == 1
        assert of(found, "ael_runs_active") == 0
        assert of(found, "ael_calls_limit") == 1
        named = {value for _, labels in found for _, value in labels}
        assert not {"acme", "client", "A", "B"} & named, "nothing of callers"
        assert not any("made-up" in value or TOKEN in value for value in named)

    asyncio.run(scenario())


@pytest.mark.feature("A11.4", "K45")
def test_what_is_full_is_seen(tmp_path: Path) -> None:
    """In flight, waiting, shed; a client that leaves is counted as such."""

    async def scenario() -> None:
        async with scraped(tmp_path) as (alone, port):
            body = b'{"id": "wait:go"}'
            calls = [asyncio.ensure_future(post(port, "/shop.Nodes/Once", body)) for _ in range(2)]
            await until(lambda: alone.served.dispatch._gate.waiting == 1)
            assert (await post(port, "/shop.Nodes/Once", body)).status == 503
            found = await read(port)
            assert of(found, "ael_calls_in_flight") == 1
            assert of(found, "ael_calls_waiting") == 1
            assert of(found, "ael_calls_shed_total") == 1
            assert of(found, "ael_runs_active") == 1
            calls[1].cancel()
            await asyncio.gather(calls[1], return_exceptions=True)
            await until(lambda: alone.served.dispatch._gate.waiting == 0)
            (tmp_path / "go").touch()
            assert (await calls[0]).status == 200
            found = await read(port)
            once = {"method": "/shop.Nodes/Once", "protocol": "connect"}
            assert of(found, "ael_calls_total", **once, outcome="left", code="") == 1
            assert of(found, "ael_calls_total", **once, outcome="fault", code="Unavailable") == 1

    asyncio.run(scenario())


@pytest.mark.feature("A11.6", "K43", "K42")
def test_metrics_are_the_operators(tmp_path: Path) -> None:
    """With a token for them, for that token alone; with callers and no such token, for nobody; the host is looked at as everywhere."""

    async def status(port: int, headers: Mapping[str, str], method: str = "GET") -> int:
        return (await post(port, "/metrics", b"", headers, method=method)).status

    async def scenario() -> None:
        async with scraped(tmp_path / "a") as (_, port):
            assert await status(port, AUTH) == 200
            assert await status(port, {"Authorization": ""}) == 401
            assert await status(port, {}) == 401, "the token of a caller"
            assert await status(port, {**AUTH, "Host": "attacker.example"}) == 403
            assert await status(port, {**AUTH, "Origin": "https://attacker.example"}) == 403
            assert await status(port, AUTH, "POST") == 405
        async with scraped(tmp_path / "b", "") as (_, port):
            assert await status(port, {}) == 404
            assert await status(port, AUTH) == 404

    asyncio.run(scenario())


def ready(folder: Path, more: str) -> Alone:
    """The desk, ready to be served."""
    sys.modules.pop("outside", None)
    return prepare(opened_in(written(folder), MAIN, LINES + SERVE + more))


@asynccontextmanager
async def open_to_all(folder: Path) -> AsyncIterator[tuple[Alone, int]]:
    """A server on this machine where nobody has to say who they are."""
    alone = ready(folder, "")
    bound = listener.bind("127.0.0.1", 0, known=False)
    stop = Stop()
    async with alone.served.host:
        task = asyncio.ensure_future(alone.run(bound, "127.0.0.1", stop))
        try:
            yield alone, bound.getsockname()[1]
        finally:
            stop.set()
            await task


def test_nothing_is_counted_before_anybody_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a token for it, the first look begins the count; until then no run is followed."""
    monkeypatch.syspath_prepend(tmp_path)

    async def scenario() -> None:
        async with open_to_all(tmp_path) as (alone, port):
            nobody = {"Authorization": ""}
            await post(port, "/shop.Nodes/Once", b'{"id": "A"}', nobody)
            assert alone.served.host.engine.world.observer is None
            assert of(await read(port, nobody), "ael_runs_total", outcome="value") == 0
            await post(port, "/shop.Nodes/Once", b'{"id": "A"}', nobody)
            assert of(await read(port, nobody), "ael_runs_total", outcome="value") == 1

    asyncio.run(scenario())


@pytest.mark.feature("A10.3")
def test_every_protocol_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """gRPC and MCP beside Connect, each under its name."""
    monkeypatch.setenv("SCRAPER_TOKEN", SCRAPER)

    async def over_mcp() -> None:
        program = (
            "error Odd { n: Int }\npub node half(n: Int) -> Int fails Odd {\n  if n % 2 == 1 { fail Odd(n: n) }\n  n div 2\n}\n"
        )
        async with serving_mcp(opened(tmp_path / "mcp", program)) as served:
            assert (await served.request("GET", "/metrics")).status == 200
            for n in (4, 3):
                await served.call("half", {"n": n})
            found = samples((await served.request("GET", "/metrics")).body.decode())
            own = {"method": "half", "protocol": "mcp"}
            assert of(found, "ael_calls_total", **own, outcome="value", code="") == 1
            assert of(found, "ael_calls_total", **own, outcome="error", code="Odd") == 1

    async def over_grpc() -> None:
        from grpc import aio

        from ael.types.proto_wire import framed

        async with scraped(tmp_path / "grpc", grpc=True) as (alone, port), aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            call = channel.unary_unary("/shop.Nodes/Once", request_serializer=None, response_deserializer=None)
            bearer = (("authorization", f"Bearer {TOKEN}"),)
            await call(framed(1, b"A"), metadata=bearer)
            for request, metadata in ((framed(1, b""), bearer), (b"\xff", bearer), (b"", ())):
                with pytest.raises(aio.AioRpcError):
                    await call(request, metadata=metadata)
            assert alone.served.metrics is not None
            found = samples(alone.served.metrics.text())
            own = {"method": "/shop.Nodes/Once", "protocol": "grpc"}
            assert of(found, "ael_calls_total", **own, outcome="value", code="") == 1
            assert of(found, "ael_calls_total", **own, outcome="error", code="Empty") == 1
            assert of(found, "ael_calls_total", **own, outcome="fault", code="BadArguments") == 1
            assert of(found, "ael_requests_refused_total", protocol="grpc", status="401") == 1

    asyncio.run(over_mcp())
    asyncio.run(over_grpc())


@pytest.mark.feature("K43", "K44")
def test_names_from_outside_are_no_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool that a model made up, a model of another machine: all are `other`. What is odd in a name is escaped."""
    monkeypatch.setenv("SCRAPER_TOKEN", SCRAPER)
    monkeypatch.setenv("ORDERS_TOKEN", TOKEN)
    alone = ready(tmp_path, METRICS)
    metrics = alone.served.metrics
    assert metrics is not None
    for n in range(50):
        metrics.put(e.ToolFinished("r", "p", f"made-up-{n}", "refused", 0.0))
        metrics.put(e.TurnFinished("r", "p", "n", f"foreign-{n}", "done", Usage(output=1), None, 0.1))
    metrics.call("connect", 'a"b\\c\nd', {"outcome": "value"}, BUCKETS[3])
    metrics.call("connect", "late", {"outcome": "value"}, 10 * BUCKETS[-1])
    found = samples(metrics.text(float("inf")))
    assert of(found, "ael_tool_calls_total", tool="other", outcome="refused") == 50
    assert of(found, "ael_model_tokens_total", model="other", kind="output") == 50
    odd = {"method": 'a"b\\c\nd', "protocol": "connect"}
    assert of(found, "ael_call_seconds_bucket", **odd, le=str(BUCKETS[3])) == 1
    assert of(found, "ael_call_seconds_bucket", **odd, le=str(BUCKETS[2])) == 0
    late = {"method": "late", "protocol": "connect"}
    assert of(found, "ael_call_seconds_bucket", **late, le=str(BUCKETS[-1])) == 0
    assert of(found, "ael_call_seconds_bucket", **late, le="+Inf") == 1
    assert of(found, "ael_store_seconds") == float("inf")
    assert len(metrics.text()) < 10_000


@pytest.mark.feature("K45")
def test_breakers_and_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operation elsewhere that failed often is open; the store says how long it takes to answer."""
    monkeypatch.setenv("SCRAPER_TOKEN", SCRAPER)

    async def scenario() -> None:
        async with desk("https", tmp_path / "b", through=9) as program:
            metrics = Metrics(program.host, gate(), on=True)
            for _ in range(5):
                await program.run("only", {"id": "A"})
            found = samples(metrics.text())
            assert of(found, "ael_breaker_state", of="main.once", operation="once") == 2
        async with scraped(tmp_path / "c", METRICS) as (_, port):
            assert ("ael_store_seconds", ()) not in await read(port)
        kept = LINES.replace("runs = memory", 'runs = sqlite("runs.db")')
        folder = written(tmp_path / "d")
        async with serving(folder, MAIN, kept + SERVE + METRICS) as (_, port, _):
            assert 0 <= of(await read(port), "ael_store_seconds") < 60

    asyncio.run(scenario())


def gate() -> Any:
    """A gate that nobody uses."""
    from ael.server.gate import Gate

    return Gate(1, 1)


@pytest.mark.parametrize(
    ("line", "code"),
    [('listen = http(metrics: "word")', "AEL0815"), ('listen = http(metrics: secret("NONE"))', "AEL0831")],
)
def test_the_token_is_a_secret(line: str, code: str, tmp_path: Path) -> None:
    written(tmp_path)
    opened_in(tmp_path, MAIN, LINES)
    (tmp_path / "deploy.ael").write_text(LINES + line + "\n")
    bag = Bag()
    open_program(tmp_path / "main.ael", bag)
    assert code in [one.code for one in bag.sorted()]


def test_a_token_that_can_be_tried_out_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRAPER_TOKEN", "short")
    with pytest.raises(HostError) as raised:
        ready(tmp_path, METRICS)
    assert raised.value.code == "AEL0875"


@pytest.mark.feature("A12.15", "K43")
def test_a_caller_follows_its_own_kept_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they are, and what happens in them, on after what was seen last; another caller's are not there."""
    monkeypatch.setenv("OTHER_TOKEN", "other-token-0123456789")
    deploy = LINES.replace("runs = memory", 'runs = sqlite("runs.db")') + SERVE
    deploy += 'secret O = env("OTHER_TOKEN")\ncaller other = bearer(secret("O"), tenant: "acme")\n'
    folder = written(tmp_path)

    async def scenario() -> None:
        async with serving(folder, MAIN, deploy) as (_, port, _):

            async def get(path: str, headers: Mapping[str, str] | None = None) -> Reply:
                return await post(port, path, b"", headers, method="GET")

            done = await post(port, "/shop.Nodes/Once", b'{"id": "A"}', {"Idempotency-Key": "k"})
            run = done.headers["ael-run"]
            told = await get(f"/runs/{run}")
            assert (told.json["state"], told.json["ending"]) == ("ended", "value")
            stream = (await get(f"/runs/{run}/events")).body.decode()
            ids = [line[4:] for line in stream.splitlines() if line.startswith("id: ")]
            assert stream.count("event: record") >= 3
            assert "event: end" in stream
            assert '"A"' not in stream, "no content"
            rest = (await get(f"/runs/{run}/events", {"Last-Event-ID": ids[1]})).body.decode()
            assert [line[4:] for line in rest.splitlines() if line.startswith("id: ")] == ids[2:]
            assert (await get(f"/runs/{run}/events", {"Last-Event-ID": ids[-1]})).status == 204
            assert (await get(f"/runs/{run}/events", {"Last-Event-ID": "nothing"})).status == 400
            other = {"Authorization": "Bearer other-token-0123456789"}
            for path in (f"/runs/{run}", f"/runs/{run}/events", "/runs/none", "/runs", "/runs/a/b"):
                assert (await get(path, other)).status == 404
                assert (await get(path, {"Authorization": ""})).status == 401

    asyncio.run(scenario())


@pytest.mark.feature("A11.4", "A13.6")
def test_what_runs_elsewhere_is_counted_by_whose_it_is(tmp_path: Path) -> None:
    """A process of this program is this program's own; another server counts for itself, and is not followed for a count alone."""
    model = (("model", "main.fast"),)

    async def counted(place: str, **named: Any) -> Found:
        async with desk(place, tmp_path / f"{place}{len(named)}") as program:
            metrics = Metrics(program.host, gate(), on=True)
            assert isinstance(await program.run("front", {"id": "A"}, **named), Value)
            return samples(metrics.text())

    assert of(asyncio.run(counted("process")), "ael_model_turns_total", model="main.fast") == 2
    here = asyncio.run(counted("https"))
    assert ("ael_model_turns_total", model) not in here
    followed = asyncio.run(counted("https", on_event=lambda event: None))
    assert ("ael_model_turns_total", model) not in followed, "somebody follows, and it is still another's"
    assert of(here, "ael_runs_total", outcome="value") == 1
