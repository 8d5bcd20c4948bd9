"""What the functions in a value can fail with, at any depth: a function kept in a list, or given back by another, stays as it is.

`ael.types.relate.fits` does not look at it (a written type never says it), so whoever keeps, joins or hands on a function asks here.
"""

from __future__ import annotations

from ael.data import replace
from ael.types.type import AnonymousRecord, FunctionType, ListType, MapType, Type, UnionType

_NOTHING: frozenset[str] = frozenset()
_HOLDERS = (FunctionType, ListType, MapType, UnionType, AnonymousRecord)


def failures_in(type: Type) -> frozenset[str]:
    """What some function in a value of this type can fail with."""
    if not isinstance(type, _HOLDERS):
        return _NOTHING
    match type:
        case FunctionType(_, result, fails):
            return fails | failures_in(result)
        case ListType(inner) | MapType(inner):
            return failures_in(inner)
        case UnionType(members):
            return _NOTHING.union(*(failures_in(m) for m in members))
        case AnonymousRecord(fields):
            return _NOTHING.union(*(failures_in(t) for _, t in fields))


def failing_with(type: Type, fails: frozenset[str]) -> Type:
    """The type, where every function in it may fail with `fails` too: which of them it is is not known."""
    if not fails or not isinstance(type, _HOLDERS):
        return type
    match type:
        case FunctionType(parameters, result, had):
            return FunctionType(parameters, failing_with(result, fails), had | fails)
        case ListType(inner):
            return replace(type, item=failing_with(inner, fails))
        case MapType(inner):
            return replace(type, value=failing_with(inner, fails))
        case UnionType(members):
            return replace(type, members=tuple(failing_with(m, fails) for m in members))
        case AnonymousRecord(fields):
            return AnonymousRecord(tuple((name, failing_with(t, fails)) for name, t in fields))
