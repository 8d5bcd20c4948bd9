"""One language server for the tests that leave it as they found it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lsp.client import Editor


@pytest.fixture(scope="session")
def served() -> Iterator[Editor]:
    """A server that many tests ask, each about documents of its own."""
    editor = Editor()
    try:
        editor.start()
        yield editor
    finally:
        editor.kill()


@pytest.fixture
def fresh() -> Iterator[Editor]:
    """A server of the test's own, not started yet."""
    editor = Editor()
    try:
        yield editor
    finally:
        editor.kill()


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A pack of two modules without a problem."""
    (tmp_path / "pack.ael").write_text('pack shop {\n  version "1.0.0"\n}\n', encoding="utf-8")
    (tmp_path / "main.ael").write_text(
        "use ./prices.{Price, twice}\n\nfn total(price: Price) -> Int {\n  twice(price.amount)\n}\n", encoding="utf-8"
    )
    (tmp_path / "prices.ael").write_text(
        "pub record Price {\n  amount: Int\n}\n\npub fn twice(n: Int) -> Int {\n  n * 2\n}\n", encoding="utf-8"
    )
    return tmp_path.resolve()
