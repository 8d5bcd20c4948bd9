"""What every node of the syntax tree is: one frozen class for each form of the language.

Nodes compare and hash by identity, so that later phases key their side tables by node and never annotate one. Every node has
a `span` in its module's source. `children()` comes from the fields. A `match` over a union of nodes ends with
`assert_never`, so that the type checker names each place that a new form must reach.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from typing import TypeVar, dataclass_transform

from ael.source import Source, Span

_T = TypeVar("_T")


@dataclass_transform(frozen_default=True, eq_default=False)
def node(cls: type[_T]) -> type[_T]:
    return dataclass(frozen=True, slots=True, eq=False)(cls)


@node
class Node:
    """Anything that stands in the source."""

    span: Span

    def children(self) -> Iterator[Node]:
        """The nodes directly below this one, in source order of the fields."""
        for name in _field_names(type(self)):
            value = getattr(self, name)
            if isinstance(value, Node):
                yield value
            elif isinstance(value, tuple):
                for item in value:
                    if isinstance(item, Node):
                        yield item


@cache
def _field_names(cls: type[Node]) -> tuple[str, ...]:
    return tuple(f.name for f in fields(cls) if f.name != "span")


def walk(node: Node) -> Iterator[Node]:
    """`node` and everything below it, parents first, without recursion (trees may be deep)."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(list(current.children())))


def same(left: Node, right: Node) -> bool:
    """Whether two trees have the same shape and values, wherever they stand (used to show that formatting keeps meaning)."""
    stack: list[tuple[object, object]] = [(left, right)]
    while stack:
        a, b = stack.pop()
        if isinstance(a, Node):
            if type(a) is not type(b):
                return False
            stack.extend((getattr(a, name), getattr(b, name)) for name in _field_names(type(a)) if name not in _LAYOUT)
        elif isinstance(a, tuple) and not isinstance(a, Span):
            if not isinstance(b, tuple) or len(a) != len(b):
                return False
            stack.extend(zip(a, b, strict=True))
        elif isinstance(a, Source):
            continue
        elif type(a) is not type(b) or a != b:
            return False
    return True


_LAYOUT = frozenset({"comments", "source", "text_form"})
"""Fields that say how something was written, not what it means."""


# --- names ---------------------------------------------------------------------------------------------------------


@node
class Name(Node):
    """An identifier where it is declared or mentioned."""

    text: str


@node
class Path(Node):
    """A dotted name: `orders.refund`, `Topic.Refund`, `crm.get_customer`."""

    parts: tuple[Name, ...]

    @property
    def text(self) -> str:
        """The name as written, with its dots."""
        return ".".join(part.text for part in self.parts)


@node
class Doc(Node):
    """The text of the `///` (or `//!`) comments in front, one string with line ends, markers removed."""

    text: str
