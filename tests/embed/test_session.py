"""Sessions and their runs: events, cancelling, approvals, and runs that outlive the session that began them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, assert_never

import pytest

import ael
from tests.embed.shop import DEPLOY, Orders, Till, loaded, shop
from tests.programs import write

pytestmark = pytest.mark.feature("B22")

MODEL = """\
model fast {
  provider openai
  name "gpt-x"
}

node answer(question: String(max: 200)) -> String(max: 200)
  model fast
  policy one_call
  budget tokens 2_000, time 60s
{
  instructions "Answer."
}
"""


def word(outcome: ael.Outcome[Any]) -> str:
    match outcome:
        case ael.Value():
            return "value"
        case ael.DeclaredError():
            return "error"
        case ael.Faulted():
            return "fault"
        case ael.Uncertain():
            return "uncertain"
        case ael.Suspended():
            return "suspended"
        case _:
            assert_never(outcome)


@pytest.mark.feature("A16.5")
def test_events_stream_from_the_start_to_the_end(tmp_path: Path) -> None:
    write(tmp_path, {"main.ael": MODEL, "deploy.ael": 'runs = memory\nmodel fast = scripted("script.json")\n'})
    (tmp_path / "script.json").write_text(json.dumps([{"text": "Because it is so."}]))

    async def go() -> list[ael.events.Event]:
        async with ael.load(tmp_path).open() as session:
            run = session.start("answer", {"question": "why"})
            seen = [event async for event in run.events()]
            assert (await run).unwrap() == "Because it is so."
            return seen

    seen = asyncio.run(go())
    assert isinstance(seen[0], ael.events.RunStarted)
    assert isinstance(seen[-1], ael.events.RunFinished)
    assert "".join(one.text for one in seen if isinstance(one, ael.events.Text)) == "Because it is so."
    assert any(isinstance(one, ael.events.TurnFinished) for one in seen)


def test_a_budget_stops_the_run(tmp_path: Path) -> None:
    write(tmp_path, {"main.ael": MODEL, "deploy.ael": 'runs = memory\nmodel fast = scripted("script.json")\n'})
    (tmp_path / "script.json").write_text(json.dumps([{"text": "yes"}]))
    outcome = asyncio.run(ael.load(tmp_path).run("answer", {"question": "why"}, budget=ael.Budget(tokens=1)))
    assert isinstance(outcome, ael.Faulted)
    assert outcome.kind is ael.FaultKind.BUDGET_EXHAUSTED


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"budget": ael.Budget(cost=0.5)}, "`cost` is exact"),  # type: ignore[arg-type]  # that is what is refused
        ({"budget": ael.Budget(cost="much")}, "`cost` is 'much', and no amount"),
        ({"budget": ael.Budget(tokens=-1)}, "`tokens` is -1, and no amount"),
        ({"budget": ael.Budget(time=float("inf"))}, "`time` is inf, and no amount"),
        ({"deadline": -1}, "`deadline` is -1, and no amount"),
        ({"deadline": datetime(2026, 1, 1)}, "a datetime without an offset"),  # that is what is refused
        ({"grants": ["orders.reed"]}, "no permission `orders.reed`; did you mean `orders.read`"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, asked: Any, told: str) -> None:
    program = shop(tmp_path, deploy=_CALLER)
    with pytest.raises(ael.RequestError) as raised:
        asyncio.run(program.run("count", **asked))
    assert raised.value.code == "AEL0893"
    assert told in raised.value.message


_CALLER = DEPLOY + 'secret ANN = env("ANN")\ncaller ann = bearer(secret("ANN"), tenant: "acme") grants orders.read\n'


@pytest.mark.feature("A4.4", "A3.3")
def test_a_caller_whom_the_deployment_names_has_the_rights_that_stand_there(tmp_path: Path) -> None:
    orders = Orders()
    program = shop(tmp_path, orders=orders, deploy=_CALLER)
    assert word(asyncio.run(program.run("order", {"id": "A-1"}, caller="ann"))) == "value"
    assert orders.contexts[0].tenant == "acme"
    denied = asyncio.run(program.run("refund", {"id": "A-1"}, caller="ann"))
    assert isinstance(denied, ael.Faulted)
    assert denied.kind is ael.FaultKind.DENIED
    # `grants` takes away, and gives nothing.
    more = asyncio.run(program.run("refund", {"id": "A-1"}, caller="ann", grants=["orders.refund"]))
    assert word(more) == "fault"
    for asked, told in (
        ({"caller": "bob"}, "no caller `bob`"),
        ({"caller": "ann", "tenant": "other"}, "belongs to the tenant `acme`"),
    ):
        with pytest.raises(ael.RequestError, match=told) as raised:
            asyncio.run(program.run("refund", {"id": "A-1"}, **asked))  # type: ignore[call-overload]  # by name
        assert raised.value.code == "AEL0855"


@pytest.mark.feature("A4.14", "K43")
def test_what_tenants_of_the_deployment_may_do_and_spend_holds(tmp_path: Path) -> None:
    program = shop(tmp_path, deploy=DEPLOY + "tenant acme {\n  grants orders.read\n}\ntenant globex {\n  limit concurrent 2\n}\n")

    async def go() -> None:
        async with program.open() as session:
            assert word(await session.run("order", {"id": "A-1"}, tenant="acme")) == "value"
            denied = await session.run("refund", {"id": "A-1"}, tenant="acme")
            assert isinstance(denied, ael.Faulted)
            assert denied.kind is ael.FaultKind.DENIED
            assert word(await session.run("refund", {"id": "A-1"}, tenant="globex")) == "value"
            with pytest.raises(ael.RequestError, match="say whose run it is"):
                await session.run("order", {"id": "A-1"})

    asyncio.run(go())


@pytest.mark.parametrize("deadline", [0, timedelta(0), datetime(2020, 1, 1, tzinfo=UTC)])
def test_a_deadline_that_is_over_ends_the_run_before_it_acts(tmp_path: Path, deadline: Any) -> None:
    till = Till()
    outcome = asyncio.run(shop(tmp_path, till=till).run("refund", {"id": "A-1"}, deadline=deadline))
    assert isinstance(outcome, ael.Faulted)
    assert outcome.kind is ael.FaultKind.DEADLINE_EXCEEDED
    assert not till.paid


class _Waiting(Orders):
    """A provider whose call waits until it is told to go on, or is cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.began = asyncio.Event()
        self.go = asyncio.Event()
        self.cancelled = 0

    async def get(self, id: str, *, ctx: ael.CallContext) -> Any:
        self.began.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return await super().get(id, ctx=ctx)


