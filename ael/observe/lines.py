"""Log entries as JSON Lines: to standard error, or into a file that is rotated. Several processes may write into one file."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path

from ael.observe.entry import Entry
from ael.observe.waiting import Undelivered

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has none, and there each process has a file of its own
    fcntl = None  # type: ignore[assignment]


def lines(entries: list[Entry]) -> bytes:
    """Each entry on a line of its own. No character in it ends a line or moves a terminal's cursor."""
    # ASCII alone: what is outside data can neither hide in a terminal nor be half a character at a rotation.
    return b"".join(json.dumps(entry, separators=(",", ":")).encode("ascii") + b"\n" for entry in entries)


class StderrLines:
    """Entries on standard error."""

    name = "standard error"

    def deliver(self, entries: list[Entry]) -> None:
        """Write them whole. Raises `OSError`, `Undelivered` when it is closed."""
        try:
            sys.stderr.write(lines(entries).decode("ascii"))
            sys.stderr.flush()
        except ValueError as error:
            raise Undelivered(str(error)) from None

    def give_up(self) -> None:
        """A write cannot be stopped; its thread does not keep the process."""

    def close(self) -> None:
        """It is not this one's to close."""


class FileLines:
    """Entries in a file. One that would get larger than `most` bytes becomes `NAME.1`, that `NAME.2`, and so on up to `keep`."""

    def __init__(self, path: Path, *, most: int, keep: int) -> None:
        self.name = f"the file {path.name}"
        self._path = path
        self._most = most
        self._keep = keep
        self._file = -1

    def deliver(self, entries: list[Entry]) -> None:
        """Append them, in one write. Raises `OSError`, `Undelivered`."""
        data = lines(entries)
        lock = os.open(self._path.with_name(f".{self._path.name}.lock"), _FLAGS | os.O_RDWR, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)
            self._open()
            size = os.fstat(self._file).st_size
            if size and size + len(data) > self._most:
                self._rotate()
                self._open()
                size = os.fstat(self._file).st_size
            if size and os.pread(self._file, 1, size - 1) != b"\n":
                # Whoever wrote last was killed within a line: what follows is not a part of it.
                data = b"\n" + data
            self._write(data, size)
        finally:
            os.close(lock)

    def give_up(self) -> None:
        """A write cannot be stopped; its thread does not keep the process."""

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _write(self, data: bytes, size: int) -> None:
        written = 0
        try:
            while written < len(data):
                written += os.write(self._file, data[written:])
        except OSError:
            # A full disk: half a line would make the one after it unreadable.
            with suppress(OSError):
                os.ftruncate(self._file, size)
            raise

    def _open(self) -> None:
        """Have the file of this name open: another process may have rotated it."""
        if self._file >= 0:
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(self._file), os.lstat(self._path)):
                    return
            self.close()
        # A link at this place would lead the log, and whoever set it, elsewhere.
        self._file = os.open(self._path, _FLAGS | os.O_RDWR | os.O_APPEND, 0o600)

    def _rotate(self) -> None:
        self.close()
        if not self._keep:
            self._path.unlink(missing_ok=True)
            return
        for number in range(self._keep - 1, 0, -1):
            with suppress(FileNotFoundError):
                os.replace(self._numbered(number), self._numbered(number + 1))
        with suppress(FileNotFoundError):
            os.replace(self._path, self._numbered(1))

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")


_FLAGS = os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
