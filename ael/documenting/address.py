"""Where everything is in the folder that is written: each module has a page in HTML and its twin in Markdown."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import quote

from ael.data import dataclass
from ael.documenting.item import Book
from ael.documenting.names import Target

INDEX = "index"


@dataclass(frozen=True, eq=False)
class Addresses:
    """Of one kind of pages: `ending` is `html` or `md`. What is not documented has no address."""

    ending: str
    known: frozenset[tuple[str, str]]

    def file(self, module: str) -> str:
        """The page of a module, as a path below the folder. That of a module `index` gives way to the index."""
        return f"{module}.module.{self.ending}" if module == INDEX else f"{module}.{self.ending}"

    def source(self, module: str) -> str:
        """The page of its source."""
        return f"source/{module}.html"

    def of(self, target: Target, page: str) -> str:
        """The address of something as seen from a page (its path), "" where it has none."""
        if (target.module, target.anchor) not in self.known:
            return ""
        file = self.file(target.module)
        here = file == page
        where = "" if here else relative(page, file)
        if not target.anchor:
            return where or quote(posixpath.basename(file))
        return f"{where}#{target.anchor if self.ending == 'html' else _heading(target)}"


def addresses(book: Book, ending: str) -> Addresses:
    """The addresses of a book."""
    known = {(page.module, "") for page in book.pages}
    for page in book.pages:
        for item in page.items:
            known.add((page.module, item.anchor))
            known |= {(page.module, part.anchor) for part in item.parts}
    return Addresses(ending, frozenset(known))


def relative(page: str, file: str) -> str:
    """The address of a file from a page, both paths below the folder."""
    return quote(posixpath.relpath(file, posixpath.dirname(page) or "."))


def _heading(target: Target) -> str:
    """The anchor that Markdown gives the heading of a declaration; its parts have none of their own."""
    own = target.qualified.removeprefix(f"{target.module}.")
    return heading_anchor(f"{target.kind} {own}")


def heading_anchor(text: str) -> str:
    """As the common renderers make it."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
