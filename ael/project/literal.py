"""Values written in a deployment: literals, lists, maps, and calls such as `anthropic("…", key: secret("…"))`, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal

from ael.data import dataclass, field
from ael.syntax import nodes as n


@dataclass(frozen=True)
class Construct:
    """A call in a deployment: `name(positional, key: value)`, or a bare word."""

    name: str
    positional: tuple[object, ...] = ()
    named: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class NotConstant(Exception):
    """An expression that a deployment cannot hold; `node` is the part that is to blame."""

    node: n.Node


def evaluate(node: n.Node) -> object:
    """The value of a deployment's expression. Raises `NotConstant`."""
    match node:
        case n.IntLit(value=value) | n.MoneyLit(value=value) | n.BoolLit(value=value):
            return value
        case n.FloatLit(text=text):
            return Decimal(text.replace("_", ""))
        case n.SizeLit(bytes=size):
            return size
        case n.DurationLit(milliseconds=length):
            return timedelta(milliseconds=length)
        case n.NullLit():
            return None
        case n.StringLit(parts=parts):
            for part in parts:
                if not isinstance(part, n.TextPart):
                    raise NotConstant(part)
            return "".join(part.text for part in parts if isinstance(part, n.TextPart))
        case n.ListLit(items=items):
            return [evaluate(item) for item in items]
        case n.MapLit(entries=entries):
            return {_key(entry.key): evaluate(entry.value) for entry in entries}
        case n.Unary(op="-", operand=operand):
            inner = evaluate(operand)
            if isinstance(inner, int | Decimal) and not isinstance(inner, bool):
                return -inner
            raise NotConstant(node)
        case n.Reference(name=name):
            return Construct(name.text)
        case n.Call(callee=n.Reference(name=name), arguments=arguments):
            positional = tuple(evaluate(a.value) for a in arguments if a.name is None)
            return Construct(name.text, positional, {a.name.text: evaluate(a.value) for a in arguments if a.name})
        case _:
            raise NotConstant(node)


def _key(node: n.Expr) -> str:
    value = evaluate(node)
    if not isinstance(value, str):
        raise NotConstant(node)
    return value
