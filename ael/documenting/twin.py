"""The pages as Markdown: the twin of each page in HTML, for people in a terminal and for models (`llms.txt` lists them)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ael.documenting.address import INDEX, Addresses, relative
from ael.documenting.comment import sentence
from ael.documenting.comments import Comments
from ael.documenting.item import Book, Fact, Item, Page, Part, Ref, Said
from ael.documenting.names import Names
from ael.documenting.titles import GLANCE, glanced, grouped, place_text


class Markdown:
    """Writes the pages of a book."""

    def __init__(self, book: Book, names: Names, addresses: Addresses) -> None:
        self.book = book
        self.addresses = addresses
        self.comments = Comments(names, addresses)

    def page(self, page: Page) -> str:
        """The page of a module."""
        file = self.addresses.file(page.module)
        parts = [f"# Module `{page.module}`"]
        if page.comment is not None:
            parts.append(self.comments.markdown(page.comment, page.module, file))
        parts += self._facts(page.facts, file)
        parts += self._glance([(page, item) for item in page.items], file)
        for title, items in grouped(page.items):
            parts.append(f"## {title}")
            for item in items:
                parts += self._item(page, item, file)
        return _whole(parts)

    def index(self) -> str:
        """The page that one begins with."""
        file = f"{INDEX}.md"
        parts = [f"# {self.book.title}{f' {self.book.version}' if self.book.version else ''}"]
        if self.book.intro is not None:
            parts.append(self.comments.markdown(self.book.intro, self.book.intro_module, file))
        parts += self._facts(self.book.facts, file)
        rows = [
            f"| [`{page.module}`]({relative(file, self.addresses.file(page.module))}) | {_cell(_purpose(page))} |"
            for page in self.book.pages
        ]
        parts += ["## Modules", "\n".join(["| Module | What it is for |", "| --- | --- |", *rows])]
        parts += self._glance([(page, item) for page in self.book.pages for item in page.items], file)
        return _whole(parts)

    def llms(self) -> str:
        """`llms.txt` (https://llmstxt.org): what there is, with a sentence on each page."""
        parts = [f"# {self.book.title}"]
        if self.book.intro is not None:
            parts.append(f"> {sentence(self.book.intro.text)}")
        parts.append(
            "A pack in AEL, a typed language for agents: what its modules declare, with permissions, repeat safety, errors and budgets."
        )
        lines = ["- [Index](index.md): all modules, and all that can be called"]
        for page in self.book.pages:
            purpose = _purpose(page)
            lines.append(
                f"- [{page.module}]({relative('llms.txt', self.addresses.file(page.module))}){f': {purpose}' if purpose else ''}"
            )
        parts += ["## Modules", "\n".join(lines), "## Optional", "- [Everything in one file](llms-full.txt)"]
        return _whole(parts)

    def whole(self) -> str:
        """`llms-full.txt`: all pages, one after the other."""
        return "\n\n".join([self.index().rstrip("\n"), *(self.page(page).rstrip("\n") for page in self.book.pages)]) + "\n"

    # --- declarations ----------------------------------------------------------------------------------------------------

    def _item(self, page: Page, item: Item, file: str) -> Iterator[str]:
        yield f"### {item.kind} `{item.name}`"
        yield f"```ael\n{''.join(piece.text for piece in item.pieces)}\n```"
        if item.comment is not None:
            yield self.comments.markdown(item.comment, page.module, file)
        yield from self._facts((*item.summary, *item.facts), file)
        for part in item.parts:
            yield from self._part(page, item, part, file)
        source = item.place.source
        yield f"Source: {place_text(source, source.position(item.place.span.start).line)}"

    def _part(self, page: Page, item: Item, part: Part, file: str) -> Iterator[str]:
        if part.comment is None and not part.facts:
            return
        yield f"#### `{item.name}.{part.name}`"
        if part.comment is not None:
            yield self.comments.markdown(part.comment, page.module, file)
        yield from self._facts(part.facts, file)

    def _facts(self, facts: Sequence[Fact], file: str) -> Iterator[str]:
        if facts:
            yield "\n".join(f"- {fact.label}: {self._values(fact, file)}" for fact in facts)

    def _values(self, fact: Fact, file: str) -> str:
        return ", ".join(self._said(value, file) for value in fact.values)

    def _said(self, said: Said, file: str) -> str:
        return "".join(self._ref(part, file) if isinstance(part, Ref) else part for part in said)

    def _ref(self, ref: Ref, file: str) -> str:
        address = self.addresses.of(ref.target, file) if ref.target is not None else ""
        return f"[`{ref.text}`]({address})" if address else f"`{ref.text}`"

    def _glance(self, items: Sequence[tuple[Page, Item]], file: str) -> Iterator[str]:
        rows = []
        for named, cells in glanced(items):
            shown = [self._ref(named, file), *(self._values(cell, file) for cell in cells)]
            rows.append(f"| {' | '.join(_cell(one) for one in shown)} |")
        if rows:
            yield "## At a glance"
            yield "\n".join([f"| {' | '.join(GLANCE)} |", f"|{' --- |' * len(GLANCE)}", *rows])


def _purpose(page: Page) -> str:
    return sentence(page.comment.text) if page.comment is not None else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _whole(parts: Sequence[str]) -> str:
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"
