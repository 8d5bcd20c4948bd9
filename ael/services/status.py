"""Endings in gRPC: a status with the code of Connect's error, whose details carry AEL's ending (`google.rpc.Status`, `ael.v1.Ending`).

https://github.com/googleapis/googleapis/blob/master/google/rpc/status.proto: `Status { int32 code = 1; string message = 2; repeated Any
details = 3; }`, in the trailer `grpc-status-details-bin`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ael.services.wire import DETAIL, ending_in, ending_message, foreign
from ael.types.fault import FaultKind
from ael.types.proto import ProtoError
from ael.types.proto_wire import LEN, fields_of, framed, tag, varint

TRAILER = "grpc-status-details-bin"
LONG = "ael-details"
"""Metadata of a client that takes long trailers: others read 8 KiB at most."""
SHORT = 4_096
"""Bytes of details for those others; what is longer is left out."""
URL = f"type.googleapis.com/{DETAIL}"

NUMBERS: Mapping[str, int] = {
    "canceled": 1, "unknown": 2, "invalid_argument": 3, "deadline_exceeded": 4, "not_found": 5, "already_exists": 6,
    "permission_denied": 7, "resource_exhausted": 8, "failed_precondition": 9, "aborted": 10, "out_of_range": 11,
    "unimplemented": 12, "internal": 13, "unavailable": 14, "data_loss": 15, "unauthenticated": 16,
}  # fmt: skip
"""Code of Connect -> number of gRPC."""
_UNSURE: Mapping[str, FaultKind] = {
    "deadline_exceeded": FaultKind.TIMEOUT, "resource_exhausted": FaultKind.TOO_LARGE, "unavailable": FaultKind.DISCONNECTED,
}  # fmt: skip
"""What gRPC itself makes of a reply that did not come, or is too large to be read: whoever made the status, the call may have been done
(https://grpc.io/docs/guides/status-codes)."""
WORDS: Mapping[int, str] = {number: word for word, number in NUMBERS.items()}


def details_of(code: str, message: str, ending: Mapping[str, object]) -> bytes:
    """The message `Status` of an ending."""
    detail = framed(1, URL.encode()) + framed(2, ending_message(ending))
    return tag(1, 0) + varint(NUMBERS[code]) + framed(2, message.encode("utf-8", "replace")) + framed(3, detail)


def restored(number: int, message: str, details: bytes | None) -> tuple[Mapping[str, object], bool]:
    """What a status says: its ending, and whether that is the other side's word, as `wire.restored`. Never raises."""
    ending = None if details is None else _ending(details)
    if ending is not None:
        return ending, True
    word, message = WORDS.get(number, "unknown"), message or "the call failed"
    kind = _UNSURE.get(word)
    if kind is not None:
        return {"outcome": "fault", "kind": kind.value, "message": message, "details": {"code": word}}, False
    return foreign(word, message)


def _ending(details: bytes) -> Mapping[str, object] | None:
    """The ending among the details of a status, if it is there and whole."""
    try:
        for kind, value in fields_of(details).get(3, ()):
            if kind != LEN or not isinstance(value, bytes):
                continue
            parts = fields_of(value)
            urls, messages = parts.get(1, [(0, b"")]), parts.get(2, [(0, b"")])
            if urls[-1][1] == URL.encode() and isinstance(message := messages[-1][1], bytes):
                found = ending_in(message)
                if found is not None:
                    return found
    except (ProtoError, ValueError):
        return None
    return None
