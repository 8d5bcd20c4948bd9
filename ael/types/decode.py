"""Decoding, checking and encoding: functions compiled for a type.

`decoder` turns the JSON form into a value, `reader` does so from text, `checker` looks at a value from outside (an extern's
result, `T.check`), `encoder` gives the JSON form of a value that it checks on the way. What does not fit raises a DecodeError
with all its problems (up to a number). Rules: `1.0` and `1e3` are an Int (a number whose value is whole, up to 2^53 when it is
written with a fraction or an exponent), a whole number is a Float, `true` is no number, text
is never parsed as anything but the text forms of Decimal, Bytes and times; unknown keys are refused; defaults are filled in.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache

from ael.types import decode_support as support
from ael.types.canonical import file_form
from ael.types.decode_emit import Emitter
from ael.types.decode_leaf import Direction, Frame
from ael.types.decode_support import Collector, Decoder, Enough, Misfit
from ael.types.definition import Definitions
from ael.types.json import JsonError, checked_bytes, nesting, parse
from ael.types.limits import DEFAULT_LIMITS, Limits
from ael.types.problem import DecodeError, Problem
from ael.types.reach import bounds_depth, reachable, recursive
from ael.types.text import decimal_text
from ael.types.times import parse_date, parse_duration, parse_timestamp, print_date, print_duration, print_timestamp
from ael.types.type import DecimalType, Type
from ael.types.value import File, Secret

_ABSENT = object()
_GLOBALS: dict[str, object] = {
    "M": Misfit,
    "Z": _ABSENT,
    "UTC": UTC,
    "NoneType": type(None),
    "FunctionType": type(lambda: None),
    "Decimal": Decimal,
    "File": File,
    "Secret": Secret,
    "date": date,
    "datetime": datetime,
    "timedelta": timedelta,
    "b64encode": b64encode,
    "clean": support.clean,
    "decimal_text": decimal_text,
    "file_form": file_form,
    "media_fits": support.media_fits,
    "only_one": support.only_one,
    "parse_date": parse_date,
    "parse_duration": parse_duration,
    "parse_timestamp": parse_timestamp,
    "print_date": print_date,
    "print_duration": print_duration,
    "print_timestamp": print_timestamp,
    "to_bytes": support.to_bytes,
    "to_decimal": support.to_decimal,
    "to_file": support.to_file,
    "too_long": support.too_long,
    "whole": support.whole,
    "without_decimals": support.without_decimals,
}


class _Table:
    """Definitions as a key of caches: by identity, kept alive so that the identity stays theirs."""

    __slots__ = ("definitions",)

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Table) and self.definitions is other.definitions

    def __hash__(self) -> int:
        return id(self.definitions)


def decoder(type: Type, definitions: Definitions, limits: Limits = DEFAULT_LIMITS) -> Decoder:
    """A function from the JSON form (as the reader gives it) to the value. It raises DecodeError. Made once for a type."""
    return _codec(type, _Table(definitions), limits, Direction.DECODE)


def checker(type: Type, definitions: Definitions, limits: Limits = DEFAULT_LIMITS) -> Decoder:
    """A function from what should be a value of `type` to that value, with its defaults filled in. It raises DecodeError."""
    return _codec(type, _Table(definitions), limits, Direction.CHECK)


def encoder(type: Type, definitions: Definitions, limits: Limits = DEFAULT_LIMITS) -> Decoder:
    """A function from a value to its JSON form, with the checks of `checker`. It raises DecodeError."""
    return _codec(type, _Table(definitions), limits, Direction.ENCODE)


def reader(
    type: Type, definitions: Definitions, limits: Limits = DEFAULT_LIMITS, *, max_bytes: int | None = None
) -> Callable[[bytes | str], object]:
    """A function from JSON text to the value. `max_bytes` caps the text (default: a model's output). It raises DecodeError."""
    return _reader(type, _Table(definitions), limits, limits.model_output if max_bytes is None else max_bytes)


@lru_cache(maxsize=1_024)
def _reader(type: Type, table: _Table, limits: Limits, max_bytes: int) -> Callable[[bytes | str], object]:
    decimals = needs_decimals(type, table.definitions)
    bounded = not recursive(type, table.definitions) and bounds_depth(type, table.definitions, limits.depth)
    emitter = _emitter(table, limits, Direction.DECODE, False, decimals, True)
    fast = _budgeted(emitter.function(type), emitter)

    def read_value(text: bytes | str) -> object:
        try:
            tree = parse(checked_bytes(text, max_bytes), limits, decimals=decimals, bounded=bounded)
        except JsonError as error:
            raise DecodeError([error.problem()]) from None
        try:
            return fast(tree)
        except Misfit:
            pass
        raise _explain(_emitter(table, limits, Direction.DECODE, True, decimals, True), type, limits, tree)

    return read_value


@lru_cache(maxsize=2_048)
def _codec(type: Type, table: _Table, limits: Limits, direction: Direction) -> Decoder:
    emitter = _emitter(table, limits, direction, False, False, False)
    fast = _budgeted(emitter.function(type), emitter)
    unbounded = recursive(type, table.definitions)

    def convert(value: object) -> object:
        if unbounded and not nesting(value, limits.depth):
            raise DecodeError([Problem("", f"nested more than {limits.depth} deep, or contains itself")])
        try:
            return fast(value)
        except Misfit:
            pass
        raise _explain(_emitter(table, limits, direction, True, False, False), type, limits, value)

    return convert


@lru_cache(maxsize=256)
def _emitter(table: _Table, limits: Limits, direction: Direction, full: bool, decimals: bool, from_text: bool) -> Emitter:
    frame = Frame(direction, full, limits, decimals, from_text, {**_GLOBALS, "J": support.JsonWalk(limits)})
    return Emitter(table.definitions, frame)


def _budgeted(fast: Decoder, emitter: Emitter) -> Decoder:
    """`fast`, with a fresh budget of tries for each value where it needs one."""
    if not emitter.budgeted:
        return fast
    budget = emitter.budget

    def convert(value: object) -> object:
        budget.left = budget.tries
        try:
            return fast(value)
        except support.Spent:
            raise DecodeError([budget.refused()]) from None

    return convert


def _explain(emitter: Emitter, type: Type, limits: Limits, value: object) -> DecodeError:
    """Everything that is wrong with a value that does not fit."""
    full = emitter.function(type)
    problems = Collector(limits.problems)
    emitter.budget.left = emitter.budget.tries
    try:
        full(value, (), problems)
        more = False
    except Enough:
        more = True
    except support.Spent:
        return DecodeError([emitter.budget.refused()])
    if not problems.problems:
        raise AssertionError("the decoders disagree about a value")
    return DecodeError(problems.problems, more=more)


def needs_decimals(type: Type, definitions: Definitions) -> bool:
    """Whether numbers have to be read exactly because a Decimal is among the parts of `type`."""
    return any(isinstance(part, DecimalType) for part in reachable(type, definitions))
