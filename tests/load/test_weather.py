"""Ten thousand calls in bad weather: requests and answers that are reset, delayed, doubled and late, over each protocol, to a server in a
process of its own. What was done there is compared with what each caller was told."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from time import monotonic

import pytest

from ael.run.outcome import Faulted, Outcome, Unsettled, Value
from tests.load.served import Command, command
from tests.load.weather import Grpc, Http, Weather, http, rpc
from tests.ports import free_port
from tests.transports.places import OUTSIDE, Placed, Setting, ledger, placed
from tests.transports.programs import SHOP
from tests.transports.test_context import until
from tests.transports.test_grpc_lost import Wire, between

CALLS = 5_000
"""For each of the two protocols."""
KEPT = 300
"""The same for a server that keeps its runs: each call has its commits."""
WORKERS = 48
MOST_MEMORY = 64 * 1024 * 1024
"""Bytes that a server may have grown by, answers of its keys and all."""
SEED = 20261130
ENTRIES = ("retried", "pay", "retried", "book", "get")
LISTEN = "listen = http(concurrent: 256, queue: 1_024)\nserve = [Orders]\n"
RUNS = {"memory": "runs = memory\n", "sqlite": 'runs = sqlite("runs.db")\n'}


def client(protocol: str, port: int) -> Setting:
    """A program that calls its service there, with a breaker that never opens: what is asked here is what becomes of each call."""
    place = f'https("http://127.0.0.1:{port}"' if protocol == "connect" else f'grpc("127.0.0.1:{port}"'
    lines = f'host "127.0.0.1"\nsecret T = env("ORDERS_TOKEN")\nservice Orders = {place}, token: secret("T"), failures: 1_000)\n'
    return Setting(client=lines)


async def calls(program: Placed, many: int, wires: list[Wire]) -> dict[str, tuple[str, Outcome]]:
    """Make so many calls, some at once: id -> entry and outcome. A connection of gRPC is reset now and then, with all that is on it."""
    ends: dict[str, tuple[str, Outcome]] = {}
    numbers = iter(range(many))

    async def work() -> None:
        for n in numbers:
            entry, id = ENTRIES[n % len(ENTRIES)], f"c{n}"
            ends[id] = entry, await program.run(entry, {"id": id}, run=f"run-{SEED}-{n}")
            if wires and n % 500 == 499:
                wires[0].cut()

    await asyncio.gather(*(work() for _ in range(WORKERS)))
    return ends


def account(folder: Path, ends: dict[str, tuple[str, Outcome]], weather: Weather) -> None:
    """Hold what was done against what was told."""
    done: dict[str, list[str]] = defaultdict(list)
    for line in ledger(folder):
        done[line["what"]].append(line["key"])
    assert done.keys() <= ends.keys()
    interrupted = weather.counts["middle"] + weather.counts["half"]
    again = 0
    for id, (entry, outcome) in ends.items():
        keys, told = done[id], (id, entry, outcome, done[id])
        assert isinstance(outcome, Value | Unsettled | Faulted), told
        assert len(set(keys)) <= 1, told
        if entry in ("pay", "book"):
            assert len(keys) <= 1, f"what must not be done twice was: {told}"
        again += max(0, len(keys) - 1)
        if isinstance(outcome, Value):
            assert keys, f"an answer without its effect: {told}"
        elif isinstance(outcome, Unsettled):
            assert entry in ("pay", "book"), told
            assert outcome.operation == f"Orders.{entry}", told
        elif entry in ("pay", "book"):
            assert not keys, f"a plain fault says that nothing was done: {told}"
    assert again <= interrupted, "only a call that was cut off in the middle is done again, under its key"


@pytest.mark.timeout(400)
@pytest.mark.feature("A11.4", "A8.5", "A8.6", "K26", "K34", "K39")
@pytest.mark.parametrize(("protocol", "runs"), [("connect", "memory"), ("grpc", "memory"), ("connect", "sqlite")])
def test_calls_in_bad_weather(protocol: str, runs: str, tmp_path: Path) -> None:
    """An effect that may be repeated happened once for its key, every other at most once, and each is told as done, as not done, or as in
    doubt, and is what it is told to be; requests that come again when all is over change nothing."""
    weather, wires = Weather(SEED), list[Wire]()
    many = CALLS if runs == "memory" else KEPT

    async def scenario(served: Command) -> None:
        async with AsyncExitStack() as stack:
            proxy: Http | Grpc
            if protocol == "connect":
                proxy, port = await stack.enter_async_context(http(weather, served.port))
            else:
                proxy, inner = await stack.enter_async_context(rpc(weather, served.rpc))
                port = await stack.enter_async_context(between(wires)(inner))
            program = await stack.enter_async_context(placed("in process", tmp_path / "client", SHOP, client(protocol, port)))
            ends = await calls(program, many, wires)
            before = len(ledger(served.folder))
            account(served.folder, ends, weather)
            await proxy.repeat_late()
            assert weather.late
            # With a connection of gRPC goes what was on its way on it: of that, the late request may be the first that arrives.
            late = [line["what"] for line in ledger(served.folder)[before:]]
            assert not late or wires, late
            assert not [id for id in late if isinstance(ends[id][1], Value)], "what came late was done already"
            account(served.folder, ends, weather)
            values = sum(isinstance(outcome, Value) for _, outcome in ends.values())
            print(f"seed {SEED}: {values} values of {many}; {dict(weather.counts)}")
            assert len(ends) == many
            assert many // 2 < values < many
            assert set(weather.words) == set(weather.counts)

    with command(tmp_path / "server", LISTEN + RUNS[runs], SHOP, OUTSIDE) as served:
        files, memory = served.files, served.memory
        asyncio.run(scenario(served))
        # The database has its own.
        asyncio.run(until(lambda: served.files <= files + 4))
        assert served.memory - memory < MOST_MEMORY
        assert "Traceback" not in served.said


@pytest.mark.timeout(400)
@pytest.mark.feature("A11.4", "A12.12", "K26", "K27")
@pytest.mark.parametrize("protocol", ["connect", "grpc"])
def test_a_server_that_is_killed_under_load(protocol: str, tmp_path: Path) -> None:
    """Twice in the middle of calls that it keeps: the next one over its store knows them. What may be repeated was done under one key, what
    may not at most once, and each call that is asked for again when all is over says what it said before, or what became of it."""
    ports = free_port(), free_port()
    words = ("--port", str(ports[0]), "--grpc-port", str(ports[1]))
    where = ports[0] if protocol == "connect" else ports[1]
    folder, deploy = tmp_path / "server", LISTEN + RUNS["sqlite"].replace('"runs.db"', '"runs.db", lease: 2s')

    async def scenario(program: Placed, again: list[Command]) -> None:
        ends: dict[str, tuple[str, Outcome]] = {}
        numbers, up = iter(range(KEPT)), asyncio.Event()
        up.set()

        async def work() -> None:
            for n in numbers:
                await up.wait()
                entry = ENTRIES[n % len(ENTRIES)]
                ends[f"c{n}"] = entry, await program.run(entry, {"id": f"c{n}"}, run=f"run-{SEED}-{n}")
                if n in (KEPT // 3, 2 * KEPT // 3):
                    up.clear()
                    again[-1].process.kill()
                    await asyncio.to_thread(again[-1].process.wait)
                    again.append(await asyncio.to_thread(stack.enter_context, command(folder, deploy, SHOP, OUTSIDE, *words)))
                    up.set()

        await asyncio.gather(*(work() for _ in range(16)))
        assert len(ends) == KEPT
        checked(ledger(folder), ends)
        for id, (entry, outcome) in ends.items():
            later = await program.run(entry, {"id": id}, run=f"run-{SEED}-{id[1:]}")
            if entry in ("pay", "book") and not isinstance(outcome, Faulted):
                assert isinstance(later, Value | Unsettled), (id, outcome, later)
            if isinstance(outcome, Value):
                assert isinstance(later, Value), (id, later)
                assert later.plain == outcome.plain
            ends[id] = entry, later
        checked(ledger(folder), ends)

    with ExitStack() as stack:
        first = stack.enter_context(command(folder, deploy, SHOP, OUTSIDE, *words))

        async def all_of_it() -> None:
            async with placed("in process", tmp_path / "client", SHOP, client(protocol, where)) as program:
                await scenario(program, [first])

        asyncio.run(all_of_it())


def checked(lines: list[dict[str, str]], ends: dict[str, tuple[str, Outcome]]) -> None:
    """What was done, and what was told of it."""
    done: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        done[line["what"]].append(line["key"])
    for id, (entry, outcome) in ends.items():
        told = (id, entry, outcome, done[id])
        assert len(set(done[id])) <= 1, told
        if entry in ("pay", "book"):
            assert len(done[id]) <= 1, told
            assert not (isinstance(outcome, Faulted) and done[id]), told
        if isinstance(outcome, Value):
            assert done[id], told


@pytest.mark.feature("A11.4", "K34", "K45")
def test_a_breaker_under_load(tmp_path: Path) -> None:
    """While nothing comes back, many callers send no more than a probe for each cooldown; in fair weather again, all are served."""
    weather, cooldown = Weather(SEED, ["before"]), 2

    async def scenario(served: Command) -> None:
        async with http(weather, served.port) as (_, port):
            setting = client("connect", port)
            setting.client = setting.client.replace("failures: 1_000", f"failures: 5, cooldown: {cooldown}s")
            async with placed("in process", tmp_path / "client", SHOP, setting) as program:
                first = await asyncio.gather(*(program.run("get", {"id": f"a{n}"}) for n in range(WORKERS)))
                assert not any(isinstance(outcome, Value) for outcome in first)
                sent, began = weather.counts.total(), monotonic()
                for _ in range(20):
                    shut = await asyncio.gather(*(program.run("pay", {"id": "p"}) for _ in range(5)))
                    assert all(isinstance(outcome, Unsettled | Faulted) for outcome in shut)
                    shut = await asyncio.gather(*(program.run("get", {"id": "b"}) for _ in range(WORKERS)))
                    assert all(isinstance(outcome, Faulted) for outcome in shut)
                # Two operations have two breakers; that of `pay` was closed, and let five at once through.
                probes = 2 * (1 + (monotonic() - began) / cooldown)
                assert weather.counts.total() - sent <= 5 + probes
                weather.words = ["pass"]
                async with asyncio.timeout(60):
                    while not all(
                        isinstance(outcome, Value)
                        for outcome in await asyncio.gather(*(program.run("get", {"id": "c"}) for _ in range(WORKERS)))
                    ):
                        await asyncio.sleep(0.05)
                assert all(line["what"] == "c" for line in ledger(served.folder))

    with command(tmp_path / "server", LISTEN + RUNS["memory"], SHOP, OUTSIDE) as served:
        asyncio.run(scenario(served))
