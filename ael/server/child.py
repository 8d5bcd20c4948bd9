"""A process that runs one service, or one node, for the process that started it (`process(workers: N)`), until that one ends.

It is told what to do by one line of JSON on its standard input, says `ready` on its standard output when calls are taken, and ends with
its standard input. Started by `ael.services.workers`.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ael.data import replace
from ael.diagnostics.diagnostic import Bag
from ael.host import HostError, open_host
from ael.project.deployment import Deployment
from ael.project.program import Opened, open_program
from ael.run.bindings import system_user
from ael.server.caller import Caller, Callers
from ael.server.garbage import settle
from ael.server.gate import Gate
from ael.server.listener import serve
from ael.server.methods import Exposed, method_of
from ael.server.served import attach, guard_of, kept
from ael.server.stop import Stop
from ael.types.value import Secret

LINGER = 5.0
"""Seconds after the end of its drain, after which it is over whatever still runs."""
_LONGEST = 24 * 3_600_000
_CONCURRENT = 1_024
"""Calls at once: how many there are is the word of the process that sends them."""


@dataclass(frozen=True)
class Told:
    """What the one line says: the program (`path`, `deploy`), what of it is served, where, who may ask, and where the `peers` are."""

    path: str
    deploy: str | None
    serve: str
    socket: str
    token: str
    peers: Mapping[str, list[str]]


def main() -> None:
    """Run such a process."""
    line = sys.stdin.buffer.readline()
    if not line:
        return
    told = Told(**json.loads(line))
    said = os.dup(1)
    # Whatever the program prints is for people.
    os.dup2(2, 1)
    try:
        asyncio.run(_serve(told, said))
    except HostError as error:
        print(f"ael: a process for `{told.serve}`: error[{error.code}]: {error.message}", file=sys.stderr)
        sys.exit(1)


async def _serve(told: Told, said: int) -> None:
    opened = _opened(told)
    found = _methods(opened, opened.deployment.placements[told.serve].node or told.serve)
    here = replace(opened, deployment=_here(opened.deployment, told))
    host = open_host(
        here, found[0].entry, durable=kept(opened), exports=True, peers=told.peers, peer_token=Secret("peers", told.token)
    )
    limits, listen = here.deployment.limits, here.deployment.serving.listen
    # Sizes and times are the word of the process that sends the calls, which has checked them.
    listen = replace(listen, concurrent=_CONCURRENT, queue=0, body=max(listen.body, 2 * limits.input), timeout=_LONGEST)
    listen = replace(listen, certificate="", key="", clients="")
    stop = Stop()
    _end_with_parent(stop, listen.drain / 1000 + LINGER)
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    bound.bind(told.socket)
    bound.listen(128)
    bound.setblocking(False)
    async with host:
        served = attach(host, found, listen, Gate(listen.concurrent, listen.queue), trusts=True)
        guard = guard_of(served, listen, _Own(told.token), Caller(system_user()), frozenset({"localhost"}))

        settle()

        def ready() -> None:
            os.write(said, b"ready\n")

        await serve(served.beside(guard), guard, listen, bound, stop, ready, served.dispatch.close)


def _opened(told: Told) -> Opened:
    """The program, as the parent has checked it."""
    bag = Bag()
    opened = open_program(Path(told.path), bag, deploy=told.deploy)
    if opened is None or told.serve not in opened.deployment.placements:
        raise HostError("AEL0852", "the program is not any more what it was when its processes were first started")
    return opened


def _here(deployment: Deployment, told: Told) -> Deployment:
    """The deployment, with what is served running in this process."""
    placements = dict(deployment.placements)
    own = placements.pop(told.serve)
    if own.node is not None:
        # Wherever the node itself is placed: the edge to it says that it runs here.
        placements.pop(own.node, None)
    services = dict(deployment.services)
    if own.provider is not None:
        services[told.serve] = own.provider
    return replace(deployment, placements=placements, services=services)


def _methods(opened: Opened, entry: str) -> tuple[Exposed, ...]:
    """What is served: the operations of a service, or a node."""
    service = opened.program.services.get(entry)
    if service is None:
        return (method_of(opened, entry, opened.program.nodes[entry].signature),)
    return tuple(method_of(opened, operation.name, operation.signature) for operation in service.operations)


class _Own(Callers):
    """The one caller: the process that started this one, and its other processes."""

    def __init__(self, token: str) -> None:
        super().__init__((), {})
        self.know(token, Caller(system_user()))


def _end_with_parent(stop: Stop, seconds: float) -> None:
    """When the parent is gone, end; and if that takes too long, end anyhow. A thread: nothing in the loop can keep it."""
    loop = asyncio.get_running_loop()

    def watch() -> None:
        while os.read(0, 4096):
            pass
        timer: Any = threading.Timer(seconds, os._exit, (1,))
        timer.daemon = True
        timer.start()
        loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=watch, name="ael-parent", daemon=True).start()
