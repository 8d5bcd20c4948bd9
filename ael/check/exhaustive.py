"""Whether the arms of a `match` leave something out, and whether each can be reached.

Maranget's usefulness ("Warnings for pattern matching", 2007): a row of patterns is useful after others when some value matches it and
none of them. The arms leave nothing out when a wildcard after them is not useful; what it would match is what is missing. Types are taken
apart into constructors only as far as the patterns of the column ask: a literal, the rest of its type, a variant, a length of list.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from ael.check.checker import Checker
from ael.check.pattern import WILD, Either, Items, Shape, Value, Variant, Whole, Wild, members_of
from ael.data import dataclass
from ael.source import Span
from ael.syntax import nodes as n
from ael.types.definition import EnumDef, VariantDef
from ael.types.text import show
from ael.types.type import (
    BoolType,
    IntType,
    ListType,
    LiteralType,
    Named,
    Never,
    NullType,
    StringType,
    Type,
    Unknown,
    optional,
)

_MAX_STEPS = 20_000
"""Work for one `match`; beyond it the arms count as complete (a `match` of this size is written by a machine)."""

_MAX_DEPTH = 400
"""Fields and items of one pattern that are looked into, those inside of others included."""

Row: TypeAlias = tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Constructor:
    """A way to make a value of a column: `key` tells it from others, `owner` is the member of the union, `fields` what is inside."""

    key: tuple[object, ...]
    owner: Type
    fields: tuple[Type, ...] = ()


class TooLarge(Exception):
    """More work than a `match` is worth."""


class Matrix:
    """The rows of one `match` so far."""

    def __init__(self, c: Checker, subject: Type) -> None:
        self.c = c
        self.types = (subject,)
        self.rows: list[Row] = []
        self._steps = 0

    def useful(self, shape: Shape) -> bool:
        """Whether some value matches `shape` and no row so far."""
        try:
            return any(self._witness(self.rows, row, self.types) is not None for row in _rows((shape,)))
        except TooLarge:
            return True

    def add(self, shape: Shape) -> None:
        """Add an arm without a guard."""
        self.rows.extend(_rows((shape,)))

    def missing(self) -> list[str]:
        """What no row matches, as patterns: every constructor of the subject that is left out, none when nothing is."""
        try:
            found = []
            asked = _Asked(self.rows)
            for constructor in self._constructors(self.types[0], self.rows):
                rows = asked.made(constructor)
                inner = self._witness(rows, tuple(WILD for _ in constructor.fields), constructor.fields)
                if inner is not None:
                    found.append(self._said(constructor, inner))
            return list(dict.fromkeys(found))
        except TooLarge:
            return []

    def _witness(self, rows: list[Row], row: Row, types: tuple[Type, ...], depth: int = 0) -> list[str] | None:
        """A value, as the texts of its columns, that `row` matches and no row of `rows`; None when there is none."""
        self._steps += 1
        if self._steps > _MAX_STEPS or depth > _MAX_DEPTH:
            raise TooLarge
        if not types:
            return [] if not rows else None
        if not rows and all(isinstance(shape, Wild) for shape in row):
            return ["_"] * len(types)
        head, rest = row[0], row[1:]
        if isinstance(head, Wild) and all(isinstance(one[0], Wild) for one in rows):
            # nothing asks about this column, so that it is not taken apart (types may be recursive)
            found = self._witness([one[1:] for one in rows], rest, types[1:], depth + 1)
            return None if found is None else ["_", *found]
        asked = _Asked(rows)
        for constructor in self._covered(head, types[0], rows, row):
            inner_rows = asked.made(constructor)
            (inner_row,) = _specialised([row], constructor) or [(*(WILD for _ in constructor.fields), *rest)]
            found = self._witness(inner_rows, inner_row, (*constructor.fields, *types[1:]), depth + 1)
            if found is not None:
                size = len(constructor.fields)
                alone = constructor.key == ("rest",) and len(members_of(self.c, types[0])) == 1
                return ["_" if alone else self._said(constructor, found[:size]), *found[size:]]
        return None

    def _covered(self, head: Shape, type: Type, rows: list[Row], row: Row) -> Iterator[Constructor]:
        """The constructors of a column that `head` matches."""
        if isinstance(head, Variant) and isinstance(enum := self.c.definitions.get(head.enum), EnumDef):
            variant = next(v for v in enum.variants if v.name == head.name)
            yield self._variant(Named(head.enum), variant)
            return
        for constructor in self._constructors(type, [*rows, row]):
            if isinstance(head, Wild) or _covers(head, constructor):
                yield constructor

    def _variant(self, enum: Named, variant: VariantDef) -> Constructor:
        fields = tuple(optional(f.type) if f.optional else f.type for f in variant.fields)
        return Constructor(("variant", enum.name, variant.name), enum, fields)

    def _constructors(self, type: Type, rows: Sequence[Row]) -> list[Constructor]:
        heads = [row[0] for row in rows]
        found: list[Constructor] = []
        for member in members_of(self.c, type):
            found.extend(self._of_member(member, heads))
        return found

    def _of_member(self, member: Type, heads: list[Shape]) -> Iterator[Constructor]:
        match member:
            case Never():
                return
            case NullType():
                yield Constructor(("value", None), member)
            case LiteralType(literal):
                yield Constructor(("value", literal), member)
            case BoolType():
                yield Constructor(("value", True), member)
                yield Constructor(("value", False), member)
            case Named(name) if isinstance(enum := self.c.definitions.get(name), EnumDef):
                for v in enum.variants:
                    yield self._variant(member, v)
            case ListType(item, low, high):
                sizes = [len(h.items) + (0 if h.more else 1) for h in heads if isinstance(h, Items)]
                top = max(sizes, default=0)
                for size in range(low or 0, top):
                    if high is None or size <= high:
                        yield Constructor(("items", size), member, (item,) * size)
                least = max(top, low or 0)
                if high is None or least <= high:
                    yield Constructor(("items", least, "more"), member, (item,) * least)
            case _:
                seen: dict[object, None] = {}
                for head in heads:
                    if isinstance(head, Value) and head.owner == member:
                        seen[head.value] = None
                for value in seen:
                    yield Constructor(("value", value), member)
                if not _all_seen(member, seen):
                    yield Constructor(("rest",), member)

    def _said(self, constructor: Constructor, inner: list[str]) -> str:
        """A constructor with what is inside, as a pattern."""
        match constructor.key:
            case ("value", value):
                return _literal(value)
            case ("variant", _, str() as name):
                return f"{name}({', '.join(inner)})" if inner else name
            case ("items", _, "more"):
                return f"[{', '.join([*inner, '..'])}]"
            case ("items", _):
                return f"[{', '.join(inner)}]"
            case _:
                return _named(constructor.owner)


def _all_seen(member: Type, seen: dict[object, None]) -> bool:
    return (
        isinstance(member, IntType)
        and member.min is not None
        and member.max is not None
        and member.max - member.min < len(seen) + 1
        and all(value in seen for value in range(member.min, member.max + 1))
    )


def _literal(value: object) -> str:
    match value:
        case None:
            return "null"
        case str():
            return json.dumps(value, ensure_ascii=False)
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)


def _named(type: Type) -> str:
    """A pattern for a member of a union, with a name that it binds; `_` where one has no name in a pattern."""
    match type:
        case Unknown():
            return "_"
        case ListType():
            return "List items"
        case _:
            text = show(type).partition("(")[0].partition("<")[0]
            return f"{text} {text[0].lower()}" if text[:1].isalpha() and text.isidentifier() else "_"


def _rows(row: Row) -> Iterator[Row]:
    """A row for each choice of alternatives in its first column."""
    head = row[0]
    if isinstance(head, Either):
        for shape in head.shapes:
            yield from _rows((shape, *row[1:]))
    else:
        yield row


def _covers(head: Shape, constructor: Constructor) -> bool:
    """Whether a shape can match values that are made this way."""
    match head:
        case Wild():
            return True
        case Whole(member):
            return member == constructor.owner
        case Value(value, owner):
            return (
                constructor.key == ("value", value)
                and type(constructor.key[1]) is type(value)
                and _same_owner(owner, constructor.owner)
            )
        case Variant(enum, name, _):
            return constructor.key == ("variant", enum, name)
        case Items(owner, items, more):
            if constructor.key[0] != "items" or owner != constructor.owner:
                return False
            size = constructor.key[1]
            assert isinstance(size, int)
            if len(constructor.key) == 3:
                return more and len(items) <= size
            return size == len(items) or (more and size >= len(items))
        case Either(shapes):
            return any(_covers(s, constructor) for s in shapes)


def _same_owner(a: Type, b: Type) -> bool:
    return a == b or isinstance(a, StringType) == isinstance(b, StringType)


def _specialised(rows: Sequence[Row], constructor: Constructor) -> list[Row]:
    """The rows that can match values made this way, with what is inside in front."""
    found: list[Row] = []
    size = len(constructor.fields)
    for whole in rows:
        for row in _rows(whole):
            head = row[0]
            if not _covers(head, constructor):
                continue
            match head:
                case Variant(_, _, fields) if len(fields) == size:
                    inside: Row = fields
                case Items(_, items, _):
                    inside = (*items, *(WILD for _ in range(size - len(items))))
                case _:
                    inside = tuple(WILD for _ in range(size))
            found.extend(_expanded((*inside, *row[1:])))
    return found


class _Asked:
    """Rows by the value that their first column asks for: each constructor looks at its own, and not at all of them."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._valued: dict[object, list[Row]] = {}
        self._others: list[Row] = []
        for whole in rows:
            for row in _rows(whole):
                head = row[0]
                (self._valued.setdefault(head.value, []) if isinstance(head, Value) else self._others).append(row)

    def made(self, constructor: Constructor) -> list[Row]:
        """The rows that can match values made this way, as `_specialised`."""
        own = self._valued.get(constructor.key[1], ()) if constructor.key[0] == "value" else ()
        return _specialised([*own, *self._others], constructor)


