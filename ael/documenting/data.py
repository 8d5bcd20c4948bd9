"""The pages as data: what `ael doc --format json` prints, for other programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from ael.documenting.comment import Comment, sentence
from ael.documenting.item import Book, Fact, Item, Page, Part, Ref, Said

VERSION = 1
"""Raised when what is there means something else; what is added does not raise it."""


def to_json(book: Book) -> str:
    """The whole book."""
    data = {
        "version": VERSION,
        "title": book.title,
        "pack_version": book.version,
        "doc": _text(book.intro),
        "modules": [_page(page) for page in book.pages],
    }
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def search_index(book: Book, file_of: Mapping[str, str]) -> str:
    """What the search of the pages looks through, as a script: a page that was opened as a file may load one, and no data."""
    entries: list[list[str]] = []
    for page in book.pages:
        file = file_of[page.module]
        entries.append([page.module, "module", "", file, _first(page.comment)])
        for item in page.items:
            entries.append([item.name, item.kind, page.module, f"{file}#{item.anchor}", _first(item.comment)])
            for part in item.parts:
                where = f"{file}#{part.anchor}"
                entries.append([f"{item.name}.{part.name}", item.kind, page.module, where, _first(part.comment)])
    # `<` and U+2028 are harmless in a file of its own, and stay harmless where somebody puts it into a page.
    text = json.dumps(entries, ensure_ascii=True).replace("<", "\\u003c")
    return f"window.AEL_INDEX = {text};\n"


def _first(comment: Comment | None) -> str:
    return "" if comment is None else sentence(comment.text)[:200]


def _text(comment: Comment | None) -> str:
    return "" if comment is None else comment.text


def _page(page: Page) -> dict[str, object]:
    return {
        "name": page.module,
        "doc": _text(page.comment),
        **_facts(page.facts),
        "declarations": [_item(item) for item in page.items],
    }


def _item(item: Item) -> dict[str, object]:
    source = item.place.source
    return {
        "kind": item.kind,
        "name": item.name,
        "qualified": item.qualified,
        "public": item.public,
        "signature": "".join(piece.text for piece in item.pieces),
        "doc": _text(item.comment),
        "file": source.name,
        "line": source.position(item.place.span.start).line,
        **_facts((*item.summary, *item.facts)),
        "parts": [_part(part) for part in item.parts],
    }


def _part(part: Part) -> dict[str, object]:
    signature = "".join(piece.text for piece in part.pieces)
    return {"name": part.name, "signature": signature, "doc": _text(part.comment), **_facts(part.facts)}


def _facts(facts: Iterable[Fact]) -> dict[str, object]:
    return {"facts": {fact.key: [_said(value) for value in fact.values] for fact in facts}}


def _said(said: Said) -> object:
    """A name as a qualified name, words as they are."""
    if len(said) == 1 and isinstance(said[0], Ref):
        ref = said[0]
        return {"name": ref.text, "qualified": ref.target.qualified if ref.target is not None else None}
    return "".join(part.text if isinstance(part, Ref) else part for part in said)
