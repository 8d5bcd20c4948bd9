"""Printers of `pack.ael` and `deploy.ael`."""

from __future__ import annotations

from ael.syntax import nodes as n
from ael.syntax.format.lists import braced, bracketed, comma_list
from ael.syntax.format.stream import Printer, Stream
from ael.syntax.format.text import plain


def pack(p: Stream, node: n.PackDecl) -> None:
    """The items are read from the tokens: the tree keeps no places for packages."""
    p.take("pack")
    p.space()
    p.take()
    p.space()
    p.take("{")
    first = True
    with p.indent():
        while p.peek() != "}":
            p.hard()
            p.lead(first=first)
            first = False
            _item(p)
        p.inner_comments(first=first)
    if not first or p.commented is not None:
        p.hard()
    p.take("}")


def _item(p: Stream) -> None:
    word = p.peek()
    p.take()
    p.space()
    if word == "version":
        plain(p)
    elif word == "uses":
        _package(p)
        while p.peek() == ",":
            p.take(",")
            p.space()
            _package(p)
    elif word == "extern":
        plain(p)
        while p.peek() == ",":
            p.take(",")
            p.space()
            plain(p)
    else:
        p.take()
        p.space()
        plain(p)
        if p.peek() == "from":
            p.space()
            p.take("from")
            p.space()
            plain(p)


def _package(p: Stream) -> None:
    p.take()
    while p.peek() == "/":
        p.take("/")
        p.take()


def binding(p: Stream, node: n.Binding) -> None:
    p.take()
    with p.indent():
        if node.kind.text in ("default", "limit", "budget") and node.subject is None and node.value is None:
            with p.group():
                for index, option in enumerate(node.options):
                    if index:
                        p.take(",")
                        p.line()
                    else:
                        p.space()
                    p.show(option)
            return
        if node.kind.text in ("allow", "deny") and node.subject is None and node.value is None:
            p.space()
            comma_list(p, [path for clause in node.clauses if isinstance(clause, n.Grants) for path in clause.permissions])
            return
        if node.subject is not None:
            p.space()
            p.show(node.subject)
        if node.target is not None:
            p.space()
            p.take("->")
            p.space()
            p.show(node.target)
        if node.value is not None:
            p.space()
            if p.peek() == "=":
                p.take("=")
                p.space()
            p.show(node.value)
        rest = sorted([*node.clauses, *node.options], key=lambda o: o.span.start)
        with p.group():
            for member in rest:
                p.line()
                p.show(member)


def option(p: Stream, node: n.BindingOption) -> None:
    p.take()
    if p.peek() == "(" and p.start < node.span.end:
        call = node.values[0]
        assert isinstance(call, n.Call), "an option with parentheses is kept as a call"
        bracketed(p, "(", ")", call.arguments)
        return
    for value in node.values:
        p.space()
        p.show(value)


def tenant(p: Stream, node: n.TenantDecl) -> None:
    p.take("tenant")
    p.space()
    p.take()
    p.space()
    braced(p, node.clauses, flat=None)


PRINTERS: dict[type[n.Node], Printer] = {n.PackDecl: pack, n.Binding: binding, n.BindingOption: option, n.TenantDecl: tenant}
