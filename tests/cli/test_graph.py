"""`ael graph`: an agent as text, as Mermaid, as SVG."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Ael

PROGRAM = """
error Odd { n: Int }

model fast {
  provider openai
  name "m"
}

node plan(n: Int) -> List<Int> { [n, n + 1] }

node ask(n: Int) -> Int
  model fast
  policy one_call
{
  instructions "Count."
}

node check(n: Int) -> Int fails Odd {
  if n % 2 == 1 { fail Odd(n: n) }
  n
}

agent inner(n: Int) -> List<Int>
{
  edge start -> plan
  edge plan -> each ask(plan) up to 5
  edge ask -> finish
}

agent outer(n: Int) -> Int
{
  edge start -> inner
  edge start -> check
  edge check -> check(n + 1) on Odd up to 2
  edge inner & check -> finish(check) when inner.length() > 3
  edge check & inner -> finish(0) otherwise
}
"""
OUTER = PROGRAM.replace("-> Int\n{\n  edge start -> inner", "-> Int fails Odd\n{\n  edge start -> inner")

TEXT = """\
agent outer(n: Int) -> Int

start
  ---> inner
  ---> check

inner  (agent)
  ---> check & inner

check
  -x-> check          on Odd up to 2
  ---> check & inner

check & inner
  ---> finish  when inner.length() > 3
  ---> finish  otherwise
"""
MERMAID = """\
flowchart TD
  n0(["start"])
  n1["plan"]
  n2["ask<br/><small>fast</small>"]
  n3(["finish"])
  n0 --> n1
  n1 -->|"each up to 5"| n2
  n2 --> n3
"""


@pytest.mark.feature("C10")
def test_as_text(ael: Ael) -> None:
    ael.write({"main.ael": OUTER})
    ended = ael("graph", "main.ael", "outer")
    assert (ended.code, ended.err, ended.out) == (0, "", TEXT)


@pytest.mark.feature("C10")
def test_as_mermaid(ael: Ael) -> None:
    ael.write({"main.ael": OUTER})
    assert ael("graph", "main.ael", "inner", "--format", "mermaid").out == MERMAID


@pytest.mark.feature("C10")
def test_as_svg_in_a_file(ael: Ael) -> None:
    ael.write({"main.ael": OUTER})
    ended = ael("graph", "main.ael", "outer", "--format", "svg", "--out", "outer.svg")
    assert (ended.code, ended.out) == (0, "")
    root = ElementTree.fromstring((ael.folder / "outer.svg").read_text("utf-8"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert ael("graph", "main.ael", "outer", "--format", "svg", "--out", "nowhere/x.svg").err == (
        "ael graph: `nowhere/x.svg` cannot be written: no such file or directory\n"
    )


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        (OUTER, (), "say which agent to draw: `inner`, `outer`"),
        (OUTER, ("check",), "there is no agent `check`; there are `inner`, `outer`"),
        ("node a(n: Int) -> Int { n }", (), "there is no agent here to draw"),
        ("node a(n: Int) -> Int { n }", ("b",), "there is no agent here to draw"),
    ],
)
def test_what_cannot_be_drawn(ael: Ael, text: str, words: tuple[str, ...], said: str) -> None:
    ael.write({"main.ael": text})
    ended = ael("graph", "main.ael", *words)
    assert (ended.code, ended.out, ended.err) == (2, "", f"ael graph: {said}\n")


def test_a_program_that_does_not_check_is_not_drawn(ael: Ael) -> None:
    ael.write({"main.ael": "agent a(n: Int) -> Int\n{\n}\n"})
    ended = ael("graph", "main.ael")
    assert (ended.code, ended.out) == (2, "")
    assert "AEL1302" in ended.err
