"""Source of `ael/syntax/make.py`: one function per node class that fills a node without its constructor (see `open_twin`)."""

from __future__ import annotations

import re

from ael.syntax import nodes
from ael.syntax.tree import Node

_HEAD = '''"""Makes nodes, one function for each class, built by `python -m grammar.build`: not edited by hand.

A node is filled as its open twin and then given its class: half the time of a constructor, which the parser spends most of its time in.
"""

# mypy: disable-error-code="misc,assignment"
# fmt: off
# ruff: noqa

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from ael.source import Source, Span
from ael.syntax.nodes import (
{names}
)
from ael.syntax.tree import open_twin

_new = object.__new__
_tuple = tuple.__new__
'''


def snake(name: str) -> str:
    """`FieldAccess` -> `field_access`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def classes() -> list[type[Node]]:
    """Every node class, by name."""
    found = [c for c in vars(nodes).values() if isinstance(c, type) and issubclass(c, Node) and c is not Node]
    return sorted(found, key=lambda c: c.__name__)


def _annotations(cls: type[Node]) -> dict[str, str]:
    """Field -> type, those of a class that it is made from first."""
    inherited = _annotations(base) if (base := cls.__bases__[0]) is not Node else {}
    return inherited | {name: str(text) for name, text in cls.__annotations__.items()}


def makers() -> str:
    """The text of `ael/syntax/make.py`."""
    unions = {"BinaryOp", "Clause", "Declaration", "Expr", "ModelItem", "Pattern", "Row", "Statement", "TypeExpr", "UnaryOp"}
    names = sorted({c.__name__ for c in classes()} | unions)
    out = [_HEAD.format(names="\n".join(f"    {n}," for n in names))]
    for cls in classes():
        types, name = _annotations(cls), cls.__name__
        parameters = "".join(f", {field}: {types[field]}" for field in types)
        out.append(f"_{name} = open_twin({name})")
        out.append("")
        out.append("")
        out.append(f"def make_{snake(name)}(start: int, end: int{parameters}) -> {name}:")
        out.append(f"    o = _new(_{name})")
        out.append("    o.span = _tuple(Span, (start, end))")
        out.extend(f"    o.{field} = {field}" for field in types)
        out.append(f"    o.__class__ = {name}")
        out.append("    return o")
        out.append("")
        out.append("")
    return "\n".join(out).rstrip("\n") + "\n"
