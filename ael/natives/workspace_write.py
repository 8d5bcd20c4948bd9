"""Changing files in a workspace so that a crash at any moment leaves the old content or the new one, and never a mixture.

New content goes into a file beside the old one, to the disk, and then takes the name in one step (`renameat`). Writers of one folder
take turns by a lock on it, and before the step it is looked at once more if the file is the one that was read.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ael.natives.workspace import (
    Content,
    Workspace,
    opened_file,
    opened_folder,
    read_in,
    refusal,
    regular,
    state_in,
    too_large,
)
from ael.natives.workspace_names import TEMPORARY, shown
from ael.types.fault import Failure, Fault, FaultKind

try:
    import fcntl
except ImportError:  # Windows, which has no workspaces: `Workspace` says so
    fcntl = None  # type: ignore[assignment]

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK)
_MODE = 0o777
_PATIENCE, _PAUSE = 10.0, 0.002
"""Seconds that a writer waits for its turn, and between two looks."""


@contextmanager
def turn(at: int) -> Iterator[None]:
    """One writer of the folder `at` at a time, among all processes that use this. Raises `Fault` where somebody keeps it to himself."""
    end = time.monotonic() + _PATIENCE
    while not _locked(at):
        if time.monotonic() > end:
            raise Fault(FaultKind.UNAVAILABLE, "somebody else keeps the folder locked", sent=False)
        time.sleep(_PAUSE)
    try:
        yield
    finally:
        with suppress(OSError):
            fcntl.flock(at, fcntl.LOCK_UN)


def _locked(at: int) -> bool:
    """Take the lock of a folder, if nobody has it."""
    try:
        fcntl.flock(at, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        # A file system without locks: there the look right before the step has to do.
        return error.errno in (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
    return True


def _settled(at: int) -> None:
    """Bring the names of a folder to the disk, where the file system can do that."""
    try:
        os.fsync(at)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EROFS):
            raise


def put(space: Workspace, path: str, data: bytes, *, new: bool = False) -> bool:
    """Write a whole file; `new` refuses one that is there. Its mode stays. Gives whether it is new.

    Writing what is there already changes nothing: not even the time of the file.
    """
    space.changes(path)
    if len(data) > space.limit:
        raise too_large(path, len(data), space.limit)
    with space.parent(path) as (at, name), turn(at):
        state = state_in(at, name, path)
        if state is not None:
            regular(state, path)
            if state.st_size == len(data) and read_in(at, name, path, space.limit).data == data:
                return False
            if new:
                raise Failure("Exists", {"path": shown(path)})
        _swap(at, name, path, data, state)
        return state is None


@contextmanager
def changing(space: Workspace, path: str) -> Iterator[tuple[Content, Change]]:
    """A file as it is now, and what changes it, while no other program that uses this writes there."""
    space.changes(path)
    with space.parent(path) as (at, name), turn(at):
        content = read_in(at, name, path, space.limit)
        yield content, Change(at, name, path, content, space.limit)


class Change:
    """Puts a new content in the place of the one that was read, if that is still there."""

    def __init__(self, at: int, name: str, path: str, content: Content, limit: int) -> None:
        self._at, self._name, self._path = at, name, path
        self._content = content
        self._limit = limit

    def to(self, data: bytes) -> None:
        """Write it. Raises `Failure` (Stale) where somebody wrote meanwhile."""
        if len(data) > self._limit:
            raise too_large(self._path, len(data), self._limit)
        _swap(self._at, self._name, self._path, data, self._content.state)

    def gone(self) -> None:
        """Remove it. Raises `Failure` (Stale) where somebody wrote meanwhile."""
        try:
            now = state_in(self._at, self._name, self._path)
            if now is None or _mark(now) != _mark(self._content.state):
                raise stale(self._path, "somebody else wrote it at this moment")
            os.unlink(self._name, dir_fd=self._at)
            _settled(self._at)
        except OSError as error:
            raise refusal(error, self._path) from None


def _swap(at: int, name: str, path: str, data: bytes, state: os.stat_result | None) -> None:
    """Write beside, and take the name; `state` is that of the file whose place it takes, None where there must be none."""
    beside = f".{hashlib.sha256(os.fsencode(name)).hexdigest()[:24]}{TEMPORARY}"
    try:
        # What a crash left behind: nobody else writes here now.
        with suppress(FileNotFoundError):
            os.unlink(beside, dir_fd=at)
        number = os.open(beside, _NEW, 0o666, dir_fd=at)
        try:
            try:
                if state is not None:
                    os.fchmod(number, stat.S_IMODE(state.st_mode) & _MODE)
                written(number, data)
                os.fsync(number)
            finally:
                os.close(number)
            if state is None:
                _appear(at, beside, name, path)
            else:
                now = state_in(at, name, path)
                if now is None or _mark(now) != _mark(state):
                    raise stale(path, "somebody else wrote it at this moment")
                os.rename(beside, name, src_dir_fd=at, dst_dir_fd=at)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(beside, dir_fd=at)
        _settled(at)
    except OSError as error:
        raise refusal(error, path) from None


def _appear(at: int, beside: str, name: str, path: str) -> None:
    """Give a file its name, which nothing has."""
    try:
        os.link(beside, name, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
    except FileExistsError:
        raise Failure("Exists", {"path": shown(path)}) from None
    except OSError as error:
        # A file system without links, or one that counts them: there the look before has to do.
        if error.errno not in _NO_LINKS:
            raise
        if state_in(at, name, path) is not None:
            raise Failure("Exists", {"path": shown(path)}) from None
        os.rename(beside, name, src_dir_fd=at, dst_dir_fd=at)


def _mark(state: os.stat_result) -> tuple[int, ...]:
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


def stale(path: str, reason: str) -> Failure:
    """`Stale`: what is known of a file is not what it holds."""
    return Failure("Stale", {"path": shown(path), "reason": reason})


def written(number: int, data: bytes) -> None:
    """Write all of `data`."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(number, rest) :]


