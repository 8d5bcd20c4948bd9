"""Which functions can come back to themselves, and which built-ins take long enough to be asked to stop."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping

from ael.check.program import CheckedProgram, Meaning
from ael.syntax import nodes as n

_QUICK = {
    "string": "length is_empty",
    "list": "length is_empty first last",
    "map": "length is_empty get has",
    "bytes": "length",
    "number": "abs min max clamp round floor ceil to_int to_float to_decimal",
    "timestamp": "plus minus since year month day",
    "date": "plus minus since year month day",
    "duration": "plus minus in_seconds",
    "json": "get at as_string as_int as_float as_bool as_list as_map",
}
QUICK = frozenset({"min", "max", "abs"}) | {
    f"{kind}.{own}"
    for owner, names in _QUICK.items()
    for kind in (("int", "float", "decimal", owner) if owner == "number" else (owner,))
    for own in names.split()
}
"""Built-ins whose time does not grow with their operands."""


class Graph:
    """The call graph of the functions of a program."""

    def __init__(self, checked: CheckedProgram) -> None:
        self._edges = _edges(checked)
        self.component = _components(self._edges)
        sizes: dict[int, int] = {}
        for number in self.component.values():
            sizes[number] = sizes.get(number, 0) + 1
        self.recursive = frozenset(
            name for name, number in self.component.items() if sizes[number] > 1 or name in self._edges[name]
        )
        """Functions that can be called again before they have come back, by way of functions, lambdas or function values."""
        self.order = tuple(self.component)
        """All functions, those that are called before those that call them (but for recursion)."""


def functions_of(module: str, declaration: n.Declaration) -> list[tuple[str, n.FunctionDecl]]:
    """The functions that a declaration of a module is or has, by qualified name, in the order in which they stand."""
    match declaration:
        case n.FunctionDecl(name=name):
            return [(f"{module}.{name.text}", declaration)]
        case n.SkillDecl(name=name, functions=functions):
            return [(f"{module}.{name.text}.{one.name.text}", one) for one in functions]
        case _:
            return []


def _edges(checked: CheckedProgram) -> dict[str, frozenset[str]]:
    """Which functions the body of each function mentions. By positions, so that no tree is walked."""
    found: dict[str, set[str]] = {}
    for module in checked.modules.values():
        starts: list[int] = []
        names: list[str] = []
        for declaration in module.tree.declarations:
            functions = functions_of(module.name, declaration)
            if functions:
                for name, function in functions:
                    found[name] = set()
                    starts.append(function.span.start)
                    names.append(name)
            elif starts and names[-1]:
                starts.append(declaration.span.start)
                names.append("")
        tables = module.tables
        mentions = [(call.span.start, info.name) for call, info in tables.calls.items() if info.kind == "function"]
        mentions += [
            (node.span.start, meaning.name)
            for node, meaning in tables.resolved.items()
            if isinstance(meaning, Meaning) and meaning.kind == "function"
        ]
        for start, name in mentions:
            at = bisect_right(starts, start) - 1
            if at >= 0 and names[at]:
                found[names[at]].add(name)
    return {name: frozenset(others) for name, others in found.items()}


def _components(edges: Mapping[str, frozenset[str]]) -> dict[str, int]:
    """Tarjan's strongly connected components, with a stack of its own."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    found: dict[str, int] = {}
    open_names: list[str] = []
    for root in edges:
        if root in order:
            continue
        work: list[tuple[str, Iterator[str]]] = [(root, iter(sorted(edges[root])))]
        order[root] = low[root] = len(order)
        open_names.append(root)
        while work:
            name, rest = work[-1]
            for other in rest:
                if other not in edges:
                    continue
                if other not in order:
                    order[other] = low[other] = len(order)
                    open_names.append(other)
                    work.append((other, iter(sorted(edges[other]))))
                    break
                if other not in found:
                    low[name] = min(low[name], order[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == order[name]:
                    number = order[name]
                    while True:
                        member = open_names.pop()
                        found[member] = number
                        if member == name:
                            break
    return found
