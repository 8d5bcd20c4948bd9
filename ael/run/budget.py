"""Budgets are reservations: taken before an act, settled after it, in the node, its run and its tenant at once (runtime.md, section 3).

A lock makes each taking atomic over the whole chain, so that no number of parallel takers spends the same allowance twice, in whichever
thread they are. Zero means zero; only None is "no limit" (K03).
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from threading import Lock
from typing import Final, Literal

from ael.run.ports import Price, Usage
from ael.types.fault import Fault, FaultKind
from ael.types.spec import BudgetSpec

Dimension = Literal["steps", "tool_calls", "tokens", "cost"]
ZERO: Final = Decimal(0)
MARKS: Final = (50, 75, 90, 100)
"""The percentages of a limit that are told, each once."""
_MILLION: Final = Decimal(1_000_000)

Tell = Callable[["Account", Dimension, int], None]
"""Called with an account that has used a percentage of a limit."""


class Meter:
    """Tokens by class, added up in place."""

    __slots__ = ("attempts", "cache_read", "cache_write", "estimated", "input", "output", "reasoning")

    def __init__(self) -> None:
        self.input = self.cache_read = self.cache_write = self.output = self.reasoning = 0
        self.attempts = 0
        self.estimated = False

    def add(self, usage: Usage) -> None:
        self.input += usage.input
        self.cache_read += usage.cache_read
        self.cache_write += usage.cache_write
        self.output += usage.output
        self.reasoning += usage.reasoning
        self.attempts += 1
        if usage.estimated:
            self.estimated = True

    def usage(self) -> Usage:
        """What was added up so far."""
        return Usage(self.input, self.cache_read, self.cache_write, self.output, self.reasoning, self.estimated)


class Account:
    """What one spender (a node's visit, a run, a tenant) may spend and has spent. `name` says who, `path` where in the run.

    `tokens` and `cost` hold what is settled; what is reserved and not settled yet is kept apart and counts as spent until it is.
    """

    __slots__ = (
        "_by_calls",
        "_by_cost",
        "_by_steps",
        "_by_tokens",
        "_held_cost",
        "_held_tokens",
        "_lock",
        "_told",
        "chain",
        "cost",
        "counting",
        "limit",
        "meter",
        "name",
        "path",
        "refused",
        "steps",
        "tokens",
        "tool_calls",
        "unpriced",
    )

    def __init__(self, name: str, limit: BudgetSpec, parent: Account | None = None, path: str = "") -> None:
        self.name = name
        self.path = path
        self.limit = limit
        self.chain: tuple[Account, ...] = (self,) if parent is None else (self, *parent.chain)
        self.counting: tuple[Account, ...] = self.chain if parent is None else (self, *parent.counting)
        """Those of the chain whose steps and tool calls this one's are: all but what it is aside of."""
        self.steps = 0
        self.tool_calls = 0
        self.tokens = 0
        self.cost = ZERO
        self.unpriced = False
        self.refused = 0
        """How often it had no room for what was asked: a program may catch the fault and go on."""
        self.meter = Meter()
        self._held_tokens = 0
        self._held_cost = ZERO
        self._lock: Lock = Lock() if parent is None else parent._lock
        self._told: dict[Dimension, int] = {}
        # Which accounts of the chain limit what: most of them limit little, and this is asked several times a step.
        self._by_steps = tuple([(one, one.limit.steps) for one in self.counting if one.limit.steps is not None])
        self._by_calls = tuple([(one, one.limit.tool_calls) for one in self.counting if one.limit.tool_calls is not None])
        self._by_tokens = tuple([(one, one.limit.tokens) for one in self.chain if one.limit.tokens is not None])
        self._by_cost = tuple([(one, one.limit.cost) for one in self.chain if one.limit.cost is not None])

    def aside(self) -> Account:
        """An account for what is done within a step of this one: its tokens and money are this one's, its own steps and calls are not."""
        made = Account(self.name, BudgetSpec(), self, self.path)
        made.counting = (made, *self.counting[1:])
        made._by_steps = tuple([(one, limit) for one, limit in self._by_steps if one is not self])
        made._by_calls = tuple([(one, limit) for one, limit in self._by_calls if one is not self])
        return made

    def take_step(self, tell: Tell | None) -> int | None:
        """One model step, spent at once, in every account of the chain or in none. Raises the fault `BudgetExhausted`.

        Gives the fewest steps that are left after it; None when nothing limits them.
        """
        least: int | None = None
        with self._lock:
            for account, limit in self._by_steps:
                left = limit - account.steps - 1
                if left < 0:
                    raise exhausted(account, "steps", account.steps, limit)
                if least is None or left < least:
                    least = left
            for account in self.counting:
                account.steps += 1
        if tell is not None:
            self._mark("steps", tell)
        return least

    def take_call(self, tell: Tell | None) -> None:
        """One tool call, spent at once, in every account of the chain or in none. Raises the fault `BudgetExhausted`."""
        with self._lock:
            for account, limit in self._by_calls:
                if account.tool_calls >= limit:
                    raise exhausted(account, "tool_calls", account.tool_calls, limit)
            for account in self.counting:
                account.tool_calls += 1
        if tell is not None:
            self._mark("tool_calls", tell)

    def reserve(self, tokens: int, cost: Decimal = ZERO, tell: Tell | None = None) -> Reservation:
        """Room for tokens and money in every account of the chain, or in none. Raises the fault `BudgetExhausted`."""
        with self._lock:
            for account, most in self._by_tokens:
                if tokens and account.tokens + account._held_tokens + tokens > most:
                    raise exhausted(account, "tokens", account.tokens + account._held_tokens, most, tokens)
            for account, money in self._by_cost:
                if (tokens or cost) and (not money or account.cost + account._held_cost + cost > money):
                    raise exhausted(account, "cost", account.cost + account._held_cost, money, cost)
            for account in self.chain:
                account._held_tokens += tokens
                if cost:
                    account._held_cost += cost
        return Reservation(self, tokens, cost, tell)

    @property
    def steps_left(self) -> int | None:
        """The fewest steps left in the chain; None when nothing limits them."""
        return min([limit - account.steps for account, limit in self._by_steps], default=None)

    @property
    def has_calls(self) -> bool:
        """Whether every account of the chain has room for a tool call."""
        for account, limit in self._by_calls:  # noqa: SIM110  (a generator costs more than the loop)
            if account.tool_calls >= limit:
                return False
        return True

    @property
    def tokens_left(self) -> int | None:
        """The fewest tokens left in the chain, never below zero; None when nothing limits them."""
        least: int | None = None
        for account, limit in self._by_tokens:
            left = limit - account.tokens - account._held_tokens
            if least is None or left < least:
                least = left if left > 0 else 0
        return least

    @property
    def cost_left(self) -> Decimal | None:
        """The least money left in the chain, never below zero; None when no account of it has a money limit."""
        if not self._by_cost:
            return None
        return max(ZERO, min([limit - account.cost - account._held_cost for account, limit in self._by_cost]))

    def left(self) -> BudgetSpec:
        """What is left of this account's own limits; what is reserved counts as spent."""
        limit = self.limit
        with self._lock:
            return BudgetSpec(
                None if limit.tokens is None else max(0, limit.tokens - self.tokens - self._held_tokens),
                None if limit.cost is None else max(ZERO, limit.cost - self.cost - self._held_cost),
                None,
                None if limit.steps is None else max(0, limit.steps - self.steps),
                None if limit.tool_calls is None else max(0, limit.tool_calls - self.tool_calls),
            )

    @property
    def held(self) -> tuple[int, Decimal]:
        """Tokens and money reserved and not settled yet."""
        return self._held_tokens, self._held_cost

    def _settle(self, reserved: Reservation, tokens: int, cost: Decimal | None, usage: Usage | None) -> Fault | None:
        with self._lock:
            over: Fault | None = None
            for account in self.chain:
                account._held_tokens -= reserved.tokens
                if reserved.cost:
                    account._held_cost -= reserved.cost
                account.tokens += tokens
                if cost is None:
                    account.unpriced = True
                elif cost:
                    account.cost += cost
                if usage is not None:
                    account.meter.add(usage)
            for account, most in self._by_tokens:
                if over is None and account.tokens > most:
                    over = exhausted(account, "tokens", account.tokens, most)
            for account, money in self._by_cost:
                if over is None and account.cost > money:
                    over = exhausted(account, "cost", account.cost, money)
        if reserved.tell is not None:
            self._mark("tokens", reserved.tell)
            self._mark("cost", reserved.tell)
        return over

    def _mark(self, dimension: Dimension, tell: Tell) -> None:
        for account in self.chain:
            limit = getattr(account.limit, dimension)
            if not limit:
                continue
            used = getattr(account, dimension)
            told = account._told.get(dimension, 0)
            while told < len(MARKS) and used * 100 >= MARKS[told] * limit:
                account._told[dimension] = told + 1
                tell(account, dimension, MARKS[told])
                told += 1


class Reservation:
    """Room that was taken. Settled once, with what was really spent, or released."""

    __slots__ = ("_account", "_open", "cost", "tell", "tokens")

    def __init__(self, account: Account, tokens: int, cost: Decimal, tell: Tell | None) -> None:
        self._account = account
        self._open = True
        self.tokens = tokens
        self.cost = cost
        self.tell = tell

    def settle(self, usage: Usage, cost: Decimal | None) -> Fault | None:
        """Give back what was reserved and book what was spent. The fault to end with when that is more than a limit, else None."""
        if not self._open:
            return None
        self._open = False
        return self._account._settle(self, usage.total, cost, usage)

    def release(self) -> None:
        """Give everything back: nothing was spent."""
        if self._open:
            self._open = False
            self._account._settle(self, 0, ZERO, None)


def exhausted(account: Account, dimension: Dimension, used: object, limit: object, wanted: object = None) -> Fault:
    """The fault of a budget that ran out: what, whose, how much of how much."""
    shown = f"${used} of ${limit}" if dimension == "cost" else f"{used} of {limit}"
    account.refused += 1
    more = "" if wanted is None else f", and the next call may take {'$' if dimension == 'cost' else ''}{wanted} more"
    return Fault(
        FaultKind.BUDGET_EXHAUSTED,
        f"{account.name} has used {shown} {_WORDS[dimension]}{more}",
        limit=dimension,
        spender=account.name,
        spender_path=account.path,
        used=_plain(used),
        of=_plain(limit),
    )


_WORDS: Final = {"steps": "model steps", "tool_calls": "tool calls", "tokens": "tokens", "cost": "in money"}


def _plain(amount: object) -> object:
    return str(amount) if isinstance(amount, Decimal) else amount


def cost_of(usage: Usage, price: Price) -> Decimal:
    """Exact money for tokens: the classes are disjoint and each is priced once (K04). Reasoning is priced as output."""
    price = price.at(usage.input + usage.cache_read + usage.cache_write)
    return (
        usage.input * price.input
        + usage.cache_read * price.cache_read
        + usage.cache_write * price.cache_write
        + (usage.output + usage.reasoning) * price.output
    ) / _MILLION


def affordable(money: Decimal, prompt: int, price: Price) -> int | None:
    """How many output tokens `money` pays for after a prompt of `prompt` tokens; None when output is free, below zero never."""
    price = price.at(prompt)
    left = money - prompt * max(price.input, price.cache_write) / _MILLION
    if left < 0:
        return 0
    if not price.output:
        return None
    return int(left * _MILLION / price.output)


def worst_cost(prompt: int, output: int, price: Price) -> Decimal:
    """The most that a call can cost: the prompt at its dearest class, and all the output that is asked for."""
    price = price.at(prompt)
    return (prompt * max(price.input, price.cache_write) + output * price.output) / _MILLION


def tighter(first: BudgetSpec, second: BudgetSpec) -> BudgetSpec:
    """Both at once: the smaller of each limit."""
    return BudgetSpec(
        _least(first.tokens, second.tokens),
        _least_money(first.cost, second.cost),
        _least(first.time, second.time),
        _least(first.steps, second.steps),
        _least(first.tool_calls, second.tool_calls),
    )


def _least(first: int | None, second: int | None) -> int | None:
    return second if first is None else first if second is None else min(first, second)


def _least_money(first: Decimal | None, second: Decimal | None) -> Decimal | None:
    return second if first is None else first if second is None else min(first, second)
