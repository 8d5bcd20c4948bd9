"""Maps: what the types of the language cannot say of a value that may itself be null."""

from __future__ import annotations

from typing import Any

from ael.types.fault import Fault, FaultKind


def value(entries: dict[str, Any], key: str) -> Any:
    """The value of a key that is there; else the fault `OutOfRange`."""
    try:
        return entries[key]
    except KeyError:
        raise Fault(FaultKind.OUT_OF_RANGE, f"a map of {len(entries):,} entries has no such key", key=key[:200]) from None
