"""What decides whether something is done that acts: the conditions around it, and those by which what comes before it may have left.

This matters in a program with a strict agent alone (`policy strict`): there outside data may not choose the way (docs/decisions/taint.md).
"""

from __future__ import annotations

from ael.check.program import Meaning, Tables
from ael.check.summary import CHOICE, TAINTED, Picked, Shared, Sink, Summary
from ael.syntax import nodes as n


class Choosing:
    """The part of a flow that follows what decides. `chosen`: the bits of the conditions around, `deciding` the innermost of them.

    `gone`, `skipped`: what decided whether this is still come to, by `return` and `fail`; by `break` and `continue` of the loop around.
    """

    shared: Shared
    summary: Summary
    tables: Tables
    module: str
    chosen: int
    deciding: n.Node | None
    gone: int
    skipped: int
    errors: int

    def source(self, node: n.Node) -> tuple[n.Node | None, str]:
        """A call that brought outside data into a value, and the name of what was called."""
        raise AssertionError(f"{type(self).__name__} knows no sources")

    def eval(self, node: n.Node) -> int:
        """The bits of a node's value."""
        raise AssertionError(f"{type(self).__name__} follows nothing")

    def nothing_chosen(self) -> None:
        """At the beginning of a body."""
        self.chosen, self.deciding, self.gone, self.skipped = 0, None, 0, 0

    def choosing(self, mask: int, at: n.Node) -> tuple[int, n.Node | None]:
        """From here on `mask` decides what is done; gives what did so before, which has to be put back."""
        before = (self.chosen, self.deciding)
        if mask and self.shared.acts is not None:
            self.chosen, self.deciding = self.chosen | mask, at
        return before

    def statements(self, statements: tuple[n.Statement, ...]) -> int:
        """The bits of the last of them."""
        found = 0
        for at, statement in enumerate(statements):
            if isinstance(statement, n.Compensate):
                return self._compensated(statement, statements[at + 1 :])
            found = self.eval(statement)
        return found

    def _compensated(self, node: n.Compensate, rest: tuple[n.Statement, ...]) -> int:
        """A compensation runs where the rest of its block fails: what decides that it does, decides the compensation."""
        outer, self.errors = self.errors, 0
        found = self.statements(rest)
        errors, self.errors = self.errors, self.errors | outer
        chosen = self.choosing(errors, rest[-1] if rest else node)
        self.eval(node.body)
        self.chosen, self.deciding = chosen
        return found

    def chosen_call(self, name: str, node: n.Node) -> None:
        """Something of this name is called, or handed on."""
        mask = self.chosen | self.gone | self.skipped
        if mask and self.shared.acts is not None and self.shared.acts(name):
            self.pick(mask, Sink(self.module, self.deciding or node, name, CHOICE), self.deciding or node)

    def chosen_value(self, function: n.Node | None, node: n.Node) -> None:
        """A function value is called: one of this body, or one that nobody knows here."""
        mask = self.chosen | self.gone | self.skipped
        if not mask or self.shared.acts is None:
            return
        if function is None:
            self.summary.chosen_values |= mask
            return
        for name in self.called_in(function):
            self.chosen_call(name, node)

    def given_value(self, function: n.Node, mask: int, node: n.Node) -> None:
        """A function value is handed to something that calls it or not, as `mask` decides."""
        if mask and self.shared.acts is not None:
            for name in self.called_in(function):
                if self.shared.acts(name):
                    self.pick(mask, Sink(self.module, node, name, CHOICE), node)

    def called_in(self, function: n.Node) -> list[str]:
        """The names of what a function value calls, or is."""
        calls, resolved = self.tables.calls, self.tables.resolved
        inside = n.walk(function.body) if isinstance(function, n.Lambda) else (function,)
        found = [calls[one].name for one in inside if isinstance(one, n.Call) and one in calls]
        named = resolved.get(function)
        return found if not isinstance(named, Meaning) else [*found, named.name]

    def pick(self, mask: int, sink: Sink, decides: n.Node) -> None:
        """`decides`, an expression here, decides whether the target of `sink` is called."""
        common = self.shared.common(mask)
        if common:
            source = self.source(decides) if common & TAINTED else (None, "")
            self.picked(Picked(common, sink, *source))
        rest, at = mask >> self.shared.first_parameter, 0
        while rest:
            if rest & 1:
                self.summary.picks.setdefault(at, sink)
            rest >>= 1
            at += 1

    def picked(self, one: Picked) -> None:
        """Here or in what is called from here, outside data, or what is in a store, decides a call."""
        before = self.summary.picked.get(one.sink.node)
        if before is None or one.mask & ~before.mask:
            self.summary.picked[one.sink.node] = one._replace(mask=one.mask | (before.mask if before is not None else 0))
