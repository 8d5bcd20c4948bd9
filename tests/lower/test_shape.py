"""Values of unions that schemas make: which member they belong to, where only keys and constants tell."""

from __future__ import annotations

from ael.lower.abi.shape import belongs
from ael.types.definition import Definitions, FieldDef, RecordDef
from ael.types.type import CheckedType, IntType, Named, Never, StringType

WORLD: Definitions = {
    "t.Typed": RecordDef("t.Typed", (FieldDef("a", "a", IntType()),), True, extra=StringType()),
    "t.Without": RecordDef("t.Without", (FieldDef("a", "a", Never(), optional=True),), True),
}


def test_other_keys_have_a_type() -> None:
    typed = belongs(Named("t.Typed"), WORLD)
    assert typed({"a": 1, "b": "x"})
    assert not typed({"a": 1, "b": 2})


def test_a_key_that_may_not_be_there() -> None:
    without = belongs(Named("t.Without"), WORLD)
    assert without({"b": 1})
    assert not without({"a": 1})


def test_a_predicate_does_not_hide_the_type() -> None:
    checked = belongs(CheckedType(StringType(), '{"not":{"const":"a"}}'), WORLD)
    assert checked("b")
    assert not checked(1)
