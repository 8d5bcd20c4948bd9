"""The methods and functions of the language, as a table of signatures. `abi` in the back end implements each under the same name.

A method is called `list.map` after the type of its receiver; `number.abs` stands for `int.abs`, `float.abs` and `decimal.abs`. In a
signature `T` is the item of a list or the value of a map, `N` the receiver's own type without bounds, `U` and `K` are found from the
arguments.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from ael.data import dataclass, replace
from ael.types.type import (
    AnonymousRecord,
    BoolType,
    BytesType,
    DateType,
    DecimalType,
    DurationType,
    FloatType,
    FunctionType,
    IntType,
    JsonType,
    ListType,
    MapType,
    Named,
    StringType,
    TimestampType,
    Type,
    UnitType,
    Variable,
    optional,
)

Asks: TypeAlias = Literal["", "sortable", "number", "comparable", "string"]


@dataclass(frozen=True, slots=True)
class Builtin:
    """A method or function. `required` counts the arguments that must stand; `keeps` says that a result is never larger than the
    receiver, so that it keeps its `max`; `asks` is what `T` (or `K`, where there is one) must be."""

    name: str
    names: tuple[str, ...]
    parameters: tuple[Type, ...]
    result: Type
    required: int
    keeps: bool = False
    asks: Asks = ""


S, I, F, D, B = StringType(), IntType(), FloatType(), DecimalType(), BoolType()  # noqa: E741
TS, DAY, DUR, J, UNIT = TimestampType(), DateType(), DurationType(), JsonType(), UnitType()
T, U, K, N = Variable("?T"), Variable("?U"), Variable("?K"), Variable("?N")
LT, LU = ListType(T), ListType(U)


def _fn(*types: Type) -> FunctionType:
    return FunctionType(types[:-1], types[-1])


def _b(
    name: str,
    parameters: dict[str, Type],
    result: Type,
    *,
    optional_from: int | None = None,
    keeps: bool = False,
    asks: Asks = "",
) -> Builtin:
    names = tuple(parameters)
    required = len(names) if optional_from is None else optional_from
    return Builtin(name, names, tuple(parameters.values()), result, required, keeps, asks)


def native(name: str, parameters: dict[str, Type], result: Type, *, optional_from: int | None = None) -> Builtin:
    """A native function of the standard library, `hash.sha256`: `native_hash_sha256(…)` in its modules (`ael/check/natives`)."""
    return _b(f"native.{name}", parameters, result, optional_from=optional_from)


_TABLE = (
    _b("string.length", {}, I),
    _b("string.is_empty", {}, B),
    _b("string.trim", {}, S, keeps=True),
    _b("string.lower", {}, S),
    _b("string.upper", {}, S),
    _b("string.contains", {"part": S}, B),
    _b("string.starts_with", {"part": S}, B),
    _b("string.ends_with", {"part": S}, B),
    _b("string.split", {"separator": S}, ListType(S)),
    _b("string.replace", {"old": S, "new": S}, S),
    _b("string.lines", {}, ListType(S)),
    _b("string.slice", {"from": I, "to": I}, S, optional_from=1, keeps=True),
    _b("string.index_of", {"part": S}, optional(I)),
    _b("string.repeat", {"count": I}, S),
    _b("string.to_int", {}, optional(I)),
    _b("string.to_float", {}, optional(F)),
    _b("string.to_decimal", {}, optional(D)),
    _b("string.to_bytes", {}, BytesType()),
    _b("string.chars", {}, ListType(S)),
    _b("string.pad_left", {"width": I, "fill": S}, S, optional_from=1),
    _b("string.pad_right", {"width": I, "fill": S}, S, optional_from=1),
    _b("list.length", {}, I),
    _b("list.is_empty", {}, B),
    _b("list.map", {"function": _fn(T, U)}, LU, keeps=True),
    _b("list.filter", {"function": _fn(T, B)}, LT, keeps=True),
    _b("list.find", {"function": _fn(T, B)}, optional(T)),
    _b("list.any", {"function": _fn(T, B)}, B),
    _b("list.all", {"function": _fn(T, B)}, B),
    _b("list.count", {"function": _fn(T, B)}, I),
    _b("list.fold", {"start": U, "function": _fn(U, T, U)}, U),
    _b("list.sort", {}, LT, keeps=True, asks="sortable"),
    _b("list.sort_by", {"key": _fn(T, K)}, LT, keeps=True, asks="sortable"),
    _b("list.reverse", {}, LT, keeps=True),
    _b("list.first", {}, optional(T)),
    _b("list.last", {}, optional(T)),
    _b("list.take", {"count": I}, LT, keeps=True),
    _b("list.drop", {"count": I}, LT, keeps=True),
    _b("list.slice", {"from": I, "to": I}, LT, optional_from=1, keeps=True),
    _b("list.contains", {"item": T}, B, asks="comparable"),
    _b("list.index_of", {"item": T}, optional(I), asks="comparable"),
    _b("list.append", {"item": T}, LT),
    _b("list.concat", {"other": LT}, LT),
    _b("list.flatten", {}, LT),
    _b("list.flat_map", {"function": _fn(T, LU)}, LU),
    _b("list.unique", {}, LT, keeps=True, asks="comparable"),
    _b("list.zip", {"other": LU}, ListType(AnonymousRecord((("first", T), ("second", U))))),
    _b("list.enumerate", {}, ListType(AnonymousRecord((("index", I), ("value", T)))), keeps=True),
    _b("list.join", {"separator": S}, S, optional_from=0, asks="string"),
    _b("list.sum", {}, T, asks="number"),
    _b("list.min", {}, optional(T), asks="sortable"),
    _b("list.max", {}, optional(T), asks="sortable"),
    _b("list.group_by", {"key": _fn(T, S)}, MapType(LT)),
    _b("map.length", {}, I),
    _b("map.is_empty", {}, B),
    _b("map.keys", {}, ListType(S)),
    _b("map.values", {}, LT),
    _b("map.get", {"key": S}, optional(T)),
    _b("map.has", {"key": S}, B),
    _b("map.set", {"key": S, "value": T}, MapType(T)),
    _b("map.remove", {"key": S}, MapType(T), keeps=True),
    _b("map.merge", {"other": MapType(T)}, MapType(T)),
    _b("map.map_values", {"function": _fn(T, U)}, MapType(U), keeps=True),
    _b("map.filter", {"function": _fn(S, T, B)}, MapType(T), keeps=True),
    _b("number.abs", {}, N),
    _b("number.min", {"other": N}, N),
    _b("number.max", {"other": N}, N),
    _b("number.clamp", {"low": N, "high": N}, N),
    _b("number.round", {"digits": I}, N, optional_from=0),
    _b("number.floor", {}, I),
    _b("number.ceil", {}, I),
    _b("number.to_int", {}, I),
    _b("number.to_float", {}, F),
    _b("number.to_decimal", {}, D),
    _b("number.to_string", {}, S),
    _b("timestamp.plus", {"length": DUR}, TS),
    _b("timestamp.minus", {"length": DUR}, TS),
    _b("timestamp.since", {"earlier": TS}, DUR),
    _b("timestamp.to_string", {}, S),
    _b("timestamp.year", {}, I),
    _b("timestamp.month", {}, I),
    _b("timestamp.day", {}, I),
    _b("date.plus", {"length": DUR}, DAY),
    _b("date.minus", {"length": DUR}, DAY),
    _b("date.since", {"earlier": DAY}, DUR),
    _b("date.to_string", {}, S),
    _b("date.year", {}, I),
    _b("date.month", {}, I),
    _b("date.day", {}, I),
    _b("duration.plus", {"other": DUR}, DUR),
    _b("duration.minus", {"other": DUR}, DUR),
    _b("duration.in_seconds", {}, F),
    _b("duration.to_string", {}, S),
    _b("json.get", {"key": S}, optional(J)),
    _b("json.at", {"index": I}, optional(J)),
    _b("json.as_string", {}, optional(S)),
    _b("json.as_int", {}, optional(I)),
    _b("json.as_float", {}, optional(F)),
    _b("json.as_bool", {}, optional(B)),
    _b("json.as_list", {}, optional(ListType(J))),
    _b("json.as_map", {}, optional(MapType(J))),
    _b("bytes.length", {}, I),
    _b("bytes.to_base64", {}, S),
    _b("bytes.to_string", {}, optional(S)),
)

METHODS: dict[str, dict[str, Builtin]] = {}
"""Receiver's kind -> method's own name -> what it is."""
for _one in _TABLE:
    _owner, _, _own = _one.name.partition(".")
    for _kind in ("int", "float", "decimal") if _owner == "number" else (_owner,):
        METHODS.setdefault(_kind, {})[_own] = replace(_one, name=f"{_kind}.{_own}")

RECEIVERS: dict[type, str] = {
    StringType: "string", ListType: "list", MapType: "map", IntType: "int", FloatType: "float", DecimalType: "decimal",
    TimestampType: "timestamp", DateType: "date", DurationType: "duration", JsonType: "json", BytesType: "bytes",
}  # fmt: skip
"""Which methods a type has."""

EFFECT_SIGNATURES: dict[str, Builtin] = {
    "now": _b("std.now", {}, TS),
    "today": _b("std.today", {}, DAY),
    "new_id": _b("std.new_id", {}, S),
    "random_int": _b("std.random_int", {"low": I, "high": I}, I),
    "log": _b("std.log", {"text": S}, UNIT),
}
"""What acts on the world without an import, each journaled."""

TURN: Type = Named("Turn")
"""A scripted model's turn."""

