"""Generated agents: sequences, choices, rounds, branches that are joined, visits for each item, failures, nested agents, model loops."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.durable.programs import _HEAD, EXTERNS, Program, _caught, _tool

_CALL = st.sampled_from(["pay", "book", "send", "post", "ask", "nest", "deep"])
_OFFERED = st.sampled_from(["send", "post", "pay", "nest", "ask"])
_LEAF: st.SearchStrategy[tuple[str, Any]] = st.one_of(
    st.tuples(st.just("call"), _CALL),
    st.tuples(st.just("each"), st.integers(2, 6)),
    st.tuples(st.just("think"), st.lists(st.lists(_OFFERED, min_size=1, max_size=2), min_size=1, max_size=1)),
    st.tuples(st.just("fails"), st.booleans()),
)


def _deeper(inner: st.SearchStrategy[tuple[str, Any]]) -> st.SearchStrategy[tuple[str, Any]]:
    few = st.lists(inner, min_size=1, max_size=2)
    return st.one_of(
        st.tuples(st.just("fork"), st.lists(few, min_size=2, max_size=3)),
        st.tuples(st.just("choice"), st.tuples(few, few)),
        st.tuples(st.just("round"), st.tuples(few, st.integers(1, 2))),
        st.tuples(st.just("nested"), few),
        st.tuples(st.just("delegate"), few),
    )


PLANS = st.lists(st.recursive(_LEAF, _deeper, max_leaves=4), min_size=1, max_size=3)


class Exit(NamedTuple):
    """Where the edges of a plan have come to: what stands before `->`, the value there (None: it is handed on), and what ends the edge."""

    sources: str
    value: str | None
    end: str = ""


@dataclass
class Maker:
    """Writes the nodes and agents of a plan."""

    numbers: count[int] = field(default_factory=lambda: count(10, 10))
    names: count[int] = field(default_factory=count)
    declared: list[str] = field(default_factory=list)
    script: dict[str, list[list[tuple[str, int]]]] = field(default_factory=dict)
    rounds: int = 0
    """How deep it is in rounds, where no model is asked: a turn asked again and one of another visit would look the same outside."""

    def agent(self, name: str, plan: list[tuple[str, Any]], parameter: str, doc: str = "") -> None:
        edges: list[str] = []
        end = self.sequence(edges, plan, Exit("start", "n" if parameter else "1"))
        self.edge(edges, end, "finish")
        body = "\n".join(f"  {edge}" for edge in edges)
        self.declared.append(f"{doc}agent {name}({parameter}) -> Int\n  grants shop.act\n{{\n{body}\n}}")

    def edge(self, edges: list[str], exit: Exit, target: str) -> None:
        value = "" if exit.value is None else f"({exit.value})"
        edges.append(f"edge {exit.sources} -> {target}{value}{exit.end}")

    def node(self, body: str, fails: str = "") -> str:
        name = f"x{next(self.names)}"
        self.declared.append(f"node {name}(n: Int) -> Int{fails}\n  grants shop.act\n{{\n{body}\n}}")
        return name

    def step(self, edges: list[str], exit: Exit, body: str) -> str:
        name = self.node(body)
        self.edge(edges, exit, name)
        return name

    def sequence(self, edges: list[str], plan: list[tuple[str, Any]], exit: Exit) -> Exit:
        for kind, what in plan:
            exit = getattr(self, f"_{kind}")(edges, what, exit)
        return exit

    def _call(self, edges: list[str], tool: str, exit: Exit) -> Exit:
        name = self.step(edges, exit, f"  (n % 7) + {_caught(tool, next(self.numbers))}")
        return Exit(name, name)

    def _each(self, edges: list[str], width: int, exit: Exit) -> Exit:
        first = next(self.numbers) * 100
        items = ", ".join(str(first + at * 10) for at in range(width))
        before = self.step(edges, exit, "  n")
        each = self.node("  (try pay(n) catch {\n    Uncertain u => 1_000\n    Fault f => 2_000\n  }) + send(n + 1)")
        edges.append(f"edge {before} -> each {each}([{items}]) up to {width}")
        return Exit(each, f"{each}.fold(0, fn(sum, x) => sum + x)")

    def _think(self, edges: list[str], turns: list[list[str]], exit: Exit) -> Exit:
        if self.rounds:
            return self._call(edges, turns[0][0], exit)
        visit = f"m{next(self.names)}"
        self.script[visit] = [[(tool, next(self.numbers)) for tool in turn] for turn in turns]
        before = self.step(edges, exit, "  n")
        name = f"think_{visit}"
        self.declared.append(
            f'node {name}(n: Int) -> Int fails Uncertain\n  grants shop.act\n{{\n  n % 5 + (try think("{visit}")).length()\n}}'
        )
        edges += [f"edge {before} -> {name}({before})"]
        after = self.node("  n + 1")
        edges += [f"edge {name} -> {after}({name})", f"edge {name} -> {after}({before}) on Uncertain, Fault"]
        return Exit(after, after)

    def _fails(self, edges: list[str], odd: bool, exit: Exit) -> Exit:
        before = self.step(edges, exit, "  n")
        number = next(self.numbers)
        name = self.node(
            f"  let sent = send({number})\n  if sent % 4 == {0 if odd else 1} {{ fail Odd(n: sent) }}\n  sent", " fails Odd"
        )
        after = self.node(f"  n + {_caught('book', next(self.numbers))}")
        self.edge(edges, Exit(before, before), name)
        edges += [f"edge {name} -> {after}({name})", f"edge {name} -> {after}({before}) on Odd"]
        return Exit(after, after)

    def _fork(self, edges: list[str], branches: list[list[tuple[str, Any]]], exit: Exit) -> Exit:
        head = self.step(edges, exit, "  n")
        ends = []
        for branch in branches:
            end = self.sequence(edges, branch, Exit(head, head))
            ends.append(self.step(edges, end, "  n + 1"))
        return Exit(" & ".join(ends), " + ".join(ends))

    def _choice(self, edges: list[str], ways: tuple[list[tuple[str, Any]], list[tuple[str, Any]]], exit: Exit) -> Exit:
        head = self.step(edges, exit, "  n")
        ends = []
        for way, end in zip(ways, (f" when {head} % 2 == 0", " otherwise"), strict=True):
            first = self.step(edges, Exit(head, head, end), "  n")
            ends.append(self.step(edges, self.sequence(edges, way, Exit(first, first)), "  n"))
        return Exit(", ".join(ends), None)

    def _round(self, edges: list[str], what: tuple[list[tuple[str, Any]], int], exit: Exit) -> Exit:
        inner, times = what
        head = self.step(edges, exit, "  n")
        self.rounds += 1
        last = self.step(edges, self.sequence(edges, inner, Exit(head, head)), "  n + 1")
        self.rounds -= 1
        edges.append(f"edge {last} -> {head}({last}) when {last} != 3 up to {times}")
        return Exit(last, last, " otherwise")

    def _nested(self, edges: list[str], inner: list[tuple[str, Any]], exit: Exit) -> Exit:
        name = f"inner{next(self.names)}"
        self.agent(name, inner, "n: Int")
        self.edge(edges, exit, name)
        return Exit(name, name)

    def _delegate(self, edges: list[str], inner: list[tuple[str, Any]], exit: Exit) -> Exit:
        """A model is offered an agent, and calls it once."""
        if self.rounds:
            return self._nested(edges, inner, exit)
        name, visit = f"inner{next(self.names)}", f"m{next(self.names)}"
        self.agent(name, inner, "n: Int", "/// Works on a number. Call it once.\n")
        self.script[visit] = [[(f"delegate__{name}", next(self.numbers))]]
        self.declared.append(
            f"node lead_{visit}(id: String) -> String fails Uncertain\n  model fast\n  policy loop(steps: 4, tool_calls: 200)\n"
            f'  grants shop.act\n  tools {name}\n  budget tokens 1_000_000\n{{\n  instructions "Lead."\n}}'
        )
        before = self.step(edges, exit, "  n")
        after = self.node("  n + 1")
        edges.append(f'edge {before} -> lead_{visit}("{visit}")')
        edges += [f"edge lead_{visit} -> {after}({before})", f"edge lead_{visit} -> {after}({before}) on Uncertain, Fault"]
        return Exit(after, after)


def agents(plan: list[tuple[str, Any]]) -> Program:
    """The program of a plan, whose entry is the agent `main`."""
    maker = Maker()
    maker.agent("main", plan, "")
    tools = "\n".join(_tool(name) for name in EXTERNS)
    declared = "\n\n".join(maker.declared)
    return Program(f"{_HEAD}\nerror Odd {{ n: Int }}\n\n{tools}\n{declared}\n", maker.script)
