"""What a caller may do and spend is in the record of the run, and holds for whoever goes on with it (A4.4, A4.14)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pytest

from ael.data import replace
from ael.durable.execute import Execution, new_owner, options_of
from ael.durable.rights import named_by
from ael.durable.worker import Worker
from ael.journal.database import DatabaseStore
from ael.journal.durable import RunState
from ael.project.serving import CallerBinding
from ael.run.bindings import Options
from ael.run.budget import Account
from ael.run.permission import Layer
from ael.types.signature import Repeat
from ael.types.spec import BudgetSpec
from ael.types.type import IntType
from tests.journal.places import Place
from tests.run.fakes import call, calls, model, said
from tests.run.helpers import engine, node, parameter, tool, unit

ALICE = Layer("the caller `alice`", {"shop.look"})


def execution(store: DatabaseStore, acted: list[int], now: Sequence[CallerBinding] = ()) -> Execution:
    """A worker's: a model that pays once, which needs `shop.pay`."""

    async def pay(n: int) -> str:
        acted.append(n)
        return "paid"

    tools = [tool("pay", None, parameter("n", IntType()), permission="shop.pay", repeat=Repeat.NEVER)]
    made = engine(
        unit(tools=tools, nodes=[node("main", tools=["pay"], grants=frozenset({"shop.pay", "shop.look"}))]),
        model(calls(call("pay", {"n": 5}, "1")), said("done")),
        externs={"main.pay": pay},
        callers={one.name: one for one in now},
    )
    return Execution(made, store, new_owner(), 60.0, callers=named_by(now))


def options(layer: Layer | None = ALICE, account: Account | None = None) -> Options:
    return Options(run="r1", tenant="acme", caller="alice", caller_layer=layer, tenant_account=account)


async def worked(store: DatabaseStore, given: Options, now: Sequence[CallerBinding] = ()) -> tuple[list[int], object]:
    """Leave a run to another worker; what it did, and how it ended."""
    acted: list[int] = []
    await execution(store, []).create("main", {}, given)
    worker = Worker({"program": execution(store, acted, now)}, 1)
    await worker.until_idle()
    row = await store.find("r1")
    assert row is not None
    assert row.state is RunState.ENDED
    return acted, row.outcome


@pytest.mark.feature("A4.4", "A4.14")
@pytest.mark.parametrize(
    ("layer", "acts"), [(None, True), (ALICE, False), (Layer("x", None, {"shop.pay"}), False), (Layer("x", {"shop.pay"}), True)]
)
def test_whoever_takes_the_run_applies_what_its_caller_may_do(place: Place, layer: Layer | None, acts: bool) -> None:
    async def body(store: DatabaseStore) -> None:
        acted, _ = await worked(store, options(layer))
        assert bool(acted) is acts

    place.run(body)


@pytest.mark.feature("A4.4")
def test_the_layer_of_the_tenant_is_kept_too(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        acted, _ = await worked(store, replace(options(None), tenant_layer=Layer("the tenant `acme`", {"shop.look"})))
        assert acted == []

    place.run(body)


@pytest.mark.feature("A4.4")
@pytest.mark.parametrize(
    ("now", "acts"),
    [
        ([], True),
        ([CallerBinding("alice", "A", "acme")], True),
        ([CallerBinding("alice", "A", "acme", frozenset({"shop.pay"}))], True),
        ([CallerBinding("alice", "A", "acme", frozenset({"shop.look"}))], False),
        ([CallerBinding("alice", "A", "other")], False),
        ([CallerBinding("bob", "B", "acme")], False),
    ],
)
def test_a_later_word_of_the_deployment_only_takes_away(place: Place, now: list[CallerBinding], acts: bool) -> None:
    async def body(store: DatabaseStore) -> None:
        acted, _ = await worked(store, options(Layer("the caller `alice`", {"shop.pay"})), now)
        assert bool(acted) is acts

    place.run(body)


@pytest.mark.feature("A5.1")
def test_what_was_left_of_an_account_goes_with_the_run(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        account = Account("the caller `alice`", BudgetSpec(tool_calls=2))
        account.take_call(None)
        account.take_call(None)
        acted, outcome = await worked(store, options(None, account))
        assert acted == []
        assert isinstance(outcome, dict)
        assert (outcome["kind"], outcome["message"]) == ("BudgetExhausted", "the caller `alice` has used 0 of 0 tool calls")

    place.run(body)


def test_accounts_are_kept_in_their_chain_and_drawn_from_together() -> None:
    above = Account("the tenant `acme`", BudgetSpec(cost=Decimal(3)))
    account = Account("the caller `alice`", BudgetSpec(tokens=100), above)
    account.reserve(30, Decimal(1))
    kept = Execution(engine(unit(nodes=[node("main")]), model()), None, "w", 1.0).pinned("main", options(ALICE, account))  # type: ignore[arg-type]
    found = options_of(kept).tenant_account
    assert found is not None
    assert [(one.name, one.limit.tokens, one.limit.cost) for one in found.chain] == [
        ("the caller `alice`", 70, None),
        ("the tenant `acme`", None, Decimal(2)),
    ]
    assert (found.tokens_left, found.cost_left) == (70, Decimal(2))


def test_a_run_of_an_older_release_keeps_no_rights_and_goes_on_without() -> None:
    found = options_of({"budget": {"steps": 3}, "trace_parent": None})
    assert (found.caller_layer, found.tenant_layer, found.tenant_account, found.budget.steps) == (None, None, None, 3)
