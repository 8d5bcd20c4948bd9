"""What every node of the syntax tree is: one frozen class for each form of the language.

Nodes compare and hash by identity, so that later phases key their side tables by node and never annotate one. Every node has
a `span` in its module's source. `children()` comes from the fields. A `match` over a union of nodes ends with
`assert_never`, so that the type checker names each place that a new form must reach.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar, dataclass_transform

from ael.source import Source, Span

_T = TypeVar("_T")


def _refuse(self: object, name: str, value: object = None) -> None:
    raise AttributeError(f"a syntax tree is never changed: {type(self).__name__}.{name}")


@dataclass_transform(frozen_default=True, eq_default=False)
def node(cls: type[_T]) -> type[_T]:
    """Make a node class of annotated fields: slots, a constructor, frozen, compared by identity.

    As `dataclass(frozen=True, slots=True, eq=False)` would, whose generated methods cost 1.5 ms for each class at import:
    half of what a whole `ael check` may take. `Class.__match_args__` are the fields, in order.
    """
    own = tuple(vars(cls).get("__annotations__", ()))
    inherited: tuple[str, ...] = getattr(cls.__bases__[0], "__match_args__", ())
    body = {k: v for k, v in cls.__dict__.items() if k not in ("__dict__", "__weakref__")}
    body |= {"__slots__": own, "__match_args__": inherited + own, "__setattr__": _refuse, "__delattr__": _refuse}
    made: type[_T] = type(cls.__name__, cls.__bases__, body)
    return made


def open_twin(cls: type[_T]) -> type[_T]:
    """A class of the same layout that can be written to.

    The parser fills an instance of it and then turns that into `cls` by its `__class__`: half the time of the constructor.
    """
    slots: tuple[str, ...] = vars(cls)["__slots__"]
    body = {"__slots__": slots, "__setattr__": object.__setattr__}
    made: type[_T] = type(cls.__name__, cls.__bases__, body)
    return made


@node
class Node:
    """Anything that stands in the source."""

    span: Span

    def __init__(self, *values: Any, **named: Any) -> None:
        names = self.__match_args__
        given = dict(zip(names, values, strict=False)) | named
        if len(given) != len(values) + len(named) or given.keys() != set(names):
            raise TypeError(f"{type(self).__name__} takes {', '.join(names)}")
        for name, value in given.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__match_args__)})"

    def __reduce__(self) -> tuple[type[Node], tuple[object, ...]]:
        return type(self), tuple(getattr(self, name) for name in self.__match_args__)

    def children(self) -> Iterator[Node]:
        """The nodes directly below this one, in source order of the fields."""
        for name in self.__match_args__:
            value = getattr(self, name)
            if isinstance(value, Node):
                yield value
            elif isinstance(value, tuple):
                for item in value:
                    if isinstance(item, Node):
                        yield item


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
            stack.extend((getattr(a, name), getattr(b, name)) for name in a.__match_args__ if name not in _LAYOUT)
        elif isinstance(a, tuple) and not isinstance(a, Span):
            if not isinstance(b, tuple) or len(a) != len(b):
                return False
            stack.extend(zip(a, b, strict=True))
        elif isinstance(a, Source):
            continue
        elif type(a) is not type(b) or a != b:
            return False
    return True


_LAYOUT = frozenset({"span", "module_span", "comments", "source", "text_form", "rows"})
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
