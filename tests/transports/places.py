"""Programs whose service runs in the process, in processes of its own, behind HTTPS or gRPC: the same program, another deployment.

What a provider does outside it writes to files beside the program, so that every process of it sees the same world.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ael.diagnostics.render import render_all
from ael.host import Host, open_host
from ael.project.program import Opened
from ael.run.bindings import Options
from ael.run.outcome import Outcome
from ael.run.ports import Span
from ael.run.trace import SpanList
from ael.server import listener
from ael.server.served import Alone, prepare
from ael.server.stop import Stop
from tests.programs import open_files
from tests.transports.queues import QUEUES, queue, working

TOKEN = "orders-token-0123456789"
PACK = 'pack shop {\n  version "1.0.0"\n  uses server/connect\n  uses server/grpc\n  extern "outside"\n}\n'
PLACES = ("in process", "process", "https", "grpc")
"""The placements that answer at once; a test of all of them is parametrised with these."""
EVERYWHERE = (*PLACES, *QUEUES)
"""And those where calls wait for a worker."""

OUTSIDE = '''\
"""What the provider does outside: in files beside the program, seen by every process of it."""

import asyncio
import json
import os
from pathlib import Path

HERE = Path(__file__).parent


async def act(what, *, call):
    """Note the call, and then do what is asked: nothing, wait for a file, fail, or end the process."""
    with open(HERE / "ledger", "a") as ledger:
        line = {"what": what, "key": call.key, "tenant": call.tenant, "caller": call.caller, "trace": call.trace_parent, "pid": os.getpid()}
        ledger.write(json.dumps(line) + "\\n")
    word, _, rest = what.partition(":")
    if word == "wait":
        try:
            while not (HERE / rest).exists():
                await asyncio.sleep(0.02)
        except asyncio.CancelledError:
            with open(HERE / "cancelled", "a") as cancelled:
                cancelled.write(what + "\\n")
            raise
    elif word == "lose":
        raise ConnectionError
    elif word == "break":
        raise ValueError(rest)
    elif word == "once" and not (HERE / rest).exists():
        (HERE / rest).touch()
        raise ConnectionError
    elif word == "die" and not (HERE / rest).exists():
        (HERE / rest).touch()
        os._exit(9)
    elif word == "end":
        os._exit(9)
    return what
'''


@dataclass
class Placed:
    """A program that calls its service where the deployment says. `alone` is the server behind HTTPS."""

    host: Host
    folder: Path
    spans: SpanList
    alone: Alone | None = None
    port: int = 0
    stop: Callable[[], None] = lambda: None

    async def run(self, entry: str, values: Mapping[str, object] | None = None, **options: Any) -> Outcome:
        """Run a node to its end."""
        given = Options(**{"caller": "tester", "tenant": "acme", **options})
        return await self.host.engine.start(entry, dict(values or {}), given).outcome()

    @property
    def ledger(self) -> list[dict[str, Any]]:
        """What was done outside, in order."""
        return ledger(self.folder)

    def of(self, kind: str) -> list[Span]:
        """The spans of this side of one kind."""
        return [span for span in self.spans.spans if span.kind == kind]


def ledger(folder: Path) -> list[dict[str, Any]]:
    """What was done outside, in order."""
    file = folder / "ledger"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def opened_in(folder: Path, main: str, deploy: str) -> Opened:
    """The program in a folder, checked, under a deployment."""
    files = {"pack.ael": PACK, "main.ael": main, "deploy.ael": deploy, "outside.py": OUTSIDE}
    found, bag = open_files(folder, files)
    assert found is not None, render_all(bag.sorted())
    return found


@asynccontextmanager
async def serving(folder: Path, main: str, deploy: str = "", **named: Any) -> AsyncIterator[tuple[Alone, int, Stop]]:
    """The program behind HTTPS (without TLS, on loopback), on a free port, until the block ends."""
    sys.modules.pop("outside", None)
    os.environ["ORDERS_TOKEN"] = TOKEN
    opened = opened_in(folder, main, SERVER + deploy)
    alone = prepare(opened)
    bound = listener.bind("127.0.0.1", named.get("port", 0), known=True)
    stop = Stop()
    async with alone.served.host:
        task = asyncio.ensure_future(alone.run(bound, "127.0.0.1", stop))
        try:
            yield alone, bound.getsockname()[1], stop
        finally:
            stop.set()
            await task


SERVER = 'secret T = env("ORDERS_TOKEN")\ncaller client = bearer(secret("T"), tenant: "acme")\n'
"""What a deployment of the server says beside the rest."""


@asynccontextmanager
async def serving_grpc(folder: Path, main: str, deploy: str = "", **named: Any) -> AsyncIterator[tuple[Alone, int, Stop]]:
    """The program behind gRPC (without TLS, on loopback) until the block ends, or `stop` is set."""
    sys.modules.pop("outside", None)
    os.environ["ORDERS_TOKEN"] = TOKEN
    alone = prepare(opened_in(folder, main, SERVER + deploy))
    stop = Stop()
    ports: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def serve() -> None:
        async with alone.over_grpc("127.0.0.1", named.get("port", 0), stop) as port:
            ports.set_result(port)
            await stop.wait()
            await alone.served.dispatch.close()

    async with alone.served.host:
        task = asyncio.ensure_future(serve())
        await asyncio.wait({task, ports}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        try:
            yield alone, ports.result(), stop
        finally:
            stop.set()
            await task


@dataclass
class Setting:
    """How a program is placed: further lines of the client's and of the server's deployment, and options of the placement."""

    client: str = ""
    server: str = ""
    options: str = ""
    runs: str = "runs = memory\n"
    through: Callable[[int], Any] | None = None
    """Makes something that stands before the server (it has an `async with` that gives its port), from the server's port."""
    services: Sequence[str] = ("Orders",)
    workers: int = 2
    entry: str | None = None
    more: dict[str, Any] = field(default_factory=dict)


