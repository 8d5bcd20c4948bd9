"""`xs.map(…)`: the functions of the receiver's type, and those of the language without a receiver."""

from __future__ import annotations

from ael.check.access import field_of, fields_of, may_be_null
from ael.check.arguments import Wanted, assign, check_all, check_open, finish, look_at_all
from ael.check.builtin import METHODS, RECEIVERS, Builtin
from ael.check.checker import DISCARD, UNKNOWN, Checker
from ael.check.failure import can_fail
from ael.check.generic import Bindings, is_open, put
from ael.check.kind import plain, sure, without_null
from ael.check.operator import sortable
from ael.check.passing import failing_with
from ael.check.program import CallInfo
from ael.check.suggest import did_you_mean
from ael.data import replace
from ael.syntax import nodes as n
from ael.types.text import show
from ael.types.type import (
    AnonymousRecord,
    DecimalType,
    DurationType,
    FloatType,
    FunctionType,
    IntType,
    ListType,
    MapType,
    Never,
    NullType,
    StringType,
    Type,
    UnionType,
    Unknown,
    Variable,
)


def method(c: Checker, node: n.Call, callee: n.FieldAccess, expected: Type | None) -> Type | None:
    """A call of a member of a value; None where the member is a field that holds a function, which is called like any function value."""
    name = callee.name
    receiver = c.expand(c.infer(callee.target))
    if isinstance(receiver, Unknown):
        look_at_all(c, node)
        return UNKNOWN
    base = plain(receiver)
    kind = RECEIVERS.get(type(base))
    builtin = METHODS[kind].get(name.text) if kind is not None else None
    if builtin is None:
        if isinstance(receiver, AnonymousRecord) and any(
            name.text == field and isinstance(type, FunctionType) for field, type in receiver.fields
        ):
            return None
        look_at_all(c, node)
        _no_method(c, callee, receiver, base, kind)
        return UNKNOWN
    bindings: Bindings = {"?N": base}
    match receiver:
        case ListType(item) | MapType(item) if not isinstance(item, Never):
            bindings["?T"] = item
    if builtin.name == "list.flatten":
        return _flatten(c, node, callee, receiver)
    result = ordinary(c, node, builtin, "builtin", bindings, f"`{name.text}`", expected, callee.target)
    return _kept(result, receiver) if builtin.keeps else result


def ordinary(
    c: Checker,
    node: n.Call,
    builtin: Builtin,
    kind: str,
    bindings: Bindings,
    what: str,
    expected: Type | None,
    receiver: n.Expr | None = None,
) -> Type:
    """A call of a function of the language."""
    wanted = [
        Wanted(name, put(type, bindings), at < builtin.required)
        for at, (name, type) in enumerate(zip(builtin.names, builtin.parameters, strict=True))
    ]
    found, fine = assign(c, node, what, wanted)
    arguments = found if receiver is None else (receiver, *found)
    c.tables.calls[node] = CallInfo(kind, builtin.name, arguments)  # type: ignore[arg-type]
    result = put(builtin.result, bindings)
    if not fine:
        look_at_all(c, node)
        return UNKNOWN if is_open(result) else result
    if is_open(result) or any(is_open(w.type) for w in wanted):
        goal = None if expected is None or expected is DISCARD else (result, expected)
        fails = check_open(c, node, found, wanted, bindings, goal)
    else:
        fails = check_all(c, found, wanted)
    if fails:
        can_fail(c, node, fails, what)
    if builtin.asks:
        _asks(c, node, builtin, what, bindings)
    if builtin.name in ("release", "final", "json"):
        _data_only(c, node, found[0], what)
    if not is_open(result):
        return sure(failing_with(result, fails))
    if "?T" not in bindings and not is_open(put(result, {"?T": Never()})):
        bindings["?T"] = Never()
    if expected is not None and expected is not DISCARD and isinstance(result, Variable):
        bindings.setdefault(result.name, expected)
    made = finish(c, node, what, result, bindings, None if expected is DISCARD else expected)
    return failing_with(made, fails)


def _data_only(c: Checker, node: n.Call, value: n.Expr | None, what: str) -> None:
    found = c.types.get(value) if value is not None else None
    if value is not None and found is not None and not c.is_data(found):
        c.report("AEL0310", f"{what} takes data, and `{show(found)}` is none", value.span)


def _asks(c: Checker, node: n.Call, builtin: Builtin, what: str, bindings: Bindings) -> None:
    """What the items (or keys) must be for this function."""
    subject = next((bindings[key] for key in ("?K", "?U", "?T") if key in bindings), None)
    if subject is None:
        return
    type = plain(c.expand(subject))
    if isinstance(type, Unknown | Never):
        return
    fine = True
    match builtin.asks:
        case "sortable":
            fine = sortable(type)
            need = "have an order: numbers, text, times"
        case "number":
            fine = isinstance(type, IntType | FloatType | DecimalType | DurationType) and not (
                isinstance(type, DurationType) and builtin.name == "abs"
            )
            need = "are numbers"
        case "string":
            fine = isinstance(type, StringType)
            need = "are text"
        case _:
            fine = c.is_data(type)
            need = "can be compared"
    if not fine:
        notes = ("`sort_by(fn(x) => …)` names what to go by",) if builtin.name == "list.sort" else ()
        c.report("AEL0310", f"{what} takes values that {need}, not `{show(type)}`", node.span, notes=notes)


def _flatten(c: Checker, node: n.Call, callee: n.FieldAccess, receiver: Type) -> Type:
    found, fine = assign(c, node, "`flatten`", [])
    c.tables.calls[node] = CallInfo("builtin", "list.flatten", (callee.target, *found))
    if not fine:
        look_at_all(c, node)
        return UNKNOWN
    assert isinstance(receiver, ListType)
    inner = c.expand(receiver.item)
    if isinstance(inner, ListType):
        return ListType(inner.item)
    if not isinstance(inner, Unknown | Never):
        c.report("AEL0310", f"`flatten` takes a list of lists, not `{show(receiver)}`", node.span)
        return UNKNOWN
    return ListType(inner)


def _kept(result: Type, receiver: Type) -> Type:
    """A result that is no larger than the receiver keeps its `max`."""
    match result, receiver:
        case StringType(), StringType(max=high):
            return replace(result, max=high)
        case ListType(), ListType(max=high):
            return replace(result, max=high)
        case MapType(), MapType(max=high):
            return replace(result, max=high)
        case _:
            return result


def _no_method(c: Checker, callee: n.FieldAccess, receiver: Type, base: Type, kind: str | None) -> None:
    name = callee.name
    if isinstance(receiver, UnionType) and NullType() in receiver.members:
        inner = plain(c.expand(without_null(receiver)))
        if RECEIVERS.get(type(inner)) is not None or fields_of(inner, c.definitions) is not None:
            may_be_null(c, callee.target, receiver, f"`{name.text}`")
            return
    if isinstance(base, Never):
        return
    fields = fields_of(base, c.definitions)
    if fields is not None and any(f.name == name.text for f in fields):
        found = field_of(c, callee, receiver)
        if not isinstance(found, FunctionType | Unknown):
            c.report("AEL0309", f"`{name.text}` is a field of type `{show(found)}`, and cannot be called", name.span)
        return
    known = list(METHODS[kind]) if kind is not None else []
    end, fix = did_you_mean(name.text, known, c.module.source, name.span)
    c.report("AEL0305", f"`{show(receiver)}` has no function `{name.text}`{end}", name.span, fix=fix)
