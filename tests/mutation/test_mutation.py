"""Each guard has a test that notices when it is gone. Run by CI: one mutation is one test, so that they spread over the workers."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.mutation.catalogue import KINDS, MUTATIONS
from tests.mutation.mutation import ROOT, Mutation
from tests.mutation.runner import Runner


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner() as made:
        yield made


@pytest.mark.parametrize("mutation", [pytest.param(one, id=f"{one.kind} {one.guard}") for one in MUTATIONS])
def test_a_guard_that_is_gone_is_missed(mutation: Mutation, runner: Runner) -> None:
    verdict = runner.kill(mutation)
    assert verdict.killed, f"{mutation.label}: {mutation.tests} passes all the same:\n{verdict.output}"


def test_every_kind_has_a_mutation() -> None:
    assert KINDS - {mutation.kind for mutation in MUTATIONS} == set()


def test_every_kind_is_named_by_a_test() -> None:
    """A test of a kind says so, in its name, its docstring or that of its module."""
    files = [file for file in (ROOT / "tests").rglob("test_*.py") if file.parent.name != "mutation"]
    named = {kind for file in files for kind in re.findall(r"\bK\d\d\b|(?<=Test)K\d\d\b", file.read_text(encoding="utf-8"))}
    assert KINDS - named == set()


def test_a_guard_that_moved_is_told() -> None:
    """A text that is not there, or there twice, is no mutation."""
    for old in ("no such text anywhere", "import"):
        with pytest.raises(ValueError, match="say anew what the guard is"):
            Mutation("K01", "nothing", "ael/run/loop.py", old, "", "").mutated()


def test_a_test_that_does_not_run_kills_nothing(runner: Runner) -> None:
    """Neither one that is not there, nor a module that cannot be imported, passes for a failure of a test."""
    good = next(one for one in MUTATIONS if one.kind == "K01")
    for broken in (good._replace(tests="tests/run/test_loop.py::test_nowhere"), good._replace(new="raise SystemExit(")):
        with pytest.raises(ValueError, match="could not be run"):
            runner.kill(broken)
