"""The studio as a process: it listens on this machine alone, says where, and ends at a signal."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn

from ael.data import dataclass
from ael.diagnostics.diagnostic import Bag
from ael.hosting.failure import HostError
from ael.hosting.runs import open_runs
from ael.hosting.secrets import Secrets
from ael.run.bindings import system_user
from ael.server.connection import Connection
from ael.server.listener import Server, bind
from ael.studio.app import Studio
from ael.studio.crew import Crew
from ael.studio.desk import Desk
from ael.studio.feed import Feed
from ael.studio.guard import Guard
from ael.studio.program import Program

HOST = "127.0.0.1"
_CONNECTIONS = 128
_LAST = 5.0
"""Seconds beyond the deployment's `drain` in which runs here end, or are given back."""


@dataclass(frozen=True)
class Asked:
    """What the command line says."""

    path: Path
    deploy: str | None
    store: Path | None
    port: int
    user: str | None
    read_only: bool
    browser: bool


class Unusable(Exception):
    """There is nothing to look at: a code, a sentence, and notes."""

    def __init__(self, code: str, message: str, *notes: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.notes = notes


def prepared(asked: Asked, bag: Bag) -> Program | None:
    """The program that is looked at. Problems of its deployment go to the bag, and None says that it is of no use."""
    program = Program(asked.path, asked.deploy, asked.store)
    return program if program.open(bag) else None


def _printed(address: str, first: bool) -> None:
    """The address is what the command is for: on standard output, and alone there. Further ones are for who needs them."""
    if first:
        print(address, flush=True)
    else:
        print(f"ael studio: opened; another browser opens {address}", file=sys.stderr, flush=True)


async def serve(
    asked: Asked, program: Program, stop: asyncio.Event | None = None, ready: Callable[[str, bool], None] = _printed
) -> None:
    """Serve until a signal, or `stop`; `ready` hears the address when connections are taken, and a further one each time that one was used.

    Raises `HostError` for a port that is taken, and `Unusable` where runs are kept in memory.
    """
    warnings: list[str] = []
    store = open_runs(program.deployment, Secrets(program.deployment), warnings)
    if store is None:
        kept = 'write where they are kept: `runs = sqlite("runs.db")`; or look into a file of runs: `--store runs.db`'
        raise Unusable("AEL0904", "the deployment keeps runs in memory, where the studio finds none", *(warnings or [kept]))
    desk = Desk(program, store, asked.user or system_user(), asked.read_only)
    try:
        # A store that cannot be used is told at once; one that goes away later is waited for.
        await desk.rows(limit=1)
        bound = bind(HOST, asked.port, known=True)
    except BaseException:
        await store.close()
        raise
    port = bound.getsockname()[1]

    def address(token: str) -> str:
        return f"http://{HOST}:{port}/?token={token}"

    def told(token: str) -> None:
        ready(address(token), False)

    guard = Guard(told)
    crew = Crew(lambda run, path, text: feed.said(run, path, text))
    feed = Feed(desk, crew)
    about = {"program": _name(program), "deploy": asked.deploy or "default", "evidence": program.deployment.runs.evidence}
    studio = Studio(desk, crew, guard, feed, about)
    config: Any = uvicorn.Config(
        studio, http=Connection, ws="none", lifespan="off", log_config=None, access_log=False, server_header=False,
        proxy_headers=False, limit_concurrency=_CONNECTIONS, timeout_graceful_shutdown=2,
    )  # fmt: skip
    server = Server(config)
    serving = asyncio.ensure_future(server.serve([bound]))
    ending = stop or asyncio.Event()
    stopped = asyncio.ensure_future(ending.wait())
    caught = _signals(ending)
    try:
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        ready(address(guard.token), True)
        if asked.browser:
            await asyncio.to_thread(webbrowser.open, address(guard.token))
        await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopped.cancel()
        feed.stop()
        server.should_exit = True
        await serving
        await crew.close(program.deployment.runs.drain + _LAST)
        await store.close()
        for number in caught:
            asyncio.get_running_loop().remove_signal_handler(number)


def _name(program: Program) -> str:
    opened = program.opened
    return opened.project.root.resolve().name if opened is not None else program.path.resolve().name


def _signals(ending: asyncio.Event) -> list[signal.Signals]:
    """The first signal ends it; the second ends the process at once."""
    if sys.platform == "win32":  # Ctrl-C comes as KeyboardInterrupt there
        return []
    told: list[int] = []

    def hear(number: signal.Signals) -> None:
        if told:
            os._exit(128 + number)
        told.append(number)
        os.write(2, b"\nael studio: ending; once more ends at once\n")
        ending.set()

    caught: list[signal.Signals] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            asyncio.get_running_loop().add_signal_handler(number, hear, number)
        except RuntimeError:  # not the main thread: whoever started it stops it
            return caught
        caught.append(number)
    return caught


__all__ = ["Asked", "HostError", "Unusable", "prepared", "serve"]
