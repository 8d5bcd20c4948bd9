"""The process that makes a sandbox, supervises it, and tells how it ended. AEL starts one for each command.

On its standard input comes the order, and then nothing: that the input ends is how it learns that AEL is gone or wants no answer any
more. On its standard output goes one JSON object. It reads the command's outputs itself, so that AEL never holds more of them than is
kept.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from ael.natives import sandbox_calls as calls
from ael.natives import sandbox_inside, sandbox_watch
from ael.natives.sandbox_output import Kept
from ael.natives.sandbox_root import USER

_TICK: Final = 0.05
_CHUNK: Final = 1 << 18
_NAMESPACES: Final = (
    ("user namespaces", calls.CLONE_NEWUSER),
    ("namespaces for mounts, processes and IPC", calls.CLONE_NEWNS | calls.CLONE_NEWPID | calls.CLONE_NEWIPC | calls.CLONE_NEWUTS
     | calls.CLONE_NEWCGROUP),
)  # fmt: skip


def main() -> None:
    """Read the order, do it, tell the end."""
    os.closerange(3, 4096)
    size = struct.unpack("=I", _exactly(4))[0]
    spec = json.loads(_exactly(size))
    if sys.platform == "linux":
        calls.prctl("death signal", calls.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != spec["parent"]:
        os._exit(1)
    try:
        answer = _Sandbox(spec).run() if spec["sandboxed"] else _Plain(spec).run()
    except calls.Missing as missing:
        answer = {"missing": str(missing)}
    except Exception as error:
        answer = {"missing": f"{type(error).__name__}: {error}"}
    told = json.dumps(answer).encode()
    while told:
        told = told[os.write(1, told) :]


def _exactly(size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = os.read(0, size - len(data))
        if not more:
            os._exit(1)
        data += more
    return data


class _Supervisor:
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
        self.channel, self.far = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_SEQPACKET if sys.platform == "linux" else socket.SOCK_DGRAM
        )

    def standard(self) -> tuple[int, int, int]:
        """Descriptors of the command's input, output and error output."""
        ends = []
        for name in ("stdout", "stderr"):
            own, theirs = os.pipe()
            os.set_blocking(own, False)
            self.outputs[own] = self.names[name] = Kept(self.limits["output"])
            ends.append(theirs)
        return self._input(), ends[0], ends[1]

    def _input(self) -> int:
        if not self.spec["stdin"]:
            return os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        # A file without a name: the command reads it at its own pace, and nobody waits for it.
        file = os.memfd_create("stdin") if sys.platform == "linux" else os.open("/tmp", os.O_RDWR | getattr(os, "O_TMPFILE", 0))
        data = bytes.fromhex(self.spec["stdin"])
        while data:
            data = data[os.write(file, data) :]
        os.lseek(file, 0, os.SEEK_SET)
        return file

    def supervise(self, pid: int, usage: Callable[[], sandbox_watch.Usage], kill: Callable[[], None]) -> None:
        """Until the command has ended, or a limit is passed, or nobody waits for it any more."""
        began = time.monotonic()
        poller = select.poll()
        watched = [0, self.channel.fileno(), *self.outputs]
        ended = os.pidfd_open(pid) if sys.platform == "linux" else -1
        for descriptor in (*watched, *([ended] if ended >= 0 else [])):
            poller.register(descriptor, select.POLLIN)
        looked = began
        done = False
        while not done:
            for descriptor, event in poller.poll(_TICK * 1000):
                if descriptor == 0:
                    self.leave = not os.read(0, 1)
                elif descriptor == ended:
                    done = True
                elif descriptor in self.outputs:
                    if not self._take(descriptor):
                        poller.unregister(descriptor)
                elif not self._hear():
                    poller.unregister(descriptor)
                del event
            now = time.monotonic()
            if self.leave or now - began >= self.limits["time"] / 1000:
                self.stopped = "time"
            elif now - looked >= _TICK:
                looked = now
                self.stopped = self._passed(usage())
            if self.stopped is not None:
                kill()
                break
        self.answer["seconds"] = time.monotonic() - began

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


