"""Parsing texts, and which rules of the grammar a text has."""

from __future__ import annotations

from pathlib import Path

from ael.diagnostics.diagnostic import Bag, Diagnostic
from ael.source import Source
from ael.syntax import nodes as n
from ael.syntax.lexer import lex
from ael.syntax.parse import parse_deployment, parse_expression, parse_module, parse_pack
from ael.syntax.tables import ACTION, GOTO, LEFT, LENGTH, NONTERMINALS, STARTS
from ael.syntax.words import END, IS_SOFT, NAME, FileKind

ROOT = Path(__file__).resolve().parent.parent.parent
PARSERS = {"module": parse_module, "pack": parse_pack, "deployment": parse_deployment}


def parse(text: str, kind: FileKind = "module") -> tuple[n.Module, list[Diagnostic]]:
    """The tree and what was reported."""
    bag = Bag()
    return PARSERS[kind](Source("test.ael", text), bag), bag.sorted()


def good(text: str, kind: FileKind = "module") -> n.Module:
    """The tree of a text that must parse."""
    module, found = parse(text, kind)
    assert not found, found[0].message
    return module


def expression(text: str) -> n.Expr:
    """The tree of an expression that must parse."""
    bag = Bag()
    made = parse_expression(Source("test.ael", text), bag)
    assert made is not None, bag.sorted()
    return made


def problems(text: str, kind: FileKind = "module") -> list[tuple[str, int, int]]:
    """Code, line and column of all that is reported."""
    _, found = parse(text, kind)
    return [(d.code, *d.place.source.position(d.place.span.start)) for d in found]


def statements(text: str) -> tuple[n.Statement, ...]:
    """The statements of a body."""
    function = good("fn f() {\n" + text + "\n}").declarations[0]
    assert isinstance(function, n.FunctionDecl)
    return function.body.statements


def rules(text: str, kind: FileKind) -> set[str]:
    """The rules of the grammar that a text is made with, by the plain algorithm over the tables. Empty when it does not parse."""
    tokens = lex(Source("test.ael", text), Bag(), kind)
    found: set[str] = set()
    for piece in tokens.pieces:
        states, at = [STARTS[kind]], piece.first
        while True:
            token = tokens.kinds[at]
            row = ACTION[states[-1]]
            do = row.get(token, row.get(NAME) if token in IS_SOFT else None)
            if do is None:
                if token != END or row:
                    return set()
                break
            if do >= 0:
                states.append(do)
                at += 1
                continue
            rule = -1 - do
            if LENGTH[rule]:
                del states[-LENGTH[rule] :]
            states.append(GOTO[states[-1]][LEFT[rule]])
            found.add(NONTERMINALS[LEFT[rule]])
    return found
