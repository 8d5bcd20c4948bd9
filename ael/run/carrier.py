"""A service that is reached by code of the program (`provide std/transport.Transport as …`): one of its calls, and what came of it.

The body runs under the provider's grants, within the budget and the deadline of the call that it carries, and what it does is journaled
below that. What it says is read as what every placement says (`ael.run.placed`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, cast

from ael.data import dataclass
from ael.journal.entry import Ending, Kind
from ael.run.codec import digest
from ael.run.connector import kept_at, left_behind, plain_setting, within
from ael.run.gate import bad_arguments
from ael.run.placement import PlacedAnswer, PlacedCall, ResultCodec
from ael.run.scope import Scope
from ael.run.step import Step
from ael.types.fault import FAULT_NAMES, Failure, Fault, FaultKind, Uncertain
from ael.types.problem import DecodeError
from ael.types.spec import OperationSpec

if TYPE_CHECKING:
    from ael.run.service import OperationPlan
    from ael.run.world import World

SERVICE = "std/transport.Transport"
"""The standard service of transports."""
CARRY = "carry"
ATTEMPTS = 100
"""Attempts whose records a run that goes on looks through."""


@dataclass(frozen=True)
class ConnectedService:
    """A placement that is a transport of the program. `provide` is its qualified name, `service` the whole name of the service there."""

    provide: str
    service: str
    address: str
    settings: Mapping[str, object]

    @property
    def own(self) -> bool:
        return False

    @property
    def keeps(self) -> bool:
        return False

    def within(self, world: World, spec: OperationSpec, result: ResultCodec, scope: Scope, path: str, depth: int) -> Carrier:
        """The same for one attempt at a call of the operation `spec`, whose code runs below `path`."""
        plan = cast("OperationPlan", world.plans[f"{self.provide}.{CARRY}"])
        return Carrier(self, plan, spec, result, scope, path, depth)

    async def call(self, call: PlacedCall) -> PlacedAnswer:
        raise AssertionError("a transport of the program carries calls within a run")

    async def close(self) -> None:
        """It holds nothing open."""


class Carrier:
    """A `ConnectedService` for one attempt at a call."""

    own = False
    keeps = False

    def __init__(
        self,
        service: ConnectedService,
        plan: OperationPlan,
        spec: OperationSpec,
        result: ResultCodec,
        scope: Scope,
        path: str,
        depth: int,
    ) -> None:
        self._service = service
        self._plan = plan
        self._spec = spec
        self._result = result
        self._scope = scope
        self._path = path
        self._depth = depth

    async def call(self, call: PlacedCall) -> PlacedAnswer:
        """Carry one attempt. What is not known to have been left undone is told so (`sent`)."""
        plan, scope, context = self._plan, self._scope, call.context
        path = self._place(call)
        now = scope.run.world.clock.now()
        left = None if context.deadline == float("inf") else max(0.0, context.deadline - now)
        kept = kept_at(scope, path) or {}
        # What differs when the run is continued is kept with the call: its code must find what it found then.
        if "trace" in kept:
            left, trace = cast("float | None", kept.get("time_left")), str(kept["trace"])
        else:
            trace = context.trace_parent
        told: dict[str, object] = {
            "address": self._service.address,
            "settings": {name: plain_setting(value) for name, value in self._service.settings.items()},
            "service": self._service.service,
            "operation": call.target,
            "arguments": json.loads(call.body),
            "key": context.key,
            "repeat": self._spec.repeat.word,
            "tenant": context.tenant,
            "caller": context.caller,
            "trace": trace,
            "attempts": call.attempts or 0,
        }
        if left is not None:
            told["time_left"] = timedelta(milliseconds=int(left * 1000))
        try:
            named, _ = plan.input.checked({"request": told})
        except DecodeError as error:
            raise _unsent(bad_arguments(error).as_fault(path)) from None
        about = digest([told["address"], told["service"], told["operation"], told["arguments"], told["key"]])
        step = Step(scope.run, path, Kind.OPERATION, plan.name, about, context.key, scope.last)
        step.replayed()
        step.propose({"operation": call.target, "time_left": left, "trace": trace})
        inner = within(scope)
        context.sending("connector")
        try:
            value, _ = await plan.perform(inner, self._depth, step, named, None, False)
        except Failure as failure:
            context.taken_back()
            raise _not_sent(failure) from None
        except Uncertain as lost:
            raise _lost(f"it is not known what became of `{lost.operation}`") from None
        except Fault as fault:
            raise _lost_by(fault) from None
        finally:
            left_behind(scope, inner, path)
        return self._answer(cast("Mapping[str, object]", value), context.key)

    async def close(self) -> None:
        """It holds nothing open."""

    def _place(self, call: PlacedCall) -> str:
        """Where this attempt stands in the journal. What an earlier execution lost is sent again where that does no harm."""
        base = f"{self._path}/{self._plan.short}"
        journal = self._scope.run.journal
        if not (call.resend and journal.continued):
            return base
        for number in range(1, ATTEMPTS):
            path = base if number == 1 else f"{base}~{number}"
            last = journal.last(path)
            if last is None or last.ending is None or last.ending is Ending.VALUE:
                return path
        return base

    def _answer(self, outcome: Mapping[str, object], key: str) -> PlacedAnswer:
        match outcome["kind"]:
            case "Value":
                return PlacedAnswer(self._result.write(outcome["value"]))
            case "Failed":
                return PlacedAnswer(None, {"outcome": "error", "error": outcome["error"], "value": outcome["fields"]})
            case "Faulted" if outcome["fault"] in FAULT_NAMES and outcome["fault"] != FaultKind.CANCELLED.value:
                after = outcome.get("retry_after")
                details = {"retry_after": after.total_seconds()} if isinstance(after, timedelta) else {}
                told = {"kind": outcome["fault"], "message": outcome["message"], "details": details}
                return PlacedAnswer(None, {"outcome": "fault", **told})
            case "Faulted":
                raise _lost(f"the other side ended with `{str(outcome['fault'])[:64]}`, which is no fault")
            case _:
                raise _lost(str(outcome["reason"]))


def _not_sent(failure: Failure) -> Fault:
    """A declared `NotSent`."""
    after = failure.value.get("retry_after")
    more = {"retry_after": after.total_seconds()} if isinstance(after, timedelta) else {}
    return Fault(FaultKind.UNAVAILABLE, str(failure.value.get("reason", "")), sent=False, **more)


def _unsent(fault: Fault) -> Fault:
    fault.details["sent"] = False
    return fault


def _lost(why: str) -> Fault:
    return Fault(FaultKind.DISCONNECTED, why, sent=True)


def _lost_by(fault: Fault) -> Fault:
    """A fault of the body. It may have sent the call before, so what is no lost answer by its kind becomes one; what ends the run stays."""
    if fault.kind in _KEPT:
        return fault
    return Fault(FaultKind.DISCONNECTED, f"{fault.kind.value}: {fault.message}", sent=True)


_KEPT = frozenset(
    {
        FaultKind.CANCELLED,
        FaultKind.DIVERGED,
        FaultKind.DEADLINE_EXCEEDED,
        FaultKind.TIMEOUT,
        FaultKind.UNAVAILABLE,
        FaultKind.DISCONNECTED,
        FaultKind.MALFORMED,
        FaultKind.TOO_LARGE,
    }
)
