"""Values of a schema, made by walking it: deterministic by seed, valid by construction, and looked at by the judge all the same.

`Places` tells which part of the schema made which part of the value, so that `mcp_tools_mutate` can spoil a value where it hurts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias
from urllib.parse import unquote

from tests.external.mcp_tools_oracle import ecma, judge, same
from tests.external.mcp_tools_regex import text_of

Path: TypeAlias = tuple[str | int, ...]
Places: TypeAlias = list[tuple[Path, Mapping[str, Any]]]

EXACT = 1 << 53
_TRIES = 12
_DEEP = 7
_FULL = 5
_WORDS = (
    "",
    "a",
    "text",
    "Ünïcödé",
    "two words",
    "0",
    "1.0",
    "true",
    "null",
    "{}",
    "x" * 40,
    "line\nline",
    "\U0001f600",
    "\u0000",
)
_FORMATS = {
    "date-time": ("2024-02-29T23:59:59Z", "2024-01-01T00:00:00.5+02:00"),
    "date": ("2024-02-29",),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000",),
    "uri": ("https://example.com/a?b=c#d",),
    "email": ("someone@example.com",),
}
_KEYWORDS_OF = {
    "object": ("properties", "required", "additionalProperties", "propertyNames", "minProperties", "maxProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems"),
    "string": ("pattern", "minLength", "maxLength", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
_ALL_TYPES = ("object", "array", "string", "number", "boolean", "null")


class NoValue(ValueError):
    """No value of this part of the schema was found."""


@dataclass
class Made:
    """A value, and which parts of the schema it was made from."""

    value: Any
    places: Places = field(default_factory=list)


class Generator:
    """Makes values of `schema`, a root. Raises NoValue where none is found within some tries."""

    def __init__(self, schema: Mapping[str, Any], random: Random) -> None:
        self._root = schema
        self._random = random
        self._judge = judge(schema)
        self._places: Places = []
        self._full = False
        self._made: dict[tuple[int, ...], Any] = {}
        self._kept: list[Any] = []

    def value(self, *, full: bool = False) -> Made:
        """A value that the judge takes; a `full` one has every property, down to some depth."""
        for attempt in range(_TRIES):
            self._full = full and attempt < _TRIES // 2
            self._places = []
            try:
                value = self._of(self._root, (), attempt // 4 * 3)
            except NoValue:
                continue
            if self._judge.is_valid(value):
                return Made(value, self._places)
        raise NoValue("the root")

    def inner(self, node: Any) -> Any:
        """A value of a part of the schema, for grafts; it may have none of the root's places."""
        kept = self._places, self._full
        self._places, self._full = [], False
        try:
            return self._of(node, (), _DEEP - 2)
        finally:
            self._places, self._full = kept

    def resolve(self, node: Any) -> Any:
        """`node`, or what its chain of references leads to, with what stands beside them."""
        first = node
        beside: dict[str, Any] = {}
        for _ in range(50):
            if not isinstance(node, Mapping) or "$ref" not in node:
                return self._once((first,), {**beside, **node}) if beside and isinstance(node, Mapping) else node
            beside = {**{key: value for key, value in node.items() if key != "$ref"}, **beside}
            node = self._pointed(node["$ref"])
        raise NoValue("a chain of references")

    def _once(self, parts: tuple[Any, ...], made: Any) -> Any:
        """`made` of `parts`, the same object each time: what was tried at a part of the schema is known by its identity."""
        key = tuple(map(id, parts))
        if key not in self._made:
            self._made[key] = made
            self._kept.append(parts)
        return self._made[key]

    def _pointed(self, reference: str) -> Any:
        node: Any = self._root
        for part in unquote(reference.removeprefix("#")).split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            node = node[int(key)] if isinstance(node, list) else node[key]
        return node

    def _of(self, node: Any, path: Path, depth: int) -> Any:
        if depth > _DEEP + 14:
            raise NoValue("too deep")
        node = self.resolve(node)
        if node is False:
            raise NoValue("false")
        if node is True or not node:
            self._places.append((path, {}))
            return self.anything(depth)
        if "allOf" in node:
            rest = {k: v for k, v in node.items() if k != "allOf"}
            node = self._once((node,), _merged([rest, *map(self.resolve, node["allOf"])]))
        for key in ("anyOf", "oneOf"):
            if key in node:
                return self._alternative(node, key, path, depth)
        self._places.append((path, node))
        return self._plain(node, path, depth)

    def _alternative(self, node: Mapping[str, Any], key: str, path: Path, depth: int) -> Any:
        base = {k: v for k, v in node.items() if k != key}
        options = [self.resolve(option) for option in node[key]]
        if depth >= _DEEP:
            options = sorted(options, key=_size)[:2]
        marked = len(self._places)
        for _ in range(_TRIES):
            option = self._random.choice(options)
            try:
                both = self._once((node, option), _merged([base, option])) if _says(base) else option
                value = self._of(both, path, depth + 1)
            except NoValue:
                del self._places[marked:]
                continue
            if self._fits(node, value):
                self._places.append((path, node))
                return value
            del self._places[marked:]
        raise NoValue(key)

    def _fits(self, node: Mapping[str, Any], value: Any) -> bool:
        fits: bool = self._judge.evolve(schema=node).is_valid(value)
        return fits

    def _plain(self, node: Mapping[str, Any], path: Path, depth: int) -> Any:
        if "const" in node:
            return node["const"]
        kind = self._kind(node)
        if "enum" in node:
            fitting = [value for value in node["enum"] if self._fits(node, value)]
            if not fitting:
                raise NoValue("enum")
            return self._random.choice(fitting)
        match kind:
            case "object":
                return self._object(node, path, depth)
            case "array":
                return self._array(node, path, depth)
            case "string":
                return self.text(node)
            case "integer":
                return self._whole(node)
            case "number":
                return self._whole(node) if self._random.random() < 0.4 and _has_whole(node) else self._number(node)
            case "boolean":
                return self._random.random() < 0.5
            case "null":
                return None
        raise NoValue(f"type {kind}")

    def _kind(self, node: Mapping[str, Any]) -> str:
        said = node.get("type")
        if isinstance(said, list):
            return self._random.choice(said) if said else "none"
        if isinstance(said, str):
            return said
        told = [kind for kind, keys in _KEYWORDS_OF.items() if any(key in node for key in keys)]
        return self._random.choice(told if told and self._random.random() < 0.8 else _ALL_TYPES)

    def _object(self, node: Mapping[str, Any], path: Path, depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        properties = node.get("properties", {})
        required = node.get("required", ())
        names = list(properties)
        chance = 0.0 if depth >= _DEEP else self._random.choice((0.0, 0.3, 0.6, 1.0 if len(names) < 30 else 0.5))
        if self._full and depth < _FULL:
            chance = 1.0
        for name in [*names, *(name for name in required if name not in properties)]:
            if name in required or self._random.random() < chance:
                marked = len(self._places)
                try:
                    inner = properties.get(name, node.get("additionalProperties", True))
                    made[name] = self._of(inner, (*path, name), depth + 1)
                except NoValue:
                    del self._places[marked:]
                    if name in required:
                        raise
        extra = node.get("additionalProperties", True)
        least = node.get("minProperties", 0)
        wanted = self._random.choice((0, 0, 1, 3)) if extra is not False and depth < _DEEP else 0
        for _ in range(_TRIES * 2):
            if wanted <= 0 and len(made) >= least:
                break
            if len(made) >= node.get("maxProperties", math.inf) or extra is False:
                break
            name = self._name(node.get("propertyNames", True))
            if name not in made and name not in properties:
                made[name] = self._of(extra, (*path, name), depth + 1)
                wanted -= 1
        return made

    def _name(self, node: Any) -> str:
        node = self.resolve(node)
        if node is True or not node:
            return self._random.choice(("extra", "another-key", "$x", "key 1", "ключ", "constructor", "")) or "k"
        if "enum" in node:
            return str(self._random.choice(node["enum"]))
        if "const" in node:
            return str(node["const"])
        return self.text(node)

    def _array(self, node: Mapping[str, Any], path: Path, depth: int) -> list[Any]:
        items = node.get("items", True)
        first = node.get("prefixItems", [])
        if isinstance(items, list):
            first, items = items, node.get("additionalItems", True)
        least, most = node.get("minItems", 0), node.get("maxItems", math.inf)
        count = least if depth >= _DEEP else max(least, self._random.choice((0, 1, 1, 2, 3)))
        if first and self._random.random() < 0.7:
            count = max(count, len(first))
        if self._full and depth < _FULL:
            count = max(count, 1)
        if items is False:
            count = min(count, len(first))
        made: list[Any] = []
        for at in range(int(min(count, most))):
            marked = len(self._places)
            for _ in range(_TRIES):
                item = self._of(first[at] if at < len(first) else items, (*path, at), depth + 1)
                if not node.get("uniqueItems") or not any(same(item, before) for before in made):
                    made.append(item)
                    break
                del self._places[marked:]
        if len(made) < least:
            raise NoValue("minItems")
        return made

    def text(self, node: Mapping[str, Any]) -> str:
        """A text within the bounds of `node`."""
        least, most = node.get("minLength", 0), node.get("maxLength", 10_000)
        for _ in range(_TRIES * 5):
            if "pattern" in node:
                made = text_of(node["pattern"], self._random)
            elif node.get("format") in _FORMATS and self._random.random() < 0.5:
                made = self._random.choice(_FORMATS[node["format"]])
            else:
                made = self._random.choice(_WORDS)
            if len(made) < least and "pattern" not in node:
                made = made + self._random.choice(("x", "é", "\U0001f600")) * (least - len(made))
            if least <= len(made) <= most and ("pattern" not in node or ecma(node["pattern"]).search(made)):
                return made
            if "pattern" not in node and len(made) > most:
                return made[: int(most)]
        raise NoValue("text")

    def _whole(self, node: Mapping[str, Any]) -> int | float:
        low, high = _bounds(node)
        least = -EXACT if low == -math.inf else math.floor(low) + 1 if _excluded(node, low, "Minimum") else math.ceil(low)
        most = EXACT if high == math.inf else math.ceil(high) - 1 if _excluded(node, high, "Maximum") else math.floor(high)
        if least > most:
            raise NoValue("no whole number")
        near = [value for value in (0, 1, -1, 7, 1_000_000) if least <= value <= most]
        value = self._random.choice([least, most, self._random.randint(least, most), *near, *near])
        return float(value) if abs(value) < EXACT and self._random.random() < 0.25 else value

    def _number(self, node: Mapping[str, Any]) -> int | float:
        low, high = _bounds(node)
        least = low if low > -math.inf else min(-1e6, high - 1e6)
        most = high if high < math.inf else max(1e6, least + 1e6)
        choices: list[float] = [least, most, self._random.uniform(least, most), (least + most) / 2, 0.5, -0.25, 1e-9, 3.0, 1e300]
        for _ in range(_TRIES):
            value = self._random.choice(choices)
            if self._fits({key: node[key] for key in _KEYWORDS_OF["number"] if key in node}, value):
                return value
        raise NoValue("number")

    def anything(self, depth: int) -> Any:
        """Some JSON value."""
        simple: list[Any] = [None, True, False, 0, 1, -3, 2.5, "", "text", [], {}]
        if depth >= _DEEP or self._random.random() < 0.6:
            return self._random.choice(simple)
        if self._random.random() < 0.5:
            return [self.anything(depth + 2) for _ in range(self._random.randint(0, 3))]
        return {name: self.anything(depth + 2) for name in ("a", "b c", "$ref")[: self._random.randint(0, 3)]}


def _says(base: Mapping[str, Any]) -> bool:
    """Whether what stands beside the alternatives narrows them."""
    return any(key in base for keys in _KEYWORDS_OF.values() for key in keys) or any(
        key in base for key in ("type", "enum", "const", "anyOf", "oneOf", "$ref")
    )


def _merged(parts: list[Any]) -> dict[str, Any]:
    """Parts that all hold, as one: a guess that the judge looks at."""
    made: dict[str, Any] = {}
    for part in parts:
        if part is False:
            raise NoValue("false")
        for key, value in part.items() if isinstance(part, Mapping) else ():
            match key, made.get(key):
                case "properties", Mapping() as before:
                    made[key] = {**before, **value}
                case "required", list() as names:
                    made[key] = [*names, *(name for name in value if name not in names)]
                case (("if" | "then" | "else" | "not"), _):
                    pass
                case "type", str() | list() as before:
                    both = [t for t in _listed(before) if t in _listed(value) or (t == "integer" and "number" in _listed(value))]
                    made[key] = both[0] if len(both) == 1 else both
                case _:
                    made[key] = value
    return made


def _listed(types: str | list[str]) -> list[str]:
    return [types] if isinstance(types, str) else types


def _size(node: Any) -> int:
    return len(json.dumps(node))


def _bounds(node: Mapping[str, Any]) -> tuple[float, float]:
    low = max((node[key] for key in ("minimum", "exclusiveMinimum") if key in node), default=-math.inf)
    high = min((node[key] for key in ("maximum", "exclusiveMaximum") if key in node), default=math.inf)
    return low, high


def _excluded(node: Mapping[str, Any], bound: float, which: str) -> bool:
    return bool(node.get(f"exclusive{which}") == bound)


def _has_whole(node: Mapping[str, Any]) -> bool:
    low, high = _bounds(node)
    return high - low >= 2
