"""AEL in colours, with names as links: by the lexer that other renderers use, in a few classes that are legible in both schemes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from pygments.token import Comment, Keyword, Name, Number, Operator, String

from ael.data import dataclass
from ael.editor.pygments import AelLexer

_CLASSES: tuple[tuple[Any, str], ...] = (
    (Comment, "c"), (Keyword.Type, "t"), (Keyword, "k"), (Operator.Word, "k"), (String, "s"), (Number, "n"), (Name.Class, "t"),
    (Name.Constant, "n"),
)  # fmt: skip
_LEXER = AelLexer(stripnl=False, ensurenl=False)


@dataclass(frozen=True, slots=True)
class Link:
    """The characters `start` to `end` of a text lead to `address`."""

    start: int
    end: int
    address: str
    title: str = ""


def coloured(text: str, links: Sequence[Link] = ()) -> str:
    """The text as HTML."""
    return "".join(_linked(text, sorted(links, key=lambda link: link.start)))


def _linked(text: str, links: Sequence[Link]) -> Iterator[str]:
    spans = list(_spans(text))
    at = 0
    for link in links:
        if link.start < at or link.end > len(text):
            continue
        yield _marked(text, spans, at, link.start)
        title = f' title="{escape(link.title)}"' if link.title else ""
        yield f'<a href="{escape(link.address)}"{title}>{_marked(text, spans, link.start, link.end)}</a>'
        at = link.end
    yield _marked(text, spans, at, len(text))


def _marked(text: str, spans: Sequence[tuple[int, int, str]], start: int, end: int) -> str:
    found = []
    for first, last, name in spans:
        if last <= start or first >= end:
            continue
        part = escape(text[max(first, start) : min(last, end)])
        found.append(f'<span class="{name}">{part}</span>' if name else part)
    return "".join(found)


def _spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and class of what is one to the eye."""
    at, open_class, begin = 0, "", 0
    for start, kind, value in _LEXER.get_tokens_unprocessed(text):
        name = next((name for known, name in _CLASSES if kind in known), "")
        if name != open_class:
            if start > begin:
                yield begin, start, open_class
            begin, open_class = start, name
        at = start + len(value)
    if at > begin:
        yield begin, at, open_class
    if at < len(text):
        yield at, len(text), ""
