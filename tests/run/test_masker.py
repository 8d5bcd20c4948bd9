"""What is masked as it comes in, what only where it is shown, and what becomes known later (K41)."""

from __future__ import annotations

from base64 import b64encode

import pytest

from ael.run.masker import MASK, Masker
from ael.run.ports import ModelTurn, Opaque, ProposedCall, RemoteAnswer, RemotePart, Stop
from ael.types.fault import Failure, Fault, FaultKind, Uncertain
from ael.types.value import File, Secret

LONG, SHORT = 'tok-"quo\\te"/Zq8+vT3', "hunter"
KNOWN = [Secret("LONG", LONG), Secret("SHORT", SHORT)]


@pytest.mark.feature("A16.8", "K41")
def test_a_short_value_is_left_in_data_and_masked_where_it_is_shown() -> None:
    """A password of six letters may well be a word of the data that a program works on."""
    masker = Masker(KNOWN)
    assert masker.incoming({"name": "hunter", "key": LONG}) == {"name": "hunter", "key": MASK}
    assert masker.value({"name": "hunter", "key": LONG}) == {"name": MASK, "key": MASK}
    assert masker.text("a hunter") == f"a {MASK}"


@pytest.mark.feature("K41")
def test_what_holds_none_is_the_same_object() -> None:
    masker = Masker(KNOWN)
    value = {"a": [1, 2.5, None, True, "text", ("x", b"y")], "f": File("text/plain", b"data"), "n": {"k": "v"}}
    assert masker.incoming(value) is value
    assert masker.value(value) is value
    assert Masker([]).incoming(value) is value


@pytest.mark.feature("A16.8", "K41")
def test_bytes_and_files_are_masked_as_they_come_in() -> None:
    masker = Masker(KNOWN)
    data = b"\x00\xff" + LONG.encode() + b64encode(b"ab" + LONG.encode() + b"c")
    assert LONG.encode() not in (found := masker.incoming(data))  # type: ignore[operator]
    assert isinstance(found, bytes)
    assert found.startswith(b"\x00\xff***")
    assert masker.incoming(File("image/png", data)) == File("image/png", found)
    assert LONG not in repr(masker.incoming(File(f"a/{LONG}", None, f"https://example.com/{LONG}")))
    assert masker.incoming([{"deep": (data,)}]) == [{"deep": [found]}]


@pytest.mark.feature("A16.8", "K41")
def test_keys_of_objects_are_masked_too() -> None:
    assert Masker(KNOWN).incoming({LONG: 1}) == {MASK: 1}


@pytest.mark.feature("A16.8", "K41")
def test_every_part_of_an_answer_of_a_turn_and_of_an_ending_is_masked() -> None:
    masker = Masker(KNOWN)
    parts = (RemotePart("text", f"a {LONG}", role=LONG), RemotePart("image", media=f"image/{LONG}", data=LONG.encode()))
    assert LONG not in repr(masker.answer(RemoteAnswer(parts, {"x": [LONG]})))
    call = ProposedCall(LONG, LONG, f'{{"a": "{LONG}"}}')
    turn = ModelTurn(LONG, (call,), Stop.CALLS, None, LONG, Opaque("p", ({"signature": LONG},)), LONG, LONG)
    assert LONG not in repr(masker.turn(turn))
    fault = masker.ending(Fault(FaultKind.TOOL_FAILED, f"no: {LONG}", body={"x": LONG}))
    assert LONG not in fault.message + repr(fault.details)
    assert LONG not in repr(masker.ending(Failure("main.Broken", {"why": LONG})).value)
    assert LONG not in repr(masker.ending(Uncertain("k", "o", "s", why=LONG)).details)


@pytest.mark.feature("K41")
def test_what_becomes_known_later_is_masked_from_then_on() -> None:
    known = {"A": Secret("A", "first-value-0001")}
    masker = Masker(known.values())
    assert masker.text("second-value-0002") == "second-value-0002"
    known["B"] = Secret("B", "second-value-0002")
    assert masker.text("second-value-0002") == MASK
    # One that takes the place of another: as many as before, and another one is the last.
    del known["B"]
    known["C"] = Secret("C", "third-value-0003")
    assert masker.text("third-value-0003") == MASK
