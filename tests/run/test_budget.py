"""Budgets: reserved before, settled after, in node, run and tenant at once; hard, exact, and told."""

from __future__ import annotations

import asyncio
import threading
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from ael.run.bindings import Options
from ael.run.budget import Account, Reservation, affordable, cost_of, tighter, worst_cost
from ael.run.events import BudgetReached
from ael.run.ports import ModelError, ModelErrorKind, ModelTurn, Price, Stop, Usage
from ael.types.fault import Fault, FaultKind
from ael.types.spec import BudgetSpec
from tests.run.fakes import FakeModel, call, calls, final, model, said
from tests.run.helpers import Collected, FlatPrices, code, engine, fault_of, node, parameter, run, tool, unit, value_of
from tests.run.loops import ASK, Body

PRICE = Price(Decimal("3"), Decimal("15"), Decimal("0.3"), Decimal("3.75"))


def answering(
    *replies: Any, budget: BudgetSpec | None = None, forever: bool = False, prices: Any = None, **bound: Any
) -> tuple[Any, FakeModel]:
    fake = model(*replies, forever=forever)
    made = unit(tools=[tool("look", Body("x"))], nodes=[node("answer", parameter("q"), tools=["look"], budget=budget)])
    return engine(made, fake, prices=prices, **bound), fake


@pytest.mark.feature("B10", "A7.8")
def test_a_prompt_that_does_not_fit_is_refused_before_the_call() -> None:
    """K02: remaining tokens below the estimated prompt."""
    made, fake = answering(said("x"), budget=BudgetSpec(tokens=20))
    fault = fault_of(run(made, "answer", ASK))
    assert (fault.kind, fault.details["limit"]) == (FaultKind.BUDGET_EXHAUSTED, "tokens")
    assert fake.asked == []


def test_the_maximum_is_cut_to_what_is_left() -> None:
    made, fake = answering(said("x"), budget=BudgetSpec(tokens=500))
    value_of(run(made, "answer", ASK))
    size = fake.conversations[0].spec.system
    assert fake.asked[0].max_tokens < 500 - len(size) // 4 + 10


def test_a_reply_beyond_the_estimate_is_kept_and_ends_the_node() -> None:
    """K02: the reply that overshoots is paid: it and its usage are in the outcome."""
    made, fake = answering(said("expensive", usage=Usage(input=10_000, output=5)), budget=BudgetSpec(tokens=2_000))
    outcome = run(made, "answer", ASK)
    fault = fault_of(outcome)
    assert (fault.kind, fault.details["limit"]) == (FaultKind.BUDGET_EXHAUSTED, "tokens")
    transcript: Any = fault.details["transcript"]
    assert transcript[-1]["text"] == "expensive"
    usage: Any = fault.details["usage"]
    assert usage["input"] == 10_000
    assert outcome.spent.usage.input == 10_000
    assert len(fake.asked) == 1


@pytest.mark.feature("A13.1")
@pytest.mark.parametrize(
    ("budget", "limit"),
    [
        (BudgetSpec(tokens=0), "tokens"),
        (BudgetSpec(cost=Decimal(0)), "cost"),
        (BudgetSpec(steps=0), "steps"),
        (BudgetSpec(tool_calls=0), "tool_calls"),
        (BudgetSpec(time=0), "time"),
    ],
)
def test_zero_means_zero(budget: BudgetSpec, limit: str) -> None:
    """K03: no dimension takes zero for "no limit", not even with a model that costs nothing."""
    made, fake = answering(
        calls(call("look", {})), forever=True, budget=budget, prices=FlatPrices("fast-1", input="0", output="0")
    )
    fault = fault_of(run(made, "answer", ASK))
    assert fault.details["limit"] == limit
    assert len(fake.asked) == (1 if limit == "tool_calls" else 0)


@pytest.mark.feature("A7.9")
def test_a_model_without_a_price_is_never_called_under_a_money_budget() -> None:
    """K03: unpriced is refused, naming the model, whoever's money it is."""
    for where in ("node", "run", "tenant"):
        money = BudgetSpec(cost=Decimal(5))
        made, fake = answering(said("x"), budget=money if where == "node" else None, prices=FlatPrices("other"))
        account = Account("the tenant", money) if where == "tenant" else None
        options = Options(caller="c", budget=money if where == "run" else BudgetSpec(), tenant_account=account)
        fault = fault_of(run(made, "answer", ASK, options))
        assert (fault.kind, fault.details["limit"]) == (FaultKind.BUDGET_EXHAUSTED, "cost")
        assert "fast-1" in fault.message
        assert fake.asked == []


