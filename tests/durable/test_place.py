"""Every way in which a step of a run is named (feature A12.16)."""

from __future__ import annotations

import pytest

from ael.durable.place import END, PlaceError, Places
from ael.journal.entry import Ending, Entry, Kind, State

STARTED = 1_000.0
KEY = "0123456789abcdef"


def _entry(path: str, kind: Kind, target: str, at: float, *, ending: Ending | None = Ending.VALUE, key: str = "") -> Entry:
    state = State.PROPOSED if ending is None else State.ANSWERED
    return Entry(path, state, kind, target, "", key, None, ending, STARTED + at, at)


ENTRIES = [
    _entry("main/now@0", Kind.EFFECT, "std.now", 0.1),
    _entry("main/answer@1/turn1", Kind.MODEL, "main.fast", 0.5),
    _entry("main/answer@1/turn1/call1", Kind.TOOL, "main.pay", 1.0, ending=Ending.ERROR, key=KEY),
    _entry("main/answer@1/turn1/call1/approval", Kind.APPROVAL, "main.pay", 1.1, key=KEY),
    _entry("main/answer@1/turn1/call2", Kind.TOOL, "main.pay", 2.0),
    _entry("main/answer@1/turn2", Kind.MODEL, "main.fast", 3.0),
    _entry("main/answer@2/turn1", Kind.MODEL, "main.slow", 4.0),
    _entry("end@5.0", Kind.CANCEL, "", 4.5, ending=None),
    _entry("main/Orders.get@3", Kind.OPERATION, "shop.Orders.get", 5.0),
    _entry("main/Orders.get@3/book.get@0", Kind.STORE, "shop.book.get", 5.1),
]
PLACES = Places("r1", STARTED, ENTRIES)


@pytest.mark.feature("A12.16")
@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("main/answer@1/turn1/call1", "main/answer@1/turn1/call1"),  # 1: a path
        ("first", "main/now@0"),  # 2: a word
        ("last", "main/Orders.get@3/book.get@0"),
        ("end", END),
        ("failed", "main/answer@1/turn1/call1"),  # 3: the failing step
        ("3", "main/answer@1/turn1/call1"),  # 4: a number, as `ael runs show` counts
        ("8", "main/Orders.get@3"),
        ("-1", "main/Orders.get@3/book.get@0"),
        ("+0s", "main/now@0"),  # 5: a time
        ("+2s", "main/answer@1/turn1/call2"),
        ("+2500ms", "main/answer@1/turn2"),
        ("1970-01-01T00:16:43Z", "main/answer@1/turn2"),
        (f"key:{KEY}", "main/answer@1/turn1/call1"),  # 6: an idempotency key, as the other side has it
        (f"key:{KEY[:8]}", "main/answer@1/turn1/call1"),
        ("after:pay:2", "main/answer@1/turn2"),  # 7: what comes after a step
        ("after:last", END),
        ("after:end", END),
        ("turn:2", "main/answer@1/turn2"),  # 8: the nth of a kind
        ("model:last", "main/answer@2/turn1"),
        ("approval", "main/answer@1/turn1/call1/approval"),
        ("store:1", "main/Orders.get@3/book.get@0"),
        ("effect", "main/now@0"),
        ("main/answer@1", "main/answer@1/turn1"),  # 9: the beginning of a path
        ("main", "main/now@0"),
        ("pay", "main/answer@1/turn1/call1"),  # 10: what is called
        ("main.pay", "main/answer@1/turn1/call1"),
        ("pay:2", "main/answer@1/turn1/call2"),
        ("pay:last", "main/answer@1/turn1/call2"),
        ("Orders.get", "main/Orders.get@3"),
        ("now", "main/now@0"),
        ("pay/approval", "main/answer@1/turn1/call1/approval"),
        ("turn2", "main/answer@1/turn2"),  # 11: the end of a path
        ("answer@2/turn1", "main/answer@2/turn1"),
    ],
)
def test_a_step_is_named_in_any_of_these_ways(text: str, path: str) -> None:
    assert PLACES.find(text) == path


@pytest.mark.feature("A12.16")
@pytest.mark.parametrize(
    ("text", "message", "note"),
    [
        ("turn1", "more than one step of the run r1 is `turn1`", "say which: main/answer@1/turn1, main/answer@2/turn1"),
        ("pay:3", "has no step `pay:3`", "there are 2: main/answer@1/turn1/call1, main/answer@1/turn1/call2"),
        ("Orders.get:2", "has no step `Orders.get:2`", "there is one: main/Orders.get@3"),
        ("99", "has no step `99`", "`ael runs show r1` lists them"),
        ("-99", "has no step `-99`", "lists them"),
        ("0", "has no step `0`", "lists them"),
        ("+1h", "began at +1h or later", "`last` is its last step"),
        ("key:0123", "has no step `key:0123`", "lists them"),
        ("main/anwser@1/turn1", "has no step", "near it are main/answer@1/turn1"),
        ("end@5.0", "has no step", "lists them"),
        ("", "has no step ``", "lists them"),
        ("pay:2/approval", "has no step", ""),
    ],
)
def test_what_names_no_step_or_several_is_told(text: str, message: str, note: str) -> None:
    with pytest.raises(PlaceError) as found:
        PLACES.find(text)
    assert message in found.value.message
    assert note in found.value.note


@pytest.mark.feature("A12.16")
def test_a_run_without_a_failed_step_has_none_to_name() -> None:
    with pytest.raises(PlaceError, match="ended in anything but a value"):
        Places("r1", STARTED, ENTRIES[:2]).find("failed")
