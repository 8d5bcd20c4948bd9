"""What happens on the sandbox's own side: its first process builds the walls, starts the command, and takes leave of what has ended.

When the first process of a namespace ends, for whatever reason, the kernel ends all others in it: nothing outlives the command, whatever
it started in the background. The first process itself dies with the one that supervises it.
"""

from __future__ import annotations

import array  # noqa: F401 - `socket` imports it when descriptors are sent, which is when this Python's files are out of sight
import contextlib
import errno
import fcntl
import json
import mmap
import os
import resource
import signal
import socket
import struct
from typing import Any, Final

from ael.natives import sandbox_calls as calls
from ael.natives import sandbox_filter, sandbox_landlock, sandbox_watch
from ael.natives.sandbox_root import View

_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1
_WORDS: Final = {
    errno.ENOENT: "there is no such program in the sandbox, or what it needs to start is not there",
    errno.EACCES: "it may not be executed",
    errno.ENOEXEC: "it is no program of this machine",
    errno.E2BIG: "its arguments and variables are too long",
}


def first(spec: dict[str, Any], channel: socket.socket, standard: tuple[int, int, int], reaped: mmap.mmap) -> None:
    """The life of the sandbox's first process; never comes back.

    `channel`: to the process that supervises, `standard`: descriptors of the command's input and outputs, `reaped`: where it tells the
    bytes that ended processes wrote.
    """
    try:
        calls.prctl("death signal", calls.PR_SET_PDEATHSIG, signal.SIGKILL)
        _expendable()
        # Who died before that was said does not say `go`.
        if channel.recv(16) != b"go":
            os._exit(1)
        try:
            layers, folders = _walls(spec)
        except OSError as error:
            _say(channel, {"missing": error.strerror or str(error)})
            os._exit(1)
        io = os.open("/proc/self/io", os.O_RDONLY | os.O_CLOEXEC) if os.path.exists("/proc/self/io") else -1
        calls.prctl("dumpable", calls.PR_SET_DUMPABLE, 0)
        calls.prctl("death signal", calls.PR_SET_PDEATHSIG, signal.SIGKILL)
        socket.send_fds(channel, [json.dumps({"layers": layers}).encode()], folders)
        if spec["probe"]:
            os._exit(0)
        _start_and_wait(spec, channel, standard, io, reaped)
    except Exception as error:
        _say(channel, {"missing": f"{type(error).__name__}: {error}"})
    finally:
        os._exit(1)


def _walls(spec: dict[str, Any]) -> tuple[dict[str, Any], list[int]]:
    """Build them from the outside in. Gives the layers that are there, and descriptors of /tmp and, if there is one, /proc.

    Raises `OSError`.
    """
    socket.sethostname("sandbox")
    if not spec["network"]:
        _loopback()
    limits = spec["limits"]
    view = View(
        spec["root"],
        spec["read"],
        spec["kept"],
        spec["home"],
        writable=spec["writable"],
        network=spec["network"],
        scratch=limits["memory"] // 2,
        processes=limits["processes"],
    )
    view.build()
    seen = ("/tmp", "/proc") if view.bounded["proc"] else ("/tmp",)
    folders = [os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) for path in seen]
    calls.drop_capabilities()
    calls.prctl("no_new_privs", calls.PR_SET_NO_NEW_PRIVS, 1)
    writable = ["/tmp", *([spec["root"]] if spec["writable"] else [])]
    readable = [*view.shown, "/etc", "/proc", "/dev", spec["root"]]
    landlock = sandbox_landlock.restrict(
        readable, writable, [f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom")]
    )
    sandbox_filter.install(shared=view.bounded["shared"])
    return {"landlock": landlock, **view.bounded}, folders


def _loopback() -> None:
    """The only network there is: servers and clients of a test, both in the sandbox, find each other."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))


def _start_and_wait(
    spec: dict[str, Any], channel: socket.socket, standard: tuple[int, int, int], io: int, reaped: mmap.mmap
) -> None:
    command = os.fork()
    if command == 0:
        become(spec, channel, standard)
    for descriptor in standard:
        os.close(descriptor)
    while True:
        pid, status = os.waitpid(-1, 0)
        if io >= 0:
            reaped[:8] = struct.pack("=Q", sandbox_watch.written(os.pread(io, 4096, 0)))
        if pid == command:
            _say(channel, {"status": status})
            os._exit(0)


def become(spec: dict[str, Any], channel: socket.socket, standard: tuple[int, int, int]) -> None:
    """Turn this process into the command; never comes back."""
    try:
        os.setsid()
        for number, descriptor in enumerate(standard):
            os.dup2(descriptor, number)
        _enter(spec["root"], spec["folder"])
        for signal_number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
            signal.signal(signal_number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.umask(0o022)
        if not spec["sandboxed"]:
            _expendable()
        _limit(spec["limits"], sandboxed=spec["sandboxed"])
        os.execve(spec["argv"][0], spec["argv"], spec["environment"])
    except NotADirectoryError as error:
        _say(channel, {"not_started": str(error)})
    except OSError as error:
        _say(channel, {"not_started": _WORDS.get(error.errno or 0, error.strerror or "it cannot be started")})
    except Exception as error:
        _say(channel, {"not_started": f"{type(error).__name__}: {error}"})
    finally:
        os._exit(127)


def _expendable() -> None:
    """Where the memory of the machine runs out, what runs here goes first."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="utf-8") as file:
        file.write("1000")


def _enter(root: str, folder: str) -> None:
    """Go to a folder of the workspace, also where links lead to it; one that leads elsewhere is refused."""
    try:
        os.chdir(os.path.join(root, folder))
        here = os.getcwd()
    except OSError as error:
        raise NotADirectoryError(f"the workspace has no folder `{folder}`") from error
    if here != root and not here.startswith(root.rstrip("/") + "/"):
        raise NotADirectoryError(f"the folder `{folder}` is outside of the workspace")


def _limit(limits: dict[str, int], *, sandboxed: bool) -> None:
    seconds = max(1, -(-limits["cpu"] // 1000))
    wanted = [
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_CPU, seconds, seconds + 1),
        (resource.RLIMIT_DATA, limits["memory"], limits["memory"]),
        (resource.RLIMIT_FSIZE, limits["file"], limits["file"]),
        (resource.RLIMIT_NOFILE, limits["files"], limits["files"]),
    ]
    if sandboxed:
        # The processes of this user namespace: a few more than are let live, so that a storm is seen and ended, not only slowed.
        most = limits["processes"] + 64
        wanted.append((resource.RLIMIT_NPROC, most, most))
    for kind, soft, hard in wanted:
        _, there = resource.getrlimit(kind)
        if there != resource.RLIM_INFINITY:
            soft, hard = min(soft, there), min(hard, there)
        resource.setrlimit(kind, (soft, hard))


def _say(channel: socket.socket, word: dict[str, Any]) -> None:
    channel.send(json.dumps(word).encode())