def test_without_a_money_budget_an_unpriced_model_is_told_as_unpriced_never_as_free() -> None:
    made, _ = answering(said("x"))
    outcome = run(made, "answer", ASK)
    assert value_of(outcome) == "x"
    assert outcome.spent.cost is None


def test_classes_of_tokens_are_priced_once_and_exactly() -> None:
    """K04: 3 plain, 12,304 cache-write, 0 cache-read; and a cached count larger than the plain one."""
    assert cost_of(Usage(input=3, cache_write=12_304, output=550), PRICE) == Decimal("0.054399")
    usage = Usage(input=1, cache_read=9_000, output=1, reasoning=2)
    assert cost_of(usage, PRICE) == (Decimal(3) + Decimal(2700) + Decimal(45)) / 1_000_000
    assert usage.total == 9_004


def test_missing_usage_is_estimated_marked_and_charged() -> None:
    """K04: the budget falls although the provider told nothing."""
    made, _ = answering(said("four words are here", usage=None))
    outcome = run(made, "answer", ASK)
    assert outcome.spent.usage.estimated
    assert outcome.spent.usage.input > 20
    assert outcome.spent.usage.output >= 5


@pytest.mark.feature("A8.13")
def test_every_wire_attempt_is_charged() -> None:
    """K04, K34: the attempt that failed had usage of its own."""
    failed = ModelError(ModelErrorKind.UNAVAILABLE, "overloaded", status=529, usage=Usage(input=100))
    made, _ = answering(failed, said("ok", usage=Usage(input=100, output=7)), random=lambda: 1.0)
    outcome = run(made, "answer", ASK)
    assert value_of(outcome) == "ok"
    assert outcome.spent.usage == Usage(input=200, output=7)
    assert outcome.spent.attempts == 2


@pytest.mark.feature("A13.2")
def test_money_ends_a_run_and_names_who_spent_it() -> None:
    turn = calls(call("look", {}), usage=Usage(input=100_000, output=10))
    made, fake = answering(
        turn, forever=True, budget=BudgetSpec(tokens=10**7, steps=100, tool_calls=100), prices=FlatPrices("fast-1")
    )
    options = Options(caller="c", budget=BudgetSpec(cost=Decimal("0.25"), tokens=10**7))
    outcome = run(made, "answer", ASK, options)
    fault = fault_of(outcome)
    assert (fault.details["limit"], fault.details["spender"]) == ("cost", "the run")
    assert outcome.spent.cost is not None
    assert Decimal("0.25") < outcome.spent.cost <= Decimal("0.35")
    assert len(fake.asked) == 3


@pytest.mark.feature("A13.2")
def test_budgets_are_nested_and_the_tenants_is_shared_by_its_runs() -> None:
    tenant = Account("the tenant `acme`", BudgetSpec(steps=3))
    made, _ = answering(said("x"), forever=True)
    for _ in range(3):
        assert value_of(run(made, "answer", ASK, Options(caller="c", tenant_account=tenant))) == "x"
    fault = fault_of(run(made, "answer", ASK, Options(caller="c", tenant_account=tenant)))
    assert fault.details["spender"] == "the tenant `acme`"


