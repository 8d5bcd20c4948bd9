"""A program that is served by `ael serve` in a process of its own, with a provider that writes down what it does and when."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.programs import write
from tests.transports.places import TOKEN

PACK = 'pack shop {\n  version "1.0.0"\n  uses server/connect, server/grpc, server/mcp\n  extern "outside"\n}\n'
WHO = 'secret T = env("ORDERS_TOKEN")\ncaller client = bearer(secret("T"), tenant: "acme")\n'
LIMIT, LINE = 8, 8
"""Calls that the served program runs at once, and that wait in line."""

MAIN = """\
permission world.act

/// Do something outside that must not be done twice.
tool work(n: Int) -> Int
  needs world.act
  repeat never
  timeout 60s
  extern "outside:work"

/// What is outside says of a number, and one more.
pub node score(n: Int) -> Int fails Uncertain
  grants world.act
{
  let done = try work(n)
  done + 1
}
"""

OUTSIDE = '''\
"""What is outside: it notes what begins and what ends, in one file, in order."""

import asyncio
import os
from pathlib import Path

HERE = Path(__file__).parent
LEDGER = os.open(HERE / "ledger", os.O_APPEND | os.O_CREAT | os.O_WRONLY)


async def work(n, *, call):
    """Twice the number, after a moment; a number below zero waits for the file `go`."""
    os.write(LEDGER, f'{{"do": "begin", "n": {n}, "key": "{call.key}"}}\\n'.encode())
    ending = "cut"
    try:
        while n < 0 and not (HERE / "go").exists():
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.01)
        ending = "end"
        return 2 * n
    finally:
        os.write(LEDGER, f'{{"do": "{ending}", "n": {n}}}\\n'.encode())
'''


@dataclass(frozen=True)
class Note:
    """A line of the ledger: `do` is `begin`, `end` or `cut`."""

    do: str
    n: int


@dataclass
class Command:
    """`ael serve` at work in `folder`, whose standard error is in the file `said` there, from `since` on."""

    process: subprocess.Popen[bytes]
    folder: Path
    since: int
    port: int = 0
    rpc: int = 0

    @property
    def ledger(self) -> list[Note]:
        """What the provider wrote, in order."""
        file = self.folder / "ledger"
        lines = file.read_bytes().splitlines() if file.exists() else []
        return [Note(line["do"], line["n"]) for line in map(json.loads, lines)]

    def did(self, what: str) -> list[int]:
        """The numbers for which it noted this, in order."""
        return [note.n for note in self.ledger if note.do == what]

    @property
    def most(self) -> int:
        """The most calls that were inside of it at once."""
        inside = found = 0
        for note in self.ledger:
            inside += 1 if note.do == "begin" else -1
            found = max(found, inside)
        return found

    @property
    def said(self) -> str:
        """Its standard error."""
        return (self.folder / "said").read_bytes()[self.since :].decode()

    @property
    def memory(self) -> int:
        """Bytes of memory that it holds now."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    @property
    def files(self) -> int:
        """Files and sockets that it has open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def ends(self) -> int:
        """Its exit code, once it has ended by itself."""
        return self.process.wait(timeout=90)


@contextmanager
def command(folder: Path, deploy: str = "", main: str = MAIN, outside: str = OUTSIDE, *words: str) -> Iterator[Command]:
    """Serve the program over every protocol until the block ends; `deploy` is added to the deployment."""
    files = {"pack.ael": PACK, "main.ael": main, "deploy.ael": WHO + deploy, "outside.py": outside}
    write(folder, files)
    line = [sys.executable, "-m", "ael", "serve", str(folder), *(words or ("--port", "0", "--grpc-port", "0"))]
    with open(folder / "said", "ab") as said:
        since = said.tell()
        process = subprocess.Popen(line, stderr=said, env={**os.environ, "ORDERS_TOKEN": TOKEN})
    try:
        served = Command(process, folder, since)
        served.rpc = _port(served, r"listening for gRPC on 127\.0\.0\.1:(\d+)")
        served.port = _port(served, r"listening on http://127\.0\.0\.1:(\d+)")
        yield served
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()


def _port(served: Command, line: str) -> int:
    """The port that it says it listens on."""
    until = time.monotonic() + 90
    while time.monotonic() < until:
        if found := re.search(line, served.said):
            return int(found[1])
        assert served.process.poll() is None, served.said
        time.sleep(0.02)
    raise AssertionError(served.said)
