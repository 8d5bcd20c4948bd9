"""Type parameters: found from the arguments of a call (local inference), and put in place.

The parameters of what is called are variables whose names begin with `?`, so that they are never taken for those of the function in
which the call stands.
"""

from __future__ import annotations

from ael.check.checker import Checker
from ael.check.kind import NULL, without_null
from ael.types.signature import Signature
from ael.types.type import (
    AnonymousRecord,
    FunctionType,
    ListType,
    MapType,
    Never,
    NullType,
    Type,
    UnionType,
    Unknown,
    Variable,
    union,
)

Bindings = dict[str, Type]


def is_open(type: Type) -> bool:
    """Whether a type holds a variable that is still to be found."""
    match type:
        case Variable(name):
            return name[0] == "?"
        case ListType(inner) | MapType(inner):
            return is_open(inner)
        case FunctionType(parameters, result):
            return is_open(result) or any(is_open(p) for p in parameters)
        case UnionType(members):
            return any(is_open(m) for m in members)
        case AnonymousRecord(fields):
            return any(is_open(t) for _, t in fields)
        case _:
            return False


def put(type: Type, bindings: Bindings) -> Type:
    """The type with what is found put in place of variables."""
    match type:
        case Variable(name):
            return bindings.get(name, type)
        case ListType(item, low, high):
            return ListType(put(item, bindings), low, high)
        case MapType(value, low, high):
            return MapType(put(value, bindings), low, high)
        case FunctionType(parameters, result, fails):
            return FunctionType(tuple(put(p, bindings) for p in parameters), put(result, bindings), fails)
        case UnionType(members):
            return union(*(put(m, bindings) for m in members))
        case AnonymousRecord(fields):
            return AnonymousRecord(tuple((name, put(t, bindings)) for name, t in fields))
        case _:
            return type


def opened(signature: Signature) -> tuple[tuple[Type, ...], Type]:
    """The parameter types and the result of a generic function, with its type parameters to be found."""
    names: Bindings = {name: Variable(f"?{name}") for name in signature.type_parameters}
    return tuple(put(p.type, names) for p in signature.parameters), put(signature.result, names)


def unify(c: Checker, wanted: Type, found: Type, bindings: Bindings) -> None:
    """Learn from a value of type `found` what the variables in `wanted` are. What does not match is left to the check of the argument."""
    if isinstance(found, Unknown):
        for name in _variables(wanted):
            bindings.setdefault(name, found)
        return
    match wanted, found:
        case Variable(name), _ if name[0] == "?":
            known = bindings.get(name)
            if known is None or isinstance(known, Never):
                bindings[name] = found
            elif not c.fits(found, known):
                joined = c.join(known, found)
                if (
                    not isinstance(joined, UnionType)
                    or isinstance(known, UnionType)
                    or isinstance(found, UnionType)
                    or found == NULL
                ):
                    bindings[name] = joined
        case ListType(inner), ListType(item):
            unify(c, inner, item, bindings)
        case MapType(inner), MapType(value):
            unify(c, inner, value, bindings)
        case FunctionType(parameters, result), FunctionType(had, given):
            for want, have in zip(parameters, had, strict=False):
                unify(c, want, have, bindings)
            unify(c, result, given, bindings)
        case AnonymousRecord(fields), AnonymousRecord(others):
            for (_, want), (_, have) in zip(fields, others, strict=False):
                unify(c, want, have, bindings)
        case UnionType(members), _:
            rest = [m for m in members if not isinstance(m, NullType)]
            if len(rest) == 1 and len(members) > 1 and found == NULL:
                # `null` for a `T?` says nothing of T
                for name in _variables(rest[0]):
                    bindings.setdefault(name, Never())
            elif len(rest) == 1:
                unify(c, rest[0], without_null(c.expand(found)), bindings)
            elif found in members:
                return
            else:
                for member in rest:
                    unify(c, member, found, bindings)
        case _, _:
            expanded = c.expand(found)
            if expanded is not found:
                unify(c, wanted, expanded, bindings)


def _variables(type: Type) -> set[str]:
    match type:
        case Variable(name):
            return {name} if name[0] == "?" else set()
        case ListType(inner) | MapType(inner):
            return _variables(inner)
        case FunctionType(parameters, result):
            return _variables(result).union(*(_variables(p) for p in parameters))
        case UnionType(members):
            return set().union(*(_variables(m) for m in members))
        case AnonymousRecord(fields):
            return set().union(*(_variables(t) for _, t in fields))
        case _:
            return set()


def unknown_left(type: Type) -> list[str]:
    """The names, as source writes them, of the variables in a type that were not found."""
    return sorted(name[1:] for name in _variables(type))
