"""Budgets of a whole evaluation, baselines, kept results, and what is left of an evaluation that was stopped."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ael.diagnostics.diagnostic import Bag
from ael.evals.baseline import Baseline, BaselineError, Was, load
from ael.evals.cases import Reader
from ael.evals.keep import keys_of
from ael.evals.known import known_of
from ael.evals.lab import Lab
from ael.evals.opening import open_evaluation
from ael.evals.schedule import run_all
from ael.lower.lower import lower
from ael.run.bindings import Options
from ael.types.spec import BudgetSpec
from tests.cli.conftest import Ael, clean_environment
from tests.cli.watched import watch_steps
from tests.evals.desk import by, cases, files, final, turns

SAME = "grader same = exact"


def case(name: str, text: str, answer: str = "Done.") -> dict[str, object]:
    return {"id": name, "input": {"text": text}, "expected": {"topic": "Billing", "answer": answer}}


# --- the budget -----------------------------------------------------------------------------------------------------------


def spending(count: int, lines: str) -> dict[str, str]:
    return files(lines, cases(*(case(str(index), "hi") for index in range(count))),
                 desk=turns({**final(), "usage": {"input": 90, "output": 10}}))  # fmt: skip


@pytest.mark.parametrize("jobs", [1, 3])
def test_an_evaluation_ends_before_its_budget_is_exceeded(ael: Ael, jobs: int) -> None:
    ael.write(spending(12, f"{SAME}\njobs = {jobs}\nbudget tokens 750"))
    ended = ael("eval", "--format", "json")
    told = json.loads(ended.out)
    assert (ended.code, told["verdict"]) == (1, "incomplete")
    assert told["tokens"] <= 750
    judged = [one for one in told["cases"] if one["judged"]]
    assert judged
    # The program catches every fault and gives a value: a run that had too little left is not told as one that answered badly.
    assert all(one["passed"] for one in judged)
    assert told["unjudged"] == 12 - len(judged)
    assert "the evaluation has used its budget" in told["stopped"]


def test_what_runs_when_the_budget_is_used_up_may_end(ael: Ael) -> None:
    ael.write(files(f"{SAME}\njobs = 2", cases(case("a", "alpha"), case("b", "omega"), case("c", "alpha"))))
    opened = open_evaluation(ael.folder, Bag())
    assert opened is not None

    async def go() -> list[bool]:
        lab = Lab(opened, Options(), BudgetSpec())
        try:
            found = Reader(opened, lower(opened.graded.program), known_of(opened)).read(opened.cases)
            ran = await run_all(lab, found, 1, 2, None, lambda sample, kept: lab.finish("used up"))
        finally:
            await lab.close()
        return [sample.judged for sample in ran.samples]

    assert asyncio.run(go()) == [True, True, False]


def test_the_command_line_only_tightens_the_budget(ael: Ael) -> None:
    made = spending(2, f"{SAME}\nbudget cost $0.001")
    made["deploy.ael"] += 'price "desk.json" input $1000 output $1000\n'
    ael.write(made)
    for words in ((), ("--budget", "$100")):
        told = json.loads(ael("eval", "--format", "json", *words).out)
        assert (told["verdict"], told["unjudged"]) == ("incomplete", 2)


def test_a_time_that_is_up_ends_it(ael: Ael) -> None:
    ael.write(spending(3, f"{SAME}\nbudget time 0s"))
    told = json.loads(ael("eval", "--format", "json").out)
    assert (told["verdict"], told["unjudged"]) == ("incomplete", 3)


def test_each_case_is_looked_at_once_before_any_is_looked_at_twice(ael: Ael) -> None:
    ael.write(spending(3, f"{SAME}\nsamples = 3\njobs = 1\nbudget tokens 600"))
    told = json.loads(ael("eval", "--format", "json").out)
    assert {one["judged"] for one in told["cases"]} <= {1, 2}


# --- baselines ------------------------------------------------------------------------------------------------------------


@pytest.mark.feature("A18.6", "B5")
def test_drift_from_a_baseline_is_exit_code_2_and_flaky_is_not(ael: Ael) -> None:
    made = files(f"{SAME}\nsamples = 4\njobs = 1\nthreshold pass = 0", cases(case("a", "alpha"), case("b", "omega")),
                 desk=by(alpha=final(), omega=final()))  # fmt: skip
    ael.write(made)
    assert ael("eval", "--save-baseline", "base.json").code == 0
    assert ael("eval", "--baseline", "base.json").code == 0
    ael.write({"desk.json": by(alpha=final(answer="Other."), omega=final())})
    drifted = ael("eval", "--baseline", "base.json")
    assert drifted.code == 2
    assert "against the baseline: 1 drifted; drift 50.0%" in drifted.out
    assert drifted.out.endswith("verdict: drifted\n")
    told = json.loads(ael("eval", "--baseline", "base.json", "--format", "json").out)
    assert (told["verdict"], told["exit_code"]) == ("drifted", 2)
    assert told["baseline"] == {"drift": 0.5, "changes": {"a": "drifted", "b": "same"}}
    assert ael("eval", "--baseline", "base.json", "--max-drift", "0.5").code == 0


@pytest.mark.feature("A18.6")
def test_a_case_whose_samples_disagree_is_flaky(ael: Ael) -> None:
    made = files(f"{SAME}\nsamples = 4\njobs = 1\nthreshold pass = 0.5", cases(case("a", "one")))
    ael.write(made)
    assert ael("eval", "--save-baseline", "base.json").code == 0
    # A model that goes on from sample to sample, as a real one does; and then its recording.
    script = json.dumps([final(), final(answer="Else."), final(), final()])
    ael.write({"flaky.json": script, "deploy.record.ael": RECORD, "deploy.replay.ael": 'model desk = replay("rec.jsonl")\n'})
    for deployment in ("record", "replay"):
        ended = ael("eval", "--baseline", "base.json", "--deploy", deployment)
        assert ended.code == 0, ended.err + ended.out
        assert "flaky       a  3/4  0.750  flaky" in ended.out
        assert "against the baseline: 1 flaky; drift 0.0%" in ended.out
    ael.write({"deploy.record.ael": RECORD})
    assert ael("eval", "--baseline", "base.json", "--deploy", "replay", "--max-flaky", "0").code == 1


RECORD = 'model desk = recorded("rec.jsonl", inner: scripted("flaky.json"))\n'


def test_goldens_are_compared_where_that_is_asked_for(ael: Ael) -> None:
    ael.write(files("", cases(case("a", "one")), desk=turns(final())))
    assert ael("eval", "--save-baseline", "base.json").code == 0
    ael.write({"desk.json": turns(final(answer="Otherwise."))})
    assert ael("eval", "--baseline", "base.json").code == 0
    ended = ael("eval", "--baseline", "base.json", "--golden")
    assert ended.code == 2
    assert "with one sample of a case, flaky cannot be told from drifted" in ended.out


def test_a_case_that_changed_is_not_compared(ael: Ael) -> None:
    ael.write(files(SAME, cases(case("a", "one"), case("b", "two"))))
    assert ael("eval", "--save-baseline", "base.json").code == 0
    ael.write({"cases.jsonl": cases(case("a", "other", "No."), case("c", "two"))})
    told = json.loads(ael("eval", "--baseline", "base.json", "--format", "json", "--min-pass", "0").out)
    assert told["baseline"]["changes"] == {"a": "changed", "c": "new", "b": "gone"}
    assert told["exit_code"] == 0


def test_what_is_not_wholly_judged_is_no_baseline(ael: Ael) -> None:
    ael.write(spending(12, f"{SAME}\njobs = 1\nbudget tokens 750"))
    ended = ael("eval", "--save-baseline", "base.json")
    assert "no baseline was saved" in ended.err
    assert not Path("base.json").exists()


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "3", '{"ael": "baseline", "version": 1}', '{"ael": "baseline", "version": 1, "cases": {"a": 3}}',
             '{"ael": "baseline", "version": 1, "cases": {"a": {"input": "", "samples": 1, "passed": 2, "score": 1, "outputs": []}}}'],
)  # fmt: skip
def test_what_is_no_baseline_is_told(ael: Ael, text: str) -> None:
    ael.write({**files(SAME, cases(case("a", "one"))), "base.json": text})
    ended = ael("eval", "--baseline", "base.json")
    assert (ended.code, ended.out) == (2, "")
    assert "error[AEL0955]" in ended.err


def test_a_baseline_is_read_as_it_was_written(tmp_path: Path) -> None:
    one = Baseline({'b "quoted"\n': Was("d", 3, 2, 0.5, ('{"x":1}', "fault X")), "a": Was("e", 1, 1, 1.0, ())})
    one.write(tmp_path / "b.json", "x")
    assert load(tmp_path / "b.json") == one
    with pytest.raises(BaselineError):
        load(tmp_path)


# --- kept results ---------------------------------------------------------------------------------------------------------


def counts(ael: Ael, *words: str) -> tuple[int, str | None]:
    """How many samples came from the kept results, and what was paid now."""
    ended = ael("eval", "--results", "run.jsonl", "--resume", "--format", "json", *words)
    told = json.loads(ended.out)
    lines = Path("run.jsonl").read_bytes().count(b"\n") - 1
    return lines, told["paid"]


def test_kept_results_are_not_paid_again_until_something_changes(ael: Ael) -> None:
    made = files(f"{SAME}\nsamples = 2", cases(case("a", "one"), case("b", "two")),
                 desk=turns({**final(), "usage": {"input": 1000, "output": 0}}))  # fmt: skip
    made["deploy.ael"] += 'price "desk.json" input $1000 output $1000\n'
    made["main.ael"] = made["main.ael"].replace("cost $0.50", "cost $100").replace("cost $1.00", "cost $100")
    ael.write(made)
    assert counts(ael) == (4, "4")
    assert counts(ael) == (4, "0")
    # A grader more: every run is graded again, none is made again.
    ael.write({"eval.ael": made["eval.ael"] + "grader brief = brief(output)\n"})
    assert counts(ael) == (8, "0")
    # One case is another one now.
    ael.write({"cases.jsonl": cases(case("a", "one"), case("b", "three"))})
    assert counts(ael) == (10, "2")
    # Another script is another model.
    ael.write({"desk.json": turns({**final(), "usage": {"input": 500, "output": 0}})})
    assert counts(ael) == (14, "2.0")
    # Another program is another program.
    ael.write({"main.ael": made["main.ael"].replace('"Answer."', '"Answer well."')})
    assert counts(ael) == (18, "2.0")


def test_what_a_program_is_made_of_beside_its_text_belongs_to_its_results(ael: Ael) -> None:
    main = """
