"""Cases from files: whatever the bytes are, they are cases or told by line; and what is written can be read."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.diagnostics.diagnostic import Bag
from ael.evals import cases as reading
from ael.evals.cases import Case, CasesError, Reader
from ael.evals.known import known_of
from ael.evals.opening import OpenedEvaluation, open_evaluation
from ael.lower.lower import lower
from tests.programs import write

MAIN = """
pub enum Kind { Good, Bad }

pub record Order {
  id: String(max: 20)
  amount: Decimal
  tags: List<String>
  note?: String
}

store orders: Map<String, Order>

node main(order: Order, count: Int = 1, kind: Kind?) -> String {
  order.id
}
"""


def refused(opened: Opened, data: bytes, *, table: bool = False) -> list[tuple[str, str]]:
    """What is told of a file, nothing where it holds cases. Anything else that is raised fails the test."""
    try:
        assert read(opened, data, table=table)
    except CasesError as error:
        return list(error.problems) or [("", "nothing is told")]
    return []


class Opened:
    """An evaluation with lines of JSON and one with a table, over one program."""

    def __init__(self, lines: OpenedEvaluation, table: OpenedEvaluation, folder: Path) -> None:
        self.lines, self.table, self.folder = lines, table, folder
        self.unit = lower(lines.graded.program)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    folder = tmp_path_factory.mktemp("cases")
    write(folder, {"main.ael": MAIN, "eval.ael": 'cases = jsonl("c.jsonl")\n', "eval.table.ael": 'cases = csv("c.csv")\n'})
    lines, table = open_evaluation(folder, Bag()), open_evaluation(folder, Bag(), name="table")
    assert lines is not None
    assert table is not None
    return Opened(lines, table, folder)


def read(opened: Opened, data: bytes, *, table: bool = False) -> list[Case]:
    evaluation = opened.table if table else opened.lines
    path = opened.folder / ("c.csv" if table else "c.jsonl")
    path.write_bytes(data)
    return Reader(evaluation, opened.unit, known_of(evaluation)).read(path)


def problems(opened: Opened, data: bytes, *, table: bool = False) -> list[tuple[str, str]]:
    with pytest.raises(CasesError) as caught:
        read(opened, data, table=table)
    return [(code, message.partition("c.csv:" if table else "c.jsonl:")[2] or message) for code, message in caught.value.problems]


ORDER = {"id": "A", "amount": "1.50", "tags": ["x"]}
GOOD = json.dumps({"input": {"order": ORDER, "kind": None}}).encode()


def test_a_byte_order_mark_line_ends_of_windows_and_empty_lines_are_taken(opened: Opened) -> None:
    found = read(opened, b"\xef\xbb\xbf" + GOOD + b"\r\n\r\n   \n" + GOOD)
    assert [(case.id, case.line) for case in found] == [("line 1", 1), ("line 4", 4)]
    assert found[0].input["count"] == 1


def test_defaults_and_the_written_form_are_those_of_the_entry(opened: Opened) -> None:
    (case,) = read(opened, GOOD)
    assert case.input == {"order": {"id": "A", "amount": "1.50", "tags": ["x"]}, "count": 1, "kind": None}


@pytest.mark.parametrize(
    ("line", "code", "told"),
    [
        (b"{", "AEL0952", "not JSON"),
        (b"[]", "AEL0952", "a case is an object"),
        (b"3", "AEL0952", "a case is an object"),
        (b'{"input": {}, "input": {}}', "AEL0952", ""),
        (b'{"input": NaN}', "AEL0952", ""),
        (b'{"input": "\xff"}', "AEL0952", ""),
        (b'{"inptu": {}}', "AEL0952", "a case has no `inptu`"),
        (b'{"id": ""}', "AEL0952", "`id` is a text"),
        (b'{"id": true}', "AEL0952", "`id` is a text"),
        (b'{"id": "a\\u0007"}', "AEL0952", "`id` is a text"),
        (b'{"tags": "a"}', "AEL0952", "`tags` is a list"),
        (b'{"input": 3}', "AEL0953", "`input` is an object"),
        (b'{"input": {"order": 3}}', "AEL0953", "`input.order`"),
        (b'{"input": {"order": {"id": "A"}}}', "AEL0953", "`input.order.amount`: is missing"),
        (b'{"input": {"ordre": 3}}', "AEL0953", "`input.ordre`: is not known"),
        (b'{"assert": []}', "AEL0953", "`assert` is an object"),
        (b'{"assert": {"nothing": 1}}', "AEL0953", "there is no assertion `nothing`"),
        (b'{"assert": {"status": "asleep"}}', "AEL0953", "`assert.status`"),
        (b'{"assert": {"status": {"fault": "None"}}}', "AEL0953", "there is no fault `None`"),
        (b'{"assert": {"visited": []}}', "AEL0953", "names of nodes"),
        (b'{"assert": {"called": {"tool": "x"}}}', "AEL0953", "no tool `x`"),
        (b'{"assert": {"within": {}}}', "AEL0953", "this takes some of"),
        (b'{"assert": {"within": {"time": 3}}}', "AEL0953", "a duration"),
        (b'{"assert": {"within": {"cost": "nan"}}}', "AEL0953", "money"),
        (b'{"assert": {"within": {"tokens": -1}}}', "AEL0953", "whole number"),
        (b'{"assert": {"matches": "("}}', "AEL0953", "no pattern"),
        (b'{"assert": {"contains": ""}}', "AEL0953", "a text"),
        (b'{"assert": {"kept": {"store": "orders"}}}', "AEL0953", "`key` is missing"),
        (b'{"stores": 3}', "AEL0953", "`stores` is an object"),
        (b'{"stores": {"nothing": {}}}', "AEL0953", "no store `nothing`"),
        (b'{"stores": {"orders": {"A": 3}}}', "AEL0953", "`stores.orders.A`"),
    ],
)
def test_what_is_no_case_is_told_with_its_line(opened: Opened, line: bytes, code: str, told: str) -> None:
    found = problems(opened, GOOD + b"\n" + line + b"\n" + GOOD)
    assert any(one == code and message.startswith("2: ") and told in message for one, message in found), found
    assert all(message.startswith("2: ") for _, message in found)


def test_an_id_that_stands_twice_is_told(opened: Opened) -> None:
    line = json.dumps({"id": "a", "input": {"order": ORDER, "kind": "Good"}}).encode() + b"\n"
    assert problems(opened, line + line) == [("AEL0952", "2: the id `a` is that of line 1 too")]


def test_everything_is_bounded(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_CASES", 3)
    assert problems(opened, (GOOD + b"\n") * 4) == [("AEL0952", "4: there are more than 3 cases")]
    monkeypatch.setattr(reading, "MAX_LINE", 100)
    assert problems(opened, b'{"id": "' + b"x" * 200 + b'"}')[0][1] == "1: the line is longer than 100 bytes"
    monkeypatch.setattr(reading, "MAX_BYTES", 10)
    assert "larger than 10 bytes" in problems(opened, GOOD)[0][1]


def test_what_is_wrong_is_told_so_often_and_then_counted(opened: Opened) -> None:
    with pytest.raises(CasesError) as caught:
        read(opened, b"x\n" * 50)
    assert len(caught.value.problems) == reading.MOST_TOLD
    assert caught.value.more == 30


def test_a_file_without_a_case_is_refused(opened: Opened) -> None:
    assert "there is no case" in problems(opened, b"\n\n")[0][1]


@given(data=st.binary(max_size=300))
def test_any_bytes_are_cases_or_told(opened: Opened, data: bytes) -> None:
    for table in (False, True):
        told = refused(opened, data, table=table)
        assert all(code in ("AEL0952", "AEL0953") for code, _ in told)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 10) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "input", "order", "kept", "status"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    value=st.dictionaries(
        st.sampled_from(["id", "input", "expected", "assert", "stores", "tags", "output"]), json_values, max_size=5
    )
)
def test_any_object_is_a_case_or_told(opened: Opened, value: Mapping[str, object]) -> None:
    refused(opened, json.dumps(value).encode())


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


@given(rows=st.lists(st.tuples(texts.filter(bool), st.integers(-5, 5)), min_size=1, max_size=5))
def test_what_csv_writes_is_read_again(opened: Opened, rows: list[tuple[str, int]]) -> None:
    out = io.StringIO(newline="")
    table = csv.writer(out)
    table.writerow(["order.id", "order.amount", "order.tags", "count", "order.note", "kind"])
    for text, number in rows:
        table.writerow(["A", '"2.5"', "[]", number, text, ""])
    found = read(opened, out.getvalue().encode(), table=True)
    assert [case.input["count"] for case in found] == [number for _, number in rows]
    orders = [case.input["order"] for case in found]
    assert [order["note"] for order in orders if isinstance(order, dict)] == [text for text, _ in rows]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"order.id,nothing\nA,b\n", "1: there is no column `nothing`"),
        (b"order.id,order.id\nA,b\n", "1: there are two columns `order.id`"),
        (b"order.id,count\nA\n", "2: the row has 1 cells, and the first one has 2"),
        (b"count\nmany\n", "2: `count` is written as JSON"),
        (b"order,order.id\n{},A\n", "2: "),
        (b'count\n"1\n', "this is no CSV"),
        (b"count\n\xff\n", "2: this is no UTF-8"),
        (b"count\n\0\n", "2: this holds a NUL character"),
        (b",".join(b"count" for _ in range(300)) + b"\n", "there are two columns"),
    ],
)
def test_what_is_no_table_is_told_with_its_line(opened: Opened, data: bytes, told: str) -> None:
    found = problems(opened, data, table=True)
    assert any(told in message for _, message in found), found


def test_a_row_over_several_lines_is_told_where_it_ends(opened: Opened) -> None:
    found = problems(opened, b'order.note,count\n"a\nb",x\n', table=True)
    assert found[0][1].startswith("3: `count`")
