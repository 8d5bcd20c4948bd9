"""Agents made of any edges: most are refused by the check, which is what it is for; those that it takes have to end."""

from __future__ import annotations

from hypothesis import strategies as st

from ael.check.check import check_program
from ael.check.program import CheckedProgram
from ael.diagnostics.diagnostic import Bag
from ael.source import Source
from ael.syntax.parse import parse_module

HEAD = """\
permission a.use
error Odd { n: Int }

/// Acts. Call it once.
tool act(n: Int) -> Int
  needs a.use
  repeat idempotent
  extern "outside:act"
"""
NODES = 6


@st.composite
def edges(draw: st.DrawFn) -> list[str]:
    """The edges of an agent. Each node leads on in one of the ways there are; backwards mostly with an `up to`."""
    count = draw(st.integers(2, NODES))
    names = [f"x{at}" for at in range(count)]
    found: list[str] = []

    def target(source: int, bound: str = "") -> str:
        """What comes after `source`: mostly something further on."""
        back = draw(st.integers(0, 9)) == 0
        at = draw(st.integers(0, source)) if back and source >= 0 else draw(st.integers(source + 1, min(source + 2, count)))
        value = names[source] if source >= 0 else "n"
        name = "finish" if at >= count else names[at]
        limit = f" up to {draw(st.integers(1, 3))}" if back and draw(st.booleans()) else ""
        return f"{name}({value}){bound}{limit}"

    waiting: list[int] = []
    inside: set[int] = set()
    for at in range(-1, count):
        source = "start" if at < 0 else names[at]
        way = draw(st.sampled_from(["next", "next", "choice", "fork", "join", "both"]))
        if at in inside:
            way = "none" if draw(st.integers(0, 5)) else "next"
        if way == "both" and at + 2 < count:
            # Two branches that come together again, unless something below leads one of them elsewhere.
            left, right = names[at + 1], names[at + 2]
            after = "finish" if at + 3 >= count else names[at + 3]
            found += [f"edge {source} -> {name}({'n' if at < 0 else source})" for name in (left, right)]
            found.append(f"edge {left} & {right} -> {after}({left} + {right})")
            inside |= {at + 1, at + 2}
        elif way == "join" and waiting:
            other = names[waiting.pop()]
            after = "finish" if at + 1 >= count else names[at + 1]
            found.append(f"edge {other} & {source} -> {after}({other} + {source})")
        elif way == "choice" and at >= 0:
            found.append(f"edge {source} -> {target(at, f' when {source} % 3 == {draw(st.integers(0, 2))}')}")
            found.append(f"edge {source} -> {target(at, draw(st.sampled_from([' otherwise', f' when {source} % 2 == 0'])))}")
        elif way == "fork":
            found += [f"edge {source} -> {target(at)}", f"edge {source} -> {target(at)}"]
        elif way == "join" and at >= 0:
            waiting.append(at)
        elif way != "none":
            found.append(f"edge {source} -> {target(at)}")
        if at >= 0 and draw(st.integers(0, 3)) == 0:
            rest = draw(st.integers(at + 1, count))
            error = draw(st.sampled_from(["Odd", "Fault", "Odd, Fault"]))
            found.append(f"edge {source} -> {'finish' if rest >= count else names[rest]}(n) on {error}")
    return found


def text_of(lines: list[str]) -> str:
    """The program: each node acts, and fails now and then."""
    node = "node {}(n: Int) -> Int fails Odd  grants a.use {{\n  let found = act(n)\n  if found % 7 == 6 {{ fail Odd(n: n) }}\n  found\n}}"
    nodes = "\n".join(node.format(f"x{at}") for at in range(NODES))
    body = "\n".join(f"  {line}" for line in lines)
    return f"{HEAD}\n{nodes}\n\nagent main(n: Int) -> Int fails Odd\n  grants a.use\n{{\n{body}\n}}\n"


def checked(text: str) -> tuple[CheckedProgram | None, Bag]:
    """The program, None where it is refused."""
    bag = Bag()
    modules = {"main": parse_module(Source("main.ael", text), bag)}
    return check_program(modules, "main", bag, extern_allowed=frozenset({"outside"})), bag
