"""The model loop of runtime.md, section 2, in the order it says: reserve, ask, finish or run the calls, repeat; never "until done"."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ael.journal.entry import Ending, Kind
from ael.run.calls import Answered, Calls
from ael.run.compact import crowded, shared_step, summarise
from ael.run.conversation import Link, Talk
from ael.run.events import TurnFinished, TurnStarted
from ael.run.final import decode_final
from ael.run.given_up import OTHER, given_up
from ael.run.message import problems_text
from ael.run.park import Parked
from ael.run.ports import ModelTurn, Stop, ToolAnswer, Usage
from ael.run.remote import attach_all
from ael.run.scope import Scope
from ael.run.step import Step, error_of
from ael.run.streaming import Streaming
from ael.run.trace import OpenSpan
from ael.run.turn import failed_record, from_record, looks_like_call, to_record, transcript, was_cut
from ael.types.fault import Fault, FaultKind, Uncertain
from ael.types.problem import DecodeError

if TYPE_CHECKING:
    from ael.run.node import ModelNodePlan


_DONE, _CALLS, _CUT = Stop.DONE, Stop.CALLS, Stop.CUT


class Visit:
    """One visit of a model-driven node."""

    __slots__ = ("_arguments", "_attempts", "_calls", "_followed", "_path", "_plan", "_scope", "_source", "_talk", "_turn")

    def __init__(
        self, plan: ModelNodePlan, scope: Scope, path: str, depth: int, talk: Talk, arguments: tuple[object, ...]
    ) -> None:
        self._plan = plan
        self._scope = scope
        self._path = path
        self._talk = talk
        self._arguments = arguments
        self._attempts = plan.attempts
        self._followed = 0
        """How many of its follow-ups the model was told."""
        self._turn = 0
        self._calls = Calls(scope, depth, plan.offered)
        self._source: frozenset[str] = frozenset()

    async def run(self) -> object:
        """The node's value. What it ends with otherwise carries the transcript and the usage."""
        try:
            while True:
                finished, value = await self._step()
                if finished:
                    return value
        except Fault as fault:
            self._complete(fault.details)
            raise
        except Uncertain as uncertain:
            self._complete(uncertain.details)
            raise

    async def _step(self) -> tuple[bool, object]:
        """One turn: ask, and finish or answer its calls."""
        self._turn += 1
        path = f"{self._path}/turn{self._turn}"
        if self._plan.servers:
            await self._attach(path)
        account = self._scope.account
        last = account.take_step(self._scope.run.tell) == 0
        if self._scope.run.purse is not None:
            last = await shared_step(self._scope, path) == 0 or last
        span = None
        run = self._scope.run
        if run.trace is not None:
            span = self._talk.span = run.trace.begin("turn", self._plan.model, path, self._scope.span)
        try:
            if self._plan.spec.history_summarize and crowded(self._talk):
                await summarise(self._scope, self._talk, self._plan.model, path)
                last = account.steps_left == 0
            turn, cut, over = await self._ask(path, last or not account.has_calls, span)
        except BaseException as error:
            if span is not None:
                span.end("fault", (), None, reason=type(error).__name__ if not isinstance(error, Fault) else error.kind.value)
            raise
        if over is not None:
            self._answer_none(path, turn, "not run: the budget is used up", FaultKind.BUDGET_EXHAUSTED)
            raise over
        if (ending := self._stopped(turn)) is not None:
            self._answer_none(path, turn, f"not run: {ending.message}", ending.kind)
            raise ending
        if cut:
            return self._after_cut(path, turn, last)
        if turn.final is not None or not turn.calls:
            return self._after_final(path, turn, last)
        return await self._after_calls(path, turn, last)

    async def _attach(self, path: str) -> None:
        """Before a model is asked, the servers of the tools that it is offered; what the journal holds needs none (A9.25)."""
        journal = self._scope.run.journal
        known = journal.last(path) if journal.continued else None
        if known is None or known.ending is None:
            await attach_all(self._scope, path, self._plan.servers)

    # --- asking ----------------------------------------------------------------------------------------------------

    async def _ask(self, path: str, last: bool, span: OpenSpan | None) -> tuple[ModelTurn, bool, Fault | None]:
        """The next turn, from the journal or from the model; whether it was cut; the fault of a budget that it went beyond."""
        run = self._scope.run
        plan = self._plan
        step = Step(run, path, Kind.MODEL, plan.model, self._talk.digest(), "", self._scope.last)
        if run.inspect is not None:
            run.inspect(path, self._talk)
        known = step.replayed()
        clock = run.world.clock
        started = clock.monotonic()
        if known is not None:
            if known.ending is not Ending.VALUE:
                raise given_up(known) or error_of(known)
            turn, usage, cut, failed = from_record(known.value)
            link = next((link for link in self._talk.chain if link.bound.model == turn.model), self._talk.chain[0])
            for used in failed:
                self._talk.charge(used, link)
            cost, over = self._talk.charge(usage, link)
        else:
            if run.listening:
                run.emit(TurnStarted(run.id, path, plan.short, self._talk.chain[0].name, self._turn))
            waiting = step.start()
            try:
                if waiting is not None:
                    await waiting
                streaming = Streaming(run, path, plan) if run.followed else None
                asked = await self._talk.ask(path, last, streaming)
                if streaming is not None:
                    streaming.end()
            except Fault as fault:
                step.answer(Ending.FAULT, {**fault.value(), **failed_record(self._talk.failed)})
                raise
            except Parked:
                raise
            except asyncio.CancelledError:
                step.give_up(Fault(FaultKind.CANCELLED, "the model call was given up"), self._scope.deadline.cut_by() or OTHER)
                raise
            except BaseException:
                step.fail(Fault(FaultKind.CANCELLED, "the model call was given up"))
                raise
            turn, usage, cost, link, over = asked.turn, asked.usage, asked.cost, asked.link, asked.over
            cut = was_cut(turn, asked.max_tokens)
        # What a connector saw on its way to the turn is in the record of it.
        seen = self._scope.seen if known is None else self._scope.seen | frozenset(known.taint)
        self._source = seen if link.source <= seen else seen | link.source
        if known is None:
            step.answer(Ending.VALUE, to_record(turn, usage, cut, self._talk.failed, cost), self._source)
            if run.listening:
                seconds = clock.monotonic() - started
                run.emit(TurnFinished(run.id, path, plan.short, link.name, turn.stop.value, usage, cost, seconds))
        self._scope.note(path, self._source)
        if span is not None:
            if known is not None:
                span.attributes["replayed"] = True
            self._end_span(span, turn, link, usage, str(cost) if cost is not None else None, cut)
        return turn, cut, over

    def _end_span(self, span: OpenSpan, turn: ModelTurn, link: Link, usage: Usage, cost: str | None, cut: bool) -> None:
        attributes: dict[str, object] = {
            "model": link.bound.model,
            "provider": link.bound.provider.name,
            "stop": turn.stop.value,
            "input": usage.input,
            "output": usage.output,
            "cache_read": usage.cache_read,
            "cache_write": usage.cache_write,
            "reasoning": usage.reasoning,
            "estimated": usage.estimated,
            "cost": cost,
        }
        if cut:
            attributes["cut"] = True
        if turn.text and looks_like_call(turn.text):
            attributes["looks_like_call"] = True
        if turn.final is not None and turn.text:
            attributes["text_beside_result"] = True
        if turn.calls:
            attributes["call_ids"] = [call.id for call in turn.calls]
        calls = [{"name": call.name, "arguments": call.arguments} for call in turn.calls]
        span.end("value", self._source, {"text": turn.text, "final": turn.final, "calls": calls}, **attributes)

    # --- the kinds of turn --------------------------------------------------------------------------------------------

    def _stopped(self, turn: ModelTurn) -> Fault | None:
        """The one outcome of a stop reason that ends the node (K33)."""
        stop = turn.stop
        if stop is _CALLS or stop is _DONE or stop is _CUT:
            return None
        name = self._plan.short
        detail = f": {self._scope.run.world.masker.text(turn.detail)[:300]}" if turn.detail else ""
        match turn.stop:
            case Stop.REFUSED:
                return Fault(FaultKind.MODEL_REFUSED, f"the model refused to do `{name}`{detail}", text=turn.text[:1000])
            case Stop.FILTERED:
                return Fault(
                    FaultKind.CONTENT_FILTERED, f"the provider filtered the answer of `{name}`{detail}", text=turn.text[:1000]
                )
            case Stop.UNKNOWN:
                return Fault(
                    FaultKind.MALFORMED, f"the model ended `{name}` with a stop reason that is not known{detail}", stop="unknown"
                )
            case Stop.DONE | Stop.CALLS | Stop.CUT:
                return None

    def _after_cut(self, path: str, turn: ModelTurn, last: bool) -> tuple[bool, object]:
        """A cut turn runs nothing. Within the attempts, the model is told and asked again."""
        text = "not run: the turn was cut at its token maximum"
        result = self._calls.refuse_all(path, turn.calls, text, FaultKind.MODEL_CUT)
        self._attempts -= 1
        said = "Your turn was cut because it was too long. Nothing of it was run. Be shorter."
        self._talk.say(turn, tuple(result.answers), said)
        if result.end is not None:
            raise result.end
        if self._attempts <= 0 or last:
            raise Fault(
                FaultKind.MODEL_CUT, f"the answer of `{self._plan.short}` was cut at its token maximum", text=turn.text[:1000]
            )
        return False, None

    def _after_final(self, path: str, turn: ModelTurn, last: bool) -> tuple[bool, object]:
        """A final result ends the node when it checks; calls beside it are refused. Else its problems go back, within the attempts."""
        try:
            value = decode_final(self._plan, turn, self._arguments)
        except DecodeError as error:
            problems = error.text
        else:
            follow_ups = self._plan.spec.follow_ups
            follow_up = follow_ups[self._followed] if self._followed < len(follow_ups) else None
            text = "not run: the final result was given in the same turn"
            self._answer_none(path, turn, text, FaultKind.CANCELLED, follow_up)
            if follow_up is None:
                return True, value
            self._followed += 1
            self._attempts = self._plan.attempts
            return False, None
        text = "not run: the result in the same turn did not check; propose the call again, without a result"
        result = self._calls.refuse_all(path, turn.calls, text, FaultKind.INVALID_OUTPUT)
        self._attempts -= 1
        said = problems_text(problems, self._attempts)
        self._talk.say(turn, tuple(result.answers), said)
        if result.end is not None:
            raise result.end
        if self._attempts <= 0 or last:
            why = f"`{self._plan.short}` gave no result that checks: {problems}"
            raise Fault(FaultKind.INVALID_OUTPUT, why, problems=problems.splitlines()[:20])
        return False, None

    async def _after_calls(self, path: str, turn: ModelTurn, last: bool) -> tuple[bool, object]:
        """Run the calls, and add their answers; under `one_call` the result of the call is the node's."""
        if self._plan.one_call:
            return True, await self._one_call(path, turn)
        if last:
            text = "not run: this was the last step, and no step is left to read the result"
            result = self._calls.refuse_all(path, turn.calls, text, FaultKind.BUDGET_EXHAUSTED)
            self._talk.say(turn, tuple(result.answers))
            raise self._no_steps()
        result = await self._calls.run(path, turn.calls)
        self._talk.say(turn, tuple(result.answers))
        if result.end is not None:
            raise result.end
        search = self._plan.search
        if search is not None:
            for answer in result.answers:
                if answer.call.name == search.name and not answer.is_error:
                    self._talk.show(search.asked(answer.call.arguments))
        return False, None

    async def _one_call(self, path: str, turn: ModelTurn) -> object:
        result: Answered = await self._calls.run(path, turn.calls, only=1)
        self._talk.say(turn, tuple(result.answers))
        if result.end is not None:
            raise result.end
        if result.done is None:
            raise result.problems[0]
        failed = self._plan.unmet(result.done.value, self._arguments)
        if failed:
            raise Fault(
                FaultKind.INVALID_OUTPUT,
                f"the result of `{self._plan.short}` does not check: {'; '.join(failed)}",
                problems=failed,
            )
        return result.done.value

    def _answer_none(self, path: str, turn: ModelTurn, text: str, kind: FaultKind, said: str | None = None) -> None:
        """The node, or this part of its conversation, ends with this turn: its calls are refused, counted while there is room. What is
        `said` then begins the next part; None: nothing follows."""
        answers: tuple[ToolAnswer, ...] = ()
        if turn.calls:
            answers = tuple(self._calls.refuse_all(path, turn.calls, text, kind).answers)
        self._talk.say(turn, answers, said or "")

    # --- ends ---------------------------------------------------------------------------------------------------------

    def _no_steps(self) -> Fault:
        """The fault of the account whose steps are used up."""
        for account in self._scope.account.chain:
            limit = account.limit.steps
            if limit is not None and account.steps >= limit:
                return Fault(
                    FaultKind.BUDGET_EXHAUSTED,
                    f"{account.name} has used {account.steps} of {limit} model steps",
                    limit="steps",
                    spender=account.name,
                    spender_path=account.path,
                    used=account.steps,
                    of=limit,
                )
        purse = self._scope.run.purse
        if purse is not None and purse.used_up is not None:
            return purse.used_up
        return Fault(FaultKind.BUDGET_EXHAUSTED, "no model step is left", limit="steps")

    def _complete(self, details: dict[str, object]) -> None:
        """Give an ending what runtime.md asks for: the transcript and the usage of this node."""
        details.setdefault("node", self._plan.name)
        details.setdefault("path", self._path)
        if "transcript" not in details:
            told = transcript(self._talk.first, self._talk.exchanges)
            details["transcript"] = self._scope.run.world.masker.value(told)
            details["usage"] = usage_of_account(self._scope)


def usage_of_account(scope: Scope) -> dict[str, object]:
    """What a node used, as plain data."""
    account = scope.account
    meter = account.meter
    return {
        "steps": account.steps,
        "tool_calls": account.tool_calls,
        "tokens": account.tokens,
        "input": meter.input,
        "cache_read": meter.cache_read,
        "cache_write": meter.cache_write,
        "output": meter.output,
        "reasoning": meter.reasoning,
        "estimated": meter.estimated,
        "cost": None if account.unpriced else str(account.cost),
    }
