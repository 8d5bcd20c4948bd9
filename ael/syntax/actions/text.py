"""Actions of strings: escapes and the indentation of block strings."""

from __future__ import annotations

import re

from ael.syntax import nodes as n
from ael.syntax.actions.context import Context
from ael.syntax.make import make_string_lit, make_text_part

_ESCAPE = re.compile(r"\\(?:u\{([^}\"\r\n]*+)\}|(\r\n?|[\s\S]))")
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "$": "$"}
_HEX = re.compile(r"[0-9A-Fa-f]{1,6}")
_LINE_END = re.compile(r"\r\n?")
_ANY_LINE_END = re.compile(r"\r\n?|\n")


def string(c: Context, s: int, e: int, token: int) -> n.StringLit:
    text = c.texts[token]
    if text[0] == "r":
        return make_string_lit(s, e, _parts(s + 2, e - 1, text[2:-1]), "raw")
    if text.startswith('"""'):
        return _block(c, s, e, [_Chunk(s + 3, text[3:-3])])
    inner = text[1:-1]
    if "\\" in inner:
        inner = _unescape(c, inner, s + 1)
    return make_string_lit(s, e, _parts(s + 1, e - 1, inner), "plain")


def template_parts(c: Context, s: int, e: int, parts: list[object], token: int, expr: n.Expr) -> list[object]:
    parts.append(token)
    parts.append(expr)
    return parts


def template(c: Context, s: int, e: int, head: int, parts: list[int | n.Expr], tail: int) -> n.StringLit:
    block = c.texts[head].startswith('"""')
    width = 3 if block else 1
    found: list[_Chunk | n.Expr] = [_Chunk(s + width, c.texts[head][width:-2])]
    found += [_Chunk(c.starts[part] + 1, c.texts[part][1:-2]) if isinstance(part, int) else part for part in parts]
    found.append(_Chunk(c.starts[tail] + 1, c.texts[tail][1:-width]))
    if block:
        return _block(c, s, e, found)
    made: list[n.TextPart | n.Expr] = []
    for chunk in found:
        if isinstance(chunk, _Chunk):
            made += _parts(chunk.offset, chunk.offset + len(chunk.text), _unescape(c, chunk.text, chunk.offset))
        else:
            made.append(chunk)
    return make_string_lit(s, e, tuple(made), "plain")


class _Chunk:
    """Text between interpolations, as written."""

    __slots__ = ("offset", "text")

    def __init__(self, offset: int, text: str) -> None:
        self.offset = offset
        self.text = text


def _parts(start: int, end: int, text: str) -> tuple[n.TextPart, ...]:
    return (make_text_part(start, end, text),) if text else ()


def _block(c: Context, s: int, e: int, chunks: list[_Chunk | n.Expr]) -> n.StringLit:
    """A `\"""` string: the line of its opening quotes is dropped when empty, and the indentation of its closing quotes on every line."""
    texts = [chunk for chunk in chunks if isinstance(chunk, _Chunk)]
    ends = [(chunk.offset, chunk.offset + len(chunk.text)) for chunk in texts]
    lines = [_LINE_END.sub("\n", chunk.text) if "\r" in chunk.text else chunk.text for chunk in texts]
    first, _, rest = lines[0].partition("\n")
    if not first.strip(" \t") and "\n" in lines[0]:
        before, newline, margin = lines[-1].rpartition("\n")
        if margin.strip(" \t") or not newline:
            c.problem("AEL0009", 'the closing `"""` stands on a line of its own, as its opening one does', e - 3, e)
            margin = ""
        elif len(lines) == 1:
            lines[0] = "\n" + before.partition("\n")[2] if "\n" in before else ""
        else:
            lines[-1] = before
            lines[0] = "\n" + rest
        lines = [_dedent(c, line, margin, texts[i], final=i == len(lines) - 1) for i, line in enumerate(lines)]
        lines[0] = lines[0][1:]
    made: list[n.TextPart | n.Expr] = []
    at = 0
    for chunk in chunks:
        if isinstance(chunk, _Chunk):
            text = _unescape(c, lines[at], chunk.offset) if "\\" in lines[at] else lines[at]
            made += _parts(*ends[at], text)
            at += 1
        else:
            made.append(chunk)
    return make_string_lit(s, e, tuple(made), "block")


def _dedent(c: Context, text: str, margin: str, chunk: _Chunk, *, final: bool) -> str:
    """Take `margin` from the start of every line but the first. An empty line needs none of it, where it is a line: the end of a text
    that is not the final one is followed by an interpolation."""
    if not margin:
        return text
    out = text.split("\n")
    for index, line in enumerate(out[1:], 1):
        if line.startswith(margin):
            out[index] = line[len(margin) :]
        elif not line.strip(" \t") and (final or index < len(out) - 1):
            out[index] = ""
        else:
            starts = [0, *(found.end() for found in _ANY_LINE_END.finditer(chunk.text))]
            start = chunk.offset + starts[index]
            c.problem(
                "AEL0009", 'this line stands further out than the closing `"""` of its string', start, start + max(1, len(line)),
                "every line begins with the spaces that stand before the closing quotes",
            )  # fmt: skip
            break
    return "\n".join(out)


def _unescape(c: Context, text: str, offset: int) -> str:
    """Resolve escapes. `offset` is where the text begins (near enough, in a dedented one)."""

    def resolve(match: re.Match[str]) -> str:
        code, char = match.groups()
        if code is not None:
            if _HEX.fullmatch(code) and (value := int(code, 16)) <= 0x10FFFF and not 0xD800 <= value <= 0xDFFF:
                return chr(value)
        elif char in _SIMPLE:
            return _SIMPLE[char]
        at = offset + match.start()
        shown = match[0] if match[0].isprintable() else "\\"
        c.problem(
            "AEL0010", f"`{shown}` is no escape", at, at + len(match[0]),
            'the escapes are `\\n` `\\t` `\\r` `\\"` `\\\\` `\\$` and `\\u{1F600}`; a raw string `r"…"` has none',
        )  # fmt: skip
        return ""

    return _ESCAPE.sub(resolve, text)
