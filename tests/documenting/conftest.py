"""Books of programs given as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from ael.diagnostics.diagnostic import Bag, Severity
from ael.documenting.book import book_of
from ael.documenting.item import Book, Item, Page, Part, Ref
from ael.documenting.names import Names
from ael.documenting.pack import Documented, open_documented
from tests.cli.conftest import ael
from tests.programs import brief, write

__all__ = ["Read", "ael", "read"]


@dataclass
class Read:
    """What is documented, with its pages."""

    documented: Documented
    book: Book
    names: Names

    def page(self, module: str) -> Page:
        return next(page for page in self.book.pages if page.module == module)

    def item(self, name: str, module: str = "main") -> Item:
        return next(item for item in self.page(module).items if item.name == name)


Reader = Callable[..., Read]


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    """Read a program, a pack where it has a `pack.ael`."""
    monkeypatch.chdir(tmp_path)

    def of(files: Mapping[str, str] | str, *, private: bool = False) -> Read:
        given = {"main.ael": files} if isinstance(files, str) else files
        write(tmp_path, given)
        bag = Bag()
        documented = open_documented(Path(), bag, private_too=private)
        assert [brief(found, tmp_path) for found in bag.sorted() if found.severity is Severity.ERROR] == []
        assert documented is not None
        return Read(documented, *book_of(documented, private=private))

    return of


def said(item: Item | Part) -> dict[str, list[str]]:
    """The facts of a declaration, in words."""
    facts = (*item.summary, *item.facts) if isinstance(item, Item) else item.facts
    return {
        fact.key: ["".join(part.text if isinstance(part, Ref) else part for part in value) for value in fact.values]
        for fact in facts
    }
