"""Nodes: what a model is offered, policies, budgets, models, instructions."""

from __future__ import annotations

from decimal import Decimal

import pytest

from ael.check.price import priced
from tests.check_facts.support import MODEL, TOOL, at, check, label_texts, node

GIVEN = "grants orders.read\n  tools look_up"


@pytest.mark.feature("A2.1")
def test_a_node_has_exactly_its_tools() -> None:
    program = check(node(GIVEN)).good
    assert program.nodes["main.answer"].tools == ("main.look_up",)
    assert program.nodes["main.answer"].model == "main.fast"
    assert program.nodes["main.answer"].policy is None
    assert program.effects["main.answer"].tainted


@pytest.mark.feature("A2.2")
def test_ordinary_code_has_no_model_and_no_tool_list() -> None:
    source = TOOL + "\nnode main(id: String(max: 64)) -> String\n  grants orders.read\n  CLAUSE\n{\n  look_up(id)\n}\n"
    assert check(source.replace("  CLAUSE\n", "")).found == []
    assert check(source.replace("  CLAUSE\n", "  budget time 5s\n")).good.nodes["main.main"].budget.time == 5_000
    for clause in ("tools look_up", "attempts 3", "policy one_call", "tool_choice any", "history summarize"):
        assert check(source.replace("CLAUSE", clause)).errors == ["AEL0607"], clause


@pytest.mark.feature("A1.3", "A2.1")
def test_unknown_and_wrong_kinds_of_tools() -> None:
    found = next(d for d in check(node("grants orders.read\n  tools look_upp")).found)
    assert found.code == "AEL0601"
    assert "did you mean `look_up`" in found.message
    plain = node("tools help") + "\nfn help() -> Int {\n  1\n}\n"
    assert "`help` is a function" in check(plain).one("AEL0601").message


@pytest.mark.feature("A1.6")
def test_tool_names_are_unique_in_a_node() -> None:
    assert check(node("grants orders.read\n  tools look_up, look_up")).codes == ["AEL0602"]
    other = "permission o.read\n\n/// Look. Call this first.\npub tool look_up() -> Int\n  needs o.read\n  repeat idempotent\n{\n  1\n}\n"
    source = "use ./other\n" + node("grants orders.read, o.read\n  tools look_up, other.look_up")
    found = check(source, {"other": other}).one("AEL0602")
    assert at(found) == "other.look_up"
    assert label_texts(found) == [("look_up", "offered here already")]


@pytest.mark.feature("A1.5")
def test_names_that_a_model_cannot_be_offered() -> None:
    for name in ("final", "final_result", "find_tools", "a__b", "a" * 65):
        found = check(node(GIVEN).replace("look_up", name)).one("AEL0603")
        assert at(found) == name
    assert check(node(GIVEN).replace("look_up", "a" * 64)).found == []
    assert check(TOOL.replace("look_up", "final")).found == []


@pytest.mark.feature("A1.5")
def test_a_tool_that_is_offered_has_a_description() -> None:
    bare = "/// Read an order. Call this before promising anything about one.\n"
    found = check(node(GIVEN).replace(bare, "")).one("AEL0604")
    assert at(found) == "look_up"
    assert check(node().replace(bare, "")).found == []


@pytest.mark.feature("A1.8")
def test_a_description_says_when_to_call() -> None:
    assert check(node(GIVEN).replace(" Call this before promising anything about one.", "")).codes == ["AEL1121"]


@pytest.mark.feature("A1.7")
def test_a_description_is_sent_as_written_and_is_trimmed() -> None:
    bare = "/// Read an order. Call this before promising anything about one.\n"
    assert check(node(GIVEN).replace(bare, "///\n" + bare)).codes == ["AEL1122"]
    assert check(node(GIVEN)).good.tools["main.look_up"].doc == "Read an order. Call this before promising anything about one."


