"""The code for values without parts: one emitter for the three directions and for both decoders, so that they cannot differ.

The fast decoder ends at the first misfit; the full one notes it and goes on. Both are made from the same conditions.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias, TypeGuard, assert_never

from ael.data import dataclass, field
from ael.types.decode_support import FLOAT_MAX
from ael.types.formats import FORMATS
from ael.types.limits import MAX_INT, Limits
from ael.types.pattern import compile_pattern
from ael.types.text import show
from ael.types.type import (
    BoolType,
    BytesType,
    DateType,
    DecimalType,
    DurationType,
    FileType,
    FloatType,
    FunctionType,
    IntType,
    JsonType,
    LiteralType,
    Never,
    NullType,
    SecretType,
    StringType,
    TimestampType,
    Type,
    UnitType,
)

Leaf: TypeAlias = (
    StringType | IntType | FloatType | DecimalType | BoolType | BytesType | TimestampType | DateType | DurationType | JsonType
    | UnitType | NullType | FileType | SecretType | LiteralType | FunctionType | Never
)  # fmt: skip


class Direction(Enum):
    """DECODE: JSON to value. CHECK: value to value. ENCODE: value to JSON."""

    DECODE = "decode"
    CHECK = "check"
    ENCODE = "encode"


@dataclass(slots=True)
class Frame:
    """What generated code is written with; `constants` are its globals.

    `from_text` says that the value comes from the reader, so that its texts and keys are sound; `decimals`, that floats come as
    Decimals.
    """

    direction: Direction
    full: bool
    limits: Limits
    decimals: bool
    from_text: bool
    constants: dict[str, object]
    _names: dict[int, str] = field(default_factory=dict)

    def constant(self, value: object) -> str:
        """A global name for `value`."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"k{len(self.constants)}"
            self.constants[name] = value
        return name

    def fail(self, call: str) -> str:
        """What is done about a misfit: `call` is a method of the collector `E`, with the path `p` first."""
        return f"E.{call}" if self.full else "raise M"


_TIMES = {
    TimestampType: ("datetime", "parse_timestamp", "print_timestamp", "a time with an offset such as 2026-03-01T12:00:00Z"),
    DateType: ("date", "parse_date", "print_date", "a day such as 2026-03-01"),
    DurationType: ("timedelta", "parse_duration", "print_duration", "an ISO 8601 duration such as PT1H30M"),
}


def leaf_code(type: Leaf, frame: Frame, x: str, out: str, path: str) -> list[str]:
    """Lines that check the variable `x` and set `out`. In the full decoder `out` may stay unset after a misfit."""
    expected = repr(show(type))
    kind = frame.fail(f"kind({path}, {expected}, {x})")
    match type:
        case StringType():
            return _string(type, frame, x, out, path, kind)
        case IntType():
            within, bounds = int_bounds(type, frame, x, path)
            # a number that is written with a fraction or an exponent, and is whole
            other, other_bounds = int_bounds(type, frame, out, path)
            return [
                f"if type({x}) is not int:",
                f" {out} = whole({x})",
                f" if {out} is None: {kind}",
                f" elif not {other}: {other_bounds}",
                f"elif not {within}: {bounds}",
                *_give(x, out),
            ]
        case FloatType():
            return _float(type, frame, x, out, path, kind)
        case DecimalType():
            return _decimal(type, frame, x, out, path, kind)
        case BoolType():
            return [f"if {x} is not True and {x} is not False: {kind}", *_give(x, out)]
        case NullType() | UnitType():
            fail = frame.fail(f"kind({path}, 'null', {x})")
            return [f"if {x} is not None: {fail}", *_give(x, out)]
        case LiteralType(value):
            name = builtin_name(value)
            if name == "int":
                return [f"if ({x} if type({x}) is int else whole({x})) != {value!r}: {kind}", "else:", f" {out} = {value!r}"]
            return [f"if type({x}) is not {name} or {x} != {value!r}: {kind}", *_give(x, out)]
        case TimestampType() | DateType() | DurationType():
            return _time(type, frame, x, out, path)
        case BytesType():
            return _bytes(type, frame, x, out, path, kind)
        case FileType():
            return _file(type, frame, x, out, path, kind)
        case JsonType():
            back = f"without_decimals({x})" if frame.decimals and frame.direction is Direction.DECODE else x
            tell = f"J.tell({x}, {path}, E)" if frame.full else "raise M"
            return [f"if not J.fits({x}): {tell}", "else:", f" {out} = {back}"]
        case SecretType():
            if frame.direction is Direction.CHECK:
                return [f"if type({x}) is not Secret: {kind}", *_give(x, out)]
            return [f"{frame.fail(f'add({path}, {_SECRET!r}, {expected}, {_HIDDEN!r})')}", f"{out} = None"]
        case FunctionType():
            if frame.direction is Direction.CHECK:
                return [f"if not callable({x}): {kind}", *_give(x, out)]
            return [f"{frame.fail(f'add({path}, {_FUNCTION!r}, {expected}, {_HIDDEN!r})')}", f"{out} = None"]
        case Never():
            return [frame.fail(f"add({path}, 'nothing may be here', 'nothing', {_HIDDEN!r})"), f"{out} = None"]
        case _:
            assert_never(type)


