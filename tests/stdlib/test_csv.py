"""CSV against Python's own reader and writer."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.lower.abi.size import ENTRIES_MAX
from ael.lower.natives.csv import parse
from tests.programs import open_files, run

pytestmark = [pytest.mark.feature("A15.9")]

FIELDS = st.text(alphabet="ab,;\t|\"'\r\n \ufeff=é", max_size=6)
ROWS = st.lists(st.lists(FIELDS, min_size=1, max_size=4), max_size=5)
DELIMITERS = st.sampled_from([",", ";", "\t", "|"])


@given(ROWS, DELIMITERS, st.sampled_from(["\n", "\r\n", "\r"]))
def test_what_python_writes_is_read(rows: list[list[str]], delimiter: str, end: str) -> None:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(rows)
    told = parse(out.getvalue(), delimiter)
    assert told["rows"] == rows
    lines = out.getvalue().replace("\r\n", "\n").replace("\r", "\n")
    starts = told["lines"]
    assert isinstance(starts, list)
    assert len(starts) == len(rows)
    assert all(lines.split("\n")[start - 1].startswith('"') for start in starts)


@given(st.text(alphabet='a,"\r\n', max_size=12))
def test_it_reads_what_pythons_strict_reader_reads_and_as_it_does(text: str) -> None:
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error:
        rows = None
    told = parse(text, ",")
    if rows is None:
        assert told["line"] != 0
    elif told["line"] == 0:
        assert told["rows"] == rows
    else:  # Python takes a quote inside of a field that is not quoted
        assert "a quote stands inside" in str(told["reason"])


PROGRAM = """
use std/csv.{Delimiter, parse_csv, write_csv}

node main(rows: List<List<String>>, delimiter: String, safe: Bool) -> String {
  write_csv(rows, delimiter: Delimiter.check(delimiter), for_spreadsheet: safe)
}
"""


def test_what_is_written_is_read_the_same_by_python() -> None:
    with tempfile.TemporaryDirectory() as folder:
        opened, bag = open_files(Path(folder), {"main.ael": PROGRAM})
        assert opened is not None, bag.sorted()

        @given(ROWS, DELIMITERS)
        def same(rows: list[list[str]], delimiter: str) -> None:
            written = run(opened, {"rows": rows, "delimiter": delimiter, "safe": False}).outcome.plain  # type: ignore[union-attr]
            assert isinstance(written, str)
            assert list(csv.reader(io.StringIO(written, newline=""), delimiter=delimiter, strict=True)) == rows
            assert parse(written, delimiter)["rows"] == rows

        same()


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝"])
def test_no_field_of_a_file_for_a_spreadsheet_begins_a_formula(start: str, tmp_path: Path) -> None:
    opened, _ = open_files(tmp_path, {"main.ael": PROGRAM})
    assert opened is not None
    rows = [[f"{start}cmd|' /C calc'!A0", f"{start}1+1", "-12.5", "x"]]
    written = run(opened, {"rows": rows, "delimiter": ",", "safe": True}).outcome.plain  # type: ignore[union-attr]
    assert isinstance(written, str)
    assert list(csv.reader(io.StringIO(written, newline=""))) == [[f"'{rows[0][0]}", f"'{rows[0][1]}", "-12.5", "x"]]


@pytest.mark.feature("K13")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('"' * 100_001, "a quoted field has no end"),
        ("," * ENTRIES_MAX, "there are more than 1,000,000 fields"),
        ('"a"' + '"b"' * 100_000 + "x", "something stands behind the quotes of a field"),
    ],
)
def test_hostile_tables_are_told(text: str, reason: str) -> None:
    assert parse(text, ",") == {"rows": [], "lines": [], "line": 1, "reason": reason}


@pytest.mark.feature("K49")
def test_each_kind_of_line_end_counts_once() -> None:
    assert parse('a\r\nb\rc\n"\r\n\r\n"\r\nd"', ",")["line"] == 7
