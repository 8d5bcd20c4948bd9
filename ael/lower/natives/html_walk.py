"""What a page shows: its tags and text in order, without what is hidden and without what cannot be seen in text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ael.lower.natives import html_elements as known
from ael.lower.natives.encoding import html_unescape
from ael.lower.natives.html_colors import BLACK, WHITE, Ink
from ael.lower.natives.html_open import OpenElements
from ael.lower.natives.html_styles import Sheet, Style, hides, ink, read_style, settled
from ael.lower.natives.html_tokens import End, Scanner, Tag

_STYLE = re.compile(r"<(?:style|link)", re.IGNORECASE)
_AT_A_SIZE = re.compile(r"(?:^|[\s-])(?:sm|md|lg|xl|xxl|2xl)[:-](?:block|flex|grid|inline|table|contents|not-sr-only)")
"""Classes that show at some sizes of a screen what others of theirs hide at the rest."""
_HEX = re.compile(r"[0-9a-fA-F]{6}", re.ASCII)
"""A colour of an attribute, which needs no `#`."""
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
"""Characters that nobody sees: controls, marks of direction, tags and selectors that spell out a text of their own."""
_SURROGATE = re.compile("[\ud800-\udfff]")


def shown(text: str) -> str:
    """Text of a page as it is read: references are the characters that they mean, and what nobody sees is gone."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", _INVISIBLE.sub("", html_unescape(text)))


def walk(page: str) -> Iterator[Tag | End | str]:
    """The tags and texts that can be seen. Each start tag but those of void elements has its end tag, not always in order."""
    sheet, page_ink = _sheet(page)
    here = OpenElements(page_ink)
    scanner = Scanner(page)
    while (token := scanner.next()) is not None:
        match token:
            case str():
                if here.visible and here.ink.legible:
                    yield shown(token)
            case End(name="br"):
                if here.visible:
                    yield Tag("br", {}, closed=False)
            case End(name=name):
                for element in here.ended(name):
                    if element.shown:
                        yield End(element.name)
            case Tag():
                yield from _start(token, scanner, here, sheet)
        scanner.foreign = here.foreign
    for element in reversed(here.stack):
        if element.shown and not element.over:
            yield End(element.name)


def _start(tag: Tag, scanner: Scanner, here: OpenElements, sheet: Sheet) -> Iterator[Tag | End | str]:
    name = tag.name
    names = _names(tag)
    if name in ("html", "head", "body"):
        # A page that hides itself as a whole shows itself by a script; its colours are those of its text.
        if not here.names[name]:  # of several the first counts
            here.recolor(ink(_style(tag, names, here, sheet), here.page))
            here.names.update(names)
        return
    foreign = here.foreign
    for element in here.ended_by_start(name):
        if element.shown:
            yield End(element.name)
    style = _style(tag, names, here, sheet)
    hidden, colors = _hidden(tag, names, style), ink(style, here.ink)
    seen = here.visible and not hidden
    if not foreign and (name in known.RAW or name == "plaintext"):
        text = scanner.raw(name) if name in known.RAW else scanner.rest()
        if seen and colors.legible and (name in known.SHOWN_RAW or name == "plaintext"):
            yield Tag("pre", {}, closed=False)
            yield shown(text if name == "textarea" else text.replace("&", "&amp;"))
            yield End("pre")
    elif name in known.VOID:
        if seen:
            yield tag
    elif not (tag.closed and (foreign or name in known.FOREIGN)) and here.push(name, hidden, names, colors) is not None and seen:
        yield tag


def _names(tag: Tag) -> tuple[str, ...]:
    classes = html_unescape(tag.attributes.get("class", "")).split()
    own = html_unescape(tag.attributes.get("id", "")).strip()
    return (tag.name, *(f".{one}" for one in classes), *((f"#{own}",) if own else ()))


def _style(tag: Tag, names: tuple[str, ...], here: OpenElements, sheet: Sheet) -> Style:
    """The properties of an element that decide whether it can be seen: of its attributes, the page's rules, its own style."""
    given = tag.attributes
    style: Style = {}
    for attribute, name in (("color", "color"), ("text", "color"), ("bgcolor", "background-color")):
        if attribute in given and (tag.name == "font" or attribute != "color"):
            said = html_unescape(given[attribute]).strip()
            style |= read_style(f"{name}:{'#' if _HEX.fullmatch(said) else ''}{said}")
    if sheet.rules:
        style |= sheet.style_of(names, here.names)
    if "style" in given:
        style |= read_style(html_unescape(given["style"]))
    return settled(style)


def _hidden(tag: Tag, names: tuple[str, ...], style: Style) -> bool:
    """Whether an element hides what is in it."""
    given = tag.attributes
    if tag.name in known.UNSEEN or "hidden" in given or given.get("aria-hidden", "").strip().lower() == "true":
        return True
    if tag.name == "dialog" and "open" not in given:
        return True
    if any(name[1:].lower() in known.HIDING_CLASSES for name in names[1:] if name[0] == "."):
        return _AT_A_SIZE.search(given["class"]) is None
    return hides(style)


def _sheet(page: str) -> tuple[Sheet, Ink]:
    """The rules of the page's own style elements, wherever they stand, and the colours of its text: black on white, if nothing else may
    have been said."""
    sheet, ink_ = Sheet(), Ink(BLACK, WHITE)
    if _STYLE.search(page) is None:
        return sheet, ink_
    scanner = Scanner(page)
    while (token := scanner.next()) is not None:
        if isinstance(token, Tag) and token.name in known.RAW:
            text = scanner.raw(token.name)
            if token.name == "style" and "print" not in token.attributes.get("media", ""):
                sheet.add(text)
                if "background" in text:
                    ink_ = Ink(None, None)
        elif isinstance(token, Tag) and token.name == "link" and "stylesheet" in token.attributes.get("rel", "").lower():
            ink_ = Ink(None, None)
    return sheet, ink_
