"""The four places of the orders service, and what has to be up for each of them. Read by `fleet.py` and `faults.py`."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import certs

WAIT = 300
"""Seconds that anything here may take."""
_PAUSE = 0.2
"""Seconds before what ended is started again."""


@dataclass(frozen=True)
class Place:
    """`deploy`: the name of its deployment, none for `deploy.ael`; `serve`: how the service is served, nothing where nobody has to."""

    name: str
    deploy: str = ""
    serve: tuple[str, str] | None = None

    @property
    def words(self) -> list[str]:
        """What `ael` is told."""
        return ["--deploy", self.deploy] if self.deploy else []

    @property
    def file(self) -> str:
        """Its deployment."""
        return f"deploy.{self.deploy}.ael" if self.deploy else "deploy.ael"

    def line(self, folder: Path) -> str:
        """What its deployment says of the service, at its end."""
        text = (folder / self.file).read_text(encoding="utf-8")
        return text[text.index("\nservice Orders") :].strip()

    def server(self, folder: Path) -> list[str]:
        """The words that serve the service at the port of the deployment; none where it is not served."""
        found = re.search(r"localhost:(\d+)", self.line(folder))
        if self.serve is None or found is None:
            return []
        protocol, port = self.serve
        return ["serve", ".", "--deploy", "orders", protocol, port, found[1]]


PLACES = (
    Place("in-process"),
    Place("process", "process"),
    Place("https", "https", ("--connect", "--port")),
    Place("grpc", "grpc", ("--grpc", "--grpc-port")),
)


class KeptUp:
    """A process that is started again whenever it ends, as an init system or an orchestrator would. `ready`: what it says when it is up."""

    def __init__(self, words: Sequence[str], folder: Path, ready: str) -> None:
        self._words, self._folder, self._ready = words, folder, ready
        self._up, self._over = threading.Event(), threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self._said: list[str] = []
        self._thread = threading.Thread(target=self._keep)

    def __enter__(self) -> KeptUp:
        self._thread.start()
        self._up.wait(WAIT)
        if not self._up.is_set() or self._over.is_set():
            self.__exit__()
            raise SystemExit("".join(self._said) or f"{' '.join(self._words)} did not start")
        return self

    def __exit__(self, *ended: object) -> None:
        self._over.set()
        # Once more where it was being started in this very moment.
        while self._thread.is_alive():
            if self._process is not None:
                self._process.terminate()
            self._thread.join(timeout=1)

    def _keep(self) -> None:
        while not self._over.is_set():
            with subprocess.Popen(
                self._words, cwd=self._folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            ) as process:
                self._process = process
                assert process.stdout is not None
                for line in process.stdout:
                    self._said.append(line)
                    if self._ready in line:
                        self._up.set()
            if not self._up.is_set():
                # It never was up: it would say the same again.
                self._over.set()
                self._up.set()
            self._over.wait(_PAUSE)


@contextmanager
def served(ael: str, place: Place, folder: Path) -> Iterator[None]:
    """Serve the orders of `folder` where the place asks for that, until the block ends. Keys and certificates are made for it."""
    os.environ.setdefault("DESK_TOKEN", secrets.token_hex(16))
    words = place.server(folder)
    if not words:
        yield
        return
    certs.make(folder / "certs")
    with KeptUp([ael, *words], folder, "listening"):
        yield


def run(words: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=WAIT)


def clear(folder: Path) -> None:
    """Forget what earlier runs left."""
    for name in ("runs.db", "warehouse.db"):
        for end in ("", "-wal", "-shm"):
            (folder / f"{name}{end}").unlink(missing_ok=True)
