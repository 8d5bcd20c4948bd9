"""What compiled code is given: its place in the run, by structural path, and the only way to the world."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from ael.run.desk import Desk
from ael.run.parallel import branches, each
from ael.run.scope import Scope
from ael.types.fault import Failure, Fault, FaultKind, Uncertain

MAX_DEPTH = 1_000
"""Acting calls in each other, as for plain ones; a tool or node counts for the coroutines it takes. CPython 3.11 dies of some 20,000."""


class RunFrame:
    """The frame of one activation of acting code. Its structural path, the call's site and how often this frame came by it name a call."""

    __slots__ = ("_visits", "depth", "key", "path", "scope")

    def __init__(self, scope: Scope, path: str, key: str, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise Fault(FaultKind.TOO_DEEP, f"calls that act are nested more than {MAX_DEPTH} deep", path=path[:400])
        self.scope = scope
        self.path = path
        self.key = key
        self.depth = depth
        self._visits: dict[int, int] | None = None

    def enter(self, site: int) -> RunFrame:
        return RunFrame(self.scope, self._at(site, ""), self.key, self.depth + 1)

    def act(self, site: int, target: str, arguments: tuple[object, ...]) -> Awaitable[object]:
        run = self.scope.run
        if run.world.unit.halt.flag[0] is not None:
            run.checkpoint(self.scope.deadline)
        plan = run.world.plans[target]
        return plan.call(self, self._at(site, plan.short), arguments)

    async def parallel_for(
        self, site: int, items: Sequence[object], limit: int | None, body: Callable[[RunFrame, object], Awaitable[object]]
    ) -> list[object]:
        path = self._at(site, "each")
        scopes = [self.scope.beside() for _ in items]
        frames = [RunFrame(scope, f"{path}[{index}]", self.key, self.depth + 2) for index, scope in enumerate(scopes)]
        run = self.scope.run
        lost = len(run.lost)
        try:
            most = 1 if run.here else limit
            return await each(frames, items, most, body, run.workers, run.clear, replays=run.journal.continued)
        except (Failure, Fault) as failure:
            raise self._lost_in(f"{path}[", lost, failure) from None
        finally:
            self.scope.joined(scopes)

    async def parallel_record(
        self, site: int, parts: Sequence[tuple[str, Callable[[RunFrame], Awaitable[object]]]]
    ) -> dict[str, object]:
        path = self._at(site, "both")

        scopes = []

        def bound(name: str, body: Callable[[RunFrame], Awaitable[object]]) -> Callable[[], Awaitable[object]]:
            scopes.append(scope := self.scope.beside())
            frame = RunFrame(scope, f"{path}.{name}", self.key, self.depth + 2)
            return lambda: body(frame)

        run = self.scope.run
        lost = len(run.lost)
        try:
            made = [bound(name, body) for name, body in parts]
            most = 1 if run.here else None
            values = await branches(made, run.workers, run.clear, most, replays=run.journal.continued)
        except (Failure, Fault) as failure:
            raise self._lost_in(f"{path}.", lost, failure) from None
        finally:
            self.scope.joined(scopes)
        return {name: value for (name, _), value in zip(parts, values, strict=True)}

    def _lost_in(self, path: str, before: int, failure: Failure | Fault) -> Failure | Fault | Uncertain:
        """What a `parallel` fails with: a call that was given up because another branch failed may have taken effect, and no `catch` in
        its branch ran, so that is what has to be faced."""
        given_up = [one for one in self.scope.run.lost[before:] if one.step.startswith(path)]
        return given_up[0] if given_up else failure

    def release(self, site: int, value: object, reason: str) -> object:
        trace = self.scope.run.trace
        if trace is not None:
            span = trace.begin("release", reason, self._at(site, "release"), self.scope.span)
            span.end("value", self.scope.seen, {"value": value})
        return value

    async def script(self, site: int, name: str, turns: Sequence[object]) -> None:
        await self._desk().script(self.scope.run, self._at(site, "script"), name, turns)

    async def test(self, site: int, what: str, target: str, given: Mapping[str, object]) -> object:
        return await self._desk().act(self.scope.run, self._at(site, what), what, target, given)

    def _desk(self) -> Desk:
        desk = self.scope.run.desk
        if desk is None:
            raise Fault(FaultKind.CRASHED, "what belongs to tests stands outside of a test")
        return desk

    def _at(self, site: int, name: str) -> str:
        visits = self._visits
        if visits is None:
            visits = self._visits = {}
        count = visits.get(site, 0) + 1
        visits[site] = count
        return f"{self.path}/{name}@{site}" if count == 1 else f"{self.path}/{name}@{site}#{count}"
