"""What each token of a file is, for colours that know what a name means: full, a part, and what changed since the last answer.

The words are those of `grammar/words.toml`, as the lexer and the parser read them: one that only may be a word is one where the tree
has no name in its place.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

from lsprotocol import types as lsp

from ael.check.collect import Collected, Kind
from ael.check.facts import Facts
from ael.check.program import Local, Tables
from ael.editor.feature import Asked
from ael.editor.features.entity import Entity, Occurrence
from ael.editor.features.legend import MODIFIERS, TYPES
from ael.editor.features.names import names_of
from ael.editor.snapshot import File, Snapshot
from ael.source import Span
from ael.syntax import nodes as n
from ael.syntax.words import (
    ANY_WORD,
    DURATION,
    FIELD_WORD,
    FLOAT,
    INT,
    IS_RESERVED,
    MONEY,
    NAME,
    SIZE,
    STRING,
    STRING_HEAD,
    STRING_MID,
    STRING_TAIL,
)

_TYPE = {name: number for number, name in enumerate(TYPES)}
_MODIFIER = {name: 1 << number for number, name in enumerate(MODIFIERS)}
DECLARATION, READONLY, MODIFICATION, ASYNC, LIBRARY, DOCUMENTATION = (_MODIFIER[name] for name in MODIFIERS)

_OF_SYMBOL: dict[Kind, tuple[str, int]] = {
    "record": ("struct", 0), "error": ("struct", 0), "enum": ("enum", 0), "alias": ("type", 0), "type": ("type", LIBRARY),
    "fault": ("struct", LIBRARY), "const": ("variable", READONLY), "function": ("function", 0), "tool": ("function", ASYNC),
    "node": ("class", ASYNC), "agent": ("class", ASYNC), "skill": ("namespace", 0), "mcp": ("namespace", 0), "service": ("interface", 0),
    "operation": ("method", ASYNC), "provide": ("class", 0), "model": ("variable", READONLY), "store": ("variable", 0),
    "module": ("namespace", 0), "permission": ("decorator", 0), "role": ("decorator", 0),
}  # fmt: skip
_OF_ENTITY: dict[str, tuple[str, int]] = {
    "permission": ("decorator", 0), "role": ("decorator", 0), "module": ("namespace", 0), "variant": ("enumMember", READONLY),
    "field": ("property", 0), "parameter": ("parameter", READONLY), "local": ("variable", READONLY), "type_parameter": ("typeParameter", 0),
    "store_operation": ("method", ASYNC | LIBRARY), "builtin": ("function", LIBRARY), "method": ("method", LIBRARY),
    "word": ("property", LIBRARY),
}  # fmt: skip
_NUMBERS = frozenset({INT, FLOAT, MONEY, DURATION, SIZE})
_STRINGS = frozenset({STRING, STRING_HEAD, STRING_MID, STRING_TAIL})


class Token(NamedTuple):
    """A token from `start` to `end`, the number of its type and the bits of its modifiers."""

    start: int
    end: int
    type: int
    modifiers: int


def full(asked: Asked, params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
    """`textDocument/semanticTokens/full`."""
    data = encoded(asked.file, tokens(asked.snapshot, asked.file))
    return lsp.SemanticTokens(data, _keep(data))


def within(asked: Asked, params: lsp.SemanticTokensRangeParams) -> lsp.SemanticTokens:
    """`textDocument/semanticTokens/range`."""
    span = asked.file.lines.span(params.range)
    found = (one for one in tokens(asked.snapshot, asked.file, span) if one.start < span.end and one.end > span.start)
    return lsp.SemanticTokens(encoded(asked.file, found))


def delta(asked: Asked, params: lsp.SemanticTokensDeltaParams) -> lsp.SemanticTokens | lsp.SemanticTokensDelta:
    """`textDocument/semanticTokens/full/delta`: the one stretch of numbers that is not as it was."""
    data = encoded(asked.file, tokens(asked.snapshot, asked.file))
    before = _KEPT.get(params.previous_result_id)
    name = _keep(data)
    if before is None:
        return lsp.SemanticTokens(data, name)
    return lsp.SemanticTokensDelta(changes(before, data), name)


def changes(before: list[int], after: list[int]) -> list[lsp.SemanticTokensEdit]:
    """The edit that makes `after` of `before`."""
    most = min(len(before), len(after))
    start = next((at for at in range(most) if before[at] != after[at]), most)
    end = next((at for at in range(most - start) if before[-1 - at] != after[-1 - at]), most - start)
    if start == len(before) == len(after):
        return []
    return [lsp.SemanticTokensEdit(start, len(before) - end - start, after[start : len(after) - end])]


_KEPT: OrderedDict[str, list[int]] = OrderedDict()
_MOST_KEPT = 64


def _keep(data: list[int]) -> str:
    """Keep an answer for the next `delta`, under a name that is its own."""
    name = hashlib.sha256(repr(data).encode()).hexdigest()[:16]
    _KEPT[name] = data
    _KEPT.move_to_end(name)
    while len(_KEPT) > _MOST_KEPT:
        _KEPT.popitem(last=False)
    return name


# --- tokens ----------------------------------------------------------------------------------------------------------------


def tokens(snapshot: Snapshot, file: File, span: Span | None = None) -> Iterator[Token]:
    """The tokens of a file in order, those of the declarations that touch `span` at least."""
    if file.kind not in ("module", "deployment", "pack"):
        return
    names = _names(snapshot, file, span)
    free = _free(snapshot, file, span)
    found = [*_comments(file), *_tokens(file, names, free, span)]
    found.sort()
    yield from found


def _tokens(file: File, names: dict[int, Token], free: dict[int, bool], span: Span | None) -> Iterator[Token]:
    stream = file.tokens
    keyword, number, text, path = _TYPE["keyword"], _TYPE["number"], _TYPE["string"], _TYPE["namespace"]
    source = file.source.text
    for kind, start, end in zip(stream.kinds, stream.starts, stream.ends, strict=True):
        if span is not None and (end < span.start or start > span.end):
            continue
        if kind in _STRINGS:
            yield Token(start, end, text, 0)
        elif kind in _NUMBERS:
            yield Token(start, end, number, 0)
        elif kind in ANY_WORD or kind == FIELD_WORD:
            known = names.get(start)
            if known is not None and known.end == end:
                yield known
            elif source[start - 1 : start] == "/" or source[end : end + 1] == "/":
                yield Token(start, end, path, 0)  # a part of the path of a module
            elif kind in IS_RESERVED or (kind not in (NAME, FIELD_WORD) and not free.get(start, True)):
                yield Token(start, end, keyword, 0)


def _comments(file: File) -> Iterator[Token]:
    for start, end, _ in file.tokens.comments:
        yield Token(start, end, _TYPE["comment"], 0)
    for start, end in file.tokens.doc_lines:
        yield Token(start, end, _TYPE["comment"], DOCUMENTATION)


def _free(snapshot: Snapshot, file: File, span: Span | None) -> dict[int, bool]:
    """For every name in the tree, that it is a name; for whatever else stands in what parsed, that it is a word."""
    found = _Free(file)
    for node in file.tree.declarations:
        if span is None or (node.span.start <= span.end and node.span.end >= span.start):
            start = node.span.start
            base, places = snapshot.memo(node, "free", lambda node=node, start=start: (start, _places(node)))  # type: ignore[misc]
            found.update((place + start - base, True) for place in places)
    return found


def _places(node: n.Node) -> tuple[int, ...]:
    return tuple(one.span.start for one in n.walk(node) if isinstance(one, n.Name))


class _Free(dict[int, bool]):
    """Start of a token -> whether it is a name. What stands in no declaration that parsed may be either, and is left alone."""

    def __init__(self, file: File) -> None:
        super().__init__()
        self._spans = [(node.span.start, node.span.end) for node in file.tree.declarations]
        self._at = 0

    def get(self, key: int, default: bool = True) -> bool:  # type: ignore[override]
        if key in self:
            return True
        spans = self._spans
        if self._at and spans[self._at - 1][1] > key:
            self._at = 0
        while self._at < len(spans) and spans[self._at][1] <= key:
            self._at += 1
        return not (self._at < len(spans) and spans[self._at][0] <= key)


def _names(snapshot: Snapshot, file: File, span: Span | None) -> dict[int, Token]:
    """The names of a file by where they start; of a dotted permission, each of its parts."""
    found: dict[int, Token] = {}
    facts, collected, tables = snapshot.facts, snapshot.collected, file.tables
    for node in file.tree.declarations:
        if span is not None and (node.span.start > span.end or node.span.end < span.start):
            continue
        if isinstance(node, n.Binding):
            _line(node, found)
        for one in names_of(snapshot, file, node).names:
            kind = one.entity.kind
            if kind in ("secret", "setting", "test"):
                continue
            type, modifiers = of_entity(collected, facts, one, tables)
            if kind in ("permission", "role"):
                for part in getattr(one.node, "parts", ()) or getattr(getattr(one.node, "path", None), "parts", ()):
                    found[part.span.start] = Token(part.span.start, part.span.end, type, modifiers)
            elif one.start not in found or isinstance(node, n.Binding):
                found[one.start] = Token(one.start, one.end, type, modifiers)
    return found


def _line(node: n.Binding, found: dict[int, Token]) -> None:
    """The words of a deployment's line, which the tree has as names."""
    found[node.kind.span.start] = Token(*node.kind.span, _TYPE["keyword"], 0)
    for option in node.options:
        found[option.name.span.start] = Token(*option.name.span, _TYPE["property"], LIBRARY)
    for one in n.walk(node.value) if node.value is not None else ():
        if isinstance(one, n.Call) and isinstance(one.callee, n.Reference):
            span = one.callee.name.span
            found.setdefault(span.start, Token(*span, _TYPE["function"], LIBRARY))
        elif isinstance(one, n.Argument) and one.name is not None:
            found.setdefault(one.name.span.start, Token(*one.name.span, _TYPE["property"], LIBRARY))


