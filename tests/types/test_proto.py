"""Types as messages: what each becomes, and that every value goes through and comes out as it was, through protobuf's own classes too."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ael.types.canonical import encode
from ael.types.decode import encoder
from ael.types.proto import ProtoError
from ael.types.proto_build import value_file
from ael.types.proto_decode import Decoder
from ael.types.proto_encode import Encoder
from tests.fuzz.typed import World, values, worlds
from tests.types.proto import classes

FIXED = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


def there_and_back(world: World, form: object, made: dict[str, object] | None = None) -> object:
    """A JSON form through its message; `made`: and through protobuf's own class."""
    file, name = value_file("w", world.type, world.definitions)
    data = Encoder(file, world.definitions).encode(name, form)
    if made is not None:
        message = made[name].FromString(data)  # type: ignore[attr-defined]
        data = message.SerializeToString()
    return Decoder(file).decode(name, data)


@pytest.mark.feature("A11.1", "A11.6", "D9")
@settings(FIXED, max_examples=400)
@given(world=worlds(special=True, overlapping=True), data=st.data())
def test_every_value_comes_back(world: World, data: st.DataObject) -> None:
    value = data.draw(values(world))
    try:
        form = encoder(world.type, world.definitions)(value)
    except ValueError:
        return
    form = json.loads(encode(form))
    back = there_and_back(world, form)
    assert encode(back) == encode(form)


@pytest.mark.feature("A11.1", "A11.6")
@settings(FIXED, max_examples=40)
@given(world=worlds(special=True, overlapping=True), data=st.data())
def test_protobuf_itself_reads_and_writes_the_same(world: World, data: st.DataObject) -> None:
    """Through the classes that protoc makes of the `.proto`: their bytes say the same as ours."""
    file, _ = value_file("w", world.type, world.definitions)
    made = classes(file)
    for _ in range(5):
        value = data.draw(values(world))
        try:
            form = encoder(world.type, world.definitions)(value)
        except ValueError:
            continue
        assert sorted_text(there_and_back(world, form, made)) == sorted_text(form)


def sorted_text(form: object) -> bytes:
    """Protobuf's maps have no order."""
    return encode(form, sort=True)


@pytest.mark.feature("K21")
@settings(FIXED, max_examples=300)
@given(world=worlds(special=True, overlapping=True), data=st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(world: World, data: bytes) -> None:
    file, name = value_file("w", world.type, world.definitions)
    try:
        form = Decoder(file).decode(name, data)
    except ProtoError:
        return
    encode(form)