def test_parallel_branches_do_not_spend_the_same_allowance_twice() -> None:
    """K02: eight branches, room for three."""

    async def main(k: Any, q: str) -> str:
        async def branch(k: Any, item: object) -> object:
            return await k.act(0, "main.answer", (q,))

        await k.parallel_for(0, list(range(8)), None, branch)
        return ""

    async def most(conversation: Any, number: int) -> Any:
        most = fake.asked[number - 1].max_tokens
        await asyncio.sleep(0)
        return ModelTurn("x", (), Stop.DONE, Usage(input=conversation.size // 4, output=most - 1))

    fake = model(most, forever=True)
    made = unit(nodes=[node("answer", parameter("q"), budget=BudgetSpec(tokens=10_000)), code("main", main, parameter("q"))])
    outcome = run(engine(made, fake), None, ASK, Options(caller="c", budget=BudgetSpec(tokens=3_600)))
    assert fault_of(outcome).details["spender"] == "the run"
    assert 3 <= len(fake.asked) <= 4
    assert outcome.spent.usage.total <= 3_600


@pytest.mark.feature("A13.3")
def test_thresholds_are_told_once_each() -> None:
    events = Collected()
    made, _ = answering(*[calls(call("look", {})) for _ in range(9)], said("x"), budget=BudgetSpec(steps=10, tool_calls=10))
    run(made, "answer", ASK, Options(caller="c", on_event=events))
    told = [
        (event.limit, event.percent)
        for event in events.of(BudgetReached)
        if event.spender == "the node `answer`" and event.limit == "steps"
    ]
    assert told == [("steps", 50), ("steps", 75), ("steps", 90), ("steps", 100)]


def test_the_clock_of_a_budget_is_the_runs_own() -> None:
    made, _ = answering(final({"id": "x"}), budget=BudgetSpec(time=60_000))
    assert run(made, "answer", ASK).spent.seconds >= 0


def test_tighter_takes_the_smaller_of_each() -> None:
    first, second = BudgetSpec(tokens=5, cost=Decimal(2), steps=0), BudgetSpec(tokens=9, cost=Decimal(1), time=3)
    assert tighter(first, second) == BudgetSpec(5, Decimal(1), 3, 0, None)


@given(st.decimals(0, 10, places=4), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_affordable_output_never_costs_more_than_the_money(money: Decimal, prompt: int) -> None:
    tokens = affordable(money, prompt, PRICE)
    assert tokens is not None
    if tokens:
        assert worst_cost(prompt, tokens, PRICE) <= money


# --- any number of takers ---------------------------------------------------------------------------------------------------


class Takers(RuleBasedStateMachine):
    """Reservations of nested accounts, in any order: no account is ever beyond a limit, and nothing is lost."""

    reservations = Bundle("reservations")

    def __init__(self) -> None:
        super().__init__()
        self.tenant = Account("tenant", BudgetSpec(tokens=100, cost=Decimal(10), steps=12, tool_calls=9))
        self.runs = [Account(f"run{n}", BudgetSpec(tokens=60, cost=Decimal(7)), self.tenant) for n in range(2)]
        self.nodes = [Account(f"node{n}", BudgetSpec(tokens=40, steps=5), self.runs[n % 2]) for n in range(4)]
        self.spent = 0
        self.steps = 0
        self.refusals: set[FaultKind] = set()

    @rule(
        target=reservations,
        at=st.integers(0, 3),
        tokens=st.integers(0, 50),
        cost=st.integers(0, 5),
        steps=st.integers(0, 2),
        calls=st.integers(0, 2),
    )
    def take(self, at: int, tokens: int, cost: int, steps: int, calls: int) -> Reservation | None:
        try:
            for _ in range(steps):
                self.nodes[at].take_step(None)
                self.steps += 1
            for _ in range(calls):
                self.nodes[at].take_call(None)
            return self.nodes[at].reserve(tokens, Decimal(cost))
        except Fault as fault:
            self.refusals.add(fault.kind)
            return None

    @rule(taken=consumes(reservations), part=st.integers(0, 100))
    def settle(self, taken: Reservation | None, part: int) -> None:
        if taken is not None:
            tokens = taken.tokens * part // 100
            assert taken.settle(Usage(input=tokens), taken.cost * part / 100) is None
            assert taken.settle(Usage(input=tokens), taken.cost) is None, "a second time books nothing"
            self.spent += tokens

    @rule(taken=consumes(reservations))
    def release(self, taken: Reservation | None) -> None:
        if taken is not None:
            taken.release()

    @invariant()
    def never_beyond(self) -> None:
        assert self.refusals <= {FaultKind.BUDGET_EXHAUSTED}
        for account in (self.tenant, *self.runs, *self.nodes):
            held, held_cost = account.held
            assert held >= 0
            assert held_cost >= 0
            if account.limit.tokens is not None:
                assert account.tokens + held <= account.limit.tokens
            if account.limit.cost is not None:
                assert account.cost + held_cost <= account.limit.cost
            if account.limit.steps is not None:
                assert account.steps <= account.limit.steps
        assert self.tenant.tokens == self.spent == sum(node.tokens for node in self.nodes)
        assert self.tenant.steps == self.steps


Takers.TestCase.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
TestTakers = Takers.TestCase


def test_threads_do_not_take_the_same_room_twice() -> None:
    account = Account("tenant", BudgetSpec(tool_calls=500))
    taken: list[int] = []

    def worker() -> None:
        count = 0
        while True:
            try:
                account.take_call(None)
            except Fault:
                break
            count += 1
        taken.append(count)

    threads = [threading.Thread(target=worker) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(taken) == account.tool_calls == 500


def test_what_was_reserved_for_a_call_that_was_cancelled_is_given_back() -> None:
    """The prompt was sent and is charged as an estimate; nothing stays reserved."""

    async def hang(conversation: Any, number: int) -> Any:
        await asyncio.sleep(60)

    made, _ = answering(hang)
    started: list[Any] = []

    async def stop(run: Any) -> None:
        started.append(run)
        await asyncio.sleep(0.01)
        run.cancel()

    outcome = run(made, "answer", ASK, during=stop)
    assert fault_of(outcome).kind is FaultKind.CANCELLED
    assert started[0].account.held == (0, 0)
    assert outcome.spent.usage.estimated
