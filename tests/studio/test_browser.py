"""The studio in a real browser: by keyboard alone, live, with hostile content, in both themes without a fault that axe finds.

`AEL_SCREENSHOTS=folder` keeps a picture of each view.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser import FLAGS, browser_path
from tests.external.node_tools import npm_packages
from tests.studio.desk import HOSTILE, Served, program, studio, worker

Opened = Callable[..., AbstractContextManager[Page]]
LONG = "x" * 1_000_000
_WAIT = 60_000
_REFUSED = tuple(f"Failed to load resource: the server responded with a status of {status}" for status in (409, 422))
"""What a browser says of a refusal, which the page tells whoever looks at it."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all of it."""
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=browser_path(), args=["--headless=new", *FLAGS])
        yield found
        found.close()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A studio with a run that has ended, one that waits, and one with hostile content."""
    with studio(program(tmp_path_factory.mktemp("browser") / "desk")) as found:
        yield found.enter()


@pytest.fixture(scope="module")
def ended(desk: Served) -> str:
    """A run that was approved, and ended with a value."""
    run = desk.parked()
    desk.decide(run, "approve")
    desk.until(run, "ended")
    return run


@pytest.fixture
def page(browser: Browser) -> Opened:
    """A page of a studio in a browser of its own; nothing that a script or the policy refuses is overlooked."""

    @contextmanager
    def opened(served: Served, scheme: Literal["light", "dark"] = "light") -> Iterator[Page]:
        context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme=scheme, reduced_motion="reduce")
        context.set_default_timeout(_WAIT)
        here = context.new_page()
        wrong: list[str] = []
        here.on("pageerror", lambda error: wrong.append(str(error)))
        here.on(
            "console",
            lambda said: wrong.append(said.text) if said.type == "error" and not said.text.startswith(_REFUSED) else None,
        )
        here.on("request", lambda asked: None if asked.url.startswith(f"http://{served.host}/") else wrong.append(asked.url))
        here.goto(served.addresses[-1])
        expect(here.locator("#live")).to_have_text("live", timeout=_WAIT)
        try:
            yield here
            assert wrong == []
        finally:
            context.close()

    return opened


def picture(here: Page, name: str) -> None:
    """Keep a picture where somebody wants to look at it."""
    folder = os.environ.get("AEL_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        here.screenshot(path=Path(folder) / f"{name}.png")


def go(here: Page, view: str) -> None:
    """Another view of the page."""
    here.evaluate("view => { location.hash = view }", f"#/{view}")


@pytest.mark.feature("B6")
def test_from_the_list_to_the_prompt_by_keyboard_alone(desk: Served, ended: str, page: Opened) -> None:
    with page(desk) as here:
        here.keyboard.press("/")
        here.keyboard.type(ended)
        here.keyboard.press("ArrowDown")
        expect(here.locator("tbody tr")).to_have_count(1)
        picture(here, "runs")
        here.keyboard.press("Enter")
        expect(here.get_by_role("heading", level=1)).to_contain_text("desk")
        here.keyboard.press("t")
        line = here.locator(".line:focus")
        expect(line).to_contain_text("run")
        expect(here.locator(".lines-card")).to_contain_text("edge", timeout=_WAIT)
        expect(line).to_have_attribute("aria-level", "1")
        here.keyboard.press("ArrowLeft")
        expect(line).to_have_attribute("aria-expanded", "false")
        here.keyboard.press("ArrowRight")
        here.keyboard.press("ArrowRight")
        expect(line).to_contain_text("agent")
        expect(line).to_have_attribute("aria-level", "2")
        here.keyboard.press("End")
        expect(line).to_contain_text("finish")
        here.keyboard.press("Home")
        for _ in range(4):
            here.keyboard.press("ArrowDown")
        expect(line).to_contain_text("turn")
        here.keyboard.press("Enter")
        step = here.locator("section.step")
        expect(step.get_by_role("heading", name="Prompt as sent")).to_be_visible()
        expect(step.locator(".message.system")).to_contain_text("Answer the ticket. Refund what was charged twice.")
        expect(step.locator(".message.user")).to_contain_text("Charged twice!")
        expect(step).to_contain_text("Tools offered: refund")
        expect(step.get_by_role("heading", name="Response")).to_be_visible()
        expect(step).to_contain_text("approved by ann")
        expect(line).to_be_focused()
        picture(here, "run")
        here.keyboard.press("p")
        expect(here.locator(".point:focus")).to_have_attribute("aria-label", "answer fast: visited once, done")
        here.keyboard.press("?")
        expect(here.get_by_role("dialog")).to_contain_text("fork from the step")
        here.keyboard.press("Escape")
        here.keyboard.press("g")
        here.keyboard.press("r")
        expect(here.get_by_role("heading", level=1)).to_have_text("Runs")
    assert [one["with"] for one in desk.get(f"runs/{ended}/readers").json if "turn1" in one["with"]] != []


@pytest.mark.feature("B6")
def test_a_run_of_a_worker_is_followed_and_its_approval_granted_once(tmp_path: Path, page: Opened) -> None:
    with studio(program(tmp_path / "desk")) as found, page(found.enter()) as here:
        go(here, "start")
        here.get_by_label("customer").fill("c-1")
        here.get_by_label("message").fill("Charged twice!")
        here.get_by_label("order_id").fill("wrong")
        here.get_by_label("Executed").select_option("by a worker")
        here.get_by_role("button", name="Start").click()
        expect(here.locator(".field-problem")).to_be_visible()
        expect(here.get_by_label("order_id")).to_be_focused()
        picture(here, "start")
        here.get_by_label("order_id").fill("A-42")
        here.get_by_role("button", name="Start").click()
        expect(here.locator(".name-line .badge")).to_contain_text("ready")
        expect(here.locator(".point.visited")).to_have_count(0)
        with worker(found.folder):
            expect(here.locator(".name-line .badge")).to_contain_text("waiting", timeout=_WAIT)
            expect(here.locator('.point[data-name="answer"]')).to_have_class("point model s-parked visited", timeout=_WAIT)
            ask = here.locator("section.ask")
            expect(ask).to_contain_text('"amount": "19.90"')
            expect(here.locator("#waits")).to_have_text("1")
            picture(here, "live")
            ask.get_by_role("button", name="Deny").click()
            expect(ask.get_by_role("alert")).to_contain_text("A no needs a reason")
            ask.get_by_role("button", name="Approve").click()
            expect(here.locator(".name-line .badge")).to_contain_text("done", timeout=_WAIT)
            expect(here.locator('.point[data-name="finish"]')).to_have_class("point end s-value visited", timeout=_WAIT)
            expect(here.locator("#waits")).to_be_hidden(timeout=_WAIT)
        run = here.url.rpartition("/")[2]
        expect(here.locator("section.ask")).to_have_count(0)
        assert found.get(f"runs/{run}?brief=1").json["ending"] == "value"
        assert found.booked() == 1


@pytest.mark.feature("B6")
def test_what_a_model_says_is_shown_as_it_says_it(desk: Served, page: Opened) -> None:
    with page(desk) as here:
        run = desk.begin("slow, please")
        go(here, f"runs/{run}")
        expect(here.locator(".saying")).to_contain_text("word by word")
        expect(here.locator(".name-line .badge")).to_contain_text("done", timeout=_WAIT)
        expect(here.locator(".saying")).to_be_hidden()
        here.keyboard.press("t")
        focused = here.evaluate("document.activeElement.className")
        assert "line" in focused


@pytest.mark.feature("B6")
def test_hostile_content_stays_text(desk: Served, page: Opened) -> None:
    run = desk.parked(f"hostile {HOSTILE} {LONG}")
    with page(desk) as here:
        go(here, f"runs/{run}")
        ask = here.locator("section.ask")
        expect(ask).to_contain_text("<b>A-1</b>")
        ask.get_by_label("Reason").fill("<img src=x onerror=window.pwned=1>")
        ask.get_by_role("button", name="Deny").click()
        desk.until(run, "ready", "running", "ended")
        expect(here.locator(".name-line .badge")).to_contain_text("done", timeout=_WAIT)
        for path in [span["path"] for span in desk.get(f"runs/{run}").json["spans"] if span["kind"] == "turn"]:
            turn = here.locator(".line.k-turn").nth(int(path[-1]) - 1)
            turn.click()
            expect(here.locator("section.step")).to_contain_text("<script>window.pwned=1</script>", timeout=_WAIT)
        step = here.locator("section.step")
        expect(step).to_contain_text("safe⟨U+202E⟩gnp.exe nul⟨U+0000⟩ bell⟨U+0007⟩ &lt;b&gt;")
        more = step.get_by_role("button", name="Show all 1,").first
        more.click()
        expect(more).to_have_count(0)
        assert here.evaluate("window.pwned") is None
        assert here.locator("main img, main iframe, main script, main b").count() == 0
        here.locator(".line.k-run").click()
        expect(step).to_contain_text("<img src=x onerror=")
        assert here.evaluate("window.pwned") is None


@pytest.mark.feature("B7")
def test_a_fork_from_a_step_and_two_runs_beside_each_other(desk: Served, ended: str, page: Opened) -> None:
    before = desk.booked()
    with page(desk) as here:
        go(here, f"runs/{ended}")
        here.locator(".line.k-tool").click()
        here.get_by_role("button", name="Fork from here").click()
        box = here.get_by_role("dialog")
        expect(box).to_contain_text("1 call served from the record")
        box.get_by_role("button", name="Another result of this step").click()
        expect(box.get_by_label("Value, as JSON")).to_have_value('"R-A-42"')
        box.get_by_label("Value, as JSON").fill("7")
        expect(box.get_by_role("alert")).to_contain_text("this is no result of `main.refund`")
        box.get_by_label("Value, as JSON").fill('"R-other"')
        expect(box).to_contain_text("1 model turn again")
        picture(here, "fork")
        box.get_by_role("button", name="Make the fork").click()
        expect(here.get_by_text("Forked from")).to_be_visible()
        expect(here.locator(".name-line .badge")).to_contain_text("done", timeout=_WAIT)
        here.get_by_role("link", name="Compare with its original").click()
        expect(here.get_by_text("They first differ at")).to_be_visible()
        expect(here.locator("main")).to_contain_text("R-other")
        picture(here, "compare")
    assert desk.booked() == before


@pytest.mark.feature("B6")
def test_a_live_update_leaves_the_focus_and_what_is_written(desk: Served, page: Opened) -> None:
    run = desk.parked()
    with page(desk) as here:
        go(here, "inbox")
        card = here.locator("section.ask").filter(has_text=run)
        card.get_by_label("Reason").fill("half a sent")
        other = desk.parked()
        expect(here.locator("section.ask").filter(has_text=other)).to_be_visible()
        expect(card.get_by_label("Reason")).to_be_focused()
        expect(card.get_by_label("Reason")).to_have_value("half a sent")
        picture(here, "inbox")
        desk.decide(other, "deny", reason="elsewhere")
        expect(here.locator("section.ask").filter(has_text=other)).to_have_count(0)
        expect(card.get_by_label("Reason")).to_have_value("half a sent")
        go(here, "")
        link = here.get_by_role("link", name=run)
        link.focus()
        last = desk.begin(entry="main.books")
        expect(here.get_by_role("link", name=last)).to_be_visible()
        expect(link).to_be_focused()
        desk.decide(run, "deny", reason="enough")


@pytest.mark.feature("B6")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(desk: Served, ended: str, page: Opened, scheme: Literal["light", "dark"]) -> None:
    axe = npm_packages("the accessibility of the studio", "axe-core@4.14") / "node_modules" / "axe-core" / "axe.min.js"
    source = axe.read_text("utf-8")
    waiting = desk.parked()

    def look(here: Page, what: str) -> None:
        here.evaluate(source)
        found: Any = here.evaluate("axe.run(document, { resultTypes: ['violations'] })")
        told = [
            f"{what}: {one['id']}: {node['target']} {node['failureSummary']}"
            for one in found["violations"]
            for node in one["nodes"]
        ]
        assert told == []
        picture(here, f"{what}-{scheme}")

    with page(desk, scheme) as here:
        expect(here.locator("tbody tr").first).to_be_visible()
        look(here, "runs")
        go(here, f"runs/{ended}")
        here.locator(".line.k-turn").first.click()
        expect(here.get_by_role("heading", name="Prompt as sent")).to_be_visible()
        look(here, "run")
        here.keyboard.press("f")
        expect(here.get_by_role("dialog")).to_contain_text("model turn")
        look(here, "fork")
        here.keyboard.press("Escape")
        here.keyboard.press("?")
        look(here, "keys")
        here.keyboard.press("Escape")
        go(here, f"runs/{waiting}")
        expect(here.locator("section.ask")).to_be_visible()
        look(here, "waiting")
        go(here, "inbox")
        expect(here.locator("section.ask").first).to_be_visible()
        look(here, "inbox")
        go(here, "start")
        here.get_by_label("order_id").fill("wrong")
        here.get_by_role("button", name="Start").click()
        expect(here.get_by_role("alert")).to_be_visible()
        look(here, "start")
        go(here, f"diff/{ended}/{waiting}")
        expect(here.get_by_text("They first differ at")).to_be_visible()
        look(here, "diff")
    desk.decide(waiting, "deny", reason="enough")


def test_a_page_without_its_address_shows_nothing(desk: Served, browser: Browser) -> None:
    context = browser.new_context()
    here = context.new_page()
    here.goto(desk.url)
    expect(here.get_by_text("does not open the studio")).to_be_visible()
    assert here.locator("table").count() == 0
    context.close()


PAY = """\
permission pay.out
role finance

