"""`ael test`: which tests run, in which order, in how many processes, and what is told of them."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from tests.cli.conftest import Ael, ael  # noqa: F401  # a fixture
from tests.cli.watched import watch_steps

NUMBERS = "".join(f'test "number {at}" {{\n  assert {at} < 4\n}}\n\n' for at in range(6))
HANGS = """fn forever() -> Int {
  var n = 0
  while n >= 0 up to 100_000_000_000 {
    n = n + 1
  }
  n
}

test "hangs" {
  assert forever() == 0
}

test "goes on" {
  assert true
}
"""
WAITS = """permission world.wait

/// Wait. Call it once.
tool hold() -> String
  needs world.wait
  repeat idempotent
  timeout none
  extern "outside:{function}"

test "holds" {{
  assert hold() == "done"
}}

test "after" {{
  assert true
}}
"""


def ended(desk: Ael, *words: str) -> tuple[int, list[str]]:
    """The exit code, and the first words of the lines of standard error that tell of tests."""
    done = desk("test", *words)
    return done.code, [line.partition("  (")[0] for line in done.err.splitlines() if line.startswith(("ok", "FAIL"))]


def test_the_list_is_printed_and_nothing_runs(ael: Ael) -> None:  # noqa: F811
    ael.write({"main.ael": NUMBERS, "sub/b.ael": 'test "other" {\n  assert false\n}\n'})
    listed = ael("test", "--list")
    assert (listed.code, listed.err) == (0, "")
    assert listed.out.splitlines() == [*(f"main.ael::number {at}" for at in range(6)), "sub/b.ael::other"]
    one = json.loads(ael("test", "--list", "--filter", "other", "--format", "json").out)
    assert one == {"id": "sub/b.ael::other", "name": "other", "file": "sub/b.ael", "line": 1}
    assert ael("test", "--list", "--filter", "nothing").code == 2


@pytest.mark.feature("C7")
def test_processes_side_by_side_tell_in_the_order_of_the_file(ael: Ael) -> None:  # noqa: F811
    ael.write({"main.ael": NUMBERS})
    alone, beside = ended(ael), ended(ael, "-j", "3")
    assert alone == beside
    assert alone[0] == 1
    assert [line.split()[-1] for line in alone[1]] == [str(at) for at in range(6)]


def test_it_stops_after_the_first_failure_and_runs_the_last_ones_again(ael: Ael) -> None:  # noqa: F811
    ael.write({"main.ael": NUMBERS})
    first = ael("test", "--fail-fast")
    assert first.err.splitlines()[-1] == "4 passed, 1 failed, 1 not run"
    assert ended(ael)[0] == 1
    assert ended(ael, "--last-failed") == (1, ["FAIL  number 4", "FAIL  number 5"])
    ael.write({"main.ael": NUMBERS.replace("4 < 4", "4 < 9")})
    assert ended(ael, "--last-failed") == (1, ["ok    number 4", "FAIL  number 5"])
    assert ended(ael, "--last-failed") == (1, ["FAIL  number 5"])
    ael.write({"main.ael": NUMBERS.replace("< 4", "< 9")})
    assert ended(ael, "--last-failed") == (0, ["ok    number 5"])
    assert len(ended(ael, "--last-failed")[1]) == 6, "none failed last: all run"


def test_a_seed_mixes_the_order_always_the_same_way(ael: Ael) -> None:  # noqa: F811
    ael.write({"main.ael": NUMBERS})
    mixed = ended(ael, "--seed", "7")[1]
    assert mixed == ended(ael, "--seed", "7")[1]
    assert sorted(mixed) == sorted(ended(ael)[1])
    assert mixed != ended(ael)[1]
    assert ael("test", "--seed", "random").err.startswith("--seed ")


@pytest.mark.feature("C7")
def test_results_for_other_programs(ael: Ael) -> None:  # noqa: F811
    ael.write({"main.ael": NUMBERS})
    done = ael("test", "--format", "json", "--junit", "out.xml", "--durations", "2")
    told = [json.loads(line) for line in done.out.splitlines()]
    assert [one["outcome"] for one in told] == ["passed"] * 4 + ["failed"] * 2
    assert told[4]["id"] == "main.ael::number 4"
    assert "assert 4 < 4" in told[4]["problem"]
    assert sum("main.ael::number" in line and " s  " in line for line in done.err.splitlines()) == 2
    suite = ET.parse(ael.folder / "out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("6", "2")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_test_that_hangs_ends_at_its_time(ael: Ael, jobs: str) -> None:  # noqa: F811
    ael.write({"main.ael": HANGS})
    done = ael("test", "--timeout", "0.4", "-j", jobs)
    assert done.code == 1
    assert "took longer than 0.4 s" in done.err
    assert "ok    goes on" in done.err


def test_a_process_that_dies_is_a_failure_of_its_test(ael: Ael) -> None:  # noqa: F811
    ael.write({"pack.ael": 'pack a {\n  version "1"\n  extern "outside"\n}\n', "main.ael": WAITS.format(function="die")})
    ael.write({"outside.py": "import os\n\n\ndef die():\n    os._exit(3)\n"})
    done = ael("test", "-j", "2")
    assert done.code == 1
    assert "the process that ran it, or another test beside it, died" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-j", "0"), "`--parallel` takes a number from 1 on, or `auto`"),
        (("-j", "many"), "`--parallel` takes a number from 1 on, or `auto`"),
        (("--seed", "x"), "`--seed` takes a number, or `random`"),
        (("--timeout", "0"), "`--timeout` takes seconds above 0"),
        (("--timeout", "nan"), "`--timeout` takes seconds above 0"),
        (("--coverage-min", "101"), "`--coverage-min` takes a percentage from 0 to 100"),
        (("--durations", "-1"), "`--durations` takes a number from 0 on"),
        (("--deploy", "eu"), "`--deploy` belongs to `--record`"),
        (("--filter", "("), "is no regular expression"),
    ],
)
def test_options_that_make_no_sense_are_said(ael: Ael, words: tuple[str, ...], said: str) -> None:  # noqa: F811
    ael.write({"main.ael": NUMBERS})
    done = ael("test", *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.startswith("ael test: ")


@pytest.mark.feature("B24", "C10")
def test_a_change_runs_the_tests_that_it_may_have_broken(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    ael.write(
        {
            "money.ael": "pub fn half(n: Int) -> Int {\n  n div 2\n}\n",
            "main.ael": 'use ./money.{half}\n\ntest "half" {\n  assert half(4) == 2\n}\n',
            "apart.ael": 'test "apart" {\n  assert true\n}\n',
        }
    )
    steps = [
        lambda: ael.write({"money.ael": "pub fn half(n: Int) -> Int {\n  n div 3\n}\n"}),
        lambda: ael.write({"apart.ael": 'test "apart" {\n  assert 1 == 1\n}\n'}),
        lambda: ael.write({"money.ael": "pub fn half(n: Int) -> Int {\n  n div\n}\n"}),
        lambda: ael.write({"notes.md": "Nothing uses this."}),
        lambda: ael.write({"money.ael": "pub fn half(n: Int) -> Int {\n  n div 2\n}\n"}),
    ]
    watch_steps(monkeypatch, steps)
    done = ael("test", "--watch")
    assert done.code == 130
    first, broken, other, wrong, _, mended = done.err.split("testing again ---\n")
    assert first.count("ok ") == 2
    assert "FAIL  half" in broken
    assert "apart" not in broken.partition("---")[0], "what does not use it does not run"
    assert "ok    apart" in other
    assert "FAIL  half" in other, "what failed last runs again"
    assert "AEL0" in wrong
    assert "ok    half" in mended
