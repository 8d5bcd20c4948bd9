"""The report as one HTML page that needs nothing from anywhere: no script, no font, no picture. Everything in it is escaped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import unified_diff
from html import escape

from ael.evals.cases import ABSENT
from ael.evals.lab import Sample
from ael.evals.report_data import printable
from ael.evals.report_text import compared_lines, count, money, share, word_of
from ael.evals.summary import CaseResult, Summary

MAX_TEXT = 20_000
MAX_SAMPLES = 20
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --bad: #b3261e; --good: #176b3a; --odd: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --bad: #ff9c94; --good: #7fd8a4; --odd: #f0c060; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 0 auto; padding: 1rem 1.5rem 4rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; vertical-align: top; padding: .3rem .7rem .3rem 0; }
thead th { border-bottom: 2px solid var(--line); } tbody tr { border-bottom: 1px solid var(--line); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--soft); padding: .6rem .8rem; margin: .3rem 0; }
details { border: 1px solid var(--line); border-radius: .4rem; padding: .4rem .8rem; margin: .5rem 0; }
summary { cursor: pointer; overflow-wrap: anywhere; } summary:focus-visible { outline: 3px solid currentColor; outline-offset: 2px; }
.word { font-weight: 600; } .bad { color: var(--bad); } .good { color: var(--good); } .odd { color: var(--odd); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; } dt { font-weight: 600; } dd { margin: 0; }
.wide { overflow-x: auto; }
pre, code, td, th, li, dd, summary { unicode-bidi: isolate; }
"""
_CLASS = {"pass": "good", "FAIL": "bad", "flaky": "odd", "not judged": "odd"}
_VERDICTS = {"passed": "good", "failed": "bad", "drifted": "bad", "incomplete": "odd", "interrupted": "odd"}


def as_html(summary: Summary) -> str:
    """The page."""
    return "\n".join(_page(summary)) + "\n"


def _page(summary: Summary) -> Iterator[str]:
    title = f"{summary.name}: {summary.verdict}"
    yield "<!doctype html>"
    yield '<html lang="en">'
    yield "<head>"
    yield '<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="referrer" content="no-referrer">'
    yield f"<title>{text(title)}</title>"
    yield f"<style>{_STYLE}</style>"
    yield "</head>"
    yield "<body>"
    yield "<main>"
    yield f'<h1>{text(summary.name)}: <span class="{_VERDICTS[summary.verdict]}">{text(summary.verdict)}</span></h1>'
    yield f"<p>The entry <code>{text(summary.entry)}</code> under the deployment <code>{text(summary.deployment)}</code>.</p>"
    yield from _numbers(summary)
    yield from _cases(summary)
    yield "</main>"
    yield "</body>"
    yield "</html>"


def _numbers(summary: Summary) -> Iterator[str]:
    told = [*summary.misses, *compared_lines(summary)]
    if summary.unjudged:
        told.append(f"{count(summary.unjudged, 'sample')} not judged. {summary.ran.stopped}")
    if told:
        yield "<ul>"
        yield from (f"<li>{text(line)}</li>" for line in told)
        yield "</ul>"
    yield "<h2>In all</h2>"
    yield "<dl>"
    rows = [
        ("Cases", str(len(summary.cases))),
        ("Samples judged", str(len(summary.judged))),
        ("Pass rate", share(summary.rate)),
        ("Score", share(summary.score)),
        ("Flaky cases", str(len(summary.flaky))),
        ("Cost", money(summary.cost)),
        ("Tokens", f"{summary.tokens:,}"),
        ("Time of a run", f"{summary.time(0.5):.2f} s median, {summary.time(0.95):.2f} s 95th percentile"),
        ("Time in all", f"{summary.ran.seconds:.1f} s"),
    ]
    yield from (f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in rows)
    yield "</dl>"
    if summary.graders:
        yield "<h2>Graders</h2>"
        yield '<table><thead><tr><th scope="col">Grader</th><th scope="col" class="number">Mean score</th></tr></thead><tbody>'
        for name, score in summary.graders.items():
            yield f'<tr><th scope="row">{text(name)}</th><td class="number">{share(score)}</td></tr>'
        yield "</tbody></table>"


