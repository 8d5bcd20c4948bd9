"""Decision tables: what the check says of their rows is what trying all cases shows."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ael.check import exhaustive
from ael.check.pattern import Shape
from ael.check.region import Interval, Region, compared, number_of
from tests.programs import brief, open_files, run

pytestmark = pytest.mark.feature("A17.4")
TIERS = ("Bronze", "Silver", "Gold")
NUMBERS = range(6)
CASES = list(product(NUMBERS, TIERS, (True, False)))

number = st.integers(0, 5)
words = st.sampled_from(["<", "<=", ">", ">="])
number_cells = st.one_of(
    st.just("_"),
    st.lists(number, min_size=1, max_size=3, unique=True).map(lambda found: " | ".join(map(str, found))),
    st.tuples(words, number).map(lambda one: f"{one[0]} {one[1]}"),
    st.tuples(words, number, words, number).map(lambda one: f"{one[0]} {one[1]} and {one[2]} {one[3]}"),
    st.tuples(number, number).map(lambda one: f"{one[0]}..{one[1]}"),
)
tier_cells = st.one_of(
    st.just("_"),
    st.lists(st.sampled_from(TIERS), min_size=1, max_size=2, unique=True).map(
        lambda found: " | ".join(f"Tier.{t}" for t in found)
    ),
)
flag_cells = st.sampled_from(["_", "true", "false"])
tables = st.lists(st.tuples(number_cells, tier_cells, flag_cells), min_size=1, max_size=5)


def holds(cell: str, value: object) -> bool:
    """Whether a cell holds for a value, by the words of the documentation."""
    if cell == "_":
        return True
    if ".." in cell:
        low, high = map(int, cell.split(".."))
        return isinstance(value, int) and low <= value <= high
    if cell[0] in "<>":
        compare = {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__}
        parts = [part.split() for part in cell.split(" and ")]
        return all(compare[op](value, int(bound)) for op, bound in parts)  # type: ignore[arg-type]  # numbers alone are compared
    shown = {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)  # type: ignore[call-overload]
    return shown in [one.removeprefix("Tier.") for one in cell.split(" | ")]


def source(rows: list[tuple[str, str, str]], policy: str) -> str:
    lines = [f"  when {', '.join(row)} => {at}" for at, row in enumerate(rows)]
    return "\n".join([
        "enum Tier { Bronze, Silver, Gold }",
        f"table decide(number: Int, tier: Tier, flag: Bool) -> Int policy {policy} {{",
        *lines,
        "  otherwise => -1",
        "}",
        "node main(numbers: List<Int>, tiers: List<Tier>, flags: List<Bool>) -> List<Int> {",
        "  var found: List<Int> = []",
        "  for number in numbers { for tier in tiers { for flag in flags {",
        "    found = found + [decide(number, tier, flag)]",
        "  } } }",
        "  found",
        "}",
        "",
    ])  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables)
def test_rows_that_hold_at_once_are_exactly_those_that_some_case_shows(tmp_path: Path, rows: list[tuple[str, str, str]]) -> None:
    fitting = [[at for at, row in enumerate(rows) if all(map(holds, row, case))] for case in CASES]
    opened, bag = open_files(tmp_path, {"main.ael": source(rows, "unique")})
    codes = {d.code for d in bag.sorted() if d.severity.value == "error"}
    # Numbers beyond those of the cases: every cell that has no upper bound holds there, and below them every one without a lower one.
    wide = [[at for at, row in enumerate(rows) if all(map(holds, row, case))] for case in product((-1, 6), TIERS, (True, False))]
    empty = any(not any(holds(row[0], value) for value in range(-1, 7)) for row in rows)
    if empty:
        assert "AEL0413" in codes
        assert opened is None
    else:
        assert codes == ({"AEL0414"} if any(len(found) > 1 for found in fitting + wide) else set())
    opened, bag = open_files(tmp_path, {"main.ael": source(rows, "first")})
    if empty:
        return
    assert opened is not None, bag.sorted()
    given_ = {"numbers": list(NUMBERS), "tiers": list(TIERS), "flags": [True, False]}
    assert run(opened, given_).outcome.value == [found[0] if found else -1 for found in fitting]  # type: ignore[union-attr]
    # A row is said to be never reached only where no case comes to it.
    for diagnostic in bag.sorted():
        if diagnostic.message.startswith("this row is never reached"):
            at = diagnostic.place.source.text[: diagnostic.place.span.start].count("\n") - 2
            assert all(not found or found[0] != at for found in fitting + wide)


LAST = "`otherwise` is the last row of a table, and stands there once"
VARIANT = "a cell names a variant without its fields, and no other type"
WRONG = [
    ("", "t() -> Int", "", "a table without parameters has nothing to decide by"),
    ("", "t(a: Int)", "", "a table gives a value: write the type of its results after `->`"),
    ("error E\n", "t(a: Int) -> Int fails E", "", "a table gives a value in every case, so it fails with nothing"),
    ("", "t(a: Int) -> Int", "  otherwise => 1\n  when 2 => 2\n", LAST),
    ("", "t(a: Int) -> Int", "  otherwise => 1\n", LAST),
    ("", "t(a: Int, b: Int) -> Int", "  when 1 => 1\n", "a row has a cell for each parameter (a, b), and this one has 1"),
    ("", "t(a: Int) -> Int timeout 5s", "", "a table has no clause but `policy`, once"),
    ("", "t(a: Int) -> Int policy last", "", "the policy of a table is `unique` or `first`"),
    ("", "t(a: Int) -> Int", "  when b => 1\n", "a cell binds no name: `_` holds for everything"),
    ("", "t(a: List<Int>) -> Int", "  when [1] => 1\n", "a cell does not look into a list"),
    ("enum S { C(r: Int), D }\n", "t(a: S) -> Int", "  when C(1) => 1\n", VARIANT),
    ("", "t(a: String | Int) -> Int", "  when String => 1\n", VARIANT),
    ("", "t(a: Int, b: Int) -> Int", "  when < b, _ => 1\n", "a cell compares with a constant: a number, or a length of time"),
    ("", "t(a: Int) -> Int", "  when > 4 and < 5 => 1\n", "this cell holds for nothing: there is no whole number in it"),
    ("", "t(a: Decimal) -> Int", "  when > 5.00 and < 4.00 => 1\n", "this cell holds for nothing"),
    (
        "",
        "t(a: Int(1..3) | null) -> Int",
        "  when null | 2 => 1\n  when 5 => 1\n",
        "this cell holds for nothing: `Int(1..3)?` has no such value",
    ),
    (
        "",
        "t(a: Decimal(min: 0.00)) -> Int",
        "  when < 0.00 => 1\n",
        "this cell holds for nothing: `Decimal(min: 0.00)` has no such value",
    ),
    ("node n() -> Int { 1 }\n", "t(a: Int) -> Int", "  when 1 => n()\n", "a table is plain code, and `n` reaches outside"),
]


@pytest.mark.parametrize(("before", "head", "rows", "told"), WRONG)
def test_what_a_table_must_have(tmp_path: Path, before: str, head: str, rows: str, told: str) -> None:
    _, bag = open_files(tmp_path, {"main.ael": f"{before}table {head} {{\n{rows}  otherwise => 2\n}}\n"})
    assert any(told in line for line in (brief(d, tmp_path) for d in bag.sorted())), [brief(d, tmp_path) for d in bag.sorted()]


def test_a_table_is_called_like_every_function(tmp_path: Path) -> None:
    files = {
        "main.ael": "use ./law.{fee}\nnode main(a: Int) -> List<Int> { [a, 9].map(fee) }\n",
        "law.ael": "pub table fee(a: Int = 3) -> Int {\n  when 1 => 10\n  otherwise => 20\n}\n",
    }
    opened, bag = open_files(tmp_path, files)
    assert opened is not None, [brief(d, tmp_path) for d in bag.sorted()]
    assert run(opened, {"a": 1}).outcome.value == [10, 20]  # type: ignore[union-attr]


def test_a_case_that_is_shown_is_one_for_which_both_rows_hold(tmp_path: Path) -> None:
    text = (
        "table t(a: Decimal, b: String?, c: Duration, d: Float) -> Int {\n"
        '  when 1.25..2.50, null | "x", < 5min, > 0.5 => 1\n'
        '  when 2.50..9.00, "y" | "x", > 1min, _ => 2\n  otherwise => 3\n}\n'
    )
    _, bag = open_files(tmp_path, {"main.ael": text})
    (one,) = bag.sorted()
    assert one.notes[0] == 'for example `a`: 2.5, `b`: "x", `c`: > 1min and < 5min, `d`: > 0.5'


def test_regions() -> None:
    low, high = number_of(1), number_of(3)
    assert low is not None
    assert high is not None
    assert compared([(">", high), ("<", low)]) is None
    inner = compared([(">", low), ("<", high)])
    assert inner is not None
    assert inner.whole().intervals == (Interval(number_of(2), True, number_of(2), True),)
    assert compared([(">", low), ("<", number_of(2) or low)]).whole() == Region()  # type: ignore[union-attr]
    for value in (float("inf"), float("nan"), "x", True, None):
        assert number_of(value) is None


def test_a_cell_of_many_values_is_checked_in_time_that_grows_with_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks, covers = 0, exhaustive._covers

    def counted(head: Shape, constructor: exhaustive.Constructor) -> bool:
        nonlocal looks
        looks += 1
        return covers(head, constructor)

    monkeypatch.setattr(exhaustive, "_covers", counted)
    many = 1_500
    text = "table t(a: Int, b: Decimal) -> Int {\n"
    text += f"  when {' | '.join(map(str, range(many)))}, {' | '.join(f'{at}.50' for at in range(many))} => 1\n"
    text += f"  when > {many - 2} and <= {many}, >= {many - 1}.25 => 2\n  otherwise => 3\n}}\n"
    _, bag = open_files(tmp_path, {"main.ael": text})
    (one,) = bag.sorted()
    assert (one.code, one.notes[0]) == ("AEL0414", "for example `a`: 1499, `b`: 1499.5")
    assert looks < 20 * many


def test_two_rows_do_not_hold_at_once_for_what_is_beyond_the_bounds_of_the_type(tmp_path: Path) -> None:
    text = "table t(a: Int(min: 1, max: 3)) -> Int {\n  when 1 | 7 => 1\n  when > 1 => 2\n  otherwise => 3\n}\n"
    opened, bag = open_files(tmp_path, {"main.ael": text + "node main(a: Int(min: 1, max: 3)) -> Int { t(a) }\n"})
    assert opened is not None, bag.sorted()
    text = "table t(a: Float) -> Int {\n  when 0.1 => 1\n  when <= 0.1 => 2\n  otherwise => 3\n}\n"
    _, bag = open_files(tmp_path, {"main.ael": text})
    assert bag.sorted()[0].notes[0] == "for example `a`: 0.1"
