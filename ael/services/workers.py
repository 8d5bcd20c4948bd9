"""Processes of this program that run services and nodes placed in `process(workers: N)`: started when they are first needed, kept up, and
ended with the process that started them, however that ends.

Each listens on a socket of this machine in a folder that nobody else can enter, has an environment of its own, and is told what it serves
on its standard input, which it watches: the end of that is the end of its parent.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import ael
from ael.net.address import Endpoint
from ael.net.client import Client, Target, Timeouts, target
from ael.net.failure import NetError
from ael.types.fault import Fault, FaultKind
from ael.types.value import Secret

BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from ael.server.child import main; main()"
"""What a child runs: this very package, wherever it is, and nothing that the environment or the folder could put before it."""
BACKOFF = (0.1, 10.0)
"""Seconds before a child that ended is started anew: the first, doubled up to the last."""
STEADY = 30.0
"""After so long a child that ends was well: the backoff begins anew."""
HEALTH = 5.0
"""Seconds between two looks at a child, and that it has to answer one."""
UNWELL = 3
"""Looks in a row without an answer, after which it is killed."""
ENDING = 15.0
"""Seconds that a child gets to end what it does."""
_DOWN = 1.0
_LOOK = 0.05
_OWN = 5.0
"""Seconds that the process of a key is waited for before another takes the call."""


@dataclass(frozen=True)
class Pool:
    """The processes of one placement: what they serve, how many, and seconds that one has to be up."""

    entry: str
    workers: int
    connect: float


class Fleet:
    """All processes of one program. `told` is what each is told beside what it serves; `environment` the whole of theirs."""

    def __init__(self, pools: Mapping[str, Pool], told: Mapping[str, object], environment: Mapping[str, str]) -> None:
        self.token = Secret("the program's own processes", secrets.token_urlsafe(32))
        self._pools = pools
        self._told = told
        self._environment = environment
        self._folder: str | None = None
        self._children: dict[str, list[_Child]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def places(self, entry: str) -> Workers:
        """Where the calls of one placement go."""
        return Workers(self, entry)

    async def children(self, entry: str) -> list[_Child]:
        """The processes of a placement. All of the program are started with the first that is asked for: they may call each other."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # Those of another loop ended with it (their standard input is gone).
            self._children.clear()
            self._loop = loop
        if not self._children:
            self._start()
        return self._children[entry]

    @property
    def processes(self) -> dict[int, str]:
        """The processes that run now: id -> what they serve."""
        return {child.pid: entry for entry, pool in self._children.items() for child in pool if child.pid is not None}

    async def close(self) -> None:
        """End all of them, and wait until they have ended. Bounded; raises nothing."""
        children = [child for pool in self._children.values() for child in pool]
        self._children = {}
        if self._loop is asyncio.get_running_loop():
            await asyncio.gather(*(child.close() for child in children), return_exceptions=True)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _start(self) -> None:
        # The path of a socket is short by its system's rule, so it is not below the folder of the program.
        self._folder = self._folder or tempfile.mkdtemp(prefix="ael-")
        sockets = {
            entry: [os.path.join(self._folder, f"{at}-{number}") for number in range(pool.workers)]
            for at, (entry, pool) in enumerate(sorted(self._pools.items()))
        }
        for entry, pool in self._pools.items():
            peers = {other: paths for other, paths in sockets.items() if other != entry}
            self._children[entry] = [
                _Child(
                    path,
                    {**self._told, "serve": entry, "socket": path, "token": self.token.reveal(), "peers": peers},
                    self._environment,
                )
                for path in sockets[entry]
            ]
            for child in self._children[entry]:
                child.start(pool.connect)


class Workers:
    """Where the calls of one placement go: by their key, so that one asked again finds the process that knows it."""

    def __init__(self, fleet: Fleet, entry: str) -> None:
        self._fleet = fleet
        self._entry = entry

    async def place(self, key: str) -> Endpoint:
        """The process for this key, or the next that is up where that one cannot be had. Raises `Fault` where there is none.

        One that is being started is waited for: its neighbour does not know the keys that belong to it.
        """
        children = await self._fleet.children(self._entry)
        first = turn(key, len(children))
        ordered = [*children[first:], *children[:first]]
        for child in ordered:
            if child.starting:
                await child.settled()
            if child.up:
                return child.endpoint
        why = next((child.why for child in ordered if child.why), "")
        message = f"no process that serves `{self._entry}` is up{': ' + why if why else ''}"
        raise Fault(FaultKind.UNAVAILABLE, message, sent=False, retry_after=_DOWN)

    async def close(self) -> None:
        """End the processes of the program."""
        await self._fleet.close()


