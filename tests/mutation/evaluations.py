"""Evaluations (`ael/evals`): budgets, isolation, what is judged, and what is shown of untrusted text."""

from __future__ import annotations

from tests.mutation.mutation import Mutation

KEPT = "tests/evals/test_kept.py::"
RUNS = "tests/evals/test_runs.py::"

MUTATIONS = (
    Mutation(
        "K02",
        "that a run whose budget the evaluation used up is not judged, though the program caught the fault",
        "ael/evals/lab.py",
        "if self.total.refused > refused and any(",
        "if False and any(",
        KEPT + "test_an_evaluation_ends_before_its_budget_is_exceeded",
    ),
    Mutation(
        "K02",
        "that a judge draws from its own account",
        "ael/evals/lab.py",
        "account = self.judges[grader.name] if isinstance(check, Judge) else self.total",
        "account = self.total",
        "tests/evals/test_judge.py::test_a_judge_spends_no_more_than_its_own_budget",
    ),
    Mutation(
        "K03",
        "that an unknown price is more than any threshold",
        "ael/evals/summary.py",
        "if limit.cost is not None and (self.cost is None or self.cost > limit.cost):",
        "if limit.cost is not None and self.cost is not None and self.cost > limit.cost:",
        "tests/evals/test_reports.py::test_an_unknown_price_is_never_told_as_free",
    ),
    Mutation(
        "K26",
        "that what may act outside is refused before the first run",
        "ael/evals/outside.py",
        "and doers.act(Kind.TOOL, name):",
        "and False:",
        RUNS + "test_what_could_take_effect_outside_is_refused_before_anything_runs",
    ),
    Mutation(
        "K40",
        "that each sample has stores of its own",
        "ael/evals/lab.py",
        "replace(base, models=models, stores=stores, externs=externs, sinks=sinks)",
        "replace(base, models=models, externs=externs, sinks=sinks)",
        RUNS + "test_no_sample_sees_what_another_wrote",
    ),
    Mutation(
        "K40",
        "that a script begins anew in each sample",
        "ael/evals/apart.py",
        '.provider if binding is not None else spec.provider) == "scripted":',
        '.provider if binding is not None else spec.provider) == "":',
        RUNS + "test_a_shared_script_begins_anew_in_each_sample",
    ),
    Mutation(
        "K12",
        "that only what lies on the scale is a score",
        "ael/evals/lab.py",
        "if score is None or not 0 <= score <= best:",
        "if score is None:",
        "tests/evals/test_judge.py::test_only_what_lies_on_the_scale_is_a_score",
    ),
    Mutation(
        "K27",
        "that a kept sample belongs to its case",
        "ael/evals/keep.py",
        "return _hash(self.run, case.digest, str(number))",
        "return _hash(self.run, case.id, str(number))",
        KEPT + "test_kept_results_are_not_paid_again_until_something_changes",
    ),
    Mutation(
        "K44",
        "that text of cases and models is escaped in the page",
        "ael/evals/report_html.py",
        "return escape(printable(shown), quote=True)",
        "return printable(shown)",
        "tests/evals/test_reports.py::test_an_attack_is_shown_as_text",
    ),
)