def _expanded(row: Row) -> list[Row]:
    return list(_rows(row)) if row else [row]


# --- reports -------------------------------------------------------------------------------------------------------------


def unreachable(c: Checker, arm: n.Arm) -> None:
    """Report an arm that no value comes to."""
    if c.module.source.text[arm.pattern.span.start : arm.pattern.span.end] != "_" and isinstance(arm.pattern, n.WildcardPattern):
        # The other side of a table's cell, which nobody wrote.
        c.report("AEL1104", "this cell holds for everything: write `_`", arm.pattern.span, warning=True)
        return
    c.report(
        "AEL1104", "this arm is never taken: the ones above it take everything that it matches", arm.pattern.span, warning=True
    )


def report_missing(c: Checker, node: n.Match, subject: Type, missing: list[str]) -> None:
    """Report what a `match` leaves out, with the arms to fill in."""
    shown = ", ".join(f"`{m}`" for m in missing[:8]) + (", …" if len(missing) > 8 else "")
    fix = c.edit("add the missing arms", new_arms(c, node, missing), safe=False)
    many = "s" if len(missing) > 1 else ""
    c.report(
        "AEL0405", f"this `match` of `{show(subject)}` leaves out {shown}: add the arm{many}, or `_`", node.subject.span, fix=fix
    )


def new_arms(c: Checker, node: n.Match | n.Catch, patterns: list[str]) -> tuple[Span, str]:
    """Where arms are added to a `match` or `catch`, and their text, as it is indented there."""
    text = c.module.source.text
    close = node.span.end - 1
    line_start = text.rfind("\n", 0, node.span.start) + 1
    indent = text[line_start : node.span.start]
    indent = indent[: len(indent) - len(indent.lstrip())]
    arms = "".join(f"{indent}  {pattern} => {{ }}\n" for pattern in patterns)
    before = close
    while before > 0 and text[before - 1] in " \t":
        before -= 1
    own_line = text[before - 1 : before] == "\n"
    at = before if own_line else close
    return Span(at, at), arms if own_line else f"\n{arms}{indent}"
