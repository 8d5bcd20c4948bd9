"""The examples in doc comments: blocks of code that are checked and run as tests.

A block that is fenced as `ael` is an example; in the standard library an indented one is one too. An example is the body of a test in
which all that its module shows is in scope; it may begin with `use` lines for what it needs of others. One with a declaration of its own
(`test "…" {`, `node main() …`) is a whole program, and brings its own `use` lines. `ael no_run` is checked and not run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ael.check.check import check_program
from ael.check.packs import STANDARD
from ael.check.program import CheckedProgram
from ael.data import dataclass, replace
from ael.diagnostics.diagnostic import Bag, Diagnostic, Place, Severity
from ael.diagnostics.pieces import Pieces
from ael.documenting.comment import Comment
from ael.documenting.comments import is_library
from ael.documenting.item import Book
from ael.documenting.library import with_library
from ael.documenting.markdown import Code, rendered
from ael.documenting.names import KINDS, shown_name
from ael.documenting.pack import Documented
from ael.project.deployment import Deployment
from ael.project.load import Project
from ael.project.pack import OPTIONAL_PACKAGES
from ael.project.program import Opened, load_deployment
from ael.syntax import nodes as n
from ael.syntax.parse import parse_module
from ael.testing.runner import TestResult, run_tests

_WORDS = frozenset({"ael", "no_run"})
_DECLARES = re.compile(
    r"^(?:pub[ \t]+|open[ \t]+)*(?:permission|role|enum|record|error|type|const|fn|tool|node|agent|skill|service|provide|mcp|model|store"
    r"|test)[ \t]+[\w\"]",
    re.MULTILINE,
)
_FOR_ALL = re.compile(r"^(?:permission|role|provide|mcp)[ \t]", re.MULTILINE)
_SEPARATE = re.compile(r"(?<!(?<!\.)\.)\b\w+")
"""Words, but not those behind a point: `xs.map(…)` is the method, not what a module calls `map`."""


@dataclass(frozen=True, eq=False)
class Example:
    """An example of `name`, which `module` declares (or of the module itself). `place` is that of its first line."""

    module: str
    name: str
    code: Code
    comment: Comment
    place: Place

    @property
    def runs(self) -> bool:
        """Whether it is run, or only checked."""
        return "no_run" not in self.code.info.split()


@dataclass(frozen=True, eq=False)
class Tried:
    """What became of an example: what the check says of it, and how its test ended. `result` None: nothing was run."""

    example: Example
    found: tuple[Diagnostic, ...]
    result: TestResult | None


def examples_of(book: Book) -> list[Example]:
    """The examples of all pages, in their order."""
    found: list[Example] = []
    for page in book.pages:
        found += _in(page.comment, page.module, page.module)
        for item in page.items:
            found += _in(item.comment, page.module, item.name)
            for part in item.parts:
                found += _in(part.comment, page.module, f"{item.name}.{part.name}")
    return found


def _in(comment: Comment | None, module: str, name: str) -> Iterator[Example]:
    if comment is None or ("```" not in comment.text and "~~~" not in comment.text and not is_library(module)):
        return
    for code in rendered(comment.text, lambda _: None).codes:
        words = code.info.split()
        if is_library(module) if code.indented else words[:1] == ["ael"] and _WORDS.issuperset(words):
            yield Example(module, name, code, comment, comment.place(code.first))


def try_examples(documented: Documented, examples: Sequence[Example]) -> list[Tried]:
    """Check the examples, each a module beside that of which it is an example, and run the tests of those that check."""
    programs = {at: _program(documented, example, at) for at, example in enumerate(examples)}
    tried: dict[int, Tried] = {}
    for group in _groups(documented, examples, programs):
        tried.update(_try(documented, examples, {at: programs[at] for at in group}))
    return [tried[at] for at in range(len(examples))]


def _groups(documented: Documented, examples: Sequence[Example], programs: Mapping[int, _Program]) -> list[list[int]]:
    """What can be checked together. What an example declares for all of a program is for that example alone."""
    together: dict[str, list[int]] = {}
    for at, example in enumerate(examples):
        alone = _FOR_ALL.search(programs[at].pieces.source().text) is not None
        # In the library each module stands for itself: what the others are made of need not be compiled for it.
        key = f"alone {at}" if alone else example.module if is_library(example.module) else ""
        together.setdefault(key, []).append(at)
    return list(together.values())


def _try(documented: Documented, examples: Sequence[Example], programs: Mapping[int, _Program]) -> dict[int, Tried]:
    found: dict[int, list[Diagnostic]] = {at: [] for at in programs}
    open_ones = list(programs)
    checked: CheckedProgram | None = None
    while open_ones and checked is None:
        checked, told = _checked(documented, [programs[at] for at in open_ones])
        bad = [at for at in open_ones if any(d.severity is Severity.ERROR for d in told.get(programs[at].name, ()))]
        for at in open_ones:
            found[at] = [programs[at].pieces.told(d) for d in told.get(programs[at].name, ())]
        if checked is None and not bad:
            break  # it is no example's fault, and whoever checks the pack itself is told
        open_ones = [at for at in open_ones if at not in bad]
    running = {programs[at].name for at in open_ones if examples[at].runs}
    results = _run(documented, checked, running) if checked is not None else {}
    return {
        at: Tried(examples[at], tuple(found[at]), _named(examples[at], results.get(one.name))) for at, one in programs.items()
    }


def _named(example: Example, results: list[TestResult] | None) -> TestResult | None:
    """The result of an example: that of its first test that fails, else of all together; told of the place where it stands."""
    if not results:
        return None
    first = next((result for result in results if result.problem is not None), results[0])
    source = example.place.source
    line = source.position(example.place.span.start).line
    seconds = sum(result.seconds for result in results)
    named = f"example of {example.name}"
    return replace(first, name=named, module=example.module, file=source.name, line=line, seconds=seconds)


# --- an example as a program ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Program:
    name: str
    of: str
    """The module that it is an example of."""
    pieces: Pieces


def example_text(documented: Documented, example: Example) -> str:
    """The program that an example is."""
    return _program(documented, example, 0).pieces.source().text


def _program(documented: Documented, example: Example, number: int) -> _Program:
    # That of an example of the library is a program of its own, as one that uses the library is.
    name = f"example_{number}" if is_library(example.module) else f"{example.module}__example_{number}"
    pieces = Pieces(f"example of {example.name}", example.place)
    lines = list(example.code.lines)
    uses = [at for at, line in enumerate(lines) if line.startswith("use ")]
    rest = [at for at in range(len(lines)) if at not in uses]
    body = "\n".join(lines[at] for at in rest)
    if _DECLARES.search(body):
        for at in range(len(lines)):
            _line(pieces, example, at)
        return _Program(name, example.module, pieces)
    imported = _imported(documented, example.module, body, {word for at in uses for word in re.findall(r"\w+", lines[at])})
    if imported:
        pieces.add(f"use {_path(example.module)}.{{{', '.join(imported)}}}\n")
    for at in uses:
        _line(pieces, example, at)
    pieces.add(f'\ntest "{example.name}" {{\n')
    while rest and not lines[rest[0]].strip():
        rest.pop(0)
    for at in rest:
        pieces.add("  " if lines[at] else "")
        _line(pieces, example, at)
    pieces.add("}\n")
    return _Program(name, example.module, pieces)


def _line(pieces: Pieces, example: Example, at: int) -> None:
    code = example.code
    text = code.lines[at]
    if code.first + at < len(example.comment.offsets):
        column = code.columns[at]
        pieces.add(text, example.comment.place(code.first + at, column, column + len(text)))
    else:
        pieces.add(text)
    pieces.add("\n")


def _path(module: str) -> str:
    return module if module.startswith(f"{STANDARD}/") else f"./{module.rpartition('/')[2]}"


def _imported(documented: Documented, module: str, body: str, own: set[str]) -> list[str]:
    """What an example names of what its module shows, types first."""
    tree = documented.project.modules[module]
    shown = [
        shown_name(node)
        for node in tree.declarations
        if type(node) in KINDS
        and not isinstance(node, n.PermissionDecl | n.RoleDecl | n.ProvideDecl)
        and getattr(node, "public", False)
    ]
    words = set(_SEPARATE.findall(body))
    return sorted((name for name in shown if name in words and name not in own), key=lambda name: (not name[0].isupper(), name))


# --- checking and running ------------------------------------------------------------------------------------------------


def _checked(documented: Documented, programs: Sequence[_Program]) -> tuple[CheckedProgram | None, dict[str, list[Diagnostic]]]:
    """The program with the examples as modules of it, if it checks, and what is said of each of them."""
    bag = Bag()
    project = documented.project
    trees = {one.name: parse_module(one.pieces.source(), bag) for one in programs}
    modules = {**(_needed(project, programs[0].of) if is_library(project.main) else project.modules), **trees}
    modules = with_library(modules, bag)
    library = is_library(project.main)
    main = programs[0].name if library else project.main
    uses = OPTIONAL_PACKAGES if library else project.pack.uses if project.pack is not None else frozenset[str]()
    externs = project.pack.externs if project.pack is not None else frozenset[str]()
    checked = check_program(
        modules, main, bag, extern_allowed=externs, uses=uses, pins=project.pins, texts=project.texts, packs=project.facts
    )
    told: dict[str, list[Diagnostic]] = {}
    by_source = {trees[one.name].source: one.name for one in programs}
    for diagnostic in bag.sorted():
        name = by_source.get(diagnostic.place.source)
        if name is not None:
            told.setdefault(name, []).append(diagnostic)
    return checked, told


def _needed(project: Project, module: str) -> dict[str, n.Module]:
    """A module of the library with those that it uses."""
    return with_library({module: project.modules[module]}, Bag())


def _run(documented: Documented, checked: CheckedProgram, names: set[str]) -> dict[str, list[TestResult]]:
    tests = tuple(test for test in checked.tests if test.module in names)
    if not tests:
        return {}
    alone = replace(checked, tests=tests)
    deployment = _deployment(documented, checked)
    found: dict[str, list[TestResult]] = {}
    for result in run_tests(Opened(documented.project, alone, deployment)):
        found.setdefault(result.module, []).append(result)
    return found


def _deployment(documented: Documented, checked: CheckedProgram) -> Deployment:
    bag = Bag()
    made = load_deployment(documented.project, checked, None, bag)
    return made if made is not None and not bag.errors else Deployment(folder=str(documented.project.root))
