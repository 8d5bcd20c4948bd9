"""`ael serve --mcp`: a checked program becomes an MCP server, over HTTP or over standard input and output."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from ael.host import Host, open_host
from ael.net.redact import Redactor
from ael.project.program import Opened
from ael.project.serving import Listen
from ael.server import http, stdio
from ael.server.approval import KeptApprover, ServedApprover
from ael.server.caller import Caller, Callers, local_caller
from ael.server.calls import Calls
from ael.server.exposure import described, expose
from ael.server.kept import KeptCalls
from ael.server.memory import MemoryCalls
from ael.server.protocol import Protocol
from ael.server.stop import Stop


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


def prepare(opened: Opened, chosen: Sequence[str] = (), local: Caller | None = None) -> Service:
    """Bind everything, and know the tools and the callers. `local`: who calls where the transport knows nobody. Raises `HostError`."""
    deployment = opened.deployment
    serving, seconds = deployment.serving, deployment.serving.listen.approval / 1000
    tools = expose(opened, chosen)
    kept = KeptApprover(seconds)
    asking = ServedApprover(deployment.roles, known=bool(serving.callers), seconds=seconds)
    # A deployment that says nothing of its runs does not have those of its callers kept: they end with their client, or the server.
    durable = deployment.runs.said and deployment.runs.kind != "memory"
    also = [caller.secret for caller in serving.callers.values()]
    host = open_host(opened, approver=kept if durable else asking, also=also, durable=durable, exports=True)
    callers = Callers(serving.callers.values(), host.bindings.secrets, host.bindings.clock.now)
    calls: Calls = (
        MemoryCalls(host, serving.listen, asking) if host.store is None else KeptCalls(host, serving.listen, kept, callers)
    )
    name = opened.project.pack.name if opened.project.pack is not None else opened.program.main
    return Service(host, calls, callers, Protocol(name, tools, calls, local), serving.listen)


def serve(opened: Opened, where: Where, chosen: Sequence[str] = ()) -> int:
    """Serve until a signal, or until the client on standard input is gone. Gives the exit code. Raises `HostError`."""
    service = prepare(opened, chosen, local_caller() if where.host is None else None)
    bound = None if where.host is None else http.bind(where.host, where.port, known=bool(service.callers))
    _log_to_stderr(Redactor(service.host.bindings.secrets.values()))
    for warning in service.host.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if where.host in ("0.0.0.0", "::") and not service.listen.hosts:
        print("warning: requests have to name a host: `listen = http(hosts: […])` in the deployment says which", file=sys.stderr)
    for line in described(service.protocol.tools, opened.program):
        print(f"ael serve: {line}", file=sys.stderr)
    if where.host is None or bound is None:
        return asyncio.run(_stdio(service))
    return asyncio.run(_http(service, bound, where.host))


async def _stdio(service: Service) -> int:
    stop = Stop()
    async with service.host:
        with stop.on_signals(), stdio.claimed() as (source, target):
            await stdio.serve(service.protocol, service.calls, service.listen.body, source, target, stop)
    return 0


async def _http(service: Service, bound: socket.socket, name: str) -> int:
    stop = Stop()
    async with service.host:
        with stop.on_signals():
            await http.serve(service.protocol, service.calls, service.listen, service.callers, local_caller(), bound, name, stop)
    return 0


class _Masked(logging.Formatter):
    """A line without the values of secrets, and without tracebacks: those may quote arguments."""

    def __init__(self, mask: Redactor) -> None:
        super().__init__("ael serve: %(name)s: %(message)s")
        self._mask = mask

    def format(self, record: logging.LogRecord) -> str:
        record.exc_info = record.exc_text = record.stack_info = None
        return self._mask(super().format(record))


def _log_to_stderr(mask: Redactor) -> None:
    """Errors of the SDK and of uvicorn, on standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Masked(mask))
    for name in ("mcp", "uvicorn", "sse_starlette", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(logging.ERROR)
        logger.propagate = False
