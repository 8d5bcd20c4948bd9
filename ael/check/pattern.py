"""Patterns: what each tests, what it binds, and whether it can match at all."""

from __future__ import annotations

from typing import TypeAlias

from ael.check.access import no_variant
from ael.check.checker import UNKNOWN, Checker
from ael.check.collect import Symbol
from ael.check.kind import NULL, literal_base, loose, plain, without_null
from ael.check.literal import is_number
from ael.check.module import report_unknown, seen, visible
from ael.check.program import Local, PatternInfo
from ael.check.sign import UNCERTAIN
from ael.check.suggest import did_you_mean
from ael.check.types import BUILT_IN
from ael.data import dataclass
from ael.syntax import nodes as n
from ael.types.definition import EnumDef, FieldDef, RecordDef
from ael.types.text import show
from ael.types.type import (
    ListType,
    LiteralType,
    MapType,
    Named,
    Never,
    Type,
    UnionType,
    Unknown,
    optional,
    union,
)

# --- what exhaustiveness needs to know -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wild:
    """Matches anything."""


@dataclass(frozen=True, slots=True)
class Value:
    """One literal value; `owner` is the member of the union that it belongs to."""

    value: object
    owner: Type


@dataclass(frozen=True, slots=True)
class Whole:
    """All of a member of the union: `String s`, `Order o`, an enum by its name."""

    member: Type


@dataclass(frozen=True, slots=True)
class Variant:
    """A variant of an enum, with what its fields match."""

    enum: str
    name: str
    fields: tuple[Shape, ...] = ()