@pytest.mark.feature("A7.4")
def test_one_call_refuses_a_tool_that_would_need_a_second() -> None:
    head = "node answer(question: String) -> Int"
    found = check(node("policy one_call\n  " + GIVEN, head=head)).one("AEL0605")
    assert at(found) == "look_up"
    assert "a second model call would be needed" in found.message
    assert ("policy one_call", "one model call, by this policy") in label_texts(found)
    assert check(node("policy one_call\n  " + GIVEN)).found == []
    assert check(node("policy loop(steps: 3)\n  " + GIVEN, head=head)).found == []


@pytest.mark.feature("A7.4")
def test_under_one_call_the_errors_of_a_tool_are_the_nodes() -> None:
    failing = "error NotFound\n" + node("policy one_call\n  " + GIVEN).replace(
        "tool look_up(id: String(max: 64)) -> String", "tool look_up(id: String(max: 64)) -> String fails NotFound"
    )
    found = check(failing).one("AEL0630")
    assert at(found) == "look_up"
    assert label_texts(found) == [("NotFound", "declared here")]
    assert check(failing.replace("question: String) -> String", "question: String) -> String fails NotFound")).found == []
    assert check(failing.replace("policy one_call", "policy loop(steps: 3)")).found == []


@pytest.mark.feature("A7.3")
def test_policies() -> None:
    spec = check(node("policy loop(steps: 8, tool_calls: 12)")).good.nodes["main.answer"]
    assert spec.policy is not None
    assert (spec.policy.kind, spec.budget.steps, spec.budget.tool_calls) == ("loop", 8, 12)
    for wrong in ("policy lop", "policy one_call(steps: 3)", "policy loop(turns: 3)", "policy loop(8)"):
        assert check(node(wrong)).codes == ["AEL0606"], wrong
    for wrong in (
        "policy loop(steps: 8)\n  budget steps 9",
        "policy loop(steps: 0 - 1)",
        "policy loop(steps: 1.5)",
        "policy loop(steps: 5s)",
    ):
        assert check(node(wrong)).codes == ["AEL0612"], wrong


@pytest.mark.feature("A7.3", "B10")
@pytest.mark.parametrize("amount", ["tokens 0", "cost $0", "time 0s", "steps 0", "tool_calls 0"])
def test_zero_means_zero(amount: str) -> None:
    checked = check(node(f"budget {amount}"))
    assert checked.codes == ["AEL1124"]
    assert checked.program is not None
    budget = checked.program.nodes["main.answer"].budget
    assert getattr(budget, amount.split()[0]) == 0
    assert getattr(budget, amount.split()[0]) is not None


@pytest.mark.feature("B10")
def test_budgets_have_units() -> None:
    budget = check(node("budget tokens 20_000, cost $0.25, time 60s")).good.nodes["main.answer"].budget
    assert (budget.tokens, budget.cost, budget.time, budget.steps) == (20_000, Decimal("0.25"), 60_000, None)
    for wrong in (
        "cost 1",
        "cost 0.25",
        "time 60",
        "tokens $5",
        "tokens 5s",
        "steps 1KiB",
        "tokens 0 - 5",
        "cost 0 - $1",
        "tokns 5",
        "cost $5 per day",
    ):
        assert check(node(f"budget {wrong}")).codes == ["AEL0612"], wrong
    assert check(node("budget tokens 5, tokens 6")).codes == ["AEL0612"]
    found = check(node("budget cost 1")).one("AEL0612")
    assert found.fix is not None
    assert found.fix.edits[0].text == "$1"


def test_a_budget_may_be_a_named_constant() -> None:
    source = "const MOST: Int = 4_000\n" + node("budget tokens MOST")
    assert check(source).good.nodes["main.answer"].budget.tokens == 4_000


