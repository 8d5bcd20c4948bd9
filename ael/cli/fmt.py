"""Format source files: one style, no options, every comment kept.

With `-` standard input is formatted to standard output. Exit code 0; 1 with `--check` when a file would change; 2 for a file that
does not parse (it is left as it is).
"""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path
from typing import NoReturn

from ael.cli.report import report
from ael.diagnostics.diagnostic import Bag
from ael.project.load import shown
from ael.project.pack import FILE as PACK_FILE
from ael.project.pack import report_unreadable
from ael.project.program import source_files
from ael.source import Source, SourceError, decode, read
from ael.syntax.format import format_module
from ael.syntax.parse import parse_deployment, parse_module, parse_pack


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael fmt`."""
    parser.add_argument("paths", nargs="*", default=["."], metavar="PATH", help="files or folders (default: here), or `-`")
    parser.add_argument("--check", action="store_true", help="change nothing; say what would change")
    parser.add_argument("--diff", action="store_true", help="change nothing; print the differences")
    parser.add_argument("--watch", action="store_true", help="format again whenever a file changes")


def run(args: argparse.Namespace) -> int:
    """Format."""
    if args.watch and "-" in args.paths:
        print("ael fmt: `--watch` is for files; standard input is read once", file=sys.stderr)
        return 2
    if args.watch:
        _watch(args)
    if args.paths == ["-"]:
        return _stdin(Bag())
    return _once(args)


def _watch(args: argparse.Namespace) -> NoReturn:
    """Format, and again after every change, until it is interrupted."""
    # What follows dependencies is loaded where somebody watches.
    from ael.cli.watching import watch

    def act(changed: frozenset[Path]) -> list[Path]:
        written: list[Path] = []
        _once(args, written)
        return written

    watch([Path(path) for path in args.paths], act, again="formatting again")


def _once(args: argparse.Namespace, written: list[Path] | None = None) -> int:
    """Format once; `written` collects the files that changed."""
    bag = Bag()
    changed = 0
    files = [file for path in args.paths for file in _files(Path(path))]
    for file in files:
        try:
            source = read(file, shown(file))
        except SourceError as error:
            report_unreadable(error, bag)
            continue
        text = formatted(source, bag)
        if text is None or text == source.text:
            continue
        changed += 1
        if args.diff:
            lines = difflib.unified_diff(
                source.text.splitlines(keepends=True), text.splitlines(keepends=True), source.name, source.name
            )
            sys.stdout.writelines(lines)
        elif args.check:
            print(f"would format {source.name}", file=sys.stderr)
        else:
            file.write_text(text, encoding="utf-8", newline="")
            if written is not None:
                written.append(file)
            print(f"formatted {source.name}", file=sys.stderr)
    if bag.errors:
        return report(bag)
    return 1 if changed and (args.check or args.diff) else 0


def _files(path: Path) -> list[Path]:
    return sorted(source_files(path)) if path.is_dir() else [path]


def _stdin(bag: Bag) -> int:
    try:
        source = decode(sys.stdin.buffer.read(), "<stdin>")
    except SourceError as error:
        report_unreadable(error, bag)
        return report(bag)
    text = formatted(source, bag)
    if text is None:
        return report(bag)
    sys.stdout.write(text)
    return 0


def formatted(source: Source, bag: Bag) -> str | None:
    """The formatted text of a file of any kind, None when it does not parse."""
    before = bag.errors
    name = source.path.name if source.path is not None else ""
    parse = parse_pack if name == PACK_FILE else parse_deployment if name.startswith(("deploy.", "eval.")) else parse_module
    module = parse(source, bag)
    return format_module(module) if bag.errors == before else None
