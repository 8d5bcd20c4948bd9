"""What only tests use: turns of a scripted model, in the form that script files have, and failed assertions with their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from ael.types.canonical import EncodeError, encode
from ael.types.fault import Fault, FaultKind

UNSEEN = object()
"""Stands for an operand that was not evaluated."""
SHOWN = 200
"""Characters of a value that a failed assertion shows."""

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


def assertion_failed(condition: str, message: str | None, operands: Sequence[tuple[str, object]]) -> NoReturn:
    """The fault `AssertionFailed`: what was asserted, and what its parts were."""
    seen = [(text, shown(value)) for text, value in operands if value is not UNSEEN]
    lines = [message or "assertion failed", f"  assert {condition}", *(f"    {text} = {value}" for text, value in seen)]
    raise Fault(FaultKind.ASSERTION_FAILED, "\n".join(lines), condition=condition, values=dict(seen))
