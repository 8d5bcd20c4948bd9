"""Prices from their sources to a run's cost: a kept table, the deployment over it, each with the day it holds from (feature A13.5)."""

from __future__ import annotations

import asyncio
import json
import threading
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ael.host import open_host
from ael.models import prices
from ael.models.prices import PriceTable
from ael.models.script import parse_script
from ael.models.scripted import ScriptedProvider
from ael.run.bindings import BoundModel, Options
from ael.run.outcome import Outcome
from tests.programs import open_files

pytestmark = pytest.mark.feature("A13.5")

MAIN = """
model fast { provider openai, name "own-model" }
node main(q: String(max: 20)) -> String(max: 20)
  model fast
  policy one_call
  budget tokens 9_000
{ instructions "Answer." }
"""
PRICED = """
price "own-model" input $1.00 output $2.00
price "own-model" input $10.00 output $20.00 since "2026-02-01"
price "own-model" input $7.00 output $7.00 since "2999-01-01"
price "gpt-5-mini" input $0.00 output $0.00
"""


def table(folder: Path, day: date) -> PriceTable:
    opened, bag = open_files(folder, {"main.ael": MAIN, "deploy.ael": PRICED})
    assert opened is not None, [d.message for d in bag.sorted()]
    return PriceTable(opened.deployment.prices, today=day, path=prices.SHIPPED)


@pytest.mark.parametrize(
    ("day", "cost"),
    [
        (date(2020, 1, 1), "1.00"),
        (date(2026, 1, 31), "1.00"),
        (date(2026, 2, 1), "10.00"),
        (date(2998, 12, 31), "10.00"),
        (date(2999, 1, 1), "7.00"),
    ],
)
def test_of_the_lines_of_a_deployment_the_one_holds_whose_day_came_last(tmp_path: Path, day: date, cost: str) -> None:
    """To the day, in whatever order they are written."""
    found = table(tmp_path, day).price("openai", "own-model")
    assert found is not None
    assert found.input == Decimal(cost)


def test_a_deployment_goes_before_the_table_and_changes_nothing_else(tmp_path: Path) -> None:
    made = table(tmp_path, date(2026, 3, 1))
    plain = PriceTable(today=date(2026, 3, 1), path=prices.SHIPPED)
    overridden, listed = made.price("openai", "gpt-5-mini"), plain.price("openai", "gpt-5-mini")
    assert overridden is not None
    assert listed is not None
    assert overridden.input == 0 < listed.input
    assert made.price("anthropic", "claude-haiku-4-5") == plain.price("anthropic", "claude-haiku-4-5")
    assert plain.price("openai", "own-model") is None


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('price "m" input $1.00', "a price says its `output`"),
        ('price "m" input 1 output $2.00', "`input` takes money for a million tokens"),
        ('price "m" input $1.00 output $2.00 since "tomorrow"', "`since` takes a date"),
        ('price "m" input $1.00 output $2.00 input $3.00', "`input` is said twice"),
        ('price "m" input $1.00 output $2.00 discount $3.00', "there is no `discount` here"),
        ("price m input $1.00 output $2.00", "a `price` line has no place for this"),
    ],
)
def test_a_price_that_is_not_whole_is_refused(tmp_path: Path, line: str, says: str) -> None:
    """None of a wrong line holds: a price that was half read would be a wrong price."""
    opened, bag = open_files(tmp_path, {"main.ael": MAIN, "deploy.ael": line + "\n"})
    assert opened is None
    assert any(says in d.message for d in bag.sorted()), [d.message for d in bag.sorted()]


def test_the_price_of_the_day_is_what_a_run_costs(tmp_path: Path) -> None:
    """Also for a model that would be free: the deployment's word is the word."""
    opened, bag = open_files(tmp_path, {"main.ael": MAIN, "deploy.ael": PRICED})
    assert opened is not None, [d.message for d in bag.sorted()]
    script: Any = [{"final": "yes", "usage": {"input": 1_000, "output": 500}}]
    models = {"main.fast": BoundModel(ScriptedProvider(parse_script(script)), "own-model")}

    async def go() -> Outcome:
        async with open_host(opened, "main.main", models=models) as host:
            return await host.engine.start("main.main", {"q": "?"}, Options(caller="c")).outcome()

    assert asyncio.run(go()).spent.cost == (1_000 * Decimal(10) + 500 * Decimal(20)) / 1_000_000


def _library(write: Any) -> Any:
    return lambda name: SimpleNamespace(main=write)


def test_a_table_is_loaded_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What breaks off in the middle of writing leaves the prices of before, and no half table for the next start."""
    monkeypatch.setenv("AEL_CACHE", str(tmp_path))
    monkeypatch.setattr(prices, "installed_version", lambda: "999.0")

    def breaks(path: Path) -> None:
        path.write_text('{"version":"999.0","providers":{"openai":[')
        raise OSError("no space left")

    monkeypatch.setattr(prices, "import_module", _library(breaks))
    assert prices.current() == prices.SHIPPED
    assert list(tmp_path.iterdir()) == []

    def writes(path: Path) -> None:
        path.write_text(json.dumps({"version": "999.0", "providers": {"openai": [{"match": ["is", "m"], "prices": [
            {"since": "", "steps": [[0, "1", "1", None, None]]}]}]}}))  # fmt: skip

    monkeypatch.setattr(prices, "import_module", _library(writes))
    assert prices.current() == tmp_path / "prices-999.0.json"
    assert PriceTable(path=prices.current()).price("openai", "m") is not None


def test_many_starts_at_once_see_a_whole_table_or_the_shipped_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AEL_CACHE", str(tmp_path))
    monkeypatch.setattr(prices, "installed_version", lambda: "999.0")
    pause = threading.Event()

    def slowly(path: Path) -> None:
        with path.open("w") as file:
            file.write('{"version":"999.0","providers":{')
            file.flush()
            pause.wait(0.01)
            file.write("}}")

    monkeypatch.setattr(prices, "import_module", _library(slowly))
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(json.loads(prices.current().read_text()))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all("providers" in one for one in found)
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".json"] == ["prices-999.0.json"]
