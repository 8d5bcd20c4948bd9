"""The report for programs: JSON, JUnit XML, and Markdown for the comment of a code review."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal

from ael.evals.cases import ABSENT
from ael.evals.lab import Sample
from ael.evals.report_text import compared_lines, money, reason_of, share, word_of
from ael.evals.summary import EXIT_CODES, CaseResult, Summary

MAX_MARKDOWN = 50


def as_json(summary: Summary) -> str:
    """Everything, as one JSON object; `verdict` and `exit_code` say what to make of it."""
    return json.dumps(plain(summary), ensure_ascii=False, indent=2, default=_number)


def _number(value: object) -> object:
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(type(value).__name__)


def plain(summary: Summary) -> dict[str, object]:
    """The same as JSON values."""
    compared = summary.compared
    return {
        "evaluation": summary.name,
        "entry": summary.entry,
        "deployment": summary.deployment,
        "verdict": summary.verdict,
        "exit_code": EXIT_CODES[summary.verdict],
        "misses": summary.misses,
        "pass_rate": summary.rate,
        "score": summary.score,
        "graders": dict(summary.graders),
        "flaky": [one.case.id for one in summary.flaky],
        "unjudged": summary.unjudged,
        "stopped": summary.ran.stopped,
        "cost": _money(summary.cost),
        "paid": _money(summary.ran.paid),
        "tokens": summary.tokens,
        "seconds": round(summary.ran.seconds, 3),
        "run_seconds": {"p50": summary.time(0.5), "p95": summary.time(0.95)},
        "baseline": None if compared is None else {"drift": compared.drift, "changes": dict(compared.changes)},
        "cases": [_case(one) for one in summary.cases],
    }


def _money(cost: Decimal | None) -> str | None:
    return None if cost is None else str(cost)


def _case(one: CaseResult) -> dict[str, object]:
    case = one.case
    return {
        "id": case.id,
        "line": case.line,
        "tags": list(case.tags),
        "input": dict(case.input),
        **({} if case.expected is ABSENT else {"expected": case.expected}),
        "passed": one.passed,
        "judged": len(one.judged),
        "score": one.score,
        "flaky": one.flaky,
        "interval": list(one.interval),
        "samples": [_sample(sample) for sample in one.samples],
    }


def _sample(sample: Sample) -> dict[str, object]:
    return {
        "number": sample.number,
        "judged": sample.judged,
        "passed": sample.passed,
        "score": sample.score,
        "reason": sample.reason,
        "cost": _money(sample.cost),
        "grades": [grade.plain() for grade in sample.grades],
        **sample.seen.plain(),
    }


def as_junit(summary: Summary) -> str:
    """JUnit XML: a test case for each case; one that is not judged is an error, a flaky one a failure that says so."""
    from xml.etree.ElementTree import Element, SubElement, indent, tostring

    words = [word_of(one) for one in summary.cases]
    suite = Element(
        "testsuite", name=f"ael eval {printable(summary.name)}", tests=str(len(words)),
        failures=str(sum(word in ("FAIL", "flaky") for word in words)),
        errors=str(words.count("not judged")), time=f"{summary.ran.seconds:.3f}",
    )  # fmt: skip
    for one, word in zip(summary.cases, words, strict=True):
        seconds = sum(sample.seen.seconds for sample in one.judged)
        case = SubElement(
            suite, "testcase", name=printable(one.case.id), classname=printable(summary.name), time=f"{seconds:.3f}"
        )
        if word == "not judged":
            SubElement(case, "error", message="not judged").text = printable(reason_of(one))
        elif word != "pass":
            told = f"{'flaky: ' if word == 'flaky' else ''}{one.passed} of {len(one.judged)} samples passed"
            SubElement(case, "failure", message=told).text = printable(reason_of(one))
    indent(suite)
    return tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def printable(text: str) -> str:
    """A text without the characters that XML has no place for."""
    return "".join(char if char in "\t\n" or (char >= " " and not 0xD800 <= ord(char) <= 0xDFFF and ord(char) not in (0xFFFE, 0xFFFF))
                   else "\ufffd" for char in text)  # fmt: skip


def as_markdown(summary: Summary) -> str:
    """Markdown: a table of what is not good. Text of cases and models stands in code spans, where it is no Markdown."""
    return "\n".join(_markdown(summary)) + "\n"


def _markdown(summary: Summary) -> Iterator[str]:
    yield f"## {code(summary.name)}: {summary.verdict}"
    yield ""
    yield "| | |"
    yield "| --- | --- |"
    yield f"| Cases | {len(summary.cases)} |"
    yield f"| Pass rate | {share(summary.rate)} |"
    yield f"| Score | {share(summary.score)} |"
    for name, score in summary.graders.items():
        yield f"| {code(name)} | {share(score)} |"
    yield f"| Cost | {money(summary.cost)} |"
    yield f"| Time of a run | {summary.time(0.5):.2f} s median, {summary.time(0.95):.2f} s p95 |"
    yield ""
    told = [*compared_lines(summary), *summary.misses]
    yield from (f"- {line}" for line in told)
    if told:
        yield ""
    found = [one for one in summary.cases if word_of(one) != "pass"]
    if not found:
        return
    yield "| Case | | Passed | Score | Why |"
    yield "| --- | --- | --- | --- | --- |"
    for one in found[:MAX_MARKDOWN]:
        yield (
            f"| {code(one.case.id)} | {word_of(one)} | {one.passed}/{len(one.judged)} | {share(one.score)} "
            f"| {code(reason_of(one)[:200])} |"
        )
    if len(found) > MAX_MARKDOWN:
        yield f"\nand {len(found) - MAX_MARKDOWN} more"


def code(text: str) -> str:
    """A code span of one line that holds any text: no backtick and no bar of it means anything outside."""
    # Of two backslashes before a bar the first takes the second, and the bar ends the cell: so none stands right before one.
    flat = " ".join(printable(text).split()).replace("\\|", "\\ |").replace("|", "\\|")
    if not flat:
        return ""
    longest = run = 0
    for char in flat:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    fence = "`" * (longest + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{pad}{flat}{pad}{fence}"
