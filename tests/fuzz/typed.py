"""Types and values of them, made by Hypothesis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from hypothesis import strategies as st

from ael.types.definition import AliasDef, Definition, EnumDef, FieldDef, NoDefault, RecordDef, VariantDef
from ael.types.discriminate import ambiguous
from ael.types.type import (
    AnonymousRecord,
    BoolType,
    BytesType,
    DateType,
    DecimalType,
    DurationType,
    FileType,
    FloatType,
    IntType,
    JsonType,
    ListType,
    LiteralType,
    MapType,
    Named,
    NullType,
    StringType,
    TimestampType,
    Type,
    UnionType,
)
from ael.types.value import File

LETTERS = "abcxyz-é\U0001f600 0123456789"
"""No line ends: `$` means something else there for Python's `re`, which the validator of the tests uses."""
PATTERNS = ("^[a-z]+$", "[0-9]", "^a", "x$")
TEXTS_OF_PATTERN = {"^[a-z]+$": "abc", "[0-9]": "a7b", "^a": "axe", "x$": "abx"}
KEYS = ("a", "b", "c", "type", "If-Match", "$eq")


@dataclass(frozen=True)
class World:
    """A type and what stands behind the names in it."""

    type: Type
    definitions: Mapping[str, Definition]


BOUNDS = st.tuples(st.none() | st.integers(0, 3), st.none() | st.integers(3, 6))
STRINGS = st.one_of(
    BOUNDS.map(lambda b: StringType(*b)), st.sampled_from(PATTERNS).map(lambda p: StringType(pattern=p)), st.just(StringType())
)
NUMBERS = st.tuples(st.none() | st.integers(-5, 0), st.none() | st.integers(0, 2**60))
PLAIN = st.one_of(
    STRINGS,
    NUMBERS.map(lambda b: IntType(*b)),
    NUMBERS.map(lambda b: FloatType(*(None if n is None else float(n) for n in b))),
    st.just(BoolType()),
    st.just(NullType()),
    st.just(JsonType()),
    st.sampled_from(["low", "high", 3, True, False, 0, 1]).map(LiteralType),
)
SPECIAL = st.one_of(
    st.just(DecimalType()),
    st.just(DecimalType(min=Decimal("0.01"))),
    BOUNDS.map(lambda b: BytesType(*b)),
    st.just(TimestampType()),
    st.just(DateType()),
    st.just(DurationType()),
    st.just(FileType(media="image/*")),
)
NAMES = ("w.A", "w.B", "w.E", "w.T")


