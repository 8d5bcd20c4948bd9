"""Prices: the deployment's word, the kept library's table, and nothing made up (fault kinds K03, K04)."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from ael.models import prices
from ael.models.price_build import table
from ael.models.prices import FREE, PriceTable, matches
from ael.project.deployment import PriceEntry
from ael.run.ports import Price

DAY = date(2026, 6, 1)


def made(tmp_path: Path, *entries: dict[str, object]) -> PriceTable:
    path = tmp_path / "table.json"
    path.write_text(json.dumps({"version": "1", "providers": {"openai": entries}}))
    return PriceTable(today=DAY, path=path)


def entry(*prices: dict[str, object], match: object = None, **more: object) -> dict[str, object]:
    return {"id": "m", "match": match or ["is", "m"], "prices": list(prices), **more}


def test_the_shipped_table_knows_the_usual_models() -> None:
    found = PriceTable(path=prices.SHIPPED)
    for provider, model in (
        ("openai", "gpt-5-mini"),
        ("anthropic", "claude-haiku-4-5"),
        ("anthropic", "claude-haiku-4-5-20251001"),
    ):
        price = found.price(provider, model)
        assert price is not None
        assert 0 < price.cache_read < price.input < price.output
    haiku = found.price("anthropic", "claude-haiku-4-5")
    assert haiku is not None
    assert haiku.cache_write == haiku.input * Decimal("1.25")
    window = found.window("openai", "gpt-5-mini")
    assert window is not None
    assert window >= 128_000


def test_the_shipped_table_is_the_installed_librarys() -> None:
    shipped = json.loads(prices.SHIPPED.read_bytes())
    assert shipped["version"] == prices.shipped_version() == prices.installed_version()
    assert shipped["providers"] == json.loads(json.dumps(table()["providers"]))


def test_the_table_agrees_with_the_library_itself() -> None:
    """Each model that the table prices costs what the library says it costs."""
    from datetime import UTC, datetime

    from genai_prices import Usage, calc_price

    now = datetime.now(UTC)
    found = PriceTable(path=prices.SHIPPED)
    for provider, model in (
        ("openai", "gpt-5-mini"),
        ("openai", "gpt-4o"),
        ("anthropic", "claude-haiku-4-5"),
        ("anthropic", "claude-sonnet-4-5"),
    ):
        price = found.price(provider, model)
        assert price is not None
        usage = Usage(input_tokens=1_000_000, output_tokens=1_000_000)
        theirs = calc_price(usage, model, provider_id=provider, genai_request_timestamp=now).total_price
        at = price.at(1_000_000)
        assert at.input + at.output == theirs


@pytest.mark.feature("A7.9")
def test_an_unknown_model_has_no_price() -> None:
    """K03: unknown is never free."""
    found = PriceTable(path=prices.SHIPPED)
    assert found.price("openai", "no-such-model") is None
    assert found.price("no-such-provider", "gpt-5-mini") is None


def test_a_table_that_cannot_be_read_knows_nothing(tmp_path: Path) -> None:
    for content in (b"", b"[]", b"{", b'{"providers": 7}', b'{"providers": {"openai": [7, {"match": 7}]}}'):
        path = tmp_path / "broken.json"
        path.write_bytes(content)
        assert PriceTable(path=path).price("openai", "gpt-5-mini") is None
    assert PriceTable(path=tmp_path / "none.json").price("openai", "gpt-5-mini") is None


def test_models_on_the_users_own_machine_are_free() -> None:
    found = PriceTable(path=prices.SHIPPED)
    for provider in ("scripted", "replay", "local", "ollama", "vllm", "llamacpp"):
        assert found.price(provider, "anything") == FREE


def test_the_deployment_comes_first_and_zero_means_zero() -> None:
    """K03."""
    overrides = (
        PriceEntry("gpt-5-mini", Decimal("0"), Decimal("0")),
        PriceEntry("own", Decimal("1.5"), Decimal("3"), cache_read=Decimal("0.1")),
        PriceEntry("local-but-paid", Decimal("1"), Decimal("1")),
    )
    found = PriceTable(overrides, today=DAY, path=prices.SHIPPED)
    assert found.price("openai", "gpt-5-mini") == Price(Decimal(0), Decimal(0), Decimal(0), Decimal(0))
    assert found.price("openai", "own") == Price(Decimal("1.5"), Decimal("3"), Decimal("0.1"), Decimal("1.5"))
    assert found.price("local", "local-but-paid") == Price(Decimal(1), Decimal(1), Decimal(1), Decimal(1))


def test_the_override_that_holds_today() -> None:
    overrides = (
        PriceEntry("m", Decimal(3), Decimal(3), since="2027-01-01"),
        PriceEntry("m", Decimal(2), Decimal(2), since="2026-01-01"),
        PriceEntry("m", Decimal(1), Decimal(1), since="2025-01-01"),
    )
    found = PriceTable(overrides, today=DAY, path=prices.SHIPPED).price("openai", "m")
    assert found is not None
    assert (found.input, found.since) == (Decimal(2), "2026-01-01")


def test_the_listed_price_that_holds_today(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        entry(
            {"since": "", "steps": [[0, "1", "1", None, None]]},
            {"since": "2026-01-01", "steps": [[0, "2", "4", "0.5", None]]},
            {"since": "2027-01-01", "steps": [[0, "9", "9", None, None]]},
        ),
    ).price("openai", "m")
    assert found == Price(Decimal(2), Decimal(4), Decimal("0.5"), Decimal(2), "2026-01-01")


def test_prices_by_the_size_of_the_prompt(tmp_path: Path) -> None:
    found = made(tmp_path, entry({"since": "", "steps": [[0, "1", "2", None, None], [200000, "3", "4", None, None]]})).price(
        "openai", "m"
    )
    assert found is not None
    assert (found.at(200_000).input, found.at(200_001).input) == (Decimal(1), Decimal(3))


def test_prices_are_exact() -> None:
    """K04: decimal, not binary."""
    price = PriceTable((PriceEntry("m", Decimal("0.1"), Decimal("0.2")),), path=prices.SHIPPED).price("x", "m")
    assert price is not None
    assert price.input + price.output == Decimal("0.3")


@pytest.mark.parametrize(
    ("clause", "name", "fits"),
    [
        (["is", "a"], "a", True),
        (["is", "a"], "ab", False),
        (["starts", "a"], "ab", True),
        (["ends", "b"], "ab", True),
        (["has", "b"], "abc", True),
        (["matches", "^a.c$"], "abc", True),
        (["or", ["is", "x"], ["is", "a"]], "a", True),
        (["and", ["has", "x"], ["has", "a"]], "a", False),
        (["and", ["has", "x"], ["has", "a"]], "xa", True),
        (["brand new", "a"], "a", False),
        ([], "a", False),
        (None, "a", False),
    ],
)
def test_matching(clause: object, name: str, fits: bool) -> None:
    assert matches(clause, name) is fits


def test_a_newer_library_is_read_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AEL_CACHE", str(tmp_path))
    monkeypatch.setattr(prices, "installed_version", lambda: "999.0")
    kept = prices.current()
    assert kept == tmp_path / "prices-999.0.json"
    assert PriceTable(path=kept).price("openai", "gpt-5-mini") is not None
    before = kept.stat().st_mtime_ns
    assert prices.current().stat().st_mtime_ns == before
    monkeypatch.setattr(prices, "installed_version", lambda: "0.0.1")
    assert prices.current() == prices.SHIPPED
    monkeypatch.setattr(prices, "installed_version", lambda: None)
    assert prices.current() == prices.SHIPPED


def test_nowhere_to_keep_it_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("AEL_CACHE", str(blocked))
    monkeypatch.setattr(prices, "installed_version", lambda: "999.0")
    assert prices.current() == prices.SHIPPED
