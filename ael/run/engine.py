"""Starting runs of one program in one deployment. What a host uses; everything else of the run time is below."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Coroutine
from typing import Any

from ael.journal.book import MemoryBook
from ael.journal.entry import Header
from ael.journal.memory import MemoryJournal
from ael.journal.store import JournalStore, RunJournal, held
from ael.lower.unit import Code, CompiledTest, CompiledUnit
from ael.run.access import Access
from ael.run.bindings import Bindings, Options
from ael.run.budget import Account, tighter
from ael.run.cancel import answer_open, cancelled, conclude, ended_before, join
from ael.run.clock import SystemClock
from ael.run.codec import Codecs, InputCodec
from ael.run.deadline import Deadline, Expired, Within
from ael.run.entry import Given, choose, decoded
from ael.run.events import RunFinished, RunStarted
from ael.run.frame import RunFrame
from ael.run.gate import bad_arguments
from ael.run.given_up import GivenUp
from ael.run.halt import Watchdog
from ael.run.node import ModelNodePlan, time_is_up
from ael.run.outcome import Outcome, Suspended, word_of
from ael.run.park import Parked
from ael.run.permission import Rights
from ael.run.plans import Plans
from ael.run.purse import Purse
from ael.run.resume import resume
from ael.run.run import Run
from ael.run.scope import Scope
from ael.run.service import Serving
from ael.run.trace import Trace
from ael.run.world import Plan, World, short
from ael.types.fault import Failure, Fault, FaultKind, Uncertain
from ael.types.problem import DecodeError
from ael.types.spec import BudgetSpec
from ael.types.type import Type


class Engine:
    """Runs of `unit` with `bindings`. Holds no run; `start` belongs into a running event loop, and each run to that loop."""

    def __init__(self, unit: CompiledUnit, bindings: Bindings) -> None:
        watchdog = Watchdog(unit.halt) if isinstance(bindings.clock, SystemClock) else None
        self.world = World(unit, bindings, Codecs(unit, bindings.limits), watchdog)
        self._plans = Plans(self.world)
        self.world.plans = self._plans
        self._journal: JournalStore = bindings.journal or MemoryJournal(keep=False)
        self._keeps = bindings.journal is not None
        self._book = bindings.book or MemoryBook(bindings.clock.now)
        self.access = Access(bindings.tenants, bindings.callers)
        """The tenants and callers of the deployment."""
        self._inputs: dict[str, InputCodec] = {}
        self._entries: dict[str, Serving] = {}
        self.last_crash: Exception | None = None
        """What failed inside the run time last, for `--trace` and tests: a defect, never the user's mistake."""

    def start(self, entry: str | None = None, given: Given = None, options: Options | None = None) -> Run:
        """Start a run of `entry` (None: the one of language.md, section 6) with its input.

        An operation is an entry too, by its whole name: a run that is a call from outside.

        Raises `EntryProblem` when there is no such entry. An input that does not fit is the fault `BadArguments` of the run.
        """
        options = options or Options()
        name = choose(self.world.unit, entry)
        codec = self.input(name)
        arguments: tuple[object, ...] = ()
        problem: Fault | None = None
        try:
            found = decoded(codec, given)
            arguments = codec.positional(found.named)
            pinned = found.digest if self._keeps or options.journal is not None else ""
        except DecodeError as error:
            refusal = bad_arguments(error)
            problem = Fault(
                refusal.kind, f"the input does not fit: {refusal.text}", problems=[str(one) for one in error.problems]
            )
            pinned = ""
        node = self.world.unit.nodes.get(name)
        budget = BudgetSpec() if node is None else node.spec.budget
        run, diverged = self._run(name, arguments, pinned, budget, options)
        at_once = options.at_once and run.purse is None and options.journal is None and not self._keeps and self.plain(name)
        begin = run.complete if at_once else run.begin
        begin(self._visit(run, name, options, problem or diverged))
        return run

    def plain(self, name: str) -> bool:
        """Whether an entry is a node of plain code that runs here: a visit of it waits for nothing."""
        node = self.world.unit.nodes.get(name)
        return node is not None and node.spec.signature.effects.plain and name not in self.world.bindings.placements

    def never_waits(self, name: str, options: Options) -> bool:
        """Whether a run of an entry, by its qualified name, waits for nothing: plain code, with nothing kept and nothing shared."""
        if self._keeps or options.journal is not None or not self.plain(name):
            return False
        return not self.access.shared(options.tenant, options.caller)

    def header(self, entry: str | None, given: Given, options: Options) -> tuple[Header, dict[str, object]]:
        """What a run of `entry` is pinned to, and its input as JSON, for a store that keeps it.

        Raises `EntryProblem` when there is no such entry. An input that does not fit is kept empty: the run ends with its fault.
        """
        name = choose(self.world.unit, entry)
        codec = self.input(name)
        try:
            found = decoded(codec, given)
            form = codec.value.encode(found.named)
            pinned = found.digest
        except DecodeError:
            form, pinned = {}, ""
        assert isinstance(form, dict)
        run_id = options.run or new_id()
        now = self.world.clock.now()
        made = Header(run_id, self.world.unit.digest, name, pinned, options.tenant, options.caller, now, options.deadline)
        return made, form

    def start_test(self, test: CompiledTest, options: Options | None = None) -> Run:
        """Start the run of a `test` block."""
        return self.start_code(f"test {test.spec.name}", test.body, (), options)

    def start_code(self, name: str, code: Code, arguments: tuple[object, ...] = (), options: Options | None = None) -> Run:
        """Start a run of acting code: a function of the program, for embedding and tests. It has the rights of the run's layers."""
        run, diverged = self._run(name, arguments, "", BudgetSpec(), options or Options())
        run.begin(self._code(run, name, code, diverged))
        return run

    def input(self, name: str) -> InputCodec:
        """The codec of the input of a node, or of an operation."""
        found = self._inputs.get(name)
        if found is None:
            unit = self.world.unit
            if name in unit.operations:
                found = self._entry(name).input
            else:
                found = InputCodec(self.world.codecs, unit.nodes[name].spec.signature, self.world.bindings.limits.input)
            found.incoming = self.world.masker.incoming
            self._inputs[name] = found
        return found

    def _entry(self, name: str) -> Serving:
        """An operation as an entry."""
        found = self._entries.get(name)
        if found is None:
            found = self._entries[name] = self._plans.entry(name)
        return found

    def model_node(self, name: str) -> ModelNodePlan | None:
        """The plan of a model-driven node, for a preview of what it would send; None for a deterministic one."""
        plan = self._plans.node(name)
        return plan if isinstance(plan, ModelNodePlan) else None

    # --- one run ------------------------------------------------------------------------------------------------------

    def _run(
        self, name: str, arguments: tuple[object, ...], pinned: str, declared: BudgetSpec, options: Options
    ) -> tuple[Run, Fault | None]:
        """A run that has not begun, and the fault `Diverged` where its journal belongs to something else."""
        world = self.world
        bindings, clock = world.bindings, world.clock
        run_id = options.run or new_id()
        defaults = bindings.defaults
        budget = tighter(options.budget, bindings.run_budget)
        tokens = budget.tokens if budget.tokens is not None or declared.tokens is not None else defaults.tokens
        time = budget.time if budget.time is not None or declared.time is not None else defaults.time
        cost = budget.cost if budget.cost is not None or declared.cost is not None else defaults.cost
        limit = BudgetSpec(tokens, cost, time, budget.steps, budget.tool_calls)
        refused = self.access.refusal(options.tenant, options.caller)
        header = Header(run_id, world.unit.digest, name, pinned, options.tenant, options.caller, clock.now(), options.deadline)
        diverged: Fault | None = None
        journal: RunJournal
        try:
            journal = self._journal.open(header) if options.journal is None else held(options.journal, header)
        except Fault as fault:
            diverged = fault
            journal = MemoryJournal(keep=False).open(header)
        if journal.continued:
            resume(bindings.models.values(), journal)
        seconds = None if limit.time is None else max(0.0, limit.time / 1000 - journal.active)
        absolute = Deadline(
            clock, None if options.deadline is None else options.deadline - clock.now(), "the run's deadline", None, True
        )
        deadline = Deadline(clock, seconds, "the run", absolute)
        trace = None
        if bindings.sinks:
            context = options.trace_parent
            trace = Trace(run_id, bindings.sinks, clock, world.masker, options.content, context, options.tenant)
        run = Run(
            world,
            run_id,
            name,
            options.tenant,
            options.caller,
            self.rights(options),
            Account("the run", limit, options.tenant_account),
            deadline,
            journal,
            arguments,
            trace,
            options.trace_parent,
            options.on_event,
        )
        shared = self.access.shared(options.tenant, options.caller)
        if shared:
            run.purse = Purse(run, self._book, shared)
        run.via = options.via
        run.handed = options.handed
        run.parks = options.park
        run.parks_uncertain = options.park and bindings.parks_uncertain
        if world.observer is not None:
            world.observer(run)
        return run, refused or diverged

    def rights(self, options: Options) -> Rights:
        """What a run may do before any grants of its own: under its tenant, its caller, what it keeps of its own, and the operator."""
        kept = [layer for layer in (options.tenant_layer, options.caller_layer) if layer is not None]
        layers = (*self.access.layers(options.tenant, options.caller), *kept, self.world.bindings.operator)
        return Rights("the run", None, layers)

    def plan(self, name: str) -> Plan:
        """What stands behind a qualified name. Raises the fault `Unavailable` for what cannot run here."""
        return self._plans[name]

    async def _visit(self, run: Run, name: str, options: Options, problem: Fault | None) -> Outcome:
        async def work(scope: Scope) -> object:
            if problem is not None:
                raise problem
            scope.attempts = options.attempts
            if name in self.world.unit.operations:
                plan = self._entry(name)
                named = plan.input.named(run.arguments)
                return await plan.entered(scope, short(name), named, options.key)
            return await self._plans.node(name).visit(scope, 0, short(name), run.arguments)

        return await self._guarded(run, name, work)

    async def _code(self, run: Run, name: str, code: Code, problem: Fault | None) -> Outcome:
        async def work(scope: Scope) -> object:
            if problem is not None:
                raise problem
            return await code(RunFrame(scope, name.replace("/", "-"), "", 0), *run.arguments)

        return await self._guarded(run, name, work)

    async def _guarded(self, run: Run, name: str, work: Callable[[Scope], Coroutine[Any, Any, object]]) -> Outcome:
        """The one place where everything that can end a run becomes its outcome."""
        span = run.trace.begin("run", short(name), "", None) if run.trace is not None else None
        if run.listening:
            run.emit(RunStarted(run.id, name, run.tenant, run.caller))
        run.under_way = True
        watchdog = self.world.watchdog
        given = frozenset() if run.handed is None else frozenset(run.handed.sources)
        scope = Scope(run, name, run.rights, run.account, run.deadline, None, span, seen=given)
        value: object = None
        ending: Failure | Fault | Uncertain | Parked | None = None
        try:
            if run.cancelled is not None:
                raise asyncio.CancelledError
            limits = (run.deadline,) if run.deadline.parent is None else (run.deadline.parent, run.deadline)
            for limit in limits:
                limit.due()
            if watchdog is not None:
                watchdog.watch(run.deadline, run)
            value = await Within(work(scope), *limits)
            run.checkpoint(run.deadline)
        except Expired as expired:
            ending = time_is_up(expired.deadline.name)
            run.note_end(ending.message)
        except asyncio.CancelledError:
            ending = cancelled(run)
        except GivenUp as stopped:
            ending = ended_before(run, stopped)
        except (Failure, Fault, Uncertain, Parked) as error:
            ending = error
        except RecursionError:
            ending = Fault(FaultKind.TOO_DEEP, "calls are nested too deep")
        except Exception as error:
            self.last_crash = error
            ending = Fault(FaultKind.CRASHED, f"something inside the run time failed: {type(error).__name__}", internal=True)
        finally:
            run.clear()
            if watchdog is not None:
                watchdog.forget(run.deadline)
        if not isinstance(ending, Parked) and (ending is not None or run.parks or run.journal.continued):
            answer_open(run)
        await join(run)
        outcome: Outcome
        if isinstance(ending, Parked):
            outcome = Suspended(ending.waits, ending.wake, run.spent)
        else:
            outcome = conclude(run, value, ending, self._result(name))
        run.seen = scope.seen
        word = word_of(outcome)
        if span is not None:
            span.end(word, (), None, **run.spent.plain())
        if run.listening:
            run.emit(RunFinished(run.id, word, run.spent.seconds))
        return outcome

    def _result(self, name: str) -> Type | None:
        """The type of an entry's result; None for code that is no declaration."""
        unit = self.world.unit
        if name in unit.operations:
            return unit.operations[name].signature.result
        node = unit.nodes.get(name)
        return None if node is None else node.spec.signature.result


def new_id() -> str:
    """An id for a run."""
    return f"r{secrets.token_hex(8)}"
