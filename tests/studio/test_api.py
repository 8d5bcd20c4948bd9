"""What the page is told, and what it does: by the rules of `ael runs`, through the same functions."""

from __future__ import annotations

import json
import sqlite3

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.studio.desk import HOSTILE, Served, eventually, program, studio


@pytest.mark.feature("B6")
def test_a_run_is_started_decided_and_told(served: Served) -> None:
    before = served.booked()
    run = served.parked()
    asked = served.asked(run)
    assert (asked["target"], asked["role"], asked["arguments"]) == (
        "main.refund",
        "finance",
        {"order": "A-42", "amount": "19.90"},
    )
    assert served.decide(run, "approve").json["by"] == "ann"
    row = served.until(run, "ended")
    assert (row["ending"], row["tokens"] > 0) == ("value", True)
    assert served.booked() == before + 1
    again = served.post(f"runs/{run}/decide", {"step": asked["step"], "digest": asked["digest"], "decision": "approve"})
    assert (again.status, again.error) == (409, f"the run {run} has ended")
    assert served.booked() == before + 1


@pytest.mark.feature("A16.7")
def test_a_timeline_a_picture_and_a_step(served: Served) -> None:
    run = served.parked()
    served.decide(run, "approve")
    served.until(run, "ended")
    told = served.get(f"runs/{run}?way=1").json
    assert told["notes"] == []
    assert told["all"] == len(told["spans"])
    kinds = [span["kind"] for span in told["spans"]]
    assert kinds.count("turn") == 2
    assert kinds.count("edge") == 3
    assert (told["limits"]["tokens"], told["limits"]["cost"]) == (3_000_000, "6.00")
    (drawn,) = told["graphs"]
    visited = {point["name"]: point["visits"] for point in drawn["points"]}
    assert visited == {"start": 1, "answer": 1, "file": 1, "escalate": 0, "finish": 1}
    taken = {(arrow["source"], arrow["target"]): arrow["taken"] for arrow in drawn["arrows"]}
    assert taken[("answer", "file")] == 1
    assert taken[("answer", "escalate")] == 0
    turn = next(span for span in told["spans"] if span["kind"] == "turn")
    step = served.get(f"runs/{run}/step?path={turn['path'].replace('#', '%23')}").json
    assert "Answer the ticket." in step["prompt"]["system"]
    assert "Charged twice!" in json.dumps(step["prompt"]["messages"])
    assert [one["name"] for one in step["prompt"]["tools"]] == ["refund"]
    assert step["value"]["text"] == "I refund it."
    assert step["calls"][0]["approval"]["value"]["by"] == "ann"
    assert step["attempts"][0]["input"] > 0
    root = served.get(f"runs/{run}/step").json
    assert (root["input"]["ticket"]["message"], root["outcome"]["value"]) == ("Charged twice!", 15)


@pytest.mark.feature("A16.6")
def test_that_content_is_read_is_recorded_and_metadata_is_not(served: Served) -> None:
    run = served.begin("Twice!", entry="main.desk", detached=True)
    served.get("runs")
    served.get(f"runs/{run}?way=1")
    assert served.get(f"runs/{run}/readers").json == []
    served.get(f"runs/{run}/step")
    (reading,) = served.get(f"runs/{run}/readers").json
    assert (reading["by"], reading["with"]) == ("ann", "ael studio")
    parked, other = served.parked(), served.parked()
    assert len(served.get(f"inbox?run={parked}").json) == 1
    assert [one["with"] for one in served.get(f"runs/{parked}/readers").json] == ["ael studio: approvals"]
    assert served.get(f"runs/{other}/readers").json == []
    assert {parked, other} <= {one["run"] for one in served.get("inbox").json}
    for waits in (parked, other):
        served.decide(waits, "deny", reason="enough")


@pytest.mark.feature("A16.6")
@pytest.mark.parametrize("evidence", ["none", "redacted"])
def test_the_deployment_says_what_is_shown(tmp_path_factory: pytest.TempPathFactory, evidence: str) -> None:
    deploy = f'model fast = scripted("script.json")\nruns = sqlite("runs.db", evidence: {evidence})\nrole finance = ["ann"]\n'
    with studio(program(tmp_path_factory.mktemp(evidence), deploy_ael=deploy)) as found:
        found.enter()
        run = found.parked("a secret thing")
        found.decide(run, "deny", reason="no")
        found.until(run, "ended")
        spans = found.get(f"runs/{run}?way=1").json["spans"]
        for path in ["", *(span["path"] for span in spans if span["kind"] in ("turn", "tool", "approval"))]:
            told = found.get(f"runs/{run}/step?path={path.replace('#', '%23')}")
            assert told.status == 200
            assert "a secret thing" not in told.body.decode()
            assert "I refund it" not in told.body.decode()


