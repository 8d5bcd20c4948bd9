"""Bytes in, whole lines out: in time linear in what comes, in memory within a cap."""

from __future__ import annotations

from ael.data import dataclass

HEAD = 64 * 1_024


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its end. `cut`: it was longer than allowed, and `data` is its beginning."""

    data: bytes
    cut: bool = False


class Lines:
    """Cuts a stream at line feeds. A line over `limit` bytes is told once, as its beginning, and skipped to its end."""

    __slots__ = ("_limit", "_parts", "_size", "_skipping")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._skipping = False

    def feed(self, data: bytes) -> list[Line]:
        """The lines that `data` completes, empty ones left out; of one that is too long its beginning, as soon as that is clear."""
        found: list[Line] = []
        pieces = data.split(b"\n")
        for at, piece in enumerate(pieces):
            self._take(piece, found)
            if at < len(pieces) - 1:
                self._end(found)
        return found

    def _take(self, piece: bytes, found: list[Line]) -> None:
        if self._skipping or not piece:
            return
        self._parts.append(piece)
        self._size += len(piece)
        if self._size > self._limit:
            found.append(Line(b"".join(self._parts)[:HEAD], cut=True))
            self._parts, self._size, self._skipping = [], 0, True

    def _end(self, found: list[Line]) -> None:
        if not self._skipping:
            line = b"".join(self._parts).strip()
            if line:
                found.append(Line(line))
        self._parts, self._size, self._skipping = [], 0, False
