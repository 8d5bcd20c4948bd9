"""The desk of a test: plays the scripts, decides as the test says, ends the run where it is to be crashed, and knows what was called."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import timedelta
from typing import Any

from ael.models.script import ScriptError, parse_script
from ael.models.scripted import ScriptedProvider
from ael.run.desk import Called, Visited
from ael.run.human import NOBODY
from ael.run.permission import Layer
from ael.run.ports import ApprovalRequest, Decision, ModelProvider, Question
from ael.run.run import Run
from ael.run.step import Step
from ael.testing.answers import Answers
from ael.testing.clock import TestClock
from ael.testing.journal import TestJournal
from ael.testing.servers import ScriptedServer
from ael.testing.sessions import Sessions
from ael.testing.snapshot import Snapshots
from ael.types.canonical import EncodeError, encode
from ael.types.fault import Fault, FaultKind
from ael.types.spec import ToolSpec

_NEVER = 10 * 365 * 86_400.0
"""Seconds after which a person who does not answer is given up, where nothing else says when."""


class TestDesk:
    """One test. `servers` stand for the MCP servers of the program, `snapshots` keeps what the test compares with."""

    __test__ = False

    def __init__(
        self,
        tools: Mapping[str, ToolSpec],
        servers: Mapping[str, ScriptedServer],
        snapshots: Snapshots | None = None,
        sessions: Sessions | None = None,
    ) -> None:
        self.clock = TestClock()
        self.journal = TestJournal()
        self.layer = Layer("the test")
        self.crashes = 0
        self._tools = tools
        self._servers = servers
        self._snapshots = snapshots
        self._sessions = sessions or Sessions(None)
        self._done: dict[str, object] = {}
        """What was done at a place of the test: an execution that goes on after a crash does it no second time."""
        self._models: dict[str, ModelProvider] = {}
        self._answers: dict[str, Answers] = {}
        self._taken: dict[str, Mapping[str, object]] = {}
        self._calls: list[tuple[str, Mapping[str, object]]] = []
        self._refused: list[str] = []
        self._visits: set[str] = set()
        self._crash: dict[tuple[str, bool], list[int]] = {}
        self._acted: dict[tuple[str, bool], int] = {}
        self._decisions: dict[str, str | None] = {}

    @property
    def names(self) -> frozenset[str]:
        """The qualified names of what was called so far."""
        return frozenset(name for name, _ in self._calls)

    async def aclose(self) -> None:
        """Close the models that are real ones: their sessions were recorded."""
        for provider in self._models.values():
            await provider.close()

    # --- scripts ----------------------------------------------------------------------------------------------------

    async def script(self, run: Run, path: str, name: str, turns: Sequence[object]) -> None:
        if path not in self._done:
            self._done[path] = None
            tool = self._tools.get(name)
            if tool is not None and tool.remote is not None:
                self._servers[tool.remote.server].script(tool, turns)
            elif name in run.world.unit.models:
                self._models[name] = self._sessions.model(name, turns) or scripted(name, turns)
            else:
                self._answers[name] = Answers(name.partition(".")[2] or name, turns, self._taken)
        run.overrides.update(self._models)

    def body(self, plan: Called, path: str, step: Step) -> Coroutine[Any, Any, object] | None:
        answers = self._answers.get(plan.name)
        return None if answers is None else answers.call(plan, path, step, self.clock)

    def inside(self, run: Run, plan: Visited, path: str) -> Coroutine[Any, Any, object] | None:
        answers = self._answers.get(plan.name)
        if answers is None:
            return None
        signature = run.world.unit.nodes[plan.name].spec.signature
        return answers.visit(plan, path, signature.fails)

    # --- what happened ----------------------------------------------------------------------------------------------

    def called(self, target: str, arguments: Mapping[str, object]) -> None:
        self._calls.append((target, dict(arguments)))

    def refused(self, target: str) -> None:
        self._refused.append(target)

    def visited(self, path: str, plan: Visited, arguments: Sequence[object]) -> None:
        if path not in self._visits:
            self._visits.add(path)
            self._calls.append((plan.name, {str(at): value for at, value in enumerate(arguments)}))

    async def acted(self, run: Run, target: str, *, recorded: bool) -> None:
        place = (target, recorded)
        number = self._acted[place] = self._acted.get(place, 0) + 1
        due = self._crash.get(place)
        if due is None or number not in due:
            return
        due.remove(number)
        self.crashes += 1
        self.journal.dead = True
        run.cancel("the test crashed it")
        await asyncio.Event().wait()

    def revive(self) -> bool:
        """Whether the run was crashed; from now on its journal is written again."""
        dead, self.journal.dead = self.journal.dead, False
        return dead

    @property
    def unmet(self) -> str | None:
        """The first crash that never came: a test of it would say nothing."""
        left = next((target for (target, _), due in self._crash.items() if due), None)
        if left is None:
            return None
        return f"`{left.partition('.')[2]}` was to crash in a call that was never made, so the test says nothing about that"

    # --- the functions of tests -------------------------------------------------------------------------------------

    async def act(self, run: Run, path: str, what: str, target: str, given: Mapping[str, object]) -> object:
        if path in self._done:
            return self._done[path]
        act: Callable[[Run, str, Mapping[str, object]], object] = getattr(self, f"_{what}" if what != "calls" else "_calls_")
        value = act(run, target, given)
        if asyncio.iscoroutine(value):
            value = await value
        self._done[path] = value
        return value

    def _calls_of(self, run: Run, target: str) -> list[Mapping[str, object]]:
        found = [arguments for name, arguments in self._calls if name == target]
        node = run.world.unit.nodes.get(target)
        if node is None:
            return found
        names = [one.name for one in node.spec.signature.parameters]
        return [dict(zip(names, arguments.values(), strict=False)) for arguments in found]

    def _calls_(self, run: Run, target: str, given: Mapping[str, object]) -> int:
        return sum(
            all(name in one and one[name] == value for name, value in given.items()) for one in self._calls_of(run, target)
        )

    def _refusals(self, run: Run, target: str, given: Mapping[str, object]) -> int:
        return self._refused.count(target)

    def _crash_during(self, run: Run, target: str, given: Mapping[str, object]) -> None:
        self._crashes((target, False), given)

    def _crash_after(self, run: Run, target: str, given: Mapping[str, object]) -> None:
        self._crashes((target, True), given)

    def _crashes(self, place: tuple[str, bool], given: Mapping[str, object]) -> None:
        number = given.get("call", 1)
        if not isinstance(number, int) or number < 1:
            raise Fault(FaultKind.OUT_OF_RANGE, "`call` counts the calls from 1 on")
        self._crash.setdefault(place, []).append(self._acted.get(place, 0) + number)

    def _decline(self, run: Run, target: str, given: Mapping[str, object]) -> None:
        self._decisions[target] = str(given.get("reason", "the test declines"))

    def _unanswered(self, run: Run, target: str, given: Mapping[str, object]) -> None:
        self._decisions[target] = None

    def _withhold(self, run: Run, target: str, given: Mapping[str, object]) -> None:
        self.layer.revoke(target)

    async def _advance(self, run: Run, target: str, given: Mapping[str, object]) -> None:
        by = given["by"]
        assert isinstance(by, timedelta)
        if by < timedelta():
            raise Fault(FaultKind.OUT_OF_RANGE, "time goes on: `advance` takes no duration below zero")
        await self.clock.advance(by.total_seconds())

    def _snapshot(self, run: Run, target: str, given: Mapping[str, object]) -> None:
        if self._snapshots is None:
            raise Fault(FaultKind.UNAVAILABLE, "there is no file beside this test, so it keeps no snapshots", final=True)
        self._snapshots.compare(str(given["name"]), given["value"], run.world.masker.text)

    def _spent_steps(self, run: Run, target: str, given: Mapping[str, object]) -> int:
        return run.spent.steps

    def _spent_tokens(self, run: Run, target: str, given: Mapping[str, object]) -> int:
        return run.account.tokens

    def _spent_calls(self, run: Run, target: str, given: Mapping[str, object]) -> int:
        return run.spent.tool_calls

    # --- the person -------------------------------------------------------------------------------------------------

    async def decide(self, request: ApprovalRequest) -> Decision:
        """Tests approve what they call, say yes to what they are asked, and take the first choice; unless the test says otherwise."""
        if request.question is None and request.tool in self._decisions:
            reason = self._decisions[request.tool]
            if reason is None:
                await self.clock.sleep(_NEVER)
                return Decision(False, NOBODY, "nobody answered")
            return Decision(False, "test", reason)
        match request.question:
            case Question(schema={"properties": {"answer": {"enum": [first, *_]}}}):
                return Decision(True, "test", "", {"answer": first})
            case Question(waits=True, schema={"properties": {"answer": {"type": "string"}}}):
                return Decision(False, NOBODY, "in a test the answer is the first choice, and this question has no choices")
            case _:
                return Decision(True, "test")


def scripted(model: str, turns: Sequence[object]) -> ModelProvider:
    """The model that a `script` statement makes."""
    try:
        return ScriptedProvider(parse_script(json.loads(encode(list(turns))), f"script {model.rpartition('.')[2]}"))
    except (ScriptError, EncodeError) as error:
        raise Fault(FaultKind.MALFORMED, str(error)) from None
