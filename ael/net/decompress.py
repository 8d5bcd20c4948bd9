"""Content encodings, undone piece by piece under a cap: a small body that unpacks to a huge one stops at the cap, in flat
memory.
"""

from __future__ import annotations

import zlib
from typing import Protocol

from ael.net.failure import NetError, NetKind


class Decoder(Protocol):
    def feed(self, data: bytes, room: int) -> bytes:
        """Unpack; more than `room` bytes is an error (`NetError`, too large)."""

    @property
    def finished(self) -> bool:
        """Whether the packed data is whole."""


class ZlibDecoder:
    """gzip, or deflate with a zlib header."""

    __slots__ = ("_inflate",)

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def feed(self, data: bytes, room: int) -> bytes:
        try:
            unpacked = self._inflate.decompress(data, room + 1)
        except zlib.error:
            raise NetError(NetKind.MALFORMED, "the answer's compression is damaged", sent=True, received=True) from None
        if len(unpacked) > room or self._inflate.unconsumed_tail:
            raise NetError(NetKind.TOO_LARGE, "the answer is longer than allowed once unpacked", sent=True, received=True)
        if self._inflate.unused_data:
            raise NetError(NetKind.MALFORMED, "the answer goes on after the end of its compression", sent=True, received=True)
        return unpacked

    @property
    def finished(self) -> bool:
        return self._inflate.eof


def decoder_for(encoding: bytes) -> Decoder | None:
    """The decoder of a `Content-Encoding`, None for identity. Raises `NetError` for what was not asked for."""
    match encoding.strip().lower():
        case b"" | b"identity":
            return None
        case b"gzip" | b"x-gzip" | b"deflate":
            return ZlibDecoder()
        case _:
            raise NetError(
                NetKind.MALFORMED, "the answer is compressed in a way that was not asked for", sent=True, received=True
            )
