"""Several forks at once, and what one would take before anything is paid (feature A12.16)."""

from __future__ import annotations

import json
import signal

import pytest

from ael.durable.change import ChangeError
from ael.durable.sweep import values, variants
from tests.cli.conftest import Ael
from tests.cli.shop_desk import FILES, outside, sold
from tests.cli.terminal import Terminal
from tests.cli.test_worker import until

PRICES = 'price "gpt-5-mini" input $1.00 output $10.00\n'


@pytest.mark.feature("A12.16")
def test_a_sweep_makes_a_fork_for_each_value_and_tells_them_beside_each_other(ael: Ael) -> None:
    run = sold(ael)
    before = outside(ael)
    words = ("--sweep", 'turn:last="sold for 5","gone"', "--sweep", 'new_id="a","bc"')
    ended = ael("runs", "fork", run, *words)
    assert ended.code == 1, "two of them are blocked"
    head, original, *rows = ended.out.splitlines()
    assert head.split() == ["WITH", "RUN", "OUTCOME", "TOKENS", "COST", "PAID", "TIME", "CALLS", "FIRST", "DIFFERENCE"]
    assert original.startswith(f"(the original, value)  {' ' * 21}{run}") or run in original
    assert [row.split("  ")[0] for row in rows] == [
        'turn:last="sold for 5", new_id="a"', 'turn:last="sold for 5", new_id="bc"',
        'turn:last="gone", new_id="a"', 'turn:last="gone", new_id="bc"',
    ]  # fmt: skip
    assert ['"sold for 5 1"' in rows[0], '"sold for 5 2"' in rows[1]] == [True, True]
    assert all("Denied: `tell` is blocked in a fork" in row and "1 blocked" in row for row in rows[2:])
    assert all(row.endswith("main/new_id@1") for row in rows)
    assert "1 of 4: turn:last" in ended.err
    assert outside(ael) == before
    assert len(json.loads(ael("runs", "list", "--format", "json").out)) == 5


@pytest.mark.feature("A12.16")
def test_a_sweep_over_models_as_data(ael: Ael) -> None:
    run = sold(ael)
    ael.write({"two.json": json.dumps([{"final": "sold for 5"}]), "three.json": json.dumps([{"final": "no"}])})
    ended = ael("runs", "fork", run, "--sweep", "model.clerk=scripted:two.json,scripted:three.json", "--json", "-q")
    assert (ended.code, ended.err) == (1, "")
    two, three = json.loads(ended.out)
    assert (two["with"], two["outcome"], two["blocked"]) == (
        "model.clerk=scripted:two.json", {"outcome": "value", "value": "sold for 5 20"}, 0,
    )  # fmt: skip
    assert (two["served"], two["cost"], two["paid"], two["differs"]) == (1, "0", "0", "main/sell@4/turn1")
    assert (three["outcome"]["kind"], three["blocked"]) == ("Denied", 1)
    assert two["tokens"] > 0


@pytest.mark.feature("A12.16")
def test_a_sweep_is_left_to_the_workers(ael: Ael) -> None:
    run = sold(ael)
    made = ael("runs", "fork", run, "--at", "last", "--sweep", 'new_id="a","bc"', "--detach")
    assert (made.code, len(made.out.split())) == (0, 2)
    assert ael("worker", "--once").code == 0
    assert [json.loads(ael("runs", "wait", fork).out) for fork in made.out.split()] == ["sold for 5 1", "sold for 5 2"]


@pytest.mark.feature("A12.16", "A12.13")
def test_a_signal_ends_the_fork_that_runs_and_no_other_is_made(ael: Ael) -> None:
    run = sold(ael)
    ael.write({"hold": ""})
    with Terminal(["runs", "fork", run, "--sweep", 'new_id="a","bc"'], ael.folder) as terminal:
        terminal.until("1 of 2: ")
        until(lambda: len(outside(ael)) == 4)
        terminal.signal(signal.SIGINT)
        terminal.until("cancelling")
        (ael.folder / "hold").unlink()
        code, text = terminal.end()
    assert (code, "Cancelled: interrupted" in text) == (130, True), text
    assert "2 of 2: " not in terminal.seen
    assert len(json.loads(ael("runs", "list", "--format", "json").out)) == 2


