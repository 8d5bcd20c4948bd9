"""Visits of agents: branches beside each other, joined the same way whatever is faster; cancels, limits, budgets, grants, events, marks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from ael.data import replace
from ael.run.bindings import Options
from ael.run.events import EdgeTaken, NodeFinished, NodeStarted
from ael.run.trace import SpanList
from ael.types.agent import AgentSpec
from ael.types.fault import Fault, FaultKind
from tests.run.agents import compiled
from tests.run.fakes import FakeClock
from tests.run.helpers import Collected, engine, fault_of, run, uncertain_of, value_of

FORK = """
agent main(n: Int) -> Int
  grants a.use
{
  edge start -> one(n)
  edge start -> two(n + 1)
  edge start -> three(n + 2)
  edge one & two & three -> finish(one * 10_000 + two * 100 + three)
}
"""


def outside(act: Callable[[int], Any], **more: Callable[[int], Any]) -> dict[str, Any]:
    """The functions behind the tools of `HEAD`."""
    return {"main.act": act, "main.pay": act, "main.look": act} | {f"main.{name}": code for name, code in more.items()}


async def same(n: int) -> int:
    return n


@pytest.mark.feature("A13.6")
@pytest.mark.parametrize("order", [(1, 2, 3), (3, 1, 2), (2, 3, 1)])
def test_branches_run_beside_each_other_and_are_joined_the_same_way_whichever_is_first(order: tuple[int, ...]) -> None:
    """Each waits for the one before it in `order`, so that they end in that order, and none could end alone."""
    ended = {n: asyncio.Event() for n in order}
    begun: list[int] = []
    log: list[int] = []

    async def act(n: int) -> int:
        begun.append(n)
        before = order.index(n) - 1
        if before >= 0:
            await ended[order[before]].wait()
        log.append(n)
        ended[n].set()
        return n

    assert value_of(run(engine(compiled(FORK), externs=outside(act)), "main", {"n": 1})) == 10_203
    assert begun == [1, 2, 3], "the branches begin in the order written"
    assert log == list(order)


class Crowd:
    """How many are inside at once, and in which order they came; each goes when `most` are inside, or nobody else will come."""

    def __init__(self, count: int, most: int) -> None:
        self.left = count
        self.most = most
        self.inside = 0
        self.highest = 0
        self.came: list[int] = []
        self.full = asyncio.Event()

    async def __call__(self, n: int) -> int:
        self.came.append(n)
        self.inside += 1
        self.highest = max(self.highest, self.inside)
        if self.inside == self.most:
            self.full.set()
        await self.full.wait()
        for _ in range(5):  # others that may come have time to
            await asyncio.sleep(0)
        self.inside -= 1
        return n


@pytest.mark.feature("A13.6")
def test_four_branches_run_at_once_and_the_others_in_their_order() -> None:
    names = ["one", "two", "three", "four", "five", "six"]
    edges = "\n".join(f"  edge start -> {name}({at})" for at, name in enumerate(names))
    text = f"agent main() -> Int\n  grants a.use\n{{\n{edges}\n  edge {' & '.join(names)} -> finish({' + '.join(names)})\n}}\n"
    crowd = Crowd(6, 4)
    assert value_of(run(engine(compiled(text), externs=outside(crowd)), "main")) == 15
    assert crowd.highest == 4
    assert crowd.came == [0, 1, 2, 3, 4, 5]


@pytest.mark.feature("A13.6")
def test_branches_of_branches_share_the_room() -> None:
    """Three branches that each part in two are six, of which four run at once."""
    firsts = ["one", "two", "three"]
    edges = ["edge start -> one(0)", "edge start -> two(1)", "edge start -> three(2)"]
    declared, ends = [], []
    for at, first in enumerate(firsts):
        for part in ("a", "b"):
            name = f"{first}_{part}"
            declared.append(f"node {name}(n: Int) -> Int  grants a.use {{ act(n) }}")
            edges.append(f"edge {first} -> {name}({10 * at + (1 if part == 'a' else 2) + 10})")
            ends.append(name)
    body = "\n".join(f"  {edge}" for edge in [*edges, f"edge {' & '.join(ends)} -> finish({' + '.join(ends)})"])
    text = "\n".join(declared) + f"\nagent main() -> Int\n  grants a.use\n{{\n{body}\n}}\n"
    crowd = Crowd(6, 4)

    async def act(n: int) -> int:
        return await crowd(n) if n >= 10 else n

    assert value_of(run(engine(compiled(text), externs=outside(act)), "main")) == 129
    assert crowd.highest == 4


EACH = """
agent main(items: List<Int>) -> List<Int>
  grants a.use
{
  edge start -> each one(items) up to 20
  edge one -> finish
}
"""


@pytest.mark.feature("A13.6")
def test_items_go_in_order_and_a_full_channel_holds_the_sender_back() -> None:
    crowd = Crowd(10, 4)
    items = [7, 3, 9, 1, 5, 8, 2, 6, 4, 0]
    assert value_of(run(engine(compiled(EACH), externs=outside(crowd)), "main", {"items": items})) == items
    assert crowd.highest == 4
    assert crowd.came == items


def test_each_item_has_a_place_of_its_own() -> None:
    events = Collected()
    run(engine(compiled(EACH), externs=outside(same)), "main", {"items": [4, 4]}, Options(on_event=events))
    assert [event.path for event in events.of(NodeStarted)] == ["main", "main/one#1[0]", "main/one#1[1]"]


@pytest.mark.feature("K39")
def test_a_failure_in_a_branch_cancels_the_others_and_is_what_the_agent_ends_with() -> None:
    log: list[str] = []

    async def act(n: int) -> int:
        if n == 2:
            await asyncio.sleep(0)
            raise Fault(FaultKind.UNAVAILABLE, "gone", final=True)
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            log.append(f"{n} cancelled")
            raise
        return n

    outcome = fault_of(run(engine(compiled(FORK), externs=outside(act)), "main", {"n": 1}))
    assert outcome.kind is FaultKind.UNAVAILABLE
    assert sorted(log) == ["1 cancelled", "3 cancelled"]


DOUBT = """
agent main(n: Int) -> Int fails Uncertain
  grants a.use
{
  edge start -> paid(n)
  edge start -> two(n)
  edge paid & two -> finish(paid + two)
}
"""


@pytest.mark.feature("K26")
def test_what_was_given_up_for_a_failure_beside_it_has_to_be_faced_first() -> None:
    started = asyncio.Event()

    async def pay(n: int) -> int:
        started.set()
        await asyncio.sleep(3600)
        return n

    async def act(n: int) -> int:
        await started.wait()
        raise Fault(FaultKind.UNAVAILABLE, "gone", final=True)

    outcome = uncertain_of(run(engine(compiled(DOUBT), externs=outside(act, pay=pay)), "main", {"n": 1}))
    assert outcome.operation == "pay"


@pytest.mark.feature("K39", "B15")
def test_a_cancel_reaches_every_branch_and_leaves_nothing_behind() -> None:
    """200 times: `run` looks that no task is left."""
    unit = compiled(FORK)
    made: list[int] = []

    async def act(n: int) -> int:
        made.append(n)
        await asyncio.sleep(3600)
        return n

    async def soon(started: Any) -> None:
        while len(made) < 3:
            await asyncio.sleep(0)
        started.cancel("enough")

    host = engine(unit, externs=outside(act))
    for _ in range(200):
        made.clear()
        outcome = fault_of(run(host, "main", {"n": 1}, during=soon))
        assert (outcome.kind, outcome.message) == (FaultKind.CANCELLED, "enough")


TIMED = """
agent inner(n: Int) -> Int
  grants a.use
  budget time 5s
{
  edge start -> one(n)
  edge start -> two(n)
  edge one & two -> finish(one + two)
}

