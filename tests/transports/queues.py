"""Queues for the suite: a real NATS and a real PostgreSQL, and workers that take their items."""

from __future__ import annotations

import asyncio
import atexit
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from uuid import uuid4

import nats
import psycopg

from ael.durable.execute import execution_of
from ael.durable.worker import Worker
from ael.host import Host, open_host
from ael.project.program import Opened
from ael.server.crew import Crew, crew
from ael.services.broker import Broker
from ael.services.jetstream import JetStreamLine
from ael.services.line import Line
from ael.services.queue import Item, Sizes
from ael.services.table import TableLine
from tests.nats import NatsServer
from tests.postgres import PostgresServer

QUEUES = ("nats", "postgres")


@cache
def postgres() -> PostgresServer:
    """One PostgreSQL for all tests of a process."""
    made = PostgresServer()
    atexit.register(made.remove)
    made.start()
    return made


@dataclass
class Queue:
    """A queue of its own. `server` is the broker behind it; `form` how a deployment names it, without its last bracket."""

    kind: str
    server: NatsServer | PostgresServer
    form: str
    lines: str = ""
    address: str = ""

    def line(self, subject: str, options: str = "") -> str:
        """A line of a deployment that places `subject` there."""
        return f"{subject} = {self.form}{', ' if options else ''}{options})\n"

    def open(self, name: str, program: str, sizes: Sizes, patience: float = 2.0) -> Line:
        """The queue of this name, as a process opens it."""
        if self.kind == "nats":
            return JetStreamLine(Broker(self.address, connect=patience), name, program, sizes)
        return TableLine(self.address, name, program, sizes, patience)

    async def overwrite(self, name: str, item: Item, text: bytes) -> None:
        """Something else stands in the place of an item that waits."""
        if self.kind == "postgres":
            with psycopg.connect(self.address) as db:
                db.execute("UPDATE ael_item SET item = %s WHERE queue = %s AND token = %s", (text, name, item.token))
            return
        client = await nats.connect(self.address)
        subject = f"ael.{name}.item.{item.program[:16]}.{item.token}-{item.turn}"
        await client.jetstream().purge_stream(f"ael_{name}", subject=subject)
        await client.jetstream().publish(subject, text)
        await client.close()


@contextmanager
def queue(kind: str, *, own: bool = False) -> Iterator[Queue]:
    """A broker with nothing in it: a NATS of its own, or a database of its own; `own`: of a server of its own, which may be killed."""
    made: NatsServer | PostgresServer = NatsServer() if kind == "nats" else PostgresServer() if own else postgres()
    name = f"QUEUE_{uuid4().hex[:12].upper()}"
    try:
        if isinstance(made, NatsServer):
            made.start()
            yield Queue(kind, made, f'nats("{made.address}"', 'host "127.0.0.1"\n', made.address)
            return
        if own:
            made.start()
        os.environ[name] = made.create(name.lower())
        yield Queue(kind, made, f'postgres(secret("{name}")', f'secret {name} = env("{name}")\n', os.environ[name])
    finally:
        os.environ.pop(name, None)
        if own or kind == "nats":
            made.remove()


@dataclass
class Working:
    """A worker in this process. `said` is what it told of troubles."""

    host: Host
    crew: Crew
    worker: Worker
    said: list[tuple[str, str]] = field(default_factory=list)

    def stop(self) -> None:
        """As the first signal."""
        self.worker.stop()
        self.crew.stop()


@asynccontextmanager
async def working(opened: Opened) -> AsyncIterator[Working]:
    """A worker of a program under its deployment, until the block ends."""
    sys.modules.pop("outside", None)
    said: list[tuple[str, str]] = []
    async with AsyncExitStack() as stack:
        host = await stack.enter_async_context(open_host(opened, durable=True))
        made = await crew(opened, stack, lambda row, outcome: None, lambda code, text: said.append((code, text)))
        execution = execution_of(host)
        worker = Worker({host.unit.digest: execution}, 8, drain=host.opened.deployment.runs.drain, others=made.programs)
        work = asyncio.gather(worker.work(), made.work())
        found = Working(host, made, worker, said)
        try:
            yield found
        finally:
            found.stop()
            await work
