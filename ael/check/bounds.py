"""Bounds of types: which a type takes, that they are constants of the right kind, and in order."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

from ael.check.collect import ModuleScope
from ael.check.constant import FAILED
from ael.check.module import seen
from ael.check.suggest import did_you_mean
from ael.syntax import nodes as n
from ael.types.formats import FORMATS
from ael.types.pattern import check_pattern
from ael.types.type import (
    BytesType,
    DecimalType,
    FileType,
    FloatType,
    IntType,
    ListType,
    MapType,
    StringType,
    Type,
)

if TYPE_CHECKING:
    from ael.check.define import Definer

Limit: TypeAlias = int | float | Decimal | None

_TAKES: dict[str, tuple[str, ...]] = {
    "String": ("min", "max", "pattern", "format"),
    "Int": ("min", "max"),
    "Float": ("min", "max"),
    "Decimal": ("min", "max"),
    "Bytes": ("min", "max"),
    "List": ("min", "max"),
    "Map": ("min", "max"),
    "File": ("media", "max"),
}
_COUNTED = frozenset({"String", "Bytes", "List", "Map", "File"})
"""Types whose bounds count something, so that they are whole and not negative."""


def bounded(definer: Definer, scope: ModuleScope, name: str, type: Type, bounds: tuple[n.Bound, ...]) -> Type:
    """`type`, which `name` means, with its bounds; without those that were reported."""
    takes = _TAKES.get(name)

    def report(message: str, node: n.Node) -> None:
        definer.bag.report("AEL0302", message, scope.source, node.span)

    if takes is None:
        report(f"`{name}` takes no bounds", bounds[0])
        return type
    values: dict[str, object] = {}
    for bound in bounds:
        if bound.name is None:
            _range(definer, scope, name, bound, values, report)
            continue
        key = bound.name.text
        if key not in takes:
            end, fix = did_you_mean(key, takes, scope.source, bound.name.span)
            choices = ", ".join(f"`{t}`" for t in takes)
            message = f"`{name}` has no bound `{key}`{end or f'; it takes {choices}'}"
            definer.bag.report("AEL0302", message, scope.source, bound.span, fix=fix)
        elif key in values:
            report(f"the bound `{key}` stands here twice", bound)
        elif key in ("min", "max"):
            values[key] = _number(definer, scope, name, bound.value, report)
        else:
            values[key] = _text(definer, scope, key, bound.value, report)
    low, high = values.get("min"), values.get("max")
    if low is not None and high is not None and low > high:  # type: ignore[operator]
        report(f"no value lies in these bounds: {low} is above {high}", bounds[0])
        return type
    return _with(type, values)


def _with(type: Type, v: dict[str, object]) -> Type:
    low, high = v.get("min"), v.get("max")
    match type:
        case StringType():
            return StringType(low, high, v.get("pattern"), v.get("format"))  # type: ignore[arg-type]
        case IntType():
            return IntType(low, high)  # type: ignore[arg-type]
        case FloatType():
            return FloatType(None if low is None else float(low), None if high is None else float(high))  # type: ignore[arg-type]
        case DecimalType():
            return DecimalType(None if low is None else Decimal(str(low)), None if high is None else Decimal(str(high)))
        case BytesType():
            return BytesType(low, high)  # type: ignore[arg-type]
        case ListType(item):
            return ListType(item, low, high)  # type: ignore[arg-type]
        case MapType(value):
            return MapType(value, low, high)  # type: ignore[arg-type]
        case FileType():
            return FileType(v.get("media"), high)  # type: ignore[arg-type]
        case _:
            return type


def _range(
    definer: Definer,
    scope: ModuleScope,
    name: str,
    bound: n.Bound,
    values: dict[str, object],
    report: Callable[[str, n.Node], None],
) -> None:
    if not isinstance(bound.value, n.Range) or name == "File":
        report(f"a bound of `{name}` is named, such as `max: 64`", bound)
        return
    for key, end in (("min", bound.value.low), ("max", bound.value.high)):
        if end is None:
            continue
        if key in values:
            report(f"the bound `{key}` stands here twice", bound)
        else:
            values[key] = _number(definer, scope, name, end, report)


def _number(definer: Definer, scope: ModuleScope, name: str, node: n.Expr, report: Callable[[str, n.Node], None]) -> Limit:
    value = _constant(definer, scope, node, DecimalType() if name == "Decimal" else None)
    if value is FAILED:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        report(f"a bound of `{name}` is a number", node)
        return None
    if name in _COUNTED or name == "Int":
        if not isinstance(value, int):
            report(f"a bound of `{name}` is a whole number", node)
            return None
        if value < 0 and name != "Int":
            report(f"a bound of `{name}` counts something, so it is not below 0", node)
            return None
    return value


def _constant(definer: Definer, scope: ModuleScope, node: n.Expr, expected: Type | None = None) -> object:
    """The value of a bound, FAILED after a report. No check of expressions looks at bounds, so what is silent there is told here."""
    before = definer.bag.errors
    value = definer.constants.value(scope, node, expected)
    if value is FAILED and definer.bag.errors == before:
        names = [seen(scope, one.name.text) for one in n.walk(node) if isinstance(one, n.Reference)]
        if None in names or not names:
            message = "a bound is known before the program runs: it is made of literals, constants and operators"
            definer.bag.report("AEL0315", message, scope.source, node.span)
    return value


def _text(definer: Definer, scope: ModuleScope, key: str, node: n.Expr, report: Callable[[str, n.Node], None]) -> str | None:
    value = _constant(definer, scope, node)
    if value is FAILED:
        return None
    if not isinstance(value, str):
        report(f"`{key}` is a text", node)
        return None
    if key == "pattern" and (problem := check_pattern(value)) is not None:
        report(f"this pattern is not understood: {problem}", node)
        return None
    if key == "format" and value not in FORMATS:
        end, _ = did_you_mean(value, FORMATS, scope.source, node.span)
        report(f"there is no format `{value}`{end or '; there are ' + ', '.join(f'`{f}`' for f in FORMATS)}", node)
        return None
    if key == "media" and value.count("/") != 1:
        report("`media` is a media type, such as `image/png` or `image/*`", node)
        return None
    return value