def int_bounds(type: IntType, frame: Frame, x: str, path: str) -> tuple[str, str]:
    """The condition that the int in `x` is within its bounds, and what is done where it is not."""
    low, high = type.min, type.max
    fail = frame.fail(f"range({path}, {x}, {low!r}, {high!r}, 'a whole number of at most 4,096 bits')")
    if low is not None and high is not None:
        return f"{low} <= {x} <= {high}", fail
    least, most = -MAX_INT if low is None else low, MAX_INT if high is None else high
    return f"{frame.constant(least)} <= {x} <= {frame.constant(most)}", fail


_SECRET = "a Secret is no data: it never crosses a boundary"
_FUNCTION = "a function is no data: it never crosses a boundary"
_HIDDEN = "a value"


def builtin_name(value: object) -> str:
    """The name of the Python type of a constant."""
    return type(value).__name__


def _give(x: str, out: str) -> list[str]:
    return [] if x == out else ["else:", f" {out} = {x}"]


def _string(type: StringType, frame: Frame, x: str, out: str, path: str, kind: str) -> list[str]:
    checks: list[str] = []
    if type.min or type.max is not None:
        fail = frame.fail(f"size({path}, len({x}), {type.min!r}, {type.max!r}, 'characters')")
        checks.append(f"if not {_between(f'len({x})', type.min or None, type.max)}: {fail}")
    if type.max is None:
        limit = frame.limits.string_bytes
        fail = frame.fail(f"size({path}, len({x}.encode('utf-8', 'surrogatepass')), None, {limit}, 'bytes')")
        checks.append(f"if len({x}) > {limit // 4} and too_long({x}, {limit}): {fail}")
    if type.pattern is not None:
        expected = f"text that matches `{type.pattern}`"
        matcher = frame.constant(compile_pattern(type.pattern))
        checks.append(f"if not {matcher}({x}): {frame.fail(f'kind({path}, {expected!r}, {x})')}")
    if type.format is not None and type.format in FORMATS:
        expected = f"text in the format {type.format}"
        checks.append(f"if not {frame.constant(FORMATS[type.format])}({x}): {frame.fail(f'kind({path}, {expected!r}, {x})')}")
    if not frame.from_text:
        expected = "valid Unicode, without half a surrogate pair"
        checks.append(f"if not {x}.isascii() and not clean({x}): {frame.fail(f'kind({path}, {expected!r}, {x})')}")
    if x != out:
        checks.append(f"{out} = {x}")
    return [f"if type({x}) is not str: {kind}", "else:", *(f" {line}" for line in checks or ["pass"])]


def _between(value: str, low: object, high: object) -> str:
    match low, high:
        case None, _:
            return f"{value} <= {high}"
        case _, None:
            return f"{low} <= {value}"
        case _:
            return f"{low} <= {value} <= {high}"


