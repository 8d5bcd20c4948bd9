"""Actions of decision tables: rows as they are written, and the statements that they stand for."""

from __future__ import annotations

from ael.source import Span
from ael.syntax import nodes as n
from ael.syntax.actions.context import Context, Head, Signature, items
from ael.syntax.make import (
    make_arm,
    make_binary,
    make_block,
    make_bool_lit,
    make_expr_statement,
    make_function_decl,
    make_if,
    make_match,
    make_name,
    make_reference,
    make_return,
    make_rows,
    make_wildcard_pattern,
)


def table(
    c: Context, s: int, e: int, head: Head, name: n.Name, signature: Signature, clauses: list[n.Clause] | None,
    rows: list[n.Row] | None,
) -> n.FunctionDecl:  # fmt: skip
    begin = rows[0].span.start if rows else e - 1
    body = make_rows(begin, e, _statements(signature.parameters, rows or []), items(clauses), items(rows))
    return make_function_decl(s, e, head.doc, head.public, name, (), *signature, body)


def row(c: Context, s: int, e: int, cells: list[n.Cell], result: n.Expr) -> n.Row:
    return n.Row(Span(s, e), tuple(cells), result)


def row_otherwise(c: Context, s: int, e: int, result: n.Expr) -> n.Row:
    return n.Row(Span(s, e), None, result)


def pattern_cell(c: Context, s: int, e: int, pattern: n.Pattern) -> n.Cell:
    return n.Cell(Span(s, e), pattern, ())


def compared_cell(c: Context, s: int, e: int, comparison: n.Comparison) -> n.Cell:
    return n.Cell(Span(s, e), None, (comparison,))


def between_cell(c: Context, s: int, e: int, first: n.Comparison, second: n.Comparison) -> n.Cell:
    return n.Cell(Span(s, e), None, (first, second))


def range_cell(c: Context, s: int, e: int, low: n.Expr, high: n.Expr) -> n.Cell:
    return n.Cell(Span(s, e), None, ((">=", low), ("<=", high)))


def bound_below(c: Context, s: int, e: int, bound: n.Expr) -> n.Comparison:
    return "<", bound


def bound_to(c: Context, s: int, e: int, bound: n.Expr) -> n.Comparison:
    return "<=", bound


def bound_above(c: Context, s: int, e: int, word: None, bound: n.Expr) -> n.Comparison:
    return ">", bound


def bound_from(c: Context, s: int, e: int, bound: n.Expr) -> n.Comparison:
    return ">=", bound


def _statements(parameters: tuple[n.Parameter, ...], rows: list[n.Row]) -> tuple[n.Statement, ...]:
    """An `if` for each row, and the last one's value at the end: that of `otherwise`, as is checked later."""
    made: list[n.Statement] = []
    for one in rows[:-1]:
        s, e = one.span
        returned = make_return(one.result.span.start, one.result.span.end, one.result)
        then = make_block(one.result.span.start, one.result.span.end, (returned,))
        made.append(make_expr_statement(s, e, make_if(s, e, _condition(parameters, one), then, None)))
    if rows:
        result = rows[-1].result
        made.append(make_expr_statement(result.span.start, result.span.end, result))
    return tuple(made)


def _condition(parameters: tuple[n.Parameter, ...], row: n.Row) -> n.Expr:
    found: n.Expr | None = None
    for cell, parameter in zip(row.cells or (), parameters, strict=False):
        made = _test(cell, parameter.name.text)
        if made is not None:
            found = made if found is None else make_binary(found.span.start, made.span.end, "and", found, made)
    return make_bool_lit(row.span.start, row.span.start, True) if found is None else found


def _test(cell: n.Cell, parameter: str) -> n.Expr | None:
    """The condition of a cell; None for `_`."""
    s, e = cell.span
    if cell.pattern is not None:
        if isinstance(cell.pattern, n.WildcardPattern):
            return None
        holds = make_arm(s, e, cell.pattern, None, make_bool_lit(e, e, True))
        fails = make_arm(s, e, make_wildcard_pattern(s, e), None, make_bool_lit(e, e, False))
        return make_match(s, e, _read(s, parameter), (holds, fails))
    made = [make_binary(s, e, op, _read(s, parameter), bound) for op, bound in cell.comparisons]
    return made[0] if len(made) == 1 else make_binary(s, e, "and", made[0], made[1])


def _read(at: int, parameter: str) -> n.Reference:
    """A parameter as it is read where nobody wrote its name: at a place without length."""
    return make_reference(at, at, make_name(at, at, parameter))
