"""A transport written in AEL is a placement like any other: the suite of the placements holds for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.connectors import carried
from tests.transports import test_context, test_endings, test_replay, test_values
from tests.transports import test_pressure as pressure

SUITE: list[tuple[Any, Callable[[str, Path], None]]] = [
    (test_endings, test_endings.test_each_ending_is_the_same),
    (test_endings, test_endings.test_permissions_are_checked_on_this_side),
    (test_context, test_context.test_a_cancel_reaches_what_runs_inside),
    (test_context, test_context.test_one_host_in_two_event_loops),
    (test_values, test_values.test_values_of_every_type_come_back_as_they_went),
    (pressure, pressure.test_services_call_each_other),
    (test_replay, test_replay.test_crashed_between_started_and_answered),
]


@pytest.mark.feature("A11.5", "A11.1", "A8.5", "K26", "K34")
@pytest.mark.parametrize(("module", "test"), SUITE, ids=[test.__name__.removeprefix("test_") for _, test in SUITE])
def test_the_suite_of_placements(
    module: Any, test: Callable[[str, Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "placed", carried.placed)
    test("connector", tmp_path)
