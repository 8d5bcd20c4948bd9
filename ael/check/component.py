"""Groups of things that reach each other, what is called before what calls it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def components(following: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The strongly connected components of a graph, each after those that it reaches (Tarjan's method, without recursion).

    Every name in `following`'s values is a key of it.
    """
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[list[str]] = []
    for start in following:
        if start in order:
            continue
        work = [(start, 0)]
        while work:
            key, at = work.pop()
            if at == 0:
                order[key] = low[key] = len(order)
                stack.append(key)
                on_stack.add(key)
            targets = following[key]
            for index in range(at, len(targets)):
                target = targets[index]
                if target not in order:
                    work += [(key, index + 1), (target, 0)]
                    break
                if target in on_stack:
                    low[key] = min(low[key], order[target])
            else:
                if low[key] == order[key]:
                    group = [key]
                    while (member := stack.pop()) != key:
                        group.append(member)
                    on_stack.difference_update(group)
                    found.append(group)
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[key])
    return found
