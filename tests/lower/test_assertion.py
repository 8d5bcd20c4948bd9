"""`assert` tells the values of its operands."""

from __future__ import annotations

import pytest

from ael.types.fault import Fault, FaultKind
from tests.lower.helpers import World, act, compiled

TEST = """
record Reply {{ answer: String, refunded: Bool }}
fn twice(n: Int) -> Int {{ n * 2 }}
test "t" {{
  let reply = Reply(answer: "Yes", refunded: false)
  let xs = [1, 2, 3]
  assert {condition}
}}
"""


def failure(condition: str) -> Fault:
    unit = compiled(TEST.format(condition=condition))
    with pytest.raises(Fault) as caught:
        act(unit.tests[0].body, world=World())
    assert caught.value.kind is FaultKind.ASSERTION_FAILED
    return caught.value


@pytest.mark.feature("C7")
def test_operands_are_told() -> None:
    fault = failure("reply.refunded")
    assert fault.message == 'assertion failed\n  assert reply.refunded\n    reply = {"answer":"Yes","refunded":false}'
    fault = failure('reply.answer.lower() == "no" or xs.length() > twice(2)')
    assert fault.details["values"] == {
        'reply.answer.lower() == "no"': "false",
        "reply.answer.lower()": '"yes"',
        "reply.answer": '"Yes"',
        "reply": '{"answer":"Yes","refunded":false}',
        "xs.length() > twice(2)": "false",
        "xs.length()": "3",
        "xs": "[1,2,3]",
        "twice(2)": "4",
    }
    assert fault.details["condition"] == 'reply.answer.lower() == "no" or xs.length() > twice(2)'


@pytest.mark.feature("C7")
def test_what_was_not_evaluated_is_not_told() -> None:
    fault = failure("reply.refunded and twice(3) == 6")
    assert "twice(3)" not in fault.details["values"]  # type: ignore[operator]
    assert "reply.refunded" in fault.details["values"]  # type: ignore[operator]


@pytest.mark.feature("C7")
def test_a_message_of_ones_own_comes_first() -> None:
    fault = failure('xs == [1], "list was ${xs.length()} long"')
    assert fault.message.startswith("list was 3 long\n  assert xs == [1]\n    xs = [1,2,3]")


def test_long_values_are_cut() -> None:
    fault = failure("range(1, 1_000).map(fn(x) => x * 2) == xs")
    assert all(len(v) <= 200 for v in fault.details["values"].values())  # type: ignore[attr-defined]


def test_one_that_holds_says_nothing() -> None:
    act(compiled(TEST.format(condition="xs.length() == 3")).tests[0].body, world=World())
