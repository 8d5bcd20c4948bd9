"""Nodes: deterministic ones run their code, model-driven ones their loop; both under their own grants, within the caller's budget."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ael.data import replace
from ael.journal.entry import State
from ael.lower.unit import Code, CompiledNode
from ael.run.bindings import BoundModel
from ael.run.budget import Account
from ael.run.codec import ValueCodec, written
from ael.run.connector import ConnectedModel
from ael.run.conversation import Link, Setup, Talk, unpriced
from ael.run.deadline import Deadline, Expired, Within
from ael.run.events import NodeFinished, NodeStarted
from ael.run.frame import RunFrame
from ael.run.given_up import GivenUp
from ael.run.loop import Visit
from ael.run.message import system_text, user_text
from ael.run.offer import MANY, Offered
from ael.run.park import Parked
from ael.run.permission import Rights
from ael.run.placed import THERE
from ael.run.ports import ModelProvider, OutputShape
from ael.run.run import Run
from ael.run.scope import Scope
from ael.run.tool import DEPTH
from ael.run.world import World
from ael.types.arguments import result_reader
from ael.types.fault import Failure, Fault, FaultKind, Uncertain
from ael.types.schema import schema
from ael.types.spec import BudgetSpec, NodeSpec
from ael.types.type import StringType
from ael.types.value import File

if TYPE_CHECKING:
    from ael.run.search import OfferedSearch

_DEPTH = DEPTH + 2


class NodePlan:
    """What deterministic and model-driven nodes and agents share: a visit has its rights, its budget, its time, its span."""

    kind = "node"

    __slots__ = ("budget", "grants", "holder", "moved", "name", "seconds", "short", "skills", "spec")

    def __init__(self, compiled: CompiledNode, short: str, budget: BudgetSpec) -> None:
        spec = compiled.spec
        self.spec = spec
        self.name = spec.name
        self.short = short
        self.holder = f"the node `{short}`"
        self.grants = spec.grants
        self.budget = budget
        self.skills = tuple([f"{skill.name.rpartition('.')[2]} {skill.version}" for skill in spec.skills])
        """The skills of a model-driven node or an agent, each with its version, as the trace shows them."""
        self.seconds = None if budget.time is None else budget.time / 1000
        self.moved: Callable[[], NodePlan] | None = None
        """The same node where it runs otherwise: here instead of elsewhere, elsewhere instead of here."""

    def inner(self, rights: Rights) -> Rights:
        """The rights that a visit has, called with `rights`."""
        return rights.narrowed(self.holder, self.grants, self.name)

    async def call(self, frame: RunFrame, path: str, arguments: tuple[object, ...]) -> object:
        """From code, like a function."""
        return await self.visit(frame.scope, frame.depth, path, arguments)

    async def visit(self, scope: Scope, depth: int, path: str, arguments: tuple[object, ...], level: int = 0) -> object:
        """One visit. Raises what it ends with."""
        run = scope.run
        clock = run.world.clock
        bounded = self.budget != _NO_BUDGET
        account = Account(self.holder, self.budget, scope.account, path) if bounded else scope.account
        deadline = Deadline(clock, self.seconds, self.holder, scope.deadline)
        desk = run.desk
        if desk is not None:
            desk.visited(path, self, arguments)
        span = run.trace.begin(self.kind, self.short, path, scope.span) if run.trace is not None else None
        inner = Scope(
            run,
            self.name,
            self.inner(scope.rights),
            account,
            deadline,
            scope.attempts,
            span or scope.span,
            scope.level + level,
            scope.seen,
        )
        started = 0.0
        if run.listening:
            started = clock.monotonic()
            run.emit(NodeStarted(run.id, path, self.short))
        watchdog = run.world.watchdog if self.seconds is not None else None
        if watchdog is not None:
            watchdog.watch(deadline, run)
        lost = len(run.lost)
        ending = "fault"
        try:
            try:
                deadline.due()
                plan = self.place(run, path) if run.journal.continued else self
                scripted = None if desk is None else desk.inside(run, self, path)
                work = scripted or plan.inside(inner, depth + _DEPTH, path, arguments)
                value = await (work if deadline.when is None else Within(work, deadline))
                run.checkpoint(deadline)
            except Expired as expired:
                if expired.deadline is not deadline:
                    raise
                if len(run.lost) > lost:
                    ending = "uncertain"
                    raise run.lost[-1] from None
                raise time_is_up(self.holder) from None
            except GivenUp as stopped:
                if stopped.limit != deadline.depth:
                    raise
                if len(run.lost) > lost:
                    ending = "uncertain"
                    raise run.lost[-1] from None
                raise time_is_up(self.holder) from None
            scope.note(path, inner.seen)
            ending = "value"
            return value
        except Failure:
            ending = "error"
            raise
        except Uncertain:
            ending = "uncertain"
            raise
        except Parked:
            ending = "parked"
            raise
        finally:
            run.clear()
            scope.took(inner)
            if watchdog is not None:
                watchdog.forget(deadline)
            if span is not None:
                used: dict[str, object] = {} if not self.skills else {"skills": list(self.skills)}
                if bounded and account.steps:
                    used |= {
                        "steps": account.steps,
                        "tokens": account.tokens,
                        "cost": None if account.unpriced else str(account.cost),
                    }
                span.end(ending, inner.seen, None, **used)
            if run.listening:
                run.emit(NodeFinished(run.id, path, self.short, ending, clock.monotonic() - started))

    def place(self, run: Run, path: str) -> NodePlan:
        """The plan of a visit where an earlier execution began it: what happened there is not done again here.

        This one, unless the deployment has said something else since.
        """
        there = run.journal.last(f"{path}{THERE}")
        return self if there is None or there.state is State.PROPOSED or self.moved is None else self.moved()

    async def inside(self, scope: Scope, depth: int, path: str, arguments: tuple[object, ...]) -> object:
        """What the visit does."""
        raise AssertionError(f"{type(self).__name__} does nothing")


class CodeNodePlan(NodePlan):
    """A deterministic node: ordinary code."""

    __slots__ = ("_body",)

    def __init__(self, compiled: CompiledNode, short: str, body: Code) -> None:
        super().__init__(compiled, short, compiled.spec.budget)
        self._body = body

    async def inside(self, scope: Scope, depth: int, path: str, arguments: tuple[object, ...]) -> object:
        return await self._body(RunFrame(scope, path, "", depth), *arguments)


class ModelNodePlan(NodePlan):
    """A model-driven node, with everything that is the same for all its visits made once."""

    __slots__ = (
        "_chain",
        "_compiled",
        "_input",
        "_offers",
        "_parameters",
        "_requirements",
        "_setup",
        "_world",
        "attempts",
        "max_output",
        "model",
        "offered",
        "one_call",
        "output",
        "output_is_text",
        "read_result",
        "repair",
        "search",
        "servers",
    )

    def __init__(
        self, world: World, compiled: CompiledNode, short: str, offers: Callable[[NodeSpec], Mapping[str, Offered]]
    ) -> None:
        spec = compiled.spec
        assert spec.model is not None
        self.one_call = spec.policy is not None and spec.policy.kind == "one_call"
        defaults = world.bindings.defaults
        declared = spec.budget
        budget = BudgetSpec(
            defaults.tokens if declared.tokens is None else declared.tokens,
            defaults.cost if declared.cost is None else declared.cost,
            defaults.time if declared.time is None else declared.time,
            1 if self.one_call else defaults.steps if declared.steps is None else declared.steps,
            defaults.tool_calls if declared.tool_calls is None else declared.tool_calls,
        )
        super().__init__(compiled, short, budget)
        self._world = world
        self.model = spec.model
        self.offered: Mapping[str, Offered] = {}
        self.search: OfferedSearch | None = None
        """How its model finds those of many tools that it is not shown from the beginning."""
        self.servers: tuple[str, ...] = ()
        """The MCP servers of the tools that it offers."""
        self.attempts = 1 if self.one_call else max(1, defaults.attempts if spec.attempts is None else spec.attempts)
        self.output: ValueCodec = world.codecs.value(spec.signature.result)
        self.read_result = result_reader(spec.signature.result, world.codecs.definitions, world.codecs.limits)
        self.max_output = world.codecs.limits.model_output
        self.output_is_text = isinstance(spec.signature.result, StringType)
        self._input = compiled.input
        self._parameters = tuple([(parameter.name, parameter.optional) for parameter in spec.signature.parameters])
        self._requirements = compiled.requirements
        self.repair = Repair(world)
        self._compiled = compiled
        self._offers = offers
        self._setup: Setup | None = None
        self._chain: tuple[tuple[str, BoundModel], ...] = tuple(self._bound())

    async def inside(self, scope: Scope, depth: int, path: str, arguments: tuple[object, ...]) -> object:
        text, files = self.first(arguments)
        talk = Talk(scope, self.setup(), self._links(scope.run, scope, depth), text, files)
        return await Visit(self, scope, path, depth, talk, arguments).run()

    @property
    def chain(self) -> tuple[tuple[str, BoundModel], ...]:
        """The models that a visit may ask, in order: declared name, and what it is bound to. Also what `ael preview` shows."""
        return self._chain

    def first(self, arguments: tuple[object, ...]) -> tuple[str, list[File]]:
        """The user message of a visit with these arguments, and the files in it. Also what `ael preview` shows."""
        return user_text(self._inputs(arguments))

    def setup(self) -> Setup:
        """What is sent with every turn of every visit. Also what `ael preview` shows."""
        if self._setup is None:
            spec, world = self.spec, self._world
            self.offered = offered = self._offers(spec)
            self.servers = tuple(dict.fromkeys([server for one in offered.values() if (server := one.server) is not None]))
            system = system_text(spec.instructions, self._compiled.examples, spec.skills)
            choice = spec.tool_choice if offered else "none" if spec.tool_choice == "none" else "auto"
            offers = tuple([one.offer for one in offered.values()])
            if len(offers) > MANY and not self.one_call:
                # Read by nodes that offer many, and by no other.
                from ael.run.search import split

                offers, self.search = split(world, {offer.name: offer for offer in offers}, choice)
                self.offered = {**offered, self.search.name: self.search}
            wanted = dict(schema(spec.signature.result, world.codecs.definitions))
            shape = OutputShape(wanted, self.output_is_text, spec.name.rpartition(".")[2], spec.doc)
            parts = [system, wanted, [[offer.name, offer.description, dict(offer.schema)] for offer in offers], choice]
            digest = hashlib.sha256(written(parts)).hexdigest()
            self._setup = Setup(system, offers, shape, choice, not self.one_call, spec.history_keep, digest)
        return self._setup

    def unmet(self, value: object, arguments: tuple[object, ...]) -> list[str]:
        """The conditions of `require` that do not hold, as the model reads them."""
        failed: list[str] = []
        for requirement in self._requirements:
            if not requirement.check(value, *arguments):
                said = "" if requirement.message is None else f": {requirement.message(value, *arguments)}"
                failed.append(f"must hold: {requirement.text}{said}")
        return failed

    def _inputs(self, arguments: tuple[object, ...]) -> Mapping[str, object]:
        """The values that the user message carries: what `input` says, else every parameter that is there."""
        if self._input is not None:
            chosen: Mapping[str, object] = self._input(*arguments)
            return chosen
        return {
            name: value
            for (name, optional), value in zip(self._parameters, arguments, strict=True)
            if value is not None or not optional
        }

    def _bound(self) -> list[tuple[str, BoundModel]]:
        """The declared model and its fallbacks, as far as they are bound; each once."""
        bindings, unit = self._world.bindings, self._world.unit
        chain: list[tuple[str, BoundModel]] = []
        name: str | None = self.model
        seen: set[str] = set()
        while name is not None and name not in seen:
            seen.add(name)
            bound = bindings.models.get(name)
            if bound is not None:
                chain.append((name, bound))
            declared = unit.models.get(name)
            name = (bound.fallback if bound is not None else None) or (declared.fallback if declared is not None else None)
        return chain

    def _links(self, run: Run, scope: Scope, depth: int) -> list[Link]:
        """The models of this visit; a test's scripts stand in for those that they name. Refuses an unpriced one under a money budget."""
        chain = self._chain if not run.overrides else self._overridden(run)
        if not chain:
            message = f"the model `{self.model}` is bound to nothing here: bind it in the deployment, or script it"
            raise Fault(FaultKind.MODEL_UNAVAILABLE, message, model=self.model)
        own = self._world.bindings.own_models
        if own:
            who = (f"{run.tenant}/{run.caller}", run.tenant)
            found = [(name, bound, next((own[one, name] for one in who if (one, name) in own), None)) for name, bound in chain]
            chain = [(name, bound if given is None else replace(bound, provider=given)) for name, bound, given in found]
        prices = self._world.bindings.prices
        links = []
        for name, bound in chain:
            price = None if prices is None else prices.price(bound.provider.name, bound.model)
            if isinstance(bound.provider, ConnectedModel):
                bound = replace(bound, provider=bound.provider.within(self._world, scope, depth))
            links.append(Link(name, bound, self.setup(), price))
        if links[0].price is None and not links[0].routes and scope.account.cost_left is not None:
            raise unpriced(links[0].name, links[0].bound.model)
        return links

    def _overridden(self, run: Run) -> list[tuple[str, BoundModel]]:
        unit = self._world.unit
        bound = dict(self._chain)
        names: dict[str, None] = {}
        name: str | None = self.model
        while name is not None and name not in names:
            names[name] = None
            declared = unit.models.get(name)
            name = declared.fallback if declared is not None else None
        chain: list[tuple[str, BoundModel]] = []
        for known in [*names, *[other for other in bound if other not in names]]:
            provider: ModelProvider | None = run.overrides.get(known)
            if provider is not None:
                declared = unit.models.get(known)
                model = (declared.model if declared is not None else None) or known
                chain.append((known, BoundModel(provider, model)))
            elif known in bound:
                chain.append((known, bound[known]))
        return chain


class Repair:
    """Repairing text that should be JSON, loaded when it is first needed: the library behind it is heavy."""

    __slots__ = ("_world",)

    def __init__(self, world: World) -> None:
        self._world = world

    def __call__(self, text: str) -> str:
        from ael.types.repair import repair

        return repair(text, self._world.codecs.limits)


_NO_BUDGET = BudgetSpec()


def time_is_up(holder: str) -> Fault:
    """The fault of a time limit."""
    return Fault(FaultKind.DEADLINE_EXCEEDED, f"the time of {holder} is up", limit="time", spender=holder)