FUNCTIONS: dict[str, Builtin] = {
    "min": _b("min", {"a": U, "b": U}, U, asks="sortable"),
    "max": _b("max", {"a": U, "b": U}, U, asks="sortable"),
    "abs": _b("abs", {"number": U}, U, asks="number"),
    "range": _b("range", {"low": I, "high": I}, ListType(I)),
    "json": _b("json", {"value": U}, J),
    "parse_json": _b("parse_json", {"text": S}, J),
    "release": _b("release", {"value": U, "reason": S}, U),
}
"""Pure functions, and `release`, which the trace records."""

TEST_FUNCTIONS: dict[str, Builtin] = {
    "final": _b("final", {"value": U}, TURN),
    "text": _b("text", {"text": S}, TURN),
    "call": _b("call", {"name": S, "arguments": J}, TURN, optional_from=1),
    "unavailable": _b("unavailable", {"message": S}, TURN, optional_from=0),
    "refused": _b("refused", {"message": S}, TURN, optional_from=0),
    "cut": _b("cut", {"text": S}, TURN, optional_from=0),
    "recorded": _b("recorded", {"name": S}, TURN),
    "fails": _b("fails", {"error": U}, TURN),
    "timeout": _b("timeout", {}, TURN),
    "uncertain": _b("uncertain", {}, TURN),
    "denied": _b("denied", {"message": S}, TURN, optional_from=0),
}
"""What something scripted answers; only in tests."""