def types(leaves: st.SearchStrategy[Type], *, overlapping: bool) -> st.SearchStrategy[Type]:
    """Types over `leaves` and the four declared names; unions whose members overlap only where asked."""

    def wider(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
        union = st.lists(inner, min_size=2, max_size=3, unique=True).map(tuple)
        rules = st.sampled_from(["apart", "any", "one"]) if overlapping else st.just("apart")
        return st.one_of(
            st.tuples(inner, BOUNDS).map(lambda t: ListType(t[0], *t[1])),
            st.tuples(inner, BOUNDS).map(lambda t: MapType(t[0], *t[1])),
            st.tuples(union, rules).map(lambda t: UnionType(t[0], t[1])),
            st.lists(st.tuples(st.sampled_from(KEYS), inner), max_size=3, unique_by=lambda f: f[0]).map(
                lambda fields: AnonymousRecord(tuple(fields))
            ),
        )

    return st.recursive(st.one_of(leaves, st.sampled_from(NAMES).map(Named)), wider, max_leaves=6)


@st.composite
def worlds(draw: st.DrawFn, *, special: bool, overlapping: bool) -> World:
    """A type with declarations; without `overlapping`, every union is one that the checker accepts."""
    leaves = st.one_of(PLAIN, SPECIAL) if special else PLAIN
    inner = types(leaves, overlapping=overlapping)

    def fields(least: int) -> tuple[FieldDef, ...]:
        names = draw(st.lists(st.sampled_from(KEYS), min_size=least, max_size=3, unique=True))
        made = []
        for name in names:
            kind = draw(st.sampled_from(["required", "required", "optional"]))
            made.append(FieldDef(name, name, draw(inner), optional=kind == "optional"))
        return tuple(made)

    definitions: dict[str, Definition] = {
        # every cycle goes through a list, a map or an optional field, so that values end
        "w.A": RecordDef("w.A", _no_cycle(fields(0)), open=draw(st.booleans())),
        "w.B": RecordDef("w.B", (*_no_cycle(fields(1)), FieldDef("again", "again", ListType(Named("w.B")), optional=True))),
        "w.E": EnumDef("w.E", (VariantDef("One"), VariantDef("Two", (FieldDef("n", "n", draw(leaves)),)))),
        "w.T": AliasDef("w.T", UnionType((IntType(), ListType(Named("w.T"))))),
    }
    world = World(draw(inner), definitions)
    if not overlapping:
        from hypothesis import assume

        assume(all(ambiguous([t], definitions) is None for t in _all_types(world)))
    return world


def _no_cycle(fields: tuple[FieldDef, ...]) -> tuple[FieldDef, ...]:
    return tuple(f if not _names(f.type) else FieldDef(f.name, f.wire, ListType(f.type), f.optional) for f in fields)


def _names(type: Type) -> bool:
    match type:
        case Named(name):
            return name in ("w.A", "w.B")
        case ListType(inner) | MapType(inner):
            return _names(inner)
        case UnionType(members):
            return any(map(_names, members))
        case AnonymousRecord(fields):
            return any(_names(t) for _, t in fields)
    return False


def _all_types(world: World) -> list[Type]:
    from ael.types.reach import reachable

    roots = [world.type, *map(Named, world.definitions)]
    return [t for root in roots for t in reachable(root, world.definitions)]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def values(world: World, type: Type | None = None, depth: int = 4) -> st.SearchStrategy[object]:
    """Run-time values of a type."""

    def of(inner: Type) -> st.SearchStrategy[object]:
        return values(world, inner, depth - 1)

    match world.type if type is None else type:
        case StringType(low, high, pattern):
            if pattern is not None:
                return st.just(TEXTS_OF_PATTERN[pattern])
            return st.text(LETTERS, min_size=low or 0, max_size=6 if high is None else high)
        case IntType(low, high):
            return st.integers(-(2**70) if low is None else low, 2**70 if high is None else high)
        case FloatType(low, high):
            return st.floats(low, high, allow_nan=False, allow_infinity=False)
        case DecimalType(low):
            return st.decimals(low, allow_nan=False, allow_infinity=False, places=2)
        case BoolType():
            return st.booleans()
        case NullType():
            return st.none()
        case JsonType():
            return JSON
        case BytesType(low, high):
            return st.binary(min_size=low or 0, max_size=6 if high is None else high)
        case TimestampType():
            return st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))
        case DateType():
            return st.dates(date(1, 1, 1))
        case DurationType():
            return st.timedeltas(timedelta(days=-99_999), timedelta(days=99_999))
        case FileType():
            return st.binary(max_size=4).map(lambda data: File("image/png", data=data))
        case LiteralType(value):
            return st.just(value)
        case ListType(item, low, high):
            if depth <= 0 and not low:
                return st.just([])
            most = max(low or 0, min(2 if high is None else high, 2 if depth > 0 else 0))
            return st.lists(of(item), min_size=low or 0, max_size=most)
        case MapType(value, low, high):
            if depth <= 0 and not low:
                return st.just({})
            most = max(low or 0, min(2 if high is None else high, 2 if depth > 0 else 0))
            return st.dictionaries(st.sampled_from(KEYS), of(value), min_size=low or 0, max_size=most)
        case UnionType(members):
            return st.one_of(*(values(world, m, depth) for m in members))
        case AnonymousRecord(fields):
            return st.fixed_dictionaries({name: of(t) for name, t in fields})
        case Named(name):
            return _declared(world, name, depth)
    raise AssertionError(type)


def _declared(world: World, name: str, depth: int) -> st.SearchStrategy[object]:
    match world.definitions[name]:
        case RecordDef(fields=fields):
            return _record(world, fields, depth)
        case EnumDef(variants=variants):
            return st.one_of(
                *(
                    _record(world, v.fields, depth).map(lambda r, n=v.name: {"kind": n, **r}) if v.fields else st.just(v.name)
                    for v in variants
                )
            )
        case AliasDef(type=inner):
            return values(world, inner if depth > 0 else IntType(), depth - 1)


def _record(world: World, fields: tuple[FieldDef, ...], depth: int) -> st.SearchStrategy[dict[str, object]]:
    required = {f.wire: values(world, f.type, depth - 1) for f in fields if f.required}
    optional = {f.wire: values(world, f.type, depth - 1) for f in fields if not f.required and depth > 0}
    order = [f.wire for f in fields]
    assert all(isinstance(f.default, NoDefault) for f in fields)
    return st.fixed_dictionaries(required, optional=optional).map(lambda r: {key: r[key] for key in order if key in r})


ODD = st.sampled_from(
    [None, True, False, 0, 1, 3, -7, 0.5, "", "low", "x", "2026-03-01", [], [1], {}, {"a": 1}, {"kind": "Two"}, {"type": "x"}]
)


@st.composite
def mutated(draw: st.DrawFn, value: object) -> object:
    """A JSON value like `value` with one thing changed: replaced, dropped, added, or an entry twice."""
    if isinstance(value, dict) and draw(st.booleans()):
        made = dict(value)
        match draw(st.sampled_from(["drop", "add", "inside"])):
            case "drop" if made:
                del made[draw(st.sampled_from(sorted(made)))]
            case "inside" if made:
                key = draw(st.sampled_from(sorted(made)))
                made[key] = draw(mutated(made[key]))
            case _:
                made[draw(st.sampled_from([*KEYS, "other"]))] = draw(ODD)
        return made
    if isinstance(value, list) and draw(st.booleans()):
        entries = list(value)
        match draw(st.sampled_from(["drop", "add", "inside"])):
            case "drop" if entries:
                entries.pop()
            case "inside" if entries:
                entries[0] = draw(mutated(entries[0]))
            case _:
                entries.append(draw(ODD))
        return entries
    return draw(ODD)
