"""The examples in doc comments beside other tests: what `ael test --doc` and `ael doc --test` run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ael.diagnostics.diagnostic import Bag, Severity
from ael.diagnostics.render import render_all
from ael.documenting.book import book_of
from ael.documenting.examples import Example, Tried, examples_of, try_examples
from ael.documenting.pack import open_documented
from ael.project.pack import find_root
from ael.project.program import source_files
from ael.testing.runner import TestResult

Chosen = Callable[[str], bool]
Told = Callable[[TestResult], None]


def run_documented(
    paths: Sequence[Path], bag: Bag, chosen: Chosen = lambda name: True, told: Told = lambda result: None, *, private: bool = True
) -> list[TestResult]:
    """Run the examples of the packs, programs and files at `paths` whose title (`example of NAME`) is `chosen`; `told` hears of each.

    What keeps a program from being checked goes to the bag. One of an example that does not check is the problem of that example.
    """
    results: list[TestResult] = []
    seen: set[Path] = set()
    for path in _each(paths):
        documented = open_documented(path, bag, private_too=private)
        if documented is None:
            continue
        book, _ = book_of(documented, private=private)
        examples = [one for one in examples_of(book) if chosen(title(one)) and _new(one, seen)]
        for tried in try_examples(documented, examples):
            results.append(result_of(tried))
            told(results[-1])
        seen |= {module.tree.source.path.resolve() for module in documented.modules if module.tree.source.path is not None}
    return results


def _each(paths: Sequence[Path]) -> Iterator[Path]:
    """The packs, and the programs outside of packs, at or below the paths."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        roots: dict[Path, None] = {}
        for file in sorted(source_files(path)):
            root = find_root(file.resolve().parent)
            if root is not None:
                roots[root] = None
            elif not file.name.startswith("deploy."):
                yield file
        yield from roots


def title(example: Example) -> str:
    """How its test is called."""
    return f"example of {example.name}"


def result_of(tried: Tried) -> TestResult:
    """How an example ended; one that is not to be run has passed when it checks."""
    errors = [found for found in tried.found if found.severity is Severity.ERROR]
    if not errors and tried.result is not None:
        return tried.result
    place = tried.example.place
    line = place.source.position(place.span.start).line
    problem = render_all(errors, colour=False) if errors else None
    return TestResult(title(tried.example), tried.example.module, place.source.name, line, 0.0, problem)


def _new(example: Example, seen: set[Path]) -> bool:
    path = example.place.source.path
    return path is None or path.resolve() not in seen
