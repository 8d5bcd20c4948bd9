"""How much a tree of processes uses, as the kernel tells it in a folder like /proc; read by the process that supervises it."""

from __future__ import annotations

import os
from collections.abc import Iterator


class Usage:
    """What the processes used when it was looked: how many threads, bytes of memory, bytes written to disks."""

    def __init__(self) -> None:
        self.threads = 0
        self.memory = 0
        self.written = 0


def usage(proc: int, pids: Iterator[int], limit: int) -> Usage:
    """What the processes `pids` use; memory that several of them share is counted once where all of it together passes `limit`.

    `proc`: a descriptor of the folder that tells of them. A process that has ended meanwhile uses nothing.
    """
    found = Usage()
    each: list[int] = []
    for pid in pids:
        told = _read(proc, f"{pid}/status")
        if not told:
            continue
        each.append(pid)
        found.threads += _number(told, b"\nThreads:")
        found.memory += 1024 * (_number(told, b"\nVmRSS:") + _number(told, b"\nVmSwap:"))
        found.written += written(_read(proc, f"{pid}/io"))
    if found.memory > limit:
        found.memory = sum(_share(proc, pid) for pid in each)
    return found


def written(io: bytes) -> int:
    """Bytes that went to disks, from the text of /proc/PID/io."""
    return max(0, _number(io, b"\nwrite_bytes:") - _number(io, b"\ncancelled_write_bytes:"))


def _share(proc: int, pid: int) -> int:
    """The memory of a process, a page that n processes share counted as its n-th part."""
    told = _read(proc, f"{pid}/smaps_rollup")
    if told:
        return 1024 * (_number(told, b"\nPss:") + _number(told, b"\nSwapPss:"))
    status = _read(proc, f"{pid}/status")
    return 1024 * (_number(status, b"\nVmRSS:") + _number(status, b"\nVmSwap:"))


def inside(proc: int) -> Iterator[int]:
    """All processes that a /proc of its own has."""
    return (int(name) for name in os.listdir(proc) if name.isdecimal())


def descendants(proc: int, root: int) -> Iterator[int]:
    """All processes that `root` started, and these, without itself."""
    parents: dict[int, list[int]] = {}
    for pid in inside(proc):
        told = _read(proc, f"{pid}/stat")
        if told:
            # pid (name, which may hold anything) state parent …
            parent = int(told[told.rfind(b")") + 2 :].split()[1])
            parents.setdefault(parent, []).append(pid)
    found = [root]
    for pid in found:
        found += parents.get(pid, ())
    return iter(found[1:])


def _read(proc: int, name: str) -> bytes:
    try:
        file = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
    except OSError:
        return b""
    try:
        return os.read(file, 16_384)
    except OSError:
        return b""
    finally:
        os.close(file)


def _number(text: bytes, word: bytes) -> int:
    """The number after a word at the start of a line; 0 without it."""
    _, found, rest = text.partition(word)
    digits = rest[:32].split() if found else ()
    return int(digits[0]) if digits and digits[0].lstrip(b"-").isdigit() else 0
