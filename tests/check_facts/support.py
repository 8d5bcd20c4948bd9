"""Checking small programs given as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ael.check.check import check_program
from ael.check.program import CheckedProgram
from ael.diagnostics.diagnostic import Bag, Diagnostic, Severity
from ael.source import Source
from ael.syntax.parse import parse_module


@dataclass
class Checked:
    """What checking gave."""

    program: CheckedProgram | None
    found: list[Diagnostic]

    @property
    def codes(self) -> list[str]:
        """The codes in source order."""
        return [d.code for d in self.found]

    @property
    def errors(self) -> list[str]:
        """The codes of errors."""
        return [d.code for d in self.found if d.severity is Severity.ERROR]

    def one(self, code: str) -> Diagnostic:
        """The only diagnostic, which has this code."""
        assert self.codes == [code], [(d.code, d.message) for d in self.found]
        return self.found[0]

    @property
    def good(self) -> CheckedProgram:
        """The program, which has no problem."""
        assert self.program is not None, [(d.code, d.message) for d in self.found]
        assert self.found == [], [(d.code, d.message) for d in self.found]
        return self.program


def check(text: str, modules: Mapping[str, str] | None = None, *, extern: frozenset[str] = frozenset()) -> Checked:
    """Check a program: the module `main` and others by name."""
    bag = Bag()
    sources = {"main": text, **(modules or {})}
    trees = {name: parse_module(Source(f"{name}.ael", source), bag) for name, source in sources.items()}
    program = check_program(trees, "main", bag, extern_allowed=extern, uses=frozenset())
    return Checked(program, bag.sorted())


def at(diagnostic: Diagnostic) -> str:
    """The text that a diagnostic points at."""
    span = diagnostic.place.span
    return diagnostic.place.source.text[span.start : span.end]


def label_texts(diagnostic: Diagnostic) -> list[tuple[str, str]]:
    """For each label: the text it stands on, and what it says."""
    return [(lb.place.source.text[lb.place.span.start : lb.place.span.end], lb.text) for lb in diagnostic.labels]


MODEL = """
model fast {
  provider anthropic
  name "claude-haiku-4-5"
}
"""

TOOL = """
permission orders.read

/// Read an order. Call this before promising anything about one.
tool look_up(id: String(max: 64)) -> String
  needs orders.read
  repeat idempotent
{
  "order ${id}"
}
"""


def node(
    clauses: str = "", body: str = 'instructions "Answer the question."', head: str = "node answer(question: String) -> String"
) -> str:
    """A model-driven node with the tool `look_up` and the model `fast` beside it."""
    return f"{TOOL}{MODEL}\n{head}\n  model fast\n  {clauses}\n{{\n  {body}\n}}\n"
