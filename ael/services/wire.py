"""Endings on the wire: the error form of the Connect protocol, with AEL's ending as a typed detail that restores it.

https://connectrpc.com/docs/protocol: an error is `{"code", "message", "details": [{"type", "value", "debug"}]}`, and its code decides the
status.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import cast

from ael.types.fault import FaultKind
from ael.types.json import JsonError, read
from ael.types.limits import Limits

DETAIL = "ael.v1.Ending"
"""The protobuf message `Ending { string json = 1; }`: how a call ended, as the JSON of `outcome.to_json`."""
MAX_ERROR = 256 * 1024
"""Bytes of an error's body."""
_MESSAGE = 2_000
_DEPTH = Limits(depth=64)
_SHOWN = ("limit", "spender", "used", "of", "problems", "retry_after", "path", "tool", "final", "uncertain", "why")
"""The details that cross. The others (transcripts, usage) stay with whoever runs the other side."""
_DETAILS = 64 * 1024

STATUS: Mapping[str, int] = {
    "canceled": 499,
    "unknown": 500,
    "invalid_argument": 400,
    "deadline_exceeded": 504,
    "not_found": 404,
    "already_exists": 409,
    "permission_denied": 403,
    "resource_exhausted": 429,
    "failed_precondition": 400,
    "aborted": 409,
    "out_of_range": 400,
    "unimplemented": 501,
    "internal": 500,
    "unavailable": 503,
    "data_loss": 500,
    "unauthenticated": 401,
}
"""Code -> status of HTTP, as the protocol says."""

_CODES: Mapping[FaultKind, str] = {
    FaultKind.DENIED: "permission_denied",
    FaultKind.APPROVAL_DENIED: "permission_denied",
    FaultKind.BAD_ARGUMENTS: "invalid_argument",
    FaultKind.OUT_OF_RANGE: "out_of_range",
    FaultKind.TIMEOUT: "deadline_exceeded",
    FaultKind.DEADLINE_EXCEEDED: "deadline_exceeded",
    FaultKind.UNAVAILABLE: "unavailable",
    FaultKind.MODEL_UNAVAILABLE: "unavailable",
    FaultKind.TOO_LARGE: "resource_exhausted",
    FaultKind.BUDGET_EXHAUSTED: "resource_exhausted",
    FaultKind.CANCELLED: "canceled",
}

_REFUSALS: Mapping[str, FaultKind] = {
    "invalid_argument": FaultKind.BAD_ARGUMENTS,
    "out_of_range": FaultKind.BAD_ARGUMENTS,
    "permission_denied": FaultKind.DENIED,
    "unauthenticated": FaultKind.DENIED,
    "unimplemented": FaultKind.UNAVAILABLE,
    "not_found": FaultKind.TOOL_FAILED,
    "already_exists": FaultKind.TOOL_FAILED,
    "failed_precondition": FaultKind.TOOL_FAILED,
    "resource_exhausted": FaultKind.UNAVAILABLE,
}
"""Codes of a peer that is not AEL's by which it says that it did nothing."""
_LOST: Mapping[str, FaultKind] = {"deadline_exceeded": FaultKind.TIMEOUT, "unavailable": FaultKind.UNAVAILABLE}
_BY_STATUS: Mapping[int, str] = {
    401: "unauthenticated",
    403: "permission_denied",
    404: "unimplemented",
    413: "invalid_argument",
    415: "unimplemented",
    429: "resource_exhausted",
    502: "unavailable",
    503: "unavailable",
    504: "unavailable",
}
"""The code of an answer that has no body of the protocol: it comes from something before the server."""


def code_of(ending: Mapping[str, object]) -> str:
    """The code of an ending, for clients that know no more."""
    match ending.get("outcome"):
        case "error":
            return "not_found" if str(ending.get("error", "")).endswith("NotFound") else "failed_precondition"
        case "fault":
            return _CODES.get(FaultKind(str(ending["kind"])), "internal")
        case _:
            return "unknown"


