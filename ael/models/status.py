"""HTTP answers that are no turn, each as one kind of `ModelError` (fault kind K34: only what is temporary may be tried again)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import jiter

from ael.models.wire import object_of, text_of
from ael.net.redact import bounded
from ael.run.ports import ModelError, ModelErrorKind, Usage

MAX_RETRY_AFTER = 24 * 3600.0
"""A longer wait is taken as this many seconds: it ends the run by its deadline in any case."""

_OVERFLOW = re.compile(
    r"context[ _-]?(length|window|size|limit)|maximum context|prompt is too long|too many (input )?tokens|input is too long"
    r"|exceeds? the (available |maximum )?context",
    re.IGNORECASE,
)
_SIZES = re.compile(r"(\d[\d,]{2,})")
_LIMITS = (
    re.compile(r">\s*(\d[\d,]*)"),
    re.compile(r"maximum context length is\s*(\d[\d,]*)", re.IGNORECASE),
    re.compile(r"context (?:length|window|size|limit)[^0-9]{0,24}(\d[\d,]*)", re.IGNORECASE),
    re.compile(r"(?:limit (?:is|of)|at most|maximum of)\s*(\d[\d,]*)", re.IGNORECASE),
)
# llama.cpp answers 500 for what no repetition mends: an answer it cannot parse, or a request it cannot read.
_LASTING = re.compile(
    r"\bparse|\bjson\b|\bschema\b|\bgrammar\b|\binvalid\b|\bunsupported\b|must be|\bexpected\b|\bmissing\b|\btemplate\b|not support",
    re.IGNORECASE,
)
_OUTPUT = re.compile(
    r"failed to parse (input|output)|could not parse|does not match the expected|the model produced output", re.IGNORECASE
)
_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "overloaded_error": 529,
}
_DATE = re.compile(r"[A-Z][a-z]{2}, (\d{2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_OVERFLOW_TYPES = frozenset(
    {"exceed_context_size_error", "context_length_exceeded", "request_too_large", "string_above_max_length"}
)


def from_status(
    status: int, headers: Callable[[bytes], str], body: bytes, redact: Callable[[str], str], now: float
) -> ModelError:
    """The error that an HTTP answer other than 200 means. `now` in seconds since the epoch (for a `Retry-After` that is a
    date).
    """
    error = error_object(parsed(body))
    message = bounded(redact(text_of(error.get("message")) or body[:2000].decode("utf-8", "replace")))
    if 300 <= status < 400:
        return ModelError(
            ModelErrorKind.BAD_REQUEST, f"the endpoint answers with a redirect ({status}), which is not followed", status=status
        )
    kind, limit = classify(status, error, message)
    wait = retry_after(headers, now) if kind is ModelErrorKind.UNAVAILABLE else None
    return ModelError(kind, message or f"status {status}", status=status, retry_after=wait, limit=limit)


def from_event(error: object, redact: Callable[[str], str], usage: Usage | None) -> ModelError:
    """The error that an event in the middle of a stream means."""
    described = error_object({"error": error})
    message = bounded(redact(text_of(described.get("message")))) or "the stream broke off with an error"
    code = described.get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else _STATUS_OF_TYPE.get(text_of(described.get("type")), 500)
    kind, limit = classify(status, described, message)
    return ModelError(kind, message, status=code if isinstance(code, int) else None, usage=usage, limit=limit)


def classify(status: int, error: Mapping[str, object], message: str) -> tuple[ModelErrorKind, int | None]:
    """The kind of an error, and for an overflow the window's size where it is told."""
    types = {text_of(error.get("type")), text_of(error.get("code"))}
    if types & _OVERFLOW_TYPES or status == 413 or (status in (400, 422, 500) and _OVERFLOW.search(message)):
        return ModelErrorKind.OVERFLOW, window_of(error, message)
    match status:
        case 401 | 402 | 403:
            return ModelErrorKind.NOT_AUTHORISED, None
        case 404:
            return ModelErrorKind.NOT_FOUND, None
        case 408 | 429:
            return ModelErrorKind.UNAVAILABLE, None
        case 500 if _OUTPUT.search(message):
            return ModelErrorKind.MALFORMED, None
        case 500 if "invalid_request_error" in types or (error.get("code") == 500 and _LASTING.search(message)):
            return ModelErrorKind.BAD_REQUEST, None
        case 501 | 505:
            return ModelErrorKind.BAD_REQUEST, None
        case _ if status >= 500:
            return ModelErrorKind.UNAVAILABLE, None
        case _:
            return ModelErrorKind.BAD_REQUEST, None


def window_of(error: Mapping[str, object], message: str) -> int | None:
    """The size of the context window, from llama.cpp's `n_ctx` or the message."""
    size = error.get("n_ctx")
    if isinstance(size, int) and not isinstance(size, bool):
        return size
    for told in _LIMITS:
        found = told.search(message)
        if found is not None:
            return int(found[1].replace(",", ""))
    sizes = [int(number.replace(",", "")) for number in _SIZES.findall(message)]
    return min(sizes) if len(sizes) >= 2 else None


def retry_after(headers: Callable[[bytes], str], now: float) -> float | None:
    """Seconds to wait: `retry-after-ms`, or `Retry-After` as seconds or as a date (RFC 9110, 10.2.3). None when absent or
    unreadable.
    """
    for name, unit in ((b"retry-after-ms", 1000.0), (b"retry-after", 1.0)):
        given = headers(name)
        if re.fullmatch(r"\d{1,12}(\.\d{1,6})?", given):
            return min(float(given) / unit, MAX_RETRY_AFTER)
    date = _DATE.fullmatch(headers(b"retry-after"))
    if date is None or date[2] not in _MONTHS:
        return None
    day, year, hour, minute, second = (int(date[place]) for place in (1, 3, 4, 5, 6))
    try:
        at = datetime(year, _MONTHS.index(date[2]) + 1, day, hour, minute, min(second, 59), tzinfo=UTC)
    except ValueError:
        return None
    return max(0.0, min(at.timestamp() - now, MAX_RETRY_AFTER))


def parsed(body: bytes) -> object:
    """The JSON of a body, or None."""
    try:
        return jiter.from_json(body)
    except ValueError:
        return None


def error_object(value: object) -> Mapping[str, object]:
    """The error in an answer, in the forms that servers give it: an object, a text, or a list with one of them."""
    if isinstance(value, list) and value:
        value = value[0]
    answer = object_of(value)
    error = answer.get("error", answer)
    if isinstance(error, str):
        return {"message": error}
    return object_of(error)