@pytest.mark.feature("K39")
def test_a_task_that_is_cancelled_cancels_its_run(tmp_path: Path) -> None:
    async def go() -> None:
        waiting = _Waiting()
        async with shop(tmp_path, orders=waiting).open() as session:
            task = asyncio.ensure_future(session.run("order", {"id": "A-1"}))
            await waiting.began.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert waiting.cancelled == 1
            assert not session._under_way

    asyncio.run(go())


def test_cancelling_who_waits_for_a_started_run_does_not_cancel_it(tmp_path: Path) -> None:
    async def go() -> None:
        waiting = _Waiting()
        async with shop(tmp_path, orders=waiting).open() as session:
            run = session.start("order", {"id": "A-1"})
            await waiting.began.wait()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(run.outcome(), 0.01)
            waiting.go.set()
            assert word(await run) == "value"

    asyncio.run(go())


# --- approvals ------------------------------------------------------------------------------------------------------------


def _yes(request: ael.ApprovalRequest) -> bool:
    return request.tool == "main.refund_much" and request.arguments == {"id": "A-1", "amount": Decimal(500)}


async def _ann(request: ael.ApprovalRequest) -> ael.Decision:
    return ael.Decision(True, "ann", arguments={"id": "A-1", "amount": "50.00"})


def _broken(request: ael.ApprovalRequest) -> bool:
    raise ValueError(request.run)


@pytest.mark.feature("A4.5", "A4.6", "K30")
@pytest.mark.parametrize(
    ("approve", "members", "paid"),
    [
        (_yes, '["local"]', [Decimal(500)]),
        (lambda request: False, '["local"]', []),
        (_ann, '["ann"]', [Decimal("50.00")]),
        (_ann, '["bob"]', []),
        (_yes, '["bob"]', []),
        (_broken, '["local"]', []),
        (lambda request: "yes", '["local"]', []),
    ],
)
def test_a_callback_decides_within_its_role(tmp_path: Path, approve: Any, members: str, paid: list[Decimal]) -> None:
    till = Till()
    program = shop(tmp_path, till=till, deploy=DEPLOY.replace('["local"]', members))
    outcome = asyncio.run(program.run("much", {"id": "A-1", "amount": 500}, approve=approve))
    assert till.amounts == paid
    if not paid:
        assert isinstance(outcome, ael.Faulted)
        assert outcome.kind is ael.FaultKind.APPROVAL_DENIED


