"""Nodes that offer many tools: the first are shown, the others found by what they do, and nothing else may be called than before (B14)."""

from __future__ import annotations

from typing import Any

import pytest

from ael.data import replace
from ael.journal.memory import MemoryJournal
from ael.lower.unit import CompiledNode, CompiledTool
from ael.run.bindings import Bindings, BoundModel, Options
from ael.run.engine import Engine
from ael.run.offer import MANY
from ael.run.search import FIRST, FOUND, NAME
from ael.run.trace import SpanList
from ael.types.fault import FaultKind
from ael.types.spec import BudgetSpec
from tests.run.fakes import FakeModel, call, calls, model, said
from tests.run.helpers import engine, fault_of, node, parameter, run, tool, unit, value_of
from tests.run.loops import ASK, Body, answers

ACTS = ("create", "delete", "list", "archive")
THINGS = ("invoice", "customer", "refund", "shipment", "ticket", "warehouse", "supplier", "contract", "voucher", "meeting")
NAMES = [f"{act}_{thing}" for thing in THINGS for act in ACTS]


def described(name: str) -> CompiledTool:
    made = tool(name, Body(f"did {name}"))
    act, _, thing = name.partition("_")
    return CompiledTool(replace(made.spec, doc=f"{act.capitalize()} one {thing} of the shop. Call this when asked."), made.body)


def many(
    *replies: Any, count: int = len(NAMES), choice: str = "auto", one_call: bool = False, **bound: Any
) -> tuple[Engine, FakeModel]:
    names = NAMES[:count]
    made = node("answer", parameter("q"), tools=names, budget=BudgetSpec(steps=6, tool_calls=8, tokens=10**6))
    policy = replace(made.spec.policy, kind="one_call") if one_call and made.spec.policy is not None else made.spec.policy
    made = CompiledNode(replace(made.spec, tool_choice=choice, policy=policy))
    fake = model(*replies)
    return engine(unit(tools=[described(name) for name in names], nodes=[made]), fake, **bound), fake


def shown(fake: FakeModel, at: int) -> list[str]:
    """The tools that the model was shown in a conversation."""
    return [offer.name for offer in fake.conversations[at].spec.tools]


PLENTY = Options(caller="c", budget=BudgetSpec(tokens=10**6))


@pytest.mark.feature("B14", "A2.6")
def test_a_model_finds_a_tool_by_what_it_does_and_calls_it() -> None:
    made, fake = many(calls(call(NAME, {"query": "archiving of contracts"})), calls(call("archive_contract", {})), said("done"))
    assert value_of(run(made, "answer", ASK, PLENTY)) == "done"
    assert shown(fake, 0) == [*NAMES[:FIRST], NAME]
    offer = fake.conversations[0].spec.tools[-1]
    assert f"There are {len(NAMES) - FIRST} more tools" in offer.description
    found = answers(fake)[0].content.splitlines()
    assert found[0] == "archive_contract: Archive one contract of the shop. Call this when asked."
    assert len(found) <= FOUND
    assert shown(fake, 1)[: FIRST + 1] == shown(fake, 0), "what was shown stays"
    assert shown(fake, 1)[FIRST + 1] == "archive_contract"
    assert answers(fake)[1].content == "did archive_contract"


@pytest.mark.feature("B14")
@pytest.mark.parametrize(("count", "more"), [(MANY, False), (MANY + 1, True)])
def test_few_tools_are_shown_all(count: int, more: bool) -> None:
    made, fake = many(said("done"), count=count)
    value_of(run(made, "answer", ASK, PLENTY))
    assert (NAME in shown(fake, 0)) is more
    assert len(shown(fake, 0)) == (FIRST + 1 if more else MANY)


def test_one_call_is_shown_all_tools_and_a_choice_is_always_shown() -> None:
    """A search would need a second model call."""
    made, fake = many(said("done"), one_call=True)
    value_of(run(made, "answer", ASK, PLENTY))
    assert shown(fake, 0) == NAMES
    made, fake = many(calls(call(NAMES[-1], {})), said("done"), choice=NAMES[-1])
    value_of(run(made, "answer", ASK, PLENTY))
    assert shown(fake, 0)[0] == NAMES[-1]


@pytest.mark.feature("A2.1", "A2.6")
def test_what_is_not_shown_may_be_called_and_what_is_not_offered_may_not() -> None:
    made, fake = many(calls(call("archive_meeting", {})), calls(call("archive_everything", {})), said("done"))
    assert value_of(run(made, "answer", ASK, PLENTY)) == "done"
    assert answers(fake)[0].content == "did archive_meeting"
    assert answers(fake)[1].is_error


def test_a_search_that_finds_nothing_or_does_not_fit_says_so_and_counts() -> None:
    made, fake = many(
        calls(call(NAME, {"query": "zebra"})), calls(call(NAME, {"query": ""})), calls(call(NAME, {"words": "x"})), said("done")
    )
    outcome = run(made, "answer", ASK, PLENTY)
    assert value_of(outcome) == "done"
    assert answers(fake)[0].content == "no tool fits these words; try others, or answer without"
    assert [answer.is_error for answer in answers(fake)] == [False, True, True]
    assert outcome.spent.tool_calls == 3
    assert len(fake.conversations) == 1, "nothing new was shown"


@pytest.mark.feature("A7.3")
def test_searches_end_with_the_tool_calls() -> None:
    """K01."""
    made, fake = many(*[calls(call(NAME, {"query": "invoice"})) for _ in range(20)])
    fault = fault_of(run(made, "answer", ASK, PLENTY))
    assert fault.kind is FaultKind.BUDGET_EXHAUSTED
    assert len(fake.asked) == 6


@pytest.mark.feature("B14", "A12.6")
def test_a_run_over_its_journal_finds_the_same() -> None:
    """A search has no record: it is worked out again, and the turns after it are the ones that were paid."""
    journal = MemoryJournal()
    options = replace(PLENTY, run="r1")
    turns = [calls(call(NAME, {"query": "suppliers"})), calls(call("list_supplier", {})), said("done")]
    for replies in (turns, []):
        made, fake = many(*replies)
        made = Engine(made.world.unit, Bindings(models={"main.fast": BoundModel(fake, "fast-1")}, journal=journal))
        ran = run(made, "answer", ASK, options)
        assert value_of(ran) == "done"
        assert ran.spent.tool_calls == 2
    assert fake.asked == []


def test_a_search_is_in_the_trace() -> None:
    spans = SpanList()
    made, _ = many(calls(call(NAME, {"query": "voucher"})), said("done"), sinks=(spans,))
    run(made, "answer", ASK, replace(PLENTY, content=True))
    [found] = [span for span in spans.spans if span.name == NAME]
    assert found.content is not None
    assert found.content["result"] == ["create_voucher", "delete_voucher", "list_voucher", "archive_voucher"]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("shipment", "create_shipment"),
        ("delete a supplier", "delete_supplier"),
        ("DeleteSupplier", "delete_supplier"),
        ("lists of meetings", "list_meeting"),
        ("shop warehouse archive", "archive_warehouse"),
    ],
)
def test_the_best_fit_comes_first(query: str, first: str) -> None:
    made, fake = many(calls(call(NAME, {"query": query})), said("done"))
    run(made, "answer", ASK, PLENTY)
    assert answers(fake)[0].content.split(":")[0] == first
