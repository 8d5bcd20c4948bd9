"""The site in a real browser: its search finds pages, and nobody else is asked for anything."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.browser import FLAGS, browser_path

pytestmark = pytest.mark.xdist_group("site")
LONG = 60_000
"""Milliseconds for anything to appear."""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files, and says nothing."""

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served on this machine."""
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def page() -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=list(FLAGS))
        found = browser.new_page()
        found.set_default_timeout(LONG)
        yield found
        browser.close()


@pytest.mark.timeout(300)
def test_the_search_finds_a_page_and_nobody_else_is_asked(address: str, page: Page) -> None:
    asked: list[str] = []
    wrong: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.goto(address)
    page.locator("input.md-search__input").click()
    page.keyboard.type("AEL0403")
    first = page.locator(".md-search-result__link").first
    first.wait_for()
    first.click()
    page.wait_for_url("**/errors/AEL0403/**")
    assert "Uncertain" in page.locator("article h1").inner_text()
    page.goto(f"{address}tutorial/")
    assert page.locator("article .highlight .kd").first.inner_text() in ("pack", "permission")
    assert [url for url in asked if not url.startswith(address)] == []
    assert len(asked) > 10
    assert wrong == []