class Peers:
    """Where the calls of a placement go that another process of the same program keeps up; `connect` seconds are waited for one."""

    def __init__(self, sockets: list[str], connect: float) -> None:
        self._sockets = sockets
        self._connect = connect

    async def place(self, key: str) -> Endpoint:
        """The process for this key, or after a while the next that is there. Raises `Fault` where there is none in time."""
        first = turn(key, len(self._sockets))
        ordered = [*self._sockets[first:], *self._sockets[:first]]
        loop = asyncio.get_running_loop()
        began = loop.time()
        while True:
            waited = loop.time() - began
            # All of a program are started at once: the one that knows the key may be up in a moment.
            for path in ordered if waited >= min(_OWN, self._connect) else ordered[:1]:
                if os.path.exists(path):
                    return local(path)
            if waited >= self._connect:
                raise Fault(FaultKind.UNAVAILABLE, "no process that serves it is up", sent=False, retry_after=_DOWN)
            await asyncio.sleep(_LOOK)

    async def close(self) -> None:
        """Nothing was started."""


def local(path: str) -> Endpoint:
    """A socket of this machine."""
    return Endpoint("http", "localhost", 80, "", "", path)


def turn(key: str, count: int) -> int:
    """Which of `count` a key goes to."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4]) % count


class _Child:
    """One process, kept up."""

    def __init__(self, path: str, told: Mapping[str, object], environment: Mapping[str, str]) -> None:
        self.endpoint = local(path)
        self.up = False
        self.starting = True
        self.why = ""
        self.pid: int | None = None
        self._told = json.dumps(told).encode() + b"\n"
        self._environment = dict(environment)
        self._path = Path(path)
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._closing = False

    def start(self, connect: float) -> None:
        """Begin to keep it up. `connect`: seconds until it has to be."""
        self._task = asyncio.get_running_loop().create_task(self._keep(connect), name=f"process at {self._path.name}")

    async def settled(self) -> None:
        """Wait until it is up, or could not be started."""
        await self._changed.wait()

    async def close(self) -> None:
        """End it: its standard input is closed, then it is told, then killed."""
        self._closing = True
        self.up = self.starting = False
        self._changed.set()
        process = self._process
        if process is not None and process.returncode is None:
            await self._end(process)
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _keep(self, connect: float) -> None:
        """Start it again and again, with more time in between while it does not hold."""
        wait = BACKOFF[0]
        loop = asyncio.get_running_loop()
        while not self._closing:
            began = loop.time()
            try:
                await self._life(connect)
            finally:
                self._fallen()
            if loop.time() - began >= STEADY:
                wait = BACKOFF[0]
            await asyncio.sleep(wait)
            wait = min(wait * 2, BACKOFF[1])
            self.starting = True
            self._changed.clear()

    def _fallen(self) -> None:
        self.up = self.starting = False
        self.pid = None
        self._changed.set()

    async def _life(self, connect: float) -> None:
        """From its start to its end."""
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()
        root = str(Path(ael.__file__).resolve().parent.parent)
        try:
            self._process = process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-c", BOOT, root,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=self._environment, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            self.why = f"it cannot be started: {error.strerror or type(error).__name__}"
            return
        self.pid = process.pid
        try:
            async with asyncio.timeout(connect):
                ready = await self._ready(process)
        except TimeoutError:
            ready = False
            self.why = f"it was not up within {connect:g} s"
        if ready and not self._closing:
            self.why = ""
            self.up, self.starting = True, False
            self._changed.set()
            await self._watch(process)
        if process.returncode is None:
            await self._end(process)
        elif not self._closing:
            self.why = f"it ended with exit code {process.returncode}"

    async def _ready(self, process: asyncio.subprocess.Process) -> bool:
        """Tell it what it serves, and wait for its one word."""
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(ConnectionError):
            process.stdin.write(self._told)
            await process.stdin.drain()
        word = await process.stdout.readline()
        if word != b"ready\n":
            await process.wait()
        return word == b"ready\n"

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        """Until it ends, or does not answer any more."""
        client = Client(max_connections=1)
        look = target(self.endpoint, "/healthz", method="GET", timeouts=Timeouts(HEALTH, HEALTH, HEALTH), resend=True)
        ended = asyncio.ensure_future(process.wait())
        missed = 0
        try:
            while True:
                await asyncio.wait({ended}, timeout=HEALTH)
                if ended.done():
                    return
                missed = 0 if await _well(client, look) else missed + 1
                if missed >= UNWELL:
                    self.why = f"it did not answer {UNWELL} times in a row"
                    self.up = False
                    _signal(process, signal.SIGKILL)
                    await ended
                    return
        finally:
            if not ended.done():
                ended.cancel()
            await client.close()

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        if process.stdin is not None:
            process.stdin.close()
        try:
            async with asyncio.timeout(ENDING):
                await process.wait()
        except TimeoutError:
            pass
        finally:
            # Also what it started and left behind.
            _signal(process, signal.SIGKILL)
        await process.wait()


async def _well(client: Client, look: Target) -> bool:
    """Whether a process answers."""
    try:
        response = await client.send(look, deadline=HEALTH)
        try:
            await response.read()
        finally:
            response.close()
    except NetError:
        return False
    return response.status == 200


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
