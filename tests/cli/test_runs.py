"""`ael runs`: listing, showing, deciding, going on, waiting and forgetting, with good and with bad input."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Ael
from tests.cli.runs_desk import FILES, MAIN, booked, parked, shown


@pytest.fixture
def desk(ael: Ael) -> Ael:
    ael.write(FILES)
    return ael


def test_where_nothing_is_kept_nothing_is_made(ael: Ael) -> None:
    ael.write({"main.ael": "node main() -> Int {\n  1\n}\n"})
    for words, code in ((("runs",), 0), (("runs", "list"), 0), (("runs", "show", "r1"), 2), (("runs", "approvals"), 0)):
        ended = ael(*words)
        assert (ended.code, ended.out) == (code, "")
        assert "there are no runs here (a run is kept from its first effect on)" in ended.err
    assert not Path(".ael").exists()
    ael.write({"deploy.ael": "runs = memory\n"})
    assert "the deployment keeps runs in memory" in ael("runs").err


@pytest.mark.feature("A4.5", "B9")
def test_a_run_parks_is_listed_shown_and_approved(desk: Ael) -> None:
    run = parked(desk)
    listed = desk("runs")
    assert run in listed.out
    assert "parked" in listed.out
    [row] = json.loads(desk("runs", "list", "--format", "json").out)
    assert (row["run"], row["state"], row["outcome"], row["owner"]) == (run, "parked", None, None)
    asked = desk("runs", "approvals").out
    assert 'arguments  {"order": "A-1", "amount": "50.0"}' in asked
    assert "waits for an approval by finance" in asked
    [open_] = json.loads(desk("runs", "approvals", "--format", "json").out)
    assert (open_["run"], open_["role"], open_["due"], open_["late"]) == (run, "finance", None, False)
    assert f"answer     ael runs approve {run}" in desk("runs", "show", run[:6]).out
    assert booked(desk) == 0
    approved = desk("runs", "approve", run, "--as", "ann")
    assert (approved.code, approved.out) == (0, "")
    assert f"approved main.refund in the run {run}" in approved.err
    assert f"`ael runs resume {run}`" in approved.err
    resumed = desk("runs", "resume", run, "-q")
    assert (resumed.code, json.loads(resumed.out)) == (0, "R-A-1 R-A-1b")
    assert booked(desk) == 2
    [row] = json.loads(desk("runs", "list", "--format", "json", "--state", "ended", "--limit", "1").out)
    assert row["state"] == "ended"
    assert row["ending"] == "value"


@pytest.mark.feature("A4.7")
def test_a_no_has_a_reason_which_the_program_gets(desk: Ael) -> None:
    run = parked(desk)
    no = desk("runs", "deny", run)
    assert no.code == 2
    assert "error[AEL0905]: a no needs a reason: the model reads it" in no.err
    ended = desk("runs", "deny", run, "--reason", "the goods never came", "--resume")
    assert ended.code == 0
    assert "the goods never came" in json.loads(ended.out)
    assert booked(desk) == 0


@pytest.mark.feature("A4.8", "B9")
def test_only_finance_decides(desk: Ael) -> None:
    desk.write({"deploy.ael": FILES["deploy.ael"].replace(', "local"', "")})
    run = parked(desk)
    no = desk("runs", "approve", run, "--as", "mallory")
    assert no.code == 2
    assert "error[AEL0905]: `finance` decides about this, and mallory is no member of it" in no.err
    assert 'role finance = ["mallory"]' in no.err
    assert desk("runs", "approve", run, "--as", "ann", "--arguments", '{"order": "A-1", "amount": "40.00"}').code == 0
    resumed = desk("runs", "resume", run, "-q")
    assert resumed.code == 0
    effects = shown(desk, run)["effects"]
    [approval] = [one for one in effects if one["kind"] == "approval"]
    assert approval["value"]["by"] == "ann"
    assert "approved by ann" in desk("runs", "show", run).out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "nope"), "there is no run `nope`"),
        (("approve", "nope"), "there is no run `nope`"),
        (("settle", "RUN", "--failed"), "does not wait for a person to settle a call"),
        (("approve", "RUN", "--step", "x"), "does not wait for an approval at x"),
        (("approve", "RUN", "--arguments", "[1]"), "`--arguments` holds an object"),
        (("approve", "RUN", "--arguments", "{"), "`--arguments`: "),
        (("resume", "RUN"), "still waits: approval at main/refund@0/approval"),
        (("prune", "--before", "soon"), "`--before` is a length of time, such as `30d` or `12h`, not `soon`"),
        (("wait", "RUN", "--timeout", "soon"), "`--timeout` is a length of time"),
        (("resume", "nope"), "there is no run `nope`"),
        (("cancel", "nope"), "there is no run `nope`"),
        (("wait", "nope"), "there is no run `nope`"),
        (("diff", "RUN", "nope"), "there is no run `nope`"),
        (("fork", "nope", "--at", "end"), "there is no run `nope`"),
    ],
)
def test_what_cannot_be_done_is_told(desk: Ael, words: tuple[str, ...], said: str) -> None:
    run = parked(desk)
    ended = desk("runs", *(run if word == "RUN" else word for word in words))
    assert ended.code in (1, 2)
    assert ended.out == ""
    assert "error[AEL0905]: " in ended.err
    assert said in ended.err
    assert shown(desk, run)["state"] == "parked", "nothing was changed"


@pytest.mark.parametrize(
    "words",
    [
        ("runs", "shwo"),
        ("runs", "show"),
        ("runs", "settle", "r1"),
        ("runs", "list", "--state", "gone"),
        ("worker", "--slots", "x"),
    ],
)
def test_bad_usage_is_told_by_the_parser(desk: Ael, words: tuple[str, ...]) -> None:
    ended = desk(*words)
    assert (ended.code, ended.out) == (2, "")
    assert "usage: ael " in ended.err


@pytest.mark.parametrize(
    "action", ["list", "show", "approvals", "approve", "deny", "settle", "resume", "wait", "fork", "diff", "cancel", "prune"]
)
def test_each_action_has_help(ael: Ael, action: str) -> None:
    ended = ael("runs", action, "--help")
    assert ended.code == 0
    assert f"usage: ael runs {action}" in ended.out
    assert ael("runs", "--help").out.count(f" {action} ") >= 1


@pytest.mark.feature("A8.10")
@pytest.mark.parametrize("failed", [False, True])
def test_a_letter_whose_outcome_nobody_knows_is_settled(desk: Ael, failed: bool) -> None:
    ended = desk("run", ".", "write", "--order", "A-1")
    assert ended.code == 3
    assert "letter waits for a person to say what became of it" in ended.err
    [row] = json.loads(desk("runs", "list", "--format", "json").out)
    run = row["run"]
    [open_] = shown(desk, run)["waiting"]
    assert (open_["kind"], open_["arguments"]) == ("uncertain", {"order": "A-1"})
    wrong = desk("runs", "settle", run, "--result", "7")
    assert wrong.code == 2
    assert "error[AEL0905]: this is no result of `main.letter`" in wrong.err
    how = ("--failed",) if failed else ("--result", '"posted"')
    settled = desk("runs", "settle", run, *how, "--as", "ann", "--resume")
    if failed:
        assert settled.code == 1
        assert "ann settled it: it did not take effect" in settled.err
    else:
        assert (settled.code, json.loads(settled.out)) == (0, "posted")
    assert Path("letters.txt").read_text() == "A-1\n", "it was sent once"


@pytest.mark.feature("A4.8", "A4.10")
def test_approvals_have_their_time_and_late_ones_are_marked(desk: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write({"deploy.ael": FILES["deploy.ael"].replace("uncertain: park", "approval: 1h")})
    run = parked(desk)
    [open_] = json.loads(desk("runs", "approvals", "--format", "json").out)
    assert open_["due"] == open_["asked"] + 3_600
    assert open_["late"] is False
    monkeypatch.setattr("time.time", lambda: open_["asked"] + 3_000)
    assert desk("runs", "approvals").out.startswith(f"LATE  {run}")
    [late] = json.loads(desk("runs", "approvals", "--format", "json").out)
    assert late["late"] is True
    monkeypatch.setattr("time.time", lambda: open_["asked"] + 3_601)
    assert "(over: the run goes on without an answer)" in desk("runs", "approvals").out
    no = desk("runs", "approve", run)
    assert no.code == 2
    assert "error[AEL0905]: the time for this decision is over" in no.err
    assert booked(desk) == 0


@pytest.mark.feature("A4.10")
def test_when_its_time_is_over_a_run_goes_on_with_a_no(desk: Ael) -> None:
    desk.write({"deploy.ael": FILES["deploy.ael"].replace("uncertain: park", "approval: 1s")})
    run = parked(desk)
    [open_] = json.loads(desk("runs", "approvals", "--format", "json").out)
    time.sleep(max(0.0, open_["due"] - time.time()))
    assert desk("runs", "approve", run).code == 2
    resumed = desk("runs", "resume", run, "-q")
    assert resumed.code == 0, resumed.err
    assert "no decision within 1 s" in json.loads(resumed.out)
    assert booked(desk) == 0


@pytest.mark.feature("B8")
def test_a_changed_program_does_not_go_on_with_a_run(desk: Ael) -> None:
    run = parked(desk)
    assert desk("check", "--against-runs").code == 0
    desk.write({"main.ael": MAIN.replace('"${first} ${second}"', '"${second} ${first}"')})
    no = desk("runs", "resume", run)
    assert no.code == 2
    assert f"error[AEL0906]: the program has changed since the run {run} began" in no.err
    assert f"`ael runs fork {run} --at end`" in no.err
    broken = desk("check", "--against-runs")
    assert broken.code == 1
    assert broken.out.startswith("1 live run keeps another program than this one")
    assert run in broken.out
    assert desk("check").code == 0, "without the option, nothing is said of runs"
    assert desk("runs", "cancel", run).code == 0
    desk.write(FILES)
    assert desk("runs", "resume", run).code == 130
    desk.write({"main.ael": MAIN.replace('"${first} ${second}"', '"${second} ${first}"')})
    assert desk("check", "--against-runs").code == 0, "what has ended is broken by nothing"


@pytest.mark.feature("B8")
def test_other_bindings_are_refused_with_the_difference_and_can_be_accepted(desk: Ael) -> None:
    run = parked(desk)
    assert desk("runs", "approve", run).code == 0
    desk.write({"deploy.ael": FILES["deploy.ael"] + "tool letter timeout 2s\n"})
    no = desk("runs", "resume", run)
    assert no.code == 2
    assert f"error[AEL0906]: the run {run} began under other bindings" in no.err
    assert "tool letter was not bound, and is `timeout 2000" in no.err
    assert shown(desk, run)["state"] == "ready"
    yes = desk("runs", "resume", run, "--accept-bindings", "-q")
    assert yes.code == 0
    [record] = [one for one in shown(desk, run)["effects"] if one["target"] == "ael.accept_bindings"]
    assert record["value"]["differs"][0].startswith("tool letter was not bound")


def test_a_run_is_cancelled_wherever_it_is(desk: Ael) -> None:
    run = parked(desk)
    assert desk("runs", "cancel", run, "--reason", "not needed").code == 0
    resumed = desk("runs", "resume", run)
    assert resumed.code == 130
    assert "Cancelled: not needed" in resumed.err
    again = desk("runs", "cancel", run)
    assert again.code == 2
    assert f"the run {run} has ended" in again.err
    ended = desk("runs", "resume", run)
    assert ended.code == 2
    assert f"`ael runs show {run}` says how" in ended.err


def test_waiting_prints_what_the_run_gave(desk: Ael) -> None:
    run = parked(desk)
    waiting = desk("runs", "wait", run, "--or-parked")
    assert (waiting.code, waiting.out) == (3, "")
    assert f"parked: the run {run} waits for approval at main/refund@0/approval" in waiting.err
    late = desk("runs", "wait", run, "--timeout", "0s")
    assert late.code == 3
    assert "has not ended within 0s: it waits for approval" in late.err
    desk("runs", "approve", run, "--resume")
    ended = desk("runs", "wait", run)
    assert (ended.code, json.loads(ended.out)) == (0, "R-A-1 R-A-1b")
    whole = json.loads(desk("runs", "wait", run, "--json").out)
    assert (whole["outcome"], whole["value"]) == ("value", "R-A-1 R-A-1b")
    other = parked(desk, "B-1")
    desk("runs", "cancel", other, "--reason", "gone")
    desk("runs", "resume", other)
    gone = desk("runs", "wait", other)
    assert gone.code == 130
    assert "error[AEL0902]: Cancelled: gone" in gone.err


def test_old_runs_are_forgotten(desk: Ael) -> None:
    run = parked(desk)
    assert desk("runs", "prune", "--before", "0s").err == "0 runs forgotten\n", "it has not ended"
    desk("runs", "approve", run, "--resume")
    assert desk("runs", "prune", "--before", "1d").err == "0 runs forgotten\n"
    assert desk("runs", "prune", "--before", "0s", "--keep", "1").err == "0 runs forgotten\n"
    assert desk("runs", "prune", "--before", "0s").err == "1 run forgotten\n"
    assert desk("runs").out == ""


def test_a_store_that_is_none_is_told(desk: Ael) -> None:
    Path("runs.db").write_bytes(b"not a database at all, but long enough to look like one" * 40)
    for words in (("runs",), ("worker", "--once"), ("run", ".", "--detach"), ("run", ".")):
        ended = desk(*words)
        assert "error[AEL0904]: the runs in " in ended.err or "warning[AEL0904]: the runs in " in ended.err, words
        assert "Traceback" not in ended.err


@pytest.mark.feature("A16.7")
def test_a_run_shows_each_call_with_its_approver_tokens_and_cost(ael: Ael) -> None:
    ael.write(
        {
            "main.ael": """\
