"""What holds for one run, in Python's words: who calls, for whom, what may be spent, until when."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from typing import TypeAlias, TypedDict

from ael.data import replace
from ael.embed.error import RequestError
from ael.host import Host, HostError
from ael.hosting.whom import options_for
from ael.run.bindings import Options
from ael.run.events import Event
from ael.run.permission import Layer, closed
from ael.types.spec import BudgetSpec

OnEvent: TypeAlias = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may spend at most; it only tightens what the program and the deployment say.

    `cost` in US dollars (`Decimal("0.50")`, or the same as text), `time` in seconds of work or as a `timedelta`, `steps` model calls.
    """

    tokens: int | None = None
    cost: Decimal | str | int | None = None
    time: float | timedelta | None = None
    steps: int | None = None
    tool_calls: int | None = None

    def spec(self) -> BudgetSpec:
        """As the run time takes it. Raises `RequestError` for what is no amount."""
        for name in ("tokens", "steps", "tool_calls"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 0):
                raise _no_amount(name, value)
        time = None if self.time is None else seconds(self.time, "time")
        return BudgetSpec(self.tokens, self._money(), None if time is None else round(time * 1000), self.steps, self.tool_calls)

    def _money(self) -> Decimal | None:
        if self.cost is None:
            return None
        if isinstance(self.cost, float):
            raise RequestError("AEL0893", f"`cost` is exact: write `Decimal({str(self.cost)!r})`, and no float")
        try:
            cost = Decimal(self.cost)
        except (InvalidOperation, TypeError):
            raise _no_amount("cost", self.cost) from None
        if not cost.is_finite() or cost < 0:
            raise _no_amount("cost", self.cost)
        return cost


class Asked(TypedDict, total=False):
    """The keywords that `run`, `start` and `using` take.

    `caller`: who calls, `tenant`: whose run it is. Their rights and budgets are those that the deployment names; where it names callers, or
    tenants, there are no others. `grants`: all that this caller may do, by permission; it only takes away. `budget`: what may be spent.
    `deadline`: seconds from now, a `timedelta`, or a `datetime` with an offset. `run_id`: the id of the run; one that is there already is
    not begun again. `trace_parent`: the W3C `traceparent` that its trace belongs under. `on_event`: called with each event, in the event
    loop.
    """

    caller: str
    tenant: str
    grants: Iterable[str]
    budget: Budget
    deadline: float | timedelta | datetime
    run_id: str
    trace_parent: str
    on_event: OnEvent


def seconds(value: float | timedelta, name: str) -> float:
    """A length of time in seconds. Raises `RequestError`."""
    found = value.total_seconds() if isinstance(value, timedelta) else value
    if type(found) not in (int, float) or not 0 <= found < float("inf"):
        raise _no_amount(name, value)
    return found


def _no_amount(name: str, value: object) -> RequestError:
    return RequestError("AEL0893", f"`{name}` is {value!r}, and no amount")


def options(host: Host, asked: Asked) -> Options:
    """The options of a run. Raises `RequestError` for what cannot be meant, and for whom nobody runs anything here."""
    try:
        made = options_for(host.opened.deployment, asked.get("tenant"), asked.get("caller"))
    except HostError as error:
        raise RequestError(error.code, error.message, *error.notes) from None
    if "grants" in asked:
        layer = Layer(f"the caller `{made.caller}`", _permissions(host, asked["grants"]))
        made = replace(made, caller_layer=layer)
    if "budget" in asked:
        made = replace(made, budget=asked["budget"].spec())
    if "deadline" in asked:
        made = replace(made, deadline=_deadline(asked["deadline"], host.bindings.clock.now()))
    return replace(made, run=asked.get("run_id"), trace_parent=asked.get("trace_parent"), on_event=asked.get("on_event"))


def _permissions(host: Host, named: Iterable[str]) -> list[str]:
    known = host.unit.permissions
    found = [named] if isinstance(named, str) else list(named)
    for name in found:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise RequestError("AEL0893", f"`grants`: the program has no permission `{name}`{hint}")
    return sorted(closed(found, known))


def _deadline(value: float | timedelta | datetime, now: float) -> float:
    """Seconds since the epoch."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise RequestError("AEL0893", "`deadline` is a datetime without an offset", "write `datetime.now(UTC) + …`")
        return value.astimezone(UTC).timestamp()
    return now + seconds(value, "deadline")
