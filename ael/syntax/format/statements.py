"""Printers of blocks and statements."""

from __future__ import annotations

from ael.syntax import nodes as n
from ael.syntax.format.expressions import operators, up_to
from ael.syntax.format.lists import braced
from ael.syntax.format.stream import Printer, Stream


def block(p: Stream, node: n.Block) -> None:
    braced(p, node.statements, flat=None)


def value(p: Stream, node: n.Expr) -> None:
    """What follows an `=`: on the same line, or on the next one when it is a chain of operators that does not fit."""
    if isinstance(node, n.Binary):
        with p.group(), p.indent():
            p.line()
            if p.start == node.span.start:
                operators(p, node, further=False)
            else:
                p.show(node)
    else:
        p.space()
        p.show(node)


def let(p: Stream, node: n.Let) -> None:
    p.take("var" if node.mutable else "let")
    p.space()
    p.take()
    if node.type is not None:
        p.take(":")
        p.space()
        p.show(node.type)
    p.space()
    p.take("=")
    value(p, node.value)


def assign(p: Stream, node: n.Assign) -> None:
    p.take()
    p.space()
    p.take("=")
    value(p, node.value)


def expression_statement(p: Stream, node: n.ExprStatement) -> None:
    p.show(node.value)


def for_(p: Stream, node: n.For) -> None:
    p.take("for")
    p.space()
    p.take()
    if node.index is not None:
        p.take(",")
        p.space()
        p.take()
    p.space()
    p.take("in")
    p.space()
    p.show(node.iterable)
    p.space()
    p.show(node.body)


def while_(p: Stream, node: n.While) -> None:
    p.take("while")
    p.space()
    p.show(node.condition)
    p.space()
    if node.limit is not None:
        up_to(p, node.limit)
    p.show(node.body)


def word(p: Stream, node: n.Break | n.Continue) -> None:
    p.take()


def return_(p: Stream, node: n.Return) -> None:
    p.take("return")
    if node.value is not None:
        p.space()
        p.show(node.value)


def fail(p: Stream, node: n.Fail) -> None:
    p.take("fail")
    p.space()
    p.show(node.value)


def assert_(p: Stream, node: n.Assert | n.Require) -> None:
    p.take()
    p.space()
    p.show(node.condition)
    if node.message is not None:
        p.take(",")
        p.space()
        p.show(node.message)


def script(p: Stream, node: n.Script) -> None:
    p.take("script")
    p.space()
    p.show(node.model)
    p.space()
    p.show(node.turns)


def compensate(p: Stream, node: n.Compensate) -> None:
    p.take("compensate")
    p.space()
    p.show(node.body)


PRINTERS: dict[type[n.Node], Printer] = {
    n.Block: block,
    n.Let: let,
    n.Assign: assign,
    n.ExprStatement: expression_statement,
    n.For: for_,
    n.While: while_,
    n.Break: word,
    n.Continue: word,
    n.Return: return_,
    n.Fail: fail,
    n.Assert: assert_,
    n.Script: script,
    n.Compensate: compensate,
}
