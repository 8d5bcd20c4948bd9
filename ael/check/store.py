"""Stores: a typed durable map, `store notes: Map<String, Note> needs notes.write`."""

from __future__ import annotations

from ael.check import clause as c
from ael.check.basis import Context
from ael.check.collect import ModuleScope, Symbol
from ael.check.permission import doc, named
from ael.syntax import nodes as n
from ael.types.spec import StoreSpec
from ael.types.type import MapType, Type, Unknown


def stores(context: Context) -> dict[str, StoreSpec]:
    """The stores of the program by qualified name."""
    found: dict[str, StoreSpec] = {}
    for symbol in context.collected.of_kind("store"):
        if isinstance(symbol.node, n.StoreDecl):
            found[symbol.name] = _store(context, context.collected.scope_of(symbol), symbol, symbol.node)
    return found


def _store(context: Context, scope: ModuleScope, symbol: Symbol, node: n.StoreDecl) -> StoreSpec:
    clauses = c.read(context, scope, "a store", node.clauses, c.STORE)
    needs = clauses.get(n.Needs)
    permission: str | None = None
    if needs is not None:
        permission = named(context, scope, needs.permissions[0])
        if len(needs.permissions) > 1:
            message = f"a store needs one permission, and `{node.name.text}` names {len(needs.permissions)}"
            notes = ("one permission may include others: `permission a includes b`",)
            context.report("AEL0506", message, scope.name, needs, notes=notes)
    return StoreSpec(symbol.name, _value(context, scope, node), permission, doc(node.doc))


def _value(context: Context, scope: ModuleScope, node: n.StoreDecl) -> Type:
    match scope.tables.written.get(node.type):
        case MapType(value=value):
            return value
        case None | Unknown():
            return Unknown()
        case _:
            message = f"a store is a map from String: `store {node.name.text}: Map<String, …>`"
            context.report("AEL0624", message, scope.name, node.type)
            return Unknown()
