"""A tenant's budget over a fleet: one account in the store of the runs, whichever worker spends, however often a run is taken up again."""

from __future__ import annotations

import asyncio
from collections import Counter
from decimal import Decimal

import pytest

from ael.durable.execute import Execution, new_owner
from ael.durable.worker import Worker
from ael.journal.database import DatabaseStore
from ael.project.tenants import TenantBinding, at_once
from ael.run.bindings import Options
from ael.run.outcome import Value
from ael.run.ports import Usage
from ael.types.fault import FaultKind
from ael.types.spec import BudgetSpec
from tests.durable.shop import Shop, created
from tests.journal.places import Place
from tests.journal.test_accounts import used_of
from tests.run.fakes import said
from tests.run.helpers import FlatPrices
from tests.run.loops import ASK
from tests.run.test_budget import answering

TENANTS = {"acme": TenantBinding("acme", budget=BudgetSpec(tool_calls=10)), "beta": TenantBinding("beta", concurrent=1)}


@pytest.mark.feature("A13.2", "A12.2")
def test_two_workers_spend_one_budget_and_another_tenants_runs_go_on(place: Place) -> None:
    """K02: twenty-four calls are wanted, ten are there: ten are made, in whichever worker, and each run that had none left says whose."""

    async def test() -> None:
        async with place.open() as one, place.open() as other:
            shops = [Shop(), Shop()]
            executions = [
                shop.execution(store, tenants=TENANTS, book=store.book)
                for shop, store in zip(shops, (one, other), strict=True)
            ]  # fmt: skip
            await created(executions[0], *(f"a{at}" for at in range(8)), n=3, tenant="acme")
            await created(executions[0], "b", n=3, tenant="beta")
            workers = [Worker({"program": each}, 3, at_once(TENANTS)) for each in executions]
            await asyncio.gather(*(worker.until_idle() for worker in workers))
            rows = {row.header.run: row for row in await one.rows()}
            paid = shops[0].paid + shops[1].paid
            assert set(paid.values()) == {1}
            assert len(paid) == 10 + 3
            assert rows["b"].ending == "value"
            endings = Counter(row.ending for row in rows.values() if row.header.tenant == "acme")
            assert endings["fault"] >= 5
            for row in rows.values():
                if row.ending == "fault":
                    assert "the tenant `acme` has used 10 of 10 tool calls" in str(row.outcome)

    asyncio.run(test())


@pytest.mark.feature("A12.1", "A13.2")
def test_a_run_that_is_taken_up_again_draws_for_what_is_new_alone(place: Place) -> None:
    """K04: what a lost worker had reserved and never settled stays used, since its provider may have been paid; what is replayed is not."""
    budget = BudgetSpec(tokens=100_000, cost=Decimal(1))
    tenants = {"acme": TenantBinding("acme", budget=budget)}

    async def test() -> None:
        async with place.open() as store:
            engine, fake = answering(
                said("x", usage=Usage(input=10, output=5)), prices=FlatPrices("fast-1"), tenants=tenants, book=store.book
            )
            execution = Execution(engine, store, new_owner(), 60.0)
            options = Options("acme", "ann", run="r1")
            held = execution.fresh("answer", ASK, options)
            assert isinstance(await execution.conclude(held, execution.start(held, options, ASK)), Value)
            shared = engine.access.shared("acme", "ann")
            [first] = await used_of(store.book, *shared)
            assert (first.tokens, first.cost) == (15, Decimal("0.00006"))
            # Another life of a run whose model call was open: it is asked again, and both count.
            lost = await store.book.draw("r2", shared, lambda used: first._replace(tokens=1_000, steps=0))
            assert not isinstance(lost, Exception)
        async with place.open() as store:
            [again] = await used_of(store.book, *shared)
            assert again.tokens == 1_015
            assert len(fake.asked) == 1

    asyncio.run(test())


def test_a_run_for_a_tenant_that_is_gone_ends_denied(place: Place) -> None:
    """A deployment without it any more: the run acts no further, and says why."""

    async def body(store: DatabaseStore) -> None:
        shop = Shop()
        await created(shop.execution(store), "r1", tenant="gone")
        worker = Worker({"program": shop.execution(store, tenants=TENANTS)}, 1)
        await worker.until_idle()
        row = await store.find("r1")
        assert row is not None
        assert row.ending == "fault"
        assert FaultKind.DENIED.value in str(row.outcome)
        assert not shop.paid

    place.run(body)
