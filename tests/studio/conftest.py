"""One studio for the tests that only need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.studio.desk import Served, program, studio


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A studio, entered by a client that is no browser."""
    with studio(program(tmp_path_factory.mktemp("studio") / "desk")) as found:
        yield found.enter()
