"""Lines of a stream that is cut anywhere (feature B12)."""

from __future__ import annotations

import tracemalloc

from hypothesis import given, settings
from hypothesis import strategies as st

from ael.mcp.lines import HEAD, Line, Lines

FIXED = settings(max_examples=200, deadline=None, derandomize=True, database=None)


@FIXED
@given(
    st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b" ")), max_size=12),
    st.lists(st.integers(1, 20), min_size=1, max_size=9),
)
def test_lines_do_not_depend_on_how_the_stream_is_cut(wanted: list[bytes], cuts: list[int]) -> None:
    data = b"".join(line + b"\n" for line in wanted)
    lines, found, at, turn = Lines(1_000), [], 0, 0
    while at < len(data):
        step = cuts[turn % len(cuts)]
        found += lines.feed(data[at : at + step])
        at, turn = at + step, turn + 1
    assert found == [Line(line.strip()) for line in wanted if line.strip()]


@FIXED
@given(st.lists(st.integers(0, 40), max_size=12), st.integers(1, 20))
def test_a_line_over_the_limit_is_told_once_and_its_neighbours_are_whole(sizes: list[int], step: int) -> None:
    data = b"".join(b"%c" % (65 + at) * size + b"\n" for at, size in enumerate(sizes))
    lines = Lines(20)
    found = [line for at in range(0, len(data), step) for line in lines.feed(data[at : at + step])]
    assert [(line.data[:1], line.cut) for line in found] == [
        (b"%c" % (65 + at), size > 20) for at, size in enumerate(sizes) if size
    ]
    assert all(len(line.data) == size for line, size in zip(found, filter(None, sizes), strict=True) if size <= 20)


def test_a_line_without_end_takes_no_memory() -> None:
    lines = Lines(100_000)
    tracemalloc.start()
    piece = b"x" * 65_536
    found = [line for _ in range(2_000) for line in lines.feed(piece)]
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [line.cut for line in found] == [True]
    assert len(found[0].data) == HEAD
    assert used < 2_000_000
    assert lines.feed(b"\nnext\n") == [Line(b"next")]
