"""The files that are written: whole pages with links that lead somewhere, twins, `llms.txt`, data, a search without a network."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import Page, sync_playwright

from ael.diagnostics.diagnostic import Bag
from ael.documenting.address import heading_anchor
from ael.documenting.book import book_of
from ael.documenting.pack import open_documented
from ael.documenting.site import MARK, NotOurs, files_of, write
from tests.browser import FLAGS, browser_path
from tests.documenting.conftest import Reader
from tests.documenting.test_book import SHOP

ROOT = Path(__file__).resolve().parents[2]


class Seen(HTMLParser):
    """The addresses, anchors and headings of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.headings: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if named.get("id"):
            self.ids.append(str(named["id"]))
        if tag in ("a", "link") and named.get("href"):
            self.links.append(str(named["href"]))
        self.loaded += [str(named[name]) for name in ("src", "data", "action") if named.get(name)]
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(tag)


def seen(text: str) -> Seen:
    reader = Seen()
    reader.feed(text)
    return reader


@pytest.fixture(scope="module")
def library() -> dict[str, str]:
    """The pages of the standard library."""
    bag = Bag()
    documented = open_documented(Path("std"), bag)
    assert documented is not None
    return files_of(*book_of(documented), "html")


def holds(files: dict[str, str]) -> None:
    """Every link of every page leads to a file, and to an anchor in it; nothing else is loaded."""
    pages = {name: seen(text) for name, text in files.items() if name.endswith(".html")}
    for name, page in pages.items():
        assert len(page.ids) == len(set(page.ids)), f"{name}: an anchor stands twice"
        for link in (*page.links, *page.loaded):
            if link.startswith("https://"):
                continue
            path, _, anchor = unquote(link).partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            assert target in files, f"{name} leads to {link}"
            if anchor and target.endswith(".html"):
                assert anchor in pages[target].ids, f"{name} leads to {link}"
        assert page.headings.count("h1") == 1
        levels = [int(tag[1]) for tag in page.headings if tag != "h1"]
        assert all(after - before <= 1 for before, after in pairwise(levels)), f"{name}: {page.headings}"


