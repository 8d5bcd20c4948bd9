"""A program as one file that can be handed on: made, looked at, and installed within what it says that it requires.

    ael bundle make . -o desk.aelb                      the program here, without a deployment
    ael bundle make . -o desk.aelb --deploy eu          with `deploy.eu.ael`
    ael bundle check desk.aelb                          what it requires, and what of that is not here
    ael bundle install desk.aelb agents/desk            into a new folder
    ael bundle install desk.aelb agents/desk --allow orders.read,orders.refund

A bundle holds the sources of a program and of the packs in folders that it depends on, `ael.lock`, and the texts that instructions are read
from. Python code does not travel, and no secret does: it names the modules, models, MCP servers and secrets that have to be there. What it
requires is a ceiling. When it is installed, the program is checked, and one that would need more than its manifest says is refused, as is
one that needs a permission which `--allow` does not list. The same program gives the same file, to the byte.

Exit code 0; 1 when something that the bundle requires is missing here, or it is refused; 2 for bad usage, a program that does not check, or
a file that is no bundle as it was made.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from importlib.machinery import PathFinder
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from ael.cli.opening import opened_or_told
from ael.cli.progress import clean, json_text
from ael.cli.report import report, tell
from ael.diagnostics.diagnostic import Bag
from ael.project.bundle import MAX_BYTES, Bundle, BundleError, Requires, bundle, requires, unpacked, write
from ael.project.deployment import Deployment
from ael.project.load import load_project
from ael.project.program import check, open_program

_EXTRAS = {"server/connect": ("serve", "uvicorn"), "server/mcp": ("serve", "mcp"), "server/grpc": ("grpc", "grpc")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael bundle`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    make = actions.add_parser("make", help="make a bundle of a program")
    make.add_argument("path", type=Path, nargs="?", default=Path(), metavar="FILE", help="the program (default: the one here)")
    make.add_argument("--out", "-o", type=Path, required=True, metavar="FILE", help="where to write it")
    make.add_argument(
        "--deploy",
        action="append",
        default=[],
        metavar="NAME",
        help="take `deploy.NAME.ael` along (`default`: `deploy.ael`); again for more",
    )
    make.add_argument(
        "--include", action="append", default=[], type=Path, metavar="FILE", help="a file of the program's folder; again for more"
    )
    look = actions.add_parser("check", help="say what a bundle requires, and what of that is missing here")
    look.add_argument("bundle", type=Path, metavar="BUNDLE")
    look.add_argument("--format", choices=("text", "json"), default="text", help="how to print it (default: text)")
    install = actions.add_parser("install", help="write a bundle's files into a new folder, once it holds what it says")
    install.add_argument("bundle", type=Path, metavar="BUNDLE")
    install.add_argument("folder", type=Path, metavar="FOLDER", help="a folder that is not there, or is empty")
    install.add_argument(
        "--allow", metavar="NAMES", help="the permissions that it may require, with `,` between them (default: all that it says)"
    )


def run(args: argparse.Namespace) -> int:
    """Make, check or install."""
    if args.action == "make":
        return _make(args)
    try:
        with args.bundle.open("rb") as file:
            found = unpacked(file.read(2 * MAX_BYTES + 1))
    except BundleError as error:
        tell("AEL0829", f"`{args.bundle}` is no bundle as it was made: {error}", "ask whoever made it for the file again")
        return 2
    return _check(found, args.format) if args.action == "check" else _install(found, args)


def _make(args: argparse.Namespace) -> int:
    opened = opened_or_told(args.path, args.deploy[0] if args.deploy and args.deploy[0] != "default" else None)
    if isinstance(opened, int):
        return opened
    bound: list[Deployment] = []
    for name in args.deploy:
        bag = Bag()
        one = open_program(args.path, bag, deploy=None if name == "default" else name)
        code = report(bag)
        if one is None or code:
            return code or 2
        if name == "default" and not (one.project.root / "deploy.ael").is_file():
            print("ael bundle: the program has no `deploy.ael`", file=sys.stderr)
            return 2
        bound.append(one.deployment)
    try:
        data = bundle(opened, bound, args.include)
    except BundleError as error:
        tell("AEL0828", f"this program cannot be bundled: {error}")
        return 2
    args.out.write_bytes(data)
    made = unpacked(data)
    print(f"{args.out}: {made.name} {made.version}, {len(made.contents)} files, {len(data):,} bytes", file=sys.stderr)
    return 0


def _check(found: Bundle, form: str) -> int:
    missing = _missing(found)
    needs = found.requires
    lists = {
        "permissions": needs.permissions, "packages": needs.packages, "python": needs.externs, "distributions": needs.distributions,
        "models": needs.models, "servers": needs.servers, "secrets": needs.secrets,
    }  # fmt: skip
    if form == "json":
        head = {
            "name": found.name,
            "version": found.version,
            "ael": found.ael,
            "main": found.main,
            "deployments": list(found.deployments),
        }
        told = {**head, "requires": {kind: list(names) for kind, names in lists.items()}, "missing": missing}
        print(json_text(told))
    else:
        # Whoever made the bundle chose these names: none of them may say a line of its own, or steer a terminal.
        head_line = (
            f"{found.name} {found.version}, made by AEL {found.ael}: {len(found.contents)} files, main module {found.main}"
        )
        print(_line(head_line))
        for kind, names in {"deployments": found.deployments, **lists}.items():
            if names:
                print(_line(f"  {kind}: {', '.join(names)}"))
        for one in missing:
            print(_line(f"  missing here: {one}"))
    return 1 if missing else 0


def _line(text: str) -> str:
    return clean(text.replace("\n", "\N{REPLACEMENT CHARACTER}"))


def _missing(found: Bundle) -> list[str]:
    """What has to be installed before the program can run. Models, servers and secrets are the deployment's."""
    needs = found.requires
    lacks = [f"the Python module `{name}`" for name in needs.externs if not _importable(name)]
    for one in needs.distributions:
        name = one.rpartition(" ")[0]
        try:
            distribution(name)
        except PackageNotFoundError:
            lacks.append(f"the distribution `{one}`: pip install {name}")
    for package in needs.packages:
        extra = _EXTRAS.get(package)
        if extra is not None and find_spec(extra[1]) is None:
            lacks.append(f"what `{package}` stands on: pip install 'ael-lang[{extra[0]}]'")
    return lacks


