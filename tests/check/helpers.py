"""Checking programs given as text: what is told, in one line each."""

from __future__ import annotations

from ael.check.check import check_program
from ael.check.program import CheckedProgram
from ael.diagnostics.diagnostic import Bag, Diagnostic
from ael.diagnostics.fix import apply
from ael.source import Source
from ael.syntax.parse import parse_module


def checked(text: str, **modules: str) -> tuple[CheckedProgram | None, list[Diagnostic]]:
    """Check the module `main` and others by name (`a__b` is the module `a/b`)."""
    bag = Bag()
    sources = {"main": text} | {name.replace("__", "/"): other for name, other in modules.items()}
    trees = {name: parse_module(Source(f"{name}.ael", source), bag) for name, source in sources.items()}
    return check_program(trees, "main", bag), bag.sorted()


def line(diagnostic: Diagnostic) -> str:
    """`CODE line:column message`, with the file in front when it is not `main.ael`."""
    source = diagnostic.place.source
    at = source.position(diagnostic.place.span.start)
    name = "" if source.name == "main.ael" else f"{source.name} "
    return f"{name}{diagnostic.code} {at.line}:{at.column} {diagnostic.message}"


def check(text: str, **modules: str) -> list[str]:
    """What is told about a program."""
    return [line(d) for d in checked(text, **modules)[1]]


def codes(text: str, **modules: str) -> list[str]:
    """The codes of what is told."""
    return [d.code for d in checked(text, **modules)[1]]


def program(text: str, **modules: str) -> CheckedProgram:
    """A program with which nothing is wrong."""
    found, told = checked(text, **modules)
    assert [line(d) for d in told] == []
    assert found is not None
    return found


def body(code: str, head: str = "") -> list[str]:
    """What is told about statements in a function that gives nothing; line 1 is their first."""
    return [told.replace("\n", " ") for told in check(f"fn f() {{ {code}\n}}\n{head}")]


def mended(text: str, **modules: str) -> str:
    """`main` after its safe fixes."""
    told = checked(text, **modules)[1]
    done = {source.name: new for source, new in apply(told).items()}
    return done.get("main.ael", text)


def offered(text: str, code: str) -> str:
    """`main` after the fix of one diagnostic, safe or not."""
    one = next(d for d in checked(text)[1] if d.code == code)
    assert one.fix is not None
    new = text
    for edit in sorted(one.fix.edits, key=lambda e: e.place.span, reverse=True):
        new = new[: edit.place.span.start] + edit.text + new[edit.place.span.end :]
    return new