@pytest.mark.feature("A4.5")
def test_who_may_not_decide_does_not(tmp_path_factory: pytest.TempPathFactory) -> None:
    deploy = (
        'model fast = scripted("script.json")\nruns = sqlite("runs.db")\nstore book = sqlite("book.db")\nrole finance = ["ann"]\n'
    )
    with studio(program(tmp_path_factory.mktemp("roles"), deploy_ael=deploy), user="mallory") as found:
        found.enter()
        run = found.parked()
        assert found.asked(run)["may"] is False
        refused = found.decide(run, "approve")
        assert (refused.status, refused.error) == (409, "`finance` decides about this, and mallory is no member of it")
        assert found.until(run, "parked")["state"] == "parked"
        assert found.booked() == 0


def test_a_decision_is_for_exactly_what_was_shown(served: Served) -> None:
    run = served.parked()
    asked = served.asked(run)
    other = served.post(f"runs/{run}/decide", {"step": asked["step"], "digest": "0" * 64, "decision": "approve"})
    assert (other.status, other.error) == (409, "what the run waits for has changed since it was shown")
    none = served.decide(run, "deny")
    assert "a no needs a reason" in none.error
    unfit = served.decide(run, "approve", arguments={"order": "A-1", "amount": "much"})
    assert (unfit.status, "these are no arguments of `main.refund`: `amount`" in unfit.error) == (409, True)
    assert served.decide(run, "answer", answer="yes").status == 409
    edited = served.decide(run, "approve", arguments={"order": "A-7", "amount": "1.00"})
    assert edited.status == 200
    served.until(run, "ended")
    spans = served.get(f"runs/{run}").json["spans"]
    tool = next(span for span in spans if span["kind"] == "tool")
    step = served.get(f"runs/{run}/step?path={tool['path'].replace('#', '%23')}").json
    assert step["approval"]["value"]["arguments"] == {"order": "A-7", "amount": "1.00"}


@pytest.mark.feature("B7")
def test_a_fork_says_what_it_takes_and_nothing_takes_effect_again(served: Served) -> None:
    run = served.parked()
    served.decide(run, "approve")
    served.until(run, "ended")
    before = served.booked()
    guess = served.post(f"runs/{run}/fork", {"at": "refund", "estimate": True, "changes": [], "allow": []})
    assert (guess.status, guess.json["calls"]["served"], guess.json["turns"]) == (200, 1, 1)
    made = served.post(f"runs/{run}/fork", {"at": "refund", "changes": [], "allow": []}).json["run"]
    assert served.until(made, "ended")["ending"] == "value"
    assert served.booked() == before
    told = served.get(f"runs/{made}").json
    assert told["fork"]["of"] == run
    wrong = served.post(f"runs/{run}/fork", {"at": "nothing", "changes": []})
    assert (wrong.status, "has no step `nothing`" in wrong.error) == (422, True)
    changed = served.post(f"runs/{run}/fork", {"at": None, "changes": [["refund", '"R-other"']]}).json["run"]
    served.until(changed, "ended")
    both = served.get(f"diff?a={run}&b={changed}").json
    assert any(one["target"] == "main.refund" for one in both["effects"])


def test_a_run_is_ended_and_gone_on_with(served: Served) -> None:
    run = served.begin(detached=True)
    assert served.post(f"runs/{run}/resume", {}).status == 200
    served.until(run, "parked")
    assert served.post(f"runs/{run}/cancel", {"reason": "enough"}).status == 200
    row = served.until(run, "ended")
    assert row["ending"] == "fault"
    assert served.post(f"runs/{run}/cancel", {"reason": ""}).error == f"the run {run} has ended"
    assert served.post(f"runs/{run}/resume", {}).error == f"the run {run} has ended"


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"ticket": {"customer": "c", "message": "m", "order_id": "wrong"}}, "ticket.order_id"),
        ({"ticket": {"customer": 1, "message": "m"}}, "ticket.customer"),
        ({"ticket": {"message": "m"}}, "ticket"),
        ({}, ""),
    ],
)
def test_what_does_not_fit_is_told_at_its_field(served: Served, given: object, path: str) -> None:
    before = len(served.get("runs").json["rows"])
    refused = served.post("runs", {"entry": "main.desk", "input": given})
    assert refused.status == 422
    assert any(one["path"].startswith(path) for one in refused.json["problems"])
    assert len(served.get("runs").json["rows"]) == before


