"""What only tests use: turns of a scripted model, in the form that script files have, and failed assertions with their values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import unified_diff
from typing import NoReturn

from ael.types.canonical import EncodeError, encode
from ael.types.fault import Fault, FaultKind

UNSEEN = object()
"""Stands for an operand that was not evaluated."""
SHOWN = 200
"""Characters of a value that a failed assertion shows."""

GLANCE = 60
"""Characters of two values that are compared by looking at them."""
MOST_LINES = 2_000
"""Lines of a value that are compared."""
MOST_DIFFERENT = 40
"""Lines of a difference that are told."""
WIDTH = 200

Turn = dict[str, object]


def turn_final(value: object) -> Turn:
    return {"final": value}


def turn_text(text: str) -> Turn:
    return {"text": text}


def turn_call(name: str, arguments: object = None) -> Turn:
    return {"call": name, "with": {} if arguments is None else arguments}


def turn_unavailable(message: str = "") -> Turn:
    return {"error": "unavailable", "message": message}


def turn_refused(text: str = "") -> Turn:
    return {"stop": "refused", "text": text}


def turn_cut(text: str = "") -> Turn:
    return {"stop": "cut", "text": text}


def turn_recorded(name: str) -> Turn:
    return {"recorded": name}


def turn_fails(error: str, value: object) -> Turn:
    return {"fails": error, "with": value}


def turn_timeout() -> Turn:
    return {"timeout": True}


def turn_uncertain() -> Turn:
    return {"uncertain": True}


def turn_denied(message: str = "") -> Turn:
    return {"denied": message}


def shown(value: object) -> str:
    """A value as one line of JSON, cut where it is long; secrets stay closed."""
    try:
        text = encode(value).decode()
    except EncodeError:
        text = repr(value) if type(value).__module__.startswith("ael.") else f"a {type(value).__name__}"
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def difference(left: object, right: object) -> list[str]:
    """Where two values differ, line by line; nothing for what is seen at a glance."""
    texts = [_readable(left), _readable(right)]
    if None in texts or all(text is not None and "\n" not in text and len(text) <= GLANCE for text in texts):
        return []
    first, second = ([line[:WIDTH] for line in (text or "").split("\n")[:MOST_LINES]] for text in texts)
    found = [line for line in unified_diff(first, second, n=1, lineterm="") if not line.startswith(("---", "+++", "@@"))]
    more = [f"    … {len(found) - MOST_DIFFERENT} lines more"] if len(found) > MOST_DIFFERENT else []
    return ["  - left, + right:", *(f"    {line}" for line in found[:MOST_DIFFERENT]), *more] if found else []


def _readable(value: object) -> str | None:
    """Text as it is, other data as JSON over several lines; None for what is no data."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(json.loads(encode(value)), ensure_ascii=False, indent=2)
    except EncodeError:
        return None


def assertion_failed(
    condition: str, message: str | None, operands: Sequence[tuple[str, object]], compared: Sequence[object] = ()
) -> NoReturn:
    """The fault `AssertionFailed`: what was asserted, what its parts were, and where two that should be equal differ."""
    seen = [(text, shown(value)) for text, value in operands if value is not UNSEEN]
    lines = [message or "assertion failed", f"  assert {condition}", *(f"    {text} = {value}" for text, value in seen)]
    if len(compared) == 2 and all(value is not UNSEEN for value in compared):
        lines += difference(compared[0], compared[1])
    raise Fault(FaultKind.ASSERTION_FAILED, "\n".join(lines), condition=condition, values=dict(seen))
