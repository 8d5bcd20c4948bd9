"""Streamed fragments of calls (fault kind K31): exact calls, or malformed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ael.models.assemble import MAX_ARGUMENT_BYTES, MAX_CALLS, CallAssembler, Misassembled
from ael.run.ports import ProposedCall

Fragment = tuple[object, object, object, object]
OFFERED = frozenset({"look_up", "refund", "a", "ab"})


def put_together(*fragments: Fragment, cut: bool = False, offered: frozenset[str] = OFFERED) -> tuple[ProposedCall, ...]:
    assembler = CallAssembler(offered)
    for fragment in fragments:
        assembler.add(*fragment)
    return assembler.finish(cut=cut)


def test_name_and_arguments_in_pieces_and_a_late_id() -> None:
    """K31: name in pieces, arguments in pieces, id late."""
    calls = put_together(
        (0, None, "look", None), (0, "", "_up", ""), (0, None, None, '{"id"'), (0, "c1", None, ':"A'), (0, None, None, '"}')
    )  # fmt: skip
    assert calls == (ProposedCall("c1", "look_up", '{"id":"A"}'),)


def test_one_index_for_distinct_calls() -> None:
    """K31: same index, new id -> two calls."""
    calls = put_together((0, "c1", "look_up", '{"id":"A"}'), (0, "c2", "refund", "{}"))
    assert calls == (ProposedCall("c1", "look_up", '{"id":"A"}'), ProposedCall("c2", "refund", "{}"))


def test_neither_index_nor_id() -> None:
    """K31: malformed unless only one call is open."""
    assert put_together((None, None, "look_up", '{"id":'), (None, None, None, '"A"}'))[0].arguments == '{"id":"A"}'
    with pytest.raises(Misassembled, match="neither"):
        put_together((0, "c1", "look_up", "{"), (1, "c2", "refund", "{"), (None, None, None, "}"))


def test_by_id_alone() -> None:
    calls = put_together(
        (None, "x", "look_up", '{"id":'), (None, "y", "refund", "{"), (None, "x", None, '"A"}'), (None, "y", None, "}")
    )  # fmt: skip
    assert calls == (ProposedCall("x", "look_up", '{"id":"A"}'), ProposedCall("y", "refund", "{}"))


def test_interleaved_indexes() -> None:
    calls = put_together(
        (0, "x", "look_up", ""), (1, "y", "refund", ""), (1, None, None, "{"), (0, None, None, '{"id":"A"}'), (1, None, None, "}")
    )  # fmt: skip
    assert [call.arguments for call in calls] == ['{"id":"A"}', "{}"]


def test_three_parallel_calls_without_ids_keep_their_order() -> None:
    """K06: paired by position."""
    calls = put_together(*((index, None, "look_up", json.dumps({"id": str(index)})) for index in range(3)))
    assert [(call.id, call.arguments) for call in calls] == [("", f'{{"id": "{index}"}}') for index in range(3)]


def test_whole_calls_one_after_the_other_without_index_or_id() -> None:
    calls = put_together((None, None, "look_up", '{"id":"A"}'), (None, None, "refund", "{}"))
    assert [call.name for call in calls] == ["look_up", "refund"]


def test_the_same_id_twice_stays_two_calls() -> None:
    """K06: an id does not join what its index tells apart."""
    assert len(put_together((0, "x", "look_up", "{}"), (1, "x", "refund", "{}"))) == 2


def test_a_name_told_again_is_the_same_name() -> None:
    calls = put_together((0, "c", "look_up", ""), (0, "c", "look_up", '{"id":'), (0, "c", "look_up", '"A"}'))
    assert calls == (ProposedCall("c", "look_up", '{"id":"A"}'),)


def test_a_name_that_can_be_read_in_two_ways_is_malformed() -> None:
    with pytest.raises(Misassembled, match="two ways"):
        put_together((0, "c", "a", ""), (0, "c", "a", "{}"), offered=frozenset({"a", "aa"}))


def test_a_name_that_changes_later_is_malformed() -> None:
    with pytest.raises(Misassembled, match="changes"):
        put_together((0, "c", "look_up", '{"id":'), (0, "c", "refund", '"A"}'))


def test_a_call_without_a_name_is_malformed_or_left_out_of_a_cut_turn() -> None:
    with pytest.raises(Misassembled, match="no name"):
        put_together((0, "c", None, "{}"))
    assert put_together((0, "c", None, "{"), cut=True) == ()


def test_absent_empty_and_object_arguments() -> None:
    """K08: what is empty stays empty, what is absent is None; an object is written out."""
    assert put_together((0, "c", "refund", None))[0].arguments is None
    assert put_together((0, "c", "refund", ""))[0].arguments == ""
    assert put_together((0, "c", "refund", {"n": 1}))[0].arguments == '{"n":1}'


def test_everything_is_bounded() -> None:
    with pytest.raises(Misassembled, match="longer"):
        put_together((0, "c", "refund", "x" * MAX_ARGUMENT_BYTES), (0, None, None, "x"))
    with pytest.raises(Misassembled, match="more than"):
        put_together(*((index, f"c{index}", "refund", "{}") for index in range(MAX_CALLS + 1)))


def test_names_are_told_once_they_are_whole() -> None:
    told: list[str] = []
    assembler = CallAssembler(OFFERED, told.append)
    for fragment in ((0, "c", "look", None), (0, None, "_up", None), (0, None, None, "{}"), (1, "d", "refund", "{}")):
        assembler.add(*fragment)
    assert told == ["look_up", "refund"]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["look_up", "refund"]), st.dictionaries(st.text(max_size=3), st.integers(), max_size=3)),
        min_size=1,
        max_size=4,
    ),
    st.data(),
)
def test_any_cutting_into_fragments_gives_the_same_calls(wanted: list[tuple[str, dict[str, int]]], data: st.DataObject) -> None:
    queues: list[list[Fragment]] = []
    for index, (name, arguments) in enumerate(wanted):
        text = json.dumps(arguments)
        cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
        pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        queues.append([(index, f"c{index}", name, None), *((index, None, None, piece) for piece in pieces)])
    fragments: list[Fragment] = []
    started = 0
    while any(queues):
        # A call begins after those before it; beyond that any order may come.
        choices = [place for place, queue in enumerate(queues) if queue and place <= started]
        place = data.draw(st.sampled_from(choices))
        fragments.append(queues[place].pop(0))
        started = max(started, place + 1)
    calls = put_together(*fragments)
    assert [(call.id, call.name, json.loads(call.arguments or "")) for call in calls] == [
        (f"c{index}", name, arguments) for index, (name, arguments) in enumerate(wanted)
    ]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.integers(-1, 3), st.text(max_size=2), st.booleans()),
            st.one_of(st.none(), st.sampled_from(["", "x", "y"]), st.integers()),
            st.one_of(st.none(), st.sampled_from(["", "a", "look_up", "b"]), st.integers()),
            st.one_of(st.none(), st.text(max_size=4), st.dictionaries(st.text(max_size=2), st.integers(), max_size=2)),
        ),
        max_size=12,
    )
)
def test_any_fragments_are_calls_or_malformed(fragments: list[Fragment]) -> None:
    try:
        calls = put_together(*fragments)
    except Misassembled:
        return
    assert all(call.name for call in calls)
    given_text = "".join(fragment[3] for fragment in fragments if isinstance(fragment[3], str))
    assert sum(len(call.arguments or "") for call in calls) >= len(given_text)
