"""Write the pages of a pack from its doc comments: what it declares, with permissions, repeat safety, errors and budgets.

    ael doc                                  pages in HTML, their twins in Markdown, and llms.txt, in `docs-api`
    ael doc examples/support --format json   the same as data, on standard output
    ael doc --check                          missing comments, names that mean nothing, examples that fail (exit code 1)
    ael doc --test                           run the examples in the doc comments
    ael doc std --out library                the standard library

In a comment `[name]` links to what has that name there, and a block that is fenced as `ael` is an example: it is checked and run.
Exit code 0, 1 when `--check` finds something or an example fails, 2 for bad usage or a program that does not check.
"""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ael.cli.report import FORMATS as REPORTS
from ael.cli.report import report, use_colour
from ael.diagnostics.diagnostic import Bag, Severity

if TYPE_CHECKING:
    from ael.documenting.examples import Tried

_FORMS = ("html", "markdown", "llms", "json")
_FOLDER = Path("docs-api")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael doc`."""
    parser.add_argument(
        "path", nargs="?", type=Path, default=Path(), metavar="PATH", help="a pack's folder, a file, or `std` (default: here)"
    )
    parser.add_argument("--format", choices=_FORMS, default="html", dest="form", help="what is written (default: html)")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help=f"the folder to write to (default: {_FOLDER}; json: standard output)"
    )
    parser.add_argument("--private", action="store_true", help="also what only the pack itself sees")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="write nothing; report what is missing, leads nowhere or fails")
    what.add_argument("--test", action="store_true", help="write nothing; run the examples in the doc comments")
    what.add_argument(
        "--watch", action="store_true", help="write the pages again whenever a file of the program changes, until interrupted"
    )
    parser.add_argument(
        "--report", choices=REPORTS, default="text", help="with `--check`: how problems are printed (default: text)"
    )


def run(args: argparse.Namespace) -> int:
    """Write the pages."""
    if find_spec("markdown_it") is None:
        print("ael doc: doc comments are read by a package that is missing: `pip install 'ael-lang[doc]'`", file=sys.stderr)
        return 2
    if args.watch:
        from ael.cli.watching import watch

        def again(changed: frozenset[Path]) -> None:
            _write(args)

        watch([args.path], again, again="writing again", ignored=[args.out or _FOLDER])
    if args.test:
        return _test(args)
    return _check(args) if args.check else _write(args)


def _write(args: argparse.Namespace) -> int:
    # The pages are made by what is loaded here: a command line that is wrong costs none of it.
    from ael.documenting.book import book_of
    from ael.documenting.pack import open_documented
    from ael.documenting.site import NotOurs, files_of, write

    bag = Bag()
    documented = open_documented(args.path, bag, private_too=args.private)
    code = report(bag)
    if documented is None or code:
        return code or 2
    book, names = book_of(documented, private=args.private)
    if not book.pages:
        print("ael doc: there is nothing here to document", file=sys.stderr)
        return 2
    files = files_of(book, names, args.form)
    if args.form == "json" and args.out is None:
        sys.stdout.write(files["doc.json"])
        return 0
    folder = args.out or _FOLDER
    try:
        write(folder, files)
    except NotOurs:
        print(f"ael doc: `{folder}` has other files in it; name an empty folder, or one that `ael doc` wrote", file=sys.stderr)
        return 2
    modules = len(book.pages)
    print(f"{modules} {'module' if modules == 1 else 'modules'} documented in {folder}", file=sys.stderr)
    return 0


def _check(args: argparse.Namespace) -> int:
    from ael.documenting.book import book_of
    from ael.documenting.examples import examples_of, try_examples
    from ael.documenting.findings import findings, of_examples
    from ael.documenting.pack import open_documented

    bag = Bag()
    documented = open_documented(args.path, bag, private_too=args.private)
    if documented is None or bag.errors:
        return report(bag, args.report) or 2
    bag = Bag()
    book, names = book_of(documented, private=args.private)
    for found in (*findings(book, names), *of_examples(try_examples(documented, examples_of(book)))):
        bag.add(found)
    report(bag, args.report)
    if args.report == "text" and not bag.sorted():
        print("nothing is missing, leads nowhere or fails", file=sys.stderr)
    return 1 if bag.sorted() else 0


def _test(args: argparse.Namespace) -> int:
    from ael.documenting.book import book_of
    from ael.documenting.examples import examples_of, try_examples
    from ael.documenting.findings import of_examples
    from ael.documenting.pack import open_documented

    bag = Bag()
    documented = open_documented(args.path, bag, private_too=args.private)
    code = report(bag)
    if documented is None or code:
        return code or 2
    book, _ = book_of(documented, private=args.private)
    tried = try_examples(documented, examples_of(book))
    if not tried:
        print("ael doc: there is no example in the doc comments", file=sys.stderr)
        return 2
    for one in tried:
        _told(one)
    failed = Bag()
    for found in of_examples(tried):
        failed.add(found)
    report(failed)
    bad = sum(_bad(one) for one in tried)
    print(f"{len(tried) - bad} passed, {bad} failed", file=sys.stderr)
    return 1 if bad else 0


def _bad(one: Tried) -> bool:
    return any(d.severity is Severity.ERROR for d in one.found) or (one.result is not None and one.result.problem is not None)


def _told(one: Tried) -> None:
    good, bad, off = ("\x1b[32m", "\x1b[31m", "\x1b[0m") if use_colour() else ("", "", "")
    source = one.example.place.source
    where = f"{source.name}:{source.position(one.example.place.span.start).line}"
    word = f"{bad}FAIL{off}" if _bad(one) else f"{good}ok{off}  "
    print(f"{word}  example of {one.example.name}  ({where})", file=sys.stderr)
