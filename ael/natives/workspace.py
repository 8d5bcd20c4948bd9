"""A folder that a program may use, and that no path, link or race leads out of.

Every file is opened from the root down, one part at a time, each relative to the folder before it, which is held open (`openat` with
`O_NOFOLLOW`). No link is followed and no `..` exists, so whatever others rename or swap meanwhile, what is opened was below the root.
Only regular files are read and written: a device, a socket or a pipe is refused before it is opened.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ael.natives.workspace_names import outside, parts_of, shown
from ael.types.fault import Failure, Fault, FaultKind

MAX_FILE = 1 << 20
"""The largest file that is read or written, in bytes, where the deployment says nothing else."""
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0)
_BLOCK = 1 << 18
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class Content(NamedTuple):
    """A file as it was read in one go. `version` is unlike that of any other content; `state` is what the file system said of it."""

    data: bytes
    version: str
    state: os.stat_result


class Workspace:
    """`root`: an absolute path; `write`: whether anything may be changed; `allowed`: folded names that would be kept from programs
    otherwise; `limit`: the largest file in bytes.

    All methods raise `Failure` with a declared error of `std/files`, or `Fault` for a disk that is full or broken.
    """

    def __init__(self, root: Path, *, write: bool = False, allowed: Collection[str] = (), limit: int = MAX_FILE) -> None:
        self.root = root
        self.write = write
        self.allowed = frozenset(allowed)
        self.limit = limit
        if os.open not in os.supports_dir_fd or not hasattr(os, "O_NOFOLLOW"):
            raise Fault(
                FaultKind.UNAVAILABLE, "this system cannot open files relative to a folder, and so has no workspaces", final=True
            )

    def parts(self, path: str) -> tuple[str, ...]:
        """The parts of a path. Raises `Failure` (OutsideWorkspace)."""
        return parts_of(path, self.allowed)

    @contextmanager
    def folder(self, parts: tuple[str, ...], path: str) -> Iterator[int]:
        """The open folder at `parts`."""
        try:
            at = os.open(self.root, _FOLDER & ~os.O_NOFOLLOW)
        except OSError as error:
            what = f"the workspace's folder `{self.root.name}` cannot be opened: {error.strerror}"
            note = "the deployment names it in its `files` line, and it has to be there"
            raise Fault(FaultKind.UNAVAILABLE, f"{what}; {note}", final=True) from None
        try:
            for part in parts:
                below = opened_folder(at, part, path)
                os.close(at)
                at = below
            yield at
        finally:
            os.close(at)

    @contextmanager
    def parent(self, path: str) -> Iterator[tuple[int, str]]:
        """The open folder that `path` is in, and its own name."""
        *above, name = self.parts(path) or ("",)
        if not name:
            raise Failure("NotFile", {"path": shown(path), "reason": "it is the workspace's own folder"})
        with self.folder(tuple(above), path) as at:
            yield at, name

    def read(self, path: str, limit: int | None = None) -> Content:
        """A whole file of at most `limit` bytes."""
        with self.parent(path) as (at, name):
            return read_in(at, name, path, self.limit if limit is None else min(limit, self.limit))

    def state(self, path: str) -> os.stat_result | None:
        """What the file system says of a path; None where there is nothing. A link is itself."""
        parts = self.parts(path)
        if not parts:
            with self.folder((), path) as at:
                return os.fstat(at)
        try:
            with self.parent(path) as (at, name):
                return state_in(at, name, path)
        except Failure as failure:
            if failure.error == "NotFound":
                return None
            raise

    def changes(self, path: str) -> None:
        """Refuse a change where the deployment allows none. Raises `Failure` (ReadOnly)."""
        self.parts(path)
        if not self.write:
            raise Failure("ReadOnly", {"path": shown(path)})


def opened_folder(at: int, name: str, path: str) -> int:
    """Open the folder `name` in the folder `at`: a link is none."""
    try:
        return os.open(name, _FOLDER, dir_fd=at)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            found = state_in(at, name, path)
            if found is not None and stat.S_ISLNK(found.st_mode):
                raise linked(path) from None
            raise Failure("NotFound", {"path": shown(path)}) from None
        raise refusal(error, path) from None


def state_in(at: int, name: str, path: str) -> os.stat_result | None:
    """What the file system says of `name` in the folder `at`; None where there is nothing."""
    try:
        return os.stat(name, dir_fd=at, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refusal(error, path) from None


def opened_file(at: int, name: str, path: str, flags: int = os.O_RDONLY) -> int:
    """Open the regular file `name` in the folder `at`. What is something else is not even opened, and cannot be put in its place."""
    found = state_in(at, name, path)
    if found is None:
        raise Failure("NotFound", {"path": shown(path)})
    regular(found, path)
    try:
        number = os.open(name, flags | _PLAIN, dir_fd=at)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise linked(path) from None
        raise refusal(error, path) from None
    try:
        regular(os.fstat(number), path)
    except BaseException:
        os.close(number)
        raise
    return number


def read_in(at: int, name: str, path: str, limit: int) -> Content:
    """The content of the file `name` in the folder `at`."""
    number = opened_file(at, name, path)
    try:
        state = os.fstat(number)
        if state.st_size > limit:
            raise too_large(path, state.st_size, limit)
        data = _all(number, limit + 1)
        if len(data) > limit:
            raise too_large(path, len(data), limit)
        return Content(data, version_of(data), state)
    except OSError as error:
        raise refusal(error, path) from None
    finally:
        os.close(number)


def _all(number: int, most: int) -> bytes:
    found = bytearray()
    while len(found) < most:
        block = os.read(number, min(_BLOCK, most - len(found)))
        if not block:
            break
        found += block
    return bytes(found)


def version_of(data: bytes) -> str:
    """What names a content: its size in bytes, and half of its SHA-256. Who knows it has seen the content, or the word of one who has."""
    return f"{len(data)}-{hashlib.sha256(data).hexdigest()[:32]}"


def regular(state: os.stat_result, path: str) -> None:
    """Refuse what is no regular file. Raises `Failure`: a link leads elsewhere, and anything else is not a file."""
    if stat.S_ISLNK(state.st_mode):
        raise linked(path)
    if not stat.S_ISREG(state.st_mode):
        kind = _KINDS.get(stat.S_IFMT(state.st_mode), "something else")
        raise Failure("NotFile", {"path": shown(path), "reason": f"it is {kind}"})


def linked(path: str) -> Failure:
    """A link stands somewhere on the path."""
    return outside(path, "there is a link on the way, and links are not followed")


def too_large(path: str, size: int, limit: int) -> Failure:
    """`FileTooLarge`."""
    return Failure("FileTooLarge", {"path": shown(path), "size": size, "limit": limit})


def decoded(data: bytes, path: str) -> str:
    """The text of a file, strictly. Raises `Failure` (NotText)."""
    if b"\0" in data:
        raise Failure("NotText", {"path": shown(path), "reason": "it holds bytes that are no text: it is binary"})
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        reason = f"it is not UTF-8: byte {error.start:,} is 0x{data[error.start]:02x}"
        raise Failure("NotText", {"path": shown(path), "reason": reason}) from None


def refusal(error: OSError, path: str) -> Failure | Fault:
    """What the operating system refused, in the words of `std/files`."""
    match error.errno:
        case errno.ENOENT | errno.ENAMETOOLONG | errno.ENOTDIR:
            return Failure("NotFound", {"path": shown(path)})
        case errno.EROFS:
            return Failure("ReadOnly", {"path": shown(path)})
        case errno.ELOOP:
            return linked(path)
        case (
            errno.EACCES | errno.EPERM | errno.EISDIR | errno.ENXIO | errno.EEXIST | errno.ENOTEMPTY | errno.ETXTBSY | errno.EBUSY
        ):
            return Failure("NotFile", {"path": shown(path), "reason": f"the system refuses it: {error.strerror}"})
        case number if number in _FULL:
            return Fault(FaultKind.UNAVAILABLE, f"`{shown(path)}` cannot be written: {error.strerror}", final=True)
        case _:
            return Fault(FaultKind.UNAVAILABLE, f"`{shown(path)}`: {error.strerror}")