permission clock.read

/// What time it is. Call this to know.
tool hour(text: String(max: 10)) -> String
  needs clock.read
  repeat idempotent
  parallel
  extern "clock:hour"

node main(text: String(max: 10)) -> String
  grants clock.read
{
  hour(text)
}
"""
    made = {
        "main.ael": main,
        "pack.ael": 'pack post {\n  extern "clock"\n}\n',
        "clock.py": "import hands.small\ndef hour(text):\n    return hands.small.ONE\n",
        "hands/small.py": "ONE = 'one'\n",
        "work/a.txt": "a",
        "deploy.ael": 'files = folder("./work")\n',
        "eval.ael": 'cases = jsonl("cases.jsonl")\ngrader fits = schema("s.json")\n',
        "s.json": '{"type": "string"}',
        "cases.jsonl": cases({"input": {"text": "x"}}),
    }
    ael.write(made)

    def keys() -> tuple[str, str]:
        opened = open_evaluation(ael.folder, bag := Bag())
        assert opened is not None, bag.sorted()
        found = keys_of(opened)
        return found.run, found.measure

    first = keys()
    assert keys() == first
    changes = (
        ("clock.py", "def hour(text):\n    return 'two'\n"), ("hands/small.py", "ONE = 'two'\n"), ("work/a.txt", "b"), ("work/b/c.txt", ""),
    )  # fmt: skip
    for name, text in changes:
        before = keys()
        ael.write({name: text})
        assert keys()[0] != before[0], name
    before = keys()
    ael.write({"s.json": '{"type": "integer"}'})
    assert keys()[0] == before[0]
    assert keys()[1] != before[1]


def test_results_are_never_written_over(ael: Ael) -> None:
    ael.write(files(SAME, cases(case("a", "one"))))
    assert ael("eval", "--results", "run.jsonl").code == 0
    before = Path("run.jsonl").read_bytes()
    ended = ael("eval", "--results", "run.jsonl")
    assert ended.code == 2
    assert "`--resume` goes on with it" in ended.err
    assert Path("run.jsonl").read_bytes() == before
    Path("other.txt").write_text("precious\n", "utf-8")
    assert ael("eval", "--results", "other.txt", "--resume").code == 2
    assert Path("other.txt").read_text("utf-8") == "precious\n"


@pytest.mark.parametrize("damage", [b'{"key": "x", "run"', b"\xff\xfe", b'{"key": 3}\n', b"null\n"])
def test_a_line_that_was_half_written_is_run_again(ael: Ael, damage: bytes) -> None:
    ael.write(files(SAME, cases(case("a", "one"), case("b", "two"))))
    assert ael("eval", "--results", "run.jsonl").code == 0
    lines = Path("run.jsonl").read_bytes().splitlines(keepends=True)
    Path("run.jsonl").write_bytes(b"".join(lines[:2]) + damage)
    assert ael("eval", "--results", "run.jsonl", "--resume").code == 0
    assert ael("eval", "--results", "run.jsonl", "--resume").code == 0


SLOW = {"delay": 30, **final()}


def until(found: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 60
    while not found():
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.02)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_what_was_done_before_an_evaluation_was_stopped_is_kept(ael: Ael, sent: signal.Signals, code: int) -> None:
    ael.write(files(f"{SAME}\njobs = 1", cases(case("a", "alpha"), case("b", "omega")), desk=by(alpha=final(), omega=SLOW)))
    words = [sys.executable, "-m", "ael", "eval", "--results", "run.jsonl", "--format", "json"]
    kept = Path("run.jsonl")
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment(ael.folder), cwd=ael.folder
    ) as process:
        try:
            until(lambda: kept.exists() and kept.read_bytes().count(b"\n") == 2, process)
            os.kill(process.pid, sent)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == code, err
    if sent is not signal.SIGKILL:
        told = json.loads(out)
        assert (told["verdict"], told["unjudged"]) == ("interrupted", 1)
        assert told["cases"][0]["passed"] == 1
    ended = ael("eval", "--results", "run.jsonl", "--resume", "--filter", "a", "--outline")
    assert ended.code == 0, ended.out
    assert "1 sample judged, 1 kept" in ended.out


def test_what_was_stopped_is_told_as_not_run(ael: Ael) -> None:
    ael.write(files(SAME, cases(*(case(str(index), "hi") for index in range(4)))))
    opened = open_evaluation(ael.folder, Bag())
    assert opened is not None

    async def go() -> list[bool]:
        lab = Lab(opened, Options(), BudgetSpec())
        try:
            found = Reader(opened, lower(opened.graded.program), known_of(opened)).read(opened.cases)
            ran = await run_all(lab, found, 1, 1, None, lambda sample, kept: lab.stop("enough") if sample.case == "1" else None)
        finally:
            await lab.close()
        assert ran.stopped == "enough"
        return [sample.judged for sample in ran.samples]

    assert asyncio.run(go()) == [True, True, False, False]


@pytest.mark.feature("B24")
def test_an_evaluation_is_run_again_when_its_cases_change(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    ael.write(files(SAME, cases(case("a", "one"))))
    watch_steps(monkeypatch, [lambda: ael.write({"cases.jsonl": cases(case("a", "one"), case("b", "two", "No."))})])
    ended = ael("eval", ".", "--watch", "--html", "report.html")
    assert ended.code == 130
    assert ended.out.count("verdict: ") == 2
    assert ended.out.endswith("verdict: failed\n")
    assert ended.err.count("evaluating again") == 1
