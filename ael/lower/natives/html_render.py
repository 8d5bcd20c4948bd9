"""What a page shows, as Markdown (CommonMark with the tables of GitHub) or as plain text: blocks, lists, quotes, tables, code."""

from __future__ import annotations

import re

from ael.data import dataclass, field
from ael.lower.abi.fault import text_too_large
from ael.lower.abi.size import TEXT_MAX
from ael.lower.natives.html_elements import words
from ael.lower.natives.html_inline import Line, address, destination
from ael.lower.natives.html_tokens import End, Tag
from ael.lower.natives.html_walk import shown, walk

PREFIX_MAX = 8
"""Lists and quotes within each other that are shown as such; deeper ones stand at that depth. It bounds what stands in front of a line."""

_BLOCKS = words(
    "address article aside blockquote caption center dd details dialog dir div dl dt fieldset figcaption figure footer form h1 h2 "
    "h3 h4 h5 h6 header hgroup legend li listing main menu nav ol option p pre search section summary table tbody td tfoot th "
    "thead tr ul"
)
_MARKS = {
    "b": "strong", "strong": "strong", "i": "emphasis", "em": "emphasis", "del": "deleted", "s": "deleted", "strike": "deleted",
    "code": "code", "kbd": "code", "samp": "code", "tt": "code", "a": "link",
}  # fmt: skip
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_START = re.compile(r"(?=[-+=>#])|(?P<number>\d{1,9})(?=[.)](?: |$))", re.ASCII)
"""What would begin a block at the beginning of a line."""


@dataclass(slots=True, eq=False)
class _Prefix:
    """What stands in front of the lines of a list item or quote: of the first, and of the others."""

    element: str
    first: str
    others: str


@dataclass(slots=True, eq=False)
class _Table:
    rows: list[list[str]] = field(default_factory=list)
    within: int = 0
    """Tables in its cells, which are told as text."""