def error(code: str, message: str, ending: Mapping[str, object] | None = None) -> bytes:
    """The body of an error."""
    body: dict[str, object] = {"code": code, "message": message if len(message) <= _MESSAGE else message[: _MESSAGE - 1] + "…"}
    if ending is not None:
        value = b64encode(ending_message(ending)).rstrip(b"=").decode()
        body["details"] = [{"type": DETAIL, "value": value, "debug": ending}]
    return _dumps(body)


def crossing(ending: Mapping[str, object]) -> dict[str, object]:
    """An ending (`outcome.to_json`) as it leaves: without what is the operator's, and within a size."""
    left = {name: value for name, value in ending.items() if name != "spent"}
    details = ending.get("details")
    if isinstance(details, Mapping):
        shown = {name: details[name] for name in _SHOWN if name in details}
        left["details"] = shown if len(_dumps(shown)) <= _DETAILS else {}
    message = left.get("message")
    if isinstance(message, str) and len(message) > _MESSAGE:
        left["message"] = message[: _MESSAGE - 1] + "…"
    return left


def restored(status: int, body: bytes) -> tuple[Mapping[str, object], bool]:
    """What an error says: its ending, and whether that is the other side's word. False: it may have acted, and nobody knows.

    Never raises: a body that is none of the protocol's says only what its status does.
    """
    said = _object(body)
    code = said.get("code")
    known = isinstance(code, str) and code in STATUS
    if known:
        ending = _detail(said.get("details"))
        if ending is not None:
            return ending, True
    word = code if isinstance(code, str) and known else _BY_STATUS.get(status, "unknown")
    given = said.get("message")
    return foreign(word, given if isinstance(given, str) and given else f"the answer has the status {status}")


def foreign(code: str, message: str) -> tuple[Mapping[str, object], bool]:
    """What a code says by itself, as `restored`."""
    kind = _REFUSALS.get(code)
    message = message[:_MESSAGE]
    if kind is not None:
        details: dict[str, object] = {"code": code}
        if code == "unimplemented":
            details["final"] = True
        return {"outcome": "fault", "kind": kind.value, "message": message, "details": details}, True
    lost = _LOST.get(code, FaultKind.DISCONNECTED)
    return {"outcome": "fault", "kind": lost.value, "message": message, "details": {"code": code}}, False


def _detail(details: object) -> Mapping[str, object] | None:
    """The ending among the details of an error, if it is there and whole."""
    for one in details if isinstance(details, list) else ():
        if not isinstance(one, Mapping) or one.get("type") != DETAIL or not isinstance(one.get("value"), str):
            continue
        value = str(one["value"])
        try:
            found = ending_in(b64decode(value + "=" * (-len(value) % 4), validate=True))
        except ValueError:
            continue
        if found is not None:
            return found
    return None


def ending_in(message: bytes) -> Mapping[str, object] | None:
    """The ending in a message `ael.v1.Ending`; None where it holds none. Raises `ValueError` for bytes that are no such message."""
    found = _object(_text(message))
    return found if found.get("outcome") in ("error", "fault", "uncertain") else None


def ending_message(ending: Mapping[str, object]) -> bytes:
    """The message `ael.v1.Ending`."""
    return _field(_dumps(ending))


def _object(body: bytes) -> Mapping[str, object]:
    try:
        found = read(body, _DEPTH, max_bytes=MAX_ERROR)
    except JsonError:
        return {}
    return cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}


def _dumps(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str).encode("utf-8", "backslashreplace")


def _field(text: bytes) -> bytes:
    """A protobuf message whose field 1 is a text."""
    length, size = bytearray(), len(text)
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    length.append(size)
    return b"\x0a" + bytes(length) + text


def _text(message: bytes) -> bytes:
    """The text that is field 1. Raises `ValueError` for any other message."""
    if message[:1] != b"\x0a":
        raise ValueError("not the field that is meant")
    size, shift, at = 0, 0, 1
    while True:
        if at >= len(message) or shift > 28:
            raise ValueError("no length")
        byte = message[at]
        size |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if byte < 128:
            break
    if at + size != len(message):
        raise ValueError("not the length that was said")
    return message[at:]
