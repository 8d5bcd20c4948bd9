"""The same without an event loop."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

import ael
from tests.embed.shop import Order, Orders, Till, loaded, shop

pytestmark = pytest.mark.feature("B22")


def test_a_run_at_once(tmp_path: Path) -> None:
    assert shop(tmp_path).run_sync("order", {"id": "A-1"}, result_type=Order).unwrap().id == "A-1"


def test_a_running_loop_is_not_stopped(tmp_path: Path) -> None:
    program = shop(tmp_path)

    async def go() -> None:
        with pytest.raises(ael.RequestError, match="would stop the event loop") as raised:
            program.run_sync("count")
        assert raised.value.code == "AEL0893"

    asyncio.run(go())


def test_a_session_runs_streams_parks_and_goes_on(tmp_path: Path) -> None:
    till = Till()
    with shop(tmp_path, till=till).open_sync() as session:
        run = session.start("refund", {"id": "A-1"}, result_type=str)
        names = [type(event).__name__ for event in run.events()]
        assert (names[0], names[-1]) == ("RunStarted", "RunFinished")
        assert list(run.events()) == []
        assert run.outcome().unwrap() == "refunded 5.00 for A-1"
        assert run.done
        assert run.spent.tool_calls == 0 or run.spent.tool_calls == 1
        parked = session.run("much", {"id": "A-2", "amount": 500})
        assert isinstance(parked, ael.Suspended)
        session.decide(parked.run, True)
        session.work(until_idle=True)
        assert session.resume(parked.run).unwrap() == "refunded 500 for A-2"
        assert session.warnings == ()
    assert sorted(till.paid.values()) == [1, 1]
    with pytest.raises(ael.RequestError, match="this session is not open"):
        session.run("count")
    session.close()


def test_a_run_is_cancelled_from_the_thread_that_follows_it(tmp_path: Path) -> None:
    began = threading.Event()

    class Waiting(Orders):
        async def get(self, id: str, *, ctx: ael.CallContext) -> Any:
            began.set()
            await asyncio.Event().wait()

    with shop(tmp_path, orders=Waiting()).open_sync() as session:
        run = session.start("order", {"id": "A-1"})
        assert began.wait(60)
        run.cancel("enough")
        outcome = run.outcome()
        assert isinstance(outcome, ael.Faulted)
        assert (outcome.kind, outcome.message) == (ael.FaultKind.CANCELLED, "enough")


def test_a_function_of_a_run_does_not_wait_for_its_own_loop(tmp_path: Path) -> None:
    program = loaded(tmp_path)
    told: list[str] = []

    class Inner(Orders):
        async def get(self, id: str, *, ctx: ael.CallContext) -> Any:
            try:
                session.run("count")
            except ael.RequestError as error:
                told.append(error.code)
            return await super().get(id, ctx=ctx)

    program.provide("Orders", Inner())
    with program.open_sync("order") as session:
        assert session.run("order", {"id": "A-1"}).unwrap()["id"] == "A-1"
    assert told == ["AEL0893"]


def test_what_cannot_be_opened_leaves_no_thread(tmp_path: Path) -> None:
    with pytest.raises(ael.OpenError), loaded(tmp_path).open_sync("refund"):
        pass
    assert "ael-session" not in [thread.name for thread in threading.enumerate()]