class _Sandbox(_Supervisor):
    """A command behind all walls."""

    def run(self) -> dict[str, Any]:
        if calls.MACHINE not in calls.NUMBERS:
            raise calls.Missing(f"there is no sandbox for machines of the kind {calls.MACHINE}")
        # This process goes into the new root with the first of the sandbox, so it takes along what it needs of the old one.
        outer = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._leave_namespaces()
        standard = self.standard()
        reaped = mmap.mmap(-1, mmap.PAGESIZE)
        first = os.fork()
        if first == 0:
            self.channel.close()
            for descriptor in (0, 1, outer, *self.outputs):
                os.close(descriptor)
            sandbox_inside.first(self.spec, self.far, standard, reaped)
        self.far.close()
        for descriptor in standard:
            os.close(descriptor)
        self.channel.send(b"go")
        told, folders, _, _ = socket.recv_fds(self.channel, 65_536, 2)
        self.answer.update(json.loads(told or b'{"missing": "the first process of the sandbox died"}'))
        if "missing" not in self.answer and not self.spec["probe"]:
            usage = partial(_usage, first, outer, folders, reaped, self.limits["memory"])
            self.supervise(first, usage, partial(os.kill, first, signal.SIGKILL))
        os.waitpid(first, 0)
        return self.answer if self.spec["probe"] else self.finish()

    def _leave_namespaces(self) -> None:
        """Raises `Missing`."""
        user, group = os.geteuid(), os.getegid()
        # Other groups give a command nothing but what they have outside. Only root can leave them.
        with contextlib.suppress(PermissionError):
            os.setgroups([])
        network = () if self.spec["network"] else (("network namespaces", calls.CLONE_NEWNET),)
        for what, flags in (*_NAMESPACES, *network):
            try:
                calls.unshare(what, flags)
                if flags == calls.CLONE_NEWUSER:
                    _map(user, group)
            except OSError as error:
                raise calls.Missing(f"{what}: {os.strerror(error.errno or 0)}") from error
        calls.prctl("death signal", calls.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != self.spec["parent"]:
            os._exit(1)


def _usage(first: int, outer: int, folders: list[int], reaped: mmap.mmap, most: int) -> sandbox_watch.Usage:
    """What all in the sandbox use, but its first process, which others cannot look into and which tells of itself in `reaped`.

    `folders`: its /tmp and, if it has one, its /proc; else `outer`, that of the machine, tells who descends from the first.
    """
    if len(folders) > 1:
        proc = folders[1]
        pids = (pid for pid in sandbox_watch.inside(proc) if pid != 1)
        used = sandbox_watch.usage(proc, pids, most)
    else:
        used = sandbox_watch.usage(outer, sandbox_watch.descendants(outer, first), most)
    used.written += struct.unpack("=Q", reaped[:8])[0]
    room = os.fstatvfs(folders[0])
    used.memory += (room.f_blocks - room.f_bfree) * room.f_frsize
    return used


def _map(user: int, group: int) -> None:
    """Inside, everything runs as one user without rights, who is the one that runs AEL."""
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{USER} {user} 1"),
        ("gid_map", f"{USER} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


class _Plain(_Supervisor):
    """A command without walls, because the deployment says so: its limits hold, and what it started is ended with it."""

    def run(self) -> dict[str, Any]:
        if sys.platform == "linux":
            calls.prctl("subreaper", calls.PR_SET_CHILD_SUBREAPER, 1)
        standard = self.standard()
        command = os.fork()
        if command == 0:
            if sys.platform == "linux":
                calls.prctl("death signal", calls.PR_SET_PDEATHSIG, signal.SIGKILL)
            sandbox_inside.become(self.spec, self.far, standard)
        self.far.close()
        for descriptor in standard:
            os.close(descriptor)
        self.supervise(command, self._usage, lambda: None)
        self._end(command)
        return self.finish()

    def _usage(self) -> sandbox_watch.Usage:
        if sys.platform != "linux":
            return sandbox_watch.Usage()
        proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return sandbox_watch.usage(proc, sandbox_watch.descendants(proc, os.getpid()), self.limits["memory"])
        finally:
            os.close(proc)

    def _end(self, command: int) -> None:
        """Kill everything that is left. What forks faster than it is killed is stopped first."""
        proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        while True:
            left = list(sandbox_watch.descendants(proc, os.getpid()))
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in left:
                    # The command itself is not reaped yet, so its number is nobody else's.
                    _signal(pid, number, spare=self.stopped is None and number == signal.SIGSTOP and pid == command)
            if not self._reap(command):
                return

    def _reap(self, command: int) -> bool:
        """Take leave of all that has ended; False when there is nobody left."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    time.sleep(0.002)
                    return True
                if pid == command:
                    self.status = status
        except ChildProcessError:
            return False


def _signal(pid: int, number: int, *, spare: bool) -> None:
    if not spare:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


if __name__ == "__main__":
    main()
