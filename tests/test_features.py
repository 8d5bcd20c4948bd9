"""The feature table is in step with the tests."""

from __future__ import annotations

from tests.features import PAGE, page, proofs, rows

KINDS = frozenset(f"K{number:02}" for number in range(1, 55))
"""Kinds of faults, which tests name beside the rows."""


def test_the_page_of_features_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.features`"


def test_every_row_that_a_test_names_is_in_the_table() -> None:
    unknown = {row: tests for row, tests in proofs().items() if row not in rows() and row not in KINDS}
    assert not unknown
