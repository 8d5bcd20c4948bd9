"""The site, built as it is published: no dead link, nothing from elsewhere, AEL in colours, a search index, twins and `llms.txt`."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from ael.diagnostics.codes import TITLES

pytestmark = pytest.mark.xdist_group("site")

LOADING = {"src", "srcset", "data", "poster", "action", "xlink:href"}
"""Attributes whose address a browser asks for by itself. `href` is one of `link` elements alone."""


@dataclass
class Seen:
    """What a page has: the anchors in it, the addresses that it links to, those that it loads."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)


class Reader(HTMLParser):
    """Reads a page."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = Seen()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.seen.anchors.add(value or "")
            elif name == "href" and tag == "a":
                self.seen.links.append(value or "")
            elif name in LOADING or (name == "href" and tag == "link"):
                self.seen.loads.append(value or "")


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Seen]:
    """Path of a page in the site -> what it has."""
    found = {}
    for path in sorted(site.rglob("*.html")):
        reader = Reader()
        reader.feed(path.read_text(encoding="utf-8"))
        found[path.relative_to(site).as_posix()] = reader.seen
    return found


def dead(site: Path, pages: dict[str, Seen]) -> list[str]:
    """Links that lead nowhere: to a file that there is not, or to an anchor that its page has not."""
    wrong = []
    for page, seen in pages.items():
        if page == "404.html":
            continue
        for link in {*seen.links, *seen.loads}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = page if not parts.path else os.path.normpath(os.path.join(os.path.dirname(page), unquote(parts.path)))
            if (site / target).is_dir():
                target = os.path.normpath(f"{target}/index.html")
            there = (site / target).is_file()
            if there and parts.fragment and target in pages:
                there = unquote(parts.fragment) in pages[target].anchors or parts.fragment == "__top"
            if not there:
                wrong.append(f"{page}: {link}")
    return sorted(wrong)


def test_no_link_is_dead(site: Path, pages: dict[str, Seen]) -> None:
    assert dead(site, pages) == []
    assert sum(len(seen.links) for seen in pages.values()) > 5_000


def test_a_dead_link_would_be_noticed(site: Path, pages: dict[str, Seen]) -> None:
    wrong = Seen(links=["../nowhere/", "../language/#nothing", "../language/#types", "https://example.com/"])
    assert dead(site, {**pages, "faq/index.html": wrong}) == [
        "faq/index.html: ../language/#nothing",
        "faq/index.html: ../nowhere/",
    ]


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[str, Seen]) -> None:
    assert [f"{page}: {one}" for page, seen in pages.items() for one in seen.loads if re.match(r"[a-z]*:?//", one)] == []
    styles = "\n".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", styles) == []
    whole = "\n".join(path.read_text(encoding="utf-8") for path in site.rglob("*.html"))
    assert 'class="mermaid"' not in whole, "the theme would fetch a script for it"


def test_ael_is_in_colours(site: Path) -> None:
    page = (site / "language" / "index.html").read_text(encoding="utf-8")
    assert '<span class="kd">permission</span>' in page
    assert '<span class="kt">String</span>' in page
    assert page.count('class="highlight"') > 10


def test_the_search_knows_the_pages(site: Path, pages: dict[str, Seen]) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    text = {entry["location"]: f"{entry['title']} {entry['text']}" for entry in index["docs"]}
    assert "budget" in text["language/#permissions-tools-nodes"]
    assert "AEL0301" in text["errors/AEL0301/"]
    found = {location.partition("#")[0] for location in text}
    assert {page.removesuffix("index.html") for page in pages if page != "404.html"} == found


def prose(text: str) -> str:
    """A page of Markdown without its code."""
    kept, fence = [], ""
    for line in text.split("\n"):
        found = re.match(r" *(`{3,})", line)
        if found is not None and (not fence or line.strip() == fence):
            fence = "" if fence else found[1]
        elif not fence:
            kept.append(re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", line))
    return "\n".join(kept)


@pytest.mark.feature("A17.13")
def test_every_page_has_a_twin_and_llms_txt_lists_it(site: Path, pages: dict[str, Seen]) -> None:
    listed = (site / "llms.txt").read_text(encoding="utf-8")
    links = re.findall(r"^- \[[^\]]+\]\(([^)]+)\)", listed, re.MULTILINE)
    assert len(links) == len(set(links))
    for page in pages.keys() - {"404.html"}:
        twin = f"{page.removesuffix('html')}md"
        text = (site / twin).read_text(encoding="utf-8")
        assert text.lstrip().startswith("#"), twin
        assert twin in links or page.startswith("project/"), twin
        for link in re.findall(r"\]\(([^)\s:`]+\.md)[^)]*\)", prose(text)):
            assert (site / os.path.normpath(os.path.join(os.path.dirname(twin), link))).is_file(), (twin, link)
    assert listed.startswith("# AEL\n\n> ")
    whole = (site / "llms-full.txt").read_text(encoding="utf-8")
    assert "# The language\n" in whole
    assert "# AEL for agents that write it\n" in whole


@pytest.mark.feature("C4")
def test_every_diagnostic_has_a_page_in_the_site(site: Path) -> None:
    index = (site / "errors" / "index.html").read_text(encoding="utf-8")
    for code in TITLES:
        assert (site / "errors" / code / "index.html").is_file(), code
        assert f'href="{code}/"' in index, code
