"""Compare two versions of a pack: what changed for those who use it, and whether its version says so.

    ael diff --api ../refunds-1.2 ../refunds

Exit code 0 when the new version is enough for what changed; 1 when it has to be higher; 2 when one of them does not check.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ael.cli.report import report
from ael.diagnostics.diagnostic import Bag
from ael.project.api import Interface, open_interface
from ael.project.api_changes import Comparison, compare
from ael.project.api_level import Level
from ael.project.pack import FILE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael diff`."""
    parser.add_argument("old", type=Path, metavar="OLD", help="the folder of the pack as it was")
    parser.add_argument("new", type=Path, metavar="NEW", help="the folder of the pack as it is")
    parser.add_argument("--api", action="store_true", required=True, help="compare what they show to those who use them")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Compare."""
    for folder in (args.old, args.new):
        if not (folder / FILE).is_file():
            print(f"ael diff: there is no pack in `{folder}`: it has no `{FILE}`", file=sys.stderr)
            return 2
    bag = Bag()
    old, new = open_interface(args.old, bag), open_interface(args.new, bag)
    if old is None or new is None:
        return report(bag) or 2
    if old.pack.name != new.pack.name:
        print(f"ael diff: these are two packs, `{old.pack.name}` and `{new.pack.name}`", file=sys.stderr)
        return 2
    found = compare(old, new)
    if args.json:
        print(json.dumps(_plain(new, found), indent=2, ensure_ascii=False))
    else:
        _print(old, new, found)
    return 0 if found.enough else 1


def _print(old: Interface, new: Interface, found: Comparison) -> None:
    for change in found.changes:
        print(f"{change.level.word:<11} {change.name}: {change.text}")
    if found.level is Level.INTERNAL:
        print(f"{found.level.word:<11} nothing that others see changed")
    elif found.level is Level.SAME:
        print("nothing changed")
    versions = f"{old.pack.name} {found.old} → {found.new}"
    verdict = "is enough" if found.enough else f"is not enough: at least {found.needed} says what changed"
    print(f"{versions}: {found.level.word}, the version {verdict}", file=sys.stderr)


def _plain(new: Interface, found: Comparison) -> dict[str, object]:
    return {
        "name": new.pack.name,
        "old": str(found.old),
        "new": str(found.new),
        "level": found.level.word,
        "needed": str(found.needed),
        "enough": found.enough,
        "changes": [{"level": change.level.word, "name": change.name, "text": change.text} for change in found.changes],
    }
