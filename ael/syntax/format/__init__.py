"""One style for source: `format_module`.

Two spaces further in, lines of at most 110 columns, one empty line at most. The printers walk the tree and take the source's own
tokens, so that nothing is lost; comments go with their neighbours. Strings, numbers and parentheses stay as they are written.
"""

from __future__ import annotations

from ael.diagnostics.diagnostic import Bag
from ael.source import Source
from ael.syntax import nodes as n
from ael.syntax.format import clauses, declarations, expressions, project, statements, table, types
from ael.syntax.format.stream import Printer, Stream
from ael.syntax.lexer import lex
from ael.syntax.parse import parse_deployment, parse_module, parse_pack
from ael.syntax.tree import Node, same
from ael.syntax.words import FileKind

PRINTERS: dict[type[Node], Printer] = {
    **types.PRINTERS, **expressions.PRINTERS, **statements.PRINTERS, **clauses.PRINTERS, **declarations.PRINTERS, **project.PRINTERS,
    **table.PRINTERS,
}  # fmt: skip
"""The printer of each class of nodes."""

_PARSE = {"module": parse_module, "pack": parse_pack, "deployment": parse_deployment}


def format_module(module: n.Module) -> str:
    """The text of a file in the one style. `module` must have parsed without an error.

    Raises `ValueError` when it did not: what cannot be read is not rewritten.
    """
    kind = _kind(module)
    tokens = lex(module.source, Bag(), kind)
    if len(tokens.pieces) != len(module.declarations):
        raise ValueError(f"{module.source.name} has syntax errors")
    stream = Stream(module.source, tokens, PRINTERS)
    text = _join(stream, module)
    # The one promise that must hold whatever the printers do: a file is never changed into another program.
    bag = Bag()
    again = _PARSE[kind](Source(module.source.name, text), bag)
    assert not bag.errors, f"formatting {module.source.name} broke it: {bag.sorted()[0].message}"
    assert same(module, again), f"formatting {module.source.name} changed its meaning"
    return text


def _kind(module: n.Module) -> FileKind:
    match module.declarations[:1]:
        case (n.PackDecl(),):
            return "pack"
        case (n.Binding() | n.TenantDecl(),):
            return "deployment"
        case _:
            return "module"


def _join(p: Stream, module: n.Module) -> str:
    """All declarations, an empty line between those that end in a body."""
    parts: list[str] = []
    after_body = False
    for index, declaration in enumerate(module.declarations):
        p.reset()
        blank = index > 0 and p.blank_before(p.notes[p.note].start if p.has_comment() else p.start)
        p.lead(first=True)
        lead = p.text()
        p.reset()
        p.show(declaration)
        while p.note < len(p.notes) and p.notes[p.note].trailing and p.notes[p.note].start < p.start:
            p.comment()
        text = p.text()
        body = text.rstrip().endswith("}") and "\n" in text
        if index and (blank or after_body or body):
            parts.append("\n")
        parts += [lead, text, "\n"]
        after_body = body
    p.reset()
    if p.note < len(p.notes):
        if parts and p.blank_before(p.notes[p.note].start):
            parts.append("\n")
        p.lead(first=True)
        parts.append(p.text().rstrip("\n") + "\n")
    return "".join(parts)
