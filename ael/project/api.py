"""The public interface of a pack: what it shows to the packs that depend on it (`ael diff --api`).

That is all that is `pub` in the modules that it does not keep to itself (`ael/check/packs.py`), the types that are reached from there
whether they are `pub` or not, its permissions and roles, and what a program that depends on it must list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ael.check.packs import MAIN, foreign, holder, private
from ael.check.program import CheckedProgram
from ael.data import dataclass
from ael.diagnostics.diagnostic import Bag
from ael.project.content import files
from ael.project.load import load_project
from ael.project.pack import FILE, Pack, report_unreadable
from ael.project.program import check
from ael.project.shown import shown
from ael.source import SourceError
from ael.syntax import nodes as n
from ael.types.definition import Definition
from ael.types.reach import reachable
from ael.types.type import Named, Type
from ael.types.version import Version


@dataclass(frozen=True, eq=False)
class Interface:
    """A pack that checks, with what of it others see.

    `number` is its version, `public` are its declarations by qualified name, `types` the definitions that are reached. `versions` are those
    of the packs that it depends on, `digest` names all of its content.
    """

    pack: Pack
    program: CheckedProgram
    public: Mapping[str, n.Declaration]
    types: Mapping[str, Definition]
    permissions: frozenset[str]
    roles: frozenset[str]
    versions: Mapping[str, Version]
    number: Version
    digest: str


def open_interface(root: Path, bag: Bag) -> Interface | None:
    """The interface of the pack in `root`. Problems go to the bag, and an error in any of its modules gives None."""
    modules = [file for file in files(root) if file.name != FILE]
    main = root.resolve() / "main.ael"
    if not modules:
        report_unreadable(SourceError(shown(root), "the pack has no modules"), bag)
        return None
    project = load_project(main if main in modules else modules[0], bag, modules)
    program = check(project, bag) if project is not None else None
    number = project.pack.number if project is not None and project.pack is not None else None
    if project is None or project.pack is None or program is None or number is None or bag.errors:
        return None
    public = dict(_public(program))
    return Interface(
        project.pack,
        program,
        public,
        _types(program, public),
        frozenset(name for name in program.permissions if not holder(program.packs, name)),
        frozenset(name for name in program.roles if not holder(program.packs, name)),
        {name: number for name, one in project.packs.items() if (number := one.pack.number) is not None},
        number,
        program.digest,
    )


def told(name: str) -> str:
    """How a declaration is called in what is told: `refund` of the main module, `money.double`."""
    return name.removeprefix(f"{MAIN}.").replace("/", ".")


def _own(program: CheckedProgram, module: str) -> bool:
    return not foreign(program.packs, module)


def _public(program: CheckedProgram) -> Iterator[tuple[str, n.Declaration]]:
    for name, (module, node) in program.declarations.items():
        if _own(program, module) and not private(module) and getattr(node, "public", False):
            yield name, node


def _types(program: CheckedProgram, public: Mapping[str, n.Declaration]) -> dict[str, Definition]:
    """The own types that others can reach: public ones, and those that public things are made of."""
    roots: list[Type] = [Named(name) for name in public if name in program.definitions]
    for name in (*public, *(operation for operation in program.operations if operation.rpartition(".")[0] in public)):
        signature = program.signatures.get(name)
        if signature is not None:
            roots += [signature.result, *(parameter.type for parameter in signature.parameters), *map(Named, signature.fails)]
        if name in program.stores:
            roots.append(program.stores[name].value)
    reached = {part.name for root in roots for part in reachable(root, program.definitions) if isinstance(part, Named)}
    return {name: program.definitions[name] for name in sorted(reached) if name in program.definitions and _own(program, name)}
