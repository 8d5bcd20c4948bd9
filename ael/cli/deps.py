"""Show, explain and lock the packs that a pack depends on.

    ael deps                    the tree of packs, with versions, sources and whether they are as locked
    ael deps why NAME           who asks for a pack, on every way that leads to it
    ael deps outdated           what is newer than what is there or locked
    ael deps lock               lock what is not locked yet in `ael.lock`; `--check` only says whether that is up to date
    ael deps update [NAME …]    lock these (default: all) as they are now

Exit code 0; 1 when something is outdated, or the lock is not what it would be; 2 when a pack cannot be found or does not fit.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path

from ael.cli.report import report
from ael.data import dataclass
from ael.diagnostics.diagnostic import Bag
from ael.project.bring import Brought
from ael.project.content import PackPin
from ael.project.load import load_packs
from ael.project.lock import FILE as LOCK
from ael.project.lock_packs import difference, lock_with, read_packs, write_packs
from ael.project.pack import FILE, Pack, find_root, load_pack
from ael.project.packs import chains
from ael.project.shown import shown

ACTIONS = ("tree", "why", "outdated", "lock", "update")


@dataclass(frozen=True, eq=False)
class Tree:
    """A pack with those that it depends on, as they are (`packs`) and as they were locked."""

    pack: Pack
    packs: Mapping[str, Brought]
    lock: Path
    locked: Mapping[str, PackPin]

    def state(self, name: str) -> str:
        """`locked`, `not locked` or `changed`."""
        if name not in self.locked:
            return "not locked"
        return "locked" if difference(self.packs[name].now, self.locked[name]) is None else "changed"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael deps`."""
    parser.add_argument("action", nargs="?", choices=ACTIONS, default="tree", help="what to do (default: tree)")
    parser.add_argument("names", nargs="*", metavar="NAME", help="packs, for `why` and `update`")
    parser.add_argument("--in", dest="folder", type=Path, default=Path(), metavar="FOLDER", help="the pack (default: here)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--check", action="store_true", help="with `lock`: write nothing, and say whether the lock is up to date")
    parser.add_argument("--offline", action="store_true", help="with `outdated`: compare with the lock alone, and ask no index")


def run(args: argparse.Namespace) -> int:
    """Do what is asked of the packs."""
    root = find_root(args.folder.resolve())
    if root is None:
        print(f"ael deps: there is no `{FILE}` in `{args.folder}` or above it", file=sys.stderr)
        return 2
    usage = _usage(args)
    if usage is not None:
        print(f"ael deps: {usage}", file=sys.stderr)
        return 2
    bag = Bag()
    pack = load_pack(root, shown(root / FILE), bag)
    if pack is None:
        return report(bag)
    lock = root / LOCK
    tree = Tree(pack, load_packs(pack, bag), lock, read_packs(lock, shown(lock), bag))
    unknown = [name for name in args.names if name not in tree.packs]
    if unknown and not bag.errors:
        return _unknown(tree, unknown[0])
    if bag.errors and (args.action not in ("tree", "why") or unknown):
        return report(bag)
    # What there is can be shown also where something is wrong with it: that is when one asks.
    code = _act(tree, args)
    return report(bag) if bag.errors else code


def _act(tree: Tree, args: argparse.Namespace) -> int:
    match args.action:
        case "tree":
            _print_tree(tree, args.json)
            return 0
        case "why":
            return _why(tree, args.names[0], args.json)
        case "outdated":
            # Asking an index starts a program: what does that is loaded where it is asked for.
            from ael.cli.deps_outdated import outdated

            return outdated(tree.packs, tree.locked, offline=args.offline, as_json=args.json)
        case "lock":
            return _lock(tree, frozenset(), check=args.check)
        case _:
            return _lock(tree, frozenset(args.names or tree.packs), check=False)


def _usage(args: argparse.Namespace) -> str | None:
    if args.action == "why" and len(args.names) != 1:
        return "`why` takes the name of one pack"
    if args.names and args.action not in ("why", "update"):
        return f"`{args.action}` takes no names"
    if args.check and args.action != "lock":
        return "`--check` is for `lock`"
    if args.offline and args.action != "outdated":
        return "`--offline` is for `outdated`"
    if args.json and args.action in ("lock", "update"):
        return f"`{args.action}` writes `{LOCK}`, and prints no JSON"
    return None


def _unknown(tree: Tree, name: str) -> int:
    close = get_close_matches(name, tree.packs, 1)
    known = ", ".join(f"`{one}`" for one in tree.packs) or "none"
    hint = f"did you mean `{close[0]}`?" if close else f"it depends on {known}"
    print(f"ael deps: `{tree.pack.name}` depends on no pack `{name}`; {hint}", file=sys.stderr)
    return 2


