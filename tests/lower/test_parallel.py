"""`parallel` in code that does not act: the same results, one branch after the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from ael.run.outcome import Faulted, Value
from tests.programs import open_files, run

HEAD = """error Two { x: Int }
fn checked(x: Int) -> Int fails Two { if x == 2 { fail Two(x: x) }
  x }
fn apply(f: fn(Int) -> Int, xs: List<Int>) -> List<Int> { parallel x in xs up to 2 { f(x) } }
fn depth(n: Int) -> Int { if n == 0 { 0 } else { 1 + (parallel x in [n] { depth(x - 1) })[0] } }
"""


def given(tmp_path: Path, code: str) -> object:
    """What the expression gives in a function that does not act."""
    text = f"{HEAD}fn plain(xs: List<Int>, k: Int) -> Json {{ json({code}) }}\nnode main() -> Json {{ plain([1, 2, 3], 10) }}\n"
    opened, bag = open_files(tmp_path, {"main.ael": text})
    assert opened is not None, bag.sorted()
    outcome = run(opened).outcome
    assert isinstance(outcome, Value), outcome
    return outcome.value


@pytest.mark.feature("A1.15")
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("parallel x in xs up to 2 { x + k }", [11, 12, 13]),
        ("(parallel { a: k, b: xs.map(fn(x) => x + 1) }).b", [2, 3, 4]),
        ("(parallel { a: fn(x: Int) => x + k, b: 1 }).a(5)", 15),
        ("xs.map(fn(y) => parallel x in xs { x * y })", [[1, 2, 3], [2, 4, 6], [3, 6, 9]]),
        ("parallel x in xs { let z = x * k\n parallel y in [1] { x + y + z } }", [[12], [23], [34]]),
        ("(parallel x in xs { try checked(x) }) catch { Two t => [t.x] }", [2]),
        ("apply(fn(x) => x + k, xs)", [11, 12, 13]),
        ("depth(7)", 7),
    ],
)
def test_parallel_in_plain_code(tmp_path: Path, code: str, expected: object) -> None:
    assert given(tmp_path, code) == expected


@pytest.mark.feature("A1.15")
def test_a_field_that_holds_a_function_that_acts_is_called(tmp_path: Path) -> None:
    text = """permission p.read
/// Look. Call it first.
tool look(id: String) -> String needs p.read repeat idempotent { "look ${id}" }
node main() -> String grants p.read {
  let both = parallel { a: fn(x: String) => look(x), b: 1 }
  both.a("z")
}
"""
    opened, bag = open_files(tmp_path, {"main.ael": text})
    assert opened is not None, bag.sorted()
    outcome = run(opened).outcome
    assert isinstance(outcome, Value), outcome
    assert outcome.value == "look z"


def test_recursion_through_plain_branches_is_cut(tmp_path: Path) -> None:
    opened, bag = open_files(tmp_path, {"main.ael": f"{HEAD}node main() -> Int {{ depth(50_000) }}\n"})
    assert opened is not None, bag.sorted()
    outcome = run(opened).outcome
    assert isinstance(outcome, Faulted)
    assert outcome.kind == "TooDeep"