@dataclass(frozen=True, slots=True)
class Items:
    """A list: its first items, and whether more may follow."""

    owner: Type
    items: tuple[Shape, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class Either:
    """Any of these."""

    shapes: tuple[Shape, ...]


Shape: TypeAlias = Wild | Value | Whole | Variant | Items | Either
WILD = Wild()


def members_of(c: Checker, type: Type) -> tuple[Type, ...]:
    """The members of a type with aliases opened; a type that is no union is its own member."""
    whole = c.expand(type)
    if not isinstance(whole, UnionType):
        return (whole,)
    found: list[Type] = []
    for member in whole.members:
        found.extend(members_of(c, member) if member != whole else (member,))
    return tuple(dict.fromkeys(found))


# --- patterns of a `match` -----------------------------------------------------------------------------------------------


def pattern(c: Checker, node: n.Pattern, type: Type) -> Shape:
    """Check a pattern against what stands there, bind its names, and say what it matches."""
    match node:
        case n.WildcardPattern():
            return WILD
        case n.BinderPattern(name=name):
            bind(c, name, type)
            return WILD
        case n.LiteralPattern():
            return _literal(c, node, type)
        case n.TypePattern():
            return _type(c, node, type)
        case n.VariantPattern():
            return _variant(c, node, type)
        case n.ListPattern():
            return _list(c, node, type)
        case n.OrPattern(alternatives=alternatives):
            return _either(c, node, alternatives, type)


def bind(c: Checker, name: n.Name, type: Type) -> None:
    """Give a name to what stands there."""
    if name.text == "_":
        return
    if name.text in c.locals[-1]:
        first = c.locals[-1][name.text]
        if first.slot in c.pattern_names:
            c.report("AEL0201", f"`{name.text}` is bound twice in this pattern", name.span)
            return
    local = c.declare(name, name, type)
    c.pattern_names.add(local.slot)
    c.bound.append((name, local))


def _literal(c: Checker, node: n.LiteralPattern, type: Type) -> Shape:
    value = node.value
    if isinstance(value, n.NullLit):
        c.types[value] = NULL
        if any(isinstance(m, Unknown) or m == NULL for m in members_of(c, type)):
            return Value(None, NULL)
        c.report("AEL0406", f"`null` never matches here: `{show(type)}` is never null", node.span)
        return WILD
    if isinstance(value, n.StringLit) and any(not isinstance(p, n.TextPart) for p in value.parts):
        c.report("AEL0410", "a pattern is a fixed text: compare with a guard, `x if x == …`", node.span)
        return WILD
    members = members_of(c, type)
    if any(isinstance(m, Unknown) for m in members):
        c.infer(value)
        return WILD
    found = _number(c, value, members) if is_number(value) else c.infer(value)
    for member in members:
        base = plain(member)
        if isinstance(found, LiteralType):
            found = literal_base(found)
        if not c.fits(plain(found), base):
            continue
        known = _known(value, found)
        if isinstance(member, LiteralType) and member.value != known:
            continue
        return Value(known, member)
    if isinstance(found, Unknown):
        return WILD
    c.report("AEL0406", f"this never matches: here stands `{show(type)}`", node.span)
    return WILD


def _number(c: Checker, value: n.Expr, members: tuple[Type, ...]) -> Type:
    bare = union(*(plain(m) for m in members))
    numeric = [m for m in (bare.members if isinstance(bare, UnionType) else (bare,)) if show(m) in ("Int", "Float", "Decimal")]
    if not numeric:
        return c.infer(value)
    found = c.check(value, union(*numeric))
    return plain(found)


def _known(node: n.Node, type: Type) -> object:
    match node:
        case n.StringLit(parts=parts):
            return "".join(p.text for p in parts if isinstance(p, n.TextPart))
        case n.IntLit(value=value) | n.BoolLit(value=value):
            return value
        case n.FloatLit(text=text):
            return float(text.replace("_", ""))
        case n.MoneyLit(value=amount):
            return amount
        case n.DurationLit(milliseconds=length):
            return ("duration", length)
        case n.Unary(operand=operand):
            inner = _known(operand, type)
            return -inner if isinstance(inner, int | float) else inner
        case _:
            return None


def _type(c: Checker, node: n.TypePattern, type: Type) -> Shape:
    """`String s`, `Order o`, `Topic.Refund`, `Paid`."""
    members = members_of(c, type)
    parts = node.path.parts
    binder = node.binder
    if any(isinstance(m, Unknown | Never) for m in members):
        if binder is not None:
            bind(c, binder, UNKNOWN)
        for part in parts[:1]:
            seen(c.module, part.text)
        return WILD
    if (
        len(parts) == 1
        and (found := _enum_with(c, members, parts[0].text)) is not None
        and not _is_member(c, members, parts[0].text)
    ):
        return _plain_variant(c, node, found, parts[0])
    if len(parts) > 1:
        owner = c.find(n.Path(node.path.span, parts[:-1]))
        if owner is not None and owner.kind == "enum":
            definition = c.definitions.get(owner.name)
            if isinstance(definition, EnumDef):
                return _plain_variant(c, node, definition, parts[-1], members)
    symbol = c.find(node.path)
    tested = _tested(c, node, symbol, members)
    if tested is None:
        if binder is not None:
            bind(c, binder, UNKNOWN)
        return WILD
    if binder is not None:
        bind(c, binder, tested)
    return Whole(tested) if not isinstance(tested, UnionType) else Either(tuple(Whole(m) for m in tested.members))


def _enum_with(c: Checker, members: tuple[Type, ...], name: str) -> EnumDef | None:
    for member in members:
        if (
            isinstance(member, Named)
            and isinstance(d := c.definitions.get(member.name), EnumDef)
            and any(v.name == name for v in d.variants)
        ):
            return d
    return None


def _is_member(c: Checker, members: tuple[Type, ...], name: str) -> bool:
    symbol = seen(c.module, name)
    return symbol is not None and any(isinstance(m, Named) and m.name == symbol.name for m in members)


def _plain_variant(
    c: Checker, node: n.TypePattern, enum: EnumDef, name: n.Name, members: tuple[Type, ...] | None = None
) -> Shape:
    if members is not None and not any(isinstance(m, Named) and m.name == enum.name for m in members):
        _never(c, node.path, union(*members))
        return WILD
    variant = next((v for v in enum.variants if v.name == name.text), None)
    if variant is None:
        no_variant(c, enum, name)
        return WILD
    if node.binder is not None:
        if variant.fields:
            message = f"`{name.text}` has fields: `{name.text}({', '.join(f.name for f in variant.fields)})` binds them"
            c.report("AEL0410", message, node.span)
        else:
            c.report("AEL0410", f"`{name.text}` is a plain variant, and holds nothing to bind", node.binder.span)
        bind(c, node.binder, UNKNOWN)
    c.tables.patterns[node] = PatternInfo("variant", variant.name, Named(enum.name))
    return Variant(enum.name, variant.name, tuple(WILD for _ in variant.fields))


def _tested(c: Checker, node: n.TypePattern, symbol: Symbol | None, members: tuple[Type, ...]) -> Type | None:
    """The members of the union that a type's name picks; None after a report."""
    path = node.path
    if symbol is None:
        _unknown(c, path, members)
        return None
    if symbol.kind == "unknown":
        return None
    if symbol.kind == "fault":
        c.report("AEL0406", f"`{path.text}` is a fault: faults are met by a `catch`, not by a `match`", path.span)
        return None
    if symbol.kind not in ("record", "error", "enum", "alias", "type"):
        c.report("AEL0406", f"`{path.text}` is not a type that a value here could be of", path.span)
        return None
    wanted = c.type_named(symbol)
    picked = _picked(c, wanted, symbol, members)
    if not picked:
        _never(c, path, union(*members))
        return None
    tested = union(*picked)
    kind = "error" if symbol.kind == "error" else "type"
    c.tables.patterns[node] = PatternInfo(kind, symbol.name, tested)  # type: ignore[arg-type]
    return tested


def _picked(c: Checker, wanted: Type, symbol: Symbol, members: tuple[Type, ...]) -> list[Type]:
    if symbol.kind == "type":
        if symbol.name in ("List", "Map"):
            container = ListType if symbol.name == "List" else MapType
            return [m for m in members if isinstance(m, container)]
        base = BUILT_IN.get(symbol.name)
        return [m for m in members if base is not None and c.fits(plain(m), base) and type(plain(m)) is type(base)]
    inside = members_of(c, wanted)
    return [m for m in members if any(c.fits(m, w) for w in inside)]


def _never(c: Checker, at: n.Node, type: Type) -> None:
    c.report("AEL0406", f"this never matches: here stands `{show(type)}`", at.span)


def _unknown(c: Checker, path: n.Path, members: tuple[Type, ...]) -> None:
    name = path.parts[0]
    if seen(c.module, name.text) is not None:
        c.report("AEL0406", f"there is no type or variant `{path.text}`", path.span)
        return
    variants = [
        v.name
        for m in members
        if isinstance(m, Named) and isinstance(d := c.definitions.get(m.name), EnumDef)
        for v in d.variants
    ]
    if variants:
        end, fix = did_you_mean(name.text, variants, c.module.source, name.span)
        choices = ", ".join(f"`{v}`" for v in variants[:12])
        c.report("AEL0406", f"there is no variant `{name.text}`{end or f'; there are {choices}'}", name.span, fix=fix)
        return
    known = visible(c.module, "record", "enum", "error", "alias", "type")
    kinds = frozenset({"record", "enum", "error", "alias"})
    report_unknown(c.collected, c.module, name, "type or variant", "AEL0203", c.bag, known, kinds)  # type: ignore[arg-type]


def _variant(c: Checker, node: n.VariantPattern, type: Type) -> Shape:
    """`Circle(r)`, `Circle(radius: r)`, also `Shape.Circle(r)`."""
    members = members_of(c, type)
    name = node.path.parts[-1]
    if any(isinstance(m, Unknown | Never) for m in members):
        for f in node.fields:
            pattern(c, f.pattern, UNKNOWN)
        return WILD
    enum = _enum_with(c, members, name.text)
    if enum is None:
        enums = [d for m in members if isinstance(m, Named) and isinstance(d := c.definitions.get(m.name), EnumDef)]
        if enums:
            no_variant(c, enums[0], name)
        elif any(isinstance(m, Named) and isinstance(c.definitions.get(m.name), RecordDef) for m in members):
            c.report("AEL0410", f"a record is bound whole, `{name.text} x`, and its fields read: `x.…`", node.span)
        else:
            _never(c, node.path, type)
        for f in node.fields:
            pattern(c, f.pattern, UNKNOWN)
        return WILD
    variant = next(v for v in enum.variants if v.name == name.text)
    c.tables.patterns[node] = PatternInfo("variant", variant.name, Named(enum.name))
    shapes: list[Shape] = [WILD] * len(variant.fields)
    at = 0
    given: set[str] = set()
    for f in node.fields:
        field = _field(c, f, variant.fields, at, variant.name)
        if f.name is None:
            at += 1
        if field is None:
            pattern(c, f.pattern, UNKNOWN)
            continue
        if field.name in given:
            c.report("AEL0410", f"the field `{field.name}` stands here twice", f.span)
        given.add(field.name)
        c.tables.fields[f] = field.wire
        shapes[variant.fields.index(field)] = pattern(c, f.pattern, optional(field.type) if field.optional else field.type)
    return Variant(enum.name, variant.name, tuple(shapes))


def _field(c: Checker, node: n.FieldPattern, fields: tuple[FieldDef, ...], at: int, variant: str) -> FieldDef | None:
    if node.name is None:
        if at < len(fields):
            return fields[at]
        count = f"{len(fields)} field{'s' if len(fields) != 1 else ''}" if fields else "no fields"
        c.report("AEL0410", f"`{variant}` has {count}", node.span)
        return None
    found = next((f for f in fields if f.name == node.name.text), None)
    if found is None:
        end, fix = did_you_mean(node.name.text, [f.name for f in fields], c.module.source, node.name.span)
        c.report("AEL0305", f"`{variant}` has no field `{node.name.text}`{end}", node.name.span, fix=fix)
    return found


def _list(c: Checker, node: n.ListPattern, type: Type) -> Shape:
    lists = [m for m in members_of(c, type) if isinstance(m, ListType)]
    owner: Type = lists[0] if lists else UNKNOWN
    item = lists[0].item if lists else UNKNOWN
    if not lists and not any(isinstance(m, Unknown | Never) for m in members_of(c, type)):
        _never(c, node, type)
    shapes = tuple(pattern(c, p, item) for p in node.items)
    if isinstance(node.rest, n.BinderPattern):
        bind(c, node.rest.name, ListType(item))
    return Items(owner, shapes, node.rest is not None) if lists else WILD


def _either(c: Checker, node: n.OrPattern, alternatives: tuple[n.Pattern, ...], type: Type) -> Shape:
    shapes: list[Shape] = []
    outer, taken = c.locals[-1], set(c.pattern_names)
    rounds: list[dict[str, tuple[n.Name, Local]]] = []
    for alternative in alternatives:
        c.locals[-1] = dict(outer)
        c.pattern_names = set(taken)
        start = len(c.bound)
        shapes.append(pattern(c, alternative, type))
        rounds.append({name.text: (name, local) for name, local in c.bound[start:]})
    first = rounds[0]
    for other in rounds[1:]:
        same = first.keys() == other.keys()
        if not same or any(loose(without_null(first[k][1].type)) != loose(without_null(other[k][1].type)) for k in first):
            names = ", ".join(f"`{name}`" for name in sorted({*first, *other}))
            c.report("AEL0411", f"the alternatives of a pattern bind the same names with the same types; here {names}", node.span)
    c.locals[-1] = outer
    for text, (_, local) in first.items():
        # whichever alternative matches, the arm sees one local
        whole = local.type
        for other in rounds[1:]:
            whole = c.join(whole, other[text][1].type) if text in other else whole
        merged = Local(text, local.slot, False, whole)
        for one in rounds:
            if text in one:
                c.tables.locals[one[text][0]] = merged
        outer[text] = merged
    return Either(tuple(shapes))


# --- patterns of a `catch` -----------------------------------------------------------------------------------------------


def catch_pattern(c: Checker, node: n.Pattern, errors: frozenset[str], broken: bool) -> frozenset[str] | None:
    """Check a pattern of a `catch`. Gives the errors that it meets; None for everything, faults included (`_`); an empty set for faults."""
    match node:
        case n.WildcardPattern():
            return None
        case n.BinderPattern(name=name):
            c.report(
                "AEL0410", f"what is caught has a type: `NotFound {name.text} => …`, `Fault {name.text} => …`, or `_`", node.span
            )
            bind(c, name, UNKNOWN)
            return None
        case n.OrPattern(alternatives=alternatives):
            return _catch_either(c, alternatives, errors, broken)
        case n.TypePattern():
            return _catch_type(c, node, errors, broken)
        case _:
            c.report(
                "AEL0410", "a `catch` names what it meets: `NotFound e`, `Timeout t`, `Fault f`, `Uncertain u` or `_`", node.span
            )
            return frozenset()


def _catch_either(c: Checker, nodes: tuple[n.Pattern, ...], errors: frozenset[str], broken: bool) -> frozenset[str] | None:
    met: frozenset[str] | None = frozenset()
    for one in nodes:
        if isinstance(one, n.TypePattern) and one.binder is not None and one.binder.text != "_":
            c.report("AEL0411", "alternatives that meet different errors bind nothing", one.binder.span)
            c.locals[-1].pop(one.binder.text, None)  # so that the same name in the next one is no second mistake
        found = catch_pattern(c, one, errors, broken)
        met = None if found is None or met is None else met | found
    return met


def _catch_type(c: Checker, node: n.TypePattern, errors: frozenset[str], broken: bool) -> frozenset[str]:
    path, binder = node.path, node.binder
    symbol = c.find(path)
    bound: Type = UNKNOWN
    met: frozenset[str] = frozenset()
    if symbol is None:
        if seen(c.module, path.parts[0].text) is None:
            known = visible(c.module, "error", "fault")
            report_unknown(c.collected, c.module, path.parts[0], "error or fault", "AEL0203", c.bag, known, frozenset({"error"}))
        else:
            c.report("AEL0203", f"there is no error `{path.text}`", path.span)
        met = errors - {UNCERTAIN}
    elif symbol.kind == "error":
        bound = Named(symbol.name)
        met = frozenset({symbol.name})
        c.tables.patterns[node] = PatternInfo("error", symbol.name, bound)
        if symbol.name not in errors and not broken:
            c.report("AEL1104", f"nothing here can fail with `{path.text}`, so this arm is never taken", node.span, warning=True)
    elif symbol.name == UNCERTAIN:
        bound = Named(UNCERTAIN)
        met = frozenset({UNCERTAIN})
        c.tables.patterns[node] = PatternInfo("uncertain", UNCERTAIN, bound)
        if UNCERTAIN not in errors and not broken:
            c.report("AEL1104", "nothing here can end `Uncertain`, so this arm is never taken", node.span, warning=True)
    elif symbol.kind == "fault" or symbol.name == "Fault":
        bound = Named("Fault")
        c.tables.patterns[node] = PatternInfo("fault", symbol.name, bound)
        if symbol.name == "Cancelled":
            c.report("AEL0407", "`Cancelled` cannot be caught: who cancels a run means all of it", node.span)
    elif symbol.kind != "unknown":
        message = f"`{path.text}` is no error: a `catch` meets declared errors, faults and `Uncertain`"
        c.report("AEL0406", message, path.span)
    if binder is not None:
        bind(c, binder, bound)
    return met