def _cases(summary: Summary) -> Iterator[str]:
    yield "<h2>Cases</h2>"
    yield '<div class="wide" tabindex="0" role="region" aria-label="All cases">'
    yield '<table><thead><tr><th scope="col">Case</th><th scope="col">Result</th><th scope="col" class="number">Passed</th>'
    yield '<th scope="col" class="number">Score</th><th scope="col" class="number">Cost</th><th scope="col" class="number">Seconds</th>'
    yield '<th scope="col">Baseline</th></tr></thead><tbody>'
    for number, one in enumerate(summary.cases):
        word = word_of(one)
        costs = [sample.cost for sample in one.samples]
        cost = None if None in costs else sum(costs)  # type: ignore[arg-type]
        seconds = sum(sample.seen.seconds for sample in one.judged)
        change = summary.compared.changes.get(one.case.id, "") if summary.compared is not None else ""
        yield (
            f'<tr><th scope="row"><a href="#case-{number}">{text(one.case.id)}</a></th>'
            f'<td><span class="word {_CLASS[word]}">{text(word)}</span></td>'
            f'<td class="number">{one.passed}/{len(one.judged)}</td><td class="number">{share(one.score)}</td>'
            f'<td class="number">{text(money(cost))}</td><td class="number">{seconds:.2f}</td><td>{text(change)}</td></tr>'  # type: ignore[arg-type]
        )
    yield "</tbody></table>"
    yield "</div>"
    yield "<h2>Details</h2>"
    for number, one in enumerate(summary.cases):
        yield from _case(summary, one, number)


def _case(summary: Summary, one: CaseResult, number: int) -> Iterator[str]:
    word = word_of(one)
    opened = "" if word == "pass" else " open"
    yield f'<details id="case-{number}"{opened}>'
    yield f'<summary><span class="word {_CLASS[word]}">{text(word)}</span> {text(one.case.id)}</summary>'
    if one.case.tags:
        yield f"<p>{text(', '.join(one.case.tags))}</p>"
    yield f"<h3>Input</h3>{block(one.case.input)}"
    if one.case.expected is not ABSENT:
        yield f"<h3>Expected</h3>{block(one.case.expected)}"
    was = summary.compared.before.get(one.case.id) if summary.compared is not None else None
    for sample in one.samples[:MAX_SAMPLES]:
        yield from _sample(sample, was.outputs if was is not None else ())
    if len(one.samples) > MAX_SAMPLES:
        yield f"<p>and {len(one.samples) - MAX_SAMPLES} more samples</p>"
    yield "</details>"


def _sample(sample: Sample, before: tuple[str, ...]) -> Iterator[str]:
    word = "not judged" if not sample.judged else "pass" if sample.passed else "FAIL"
    yield (
        f'<h3>Sample {sample.number}: <span class="{_CLASS[word]}">{text(word)}</span>, score {share(sample.score)}, '
        f"{text(money(sample.cost))}, {sample.seen.tokens:,} tokens, {sample.seen.seconds:.2f} s</h3>"
    )
    if sample.reason:
        yield f"<p>{text(sample.reason)}</p>"
    if sample.seen.status == "value":
        yield block(sample.seen.output)
    elif sample.judged:
        yield f"<p>It ended as {text(sample.seen.told)}.</p>"
    yield from _difference(sample, before)
    if sample.grades:
        yield '<table><thead><tr><th scope="col">Grader</th><th scope="col" class="number">Score</th><th scope="col">Why</th></tr></thead>'
        yield "<tbody>"
        for grade in sample.grades:
            kind = "odd" if grade.score is None else "good" if grade.passed else "bad"
            yield (
                f'<tr><th scope="row">{text(grade.name)}</th><td class="number {kind}">{share(grade.score)}</td>'
                f"<td>{text(grade.reason)}</td></tr>"
            )
        yield "</tbody></table>"
    if sample.seen.visited:
        yield f"<p>Visited: {text(' → '.join(sample.seen.visited))}</p>"
    if sample.seen.calls:
        yield "<ul>"
        for call in sample.seen.calls:
            given = "…" if call.arguments is None else json.dumps(dict(call.arguments), ensure_ascii=False, default=str)
            yield f"<li><code>{text(call.tool)} {text(given)}</code>: {text(call.ending)}</li>"
        yield "</ul>"


def _difference(sample: Sample, before: tuple[str, ...]) -> Iterator[str]:
    """What is otherwise than in the baseline's output, where that was one."""
    if len(before) != 1 or sample.seen.status != "value":
        return
    try:
        was = pretty(json.loads(before[0]))
    except ValueError:
        return
    changed = list(unified_diff(was.splitlines(), pretty(sample.seen.output).splitlines(), "baseline", "now", lineterm=""))
    if changed:
        yield f"<details><summary>Difference from the baseline</summary><pre>{text(chr(10).join(changed))}</pre></details>"


def pretty(value: object) -> str:
    """JSON over several lines; a text as it is."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2, default=str)


def block(value: object) -> str:
    """A value as it is shown."""
    return f"<pre>{text(pretty(value))}</pre>"


def text(value: str) -> str:
    """A text from anywhere: bounded, without what no page may hold, escaped for content and for attributes."""
    shown = value if len(value) <= MAX_TEXT else f"{value[:MAX_TEXT]}…"
    return escape(printable(shown), quote=True)
