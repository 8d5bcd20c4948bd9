"""Where samples are run and graded: the program bound once, and each run in a world of its own.

Nothing of one sample is seen by another: its stores are its own and empty, its scripts begin anew, its folder is a copy. Models that are
real, MCP servers and Python functions are those of the deployment.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from decimal import Decimal
from typing import Any, cast

from ael.data import dataclass, replace
from ael.evals.apart import needs_copies, own_models, own_natives, own_stores
from ael.evals.cases import ABSENT, Case
from ael.evals.grade import Grade, built_in, graded, short
from ael.evals.observe import SPENDER, Observation, observed
from ael.evals.opening import OpenedEvaluation
from ael.evals.outside import outside
from ael.evals.plan import Code, Grader, Judge, Kept, Status, needs_expected, of_output
from ael.host import Host, open_host
from ael.hosting.failure import HostError
from ael.journal.durable import StoreError
from ael.lower.lower import lower
from ael.project.program import Opened
from ael.project.reach import reachable
from ael.run.bindings import BoundModel, Options
from ael.run.budget import Account
from ael.run.engine import Engine
from ael.run.outcome import Outcome, Value
from ael.run.ports import ApprovalRequest, Decision, Span
from ael.run.run import Run
from ael.run.stored import StorePort
from ael.run.trace import SpanList
from ael.types.fault import FaultKind
from ael.types.spec import BudgetSpec


@dataclass(frozen=True)
class Sample:
    """One run of a case, graded. `judged`: whether it says anything of the program; `reason`: why not, or why it did not pass."""

    case: str
    number: int
    seen: Observation
    grades: tuple[Grade, ...]
    judged: bool
    passed: bool
    score: float | None
    reason: str = ""

    @property
    def cost(self) -> Decimal | None:
        """What the run and its judges cost; None where a price is unknown."""
        costs = [self.seen.cost, *(grade.cost for grade in self.grades)]
        return None if None in costs else sum(cast("list[Decimal]", costs), Decimal(0))


_EXHAUSTED = FaultKind.BUDGET_EXHAUSTED.value
_NEARLY = 0.95


class _Decides:
    """What an evaluation says of calls that need an approval."""

    def __init__(self, approves: bool) -> None:
        self._approves = approves

    async def decide(self, request: ApprovalRequest) -> Decision | None:
        if request.question is not None:
            return Decision(False, "evaluation", "nobody answers questions in an evaluation")
        return Decision(self._approves, "evaluation", "" if self._approves else "the evaluation denies what needs an approval")


class Lab:
    """The program of an evaluation, bound. Used within the event loop that closes it."""

    def __init__(self, opened: OpenedEvaluation, options: Options, budget: BudgetSpec) -> None:
        """`budget`: of everything, judges included. Raises `HostError`."""
        self.evaluation = opened.evaluation
        self.graded: Opened = opened.graded
        judges = [one.check.node for one in self.evaluation.graders if isinstance(one.check, Judge)]
        codes = [one.check.node for one in self.evaluation.graders if isinstance(one.check, Code)]
        names = [self.evaluation.entry, *judges, *codes]
        approver = None if self.evaluation.approvals == "park" else _Decides(self.evaluation.approvals == "approve")
        found = outside(self.graded, lower(self.graded.program), names, self.evaluation.allowed)
        if found:
            raise HostError("AEL0954", *_refusal(found))
        self.host: Host = open_host(self.graded, names, approver=approver, exports=False)
        self.options = options
        self.deadline = None if budget.time is None else time.time() + budget.time / 1000
        self.total = Account(SPENDER, replace(budget, time=None))
        self.judges = {
            one.name: Account(f"{SPENDER}'s judge `{one.name}`", one.check.limit, self.total)
            for one in self.evaluation.graders
            if isinstance(one.check, Judge)
        }
        program = self.graded.program
        self._names = frozenset().union(*(reachable(program, name) for name in names))
        self._copies = needs_copies(self.graded, self._names)
        self._running: set[Run] = set()
        self.stopped = ""
        """Why nothing more is started; empty while there is more to do."""
        self._cancelled = ""
        self._wires: Mapping[str, Mapping[str, str]] = {
            name: {p.name: p.wire for p in program.signatures[name].parameters} for name in names
        }

    async def close(self) -> None:
        """Close what was bound."""
        await self.host.close()

    def finish(self, reason: str) -> None:
        """Start nothing more. What runs goes on: it is paid for in part, and draws from what is left."""
        self.stopped = self.stopped or reason

    def stop(self, reason: str) -> None:
        """Start nothing more, and cancel what runs."""
        self.finish(reason)
        self._cancelled = reason
        for run in list(self._running):
            run.cancel(reason)

    async def sample(self, case: Case, number: int) -> Sample:
        """Run a case once, and grade it."""
        models = own_models(self.graded, self.host.bindings.models)
        seen = await self.observe(case, models)
        return await self.grade(case, number, seen, models)

    async def observe(self, case: Case, models: Mapping[str, BoundModel]) -> Observation:
        """Run a case once in a world of its own."""
        stores = await own_stores(self.graded.program.stores, case, self.options.tenant)
        spans = SpanList()
        begun, refused = time.perf_counter(), self.total.refused
        async with self._engine(models, stores, spans) as engine:
            options = replace(
                self.options, content=True, park=self.evaluation.approvals == "park", tenant_account=self.total,
                deadline=self.deadline,
            )  # fmt: skip
            outcome = await self._run(engine, self.evaluation.entry, case.input, options)
        seconds = time.perf_counter() - begun
        kept = await self._kept(case, stores)
        seen = observed(outcome, spans.spans, kept, seconds)
        why = self._limited(spans.spans, refused)
        return seen if seen.limited or not why else replace(seen, limited=True, message=why)

    def _limited(self, spans: Sequence[Span], refused: int) -> str:
        """Whether the budget of the evaluation had a hand in a run, although the program may have caught that: then the run says nothing
        about the program. Empty where it had none."""
        if self.deadline is not None and time.time() >= self.deadline:
            return f"{SPENDER} has used its time"
        turns = [span for span in spans if span.kind == "turn"]
        if self.total.refused > refused and any(turn.attributes.get("reason") == _EXHAUSTED for turn in turns):
            return f"{SPENDER} has used its budget"
        # A model that is given only what is left is cut short where that ends.
        if any(turn.attributes.get("stop") == "cut" for turn in turns) and self._nearly_used():
            return f"{SPENDER} has used its budget: an answer was cut short"
        return ""

    def _nearly_used(self) -> bool:
        limit, total = self.total.limit, self.total
        tokens = limit.tokens is not None and total.tokens >= limit.tokens * _NEARLY
        return tokens or (limit.cost is not None and float(total.cost) >= float(limit.cost) * _NEARLY)

    @asynccontextmanager
    async def _engine(
        self, models: Mapping[str, BoundModel], stores: Mapping[str, StorePort], spans: SpanList | None
    ) -> AsyncIterator[Engine]:
        base = self.host.bindings
        with ExitStack() as stack:
            externs = base.externs
            closing: list[object] = []
            if self._copies and spans is not None:
                externs, closing = stack.enter_context(own_natives(self.graded, self._names, base))
            sinks = () if spans is None else (spans,)
            engine = Engine(self.host.unit, replace(base, models=models, stores=stores, externs=externs, sinks=sinks))
            # One thread watches the deadlines of all, as it watches one unit's code; and codecs are made once.
            engine.world.watchdog = self.host.engine.world.watchdog
            engine.world.codecs = self.host.engine.world.codecs
            try:
                yield engine
            finally:
                for one in closing:
                    await cast("Any", one).close()

    async def _run(self, engine: Engine, entry: str, given: Mapping[str, object], options: Options) -> Outcome:
        run = engine.start(entry, given, options)
        self._running.add(run)
        if self._cancelled:
            run.cancel(self._cancelled)
        try:
            return await run.outcome()
        finally:
            self._running.discard(run)

    async def _kept(self, case: Case, stores: Mapping[str, StorePort]) -> dict[str, dict[str, object]]:
        """What stands under the keys that graders look at."""
        found: dict[str, dict[str, object]] = {}
        for grader in (*self.evaluation.graders, *case.graders):
            if isinstance(grader.check, Kept):
                own = found.setdefault(grader.check.store, {})
                try:
                    there = await stores[grader.check.store].of(self.options.tenant).get(grader.check.key)
                except StoreError:
                    there = None
                if there is not None:
                    own[grader.check.key] = there.value
        return found

    # --- grades ---------------------------------------------------------------------------------------------------------------

    async def grade(self, case: Case, number: int, seen: Observation, models: Mapping[str, BoundModel] | None = None) -> Sample:
        """The grades of an observed run. One that the evaluation's own budget or an interrupt ended is not judged."""
        if seen.limited:
            return Sample(case.id, number, seen, (), False, False, None, seen.message)
        graders = (*self.evaluation.graders, *case.graders)
        says_status = any(isinstance(one.check, Status) for one in graders)
        made: list[Grade] = []
        for grader in graders:
            if needs_expected(grader.check) and case.expected is ABSENT:
                continue
            if seen.status != "value" and of_output(grader.check):
                if not says_status:
                    made.append(graded(grader, 0.0, f"there is no output: {seen.told}"))
                continue
            made.append(await self._grade(grader, case, seen, models))
        return settled(case, number, seen, made, says_status)

    async def judge(self, grader: Grader, case: Case, seen: Observation) -> Grade:
        """What one judge says of an output."""
        return await self._grade(grader, case, seen, None)

    async def _grade(self, grader: Grader, case: Case, seen: Observation, models: Mapping[str, BoundModel] | None) -> Grade:
        check = grader.check
        if not isinstance(check, Code | Judge):
            return built_in(grader, case, seen)
        bound = own_models(self.graded, self.host.bindings.models) if models is None else models
        given = self._given(check, case, seen)
        stores = await own_stores(self.graded.program.stores, _NO_CASE, self.options.tenant)
        account = self.judges[grader.name] if isinstance(check, Judge) else self.total
        options = replace(self.options, tenant_account=account, deadline=self.deadline)
        async with self._engine(bound, stores, None) as engine:
            outcome = await self._run(engine, check.node, given, options)
        cost = outcome.spent.cost
        if not isinstance(outcome, Value):
            told = observed(outcome, (), {}, 0.0)
            # A grader that fails says nothing of the output: neither good nor bad.
            return graded(grader, None, f"the grader ended as {told.told}", cost)
        score, reason = score_of(outcome.plain, check.of if isinstance(check, Judge) else 1.0)
        if isinstance(check, Code) and score is not None and score < grader.least:
            reason = f"`{' '.join(grader.text.split())}` is {'false' if not check.scored else f'{score:.3g}'}"
            reason += f" of {short(seen.output)}" if "output" in check.names else ""
        return graded(grader, score, reason, cost)

    def _given(self, check: Code | Judge, case: Case, seen: Observation) -> dict[str, object]:
        entry = self._wires[self.evaluation.entry]
        made: dict[str, object] = {}
        for name in check.names:
            wire = self._wires[check.node][name]
            match name:
                case "output":
                    made[wire] = seen.output
                case "expected":
                    made[wire] = case.expected
                case "run":
                    made[wire] = run_record(seen)
                case _ if entry[name] in case.input:
                    made[wire] = case.input[entry[name]]
        return made


