"""Number literals: what kind one is, what it means, what is wrong with it."""

from __future__ import annotations

import re
from decimal import Decimal

from ael.syntax.tokens import MAX_DIGITS
from ael.syntax.words import DURATION, FLOAT, INT, MONEY, SIZE

DURATIONS = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
"""Milliseconds in a unit of time."""

LONGEST = 999_999_999 * DURATIONS["d"]
"""Milliseconds of the longest Duration: some 2.7 million years."""

SIZES = {
    "B": 1, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
}  # fmt: skip
"""Bytes in a unit of size."""

_PARTS = re.compile(r"([0-9][0-9_]*+)(\.[0-9][0-9_]*+)?([eE][+-]?[0-9]++)?(\w*+)", re.ASCII)
_MAX_EXPONENT = 6


def number_kind(text: str) -> int:
    """The token kind of what the lexer takes for a number, -1 when it is none."""
    if text.isdigit():
        return INT
    if "__" in text or text[-1] == "_":
        return -1
    if text[0] == "$":
        found = _PARTS.fullmatch(text, 1)
        return MONEY if found and not found[3] and not found[4] else -1
    found = _PARTS.fullmatch(text)
    if found is None or "_." in text:
        return -1
    whole, fraction, exponent, unit = found.groups()
    if not unit:
        if exponent and len(exponent) > _MAX_EXPONENT:
            return -1
        return FLOAT if fraction or exponent else INT
    factor = DURATIONS.get(unit) or SIZES.get(unit)
    value = scaled(whole + (fraction or ""), factor) if factor is not None and not exponent else None
    if value is None or value > _most(unit):
        return -1
    return DURATION if unit in DURATIONS else SIZE


def _most(unit: str) -> int:
    """The largest duration that there is, or the largest Int."""
    return LONGEST if unit in DURATIONS else (1 << 4096) - 1


def scaled(number: str, factor: int) -> int | None:
    """`number * factor` when that is whole."""
    if "." not in number:
        return int(number) * factor
    whole, fraction = number.replace("_", "").split(".")
    product, rest = divmod(int(whole + fraction) * factor, 10 ** len(fraction))
    return None if rest else product


def amount(text: str) -> int:
    """What a duration (milliseconds) or a size (bytes) means."""
    found = _PARTS.fullmatch(text)
    assert found is not None, "the lexer has checked it"
    units = DURATIONS if found[4] in DURATIONS else SIZES
    value = scaled(found[1] + (found[2] or ""), units[found[4]])
    assert value is not None, "the lexer has checked it"
    return value


def money(text: str) -> Decimal:
    """What `$0.25` means."""
    return Decimal(text[1:].replace("_", ""))


def number_problem(text: str) -> tuple[str, str, tuple[str, ...]]:
    """Code, message and notes for what is wrong with `text`."""
    if len(text) > MAX_DIGITS:
        return "AEL0004", f"this number has more than {MAX_DIGITS} digits", ("an Int has up to 4,096 bits",)
    found = _PARTS.fullmatch(text.lstrip("$"))
    unit = found[4].lstrip("_") if found else ""
    if "__" in text or text[-1] == "_" or "_." in text:
        return "AEL0004", f"`{text}` is no number: `_` stands between digits only", ()
    if text[0] == "$":
        return "AEL0004", f"`{text}` is no amount of money; write it as `$0.25`", ()
    if unit in DURATIONS or unit in SIZES:
        assert found is not None
        if not found[3] and scaled(found[1] + (found[2] or ""), DURATIONS.get(unit) or SIZES[unit]) is not None:
            most = "999,999,999 days" if unit in DURATIONS else "4,096 bits"
            shown = text if len(text) <= 40 else f"{text[:20]}…{text[-8:]}"
            return "AEL0004", f"`{shown}` is too large: a {'duration' if unit in DURATIONS else 'size'} has at most {most}", ()
        return "AEL0004", f"`{text}` is no whole number of {'milliseconds' if unit in DURATIONS else 'bytes'}", ()
    if unit:
        known = ", ".join(f"`{u}`" for u in (*DURATIONS, *SIZES))
        return "AEL0004", f"`{text}` has the unknown unit `{unit}`", (f"the units are {known}",)
    return "AEL0004", f"`{text}` is too large an exponent", ()
