"""Doc comments are Markdown: to HTML that cannot carry any of its own, with names in brackets as links (`[lookup_order]`).

HTML in a comment is text, a link leads to `http(s)`, to a heading of the page or to a name, and pictures are links: a page asks nobody
for anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from ael.data import dataclass
from ael.documenting.colour import coloured

NAME = r"(?:(?:std|\.{0,2})/[\w./-]*?\.?)?[A-Za-z_]\w*(?:[./][A-Za-z_]\w*)*"
_BRACKETS = re.compile(rf"\[(?P<code>`?)(?P<name>{NAME})(?:\(\))?(?P=code)\](?![(\[:])")
_ONLY_NAME = re.compile(NAME)
_CHECKBOXES = frozenset({"x", "X"})
"""What stands in the brackets of a list of things to do is no name."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_ANCHOR = re.compile(r"[^a-z0-9_]+")

Resolve = Callable[[str], "Linked | None"]


@dataclass(frozen=True, slots=True)
class Linked:
    """What a name leads to: `title` is what a reader who points at it is told, `address` "" for what has no page."""

    address: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a comment: as written (`raw`), on a line, from a column; both from 0. `linked` None: it has no meaning there."""

    raw: str
    name: str
    line: int
    column: int
    linked: Linked | None


@dataclass(frozen=True, slots=True)
class Code:
    """A block of code. `first` is the line of its first line, `lines` those that it has; `info` what stands behind the fence.

    `indented`: it has no fence.
    """

    info: str
    first: int
    lines: tuple[str, ...]
    columns: tuple[int, ...]
    indented: bool = False


@dataclass(frozen=True, eq=False)
class Rendered:
    """A comment as HTML, with what is said in it of names and by code."""

    html: str
    mentions: tuple[Mention, ...]
    codes: tuple[Code, ...]


def rendered(text: str, resolve: Resolve, *, level: int = 3, run_indented: bool = False, prefix: str = "") -> Rendered:
    """A comment. Its headings begin at `level`, their anchors with `prefix`. `run_indented`: indented blocks are AEL too."""
    parser = _parser()
    env: dict[str, Any] = {"resolve": resolve, "level": level, "indented": run_indented, "prefix": prefix}
    tokens = parser.parse(text, env)
    _trusted(tokens, env)
    lines = text.split("\n")
    mentions = tuple(_mentions(tokens, lines))
    codes = tuple(_codes(tokens, lines))
    html: str = parser.renderer.render(tokens, parser.options, env)
    return Rendered(html, mentions, codes)


def one_line(text: str, resolve: Resolve) -> str:
    """A sentence as HTML, without a paragraph around it."""
    parser = _parser()
    env: dict[str, Any] = {"resolve": resolve, "level": 3, "indented": False, "prefix": ""}
    tokens = parser.parseInline(text, env)
    _trusted(tokens, env)
    html: str = parser.renderer.render(tokens, parser.options, env)
    return html


def rewritten(text: str, mentions: Sequence[Mention]) -> str:
    """The text with its names as links of Markdown."""
    lines = text.split("\n")
    for mention in sorted(mentions, key=lambda m: (m.line, m.column), reverse=True):
        line, end = lines[mention.line], mention.column + len(mention.raw)
        if mention.linked is None or line[mention.column : end] != mention.raw:
            continue
        shown = f"`{mention.name}`"
        link = f"[{shown}]({mention.linked.address})" if mention.linked.address else shown
        if mention.raw.startswith("]("):
            link = f"]({mention.linked.address})" if mention.linked.address else mention.raw
        lines[mention.line] = line[: mention.column] + link + line[end:]
    return "\n".join(lines)


def anchor(text: str) -> str:
    """The anchor of a heading."""
    return _ANCHOR.sub("-", text.lower()).strip("-")


# --- the parser ----------------------------------------------------------------------------------------------------------


class _Renderer(RendererHTML):
    """Headings below those of the page, code in colours."""

    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """A fenced block."""
        token = tokens[idx]
        language = token.info.split()[0] if token.info.split() else ""
        return _block(token.content, language == "ael")

    def code_block(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """An indented block."""
        return _block(tokens[idx].content, bool(env["indented"]))


def _block(text: str, ael: bool) -> str:
    inner = coloured(text.rstrip("\n")) if ael else escape(text.rstrip("\n"))
    return f'<pre tabindex="0"><code>{inner}</code></pre>\n'


_PARSERS: list[MarkdownIt] = []


def _parser() -> MarkdownIt:
    if not _PARSERS:
        made = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable("table").disable("image")
        made.inline.ruler.before("link", "name", _name)
        made.validateLink = _allowed  # type: ignore[method-assign]
        _PARSERS.append(made)
    return _PARSERS[0]


def _allowed(url: str) -> bool:
    scheme = _SCHEME.match(url.strip())
    return scheme is None or scheme[0].lower() in ("http:", "https:")


def _name(state: StateInline, silent: bool) -> bool:
    """`[name]`, `` [`name`] ``, `[name()]`."""
    match = _BRACKETS.match(state.src, state.pos, state.posMax)
    if match is None or match["name"].upper() in state.env.get("references", {}) or match["name"] in _CHECKBOXES:
        return False
    linked = state.env["resolve"](match["name"])
    if not silent:
        _said(state, match, linked)
    state.pos = match.end()
    return True


def _said(state: StateInline, match: re.Match[str], linked: Linked | None) -> None:
    attributes: dict[str, str | int | float] = {}
    if linked is not None and linked.address:
        attributes = {"href": linked.address, **({"title": linked.title} if linked.title else {})}
        opened = state.push("link_open", "a", 1)
        opened.attrs, opened.meta = attributes, {"named": True}
    token = state.push("code_inline", "code", 0)
    token.markup, token.content = "`", match["name"]
    token.meta = {"raw": match[0], "at": match.start(), "name": match["name"], "linked": linked}
    if attributes:
        state.push("link_close", "a", -1)


def _trusted(tokens: Sequence[Token], env: Mapping[str, Any]) -> None:
    """Links by name get their address, others that lead nowhere lose it; headings go below those of the page."""
    for at, token in enumerate(tokens):
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + env['level'] - 1)}"
            if token.type == "heading_open":
                token.attrSet("id", f"{env['prefix']}{anchor(tokens[at + 1].content)}")
        closes: list[Token] = []
        for child in reversed(token.children or ()):
            if child.type == "link_close":
                closes.append(child)
            elif child.type == "link_open":
                close = closes.pop()
                if not child.meta and not _leads(child, env):
                    # It says what it is called, and leads nowhere.
                    child.tag = close.tag = "span"
                    child.attrs = {}


def _leads(token: Token, env: Mapping[str, Any]) -> bool:
    """Whether a link of Markdown leads anywhere: to `http(s)`, to a heading of the page, or to a name, whose address it gets."""
    address = str(token.attrGet("href") or "")
    if _SCHEME.match(address) or address.startswith("#"):
        return True
    linked = env["resolve"](address) if _ONLY_NAME.fullmatch(address) else None
    token.meta = {"raw": f"]({address})", "name": address, "linked": linked}
    if linked is None or not linked.address:
        return False
    token.attrSet("href", linked.address)
    return True


def _mentions(tokens: Sequence[Token], lines: Sequence[str]) -> Iterator[Mention]:
    for token in tokens:
        if token.type != "inline" or token.map is None:
            continue
        for child in token.children or ():
            if not child.meta or "raw" not in child.meta:
                continue
            raw = child.meta["raw"]
            line, column = _position(token, raw, child.meta.get("at", 0), lines)
            yield Mention(raw, child.meta["name"], line, column, child.meta["linked"])


def _position(token: Token, raw: str, at: int, lines: Sequence[str]) -> tuple[int, int]:
    """Where something of an inline token stands. The token has the lines without what stands in front of them (`> `, `- `, blanks)."""
    assert token.map is not None
    before = token.content[:at]
    row = before.count("\n")
    inside = token.content.split("\n")[row]
    line = min(token.map[0] + row, len(lines) - 1)
    guess = len(lines[line].rstrip()) - len(inside.rstrip()) + at - (before.rfind("\n") + 1)
    if lines[line].startswith(raw, max(guess, 0)):
        return line, max(guess, 0)
    for number in range(token.map[0], min(token.map[1], len(lines))):
        column = lines[number].find(raw)
        if column >= 0:
            return number, column
    return line, 0


def _codes(tokens: Sequence[Token], lines: Sequence[str]) -> Iterator[Code]:
    for token in tokens:
        if token.type not in ("fence", "code_block") or token.map is None:
            continue
        fenced = token.type == "fence"
        first = token.map[0] + fenced
        inner = token.content.rstrip("\n").split("\n")
        columns = tuple(
            max(0, len(lines[first + at].rstrip()) - len(line.rstrip())) if first + at < len(lines) else 0
            for at, line in enumerate(inner)
        )
        yield Code(token.info.strip() if fenced else "", first, tuple(inner), columns, not fenced)
