"""`ael eval` from its words to its exit code."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Ael
from tests.evals.desk import by, cases, files, final, turns

HI = {"id": "hi", "input": {"text": "hi"}, "expected": {"topic": "Billing", "answer": "Done."}}


def test_cases_that_are_as_expected_pass(ael: Ael) -> None:
    ael.write(files("grader same = exact", cases(HI)))
    ended = ael("eval", ".", "--outline")
    assert ended.code == 0
    assert ended.out.endswith("verdict: passed\n")
    assert "1 case, 1 sample judged; pass rate 1.000, score 1.000" in ended.out


@pytest.mark.feature("B5")
def test_a_threshold_that_is_not_met_is_exit_code_1(ael: Ael) -> None:
    wrong = {"id": "wrong", "input": {"text": "x"}, "expected": {"topic": "Other", "answer": "Done."}}
    ael.write(files("grader same = exact", cases(HI, wrong)))
    ended = ael("eval")
    assert ended.code == 1
    assert "the pass rate is 0.500, less than 1" in ended.out
    assert "same: expected" in ended.out
    ael.write({"eval.ael": files('grader long = output.answer.length() > 9 and text != ""', "")["eval.ael"]})
    wanted = 'long: `output.answer.length() > 9 and text != ""` is false of {"topic":"Billing","answer":"Done."}'
    assert wanted in ael("eval").out
    ael.write(files("grader same = exact", cases(HI, wrong)))
    assert ael("eval", "--min-pass", "50%").code == 0
    assert ael("eval", "--min-score", "0.6").code == 1
    assert ael("eval", "--min-score", "same=0.5").code == 0
    assert ael("eval", "--min-score", "same=0.6").code == 1
    assert ael("eval", "--filter", "^hi$").code == 0


@pytest.mark.parametrize(
    ("line", "miss"),
    [
        ("threshold score = 0.9", "the score is 0.500, less than 0.9"),
        ("threshold same = 0.9", "the score of `same` is 0.500, less than 0.9"),
        ("threshold pass = 0.9", "the pass rate is 0.500, less than 0.9"),
        ("threshold p95 = 0s\nthreshold pass = 0.5", "the 95th percentile of the time is"),
    ],
)
def test_thresholds_of_the_file_hold(ael: Ael, line: str, miss: str) -> None:
    wrong = {"input": {"text": "x"}, "expected": {"topic": "Other", "answer": "Done."}}
    ael.write(files(f"grader same = exact\n{line}", cases(HI, wrong)))
    ended = ael("eval")
    assert ended.code == 1
    assert miss in ended.out


def test_the_cost_is_what_the_deployment_says_it_costs(ael: Ael) -> None:
    made = files("grader brief = brief(output)\ngrader kind = judge(grade, min: 5, of: 10)", cases(HI), desk=turns(
        {"final": {"topic": "Other", "answer": "x"}, "usage": {"input": 1_000_000, "output": 0}}),
        critic=turns({"final": {"score": 8, "reason": ""}, "usage": {"input": 500_000, "output": 0}}))  # fmt: skip
    price = 'price "desk.json" input $1.00 output $1.00\nprice "critic.json" input $1.00 output $1.00\n'
    for before, after in (
        ("tokens 20_000, cost $0.50", "tokens 2_000_000, cost $5"),
        ("tokens 40_000, cost $1.00", "tokens 2_000_000, cost $5"),
        ("tokens 4_000, cost $0.05", "tokens 900_000, cost $5"),
    ):
        made["main.ael"] = made["main.ael"].replace(before, after)
    made["deploy.ael"] += price
    ael.write(made)
    told = json.loads(ael("eval", "--format", "json").out)
    assert told["verdict"] == "passed", told
    assert float(told["cost"]) == 1.5
    assert ael("eval", "--max-cost", "$1.49").code == 1
    assert ael("eval", "--max-cost", "1.50").code == 0


def test_check_looks_at_everything_and_runs_nothing(ael: Ael) -> None:
    ael.write(files("grader same = exact", cases(HI), desk="[]"))
    ended = ael("eval", ".", "--check")
    assert (ended.code, ended.out) == (0, "")
    assert "1 case, 1 grader, no problems" in ended.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nowhere"], "no such file or folder"),
        ([".", ".."], "it takes one program"),
        (["--resume"], "`--resume` goes on with the file of `--results`"),
        (["--golden"], "`--golden` belongs to `--baseline`"),
        (["--filter", "("], "is no regular expression"),
        (["--filter", "nothing"], "no case is meant"),
        (["--tag", "nothing"], "no case is meant"),
        (["--budget", "much"], "is no money"),
        (["--min-pass", "2"], "is no share"),
        (["--max-p95", "soon"], "is no time"),
        (["--samples", "0"], "is no number from 1"),
        (["--jobs", "x"], "is no number from 1"),
        (["--min-score", "nobody=1"], "there is no grader `nobody`; the evaluation has `same`"),
        (["--eval", "other"], "there is no evaluation `eval.other.ael` beside the program"),
        (["--eval", "other"], "there is `eval.ael`"),
        (["--deploy", "other"], "there is no deployment `other`"),
        (["calibrate"], "takes the labelled outputs"),
        (["calibrate", "--labels", "x.jsonl"], "cannot be read"),
        (["--labels", "x.jsonl"], "takes the labelled outputs"),
        (["--baseline", "none.json"], "cannot be read"),
        (["--tenant", "!"], "the name of a tenant"),
    ],
)
def test_bad_usage_is_exit_code_2_and_no_verdict(ael: Ael, words: list[str], told: str) -> None:
    ael.write(files("grader same = exact", cases(HI)))
    ended = ael("eval", *words)
    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err


def test_who_has_no_evaluation_yet_is_told_how_one_begins(ael: Ael) -> None:
    ael.write({"main.ael": "node main() -> Int {\n  1\n}\n"})
    ended = ael("eval", ".")
    assert (ended.code, ended.out) == (2, "")
    assert 'it begins with `cases = jsonl("cases.jsonl")`' in ended.err


def test_help_says_what_the_exit_codes_mean(ael: Ael) -> None:
    ended = ael("eval", "--help")
    assert ended.code == 0
    assert "drifted" in ended.out
    assert "--baseline FILE" in ended.out


@pytest.mark.parametrize(
    ("lines", "code", "told"),
    [
        ("sampels = 3", "AEL0950", "did you mean `samples`?"),
        ("samples = 0", "AEL0950", "a whole number from 1"),
        ("samples = many()", "AEL0950", "a whole number"),
        ("samples = 1\nsamples = 2", "AEL0950", "`samples` is said twice"),
        ("grader a = exact\ngrader a = exact", "AEL0950", "`grader a` is said twice"),
        ("grader a.b = exact", "AEL0950", "a grader has a plain name"),
        ("grader a", "AEL01", ""),
        ("entry nothing", "AEL01", ""),
        ("grader a = exact(of: 1)", "AEL0950", "this grader takes no `of`"),
        ('grader a = exact(fields: ["topik"])', "AEL0951", "the output has no field `topik`"),
        ("grader a = matches(3)", "AEL0950", "this takes a text"),
        ('grader a = matches("(")', "AEL0950", "this is no pattern"),
        ('grader a = schema("none.json")', "AEL0950", "cannot be read"),
        ('grader a = schema("../out.json")', "AEL0950", "beside it, or below"),
        ("grader a = status(sleeping)", "AEL0950", "no run ends as `sleeping`"),
        ("grader a = status(fault: Nothing)", "AEL0951", "there is no fault `Nothing`"),
        ("grader a = status(error: NotFond)", "AEL0951", "NotFond"),
        ("grader a = visited(nobody)", "AEL0951", "the program has no node `nobody`"),
        ("grader a = called(nothing)", "AEL0951", "the program has no tool `nothing`"),
        ('grader a = kept(nothing, key: "a")', "AEL0951", "the program has no store `nothing`"),
        ("grader a = kept(orders)", "AEL0950", "takes the `key`"),
        ("grader a = within()", "AEL0950", "this says no amount"),
        ("grader a = within(time: 3)", "AEL0950", "a duration"),
        ("grader a = judge(line)", "AEL0951", "asks no model"),
        ("grader a = judge(answer)", "AEL0951", "what `answer` gives is no grade"),
        ("grader a = judge(grade, min: 11, of: 10)", "AEL0950", "`min` is a score from 0 to 10"),
        ("grader a = judge(grade, of: 0)", "AEL0950", "`of` is the best score"),
        ("grader a = output.topik == expected.topic", "AEL0305", "did you mean `topic`?"),
        ("grader a = output.answer", "AEL03", ""),
        ("grader a = score(brief(output))", "AEL03", ""),
        ("grader a = where_is(text) == text", "AEL0", ""),
        ("threshold nothing = 1", "AEL0951", "there is no threshold or grader `nothing`"),
        ("threshold pass = 2", "AEL0950", "a number from 0 to 1"),
        ("allow nothing", "AEL0951", "the program has no tool `nothing`"),
        ("approvals = perhaps", "AEL0950", "`perhaps` is none of the words"),
        ("budget steps 3", "AEL081", ""),
        ('graders = "./none"', "AEL0951", "there is no module `./none`"),
        ("expected = Nothing", "AEL0", ""),
        ('program = "./nobody"', "AEL0951", "there is no module `./nobody`"),
    ],
)
def test_a_line_that_is_wrong_is_told_where_it_stands(ael: Ael, lines: str, code: str, told: str) -> None:
    ael.write(files(lines, cases(HI)))
    ended = ael("eval", ".")
    assert (ended.code, ended.out) == (2, "")
    assert f"error[{code}" in ended.err
    assert "eval.ael:" in ended.err
    assert told in ended.err
    checked = ael("check", ".")
    assert checked.code == 2
    assert f"error[{code}" in checked.err


def test_graders_are_written_in_the_names_of_a_module_of_their_own(ael: Ael) -> None:
    made = files('graders = "./graders"\ngrader good = good(output)\ngrader kind = judge(nice)', cases(HI))
    made["graders.ael"] = """