def _importable(name: str) -> bool:
    """Whether a module is there. Nothing of it is imported, nor of the packages that it is in: a bundle names what it likes."""
    within: Sequence[str] | None = None
    whole = ""
    for part in name.split("."):
        whole = f"{whole}.{part}" if whole else part
        try:
            spec = find_spec(part) if within is None else PathFinder.find_spec(whole, within)
        except (ImportError, ValueError):
            return False
        if spec is None:
            return False
        within = list(spec.submodule_search_locations or ())
    return True


def _install(found: Bundle, args: argparse.Namespace) -> int:
    target: Path = args.folder.resolve()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        print(f"ael bundle: `{args.folder}` is there already, and a bundle is installed into a new folder", file=sys.stderr)
        return 2
    if args.allow is not None:
        allowed = {name.strip() for name in args.allow.split(",") if name.strip()}
        beyond = [name for name in found.requires.permissions if name not in allowed]
        if beyond:
            notes = f"`--allow` lists {', '.join(sorted(allowed)) or 'none'}"
            tell("AEL0829", f"`{args.bundle}` is not installed: it requires {_line(', '.join(beyond))}", notes)
            return 1
    target.parent.mkdir(parents=True, exist_ok=True)
    # Beside the target first, and looked at there: a folder that is there is whole, and what is in it was checked.
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as made:
        folder = Path(made) / "program"
        folder.mkdir()
        write(found, folder)
        needed = _checked(folder / found.main)
        if needed is None:
            return 2
        beyond = needed.beyond(found.requires)
        if beyond:
            tell("AEL0829", f"`{args.bundle}` is not installed: it needs {', '.join(beyond)}, which its manifest does not say")
            return 1
        if target.exists():
            # The folder itself may be where somebody works: it stays the same one.
            for file in folder.iterdir():
                os.replace(file, target / file.name)
        else:
            os.replace(folder, target)
    for one in _missing(found):
        print(_line(f"missing here: {one}"), file=sys.stderr)
    print(f"{args.folder / found.main}")
    return 0


def _checked(main: Path) -> Requires | None:
    """What the program needs by itself; its deployments are checked where they are used. Problems are printed, None for errors."""
    bag = Bag()
    project = load_project(main, bag)
    program = None if project is None else check(project, bag)
    if report(bag) or project is None or program is None:
        return None
    return requires(project, program)