# --- showing -------------------------------------------------------------------------------------------------------------


def _print_tree(tree: Tree, as_json: bool) -> None:
    if as_json:
        print(json.dumps(_plain(tree), indent=2, ensure_ascii=False))
        return
    print(f"{tree.pack.name} {tree.pack.version}")
    for line in _lines(tree, tree.pack, "", set()):
        print(line)


def _lines(tree: Tree, pack: Pack, lead: str, told: set[str]) -> Iterator[str]:
    for at, line in enumerate(pack.depends):
        last = at == len(pack.depends) - 1
        here, below = ("└─ ", "   ") if last else ("├─ ", "│  ")
        one = tree.packs.get(line.name)
        if one is None:
            yield f'{lead}{here}{line.name} "{line.requirement.text}": not there'
            continue
        text = f'{lead}{here}{line.name} {one.pack.version} (asked for "{line.requirement.text}")'
        if line.name in told:
            yield f"{text}, see above" if one.pack.depends else text
            continue
        told.add(line.name)
        yield f"{text}, {one.resolved.origin}, {tree.state(line.name)}"
        yield from _lines(tree, one.pack, lead + below, told)


def _plain(tree: Tree) -> dict[str, object]:
    packs = [
        {
            "name": name,
            "version": one.pack.version,
            "source": one.resolved.origin,
            "root": str(one.pack.root),
            "sha256": one.now.sha256,
            "lock": tree.state(name),
            "asked": [
                {"by": asked.by or tree.pack.name, "requirement": asked.line.requirement.text} for asked in one.resolved.asked
            ],
            "depends": [line.name for line in one.pack.depends],
            "uses": sorted(one.pack.uses),
            "extern": sorted(one.pack.externs),
        }
        for name, one in tree.packs.items()
    ]
    return {"name": tree.pack.name, "version": tree.pack.version, "packs": packs}


def _why(tree: Tree, name: str, as_json: bool) -> int:
    resolved = {other: one.resolved for other, one in tree.packs.items()}
    ways = chains(tree.pack, resolved, name)
    if as_json:
        told = [
            [{"by": step.by or tree.pack.name, "asks": step.line.name, "requirement": step.line.requirement.text} for step in way]
            for way in ways
        ]
        print(json.dumps(told, indent=2, ensure_ascii=False))
        return 0
    print(f"{name} {tree.packs[name].pack.version}, {tree.packs[name].resolved.origin}")
    for way in ways:
        steps = "".join(f' → {step.line.name} "{step.line.requirement.text}"' for step in way)
        print(f"  {tree.pack.name}{steps}")
    return 0


# --- locking -------------------------------------------------------------------------------------------------------------


def _lock(tree: Tree, taken: frozenset[str], *, check: bool) -> int:
    """Write the lock: new packs as they are, `taken` too, and the others as they were locked. Packs that are gone are left out."""
    new: dict[str, PackPin] = {}
    kept: list[str] = []
    for name, one in tree.packs.items():
        old = tree.locked.get(name)
        problem = difference(one.now, old)
        if problem is not None and old is not None and name not in taken:
            kept.append(f"`{name}` {problem}")
        new[name] = old if old is not None and name not in taken else one.now
        if problem is not None and new[name] is one.now:
            what = ("not locked" if check else "locked") if old is None else _change(old, one.now)
            print(f"{name} {one.now.version}: {what}", file=sys.stderr)
    for name in tree.locked.keys() - tree.packs.keys():
        print(f"{name}: nothing depends on it any more", file=sys.stderr)
    for text in kept:
        print(f"{text}; `ael deps update` takes it as it is", file=sys.stderr)
    before = tree.lock.read_bytes() if tree.lock.is_file() else b""
    stale = before != lock_with(tree.lock, new) and (bool(new) or bool(before))
    where = shown(tree.lock)
    if check:
        print(f"{where} is {'not up to date' if stale or kept else 'up to date'}", file=sys.stderr)
        return 1 if stale or kept else 0
    if stale:
        write_packs(tree.lock, new)
    print(f"wrote {where}" if stale else f"{where} is up to date", file=sys.stderr)
    return 1 if kept else 0


def _change(old: PackPin, now: PackPin) -> str:
    if old.version != now.version:
        return f"{old.version} was locked"
    return "its content changed" if old.sha256 != now.sha256 else f"it came from {old.source}"
