"""What every side does in `turns`, `http`, `memory` and `mcp`, in plain Python. Standard library only."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any
from urllib.parse import urlsplit

from benches.worker import cpu_of, cpu_per_run, private_bytes

INSTRUCTIONS = "Answer the ticket. Look every order up before you promise anything."
QUESTION = "Where are my orders?"
TICKET = "The kettle I bought last week does not heat. I want my money back for order A-42, please."
SORT = "Sort the ticket into one topic: Refund, Shipping or Other, as JSON with topic and confidence."
FINAL = "All of them are on the way."


def look_up(id: str) -> dict[str, object]:
    """Read one order by its public identifier."""
    return {"id": id, "status": "paid", "total": "19.90"}


def proposed(step: int) -> str:
    """The arguments of the call that the model proposes at a step, as the JSON text that providers send."""
    return json.dumps({"id": f"A-{step}"})


def per_step(run: Callable[[], Coroutine[Any, Any, None]], steps: int) -> Mapping[str, Any]:
    """The answer of `turns`: CPU microseconds a step of runs in one event loop, as in a server that runs for long."""
    loop = asyncio.new_event_loop()
    try:
        return {"us": cpu_per_run(lambda: loop.run_until_complete(run())) * 1e6 / steps}
    finally:
        loop.close()


def http_op(call: Callable[[], Awaitable[object]]) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """The operation `http`: ``at_once`` runs beside each other, each making ``calls`` model calls; CPU milliseconds of a call.

    One event loop serves all requests of the process, so that connections are kept as in a server that runs for long.
    """
    loop = asyncio.new_event_loop()

    async def run(calls: int) -> None:
        for _ in range(calls):
            await call()

    async def all_runs(at_once: int, calls: int) -> None:
        await asyncio.gather(*(run(calls) for _ in range(at_once)))

    def op(request: Mapping[str, Any]) -> Mapping[str, Any]:
        at_once, calls = int(request["at_once"]), int(request["calls"])
        seconds = cpu_of(lambda: loop.run_until_complete(all_runs(at_once, calls)))
        return {"ms": seconds * 1000 / (at_once * calls)}

    return op


def calls_op(
    start: Callable[[], Awaitable[None]], work: Callable[[int], Awaitable[None]]
) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """The operation of `mcp`: ``at_once`` tasks, each ``repeats`` times ``calls`` tool calls in a row; CPU milliseconds of a call.

    ``start`` connects, before the first measurement; ``work`` makes that many calls.
    """
    loop: asyncio.AbstractEventLoop | None = None

    async def task(calls: int, repeats: int) -> None:
        for _ in range(repeats):
            await work(calls)

    async def all_tasks(at_once: int, calls: int, repeats: int) -> None:
        await asyncio.gather(*(task(calls, repeats) for _ in range(at_once)))

    def op(request: Mapping[str, Any]) -> Mapping[str, Any]:
        nonlocal loop
        if loop is None:
            loop = asyncio.new_event_loop()
            loop.run_until_complete(start())
        run = loop.run_until_complete
        at_once, calls, repeats = int(request["at_once"]), int(request["calls"]), int(request["repeats"])
        seconds = cpu_of(lambda: run(all_tasks(at_once, calls, repeats)))
        return {"ms": seconds * 1000 / (at_once * calls * repeats)}

    return op


async def ask_server(address: str, path: str) -> int:
    """What the model server answers about held requests."""
    where = urlsplit(address)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nhost: bench\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        size = int(head.lower().split(b"content-length:")[1].split()[0])
        return int(json.loads(await reader.readexactly(size))["held"])
    finally:
        writer.close()


def memory_op(address: str, call: Callable[[], Awaitable[object]]) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """The operation `memory`: KiB a run of ``runs`` runs that all wait on the model, after one run that has ended."""

    async def wait_for(held: int) -> None:
        for _ in range(3000):
            if await ask_server(address, "/held") >= held:
                return
            await asyncio.sleep(0.1)
        raise TimeoutError(f"{held} requests never reached the server")

    async def round_of(runs: int) -> int:
        tasks = [asyncio.ensure_future(call()) for _ in range(runs)]
        watch = asyncio.ensure_future(wait_for(runs))
        await asyncio.wait([watch, *tasks], return_when=asyncio.FIRST_COMPLETED)
        if not watch.done():
            watch.cancel()
            await next(task for task in tasks if task.done())
        await watch
        used = private_bytes()
        await ask_server(address, "/release")
        await asyncio.gather(*tasks)
        return used

    async def measure(runs: int) -> float:
        await round_of(1)
        before = private_bytes()
        return (await round_of(runs) - before) / 1024 / runs

    def op(request: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"kib": asyncio.run(measure(int(request["runs"])))}

    return op