def _float(type: FloatType, frame: Frame, x: str, out: str, path: str, kind: str) -> list[str]:
    low = -FLOAT_MAX if type.min is None else type.min
    high = FLOAT_MAX if type.max is None else type.max
    fail = frame.fail(f"range({path}, {x}, {type.min!r}, {type.max!r}, 'a number that a Float can hold')")
    kinds = f"type({x}) is not float and type({x}) is not int"
    if frame.decimals and frame.direction is Direction.DECODE:
        kinds += f" and type({x}) is not Decimal"
    # compared before it is rounded; NaN and infinity are never between
    return [
        f"if {kinds}: {kind}",
        f"elif not {low!r} <= {x} <= {high!r}: {fail}",
        "else:",
        f" {out} = {x} if type({x}) is float else float({x})",
    ]


def _decimal(type: DecimalType, frame: Frame, x: str, out: str, path: str, kind: str) -> list[str]:
    given = f"to_decimal({x})"
    if frame.direction is not Direction.DECODE:
        given += f" if type({x}) in (Decimal, int) else None"
    lines = [f"{out} = {given}", f"if {out} is None: {kind}"]
    if type.min is not None or type.max is not None:
        low, high = (None if bound is None else frame.constant(bound) for bound in (type.min, type.max))
        fail = frame.fail(f"range({path}, {out}, {low}, {high}, '')")
        lines.append(f"elif not {_between(out, low, high)}: {fail}")
    if frame.direction is Direction.ENCODE:
        lines += ["else:", f" {out} = decimal_text({out})"]
    return lines


def _time(type: TimestampType | DateType | DurationType, frame: Frame, x: str, out: str, path: str) -> list[str]:
    name, parse, write, example = _TIMES[type.__class__]
    fail = frame.fail(f"kind({path}, {example!r}, {x})")
    if frame.direction is Direction.DECODE:
        return [f"{out} = {parse}({x}) if type({x}) is str else None", f"if {out} is None: {fail}"]
    condition = f"type({x}) is not {name}"
    if isinstance(type, TimestampType):
        condition += f" or {x}.tzinfo is None"
        keep = f"{x}.astimezone(UTC)"
    else:
        keep = x
    return [f"if {condition}: {fail}", "else:", f" {out} = {f'{write}({x})' if frame.direction is Direction.ENCODE else keep}"]


def _bytes(type: BytesType, frame: Frame, x: str, out: str, path: str, kind: str) -> list[str]:
    if frame.direction is Direction.DECODE:
        fail = frame.fail(f"kind({path}, 'base64 text', {x})")
        lines = [f"{out} = to_bytes({x}) if type({x}) is str else None", f"if {out} is None: {fail}"]
    else:
        lines = [f"{out} = {x}", f"if type({x}) is not bytes: {kind}"]
    high = frame.limits.string_bytes if type.max is None else type.max
    fail = frame.fail(f"size({path}, len({out}), {type.min!r}, {high}, 'bytes')")
    lines.append(f"elif not {_between(f'len({out})', type.min or None, high)}: {fail}")
    if frame.direction is Direction.ENCODE:
        lines += ["else:", f" {out} = b64encode({out}).decode()"]
    return lines


def _file(type: FileType, frame: Frame, x: str, out: str, path: str, kind: str) -> list[str]:
    wanted = f"a file as {{media, data: base64}} or {{media, uri}}{f' of {type.media}' if type.media else ''}"
    fail = frame.fail(f"kind({path}, {wanted!r}, {x})")
    given = f"to_file({x})" if frame.direction is Direction.DECODE else f"{x} if type({x}) is File else None"
    lines = [f"{out} = {given}", f"if {out} is None or not media_fits({out}.media, {type.media!r}): {fail}"]
    if type.max is not None:
        size = frame.fail(f"size({path}, len({out}.data), None, {type.max}, 'bytes')")
        lines.append(f"elif {out}.data is not None and len({out}.data) > {type.max}: {size}")
    if frame.direction is Direction.ENCODE:
        lines += ["else:", f" {out} = file_form({out})"]
    return lines


def is_leaf(type: Type) -> TypeGuard[Leaf]:
    """Whether `leaf_code` writes code for it."""
    return isinstance(type, Leaf)


def keeps(type: Type, frame: Frame) -> bool:
    """Whether a leaf that fits is given on as it is."""
    if isinstance(type, JsonType):
        return not (frame.decimals and frame.direction is Direction.DECODE)
    if isinstance(type, LiteralType):
        return builtin_name(type.value) != "int"
    return isinstance(type, StringType | BoolType | NullType | UnitType | SecretType | FunctionType | Never)