agent main(n: Int) -> Int
  grants a.use
{
  edge start -> inner(n)
  edge inner -> finish
  edge inner -> finish(0 - 1) on DeadlineExceeded
}
"""


@pytest.mark.feature("A7.2", "A13.1")
def test_the_time_of_an_agent_is_up_for_all_of_its_branches_and_an_edge_meets_it() -> None:
    clock = FakeClock()
    log: list[str] = []

    async def act(n: int) -> int:
        log.append("begun")
        if len(log) == 2:
            clock.advance(6)
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            log.append("cancelled")
            raise
        return n

    assert value_of(run(engine(compiled(TIMED), externs=outside(act), clock=clock), "main", {"n": 1})) == -1
    assert log == ["begun", "begun", "cancelled", "cancelled"]


NESTED = """
agent inner(n: Int) -> Int
  grants a.use
{
  edge start -> one(n)
  edge one -> finish
}

agent main(n: Int) -> Int
  grants a.use
{
  edge start -> inner(n)
  edge inner -> inner(inner + 1) when inner < 3 up to 5
  edge inner -> finish otherwise
}
"""


@pytest.mark.feature("B25")
def test_what_happens_in_nested_agents_is_told_while_it_goes() -> None:
    events = Collected()
    outcome = run(engine(compiled(NESTED), externs=outside(same)), "main", {"n": 2}, Options(on_event=events))
    assert value_of(outcome) == 3
    told = [
        (type(event).__name__, event.path, getattr(event, "edge", getattr(event, "node", "")))
        for event in events
        if isinstance(event, NodeStarted | NodeFinished | EdgeTaken)
    ]
    assert told[:8] == [
        ("NodeStarted", "main", "main"),
        ("EdgeTaken", "main/inner#1", "start -> inner"),
        ("NodeStarted", "main/inner#1", "inner"),
        ("EdgeTaken", "main/inner#1/one#1", "start -> one"),
        ("NodeStarted", "main/inner#1/one#1", "one"),
        ("NodeFinished", "main/inner#1/one#1", "one"),
        ("EdgeTaken", "main/inner#1/finish", "one -> finish"),
        ("NodeFinished", "main/inner#1", "inner"),
    ]
    assert ("EdgeTaken", "main/inner#2", "inner -> inner") in told


@pytest.mark.feature("K40")
def test_runs_of_one_agent_share_nothing() -> None:
    made = engine(compiled(NESTED), externs=outside(same))

    async def both() -> list[object]:
        runs = [made.start("main", {"n": n}) for n in (0, 1, 2, 3)]
        return [value_of(await one.outcome()) for one in runs]

    assert asyncio.run(both()) == [3, 3, 3, 3]
    assert asyncio.run(both()) == [3, 3, 3, 3], "and none is bound to a loop that is closed"


DEEP = """
agent main(n: Int) -> Int
{
  edge start -> clean(n)
  edge clean -> main(clean)
  edge main -> finish
}
"""


@pytest.mark.feature("A13.6", "A13.7")
def test_an_agent_in_itself_ends_at_the_depth_of_agents() -> None:
    events = Collected()
    outcome = fault_of(run(engine(compiled(DEEP)), "main", {"n": 0}, Options(on_event=events)))
    assert outcome.kind is FaultKind.TOO_DEEP
    assert len([event for event in events.of(NodeStarted) if event.node == "main"]) == 16


ROUNDS = """
agent main(n: Int) -> Int
  grants a.use
{
  edge start -> clean(n)
  edge clean -> one(clean)
  edge clean -> two(clean)
  edge one & two -> three(one + two)
  edge three -> clean(clean) when three < 100_000 up to 1_500
  edge three -> finish otherwise
}
"""


def test_many_rounds_of_branches_do_not_pile_up() -> None:
    """No deeper than one: a round that began inside of the one before would end in `TooDeep`, or in no memory."""
    deepest = 0

    async def act(n: int) -> int:
        nonlocal deepest
        deepest = max(deepest, len(asyncio.all_tasks()))
        return n

    assert value_of(run(engine(compiled(ROUNDS), externs=outside(act)), "main", {"n": 0})) == 3002
    assert deepest < 10


MARKS = """
agent main(n: Int) -> Int
  grants a.use
{
  edge start -> seen(n)
  edge start -> two(n)
  edge two -> one(two)
  edge one & seen -> three(seen + one)
  edge three -> finish
}
"""


@pytest.mark.feature("K44")
@pytest.mark.parametrize("first", ["look", "act"])
def test_a_branch_bears_the_mark_of_what_it_saw_and_of_nothing_beside_it(first: str) -> None:
    spans = SpanList()
    done = asyncio.Event()

    async def look(n: int) -> int:
        if first == "act":
            await done.wait()
        return n

    async def act(n: int) -> int:
        for _ in range(20):
            await asyncio.sleep(0)
        done.set()
        return n

    made = engine(compiled(MARKS), externs=outside(act, look=look), sinks=(spans,))
    assert value_of(run(made, "main", {"n": 1})) == 2
    marks = {span.name: span.taint for span in spans.spans if span.kind == "node"}
    # Every `extern` is outside; what matters is that `look` is in no mark of the branch beside it.
    assert not any("look" in source for source in (*marks["one"], *marks["two"]))
    assert any("look" in source for source in marks["seen"])
    assert any("look" in source for source in marks["three"]), "after the join it is"


@pytest.mark.feature("A11.7")
def test_a_join_that_nothing_comes_to_is_a_fault_and_no_silence() -> None:
    """The check refuses it; here its word is taken away."""
    unit = compiled(FORK)
    node = unit.nodes["main.main"]
    assert node.spec.agent is not None
    edges = list(node.spec.agent.edges)
    edges[3] = replace(edges[3], sources=("one", "two", "four"))
    spec = replace(node.spec, agent=AgentSpec(node.spec.agent.nodes, tuple(edges)))
    broken = replace(unit, nodes={**unit.nodes, "main.main": replace(node, spec=spec)})
    outcome = fault_of(run(engine(broken, externs=outside(same)), "main", {"n": 1}))
    assert outcome.kind is FaultKind.NO_EDGE
    assert "waits for `four`" in outcome.message


def test_a_fault_of_what_an_edge_carries_is_the_agents_and_no_nodes() -> None:
    text = """
