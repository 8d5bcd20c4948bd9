"""A shop whose orders, refunds and words to customers are Python, for the tests of the embedding."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path

import ael
from tests.programs import write

PACK = 'pack shop {\n  version "1.0"\n  extern "shop"\n}\n'
MAIN = """\
permission orders.read
permission orders.refund

role boss

error NotFound { id: String(max: 20) }

enum Status { Open, Paid, Closed }

record Order {
  id: String(max: 20)
  total: Decimal
  status: Status
  placed: Timestamp
  tags: List<String(max: 20)>
  note?: String(max: 100)
}

service Orders {
  /// One order.
  get(id: String(max: 20)) -> Order fails NotFound
    needs orders.read
    repeat idempotent
    timeout 60s

  /// All orders.
  all(limit?: Int) -> List<Order>
    needs orders.read
    repeat idempotent
    timeout 60s
}

/// Pay back. Call it when a refund was agreed.
tool refund_order(id: String(max: 20), amount: Decimal, reason?: String(max: 50)) -> String(max: 60)
  needs orders.refund
  repeat never
  timeout 60s
  extern "shop:refund_order"

/// Pay back much. Call it when a large refund was agreed.
tool refund_much(id: String(max: 20), amount: Decimal) -> String(max: 60)
  needs orders.refund
  repeat never
  timeout 60s
  approval required by boss
  extern "shop:refund_much"

/// Double a number in AEL.
tool double(n: Int) -> Int
  needs orders.read
  repeat idempotent
{ n * 2 }

node order(id: String(max: 20)) -> Order fails NotFound
  grants orders.read
{ try Orders.get(id) }

node refund(id: String(max: 20), amount: Decimal = 5.00) -> String(max: 60) fails Uncertain
  grants orders.refund
{ try refund_order(id, amount) }

node much(id: String(max: 20), amount: Decimal) -> String(max: 60) fails Uncertain
  grants orders.refund
{ try refund_much(id, amount) }

node count() -> Int
  grants orders.read
{
  let orders = Orders.all()
  orders.length()
}

node same(order: Order) -> Order { order }
"""
DEPLOY = 'runs = sqlite("runs.db")\nrole boss = ["local"]\n'


class Status(Enum):
    """The states of an order."""

    Open = "open"
    Paid = "paid"
    Closed = "closed"


@dataclass
class Order:
    """An order."""

    id: str
    total: Decimal
    status: Status
    placed: datetime
    tags: tuple[str, ...] = ()
    note: str | None = None


PLACED = datetime(2026, 11, 30, 12, tzinfo=UTC)


class Orders:
    """Provides the service `Orders`; counts the calls by key."""

    def __init__(self) -> None:
        self.keys: Counter[str] = Counter()
        self.contexts: list[ael.CallContext] = []

    async def get(self, id: str, *, ctx: ael.CallContext) -> Order:
        self.keys[ctx.key] += 1
        self.contexts.append(ctx)
        if id == "gone":
            raise ael.Failure("NotFound", id=id)
        if id == "odd":
            raise ael.Failure("NotFound", number=7)
        if id == "other":
            raise ael.Failure("NotListed", id=id)
        if id == "broken":
            raise ValueError("no such shelf")
        return Order(id, Decimal("12.50"), Status.Paid, PLACED, ("new",))

    def all(self, limit: int | None = None) -> list[Order]:
        return [Order("A-1", Decimal(1), Status.Open, PLACED)] * (limit or 3)


class Till:
    """The functions of the refund tools; counts what was paid by key."""

    def __init__(self) -> None:
        self.paid: Counter[str] = Counter()
        self.amounts: list[Decimal] = []

    def refund_order(self, id: str, amount: Decimal, reason: str | None = None, *, ctx: ael.CallContext) -> str:
        self.paid[ctx.key] += 1
        self.amounts.append(amount)
        return f"refunded {amount} for {id}"

    async def refund_much(self, id: str, amount: Decimal, *, ctx: ael.CallContext) -> str:
        return self.refund_order(id, amount, ctx=ctx)


def loaded(folder: Path, *, main: str = MAIN, deploy: str = DEPLOY) -> ael.Program:
    """The program, with nothing bound."""
    write(folder, {"pack.ael": PACK, "main.ael": main, "deploy.ael": deploy})
    return ael.load(folder)


def shop(folder: Path, *, till: Till | None = None, orders: object = None, deploy: str = DEPLOY) -> ael.Program:
    """The program, with its functions bound."""
    program = loaded(folder, deploy=deploy)
    till = till or Till()
    program.bind("refund_order", till.refund_order)
    program.bind("refund_much", till.refund_much)
    program.provide("Orders", orders or Orders())
    return program