use ./main.{Reply, critic}

pub fn good(reply: Reply) -> Bool {
  reply.answer == "Done."
}

/// Whether it is nice.
pub node nice(output: Reply) -> Bool
  model critic
  policy one_call
  budget tokens 4_000, cost $0.05, time 30s
{
  instructions "Is it nice?"
}
"""
    made["critic.json"] = turns({"final": True})
    made["main.ael"] = made["main.ael"].replace("model critic", "pub model critic", 1)
    ael.write(made)
    ended = ael("eval", ".")
    assert ended.code == 0, ended.err + ended.out
    assert ael("check", ".").code == 0


def test_a_program_that_is_not_main_is_named(ael: Ael) -> None:
    made = files('program = "./desk"\ngrader same = exact', cases(HI))
    made["desk.ael"] = made.pop("main.ael")
    ael.write(made)
    assert ael("eval", ".").code == 0
    assert ael("check", ".").code == 0
    assert ael("eval", "eval.ael").code == 0


def test_what_a_run_did_is_seen_by_expressions(ael: Ael) -> None:
    graders = (
        'grader way = run.visited == ["help", "answer", "line"]\ngrader tools = run.called.length() == 0\n'
        'grader ended = run.status == "value" and run.steps == 1 and run.tokens > 0\n'
        'grader same = output.answer == "Done." and text == "hi"\n'
        "grader far = score(closeness(output), min: 0.9)"
    )
    ael.write(files(graders, cases(HI)))
    ended = ael("eval", ".", "--all")
    assert ended.code == 0, ended.out
    assert "far                  1.000" in ended.out


def test_results_as_junit_and_markdown(ael: Ael) -> None:
    bad = {"id": "b|d `x`", "input": {"text": "bad"}, "expected": {"topic": "Other", "answer": "no"}}
    ael.write(files("grader same = exact", cases(HI, bad), desk=by(hi=final(), bad=final())))
    junit = ael("eval", "--format", "junit")
    assert junit.code == 1
    suite = ElementTree.fromstring(junit.out)
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    assert [case.get("name") for case in suite] == ["hi", "b|d `x`"]
    markdown = ael("eval", "--format", "markdown").out
    assert "| `` b\\|d `x` `` | FAIL | 0/1 | 0.000 |" in markdown


def test_a_csv_of_cases_is_run_like_lines_of_json(ael: Ael) -> None:
    made = files("grader topic = output.topic == expected\nexpected = Topic", "")
    made["eval.ael"] = made["eval.ael"].replace('jsonl("cases.jsonl")', 'csv("cases.csv")')
    made["cases.csv"] = 'id,text,expected,tags\r\n"hi, there",hi,Billing,a b\r\nbye,bye,Other,b\r\n'
    ael.write(made)
    told = json.loads(ael("eval", "--format", "json").out)
    assert [(one["id"], one["passed"], one["tags"]) for one in told["cases"]] == [("hi, there", 1, ["a", "b"]), ("bye", 0, ["b"])]
    assert ael("eval", "--tag", "a").code == 0


def test_the_tenant_of_the_runs_is_one_that_the_deployment_has(ael: Ael) -> None:
    made = files("grader same = exact", cases(HI))
    made["deploy.ael"] += "tenant acme {\n  grants orders.write\n}\n"
    ael.write(made)
    assert ael("eval").code == 2
    assert ael("eval", "--tenant", "acme").code == 0
