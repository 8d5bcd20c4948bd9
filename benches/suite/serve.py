"""A served node beside a FastAPI handler with the same validation, at 1, 32 and 256 connections, each connection one call after the other.

Both servers run at the same time, each a process on the same core, and are asked in turn by a client on the other one. A service call
within the process is measured beside a plain call in Python, and beside the same function called in AEL.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from benches.envs import FASTAPI, python_of
from benches.harness import ROOT, Goal, Row, Side, SideFailed, interleave, medians, row, server_process
from benches.sides import ael_side, plain_side

DEPLOYMENT = "listen = http(concurrent: 512, queue: 512, connections: 1_000)\n"
PACK = 'pack bench {\n  version "1.0.0"\n  uses server/connect\n}\n'
RATE: Goal = (">=", 1)
SPENT: Goal = ("<=", 1)


@dataclass(frozen=True)
class Load:
    """Connections, and calls over all of them together."""

    connections: int
    calls: int


LOADS = (Load(1, 2_000), Load(32, 6_000), Load(256, 6_000))


@dataclass(frozen=True)
class Server:
    """A running server, and how it is called."""

    name: str
    pid: int
    port: int
    path: str
    argument: str


def program(folder: Path) -> Path:
    """Write the program that is served."""
    programs = ROOT / "benches" / "programs"
    for name, source in (("order.ael", "order.ael"), ("main.ael", "served.ael")):
        (folder / name).write_bytes((programs / source).read_bytes())
    (folder / "pack.ael").write_text(PACK, encoding="utf-8")
    (folder / "deploy.ael").write_text(DEPLOYMENT, encoding="utf-8")
    return folder


def served(quick: bool) -> Iterator[Row]:
    """Calls a second on the clock, and what a call costs the server's process."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        ours = (sys.executable, "-m", "benches.ael_side.serve", str(program(Path(name))))
        theirs = (str(python_of(FASTAPI)), "-m", "benches.peers.fastapi")
        servers = [
            Server("ael", *stack.enter_context(server_process(ours)), "/bench.Nodes/Receipt", "order"),
            Server(FASTAPI.title, *stack.enter_context(server_process(theirs)), "/receipt", ""),
        ]
        client = stack.enter_context(closing(Side("client", Path(sys.executable), "benches.served")))
        for load in LOADS:
            rates: dict[str, list[float]] = {server.name: [] for server in servers}
            spent: dict[str, list[float]] = {server.name: [] for server in servers}
            # The first round is not counted: it compiles and fills caches.
            for number in range(2 if quick else 8):
                for server in servers:
                    found = client.ask(
                        "load",
                        pid=server.pid, port=server.port, path=server.path, argument=server.argument,
                        connections=load.connections, calls=load.calls // 10 if quick else load.calls,
                    )  # fmt: skip
                    if number:
                        rates[server.name].append(float(found["rate"]))
                        spent[server.name].append(float(found["us"]))
            rate, cost = medians(rates), medians(spent)
            yield row(f"serve/{load.connections}", "calls a second", rate["ael"], FASTAPI.title, rate[FASTAPI.title], RATE)
            yield row(f"serve/{load.connections}", "µs CPU a call", cost["ael"], FASTAPI.title, cost[FASTAPI.title], SPENT)


def rows(quick: bool) -> Iterator[Row]:
    """Served calls at every load, then calls within the process."""
    try:
        yield from served(quick)
    except SideFailed as failure:
        print(f"benches: {failure}", file=sys.stderr)
        for load in LOADS:
            yield row(f"serve/{load.connections}", "calls a second", None, FASTAPI.title, None, RATE)
    yield from called(quick)


def called(quick: bool) -> Iterator[Row]:
    """A call of a service in the process, with its permission, its record of the call, and arguments and result checked and copied."""
    with ExitStack() as stack:
        ours = [stack.enter_context(closing(side)) for side in (ael_side("service"),) if side]
        plain = [stack.enter_context(closing(side)) for side in (plain_side("python", "service"),) if side]
        rounds = 1 if quick else 9
        taken = interleave(ours, rounds, "call", "us", entry="main").get("ael")
        function = interleave(ours, rounds, "call", "us", entry="functions").get("ael")
        theirs = interleave(plain, rounds, "call", "us").get("python")
        yield row("serve/in process", "µs CPU a call", taken, "a call in Python", theirs)
        yield row("serve/in process", "µs CPU a call", taken, "a function in AEL", function)
