"""Performing a call that has passed its checks: write ahead, act within its time, try again by repeat safety, check the result, record it.

Tools and operations share this; they differ in what the body is and whose rights it has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from ael.journal.entry import Ending, Entry, Kind
from ael.run.approval import Approved
from ael.run.codec import InputCodec, ValueCodec, digest, text_of_form, written
from ael.run.deadline import Deadline, Expired, Within
from ael.run.events import Retried
from ael.run.gate import Check, permission
from ael.run.given_up import GivenUp, given_up, limit_of
from ael.run.park import DEFERRALS, WAIT_IN_TASK, Parked, Wait
from ael.run.repeat import retryable, wait_before
from ael.run.scope import Attempts, Scope
from ael.run.step import Step, error_of
from ael.run.trace import OpenSpan
from ael.types.fault import Failure, Fault, FaultKind, Uncertain
from ael.types.problem import DecodeError
from ael.types.signature import Repeat, Signature
from ael.types.spec import RetrySpec
from ael.types.type import StringType


class CallPlan:
    """What can be called and acts. `timeout` in seconds, None for none; sizes in bytes; `sources` the outside data that its result is."""

    kind: Kind = Kind.TOOL
    span = "tool"
    place: object = None
    """What the record of its start says of where that is: `ELSEWHERE`, or nothing."""

    __slots__ = (
        "_unbounded_text",
        "denied",
        "input",
        "max_output",
        "name",
        "only",
        "output",
        "permission",
        "prepares",
        "repeat",
        "retry",
        "runs_code",
        "short",
        "signature",
        "sources",
        "timeout",
    )

    def __init__(
        self,
        name: str,
        short: str,
        signature: Signature,
        permission: str | None,
        repeat: Repeat,
        retry: RetrySpec | None,
        timeout: float | None,
        input: InputCodec,
        output: ValueCodec,
        max_output: int,
        sources: frozenset[str],
    ) -> None:
        self.name = name
        self.short = short
        self.signature = signature
        self.permission = permission
        self.repeat = repeat
        self.retry = retry
        self.timeout = timeout
        self.input = input
        self.output = output
        self.max_output = max_output
        self.sources = sources
        self.denied = False
        self.only: frozenset[str] | None = None
        self.prepares = False
        """Whether `prepare` does something."""
        # Compiled code never awaits by itself: only then a thread has to watch the time limit.
        self.runs_code = False
        # A text without a bound of its own may be as long as the result's limit says, which is looked at where it is used.
        self._unbounded_text = isinstance(signature.result, StringType) and signature.result == StringType()

    # --- what a kind of callable says ------------------------------------------------------------------------------

    def body(self, scope: Scope, path: str, depth: int, step: Step, arguments: dict[str, object]) -> Coroutine[Any, Any, object]:
        """Run it once, under the rights of its body."""
        raise AssertionError(f"{type(self).__name__} has no body")

    async def prepare(self, scope: Scope, path: str) -> None:
        """What has to be there before a call begins; its time is not that of the call. Raises `Fault`: then nothing was sent."""

    # --- the same for all --------------------------------------------------------------------------------------------

    async def perform(
        self, scope: Scope, depth: int, step: Step, arguments: dict[str, object], approved: Approved | None, needs_approval: bool
    ) -> tuple[object, bytes | None]:
        """Act, or replay. The value and its JSON text; raises `Failure`, `Fault` or `Uncertain`. The caller holds a proposed step."""
        run = scope.run
        if step.state is not None:
            known = step.replayed()
            if known is not None:
                scope.note(step.path, frozenset(known.taint))
                scope.touched = scope.touched or self.repeat.can_be_uncertain
                if known.ending is not Ending.VALUE:
                    raise self._replayed(step, known, arguments)
                return known.value, None
            moved = step.elsewhere and self.place is None
            if step.key and (self.interrupted(step) or (moved and self.repeat.can_be_uncertain)):
                why = "it was interrupted after it had started"
                if run.parks_uncertain:
                    raise self.unsettled(step, why, arguments)
                raise self.uncertain(step, why, arguments)
            if moved:
                gone = Fault(FaultKind.UNAVAILABLE, left_there(self.short), final=True)
                step.fail(gone)
                raise gone
        if needs_approval and (approved is None or not approved.fits(self.name, step.path, arguments)):
            refusal = Fault(FaultKind.APPROVAL_DENIED, f"`{self.short}` has no approval for these arguments", path=step.path)
            step.fail(refusal)
            raise refusal
        if self.prepares:
            await self._prepared(scope, step)
        again = permission(scope, self, Check.PERMISSION_AGAIN)
        if again is not None:
            fault = again.as_fault(step.path)
            step.answer(Ending.REFUSED, fault.value())
            raise fault
        try:
            if run.cancelled is not None:
                await asyncio.sleep(0)  # it hears of that here, before anything begins
            waiting = step.start(self.place)
            if waiting is not None:
                await waiting
        except asyncio.CancelledError as error:
            step.sent = False
            self._given_up(scope, step, arguments, None, error)
            raise
        desk = run.desk
        if desk is not None:
            desk.called(self.name, arguments)
        span = run.trace.begin(self.span, self.name, step.path, scope.span) if run.trace is not None else None
        try:
            if self.retry is None or self.repeat.can_be_uncertain:
                value, text, taint = await self._once(scope, depth, step, arguments, scope.attempts, 1, span)
            else:
                value, text, taint = await self._attempts(scope, depth, step, arguments, self.retry, span)
        except Parked:
            if span is not None:
                span.end("parked", scope.seen)
            raise
        except (Failure, Fault, Uncertain) as error:
            run.world.masker.ending(error)
            if isinstance(error, Uncertain) and error.step == step.path and run.parks_uncertain:
                if span is not None:
                    span.end("uncertain", scope.seen, None, key=step.key)
                raise self.unsettled(step, str(error.details.get("why", "")), arguments) from None
            taint = scope.seen | self.sources
            step.fail(error, taint)
            scope.note(step.path, taint)
            if isinstance(error, Uncertain):
                run.uncertain.setdefault((self.name, digest(arguments)), step.path)
            if span is not None:
                span.end(outcome_word(error), taint, {"arguments": arguments, "error": describe(error)}, key=step.key)
            raise
        except BaseException as error:
            self._given_up(scope, step, arguments, span, error)
            raise
        finally:
            if self.repeat.can_be_uncertain and step.sent is not False:
                scope.touched = True
        step.answer(Ending.VALUE, value, taint)
        scope.note(step.path, taint)
        if span is not None:
            span.end("value", taint, {"arguments": arguments, "result": value}, key=step.key)
        if desk is not None:
            await desk.acted(run, self.name, recorded=True)
        return value, text

    async def _prepared(self, scope: Scope, step: Step) -> None:
        try:
            await self.prepare(scope, step.path)
        except Fault as fault:
            taint = scope.seen | self.sources
            step.fail(scope.run.world.masker.ending(fault), taint)
            scope.note(step.path, taint)
            raise

    def interrupted(self, step: Step) -> bool:
        """Whether an earlier execution started this and left open what became of it.

        A body of AEL code is run again over the journal, which knows of each effect in it how far it came.
        """
        return self.repeat.can_be_uncertain and not self.runs_code and step.state is not None and step.state.value == "started"

    def unsettled(self, step: Step, why: str, arguments: dict[str, object]) -> Parked:
        """The call stays open until a person says what became of it (`ael runs settle`)."""
        detail = {"operation": self.short, "key": step.key, "why": why, "arguments": step.run.world.masker.value(arguments)}
        return Parked(Wait("uncertain", step.path, self.name, None, detail))

    def uncertain(self, step: Step, why: str, arguments: dict[str, object]) -> Uncertain:
        """The recorded ending of a call whose effect is unknown; remembered, so that the same act planned anew needs a person."""
        found = Uncertain(step.key, self.short, step.path, why=why)
        step.fail(found)
        step.run.uncertain.setdefault((self.name, digest(arguments)), step.path)
        return found

    def _replayed(self, step: Step, known: Entry, arguments: dict[str, object]) -> BaseException:
        """An ending that is no value, as it was in the execution that recorded it: with what follows from it."""
        run = step.run
        error = error_of(known)
        if isinstance(error, Uncertain):
            run.uncertain.setdefault((self.name, digest(arguments)), step.path)
        stopped = given_up(known)
        if stopped is not None and isinstance(error, Uncertain):
            run.lost.append(error)
        return stopped or error

    def _given_up(
        self, scope: Scope, step: Step, arguments: dict[str, object], span: OpenSpan | None, error: BaseException
    ) -> None:
        """Cancelled, or broken, in the middle of the call: for `never` and `reconcile` nobody knows what happened (K26)."""
        if isinstance(error, asyncio.CancelledError | GivenUp) or self.repeat.can_be_uncertain:
            limit = limit_of(error, scope.deadline.cut_by())
            if self.repeat.can_be_uncertain and step.sent is not False:
                lost = Uncertain(step.key, self.short, step.path, why="it was given up while it ran")
                step.give_up(lost, limit)
                scope.run.uncertain.setdefault((self.name, digest(arguments)), step.path)
                scope.run.lost.append(lost)
                outcome = "uncertain"
            else:
                step.give_up(Fault(FaultKind.CANCELLED, f"`{self.short}` was given up while it ran"), limit)
                outcome = "fault"
            if span is not None:
                span.end(outcome, scope.seen, cancelled=True)

    async def _attempts(
        self, scope: Scope, depth: int, step: Step, arguments: dict[str, object], retry: RetrySpec, span: OpenSpan | None
    ) -> tuple[object, bytes, frozenset[str]]:
        """Try until it ends with anything but a temporary fault, or the attempts, the retries of the callers, or the time are used up."""
        attempts = scope.attempts or Attempts(retry.attempts - 1)
        attempt = 1
        while True:
            try:
                return await self._once(scope, depth, step, arguments, attempts, attempt, span)
            except Fault as fault:
                if attempt >= retry.attempts or not retryable(fault, self.repeat):
                    raise
                run = scope.run
                after = fault.details.get("retry_after")
                wait = wait_before(attempt, retry, run.world.bindings.random, after if isinstance(after, int | float) else None)
                parks = run.parks and wait > WAIT_IN_TASK
                left = scope.deadline.left(parked=parks)
                if (left is not None and wait >= left) or not attempts.take():
                    raise
                if parks:
                    if not step.deferred(run.world.masker.ending(fault), retry.attempts + DEFERRALS):
                        raise
                    detail = {"operation": self.short, "reason": fault.kind.value}
                    raise Parked(Wait("time", step.path, self.name, run.world.clock.now() + wait, detail)) from None
                step.failed_attempt(attempt, run.world.masker.ending(fault))
                tell_retry(step, attempt, wait, fault, span)
                await run.world.clock.sleep(wait)
                again = permission(scope, self, Check.PERMISSION_AGAIN)
                if again is not None:
                    raise again.as_fault(step.path) from None
                attempt += 1

    async def _once(
        self,
        scope: Scope,
        depth: int,
        step: Step,
        arguments: dict[str, object],
        attempts: Attempts | None,
        attempt: int,
        span: OpenSpan | None,
    ) -> tuple[object, bytes, frozenset[str]]:
        step.acting()
        run = scope.run
        path = step.path if attempt == 1 else f"{step.path}~{attempt}"
        if self.timeout == 0:
            raise Fault(FaultKind.TIMEOUT, f"`{self.short}` has a time limit of zero, so it never runs", final=True)
        limit = Deadline(run.world.clock, self.timeout, f"`{self.short}`", scope.deadline)
        inner = scope.inside(scope.rights, limit, attempts, span)
        watchdog = run.world.watchdog if self.runs_code and self.timeout is not None else None
        if watchdog is not None:
            watchdog.watch(limit, run)
        try:
            desk = run.desk
            scripted = None if desk is None else desk.body(self, path, step)
            value = await Within(scripted or self.body(inner, path, depth, step, arguments), limit)
            if desk is not None:
                await desk.acted(run, self.name, recorded=False)
        except Expired as expired:
            if expired.deadline is not limit:
                raise
            raise self._ended(self._too_slow(step), step, inner) from None
        except GivenUp as cut:
            if cut.limit != limit.depth:
                raise
            raise self._ended(self._too_slow(step), step, inner) from None
        except Failure as failure:
            if failure.error in self.signature.fails:
                raise
            raise self._ended(crashed(self.short, failure, run.world.masker.text), step, inner) from failure
        except Fault as fault:
            # Pure code was stopped by the flag: by this call's own limit, or by one around it.
            stopped = fault.kind is FaultKind.DEADLINE_EXCEEDED and fault.details.get("run") == run.id
            run.clear()
            raise self._ended(self._too_slow(step) if stopped and limit.expired() is limit else fault, step, inner) from None
        except Uncertain as open_call:
            raise self.own(open_call, step) from None
        except RecursionError:
            deep = Fault(FaultKind.TOO_DEEP, f"calls in `{self.short}` are nested too deep")
            raise self._ended(deep, step, inner) from None
        except Exception as error:
            raise self._ended(crashed(self.short, error, run.world.masker.text), step, inner) from error
        finally:
            if watchdog is not None:
                watchdog.forget(limit)
            # However it ended: an error carries what had a hand in it as a value does.
            if not inner.seen <= scope.seen:
                scope.seen |= inner.seen
        try:
            text = written(value) if self._unbounded_text and type(value) is str else text_of_form(self.output.encode(value))
        except DecodeError as error:
            message = f"the result of `{self.short}` does not fit its type: {error.text}"
            wrong = Fault(FaultKind.MALFORMED, message, tool=self.name, path=error.problems[0].path)
            raise self._ended(wrong, step, inner) from None
        return value, text, inner.seen if self.sources <= inner.seen else inner.seen | self.sources

    def _too_slow(self, step: Step) -> Fault:
        return Fault(FaultKind.TIMEOUT, f"`{self.short}` took longer than {self.timeout:g} s", path=step.path)

    def _ended(self, fault: Fault, step: Step, inner: Scope) -> Fault | Uncertain:
        """What a failed attempt ends with: for `never` and `reconcile`, a lost reply leaves open what happened (A8.5).

        So does a fault in a body that had already started such a call: whoever is told of a plain failure does it all again (K26).
        """
        if self.repeat.can_be_uncertain and (inner.touched or self.lost(fault, step)):
            return Uncertain(step.key, self.short, step.path, why=fault.message)
        return fault

    def own(self, inside: Uncertain, step: Step) -> Uncertain:
        """What a body that ends with `inside` ends with for its caller."""
        return inside

    def lost(self, fault: Fault, step: Step) -> bool:
        """Whether `fault` leaves open if this took effect: a body of AEL code was cut off by its own time limit."""
        return fault.kind is FaultKind.TIMEOUT and fault.details.get("path") == step.path


def left_there(short: str) -> str:
    """What is told of a call that was sent to where the deployment has no place any more: doing it here would be doing it again."""
    return f"`{short}` was begun where the deployment placed it then, and now it has no such place"


def tell_retry(step: Step, attempt: int, wait: float, fault: Fault, span: OpenSpan | None) -> None:
    """Tell whoever follows the run that it is tried again after `wait` seconds; `span` is that of the call."""
    run = step.run
    if run.listening:
        run.emit(Retried(run.id, step.path, step.target, attempt, wait, fault.kind.value))
    if span is not None and run.trace is not None:
        span.attributes["attempts"] = attempt + 1
        told = run.trace.begin("retry", step.target, step.path, span)
        told.end("fault", (), None, attempt=attempt, wait=wait, reason=fault.kind.value)


def crashed(name: str, error: BaseException, mask: Callable[[str], str]) -> Fault:
    """The fault for an exception that nobody declared. Its text is bounded and without secrets, and never a traceback."""
    try:
        shown = mask(str(error))
    except Exception:
        shown = ""  # it cannot even say what it is
    shown = shown.encode("utf-8", "backslashreplace").decode()
    if len(shown) > 300:
        shown = shown[:300] + "…"
    what = type(error).__name__ if not isinstance(error, Failure) else f"the undeclared error `{error.error}`"
    return Fault(
        FaultKind.CRASHED, f"`{name}` failed: {what}{': ' + shown if shown and not isinstance(error, Failure) else ''}", tool=name
    )


def outcome_word(error: Any) -> str:
    """`error`, `fault` or `uncertain`."""
    return "error" if isinstance(error, Failure) else "fault" if isinstance(error, Fault) else "uncertain"


def describe(error: Failure | Fault | Uncertain) -> dict[str, object]:
    """An ending as plain data, for a trace or a model."""
    match error:
        case Failure():
            return {"error": error.error.rpartition(".")[2], **error.value}
        case Fault():
            return {"fault": error.kind.value, "message": error.message}
        case Uncertain():
            return {"uncertain": error.operation, "key": error.key}
