"""Accounts in a durable store: the tables, and the transactions on them. Whoever draws holds one lock, so that two see no room twice."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import ROUND_CEILING, Decimal
from typing import Any

from ael.journal.book import Amount, Drawn, Shared, Wanted
from ael.journal.durable import StoreError
from ael.journal.writer import Connection
from ael.types.fault import Fault

TABLES = (
    "CREATE TABLE ael_account (account TEXT NOT NULL, since BIGINT NOT NULL, tokens BIGINT NOT NULL, cost BIGINT NOT NULL,"
    " steps BIGINT NOT NULL, tool_calls BIGINT NOT NULL, PRIMARY KEY (account, since)){table}",
    "CREATE TABLE ael_draw (draw TEXT NOT NULL PRIMARY KEY, run TEXT NOT NULL, accounts TEXT NOT NULL, tokens BIGINT NOT NULL,"
    " cost BIGINT NOT NULL){table}",
    "CREATE INDEX ael_draw_run ON ael_draw (run)",
)
_UNIT = Decimal(10) ** 12
"""Money is kept in whole parts of a millionth of a millionth: a price for a million tokens with six places comes to such."""
_LOCK = "ael accounts"
_ADD = (
    "INSERT INTO ael_account (account, since, tokens, cost, steps, tool_calls) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (account, since) DO UPDATE SET tokens = ael_account.tokens + excluded.tokens,"
    " cost = ael_account.cost + excluded.cost, steps = ael_account.steps + excluded.steps,"
    " tool_calls = ael_account.tool_calls + excluded.tool_calls"
)


class StoreBook:
    """The accounts of a store, through its writer's `submit`."""

    def __init__(self, submit: Callable[..., Any]) -> None:
        self._submit = submit

    async def draw(self, run: str, accounts: Sequence[Shared], wanted: Wanted) -> Drawn | Fault:
        id = secrets.token_hex(12)
        found: Drawn | Fault = await self._submit(lambda db: draw(db, id, run, accounts, wanted))
        return found

    def settle(self, drawn: Drawn, tokens: int, cost: Decimal) -> None:
        # A store that is closed or gone keeps the amount as drawn: never less than was spent.
        with suppress(StoreError):
            self._submit(lambda db: settle(db, drawn.id, tokens, cost), lazy=True, failed=lambda error: None)


def draw(db: Connection, id: str, run: str, accounts: Sequence[Shared], wanted: Wanted) -> Drawn | Fault:
    """Draw what is wanted. Done again after an unknown commit, an open draw is found and not made twice."""
    db.alone(_LOCK)
    now = db.now()
    places = [(one.key, one.since(now)) for one in accounts]
    before = tuple(_used(db, key, since) for key, since in places)
    known = db.rows("SELECT tokens, cost FROM ael_draw WHERE draw = ?", id)
    if known:
        return Drawn(id, Amount(int(known[0][0]), _money(known[0][1])), before)
    amount = wanted(before)
    if isinstance(amount, Fault):
        return amount
    cost = _units(amount.cost)
    for key, since in places:
        db.change(_ADD, key, since, amount.tokens, cost, amount.steps, amount.tool_calls)
    if amount.tokens or cost:
        query = "INSERT INTO ael_draw (draw, run, accounts, tokens, cost) VALUES (?, ?, ?, ?, ?)"
        db.change(query, id, run, json.dumps(places), amount.tokens, cost)
    return Drawn(id, amount, before)


def settle(db: Connection, id: str, tokens: int, cost: Decimal) -> None:
    """Book what was spent, in the period in which it was drawn. Done again it changes nothing."""
    db.alone(_LOCK)
    found = db.rows("SELECT accounts, tokens, cost FROM ael_draw WHERE draw = ?", id)
    if not found:
        return
    places, held, paid = found[0]
    for key, since in json.loads(str(places)):
        db.change(_ADD, key, since, tokens - int(held), _units(cost) - int(paid), 0, 0)
    db.change("DELETE FROM ael_draw WHERE draw = ?", id)


def forget(db: Connection, run: str) -> None:
    """A run is forgotten: what it drew and never settled stays used."""
    db.change("DELETE FROM ael_draw WHERE run = ?", run)


def _used(db: Connection, key: str, since: int) -> Amount:
    found = db.rows("SELECT tokens, cost, steps, tool_calls FROM ael_account WHERE account = ? AND since = ?", key, since)
    if not found:
        return Amount()
    tokens, cost, steps, calls = found[0]
    return Amount(int(tokens), _money(cost), int(steps), int(calls))


def _units(money: Decimal) -> int:
    return int((money * _UNIT).to_integral_value(ROUND_CEILING))


def _money(units: object) -> Decimal:
    return Decimal(int(str(units))) / _UNIT
