"""Comments as HTML: nothing in one can become anything but text, and names lead where they mean."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.documenting.markdown import Linked, rendered, rewritten


def resolve(name: str) -> Linked | None:
    return Linked(f"page.html#{name}", f"fn {name}") if name in ("double", "Order", "Order.id", "std/text.words") else None


class Tags(HTMLParser):
    """The tags of a text, with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def tags(html: str) -> list[tuple[str, dict[str, str | None]]]:
    reader = Tags()
    reader.feed(html)
    return reader.found


@pytest.mark.parametrize("written", ["[double]", "[`double`]", "[double()]", "[`double()`]"])
def test_a_name_in_brackets_is_a_link(written: str) -> None:
    made = rendered(f"See {written}.", resolve)
    assert made.html == '<p>See <a href="page.html#double" title="fn double"><code>double</code></a>.</p>\n'
    (mention,) = made.mentions
    assert (mention.name, mention.line, mention.column) == ("double", 0, 4)


def test_a_link_may_say_a_name() -> None:
    made = rendered("Read [the order](Order) and [more](std/text.words).", resolve)
    assert [tag[1].get("href") for tag in tags(made.html) if tag[0] == "a"] == ["page.html#Order", "page.html#std/text.words"]


@pytest.mark.parametrize(
    "written", ["`[double]`", "\\[double]", "    [double]", "```text\n[double]\n```", "[x] done", "- [ ] to do"]
)
def test_brackets_in_code_and_escaped_ones_are_none(written: str) -> None:
    made = rendered(f"{written}\n", resolve)
    assert made.mentions == ()
    assert "href" not in made.html


def test_names_are_as_they_are_written() -> None:
    made = rendered("[order] [Order]", resolve)
    assert [(mention.name, mention.linked is not None) for mention in made.mentions] == [("order", False), ("Order", True)]


def test_where_a_name_stands() -> None:
    text = "One.\n\n> - a list\n>   with [Nope] in it\n\n| a | b |\n| --- | --- |\n| x | [`Order`] |\n"
    made = rendered(text, resolve)
    lines = text.split("\n")
    assert [lines[m.line][m.column : m.column + len(m.raw)] for m in made.mentions] == ["[Nope]", "[`Order`]"]
    assert [m.line for m in made.mentions] == [3, 7]


@pytest.mark.parametrize(
    "written",
    [
        "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "a <b onclick=x>b</b>", "[a](javascript:alert(1))",
        "[a](vbscript:x)", "[a](data:text/html,x)", "[a](file:///etc/passwd)", "[a](//elsewhere.example/x)", "<javascript:alert(1)>",
        "[a]: javascript:alert(1)\n\n[a]", "![p](https://elsewhere.example/p.png)", "```<script>\nx\n```", "&lt;script&gt;",
        "[a](<javascript:alert(1)>)", "[a](java\nscript:x)", "# <script>x</script>", "[a](&#106;avascript:x)", "[a](JaVaScRiPt:x)",
    ],
)  # fmt: skip
def test_a_comment_brings_no_markup_of_its_own(written: str) -> None:
    unsafe(rendered(written, resolve).html)


@given(st.text(alphabet=st.sampled_from("<>[]()`\"'&!:/\\#*_-~ \n\tjavascript:onerr=ipg xdouble"), max_size=80))
def test_whatever_a_comment_says(text: str) -> None:
    made = rendered(text, resolve)
    unsafe(made.html)
    for mention in made.mentions:
        assert 0 <= mention.line < len(text.split("\n"))
    rewritten(text, made.mentions)


_PLAIN = frozenset(
    {"p", "a", "code", "pre", "em", "strong", "ul", "ol", "li", "blockquote", "hr", "br", "h3", "h4", "h5", "h6", "span"}
    | {"table", "thead", "tbody", "tr", "th", "td"}
)


def unsafe(html: str) -> None:
    for tag, attributes in tags(html):
        assert tag in _PLAIN
        assert not any(name.startswith("on") or name in ("style", "src") for name in attributes if tag not in ("th", "td"))
        address = attributes.get("href")
        assert address is None or address.startswith(("http://", "https://", "page.html#", "#"))


def test_headings_go_below_those_of_the_page() -> None:
    made = rendered("# One\n\n## Two\n\n###### Six\n", resolve, level=4, prefix="fn.x.")
    assert [(tag, attributes["id"]) for tag, attributes in tags(made.html)] == [
        ("h4", "fn.x.one"),
        ("h5", "fn.x.two"),
        ("h6", "fn.x.six"),
    ]


def test_code_is_coloured_and_found() -> None:
    made = rendered("A.\n\n```ael no_run\nlet x = 1\n```\n\n- b\n\n  ```ael\n  assert x\n  ```\n\nC.\n\n    indented\n", resolve)
    assert [(code.info, code.first, code.lines, code.columns) for code in made.codes] == [
        ("ael no_run", 3, ("let x = 1",), (0,)), ("ael", 9, ("assert x",), (2,)), ("", 14, ("indented",), (4,)),
    ]  # fmt: skip
    assert '<span class="k">let</span>' in made.html


def test_markdown_gets_its_links() -> None:
    text = "See [double], [`Order`], [the order](Order), `[double]` and [Nope].\n"
    assert rewritten(text, rendered(text, resolve).mentions) == (
        "See [`double`](page.html#double), [`Order`](page.html#Order), [the order](page.html#Order), `[double]` and [Nope].\n"
    )
