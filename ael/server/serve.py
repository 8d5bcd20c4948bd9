"""`ael serve --mcp`: a checked program becomes an MCP server, over HTTP or over standard input and output."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from ael.host import Host, open_host
from ael.net.redact import Redactor
from ael.project.program import Opened
from ael.project.serving import Listen
from ael.server import http, methods, stdio
from ael.server.approval import KeptApprover, ServedApprover
from ael.server.caller import Caller, Callers, local_caller, refuse_local
from ael.server.calls import Calls
from ael.server.exposure import described, expose
from ael.server.garbage import settle
from ael.server.inherited import Inherited
from ael.server.kept import KeptCalls
from ael.server.listener import bind, certified, probed
from ael.server.memory import MemoryCalls
from ael.server.methods import exposed, nodes
from ael.server.metrics import Metrics
from ael.server.protocol import Protocol
from ael.server.served import Served, attach, over_grpc, sides_of
from ael.server.sides import Sides
from ael.server.stop import Stop
from ael.server.told import log_to_stderr, tell
from ael.services.contract import Contract


@dataclass(frozen=True)
class Where:
    """`host` and `port` of HTTP, or neither: standard input and output."""

    host: str | None = None
    port: int = 0


@dataclass(frozen=True)
class Service:
    """A program that is ready to be served. Close its host when the serving has ended."""

    host: Host
    calls: Calls
    callers: Callers
    protocol: Protocol
    listen: Listen
    served: Served | None = None
    """Services and nodes over the Connect protocol, beside it."""
    methods: tuple[str, ...] = ()
    """A line for each of their methods, for people."""
    contract: Contract | None = None
    """The same for gRPC."""
    sides: Sides | None = None


def prepare(opened: Opened, chosen: Sequence[str] = (), local: Caller | None = None, *, also: bool = False) -> Service:
    """Bind everything, and know the tools and the callers. `local`: who calls where the transport knows nobody. `also`: services and
    nodes are served over another protocol too. Raises `HostError`."""
    serving = opened.deployment.serving
    if local is not None or not serving.callers:
        refuse_local(opened.deployment)
    found = exposed(opened, chosen) if also else ()
    listen = certified(serving.listen, Path(opened.deployment.folder))
    names = nodes(opened, chosen, required=not also)
    tools = {} if names is None else expose(opened, names)
    host, calls, callers = _calls(opened)
    name = opened.project.pack.name if opened.project.pack is not None else opened.program.main
    metrics = Metrics(host, calls.gate, on=bool(listen.metrics))
    served = attach(host, found, listen, calls.gate, metrics) if also else None
    described = methods.contract(opened, chosen) if also else None
    return Service(
        host,
        calls,
        callers,
        Protocol(name, tools, calls, local, metrics),
        listen,
        served,
        tuple(methods.described(found)),
        described,
        sides_of(host, metrics, callers, described),
    )


def _calls(opened: Opened) -> tuple[Host, Calls, Callers]:
    """The calls of a server. A deployment that says nothing of its runs has none kept: they end with their client, or with the server."""
    deployment, serving = opened.deployment, opened.deployment.serving
    seconds = serving.listen.approval / 1000
    kept, asking = KeptApprover(seconds), ServedApprover(deployment.roles, known=bool(serving.callers), seconds=seconds)
    durable = deployment.runs.said and deployment.runs.kind != "memory"
    also = serving.tokens
    host = open_host(opened, approver=kept if durable else asking, also=also, durable=durable, exports=True)
    callers = Callers(serving.callers.values(), host.bindings.secrets)
    if host.store is None:
        return host, MemoryCalls(host, serving.listen, asking), callers
    return host, KeptCalls(host, serving.listen, kept, callers), callers


def serve(
    opened: Opened,
    where: Where,
    chosen: Sequence[str] = (),
    *,
    connect: bool = False,
    grpc_port: int | None = None,
    given: Inherited | None = None,
) -> int:
    """Serve until a signal, or until the client on standard input is gone; beside it the Connect protocol, and gRPC on `grpc_port`.

    `given`: this process takes over from another. Gives the exit code. Raises `HostError`.
    """
    also = connect or grpc_port is not None
    service = prepare(opened, chosen, local_caller() if where.host is None else None, also=also)
    known = bool(service.callers)
    if given is not None:
        rpc, bound = grpc_port, given.socket(known=known)
    else:
        rpc = None if grpc_port is None or where.host is None else probed(where.host, grpc_port, known=known)
        bound = None if where.host is None else bind(where.host, where.port, known=known)
    log_to_stderr(Redactor(service.host.bindings.secrets.values()))
    tell(service.host, where.host, service.listen)
    for line in (*described(service.protocol.tools, opened.program), *service.methods):
        print(f"ael serve: {line}", file=sys.stderr)
    settle()
    if where.host is None or bound is None:
        return asyncio.run(_stdio(service))
    return asyncio.run(_http(service, bound, where.host, connect, rpc, given))


async def _stdio(service: Service) -> int:
    stop = Stop()
    async with service.host:
        with stop.on_signals(), stdio.claimed() as (source, target):
            await stdio.serve(service.protocol, service.calls, service.listen.body, source, target, stop)
    return 0


async def _http(
    service: Service, bound: socket.socket, name: str, connect: bool, rpc: int | None, given: Inherited | None
) -> int:
    stop = Stop()
    async with service.host, AsyncExitStack() as stack:
        stack.enter_context(stop.on_signals())
        if rpc is not None and service.served is not None and service.contract is not None:
            beside = over_grpc(
                service.served, service.contract, service.listen, service.callers, name, rpc, stop, handed_on=given is not None
            )
            await stack.enter_async_context(beside)
        await http.serve(
            service.protocol, service.calls, service.listen, service.callers, local_caller(), bound, name, stop, service.served,
            sides=service.sides, connect=connect, given=given,
        )  # fmt: skip
    return 0