@pytest.mark.feature("A4.5", "A4.6", "A4.11")
def test_an_approval_that_nobody_gives_parks_the_run_and_another_session_goes_on(tmp_path: Path) -> None:
    till = Till()

    async def begin() -> str:
        async with shop(tmp_path, till=till).open() as session:
            outcome = await session.run("much", {"id": "A-1", "amount": 500}, tenant="acme", run_id="refund-1")
            assert isinstance(outcome, ael.Suspended)
            assert [wait.kind for wait in outcome.waits] == ["approval"]
            with pytest.raises(ael.RequestError, match="still waits: approval"):
                await session.resume(outcome.run)
            return outcome.run

    async def go_on(run: str) -> ael.Outcome[Any]:
        async with shop(tmp_path, till=till).open() as session:
            with pytest.raises(ael.RequestError, match="there is no run"):
                await session.decide(run, True, tenant="other")
            with pytest.raises(ael.RequestError, match="a no needs a reason"):
                await session.decide(run, False)
            with pytest.raises(ael.RequestError, match="carl is no member of it"):
                await session.decide(run, True, by="carl")
            await session.decide(run, True)
            with pytest.raises(ael.RequestError, match="has answered much/refund_much@0 of the run refund-1 already"):
                await session.decide(run, True)
            seen: list[ael.events.Event] = []
            outcome = await session.resume(run, result_type=str, on_event=seen.append)
            assert isinstance(seen[-1], ael.events.RunFinished)
            # A run that has ended says again how.
            assert (await session.resume(run)).unwrap() == outcome.unwrap()
            return outcome

    run = asyncio.run(begin())
    assert not till.paid
    assert asyncio.run(go_on(run)).unwrap() == "refunded 500 for A-1"
    assert list(till.paid.values()) == [1]


@pytest.mark.feature("A12.15")
def test_an_id_stands_for_one_run(tmp_path: Path) -> None:
    till = Till()
    program = shop(tmp_path, till=till)

    async def go() -> None:
        async with program.open() as session:
            first = await session.run("refund", {"id": "A-1"}, run_id="r-1")
            again = await session.run("refund", {"id": "A-1", "amount": Decimal("5.00")}, run_id="r-1")
            assert first.unwrap() == again.unwrap()
            for other in ({"input": {"id": "A-2"}}, {"caller": "eve"}, {"tenant": "other"}):
                with pytest.raises(ael.RequestError, match="the run r-1 is there already") as raised:
                    await session.run("refund", **{"input": {"id": "A-1"}, "run_id": "r-1", **other})  # type: ignore[call-overload]  # by name
                assert raised.value.code == "AEL0905"

    asyncio.run(go())
    assert list(till.paid.values()) == [1]


def test_a_request_that_comes_twice_at_once_is_one_run(tmp_path: Path) -> None:
    async def go(durable: bool) -> None:
        waiting = _Waiting()
        async with shop(tmp_path, orders=waiting).open(durable=durable) as session:
            input = {"id": "A-1"}
            asked = [asyncio.ensure_future(session.run("order", input, run_id=f"o-{durable}")) for _ in range(3)]
            await waiting.began.wait()
            with pytest.raises(ael.RequestError, match="is under way already"):
                session.start("order", input, run_id=f"o-{durable}")
            with pytest.raises(ael.RequestError, match="is there already, with another"):
                await session.run("order", {"id": "A-2"}, run_id=f"o-{durable}")
            # One who goes away takes the run along only if it is theirs.
            asked[2].cancel()
            waiting.go.set()
            assert [word(await one) for one in asked[:2]] == ["value", "value"]
            assert list(waiting.keys.values()) == [1]

    asyncio.run(go(True))
    asyncio.run(go(False))


@pytest.mark.feature("A12.15", "K26")
def test_a_closed_session_leaves_its_kept_runs_to_the_next(tmp_path: Path) -> None:
    till = Till()

    async def begin() -> tuple[str, ael.Outcome[Any]]:
        waiting = _Waiting()
        async with shop(tmp_path, till=till, orders=waiting).open() as session:
            run = session.start("order", {"id": "A-1"})
            await waiting.began.wait()
        return run.id, await run

    async def go_on(run: str) -> None:
        waiting = _Waiting()
        waiting.go.set()
        async with shop(tmp_path, till=till, orders=waiting).open() as session:
            await session.work(until_idle=True)
            assert (await session.resume(run)).unwrap()["id"] == "A-1"

    run, outcome = asyncio.run(begin())
    assert isinstance(outcome, ael.Suspended)
    asyncio.run(go_on(run))


