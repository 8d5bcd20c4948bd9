"""Generated programs: tools of every repeat safety, nested and beside each other, model loops, approvals, stores, ids and time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any

from hypothesis import strategies as st

from ael.check.check import check_program
from ael.diagnostics.diagnostic import Bag
from ael.lower.lower import lower
from ael.lower.unit import CompiledUnit
from ael.source import Source
from ael.syntax.parse import parse_module

UNREPEATABLE = frozenset({"pay", "book", "ask"})
EXTERNS = ("pay", "book", "send", "post", "ask")
_REPEATS = {"pay": "never", "book": "reconcile", "send": "idempotent", "post": 'idempotent key "post ${n}"', "ask": "never"}
_HEAD = """\
permission shop.act
role boss
store kept: Map<String, Int> needs shop.act

model fast {
  provider openai
  name "m"
}

/// Sends, and posts. Call it for a pair.
tool nest(n: Int) -> Int
  needs shop.act
  repeat idempotent
  timeout 60s
{
  kept.put("nest ${n}", n)
  send(n) + post(n + 1)
}

/// Sends, then pays. Call it for both.
tool deep(n: Int) -> Int
  needs shop.act
  repeat never
  timeout 60s
{
  let first = send(n)
  let second = try pay(n + 1) catch {
    Uncertain u => 1_000
  }
  first + second
}

/// Works on something.
node think(id: String) -> String fails Uncertain
  model fast
  policy loop(steps: 8, tool_calls: 20)
  grants shop.act
  tools send, post, pay, nest, ask
  budget tokens 1_000_000
{
  instructions "Work."
}
"""


def _tool(name: str) -> str:
    approval = "  approval required by boss\n" if name == "ask" else ""
    return (
        f"/// Acts by {name}. Call it once.\ntool {name}(n: Int) -> Int\n  needs shop.act\n  repeat {_REPEATS[name]}\n{approval}"
        f'  timeout 60s\n  extern "shop:{name}"\n'
    )


@dataclass(frozen=True)
class Program:
    """A program's text, and what its model says: the calls (tool and number) of each turn, by the id of the visit."""

    text: str
    script: dict[str, list[list[tuple[str, int]]]]

    @property
    def unit(self) -> CompiledUnit:
        return _compiled(self.text)


@cache
def _compiled(text: str) -> CompiledUnit:
    bag = Bag()
    modules = {"main": parse_module(Source("main.ael", text), bag)}
    program = check_program(modules, "main", bag, extern_allowed=frozenset({"shop"}), uses=frozenset())
    assert program is not None, [(one.code, one.message) for one in bag.sorted()]
    return lower(program)


_CALL = st.sampled_from(["pay", "book", "send", "post", "ask", "nest", "deep"])
_SAFE = st.sampled_from(["send", "post", "nest"])
_OFFERED = st.sampled_from(["send", "post", "pay", "nest", "ask"])
_STATEMENT: st.SearchStrategy[tuple[str, Any]] = st.one_of(
    st.tuples(st.just("call"), _CALL),
    st.tuples(st.just("beside"), st.lists(_CALL, min_size=2, max_size=3)),
    st.tuples(st.just("each"), _SAFE),
    st.tuples(st.just("think"), st.lists(st.lists(_OFFERED, min_size=1, max_size=3), min_size=0, max_size=2)),
    st.tuples(st.just("keep"), st.none()),
    st.tuples(st.just("id"), st.none()),
)
PLANS = st.lists(_STATEMENT, min_size=2, max_size=4)


def program(plan: list[tuple[str, Any]]) -> Program:
    """The program of a plan. Every call has a number of its own, so that what the outside saw can be told apart."""
    numbers = count(10, 10)
    script: dict[str, list[list[tuple[str, int]]]] = {}
    lines: list[str] = []
    for at, (kind, what) in enumerate(plan):
        match kind:
            case "call":
                lines.append(f"  total = total + {_caught(what, next(numbers))}")
            case "beside":
                branches = "\n".join(f"    b{index}: {_caught(name, next(numbers), '    ')}" for index, name in enumerate(what))
                lines.append(f"  let r{at} = parallel {{\n{branches}\n  }}")
                lines += [f"  total = total + r{at}.b{index}" for index in range(len(what))]
            case "each":
                first = next(numbers) * 100
                lines.append(f"  for x in parallel x in [{first}, {first + 10}, {first + 20}] up to 2 {{ {what}(x) }} {{")
                lines.append("    total = total + x\n  }")
            case "think":
                script[f"m{at}"] = [[(name, next(numbers)) for name in turn] for turn in what]
                lines.append(f'  let t{at} = try think("m{at}") catch {{\n    Uncertain u => "unknown"\n  }}')
                lines.append(f"  total = total + t{at}.length()")
            case "keep":
                lines.append(f'  kept.put("k{at}", total)')
                lines.append(f'  total = total + (kept.get("k{at}") ?? 0)')
            case _:
                lines.append(f'  let i{at} = new_id()\n  kept.put(i{at}, {at})\n  log("${{i{at}}} ${{now()}}")')
                lines.append(f"  total = total + (kept.get(i{at}) ?? 0)")
    body = "\n".join(["  var total = 0", *lines, "  total"])
    tools = "\n".join(_tool(name) for name in EXTERNS)
    return Program(f"{_HEAD}\n{tools}\nnode main() -> Int\n  grants shop.act\n{{\n{body}\n}}\n", script)


def _caught(name: str, number: int, indent: str = "  ") -> str:
    if name in ("pay", "book", "ask", "deep"):
        arms = f"\n{indent}  Uncertain u => 1_000\n{indent}  Fault f => 2_000\n{indent}"
        return f"(try {name}({number}) catch {{{arms}}})"
    return f"{name}({number})"
