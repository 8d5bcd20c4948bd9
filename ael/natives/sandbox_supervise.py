"""Watching over a command: its outputs are read and cut, its limits looked at, and how it ended is told."""

from __future__ import annotations

import json
import math
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any, Final

from ael.natives import sandbox_watch
from ael.natives.sandbox_output import Kept

LINUX = sys.platform == "linux"
_TICK: Final = 0.05
_CHUNK: Final = 1 << 18


class Supervisor:
    """What both kinds have in common: the pipes, the clock, the limits that are watched."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec
        self.limits: dict[str, int] = spec["limits"]
        self.outputs: dict[int, Kept] = {}
        self.names: dict[str, Kept] = {}
        self.status: int | None = None
        self.answer: dict[str, Any] = {}
        self.stopped: str | None = None
        self.leave = False
        self.channel, self.far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET if LINUX else socket.SOCK_STREAM)

    def standard(self) -> tuple[int, int, int]:
        """Descriptors of the command's input, output and error output."""
        ends = []
        for name in ("stdout", "stderr"):
            own, theirs = os.pipe()
            os.set_blocking(own, False)
            self.outputs[own] = self.names[name] = Kept(self.limits["output"])
            ends.append(theirs)
        return self._input(), ends[0], ends[1]

    def begin(self) -> None:
        """Say that the command may act from now on: what is not told after this is lost."""
        os.write(1, b"started\n")

    def _input(self) -> int:
        if not self.spec["stdin"]:
            return os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        # A file without a name: the command reads it at its own pace, and nobody waits for it.
        file = os.memfd_create("stdin") if LINUX else _nameless()
        data = bytes.fromhex(self.spec["stdin"])
        while data:
            data = data[os.write(file, data) :]
        os.lseek(file, 0, os.SEEK_SET)
        return file

    def supervise(self, pid: int, usage: Callable[[], sandbox_watch.Usage], kill: Callable[[], None]) -> None:
        """Until the command has ended, or a limit is passed, or nobody waits for it any more."""
        began = time.monotonic()
        last = min(began + self.limits["time"] / 1000, self.limits["until"] or math.inf)
        poller = select.poll()
        watched = [0, self.channel.fileno(), *self.outputs]
        ended = os.pidfd_open(pid) if LINUX else -1
        for descriptor in (*watched, *([ended] if ended >= 0 else [])):
            poller.register(descriptor, select.POLLIN)
        looked = began
        done = False
        while True:
            for descriptor, _ in poller.poll(_TICK * 1000):
                if descriptor == 0:
                    self.leave = not os.read(0, 1)
                elif descriptor == ended:
                    done = True
                elif descriptor in self.outputs:
                    if not self._take(descriptor):
                        poller.unregister(descriptor)
                elif not self._hear():
                    poller.unregister(descriptor)
            done = done or (not LINUX and self.reaped(pid))
            now = time.monotonic()
            if done:
                break
            if self.leave or now >= last:
                self.stopped = "time"
            elif now - looked >= _TICK:
                looked = now
                self.stopped = self._passed(usage())
            if self.stopped is not None:
                kill()
                break
        self.answer["seconds"] = time.monotonic() - began

    def reaped(self, pid: int) -> bool:
        """Whether a child has ended, where only that can be asked; how it did is kept."""
        found, status = os.waitpid(pid, os.WNOHANG)
        self.status = status if found else self.status
        return found != 0

    def _passed(self, used: sandbox_watch.Usage) -> str | None:
        """The limit that is passed."""
        if used.threads > self.limits["processes"]:
            return "processes"
        if used.memory > self.limits["memory"]:
            return "memory"
        return "disk" if used.written > self.limits["disk"] else None

    def _take(self, descriptor: int) -> bool:
        """Read what is there of an output; False at its end."""
        try:
            data = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return True
        self.outputs[descriptor].feed(data)
        return bool(data)

    def _hear(self) -> bool:
        """Take a message of the sandbox; False when there comes none any more."""
        told = self.channel.recv(65_536)
        if told:
            word = json.loads(told)
            self.status = word.pop("status", self.status)
            self.answer.update(word)
        return bool(told)

    def finish(self) -> dict[str, Any]:
        """What is to be told, when nothing of the command is alive any more: so its outputs have an end."""
        for descriptor in self.outputs:
            while self._take(descriptor) and select.select([descriptor], [], [], 0)[0]:
                pass
        while select.select([self.channel], [], [], 0)[0] and self._hear():
            pass
        if "missing" in self.answer or "not_started" in self.answer:
            return self.answer
        killed = self.status is None or self.stopped is not None
        code = -signal.SIGKILL if killed or self.status is None else os.waitstatus_to_exitcode(self.status)
        self.answer["exit_code"], self.answer["signal"] = (code, None) if code >= 0 else (None, -code)
        self.answer["stopped"] = self.stopped
        for name, kept in self.names.items():
            self.answer[name], self.answer[f"{name}_cut"] = kept.text(), kept.cut
        return self.answer


def _nameless() -> int:
    """A file of its own that nobody finds."""
    path = f"/tmp/ael-{os.getpid()}-{time.monotonic_ns()}"
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    os.unlink(path)
    return file