def test_a_session_works_beside_its_own_runs_until_it_is_closed(tmp_path: Path) -> None:
    till = Till()

    async def go() -> None:
        async with shop(tmp_path, till=till).open() as session:
            working = asyncio.ensure_future(session.work(slots=2))
            await asyncio.sleep(0)
            with pytest.raises(ael.RequestError, match="this session works already"):
                await session.work()
            parked = await session.run("much", {"id": "A-1", "amount": 500}, run_id="m-1")
            assert isinstance(parked, ael.Suspended)
            await session.decide("m-1", True)
            while not till.paid:
                await asyncio.sleep(0.01)
        await working
        async with shop(tmp_path, till=till).open() as session:
            await session.work(until_idle=True)
            assert (await session.resume("m-1")).unwrap() == "refunded 500 for A-1"
            working = asyncio.ensure_future(session.work())
            await asyncio.sleep(0)
            working.cancel()
            with pytest.raises(asyncio.CancelledError):
                await working

    asyncio.run(go())
    assert list(till.paid.values()) == [1]


def test_a_run_does_not_go_on_with_another_provider(tmp_path: Path) -> None:
    class Others(Orders):
        pass

    async def begin() -> str:
        async with shop(tmp_path).open() as session:
            return (await session.run("much", {"id": "A-1", "amount": 500})).run

    async def go_on(run: str) -> None:
        async with shop(tmp_path, orders=Others()).open() as session:
            await session.decide(run, True)
            with pytest.raises(ael.RequestError, match="began under other bindings") as raised:
                await session.resume(run)
            assert raised.value.code == "AEL0906"
            assert "service Orders was `Python tests.embed.shop.Orders`" in raised.value.notes[0]

    asyncio.run(go_on(asyncio.run(begin())))


def test_a_run_does_not_go_on_under_another_program(tmp_path: Path) -> None:
    async def begin() -> str:
        async with shop(tmp_path).open() as session:
            return (await session.run("much", {"id": "A-1", "amount": 500})).run

    run = asyncio.run(begin())
    main = (tmp_path / "main.ael").read_text().replace("= 5.00", "= 6.00")
    program = loaded(tmp_path, main=main)

    async def go_on() -> None:
        async with program.open("count") as session:
            with pytest.raises(ael.RequestError, match="the program has changed since the run"):
                await session.resume(run)

    program.provide("Orders", Orders())
    asyncio.run(go_on())


@pytest.mark.feature("A8.10")
def test_a_person_settles_a_call_whose_outcome_nobody_knows(tmp_path: Path) -> None:
    deploy = 'runs = sqlite("runs.db", uncertain: park)\nrole boss = ["local"]\n'

    def lost(id: str, amount: Decimal, reason: str | None = None) -> str:
        raise ConnectionError(id)

    async def go() -> None:
        program = loaded(tmp_path, deploy=deploy)
        program.bind("refund_order", lost)
        async with program.open("refund") as session:
            outcome = await session.run("refund", {"id": "A-1"})
            assert isinstance(outcome, ael.Suspended)
            with pytest.raises(ael.RequestError, match=r"this is no result of `main\.refund_order`"):
                await session.settle(outcome.run, happened=True, result=7)
            await session.settle(outcome.run, happened=True, result="it was paid")
            assert (await session.resume(outcome.run)).unwrap() == "it was paid"

    asyncio.run(go())


# --- a session that is used wrongly ----------------------------------------------------------------------------------------


def test_a_session_is_used_while_it_is_open(tmp_path: Path) -> None:
    async def refused(work: Awaitable[Any], told: str) -> None:
        with pytest.raises(ael.RequestError, match=told) as raised:
            await work
        assert raised.value.code in ("AEL0893", "AEL0904")

    async def go() -> None:
        session = shop(tmp_path).open()
        await refused(session.run("count"), "this session is not open")
        async with session:
            await refused(session.__aenter__(), "this session is open already")
        await refused(session.run("count"), "this session is not open")
        await session.close()
        async with shop(tmp_path).open("count") as narrow:
            await refused(narrow.run("refund", {"id": "A-1"}), "this session was opened for `count` alone")
        async with shop(tmp_path).open(durable=False) as passing:
            await refused(passing.resume("r-1"), "the runs of this session are in memory")
        async with shop(tmp_path).open() as kept:
            await refused_as(kept.resume("r-1"), "there is no run `r-1`")

    async def refused_as(work: Awaitable[Any], told: str) -> None:
        with pytest.raises(ael.RequestError, match=told) as raised:
            await work
        assert raised.value.code == "AEL0905"

    asyncio.run(go())


def test_a_model_without_a_key_is_told_when_it_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    write(tmp_path, {"main.ael": MODEL})
    with pytest.raises(ael.OpenError) as raised:
        asyncio.run(ael.load(tmp_path).run("answer", {"question": "why"}))
    assert raised.value.code == "AEL0830"
    assert raised.value.notes
