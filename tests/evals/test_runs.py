"""What is asserted of runs: how they ended, the way they went, what they called and kept and spent; and that no sample sees another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ael.evals import apart
from ael.hosting.failure import HostError
from tests.cli.conftest import Ael
from tests.evals.desk import by, cases, files, final, turns

LOOK = {"call": "where_is", "with": {"id": "A-1"}}
ORDERS = {"orders": {"A-1": "on its way"}}


def verdicts(ael: Ael, *words: str) -> dict[str, dict[str, tuple[float | None, str]]]:
    """Case -> grader -> score and reason, of the first sample."""
    ended = ael("eval", "--format", "json", *words)
    assert ended.out, ended.err
    told = json.loads(ended.out)
    return {
        case["id"]: {one["name"]: (one["score"], one["reason"]) for one in case["samples"][0]["grades"]} for case in told["cases"]
    }


@pytest.mark.feature("A18.5")
def test_the_status_of_a_run_is_asserted_by_kind_and_name(ael: Ael) -> None:
    made = files("grader answered = output != text", "")
    made["eval.ael"] = made["eval.ael"].replace("entry = help", "entry = find")
    made["cases.jsonl"] = cases(
        {"id": "value", "input": {"text": "A-1"}, "stores": ORDERS, "assert": {"status": "value"}},
        {"id": "error", "input": {"text": "A-2"}, "assert": {"status": {"error": "NotFound"}}},
        {"id": "any error", "input": {"text": "A-2"}, "assert": {"status": "error"}},
        {"id": "no error", "input": {"text": "A-1"}, "stores": ORDERS, "assert": {"status": {"error": "NotFound"}}},
        {"id": "unsaid", "input": {"text": "A-2"}},
    )
    ael.write(made)
    found = verdicts(ael)
    assert found["value"] == {"answered": (1.0, ""), "status": (1.0, "")}
    assert found["error"] == {"status": (1.0, "")}
    assert found["any error"] == {"status": (1.0, "")}
    assert found["no error"]["status"] == (0.0, "expected the run to end as error NotFound; it ended as value")
    score, reason = found["unsaid"]["answered"]
    assert score == 0.0
    assert "error NotFound" in reason


@pytest.mark.feature("A18.5")
def test_a_run_that_waits_for_an_approval_is_parked_unless_the_evaluation_decides(ael: Ael) -> None:
    cancels = turns({"call": "cancel", "with": {"id": "A-1"}}, final())
    case = {"id": "cancel", "input": {"text": "cancel"}, "assert": {"status": {"parked": "cancel"}}}
    ael.write(files("", cases(case), desk=cancels))
    assert ael("eval").code == 0
    wanted = {"store": "orders", "key": "A-1", "equals": "cancelled"}
    ael.write(
        {"cases.jsonl": cases({"id": "cancel", "input": {"text": "cancel"}, "assert": {"kept": wanted, "called": "cancel"}})}
    )
    assert ael("eval").code == 1
    assert ael("eval", "--approve").code == 0
    assert "was called never" in ael("eval", "--deny").out


@pytest.mark.feature("A18.5")
def test_the_way_of_a_run_is_asserted(ael: Ael) -> None:
    good = {"visited": ["answer", "line"], "not_visited": "person", "order": ["help", "answer", "line"]}
    bad = {"visited": "person", "not_visited": ["answer"], "order": ["line", "answer"]}
    ael.write(
        files(
            "",
            cases({"id": "good", "input": {"text": "x"}, "assert": good}, {"id": "bad", "input": {"text": "x"}, "assert": bad}),
        )
    )
    found = verdicts(ael)
    assert all(score == 1.0 for score, _ in found["good"].values())
    assert found["bad"]["visited"] == (0.0, "person was not visited: help -> answer -> line")
    assert found["bad"]["not_visited"] == (0.0, "answer was visited: help -> answer -> line")
    assert found["bad"]["order"] == (0.0, "not visited in the order line -> answer: help -> answer -> line")


@pytest.mark.feature("A18.5")
def test_calls_are_asserted_with_their_arguments_and_number(ael: Ael) -> None:
    good = {"called": [{"tool": "where_is", "args": {"id": "A-1"}}, {"tool": "where_is", "times": 2}], "not_called": "cancel"}
    bad = {"called": [{"tool": "where_is", "args": {"id": "A-9"}}, {"tool": "where_is", "times": 1}], "not_called": "where_is"}
    made = files(
        'grader looked = called(where_is, args: ["id": "A-1"], times: 2)',
        cases(
            {"id": "good", "input": {"text": "x"}, "assert": good, "stores": ORDERS},
            {"id": "bad", "input": {"text": "x"}, "assert": bad, "stores": ORDERS},
        ),
        desk=turns(LOOK, LOOK, final()),
    )
    ael.write(made)
    found = verdicts(ael)
    assert all(score == 1.0 for score, _ in found["good"].values()), found["good"]
    assert found["bad"]["looked"][0] == 1.0
    assert found["bad"]["called 1"] == (0.0, '`where_is` was called 2 times, 0 of them with {"id":"A-9"}')
    assert found["bad"]["called 2"] == (0.0, "`where_is` was called 2 times; expected once")
    assert found["bad"]["not_called"] == (0.0, "`where_is` was called 2 times; expected never")


@pytest.mark.feature("A18.5")
@pytest.mark.parametrize(
    ("way", "score"),
    [
        ({"equals": "on its way"}, 1.0),
        ({"equals": "else"}, 0.0),
        ({"contains": "its"}, 1.0),
        ({"contains": "ist"}, 0.0),
        ({"matches": "^on .* way$"}, 1.0),
        ({"matches": "^its"}, 0.0),
        ({}, 1.0),
        ({"absent": True}, 0.0),
    ],
)
def test_what_a_store_has_after_the_run_is_asserted(ael: Ael, way: dict[str, object], score: float) -> None:
    wanted = {"store": "orders", "key": "A-1", **way}
    missing = {"store": "orders", "key": "A-2", "absent": True}
    ael.write(files("", cases({"id": "x", "input": {"text": "x"}, "stores": ORDERS, "assert": {"kept": [wanted, missing]}})))
    found = verdicts(ael)["x"]
    assert found["kept 1"][0] == score
    assert found["kept 2"][0] == 1.0


@pytest.mark.feature("A18.5")
def test_what_a_run_spent_is_asserted(ael: Ael) -> None:
    turn = {"final": {"topic": "Other", "answer": "x"}, "usage": {"input": 70, "output": 30}}
    case = {"id": "x", "input": {"text": "x"}, "assert": {"within": {"tokens": 99, "steps": 1, "time": "1h", "cost": 0}}}
    ael.write(files("grader spent = within(tokens: 100, steps: 1, tool_calls: 0, cost: $0)", cases(case), desk=turns(turn)))
    found = verdicts(ael)["x"]
    assert found["spent"] == (1.0, "")
    assert found["within"] == (0.0, "it spent 100 of 99 tokens")


def test_outputs_are_graded_by_schema_text_pattern_and_fields(ael: Ael) -> None:
    graders = (
        'grader fits = schema("s.json")\ngrader says = contains("DONE", ignore_case: true)\ngrader like = matches("Bill")\n'
        'grader some = exact(fields: ["topic"])\ngrader all = exact'
    )
    made = files(graders, cases({"id": "x", "input": {"text": "x"}, "expected": {"topic": "Billing", "answer": "Otherwise."}}))
    made["s.json"] = json.dumps({"type": "object", "properties": {"answer": {"maxLength": 3}}, "required": ["total"]})
    ael.write(made)
    found = verdicts(ael)["x"]
    assert found["fits"][0] == 0.0
    assert "does not fit s.json" in found["fits"][1]
    assert (found["says"][0], found["like"][0], found["some"][0], found["all"][0]) == (1.0, 1.0, 1.0, 0.0)


def test_a_schema_may_name_itself_and_its_draft(ael: Ael) -> None:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://example.com/reply.json", "type": "object",
              "properties": {"topic": {"$ref": "#/$defs/topic"}}, "$defs": {"topic": {"enum": ["Billing"]}}}  # fmt: skip
    ael.write({**files('grader fits = schema("s.json")', cases({"input": {"text": "x"}})), "s.json": json.dumps(schema)})
    assert ael("eval").code == 0
    schema["$defs"] = {"topic": {"enum": ["Other"]}}
    ael.write({"s.json": json.dumps(schema)})
    assert ael("eval").code == 1


def test_a_schema_that_would_be_fetched_is_refused(ael: Ael) -> None:
    made = files('grader fits = schema("s.json")', cases({"input": {"text": "x"}}))
    ael.write({**made, "s.json": '{"$ref": "https://example.com/s.json"}'})
    ended = ael("eval")
    assert ended.code == 2
    assert "is no JSON Schema" in ended.err


def test_decimals_are_compared_by_value_also_when_kept(ael: Ael) -> None:
    turn = {"final": {"topic": "Billing", "answer": "x", "total": "1.50"}}
    case = {"id": "x", "input": {"text": "x"}, "expected": {"topic": "Billing", "answer": "x", "total": "1.50"}}
    ael.write(files("grader same = exact", cases(case), desk=turns(turn)))
    assert ael("eval", "--results", "r.jsonl").code == 0
    ael.write({"eval.ael": 'cases = jsonl("cases.jsonl")\nentry = help\ngrader again = exact\n'})
    ended = ael("eval", "--results", "r.jsonl", "--resume")
    assert ended.code == 0, ended.out


def test_no_sample_sees_what_another_wrote(ael: Ael) -> None:
    cancels = by(cancel=[{"call": "cancel", "with": {"id": "A-1"}}, final()], look=[LOOK, final()])
    wrote = {
        "id": "wrote",
        "input": {"text": "cancel"},
        "assert": {"kept": {"store": "orders", "key": "A-1", "equals": "cancelled"}},
    }
    looks = {
        "id": "looks",
        "input": {"text": "look"},
        "assert": {"kept": {"store": "orders", "key": "A-1", "absent": True}, "called": "where_is", "visited": "answer"},
    }
    made = files("samples = 3\njobs = 1\napprovals = approve", cases(wrote, looks, wrote | {"id": "wrote again"}), desk=cancels)
    made["deploy.ael"] += 'store orders = sqlite("orders.db")\n'
    ael.write(made)
    ended = ael("eval")
    assert ended.code == 0, ended.out + ended.err
    assert not Path("orders.db").exists()


def test_a_shared_script_begins_anew_in_each_sample(ael: Ael) -> None:
    script = json.dumps([LOOK, final()])
    case = {"input": {"text": "x"}, "stores": ORDERS, "assert": {"called": {"tool": "where_is", "times": 1}}}
    ael.write(files("samples = 4\njobs = 3", cases(case), desk=script))
    assert ael("eval").code == 0


OUTSIDE = """
permission mail.send