def address(place: str, port: int) -> str:
    """How a placement on a port of this machine begins."""
    return f'https("http://127.0.0.1:{port}"' if place == "https" else f'grpc("127.0.0.1:{port}"'


@asynccontextmanager
async def placed(place: str, folder: Path, main: str, setting: Setting | None = None) -> AsyncIterator[Placed]:
    """The program with its service at `place`."""
    given = setting or Setting()
    spans = SpanList()
    # A module of Python is loaded once in a process: this one is another in each folder.
    sys.modules.pop("outside", None)
    os.environ["ORDERS_TOKEN"] = TOKEN
    async with AsyncExitStack() as stack:
        # A host puts its program's folder first: the next one in this process finds its own module there.
        stack.callback(sys.path.__setitem__, slice(None), list(sys.path))
        alone, port, stop = None, 0, None
        lines = given.runs + given.client
        if place == "process":
            options = f", {given.options}" if given.options else ""
            lines += "".join(f"service {name} = process(workers: {given.workers}{options})\n" for name in given.services)
        elif place in ("https", "grpc"):
            behind = serving if place == "https" else serving_grpc
            alone, port, ends = await stack.enter_async_context(behind(folder / "server", main, given.runs + given.server))
            stop = ends.set
            outer = port if given.through is None else await stack.enter_async_context(given.through(port))
            lines += 'host "127.0.0.1"\nsecret T = env("ORDERS_TOKEN")\n'
            options = f", {given.options}" if given.options else ""
            for name in given.services:
                lines += f'service {name} = {address(place, outer)}, token: secret("T"){options})\n'
        elif place in QUEUES:
            found = stack.enter_context(queue(place))
            options = f", {given.options}" if given.options else ""
            placed_there = "".join(found.line(f"service {name}", given.options) for name in given.services)
            server = opened_in(folder / "server", main, f'runs = sqlite("runs.db")\n{found.lines}{placed_there}{given.server}')
            stop = (await stack.enter_async_context(working(server))).stop
            lines += found.lines + "".join(found.line(f"service {name}", f"slots: 0{options}") for name in given.services)
        opened = opened_in(folder, main, lines)
        where = folder / "server" if place in ("https", "grpc", *QUEUES) else folder
        sys.path.insert(0, str(where))
        host = open_host(opened, sinks=[spans], **given.more)
        await stack.enter_async_context(host)
        yield Placed(host, where, spans, alone, port, stop or (lambda: None))
