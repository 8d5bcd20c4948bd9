"""Server-sent events: any split of the bytes gives the same events, and everything is bounded."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ael.net.failure import NetError, NetKind
from ael.net.sse import Event, EventParser

STREAM = (
    b"\xef\xbb\xbf: hello\n\n"
    b"data: one\n\n"
    b"event: ping\ndata: {}\n\n"
    b"data:two\r\ndata: three\r\n\r\n"
    b"id: 7\nretry: 10\ndata: four\n\n"
    b"event: only a name\n\n"
    b"\n\ndata\n\n"
    b"event: a\revent: b\rdata: five\r\r"
    b"data: never ended"
)
EVENTS = [
    Event(b"", b"one"),
    Event(b"ping", b"{}"),
    Event(b"", b"two\nthree"),
    Event(b"", b"four"),
    Event(b"", b""),
    Event(b"b", b"five"),
]


def test_events_of_every_form_are_read() -> None:
    assert [event for event in EventParser().feed(STREAM) if event.data or event.name] == [e for e in EVENTS if e.data or e.name]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_any_split_gives_the_same_events(cuts: list[int]) -> None:
    parser = EventParser()
    places = sorted({0, len(STREAM), *cuts})
    found = [event for start, end in pairwise(places) for event in parser.feed(STREAM[start:end])]
    assert found == EventParser().feed(STREAM)


def test_byte_by_byte() -> None:
    parser = EventParser()
    assert [event for index in range(len(STREAM)) for event in parser.feed(STREAM[index : index + 1])] == EventParser().feed(
        STREAM
    )


def test_where_to_go_on_and_when_is_kept() -> None:
    parser = EventParser()
    assert parser.feed(b"data: a\n\n") == [Event(b"", b"a")]
    assert (parser.last_id, parser.retry) == (None, None)
    # An event without data says so too, and is none.
    assert parser.feed(b"id: e-1\nretry: 500\n\nid: not yet") == []
    assert (parser.last_id, parser.retry) == (b"e-1", 500)
    assert parser.feed(b"\n\nid: with\0zero\nretry: soon\n\nretry: -1\n\nretry: 99999999999\n\n") == []
    assert (parser.last_id, parser.retry) == (b"not yet", 500)


def test_a_long_event_in_small_pieces_takes_time_linear_in_its_length() -> None:
    """Copying all of it for each piece would be 40 GB."""
    parser = EventParser()
    for _ in range(20_000):
        assert parser.feed(b"data: " + b"x" * 190 + b"\n") == []
    [event] = parser.feed(b"\n")
    assert len(event.data) == 20_000 * 191 - 1


def test_an_endless_event_stops_at_the_limit() -> None:
    parser = EventParser(limit=1000)
    pieces = [parser.feed(b"data: " + b"x" * 100) for _ in range(9)]
    assert pieces == [[]] * 9
    with pytest.raises(NetError) as caught:
        parser.feed(b"x" * 100)
    assert caught.value.kind is NetKind.TOO_LARGE


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_events_or_nothing(data: bytes) -> None:
    for event in EventParser().feed(data + b"\n\n"):
        assert isinstance(event.data, bytes)
