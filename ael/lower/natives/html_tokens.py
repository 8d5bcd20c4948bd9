"""HTML cut into tags and text as a browser cuts it (WHATWG HTML, section 13.2.5), in one pass over the page.

Whatever has no end (a comment, a tag, a quoted value) takes the rest of the page with it, as in a browser; so no part of the page is
looked at more than once for the same reason. Only those attributes are kept that say where a link goes, what is hidden, and how a list
counts.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_MARK = re.compile(r"<(?=[A-Za-z/!?])")
_TAG_NAME = re.compile(r"[^\t\n\f\r />]+")
_BLANK = re.compile(r"[\t\n\f\r /]*")
_NAME = re.compile(r"=?[^\t\n\f\r />=]*")
_EQUALS = re.compile(r"[\t\n\f\r ]*=[\t\n\f\r ]*")
_BARE = re.compile(r"[^\t\n\f\r >]*")
_COMMENT_END = re.compile(r"--!?>")

KEPT = frozenset({
    "alt", "aria-hidden", "bgcolor", "class", "color", "hidden", "href", "id", "media", "open", "rel", "src", "start", "style", "text",
})  # fmt: skip
"""The attributes that anything is made of."""


class Tag(NamedTuple):
    """A start tag: its name in lower case, what is kept of its attributes (as written), whether it ends with `/>`."""

    name: str
    attributes: dict[str, str]
    closed: bool


class End(NamedTuple):
    """An end tag."""

    name: str


class Scanner:
    """Reads a page from its beginning. `foreign` says that what comes stands in SVG or MathML, where `<![CDATA[` begins text."""

    def __init__(self, page: str) -> None:
        self.page = page
        self.at = 0
        self.foreign = False

    def next(self) -> Tag | End | str | None:
        """The next tag, or the text up to it as written; None at the end of the page."""
        page = self.page
        while self.at < len(page):
            found = _MARK.search(page, self.at)
            end = len(page) if found is None else found.start()
            if end > self.at:
                text, self.at = page[self.at : end], end
                return text
            follows = page[end + 1]
            if follows == "!":
                self._skip_declaration(end)
            elif follows == "?":
                self._skip_past(">", end)
            elif follows != "/":
                return self._tag(end + 1)
            elif page[end + 2 : end + 3].isascii() and page[end + 2 : end + 3].isalpha():
                tag = self._tag(end + 2)
                return End(tag.name) if tag is not None else None
            else:
                self._skip_past(">", end)
        return None

    def raw(self, name: str) -> str:
        """The text up to the end tag of `name` (a script, a style), which is passed over; the rest of the page without one."""
        found = re.compile(rf"</{name}(?=[\t\n\f\r />])", re.IGNORECASE).search(self.page, self.at)
        text = self.page[self.at : found.start() if found is not None else None]
        if found is None:
            self.at = len(self.page)
        else:
            self.at = found.start() + 2
            self._tag(self.at)
        return text

    def rest(self) -> str:
        """All that is left."""
        text, self.at = self.page[self.at :], len(self.page)
        return text

    def _skip_past(self, mark: str, start: int) -> None:
        end = self.page.find(mark, start)
        self.at = len(self.page) if end < 0 else end + len(mark)

    def _skip_declaration(self, start: int) -> None:
        """Pass over a comment, a document type, a CDATA section."""
        page = self.page
        if page.startswith("<!--", start):
            inside = start + 4
            if page.startswith((">", "->"), inside):
                self._skip_past(">", inside)
                return
            end = _COMMENT_END.search(page, inside)
            self.at = len(page) if end is None else end.end()
        elif self.foreign and page.startswith("<![CDATA[", start):
            self._skip_past("]]>", start)
        else:
            self._skip_past(">", start)

    def _tag(self, start: int) -> Tag | None:
        """The tag whose name begins at `start`; None where the page ends in it."""
        page = self.page
        name = _TAG_NAME.match(page, start)
        assert name is not None, "a letter stands here"
        at, kept = name.end(), dict[str, str]()
        while True:
            blank = _BLANK.match(page, at)
            assert blank is not None, "it may be empty"
            closed = blank.end() > at and page[blank.end() - 1] == "/"
            at = blank.end()
            if at >= len(page):
                break
            if page[at] == ">":
                self.at = at + 1
                return Tag(name[0].lower(), kept, closed)
            key = _NAME.match(page, at)
            assert key is not None, "it may be empty"
            at, value = key.end(), ""
            equals = _EQUALS.match(page, at)
            if equals is not None:
                read = self._value(equals.end())
                if read is None:
                    break
                value, at = read
            lower = key[0].lower() if len(key[0]) < 16 else ""
            if lower in KEPT:
                kept.setdefault(lower, value)
        self.at = len(page)
        return None

    def _value(self, at: int) -> tuple[str, int] | None:
        """The value of an attribute and where it ends; None where the page ends in it."""
        page = self.page
        if at >= len(page):
            return None
        if page[at] in "\"'":
            end = page.find(page[at], at + 1)
            return None if end < 0 else (page[at + 1 : end], end + 1)
        bare = _BARE.match(page, at)
        assert bare is not None, "it may be empty"
        return bare[0], bare.end()
