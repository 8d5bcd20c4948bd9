"""Decoding under generated types and values: it never crashes, gives back what was encoded, and agrees with a JSON Schema validator."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import jsonschema
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ael.types.arguments import argument_reader
from ael.types.canonical import encode
from ael.types.decode import checker, decoder, encoder, reader
from ael.types.definition import RecordDef
from ael.types.json import JsonError, read
from ael.types.partial import MISSING, partial
from ael.types.problem import DecodeError
from ael.types.repair import repair
from ael.types.schema import schema
from tests.fuzz.typed import JSON, World, mutated, values, worlds

FIXED = settings(
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
STRICT = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    # the one declared difference: 1.0 is no Int
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)


def same(a: object, b: object) -> bool:
    """Equal, and of the same Python types at every depth."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def refused(decode: Callable[[object], object], value: object) -> DecodeError | None:
    """The refusal of a value, if it is refused. Anything else that is raised fails the test."""
    try:
        decode(value)
    except DecodeError as error:
        return error
    return None


def accepts(world: World, value: object) -> bool:
    try:
        decoder(world.type, world.definitions)(value)
    except DecodeError as error:
        return not error.problems  # a refusal without a problem would count as a fit
    return True


@settings(FIXED, max_examples=80)
@given(data=st.data(), world=worlds(special=True, overlapping=False))
def test_what_is_encoded_is_decoded_again(data: st.DataObject, world: World) -> None:
    value = data.draw(values(world))
    assert same(checker(world.type, world.definitions)(value), value)
    form = encoder(world.type, world.definitions)(value)
    assert same(decoder(world.type, world.definitions)(form), value)
    assert same(reader(world.type, world.definitions)(encode(form)), value)
    # what has a form of its own is written the same way without its type
    assert json.loads(encode(value)) == json.loads(encode(form))


@settings(FIXED, max_examples=150)
@given(data=st.data(), world=worlds(special=False, overlapping=True))
def test_the_verdict_is_that_of_a_validator_for_values_of_the_type_and_mutated_ones(data: st.DataObject, world: World) -> None:
    validator = STRICT(schema(world.type, world.definitions))
    value = data.draw(values(world) | JSON)
    for _ in range(3):
        assert accepts(world, value) == validator.is_valid(value), value
        value = data.draw(mutated(value))


@settings(FIXED, max_examples=80)
@given(world=worlds(special=True, overlapping=True), tree=JSON)
def test_any_json_decodes_or_is_refused(world: World, tree: object) -> None:
    taken = accepts(world, tree)
    refusal = refused(lambda text: reader(world.type, world.definitions)(str(text)), json.dumps(tree))
    if refusal is None:
        assert taken
    else:
        assert len(refusal.text) <= 4_000
        assert not taken or _decimals_only(tree)


def _decimals_only(tree: object) -> bool:
    """Whether a number with an exponent could be too long for a Decimal in text, though it is none as a float."""
    return re.search(r"\d[eE]", json.dumps(tree)) is not None


@settings(FIXED, max_examples=80)
@given(world=worlds(special=True, overlapping=True), value=st.recursive(
    st.sampled_from([None, 1, 2.5, "x", b"x", {1}, (1,), float("nan"), "\ud800", len, object(), 10**2000]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "kind", 1, None]), inner, max_size=3), max_leaves=6,
))  # fmt: skip
def test_any_python_value_is_checked_or_refused(world: World, value: object) -> None:
    for make in (checker, encoder, decoder):
        refusal = refused(make(world.type, world.definitions), value)
        assert refusal is None or refusal.text.encode()


ALMOST_JSON = st.one_of(
    st.text(st.sampled_from('[]{}",:0123456789.eE+-truefalsn\\u \n\ud800é'), max_size=40),
    st.text(max_size=20),
    JSON.map(json.dumps),
)


@settings(FIXED, max_examples=250)
@given(text=ALMOST_JSON, cut=st.integers(0, 40))
def test_any_text_is_read_or_refused(text: str, cut: int) -> None:
    for candidate in (text, text[:cut], text + text[:cut]):
        refusal, value = None, None
        try:
            value = read(candidate)
        except JsonError as error:
            refusal = error
        if refusal is None:
            assert same(value, json.loads(candidate))
            assert same(read(encode(value)), value)
        else:
            assert 0 <= refusal.offset <= len(candidate.encode("utf-8", "surrogatepass"))


@settings(FIXED, max_examples=300)
@given(data=st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        value = read(data)
    except JsonError:
        return
    assert same(read(encode(value)), value)


@settings(FIXED, max_examples=80)
@given(world=worlds(special=False, overlapping=True), raw=ALMOST_JSON | JSON)
def test_any_arguments_are_read_or_refused(world: World, raw: object) -> None:
    definition = world.definitions["w.A"]
    assert isinstance(definition, RecordDef)
    record = RecordDef("call", definition.fields)
    read_arguments = argument_reader(record, world.definitions)
    refusal = refused(read_arguments, raw)
    if refusal is None:
        assert set(read_arguments(raw).value) <= {field.wire for field in record.fields}
    else:
        assert len(refusal.text) <= 4_000


@settings(FIXED, max_examples=50)
@given(data=st.data(), world=worlds(special=False, overlapping=False))
def test_values_that_are_still_being_written_never_raise_and_end_as_the_whole(data: st.DataObject, world: World) -> None:
    text = encode(encoder(world.type, world.definitions)(data.draw(values(world)))).decode()
    for cut in range(0, len(text), max(1, len(text) // 10)):
        partial(text[:cut], world.type, world.definitions)
    whole = partial(text, world.type, world.definitions)
    assert whole is not MISSING


@settings(FIXED, max_examples=100)
@given(text=ALMOST_JSON, tree=JSON)
def test_repair_gives_json_or_the_text_itself_and_leaves_json_alone(text: str, tree: object) -> None:
    made = repair(text)
    if made != text:
        read(made)
    whole = json.dumps(tree)
    assume(len(whole) < 10_000)
    assert repair(whole) == whole
    assert json.loads(repair(f"```json\n{whole}\n```")) == tree
