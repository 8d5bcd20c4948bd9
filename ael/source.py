"""Source text and places in it.

The only module that opens source files; an editor hands in its own (`reading`), so that what is not saved yet is seen. A `Span` is a pair
of character offsets into the text of one `Source`; lines and columns are computed when a person has to read them, so that the phases carry
two integers and nothing else.
"""

from __future__ import annotations

import re
import stat
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple, Protocol

from ael.data import dataclass, field

_LINE_END = re.compile(r"\r\n?|\n")

MAX_SOURCE_BYTES = 4 * 1024 * 1024
"""Largest source file that is read, in bytes."""


class Span(NamedTuple):
    """A half-open range of character offsets, `start` included and `end` not."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The smallest span that holds this one and `other`."""
        return Span(min(self.start, other.start), max(self.end, other.end))


class Position(NamedTuple):
    """A place as people count it: line and column from 1, the column in characters."""

    line: int
    column: int


class SourceError(Exception):
    """A source file that cannot be read as text; `reason` says why and `offset` where (in bytes), if it is a place."""

    def __init__(self, path: str, reason: str, offset: int | None = None) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason
        self.offset = offset


@dataclass(frozen=True, eq=False)
class Source:
    """The text of one module. `name` is how messages call it (usually the path as the user gave it)."""

    name: str
    text: str
    path: Path | None = None
    _lines: list[int] = field(default_factory=list, repr=False, compare=False)

    def line_starts(self) -> list[int]:
        """Offsets at which lines start; LF, CRLF and a lone CR each end one line."""
        if not self._lines:
            text, starts, at = self.text, [0], 0
            if "\r" not in text:
                while (at := text.find("\n", at) + 1) > 0:
                    starts.append(at)
            else:
                starts += [found.end() for found in _LINE_END.finditer(text)]
            self._lines.extend(starts)
        return self._lines

    def position(self, offset: int) -> Position:
        """Line and column of a character offset."""
        starts = self.line_starts()
        line = bisect_right(starts, offset) - 1
        return Position(line + 1, offset - starts[line] + 1)

    def line(self, number: int) -> str:
        """The text of line `number` (from 1), without its line end."""
        starts = self.line_starts()
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r\n")


class Files(Protocol):
    """Where source files come from instead of the disk."""

    def read(self, path: Path, name: str) -> Source:
        """The text of a file, which messages call `name`. Raises `SourceError`."""

    def is_file(self, path: Path) -> bool:
        """Whether there is such a file."""


_FILES: ContextVar[Files | None] = ContextVar("_FILES", default=None)


@contextmanager
def reading(files: Files) -> Iterator[None]:
    """Sources are read from `files` while this is open, in this thread or task."""
    token = _FILES.set(files)
    try:
        yield
    finally:
        _FILES.reset(token)


def is_file(path: Path) -> bool:
    """Whether there is a file that `read` could read."""
    files = _FILES.get()
    return path.is_file() if files is None else files.is_file(path)


def read(path: Path, name: str | None = None) -> Source:
    """Read a source file as UTF-8, with or without a byte order mark.

    Raises `SourceError` for a file that is missing, too large (`MAX_SOURCE_BYTES`) or not UTF-8.
    """
    files = _FILES.get()
    return read_disk(path, name) if files is None else files.read(path, name or str(path))


def read_disk(path: Path, name: str | None = None) -> Source:
    """As `read`, from the disk."""
    shown = name or str(path)
    try:
        mode = path.stat().st_mode
        # A folder of somebody else's may hold a pipe that never ends, or a link to a device: they are not opened. What the shell hands
        # over (`/dev/stdin`, `<(…)`) was meant.
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) and path.parts[:2] != ("/", "dev"):
            raise SourceError(shown, "not a regular file")
        with path.open("rb") as file:
            data = file.read(MAX_SOURCE_BYTES + 1)
    except OSError as error:
        raise SourceError(shown, (error.strerror or "cannot be read").lower()) from None
    return decode(data, shown, path)


def decode(data: bytes, name: str, path: Path | None = None) -> Source:
    """Make a `Source` from bytes. Raises `SourceError` as `read` does."""
    if len(data) > MAX_SOURCE_BYTES:
        raise SourceError(name, f"larger than {MAX_SOURCE_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError(name, "not valid UTF-8", error.start) from None
    return Source(name, text, path)