agent main(n: Int) -> Int
{
  edge start -> clean(10 div n)
  edge clean -> finish
  edge clean -> finish(0) on Fault
}
"""
    assert value_of(run(engine(compiled(text)), "main", {"n": 2})) == 6
    assert fault_of(run(engine(compiled(text)), "main", {"n": 0})).kind is FaultKind.ARITHMETIC


@pytest.mark.feature("A13.6")
def test_an_edge_carries_no_more_items_than_it_says_and_none_of_too_many() -> None:
    acted: list[int] = []

    async def act(n: int) -> int:
        acted.append(n)
        return n

    made = engine(compiled(EACH), externs=outside(act))
    assert value_of(run(made, "main", {"items": list(range(20))})) == list(range(20))
    acted.clear()
    outcome = fault_of(run(made, "main", {"items": list(range(21))}))
    assert (outcome.kind, outcome.details["limit"]) == (FaultKind.LOOP_LIMIT, 20)
    assert acted == []


CANCELS = """
agent main(n: Int) -> Int
  grants a.use
{
  edge start -> one(n)
  edge one -> finish
  edge one -> finish(0 - 1) on Fault
}
"""


@pytest.mark.feature("K39")
def test_no_edge_meets_a_cancel() -> None:
    async def act(n: int) -> int:
        raise Fault(FaultKind.CANCELLED if n else FaultKind.UNAVAILABLE, "stopped", final=True)

    made = engine(compiled(CANCELS), externs=outside(act))
    assert value_of(run(made, "main", {"n": 0})) == -1
    assert fault_of(run(made, "main", {"n": 1})).kind is FaultKind.CANCELLED
