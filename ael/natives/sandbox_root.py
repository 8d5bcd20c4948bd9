"""What the sandbox sees of files: a new root with the system's programs, the workspace, a /tmp of its own and nothing else.

It is built in mounts of its own, of which nothing outside ever sees anything, and which are gone with the last process in them.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from ael.natives import sandbox_calls as calls

SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
_SETTINGS: Final = (
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime", "/etc/timezone",
    "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted",
    "/etc/mime.types", "/etc/services", "/etc/protocols", "/etc/terminfo", "/etc/os-release", "/etc/fonts", "/etc/perl",
)  # fmt: skip
# What run times keep there under a name with their version.
_VERSIONED: Final = ("java-", "python3")
_RESOLVER: Final = ("/etc/resolv.conf", "/etc/gai.conf")
_DEVICES: Final = ("null", "zero", "full", "random", "urandom")
# What the kernel tells of itself in /proc that is nobody's business here.
_HIDDEN: Final = ("acpi", "asound", "bus", "fs", "irq", "kcore", "keys", "latency_stats", "scsi", "sched_debug", "sysrq-trigger",
                  "sysvipc", "timer_list", "timer_stats", "kmsg", "key-users", "kpagecount", "kpageflags", "config.gz")  # fmt: skip

USER: Final = 1000
_BASE: Final = "/tmp"
_FILES: Final = {
    "/etc/passwd": "root:x:0:0::/:/bin/false\nsandbox:x:{user}:{user}::{home}:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n",
    "/etc/group": "root:x:0:\nsandbox:x:{user}:\nnogroup:x:65534:\n",
    "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
_READ_ONLY: Final = calls.MOUNT_ATTR_RDONLY | calls.MOUNT_ATTR_NOSUID | calls.MOUNT_ATTR_NODEV


class View:
    """The new root while it is built. `kept`: what in the workspace is only read; `processes`: the largest number of processes in it;
    `scratch`: bytes of its /tmp."""

    def __init__(
        self,
        workspace: str,
        read: Sequence[str],
        kept: Sequence[str],
        home: str,
        *,
        writable: bool,
        network: bool,
        scratch: int,
        processes: int,
    ) -> None:
        self._workspace = workspace
        self._read = read
        self._kept = kept
        self._home = home
        self._writable = writable
        self._network = network
        self._scratch = scratch
        self._processes = processes
        self.shown: list[str] = []
        """What is seen of the system, as the sandbox names it."""
        self.bounded = {"proc": False, "pids": False, "shared": False}
        """Whether there is a /proc, and which of the kernel's own bounds hold: of processes, and of segments of shared memory."""

    def build(self) -> None:
        """Make it and go there. Raises `OSError`."""
        calls.mount(None, "/", None, calls.MS_REC | calls.MS_PRIVATE)
        trees = self._trees()
        calls.mount("tmpfs", _BASE, "tmpfs", calls.MS_NOSUID | calls.MS_NODEV, "mode=0755,size=4m,nr_inodes=4096")
        self._own()
        for path, tree in sorted(trees, key=lambda each: len(PurePosixPath(each[0]).parts)):
            _place(path, tree)
        self._devices_and_processes()
        calls.pivot_root(_BASE)
        calls.read_only("/")

    def _trees(self) -> list[tuple[str, int]]:
        """What of the old root is seen in the new one, each as a detached copy: taken before anything covers it."""
        found: list[tuple[str, int]] = []
        versions = [f"/etc/{name}" for name in os.listdir("/etc") if name.startswith(_VERSIONED)]
        given = (*SYSTEM, *_SETTINGS, *versions, *(_RESOLVER if self._network else ()))
        for path in given:
            # A link such as /bin -> usr/bin is made anew.
            if os.path.exists(path) and not (path in SYSTEM and os.path.islink(path)):
                found.append((path, calls.clone_mounts(os.path.realpath(path), _READ_ONLY)))
                self.shown.append(path)
        for path in self._read:
            found.append((path, calls.clone_mounts(path, _READ_ONLY)))
            self.shown.append(path)
        attributes = calls.MOUNT_ATTR_NOSUID | calls.MOUNT_ATTR_NODEV | (0 if self._writable else calls.MOUNT_ATTR_RDONLY)
        found.append((self._workspace, calls.clone_mounts(self._workspace, attributes)))
        found.extend((path, calls.clone_mounts(path, _READ_ONLY)) for path in self._kept)
        devices = (f"/dev/{name}" for name in _DEVICES)
        # Read-only keeps their modes and owners; what is written to a device goes through all the same.
        found.extend((path, calls.clone_mounts(path, calls.MOUNT_ATTR_NOSUID | calls.MOUNT_ATTR_RDONLY)) for path in devices)
        return found

    def _own(self) -> None:
        """What is the sandbox's own: folders, a few files, links."""
        for folder in ("etc", "dev", "proc", "tmp", "run", "var"):
            os.mkdir(f"{_BASE}/{folder}", 0o755)
        calls.mount(
            "tmpfs", f"{_BASE}/tmp", "tmpfs", calls.MS_NOSUID | calls.MS_NODEV, f"mode=1777,size={self._scratch},nr_inodes=65536"
        )
        os.mkdir(f"{_BASE}{self._home}", 0o700)
        os.mkdir(f"{_BASE}/tmp/.shm", 0o700)
        for path, text in _FILES.items():
            with open(f"{_BASE}{path}", "x", encoding="utf-8") as file:
                file.write(text.format(user=USER, home=self._home))
        for name, target in (("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"), ("stdout", "/proc/self/fd/1"),
                             ("stderr", "/proc/self/fd/2"), ("shm", "/tmp/.shm")):  # fmt: skip
            os.symlink(target, f"{_BASE}/dev/{name}")
        os.symlink("/tmp", f"{_BASE}/var/tmp")
        for path in SYSTEM:
            if os.path.islink(path):
                os.symlink(os.readlink(path), f"{_BASE}{path}")
                self.shown.append(path)

    def _devices_and_processes(self) -> None:
        proc = f"{_BASE}/proc"
        try:
            calls.mount("proc", proc, "proc", calls.MS_NOSUID | calls.MS_NODEV | calls.MS_NOEXEC)
        except PermissionError:
            # In a container whose own /proc is covered in part the kernel gives no whole one: then there is none.
            return
        self.bounded["proc"] = True
        # Before 6.14 this is a setting of the whole machine, which root could make. The least that the kernel takes is 301.
        if _release() >= (6, 14):
            self.bounded["pids"] = _told(f"{proc}/sys/kernel/pid_max", max(301, self._processes + 64))
        self.bounded["shared"] = _told(f"{proc}/sys/kernel/shmall", max(1, self._scratch // 4096))
        empty = f"{_BASE}/run/empty"
        os.mkdir(empty, 0o555)
        for name in _HIDDEN:
            path = f"{proc}/{name}"
            if os.path.isdir(path):
                calls.attach(calls.clone_mounts(empty, _READ_ONLY), path)
            elif os.path.exists(path):
                calls.attach(calls.clone_mounts("/dev/null", calls.MOUNT_ATTR_RDONLY), path)
        calls.read_only(proc)


def _place(path: str, tree: int) -> None:
    """Mount a copy at its path in the new root."""
    target = f"{_BASE}{path}"
    if os.path.lexists(target):
        calls.attach(tree, target)
        return
    os.makedirs(os.path.dirname(target), 0o755, exist_ok=True)
    if stat.S_ISDIR(os.fstat(tree).st_mode):
        os.mkdir(target, 0o755)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    calls.attach(tree, target)


def _release() -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _told(path: str, value: int) -> bool:
    """Whether a setting of the kernel that is this sandbox's own could be made."""
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(str(value))
    except OSError:
        return False
    return True
