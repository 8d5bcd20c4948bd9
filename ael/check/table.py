"""Decision tables: what a table has to have so that it decides, always and in one way (feature A17.4).

Cells hold for values of their own kind alone (patterns without fields, comparisons with constants), so whether two rows can hold at once
is computed, and not tried out: two that do are an error, unless the table says `policy first`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from ael.check.checker import UNKNOWN, Checker
from ael.check.constant import FAILED
from ael.check.region import EVERYTHING, Interval, Region, compared, number_of, values
from ael.check.suggest import did_you_mean
from ael.source import Span
from ael.syntax import nodes as n
from ael.types.text import show
from ael.types.type import DecimalType, DurationType, FloatType, IntType, Type, UnionType

_POLICIES = ("unique", "first")
_MOST = 1_000
"""Rows: every two of them are compared."""
_SHOWN = 8


def table(c: Checker, node: n.FunctionDecl, rows: n.Rows, *, typed: bool) -> None:
    """Check what a table has to have beside the types of its cells and results, which are those of its statements (`typed`: all fit)."""
    errors = c.bag.errors
    first = _policy(c, rows)
    _head(c, node)
    if _shape(c, node, rows) and typed and c.bag.errors == errors:
        _overlaps(c, node, rows, first=first)


def _policy(c: Checker, rows: n.Rows) -> bool:
    """Whether the first row that holds decides."""
    found: n.Policy | None = None
    for clause in rows.clauses:
        if not isinstance(clause, n.Policy) or found is not None:
            c.report("AEL0413", "a table has no clause but `policy`, once", clause.span)
        else:
            found = clause
    if found is None:
        return False
    word = found.name.text
    if word not in _POLICIES or found.arguments:
        hint, fix = did_you_mean(word, _POLICIES, c.module.source, found.name.span)
        notes = ("`unique`, which holds without a word: no two rows hold at once; `first`: the first row that holds decides",)
        c.report("AEL0413", f"the policy of a table is `unique` or `first`{hint}", found.span, notes=notes, fix=fix)
    return word == "first"


def _head(c: Checker, node: n.FunctionDecl) -> None:
    if not node.parameters:
        c.report("AEL0413", "a table without parameters has nothing to decide by", node.name.span)
    if node.result is None:
        c.report("AEL0413", "a table gives a value: write the type of its results after `->`", node.name.span)
    for path in node.fails[:1]:
        c.report("AEL0413", "a table gives a value in every case, so it fails with nothing", path.span)


def _shape(c: Checker, node: n.FunctionDecl, rows: n.Rows) -> bool:
    """Whether there is a row for every case, and in each a cell for every parameter."""
    fine = True
    others = [row for row in rows.rows if row.cells is None]
    if not others:
        at = Span(rows.span.end - 1, rows.span.end)
        c.report("AEL0413", "a table ends with `otherwise => …`: what holds when no row does", at)
        fine = False
    for row in [row for row in rows.rows[:-1] if row.cells is None]:
        c.report("AEL0413", "`otherwise` is the last row of a table, and stands there once", row.span)
        fine = False
    if len(rows.rows) > _MOST:
        c.report("AEL0413", f"a table has at most {_MOST:,} rows: make several", rows.rows[_MOST].span)
        fine = False
    names = ", ".join(parameter.name.text for parameter in node.parameters)
    for row in rows.rows:
        if row.cells is not None and len(row.cells) != len(node.parameters):
            message = f"a row has a cell for each parameter ({names}), and this one has {len(row.cells)}"
            c.report("AEL0413", message, row.span, notes=("`_` holds for everything",))
            fine = False
    return fine


def _overlaps(c: Checker, node: n.FunctionDecl, rows: n.Rows, *, first: bool) -> None:
    """Report the rows that can hold at once; with `policy first` those that the rows above them leave nothing."""
    types = [c.tables.written.get(parameter.type, UNKNOWN) for parameter in node.parameters]
    known: list[tuple[n.Row, list[Region]]] = []
    told = 0
    for row in rows.rows:
        if row.cells is None:
            continue
        regions = [_region(c, cell, type) for cell, type in zip(row.cells, types, strict=True)]
        if any(region is None for region in regions):
            continue
        here = [region for region in regions if region is not None]
        for other, there in known:
            both = _both(here, there)
            if both is None or told >= _SHOWN or (first and not all(map(Region.holds, there, here))):
                continue
            told += 1
            label = (c.label(other.span, "and this one"),)
            if first:
                c.report(
                    "AEL1104",
                    "this row is never reached: one above it holds whenever it does",
                    row.span,
                    labels=label,
                    warning=True,
                )
            else:
                case = _case(c, node, (row, other), both)
                notes = (f"for example {case}",) if case else ()
                help = "`policy first` lets the first row that holds decide"
                c.report("AEL0414", "two rows of this table hold at once", row.span, labels=label, notes=(*notes, help))
            break
        known.append((row, here))


def _both(here: list[Region], there: list[Region]) -> list[Region] | None:
    """The cases for which two rows hold, for each parameter; None where there is none."""
    found = []
    for a, b in zip(here, there, strict=True):
        both = a.meet(b)
        if both is None:
            return None
        found.append(both)
    return found


def _region(c: Checker, cell: n.Cell, type: Type) -> Region | None:
    """What a cell holds for; None after a report."""
    whole = c.expand(type)
    numbers = [m for m in (whole.members if isinstance(whole, UnionType) else (whole,)) if not isinstance(m, DurationType)]
    if cell.pattern is not None:
        found = _pattern(c, cell.pattern, type)
    else:
        bounds = []
        for op, bound in cell.comparisons:
            errors = c.bag.errors
            number = number_of(c.definer.constants.value(c.module, bound, type))
            if number is None:
                if c.bag.errors == errors:
                    c.report("AEL0413", "a cell compares with a constant: a number, or a length of time", bound.span)
                return None
            bounds.append((op, number))
        found = compared(bounds)
        if found is None:
            c.report("AEL0413", "this cell holds for nothing", cell.span)
    if found is not None and any(isinstance(m, IntType) for m in numbers):
        found = found.whole()
        if not (found.all or found.atoms or found.intervals):
            c.report("AEL0413", "this cell holds for nothing: there is no whole number in it", cell.span)
            return None
    return found if found is None else _of_type(c, cell, type, numbers, found)


def _of_type(c: Checker, cell: n.Cell, type: Type, numbers: Sequence[Type], found: Region) -> Region | None:
    """What is left within the bounds of the type; None after a report."""
    bounded = [one for one in numbers if isinstance(one, IntType | FloatType | DecimalType)]
    if len(bounded) != 1 or found.all:
        return found
    low, high = number_of(bounded[0].min), number_of(bounded[0].max)
    within = found.meet(Region(False, found.atoms - found.points, (Interval(low, True, high, True),)))
    if within is None:
        c.report("AEL0413", f"this cell holds for nothing: `{show(type)}` has no such value", cell.span)
    return within


def _pattern(c: Checker, node: n.Pattern, type: Type) -> Region | None:
    match node:
        case n.WildcardPattern():
            return EVERYTHING
        case n.OrPattern(alternatives=alternatives):
            parts = [part for part in (_pattern(c, one, type) for one in alternatives) if part is not None]
            if len(parts) < len(alternatives):
                return None
            return values(frozenset(atom for part in parts for atom in part.atoms), any(part.all for part in parts))
        case n.LiteralPattern(value=n.NullLit()):
            return Region(atoms=frozenset({("null", None)}))
        case n.LiteralPattern(value=value):
            known = c.definer.constants.value(c.module, value, type)
            if known is FAILED:
                return None
            number = number_of(known)
            if number is not None:
                return values(frozenset({("number", number)}))
            return Region(atoms=frozenset({("bool" if isinstance(known, bool) else "text", known)}))
        case n.TypePattern() | n.VariantPattern():
            info = c.tables.patterns.get(node)
            if info is not None and info.kind == "variant" and not getattr(node, "fields", ()):
                return Region(atoms=frozenset({("variant", info.name)}))
            message = "a cell names a variant without its fields, and no other type"
        case n.BinderPattern():
            message = "a cell binds no name: `_` holds for everything"
        case n.ListPattern():
            message = "a cell does not look into a list"
    c.report("AEL0413", message, node.span, notes=("a cell is `_`, a value, a variant, a comparison, or a range `1..9`",))
    return None


def _case(c: Checker, node: n.FunctionDecl, rows: tuple[n.Row, n.Row], both: list[Region]) -> str:
    """A case for which both rows hold: a value for each parameter that at least one of them asks for."""
    found = []
    for at, (parameter, region) in enumerate(zip(node.parameters, both, strict=True)):
        if region.all:
            continue
        shown = _value(region) if c.expand(c.tables.written.get(parameter.type, UNKNOWN)) != DurationType() else None
        if shown is None:
            cells = [row.cells[at] for row in rows if row.cells is not None]
            texts = dict.fromkeys(c.module.source.text[cell.span.start : cell.span.end] for cell in cells)
            shown = " and ".join(text for text in texts if text != "_")
        found.append(f"`{parameter.name.text}`: {shown}")
    return ", ".join(found)


def _value(region: Region) -> str | None:
    """One of the values, as source writes it; None where there is none that is easy to say."""
    for kind, which in sorted(region.atoms, key=repr):
        match kind, which:
            case "number", Fraction():
                return _written(which)
            case "variant", str():
                return which
            case "text", str():
                return json.dumps(which, ensure_ascii=False)
            case _:
                return "null" if which is None else str(which).lower()
    one = region.intervals[0]
    number = one.low if one.low_in else one.high if one.high_in else None
    return None if number is None else _written(number)


def _written(number: Fraction) -> str | None:
    if set(_factors(number.denominator)) - {2, 5}:
        return None
    if number.denominator == 1:
        return str(number.numerator)
    shown = Decimal(number.numerator) / Decimal(number.denominator)
    # A Float has more digits than anybody writes.
    return str(shown) if Fraction(shown) == number else repr(float(number))


def _factors(number: int) -> list[int]:
    found = []
    for factor in (2, 5):
        while number % factor == 0:
            found.append(factor)
            number //= factor
    return found if number == 1 else [number]