def append(space: Workspace, path: str, data: bytes) -> int:
    """Add to the end of a file, which is made where there is none; a failure adds nothing. Gives its new size.

    A file with a second name is refused: the other name may be outside.
    """
    space.changes(path)
    with space.parent(path) as (at, name), turn(at):
        if state_in(at, name, path) is None:
            if len(data) > space.limit:
                raise too_large(path, len(data), space.limit)
            _swap(at, name, path, data, None)
            return len(data)
        number = opened_file(at, name, path, os.O_WRONLY | os.O_APPEND)
        try:
            state = os.fstat(number)
            if state.st_nlink > 1:
                raise Failure("NotFile", {"path": shown(path), "reason": "it has a second name, which may be anywhere"})
            size = state.st_size + len(data)
            if size > space.limit:
                raise too_large(path, size, space.limit)
            try:
                written(number, data)
                os.fsync(number)
            except OSError as error:
                os.ftruncate(number, state.st_size)
                raise refusal(error, path) from None
            return size
        finally:
            os.close(number)


def make_folder(space: Workspace, path: str) -> bool:
    """Make a folder, and those above it that are missing. Gives whether anything was made."""
    space.changes(path)
    made = False
    parts = space.parts(path)
    for depth, part in enumerate(parts):
        with space.folder(parts[:depth], path) as at:
            try:
                os.mkdir(part, dir_fd=at)
                _settled(at)
                made = True
            except FileExistsError:
                os.close(_folder_at(at, part, path))
            except OSError as error:
                raise refusal(error, path) from None
    return made


def _folder_at(at: int, name: str, path: str) -> int:
    try:
        return opened_folder(at, name, path)
    except Failure as failure:
        if failure.error == "NotFound":
            raise Failure("NotFile", {"path": shown(path), "reason": f"`{shown(name)}` is a file, and no folder"}) from None
        raise


def delete(space: Workspace, path: str) -> bool:
    """Remove a file, a link itself, or an empty folder. Gives whether it was there."""
    space.changes(path)
    try:
        with space.parent(path) as (at, name), turn(at):
            state = state_in(at, name, path)
            if state is None:
                return False
            try:
                if stat.S_ISDIR(state.st_mode):
                    os.rmdir(name, dir_fd=at)
                else:
                    os.unlink(name, dir_fd=at)
                _settled(at)
            except FileNotFoundError:
                return False
            except OSError as error:
                raise refusal(error, path) from None
            return True
    except Failure as failure:
        if failure.error == "NotFound":
            return False
        raise


def move(space: Workspace, path: str, to: str) -> None:
    """Give a file or a folder another name in the workspace, which nothing has yet."""
    space.changes(path)
    space.changes(to)
    with space.parent(path) as (source, name), space.parent(to) as (target, new):
        state = state_in(source, name, path)
        if state is None:
            raise Failure("NotFound", {"path": shown(path)})
        if not stat.S_ISDIR(state.st_mode):
            regular(state, path)
        with turn(target):
            if state_in(target, new, to) is not None:
                raise Failure("Exists", {"path": shown(to)})
            try:
                os.rename(name, new, src_dir_fd=source, dst_dir_fd=target)
                _settled(target)
                _settled(source)
            except OSError as error:
                if error.errno in (errno.EINVAL, errno.EXDEV):
                    raise Failure("NotFile", {"path": shown(to), "reason": f"the system refuses it: {error.strerror}"}) from None
                raise refusal(error, path) from None
