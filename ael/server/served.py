"""The services and nodes of a program, ready to be called over the Connect protocol and gRPC: alone, or beside another protocol."""

from __future__ import annotations

import asyncio
import secrets
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import cast

from ael.durable.execute import execution_of
from ael.host import Host, open_host
from ael.net.redact import Redactor
from ael.project.program import Opened
from ael.project.serving import Listen
from ael.project.tenants import at_once
from ael.server.caller import Caller, Callers, local_caller, refuse_local
from ael.server.connect import Connect, Front
from ael.server.dispatch import Dispatch
from ael.server.garbage import settle
from ael.server.gate import Gate
from ael.server.guard import Guard, Receive, Refused, Scope, Send
from ael.server.inherited import Inherited
from ael.server.listener import bind, certified, names_of, probed, serve, shown
from ael.server.methods import Exposed, Method, contract, described, exposed, methods
from ael.server.metrics import Metrics
from ael.server.sides import Sides, scrapers_of
from ael.server.stop import Stop
from ael.server.stream import Streams
from ael.server.told import log_to_stderr, tell
from ael.services.contract import Contract
from ael.services.offered import offer

HEALTH = ("/healthz", "/readyz")


@dataclass(frozen=True)
class Served:
    """What is served, and the calls of it."""

    host: Host
    methods: Mapping[str, Method]
    dispatch: Dispatch
    trusts: bool = False
    metrics: Metrics | None = None

    def connect(self, guard: Guard) -> Connect:
        """The protocol behind a guard."""
        return Connect(self.methods, self.dispatch, guard, self.host.bindings.clock, self.metrics, trusts=self.trusts)

    def beside(self, guard: Guard, *paths: str) -> Front:
        """The protocol beside what is behind the guard at `paths`."""
        own, sides = frozenset({*HEALTH, *paths}), guard.sides
        return Front(guard, self.connect(guard), lambda path: path in own or (sides is not None and sides.owns(path)))


def attach(
    host: Host, found: Sequence[Exposed], listen: Listen, gate: Gate, metrics: Metrics | None = None, *, trusts: bool = False
) -> Served:
    """Make methods of a host callable. Keyed calls are kept where the host keeps its runs."""
    execution = None if host.store is None else execution_of(host)
    dispatch = Dispatch(host, listen, gate, secrets.token_hex(8), execution, trusting=trusts)
    return Served(host, methods(found, host), dispatch, trusts, metrics)


@dataclass(frozen=True)
class Alone:
    """A program that serves nothing but services and nodes."""

    served: Served
    found: tuple[Exposed, ...]
    callers: Callers
    listen: Listen
    contract: Contract
    sides: Sides

    def over_grpc(self, name: str, port: int, stop: Stop, *, handed_on: bool = False) -> AbstractAsyncContextManager[int]:
        """Serve over gRPC on a port while the block lasts."""
        return over_grpc(self.served, self.contract, self.listen, self.callers, name, port, stop, handed_on=handed_on)

    async def run(
        self,
        bound: socket.socket,
        name: str,
        stop: Stop,
        local: Caller | None = None,
        given: Inherited | None = None,
    ) -> None:
        """Serve on a bound socket until `stop`, then end the calls in flight. `given`: this process takes over from another."""
        dispatch = self.served.dispatch

        def ready() -> None:
            print(f"ael serve: listening on {shown(self.listen, name, bound)}", file=sys.stderr, flush=True)
            if given is not None:
                given.told()

        guard = guard_of(self.served, self.listen, self.callers, local or local_caller(), names_of(name, bound, self.listen))
        guard.sides = self.sides

        async def close() -> None:
            self.sides.close()
            await dispatch.close()

        await serve(self.served.beside(guard), guard, self.listen, bound, stop, ready, close, handed_on=given is not None)


