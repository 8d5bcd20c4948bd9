"""Types as JSON come back as they went; what is no types is refused."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings

from ael.services.contract import Contract, MethodContract
from ael.services.offered import Offered, offer, offered
from ael.types.definition import AliasDef, Definition, EnumDef, FieldDef, RecordDef, VariantDef
from ael.types.portable import PortableError, Reader, definitions_form, type_form
from ael.types.signature import Effects, ParameterDef, Repeat, Signature
from ael.types.type import (
    CheckedType,
    DecimalType,
    FunctionType,
    IntType,
    JsonType,
    ListType,
    Named,
    StringType,
    Type,
    UnitType,
    union,
)
from tests.fuzz.typed import World, worlds
from tests.types.test_proto_text import DEFINITIONS, EVERYTHING


def there_and_back(type: Type, definitions: dict[str, Definition]) -> tuple[Type, dict[str, Definition]]:
    """Through the text of JSON."""
    form = json.loads(json.dumps([type_form(type), definitions_form([type], definitions)]))
    reader = Reader(form[1])
    return reader.read(form[0]), reader.definitions


@pytest.mark.feature("A11.1", "A11.6")
@given(worlds(special=True, overlapping=True))
@settings(max_examples=200, deadline=None, derandomize=True, database=None)
def test_every_type_comes_back(world: World) -> None:
    type, definitions = there_and_back(world.type, dict(world.definitions))
    assert type == world.type
    assert definitions == {name: world.definitions[name] for name in definitions}


@pytest.mark.feature("A11.6")
def test_declarations_with_everything() -> None:
    found: dict[str, Definition] = {
        **DEFINITIONS,
        "m.Full": RecordDef(
            "m.Full",
            (
                FieldDef("price", "Price", DecimalType(), default=Decimal("1.50"), doc="What it costs."),
                FieldDef("kind", "kind", Named("m.Kind"), default="Plain"),
                FieldDef("note", "note", StringType(max=3), True),
            ),
            open=True,
            doc="All of it.",
            extra=IntType(0, 3),
        ),
        "m.Missing": RecordDef("m.Missing", (FieldDef("id", "id", StringType()),), is_error=True),
        "m.Kind": EnumDef("m.Kind", (VariantDef("Plain"), VariantDef("With", (FieldDef("n", "n", IntType(), default=3),)))),
    }
    for name in found:
        type, definitions = there_and_back(Named(name), found)
        assert type == Named(name)
        assert definitions[name] == found[name]
    assert there_and_back(CheckedType(IntType(), "{}"), {})[0] == IntType(), (
        "what a schema says beyond a type stays with the server"
    )
    with pytest.raises(TypeError):
        type_form(FunctionType((), UnitType()))


def test_a_contract_comes_back() -> None:
    nodes = Signature(
        "main.ask", (ParameterDef("n", "n", IntType(), default=3),), UnitType(), effects=Effects(repeat=Repeat.NEVER)
    )
    methods = (
        MethodContract("/shop.Desk/All", EVERYTHING, "Everything.", Repeat.IDEMPOTENT),
        MethodContract("/shop.Nodes/Ask", nodes),
    )
    contract = Contract("shop", "1.0", methods, DEFINITIONS)
    assert offer(contract) == offer(contract)
    found = offered(offer(contract))
    assert isinstance(found, Offered)
    assert (found.title, found.version) == ("shop", "1.0")
    back = found.methods["/shop.Desk/All"]
    assert (back.signature, back.doc, back.repeat) == (EVERYTHING, "Everything.", Repeat.IDEMPOTENT)
    ask = found.methods["/shop.Nodes/Ask"]
    assert ask.repeat is Repeat.NEVER, "of a node: what was inferred"
    assert ask.signature.parameters == nodes.parameters


INT: Any = {"is": "Int"}
WRONG: list[tuple[object, object]] = [
    (3, {}),
    ({}, {}),
    ({"is": "Secret"}, {}),
    ({"is": ["Int"]}, {}),
    ({"is": "Int", "more": 1}, {}),
    ({"is": "Int", "min": "1"}, {}),
    ({"is": "Int", "min": True}, {}),
    ({"is": "Int", "max": 1.5}, {}),
    ({"is": "String", "min": -1}, {}),
    ({"is": "String", "pattern": "("}, {}),
    ({"is": "String", "pattern": 3}, {}),
    ({"is": "Decimal", "min": "NaN"}, {}),
    ({"is": "Decimal", "min": "much"}, {}),
    ({"is": "Decimal", "min": 1}, {}),
    ({"is": "List"}, {}),
    ({"is": "List", "item": {"is": "Nope"}}, {}),
    ({"is": "Map", "value": 3}, {}),
    ({"is": "Literal", "value": [1]}, {}),
    ({"is": "Named", "name": "m.None"}, {}),
    ({"is": "Record", "fields": [["a"]]}, {}),
    ({"is": "Record", "fields": {}}, {}),
    ({"is": "Union", "members": [INT]}, {}),
    ({"is": "Union", "members": [INT, {"is": "Bool"}], "rule": "many"}, {}),
    (INT, []),
    (INT, {"m.A": {"is": "class"}}),
    (INT, {"m.A": {"is": "alias", "type": {"is": "Named", "name": "m.A"}}}),
    (INT, {"m.A": {"is": "alias", "type": {"is": "Named", "name": "m.B"}}, "m.B": {"is": "alias", "type": {"is": "Named", "name": "m.A"}}}),
    (INT, {"m.A": {"is": "record", "fields": [{"name": "a", "wire": "a"}]}}),
    (INT, {"m.A": {"is": "record", "fields": [{"name": "a", "wire": "a", "type": INT, "optional": 1}]}}),
    (INT, {"m.A": {"is": "record", "fields": [{"name": "a", "wire": "a", "type": INT, "default": "x"}]}}),
    (INT, {"m.A": {"is": "enum", "variants": [3]}}),
]  # fmt: skip


@pytest.mark.feature("K20", "K48")
@pytest.mark.parametrize(("type", "declared"), WRONG)
def test_what_is_no_types(type: object, declared: object) -> None:
    with pytest.raises(PortableError):
        Reader(declared).read(type)


@pytest.mark.parametrize(
    "text",
    [
        b"", b"[]", b"{}", b'{"ael": 2}', b'{"ael": 1, "title": "a", "version": "1", "methods": [3], "definitions": {}}', b"[" * 1_000,
        b'{"ael": 1, "title": "a", "version": "1", "definitions": {}, "methods": [{"path": "/a", "name": "a", "parameters": [],'
        b' "result": {"is": "Unit"}, "fails": [], "repeat": "often"}]}',
    ],
)  # fmt: skip
@pytest.mark.feature("K20")
def test_what_is_no_contract(text: bytes) -> None:
    with pytest.raises(PortableError):
        offered(text)


def test_a_recursive_type_is_no_alias_of_itself() -> None:
    found: dict[str, Definition] = {"m.Deep": AliasDef("m.Deep", union(IntType(), ListType(Named("m.Deep"))))}
    assert there_and_back(Named("m.Deep"), found)[1] == found
    assert there_and_back(JsonType(), found)[1] == {}
