"""The second wall around files: what Landlock lets a process open, also where a mount would have let more through."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from typing import Final

from ael.natives.sandbox_calls import syscall

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION = 1
_BENEATH = 1

_EXECUTE, _WRITE, _READ_FILE, _READ_FOLDER = 1, 2, 4, 8
_ALL_OF_1: Final = (1 << 13) - 1
_REFER, _TRUNCATE, _IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
_SCOPES: Final = 0b11
"""No abstract Unix sockets and no signals beyond the sandbox."""
_OF_FILES: Final = _EXECUTE | _WRITE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
READ: Final = _EXECUTE | _READ_FILE | _READ_FOLDER


def version() -> int:
    """Landlock's ABI here; 0 where there is none."""
    try:
        return syscall("landlock", _CREATE, 0, 0, _VERSION)
    except OSError:
        return 0


def restrict(readable: Iterable[str], writable: Iterable[str], devices: Iterable[str]) -> int:
    """Confine this process and all that it starts to these paths. Gives the ABI that did it, 0 for none. Raises `OSError`."""
    abi = version()
    if abi == 0:
        return 0
    handled = _ALL_OF_1
    for least, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEVICE)):
        handled |= right if abi >= least else 0
    told = struct.pack("=QQQ", handled, 0, _SCOPES if abi >= 6 else 0)
    # Older kernels refuse more bytes than they know, whatever is in them is zero or not.
    told = told[: 24 if abi >= 6 else 16 if abi >= 4 else 8]
    rules = syscall("landlock_create_ruleset", _CREATE, told, len(told), 0)
    try:
        # Folders may be listed anywhere: what is to be seen of them has been decided by what is mounted.
        for paths, rights in (
            (["/"], _READ_FOLDER),
            (readable, READ),
            (writable, handled),
            (devices, _WRITE | _READ_FILE | _TRUNCATE),
        ):
            for path in paths:
                _allow(rules, path, rights & handled)
        syscall("landlock_restrict_self", _RESTRICT, rules, 0)
    finally:
        os.close(rules)
    return abi


def _allow(rules: int, path: str, rights: int) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not os.path.isdir(path):
            rights &= _OF_FILES
        rule = struct.pack("=Qi", rights, place)
        syscall(f"landlock_add_rule {path}", _ADD, rules, _BENEATH, rule, 0)
    finally:
        os.close(place)