def prepare(opened: Opened, chosen: Sequence[str] = ()) -> Alone:
    """Bind everything, and know the methods and the callers. Raises `HostError`."""
    serving = opened.deployment.serving
    if not serving.callers:
        refuse_local(opened.deployment)
    found = exposed(opened, chosen)
    listen = certified(serving.listen, Path(opened.deployment.folder))
    also = serving.tokens
    # What is not served is not reached either: it may need a model whose key this machine does not have.
    host = open_host(opened, {one.entry for one in found}, also=also, durable=kept(opened), exports=True)
    callers = Callers(serving.callers.values(), host.bindings.secrets)
    gate = Gate(serving.listen.concurrent, serving.listen.queue, at_once(opened.deployment.tenants))
    metrics = Metrics(host, gate, on=bool(listen.metrics))
    described = contract(opened, chosen)
    sides = sides_of(host, metrics, callers, described)
    return Alone(attach(host, found, listen, gate, metrics), found, callers, listen, described, sides)


def sides_of(host: Host, metrics: Metrics, callers: Callers, described: Contract | None) -> Sides:
    """What a server tells beside its protocols. Raises `HostError`: the token for the metrics is none (AEL0875)."""
    scrapers = scrapers_of(host.opened.deployment.serving, host.bindings.secrets)
    streams = None if host.store is None else Streams(host.store, frozenset(host.unit.tools))
    return Sides(
        metrics,
        scrapers if scrapers or callers else None,
        None if described is None else cache(partial(offer, described)),
        host.store,
        streams,
    )


def kept(opened: Opened) -> bool:
    """Whether keyed calls are kept: only where the deployment says where its runs are, as all calls of a server."""
    runs = opened.deployment.runs
    return runs.said and runs.kind != "memory"


def guard_of(served: Served, listen: Listen, callers: Callers, local: Caller, names: frozenset[str]) -> Guard:
    """A guard with nothing behind it but the health of the server."""
    return Guard(_nothing, listen, callers, local, names, lambda scope, caller: None, lambda: not served.dispatch.draining)


async def _nothing(scope: Scope, receive: Receive, send: Send) -> None:
    raise Refused(404, "there is nothing here")


def over_grpc(
    served: Served,
    described: Contract,
    listen: Listen,
    callers: Callers,
    name: str,
    port: int,
    stop: Stop,
    *,
    handed_on: bool = False,
) -> AbstractAsyncContextManager[int]:
    """Serve what is `described` over gRPC, on a port of its own, while the block lasts; it gives the port. Raises `HostError`.

    `stop`: from then on, health says that no more calls are taken.
    """
    # Loaded here: only a server of gRPC needs its packages.
    rpc = import_module("ael.server.rpc")
    guard = guard_of(served, listen, callers, local_caller(), frozenset())
    calls = rpc.Calls(
        served.methods,
        described,
        guard,
        served.dispatch.call,
        served.host.bindings.clock.now,
        served.dispatch.mask,
        served.metrics,
    )
    return cast("AbstractAsyncContextManager[int]", rpc.serving(calls, listen, name, port, stop, handed_on=handed_on))


def serve_alone(
    opened: Opened,
    host: str,
    port: int | None,
    chosen: Sequence[str] = (),
    *,
    grpc_port: int | None = None,
    given: Inherited | None = None,
) -> int:
    """Serve services and nodes until a signal, over the Connect protocol on `port`, over gRPC on `grpc_port`, or both.

    `given`: this process takes over from another. Gives the exit code. Raises `HostError`.
    """
    alone = prepare(opened, chosen)
    known = bool(alone.callers)
    if given is not None:
        rpc, bound = grpc_port, given.socket(known=known)
    else:
        rpc = None if grpc_port is None else probed(host, grpc_port, known=known)
        bound = None if port is None else bind(host, port, known=known)
    log_to_stderr(Redactor(alone.served.host.bindings.secrets.values()))
    tell(alone.served.host, host, alone.listen)
    for line in described(alone.found):
        print(f"ael serve: {line}", file=sys.stderr)
    settle()
    return asyncio.run(_alone(alone, bound, host, rpc, given))


async def _alone(alone: Alone, bound: socket.socket | None, name: str, rpc: int | None, given: Inherited | None) -> int:
    stop = Stop()
    async with alone.served.host, AsyncExitStack() as stack:
        stack.enter_context(stop.on_signals())
        if rpc is not None:
            await stack.enter_async_context(alone.over_grpc(name, rpc, stop, handed_on=given is not None))
        if bound is not None:
            await alone.run(bound, name, stop, given=given)
        else:
            if given is not None:
                given.told()
            await stop.wait()
            await alone.served.dispatch.close()
    return 0
