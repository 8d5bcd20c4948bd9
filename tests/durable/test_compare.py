"""Two journals beside each other: what counts as a difference, and what a fork paid itself (feature A12.16)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from ael.durable.compare import cost_in, differences, first_difference, paid_for, tokens_in
from ael.journal.durable import RunRow, RunState
from ael.journal.entry import Ending, Entry, Header, Kind, State


def _turn(path: str, at: float, *, call: str = "c1", paid: str | None = "0.25", failed: str | None = None, **said: Any) -> Entry:
    attempts = [] if failed is None else [["fast", failed, "unavailable"]]
    record = {
        "text": "", "calls": [[call, "pay", "{}"]], "stop": "calls", "usage": [1, 0, 0, 1, 0, False], "final": None, "opaque": [call, []],
        "model": "m", "detail": "", "cut": False, "failed": [[5, 0, 0, 0, 0, False]] * len(attempts), "attempts": attempts, "paid": paid,
        **said,
    }  # fmt: skip
    return Entry(path, State.ANSWERED, Kind.MODEL, "main.fast", "", "", record, Ending.VALUE, at, at)


def _tool(path: str, at: float, value: object, *, key: str = "k") -> list[Entry]:
    asked = Entry(path, State.PROPOSED, Kind.TOOL, "main.pay", "", key, {"n": 1}, None, at, 0.0)
    return [asked, asked._replace(state=State.ANSWERED, value=value, ending=Ending.VALUE)]


ONE = [_turn("a/turn1", 1.0), *_tool("a/turn1/call1", 2.0, "R-1"), _turn("a/turn2", 3.0)]


@pytest.mark.feature("A12.16")
def test_ids_keys_and_times_are_no_difference() -> None:
    same = [_turn("a/turn1", 11.0, call="other"), *_tool("a/turn1/call1", 12.0, "R-1", key="x"), _turn("a/turn2", 13.0, paid="9")]
    assert list(differences(ONE, same)) == []
    assert first_difference(ONE, same) is None


@pytest.mark.feature("A12.16")
def test_the_first_difference_is_where_the_second_went_another_way() -> None:
    other = [_turn("a/turn1", 1.0), *_tool("a/turn1/call1", 2.0, "R-2"), _turn("a/turn2", 3.0, final='"x"', calls=[])]
    assert [(path, how) for path, _, how in differences(ONE, other)] == [("a/turn1/call1", "differs"), ("a/turn2", "differs")]
    assert first_difference(ONE, other) == "a/turn1/call1"
    new = [ONE[0], *_tool("a/turn1/call2", 2.0, "R-2"), *ONE[1:]]
    assert first_difference(ONE, new) == "a/turn1/call2"
    assert first_difference(ONE, ONE[:3]) == "a/turn2", "what only the first has"
    cancelled = [*ONE, Entry("end@1.0", State.PROPOSED, Kind.CANCEL, "", "", "", "why", None, 9.0, 9.0)]
    assert first_difference(ONE, cancelled) is None, "how it ended is told apart"


@pytest.mark.feature("A12.16", "A16.7")
def test_a_fork_paid_for_what_was_answered_in_it_with_the_attempts_that_failed() -> None:
    entries = [*ONE, _turn("a/turn3", 20.0, paid="0.50", failed="0.10")]
    assert paid_for(entries, 10.0) == Decimal("0.60")
    assert paid_for(entries, 0.0) == Decimal("1.10")
    assert paid_for([*entries, _turn("a/turn4", 21.0, paid=None)], 10.0) is None, (
        "one price that is not known makes the sum unknown"
    )
    fault = {"kind": "ModelUnavailable", "failed": [[5, 0, 0, 0, 0, False]], "attempts": [["fast", "0.10", "unavailable"]]}
    lost = Entry("a/turn5", State.ANSWERED, Kind.MODEL, "main.fast", "", "", fault, Ending.FAULT, 22.0, 22.0)
    assert paid_for([lost], 10.0) == Decimal("0.10"), "a turn that never came has cost its attempts"


@pytest.mark.feature("A12.16")
def test_what_a_run_took_is_in_its_outcome() -> None:
    row = RunRow(Header("r1", "p", "main.main", "", "t", "ann", 0.0, None), RunState.RUNNING)
    assert (tokens_in(row), cost_in(row)) == (None, None)
    spent = {"tokens": {"input": 5, "output": 3, "estimated": True}, "cost": "0.25"}
    ended = RunRow(row.header, RunState.ENDED, outcome={"outcome": "value", "spent": spent})
    assert (tokens_in(ended), cost_in(ended)) == (8, Decimal("0.25"))