def test_a_form_says_what_each_field_takes(served: Served) -> None:
    told = served.get("forms").json["entries"]
    assert told[0]["name"] == "desk"
    (ticket,) = told[0]["fields"]
    fields = {one["name"]: one for one in ticket["fields"]}
    assert (fields["customer"]["kind"], fields["customer"]["max"], fields["customer"]["doc"]) == ("text", 120, "Who writes.")
    assert (fields["message"]["kind"], fields["urgent"]["kind"], fields["urgent"]["default"]) == ("lines", "truth", False)
    assert (fields["order_id"]["required"], fields["order_id"]["pattern"]) == (False, "^[A-Z]-[0-9]+$")


@pytest.mark.feature("A12.15")
def test_a_stream_goes_on_after_what_was_seen_and_holds_no_content(served: Served) -> None:
    run = served.parked("a private matter")
    told = []
    for name, number, data in served.events(run):
        told.append((name, number, data))
        if name == "run" and data["row"]["state"] == "parked":
            break
    records = served.get(f"runs/{run}").json["records"]
    assert told[-1][1] == str(records - 1)
    assert "private" not in json.dumps(told)
    served.decide(run, "approve")
    served.until(run, "ended")
    for name, number, data in served.events(run, told[-1][1]):
        if name == "run":
            assert int(number) > records - 1
            assert data["row"]["ending"] == "value"
            break


def test_nothing_that_is_asked_for_is_there(served: Served) -> None:
    for path in ("runs/r0", "runs/r0/spans", "runs/r0/step", "diff?a=r0&b=r1", "none", "runs/x/y/z"):
        assert served.get(path).status == 404, path
    for path in ("runs/r0/cancel", "runs/r0/fork", "runs/r0/decide", "none"):
        assert served.post(path, {}).status == 404, path
    run = served.begin("x", detached=True)
    for body in ({}, {"decision": 1}, {"decision": "approve", "step": None}, {"decision": "burn", "step": "x"}):
        assert served.post(f"runs/{run}/decide", body).status == 400, body
    for body in ({"at": 1}, {"changes": [["a"]]}, {"changes": "x"}, {"allow": [1]}):
        assert served.post(f"runs/{run}/fork", body).status == 400, body
    assert served.get(f"runs/{run}/spans?from=-1").status == 400


def test_content_goes_out_as_data(served: Served) -> None:
    run = served.parked(f"hostile {HOSTILE}")
    told = served.get(f"runs/{run}/step")
    assert told.headers["content-type"] == "application/json"
    assert told.json["input"]["ticket"]["message"] == f"hostile {HOSTILE}"
    assert served.decide(run, "deny", reason="no <b>").status == 200
    served.until(run, "ended")


def test_a_long_timeline_comes_in_pieces(tmp_path_factory: pytest.TempPathFactory) -> None:
    many = MANY
    with studio(program(tmp_path_factory.mktemp("long"), main_ael=many, deploy_ael='runs = sqlite("runs.db")\n')) as found:
        found.enter()
        run = found.post("runs", {"entry": "main.main", "input": {"n": 300}}).json["run"]
        assert found.until(run, "ended")["ending"] == "value"
        told = found.get(f"runs/{run}?way=1").json
        assert told["all"] > 600
        assert len(told["spans"]) == 400
        rest = found.get(f"runs/{run}/spans?from=400&way=1").json
        assert rest["all"] == told["all"]
        numbers = [span["n"] for span in (*told["spans"], *rest["spans"])]
        assert numbers == list(range(1, told["all"] + 1))


MANY = """\
permission notes.write

store notes: Map<String, Int> needs notes.write

tool write(n: Int) -> Int
  needs notes.write
  repeat idempotent
{
  notes.put("${n}", n)
  n
}

node main(n: Int(0..1_000)) -> Int
  grants notes.write
{
  var sum = 0
  for i in 0..n {
    sum = sum + write(i)
  }
  sum
}
"""


