"""How a call ends is the same wherever the service runs: values, declared errors, faults, `Uncertain`; and what was done outside."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ael.run.outcome import DeclaredError, Faulted, Outcome, Unsettled, Value
from ael.run.permission import Layer
from ael.run.repeat import key_of
from ael.types.fault import FaultKind
from tests.transports.places import EVERYWHERE, placed
from tests.transports.programs import SHOP
from tests.transports.queues import QUEUES


def told(outcome: Outcome) -> tuple[object, ...]:
    """What of an outcome is the same in every placement."""
    match outcome:
        case Value(plain=plain):
            return "value", plain
        case DeclaredError(error=error, plain=plain):
            return "error", error, plain
        case Faulted(kind=kind):
            return "fault", kind
        case Unsettled(operation=operation, step=step):
            return "uncertain", operation, step
        case _:
            return ("parked",)


CASES: list[tuple[str, str, tuple[object, ...], int]] = [
    ("get", "A-1", ("value", {"id": "A-1", "total": 3}), 1),
    ("get", "none-7", ("error", "main.NotFound", {"id": "none-7", "near": ["A-1", "ä\n"]}), 0),
    ("get", "break:within", ("fault", FaultKind.CRASHED), 1),
    ("get", "lose", ("fault", FaultKind.DISCONNECTED), 1),
    ("get", "big", ("fault", FaultKind.MALFORMED), 0),
    ("caught", "none-7", ("value", "not found: none-7 A-1,ä\n"), 0),
    ("retried", "lose", ("fault", FaultKind.DISCONNECTED), 3),
    ("retried", "once:first", ("value", "once:first"), 2),
    ("brief", "wait:never", ("fault", FaultKind.TIMEOUT), 1),
    ("within", "wait:never", ("fault", FaultKind.DEADLINE_EXCEEDED), 1),
    ("pay", "P-1", ("value", "P-1"), 1),
    ("pay", "lose", ("uncertain", "Orders.pay", "pay/Orders.pay@0"), 1),
    ("book", "break:x", ("uncertain", "Orders.book", "book/Orders.book@0"), 1),
    ("pay_briefly", "wait:never", ("uncertain", "Orders.pay_briefly", "pay_briefly/Orders.pay_briefly@0"), 1),
]


@pytest.mark.feature("A11.1", "A11.2", "A11.4", "D9", "A8.5", "K34", "K39")
@pytest.mark.parametrize("place", EVERYWHERE)
def test_each_ending_is_the_same(place: str, tmp_path: Path) -> None:
    """With as many calls outside: retries are made by one owner, and nothing that is never repeated is sent twice."""

    async def scenario() -> None:
        # What waits in a queue is durable on both sides before it begins, and gets more time for that.
        main = SHOP.replace(" 1s\n", " 4s\n") if place in QUEUES else SHOP
        async with placed(place, tmp_path, main) as program:
            for number, (entry, id, expected, calls) in enumerate(CASES):
                before = len(program.ledger)
                outcome = await program.run(entry, {"id": id}, run=f"run-{number}")
                assert told(outcome) == expected, (entry, id, outcome)
                if isinstance(outcome, Unsettled):
                    # What is open inside is the provider's: whoever calls knows the key of the operation, everywhere.
                    assert outcome.key == key_of(f"run-{number}", outcome.step, f"main.{outcome.operation}")
                made = program.ledger[before:]
                assert len(made) == calls, (entry, id, made)
                assert len({call["key"] for call in made}) <= 1, "all attempts at one effect have one key"

    asyncio.run(scenario())


@pytest.mark.feature("A11.1", "A11.2")
@pytest.mark.parametrize("place", EVERYWHERE)
def test_a_fault_is_caught_wherever_it_is_from(place: str, tmp_path: Path) -> None:
    """What the other side ended with is met by `catch { Fault f => … }` as a fault of this process is."""

    async def scenario() -> None:
        async with placed(place, tmp_path, SHOP) as program:
            outcome = await program.run("caught", {"id": "break:within"})
            assert isinstance(outcome, Value), outcome
            assert str(outcome.plain).startswith("Crashed: ")

    asyncio.run(scenario())


@pytest.mark.feature("A11.1", "A4.2", "A13.6")
@pytest.mark.parametrize("place", EVERYWHERE)
def test_permissions_are_checked_on_this_side(place: str, tmp_path: Path) -> None:
    """A caller without the permission sends nothing, and finds the same fault everywhere."""

    async def scenario() -> None:
        async with placed(place, tmp_path, SHOP) as program:
            nobody = Layer("the caller `tester`", frozenset({"world.act"}))
            outcome = await program.run("get", {"id": "A"}, caller_layer=nobody)
            assert isinstance(outcome, Faulted)
            assert outcome.kind is FaultKind.DENIED
            assert (
                "`main.Orders.get` needs the permission `orders.read`, which the caller `tester` does not grant"
                in outcome.message
            )
            assert not program.ledger

    asyncio.run(scenario())


@pytest.mark.feature("A11.1", "K41")
def test_what_crashed_stays_with_the_other_side_where_that_is_somebody_elses(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async def scenario() -> None:
        async with placed("https", tmp_path, SHOP) as program:
            outcome = await program.run("get", {"id": "break:the inside"})
            assert isinstance(outcome, Faulted)
            assert "the inside" not in outcome.message
            assert "its operator finds it as run r" in outcome.message

    asyncio.run(scenario())
    assert "crashed: `act` failed: ValueError: the inside" in capfd.readouterr().err
