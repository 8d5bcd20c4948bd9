"""What a page shows: its tags and text in order, without what is hidden and without what cannot be seen in text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ael.lower.natives import html_elements as known
from ael.lower.natives.encoding import html_unescape
from ael.lower.natives.html_open import OpenElements
from ael.lower.natives.html_styles import Sheet, hides, read_style
from ael.lower.natives.html_tokens import End, Scanner, Tag

_STYLE = re.compile(r"<style", re.IGNORECASE)
_AT_A_SIZE = re.compile(r"(?:^|[\s-])(?:sm|md|lg|xl|xxl|2xl)[:-](?:block|flex|grid|inline|table|contents|not-sr-only)")
"""Classes that show at some sizes of a screen what others of theirs hide at the rest."""
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
    sheet = _sheet(page)
    here = OpenElements()
    scanner = Scanner(page)
    while (token := scanner.next()) is not None:
        match token:
            case str():
                if here.visible:
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
        here.names.update(names)
        return  # a page that hides itself as a whole shows itself by a script
    foreign = here.foreign
    for element in here.ended_by_start(name):
        if element.shown:
            yield End(element.name)
    hidden = _hidden(tag, names, here, sheet)
    if not foreign and (name in known.RAW or name == "plaintext"):
        text = scanner.raw(name) if name in known.RAW else scanner.rest()
        if here.visible and not hidden and (name in known.SHOWN_RAW or name == "plaintext"):
            yield Tag("pre", {}, closed=False)
            yield shown(text if name == "textarea" else text.replace("&", "&amp;"))
            yield End("pre")
    elif name in known.VOID:
        if here.visible and not hidden:
            yield tag
    elif not (tag.closed and (foreign or name in known.FOREIGN)):
        seen = here.visible and not hidden
        if here.push(name, hidden, names) is not None and seen:
            yield tag


def _names(tag: Tag) -> tuple[str, ...]:
    classes = html_unescape(tag.attributes.get("class", "")).split()
    own = html_unescape(tag.attributes.get("id", "")).strip()
    return (tag.name, *(f".{one}" for one in classes), *((f"#{own}",) if own else ()))


def _hidden(tag: Tag, names: tuple[str, ...], here: OpenElements, sheet: Sheet) -> bool:
    """Whether an element hides what is in it."""
    given = tag.attributes
    if tag.name in known.UNSEEN or "hidden" in given or given.get("aria-hidden", "").strip().lower() == "true":
        return True
    if tag.name == "dialog" and "open" not in given:
        return True
    if any(name[1:].lower() in known.HIDING_CLASSES for name in names[1:] if name[0] == "."):
        return _AT_A_SIZE.search(given["class"]) is None
    style = sheet.style_of(names, here.names) if sheet.rules else {}
    if "style" in given:
        style = {**style, **read_style(html_unescape(given["style"]))}
    return hides(style)


def _sheet(page: str) -> Sheet:
    """The rules of the page's own style elements, wherever they stand."""
    sheet = Sheet()
    if _STYLE.search(page) is None:
        return sheet
    scanner = Scanner(page)
    while (token := scanner.next()) is not None:
        if isinstance(token, Tag) and token.name in known.RAW:
            text = scanner.raw(token.name)
            if token.name == "style" and "print" not in token.attributes.get("media", ""):
                sheet.add(text)
    return sheet
