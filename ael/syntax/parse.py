"""Text to tree: a loop over the LALR(1) tables that makes the nodes as it reduces.

Each declaration is parsed alone, so that one that is broken leaves the others. `grammar/ael.lark` says what the syntax is,
`ael.syntax.actions` what each rule makes.
"""

from __future__ import annotations

from typing import Any

from ael.diagnostics.diagnostic import Bag
from ael.source import Source
from ael.syntax import nodes as n
from ael.syntax.actions.context import Context
from ael.syntax.depth import check_depth
from ael.syntax.lexer import lex
from ael.syntax.make import make_comment, make_doc, make_module
from ael.syntax.recover import report_error, resume
from ael.syntax.reductions import REDUCE
from ael.syntax.tables import ACTION, GOTO, LEFT, LENGTH, STARTS
from ael.syntax.tokens import Piece, Tokens
from ael.syntax.words import DOC, END, IS_SOFT, NAME, FileKind

_CHAINS: list[dict[int, int]] = [{} for _ in GOTO]
"""For a state: nonterminal and lookahead -> the state after the rules of one symbol that follow. Computed where it is first needed."""


def parse_module(source: Source, bag: Bag) -> n.Module:
    """The tree of a module. Declarations that do not parse are reported into `bag` and left out."""
    return _parse(source, bag, "module")


def parse_pack(source: Source, bag: Bag) -> n.Module:
    """The tree of a `pack.ael`: `PackDecl`s."""
    return _parse(source, bag, "pack")


def parse_deployment(source: Source, bag: Bag) -> n.Module:
    """The tree of a `deploy.ael`: `Binding`s and `TenantDecl`s."""
    return _parse(source, bag, "deployment")


def parse_expression(source: Source, bag: Bag) -> n.Expr | None:
    """The tree of one expression, None when it does not parse."""
    tokens = lex(source, bag, "expression")
    context = Context(tokens, bag)
    if len(tokens.pieces) != 1:
        if not bag.errors:
            context.problem("AEL0101", "expected an expression", 0, len(source.text))
        return None
    expression: n.Expr | None = parse_piece(context, tokens.pieces[0], STARTS["expression"])
    return None if bag.errors else expression


def _parse(source: Source, bag: Bag, kind: FileKind) -> n.Module:
    tokens = lex(source, bag, kind)
    context = Context(tokens, bag)
    start = STARTS[kind]
    declarations = []
    for piece in tokens.pieces:
        made = parse_piece(context, piece, start)
        if made is not None:
            declarations.append(made)
    doc = None
    if tokens.module_doc is not None:
        text, span = tokens.module_doc
        doc = make_doc(span.start, span.end, text)
    return make_module(0, len(source.text), source, doc, tuple(declarations), comments_of(tokens))


def comments_of(tokens: Tokens) -> tuple[n.Comment, ...]:
    """The comments of a file, in source order."""
    text = tokens.source.text
    return tuple(make_comment(c.start, c.end, text[c.start : c.end], c.trailing) for c in sorted(tokens.comments))


def parse_piece(context: Context, piece: Piece, start: int) -> Any:
    """The tree of one declaration, None when it was reported."""
    if not piece.sound:
        return None
    context.broken = not piece.clean
    made = _run(context, piece, start)
    if context.broken or (piece.deep and not check_depth(context, made)):
        return None
    return made


def _run(context: Context, piece: Piece, start: int) -> Any:
    """The loop. `states`, `values` and `begins` are one stack: a state, what was made to get there, and its first token."""
    action, chains, reduce, length, left = ACTION, _CHAINS, REDUCE, LENGTH, LEFT
    tokens = context.tokens
    kinds, starts, ends = tokens.kinds, tokens.starts, tokens.ends
    states, begins = [start], [piece.first]
    values: list[Any] = [None]
    state, at, end = start, piece.first, 0
    kind = kinds[at]
    while True:
        do = action[state].get(kind)
        if do is None:
            if kind == END and not action[state]:
                return values[-1]
            # A soft word is a name where the grammar does not expect the word.
            if kind in IS_SOFT:
                kind = NAME
                do = action[state].get(kind)
            if do is None and kind == DOC:
                # A doc comment where there is nothing to describe is a comment.
                context.undocument(at)
                at += 1
                kind = kinds[at]
                continue
            if do is None:
                report_error(context, states, at, kinds[at])
                at = resume(context, states, values, begins, at, piece)
                if at < 0:
                    return None
                state, kind = states[-1], kinds[at]
                continue
        if do >= 0:
            states.append(do)
            values.append(at)
            begins.append(at)
            end = ends[at]
            state = do
            at += 1
            kind = kinds[at]
            continue
        rule = -1 - do
        size = length[rule]
        make = reduce[rule]
        if size == 1:
            # One symbol: its place on the stack is the new one's.
            if make is not None:
                values[-1] = make(context, values, starts[begins[-1]], end)
            state = states[-2]
            key = left[rule] << 8 | kind
            after = chains[state].get(key)
            if after is None:
                after = _after(state, left[rule], kind)
                chains[state][key] = after
            states[-1] = state = after
            continue
        if size:
            first = begins[-size]
            assert make is not None, "a rule without an action has one symbol"
            made = make(context, values, starts[first], end)
            del states[-size:], values[-size:], begins[-size:]
        else:
            first = at
            assert make is not None, "a rule without an action has one symbol"
            made = make(context, values, starts[at], starts[at])
        state = states[-1]
        key = left[rule] << 8 | kind
        after = chains[state].get(key)
        if after is None:
            after = _after(state, left[rule], kind)
            chains[state][key] = after
        states.append(after)
        values.append(made)
        begins.append(first)
        state = after


def _after(state: int, nonterminal: int, kind: int) -> int:
    """The state after `nonterminal` in `state`, and after every rule of one symbol without an action that `kind` reduces there."""
    after = GOTO[state][nonterminal]
    while True:
        row = ACTION[after]
        do = row.get(kind)
        if do is None and kind in IS_SOFT:
            do = row.get(NAME)
        if do is None or do >= 0 or REDUCE[-1 - do] is not None:
            return after
        after = GOTO[state][LEFT[-1 - do]]
