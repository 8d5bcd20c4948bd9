"""Which system calls the sandbox refuses: a seccomp filter, written as the kernel's own small machine code.

What is listed here is refused, everything else goes through: a list of what is needed would break programs with every new C library,
and what is allowed acts inside of the other walls (namespaces, mounts, Landlock). The list is what attacks these walls or has no use
behind them.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Final

from ael.natives.sandbox_calls import MACHINE, PR_SET_SECCOMP, prctl

_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32: Final = 0x40000000

# Name -> (x86_64, aarch64); None where a machine does not have it.
_REFUSED: Final[dict[str, tuple[int | None, int | None]]] = {
    # Other processes' memory and descriptors.
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "process_madvise": (440, 440),
    # What is mounted, and other namespaces.
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "open_tree": (428, 428),
    "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "open_tree_attr": (467, 467), "unshare": (272, 97), "setns": (308, 268),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    # Keys of the kernel, programs in the kernel, and what watches it.
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "syslog": (103, 116), "fanotify_init": (300, 262), "lookup_dcookie": (212, 18),
    # Work that the kernel does outside of this filter.
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    # Memory that no limit counts.
    "memfd_secret": (447, 447), "msgget": (68, 186),
    # The machine itself.
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171),
    "sethostname": (170, 161), "setdomainname": (171, 162), "vhangup": (153, 58), "iopl": (172, None), "ioperm": (173, None),
    "modify_ldt": (154, None), "uselib": (134, None), "ustat": (136, None), "nfsservctl": (180, 42), "migrate_pages": (256, 238),
    "move_pages": (279, 239), "mbind": (237, 235), "set_mempolicy": (238, 237), "lsm_set_self_attr": (460, 460),
}  # fmt: skip
# Room on a disk without a byte written, which no limit counts; the C library then writes it.
_UNSUPPORTED: Final = {"fallocate": (285, 47)}
# These are answered as a kernel does that has no such call: the C library and programs then take the older way.
_ABSENT: Final = {"clone3": (435, 435), "memfd_create": (319, 279)}

_SHARED: Final = {"shmget": (29, 194)}
"""Refused where the memory of such segments cannot be bounded."""

_CLONE, _SOCKET, _SOCKETPAIR, _IOCTL = (56, 220), (41, 198), (53, 199), (16, 29)
_NEW_NAMESPACES: Final = 0x7E020000
_FAMILIES: Final = (1, 2, 10)
"""AF_UNIX, AF_INET, AF_INET6: without a network of its own these reach what is in the sandbox, and vsock would reach the host."""
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C

_EPERM, _ENOSYS, _EOPNOTSUPP, _EAFNOSUPPORT = 1, 38, 95, 97
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NR, _ARCH, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24


def _step(code: int, value: int, then: int = 0, other: int = 0) -> bytes:
    return struct.pack("=HBBI", code, then, other, value)


def program(*, shared: bool) -> bytes:
    """The filter for this machine; `shared`: whether segments of shared memory may be made."""
    column = 0 if MACHINE == "x86_64" else 1
    steps = [
        _step(_LOAD, _ARCH),
        _step(_EQUAL, _ARCHITECTURE[MACHINE], 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NR),
    ]
    if MACHINE == "x86_64":
        steps += [_step(_AT_LEAST, _X32, 0, 1), _step(_RETURN, _ERRNO | _ENOSYS)]
    shares = {} if shared else _SHARED
    for table, answer in ((_REFUSED, _EPERM), (shares, _EPERM), (_UNSUPPORTED, _EOPNOTSUPP), (_ABSENT, _ENOSYS)):
        for numbers in table.values():
            number = numbers[column]
            if number is not None:
                steps += [_step(_EQUAL, number, 0, 1), _step(_RETURN, _ERRNO | answer)]
    steps += _namespaces(_CLONE[column])
    for call in (_SOCKET, _SOCKETPAIR):
        steps += _families(call[column])
    steps += _values(_IOCTL[column], _SECOND_ARGUMENT, (_TIOCSTI, _TIOCLINUX))
    steps.append(_step(_RETURN, _ALLOW))
    return b"".join(steps)


def _namespaces(clone: int) -> list[bytes]:
    """`clone` makes processes and threads, but no namespaces."""
    return [
        _step(_EQUAL, clone, 0, 3),
        _step(_LOAD, _FIRST_ARGUMENT),
        _step(_ANY_BIT, _NEW_NAMESPACES, 0, 1),
        _step(_RETURN, _ERRNO | _EPERM),
        # Whether it was `clone` or not, the number is looked at again by the next question.
        _step(_LOAD, _NR),
    ]


def _families(call: int) -> list[bytes]:
    """Sockets of three families alone."""
    questions = [_step(_EQUAL, family, len(_FAMILIES) - index, 0) for index, family in enumerate(_FAMILIES)]
    body = [_step(_LOAD, _FIRST_ARGUMENT), *questions, _step(_RETURN, _ERRNO | _EAFNOSUPPORT)]
    return [_step(_EQUAL, call, 0, len(body)), *body, _step(_LOAD, _NR)]


def _values(call: int, where: int, values: tuple[int, ...]) -> list[bytes]:
    """A call with one of these values is refused."""
    questions = [
        _step(_EQUAL, value, len(values) - 1 - index, int(index == len(values) - 1)) for index, value in enumerate(values)
    ]
    body = [_step(_LOAD, where), *questions, _step(_RETURN, _ERRNO | _EPERM)]
    return [_step(_EQUAL, call, 0, len(body)), *body, _step(_LOAD, _NR)]


def install(*, shared: bool) -> None:
    """Filter the calls of this process and of all that it starts, for ever. Raises `OSError`."""
    code = program(shared=shared)
    steps = ctypes.create_string_buffer(code, len(code))
    told = struct.pack("=HxxxxxxQ", len(code) // 8, ctypes.addressof(steps))
    prctl("seccomp", PR_SET_SECCOMP, 2, ctypes.c_char_p(told))
