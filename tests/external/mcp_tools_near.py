"""Values with one thing changed, on either side of each line that the schema draws: each line once for each place of the schema.

Where `mcp_tools_mutate` changes things at random, this is thorough: every bound from both sides, every required key left out, every
alternative in the place of another, every part as `null` and as another kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.external.mcp_tools_generate import EXACT, Generator, Made, NoValue, Path
from tests.external.mcp_tools_mutate import at, put

_OTHER: tuple[Any, ...] = (None, True, 3, 0.5, "text", [], {}, [None], {"a": 1})
_ROOM = 12_000


@dataclass(frozen=True)
class Change:
    """A value with one thing changed, made when it is asked for."""

    what: str
    of: Any
    path: Path
    new: Any

    def value(self) -> Any:
        """The value."""
        return put(self.of, self.path, self.new)


class Lines:
    """What was tried of one schema so far."""

    def __init__(self, generator: Generator, random: Random) -> None:
        self._generator = generator
        self._random = random
        self._seen: set[tuple[object, ...]] = set()

    def near(self, made: Made) -> Iterator[Change]:
        """Changes of a value; what was tried before at the same part of the schema is left out."""
        for path, node in made.places:
            old = at(made.value, path)
            place = (tuple("*" if isinstance(key, int) else key for key in path), id(node))
            for what, new in self._lines(node, old):
                key = (*place, what)
                if key not in self._seen:
                    self._seen.add(key)
                    yield Change(what.partition(":")[0], made.value, path, new)

    def _lines(self, node: Mapping[str, Any], old: Any) -> Iterator[tuple[str, Any]]:
        yield "kind:null", None
        other = self._random.choice(_OTHER)
        yield f"kind:{self._random.randrange(2)}", other
        yield "wrapped:", [old]
        if "enum" in node or "const" in node:
            yield from _constants(node)
        if "anyOf" in node or "oneOf" in node:
            yield from self._alternatives(node, old)
        match old:
            case bool():
                yield "boolean:number", int(old)
                yield "boolean:text", "true" if old else "false"
            case int() | float():
                yield from _number(node, old)
            case str():
                yield from _text(node, old)
            case list():
                yield from self._list(node, old)
            case dict():
                yield from self._object(node, old)

    def _alternatives(self, node: Mapping[str, Any], old: Any) -> Iterator[tuple[str, Any]]:
        for index, option in enumerate(node.get("anyOf", node.get("oneOf"))):
            try:
                new = self._generator.inner(option)
            except NoValue:
                continue
            yield f"mixed:{index}", new
            if isinstance(old, dict) and isinstance(new, dict):
                yield f"mixed:{index} and old", {**old, **new}

    def _list(self, node: Mapping[str, Any], old: list[Any]) -> Iterator[tuple[str, Any]]:
        yield "entry:null", [*old, None]
        yield "entry:other", [*old, self._random.choice(_OTHER)]
        yield "length:none", []
        if old:
            yield "double:", [*old, old[0]]
            yield "entry:first", [self._random.choice(_OTHER), *old[1:]]
        if isinstance(first := node.get("prefixItems"), list):
            for length in range(len(first) + 2):
                yield f"tuple:{length}", (old + [1, "x"] * len(first))[:length]
        for key in ("minItems", "maxItems"):
            if key in node and node[key] <= 1_000:
                filler = old or [self._inner(node.get("items", True))]
                for length in (node[key] - 1, node[key], node[key] + 1):
                    if length >= 0:
                        yield f"length:{length}", (filler * (length // len(filler) + 1))[:length]

    def _object(self, node: Mapping[str, Any], old: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        for name in node.get("required", ()):
            yield f"dropped:{name}", {key: value for key, value in old.items() if key != name}
        for name in old:
            if name not in node.get("properties", {}):
                yield "extra:changed", {**old, name: self._random.choice(_OTHER)}
        extra = node.get("additionalProperties", True)
        yield "extra:any", {**old, "an_unknown_key": self._random.choice(_OTHER)}
        if isinstance(extra, Mapping):
            yield "extra:right", {**old, "an_unknown_key": self._inner(extra)}
            for index, value in enumerate(_OTHER):
                yield f"extra:{index}", {**old, "another_key": value}
        if "propertyNames" in node:
            for name in ("", "x", "An Unknown Key", "0", "a_key"):
                yield f"key:{name}", {**old, name: self._inner(extra)}
        for name, inner in node.get("properties", {}).items():
            if name not in old:
                yield f"added:{name}", {**old, name: self._inner(inner)}

    def _inner(self, node: Any) -> Any:
        try:
            return self._generator.inner(node)
        except NoValue:
            return None


def _constants(node: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    listed = [*node.get("enum", ()), *([node["const"]] if "const" in node else [])]
    yield "enum:none", "a value that is in no enum"
    for index, value in enumerate(listed[:40]):
        yield f"enum:{index}", value
    for index, value in enumerate(listed[:3]):
        match value:
            case str():
                for how, new in (
                    ("upper", value.upper()),
                    ("lower", value.lower()),
                    ("longer", f"{value} "),
                    ("shorter", value[:-1]),
                ):
                    yield f"enum:{index} {how}", new
            case bool():
                yield f"enum:{index} number", int(value)
                yield f"enum:{index} not", not value
            case int() | float():
                for other in (value + 1, float(value), str(value), bool(value)):
                    yield f"enum:{index} {other!r}", other


def _number(node: Mapping[str, Any], old: float) -> Iterator[tuple[str, Any]]:
    yield "number:half", 0.5
    yield "number:text", str(old)
    yield "number:true", True
    if abs(old) < EXACT and float(old).is_integer():
        yield "number:float", float(old)
        yield "number:int", int(old)
    for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        if key in node:
            for change in (-1, -0.5, 0, 0.5, 1):
                value = node[key] + change
                if abs(value) <= EXACT or isinstance(value, int):
                    yield f"number:{key} {change}", value


def _text(node: Mapping[str, Any], old: str) -> Iterator[tuple[str, Any]]:
    if not {"pattern", "minLength", "maxLength"} & node.keys():
        return
    yield "text:empty", ""
    for key in ("minLength", "maxLength"):
        if key in node and node[key] <= _ROOM:
            for length in (node[key] - 1, node[key], node[key] + 1):
                for char in ("x", "\U0001f600"):
                    yield f"text:{key} {length} {char}", (old or char).ljust(max(length, 0), char)[: max(length, 0)]
    if "pattern" in node:
        middle = len(old) // 2
        for around in ("\n", " ", "x", "٣", "é", "-", "\u2028"):
            yield f"text:pattern end {around}", old + around
            yield f"text:pattern start {around}", around + old
            yield f"text:pattern middle {around}", old[:middle] + around + old[middle + 1 :]
        yield "text:pattern shorter", old[:-1]
        yield "text:pattern upper", old.upper()
        yield "text:pattern twice", old * 2
