"""What stands in each part of a callable, found in one walk from the leaves up, for everything that asks."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ael.check.program import Local, Meaning, Tables
from ael.lower.building import BUILDERS, in_place
from ael.lower.graph import QUICK
from ael.syntax import nodes as n
from ael.types.type import ListType

_TIME, _CALLS, _RECURS, _BUILDS = 1, 2, 4, 8
_LOOPS = (n.For, n.While, n.Lambda, n.ParallelFor, n.ParallelRecord)
_SUMS = frozenset({"+", "-", "*"})
BRIEF = 2_000
"""What a brief function does at most, in nodes of the syntax tree, its calls included: some tens of microseconds."""


class Facts:
    """Facts of the nodes in `body`.

    `recursive`: functions that can come back to themselves. `brief`: what functions cost that end soon by themselves, which is those
    that neither loop nor recur, nor call what does: no test of the flag has to stand around a call of one.
    """

    def __init__(
        self, body: n.Node, tables: Tables, recursive: Collection[str] = (), brief: Mapping[str, int] | None = None
    ) -> None:
        self._tables = tables
        self._recursive = recursive
        self._brief = brief if brief is not None else {}
        nodes: list[n.Node] = [body]
        parents = [0]
        at = 0
        while at < len(nodes):
            for child in nodes[at].children():
                nodes.append(child)
                parents.append(at)
            at += 1
        self.cost = len(nodes)
        """Of running `body` once, where it is brief."""
        self._use: dict[Local, bool] = {}
        marks = [self._own(node, nodes[parent]) for node, parent in zip(nodes, parents, strict=True)]
        self.in_place: frozenset[n.Assign] = frozenset()
        """Assignments that change a list or map in place."""
        if any(mark & _BUILDS for mark in marks):
            self.in_place = in_place(body, tables)
            quick = {s.value for s in self.in_place if isinstance(s.value, n.Call) and self._is_quick(s.value)}
            marks = [mark & ~_TIME if node in quick else mark for node, mark in zip(nodes, marks, strict=True)]
        if self.cost > BRIEF:
            marks[0] |= _TIME
        for at in range(len(nodes) - 1, 0, -1):
            marks[parents[at]] |= marks[at]
        self._marks = dict(zip(nodes, marks, strict=True))

    def _own(self, node: n.Node, parent: n.Node) -> int:
        match node:
            case n.Call():
                return self._call(node)
            case n.Reference():
                return self._reference(node, parent)
            case n.Binary(op="+") if isinstance(self._tables.types.get(node), ListType):
                return _TIME | _BUILDS
            case n.Binary(op=op):
                return _TIME if op in ("in", "not in") else 0
            case n.FieldAccess():
                return self._mention(self._tables.resolved.get(node))
            case _:
                return _TIME if isinstance(node, _LOOPS) else 0

    def _reference(self, node: n.Reference, parent: n.Node) -> int:
        meaning = self._tables.resolved.get(node)
        if isinstance(meaning, Local):
            summed = isinstance(parent, n.Binary) and (parent.op in _SUMS or (parent.op == "/" and parent.left is node))
            self._use[meaning] = summed and self._use.get(meaning, True)
            return 0
        return self._mention(meaning)

    def _mention(self, meaning: object) -> int:
        recurs = isinstance(meaning, Meaning) and meaning.kind == "function" and meaning.name in self._recursive
        return _RECURS if recurs else 0

    def _call(self, node: n.Call) -> int:
        info = self._tables.calls.get(node)
        if info is None:
            return 0
        match info.kind:
            case "function":
                if info.name in self._brief:
                    self.cost += self._brief[info.name]
                    return 0
                return _CALLS | (_RECURS if info.name in self._recursive else 0)
            case "effect":
                return _CALLS
            case "value":
                return _CALLS | _TIME
            case "check":
                return _TIME
            case "builtin" if info.name not in QUICK:
                return _TIME | (_BUILDS if info.name in BUILDERS else 0)
            case _:
                return 0

    def _is_quick(self, call: n.Call) -> bool:
        return BUILDERS[self._tables.calls[call].name] != "extend"

    def takes_time(self, node: n.Node) -> bool:
        """Whether running `node` can take long by itself: it loops, builds something from a whole value, or calls a function value."""
        return bool(self._marks[node] & _TIME)

    def calls(self, node: n.Node) -> bool:
        """Whether `node` calls code of the program that is not brief, or waits for anything."""
        return bool(self._marks[node] & _CALLS)

    def recurs(self, node: n.Node) -> bool:
        """Whether `node` mentions a recursive function."""
        return bool(self._marks[node] & _RECURS)

    def only_summed(self, local: Local) -> bool:
        """Whether a variable is used, and only as an operand of `+ - *` or as a dividend."""
        return self._use.get(local, False)