def of_entity(collected: Collected, facts: Facts | None, one: Occurrence, tables: Tables) -> tuple[int, int]:
    """The type and modifiers of a name."""
    entity = one.entity
    name, modifiers = _OF_ENTITY.get(entity.kind, ("variable", 0))
    if entity.kind == "symbol":
        symbol = collected.symbols.get(entity.name)
        if symbol is None:
            name, modifiers = ("type", LIBRARY)
        else:
            name, modifiers = _OF_SYMBOL.get(symbol.kind, ("variable", 0))
            if symbol.module.startswith("std/"):
                modifiers |= LIBRARY
            if symbol.kind == "function" and facts is not None and (effects := facts.effects.get(entity.name)) and effects.acts:
                modifiers |= ASYNC
    elif entity.kind == "builtin":
        name, modifiers = _builtin(entity)
    elif entity.kind == "local" and _mutable(one, tables):
        modifiers &= ~READONLY
    elif entity.kind == "module" and entity.name.startswith("std/"):
        modifiers |= LIBRARY
    if one.role in ("declare", "implement"):
        modifiers |= DECLARATION
    elif one.role == "write":
        modifiers = (modifiers | MODIFICATION) & ~READONLY
    return _TYPE[name], modifiers


def _builtin(entity: Entity) -> tuple[str, int]:
    if entity.name in ("start", "finish", "output", "call", "call.key"):
        return "variable", READONLY | LIBRARY
    return "function", LIBRARY | (ASYNC if entity.name.startswith("std.") else 0)


