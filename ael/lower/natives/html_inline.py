"""A line of Markdown as it is put together: text, and what marks parts of it, which may be opened and closed in any order."""

from __future__ import annotations

import re
from urllib.parse import urljoin

from ael.data import dataclass, field
from ael.lower.natives.encoding import html_unescape

_BLANKS = re.compile(r"[ \t\n\f\r\xa0]+")
_SPECIAL = re.compile(r"[\\`*\[\]]|<(?=[A-Za-z/!?])|~(?=~)|(?<=~)~|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_STRIPPED = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029]+")
_MARKS = {"strong": "**", "emphasis": "*", "deleted": "~~"}
_LONGEST = 4_096
"""Characters of an address; a longer one is left out."""


def address(written: str, base: str) -> str | None:
    """Where a link leads that is `written` so in an attribute.

    None for what is no place: scripts, data, addresses that cannot be read or are too long.
    """
    text = _STRIPPED.sub("", html_unescape(written))
    if not text or len(text) > _LONGEST or text.startswith("#"):
        return None
    try:
        whole = urljoin(base, text) if base else text
    except ValueError:
        return None
    scheme = _SCHEME.match(whole)
    return whole if scheme is None or scheme[0].lower() in ("http:", "https:", "mailto:", "tel:") else None


@dataclass(slots=True, eq=False)
class _Span:
    """A part of the line that is marked: strong, emphasis, deleted, code, link. `to` is where a link leads."""

    kind: str
    to: str | None = None
    pieces: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Line:
    """The text of the block under way. In a `plain` one nothing is marked and nothing escaped."""

    plain: bool = False
    spans: list[_Span] = field(default_factory=lambda: [_Span("")])
    _blank: bool = True
    """Whether a blank would be the second in a row."""

    def text(self, text: str) -> None:
        """Add text, each run of blanks as one."""
        text = _BLANKS.sub(" ", text)
        if self._blank:
            text = text.lstrip(" ")
        if text:
            self._blank = text.endswith(" ")
            raw = self.plain or any(span.kind == "code" for span in self.spans)
            self.spans[-1].pieces.append(text if raw else _SPECIAL.sub(r"\\\g<0>", text))

    def end_of_line(self) -> None:
        self.spans[-1].pieces.append("\n")
        self._blank = True

    def verbatim(self, piece: str) -> None:
        self.spans[-1].pieces.append(piece)
        self._blank = False

    def open(self, kind: str, to: str | None = None) -> None:
        """Begin to mark; what is marked so already stays as it is."""
        if not self.plain and all(span.kind != kind for span in self.spans):
            self.spans.append(_Span(kind, to))

    def close(self, kind: str) -> None:
        """End to mark; what was marked inside of it goes on behind it."""
        place = next((i for i, span in enumerate(self.spans) if span.kind == kind), 0)
        if place:
            again = [(span.kind, span.to) for span in self.spans[place + 1 :]]
            self._fold(place)
            self.spans += [_Span(*one) for one in again]

    def take(self) -> str:
        """The whole text; what is marked goes on in the next block."""
        again = [(span.kind, span.to) for span in self.spans[1:]]
        self._fold(1)
        text = "".join(self.spans[0].pieces).strip(" \n")
        self.spans = [_Span(""), *(_Span(*one) for one in again)]
        self._blank = True
        return re.sub(r" *\n *", "\n", text)

    def _fold(self, place: int) -> None:
        """End the spans from `place` on."""
        while len(self.spans) > place:
            span = self.spans.pop()
            self.spans[-1].pieces.append(_marked(span))


def _marked(span: _Span) -> str:
    text = "".join(span.pieces)
    core = text.strip(" \n")
    if not core:
        return text
    if span.kind == "code":
        longest = max((len(run) for run in re.findall(r"`+", core)), default=0)
        fence = "`" * (longest + 1)
        pad = " " if core.startswith("`") or core.endswith("`") else ""
        made = f"{fence}{pad}{core}{pad}{fence}".replace("\n", " ")
    elif span.kind == "link":
        made = f"[{core}]({destination(span.to)})" if span.to is not None else core
    else:
        made = f"{_MARKS[span.kind]}{core}{_MARKS[span.kind]}"
    start = text.index(core)
    return text[:start] + made + text[start + len(core) :]


def destination(to: str) -> str:
    """An address as Markdown writes it."""
    to = to.replace("<", "%3C").replace(">", "%3E").replace("\\", "%5C")
    return f"<{to}>" if "(" in to or ")" in to else to
