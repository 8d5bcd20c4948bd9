"""Generated agents, crashed at every write boundary and after everything that the outside did: nothing is paid or done twice, or lost."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given, settings

from tests.durable.agents import PLANS, agents
from tests.durable.test_crash_runs import SETTINGS, Crasher
from tests.journal.places import Place
from tests.postgres import PostgresServer

EVERYTHING: list[tuple[str, object]] = [
    (
        "fork",
        [[("call", "pay"), ("each", 3)], [("nested", [("round", ([("call", "post")], 2))])], [("think", [["send", "ask"]])]],
    ),
    ("delegate", [("call", "send"), ("call", "pay")]),
    ("choice", ([("call", "ask")], [("fails", True)])),
    ("fails", True),
]


@pytest.mark.timeout(900)
@pytest.mark.feature("A12.6", "A12.7", "A12.8", "K26")
def test_an_agent_is_crashed_everywhere(tmp_path: Path) -> None:
    """Branches, rounds, nested agents, approvals, failures: each place is named by node and visit, so each is found again."""
    for parks in (False, True):
        crasher = Crasher(Place("sqlite", tmp_path / f"{parks}.db", ""))
        crasher.everywhere(agents(EVERYTHING), parks_uncertain=parks)
        assert crasher.crashed >= 60
        assert crasher.doubtful > 0


@pytest.mark.timeout(900)
def test_generated_agents_are_crashed_in_sqlite(tmp_path: Path) -> None:
    crasher = Crasher(Place("sqlite", tmp_path / "runs.db", ""))

    @settings(SETTINGS, max_examples=12)
    @given(PLANS)
    def explore(plan: list[tuple[str, object]]) -> None:
        shutil.rmtree(tmp_path, ignore_errors=True)
        crasher.everywhere(agents(plan), parks_uncertain=False, most=16)

    explore()
    assert crasher.crashed >= 80


@pytest.mark.timeout(300)
def test_an_agent_is_crashed_in_postgres(server: PostgresServer) -> None:
    with closing(Place("postgres", None, server.create(f"t{uuid4().hex}"))) as place:
        crasher = Crasher(place)
        crasher.everywhere(agents(EVERYTHING), parks_uncertain=False, most=20)
    assert crasher.crashed >= 15
