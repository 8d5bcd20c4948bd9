"""What the command line says of files, environment, flags and endings, to the letter: as the pages of the codes show it."""

from __future__ import annotations

import pytest

from tests.cli.outside import SCENARIOS, told
from tests.error_pages import FOLDER, read
from tests.test_error_pages import EMBEDDED, OUTSIDE_OF_PROGRAMS


@pytest.mark.parametrize("code", SCENARIOS)
@pytest.mark.feature("C4", "C13")
def test_the_message_is_the_one_of_its_page(code: str) -> None:
    ended, out, message = told(code)
    assert (ended, out) == (SCENARIOS[code].exit_code, "")
    assert message == read(FOLDER / f"{code}.md").message, "run `python -m tests.cli.outside`"


def test_every_code_from_outside_of_programs_has_its_scenario() -> None:
    assert set(SCENARIOS) == OUTSIDE_OF_PROGRAMS - EMBEDDED
