"""What stands in each part of a callable, found in one walk from the leaves up, for everything that asks."""

from __future__ import annotations

from collections.abc import Collection

from ael.check.program import Meaning, Tables
from ael.lower.building import BUILDERS, in_place
from ael.lower.graph import QUICK
from ael.syntax import nodes as n

_TIME, _CALLS, _RECURS, _BUILDS = 1, 2, 4, 8
_LOOPS = (n.For, n.While, n.Lambda, n.ParallelFor, n.ParallelRecord)


class Facts:
    """Facts of the nodes in `body`. `recursive`: functions that can come back to themselves."""

    def __init__(self, body: n.Node, tables: Tables, recursive: Collection[str] = ()) -> None:
        self._tables = tables
        self._recursive = recursive
        nodes: list[n.Node] = [body]
        parents = [0]
        at = 0
        while at < len(nodes):
            for child in nodes[at].children():
                nodes.append(child)
                parents.append(at)
            at += 1
        marks = [self._own(node) for node in nodes]
        self.in_place: frozenset[n.Assign] = frozenset()
        """Assignments that change a list or map in place."""
        if any(mark & _BUILDS for mark in marks):
            self.in_place = in_place(body, tables)
            quick = {s.value for s in self.in_place}
            marks = [mark & ~_TIME if node in quick else mark for node, mark in zip(nodes, marks, strict=True)]
        for at in range(len(nodes) - 1, 0, -1):
            marks[parents[at]] |= marks[at]
        self._marks = dict(zip(nodes, marks, strict=True))

    def _own(self, node: n.Node) -> int:
        if isinstance(node, n.Call):
            return self._call(node)
        if isinstance(node, _LOOPS) or (isinstance(node, n.Binary) and node.op in ("in", "not in")):
            return _TIME
        if isinstance(node, n.Reference | n.FieldAccess):
            meaning = self._tables.resolved.get(node)
            if isinstance(meaning, Meaning) and meaning.kind == "function" and meaning.name in self._recursive:
                return _RECURS
        return 0

    def _call(self, node: n.Call) -> int:
        info = self._tables.calls.get(node)
        if info is None:
            return 0
        match info.kind:
            case "function":
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

    def takes_time(self, node: n.Node) -> bool:
        """Whether running `node` can take long by itself: it loops, builds something from a whole value, or calls a function value."""
        return bool(self._marks[node] & _TIME)

    def calls(self, node: n.Node) -> bool:
        """Whether `node` calls any code of the program or waits for anything."""
        return bool(self._marks[node] & _CALLS)

    def recurs(self, node: n.Node) -> bool:
        """Whether `node` mentions a recursive function."""
        return bool(self._marks[node] & _RECURS)