def test_attempts_and_history() -> None:
    assert check(node("attempts 3")).good.nodes["main.answer"].attempts == 3
    assert check(node("attempts 0")).codes == ["AEL0613"]
    assert check(node("history keep 20")).good.nodes["main.answer"].history_keep == 20
    assert check(node("history summarize")).good.nodes["main.answer"].history_summarize
    assert check(node("history keep 0")).codes == ["AEL0625"]


@pytest.mark.feature("A2.8")
def test_tool_choice() -> None:
    for choice in ("auto", "any", "none", "look_up"):
        assert check(node(f"{GIVEN}\n  tool_choice {choice}")).good.nodes["main.answer"].tool_choice == choice
    assert "did you mean `look_up`" in check(node(f"{GIVEN}\n  tool_choice look_upp")).one("AEL0614").message
    assert check(node("tool_choice any")).codes == ["AEL0614"]
    assert check(node("tool_choice look_up")).codes == ["AEL0614"]


def test_a_delegate_is_chosen_by_its_own_name() -> None:
    source = (
        node("", head="/// Answer. Call this when asked.\nnode inner(question: String) -> String")
        + """
node outer(question: String) -> String
  model fast
  tools inner
  tool_choice inner
{
  instructions "Answer."
}
"""
    )
    spec = check(source).good.nodes["main.outer"]
    assert spec.tools == ("main.inner",)
    assert spec.tool_choice == "delegate__inner"


def test_a_model_is_named_and_known() -> None:
    assert check(node().replace("  model fast\n", "")).codes == ["AEL0608"]
    assert "did you mean `fast`" in check(node().replace("  model fast\n", "  model fats\n")).one("AEL0609").message


def test_models() -> None:
    program = check(
        MODEL.replace("}", "  temperature 0.7\n  max_tokens 400\n  fallback cheap\n}") + MODEL.replace("fast", "cheap")
    ).good
    spec = program.models["main.fast"]
    assert (spec.provider, spec.model, spec.fallback) == ("anthropic", "claude-haiku-4-5", "main.cheap")
    assert dict(spec.settings) == {"temperature": Decimal("0.7"), "max_tokens": 400}
    for wrong in (
        "temperature 7",
        "temprature 0.5",
        "max_tokens 0",
        'max_tokens "x"',
        "provider anthropic\n  provider openai",
        "provider antropic",
    ):
        assert check(f"model fast {{\n  {wrong}\n}}\n").codes == ["AEL0610"], wrong
    assert "did you mean `anthropic`" in check("model fast {\n  provider antropic\n}\n").one("AEL0610").message


@pytest.mark.feature("A7.10")
def test_fallbacks_end() -> None:
    two = MODEL.replace("}", "  fallback cheap\n}") + MODEL.replace("fast", "cheap").replace("}", "  fallback fast\n}")
    assert "`fast` → `cheap` → `fast`" in check(two).one("AEL0611").message
    assert "`fast` → `fast`" in check(MODEL.replace("}", "  fallback fast\n}")).one("AEL0611").message
    assert check(MODEL.replace("}", "  fallback chaep\n}")).codes == ["AEL0609"]


def test_a_node_that_can_call_itself_is_advised_against() -> None:
    head = "/// Answer. Call this when there is a part.\nnode answer(question: String) -> String"
    assert check(node("tools answer", head=head)).codes == ["AEL1127"]


def test_conditions_are_plain_code() -> None:
    found = check(node(body='instructions "Answer."\n  require output != look_up("A")')).one("AEL0619")
    assert "a `require` is plain code, and `look_up` reaches outside" in found.message
    through = (
        node(body='instructions "Answer."\n  require good(output)') + '\nfn good(x: String) -> Bool {\n  x != look_up("A")\n}\n'
    )
    assert check(through).codes == ["AEL0619"]
    assert check(node(body='instructions "Answer."\n  require output != ""')).found == []
    when = TOOL.replace("  repeat idempotent\n", "  repeat idempotent\n  approval required when today() == today()\n")
    assert "AEL0619" in check(when).codes


