"""Served programs whose runs are kept, in a store of each kind, and what tests of them wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from ael.durable.decide import Open, decide, waiting
from ael.journal.durable import DurableStore, RunRow, RunState
from ael.project.program import Opened
from ael.server.kept import KeptCalls
from tests.journal.places import server
from tests.postgres import PostgresServer
from tests.server.support import TOKEN, Served, opened
from tests.server.test_approval import MAIN as PAYING

__all__ = ["make", "server"]

BOB = "bob-token-0123456789"
WHO = (
    'secret A = env("ALICE_TOKEN")\nsecret B = env("BOB_TOKEN")\n'
    'caller alice = bearer(secret("A"), tenant: "acme")\ncaller bob = bearer(secret("B"), tenant: "acme")\n'
)
Make = Callable[..., Opened]


@pytest.fixture(params=["sqlite", "postgres"])
def make(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Programs in one folder, whose runs are kept in one new store of each kind."""
    runs = 'runs = sqlite("runs.db", lease: 1s)\n'
    if request.param == "postgres":
        postgres: PostgresServer = request.getfixturevalue("server")
        monkeypatch.setenv("RUNS_DB", postgres.create(f"t{uuid4().hex}"))
        runs = 'runs = postgres(secret("RUNS_DB"), lease: 1s)\nsecret RUNS_DB = env("RUNS_DB")\n'
    monkeypatch.setenv("ALICE_TOKEN", TOKEN)
    monkeypatch.setenv("BOB_TOKEN", BOB)
    return lambda main=PAYING, deploy="": opened(tmp_path, main, runs + deploy)


def store_of(served: Served) -> DurableStore:
    assert isinstance(served.service.calls, KeptCalls)
    return served.service.calls._store


async def until(condition: Callable[[], Awaitable[Any]], seconds: float = 60.0) -> Any:
    """Wait until something holds, and give it."""
    async with asyncio.timeout(seconds):
        while not (found := await condition()):
            await asyncio.sleep(0.02)
    return found


async def alone(served: Served) -> None:
    """Wait until the server has seen that no client waits any more."""
    calls = served.service.calls
    assert isinstance(calls, KeptCalls)

    async def nobody() -> bool:
        return not calls._watches and not calls._aside

    await until(nobody)


async def parked(store: DurableStore) -> list[Open]:
    """What waits for a person, once something does."""
    found: list[Open] = await until(lambda: waiting(store))
    return found


async def ended(store: DurableStore, run: str) -> RunRow:
    """The row of a run, once it has ended."""

    async def look() -> RunRow | None:
        row = await store.find(run)
        return row if row is not None and row.state is RunState.ENDED else None

    found: RunRow = await until(look)
    return found


async def says(store: DurableStore, asked: Open, *, approved: bool = True, by: str = "ann", reason: str = "") -> None:
    """Decide as `ael runs approve` and `deny` do."""
    await decide(store, asked, approved=approved, by=by, reason=reason, arguments=None, members={}, now=asked.asked)


KEY = {"idempotencyKey": "k-1"}
