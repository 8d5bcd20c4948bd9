"""Printers of expressions."""

from __future__ import annotations

from contextlib import nullcontext

from ael.syntax import nodes as n
from ael.syntax.format.lists import braced, bracketed
from ael.syntax.format.stream import Printer, Stream
from ael.syntax.format.text import string

_RANK = {"or": 0, "and": 1, "==": 2, "!=": 2, "<": 2, "<=": 2, ">": 2, ">=": 2, "in": 2, "not in": 2, "??": 3, "+": 4, "-": 4,
         "*": 5, "/": 5, "div": 5, "%": 5}  # fmt: skip


def token(p: Stream, node: n.Node) -> None:
    p.take()


def reference(p: Stream, node: n.Reference) -> None:
    p.take()
    if node.name.text == "in_process" and p.peek() == "process" and p.start < node.span.end:
        p.space()
        p.take("process")


def list_(p: Stream, node: n.ListLit) -> None:
    bracketed(p, "[", "]", node.items, keep=True)


def map_(p: Stream, node: n.MapLit) -> None:
    if node.entries:
        bracketed(p, "[", "]", node.entries, keep=True)
    else:
        p.take("[")
        p.take(":")
        p.take("]")


def map_entry(p: Stream, node: n.MapEntry) -> None:
    p.show(node.key)
    p.take(":")
    p.space()
    p.show(node.value)


def labelled(p: Stream, node: n.Argument | n.FieldValue) -> None:
    if node.name is not None:
        p.take(node.name.text)
        p.take(":")
        p.space()
    p.show(node.value)


def unary(p: Stream, node: n.Unary) -> None:
    p.take(node.op)
    if node.op == "not":
        p.space()
    p.show(node.operand)


def binary(p: Stream, node: n.Binary) -> None:
    operators(p, node)


def operators(p: Stream, node: n.Binary, *, further: bool = True) -> None:
    """A chain of operators of one rank breaks as one; `further` puts all but its first line further in."""
    chain = [node]
    left = node.left
    while isinstance(left, n.Binary) and _RANK[left.op] == _RANK[node.op] and not _parenthesised(p, node, left):
        chain.append(left)
        left = left.left
    with p.group():
        p.show(left)
        with p.indent() if further else nullcontext():
            for link in reversed(chain):
                p.space()
                for word in link.op.split():
                    p.take(word)
                    p.space() if word == "not" else None
                p.line()
                p.show(link.right)


def _parenthesised(p: Stream, outer: n.Binary, inner: n.Binary) -> bool:
    return inner.span.start != outer.span.start


def postfix(p: Stream, node: n.FieldAccess | n.Call | n.Index) -> None:
    """A chain of fields, calls and indexes. One with several calls may break before their dots."""
    chain: list[n.FieldAccess | n.Call | n.Index] = []
    base: n.Expr = node
    while isinstance(base, n.FieldAccess | n.Call | n.Index) and (base is node or base.span.start == node.span.start):
        chain.append(base)
        base = base.callee if isinstance(base, n.Call) else base.target
    chain.reverse()
    calls = sum(isinstance(link, n.Call) for link in chain)
    if calls < 3:
        p.show(base)
        for link in chain:
            _link(p, link)
        return
    with p.group():
        p.show(base)
        with p.indent():
            seen = 0
            for index, link in enumerate(chain):
                called = index + 1 < len(chain) and isinstance(chain[index + 1], n.Call)
                if isinstance(link, n.FieldAccess) and called:
                    seen += 1
                    if index:
                        p.soft()
                _link(p, link)


def _link(p: Stream, link: n.FieldAccess | n.Call | n.Index) -> None:
    match link:
        case n.FieldAccess():
            p.take(".")
            p.take()
        case n.Call():
            last = link.arguments[-1].value if link.arguments else None
            bracketed(p, "(", ")", link.arguments, hug=_hugs(link.arguments, last))
        case n.Index():
            p.take("[")
            p.show(link.index)
            p.skip(",")
            p.take("]")


def _hugs(arguments: tuple[n.Argument, ...], last: n.Expr | None) -> bool:
    """Whether the last argument brings lines of its own, so that the parentheses need none."""
    if any(isinstance(a.value, n.Lambda) and isinstance(a.value.body, n.Block) for a in arguments[:-1]):
        return False
    if isinstance(last, n.Lambda):
        return isinstance(last.body, n.Block)
    if isinstance(last, n.StringLit):
        return last.form == "block" and len(arguments) == 1
    return isinstance(last, n.ListLit | n.MapLit) and len(arguments) == 1 and arguments[0].name is None


