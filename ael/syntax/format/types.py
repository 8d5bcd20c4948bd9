"""Printers of names, types and patterns."""

from __future__ import annotations

from ael.syntax import nodes as n
from ael.syntax.format.lists import bracketed
from ael.syntax.format.stream import Printer, Stream


def name(p: Stream, node: n.Name) -> None:
    p.take()


def path(p: Stream, node: n.Path) -> None:
    for index in range(len(node.parts)):
        if index:
            p.take(".")
        p.take()


def named_type(p: Stream, node: n.NamedType) -> None:
    p.show(node.path)
    if node.arguments:
        bracketed(p, "<", ">", node.arguments, trailing=False)
    if node.bounds:
        bracketed(p, "(", ")", node.bounds)


def optional_type(p: Stream, node: n.OptionalType) -> None:
    p.show(node.inner)
    p.take("?")


def union_type(p: Stream, node: n.UnionType) -> None:
    with p.group(), p.indent():
        for index, member in enumerate(node.members):
            if index:
                p.line()
                p.take("|")
                p.space()
            p.show(member)


def literal_type(p: Stream, node: n.LiteralType) -> None:
    if p.peek() == "-":
        p.take("-")
        p.take()
    else:
        p.show(node.value)


def function_type(p: Stream, node: n.FunctionType) -> None:
    p.take("fn")
    bracketed(p, "(", ")", node.parameters, trailing=False)
    p.space()
    p.take("->")
    p.space()
    p.show(node.result)


def bound(p: Stream, node: n.Bound) -> None:
    if node.name is not None:
        p.take(node.name.text)
        p.take(":")
        p.space()
    p.show(node.value)


def range_(p: Stream, node: n.Range) -> None:
    if node.low is not None:
        p.show(node.low)
    p.take("..")
    if node.high is not None:
        p.show(node.high)


def literal_pattern(p: Stream, node: n.LiteralPattern) -> None:
    p.show(node.value)


def type_pattern(p: Stream, node: n.TypePattern) -> None:
    p.show(node.path)
    if p.start < node.span.end:
        p.space()
        p.take()


def field_pattern(p: Stream, node: n.FieldPattern) -> None:
    if node.name is not None:
        p.take(node.name.text)
        p.take(":")
        p.space()
    p.show(node.pattern)


def variant_pattern(p: Stream, node: n.VariantPattern) -> None:
    p.show(node.path)
    bracketed(p, "(", ")", node.fields)


def rest_pattern(p: Stream, node: n.BinderPattern | n.WildcardPattern) -> None:
    if p.peek() == "..":
        p.take("..")
        if p.start < node.span.end:
            p.take()
    else:
        p.take()


def list_pattern(p: Stream, node: n.ListPattern) -> None:
    bracketed(p, "[", "]", (*node.items, *((node.rest,) if node.rest is not None else ())))


def or_pattern(p: Stream, node: n.OrPattern) -> None:
    with p.group(), p.indent():
        for index, alternative in enumerate(node.alternatives):
            if index:
                p.line()
                p.take("|")
                p.space()
            p.show(alternative)


PRINTERS: dict[type[n.Node], Printer] = {
    n.Name: name,
    n.Path: path,
    n.NamedType: named_type,
    n.OptionalType: optional_type,
    n.UnionType: union_type,
    n.LiteralType: literal_type,
    n.FunctionType: function_type,
    n.Bound: bound,
    n.Range: range_,
    n.WildcardPattern: rest_pattern,
    n.BinderPattern: rest_pattern,
    n.LiteralPattern: literal_pattern,
    n.TypePattern: type_pattern,
    n.FieldPattern: field_pattern,
    n.VariantPattern: variant_pattern,
    n.ListPattern: list_pattern,
    n.OrPattern: or_pattern,
}
