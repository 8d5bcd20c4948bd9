"""Visiting an agent: its nodes one after the other along the edges, branches beside each other (language.md, section 6).

All of it is deterministic: an edge is chosen by values alone, a branch carries the outputs that came before it on its own way, and a visit
of a node is called by its name and how often it was visited. So nothing of it is journaled but the effects inside of the nodes, and a run
over its journal takes the same way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from ael.lower.unit import CompiledNode
from ael.run.channel import ROOM, Channel, Item, LocalChannel
from ael.run.delegate import MAX_LEVEL
from ael.run.events import EdgeTaken
from ael.run.node import NodePlan
from ael.run.parallel import branches, each
from ael.run.scope import Scope
from ael.types.agent import FINISH, START, EdgeSpec, routes
from ael.types.fault import Failure, Fault, FaultKind, Uncertain


class AgentPlan(NodePlan):
    """An agent, with everything that is the same for all its visits made once."""

    kind = "agent"

    __slots__ = ("_along", "_nodes", "_receivers", "code", "edges", "names", "routes")

    def __init__(self, compiled: CompiledNode, short: str, along: Callable[[str, EdgeSpec, str, str], NodePlan]) -> None:
        """`along`: what is visited along an edge of an agent, from a source, given the node (see `Plans.along`)."""
        super().__init__(compiled, short, compiled.spec.budget)
        agent = compiled.spec.agent
        assert agent is not None
        self.holder = f"the agent `{short}`"
        self._along = along
        self._nodes: Mapping[str, str] = agent.nodes
        self.names = tuple(agent.nodes)
        self.edges = agent.edges
        self._receivers: list[dict[str, NodePlan]] = [{} for _ in agent.edges]
        self.code = compiled.edges
        self.routes = routes(agent.edges)

    def receiver(self, edge: int, source: str) -> NodePlan:
        """What is visited along an edge from `source`, a point of the agent."""
        known = self._receivers[edge]
        plan = known.get(source)
        if plan is None:
            spec = self.edges[edge]
            plan = known[source] = self._along(self.name, spec, source, self._nodes[spec.target])
        return plan

    def channel(self, edge: int) -> Channel:
        """The channel of an edge, for one visit of the agent."""
        return LocalChannel()

    async def visit(self, scope: Scope, depth: int, path: str, arguments: tuple[object, ...], level: int = 0) -> object:
        if scope.level >= MAX_LEVEL:
            raise Fault(FaultKind.TOO_DEEP, f"agents are nested more than {MAX_LEVEL} deep", path=path)
        return await super().visit(scope, depth, path, arguments, max(level, 1))

    async def inside(self, scope: Scope, depth: int, path: str, arguments: tuple[object, ...]) -> object:
        return await Walk(self, scope, depth, path, arguments).run()


class Branch:
    """A branch on its way along `edge`, with what its `source` gave.

    `outputs`: node -> how often it had been visited, and what it gave then, on the way of this branch.
    """

    __slots__ = ("edge", "outputs", "scope", "source", "value")

    def __init__(self, edge: int, source: str, value: object, outputs: Mapping[str, tuple[int, object]], scope: Scope) -> None:
        self.edge = edge
        self.source = source
        self.value = value
        self.outputs = outputs
        self.scope = scope


class Walk:
    """One visit of an agent."""

    __slots__ = (
        "_channels",
        "_depth",
        "_given",
        "_live",
        "_path",
        "_plan",
        "_result",
        "_resumed",
        "_room",
        "_run",
        "_scope",
        "_taken",
        "_visits",
        "_waiting",
    )

    def __init__(self, plan: AgentPlan, scope: Scope, depth: int, path: str, arguments: tuple[object, ...]) -> None:
        self._plan = plan
        self._run = scope.run
        self._scope = scope
        self._depth = depth
        self._path = path
        self._given = arguments
        self._channels: dict[int, Channel] = {}
        self._taken: dict[int, int] = {}
        self._visits: dict[str, int] = {}
        self._waiting: dict[str, dict[str, Branch]] = {}
        self._live = 0
        """Branches that are under way, those that wait for room included."""
        self._resumed: list[Branch] = []
        self._room = asyncio.Semaphore(ROOM)
        self._result: list[object] = []

    async def run(self) -> object:
        """Go from the start to the finish. Raises what no edge meets, or the fault `NoEdge`."""
        first = self._given[0] if len(self._given) == 1 else None
        ready = self._leave(START, first, {}, self._scope)
        while not self._result:
            self._live = len(ready)
            if len(ready) == 1:
                ready = await self._step(ready[0])
            elif ready:
                await self._together(ready)
                ready, self._resumed = self._resumed, []
            else:
                raise self._stuck()
        return self._result[0]

    # --- branches ---------------------------------------------------------------------------------------------------------

    async def _together(self, ready: Sequence[Branch]) -> None:
        """Several branches beside each other; the failure of one cancels the others. What waits for room gets it in its order."""

        def bound(branch: Branch) -> Callable[[], Awaitable[None]]:
            return lambda: self._follow(branch)

        run, lost = self._run, len(self._run.lost)
        parts = [bound(branch) for branch in ready]
        try:
            await branches(parts, run.workers, run.clear, replays=run.journal.continued)
        except (Failure, Fault) as failure:
            raise self._lost_in(f"{self._path}/", lost, failure) from None

    async def _follow(self, branch: Branch) -> None:
        """Follow a branch until it ends, waits for others, or is the only one that is left."""
        while True:
            async with self._room:
                ready = await self._step(branch)
            self._live += len(ready) - 1
            if not ready:
                return
            if self._live == len(ready):
                # Nothing else is under way: it goes on where all began, so that rounds of an agent do not pile up.
                self._resumed = ready
                return
            if len(ready) > 1:
                await self._together(ready)
                return
            branch = ready[0]

    def _lost_in(self, path: str, before: int, failure: Failure | Fault) -> Failure | Fault | Uncertain:
        """A call that was given up because another branch failed may have taken effect: that has to be faced before the failure."""
        given_up = [one for one in self._run.lost[before:] if one.step.startswith(path)]
        return given_up[0] if given_up else failure

    # --- one edge ---------------------------------------------------------------------------------------------------------

    async def _step(self, branch: Branch) -> list[Branch]:
        """Take an edge and visit the node at its end; the edges that are taken next."""
        run = self._run
        if run.world.unit.halt.flag[0] is not None:
            run.checkpoint(self._scope.deadline)
        spec, scope = self._plan.edges[branch.edge], branch.scope
        arguments = self._arguments(branch)
        target = spec.target
        if target == FINISH:
            self._tell(branch, f"{self._path}/{FINISH}")
            self._scope.note(self._path, scope.seen)
            self._result.append(arguments[0] if arguments else None)
            return []
        number = self._visits[target] = self._visits.get(target, 0) + 1
        path = f"{self._path}/{target}#{number}"
        self._tell(branch, path)
        try:
            if spec.each is None:
                value = await self._visit(branch, Item(path, arguments), scope)
            else:
                value = await self._each(branch, path, arguments, spec.each)
        except (Failure, Fault, Uncertain) as ending:
            edge = self._meets(target, ending)
            if edge is None:
                raise
            return [Branch(edge, target, None, branch.outputs, scope)]
        return self._leave(target, value, {**branch.outputs, target: (number, value)}, scope)

    async def _visit(self, branch: Branch, item: Item, scope: Scope) -> object:
        plan, depth = self._plan.receiver(branch.edge, branch.source), self._depth

        async def receive(item: Item) -> object:
            try:
                return await plan.visit(scope, depth, item.key, item.arguments)
            finally:
                self._scope.touched = self._scope.touched or scope.touched

        return await self._channel(branch.edge).deliver(item, receive)

    async def _each(self, branch: Branch, path: str, arguments: tuple[object, ...], place: int) -> list[object]:
        """A visit for each item of a list, results in the order of the items."""
        spec, run = self._plan.edges[branch.edge], self._run
        items = arguments[place]
        assert isinstance(items, list)
        if spec.limit is not None and len(items) > spec.limit:
            message = f"the edge `{spec.shown}` carries at most {spec.limit:,} items, and here are {len(items):,}"
            raise Fault(FaultKind.LOOP_LIMIT, message, limit=spec.limit, path=path)
        scopes = [branch.scope.beside() for _ in items]

        async def body(at: int, one: object) -> object:
            given = (*arguments[:place], one, *arguments[place + 1 :])
            return await self._visit(branch, Item(f"{path}[{at}]", given), scopes[at])

        lost = len(run.lost)
        room = self._channel(branch.edge).room
        try:
            found = await each(range(len(items)), items, room, body, run.workers, run.clear, replays=run.journal.continued)
        except (Failure, Fault) as failure:
            raise self._lost_in(f"{path}[", lost, failure) from None
        finally:
            for scope in scopes:
                branch.scope.note(path, scope.seen)
        return found

    def _channel(self, edge: int) -> Channel:
        channel = self._channels.get(edge)
        if channel is None:
            channel = self._channels[edge] = self._plan.channel(edge)
        return channel

    def _tell(self, branch: Branch, path: str) -> None:
        run = self._run
        if run.trace is None and not run.listening:
            return
        shown = self._plan.edges[branch.edge].shown
        if run.trace is not None:
            run.trace.begin("edge", shown, path, self._scope.span).end("value", branch.scope.seen)
        if run.listening:
            run.emit(EdgeTaken(run.id, path, self._plan.short, shown))

    # --- which edges --------------------------------------------------------------------------------------------------------

    def _leave(self, point: str, value: object, outputs: Mapping[str, tuple[int, object]], scope: Scope) -> list[Branch]:
        """The edges that are taken after a point: one of those that choose, else all. Raises `NoEdge`."""
        found = self._plan.routes
        exits, joins = found.exits.get(point, ()), found.arrives.get(point, ())
        if point in found.choices:
            for way in exits:
                if self._fits(way.edge, outputs):
                    return [Branch(way.edge, point, value, outputs, scope)]
            raise self._no_edge(point, scope)
        for way in exits:
            self._taken[way.edge] = self._taken.get(way.edge, 0) + 1
        if len(exits) == 1 and not joins:
            return [Branch(exits[0].edge, point, value, outputs, scope)]
        ready = [Branch(way.edge, point, value, outputs, scope.beside()) for way in exits]
        for join in joins:
            came = self._waiting.setdefault(join, {})
            came[point] = Branch(-1, point, value, outputs, scope)
            if len(came) == len(found.joins[join]):
                del self._waiting[join]
                ready += self._joined(join, [came[source] for source in found.joins[join]])
        return ready

    def _fits(self, edge: int, outputs: Mapping[str, tuple[int, object]]) -> bool:
        """Whether an edge is taken; one that is counts as such."""
        spec, when = self._plan.edges[edge], self._plan.code[edge].when
        taken = self._taken.get(edge, 0)
        if spec.limit is not None and spec.each is None and taken >= spec.limit:
            return False
        if when is not None and not when(*self._given, *self._values(outputs)):
            return False
        self._taken[edge] = taken + 1
        return True

    def _joined(self, join: str, came: Sequence[Branch]) -> list[Branch]:
        """All that a join waited for has come: it goes on with the outputs of all, the latest of each node."""
        outputs: dict[str, tuple[int, object]] = {}
        scope = came[0].scope.beside()
        for branch in came:
            for name, output in branch.outputs.items():
                if name not in outputs or output[0] > outputs[name][0]:
                    outputs[name] = output
            scope.seen |= branch.scope.seen
        scope.last = tuple(dict.fromkeys(path for branch in came for path in branch.scope.last))
        return self._leave(join, None, outputs, scope)

    def _meets(self, node: str, ending: Failure | Fault | Uncertain) -> int | None:
        """The edge that is taken because of how a visit ended."""
        for way in self._plan.routes.errors.get(node, ()):
            spec = self._plan.edges[way.edge]
            taken = self._taken.get(way.edge, 0)
            if _is_one_of(ending, spec.errors) and (spec.limit is None or taken < spec.limit):
                self._taken[way.edge] = taken + 1
                return way.edge
        return None

    def _arguments(self, branch: Branch) -> tuple[object, ...]:
        code = self._plan.code[branch.edge]
        if code.arguments is not None:
            found: tuple[object, ...] = code.arguments(*self._given, *self._values(branch.outputs))
            return found
        return (branch.value,) if code.passes else ()

    def _values(self, outputs: Mapping[str, tuple[int, object]]) -> list[object]:
        return [outputs[name][1] if name in outputs else None for name in self._plan.names]

    def _no_edge(self, point: str, scope: Scope) -> Fault:
        exits = self._plan.routes.exits[point]
        used = [self._plan.edges[way.edge].shown for way in exits if self._plan.edges[way.edge].limit is not None]
        more = (
            f" (`{used[0]}` may be taken {self._plan.edges[exits[0].edge].limit} times)" if len(used) == len(exits) == 1 else ""
        )
        message = f"no edge of `{point}` in {self._plan.holder} fits what it gave{more}"
        return Fault(FaultKind.NO_EDGE, message, node=point, path=self._path)

    def _stuck(self) -> Fault:
        """Every branch waits for another: the check refuses such agents, and a run never waits in silence."""
        join = min(self._waiting, default="")
        missing = [one for one in self._plan.routes.joins.get(join, ()) if one not in self._waiting[join]]
        wanted = " and ".join(f"`{one}`" for one in missing)
        message = f"`{join}` in {self._plan.holder} waits for {wanted}, which did not come"
        return Fault(FaultKind.NO_EDGE, message, node=join, path=self._path)


def _is_one_of(ending: Failure | Fault | Uncertain, errors: Sequence[str]) -> bool:
    match ending:
        case Uncertain():
            return "Uncertain" in errors
        case Failure():
            return ending.error in errors
        case Fault(kind=FaultKind.CANCELLED):
            return False
        case Fault():
            return "Fault" in errors or ending.kind.value in errors
