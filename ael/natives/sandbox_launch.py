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
import signal
import socket
import struct
from functools import partial
from typing import Any, Final

from ael.natives import sandbox_calls as calls
from ael.natives import sandbox_inside, sandbox_supervise, sandbox_watch
from ael.natives.sandbox_plain import Plain
from ael.natives.sandbox_root import USER

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
    if sandbox_supervise.LINUX:
        calls.prctl("death signal", calls.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != spec["parent"]:
        os._exit(1)
    try:
        answer = _Sandbox(spec).run() if spec["sandboxed"] else Plain(spec).run()
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


class _Sandbox(sandbox_supervise.Supervisor):
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
        self.begin()
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
        with open(f"/proc/self/{name}", "w", encoding="utf-8") as file:
            file.write(text)
