""" "Did you mean": the known name that a misspelt one is nearest to."""

from __future__ import annotations

from collections.abc import Iterable

from ael.diagnostics.diagnostic import Edit, Fix, Place
from ael.source import Source, Span

_MAX_CANDIDATES = 2_000


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The name of `known` that differs least from `name`, if it is near enough to be meant; the first of equals in order."""
    limit = max(1, len(name) // 3) if len(name) > 2 else 0
    best: str | None = None
    lowered = name.lower()
    for at, candidate in enumerate(known):
        if at > _MAX_CANDIDATES:
            break
        if candidate == name:
            continue
        if candidate.lower() == lowered:
            return candidate
        if abs(len(candidate) - len(name)) > limit:
            continue
        distance = _distance(lowered, candidate.lower(), limit)
        if distance <= limit:
            if distance == 1 and limit == 1:
                return candidate
            best, limit = candidate, distance - 1
            if limit < 1:
                break
    return best


def _distance(a: str, b: str, limit: int) -> int:
    """Edits (insert, delete, replace, swap neighbours) from `a` to `b`; anything above `limit` is only "more"."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        following = [i]
        for j, y in enumerate(b, 1):
            cost = min(row[j] + 1, following[j - 1] + 1, row[j - 1] + (x != y))
            if before and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            following.append(cost)
        before, row = row, following
        if min(row) > limit and (not before or min(before) > limit):
            return limit + 1
    return row[-1]


def did_you_mean(name: str, known: Iterable[str], source: Source, span: Span) -> tuple[str, Fix | None]:
    """The end of a message (`; did you mean `x`?`, or nothing) and the fix that replaces the name at `span`."""
    best = nearest(name, known)
    if best is None:
        return "", None
    return f"; did you mean `{best}`?", Fix(f"replace it by `{best}`", (Edit(Place(source, span), best),), safe=False)
