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
    declared = _record_fields(b, b.type(e.base))
    order = {f.wire: at for at, f in enumerate(declared)}
    optional = frozenset(f.wire for f in declared if f.optional)
    base, *values = b.values((e.base, *(f.value for f in e.fields)))
    given = [(b.tables.fields[f], f.value, value) for f, value in zip(e.fields, values, strict=True)]
    if [w for w, _, _ in given] != sorted((w for w, _, _ in given), key=lambda w: order.get(w, 0)):
        given = [(w, f, b.held(value)) for w, f, value in given]
        given.sort(key=lambda one: order.get(one[0], 0))
    keys: list[ast.expr | None] = [None, *(build.const(w) for w, _, _ in given)]
    made: ast.expr = ast.Dict(keys, [base, *(value for _, _, value in given)])
    nullable = [w for w, f, _ in given if w in optional and may_be_null(b, b.type(f))]
    if nullable:
        made = build.call("without_null", made, *map(build.const, nullable))
    # A field that was absent comes last, which is its place unless a field after it that is not set here was there.
    new = [order[w] for w, _, _ in given if w in optional]
    set_here = {w for w, _, _ in given}
    if new and any(f.wire not in set_here for f in declared[min(new) :]):
        made = build.call("in_order", made, *(build.const(f.wire) for f in declared))
    return made


def _record_fields(b: Builder, type: Type) -> Sequence[FieldDef]:
    match type:
        case Named(name):
            match b.program.checked.definitions.get(name):
                case RecordDef(fields=fields):
                    return fields
                case AliasDef() | EnumDef() | None:
                    return ()
    return ()
