"""Actions of names, paths, docs and heads of declarations."""

from __future__ import annotations

from ael.syntax import nodes as n
from ael.syntax.actions.context import Context, Head, Signature, items
from ael.syntax.make import make_doc, make_name, make_path

MAX_PARTS = 32
"""Parts of a dotted name."""


def name(c: Context, s: int, e: int, token: int) -> n.Name:
    return make_name(s, e, c.texts[token])


def word(c: Context, s: int, e: int) -> n.Name:
    return make_name(s, e, c.text[s:e])


def path(c: Context, s: int, e: int, token: int) -> n.Path:
    return make_path(s, e, (make_name(s, e, c.texts[token]),))


def longer_path(c: Context, s: int, e: int, before: n.Path, part: n.Name) -> n.Path:
    if len(before.parts) >= MAX_PARTS:
        if len(before.parts) == MAX_PARTS:
            c.problem("AEL0008", f"a name has at most {MAX_PARTS} parts", part.span.start, part.span.end)
        return before
    return make_path(s, e, (*before.parts, part))


def doc(c: Context, s: int, e: int, token: int) -> n.Doc:
    span = c.docs[token]
    return make_doc(span.start, span.end, c.texts[token])


def head(c: Context, s: int, e: int, doc: n.Doc | None, pub: int | None) -> Head:
    return Head(doc, pub is not None)


def signature(
    c: Context, s: int, e: int, parameters: list[n.Parameter] | None, result: n.TypeExpr | None, fails: list[n.Path] | None
) -> Signature:
    return Signature(items(parameters), result, items(fails))
