"""The list of mutations stays true to the code: see `mutants.py`, which CI runs."""

from __future__ import annotations

import pytest

from tests.types.mutants import MUTANTS, TYPES, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.kind}-{mutant.file}")
def test_the_guard_is_there_once(mutant: Mutant) -> None:
    assert (TYPES / mutant.file).read_text(encoding="utf-8").count(mutant.old) == 1
    assert mutant.new != mutant.old
    assert (TYPES.parents[1] / "tests" / "types" / mutant.tests.partition("::")[0]).exists()


def test_every_kind_has_one() -> None:
    kinds = "07 08 09 10 11 12 13 17 18 19 41 47 53"
    assert {mutant.kind for mutant in MUTANTS} == {f"K{number}" for number in kinds.split()}
