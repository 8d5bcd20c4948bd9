"""Tenants and callers of a deployment: whose runs begin, what they may do, what they spend together, and what one sees of another."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ael.journal.book import MemoryBook
from ael.journal.durable import StoreError
from ael.journal.memory import MemoryJournal
from ael.project.serving import CallerBinding
from ael.project.tenants import TenantBinding
from ael.run.bindings import Options
from ael.run.events import BudgetReached
from ael.run.ports import ModelTurn, Usage
from ael.run.store import MemoryStore, SqliteStore
from ael.run.stored import StorePort
from ael.types.fault import FaultKind
from ael.types.spec import BudgetSpec, StoreSpec
from tests.journal.test_accounts import used_of
from tests.run.fakes import FakeModel, call, calls, said
from tests.run.helpers import TEXT, Collected, FlatPrices, code, engine, fault_of, parameter, run, unit, value_of
from tests.run.loops import ASK
from tests.run.test_budget import answering

ANN = Options("acme", "ann")


def tenants(**budgets: BudgetSpec) -> dict[str, TenantBinding]:
    return {name: TenantBinding(name, budget=budget) for name, budget in budgets.items()}


def limited(*replies: Any, forever: bool = False, caller: BudgetSpec | None = None, **acme: Any) -> tuple[Any, FakeModel]:
    """A node for the tenants `acme`, with a budget, and `beta`, without."""
    callers = {"ann": CallerBinding("ann", "T", "acme", budget=caller)} if caller is not None else {}
    bound = {"tenants": tenants(acme=BudgetSpec(**acme), beta=BudgetSpec()), "callers": callers}
    return answering(*replies, forever=forever, prices=FlatPrices("fast-1"), **bound)


@pytest.mark.feature("A3.3")
@pytest.mark.parametrize("options", [Options(caller="bob"), Options("acne", "bob"), Options("beta", "ann")])
def test_nobody_else_begins_a_run(options: Options) -> None:
    """Neither a tenant that is not there, nor a caller of one for another."""
    made, fake = limited(said("x"), caller=BudgetSpec())
    fault = fault_of(run(made, "answer", ASK, options))
    assert fault.kind is FaultKind.DENIED
    assert fake.asked == []


@pytest.mark.feature("A13.2", "B10")
@pytest.mark.parametrize("limit", [{"tokens": 2_000}, {"cost": Decimal("0.02")}, {"steps": 2}, {"tool_calls": 2}])
def test_the_runs_of_a_tenant_share_one_budget(limit: dict[str, Any]) -> None:
    """K02: one after the other and beside each other, and another tenant's go on."""
    usage = Usage(input=500, output=450)
    made, fake = limited(calls(call("look", {}), usage=usage), forever=True, **limit)
    fault = fault_of(run(made, "answer", ASK, ANN))
    assert (fault.kind, fault.details["limit"]) == (FaultKind.BUDGET_EXHAUSTED, next(iter(limit)))
    assert fault.details["spender"] == "the tenant `acme`"
    asked = len(fake.asked)
    fault = fault_of(run(made, "answer", ASK, Options("acme", "bob")))
    assert fault.details["spender"] == "the tenant `acme`"
    assert len(fake.asked) <= asked + ("tool_calls" in limit)
    fake.replies[:] = [said("done")]
    assert value_of(run(made, "answer", ASK, Options("beta", "bob"))) == "done"


@pytest.mark.feature("A13.2")
def test_runs_beside_each_other_reserve_before_they_ask() -> None:
    """Five at once, and room for two: the others are refused before anything is sent."""
    go = asyncio.Event()

    async def slow(conversation: Any, number: int) -> ModelTurn:
        await go.wait()
        return said("x", usage=Usage(input=10, output=5))

    made, fake = limited(slow, forever=True, tokens=2_400)

    async def beside() -> list[str]:
        started = [made.start("answer", ASK, ANN) for _ in range(5)]
        while len(fake.asked) + sum(one.done for one in started) < 5:
            await asyncio.sleep(0)
        go.set()
        return [type(await one.outcome()).__name__ for one in started]

    ended = asyncio.run(beside())
    assert ended.count("Value") == len(fake.asked)
    assert 2 <= len(fake.asked) < 5
    assert all(asked.max_tokens <= 2_400 for asked in fake.asked)


def test_a_caller_and_its_tenant_are_drawn_from_both() -> None:
    made, fake = limited(said("x", usage=Usage(input=10, output=5)), forever=True, caller=BudgetSpec(steps=1), steps=2)
    assert value_of(run(made, "answer", ASK, ANN)) == "x"
    assert fault_of(run(made, "answer", ASK, ANN)).details["spender"] == "the caller `ann`"
    assert value_of(run(made, "answer", ASK, Options("acme", "bob"))) == "x"
    assert fault_of(run(made, "answer", ASK, Options("acme", "bob"))).details["spender"] == "the tenant `acme`"
    assert len(fake.asked) == 2


def test_the_maximum_is_cut_to_what_the_tenant_has_left() -> None:
    made, fake = limited(said("x"), tokens=500)
    value_of(run(made, "answer", ASK, ANN))
    assert fake.asked[0].max_tokens < 500