permission money.refund

/// Refund an order. Call it once.
tool refund(order: String(max: 20)) -> String
  needs money.refund
  repeat never
  approval required
{
  "R-${order}"
}

model clerk {
  provider openai
  name "gpt-5-mini"
}

node main() -> String(max: 80) fails Uncertain
  model clerk
  policy loop(steps: 4, tool_calls: 4)
  grants money.refund
  tools refund
  budget tokens 20_000, time 30s
{
  instructions "Refund."
}
""",
            "deploy.ael": 'model clerk = scripted("script.json")\nprice "gpt-5-mini" input $1.00 output $2.00\n',
            "script.json": json.dumps([{"call": "refund", "with": {"order": "A-1"}}, {"final": "refunded"}]),
        }
    )
    ended = ael("run", ".", "--approve", "-q")
    assert ended.code == 0, ended.err
    [row] = json.loads(ael("runs", "list", "--format", "json").out)
    told = json.loads(ael("runs", "show", row["run"], "--format", "json").out)
    kinds = [effect["kind"] for effect in told["effects"]]
    assert kinds == ["model", "tool", "approval", "model"]
    [first] = told["effects"][0]["attempts"]
    assert first["input"] > 0
    assert told["pinned"]["bindings"]["model clerk"].startswith("scripted ")
    text = ael("runs", "show", row["run"]).out
    assert "calls refund" in text
    assert "tokens (estimated)" in text
    assert "approved by " in text
    assert "spent    2 model calls, 1 tool calls" in text
