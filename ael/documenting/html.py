"""The pages as HTML: no network, no script but the search, legible without it and by keyboard alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from ael.documenting.address import INDEX, Addresses, relative
from ael.documenting.colour import Link, coloured
from ael.documenting.comment import Comment
from ael.documenting.comments import Comments
from ael.documenting.item import Book, Fact, Item, Page, Part, Piece, Ref, Said
from ael.documenting.names import Names
from ael.documenting.titles import GLANCE, glanced, grouped, place_text
from ael.source import Source


class Html:
    """Writes the pages of a book."""

    def __init__(self, book: Book, names: Names, addresses: Addresses) -> None:
        self.book = book
        self.names = names
        self.addresses = addresses
        self.comments = Comments(names, addresses)

    # --- pages -----------------------------------------------------------------------------------------------------------

    def page(self, page: Page) -> str:
        """The page of a module."""
        file = self.addresses.file(page.module)
        body = [f'<h1><span class="quiet">module</span> {escape(page.module)}</h1>']
        body.append(self._source(page.place.source, page.module, 1, file))
        if page.comment is not None:
            body.append(self.comments.read(page.comment, page.module, file, level=2).html)
        body += self._facts(page.facts, file)
        body += self._glance([(page, item) for item in page.items], file)
        for title, items in grouped(page.items):
            body.append(f'<h2 id="{escape(title.lower().replace(" ", "-"))}">{escape(title)}</h2>')
            for item in items:
                body += self._item(page, item, file)
        contents = [(f"#{item.anchor}", f"{item.kind} {item.name}") for item in page.items]
        return self._whole(page.module, file, body, contents)

    def index(self) -> str:
        """The page that one begins with."""
        file = f"{INDEX}.html"
        version = f' <span class="quiet">{escape(self.book.version)}</span>' if self.book.version else ""
        body = [f"<h1>{escape(self.book.title)}{version}</h1>"]
        if self.book.intro is not None:
            body.append(self.comments.read(self.book.intro, self.book.intro_module, file, level=2).html)
        body += self._facts(self.book.facts, file)
        body.append('<h2 id="modules">Modules</h2>')
        rows = [
            f'<tr><th scope="row"><a href="{relative(file, self.addresses.file(page.module))}">{escape(page.module)}</a></th>'
            f"<td>{self.comments.sentence(page.comment, page.module, file)}</td></tr>"
            for page in self.book.pages
        ]
        body.append(_table(("Module", "What it is for"), rows))
        body += self._glance([(page, item) for page in self.book.pages for item in page.items], file)
        return self._whole(self.book.title, file, body, ())

    def source(self, page: Page) -> str:
        """The source of a module, each line with an address."""
        file = self.addresses.source(page.module)
        lines = coloured(page.place.source.text.replace("\r\n", "\n").replace("\r", "\n")).split("\n")
        shown = "".join(f'<span class="line" id="L{at}">{line}</span>' for at, line in enumerate(_closed(lines), 1))
        back = relative(file, self.addresses.file(page.module))
        body = [
            f'<h1><span class="quiet">source of</span> <a href="{back}">{escape(page.module)}</a></h1>',
            f'<div class="source"><pre tabindex="0"><code>{shown}</code></pre></div>',
        ]
        return self._whole(f"source of {page.module}", file, body, (), twin=False)

    def _whole(
        self, title: str, file: str, body: Iterable[str], contents: Sequence[tuple[str, str]], *, twin: bool = True
    ) -> str:
        root = "../" * file.count("/")
        twin_file = f"{file.removesuffix('.html')}.md".rpartition("/")[2]
        alternate = f'<link rel="alternate" type="text/markdown" href="{escape(twin_file)}">\n' if twin else ""
        head = title if title == self.book.title else f"{title} · {self.book.title}"
        version = f' <span class="version">{escape(self.book.version)}</span>' if self.book.version else ""
        here = "".join(f'<li><a href="{escape(to)}">{escape(text)}</a></li>' for to, text in contents)
        return (
            f'<!doctype html>\n<html lang="en" data-root="{root}">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n'
            f"<title>{escape(head)}</title>\n"
            f'<link rel="stylesheet" href="{root}assets/style.css">\n{alternate}'
            f'<script defer src="{root}assets/index.js"></script>\n<script defer src="{root}assets/search.js"></script>\n</head>\n<body>\n'
            f'<a class="skip" href="#main">To the text</a>\n<header>\n<a class="title" href="{root}index.html">{escape(self.book.title)}'
            f'{version}</a>\n<div class="search" role="search"><label for="search" class="quiet">Search <kbd>/</kbd></label>\n'
            '<input id="search" type="search" role="combobox" aria-expanded="false" aria-controls="found" aria-autocomplete="list" '
            'autocomplete="off" spellcheck="false">\n<ul id="found" role="listbox" aria-label="What was found" hidden></ul>'
            '<span id="count" class="skip" role="status"></span></div>\n</header>\n'
            f'<div class="frame">\n<nav aria-label="Pages">\n<h2>Modules</h2>\n<ul>{self._modules(file)}</ul>\n'
            + (f"<h2>On this page</h2>\n<ul>{here}</ul>\n" if here else "")
            + f'</nav>\n<main id="main" tabindex="-1">\n{"".join(f"{part}{chr(10)}" for part in body)}</main>\n</div>\n'
            + "</body>\n</html>\n"
        )

    def _modules(self, file: str) -> str:
        found = []
        for page in self.book.pages:
            own = self.addresses.file(page.module)
            current = ' aria-current="page"' if own == file else ""
            found.append(f'<li><a href="{relative(file, own)}"{current}>{escape(page.module)}</a></li>')
        return "".join(found)

    # --- declarations ----------------------------------------------------------------------------------------------------

    def _item(self, page: Page, item: Item, file: str) -> Iterator[str]:
        anchor = escape(item.anchor)
        yield f'<section aria-labelledby="{anchor}">'
        yield (
            f'<h3 id="{anchor}"><span class="kind">{escape(item.kind)}</span> {escape(item.name)} '
            f'<a class="anchor" href="#{anchor}" aria-label="Link to {escape(item.name)}">#</a></h3>'
        )
        yield self._signature(item.pieces, file)
        yield from self._doc(item.comment, page.module, file, item.anchor)
        yield from self._facts((*item.summary, *item.facts), file)
        if item.picture:
            yield f'<div class="picture">{_inline(item)}</div>'
        for part in item.parts:
            yield from self._part(page, item, part, file)
        source = item.place.source
        yield self._source(source, page.module, source.position(item.place.span.start).line, file)
        yield "</section>"

    def _part(self, page: Page, item: Item, part: Part, file: str) -> Iterator[str]:
        if part.comment is None and not part.facts and item.kind in ("record", "error", "enum"):
            yield f'<span id="{escape(part.anchor)}"></span>'
            return
        yield f'<div class="part"><h4 id="{escape(part.anchor)}">{escape(part.name)}</h4>'
        yield self._signature(part.pieces, file)
        yield from self._doc(part.comment, page.module, file, part.anchor)
        yield from self._facts(part.facts, file)
        yield "</div>"

    def _signature(self, pieces: Sequence[Piece], file: str) -> str:
        links, at = [], 0
        for piece in pieces:
            address = self.addresses.of(piece.target, file) if piece.target is not None else ""
            if piece.target is not None and address:
                links.append(Link(at, at + len(piece.text), address, self.comments.linked(piece.target, file).title))
            at += len(piece.text)
        return f'<pre tabindex="0"><code>{coloured("".join(piece.text for piece in pieces), links)}</code></pre>'

    def _doc(self, comment: Comment | None, module: str, file: str, anchor: str) -> Iterator[str]:
        if comment is not None:
            yield self.comments.read(comment, module, file, prefix=f"{anchor}.").html

    def _facts(self, facts: Sequence[Fact], file: str) -> Iterator[str]:
        if facts:
            rows = "".join(f"<dt>{escape(fact.label)}</dt><dd>{self._values(fact, file)}</dd>" for fact in facts)
            yield f'<dl class="facts">{rows}</dl>'

    def _values(self, fact: Fact, file: str) -> str:
        return ", ".join(self._said(value, file) for value in fact.values)

    def _said(self, said: Said, file: str) -> str:
        return "".join(self._ref(part, file) if isinstance(part, Ref) else _text(part) for part in said)

    def _ref(self, ref: Ref, file: str) -> str:
        address = self.addresses.of(ref.target, file) if ref.target is not None else ""
        if not address or ref.target is None:
            return f"<code>{escape(ref.text)}</code>"
        title = self.comments.linked(ref.target, file).title
        return f'<a href="{escape(address)}" title="{escape(title)}"><code>{escape(ref.text)}</code></a>'

    def _glance(self, items: Sequence[tuple[Page, Item]], file: str) -> Iterator[str]:
        """The table of all that can be called: what it may do, how often, how it fails and what it spends."""
        rows = []
        for named, cells in glanced(items):
            first = self._ref(named, file)
            rest = "".join(f"<td>{self._values(cell, file)}</td>" for cell in cells)
            rows.append(f'<tr><th scope="row">{first}</th>{rest}</tr>')
        if rows:
            yield '<h2 id="at-a-glance">At a glance</h2>'
            yield _table(GLANCE, rows)

    def _source(self, source: Source, module: str, line: int, file: str) -> str:
        address = relative(file, self.addresses.source(module))
        return f'<p class="quiet"><a href="{address}#L{line}">{escape(place_text(source, line))}</a></p>'


def _text(text: str) -> str:
    """Words of ours, in which a name stands in backticks."""
    parts = text.split("`")
    return "".join(f"<code>{escape(part)}</code>" if at % 2 else escape(part) for at, part in enumerate(parts))


def _table(heads: Sequence[str], rows: Sequence[str]) -> str:
    head = "".join(f'<th scope="col">{escape(one)}</th>' for one in heads)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<div class="wide" tabindex="0" role="region" aria-label="{escape(heads[0])}s">{table}</div>'


def _inline(item: Item) -> str:
    """A picture within a page: its styles and marks are its own, whatever others are on the page."""
    own = escape(item.anchor.replace(".", "-"))
    text = item.picture
    for name in ("to", "bad"):
        text = text.replace(f'id="{name}"', f'id="{own}-{name}"').replace(f"url(#{name})", f"url(#{own}-{name})")
    style, _, rest = text.partition("<style>")[2].partition("</style>")
    scoped = style.replace("  svg {", f"  #{own} {{").replace("\n  .", f"\n  #{own} .").replace("\n  text", f"\n  #{own} text")
    scoped = (
        scoped.replace("\n    svg {", f"\n    #{own} {{")
        .replace("\n    .", f"\n    #{own} .")
        .replace("\n    text", f"\n    #{own} text")
    )
    scoped = scoped.replace(", .", f", #{own} .")
    head = text.partition("<style>")[0].replace("<svg ", f'<svg id="{own}" ', 1)
    return f"{head}<style>{scoped}</style>{rest}"


def _closed(lines: Sequence[str]) -> Iterator[str]:
    """Lines of marked text, of which each closes what it opens: a text of several lines is one `span` to the lexer."""
    open_span = ""
    for line in lines:
        shown = open_span + line
        opened = [part.split(">")[0] for part in shown.split("<span")[1:]]
        open_span = f"<span{opened[-1]}>" if opened and shown.rfind("<span") > shown.rfind("</span>") else ""
        yield shown + ("</span>" if open_span else "")
