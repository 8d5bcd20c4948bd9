"""`ael runs fork` and `ael runs diff` on the command line (features B7, A12.16)."""

from __future__ import annotations

import json
import re

import pytest

from tests.cli.conftest import Ael
from tests.cli.runs_desk import FILES, MAIN, booked, shown


@pytest.fixture
def desk(ael: Ael) -> Ael:
    ael.write(FILES)
    assert ael("run", ".", "main", "--order", "A-1", "--amount", "5.00", "-q").code == 0
    return ael


def _run(desk: Ael) -> str:
    rows = json.loads(desk("runs", "list", "--format", "json").out)
    return str(rows[-1]["run"])


@pytest.mark.feature("B7", "A12.16")
@pytest.mark.parametrize("at", ["main/refund@0", "1", "refund", "refund:1", "main.refund", "main"])
def test_a_step_is_named_in_several_ways_and_nothing_is_booked_again(desk: Ael, at: str) -> None:
    run = _run(desk)
    ended = desk("runs", "fork", run, "--at", at)
    assert (ended.code, json.loads(ended.out)) == (0, "R-A-1 R-A-1b"), ended.err
    assert re.search(rf"^the run \w+, forked from {run}$", ended.err, re.MULTILINE)
    assert "2 calls served from the record" in ended.err
    assert booked(desk) == 2


@pytest.mark.feature("A12.16")
def test_an_answer_is_replaced_and_the_difference_shown(desk: Ael) -> None:
    run = _run(desk)
    ended = desk("runs", "fork", run, "--set", 'refund="R-other"', "-q")
    assert (ended.code, json.loads(ended.out)) == (0, "R-other R-A-1b")
    fork = json.loads(desk("runs", "list", "--format", "json").out)[0]["run"]
    made = {"of": run, "at": "main/refund@0", "allow": [], "models": {}, "settings": {}, "changes": ['refund="R-other"']}
    assert shown(desk, fork)["fork"] == made
    assert f"forked   from {run}, at main/refund@0" in desk("runs", "show", fork).out
    diff = desk("runs", "diff", run, fork)
    assert diff.code == 1
    assert "main/refund@0  main.refund" in diff.out
    assert '"value": "R-other"' in diff.out
    told = json.loads(desk("runs", "diff", run, fork, "--format", "json").out)
    assert [one["path"] for one in told["effects"] if one["how"] == "differs"] == ["main/refund@0"]
    assert told["outcome"][1]["value"] == "R-other R-A-1b"
    same = desk("runs", "diff", run, run)
    assert (same.code, same.out.splitlines()[-1]) == (0, "they did the same, and ended the same way")


@pytest.mark.feature("B7")
def test_a_changed_program_is_blocked_where_it_acts_otherwise(desk: Ael) -> None:
    run = _run(desk)
    desk.write({"main.ael": MAIN.replace('refund("${order}b", 1.00)', 'refund("${order}b", 2.00)')})
    diverged = desk("runs", "fork", run, "--at", "end")
    assert diverged.code == 1
    assert "Diverged: at main/refund@1 the journal holds `main.refund` with another request" in diverged.err
    blocked = desk("runs", "fork", run, "--at", "refund:2")
    assert blocked.code == 1
    assert "Denied: `refund` is blocked in a fork" in blocked.err
    assert "1 call blocked" in blocked.err
    assert booked(desk) == 2
    allowed = desk("runs", "fork", run, "--at", "refund:2", "--allow", "refund", "--allow", "put")
    assert allowed.code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "say where: `--at STEP`, or what is otherwise"),
        (("--at", "main/refnd@0"), "near it are main/refund@0"),
        (("--at", "99"), "has no step `99`"),
        (("--at", "refund:9"), "has no step `refund:9`"),
        (("--set", "refund"), "`--set` is written `--set WHAT=JSON`, not `refund`"),
        (("--set", "refund={"), "`refund`: "),
        (("--set", "refund=7"), "this is no result of `main.refund`: expected String, got number 7"),
        (("--set", "book.put=1"), "this is no result of `main.book.put`: expected null, got number 1"),
        (("--at", "end", "--model", "fast=x"), "the program has no model `fast`"),
        (("--at", "end", "--model", "fast"), "`--model` is written `--model NAME=MODEL`"),
    ],
)
def test_what_cannot_be_forked_is_told(desk: Ael, words: tuple[str, ...], said: str) -> None:
    ended = desk("runs", "fork", _run(desk), *words)
    assert (ended.code, ended.out) == (2, "")
    assert "error[AEL0905]: " in ended.err
    assert said in ended.err
    assert len(json.loads(desk("runs", "list", "--format", "json").out)) == 1


@pytest.mark.feature("A12.16")
def test_a_fork_is_left_to_the_workers(desk: Ael) -> None:
    run = _run(desk)
    made = desk("runs", "fork", run, "--at", "refund", "--detach")
    fork = made.out.strip()
    assert made.code == 0
    assert shown(desk, fork)["state"] == "ready"
    assert desk("worker", "--once").code == 0
    ended = desk("runs", "wait", fork)
    assert (ended.code, json.loads(ended.out)) == (0, "R-A-1 R-A-1b")
    assert booked(desk) == 2


@pytest.mark.feature("B7", "A12.16")
def test_another_model_answers_from_a_step_on(ael: Ael) -> None:
    ael.write(
        {
            "main.ael": """\
model clerk {
  provider openai
  name "gpt-5-mini"
}

node name(n: Int) -> String(max: 80)
  model clerk
  policy one_call
  budget tokens 2_000, time 30s
{
  instructions "Name it."
}

node main() -> String {
  "${name(1)} ${name(2)}"
}
""",
            "deploy.ael": 'model clerk = scripted("one.json")\n',
            "one.json": json.dumps([{"final": "a"}, {"final": "b"}]),
            "two.json": json.dumps([{"final": "taken by the turn that is replayed"}, {"final": "c"}]),
        }
    )
    assert json.loads(ael("run", ".", "-q").out) == "a b"
    run = json.loads(ael("runs", "list", "--format", "json").out)[0]["run"]
    ended = ael("runs", "fork", run, "--at", "clerk:2", "--model", "clerk=scripted:two.json", "-q")
    assert (ended.code, json.loads(ended.out)) == (0, "a c"), ended.err
    ended = ael("runs", "fork", run, "--set", 'clerk:2="z"', "-q")
    assert (ended.code, json.loads(ended.out)) == (0, "a z"), ended.err
