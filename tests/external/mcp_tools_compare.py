"""Our verdict beside the judge's: values of a tool's schemas, and values with one thing changed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from ael.types.decode import decoder, encoder, reader
from ael.types.definition import Definitions
from ael.types.problem import DecodeError
from ael.types.tool_schema import SchemaRefused, ToolTypes, tool_types
from ael.types.type import Type
from tests.external.mcp_tools_corpus import Tool
from tests.external.mcp_tools_generate import Generator, Made, NoValue
from tests.external.mcp_tools_mutate import spoiled
from tests.external.mcp_tools_near import Lines
from tests.external.mcp_tools_oracle import judge, same

BYTES = 1 << 20


@dataclass
class Counts:
    """What was compared; `disagreements` are told in full, `uninhabited` are schemas without a value."""

    numbers: Counter[str] = field(default_factory=Counter)
    disagreements: list[str] = field(default_factory=list)
    uninhabited: list[str] = field(default_factory=list)

    def add(self, other: Counts) -> None:
        """Count what `other` counted, too."""
        self.numbers += other.numbers
        self.disagreements += other.disagreements
        self.uninhabited += other.uninhabited


def types_of(tool: Tool) -> ToolTypes | SchemaRefused:
    """The types of a tool, or why it has none."""
    try:
        return tool_types(tool.definition, "main.server.Tool")
    except SchemaRefused as refused:
        return refused


class Codec:
    """All that looks at a value of a type: from a value, from text, and on the way out."""

    def __init__(self, type: Type, definitions: Definitions) -> None:
        self._decode = decoder(type, definitions)
        self._read = reader(type, definitions, max_bytes=BYTES)
        self._encode = encoder(type, definitions)

    def decoded(self, value: Any) -> tuple[bool, Any]:
        """Whether the value is taken, by the decoder and by the reader of its text alike, and its JSON form encoded again."""
        ours = _outcome(self._decode, value)
        text = _outcome(self._read, json.dumps(value).encode())
        if ours[0] != text[0] or (ours[0] and not same(ours[1], text[1])):
            raise AssertionError(f"decoder and reader disagree: {ours!r:.300} {text!r:.300}")
        return (True, self._encode(ours[1])) if ours[0] else ours


def _outcome(look: Callable[[Any], Any], value: Any) -> tuple[bool, Any]:
    try:
        return True, look(value)
    except DecodeError as error:
        if not error.problems:
            raise AssertionError("a refusal without a problem") from None
        return False, None


def compare(where: str, schema: Mapping[str, Any], codec: Codec, values: int, changes: int) -> Counts:
    """Compare on `values` generated values of `schema`, and on at most `changes` for each of them with one thing changed.

    Three quarters of the changes are on either side of the schema's own lines, a sample where there are more of those; the others anywhere.
    """
    counts = Counts()
    random = Random(where)
    generator = Generator(schema, random)
    lines = Lines(generator, random)
    theirs = judge(schema)
    changed: list[tuple[str, Any]] = []
    for number in range(values):
        try:
            made = generator.value(full=number == 0)
        except NoValue:
            counts.uninhabited.append(where)
            made = Made({})
        else:
            counts.numbers["values"] += 1
            _both(f"{where} value", made.value, True, codec, counts)
        changed += lines.near(made)
    counts.numbers["lines"] = len(changed)
    if len(changed) > values * changes * 3 // 4:
        changed = random.sample(changed, values * changes * 3 // 4)
    changed += spoiled(made, generator, random, values * changes // 4)
    for what, value in changed:
        verdict = theirs.is_valid(value)
        counts.numbers[what] += 1
        counts.numbers["changed"] += 1
        counts.numbers["refused"] += not verdict
        _both(f"{where} {what}", value, verdict, codec, counts)
    return counts


def _both(where: str, value: Any, verdict: bool, codec: Codec, counts: Counts) -> None:
    try:
        ours, encoded = codec.decoded(value)
    except (AssertionError, DecodeError) as error:
        counts.disagreements.append(f"{where}: {error} for {json.dumps(value)[:600]}")
        return
    if ours != verdict:
        counts.disagreements.append(f"{where}: {'taken' if ours else 'refused'} by us alone: {json.dumps(value)[:600]}")
    elif ours and not same(encoded, value):
        counts.disagreements.append(f"{where}: {json.dumps(value)[:600]} is encoded as {json.dumps(encoded)[:600]}")


def compare_tool(tool: Tool, types: ToolTypes, values: int, changes: int) -> Counts:
    """Compare on the input and the output schema of an accepted tool."""
    counts = Counts()
    for kind, schema in tool.schemas():
        codec = Codec(types.input if kind == "input" else types.result, types.definitions)
        counts.add(compare(f"{tool.id} {kind}", schema, codec, values, changes))
        counts.numbers["schemas"] += 1
    return counts
