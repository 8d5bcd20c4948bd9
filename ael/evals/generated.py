"""The code that an evaluation adds to its program: a node for each expression, at the end of the module in whose names it is written.

So an expression is checked like all AEL: its types against the entry's, its failures, its permissions. What is wrong with it is told where
it stands in the `eval.ael`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ael.data import dataclass
from ael.diagnostics.diagnostic import Bag, Diagnostic, Place, Severity
from ael.evals.lines import NAME
from ael.source import Source, Span
from ael.syntax import nodes as n

PREFIX = "eval_"
"""What the names of generated declarations begin with; a program of its own names has none like them."""
EXPECTED = f"{PREFIX}expected"
"""The node whose parameter has the type of what a case expects."""
RUN = "EvalRun"
_RUN = f"""
/// What a run did, as an evaluation sees it.
record {RUN} {{
  status: String
  seconds: Float
  steps: Int
  tool_calls: Int
  tokens: Int
  cost: Decimal?
  visited: List<String>
  called: List<String>
}}
"""


@dataclass(frozen=True)
class Expression:
    """An expression of a grader: the node that it becomes, what it takes, and where it stands."""

    node: str
    names: tuple[str, ...]
    scored: bool
    text: str
    place: Place


@dataclass(frozen=True)
class Piece:
    """Generated text that came from a place: from `start` to `end` of the module's text."""

    start: int
    end: int
    place: Place


@dataclass(frozen=True)
class Generated:
    """A module with what was added, and which of it came from where."""

    source: Source
    begins: int
    pieces: tuple[Piece, ...]

    def retold(self, found: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
        """The errors in what was added, as errors of the evaluation."""
        for one in found:
            if one.severity is not Severity.ERROR or one.place.source.name != self.source.name:
                continue
            at = one.place.span
            if at.start < self.begins:
                continue
            piece = next((p for p in self.pieces if p.start <= at.start <= p.end), self.pieces[-1])
            start = piece.place.span.start + at.start - piece.start
            end = min(start + max(0, at.end - at.start), piece.place.span.end)
            inside = piece.start <= at.start and at.end <= piece.end
            place = Place(piece.place.source, Span(start, end)) if inside else piece.place
            yield Diagnostic(one.code, one.message, place, one.severity, (), one.notes)


def names_in(node: n.Node, known: Iterable[str]) -> tuple[str, ...]:
    """Those of `known` that an expression mentions, in their own order."""
    used = {one.name.text for one in n.walk(node) if isinstance(one, n.Reference)}
    return tuple([name for name in known if name in used])


def texts_of(
    source: Source, parameters: Sequence[n.Parameter], result: n.TypeExpr | None, expected: str | None
) -> dict[str, str]:
    """Name -> the parameter as it is written, for all that a grader may take."""
    made = {p.name.text: source.text[p.span.start : p.span.end] for p in parameters}
    output = "Unit" if result is None else source.text[result.span.start : result.span.end]
    made["output"] = f"output: {output}"
    made["expected"] = f"expected: {expected or output}"
    made["run"] = f"run: {RUN}"
    return made


def generate(source: Source, texts: dict[str, str], expressions: Sequence[Expression], expected: Place) -> Generated:
    """The module `source` with a node for each expression, and one that takes what is expected. `expected`: where its type is said."""
    parts = [source.text, "\n"]
    size = len(source.text) + 1
    begins = size
    pieces: list[Piece] = []

    def put(text: str, place: Place | None = None) -> None:
        nonlocal size
        if place is not None:
            pieces.append(Piece(size, size + len(text), place))
        parts.append(text)
        size += len(text)

    if any("run" in one.names for one in expressions):
        put(_RUN)
    put(f"\n/// What a case expects.\nnode {EXPECTED}(")
    put(texts["expected"], expected)
    put(") -> Bool {\n  true\n}\n")
    for one in expressions:
        given = ", ".join(texts[name] for name in one.names)
        put(f"\n/// A grader.\nnode {one.node}({given}) -> {'Float' if one.scored else 'Bool'} {{\n  ")
        put(one.text, one.place)
        put("\n}\n")
    return Generated(Source(source.name, "".join(parts), source.path), begins, tuple(pieces))


def clashes(module: n.Module, names: Iterable[str], bag: Bag, place: Place) -> bool:
    """Whether the module declares a name that the evaluation needs; told at `place`."""
    declared = {getattr(getattr(one, "name", None), "text", "") for one in module.declarations}
    for name in names:
        if name in declared:
            bag.report(NAME, f"the module declares `{name}`, which evaluations use themselves", place.source, place.span)
            return True
    return False
