"""What a connector's failures mean to the node that asks: another attempt, the fallback, or the node's own fault."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from ael.host import open_host
from ael.run.bindings import Options
from ael.run.events import FellBack, Retried
from ael.run.outcome import Faulted, Outcome, Value
from ael.types.fault import Failure, Fault, FaultKind
from tests.connectors.asked import SHOP, Asked, Outside, ask, call, opened_in, turn

ONCE = SHOP.replace("repeat idempotent\n  timeout none", "repeat reconcile\n  timeout none").replace(
    "fails NoTurn {\n    try ask", "fails NoTurn, Uncertain {\n    try ask"
)
"""Its way out must not be repeated blindly, as an HTTP POST."""


def no_turn(why: str, **more: object) -> Failure:
    """The declared error of the service."""
    return Failure("NoTurn", {"why": why, "reason": f"it said {why}", **more})


@pytest.mark.feature("A11.5", "A3.3", "K34")
@pytest.mark.parametrize(
    "failure",
    [
        no_turn("Busy"),
        Fault(FaultKind.UNAVAILABLE, "down"),
        Fault(FaultKind.TIMEOUT, "slow"),
        Fault(FaultKind.DISCONNECTED, "gone"),
        ConnectionError("reset"),
    ],
    ids=["busy", "unavailable", "timeout", "disconnected", "connection"],
)
def test_while_it_is_unavailable_its_fallback_is_asked(failure: Exception, tmp_path: Path) -> None:
    """Tried again, then the fallback; each attempt is one request, under one key, and none is more than is told."""
    found = ask(tmp_path, failure, follow=True)
    assert isinstance(found.outcome, Value), found.outcome
    assert found.outcome.plain == "from the spare"
    assert len(found.requests) == 2
    assert len([event for event in found.events if isinstance(event, Retried)]) == 1
    assert len([event for event in found.events if isinstance(event, FellBack)]) == 1
    again = ask(tmp_path / "again", failure, turn("there it is"))
    assert isinstance(again.outcome, Value)
    assert again.outcome.plain == "there it is"


@pytest.mark.feature("A11.5", "A3.3", "K33", "K34")
@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (no_turn("BadRequest"), FaultKind.BAD_ARGUMENTS),
        (no_turn("NotAuthorised"), FaultKind.DENIED),
        (no_turn("TooLong", limit=100), FaultKind.CONTEXT_OVERFLOW),
        (no_turn("Broken"), FaultKind.DISCONNECTED),
        (no_turn("Unreadable"), FaultKind.MALFORMED),
        (no_turn("Whatever"), FaultKind.MALFORMED),
        (Fault(FaultKind.MALFORMED, "no JSON"), FaultKind.MALFORMED),
        (Fault(FaultKind.DENIED, "not here"), FaultKind.DENIED),
        (ValueError("a mistake"), FaultKind.CRASHED),
    ],
    ids=lambda value: str(getattr(value, "value", "")) if isinstance(value, Failure | FaultKind) else type(value).__name__,
)
def test_nothing_else_leads_to_another_attempt(failure: Exception, kind: FaultKind, tmp_path: Path) -> None:
    found = ask(tmp_path, failure)
    assert isinstance(found.outcome, Faulted), found.outcome
    assert found.outcome.kind is kind
    assert len(found.requests) == 1


@pytest.mark.feature("A11.5", "K04")
def test_a_failed_attempt_costs_what_it_says(tmp_path: Path) -> None:
    found = ask(tmp_path, no_turn("Broken", usage={"input": 70, "output": 9}))
    assert (found.outcome.spent.usage.input, found.outcome.spent.usage.output) == (70, 9)
    assert ask(tmp_path / "busy", no_turn("BadRequest")).outcome.spent.usage.total == 0


@pytest.mark.feature("A11.5", "A8.5", "K26", "K34")
def test_a_lost_answer_is_asked_for_again_under_the_same_key(tmp_path: Path) -> None:
    """A way out that is never repeated by itself ends `Uncertain`; asking a model again is no second effect, and needs nobody's word."""
    outside = Outside([ConnectionError("lost"), turn("here")])
    host = open_host(opened_in(tmp_path, ONCE), functions={"main.ask_there": outside.ask})

    async def scenario() -> Outcome:
        async with host:
            return await host.engine.start("plain", {"question": "?"}, Options(run="test")).outcome()

    outcome = asyncio.run(scenario())
    assert isinstance(outcome, Value), outcome
    assert outcome.plain == "here"
    assert len(outside.keys) == 2
    assert len(set(outside.keys)) == 1


@pytest.mark.feature("A11.5", "A14.3", "K39", "K46")
@pytest.mark.parametrize("main", [SHOP, ONCE], ids=["idempotent", "reconcile"])
def test_the_nodes_time_reaches_it(main: str, tmp_path: Path) -> None:
    """What is given up is told so, and the node ends with its own time: what the connector had open is no matter of its caller."""

    async def forever(request: object, after: object) -> object:
        await asyncio.Event().wait()
        return None

    found = ask(tmp_path, forever, entry="hasty", main=main)
    assert isinstance(found.outcome, Faulted), found.outcome
    assert found.outcome.kind is FaultKind.DEADLINE_EXCEEDED
    assert "uncertain" not in found.outcome.details


@pytest.mark.feature("A11.5", "A14.3", "K39")
@pytest.mark.parametrize("main", [SHOP, ONCE], ids=["idempotent", "reconcile"])
def test_a_cancel_reaches_it(main: str, tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def forever(request: object, after: object) -> object:
        begun.set()
        await asyncio.Event().wait()
        return None

    outside = Outside([forever])
    host = open_host(opened_in(tmp_path, main), functions={"main.ask_there": outside.ask})

    async def scenario() -> Outcome:
        async with host:
            run = host.engine.start("plain", {"question": "?"}, Options(run="test"))
            async with asyncio.timeout(60):
                await begun.wait()
            run.cancel()
            return await run.outcome()

    outcome = asyncio.run(scenario())
    assert isinstance(outcome, Faulted)
    assert outcome.kind is FaultKind.CANCELLED
    assert "uncertain" not in outcome.details
    assert outside.cancelled == 1


@pytest.mark.feature("A11.5", "K34")
def test_what_it_asks_to_wait_is_kept_to(tmp_path: Path) -> None:
    """A short wait is waited for, and uses up no other model."""

    found = ask(tmp_path, no_turn("Busy", retry_after=timedelta(milliseconds=30)), turn("now"), follow=True)
    assert isinstance(found.outcome, Value)
    assert found.outcome.plain == "now"
    [again] = [event for event in found.events if isinstance(event, Retried)]
    assert again.wait >= 0.03


@pytest.mark.feature("A11.5", "K05")
def test_the_history_goes_on_with_the_fallback(tmp_path: Path) -> None:
    """What the connector said stays, and its opaque parts are not shown to another."""
    deploy = 'runs = memory\nmodel spare = scripted("turns.json")\n'
    folder = tmp_path / "one"
    folder.mkdir()
    (folder / "turns.json").write_text('[{"final": {"text": "after all"}}]')
    first = turn(calls=[call("look_up", '{"id": "1"}')], stop="Calls", opaque={"secret": "mine"})
    found: Asked = ask(folder, first, no_turn("Busy"), entry="answer", deploy=deploy)
    assert isinstance(found.outcome, Value), found.outcome
    assert found.outcome.plain == {"text": "after all", "sure": True}
