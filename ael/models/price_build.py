"""Makes the price table that ships (`python -m ael.models.price_build`) from the library `genai-prices`.

The library takes some 0.6 s to load, far more than a run takes to start; the table takes 5 ms. This module is loaded when the
table is
made: for a release, and once after the library was updated.
"""

from __future__ import annotations

import sys
from datetime import date
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path

from genai_prices import types as library
from genai_prices.data import providers

from ael.models.wire import encode

PROVIDERS = frozenset({"anthropic", "deepseek", "google", "groq", "mistral", "openai", "openrouter"})
"""The providers that AEL can call and that ask for money."""

_CLASSES = ("input", "output", "cache_read", "cache_write")
_ATOMS = {
    library.ClauseEquals: ("is", "equals"),
    library.ClauseStartsWith: ("starts", "starts_with"),
    library.ClauseEndsWith: ("ends", "ends_with"),
    library.ClauseContains: ("has", "contains"),
    library.ClauseRegex: ("matches", "regex"),
}


def table() -> dict[str, object]:
    """The table: for each provider its models, in the library's order."""
    found = {provider.id: [_model(model) for model in provider.models] for provider in providers if provider.id in PROVIDERS}
    kept = {name: [model for model in models if model["prices"]] for name, models in found.items()}
    return {"version": version("genai-prices"), "providers": kept}


def _model(model: library.ModelInfo) -> dict[str, object]:
    given = model.prices if isinstance(model.prices, list) else [library.ConditionalPrice(constraint=None, prices=model.prices)]
    prices = []
    for entry in given:
        since = ""
        if isinstance(entry.constraint, library.StartDateConstraint):
            since = entry.constraint.start_date.isoformat()
        elif entry.constraint is not None:
            # A discount by the hour: the full price is the one that no bill goes over.
            continue
        steps = _steps(entry.prices)
        if steps:
            prices.append({"since": since, "steps": steps})
    made: dict[str, object] = {"id": model.id, "match": _clause(model.match), "prices": prices}
    if model.context_window:
        made["window"] = model.context_window
    return made


def _steps(price: library.ModelPrice) -> list[object]:
    """Prices by the size of the prompt: `[from tokens, input, output, cache read, cache write]`, as texts. Empty: not priced
    by tokens.
    """
    amounts = [getattr(price, f"{name}_mtok", None) for name in _CLASSES]
    if amounts[0] is None:
        return []
    starts = sorted({0} | {tier.start for amount in amounts if isinstance(amount, library.TieredPrices) for tier in amount.tiers})
    return [[start, *(_text(_at(amount, start)) for amount in amounts)] for start in starts]


def _at(amount: Decimal | library.TieredPrices | None, tokens: int) -> Decimal | None:
    if not isinstance(amount, library.TieredPrices):
        return amount
    reached = [tier.price for tier in sorted(amount.tiers, key=lambda tier: tier.start) if tier.start <= tokens]
    return reached[-1] if reached else amount.base


def _text(amount: Decimal | None) -> str | None:
    return None if amount is None else format(amount, "f")


def _clause(clause: object) -> list[object]:
    if isinstance(clause, library.ClauseOr):
        return ["or", *map(_clause, clause.or_)]
    if isinstance(clause, library.ClauseAnd):
        return ["and", *map(_clause, clause.and_)]
    for kind, (word, name) in _ATOMS.items():
        if isinstance(clause, kind):
            return [word, getattr(clause, name)]
    raise TypeError(f"a new way of matching: {type(clause).__name__}")


def main(path: Path) -> None:
    """Write the table."""
    path.write_bytes(encode({**table(), "made": date.today().isoformat()}) + b"\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("price_table.json"))
