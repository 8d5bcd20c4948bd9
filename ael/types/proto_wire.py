"""The wire format of protobuf (https://protobuf.dev/programming-guides/encoding): tags, varints, and the fields of a message."""

from __future__ import annotations

from struct import Struct

from ael.types.proto import ProtoError

VARINT, I64, LEN, I32 = 0, 1, 2, 5
DOUBLE = Struct("<d")
_LONGEST = 10
"""Bytes of a varint."""
_WRAP = 1 << 64
_MASK = _WRAP - 1
_HALF = 1 << 63

Raw = tuple[int, int | bytes]
"""Type on the wire, and what stands there."""


def varint(value: int) -> bytes:
    """A number of 64 bits; those below zero as their two's complement."""
    value &= _MASK
    if value < 128:
        return bytes((value,))
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def tag(number: int, kind: int) -> bytes:
    """What stands before a field."""
    return varint(number << 3 | kind)


def framed(number: int, body: bytes) -> bytes:
    """A field of bytes, text or a message."""
    return tag(number, LEN) + varint(len(body)) + body


def signed(value: int) -> int:
    """The int64 of a varint."""
    return value - _WRAP if value >= _HALF else value


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A varint, and where the next byte is. Raises `ProtoError`."""
    value = 0
    for shift in range(_LONGEST):
        if at >= len(data):
            raise ProtoError("the message ends in the middle of a number")
        byte = data[at]
        at += 1
        value |= (byte & 127) << (7 * shift)
        if byte < 128:
            return value & _MASK, at
    raise ProtoError("a number has more than 64 bits")


def fields_of(data: bytes) -> dict[int, list[Raw]]:
    """The fields of a message by number, the one that came last at the end. Raises `ProtoError`."""
    found: dict[int, list[Raw]] = {}
    at, end = 0, len(data)
    while at < end:
        key, at = read_varint(data, at)
        number, kind = key >> 3, key & 7
        value: int | bytes
        if not 0 < number < 1 << 29:
            raise ProtoError(f"there is no field number {number}")
        if kind == VARINT:
            value, at = read_varint(data, at)
        else:
            if kind == LEN:
                size, at = read_varint(data, at)
            elif kind in (I64, I32):
                size = 8 if kind == I64 else 4
            else:
                raise ProtoError("groups are not taken")
            if size > end - at:
                raise ProtoError("the message ends in the middle of a field")
            value, at = data[at : at + size], at + size
        before = found.pop(number, [])
        before.append((kind, value))
        found[number] = before
    return found
