"""Which functions can come back to themselves, and which code takes long enough to be asked to stop."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ael.check.program import CheckedProgram, Meaning, Tables
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
        self._edges = dict(_edges(checked))
        self.component = _components(self._edges)
        sizes: dict[int, int] = {}
        for number in self.component.values():
            sizes[number] = sizes.get(number, 0) + 1
        self.recursive = frozenset(
            name for name, number in self.component.items() if sizes[number] > 1 or name in self._edges[name]
        )
        """Functions that can be called again before they have come back, by way of functions, lambdas or function values."""


def _edges(checked: CheckedProgram) -> Iterator[tuple[str, frozenset[str]]]:
    for qualified, (module, declaration) in checked.declarations.items():
        if isinstance(declaration, n.FunctionDecl):
            yield qualified, frozenset(_mentioned(declaration.body, checked.modules[module].tables))


def _mentioned(body: n.Node, tables: Tables) -> Iterator[str]:
    for node in n.walk(body):
        match node:
            case n.Call() if (info := tables.calls.get(node)) is not None and info.kind == "function":
                yield info.name
            case n.Reference() | n.FieldAccess():
                meaning = tables.resolved.get(node)
                if isinstance(meaning, Meaning) and meaning.kind == "function":
                    yield meaning.name


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


def takes_time(node: n.Node, tables: Tables, quick: Collection[n.Node] = ()) -> bool:
    """Whether running `node` can take long by itself: it loops, builds something from a whole value, or calls a function value.

    `quick`: calls that are known to be quick where they stand.
    """
    for part in n.walk(node):
        match part:
            case n.For() | n.While() | n.Lambda() | n.ParallelFor() | n.ParallelRecord():
                return True
            case n.Call():
                info = tables.calls.get(part)
                if part not in quick and info is not None and (info.kind == "value" or info.kind == "check" or _slow(info.kind, info.name)):
                    return True
            case n.Binary(op="in" | "not in"):
                return True
            case _:
                continue
    return False


def calls_out(node: n.Node, tables: Tables) -> bool:
    """Whether `node` calls any code of the program or waits for anything."""
    for part in n.walk(node):
        if isinstance(part, n.Call):
            info = tables.calls.get(part)
            if info is not None and info.kind in ("function", "effect", "value"):
                return True
    return False


def _slow(kind: str, name: str) -> bool:
    return kind == "builtin" and name not in QUICK
