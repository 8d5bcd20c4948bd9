"""What is wrong with the documentation of a pack: what `ael doc --check` reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ael.check.suggest import nearest
from ael.data import replace
from ael.diagnostics.diagnostic import Diagnostic, Edit, Fix, Place, Severity
from ael.documenting.comment import Comment
from ael.documenting.comments import is_library
from ael.documenting.examples import Tried
from ael.documenting.item import Book
from ael.documenting.markdown import Linked, Mention, rendered
from ael.documenting.names import Names
from ael.source import Span

_WORTH_A_WORD = frozenset(
    {"record", "enum", "error", "type", "const", "fn", "tool", "node", "agent", "skill", "service", "mcp", "permission"}
)
"""What needs a doc comment where it is `pub`."""
_LINK = "]("


def findings(book: Book, names: Names) -> list[Diagnostic]:
    """Public declarations without a comment, and names and links in comments that lead nowhere; all are warnings."""
    found = list(_silent(book))
    for comment, module in _comments(book):
        found += broken(comment, module, names)
    return found


def broken(comment: Comment, module: str, names: Names) -> Iterator[Diagnostic]:
    """The names and links of one comment that lead nowhere."""
    known = [*names.declared(module), *(name for name in names.program.modules if "/" not in name)]

    def resolve(name: str) -> Linked | None:
        return Linked(name) if names.find(module, name) is not None else None

    for mention in rendered(comment.text, resolve, run_indented=is_library(module)).mentions:
        if mention.linked is None:
            yield _unknown(comment, module, mention, known)


def of_examples(tried: Iterable[Tried]) -> list[Diagnostic]:
    """What the check says of examples, each at its place, and an error for each whose test fails."""
    found: list[Diagnostic] = []
    for one in tried:
        errors = [d for d in one.found if d.severity is Severity.ERROR]
        found += [replace(d, notes=(*d.notes, f"in an example of `{one.example.name}`")) for d in errors]
        if one.result is not None and one.result.problem is not None:
            first, *more = one.result.problem.splitlines() or ["it failed"]
            message = f"the example of `{one.example.name}` does not hold: {first}"
            found.append(Diagnostic("AEL1144", message, one.example.place, notes=tuple(line.strip() for line in more)))
    return found


def _comments(book: Book) -> Iterator[tuple[Comment, str]]:
    for page in book.pages:
        found = [page.comment, *(item.comment for item in page.items)]
        found += [part.comment for item in page.items for part in item.parts]
        yield from ((comment, page.module) for comment in found if comment is not None)


def _silent(book: Book) -> Iterator[Diagnostic]:
    for page in book.pages:
        for item in page.items:
            if item.public and item.kind in _WORTH_A_WORD and item.comment is None:
                start = item.place.span.start
                line = item.place.source.text.find("\n", start)
                end = min(item.place.span.end, line if line >= 0 else item.place.span.end)
                message = f"the {item.kind} `{item.name}` has no doc comment"
                place = Place(item.place.source, Span(start, end))
                notes = ("say above it what it is for: `/// …`",)
                yield Diagnostic("AEL1141", message, place, Severity.WARNING, notes=notes)


def _unknown(comment: Comment, module: str, mention: Mention, known: list[str]) -> Diagnostic:
    inside = mention.raw.find(mention.name)
    start = mention.column + inside
    place = comment.place(mention.line, start, start + len(mention.name))
    if mention.raw.startswith(_LINK):
        message = f"this link leads nowhere: `{mention.name}` is no name here, no heading (`#…`) and no address (`https://…`)"
        return Diagnostic("AEL1143", message, place, Severity.WARNING)
    best = nearest(mention.name, known)
    hint = f"; did you mean `{best}`?" if best is not None else ""
    fix = None if best is None else Fix(f"replace it by `{best}`", (Edit(place, best),), safe=False)
    notes = () if best is not None else ("where brackets are meant, write `\\[`",)
    message = f"`{mention.name}` means nothing in `{module}`{hint}"
    return Diagnostic("AEL1142", message, place, Severity.WARNING, notes=notes, fix=fix)