/// Send a mail. Call this when it is asked for.
tool send_mail(to: String(max: 100)) -> Unit
  needs mail.send
  repeat never
  extern "mail:send"

node main(to: String(max: 100)) -> Unit fails Uncertain
  grants mail.send
{
  try send_mail(to)
}
"""


def test_what_could_take_effect_outside_is_refused_before_anything_runs(ael: Ael) -> None:
    made = {
        "main.ael": OUTSIDE,
        "pack.ael": 'pack post {\n  extern "mail"\n}\n',
        "mail.py": "from pathlib import Path\n\ndef send(to):\n    Path('sent').write_text(to)\n",
        "eval.ael": 'cases = jsonl("cases.jsonl")\n',
        "cases.jsonl": '{"input": {"to": "ada"}}\n',
    }
    ael.write(made)
    ended = ael("eval")
    assert (ended.code, ended.out) == (2, "")
    assert "error[AEL0954]: this evaluation could change something outside of it: `send_mail`" in ended.err
    assert not Path("sent").exists()
    for line in ("deny send_mail\n", "deny mail.send\n"):
        ael.write({"deploy.ael": line})
        ended = ael("eval")
        assert (ended.code, "Denied" in ended.out) == (1, True), ended.err
        assert not Path("sent").exists()
    Path("deploy.ael").unlink()
    ael.write({"eval.ael": 'cases = jsonl("cases.jsonl")\nallow send_mail\n'})
    ended = ael("eval")
    assert ended.code == 0, ended.err + ended.out
    assert Path("sent").read_text("utf-8") == "ada"


FILES = """
use std/files.{FileTooLarge, NotFile, NotFound, NotText, OutsideWorkspace, ReadOnly, read_text, write_text}