def test_the_program_is_opened_anew_when_its_files_change(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = program(tmp_path_factory.mktemp("edited"))
    with studio(folder) as found:
        found.enter()
        run = found.parked()
        (folder / "main.ael").write_text("node main( ->", "utf-8")
        problems = eventually(lambda: found.get("about").json["problems"] or None)
        assert problems[0].startswith("AEL")
        assert found.get(f"runs/{run}?way=1").json["notes"] != []
        assert found.post("runs", {"entry": "main.books", "input": {}}).error == "the program has errors"
        (folder / "main.ael").write_text("/// New.\nnode other() -> Int {\n  1\n}\n", "utf-8")
        (folder / "deploy.ael").write_text('runs = sqlite("elsewhere.db")\n', "utf-8")
        eventually(lambda: found.get("about").json["problems"] == [] or None)
        # Where runs are kept stays as it was when the studio began.
        assert [row["run"] for row in found.get("runs").json["rows"]] == [run]


def test_a_store_is_looked_into_by_its_file(tmp_path_factory: pytest.TempPathFactory) -> None:
    with studio(program(tmp_path_factory.mktemp("one"))) as found:
        run = found.enter().parked()
        file = found.folder / "runs.db"
    other = program(tmp_path_factory.mktemp("two"))
    with studio(other, store=file, read_only=True) as found:
        found.enter()
        assert [row["run"] for row in found.get("runs").json["rows"]] == [run]
    assert not (other / "runs.db").exists()
    with sqlite3.connect(file) as db:
        assert db.execute("SELECT COUNT(*) FROM ael_run").fetchone() == (1,)


ASKS = """\
use std/human.{ask, confirm, NoAnswer}

node main() -> String fails NoAnswer
  grants std.human.ask
{
  let colour = try ask("Which colour? <b>", ["red", "blue"])
  let name = try ask("And your name?")
  let sure = try confirm("Sure?")
  "${name.text} likes ${colour.text}, ${sure.yes}, says ${colour.by}"
}
"""
LETTER = """\
permission letters.send

tool letter(to: String(max: 20)) -> String
  needs letters.send
  repeat never
  timeout 5s
  extern "letters_of_studio_tests:send"

node main(to: String(max: 20) = "ada") -> String fails Uncertain
  grants letters.send
{
  try letter(to)
}
"""


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
WORDS = (
    "decision",
    "step",
    "digest",
    "reason",
    "arguments",
    "answer",
    "result",
    "at",
    "changes",
    "allow",
    "entry",
    "input",
    "tenant",
)


@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_whatever_is_asked_is_answered(served: Served, data: st.DataObject) -> None:
    # Which runs there are changes from one example to the next: what is drawn must not depend on it.
    names = [row["run"] for row in served.get("runs").json["rows"][-3:]] or ["r0"]
    name = names[data.draw(st.integers(0, 2)) % len(names)]
    what = data.draw(st.sampled_from(["runs", *(f"runs/{name}/{word}" for word in ("decide", "cancel", "fork", "resume"))]))
    body = data.draw(st.dictionaries(st.sampled_from(WORDS), JSON, max_size=5))
    assert served.post(what, body).status < 500
    path = data.draw(st.text(st.sampled_from("abr/0%_.-"), max_size=12))
    assert served.get(f"runs/{path}").status < 500


@pytest.mark.feature("B6")
def test_questions_of_a_program_are_answered(tmp_path_factory: pytest.TempPathFactory) -> None:
    files = {"main_ael": ASKS, "deploy_ael": 'runs = sqlite("runs.db")\n'}
    with studio(program(tmp_path_factory.mktemp("asks"), **files)) as found:
        found.enter()
        run = found.post("runs", {"entry": "main.main", "input": {}}).json["run"]

        def asked(text: str) -> None:
            eventually(lambda: [one for one in found.get(f"inbox?run={run}").json if one["question"]["message"] == text] or None)

        asked("Which colour? <b>")
        wrong = found.decide(run, "answer", answer="green")
        assert (wrong.status, found.decide(run, "approve").status) == (409, 409)
        assert found.decide(run, "answer", answer="blue").status == 200
        asked("And your name?")
        assert found.decide(run, "answer", answer="Ada <i>").status == 200
        asked("Sure?")
        assert found.decide(run, "answer", answer=True).status == 200
        found.until(run, "ended")
        assert found.get(f"runs/{run}/step").json["outcome"]["value"] == "Ada <i> likes blue, true, says ann"


@pytest.mark.feature("B6")
def test_a_call_whose_outcome_nobody_knows_is_settled(tmp_path_factory: pytest.TempPathFactory) -> None:
    files = {
        "main_ael": LETTER,
        "pack_ael": 'pack letters {\n  version "1.0"\n  extern "letters_of_studio_tests"\n}\n',
        "letters_of_studio_tests_py": 'def send(to):\n    raise ConnectionError("the line is dead")\n',
        "deploy_ael": 'runs = sqlite("runs.db", uncertain: park)\n',
    }
    folder = tmp_path_factory.mktemp("letters")
    (folder / "letters_of_studio_tests.py").write_text(files.pop("letters_of_studio_tests_py"), "utf-8")
    with studio(program(folder, **files)) as found:
        found.enter()
        run = found.post("runs", {"entry": "main.main", "input": {}}).json["run"]
        found.until(run, "parked")
        assert found.asked(run)["kind"] == "uncertain"
        wrong = found.decide(run, "settle", result=7)
        assert (wrong.status, "this is no result of `main.letter`" in wrong.error) == (409, True)
        assert found.decide(run, "settle", result="L-1").status == 200
        assert found.until(run, "ended")["ending"] == "value"
        assert found.get(f"runs/{run}/step").json["outcome"]["value"] == "L-1"