@pytest.mark.feature("A12.16")
def test_an_estimate_is_made_of_what_the_original_used_and_makes_nothing(ael: Ael) -> None:
    run = sold(ael)
    before = outside(ael)
    told = json.loads(ael("runs", "fork", run, "--at", "turn:1", "--estimate", "--json").out)
    [one] = told
    assert (one["estimate"], one["of"], one["at"], one["turns"], one["cost"]) == (True, run, "main/sell@4/turn1", 2, "0")
    assert one["calls"] == {"served": 2, "real": 0, "anew": 1}
    last = json.loads(ael("runs", "fork", run, "--at", "turn:2", "--allow", "tell", "--estimate", "--json").out)[0]
    assert (last["turns"], last["calls"]) == (1, {"served": 0, "real": 1, "anew": 1})
    assert 0 < last["tokens"]["input"] < one["tokens"]["input"]
    ael.write({"deploy.ael": FILES["deploy.ael"] + PRICES})
    dear = json.loads(ael("runs", "fork", run, "--model", "clerk=openai:gpt-5-mini", "--estimate", "--json").out)[0]
    assert float(dear["cost"]) == pytest.approx((dear["tokens"]["input"] + 10 * dear["tokens"]["output"]) / 1e6)
    text = ael("runs", "fork", run, "--sweep", "model.clerk=openai:gpt-5-mini,openai:gpt-unknown", "--estimate").out
    assert text.splitlines()[0].startswith(f"estimate: a fork of {run} at main/sell@4/turn1 with model.clerk=openai:gpt-5-mini: ")
    assert f"2 model turns again, some {one['tokens']['input']:,} + {one['tokens']['output']:,} tokens, ${dear['cost']}" in text
    assert "at a price that is not known (clerk)" in text
    assert f"estimate: 2 forks in all, at least ${dear['cost']}" in text
    assert len(json.loads(ael("runs", "list", "--format", "json").out)) == 1
    assert outside(ael) == before


@pytest.mark.feature("A12.16")
def test_a_fork_says_what_it_may_take_before_it_begins(ael: Ael) -> None:
    run = sold(ael)
    ended = ael("runs", "fork", run, "--at", "end")
    assert ended.err.splitlines()[0] == f"estimate: the fork of {run} at its end: no model turn again, $0"


@pytest.mark.feature("A12.16")
def test_two_runs_are_compared_where_they_first_differ_and_by_what_they_took(ael: Ael) -> None:
    run = sold(ael)
    assert ael("runs", "fork", run, "--set", "price=7", "--set", 'new_id="abc"').code == 0
    fork = json.loads(ael("runs", "list", "--format", "json").out)[0]["run"]
    told = json.loads(ael("runs", "diff", run, fork, "--format", "json").out)
    assert (told["first"], told["spent"]["b"]["paid"], "paid" in told["spent"]["a"]) == ("main/new_id@1", "0", False)
    assert [one["path"] for one in told["effects"]] == ["main/new_id@1", "main/price@2"]
    text = ael("runs", "diff", run, fork).out
    assert "they first differ at main/new_id@1" in text
    assert "of which this fork paid $0" in text


@pytest.mark.feature("A12.16")
def test_values_stand_between_commas_that_are_not_theirs() -> None:
    assert values("x", 'a, "b,c" ,[1,2],{"k": [1,2]},"\\",",d') == ["a", '"b,c"', "[1,2]", '{"k": [1,2]}', '"\\","', "d"]
    assert variants([("a", "1,2"), ("b", "x")]) == [(("a", "1"), ("b", "x")), (("a", "2"), ("b", "x"))]
    assert variants([]) == [()]
    with pytest.raises(ChangeError, match="these are 121 forks"):
        variants([("a", ",".join("1" * 11)), ("b", ",".join("1" * 11))])
