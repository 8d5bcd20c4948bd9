"""The function-calling corpus: functions in its Python-like schema, the calls it accepts, and corruptions of them."""

from __future__ import annotations

import copy
import gzip
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ael.types.definition import Definition, FieldDef, RecordDef
from ael.types.type import BoolType, FloatType, IntType, JsonType, ListType, LiteralType, MapType, Named, StringType, Type, union

CHECKOUT = Path(__file__).resolve().parents[2]
_JSON_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": None}


def corpus() -> Path | None:
    """The folder of the corpora: `AEL_CORPUS`, else `../shared/corpus` beside the checkout; None where neither has the calls."""
    named = os.environ.get("AEL_CORPUS")
    places = ([Path(named)] if named else []) + [CHECKOUT.parent / "shared" / "corpus"]
    return next((place for place in places if (place / "function-calls" / "answers").is_dir()), None)


@dataclass(frozen=True)
class Call:
    """A call that the corpus accepts: `id` names its question, `parameters` is the function's schema as written."""

    id: str
    category: str
    parameters: dict[str, Any]
    arguments: dict[str, Any]


def calls(folder: Path) -> Iterator[Call]:
    """All accepted calls, each argument as its first accepted value."""
    for file in sorted((folder / "function-calls").glob("*.jsonl.gz")):
        answers = {entry["id"]: entry["ground_truth"] for entry in _lines(folder / "function-calls" / "answers" / file.name)}
        for entry in _lines(file):
            functions = {function["name"]: function["parameters"] for function in entry["function"]}
            for accepted in answers[entry["id"]]:
                for name, arguments in accepted.items():
                    yield Call(entry["id"], file.name.removesuffix(".jsonl.gz"), functions[name], _chosen(arguments))


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as text:
        for line in text:
            yield json.loads(line)


def _chosen(arguments: dict[str, list[Any]]) -> dict[str, Any]:
    """The first accepted value of each argument; an empty text as the first says that it may be left out."""
    return {name: _plain(values[0]) for name, values in arguments.items() if values and values[0] != ""}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        listed = {key: inner for key, inner in value.items() if isinstance(inner, list)}
        return _chosen(listed)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


@dataclass
class Mapped:
    """The type of a function's parameters in AEL."""

    definitions: dict[str, Definition] = field(default_factory=dict)

    def of(self, node: dict[str, Any]) -> Type:
        """The type that a node of the corpus's schema means."""
        if "enum" in node:
            return union(*(LiteralType(value) for value in node["enum"]))
        match node.get("type"):
            case "string":
                return StringType()
            case "integer":
                return IntType(max=node.get("maximum"))
            case "float" | "number":
                return FloatType(max=node.get("maximum"))
            case "boolean":
                return BoolType()
            case "array" | "tuple":
                return ListType(self.of(node["items"]) if node.get("items") else JsonType())
            case "dict" if node.get("properties"):
                return self._record(node)
            case "dict":
                return MapType(JsonType())
            case "any" | None:
                return JsonType()
        raise AssertionError(f"a type of the corpus that has no meaning here: {node.get('type')}")

    def _record(self, node: dict[str, Any]) -> Named:
        required = set(node.get("required", ()))
        fields = tuple(
            FieldDef(name, name, self.of(inner), optional=name not in required) for name, inner in node["properties"].items()
        )
        name = f"corpus.R{len(self.definitions)}"
        self.definitions[name] = RecordDef(name, fields)
        return Named(name)


def json_schema(node: dict[str, Any]) -> dict[str, Any]:
    """The same node as JSON Schema: its words mapped one by one, objects with known properties closed."""
    made: dict[str, Any] = {}
    kind = node.get("type")
    if (word := _JSON_TYPES.get(kind, kind)) is not None and "enum" not in node:
        made["type"] = word
    for key in ("enum", "maximum"):
        if key in node:
            made[key] = node[key]
    if node.get("items"):
        made["items"] = json_schema(node["items"])
    if node.get("properties"):
        made["properties"] = {name: json_schema(inner) for name, inner in node["properties"].items()}
        made["required"] = [name for name in node.get("required", ()) if name in node["properties"]]
        made["additionalProperties"] = False
    return made


def corruptions(call: Call) -> Iterator[tuple[str, dict[str, Any]]]:
    """Arguments with one thing wrong: what, and the arguments. Whether they still conform is for both judges to say."""
    properties = call.parameters.get("properties", {})
    for name in call.parameters.get("required", ()):
        if name in call.arguments:
            yield "dropped", {key: value for key, value in call.arguments.items() if key != name}
    yield "unknown", {**call.arguments, "an_argument_nobody_knows": 1}
    for name, value in call.arguments.items():
        node = properties.get(name, {})
        for wrong in _wrong(value):
            yield "type", {**call.arguments, name: wrong}
        if node.get("type") == "integer":
            yield "fraction", {**call.arguments, name: 2.5}
        if "enum" in node:
            yield "enum", {**call.arguments, name: "a value that is in no enum"}
        if isinstance(value, dict):
            yield "inner", {**call.arguments, name: {**value, "a_key_nobody_knows": 1}}
            for key in value:
                changed = copy.deepcopy(value)
                changed[key] = {"not": ["this"]}
                yield "inner", {**call.arguments, name: changed}
        if isinstance(value, list) and value:
            yield "entry", {**call.arguments, name: [*value, None]}
            yield "entry", {**call.arguments, name: [*value, str(value[0])]}


def _wrong(value: Any) -> list[Any]:
    """Values of other kinds: a scalar as its text, a text as a number, null, and so on."""
    match value:
        case bool():
            return [str(value).lower(), int(value)]
        case int() | float():
            return [str(value), None]
        case str():
            return [7, [value]]
        case list():
            return [json.dumps(value), {"0": value}]
        case _:
            return [json.dumps(value), [value]]
