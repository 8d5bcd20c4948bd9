"""The type that is wanted where the cursor is, as far as what stands around it says so."""

from __future__ import annotations

from ael.check.access import fields_of
from ael.check.builtin import METHODS
from ael.check.program import Tables
from ael.editor.features import written
from ael.editor.snapshot import File, Snapshot
from ael.syntax import nodes as n
from ael.types.definition import EnumDef, RecordDef
from ael.types.type import BoolType, Type, Unknown, Variable, optional


def expected(snapshot: Snapshot, file: File, path: tuple[n.Node, ...]) -> Type | None:
    """The type wanted of the expression at the end of `path`; None where anything will do, or nobody knows."""
    tables = file.tables
    at = len(path) - 1
    while at > 0 and not isinstance(path[at], n.Reference):
        at -= 1
    node: n.Node = path[at]
    for around in reversed(path[:at]):
        match around:
            case n.Argument(value=value) if value is node:
                node = around
                continue
            case n.Call(arguments=arguments) if any(one is node for one in arguments):
                return _argument(snapshot, tables, around, node)
            case n.Let(type=written_type, value=value) if value is node:
                return tables.written.get(written_type) if written_type is not None else None
            case n.Assign(name=name, value=value) if value is node:
                known = tables.resolved.get(name)
                return getattr(known, "type", None)
            case n.If(condition=condition) | n.While(condition=condition) | n.Require(condition=condition) if condition is node:
                return BoolType()
            case n.Assert(condition=condition) if condition is node:
                return BoolType()
            case n.Approval(condition=condition) | n.Edge(condition=condition) if condition is node:
                return BoolType()
            case n.Unary(op="not"):
                return BoolType()
            case n.Binary(op=op, left=left, right=right):
                if op in ("and", "or"):
                    return BoolType()
                other = tables.types.get(right if left is node else left)
                return None if isinstance(other, Unknown) or op in ("in", "not in") else other
            case n.FieldValue(value=value) if value is node:
                node = around
                continue
            case n.With(base=base, fields=fields) if any(one is node for one in fields):
                assert isinstance(node, n.FieldValue)
                return field_type(snapshot, tables.types.get(base), node.name.text)
            case n.Arm(body=body) if body is node:
                node = around
                continue
            case n.ExprStatement() | n.Match() | n.Catch() | n.If():
                if isinstance(around, n.Match) and around.subject is node:
                    return None
                node = around
                continue
            case n.Block(statements=statements):
                if not statements or statements[-1] is not node:
                    return None
                node = around
                continue
            case n.Return() | n.Fail():
                node = around
                return _result(tables, path) if isinstance(around, n.Return) else None
            case n.FunctionDecl(body=body) | n.ToolDecl(body=body) | n.NodeDecl(body=body) if body is node:
                return _result(tables, path)
            case n.ConstDecl(type=written_type) if written_type is not None:
                return tables.written.get(written_type)
            case n.Field(type=field_written, default=default) | n.Parameter(type=field_written, default=default) if (
                default is node
            ):
                return tables.written.get(field_written)
            case _:
                return None
    return None


def _result(tables: Tables, path: tuple[n.Node, ...]) -> Type | None:
    for node in reversed(path):
        if isinstance(node, n.Lambda):
            return None
        if isinstance(node, n.FunctionDecl | n.ToolDecl | n.NodeDecl):
            return tables.written.get(node.result) if node.result is not None else None
    return None


def _argument(snapshot: Snapshot, tables: Tables, call: n.Call, node: n.Node) -> Type | None:
    info = tables.calls.get(call)
    if info is None or not isinstance(node, n.Argument):
        return None
    place: int | None = None
    if node.name is None:
        # What stands in a wrong place is not assigned: count.
        place = [one for one in call.arguments if one.name is None].index(node)
    types = parameter_types(snapshot, info.kind, info.name)
    if node.name is not None:
        return types.get(node.name.text)
    ordered = list(types.values())
    return ordered[place] if place is not None and place < len(ordered) else None


def parameter_types(snapshot: Snapshot, kind: str, name: str) -> dict[str, Type]:
    """The parameters (or fields) of what a call of this kind calls, with their types."""
    collected = snapshot.collected
    if kind in ("record", "error"):
        definition = collected.definitions.get(name)
        fields = definition.fields if isinstance(definition, RecordDef) else ()
        return {f.name: optional(f.type) if f.optional else f.type for f in fields}
    if kind == "variant":
        owner, _, own = name.rpartition(".")
        enum = collected.definitions.get(owner)
        fields = next((v.fields for v in enum.variants if v.name == own), ()) if isinstance(enum, EnumDef) else ()
        return {f.name: optional(f.type) if f.optional else f.type for f in fields}
    if kind in ("function", "effect", "builtin"):
        signature = collected.signatures.get(name)
        if signature is not None:
            return {p.name: optional(p.type) if p.optional else p.type for p in signature.parameters}
        one = written.builtin(name)
        if one is not None and name.partition(".")[0] not in METHODS:
            return {n_: t for n_, t in zip(one.names, one.parameters, strict=True) if not isinstance(t, Variable)}
    return {}


def field_type(snapshot: Snapshot, owner: Type | None, name: str) -> Type | None:
    """The type of a field of a record."""
    fields = fields_of(owner, snapshot.collected.definitions) if owner is not None else None
    return next((f.type for f in fields or () if f.name == name), None)