# --- instructions ------------------------------------------------------------------------------------------------------


@pytest.mark.feature("A5.6", "D8")
def test_parameters_become_references_and_only_constants_stand_in_place() -> None:
    head = "node answer(question: String, topic: Topic) -> String"
    body = 'instructions "About ${topic}: ${SHOP} ${3} answers ${question} in ${Topic.Refund}."'
    source = 'const SHOP: String = "Ael & Co"\nenum Topic { Refund, Other }\n' + node(head=head, body=body)
    text = check(source).good.nodes["main.answer"].instructions
    assert text == 'About <input name="topic"/>: Ael & Co 3 answers <input name="question"/> in Refund.'


@pytest.mark.feature("D8", "A5.6")
@pytest.mark.parametrize(
    "part",
    [
        "question.trim()",
        '"${question}"',
        'question + "!"',
        "now()",
        'look_up("A")',
        "helper()",
        'if question == "" { "a" } else { "b" }',
    ],
)
def test_nothing_worked_out_at_run_time_stands_in_instructions(part: str) -> None:
    source = node(body=f'instructions "Answer ${{{part}}}."') + '\nfn helper() -> String {\n  "x"\n}\n'
    assert "AEL0616" in check(source).codes


@pytest.mark.feature("D8")
def test_a_field_of_a_parameter_is_refused_with_advice() -> None:
    source = "record Q { text: String }\n" + node(
        head="node answer(question: Q) -> String", body='instructions "Answer ${question.text}."'
    )
    found = check(source).one("AEL0616")
    assert any("name the whole parameter (`${question}`)" in note for note in found.notes)


def test_instructions_stand_once() -> None:
    assert check(node(body='require output != ""')).codes == ["AEL0615"]
    assert check(node(body='instructions "A"\n  instructions "B"')).codes == ["AEL0615"]
    assert check(node(body='instructions ""')).codes == ["AEL0615"]


def test_what_the_instructions_name_is_given() -> None:
    head = "node answer(question: String, notes: String) -> String"
    body = 'input ["question": question]\n  instructions "Answer ${question} from ${notes}."'
    assert at(check(node(head=head, body=body)).one("AEL0617")) == "notes"


def test_tests_have_titles() -> None:
    program = check('test "one" {\n  assert 1 == 1\n}\n\ntest "two" {\n  assert 1 == 1\n}\n').good
    assert [(t.name, t.module, t.line) for t in program.tests] == [("one", "main", 1), ("two", "main", 5)]
    assert check('test "one" {\n  assert 1 == 1\n}\n\ntest "one" {\n  assert 1 == 1\n}\n').codes == ["AEL0629"]


@pytest.mark.feature("A4.16")
def test_instructions_are_no_access_control() -> None:
    forbid = 'instructions "Answer. Never call look_up for a stranger."'
    assert "forbid `look_up`" in check(node(GIVEN, body=forbid)).one("AEL1126").message
    assert check(node(body=forbid)).found == []
    assert check(node(GIVEN, body='instructions "Call look_up. Never promise anything."')).found == []


@pytest.mark.feature("A7.9")
def test_which_models_need_a_price() -> None:
    inner = node(
        "budget cost $1\n  tools part", head="/// Answer. Call this when asked.\nnode answer(question: String) -> String"
    )
    more = (
        MODEL.replace("fast", "slow").replace("}", "  fallback spare\n}")
        + MODEL.replace("fast", "spare")
        + MODEL.replace("fast", "free")
        + """
/// A part. Call this when there is one.
node part(question: String) -> String
  model slow
{
  instructions "Answer."
}

node other(question: String) -> String
  model free
{
  instructions "Answer."
}
"""
    )
    program = check(inner + more).good
    needed = {"main.fast": ("main.answer",), "main.slow": ("main.answer",), "main.spare": ("main.answer",)}
    assert priced(program.nodes, program.models) == needed
