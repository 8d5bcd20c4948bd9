"""Pages as what a reader sees of them: nothing hidden comes through, however the page is written, and any text is a page."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.lower.natives.html import PAGE_MAX, links, title, to_markdown, to_text
from ael.types.fault import Fault, FaultKind

pytestmark = [pytest.mark.feature("A15.9")]

LEAKS = [
    # an end tag that does not reach what hides
    "<div hidden><table><tr><td></div>X",
    "<div hidden><object></div>X",
    "<span hidden><div></span>X",
    "<b><div hidden></b>X",
    "<h1 hidden></h2>X",
    "<div hidden></p>X",
    "<div hidden></body></html>X",
    "<li hidden><section><li>X",
    "<li hidden><dl><dd><li>X",
    "<p hidden><button><p>X",
    # formatting goes on behind the block that it stood in
    "<p><b hidden>a<p>X",
    "<p><b hidden>a<p><b>y</b>X",
    "<ul><li><font hidden>a<li>X</ul>",
    # text that a browser reads as a comment, a script, a style
    "<svg><style><!--</style></svg>X-->",
    "<svg><![CDATA[ > </svg> X ]]>",
    "<!--> <!-- X -->",
    "<!-- <b> X -->",
    "<!-- a --!><!-- X",
    "<script><!-- <script> </script><p hidden>X",
    "<style>a{}</style ><noscript>X</noscript>",
    "<title>X</title>",
    "<iframe>X</iframe>",
    "<? X ?>",
    "<!X>",
    "</ X>",
    '<p title="a>b" hidden>X',
    "<p a='b' hidden=''>X",
    "<p/hidden>X",
    "<P HIDDEN>X",
    "<p style='&#100;isplay:none'>X",
    "<p style='display:/**/none'>X",
    "<p style='color:red;display:none'>X",
    "<p style='visibility:collapse'>X",
    "<p style='color:rgba(0, 0, 0, 0.0)'>X",
    "<p style='font:0/0 a'>X",
    "<p style='display:none;display:no-such'>X",
    "<p style='opacity:0;opacity:x'>X",
    "<p style='display:none!important;display:block'>X",
    "<style>.a{display:none ! important}</style><p class=a style='display:block'>X",
    "<style>.a{display:none}p.a{display:x}</style><p class=a>X",
    "<p style='color:white'>X",
    "<font color=#fefefe>X</font>",
    "<p><font color=white>a<p>X",
    "<font color=FFFFFF>X</font>",
    "<p style='color:hsl(0, 0%, 100%)'>X",
    "<p style='background:#000'><span style='color:rgb(0 0 0 / 100%)'>X</span>",
    "<body bgcolor=navy><p style='color:#000080'>X",
    "<div style='color:red;color:transparent;color:bogus'>X</div>",
    "<style>.w{color:#FFF}</style><p class=w>X",
    "<p style='text-indent:-9999em'>X",
    "<p style='clip:rect(0,0,0,0)'>X",
    "<p style='clip-path:inset(100%)'>X",
    "<p style='height:0;overflow:hidden'>X",
    "<p style='transform:scale(0)'>X",
    "<p style='filter:opacity(0)'>X",
    "<style>.a .b{display:none}</style><div class=a><p class='c b'>X</div>",
    "<style>#n{display:none !important}</style><p id=n>X",
    "<style>p.a,q{opacity:.0}</style><p class=a>X",
    "<style>@media screen{.a{display:none}}</style><p class=a>X",
    "<p class=a>X</p><style>.a{display:none}",
    "<style>" + "".join(f".a.b{i}{{color:red}}" for i in range(100)) + ".a.z{display:none}</style><p class='a z'>X",
    "<math><annotation>X</annotation></math>",
    "<select hidden><option>X</select>",
    "<audio>X</audio>",
    "<datalist><option>X</datalist>",
    "<div>" * 600 + "<p hidden></p></div>X",
    "<div hidden>" + "<div>" * 600 + "</div>" * 600 + "X",
]

SHOWN = [
    "<p hidden>a<p>X",
    "<p hidden>a</p>X",
    "<div hidden><p>a</div>X",
    "<b hidden><p>a</b>X",
    "<table><tr><td hidden>a<td>X</table>",
    "<ul><li hidden>a<li>X</ul>",
    "<dl><dt hidden>a<dd>X</dl>",
    "<svg/>X",
    "<svg><path d=''/></svg>X",
    "<!-->X",
    "<!---->X",
    "<!-- a --!>X",
    "<script>'</scripty>'</script>X",
    "<p style='display:block'>X",
    "<p style='opacity:0.9;font-size:12px;color:#000;background:#fff'>X",
    "<p style='display:none;display:block'>X",
    "<style>.a{display:none}</style><p class=a style='display:block'>X",
    "<div style='color:white'><p style='color:black'>X</p></div>",
    "<div style='color:white'><p style='background:#111'>X</p></div>",
    "<body bgcolor=black><p style='color:#fff'>X",
    "<link rel=stylesheet href=a><p style='color:#fff'>X",
    "<style>body{background:#000}</style><p style='color:#fff'>X",
    "<p style='color:white;background:url(a)'>X",
    "<p style='color:var(--a)'>X",
    "<p style='color:#777'>X",
    "<p style='color:transparent;background-clip:text'>X",
    "<p style='margin-left:-20px;left:50%'>X",
    "<style>.a{display:none}.a.b{display:block}</style><p class='a b'>X",
    "<style>.a .b{display:none}</style><p class=b>X",
    "<style>@media print{p{display:none}}@media (max-width:9px){p{display:none}}</style><p>X",
    "<style>p:hover{display:none}</style><p>X",
    "<div class='hidden md:block'>X</div>",
    "<p aria-hidden=false>X",
    "<textarea>X</textarea>",
    "<details><summary>X</summary></details>",
    "<dialog open>X</dialog>",
    "<body style='opacity:0'>X</body>",
    "<div>" * 600 + "X",
    "<b>" * 2_000 + "X",
]


@pytest.mark.feature("K13")
@pytest.mark.parametrize("page", LEAKS)
def test_what_a_browser_does_not_show_does_not_come_through(page: str) -> None:
    for made in (to_text(page), to_markdown(page, images=True), str(links(f"<a href=/>{page}", "https://e.org"))):
        assert "X" not in made


@pytest.mark.parametrize("page", SHOWN)
def test_what_a_browser_shows_comes_through(page: str) -> None:
    assert "X" in to_text(page)
    assert "X" in to_markdown(page)


BLOCKS = st.sampled_from(["div", "section", "ul", "blockquote", "b", "span", "em", "h2", "article", "x-y"])
HIDES = st.sampled_from(["hidden", "aria-hidden='true'", "style='display:none'", 'class="a sr-only"', 'style="top:-900px"'])
Tree = tuple[str, str, list[object]]


def trees() -> st.SearchStrategy[Tree]:
    leaf = st.tuples(st.just("div"), st.just(""), st.just([]))
    return st.recursive(
        leaf,
        lambda inner: st.tuples(BLOCKS, st.just("") | HIDES, st.lists(inner, max_size=4)),  # type: ignore[arg-type]
        max_leaves=20,
    )


def written(tree: Tree, hidden: bool, seen: list[str]) -> str:
    """A tree as HTML, with a word in front of and behind each child: `seen` of those that show, others have an `h`."""
    name, hides, children = tree
    hidden = hidden or bool(hides)

    def word() -> str:
        if hidden:
            return " hh "
        seen.append(f"w{len(seen)}w")
        return f" {seen[-1]} "

    inside = [word()]
    for child in children:
        inside += [written(child, hidden, seen), word()]  # type: ignore[arg-type]
    return f"<div><{name} {hides}>{''.join(inside)}</{name}></div>"


@given(trees())
def test_words_that_show_come_in_order_and_no_others(tree: Tree) -> None:
    seen: list[str] = []
    page = written(tree, False, seen)
    for made in (to_text(page), to_markdown(page)):
        assert re.findall(r"[wh]\w+", made) == seen


PIECES = (
    "<p>", "</p>", "<b>", "</b>", "<div hidden>", "</div>", "<!--", "-->", "<style>p{opacity:0}", "</style>", "<svg>", "</svg>", "<td>",
    "<table>", "</table>", "<a href=x>", "</a>", "<pre>", "</pre>", "<li>", "<ul>", "</ul>", "<br>", "<img src=a alt=b>", "&", "&lt;",
    "&#x41;", "'", '"', ">", "<", "/", " ", "\n", "x", "`", "*", "_", "[", "]", "|", "\u202e", "\ud800",
)  # fmt: skip
SOUP = st.lists(st.sampled_from(PIECES)).map("".join)


@given(SOUP | st.text())
def test_any_text_is_a_page(page: str) -> None:
    made = to_markdown(page, "https://e.org/", images=True)
    plain = to_text(page)
    assert not re.search("[\x00-\x08\u202e\ud800-\udfff\U000e0000-\U000e0fff]", made + plain)
    assert isinstance(links(page, "https://e.org"), list)
    assert title(page) is None or title(page) != ""


@given(st.text(alphabet="ab <>&;#*_[]()`|~-+.1\\!\n", min_size=1))
def test_plain_text_in_a_paragraph_comes_through_as_it_is(text: str) -> None:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    assert to_text(f"<p>{escaped}</p>").split() == text.split()
    assert re.sub(r"\\([^\w\s]|_)", r"\1", to_markdown(f"<p>{escaped}</p>")).split() == text.split()


@pytest.mark.feature("K13")
@pytest.mark.parametrize(
    "page",
    [
        "<div>" * 20_000, "<b><p>" * 10_000, "<" * 50_000, "<!--" * 20_000, "<a " + "x=1 " * 20_000, "<a x='" * 20_000,
        "<ul><li>x" * 5_000, "<table><tr><td>x" * 5_000, "&#" + "9" * 20_000 + ";", "&#x" + "0" * 20_000 + "41;",
        "<b hidden>" + "</b>" * 20_000,
        "<style>" + "a{" * 20_000, "<style>@layer{" * 5_000 + "}" * 5_000, "<i><b><p></i>" * 5_000, "<script>" * 20_000,
        "<p style='color:rgba(" + "0" * 20_000, "<p class='" + "a " * 20_000, "<a href='" + "(" * 20_000 + "'>x",
    ],
    ids=lambda page: page[:20],
)  # fmt: skip
def test_hostile_pages_end(page: str) -> None:
    assert len(to_markdown(page)) <= 20 * len(page)
    to_text(page)


@pytest.mark.feature("K13")
def test_more_digits_than_python_makes_a_number_of_are_a_character_that_is_not_there() -> None:
    assert to_text("&#" + "9" * 10_000 + ";&#x" + "f" * 10_000 + ";") == "\ufffd\ufffd"
    assert to_text("&#" + "0" * 10_000 + "65;") == "A"


def test_a_page_that_is_too_long_is_a_fault() -> None:
    with pytest.raises(Fault) as caught:
        to_text("x" * (PAGE_MAX + 1))
    assert caught.value.kind is FaultKind.TOO_LARGE


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("/a?b=1&amp;c=2", "https://e.org/a?b=1&c=2"),
        (" HTTPS://x.org/ ", "https://x.org/"),
        ("mailto:a@b.c", "mailto:a@b.c"),
        ("//x.org/y", "https://x.org/y"),
        ("java\nscript:alert(1)", None),
        ("&#106;avascript:alert(1)", None),
        ("javascript&colon;alert(1)", None),
        ("\x01javascript:alert(1)", None),
        ("data:text/html,x", None),
        ("vbscript:x", None),
        ("file:///etc/passwd", None),
        ("#top", None),
        ("http://[", None),
    ],
)
def test_where_links_lead(written: str, url: str | None) -> None:
    assert links(f"<a href='{written}'>t</a>", "https://e.org/d/") == ([] if url is None else [{"text": "t", "url": url}])
    assert to_markdown(f"<a href='{written}'>t</a>", "https://e.org/d/") == ("t" if url is None else f"[t]({url})")


@pytest.mark.parametrize(
    ("page", "markdown"),
    [
        ("<h2>a<br>b</h2>", "## a b"),
        ("<b>a</b><i> b </i>c", "**a** *b* c"),
        ("<b><p>a<p>b</b>", "**a**\n\n**b**"),
        ("<code>a`b</code>", "``a`b``"),
        ("<ol start=9><li>a<li>b<p>c</ol>d", "9. a\n10. b\n\n    c\n\nd"),
        ("<blockquote>a<blockquote>b</blockquote></blockquote>c", "> a\n>\n> > b\n\nc"),
        ("<ul><li><pre>a\n b</pre></ul>", "- ```\n  a\n   b\n  ```"),
        ("<table><tr><th>a<th>b<tr><td>c</table>", "| a | b |\n| --- | --- |\n| c |"),
        ("<table><tr><td>one<tr><td>two</table>", "one\n\ntwo"),
        ("<a href='/x(1)'>a[b]</a>", "[a\\[b\\]](</x(1)>)"),
        ("a<img src=b alt='c]'>", "a"),
        ("a<hr>b", "a\n\n---\n\nb"),
        ("snake_case 2 &lt; 3 &amp;lt; <u>x</u>", "snake_case 2 < 3 \\&lt; x"),
    ],
)
def test_the_markdown_of(page: str, markdown: str) -> None:
    assert to_markdown(page) == markdown


def test_pictures_are_kept_where_they_are_asked_for() -> None:
    assert to_markdown("<img src=/a.png alt='a [b]'>", "https://e.org", images=True) == "![a \\[b\\]](https://e.org/a.png)"
    assert to_markdown("<img src=data:x alt=a>", images=True) == ""
