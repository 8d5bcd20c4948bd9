"""Records, errors and variants: dicts by wire name in declared order, an absent optional field left out."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ael.check.program import CallInfo
from ael.lower import build
from ael.lower.scope import Builder
from ael.syntax import nodes as n
from ael.types.definition import AliasDef, EnumDef, FieldDef, NoDefault, RecordDef
from ael.types.type import JsonType, Named, NullType, Type, UnionType, Variable


def ordered_values(b: Builder, nodes: Sequence[n.Expr]) -> list[ast.expr]:
    """Values in the order of `nodes`, evaluated in the order in which they are written."""
    order = sorted(range(len(nodes)), key=lambda i: nodes[i].span.start)
    if order == list(range(len(nodes))):
        return b.values(nodes)
    results: list[ast.expr | None] = [None] * len(nodes)
    for i, made in zip(order, b.values([nodes[i] for i in order]), strict=True):
        results[i] = b.held(made)
    return [r for r in results if r is not None]


def construct(b: Builder, info: CallInfo) -> ast.expr:
    """`Ticket(customer: c)`, `NotFound(id: id)`, `Circle(radius: r)`."""
    first: list[tuple[str, ast.expr]] = []
    if info.kind == "variant":
        owner, _, variant = info.name.rpartition(".")
        enum = b.program.checked.definitions[owner]
        assert isinstance(enum, EnumDef)
        fields = next(v.fields for v in enum.variants if v.name == variant)
        if not fields:
            return build.const(variant)
        first.append(("kind", build.const(variant)))
    else:
        definition = b.program.checked.definitions[info.name]
        assert isinstance(definition, RecordDef)
        fields = definition.fields
    return _build(b, first, fields, info.arguments)


def _build(
    b: Builder, first: list[tuple[str, ast.expr]], fields: Sequence[FieldDef], arguments: Sequence[n.Expr | None]
) -> ast.expr:
    values = iter(ordered_values(b, [a for a in arguments if a is not None]))
    entries, nullable = list(first), []
    for field, argument in zip(fields, arguments, strict=True):
        if argument is not None:
            entries.append((field.wire, next(values)))
            if field.optional and may_be_null(b, b.type(argument)):
                nullable.append(field.wire)
        elif not isinstance(field.default, NoDefault):
            entries.append((field.wire, b.program.constant(field.default)))
    made = build.record(entries)
    return build.call("without_null", made, *map(build.const, nullable)) if nullable else made


def may_be_null(b: Builder, type: Type) -> bool:
    match b.program.resolve(type):
        case NullType() | JsonType() | Variable():
            return True
        case UnionType(members):
            return any(may_be_null(b, m) for m in members)
        case _:
            return False


def with_(b: Builder, e: n.With) -> ast.expr:
    """`base with { field: x }`: a copy, its keys in declared order."""
    base, *values = b.values((e.base, *(f.value for f in e.fields)))
    wires = [b.tables.fields[f] for f in e.fields]
    optional = _optional_fields(b, b.type(e.base))
    keys: list[ast.expr | None] = [None, *map(build.const, wires)]
    copied = ast.Dict(keys, [base, *values])
    if not optional.intersection(wires):
        return copied
    nullable = [w for w, f in zip(wires, e.fields, strict=True) if w in optional and may_be_null(b, b.type(f.value))]
    made: ast.expr = build.call("without_null", copied, *map(build.const, nullable)) if nullable else copied
    return build.call("in_order", made, *map(build.const, _all_fields(b, b.type(e.base))))


def _record_fields(b: Builder, type: Type) -> Sequence[FieldDef]:
    match type:
        case Named(name):
            match b.program.checked.definitions.get(name):
                case RecordDef(fields=fields):
                    return fields
                case AliasDef() | EnumDef() | None:
                    return ()
    return ()


def _optional_fields(b: Builder, type: Type) -> frozenset[str]:
    return frozenset(f.wire for f in _record_fields(b, type) if f.optional)


def _all_fields(b: Builder, type: Type) -> list[str]:
    return [f.wire for f in _record_fields(b, type)]
