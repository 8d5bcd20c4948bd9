"""What a fork can have otherwise than its original, on the command line, and what of it reaches the outside (features B7, A12.16, D7)."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Ael
from tests.cli.runs_desk import shown
from tests.cli.shop_desk import FILES, outside, sold


@pytest.fixture
def files() -> dict[str, str]:
    """The shop, for a test to change."""
    return dict(FILES)


FIRST = ["price kettle", "charge kettle 5", "tell sold for 5 true true"]


@pytest.mark.feature("B7", "A12.16", "D7", "K26")
@pytest.mark.parametrize(
    ("change", "outcome", "made"),
    [
        # The result of a tool: no matter what it is called with, from there on.
        ("price=7", "sold for 5 20", []),
        ('charge="nothing"', "sold for 5 20", []),
        # How a call ended: an error that it declares, a fault.
        ('price.error={"error": "SoldOut", "value": {"left": 3}}', "sold out, 3 left", []),
        ('charge.fault="Unavailable"', "sold for 5 20", []),
        ('charge.fault={"kind": "ToolFailed", "message": "no money"}', "sold for 5 20", []),
        # What a model said: its result, its calls. `charge` is served where it was made so, and blocked where it was not.
        ('turn:1.calls=[{"name": "charge", "arguments": {"name": "kettle", "amount": 5}}]', "sold for 5 20", []),
        ('turn:1.calls=[{"name": "charge", "arguments": {"name": "kettle", "amount": 9}}]', "sold for 5 20", []),
        ('turn:1.calls=[{"name": "charge", "arguments": {}}]', "sold for 5 20", []),
        ('turn:1.calls=[{"name": "steal", "arguments": {}}]', "sold for 5 20", []),
        ('turn:last="sold for 5"', "sold for 5 20", []),
        # A time, an id: what comes after that only reads is made anew.
        ('now="2020-02-29T12:00:00Z"', "sold for 5 20", ["price kettle"]),
        ('new_id="abc"', "sold for 5 3", ["price kettle"]),
        # A store.
        ("sold.has=true", "sold for 5 20", []),
    ],
)
def test_an_answer_is_replaced_and_nothing_takes_effect_again(
    ael: Ael, files: dict[str, str], change: str, outcome: str, made: list[str]
) -> None:
    run = sold(ael, files=files)
    ended = ael("runs", "fork", run, "--set", change)
    assert ended.code == 0, ended.err
    assert json.loads(ended.out) == outcome
    assert outside(ael) == [*FIRST, *made]
    fork = json.loads(ael("runs", "list", "--format", "json").out)[0]["run"]
    assert shown(ael, fork)["fork"]["changes"] == [change]


@pytest.mark.feature("B7", "A12.16", "K26")
@pytest.mark.parametrize(
    ("words", "said", "made"),
    [
        (("--set", 'turn:last="gone"'), "Denied: `tell` is blocked in a fork", []),
        (("--set", 'input.name="car"'), "Denied: `sold.put` is blocked in a fork", ["price car"]),
        (("--set", 'input={"name": "car"}'), "Denied: `sold.put` is blocked in a fork", ["price car"]),
        (("--set", 'now="1999-01-01T00:00:00Z"'), "Denied: `tell` is blocked in a fork", ["price kettle"]),
        (("--at", "turn:1", "--set", "budget.steps=1"), "BudgetExhausted: the run has used 1 of 1 model steps", []),
        (("--set", 'charge.uncertain="the line is dead"'), "charge may or may not have taken effect", []),
        (("--set", 'turn:1.fault="ModelRefused"'), "ModelRefused: `main.clerk` failed in this fork", []),
    ],
)
def test_what_would_act_otherwise_is_blocked(
    ael: Ael, files: dict[str, str], words: tuple[str, ...], said: str, made: list[str]
) -> None:
    run = sold(ael, files=files)
    ended = ael("runs", "fork", run, *words)
    assert (ended.code, ended.out) == (1, "")
    assert said in ended.err
    assert outside(ael) == [*FIRST, *made]


@pytest.mark.feature("B7", "A12.16", "D7")
def test_an_idempotent_extern_writes_and_is_made_only_where_it_is_allowed(ael: Ael, files: dict[str, str]) -> None:
    run = sold(ael, files=files)
    assert ael("runs", "fork", run, "--at", "tell").code == 0
    assert outside(ael) == FIRST
    assert ael("runs", "fork", run, "--set", "sold.has=false", "--allow", "tell").code == 0
    assert outside(ael) == [*FIRST, "tell sold for 5 false true"]
    assert ael("runs", "fork", run, "--at", "price", "--allow", "sold.put").code == 0
    assert outside(ael)[4:] == ["price kettle"], "`price` is declared to read only: it is made anew without being allowed"


@pytest.mark.feature("A12.16", "A4.6", "K30")
def test_a_decision_is_replaced_by_a_no_and_never_by_a_yes_for_a_call_that_is_made(ael: Ael, files: dict[str, str]) -> None:
    files["one.json"] = json.dumps([{"call": "charge", "with": {"name": "car", "amount": 50}}, {"final": "done"}])
    run = sold(ael, "--name", "car", "--approve", files=files)
    before = outside(ael)
    assert before[1] == "charge car 50"
    ended = ael("runs", "fork", run, "--set", 'charge/approval={"approved": false, "reason": "too dear"}')
    assert ended.code == 0, ended.err
    assert "charge refused: the fork did not approve `main.charge`: too dear" in ended.err
    assert ael("runs", "fork", run, "--set", 'charge/approval="denied"', "--allow", "charge").code == 0
    assert outside(ael) == before, "a call that is denied is not made, allowed or not"
    edited = ael("runs", "fork", run, "--set", 'charge/approval={"approved": true, "arguments": {"name": "car", "amount": 40}}')
    assert "`charge` is blocked in a fork" in edited.err, "the record has no such call"
    same = ael("runs", "fork", run, "--set", 'charge/approval="approved"')
    assert (same.code, "2 calls served from the record" in same.err) == (0, True), same.err
    real = ael("runs", "fork", run, "--set", 'charge/approval="approved"', "--allow", "charge")
    assert real.code == 2
    assert "a fork cannot approve a call of `main.charge` that it makes for real" in real.err
    assert outside(ael) == before


@pytest.mark.feature("A12.16")
def test_a_changed_instruction_is_told_where_the_beginning_holds_it_and_runs_where_it_does_not(
    ael: Ael, files: dict[str, str]
) -> None:
    run = sold(ael, files=files)
    ael.write({"main.ael": files["main.ael"].replace("Sell it.", "Sell it, and smile.")})
    diverged = ael("runs", "fork", run, "--at", "end")
    assert "Diverged: at main/sell@4/turn1 the journal holds `main.clerk` with another request" in diverged.err
    anew = ael("runs", "fork", run, "--at", "turn:1")
    assert (anew.code, json.loads(anew.out)) == (0, "sold for 5 20"), anew.err
    assert outside(ael) == FIRST


@pytest.mark.feature("A12.16", "B8")
def test_another_model_and_its_settings_are_kept_with_the_fork(ael: Ael, files: dict[str, str]) -> None:
    run = sold(ael, files=files)
    ael.write({"two.json": json.dumps([{"final": "not sold"}])})
    words = ("--set", "model.clerk=scripted:two.json", "--set", "model.clerk.temperature=0.5", "--allow", "tell")
    ended = ael("runs", "fork", run, *words)
    assert (ended.code, json.loads(ended.out)) == (0, "not sold 20"), ended.err
    fork = json.loads(ael("runs", "list", "--format", "json").out)[0]["run"]
    told = shown(ael, fork)
    assert (told["fork"]["models"], told["fork"]["settings"]) == (
        {"main.clerk": "scripted:two.json"},
        {"main.clerk": {"temperature": 0.5}},
    )
    assert told["pinned"]["bindings"]["model clerk"] == "scripted two.json, temperature: 0.5"
    assert "  with   model.clerk=scripted:two.json" in ael("runs", "show", fork).out


@pytest.mark.parametrize(
    ("words", "said", "note"),
    [
        (("--set", "price=x"), "`price`: ", "text stands in quotes"),
        (("--set", "nothing=1"), "has no step `nothing`", ""),
        (("--set", "end=1"), "`end` is no step", ""),
        (("--set", "charge/approval=1"), "has no step `charge/approval`", ""),
        (("--set", "price.calls=[]"), "is no turn of a model", ""),
        (("--set", "turn:1.calls=4"), "the calls of a turn are a list", "by the names that the model sees"),
        (("--set", 'price.fault="Sadness"'), "this is no fault of `main.price`", "after its kind"),
        (("--set", 'now.fault="Timeout"'), "this is no fault of `std.now`", ""),
        (("--set", 'price.error={"error": "Nope"}'), "this is no error of `main.price`", "it has SoldOut"),
        (("--set", 'price.error={"error": "SoldOut"}'), "this is no `main.SoldOut`", ""),
        (("--set", 'charge.error={"error": "SoldOut"}'), "this is no error of `main.charge`", "it declares none"),
        (("--set", "charge.uncertain=1"), "a call of `main.charge` does not end uncertain like this", "with a reason"),
        (("--set", 'price.uncertain="lost"'), "a call of `main.price` does not end uncertain like this", "is known"),
        (("--set", 'now="noon"'), "this is no result of `std.now`", ""),
        (("--set", "budget.money=1"), "a budget has no limit `money`", "tokens, cost, time, steps, tool_calls"),
        (("--set", "budget.tokens=many"), "`budget.tokens` is a whole number", ""),
        (("--set", "budget.time=5"), "`budget.time` is a length of time", ""),
        (("--set", "budget.cost=-1"), "`budget.cost` is an amount of dollars", ""),
        (("--set", "input=7"), "the input is a JSON object", "`--set input.NAME=JSON`"),
        (("--set", "input.name=7"), "the changed input does not fit", ""),
        (("--set", "model.boss=x"), "the program has no model `boss`", "it has clerk"),
        (("--set", "model.clerk=x", "--detach"), "workers have the models of the deployment", "leave out `--detach`"),
        (("--sweep", "price=1,,2"), "has a value that is empty", ""),
        (("--sweep", "price"), "`--sweep` is written `--sweep WHAT=V1,V2`", ""),
        (("--sweep", f"price={','.join('1' * 101)}"), "these are 101 forks", "vary fewer things at once"),
    ],
)
@pytest.mark.feature("A12.16")
def test_a_change_that_cannot_be_made_is_told_and_nothing_is_made(
    ael: Ael, files: dict[str, str], words: tuple[str, ...], said: str, note: str
) -> None:
    ended = ael("runs", "fork", sold(ael, files=files), *words)
    assert (ended.code, ended.out) == (2, "")
    assert "error[AEL0905]: " in ended.err
    assert said in ended.err
    assert note in ended.err
    assert len(json.loads(ael("runs", "list", "--format", "json").out)) == 1
    assert outside(ael) == FIRST
