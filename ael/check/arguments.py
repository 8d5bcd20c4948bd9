"""The arguments of a call: which parameter each is for, what is missing, and whether each fits."""

from __future__ import annotations

from collections.abc import Sequence

from ael.check.checker import Checker
from ael.check.generic import Bindings, is_open, put, unify, unknown_left
from ael.check.kind import loose, plain, sure
from ael.check.literal import is_number
from ael.check.passing import failures_in
from ael.check.suggest import did_you_mean
from ael.data import dataclass
from ael.syntax import nodes as n
from ael.types.definition import FieldDef
from ael.types.signature import ParameterDef
from ael.types.text import show
from ael.types.type import (
    DecimalType,
    FloatType,
    FunctionType,
    IntType,
    ListType,
    MapType,
    Never,
    Type,
    Unknown,
    optional,
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A parameter as a call sees it. `type` is open where type parameters are still to be found."""

    name: str
    type: Type
    required: bool


def wanted_of(parameters: Sequence[ParameterDef | FieldDef]) -> list[Wanted]:
    """The parameters or fields of a declaration as a call sees them: null stands for an absent optional one."""
    return [Wanted(p.name, optional(p.type) if p.optional else p.type, p.required) for p in parameters]


def assign(
    c: Checker, node: n.Call, what: str, wanted: Sequence[Wanted], *, named: bool = False, kind: str = "parameter"
) -> tuple[tuple[n.Expr | None, ...], bool]:
    """The arguments in the order of the parameters (None where one is left out), and whether all is in order.

    `named`: every argument must say its name, as for a record of several fields. `kind` is how messages call a parameter.
    """
    places = {w.name: at for at, w in enumerate(wanted)}
    found: list[n.Expr | None] = [None] * len(wanted)
    fine, at = True, 0
    for argument in node.arguments:
        name = argument.name
        if name is None and named:
            if fine:
                parts = "fields" if kind == "field" else "arguments"
                c.report("AEL0306", f"the {parts} of {what} are named: `{_form(wanted)}`", argument.span)
            fine = False
            continue
        if name is None:
            if at >= len(wanted):
                count = f"{len(wanted)} argument{'s' if len(wanted) != 1 else ''}" if wanted else "no arguments"
                c.report("AEL0308", f"{what} takes {count}", argument.span)
                fine = False
                break
            place = at
            at += 1
        else:
            if name.text not in places:
                end, fix = did_you_mean(name.text, places, c.module.source, name.span)
                choices = f"; there {'is' if len(places) == 1 else 'are'} {_list(list(places))}" if places and not end else ""
                c.report("AEL0307", f"{what} has no {kind} `{name.text}`{end}{choices}", name.span, fix=fix)
                fine = False
                continue
            place = places[name.text]
        if found[place] is not None:
            c.report("AEL0307", f"`{wanted[place].name}` is given twice", argument.span)
            fine = False
            continue
        found[place] = argument.value
    missing = [w.name for w, value in zip(wanted, found, strict=True) if value is None and w.required]
    if missing and fine:
        plural = "s" if len(missing) > 1 else ""
        c.report("AEL0306", f"{what} needs {_list(missing)}: missing argument{plural}", node.span)
        fine = False
    return tuple(found), fine


def _form(wanted: Sequence[Wanted]) -> str:
    return ", ".join(f"{w.name}: …" for w in wanted[:6]) + (", …" if len(wanted) > 6 else "")


def _list(names: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in names[:12]]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def look_at_all(c: Checker, node: n.Call) -> None:
    """Look at the arguments of a call that is wrong already, for what is wrong inside of them."""
    for argument in node.arguments:
        if not isinstance(argument.value, n.Lambda) and argument.value not in c.types:
            c.infer(argument.value)


def check_all(c: Checker, found: Sequence[n.Expr | None], wanted: Sequence[Wanted], owner: str = "") -> frozenset[str]:
    """Check the arguments of a call without type parameters; what the functions among them can fail with. `owner` is what is called."""
    fails: frozenset[str] = frozenset()
    outer = c.origin
    for value, one in zip(found, wanted, strict=True):
        if value is None:
            continue
        c.origin = (one.type, owner, one.name)
        fails |= failures_in(c.check_argument(value, one.type, f" for `{one.name}`"))
    c.origin = outer
    return fails


def check_open(
    c: Checker,
    node: n.Call,
    found: Sequence[n.Expr | None],
    wanted: Sequence[Wanted],
    bindings: Bindings,
    goal: tuple[Type, Type] | None = None,
) -> frozenset[str]:
    """Check the arguments of a generic call, finding its type parameters from values, then from number literals, then from lambdas.

    `goal`: the result as declared, and what is expected of it; it says what an empty list or map among the arguments holds.
    """
    before = c.bag.errors
    fails: frozenset[str] = frozenset()
    late: list[tuple[n.Expr, Wanted]] = []
    literals: list[tuple[n.Expr, Wanted]] = []
    known: list[tuple[n.Expr, Wanted, Type]] = []
    for value, one in zip(found, wanted, strict=True):
        if value is None:
            continue
        if isinstance(value, n.Lambda):
            late.append((value, one))
        elif is_number(value):
            literals.append((value, one))
        else:
            type = _one(c, value, one, bindings)
            known.append((value, one, type))
    for value, one in literals:
        known.append((value, one, _number(c, value, one, bindings)))
    if late and goal is not None:
        _fill(c, bindings, *goal)
    if any(isinstance(one.type, FunctionType) for _, one in late):
        loosen(c, wanted, bindings)
    for value, one in late:
        type = _lambda(c, value, one, bindings)
        known.append((value, one, type))
    for value, one, type in known:
        fails |= failures_in(type)
        if is_open(one.type):
            target = put(one.type, bindings)
            if isinstance(target, FunctionType) and not isinstance(type, FunctionType | Unknown):
                c.report("AEL0301", f"expected a function for `{one.name}`, found `{show(type)}`", value.span)
                bindings.update((f"?{name}", Unknown()) for name in unknown_left(target))
            elif not is_open(target) and not c.fits(type, target):
                c.mismatch(value, type, target, f" for `{one.name}`")
    if c.bag.errors != before:  # what would be found from a wrong argument is no news
        for name in list(bindings):
            bindings[name] = Unknown()
    return fails


def _fill(c: Checker, bindings: Bindings, result: Type, expected: Type) -> None:
    """Take from what is expected of the result what an empty list or map does not say."""
    asked: Bindings = {}
    unify(c, result, expected, asked)
    for name, type in asked.items():
        had = bindings.get(name)
        if had is not None and _says_nothing(had) and c.fits(had, type):
            bindings[name] = type


def _says_nothing(type: Type) -> bool:
    match type:
        case ListType(inner) | MapType(inner):
            return _says_nothing(inner)
        case _:
            return isinstance(type, Never)


def _known(bindings: Bindings) -> Bindings:
    """What is found so far: an empty list says nothing of its items."""
    return {name: type for name, type in bindings.items() if not _says_nothing(type)}


def _one(c: Checker, value: n.Expr, one: Wanted, bindings: Bindings) -> Type:
    target = put(one.type, _known(bindings))
    if not is_open(target):
        return _beside(c, value, one, target, bindings)
    type = c.infer(value)
    unify(c, target, type, bindings)
    return type


def _beside(c: Checker, value: n.Expr, one: Wanted, target: Type, bindings: Bindings) -> Type:
    """Check an argument whose type is known from the arguments before it. Their bounds do not bind it: the parameter is what fits all."""
    why = f" for `{one.name}`"
    if not is_open(one.type):
        return c.check_argument(value, target, why)
    wide = FunctionType(target.parameters, loose(target.result)) if isinstance(target, FunctionType) else loose(target)
    type = c.check_argument(value, wide, why)
    unify(c, one.type, type, bindings)
    return type


def _number(c: Checker, value: n.Expr, one: Wanted, bindings: Bindings) -> Type:
    target = put(one.type, _known(bindings))
    if not is_open(target):
        if isinstance(one.type, FunctionType) or not is_open(one.type):
            return c.check_argument(value, target, f" for `{one.name}`")
        base: Type = target
        if isinstance(target, IntType | FloatType | DecimalType):
            # a literal beside a bounded number: the result may lie outside of its bounds
            base = type(target)()
            for name, type_ in list(bindings.items()):
                if type_ == target:
                    bindings[name] = base
        return c.check_argument(value, base, f" for `{one.name}`")
    found = c.infer(value)
    unify(c, target, found, bindings)
    return found


def _lambda(c: Checker, value: n.Expr, one: Wanted, bindings: Bindings) -> Type:
    target = put(one.type, _known(bindings))
    if not isinstance(target, FunctionType) or any(is_open(p) for p in target.parameters):
        target = put(one.type, bindings)
    if not is_open(target):
        return _beside(c, value, one, target, bindings)
    if not isinstance(target, FunctionType):
        type = c.infer(value)
    else:
        type = c.visit(value, target)
        if isinstance(type, FunctionType) and len(type.parameters) != len(target.parameters):
            type = Unknown()
    unify(c, target, type, bindings)
    return type


def loosen(c: Checker, wanted: Sequence[Wanted], bindings: Bindings) -> None:
    """What a function both takes and gives back, as the sum of a `fold`, is taken without its bounds: each round may widen it."""
    from_kind = {
        name
        for one in wanted
        if isinstance(one.type, FunctionType)
        for name in unknown_left(one.type.result)
        if any(name in unknown_left(p) for p in one.type.parameters)
    }
    for name in from_kind:
        key = f"?{name}"
        if key in bindings:
            bindings[key] = plain(bindings[key])


def finish(c: Checker, node: n.Call, what: str, result: Type, bindings: Bindings, expected: Type | None) -> Type:
    """The result of a generic call, its type parameters put in place; one that nothing says is reported."""
    made = put(result, bindings)
    if not is_open(made):
        return sure(made)
    if expected is not None:
        unify(c, made, expected, bindings)
        made = put(result, bindings)
        if not is_open(made):
            return made
    names = ", ".join(f"`{name}`" for name in unknown_left(made))
    c.report("AEL0314", f"nothing says what {names} of {what} is here; give the `let` a type: `let x: T = …`", node.span)
    return Unknown()
