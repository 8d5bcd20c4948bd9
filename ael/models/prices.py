"""What models cost: the deployment's word first, then the kept library's table with the date a price holds from.

Zero means free, and an unknown model has no price (None), never zero (fault kind K03). The table ships with AEL; when a newer
`genai-prices` is installed its table is made once and kept in the user's cache.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from ael.models.wire import list_of, object_of, text_of
from ael.project.deployment import PriceEntry
from ael.project.shipped import cache_folder
from ael.run.ports import Price

SHIPPED = Path(__file__).with_name("price_table.json")
FREE = Price(Decimal(0), Decimal(0), Decimal(0), Decimal(0))
"""Models that run on the user's own machine."""
_OWN_MACHINE = frozenset({"scripted", "replay", "local", "ollama", "vllm", "llamacpp"})


class PriceTable:
    """Prices by provider and model. `overrides` are the deployment's, later ones first."""

    def __init__(self, overrides: Sequence[PriceEntry] = (), *, today: date | None = None, path: Path | None = None) -> None:
        self._overrides = tuple(overrides)
        self._today = today or datetime.now(UTC).date()
        self._path = path
        self._providers: Mapping[str, object] | None = None
        self._known: dict[tuple[str, str], Price | None] = {}

    def price(self, provider: str, model: str) -> Price | None:
        """The price that holds today, None when nobody says one."""
        key = (provider, model)
        if key not in self._known:
            self._known[key] = self._override(model) or self._listed(provider, model)
        return self._known[key]

    def window(self, provider: str, model: str) -> int | None:
        """The context window in tokens, where the table knows it."""
        entry = self._entry(provider, model)
        window = entry.get("window")
        return window if isinstance(window, int) else None

    def _override(self, model: str) -> Price | None:
        today = self._today.isoformat()
        holding = [entry for entry in self._overrides if entry.model == model and entry.since <= today]
        if not holding:
            return None
        entry = max(reversed(holding), key=lambda given: given.since)
        read = entry.input if entry.cache_read is None else entry.cache_read
        write = entry.input if entry.cache_write is None else entry.cache_write
        return Price(entry.input, entry.output, read, write, entry.since)

    def _listed(self, provider: str, model: str) -> Price | None:
        prices = [object_of(price) for price in list_of(self._entry(provider, model).get("prices"))]
        today = self._today.isoformat()
        for price in reversed(prices):
            if text_of(price.get("since")) <= today:
                return _price(price)
        return _price(prices[0]) if prices else FREE if provider in _OWN_MACHINE else None

    def _entry(self, provider: str, model: str) -> Mapping[str, object]:
        if self._providers is None:
            self._providers = object_of(load(self._path or current()).get("providers"))
        name = model.lower()
        for entry in list_of(self._providers.get(provider)):
            described = object_of(entry)
            if matches(described.get("match"), name):
                return described
        return {}


def _price(entry: Mapping[str, object]) -> Price | None:
    since = text_of(entry.get("since"))
    steps = [(int(str(step[0])), _step(step, since)) for step in list_of(entry.get("steps")) if isinstance(step, list)]
    if not steps:
        return None
    first = steps[0][1]
    return Price(first.input, first.output, first.cache_read, first.cache_write, since, tuple(steps[1:]))


def _step(step: Sequence[object], since: str) -> Price:
    # A class that has no price of its own is part of the input, or of the output.
    given = [None if amount is None else Decimal(str(amount)) for amount in step[1:]]
    plain = given[0] if given[0] is not None else Decimal(0)
    output, read, write = (plain if amount is None else amount for amount in given[1:])
    return Price(plain, output, read, write, since)


def matches(clause: object, name: str) -> bool:
    """Whether a model's name fits the table's clause."""
    if not isinstance(clause, list) or not clause:
        return False
    word, *rest = clause
    match word:
        case "or":
            return any(matches(part, name) for part in rest)
        case "and":
            return all(matches(part, name) for part in rest)
    text = str(rest[0])
    match word:
        case "is":
            return name == text
        case "starts":
            return name.startswith(text)
        case "ends":
            return name.endswith(text)
        case "has":
            return text in name
        case "matches":
            return re.search(text, name) is not None
        case _:
            return False


def load(path: Path) -> Mapping[str, object]:
    """A table's content; an unreadable one is empty, so that its models are unknown rather than free."""
    try:
        return object_of(json.loads(path.read_bytes()))
    except (OSError, ValueError):
        return {}


def current() -> Path:
    """The newest table there is: the shipped one, or that of an installed library which is newer, made once."""
    installed = installed_version()
    if installed is None or _numbers(installed) <= _numbers(shipped_version()):
        return SHIPPED
    kept = cache_folder() / f"prices-{installed}.json"
    if not kept.exists():
        made: Path | None = None
        try:
            kept.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=kept.parent, suffix=".tmp", delete=False) as file:
                made = Path(file.name)
            import_module("ael.models.price_build").main(made)
            os.replace(made, kept)
        except (OSError, ImportError, TypeError, AttributeError):
            # A library of another shape, or nowhere to write: the shipped prices still hold.
            if made is not None:
                made.unlink(missing_ok=True)
            return SHIPPED
    return kept


def shipped_version() -> str:
    """The library's version that the shipped table was made from, read without reading the table."""
    try:
        with SHIPPED.open("rb") as file:
            found = re.match(rb'\{"version":"([0-9.]+)"', file.read(64))
    except OSError:
        return "0"
    return found[1].decode() if found else "0"


def installed_version() -> str | None:
    """The version of the installed library, found without loading it."""
    spec = find_spec("genai_prices")
    if spec is None or spec.origin is None:
        return None
    for folder in Path(spec.origin).parent.parent.glob("genai_prices-*.dist-info"):
        return folder.name.removeprefix("genai_prices-").removesuffix(".dist-info")
    return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:4])
