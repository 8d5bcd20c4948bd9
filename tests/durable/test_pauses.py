"""Runs that pause: in loops, in nodes within branches, several at once; each effect happens once, however people answer (K27, K28, K30)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ael.durable.decide import decide, find, waiting
from ael.durable.execute import Execution, new_owner
from ael.journal.database import DatabaseStore
from ael.journal.entry import State
from ael.run.bindings import Options
from ael.run.outcome import Outcome, Suspended
from ael.types.fault import Fault
from ael.types.signature import Repeat
from ael.types.spec import ApprovalSpec
from ael.types.type import IntType
from tests.journal.places import Place
from tests.run.fakes import call, calls, model, said
from tests.run.helpers import code, engine, node, parameter, tool, unit, value_of

NUMBER = parameter("n", IntType())


class Bank:
    """`pay` needs a boss and has no key, `look` is free; `done` is what really happened, in its order."""

    def __init__(self, store: DatabaseStore, main: Any, *nodes: Any) -> None:
        self.store = store
        self.done: list[str] = []

        async def pay(n: int) -> str:
            self.done.append(f"pay {n}")
            return f"paid {n}"

        async def look(n: int) -> str:
            self.done.append(f"look {n}")
            return f"seen {n}"

        tools = [
            tool("pay", None, NUMBER, repeat=Repeat.NEVER, approval=ApprovalSpec("boss"), parallel=True),
            tool("look", None, NUMBER, repeat=Repeat.NEVER, parallel=True),
        ]
        self.unit = unit(tools=tools, nodes=[*nodes, code("main", main)])
        self.externs = {"main.pay": pay, "main.look": look}

    async def life(self, *turns: Any) -> Outcome:
        """One worker has the run: until it ends or pauses."""
        execution = Execution(engine(self.unit, model(*turns), externs=self.externs), self.store, new_owner(), 60.0)
        held = await self.store.hold("r1", execution.owner, 60.0) or execution.fresh("main", {}, Options(run="r1"))
        return await execution.conclude(held, execution.start(held))

    async def says(self, step: str | None = None, *, approved: bool = True, arguments: Any = None) -> None:
        asked = await find(self.store, "r1", step, "approval")
        await decide(
            self.store, asked, approved=approved, by="ann", reason="" if approved else "not this one",
            arguments=arguments, members={"boss": ("ann",)}, now=1_000_000.0,
        )  # fmt: skip

    async def open(self) -> dict[object, str]:
        """What waits: the amount, and its step."""
        return {one.arguments["n"]: one.step for one in await waiting(self.store)}  # type: ignore[index]

    async def unanswered(self) -> list[str]:
        last = {entry.path: entry for entry in await self.store.entries("r1")}
        return [path for path, entry in last.items() if entry.state is not State.ANSWERED]


@pytest.mark.feature("A4.5", "A4.11", "A12.6")
def test_three_approvals_in_a_loop_are_three_pauses_and_each_body_runs_once(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        async def main(k: Any) -> str:
            told = []
            for at in range(3):
                told += [await k.act(0, "main.look", (at,)), await k.act(1, "main.pay", (at,))]
            return ", ".join(told)

        bank = Bank(store, main)
        for at in range(3):
            assert isinstance(await bank.life(), Suspended)
            assert list(await bank.open()) == [at]
            await bank.says()
        assert value_of(await bank.life()) == "seen 0, paid 0, seen 1, paid 1, seen 2, paid 2"
        assert bank.done == ["look 0", "pay 0", "look 1", "pay 1", "look 2", "pay 2"]

    place.run(body)


@pytest.mark.feature("A12.14", "A4.6", "A12.6")
@pytest.mark.parametrize("order", [(1, 2, 3), (3, 1, 2)])
def test_of_three_at_once_each_is_decided_by_itself_in_any_order(place: Place, order: tuple[int, ...]) -> None:
    """One is approved, one edited, one refused; a free one beside them runs at once, and the results keep their order."""

    async def body(store: DatabaseStore) -> None:
        async def main(k: Any) -> str:
            async def part(k: Any, n: object) -> str:
                try:
                    return str(await k.act(0, "main.pay" if n else "main.look", (n,)))
                except Fault as fault:
                    return fault.kind.value

            return ", ".join(await k.parallel_for(0, [0, 1, 2, 3], None, part))

        bank = Bank(store, main)
        assert isinstance(await bank.life(), Suspended)
        assert bank.done == ["look 0"]
        steps = await bank.open()
        assert sorted(steps) == [1, 2, 3]  # type: ignore[type-var]
        words: dict[int, dict[str, Any]] = {1: {}, 2: {"arguments": {"n": 20}}, 3: {"approved": False}}
        for at in order[:2]:
            await bank.says(steps[at], **words[at])
        assert isinstance(await bank.life(), Suspended)
        assert list(await bank.open()) == [order[2]]
        await bank.says(**words[order[2]])
        assert value_of(await bank.life()) == "seen 0, paid 1, paid 20, ApprovalDenied"
        assert sorted(bank.done) == ["look 0", "pay 1", "pay 20"]
        assert await bank.unanswered() == []

    place.run(body)


@pytest.mark.feature("A12.14", "A12.6")
def test_a_pause_in_a_node_of_a_model_in_a_branch_goes_on_there(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        async def main(k: Any) -> str:
            names = [("main.answer", ("q",)), ("main.look", (7,))]
            return ", ".join(await k.parallel_for(0, names, None, lambda k, one: k.act(0, *one)))

        bank = Bank(store, main, node("answer", parameter("q"), tools=["pay", "look"]))
        first = calls(call("look", {"n": 1}, "1"), call("pay", {"n": 2}, "2"), call("look", {"n": 3}, "3"))
        assert isinstance(await bank.life(first), Suspended)
        assert sorted(bank.done) == ["look 1", "look 3", "look 7"]
        await bank.says()
        assert value_of(await bank.life(said("done"))) == "done, seen 7"
        assert sorted(bank.done) == ["look 1", "look 3", "look 7", "pay 2"]
        assert await bank.unanswered() == []

    place.run(body)


@pytest.mark.feature("A12.6")
def test_of_three_one_is_done_one_waits_one_had_no_turn_yet_and_all_are_answered_once(place: Place) -> None:
    async def body(store: DatabaseStore) -> None:
        turn = asyncio.Event()

        async def main(k: Any) -> str:
            async def part(k: Any, n: object) -> str:
                if n == 2 and not turn.is_set():
                    # The worker goes away here, before this branch has begun anything.
                    k.scope.run.draining = True
                return str(await k.act(0, "main.pay" if n == 1 else "main.look", (n,)))

            return ", ".join(await k.parallel_for(0, [0, 1, 2], None, part))

        bank = Bank(store, main)
        assert isinstance(await bank.life(), Suspended)
        assert bank.done == ["look 0"]
        turn.set()
        assert isinstance(await bank.life(), Suspended)
        assert bank.done == ["look 0", "look 2"]
        await bank.says()
        assert value_of(await bank.life()) == "seen 0, paid 1, seen 2"
        assert bank.done == ["look 0", "look 2", "pay 1"]
        assert await bank.unanswered() == []

    place.run(body)
