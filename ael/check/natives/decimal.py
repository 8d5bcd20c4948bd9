"""Decimals, beyond what the operators do. What has no result of at most 34 digits is null."""

from __future__ import annotations

from ael.check.builtin import D, I, S, native
from ael.types.type import optional

_ONE = ("sqrt", "exp", "ln", "log10")

TABLE = (
    native("decimal.rounded", {"value": D, "places": I, "mode": S}, optional(D)),
    native("decimal.divided", {"a": D, "b": D, "places": I, "mode": S}, optional(D)),
    native("decimal.stripped", {"value": D}, D),
    native("decimal.places", {"value": D}, I),
    native("decimal.power", {"base": D, "exponent": D}, optional(D)),
    *(native(f"decimal.{name}", {"value": D}, optional(D)) for name in _ONE),
)
