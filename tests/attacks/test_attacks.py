"""Every attack is stopped by a check that is no model, and none of its benign twins is (feature A14.6, K44)."""

from __future__ import annotations

from collections import Counter

import pytest

from ael.run.outcome import Value
from tests.attacks.case import CHECKS, Case
from tests.attacks.page import PAGE, page
from tests.attacks.play import check, play
from tests.attacks.suite import CASES

LOOKED_AT = frozenset({"data", "secret", "shown", "journal", "tenant"})
"""What stops by leaving no mark of a refusal: a case says itself what proves it."""


@pytest.mark.feature("A14.6", "K44", "K15", "K19", "K21", "K30")
@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES if case.broken is None])
def test_an_attack_is_stopped(case: Case) -> None:
    played = play(case, case.attack)
    assert played.effects == case.left
    assert case.stopped in played.evidence or case.stopped in LOOKED_AT, (played.evidence, played.outcome)
    if case.shows is not None:
        assert case.shows(played), (played.evidence, played.outcome)


@pytest.mark.feature("A14.6", "A4.1", "K44")
@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES if case.broken is not None])
def test_a_program_that_goes_too_far_is_refused(case: Case) -> None:
    """The attack is on the program: a pack, a skill, what a model wrote. The check says so before anything runs."""
    assert case.broken is not None
    opened, found = check(case, case.broken)
    assert opened is None
    assert {one.code for one in found if one.severity.value == "error"} == {case.stopped}


@pytest.mark.feature("A14.6", "K44")
@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES])
def test_its_benign_twin_is_not(case: Case) -> None:
    """The same program: its effect happens once, nobody is asked, nothing is refused."""
    played = play(case, case.twin)
    assert isinstance(played.outcome, Value), played.outcome
    assert played.effects == (case.done,)
    assert played.person.asked == []
    assert played.refusals == set()


def test_the_page_shows_them_all() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "write it anew: python -m tests.attacks.page"


def test_there_are_enough_and_each_is_told_apart() -> None:
    assert len(CASES) >= 60
    assert all((case.broken is not None) == case.stopped.startswith("AEL") for case in CASES)
    assert [name for name, count in Counter(case.id for case in CASES).items() if count > 1] == []
    assert {case.stopped for case in CASES if not case.stopped.startswith("AEL")} == set(CHECKS)
    assert [case.name for case in CASES if case.stopped in LOOKED_AT and case.shows is None] == []