/// Pay into an account.
tool pay(account: Int) -> Int
  needs pay.out
  repeat idempotent
  approval required by finance
{
  account
}

node main(account: Int) -> Int
  grants pay.out
{
  pay(account)
}
"""
DIGITS = "12345678901234567890"
"""An account whose last digits a number of the browser has not."""


@pytest.mark.feature("B6")
def test_a_long_number_is_shown_and_sent_to_its_last_digit(tmp_path: Path, page: Opened) -> None:
    files = {"main_ael": PAY, "deploy_ael": 'runs = sqlite("runs.db")\nrole finance = ["ann"]\n'}
    with studio(program(tmp_path / "pay", **files)) as found, page(found.enter()) as here:
        go(here, "start")
        here.get_by_label("account").fill(DIGITS)
        here.get_by_role("button", name="Start").click()
        ask = here.locator("section.ask")
        expect(ask).to_contain_text(f'"account": {DIGITS}', timeout=_WAIT)
        ask.get_by_text("Other arguments").click()
        edited = ask.get_by_label("Arguments as JSON")
        expect(edited).to_have_value(f'{{\n  "account": {DIGITS}\n}}')
        edited.fill(f'{{"account": {DIGITS[:-1]}7}}')
        ask.get_by_role("button", name="Approve").click()
        expect(here.locator(".name-line .badge")).to_contain_text("done", timeout=_WAIT)
        run = here.url.rpartition("/")[2]
        assert found.get(f"runs/{run}/step").json["outcome"]["value"] == int(f"{DIGITS[:-1]}7")


def test_the_page_is_small() -> None:
    folder = Path(__file__).parents[2] / "ael" / "studio" / "page"
    assert sum(file.stat().st_size for file in folder.iterdir()) < 104 * 1024
    texts = {file.name: file.read_text("utf-8") for file in folder.iterdir()}
    assert not [
        name for name, text in texts.items() if "innerHTML" in text or "insertAdjacentHTML" in text or "document.write" in text
    ]
    outside = [
        name for name, text in texts.items() if "https://" in text or "http://" in text.replace("http://www.w3.org/2000/svg", "")
    ]
    assert outside == []
