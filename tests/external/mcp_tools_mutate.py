"""Values with one thing changed, near to what the schema draws its lines at. Whether they still fit is for both judges to say."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from tests.external.mcp_tools_generate import EXACT, Generator, Made, NoValue, Path

_KINDS: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 1.0, 0.5, 1e12, "", "text", "1", "true", "null", [], {}, [None], {"a": 1}, [[]], {"": None},
)  # fmt: skip
_KEYS = ("an_unknown_key", "", "__proto__", "constructor", "$ref", "kind", "value", "type", "Type", "id ")
_AROUND = ("\n", " ", "x", "\u0000", "٣", "é", "\u2028", "-", "/")


def spoiled(made: Made, generator: Generator, random: Random, count: int) -> Iterator[tuple[str, Any]]:
    """`count` variations of a value: what was done, and the value."""
    places = made.places or [((), {})]
    for _ in range(count):
        path, node = random.choice(places)
        old = at(made.value, path)
        what, new = _changed(node, old, generator, random)
        yield what, put(made.value, path, new)


def at(value: Any, path: Path) -> Any:
    """What stands at `path`."""
    for key in path:
        value = value[key]
    return value


def put(value: Any, path: Path, new: Any) -> Any:
    """`value` with `new` at `path`; nothing is changed in place."""
    if not path:
        return new
    first, *rest = path
    inner = put(value[first], tuple(rest), new)
    if isinstance(value, dict):
        return {**value, first: inner}
    return [inner if index == first else item for index, item in enumerate(value)]


def _changed(node: Mapping[str, Any], old: Any, generator: Generator, random: Random) -> tuple[str, Any]:
    """A value to stand where `node` made `old`."""
    dice = random.random()
    if dice < 0.15:
        return "kind", random.choice(_KINDS)
    if dice < 0.2:
        return "wrapped", random.choice(([old], {"value": old}, json.dumps(old), [old, old]))
    if dice < 0.3 and ("anyOf" in node or "oneOf" in node):
        return "mixed", _mixed(node, old, generator, random)
    if dice < 0.4 and ("enum" in node or "const" in node):
        return "enum", random.choice(_beside_constants(node, old))
    match old:
        case bool():
            return "boolean", random.choice((not old, int(old), float(old), str(old).lower(), None))
        case int() | float():
            return "number", random.choice(_beside_number(node, old))
        case str():
            return "text", random.choice(_beside_text(node, old, random))
        case list():
            return _list(node, old, generator, random)
        case dict():
            return _object(node, old, generator, random)
        case _:
            return "null", random.choice((False, 0, "", "null", [], {}))


def _beside_constants(node: Mapping[str, Any], old: Any) -> list[Any]:
    listed = list(node.get("enum", [])) + ([node["const"]] if "const" in node else [])
    found: list[Any] = [*listed, listed, "a value that is in no enum"]
    for value in [*listed[:5], old]:
        if isinstance(value, str):
            found += [
                value.upper(),
                value.lower(),
                value.capitalize(),
                f"{value} ",
                f" {value}",
                value[:-1],
                f"{value}\n",
                [value],
            ]
        elif isinstance(value, bool):
            found += [int(value), not value]
        elif isinstance(value, int | float):
            found += [value + 1, float(value), str(value), bool(value)]
        else:
            found += [str(value), [value]]
    return found


def _beside_number(node: Mapping[str, Any], old: float) -> list[Any]:
    found: list[Any] = [
        old + 1,
        old - 1,
        old + 0.5,
        -old,
        float(old),
        str(old),
        None,
        True,
        0,
        2**31,
        -(2**31) - 1,
        EXACT,
        -EXACT,
        2.5,
    ]
    if float(old).is_integer():
        found += [int(old), float(old)]
    for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        if key in node:
            bound = node[key]
            found += [bound, bound - 1, bound + 1, bound - 0.5, bound + 0.5, float(bound)] * 2
            found += [math.nextafter(bound, math.inf), math.nextafter(bound, -math.inf)]
    if "integer" in _types(node):
        # beyond, a number that was written as a float is refused: one of the documented bounds
        found = [value for value in found if not (isinstance(value, float) and abs(value) > EXACT)]
        found += [2**63, -(10**30)]
    # a whole number beyond what a float holds exactly is rounded where a number is asked for
    return [value for value in found if not (isinstance(value, int) and abs(value) > EXACT and "integer" not in _types(node))]


def _types(node: Mapping[str, Any]) -> list[str]:
    said = node.get("type", [])
    return [said] if isinstance(said, str) else list(said)


def _beside_text(node: Mapping[str, Any], old: str, random: Random) -> list[Any]:
    spot = random.randint(0, len(old))
    around = random.choice(_AROUND)
    found: list[Any] = [
        "", old + around, around + old, old[:-1], old[1:], old[:spot] + around + old[spot:], old[:spot] + around + old[spot + 1 :],
        old.upper(), old.lower(), old * 2, old[::-1], [old], None,
    ]  # fmt: skip
    for key in ("minLength", "maxLength"):
        if (bound := node.get(key)) is not None and bound <= 12_000:
            for length in (bound - 1, bound, bound + 1):
                found += [(old or "x").ljust(length, char)[: max(length, 0)] for char in ("x", "\U0001f600")]
    return found


def _list(node: Mapping[str, Any], old: list[Any], generator: Generator, random: Random) -> tuple[str, Any]:
    items = node.get("items", node.get("prefixItems", True))
    found: list[tuple[str, Any]] = [
        ("entry", [*old, None]), ("entry", [*old, random.choice(_KINDS)]), ("entry", [random.choice(_KINDS), *old]),
        ("length", old[:-1]), ("length", old[1:]), ("order", old[::-1]), ("length", []),
        ("indexed", {str(i): v for i, v in enumerate(old)}),
    ]  # fmt: skip
    if old:
        again = random.choice(old)
        found += [("double", [*old, again]), ("double", [*old, float(again) if type(again) is int else again]), ("alone", old[0])]
    for key in ("minItems", "maxItems"):
        if (bound := node.get(key)) is not None and bound <= 1_000:
            filler = old or [_value(generator, items if not isinstance(items, list) else items[0], "x")]
            for length in (bound - 1, bound, bound + 1):
                found += [("length", (filler * (length // len(filler) + 1))[: max(length, 0)])] * 2
    if isinstance(node.get("prefixItems"), list):
        found += [("tuple", [*old, _value(generator, random.choice(node["prefixItems"]), 1)]), ("tuple", old[: len(old) // 2])]
    if not isinstance(items, list):
        found.append(("entry", [*old, _value(generator, items, None)]))
    return random.choice(found)


def _object(node: Mapping[str, Any], old: dict[str, Any], generator: Generator, random: Random) -> tuple[str, Any]:
    properties = node.get("properties", {})
    dice = random.random()
    required = [name for name in node.get("required", ()) if name in old]
    if required and dice < 0.35:
        gone = random.choice(required)
        return "dropped", {key: value for key, value in old.items() if key != gone}
    if old and dice < 0.45:
        gone = random.choice(list(old))
        return "dropped", {key: value for key, value in old.items() if key != gone}
    if properties and dice < 0.6:
        name = random.choice(list(properties))
        return "property", {**old, name: _value(generator, properties[name], None)}
    if properties and dice < 0.7:
        name = random.choice(list(properties))
        return "property", {**old, name: random.choice(_KINDS)}
    if old and dice < 0.8:
        name = random.choice(list(old))
        renamed = random.choice((name.upper(), f"{name}_", f" {name}", name[:-1]))
        return "renamed", {renamed if key == name else key: value for key, value in old.items()}
    extra = node.get("additionalProperties", True)
    key = random.choice(_KEYS)
    return "extra", {**old, key: _value(generator, extra, 1) if random.random() < 0.5 else random.choice(_KINDS)}


def _mixed(node: Mapping[str, Any], old: Any, generator: Generator, random: Random) -> Any:
    """A value of another alternative, or the fields of two together."""
    other = _value(generator, random.choice(node.get("anyOf", node.get("oneOf"))), None)
    if isinstance(old, dict) and isinstance(other, dict):
        return random.choice(({**other, **old}, {**old, **other}, other))
    return other


def _value(generator: Generator, node: Any, otherwise: Any) -> Any:
    try:
        return generator.inner(node)
    except NoValue:
        return otherwise
