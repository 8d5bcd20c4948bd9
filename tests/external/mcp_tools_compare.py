"""Our verdict beside the judge's: values of a tool's schemas, and values with one thing changed."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

from ael.types.decode import decoder, encoder, reader
from ael.types.definition import Definitions
from ael.types.problem import DecodeError
from ael.types.schema import schema
from ael.types.tool_schema import SchemaRefused, ToolTypes, import_schema, tool_types
from ael.types.type import Type
from tests.external.mcp_tools_corpus import Tool, tools
from tests.external.mcp_tools_generate import Generator, Made, NoValue
from tests.external.mcp_tools_mutate import spoiled
from tests.external.mcp_tools_near import Change, Lines
from tests.external.mcp_tools_oracle import judge, same

BYTES = 1 << 20
_LARGE = 100
"""Values with more places than this get fewer changes."""


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


@lru_cache(maxsize=1)
def all_types(folder: Path) -> dict[str, ToolTypes | SchemaRefused]:
    """The types of all tools of the corpus, by their ids."""
    return {tool.id: types_of(tool) for tool in tools(folder)}


class Codec:
    """All that looks at a value of a type: from a value, from text, on the way out, and by the type that is read back from its schema."""

    def __init__(self, type: Type, definitions: Definitions, *, text: bool) -> None:
        self._decode = decoder(type, definitions)
        self._encode = encoder(type, definitions)
        self._read = reader(type, definitions, max_bytes=BYTES) if text else None
        told: dict[str, object] = json.loads(json.dumps(schema(type, definitions)))
        again = import_schema(told, "main.server.Again")
        self._again = decoder(again.type, again.definitions)

    def decoded(self, value: Any, *, thorough: bool) -> tuple[bool, Any]:
        """Whether the value is taken, and its JSON form encoded again; `thorough` asks the reader of its text and the type read back."""
        ours = _outcome(self._decode, value)
        if thorough:
            others = [_outcome(self._again, value)]
            if self._read is not None:
                others.append(_outcome(self._read, json.dumps(value).encode()))
            for other in others:
                if ours[0] != other[0] or (ours[0] and not same(ours[1], other[1])):
                    raise AssertionError(f"two decoders of one type disagree: {ours!r:.300} {other!r:.300}")
        return (True, self._encode(ours[1])) if ours[0] else ours


def _outcome(look: Callable[[Any], Any], value: Any) -> tuple[bool, Any]:
    try:
        return True, look(value)
    except DecodeError as error:
        if not error.problems:
            raise AssertionError("a refusal without a problem") from None
        return False, None


def compare(where: str, said: Mapping[str, Any], codec: Codec, values: int, changes: int) -> Counts:
    """Compare on `values` generated values of a schema, and on at most `changes` for each of them with one thing changed.

    Three quarters of the changes are on either side of the schema's own lines, a sample where there are more of those, the others anywhere.
    Large values get fewer, because the judge takes long over them.
    """
    counts = Counts()
    random = Random(where)
    generator = Generator(said, random)
    lines = Lines(generator, random)
    theirs = judge(said)
    near: list[Change] = []
    largest = 1
    for number in range(values):
        try:
            made = generator.value(full=number == 0)
        except NoValue:
            counts.uninhabited.append(where)
            made = Made({})
        else:
            counts.numbers["values"] += 1
            _both(f"{where} value", made.value, True, codec, counts, thorough=True)
        near += lines.near(made)
        largest = max(largest, len(made.places))
    counts.numbers["lines"] = len(near)
    budget = max(values * 4, min(values * changes, values * changes * _LARGE // largest))
    chosen = random.sample(near, budget * 3 // 4) if len(near) > budget * 3 // 4 else near
    changed = [(change.what, change.value()) for change in chosen]
    changed += spoiled(made, generator, random, budget // 4)
    for number, (what, value) in enumerate(changed):
        verdict = theirs.is_valid(value)
        counts.numbers[what] += 1
        counts.numbers["changed"] += 1
        counts.numbers["refused"] += not verdict
        _both(f"{where} {what}", value, verdict, codec, counts, thorough=number % 4 == 0)
    return counts


def _both(where: str, value: Any, verdict: bool, codec: Codec, counts: Counts, *, thorough: bool) -> None:
    try:
        ours, encoded = codec.decoded(value, thorough=thorough)
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
    for kind, said in tool.schemas():
        # the reader of text is one more decoder to compile: in a quick comparison every third schema has to do
        text = values * changes > 100 or zlib.crc32(tool.id.encode()) % 3 == 0
        codec = Codec(types.input if kind == "input" else types.result, types.definitions, text=text)
        counts.add(compare(f"{tool.id} {kind}", said, codec, values, changes))
        counts.numbers["schemas"] += 1
    return counts