TEST_EFFECTS: dict[str, Builtin] = {
    "advance": _b("advance", {"by": DUR}, UNIT),
    "snapshot": _b("snapshot", {"name": S, "value": U}, UNIT),
    "spent_steps": _b("spent_steps", {}, I),
    "spent_tokens": _b("spent_tokens", {}, I),
    "spent_calls": _b("spent_calls", {}, I),
}
"""What a test does with its clock and its snapshots, and what its run has used."""


@dataclass(frozen=True)
class Target:
    """A function of tests whose first argument is a name. `does`: how a message about a wrong name goes on; `wanted` what stands there;
    `more` further parameters, all optional; `arguments`: those of what is named may follow."""

    does: str
    wanted: str
    kinds: frozenset[str]
    result: Type = UNIT
    more: tuple[tuple[str, Type], ...] = ()
    arguments: bool = False


_CALLED = frozenset({"tool", "operation"})
_ACTS = "a tool or an operation"
_DIES = "happens in a call of a tool, an operation or a store"
_ASKED = Target("is about a tool that asks for an approval", "a tool", frozenset({"tool"}), more=(("reason", S),))

TEST_TARGETS: dict[str, Target] = {
    "calls": Target(
        "counts how often a tool, a node or an operation ran",
        f"{_ACTS}, or a node",
        _CALLED | {"node", "agent"},
        I,
        arguments=True,
    ),
    "refusals": Target("counts how often a model's call of a tool was refused", "a tool", frozenset({"tool"}), I),
    "crash_during": Target(_DIES, _ACTS, _CALLED, more=(("call", I),)),
    "crash_after": Target(_DIES, _ACTS, _CALLED, more=(("call", I),)),
    "decline": _ASKED,
    "unanswered": replace(_ASKED, more=()),
    "withhold": Target("is about a permission", "a permission", frozenset({"permission"})),
}
"""Those whose first argument is no value."""


def _shown(name: str, target: Target) -> Builtin:
    """The function as a signature: what is named stands as a parameter without a type of its own."""
    names = (target.wanted.partition(" or ")[0].removeprefix("a ").partition(",")[0], *(name for name, _ in target.more))
    return Builtin(name, names, (U, *(type for _, type in target.more)), target.result, 1)


IN_TESTS: dict[str, Builtin] = {
    **TEST_FUNCTIONS,
    **TEST_EFFECTS,
    **{name: _shown(name, target) for name, target in TEST_TARGETS.items()},
}
"""All that stands in tests alone, as signatures, for those who show them."""
