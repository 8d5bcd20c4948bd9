"""HTML as Markdown and as text: what a reader of the page sees, and nothing that is hidden from them."""

from __future__ import annotations

from ael.lower.abi.size import sized
from ael.lower.natives import html_elements as known
from ael.lower.natives.html_inline import Line, address
from ael.lower.natives.html_render import Renderer
from ael.lower.natives.html_tokens import End, Scanner, Tag
from ael.lower.natives.html_walk import shown, walk
from ael.types.fault import Fault, FaultKind

PAGE_MAX = 4_194_304
"""Characters of a page."""


def to_markdown(page: str, base: str = "", images: bool = False) -> str:
    """Markdown of a page whose address is `base`."""
    return Renderer(base, images).render(_bounded(page))


def to_text(page: str) -> str:
    """The text alone."""
    return Renderer(plain=True).render(_bounded(page))


def title(page: str) -> str | None:
    """The title that the page gives itself."""
    scanner = Scanner(_bounded(page))
    while (token := scanner.next()) is not None:
        if isinstance(token, Tag) and token.name in known.RAW:
            text = scanner.raw(token.name)
            if token.name == "title":
                return " ".join(shown(text).split()) or None
        elif isinstance(token, Tag) and token.name in known.FOREIGN:
            return None
    return None


def links(page: str, base: str = "") -> list[dict[str, str]]:
    """The links that can be seen, in order: `text`, `url`."""
    found: list[dict[str, str]] = []
    line, to = Line(plain=True), None
    for token in walk(_bounded(page)):
        if isinstance(token, str):
            line.text(token)
        elif token.name == "a":
            text = line.take().replace("\n", " ")
            if to is not None:
                found.append({"text": text, "url": to})
            to = None if isinstance(token, End) else address(token.attributes.get("href", ""), base)
    return sized(found)


def _bounded(page: str) -> str:
    if len(page) > PAGE_MAX:
        raise Fault(FaultKind.TOO_LARGE, f"a page of more than {PAGE_MAX:,} characters")
    return page
