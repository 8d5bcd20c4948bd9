"""Skills beside what uses them: grants, endings, taint, names; each mistake told with both of its places."""

from __future__ import annotations

import pytest

from tests.check_facts.support import at, check, label_texts

HEAD = """permission orders.refund

/// Give the money back. Only after a person asked for it.
tool refund(id: String(max: 64)) -> String
  needs orders.refund
  repeat {repeat}
{{
  "refunded ${{id}}"
}}

model fast {{
  provider openai
  name "gpt-5-mini"
}}

skill refunds {{
  version "1.0"
  tools refund
}}

skill desk {{
  version "1.0"
  skills refunds
}}
"""


def program(grants: str = "", fails: str = "", repeat: str = "idempotent", more: str = "") -> str:
    return f"""{HEAD.format(repeat=repeat)}
node answer(question: String) -> String{fails}
  model fast
  policy loop(steps: 3, tool_calls: 2)
{grants}  skills desk
{{
  instructions "Answer."
}}
{more}"""


@pytest.mark.feature("A4.1", "A6.2")
def test_a_skill_adds_no_permission() -> None:
    """Refused before anything runs, with where the grants are, where the skill names the tool, and where the tool needs it."""
    found = check(program()).one("AEL0644")
    assert at(found) == "desk"
    assert (
        found.message == "the skill `desk` brings `refund`, which needs `orders.refund`, and the node `answer` is not granted it"
    )
    assert label_texts(found) == [
        ("answer", "it is granted nothing"),
        ("refund", "`refunds` brings it"),
        ("needs orders.refund", "`refund` needs it"),
    ]
    assert found.fix is not None
    assert not found.fix.safe, "granting more is a decision"
    granted = check(program("  grants orders.refund\n")).good
    assert granted.nodes["main.answer"].tools == ("main.refund",)
    assert granted.nodes["main.answer"].brought == (("main.refund", "main.refunds"),)
    assert [skill.name for skill in granted.nodes["main.answer"].skills] == ["main.refunds", "main.desk"]


@pytest.mark.feature("A4.1")
def test_what_two_skills_lack_is_told_at_once() -> None:
    more = """
permission crm.write

/// Open a ticket. Call this when all else fails.
tool ticket(text: String(max: 64)) -> String
  needs crm.write
  repeat idempotent
{
  text
}

skill more {
  version "1.0"
  tools ticket, refund
}
"""
    text = program().replace("skills desk", "skills more, desk") + more
    found = check(text)
    assert [d.code for d in found.found] == ["AEL0644"], [(d.code, d.message) for d in found.found]
    assert "`ticket` and `refund`, which need `crm.write` and `orders.refund`" in found.found[0].message


@pytest.mark.feature("D2")
def test_what_a_skills_tool_may_end_with_is_faced() -> None:
    """K26: a tool that may leave open what happened is no less so through a skill of a skill."""
    found = check(program("  grants orders.refund\n", repeat="reconcile"))
    assert found.errors == ["AEL0403"]
    assert at(found.found[0]) == "desk"
    assert check(program("  grants orders.refund\n", " fails Uncertain", "reconcile")).errors == []


STRICT = """enum Topic { Refund, Other }

model fast {
  provider openai
  name "gpt-5-mini"
}

node classify(text: String) -> Topic
  model fast
  policy one_call
{
  instructions "Sort."
}

node one(text: String) -> String {
  text
}

store kept: Map<String, String>

node keep(topic: Topic) -> Bool {
  kept.put("last", if topic == Topic.Refund { "refund" } else { "other" })
  true
}

node last(text: String) -> String {
  kept.get("last") ?? text
}

agent desk(text: String) -> String
  policy strict
{
  EDGES
}
"""
DECIDED = {
    "by a model": [
        "edge start -> classify(text)",
        "edge classify -> one(text) when classify == Topic.Refund",
        "edge classify -> finish(text) otherwise",
        "edge one -> finish",
    ],
    "by what was kept of it": [
        "edge start -> classify(text)",
        "edge classify -> keep(classify)",
        "edge keep -> last(text)",
        'edge last -> one(text) when last == "refund"',
        "edge last -> finish(text) otherwise",
        "edge one -> finish",
    ],
}


@pytest.mark.parametrize("edges", DECIDED.values(), ids=DECIDED.keys())
@pytest.mark.feature("A14.4")
def test_no_outside_data_decides_an_edge_of_a_strict_agent(edges: list[str]) -> None:
    """K44."""
    text = STRICT.replace("EDGES", "\n  ".join(edges))
    assert [d.code for d in check(text).found if d.code != "AEL1101"] == ["AEL0704"], check(text).found
    assert "AEL0704" not in check(text.replace("  policy strict\n", "")).codes


def test_a_chain_of_skills_may_be_of_any_length() -> None:
    """K48."""
    count = 3_000
    chain = (
        "".join(f'skill s{n} {{\n  version "1"\n  instructions "{n}"\n  skills s{n + 1}\n}}\n' for n in range(count))
        + f'skill s{count} {{\n  version "1"\n  tools refund\n}}\n'
    )
    text = program("  grants orders.refund\n", repeat="reconcile").replace("  skills desk\n", "  skills s0\n") + chain
    assert check(text).errors == ["AEL0403"]
    last = chain.replace("  tools refund\n}\n", "  skills s0\n}\n")
    assert "AEL0641" in check(program("  grants orders.refund\n") + last).errors
