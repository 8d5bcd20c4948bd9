"""Patterns: tests and what they bind. A plain enum is a string compare, a union member a test of its class, else of its shape."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ael.check.program import Local
from ael.data import dataclass, field
from ael.lower import build
from ael.lower.scope import Builder
from ael.syntax import nodes as n
from ael.types.definition import AliasDef, EnumDef, FieldDef, RecordDef, VariantDef
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
    UnitType,
    Unknown,
)


@dataclass
class Tests:
    """What must hold, in order, and what is bound then."""

    tests: list[ast.expr] = field(default_factory=list)
    binds: list[tuple[Local, ast.expr]] = field(default_factory=list)

    @property
    def always(self) -> bool:
        return not self.tests

    def test(self) -> ast.expr:
        return build.both(self.tests)


def compile_pattern(b: Builder, pattern: n.Pattern, subject: ast.expr, type: Type) -> Tests:
    """The tests of a pattern on `subject`, an expression that may be evaluated often."""
    found = Tests()
    _pattern(b, pattern, subject, type, found)
    return found


def _pattern(b: Builder, pattern: n.Pattern, subject: ast.expr, type: Type, found: Tests) -> None:
    type = b.program.resolve(type)
    match pattern:
        case n.WildcardPattern():
            return
        case n.BinderPattern(name=name):
            _bind(b, name, subject, found)
        case n.LiteralPattern(value=value):
            found.tests.append(_literal(b, value, subject, type))
        case n.TypePattern(binder=binder):
            found.tests.extend(_named(b, pattern, subject, type))
            if binder is not None:
                _bind(b, binder, subject, found)
        case n.VariantPattern(fields=fields):
            _fields(b, pattern, fields, subject, type, found)
        case n.ListPattern():
            _list(b, pattern, subject, type, found)
        case n.OrPattern(alternatives=alternatives):
            _alternatives(b, alternatives, subject, type, found)


def _bind(b: Builder, name: n.Name, subject: ast.expr, found: Tests) -> None:
    found.binds.append((b.tables.locals[name], subject))


def _alternatives(b: Builder, alternatives: Sequence[n.Pattern], subject: ast.expr, type: Type, found: Tests) -> None:
    parts = [compile_pattern(b, a, subject, type) for a in alternatives]
    tests: list[ast.expr] = []
    for part in parts:
        bound: list[ast.expr] = [build.walrus(b.declare(local), value) for local, value in part.binds]
        tests.append(build.both([*part.tests, *([ast.Tuple(bound, build.LOAD)] if bound else [])]))
    found.tests.append(build.any_of(tests))


def _literal(b: Builder, value: n.Expr, subject: ast.expr, type: Type) -> ast.expr:
    match value:
        case n.NullLit():
            return build.is_none(subject)
        case n.BoolLit(value=truth):
            return build.compare(subject, ast.Is(), build.const(truth))
    expected = b.value(value)
    equal = build.equal(subject, expected)
    number = not isinstance(value, n.StringLit | n.DurationLit)
    if number and not isinstance(type, IntType | FloatType | DecimalType):
        # Python's True is 1
        return build.both([build.negate(build.is_class(subject, "bool")), equal])
    return equal


# --- named: errors, variants, members of a union ----------------------------------------------------------------------


def _named(b: Builder, pattern: n.TypePattern | n.VariantPattern, subject: ast.expr, type: Type) -> list[ast.expr]:
    info = b.tables.patterns[pattern]
    match info.kind:
        case "variant":
            return _variant_test(b, info.name, subject, type, info.type)
        case "type":
            assert info.type is not None
            return type_test(b, subject, info.type, type)
        case "error":
            return type_test(b, subject, Named(info.name), type)
        case "uncertain":
            return type_test(b, subject, Named("Uncertain"), type)
        case "fault":
            if info.name == "Fault":
                return type_test(b, subject, Named("Fault"), type)
            return [build.equal(build.call("fault_kind", subject), build.const(info.name))]


def variant_of(b: Builder, name: str, type: Type, hint: Type | None = None) -> tuple[EnumDef, VariantDef]:
    """The variant that a pattern names: by its qualified name, else found in the enums of the subject's type."""
    owner, _, own = name.rpartition(".")
    definitions = b.program.checked.definitions
    for candidate in (
        definitions.get(owner),
        *(definitions.get(t.name) for t in (hint, *parts(b, type)) if isinstance(t, Named)),
    ):
        if isinstance(candidate, EnumDef):
            for variant in candidate.variants:
                if variant.name == own:
                    return candidate, variant
    raise AssertionError(f"the check lets no pattern {name} stand here")