@pytest.mark.feature("A7.9")
def test_an_unpriced_model_is_never_asked_with_a_tenants_money() -> None:
    """K03."""
    acme = tenants(acme=BudgetSpec(cost=Decimal(5)))
    made, fake = answering(said("x"), prices=FlatPrices("other"), tenants=acme)
    assert fault_of(run(made, "answer", ASK, ANN)).details["limit"] == "cost"
    assert fake.asked == []


def test_zero_is_none() -> None:
    """K03: no money is no call, be it free."""
    acme = tenants(acme=BudgetSpec(cost=Decimal(0)))
    made, fake = answering(said("x"), prices=FlatPrices("fast-1", input="0", output="0"), tenants=acme)
    assert fault_of(run(made, "answer", ASK, ANN)).details["limit"] == "cost"
    assert fake.asked == []


@pytest.mark.feature("A12.1")
def test_what_the_journal_replays_is_not_drawn_again() -> None:
    """K04: a run that is continued pays the tenant's budget for what is new alone."""
    book = MemoryBook(float)
    journal = MemoryJournal(keep=True)
    budget = BudgetSpec(tokens=50_000, cost=Decimal(1), steps=9, tool_calls=9)
    used = []
    for _ in range(2):
        usage = Usage(input=500, output=450)
        made, _fake = answering(
            *(calls(call("look", {}), usage=usage), said("done", usage=usage)),
            prices=FlatPrices("fast-1"), tenants=tenants(acme=budget), book=book, journal=journal,
        )  # fmt: skip
        assert value_of(run(made, "answer", ASK, Options("acme", "ann", run="r1"))) == "done"
        [shared] = made.access.shared("acme", "ann")
        used.append(asyncio.run(used_of(book, shared)))
    assert used[0] == used[1]
    [one] = used[0]
    assert (one.tokens, one.steps, one.tool_calls) == (1_900, 2, 1)
    assert one.cost == Decimal("0.010")


def test_a_tenants_marks_are_told_with_its_name() -> None:
    told = Collected()
    made, _ = limited(calls(call("look", {})), forever=True, steps=2)
    run(made, "answer", ASK, Options("acme", "ann", on_event=told))
    marks = [(one.spender, one.limit, one.percent) for one in told.of(BudgetReached)]
    assert [("the tenant `acme`", "steps", percent) for percent in (50, 75, 90, 100)] == marks


def test_what_is_withdrawn_from_a_tenant_holds_for_runs_under_way() -> None:
    made, fake = limited(calls(call("look", {})), said("done"))
    made.access.layers("acme", "ann")[0].revoke("read")
    assert value_of(run(made, "answer", ASK, ANN)) == "done"
    [answer] = [part for role, message in fake.conversations[0].messages if role == "answers" for part in message]  # type: ignore[union-attr]
    assert "which the tenant `acme` does not grant" in answer.content


@pytest.mark.feature("K43")
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_nothing_that_a_tenant_keeps_is_seen_by_another(kind: str, tmp_path: Path) -> None:
    """Values, writes done once, removals and listings; what was there before there were tenants is `local`'s."""
    port: StorePort = MemoryStore() if kind == "memory" else SqliteStore(tmp_path / "s.db", "main.notes")

    async def main(k: Any, what: str) -> object:
        match what:
            case "put":
                await k.act(0, "main.notes.put", ("a", k.scope.run.tenant))
            case "remove":
                return str(await k.act(1, "main.notes.remove", ("a",)))
        found = await k.act(2, "main.notes.entries", ())
        return str(sorted(found.items()))

    made = unit(nodes=[code("main", main, parameter("what"))], stores=[StoreSpec("main.notes", TEXT, None)])
    whole = engine(made, stores={"main.notes": port})

    async def all_of_it() -> list[object]:
        told = []
        for tenant, what in (
            *(("local", "put"), ("acme", "list"), ("acme", "put"), ("beta", "put"), ("acme", "list"), ("beta", "remove")),
            *(("acme", "list"), ("beta", "list"), ("local", "list")),
        ):
            # The same run, so that every write has the same token: a token is the tenant's too.
            told.append(value_of(await whole.start("main", {"what": what}, Options(tenant, "c", run="r1")).outcome()))
        await port.close()
        return told

    acme, beta, local = (f"[('a', '{name}')]" for name in ("acme", "beta", "local"))
    assert asyncio.run(all_of_it()) == [local, "[]", acme, beta, acme, "True", acme, "[]", local]


class Gone(MemoryBook):
    """A book whose database has gone."""

    async def draw(self, run: str, accounts: Any, wanted: Any) -> Any:
        raise StoreError("the database of the runs cannot be reached")


def test_without_its_accounts_a_tenant_spends_nothing() -> None:
    """A model is not asked, and the run says why: it is no defect."""
    made, fake = answering(
        said("x"), prices=FlatPrices("fast-1"), tenants=tenants(acme=BudgetSpec(tokens=9_000)), book=Gone(float)
    )
    fault = fault_of(run(made, "answer", ASK, ANN))
    assert (fault.kind, fake.asked) == (FaultKind.UNAVAILABLE, [])
    assert "the account of the tenant `acme` cannot be drawn from" in fault.message
