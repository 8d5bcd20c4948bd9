"""The ways through an agent: what leads where, what has surely come before, and that every way ends (docs/decisions/agents.md).

The edges are looked at as a net of places and transitions: a node with several edges that are always taken starts several branches, one
with `when`, `otherwise` or `up to` takes exactly one of them, `a & b` is a point that waits for all of its sources. In such a net a
choice never depends on what another branch does, so that going through it branch by branch in turn finds every way in which it can end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from ael.check.component import components
from ael.types.agent import FINISH, START, Routes

MAX_STATES = 20_000
"""How many states of an agent are looked at; more come only of many branches with many choices each."""

Active: TypeAlias = tuple[str, ...]
Waiting: TypeAlias = frozenset[tuple[str, str]]


class Trouble(NamedTuple):
    """How the branches of an agent can come to no good end.

    `kind`: `waits` (the join `at` waits for `others`, which do not come), `beside` (the branch at `others` is under way when `at` is
    reached, which is `finish`, or a point that is under way already), `many` (too many states to look at).
    """

    kind: str
    at: str
    others: tuple[str, ...]


def reached(found: Routes) -> set[str]:
    """The points that some way from the start leads to."""
    seen = {START}
    pending = [START]
    while pending:
        for point in found.next(pending.pop()):
            if point not in seen:
                seen.add(point)
                pending.append(point)
    return seen


def finishing(found: Routes) -> set[str]:
    """The points from which some way leads to the finish."""
    before: dict[str, list[str]] = {}
    for point in {START, *found.exits, *found.errors, *found.arrives}:
        for target in found.next(point):
            before.setdefault(target, []).append(point)
    seen = {FINISH}
    pending = [FINISH]
    while pending:
        for point in before.get(pending.pop(), ()):
            if point not in seen:
                seen.add(point)
                pending.append(point)
    return seen


def cycles(found: Routes) -> list[list[str]]:
    """Groups of points that can be gone round in without end: no edge of the way has an `up to`."""
    points = dict.fromkeys([START, *found.exits, *found.errors, *found.arrives, *found.joins, FINISH])
    following: dict[str, list[str]] = {point: [] for point in points}
    for point in points:
        for way in (*found.exits.get(point, ()), *found.errors.get(point, ())):
            if way.edge not in found.bounded:
                following[point].append(way.target)
                following.setdefault(way.target, [])
        following[point] += found.arrives.get(point, ())
    return [group for group in components(following) if len(group) > 1 or group[0] in following[group[0]]]


def arrived(found: Routes) -> dict[str, frozenset[str]]:
    """Point -> the nodes that have surely given a value before it is reached, on every way to it."""
    before: dict[str, frozenset[str]] = {START: frozenset()}
    at_join: dict[str, dict[str, frozenset[str]]] = {}
    pending = deque([START])

    def reach(point: str, names: frozenset[str]) -> None:
        known = before.get(point)
        meant = names if known is None else known & names
        if meant != known:
            before[point] = meant
            pending.append(point)

    while pending:
        point = pending.popleft()
        names = before[point]
        after = names if point == START or point in found.joins else names | {point}
        for way in found.exits.get(point, ()):
            reach(way.target, after)
        for way in found.errors.get(point, ()):
            reach(way.target, names)
        for join in found.arrives.get(point, ()):
            came = at_join.setdefault(join, {})
            came[point] = after
            if len(came) == len(found.joins[join]):
                whole = frozenset().union(*came.values())
                if before.get(join) != whole:
                    before[join] = whole
                    pending.append(join)
    return before


def trouble(found: Routes) -> Trouble | None:
    """The first way in which the branches of an agent come to no good end; None when each ends in one arrival at the finish."""
    first: tuple[Active, Waiting] = ((START,), frozenset())
    seen = {first}
    queue = deque([first])
    while queue:
        active, waiting = queue.popleft()
        if not active:
            problem = _stuck(found, waiting)
            if problem is not None:
                return problem
            continue
        point, rest = active[0], active[1:]
        if point == FINISH:
            if rest or waiting:
                others = rest or tuple(sorted({source for _, source in waiting}))
                return Trouble("beside", FINISH, others)
            continue
        for targets in _outcomes(found, point):
            after, left = list(rest), set(waiting)
            for target in targets:
                twice = _arrive(found, point, target, after, left)
                if twice is not None:
                    return twice
            state = (tuple(after), frozenset(left))
            if state not in seen:
                if len(seen) >= MAX_STATES:
                    return Trouble("many", START, ())
                seen.add(state)
                queue.append(state)
    return None


def _outcomes(found: Routes, point: str) -> Iterator[tuple[str, ...]]:
    """Where a point can lead: each set of targets that are reached together."""
    exits, joins = found.exits.get(point, []), found.arrives.get(point, [])
    if point in found.choices:
        yield from ((way.target, *joins) for way in exits)
    elif exits or joins:
        yield (*(way.target for way in exits), *joins)
    yield from ((way.target,) for way in found.errors.get(point, ()))


def _arrive(found: Routes, source: str, target: str, active: list[str], waiting: set[tuple[str, str]]) -> Trouble | None:
    """Put a branch at its target. A second one at the same point would make it open which comes first."""
    if target not in found.joins:
        if target in active:
            return Trouble("beside", target, (target,))
        active.append(target)
        return None
    if (target, source) in waiting:
        return Trouble("beside", target, (source,))
    waiting.add((target, source))
    if all((target, one) in waiting for one in found.joins[target]):
        waiting.difference_update([(target, one) for one in found.joins[target]])
        active.append(target)
    return None


def _stuck(found: Routes, waiting: Waiting) -> Trouble | None:
    for join in sorted({join for join, _ in waiting}):
        missing = tuple(one for one in found.joins[join] if (join, one) not in waiting)
        return Trouble("waits", join, missing)
    return None
