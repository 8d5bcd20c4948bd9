"""What holds for one run, in Python's words: who calls, for whom, what may be spent, until when."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from typing import TypedDict

from ael.data import replace
from ael.durable.rights import caller_layer
from ael.embed.error import RequestError
from ael.host import Host
from ael.project.serving import SECONDS, CallerBinding
from ael.run.bindings import Options, system_user
from ael.run.events import Event
from ael.run.permission import Layer
from ael.server.caller import Caller
from ael.types.spec import BudgetSpec


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

    `caller`: who calls; one that the deployment names has the rights, the tenant and the budget that stand there. `tenant`: whose run it
    is. `grants`: all that this caller may do, by permission; it only takes away. `budget`: what may be spent. `deadline`: seconds from
    now, a `timedelta`, or a `datetime` with an offset. `run_id`: the id of the run; one that is there already is not begun again.
    `trace_parent`: the W3C `traceparent` that its trace belongs under. `on_event`: called with each event, in the event loop.
    """

    caller: str
    tenant: str
    grants: Iterable[str]
    budget: Budget
    deadline: float | timedelta | datetime
    run_id: str
    trace_parent: str
    on_event: Callable[[Event], None]


def seconds(value: float | timedelta, name: str) -> float:
    """A length of time in seconds. Raises `RequestError`."""
    found = value.total_seconds() if isinstance(value, timedelta) else value
    if type(found) not in (int, float) or not 0 <= found < float("inf"):
        raise _no_amount(name, value)
    return found


def _no_amount(name: str, value: object) -> RequestError:
    return RequestError("AEL0893", f"`{name}` is {value!r}, and no amount")


class Callers:
    """The callers that a deployment names, each with one account for all runs of the session."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._known: dict[str, Caller] = {}

    def options(self, asked: Asked) -> Options:
        """The options of a run. Raises `RequestError` for what cannot be meant."""
        clock = self._host.bindings.clock
        name = asked.get("caller", system_user())
        options = Options(caller=name, tenant=asked.get("tenant", "local"), on_event=asked.get("on_event"))
        binding = self._host.opened.deployment.serving.callers.get(name)
        if binding is not None:
            options = self._bound(options, binding, asked)
        if "grants" in asked:
            own = Layer(f"the caller `{name}`", self._permissions(asked["grants"]))
            options = replace(options, caller_layer=own if options.caller_layer is None else options.caller_layer.within(own))
        if "budget" in asked:
            options = replace(options, budget=asked["budget"].spec())
        if "deadline" in asked:
            options = replace(options, deadline=_deadline(asked["deadline"], clock.now()))
        return replace(options, run=asked.get("run_id"), trace_parent=asked.get("trace_parent"))

    def _bound(self, options: Options, binding: CallerBinding, asked: Asked) -> Options:
        """What the deployment says of this caller holds here as it does for one who comes with a token."""
        if asked.get("tenant", binding.tenant) != binding.tenant:
            message = f"the caller `{binding.name}` belongs to the tenant `{binding.tenant}`, and not to `{asked['tenant']}`"
            raise RequestError("AEL0893", message)
        caller = self._known.get(binding.name)
        if caller is None:
            period = None if binding.period is None else SECONDS[binding.period]
            now = self._host.bindings.clock.now
            caller = self._known[binding.name] = Caller(
                binding.name, binding.tenant, caller_layer(binding), binding.budget, period, binding.concurrent, now
            )
        return replace(options, tenant=caller.tenant, caller_layer=caller.layer, tenant_account=caller.account)

    def _permissions(self, named: Iterable[str]) -> list[str]:
        known: Mapping[str, object] = self._host.unit.permissions
        found = [named] if isinstance(named, str) else list(named)
        for name in found:
            if name not in known:
                near = get_close_matches(name, known, 1)
                hint = f"; did you mean `{near[0]}`?" if near else ""
                raise RequestError("AEL0893", f"`grants`: the program has no permission `{name}`{hint}")
        return found


def _deadline(value: float | timedelta | datetime, now: float) -> float:
    """Seconds since the epoch."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise RequestError("AEL0893", "`deadline` is a datetime without an offset", "write `datetime.now(UTC) + …`")
        return value.astimezone(UTC).timestamp()
    return now + seconds(value, "deadline")
