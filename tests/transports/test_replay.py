"""A run that is crashed between sending a call and keeping its answer goes on by the repeat safety of the call, wherever that runs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ael.journal.entry import State
from ael.journal.memory import MemoryJournal
from ael.run.bindings import Options
from ael.run.outcome import Unsettled, Value
from tests.transports.places import Setting, placed
from tests.transports.programs import SHOP
from tests.transports.queues import QUEUES


@pytest.mark.feature("A11.4", "A8.5", "A8.8", "K26")
@pytest.mark.parametrize("place", ["process", "https", "grpc", "nats", "postgres"])
def test_crashed_between_started_and_answered(place: str, tmp_path: Path) -> None:
    """Idempotent: sent again under its key, and done once, since the other side knows the key. `never`: `Uncertain`, not sent again;
    but a queue surely knows each key, so that it is asked for what became of it."""

    async def scenario() -> None:
        async with placed(place, tmp_path, SHOP, Setting(workers=1)) as program:
            engine = program.host.engine
            for entry, name in (("get", "G"), ("pay", "P")):
                options = Options(caller="tester", tenant="acme", run=name)
                engine._journal = MemoryJournal()
                first = engine.start(entry, {"id": name}, options)
                assert isinstance(await first.outcome(), Value)
                # What a process leaves that dies before the answer is written.
                crashed = MemoryJournal()
                left = crashed.open(first.journal.header)
                for record in first.journal.entries():
                    if record.target.startswith("main.Orders.") and record.state is State.ANSWERED:
                        break
                    left.append(record)
                engine._journal = crashed
                outcome = await engine.start(entry, {"id": name}, options).outcome()
                known = entry == "get" or place in QUEUES
                assert isinstance(outcome, Value if known else Unsettled), outcome
                assert [call["what"] for call in program.ledger].count(name) == 1
                again = await engine.start(entry, {"id": name}, options).outcome()
                assert type(again) is type(outcome), "replayed from the journal"
                assert [call["what"] for call in program.ledger].count(name) == 1

    asyncio.run(scenario())
