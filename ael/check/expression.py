"""The forms that fit nowhere else (`match`, lambdas, `with`, `parallel`), and the table of all forms of expressions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ael.check import literal
from ael.check.access import field_access, fields_of, index, reference
from ael.check.block import block, if_
from ael.check.call import call
from ael.check.checker import DISCARD, NEVER, UNIT, UNKNOWN, Body, Checker, Handler
from ael.check.exhaustive import Matrix, report_missing, unreachable
from ael.check.failure import catch, try_
from ael.check.generic import is_open
from ael.check.kind import INT, has_null, sure
from ael.check.loop import enter, items
from ael.check.narrow import lasting, path_of
from ael.check.operator import binary, unary
from ael.check.pattern import Either, Shape, Value, Whole, members_of, pattern
from ael.check.suggest import did_you_mean
from ael.diagnostics.diagnostic import Label
from ael.syntax import nodes as n
from ael.types.text import show
from ael.types.type import (
    AnonymousRecord,
    FunctionType,
    ListType,
    MapType,
    Named,
    Never,
    NullType,
    Type,
    Unknown,
    optional,
    union,
)

# --- match ---------------------------------------------------------------------------------------------------------------


def match_(c: Checker, node: n.Match, expected: Type | None) -> Type:
    subject = c.infer(node.subject)
    path = path_of(c, node.subject)
    matrix = Matrix(c, subject)
    left = members_of(c, subject)
    many = len(left)
    before = c.narrowed
    result: Type = NEVER
    fine = not isinstance(c.expand(subject), Unknown)
    after: list[dict[tuple[object, ...], Type]] = []
    for arm in node.arms:
        c.locals.append({})
        c.narrowed = before
        errors = c.bag.errors
        # a name for the whole subject is what the arms before it left
        whole = union(*left) if left and isinstance(arm.pattern, n.BinderPattern) and len(left) < many else subject
        shape = pattern(c, arm.pattern, whole)
        if c.bag.errors != errors:
            fine = False
        if path is not None:
            c.narrowed = {**before, path: _seen(shape, left)}
        if fine and not matrix.useful(shape):
            unreachable(c, arm)
        if arm.guard is not None:
            c.check_condition(arm.guard, "a guard")
        else:
            matrix.add(shape)
            left = _without(shape, left)
        found = c.arm_body(arm.body, expected)
        if found != NEVER:
            after.append(c.narrowed)
        c.locals.pop()
        result = c.either(result, found, expected)
    c.narrowed = _common(before, after)
    if fine and (missing := matrix.missing()):
        report_missing(c, node, subject, missing)
    if not node.arms and not fine:
        return UNKNOWN
    if expected is DISCARD:
        return NEVER if result == NEVER and node.arms else UNIT
    return c.settled(node, result, expected)


def _seen(shape: Shape, left: tuple[Type, ...]) -> Type:
    """What the subject of a `match` is in an arm."""
    match shape:
        case Whole(member):
            return member
        case Value(value=None):
            return NullType()
        case _:
            return union(*left)


def _without(shape: Shape, left: tuple[Type, ...]) -> tuple[Type, ...]:
    match shape:
        case Whole(member):
            return tuple(m for m in left if m != member)
        case Value(value=None):
            return tuple(m for m in left if not isinstance(m, NullType))
        case Either(shapes):
            for one in shapes:
                left = _without(one, left)
            return left
        case _:
            return left


def _common(
    before: dict[tuple[object, ...], Type], after: list[dict[tuple[object, ...], Type]]
) -> dict[tuple[object, ...], Type]:
    """What is still known after all arms that come back."""
    return {path: type for path, type in before.items() if all(path in known for known in after)}


# --- lambdas -------------------------------------------------------------------------------------------------------------


def lambda_(c: Checker, node: n.Lambda, expected: Type | None) -> Type:
    wanted: Type | None = c.expand(expected) if expected is not None and expected is not DISCARD else None
    function = wanted if isinstance(wanted, FunctionType) else None
    count = len(node.parameters)
    if function is not None and len(function.parameters) != count:
        many = f"{len(function.parameters)} parameter{'s' if len(function.parameters) != 1 else ''}"
        c.report("AEL0308", f"this function is called with {many}, and it takes {count}", node.span)
        function, wanted = None, UNKNOWN
    result = function.result if function is not None and not is_open(function.result) else None
    c.locals.append({})
    types = tuple(_parameter(c, p, function.parameters[at] if function else None, wanted) for at, p in enumerate(node.parameters))
    outer, failing, nesting, narrowed = c.body, c.failing, c.nesting, c.narrowed
    own = c.own_slots
    inner = Body("lambda", outer.name, result, None, node)
    c.body, c.failing, c.nesting = inner, None, 0
    c.own_slots = set()
    branch, c.branch = c.branch, None
    c.narrowed = lasting(narrowed)
    wanted_body = DISCARD if result == UNIT else result
    body = node.body
    found = c.check_part(body, wanted_body) if wanted_body is not None else c.infer(body)
    c.body, c.failing, c.nesting, c.narrowed, c.own_slots = outer, failing, nesting, narrowed, own
    c.branch = branch
    c.locals.pop()
    if result is None:
        for returned in inner.returns:
            found = c.join(found, returned)
    elif result == UNIT:
        found = UNIT
    elif found == UNIT and isinstance(body, n.Block) and not isinstance(result, Unknown):
        found = UNKNOWN
    fails = frozenset(inner.passed)
    return sure(FunctionType(types, found if result is None or isinstance(found, Unknown) else result, fails))


def _parameter(c: Checker, node: n.LambdaParameter, hint: Type | None, wanted: Type | None) -> Type:
    name = node.name
    if node.type is not None:
        type = c.type_of(node.type)
        if hint is not None and not is_open(hint) and not c.fits(hint, type):
            c.report("AEL0301", f"this is called with `{show(hint)}`, and takes `{show(type)}`", node.type.span)
    elif hint is not None and not is_open(hint):
        type = UNKNOWN if isinstance(hint, Never) else hint
    else:
        type = UNKNOWN
        if not isinstance(wanted, Unknown):
            c.report("AEL0314", f"nothing says what `{name.text}` is: give it a type, `fn({name.text}: T) …`", name.span)
    c.reserved(name)
    if name.text != "_" and name.text in c.locals[-1]:
        c.report("AEL0201", f"the parameter `{name.text}` stands here twice", name.span)
    c.declare(node, name, type)
    return type


# --- with ----------------------------------------------------------------------------------------------------------------


def with_(c: Checker, node: n.With, expected: Type | None) -> Type:
    base = c.infer(node.base)
    whole = c.expand(base)
    fields = fields_of(whole, c.definitions)
    if fields is None:
        for value in node.fields:
            c.infer(value.value)
        if not isinstance(whole, Unknown | Never):
            hint = ": it may be null" if has_null(whole) else ""
            c.report("AEL0310", f"`with` copies a record, and this is `{show(base)}`{hint}", node.base.span)
        return UNKNOWN
    seen: set[str] = set()
    for value in node.fields:
        name = value.name
        field = next((f for f in fields if f.name == name.text), None)
        if field is None:
            c.infer(value.value)
            end, fix = did_you_mean(name.text, [f.name for f in fields], c.module.source, name.span)
            labels: tuple[Label, ...] = ()
            if (
                isinstance(whole, Named)
                and (symbol := c.collected.symbols.get(whole.name)) is not None
                and symbol.node is not None
            ):
                labels = c.label_of(symbol.module, symbol.node.name.span, "declared here")  # type: ignore[attr-defined]
            c.report("AEL0305", f"`{show(base)}` has no field `{name.text}`{end}", name.span, labels=labels, fix=fix)
            continue
        if name.text in seen:
            c.report("AEL0201", f"the field `{name.text}` stands here twice", name.span)
        seen.add(name.text)
        c.tables.fields[value] = field.wire
        c.check(value.value, optional(field.type) if field.optional else field.type, f" for `{name.text}`")
    return base


# --- parallel ------------------------------------------------------------------------------------------------------------


def parallel_for(c: Checker, node: n.ParallelFor, expected: Type | None) -> Type:
    found = c.expand(c.infer(node.iterable))
    if isinstance(found, MapType):
        c.report("AEL0320", "`parallel` runs over a list: `.keys()` or `.values()` of a map gives one", node.iterable.span)
        item: Type = UNKNOWN
    else:
        _, item = items(c, node.iterable, found, two=False)
    if node.limit is not None:
        c.check(node.limit, INT, " as the number of branches at once")
    c.locals.append({})
    c.declare(node.binder, node.binder, item)
    result = _branch(c, node, node.body, None)
    c.locals.pop()
    if isinstance(result, Unknown):
        return UNKNOWN
    bounds = found if isinstance(found, ListType) else ListType(item)
    return sure(ListType(result, bounds.min, bounds.max))


def _branch(c: Checker, node: n.Node, body: n.Expr, expected: Type | None) -> Type:
    """A branch runs beside others: it changes nothing outside of it, and leaves by its end or a failure only."""
    enter(c, node)
    own, loops, narrowed = c.own_slots, c.body.loops, c.narrowed
    c.own_slots = set()
    c.body.loops = 0
    outer, c.branch = c.branch, node
    c.narrowed = lasting(narrowed)
    found = c.infer(body)
    c.own_slots, c.body.loops, c.narrowed, c.branch = own, loops, narrowed, outer
    c.nesting -= 1
    return found


def parallel_record(c: Checker, node: n.ParallelRecord, expected: Type | None) -> Type:
    fields: dict[str, Type] = {}
    for branch in node.branches:
        found = _branch(c, branch, branch.value, None)
        if branch.name.text in fields:
            c.report("AEL0201", f"the branch `{branch.name.text}` stands here twice", branch.name.span)
        fields[branch.name.text] = found
        c.tables.fields[branch] = branch.name.text
    return sure(AnonymousRecord(tuple(fields.items())))


def range_(c: Checker, node: n.Range, expected: Type | None) -> Type:
    c.report("AEL0323", "a range stands in a `for` or in bounds; `range(a, b)` gives a list of numbers", node.span)
    return UNKNOWN


# --- the table -----------------------------------------------------------------------------------------------------------

HANDLERS: Mapping[type, Handler] = MappingProxyType(
    {
        n.IntLit: literal.int_literal,
        n.FloatLit: literal.float_literal,
        n.MoneyLit: literal.money_literal,
        n.DurationLit: literal.duration_literal,
        n.SizeLit: literal.size_literal,
        n.StringLit: literal.string_literal,
        n.BoolLit: literal.bool_literal,
        n.NullLit: literal.null_literal,
        n.ListLit: literal.list_literal,
        n.MapLit: literal.map_literal,
        n.Reference: reference,
        n.FieldAccess: field_access,
        n.Index: index,
        n.Call: call,
        n.Unary: unary,
        n.Binary: binary,
        n.Range: range_,
        n.With: with_,
        n.Lambda: lambda_,
        n.If: if_,
        n.Match: match_,
        n.Try: try_,
        n.Catch: catch,
        n.ParallelFor: parallel_for,
        n.ParallelRecord: parallel_record,
        n.Block: block,
        n.Rows: block,
    }
)
"""How each form of expression is checked."""
