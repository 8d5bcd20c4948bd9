"""A real `ael` process on a pseudo-terminal: what it prints there, and what is typed."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from tests.cli.conftest import clean_environment

WAIT = 30.0
"""Seconds after which something that never comes is given up."""


class Terminal:
    """`with Terminal([...], folder) as t`: `t.until("…")` reads to a text, `t.type("…")` types a line, `t.end()` ends it."""

    def __init__(self, words: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self._near, far = pty.openpty()
        self.seen = ""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ael", *words], cwd=folder, env={**clean_environment(folder), **(environment or {})},
            stdin=far, stderr=far, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        os.close(far)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        os.close(self._near)

    def until(self, text: str) -> str:
        """Read until `text` was printed; all that was seen so far."""
        end = time.monotonic() + WAIT
        while text not in self.seen:
            assert self._read(max(0.0, end - time.monotonic())), f"`{text}` never came; there came:\n{self.seen}"
        return self.seen

    def type(self, line: str) -> None:
        """Type a line."""
        os.write(self._near, f"{line}\n".encode())

    def signal(self, number: int) -> None:
        """Send the process a signal."""
        self.process.send_signal(number)

    def end(self) -> tuple[int, str]:
        """The exit code and the standard output."""
        out, _ = self.process.communicate(timeout=WAIT)
        while self._read(0.05):
            pass
        return self.process.returncode, out

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._near], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self._near, 65_536)
        except OSError:
            return False
        self.seen += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)
