"""Reports hold any text of cases and models, and none of it is markup."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.evals import report_data, report_html, report_text
from ael.evals.baseline import Baseline, Was
from ael.evals.cases import Case
from ael.evals.grade import Grade, same
from ael.evals.lab import Sample
from ael.evals.observe import Call, Observation, of_plain
from ael.evals.plan import Thresholds
from ael.evals.schedule import Ran
from ael.evals.summary import Summary, summarize
from tests.cli.conftest import Ael
from tests.evals.desk import cases, files, final, turns

ATTACK = "</pre><script>alert(1)</script><img src=x onerror=alert(1)>\"'`|]]>&amp;\x07\x1b[31m\u202e"


def summary(text: str, *, judged: bool = True, passed: bool = False, baseline: Baseline | None = None) -> Summary:
    """An evaluation with one case, in which every text is `text`."""
    seen = Observation(
        "value", "", "", {"answer": text}, (text,), (Call(text, {text: text}, "value"),), {}, 0.5, 1, 1, 10, Decimal("0.01")
    )
    grade = Grade(text, 0.25 if judged else None, passed, text)
    sample = Sample(text, 1, seen, (grade,), judged, passed, 0.25 if judged else None, text)
    case = Case(text, 1, {"text": text}, text, tags=(text,))
    ran = Ran((sample,), Decimal(0), 1.0, 0, text if not judged else "")
    return summarize(text, text, text, [case], Thresholds(), ran, baseline=baseline)


class Page(HTMLParser):
    """What a page has: its elements, attributes and text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.shown = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.shown += data


ELEMENTS = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "h1",
        "h2",
        "h3",
        "p",
        "ul",
        "li",
        "dl",
        "dt",
        "dd",
        "table",
        "thead",
    ),
    *("tbody", "tr", "th", "td", "div", "details", "summary", "pre", "code", "span", "a"),
}
ATTRIBUTES = {
    *(
        "lang",
        "charset",
        "http-equiv",
        "content",
        "name",
        "class",
        "scope",
        "id",
        "href",
        "open",
        "tabindex",
        "role",
        "aria-label",
    ),
}


@given(text=st.text(max_size=60))
def test_no_text_becomes_markup(text: str) -> None:
    page = Page(report_html.as_html(summary(text)))
    assert set(page.tags) <= ELEMENTS
    assert {name for name, _ in page.attributes} <= ATTRIBUTES
    assert [value for name, value in page.attributes if name == "href"] == ["#case-0"]


@pytest.mark.parametrize("judged", [True, False])
def test_an_attack_is_shown_as_text(judged: bool) -> None:
    text = report_html.as_html(summary(ATTACK, judged=judged))
    page = Page(text)
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert "<script>alert(1)</script>" in page.shown
    assert "default-src 'none'" in str(page.attributes)
    assert "\x1b" not in text
    assert "http" not in text.replace("http-equiv", "")


def test_the_page_shows_what_differs_from_the_baseline() -> None:
    case = Case("a", 1, {"text": "a"})
    before = Baseline({"x": Was(Case("x", 1, {"text": "x"}, "x").digest, 1, 1, 1.0, ('{"answer":"<b>old</b>"}',))})
    text = report_html.as_html(summary("x", baseline=before))
    assert "-  &quot;answer&quot;: &quot;&lt;b&gt;old&lt;/b&gt;&quot;" in text
    assert "drifted" in text
    assert case.id == "a"


@given(text=st.text(max_size=60))
def test_every_form_takes_any_text(text: str) -> None:
    found = summary(text)
    suite = ElementTree.fromstring(report_data.as_junit(found))
    assert len(suite) == 1
    told = json.loads(report_data.as_json(found))
    assert told["cases"][0]["samples"][0]["output"] == {"answer": text}
    lines = report_data.as_markdown(found).splitlines()
    assert sum(line.startswith("|") for line in lines) == 11
    assert len([line for line in lines if line and not line.startswith("|")]) == 2
    assert list(report_text.lines(found))


def test_no_form_for_people_sends_a_terminal_anything() -> None:
    found = summary("a\x1b[2J\x07b")
    assert "\x1b" not in report_data.as_markdown(found) + report_data.as_junit(found) + report_html.as_html(found)
    assert "\x07" not in report_data.as_markdown(found)


@given(text=st.text(st.sampled_from("`|\\\\ab \n"), max_size=20))
def test_a_code_span_of_markdown_holds_any_text(text: str) -> None:
    made = report_data.code(text)
    assert "\n" not in made
    if made:
        fence = made[: len(made) - len(made.lstrip("`"))]
        assert made.endswith(fence)
        assert fence not in made[len(fence) : -len(fence)]
        # A table's row takes a backslash with the character after it, whatever that is.
        assert "|" not in re.sub(r"\\.", "", made)


@pytest.mark.parametrize(
    ("cost", "shown"),
    [(None, "unknown"), (Decimal(0), "$0"), (Decimal("1.5"), "$1.50"), (Decimal("0.0123"), "$0.0123"),
     (Decimal("0.00000001"), "less than $0.000001"), (Decimal("12.345"), "$12.34")],
)  # fmt: skip
def test_money_is_told_shortly(cost: Decimal | None, shown: str) -> None:
    assert report_text.money(cost) == shown


def test_an_unknown_price_is_never_told_as_free() -> None:
    found = summary("x")
    sample = found.cases[0].samples[0]
    free = Observation("value", "", "", "x", cost=None)
    made = Sample("x", 1, free, (), True, True, 1.0)
    ran = Ran((made,), None, 1.0, 0)
    told = summarize("x", "x", "x", [found.cases[0].case], Thresholds(cost=Decimal(100)), ran)
    assert told.cost is None
    assert told.misses == ["the cost is not known, more than $100"]
    assert sample.cost == Decimal("0.01")


def test_an_observation_is_read_as_it_was_written() -> None:
    seen = summary("x").cases[0].samples[0].seen
    assert of_plain(json.loads(json.dumps(seen.plain()))) == seen


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)


@given(left=json_values, right=json_values)
def test_values_are_the_same_as_their_json(left: object, right: object) -> None:
    assert same(left, left)
    assert same(left, json.loads(json.dumps(left)))
    assert same(left, right) == same(right, left)
    assert not same(left, [left])


def test_whole_numbers_and_truth_are_not_mixed_up() -> None:
    assert same(1, 1.0)
    assert not same(True, 1)
    assert not same({"a": 1}, {"a": 1, "b": None})


def test_the_page_is_written_and_named(ael: Ael) -> None:
    made = files(
        "grader same = exact",
        cases({"input": {"text": "x"}, "expected": final()["final"]}),
        desk=turns(final("Other", ATTACK[:60])),
    )
    ael.write(made)
    ended = ael("eval", "--html", "report.html")
    assert ended.code == 1
    assert "wrote report.html" in ended.err
    page = Page((ael.folder / "report.html").read_text("utf-8"))
    assert "<script>alert(1)</script>" in page.shown
    assert "script" not in page.tags
    assert ael("eval", "--html", "nowhere/report.html").code == 2
