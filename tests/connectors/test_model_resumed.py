"""A run whose model is a connector, killed after any record: what is finished is not asked again, and nothing is done twice."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ael.host import open_host
from ael.journal.entry import State
from ael.journal.memory import MemoryJournal
from ael.run.bindings import Options
from ael.run.outcome import Suspended, Value
from ael.run.ports import ApprovalRequest, Decision
from tests.cli.conftest import clean_environment
from tests.connectors.asked import PACK, SHOP, Given, Outside, call, opened_in, turn
from tests.connectors.test_model_faults import ONCE
from tests.programs import write

ROOT = Path(__file__).parents[2]
OUTSIDE = """\
def ask(request, after=None):
    said = len(request["messages"])
    if said == 1:
        return {"stop": "Calls", "calls": [{"id": "", "name": "look_up", "arguments": '{"id": "A-1"}'}]}
    if after is None:
        return {"text": "So ", "next": "1"}
    return {"final": '{"text": "order"}', "stop": "Done"}
"""


@pytest.mark.timeout(300)
@pytest.mark.feature("A11.5", "A8.9", "A8.10", "K26", "K27")
@pytest.mark.parametrize("main", [SHOP, ONCE], ids=["idempotent", "reconcile"])
def test_killed_after_each_record(main: str, tmp_path: Path) -> None:
    """Real processes, really killed. The end is the same each time, and no request is sent twice that was answered."""
    folder = tmp_path / "shop"
    write(
        folder,
        {"pack.ael": PACK, "main.ael": main, "outside.py": OUTSIDE, "deploy.ael": 'model spare = scripted("spare.json")\n'},
    )
    (folder / "spare.json").write_text('[{"final": {"text": "spare"}}]')
    words = ["answer", "--question", "Where?", "--crash-at", "every", "--json"]
    command = [sys.executable, "-m", "ael", "run", str(folder), *words]
    environment = {**clean_environment(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=280)
    assert "Traceback" not in done.stderr, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["problems"] == []
    assert told["runs"] > 10
    assert told["endings"] == {"value": told["runs"]}
    asked = [one for one in told["effects"] if one["target"].endswith("ask_there")]
    assert asked
    assert all(set(one["sent"]) <= {"0", "1", "2"} for one in asked)


@pytest.mark.feature("A11.5", "A8.10", "K27", "K28")
@pytest.mark.parametrize("kept", range(1, 30))
def test_a_run_goes_on_behind_what_is_recorded(kept: int, tmp_path: Path) -> None:
    """Cut after any number of records; the budget that is left and whether somebody follows may be another then."""
    first: list[Given] = [
        turn(calls=[call("look_up", '{"id": "1"}')], stop="Calls"),
        {"text": "a", "next": "1"},
        turn(final='{"text": "b"}'),
    ]
    outside = Outside(list(first))
    host = open_host(opened_in(tmp_path), functions={"main.ask_there": outside.ask})

    async def scenario() -> None:
        async with host:
            engine = host.engine
            engine._journal = MemoryJournal()
            options = Options(run="test", on_event=lambda event: None)
            whole = engine.start("answer", {"question": "?"}, options)
            assert isinstance(await whole.outcome(), Value)
            entries = whole.journal.entries()
            if kept >= len(entries):
                return
            crashed = MemoryJournal()
            left = crashed.open(whole.journal.header)
            for record in entries[:kept]:
                left.append(record)
            engine._journal = crashed
            answered = {e.path for e in entries[:kept] if e.state is State.ANSWERED and e.target == "main.ask_there"}
            outside.given = first[len(answered) :] or [turn(final='{"text": "not asked"}')]
            before = len(outside.requests)
            outcome = await engine.start("answer", {"question": "?"}, Options(run="test")).outcome()
            assert isinstance(outcome, Value), outcome
            assert outcome.plain == {"text": "b", "sure": True}
            assert len(outside.requests) - before == 3 - len(answered)

    asyncio.run(scenario())


class _Nobody:
    """Decides nothing, until it does."""

    decision: Decision | None = None

    async def decide(self, request: ApprovalRequest) -> Decision | None:
        return self.decision


@pytest.mark.feature("A11.5", "K30")
def test_a_person_is_asked_for_what_a_connector_does(tmp_path: Path) -> None:
    """The run parks below its turn, with nothing booked; decided, the turn is asked for again, and its way out is taken once."""
    asked = SHOP.replace("  needs out.use\n", "  needs out.use\n  approval required\n", 1)
    outside, person = Outside([turn("word", usage={"input": 50, "output": 5})]), _Nobody()
    host = open_host(opened_in(tmp_path, asked), functions={"main.ask_there": outside.ask}, approver=person)

    async def scenario() -> None:
        async with host:
            host.engine._journal = MemoryJournal()
            options = Options(run="test", park=True)
            parked = await host.engine.start("plain", {"question": "?"}, options).outcome()
            assert isinstance(parked, Suspended), parked
            assert parked.waits[0].path.startswith("plain/turn1/remote.ask/ask_there@0")
            assert parked.spent.usage.total == 0
            assert outside.requests == []
            person.decision = Decision(True, "ann")
            outcome = await host.engine.start("plain", {"question": "?"}, options).outcome()
            assert isinstance(outcome, Value), outcome
            assert outcome.plain == "word"
            assert (outcome.spent.usage.input, len(outside.requests)) == (50, 1)

    asyncio.run(scenario())
