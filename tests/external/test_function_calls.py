"""A public function-calling corpus: the decoder's verdict is that of a JSON Schema validator on every call and every corruption."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import jsonschema
import pytest

from ael.types.arguments import argument_reader
from ael.types.decode import decoder
from ael.types.definition import RecordDef
from ael.types.dialect import DIALECTS, Lowered
from ael.types.problem import DecodeError
from ael.types.schema import schema
from ael.types.type import Named
from tests.external.function_calls import Call, Mapped, calls, corpus, corruptions, json_schema

FOLDER = corpus()
needs_corpus = pytest.mark.skipif(
    FOLDER is None,
    reason="not run: the function-calling corpus, 3,152 calls and their corruptions (set AEL_CORPUS to the folder with `function-calls`)",
)
STRICT = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)
NONCONFORMING = frozenset({
    "live_multiple_87-38-4", "live_multiple_144-56-0", "live_multiple_152-58-6", "live_multiple_189-83-0",
    "live_multiple_507-149-4", "live_multiple_552-153-1", "live_multiple_595-158-1", "live_multiple_596-158-2",
    "live_multiple_731-167-2", "live_multiple_733-167-4", "live_multiple_735-167-6", "live_multiple_750-169-5",
    "live_multiple_756-169-11", "live_multiple_834-178-9", "live_multiple_835-178-10", "live_multiple_862-181-3",
    "live_multiple_871-182-8", "live_multiple_947-197-0", "live_multiple_964-207-0", "live_multiple_1038-265-0",
    "live_multiple_1041-268-0", "live_parallel_multiple_2-2-0", "live_simple_71-35-0", "live_simple_106-63-0",
    "live_simple_112-68-0", "parallel_multiple_21", "parallel_multiple_26", "parallel_multiple_94",
    "simple_python_200",
})  # fmt: skip
"""Questions with an accepted call that its own schema refuses: a text for a number, a value outside of its enum, a missing argument."""


@lru_cache(maxsize=1)
def all_calls(folder: Path) -> list[Call]:
    return list(calls(folder))


def fits(decode: Callable[[object], object], value: object) -> bool:
    try:
        decode(value)
    except DecodeError as error:
        return not error.problems  # a refusal without a problem would count as a fit
    return True


@needs_corpus
@pytest.mark.feature("A3.2")
def test_the_verdict_is_that_of_a_validator_on_every_call_and_corruption() -> None:
    assert FOLDER is not None
    counted: Counter[str] = Counter()
    refused: set[str] = set()
    for call in all_calls(FOLDER):
        mapped = Mapped()
        type = mapped.of(call.parameters)
        decode = decoder(type, mapped.definitions)
        theirs = STRICT(json_schema(call.parameters))
        ours = fits(decode, call.arguments)
        assert ours == theirs.is_valid(call.arguments), (call.id, call.arguments)
        assert ours == STRICT(schema(type, mapped.definitions)).is_valid(call.arguments), (call.id, call.arguments)
        counted["calls"] += 1
        if not ours:
            refused.add(call.id)
        for what, arguments in corruptions(call):
            ours = fits(decode, arguments)
            assert ours == theirs.is_valid(arguments), (call.id, what, arguments)
            counted[what] += 1
            counted["refused corruptions"] += not ours
    assert refused == NONCONFORMING
    assert counted["calls"] == 3_152
    assert sum(counted[what] for what in ("dropped", "unknown", "type", "fraction", "enum", "inner", "entry")) > 20_000
    assert counted["refused corruptions"] > 20_000


@needs_corpus
@pytest.mark.feature("A3.8")
def test_calls_arrive_as_they_were_sent() -> None:
    assert FOLDER is not None
    for call in all_calls(FOLDER):
        mapped = Mapped()
        named = mapped.of(call.parameters)
        if call.id in NONCONFORMING or not isinstance(named, Named):
            continue
        record = mapped.definitions[named.name]
        assert isinstance(record, RecordDef)
        made = argument_reader(record, mapped.definitions)(json.dumps(call.arguments))
        assert made.value == call.arguments
        assert made.notes == ()


@needs_corpus
@pytest.mark.feature("A3.10")
def test_every_function_can_be_told_to_every_provider_and_its_calls_still_fit() -> None:
    assert FOLDER is not None
    seen: set[str] = set()
    for call in all_calls(FOLDER):
        mapped = Mapped()
        made = schema(mapped.of(call.parameters), mapped.definitions)
        text = json.dumps(made)
        if text in seen or "properties" not in made:
            continue
        seen.add(text)
        for dialect in DIALECTS.values():
            lowered = dialect.tool(made)
            assert isinstance(lowered, Lowered), (call.id, dialect.name, lowered)
            if dialect.name != "openai" and call.id not in NONCONFORMING:
                assert STRICT(lowered.schema).is_valid(call.arguments), (call.id, dialect.name)
    assert len(seen) > 1_000
