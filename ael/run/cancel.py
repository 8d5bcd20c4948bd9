"""The end of a run: a cancel is a typed outcome, and what was started is joined before what it uses is cleaned up (A2.11, B15)."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import cast

from ael.journal.durable import Fenced, HandedBack, StoreError
from ael.journal.entry import Kind, State
from ael.run.call import CallPlan
from ael.run.deadline import Deadline
from ael.run.given_up import OTHER, GivenUp, cancelled_for
from ael.run.node import time_is_up
from ael.run.outcome import Outcome, Value, outcome_of
from ael.run.run import Run
from ael.run.step import Step
from ael.types.fault import Failure, Fault, FaultKind, Uncertain
from ael.types.problem import DecodeError
from ael.types.type import Named, Type


def cancelled(run: Run) -> Fault:
    """The fault of a run that was cancelled, or whose event loop ends."""
    if run.cancelled is None:
        run.cancelled = "the event loop ended"
    return Fault(FaultKind.CANCELLED, run.cancelled)


def ended_before(run: Run, stopped: GivenUp) -> Fault:
    """The fault of a run that was told to end in an earlier execution, which stopped before that was recorded."""
    limit: Deadline | None = run.deadline
    while limit is not None:
        if limit.depth == stopped.limit:
            return time_is_up(limit.name)
        limit = limit.parent
    run.cancelled = run.cancelled or cancelled_for(run.journal.entries())
    return cancelled(run)


def answer_open(run: Run) -> None:
    """The run ends: what its journal still has open is answered, since nobody goes on with it (runtime.md, section 2).

    A call that an earlier execution started and that has no key may have taken effect; every other one is answered as given up.
    """
    last = {entry.path: entry for entry in run.journal.entries()}
    for entry in last.values():
        if entry.state is State.ANSWERED or entry.kind is Kind.CANCEL:
            continue
        step = Step(run, entry.path, entry.kind, entry.target, entry.digest, entry.key, entry.derived)
        step.state = entry.state
        plan = run.world.plans[entry.target] if entry.kind in (Kind.TOOL, Kind.OPERATION) else None
        with suppress(Fenced, HandedBack, StoreError):
            if isinstance(plan, CallPlan) and plan.interrupted(step):
                lost = Uncertain(step.key, plan.short, step.path, why="it was interrupted after it had started")
                step.give_up(lost, OTHER)
                run.lost.append(lost)
            else:
                step.give_up(Fault(FaultKind.CANCELLED, "the run ended before it was answered"), OTHER)


async def join(run: Run) -> None:
    """Wait for calls that were given up but could not be stopped, for at most the grace; a cancel meanwhile does not cut it short."""
    while True:
        try:
            await run.join()
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling() > 2:
                return
            continue
        return


def conclude(run: Run, value: object, ending: Failure | Fault | Uncertain | None, result: Type | None) -> Outcome:
    """The outcome, as data. Calls that were given up and may have taken effect are told with every ending."""
    codecs, masker = run.world.codecs, run.world.masker
    if ending is None:
        try:
            plain = None if result is None else codecs.value(result).encode(value)
        except DecodeError as error:
            ending = Fault(
                FaultKind.INVALID_OUTPUT, f"the result does not fit its type: {error.text}", path=error.problems[0].path
            )
        else:
            return Value(value, masker.value(plain), run.spent)
    if run.lost and not isinstance(ending, Failure):
        ending.details["uncertain"] = [lost.value() for lost in run.lost if lost is not ending]
    if isinstance(ending, Failure):
        try:
            shown = codecs.value(Named(ending.error)).encode(ending.value)
        except (DecodeError, TypeError, KeyError):
            shown = dict(ending.value)
        return outcome_of(ending, run.spent, masker.value(shown))
    if isinstance(ending, Fault):
        ending.message = masker.text(ending.message)
    ending.details = cast("dict[str, object]", masker.value(ending.details))
    return outcome_of(ending, run.spent)