def with_(p: Stream, node: n.With) -> None:
    p.show(node.base)
    p.space()
    p.take("with")
    p.space()
    braced(p, node.fields)


def lambda_(p: Stream, node: n.Lambda) -> None:
    p.take("fn")
    bracketed(p, "(", ")", node.parameters, trailing=False)
    p.space()
    if p.peek() == "=>" and not (isinstance(node.body, n.Block) and p.peek(1) == "{"):
        p.take("=>")
        p.space()
    else:
        p.skip("=>")
    p.show(node.body)


def lambda_parameter(p: Stream, node: n.LambdaParameter) -> None:
    p.take()
    if node.type is not None:
        p.take(":")
        p.space()
        p.show(node.type)


def if_(p: Stream, node: n.If) -> None:
    """All of the chain on one line, or every block on lines of its own."""
    links: list[n.If] = []
    link: n.Block | n.If | None = node
    while isinstance(link, n.If):
        links.append(link)
        link = link.otherwise
    blocks = [found.then for found in links] + ([link] if link is not None else [])
    text = p.source.text
    wide = any(len(b.statements) != 1 or "\n" in (t := text[b.span.start : b.span.end]) or "\r" in t for b in blocks)
    with p.group(broken=wide):
        for index, found in enumerate(links):
            if index:
                p.space()
                p.take("else")
                p.space()
            p.take("if")
            p.space()
            p.show(found.condition)
            p.space()
            if_block(p, found.then)
        if link is not None:
            p.space()
            p.take("else")
            p.space()
            if_block(p, link)


def if_block(p: Stream, block: n.Block) -> None:
    """A block of an `if`, whose lines break with the whole of it."""
    p.take("{")
    if not block.statements:
        with p.indent():
            p.inner_comments(first=True)
        if p.commented is not None:
            p.hard()
        p.take("}")
        return
    with p.indent():
        p.line()
        p.lead(first=True)
        for index, statement in enumerate(block.statements):
            if index:
                p.hard()
                p.lead()
            p.show(statement)
        p.inner_comments()
    p.line()
    p.take("}")


def match(p: Stream, node: n.Match) -> None:
    p.take("match")
    p.space()
    p.show(node.subject)
    p.space()
    braced(p, node.arms)


def arm(p: Stream, node: n.Arm) -> None:
    p.show(node.pattern)
    if node.guard is not None:
        p.space()
        p.take("if")
        p.space()
        p.show(node.guard)
    p.space()
    p.take("=>")
    p.space()
    if isinstance(node.body, n.Block) and p.peek() != "{" and p.start == node.body.span.start:
        p.show(node.body.statements[0])
    else:
        p.show(node.body)


def try_(p: Stream, node: n.Try) -> None:
    p.take("try")
    p.space()
    p.show(node.operand)


def catch(p: Stream, node: n.Catch) -> None:
    if node.passes:
        p.take("try")
        p.space()
    p.show(node.operand)
    p.space()
    p.take("catch")
    p.space()
    braced(p, node.arms)


def parallel_for(p: Stream, node: n.ParallelFor) -> None:
    p.take("parallel")
    p.space()
    p.take()
    p.space()
    p.take("in")
    p.space()
    p.show(node.iterable)
    p.space()
    if node.limit is not None:
        up_to(p, node.limit)
    p.show(node.body)


def up_to(p: Stream, limit: n.Expr) -> None:
    """`up to N`, and a space."""
    p.take("up")
    p.space()
    p.take("to")
    p.space()
    p.show(limit)
    p.space()


def parallel_record(p: Stream, node: n.ParallelRecord) -> None:
    p.take("parallel")
    p.space()
    braced(p, node.branches)


PRINTERS: dict[type[n.Node], Printer] = {
    n.IntLit: token,
    n.FloatLit: token,
    n.MoneyLit: token,
    n.DurationLit: token,
    n.SizeLit: token,
    n.BoolLit: token,
    n.NullLit: token,
    n.StringLit: string,
    n.Reference: reference,
    n.ListLit: list_,
    n.MapLit: map_,
    n.MapEntry: map_entry,
    n.Argument: labelled,
    n.FieldValue: labelled,
    n.Unary: unary,
    n.Binary: binary,
    n.FieldAccess: postfix,
    n.Call: postfix,
    n.Index: postfix,
    n.With: with_,
    n.Lambda: lambda_,
    n.LambdaParameter: lambda_parameter,
    n.If: if_,
    n.Match: match,
    n.Arm: arm,
    n.Try: try_,
    n.Catch: catch,
    n.ParallelFor: parallel_for,
    n.ParallelRecord: parallel_record,
}