def twins_hold(files: dict[str, str]) -> None:
    """The same of the twins: each HTML page but those of sources has one, and their links hold."""
    pages = {name for name in files if name.endswith(".html") and not name.startswith("source/")}
    assert {name.removesuffix(".html") for name in pages} == {name.removesuffix(".md") for name in files if name.endswith(".md")}
    for name, text in files.items():
        if not name.endswith(".md") and name != "llms.txt":
            continue
        plain = re.sub(r"^(`{3,}).*?^\1|`[^`\n]*\n?[^`\n]*`(?!\])", "", text, flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", plain):
            if link.startswith("https://"):
                continue
            path, _, anchor = unquote(link).partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            assert target in files, f"{name} leads to {link}"
            if anchor:
                headings = re.findall(r"^#+ (.+)$", files[target], flags=re.MULTILINE)
                assert anchor in {heading_anchor(heading) for heading in headings}, f"{name} leads to {link}"


@pytest.mark.feature("C8", "A17.13")
def test_every_link_of_the_librarys_pages_leads_somewhere(library: dict[str, str]) -> None:
    holds(library)
    twins_hold(library)


@pytest.mark.feature("C8", "A17.13")
def test_every_link_of_a_packs_pages_leads_somewhere(read: Reader) -> None:
    shop = read(
        {
            **SHOP,
            "index.ael": "/// One.\npub fn one() -> Int { 1 }\n",
            "deep/er.ael": "//! See [two], [std/text].\n\n/// Two.\npub fn two() -> Int { 2 }\n",
        }
    )
    files = files_of(shop.book, shop.names, "html")
    holds(files)
    twins_hold(files)
    assert {"index.module.html", "deep/er.html", "source/deep/er.html"} <= files.keys()
    for name in ("main.html", "orders.html", "index.html", "main.md", "orders.md", "index.md"):
        assert all(word in files[name] for word in ("Permissions", "Repeat", "Errors", "Budget")), name
    assert "[`lookup_order`](main.md#tool-lookup_order)" not in files["main.md"]
    assert "[`lookup_order`](#tool-lookup_order)" in files["main.md"]


@pytest.mark.parametrize("folder", sorted(path.name for path in (ROOT / "examples").iterdir() if (path / "main.ael").is_file()))
def test_the_examples_of_the_project_are_documented(folder: str) -> None:
    documented = open_documented(ROOT / "examples" / folder, Bag())
    assert documented is not None
    files = files_of(*book_of(documented), "html")
    holds(files)
    twins_hold(files)


@pytest.mark.feature("A17.13")
def test_llms_txt(read: Reader) -> None:
    shop = read(SHOP)
    files = files_of(shop.book, shop.names, "llms")
    assert files.keys() == {"llms.txt", "llms-full.txt"}
    assert files["llms.txt"].startswith("# shop\n\n> The shop.\n")
    assert "- [orders](orders.md): Orders." in files["llms.txt"]
    assert "### tool `lookup_order`" in files["llms-full.txt"]
    assert "- Budget: tokens 10,000, cost $0.05" in files["llms-full.txt"]


def test_the_same_as_data(read: Reader) -> None:
    shop = read(SHOP)
    data = json.loads(files_of(shop.book, shop.names, "json")["doc.json"])
    main = next(module for module in data["modules"] if module["name"] == "main")
    lookup = next(one for one in main["declarations"] if one["name"] == "lookup_order")
    assert lookup["facts"]["permissions"] == [{"name": "orders.read", "qualified": "main.orders.read"}]
    assert (lookup["kind"], lookup["file"], lookup["doc"]) == ("tool", "main.ael", "Read one [Order].")


def test_text_of_a_pack_is_text(read: Reader) -> None:
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    made = read(f'//! {evil}\n\n/// {evil}\npub const X: String = "{evil}"\n')
    files = files_of(made.book, made.names, "html")
    for name, text in files.items():
        if not name.endswith((".md", ".txt", "search.js")):
            assert "<script>alert" not in text, name
            assert "<img" not in text, name


def test_a_folder_is_written_once_and_only_ones_own(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    assert {path.name for path in write(folder, {"a.html": "1", "b/c.html": "2"})} == {"a.html", "c.html", MARK}
    assert write(folder, {"a.html": "1", "b/c.html": "2"}) == []
    assert {path.name for path in write(folder, {"a.html": "3"})} == {"a.html", "c.html", MARK}
    assert not (folder / "b" / "c.html").exists()
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("mine")
    with pytest.raises(NotOurs):
        write(other, {"a.html": "1"})
    assert [path.name for path in other.iterdir()] == ["mine.txt"]
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    (folder / MARK).write_text("../outside.txt\na.html\n")
    write(folder, {"a.html": "3"})
    assert outside.read_text() == "mine"


@pytest.fixture
def opened(read: Reader, tmp_path: Path) -> Iterator[Page]:
    """The main page of the shop in a browser, opened as a file."""
    shop = read(SHOP)
    folder = tmp_path / "pages"
    write(folder, files_of(shop.book, shop.names, "html"))
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=browser_path(), args=list(FLAGS))
        page = browser.new_page()
        page.goto((folder / "orders.html").as_uri())
        yield page
        browser.close()


@pytest.mark.feature("C8")
def test_the_search_works_from_a_file_and_by_keyboard(opened: Page) -> None:
    asked: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.keyboard.press("/")
    opened.keyboard.type("lookup")
    first = opened.locator("#found [aria-selected=true]")
    first.wait_for()
    assert "tool lookup_order" in first.inner_text()
    assert opened.locator("#search").get_attribute("aria-activedescendant") == first.get_attribute("id")
    opened.keyboard.press("Enter")
    opened.wait_for_url("**/main.html#tool.lookup_order")
    assert [url for url in asked if not url.startswith("file:")] == []


def test_what_is_legible(opened: Page) -> None:
    """Text has a contrast of 4.5 to what is behind it, in both schemes (WCAG AA)."""
    for scheme in ("light", "dark"):
        opened.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert opened.evaluate(_CONTRAST) == []


_CONTRAST = """() => {
  const parts = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = parts(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const node of document.querySelectorAll("body *")) {
    if (node.closest("svg") || ![...node.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    const [a, b] = [light(parts(getComputedStyle(node).color)), light(behind(node))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) found.push(`${node.className} ${node.textContent.slice(0, 30)}`);
  }
  return found;
}"""
