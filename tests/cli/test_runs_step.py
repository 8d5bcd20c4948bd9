"""`ael runs show --step`: one step whole, with what a model was asked; and how much of a run anybody sees (features A16.6, A16.7)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import Ael
from tests.cli.shop_desk import FILES, TURNS, outside, sold

KEY = "k-0123456789-secret"
DEAR = json.dumps([{"call": "charge", "with": {"name": "car", "amount": 50}, "text": "I charge."}, {"final": "done"}])


def _step(ael: Ael, run: str, step: str) -> dict[str, Any]:
    ended = ael("runs", "show", run, "--step", step, "--format", "json")
    assert ended.code == 0, ended.err
    told: dict[str, Any] = json.loads(ended.out)
    return told


def _deploy(line: str) -> dict[str, str]:
    return {**FILES, "deploy.ael": f"{FILES['deploy.ael']}{line}\n"}


@pytest.mark.feature("A16.7")
def test_a_turn_shows_what_was_sent_offered_proposed_said_and_taken(ael: Ael) -> None:
    run = sold(ael, "--name", "car", "--approve", files={**FILES, "one.json": DEAR})
    first = _step(ael, run, "turn1")
    assert first["prompt"]["system"].endswith("Sell it.")
    assert [one["name"] for one in first["prompt"]["tools"]] == ["charge"]
    assert first["prompt"]["messages"] == [
        {"role": "user", "text": '<input name="name">\ncar\n</input>\n<input name="at">\n50\n</input>'}
    ]
    assert [(one["target"], one["value"], one["approved"]) for one in first["calls"]] == [
        ("main.charge", "charged 50", "approved by root")
    ]
    [attempt] = first["attempts"]
    assert (attempt["model"], attempt["cost"], attempt["estimated"], attempt["reason"]) == ("one.json", "0", True, None)
    assert attempt["input"] == attempt["classes"]["input"] > 0
    second = _step(ael, run, "turn2")
    assert [message["role"] for message in second["prompt"]["messages"]] == ["user", "model", "tool"]
    assert second["prompt"]["messages"][2]["content"] == "charged 50"
    text = ael("runs", "show", run, "--step", "turn2").out
    for line in ("--- system", "--- tools   charge", "--- user", "--- model", "I charge.", "--- tool charge", "charged 50"):
        assert line in text.splitlines()
    assert text.splitlines()[-2:] == ["=== it said   (done)", "done"]
    call = _step(ael, run, "charge")
    assert (call["arguments"], call["approval"]["told"]) == ({"name": "car", "amount": 50}, "approved by root")
    assert "approval  approved by root" in ael("runs", "show", run, "--step", "charge").out
    assert len(outside(ael)) == 3, "nothing was done again"


@pytest.mark.feature("A16.7")
def test_steps_are_numbered_as_they_are_named(ael: Ael) -> None:
    run = sold(ael)
    lines = ael("runs", "show", run).out.split("\n\n")[1].splitlines()
    assert [line.split()[:2] for line in lines if line][4] == ["5", "main/sell@4/turn1"]
    assert (_step(ael, run, "5")["path"], _step(ael, run, "5")["number"]) == ("main/sell@4/turn1", 5)
    for step, said in (("end", "behind the last step"), ("nope", "has no step `nope`"), ("turn3", "lists them")):
        ended = ael("runs", "show", run, "--step", step)
        assert (ended.code, ended.out) == (2, "")
        assert said in ended.err


@pytest.mark.feature("A16.7", "B8")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"main.ael": FILES["main.ael"].replace("Sell it.", "Sell it all.")},
            "by the program, and it has changed: the run began with",
        ),
        ({"main.ael": "node main( {"}, "by the program, which is not here, or has errors"),
    ],
)
def test_without_its_program_a_run_is_shown_but_for_what_its_models_were_asked(
    ael: Ael, change: dict[str, str], said: str
) -> None:
    run = sold(ael)
    ael.write(change)
    for words in (("runs", "show", run, "--step", "turn1", "--format", "json"), ("trace", run, "--content", "--format", "json")):
        ended = ael(*words)
        assert (ended.code, said in ended.err) == (0, True), ended.err
        told = json.loads(ended.out)
        turns = [told] if "prompt" in told else [one for one in told["spans"] if one["kind"] == "turn"]
        assert all(one.get("prompt") is None and "messages" not in one.get("content", {}) for one in turns)
    assert "5 of 9" in ael("runs", "show", run, "--step", "turn1").out


@pytest.mark.feature("A16.7", "B19")
def test_a_trace_with_content_holds_each_message_once_in_every_form(ael: Ael) -> None:
    run = sold(ael)
    told = json.loads(ael("trace", run, "--content", "--format", "json").out)
    turns = [span["content"] for span in told["spans"] if span["kind"] == "turn"]
    assert [list(one) for one in turns] == [["system", "tools", "messages", "calls"], ["messages", "text"]]
    assert [[message["role"] for message in one["messages"]] for one in turns] == [["user"], ["model", "tool"]]
    text, page = ael("trace", run, "--content").out, ael("trace", run, "--content", "--format", "html").out
    assert text.count("Sell it.") == page.count("Sell it.") == 1
    assert text.count('   sent by user:\n     <input name="name">\n     kettle\n') == 1
    assert page.count("<dt>Sent: tool charge</dt><dd>charged 5</dd>") == 1
    assert (
        "Sell it."
        not in ael("trace", run).out + ael("trace", run, "--format", "html").out + ael("trace", run, "--format", "json").out
    )


@pytest.mark.feature("A16.6", "A16.7")
def test_who_looked_at_a_step_is_recorded(ael: Ael) -> None:
    run = sold(ael)
    _step(ael, run, "turn2")
    ael("runs", "diff", run, run)
    readers = ael("trace", run, "--readers").out
    assert ["ael runs show --step turn2" in readers, readers.count("ael runs diff")] == [True, 2]


def _secret(ael: Ael, monkeypatch: pytest.MonkeyPatch, deploy: str = "", *words: str) -> str:
    monkeypatch.setenv("SHOP_KEY", KEY)
    files = _deploy(f'secret SHOP = env("SHOP_KEY")\n{deploy}')
    turns = [{"call": "charge", "with": {"name": KEY, "amount": 50}, "text": f"I charge {KEY}."}, {"final": f"paid {KEY}"}]
    return sold(ael, "--name", KEY, *words, files={**files, "one.json": json.dumps(turns)})


@pytest.mark.feature("A16.6", "A16.8", "K41")
@pytest.mark.parametrize("policy", ["", 'runs = sqlite("r.db", evidence: redacted)', 'runs = sqlite("r.db", evidence: none)'])
def test_secrets_are_in_no_output_whatever_is_shown(ael: Ael, monkeypatch: pytest.MonkeyPatch, policy: str) -> None:
    run = _secret(ael, monkeypatch, policy, "--approve")
    fork = ael("runs", "fork", run, "--set", f'charge="{KEY}"', "--allow", "tell", "-q", "--detach").out.strip()
    outputs = []
    for form in ("text", "json"):
        outputs += [ael("runs", "show", one, "--format", form) for one in (run, fork)]
        outputs += [
            ael("runs", "show", run, "--step", step, "--format", form) for step in ("turn1", "turn2", "charge", "charge/approval")
        ]
        outputs += [ael("runs", "diff", run, fork, "--format", form), ael("runs", "list", "--format", form)]
    for form in ("text", "json", "html"):
        outputs += [ael("trace", run, "--format", form)] + (
            [ael("trace", run, "--content", "--format", form)] if "none" not in policy else []
        )
    for one in outputs:
        assert one.code in (0, 1), one.err
        assert one.out
        assert KEY not in one.out + one.err
        assert KEY[:12] not in one.out + one.err, "nor the beginning of one that was cut"


@pytest.mark.feature("A16.6", "K41")
def test_secrets_are_masked_where_a_person_decides(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_KEY", KEY)
    files = _deploy('secret SHOP = env("SHOP_KEY")')
    turns = [{"call": "charge", "with": {"name": KEY, "amount": 50}}, {"final": "x"}]
    ael.write({**files, "one.json": json.dumps(turns)})
    assert ael("run", ".", "main", "-q").code == 3
    run = json.loads(ael("runs", "list", "--format", "json").out)[0]["run"]
    for words in (
        ("runs", "approvals"),
        ("runs", "approvals", "--format", "json"),
        ("runs", "show", run),
        ("runs", "show", run, "--format", "json"),
    ):
        out = ael(*words).out
        assert "***" in out
        assert KEY not in out
    assert ael("runs", "approve", run, "--resume", "--as", "ann").code in (0, 1)
    assert "charge *** 50" in outside(ael), (
        "what the person saw is what is called: a secret that a model says is masked as it comes in"
    )


@pytest.mark.feature("A16.6")
def test_redacted_shows_the_form_and_with_marked_fields_the_rest(ael: Ael) -> None:
    run = sold(ael, files=_deploy('runs = sqlite("r.db", evidence: redacted)'))
    step = _step(ael, run, "turn2")
    assert step["prompt"]["messages"][0]["text"] == "[text of 64 characters]"
    assert step["value"]["text"] == "[text of 10 characters]"
    assert _step(ael, run, "charge")["arguments"] == {"name": "[text of 6 characters]", "amount": 5}
    marked = _deploy('runs = sqlite("r.db", evidence: redacted, redact: ["amount", "text"])')
    ael.write({"deploy.ael": marked["deploy.ael"]})
    call = _step(ael, run, "charge")
    assert (call["arguments"], call["value"]) == ({"name": "kettle", "amount": 5}, "charged 5")
    told = _step(ael, run, "tell")
    assert told["arguments"] == {"text": "[text of 20 characters]"}
    turn = _step(ael, run, "turn1")
    assert turn["value"]["calls"][0][2] == {"name": "kettle", "amount": 5}
    assert turn["prompt"]["messages"][0]["text"] == "[text of 64 characters]", "nobody knows what of a field stands in a text"


@pytest.mark.feature("A16.6")
def test_where_nothing_is_shown_a_step_is_its_outline(ael: Ael) -> None:
    run = sold(ael, files=_deploy('runs = sqlite("r.db", evidence: none)'))
    turn = _step(ael, run, "turn1")
    assert "prompt" not in turn
    assert (turn["value"]["text"], turn["value"]["calls"], turn["value"]["final"]) == ("", [["", "charge", None]], None)
    assert turn["attempts"][0]["input"] > 0
    assert (_step(ael, run, "charge")["arguments"], _step(ael, run, "charge")["value"]) == (None, None)
    out = ael("runs", "show", run).out + ael("runs", "show", run, "--step", "turn2").out + ael("runs", "diff", run, run).out
    assert "kettle" not in out
    assert str(TURNS[1]["final"]) not in out


@pytest.mark.feature("A16.6", "A12.16")
def test_a_difference_is_told_where_what_differs_is_not_shown(ael: Ael) -> None:
    run = sold(ael, files=_deploy('runs = sqlite("r.db", evidence: none)'))
    assert ael("runs", "fork", run, "--set", 'new_id="abcdefghijklmnopqrst"', "-q").code == 0
    fork = json.loads(ael("runs", "list", "--format", "json").out)[0]["run"]
    told = ael("runs", "diff", run, fork, "--format", "json")
    assert [(one["path"], one["a"]["value"], one["b"]["value"]) for one in json.loads(told.out)["effects"]] == [
        ("main/new_id@1", None, None)
    ]
    assert "abcdefghij" not in told.out
    assert ael("runs", "show", fork).out.count('new_id="') == 0


@pytest.mark.feature("A16.6")
def test_a_list_of_runs_holds_no_content(ael: Ael) -> None:
    sold(ael)
    [row] = json.loads(ael("runs", "list", "--format", "json").out)
    assert (row["outcome"]["outcome"], set(row["outcome"])) == ("value", {"outcome", "spent"})


@pytest.mark.feature("A16.6")
def test_content_is_forgotten_by_itself_and_what_is_left_is_shown(ael: Ael) -> None:
    run = sold(ael)
    again = ael("runs", "prune", "--content", "--before", "1h")
    assert (again.code, again.err) == (0, "the content of 0 runs forgotten\n")
    assert ael("runs", "prune", "--content", "--before", "0s").err == "the content of 1 run forgotten\n"
    shown = ael("runs", "show", run)
    assert "kettle" not in shown.out
    assert "5  main/sell@4/turn1" in shown.out
    assert "note: its content was forgotten 20" in shown.err
    step = ael("runs", "show", run, "--step", "turn1")
    assert (step.code, "attempt   1  one.json" in step.out, step.err.count("note: ")) == (0, True, 1)
    trace = ael("trace", run, "--content")
    assert ("turn clerk" in trace.out, "kettle" in trace.out, "forgotten" in trace.err) == (True, False, True)
    fork = ael("runs", "fork", run, "--at", "end")
    assert (fork.code, "was forgotten, so it cannot be forked" in fork.err) == (2, True)
    assert ael("runs", "prune", "--before", "0s").err == "1 run forgotten\n"
    both = ael("runs", "prune", "--content", "--keep", "1")
    assert (both.code, "leave out one of the two" in both.err) == (2, True)


@pytest.mark.feature("A16.6")
def test_a_worker_forgets_content_after_its_time(ael: Ael) -> None:
    run = sold(ael, files=_deploy('runs = sqlite("r.db", evidence_keep: 0s, keep: 30d)'))
    assert "sold for 5" in ael("runs", "show", run).out
    assert ael("worker", "--once").code == 0
    assert "sold for 5" not in ael("runs", "show", run).out
    assert ael("runs", "prune", "--content").err == "the content of 0 runs forgotten\n", "by the time of the deployment"