def _variant_test(b: Builder, name: str, subject: ast.expr, type: Type, hint: Type | None) -> list[ast.expr]:
    enum, variant = variant_of(b, name, type, hint)
    if not variant.fields:
        return [build.equal(subject, build.const(variant.name))]
    only = all(isinstance(t, Named) and t.name == enum.name for t in parts(b, type))
    if only and all(v.fields for v in enum.variants):
        return [build.equal(build.subscript(subject, "kind"), build.const(variant.name))]
    return [build.equal(build.call("kind_of", subject), build.const(variant.name))]


def _fields(
    b: Builder, pattern: n.VariantPattern, fields: Sequence[n.FieldPattern], subject: ast.expr, type: Type, found: Tests
) -> None:
    found.tests.extend(_named(b, pattern, subject, type))
    info = b.tables.patterns[pattern]
    definitions: Sequence[FieldDef]
    if info.kind == "variant":
        definitions = variant_of(b, info.name, type, info.type)[1].fields
    else:
        definitions = record_fields(b, info.type.name if isinstance(info.type, Named) else info.name)
    field_patterns(b, fields, definitions, subject, found)


def record_fields(b: Builder, name: str) -> Sequence[FieldDef]:
    """The fields of a declared record or error."""
    record = b.program.checked.definitions.get(name)
    return record.fields if isinstance(record, RecordDef) else ()


def field_patterns(
    b: Builder, fields: Sequence[n.FieldPattern], definitions: Sequence[FieldDef], subject: ast.expr, found: Tests
) -> None:
    """Patterns of the fields of `subject`, by position or by name."""
    for position, one in enumerate(fields):
        wire = b.tables.fields.get(one)
        definition = definitions[position] if wire is None else next(f for f in definitions if f.wire == wire)
        key = build.const(definition.wire)
        inner = build.call("field", subject, key) if definition.optional else build.subscript(subject, key)
        _pattern(b, one.pattern, inner, definition.type, found)


def _list(b: Builder, pattern: n.ListPattern, subject: ast.expr, type: Type, found: Tests) -> None:
    if not isinstance(type, ListType):
        found.tests.append(build.is_class(subject, "list"))
    length = build.call("len", subject)
    count = build.const(len(pattern.items))
    if pattern.rest is None:
        found.tests.append(build.equal(length, count))
    elif pattern.items:
        found.tests.append(build.compare(length, ast.GtE(), count))
    item = next((t.item for t in parts(b, type) if isinstance(t, ListType)), Unknown())
    for at, one in enumerate(pattern.items):
        _pattern(b, one, build.subscript(subject, at), item, found)
    if isinstance(pattern.rest, n.BinderPattern):
        rest = ast.Subscript(subject, ast.Slice(count, None, None), build.LOAD)
        _bind(b, pattern.rest.name, rest, found)


def parts(b: Builder, type: Type) -> list[Type]:
    """The members of a union (and of unions in it), or the type itself."""
    type = b.program.resolve(type)
    if isinstance(type, UnionType):
        return [p for m in type.members for p in parts(b, m)]
    return [type]


_CLASSES: dict[type, str] = {
    StringType: "str", IntType: "int", FloatType: "float", BoolType: "bool", ListType: "list", DecimalType: "Decimal",
    BytesType: "bytes", TimestampType: "datetime", DateType: "date", DurationType: "timedelta", FileType: "File",
    MapType: "dict", AnonymousRecord: "dict",
}  # fmt: skip


def class_of(b: Builder, type: Type) -> str | None:
    """The Python class of all values of a type that is no union; None where there is not just one."""
    match type:
        case Named(name):
            match b.program.checked.definitions.get(name):
                case RecordDef():
                    return "dict"
                case EnumDef() as enum:
                    return "str" if enum.plain else "dict" if all(v.fields for v in enum.variants) else None
                case AliasDef():
                    return None
                case None:
                    return "dict" if name in ("Fault", "Uncertain") else None
        case LiteralType(value):
            return value.__class__.__name__
        case NullType() | UnitType():
            return "NoneType"
        case JsonType():
            return None
        case _:
            return _CLASSES.get(type.__class__)


def type_test(b: Builder, subject: ast.expr, type: Type, among: Type) -> list[ast.expr]:
    """Whether `subject`, one of `among`, belongs to `type`."""
    type = b.program.resolve(type)
    wanted = parts(b, type)
    others = [p for p in parts(b, among) if p not in wanted]
    if not others:
        return []
    if len(wanted) == 1:
        if isinstance(wanted[0], NullType | UnitType):
            return [build.is_none(subject)]
        if isinstance(wanted[0], LiteralType):
            literal = wanted[0].value
            test = build.equal(subject, build.const(literal))
            return [test] if isinstance(literal, str) else [build.is_class(subject, literal.__class__.__name__), test]
        mine = class_of(b, wanted[0])
        if mine is not None and all(class_of(b, o) not in (mine, None) for o in others):
            return [build.is_class(subject, mine)]
    return [build.call(b.program.shape(type), subject)]
