"""Numbers. A Float that would be no finite number is null."""

from __future__ import annotations

from ael.check.builtin import F, I, native
from ael.types.type import ListType, optional

_NUMBERS = ListType(F)
_ONE = ("sqrt", "cbrt", "exp", "ln", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh")

TABLE = (
    *(native(f"math.{name}", {"x": F}, optional(F)) for name in _ONE),
    native("math.pow", {"x": F, "y": F}, optional(F)),
    native("math.hypot", {"x": F, "y": F}, optional(F)),
    native("math.atan2", {"y": F, "x": F}, F),
    native("math.isqrt", {"n": I}, optional(I)),
    native("math.modpow", {"base": I, "exponent": I, "modulus": I}, optional(I)),
    native("math.sum", {"numbers": _NUMBERS}, optional(F)),
    native("math.mean", {"numbers": _NUMBERS}, optional(F)),
    native("math.moving", {"numbers": _NUMBERS, "size": I}, _NUMBERS),
    native("math.squares", {"numbers": _NUMBERS, "around": F}, optional(F)),
    native("math.products", {"xs": _NUMBERS, "ys": _NUMBERS, "x": F, "y": F}, optional(F)),
)