node main(text: String(max: 40)) -> String fails OutsideWorkspace, NotFound, NotFile, FileTooLarge, ReadOnly, NotText
  grants std.files.write, std.files.read
{
  let before = try read_text("a.txt")
  let _written = try write_text("a.txt", text)
  before
}
"""


def test_each_sample_has_a_copy_of_the_folder(ael: Ael) -> None:
    ael.write(
        {
            "main.ael": FILES,
            "deploy.ael": 'files = folder("./work", write: true)\n',
            "work/a.txt": "old",
            "eval.ael": 'cases = jsonl("cases.jsonl")\nsamples = 2\njobs = 1\ngrader same = exact\n',
            "cases.jsonl": cases({"input": {"text": "new"}, "expected": "old"}),
        }
    )
    ended = ael("eval")
    assert ended.code == 0, ended.err + ended.out
    assert Path("work/a.txt").read_text("utf-8") == "old"


def test_a_folder_that_is_too_large_is_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/a.txt").write_text("old", "utf-8")
    monkeypatch.setattr(apart, "MAX_FOLDER_BYTES", 2)
    with pytest.raises(HostError, match="too large"):
        apart.copy_folder(tmp_path / "work", tmp_path / "copy")
    with pytest.raises(HostError, match="is not there"):
        apart.copy_folder(tmp_path / "nowhere", tmp_path / "copy")