_NO_CASE = Case("", 0, {})


def settled(case: Case, number: int, seen: Observation, grades: list[Grade], says_status: bool) -> Sample:
    """The sample that its grades make. A run that gave no value passes only where somebody expects that."""
    unjudged = next((one for one in grades if one.score is None), None)
    if unjudged is not None:
        reason = f"{unjudged.name}: {unjudged.reason}"
        return Sample(case.id, number, seen, tuple(grades), False, False, None, reason)
    ended = seen.status == "value" or says_status
    scores = [one.score for one in grades if one.score is not None]
    score = 0.0 if not ended else sum(scores) / len(scores) if scores else 1.0
    failed = [told(one) for one in grades if not one.passed]
    reason = "; ".join(failed) if ended else f"the run ended as {seen.told}"
    return Sample(case.id, number, seen, tuple(grades), True, ended and not failed, score, reason)


def told(grade: Grade) -> str:
    """Why a grader was not passed."""
    score = f" {grade.score:.2f}" if grade.score else ""
    return f"{grade.name}{score}" + (f": {grade.reason}" if grade.reason else "")


def run_record(seen: Observation) -> dict[str, object]:
    """The value of `run` in an expression."""
    return {
        "status": seen.status,
        "seconds": float(seen.seconds),
        "steps": seen.steps,
        "tool_calls": seen.tool_calls,
        "tokens": seen.tokens,
        "cost": None if seen.cost is None else str(seen.cost),
        "visited": list(seen.visited),
        "called": [one.tool.rpartition(".")[2] for one in seen.calls],
    }


def score_of(value: object, best: float) -> tuple[float | None, str]:
    """The score from 0 to 1 that a grader gave, and its reason; None for what is no score."""
    reason = ""
    if isinstance(value, Mapping):
        said = value.get("reason")
        reason = said if isinstance(said, str) else ""
        value = value["score"] if "score" in value else value.get("pass", value.get("passed"))
    if isinstance(value, bool):
        return (1.0 if value else 0.0), reason
    try:
        score = float(value) if isinstance(value, int | float | Decimal | str) else None
    except ValueError:
        score = None
    if score is None or not 0 <= score <= best:
        return None, f"the grader gave {str(value)[:60]}, which is no score from 0 to {best:g}"
    return score / best, reason


def _refusal(found: list[str]) -> tuple[str, ...]:
    shown = [name.partition(".")[2] for name in found]
    listed = ", ".join(f"`{name}`" for name in shown[:8]) + (" and more" if len(shown) > 8 else "")
    return (
        f"this evaluation could change something outside of it: {listed}",
        'give it a deployment where they are something else: `deployment = "eval"` is `deploy.eval.ael`',
        f"or say in the evaluation that they may be called for real: `allow {', '.join(shown[:8])}`",
    )