def _mutable(one: Occurrence, tables: Tables) -> bool:
    if isinstance(one.node, n.Let):
        return one.node.mutable
    known = tables.resolved.get(one.node)
    return isinstance(known, Local) and known.mutable


# --- as numbers ------------------------------------------------------------------------------------------------------------


def encoded(file: File, found: Iterator[Token] | list[Token]) -> list[int]:
    """Tokens as the protocol writes them: five numbers each, places relative to the one before, none over a line's end."""
    data: list[int] = []
    text, starts = file.source.text, file.source.line_starts()
    plain = text.isascii()
    lines = file.lines
    line = before_line = before_column = 0
    count = len(starts)
    for start, end, type, modifiers in found:
        while line + 1 < count and starts[line + 1] <= start:
            line += 1
        at = line
        while start < end:
            stop = min(end, starts[at + 1]) if at + 1 < count else end
            last = stop
            while last > start and text[last - 1] in "\r\n":
                last -= 1
            if last > start:
                if plain:
                    column, length = start - starts[at], last - start
                else:
                    place, other = lines.position(start), lines.position(last)
                    column, length = place.character, other.character - place.character
                data += (at - before_line, column - before_column if at == before_line else column, length, type, modifiers)
                before_line, before_column = at, column
            start, at = stop, at + 1
    return data
