"""Tracebacks, debuggers and coverage show the lines of the `.ael` file."""

from __future__ import annotations

import bdb
import io
import pdb
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from ael.run.outcome import Faulted
from ael.types.fault import Fault
from tests.lower.helpers import World, act, compiled
from tests.programs import open_files, run

SOURCE = """\
// π and ü stand here so that columns of bytes and of characters differ
fn inner(n: Int) -> Int {
  let x = n + 1
  100 div (x - 1)
}

fn outer(n: Int) -> Int {
  let text = "üü"; let y = inner(n)
  y + text.length()
}

fn loops(xs: List<Int>) -> Int {
  var sum = 0
  for x in xs {
    if x > 1 {
      sum = sum + x
    } else {
      sum = sum - 1
    }
  }
  sum
}
""".replace("; ", "\n  ")


def test_tracebacks_show_ael_lines_and_names() -> None:
    unit = compiled(SOURCE)
    with pytest.raises(Fault) as caught:
        unit.functions["main.outer"](0)
    frames = [f for f in traceback.extract_tb(caught.value.__traceback__) if f.filename == "main.ael"]
    assert [(f.name, f.line) for f in frames] == [("outer", "let y = inner(n)"), ("inner", "100 div (x - 1)")]
    inner = frames[1]
    assert (inner.lineno, inner.colno, inner.end_colno) == (4, 2, 4 - 4 + 2 + len("100 div (x - 1)"))
    text = "".join(traceback.format_exception(caught.value))
    assert 'File "main.ael", line 4, in inner\n    100 div (x - 1)\n' in text


def test_columns_count_characters_after_text_that_is_not_ascii() -> None:
    unit = compiled('fn f(n: Int) -> String { "üü" + "${1 div n}" }')
    with pytest.raises(Fault) as caught:
        unit.functions["main.f"](0)
    lines = "".join(traceback.format_exception(caught.value)).split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith('  File "main.ael"'))
    marks = lines[at + 2]
    assert lines[at + 1][marks.index("^") : marks.rindex("^") + 1] == "1 div n"


def test_failures_of_acting_code_have_a_place() -> None:
    failing = 'error Bad { why: String }\nfn f(n: Int) -> Int fails Bad {\n  fail Bad(why: "x")\n}\n'
    source = failing + "node main(n: Int) -> Int fails Bad {\n  try f(n)\n}\n"
    body = compiled(source).nodes["main.main"].body
    assert body is not None
    with pytest.raises(Exception, match=r"main\.Bad") as caught:
        act(body, 1, world=World())
    frames = [f for f in traceback.extract_tb(caught.value.__traceback__) if f.filename == "main.ael"]
    assert [(f.name, f.lineno) for f in frames] == [("main", 6), ("f", 3)]


def test_a_fault_in_the_library_is_placed_where_the_program_calls_it(tmp_path: Path) -> None:
    main = 'use std/time.{moment}\n\nnode main() -> String {\n  moment("tomorrow").to_string()\n}\n'
    opened, _ = open_files(tmp_path, {"main.ael": main})
    assert opened is not None
    found = run(opened, {}).outcome
    assert isinstance(found, Faulted)
    assert found.place.endswith("main.ael:4:3")


@contextmanager
def traced(seen: set[tuple[str, int]]) -> Iterator[None]:
    def local(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            seen.add((frame.f_code.co_filename, frame.f_lineno))
        return local

    old = sys.gettrace()
    sys.settrace(local)
    try:
        yield
    finally:
        sys.settrace(old)


def test_lines_that_run_are_those_of_the_file() -> None:
    f = compiled(SOURCE).functions["main.loops"]
    first = SOURCE[: SOURCE.index("fn loops")].count("\n") + 1
    seen: set[tuple[str, int]] = set()
    with traced(seen):
        f([2, 3])
    lines = {line - first for name, line in seen if name == "main.ael"}
    assert {1, 2, 3, 4, 9} <= lines
    assert 6 not in lines


def test_coverage_counts_ael_lines(tmp_path: Path) -> None:
    coverage = pytest.importorskip("coverage")
    path = tmp_path / "main.ael"
    path.write_text(SOURCE, encoding="utf-8")
    f = compiled(SOURCE, path=path).functions["main.loops"]
    measured = coverage.Coverage(data_file=None, include=[str(path)], config_file=False)
    old = sys.gettrace()
    measured.start()
    try:
        f([2, 3])
    finally:
        measured.stop()
        sys.settrace(old)
    first = SOURCE[: SOURCE.index("fn loops")].count("\n") + 1
    lines = {line - first for line in measured.get_data().lines(str(path)) or ()}
    assert {1, 2, 3, 4, 9} <= lines
    assert 6 not in lines


def test_a_debugger_stops_at_an_ael_line(tmp_path: Path) -> None:
    path = tmp_path / "main.ael"
    path.write_text(SOURCE, encoding="utf-8")
    f = compiled(SOURCE, path=path).functions["main.inner"]
    out = io.StringIO()
    debugger = pdb.Pdb(stdin=io.StringIO("continue\np u_x\nwhere\ncontinue\n"), stdout=out, nosigint=True, readrc=False)
    debugger.use_rawinput = False
    line = SOURCE[: SOURCE.index("100 div")].count("\n") + 1
    assert debugger.set_break(str(path), line) is None
    old = sys.gettrace()
    try:
        debugger.runcall(f, 4)
    except bdb.BdbQuit:
        pytest.fail(out.getvalue())
    finally:
        sys.settrace(old)
    assert "-> 100 div (x - 1)" in out.getvalue()
    assert "(Pdb) 5" in out.getvalue()
