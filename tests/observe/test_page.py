"""The page of a trace: one file, in which everything from outside is text."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ael.journal.durable import RunRow, RunState
from ael.journal.entry import Header
from ael.observe.page import page
from ael.observe.shown import visible
from ael.run.ports import Span

ATTACKS = [
    "<script>window.pwned=1</script>",
    "</script><script>window.pwned=1</script>",
    "</style><img src=x onerror='window.pwned=1'>",
    '" onclick="window.pwned=1" x="',
    "' autofocus onfocus='window.pwned=1",
    "<!-- --><svg/onload=window.pwned=1>",
    "]]><iframe srcdoc='<script>parent.pwned=1</script>'>",
    "javascript:window.pwned=1",
    "&lt;b&gt; &#60;script&#62; &amp;",
    "safe\u202egnp.exe\u2066\u200b\u2028",
    "\x00\x1b[31mred\x07\x7f\x9b",
    "\ud800 lone",
]
ELEMENTS = {
    "html", "head", "meta", "title", "style", "body", "header", "h1", "small", "dl", "div", "dt", "dd", "p", "button", "main", "h2", "ol",
    "li", "details", "summary", "span", "b", "i", "script",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "class", "id", "type", "hidden", "aria-labelledby", "aria-label", "aria-hidden",
    "title",
}  # fmt: skip


class Read(HTMLParser):
    """A page as a browser reads it: elements, attributes, and the text of each element."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.open: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)


def span(sequence: int, parent: int | None, text: str = "x", **more: Any) -> Span:
    fields: dict[str, Any] = {"outcome": "value", "taint": (), "attributes": {}, "content": None, **more}
    return Span(
        "r1", sequence, parent, "run" if parent is None else "tool", text, text, 100.0 + sequence, 110.0, fields["outcome"],
        fields["taint"], fields["attributes"], fields["content"],
    )  # fmt: skip


def row(text: str = "x") -> RunRow:
    return RunRow(Header(text, text, text, "", text, text, 100.0, None), RunState.ENDED, waits=text, ending="value")


def hostile(text: str) -> str:
    told = {"reason": text, "key": text, text: text, "cost": text, "tokens": {text: 1}, "list": [text]}
    made = [
        span(1, None, text),
        span(
            2,
            1,
            text,
            outcome=text,
            taint=(text,),
            attributes=told,
            content={"arguments": {text: text}, "result": text, text: text},
        ),
    ]
    return page(row(text), made, text)


def checked(text: str) -> Read:
    """The page holds nothing but its own elements; its policy allows the one script and the one style that it has."""
    read = Read(text)
    assert set(read.elements) <= ELEMENTS
    assert {name for _, name, _ in read.attributes} <= ATTRIBUTES
    assert read.open == []
    [script], [style] = ("".join(read.texts[part]) for part in ("script",)), ("".join(read.texts["style"]),)
    assert (read.elements.count("script"), read.elements.count("style")) == (1, 1)
    [policy] = [value for tag, name, value in read.attributes if name == "content" and "default-src" in value]
    for source, body in (("script", script), ("style", style)):
        assert f"{source}-src 'sha256-{b64encode(sha256(body.encode()).digest()).decode()}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    return read


@pytest.mark.feature("B19")
@pytest.mark.parametrize("attack", ATTACKS)
def test_text_from_outside_stays_text(attack: str) -> None:
    text = hostile(attack)
    read = checked(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text)
    assert visible(attack) in "".join(read.texts["dd"])
    text.encode("utf-8")


@given(st.text(max_size=60))
@settings(max_examples=60)
def test_any_text_stays_text(text: str) -> None:
    checked(hostile(text))


@pytest.mark.feature("B19")
def test_nothing_is_loaded_from_elsewhere() -> None:
    text = page(row(), [span(1, None), span(2, 1)], "now")
    assert not re.search(r"https?:|src=|href=|@import|url\(|fetch|XMLHttp|WebSocket", text)


def test_the_bars_stand_where_the_spans_were() -> None:
    text = page(row(), [span(1, None), span(2, 1), span(6, 2)], "now")
    assert "#b1{left:0.000%;width:100.000%}" in text
    assert "#b6{left:55.556%;width:44.444%}" in text


def test_what_failed_can_be_found_and_what_it_was_is_said_in_words() -> None:
    read = checked(page(row(), [span(1, None), span(2, 1, outcome="fault", attributes={"reason": "Timeout"})], "now"))
    assert ("details", "class", "bad") in read.attributes
    assert "fault" in read.texts["span"]
    assert "Timeout" in read.texts["dd"]


def test_a_screen_reader_gets_a_list_of_lines_and_no_bars() -> None:
    read = checked(page(row(), [span(1, None), span(2, 1), span(3, 2)], "now"))
    assert read.elements.count("summary") == read.elements.count("li") == 3
    assert [value for tag, name, value in read.attributes if tag == "ol" and name.startswith("aria-label")] == [
        "what",
        "below x",
        "below x",
    ]
    assert ("span", "aria-hidden", "true") in read.attributes
    assert ("html", "lang", "en") in read.attributes


def test_a_trace_as_deep_as_a_program_can_be_is_written() -> None:
    spans = [span(number, number - 1 or None) for number in range(1, 3_001)]
    assert page(row(), spans, "now").count("<li>") == 3_000


def test_a_huge_value_is_cut() -> None:
    text = page(row(), [span(1, None, content={"result": "y" * 1_000_000})], "now")
    assert len(text) < 60_000
    assert "(1,000,000 characters)" in text
