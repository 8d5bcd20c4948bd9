"""Unions as schemas make them: `any_of` takes the first member that fits, `one_of` wants exactly one.

Members that no value can belong to at once are a plain union, whichever was asked for: then the rules do not differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ael.types.definition import Definitions
from ael.types.discriminate import disjoint, kinds
from ael.types.type import JsonType, LiteralType, Never, NullType, Type, UnionType, union

_PAIRS = 24


def any_of(members: Iterable[Type], definitions: Definitions) -> Type:
    """The values of all members; in an overlap the first goes."""
    flat: dict[Type, None] = {}
    for member in members:
        for part in member.members if isinstance(member, UnionType) and member.rule != "one" else (member,):
            if isinstance(part, JsonType):
                return part
            if not isinstance(part, Never):
                flat[part] = None
    parts = tuple(flat)
    if len(parts) < 2 or apart(parts, definitions):
        return union(*parts)
    nulls = (NullType(),) if NullType() in flat else ()
    return UnionType((*(p for p in parts if p != NullType()), *nulls), "any")


def one_of(members: Sequence[Type], definitions: Definitions) -> Type | None:
    """The values that belong to just one member; None where a member is there twice, so that no union says it."""
    parts = tuple(member for member in members if not isinstance(member, Never))
    if len(parts) < 2 or apart(parts, definitions):
        return union(*parts)
    return UnionType(parts, "one") if len(set(parts)) == len(parts) else None


def apart(members: Sequence[Type], definitions: Definitions) -> bool:
    """Whether no value belongs to two members, as far as can be seen; errs towards False."""
    constants = {member for member in members if isinstance(member, LiteralType)}
    rest = [member for member in members if not isinstance(member, LiteralType)]
    if len(constants) + len(rest) != len(members):
        return False
    if constants and rest:
        # many constants are looked at by their kind, few one by one
        if len(constants) > _PAIRS:
            used = frozenset().union(*(kinds(c, definitions) for c in constants))
            if any(kinds(r, definitions) & used for r in rest):
                return False
        elif not all(disjoint(c, r, definitions) for c in constants for r in rest):
            return False
    if len(rest) > _PAIRS:
        return False
    return all(disjoint(a, b, definitions) for at, a in enumerate(rest) for b in rest[at + 1 :])
