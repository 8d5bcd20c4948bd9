"""Guards of decision tables."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

TABLE = "tests/check/test_table.py::"

MUTATIONS = (
    Mutation(
        "K53",
        "that two rows which hold at once are told",
        "ael/check/table.py",
        "        if both is None:\n            return None\n        found",
        "        if both is not None:\n            return None\n        found",
        TABLE + "test_rows_that_hold_at_once_are_exactly_those_that_some_case_shows",
    ),
    Mutation(
        "K53",
        "whether a bound belongs to an interval",
        "ael/check/region.py",
        " and not (low_in and high_in))",
        ")",
        TABLE + "test_rows_that_hold_at_once_are_exactly_those_that_some_case_shows",
    ),
    Mutation(
        "K53",
        "that a table does nothing",
        "ael/check/effect.py",
        "if what or isinstance(node, n.Rows):",
        "if what:",
        TABLE + "test_what_a_table_must_have",
    ),
)
