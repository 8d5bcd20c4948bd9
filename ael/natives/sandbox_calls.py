"""The calls of the Linux kernel that Python has no function for. Standard library only: it runs in the process that becomes the sandbox."""

from __future__ import annotations

import ctypes
import os
import struct
from typing import Final

CLONE_NEWNS: Final = 0x00020000
CLONE_NEWCGROUP: Final = 0x02000000
CLONE_NEWUTS: Final = 0x04000000
CLONE_NEWIPC: Final = 0x08000000
CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWPID: Final = 0x20000000
CLONE_NEWNET: Final = 0x40000000

MS_NOSUID: Final = 2
MS_NODEV: Final = 4
MS_NOEXEC: Final = 8
MS_REC: Final = 0x4000
MS_PRIVATE: Final = 0x40000
MNT_DETACH: Final = 2

MOUNT_ATTR_RDONLY: Final = 1
MOUNT_ATTR_NOSUID: Final = 2
MOUNT_ATTR_NODEV: Final = 4
MOUNT_ATTR_NOEXEC: Final = 8

PR_SET_PDEATHSIG: Final = 1
PR_SET_DUMPABLE: Final = 4
PR_SET_SECCOMP: Final = 22
PR_CAPBSET_READ: Final = 23
PR_CAPBSET_DROP: Final = 24
PR_SET_SECUREBITS: Final = 28
PR_SET_CHILD_SUBREAPER: Final = 36
PR_SET_NO_NEW_PRIVS: Final = 38
PR_CAP_AMBIENT: Final = 47

_AT_FDCWD = -100
_AT_SYMLINK_NOFOLLOW = 0x100
_AT_EMPTY_PATH = 0x1000
_AT_RECURSIVE = 0x8000
_OPEN_TREE_CLONE = 1
_MOVE_MOUNT_F_EMPTY_PATH = 4
_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_VERSION_3 = 0x20080522
# The bits that keep root from getting capabilities by exec, and their locks.
_SECUREBITS = 0b1111

MACHINE: Final = os.uname().machine
NUMBERS: Final = {
    "x86_64": {"pivot_root": 155, "capset": 126},
    "aarch64": {"pivot_root": 41, "capset": 91},
}
"""Machines that there is a sandbox for -> numbers of their calls. Calls that are newer have the same number everywhere."""
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class Missing(Exception):
    """A part of the sandbox that this machine does not have. The message names the part."""


def _checked(what: str, result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(what: str, number: int, *arguments: object) -> int:
    """One system call. Raises `OSError`."""
    given = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return _checked(what, int(_libc.syscall(ctypes.c_long(number), *given)))


def prctl(what: str, option: int, value: int = 0, third: object = 0) -> int:
    """`prctl`. Raises `OSError`."""
    last = ctypes.c_ulong(third) if isinstance(third, int) else third
    return _checked(what, int(_libc.prctl(option, ctypes.c_ulong(value), last, ctypes.c_ulong(0), ctypes.c_ulong(0))))


def unshare(what: str, flags: int) -> None:
    """Leave namespaces for new ones. Raises `OSError`."""
    _checked(what, int(_libc.unshare(flags)))


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """`mount`. Raises `OSError`."""
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind, options)]
    result = _libc.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3])
    _checked(f"mount {target}", int(result))


def clone_mounts(path: str, attributes: int) -> int:
    """A detached copy of what is mounted at `path`, no link, with all below and these attributes. Gives its descriptor."""
    flags = _OPEN_TREE_CLONE | _AT_RECURSIVE | _AT_SYMLINK_NOFOLLOW | os.O_CLOEXEC
    tree = syscall(f"open_tree {path}", _OPEN_TREE, _AT_FDCWD, os.fsencode(path), flags)
    told = struct.pack("=QQQQ", attributes, 0, 0, 0)
    syscall(f"mount_setattr {path}", _MOUNT_SETATTR, tree, b"", _AT_EMPTY_PATH | _AT_RECURSIVE, told, len(told))
    return tree


def read_only(path: str) -> None:
    """Let nothing be written to the mount at `path`; what is mounted below it stays as it is."""
    told = struct.pack("=QQQQ", MOUNT_ATTR_RDONLY, 0, 0, 0)
    syscall(f"mount_setattr {path}", _MOUNT_SETATTR, _AT_FDCWD, os.fsencode(path), 0, told, len(told))


def attach(tree: int, path: str) -> None:
    """Mount a detached copy at `path`, and close its descriptor."""
    syscall(f"move_mount {path}", _MOVE_MOUNT, tree, b"", _AT_FDCWD, os.fsencode(path), _MOVE_MOUNT_F_EMPTY_PATH)
    os.close(tree)


def pivot_root(folder: str) -> None:
    """Make `folder`, a mount point, the root; what was the root is gone."""
    os.chdir(folder)
    syscall("pivot_root", NUMBERS[MACHINE]["pivot_root"], b".", b".")
    _checked("umount of the old root", int(_libc.umount2(b".", MNT_DETACH)))
    os.chdir("/")


def drop_capabilities() -> None:
    """Give up all capabilities, for ever: none can come back by exec."""
    prctl("securebits", PR_SET_SECUREBITS, _SECUREBITS)
    for capability in range(64):
        try:
            prctl("capability", PR_CAPBSET_READ, capability)
        except OSError:
            break
        prctl("capability", PR_CAPBSET_DROP, capability)
    prctl("ambient capabilities", PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL)
    header = struct.pack("=II", _CAPABILITY_VERSION_3, 0)
    syscall("capset", NUMBERS[MACHINE]["capset"], header, bytes(24))


def close_from(lowest: int) -> None:
    """Close every descriptor from `lowest` on."""
    os.closerange(lowest, max(lowest, os.sysconf("SC_OPEN_MAX")))