@dataclass(slots=True, eq=False)
class Renderer:
    """Puts the blocks of a page together. `base` is the address of the page; `images` keeps pictures with what they say of themselves."""

    base: str = ""
    images: bool = False
    plain: bool = False
    blocks: list[str] = field(default_factory=list)
    _line: Line = field(default_factory=Line)
    _heading: int = 0
    _pre: list[str] | None = None
    _pres: int = 0
    _prefixes: list[_Prefix] = field(default_factory=list)
    _last: list[_Prefix] = field(default_factory=list)
    """Those of the block before."""
    _lists: list[tuple[str, int]] = field(default_factory=list)
    _unshown: int = 0
    """Lists and quotes that are too deep for a prefix of their own."""
    _table: _Table | None = None
    _size: int = 0
    _tight: bool = False
    """Whether the next block stands close to the one before: items of a list."""

    def render(self, page: str) -> str:
        """The whole page."""
        self._line.plain = self.plain
        for token in walk(page):
            match token:
                case str():
                    self._text(token)
                case Tag():
                    self._start(token)
                case End(name=name):
                    self._end(name)
        self._flush()
        return "".join(self.blocks).strip("\n")

    # --- tokens ----------------------------------------------------------------------------------------------------------

    def _text(self, text: str) -> None:
        if self._pre is not None:
            self._pre.append(text)
        else:
            self._line.text(text)

    def _start(self, tag: Tag) -> None:
        name = tag.name
        if self._pre is not None:
            self._pres += name == "pre"
            if name == "br":
                self._pre.append("\n")
        elif name == "br":
            self._break()
        elif name == "hr":
            self._flush()
            if self._table is None and not self.plain:
                self._emit("---")
        elif name == "img":
            self._image(tag)
        elif name == "a":
            to = address(tag.attributes.get("href", ""), self.base)
            self._line.open("link", to)
        elif name in _MARKS:
            self._line.open(_MARKS[name])
        elif name in _BLOCKS:
            self._block(name, tag)

    def _block(self, name: str, tag: Tag) -> None:
        if self._table is not None:
            self._in_table(name)
            return
        self._flush()
        if name in _HEADINGS:
            self._heading = _HEADINGS[name]
        elif name in ("pre", "listing"):
            self._pre, self._pres = [], 1
        elif name == "table":
            self._table = _Table()
        elif name in ("ul", "ol", "menu", "dir"):
            start = tag.attributes.get("start", "").strip()
            self._lists.append((name, int(start) if start.isascii() and start.isdigit() and len(start) < 7 else 1))
            self._tight = len(self._lists) > 1
        elif name == "li":
            self._item()
        elif name == "blockquote":
            self._deeper(_Prefix(name, "> ", "> ") if not self.plain else _Prefix(name, "  ", "  "))

    def _end(self, name: str) -> None:
        if self._pre is not None:
            self._pres -= name in ("pre", "listing")
            if self._pres <= 0:
                self._code()
        elif name in _MARKS:
            self._line.close(_MARKS[name])
        elif self._table is not None:
            self._out_of_table(name)
        elif name in _BLOCKS:
            self._flush()
            if name in _HEADINGS:
                self._heading = 0
            elif name in ("ul", "ol", "menu", "dir") and self._lists:
                self._lists.pop()
                self._tight = bool(self._lists)
            elif name in ("li", "blockquote"):
                self._shallower(name)
                self._tight = name == "li"

    # --- blocks ----------------------------------------------------------------------------------------------------------

    def _item(self) -> None:
        mark = "- "
        if self._lists and self._lists[-1][0] == "ol":
            kind, number = self._lists[-1]
            mark = f"{number}. "
            self._lists[-1] = (kind, number + 1)
        self._deeper(_Prefix("li", mark, " " * len(mark)))

    def _deeper(self, prefix: _Prefix) -> None:
        if len(self._prefixes) < PREFIX_MAX and not self._unshown:
            self._prefixes.append(prefix)
        else:
            self._unshown += 1

    def _shallower(self, element: str) -> None:
        if self._unshown:
            self._unshown -= 1
            return
        place = next((i for i in range(len(self._prefixes) - 1, -1, -1) if self._prefixes[i].element == element), None)
        if place is not None:
            del self._prefixes[place:]

    def _break(self) -> None:
        if self._table is not None or self._heading:
            self._line.text(" ")
        else:
            self._line.end_of_line()

    def _image(self, tag: Tag) -> None:
        to = address(tag.attributes.get("src", ""), self.base) if self.images and not self.plain else None
        if to is not None:
            alt = Line()
            alt.text(shown(tag.attributes.get("alt", "")))
            self._line.verbatim(f"![{alt.take()}]({destination(to)})")

    def _flush(self) -> None:
        """End the block under way."""
        text = self._line.take()
        if not text:
            return
        if self.plain:
            self._emit(text)
        elif self._heading:
            self._emit(f"{'#' * self._heading} {text.replace(chr(10), ' ')}")
        else:
            self._emit("  \n".join(_harmless(line) for line in text.split("\n")))

    def _code(self) -> None:
        text = "".join(self._pre or ()).replace("\r\n", "\n").replace("\r", "\n").removeprefix("\n").rstrip("\n")
        self._pre = None
        if self._table is not None:
            self._line.text(text)
        elif text.strip() and self.plain:
            self._emit(text)
        elif text.strip():
            fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
            self._emit(f"{fence}\n{text}\n{fence}")

    def _emit(self, block: str) -> None:
        """Write a block, with what stands in front of its lines."""
        first = "".join(prefix.first for prefix in self._prefixes)
        others = "".join(prefix.others for prefix in self._prefixes)
        for prefix in self._prefixes:
            prefix.first = prefix.others
        self._size += len(block) + len(first) + 2 + block.count("\n") * len(others)
        if self._size > TEXT_MAX:
            text_too_large()
        shared = [one for one, last in zip(self._prefixes, self._last, strict=False) if one is last]
        blank = "\n" if self._tight else f"\n{''.join(prefix.others for prefix in shared).rstrip()}\n"
        between = blank if self.blocks else ""
        self._tight, self._last = False, list(self._prefixes)
        self.blocks.append(between + first + block.replace("\n", f"\n{others}"))

    # --- tables ----------------------------------------------------------------------------------------------------------

    def _in_table(self, name: str) -> None:
        assert self._table is not None, "a table is open"
        if name == "table":
            self._table.within += 1
        if self._table.within:
            self._line.text(" ")
        elif name == "tr":
            self._cell_ends()
            self._table.rows.append([])
        elif name in ("td", "th", "caption"):
            self._cell_ends()
        else:
            self._line.text(" ")

    def _out_of_table(self, name: str) -> None:
        assert self._table is not None, "a table is open"
        if name == "table" and self._table.within:
            self._table.within -= 1
        elif name == "table":
            self._cell_ends()
            table, self._table = self._table, None
            self._write(table.rows)
        elif name in ("td", "th", "caption") and not self._table.within:
            self._cell_ends(always=True)
        elif name in _BLOCKS:
            self._line.text(" ")

    def _cell_ends(self, *, always: bool = False) -> None:
        assert self._table is not None, "a table is open"
        text = self._line.take().replace("\n", " ")
        if text or always:
            if not self._table.rows:
                self._table.rows.append([])
            self._table.rows[-1].append(text)

    def _write(self, rows: list[list[str]]) -> None:
        rows = [row for row in rows if any(row)]
        width = max((len(row) for row in rows), default=0)
        if self.plain:
            if rows:
                self._emit("\n".join("\t".join(row) for row in rows))
        elif width == 1:
            for row in rows:
                self._emit(_harmless(row[0]))
        elif rows:
            head, *body = [[cell.replace("|", "\\|") for cell in row] for row in rows]
            head += [""] * (width - len(head))
            lines = [head, ["---"] * width, *body]
            self._emit("\n".join(f"| {' | '.join(line)} |" for line in lines))


def _harmless(line: str) -> str:
    """A line of text that begins no block of another kind."""
    found = _START.match(line)
    if found is None:
        return line
    number = found["number"]
    return f"\\{line}" if number is None else f"{number}\\{line[len(number) :]}"
