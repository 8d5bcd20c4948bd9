"""A program with another text in one module, as far as an editor needs it to guess what somebody is about to write.

Completion and signature help put a name where the cursor is, close what is open, and ask what would be there. Only the declarations
around the change are read and checked, in the world of the snapshot, which stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from ael.check.body import check_declaration
from ael.check.check import Examined
from ael.check.checker import Checker
from ael.check.collect import Collected, ModuleScope
from ael.check.declare import declare
from ael.check.define import BUILT_IN, Definer
from ael.check.expression import HANDLERS
from ael.check.module import link
from ael.check.sign import Signer
from ael.data import replace
from ael.diagnostics.diagnostic import Bag
from ael.editor.snapshot import File, Snapshot
from ael.source import Source, Span
from ael.syntax import nodes as n
from ael.syntax.again import shift
from ael.syntax.parse import parse_deployment, parse_module, parse_pack
from ael.syntax.relex import common
from ael.syntax.tree import walk
from ael.types.definition import AliasDef

_PARSE = {"module": parse_module, "pack": parse_pack, "deployment": parse_deployment}


def fork(snapshot: Snapshot, file: File, text: str) -> tuple[Snapshot, File]:
    """The snapshot with `text` in `file`, and the file in it.

    Only the declarations that the change touches are read and checked. In the file that is given, the tree ends with them (those that
    follow are left out) and the tables are theirs alone; names, types and signatures of all others, and all facts, are those of
    `snapshot`. Its trees stay where they are.
    """
    before, touched, after = _touched(file, text)
    start = before[-1].span.end if before else 0
    end = after[0].span.start + len(text) - len(file.source.text) if after else len(text)
    made = _read(file, text, start, end)
    source = Source(file.source.name, text, file.source.path)
    tree = n.Module(Span(0, len(text)), source, file.tree.doc, (*before, *made), ())
    scope = file.scope
    if scope is None or snapshot.examined is None:
        return snapshot, _file(file, source, tree, None)
    forked = _scope(scope, tree, touched)
    collected = _world(snapshot.collected, forked, touched)
    _check(collected, forked, made)
    examined = Examined(snapshot.main, collected, snapshot.examined.facts)
    changed = _file(file, source, tree, forked)
    return snapshot.with_file(changed, examined), changed


def _touched(file: File, text: str) -> tuple[list[n.Declaration], list[n.Declaration], list[n.Declaration]]:
    """The declarations before a change, around it, and after it."""
    old = file.source.text
    first = common(old, text)
    most = min(len(old), len(text)) - first
    tail = common(old[::-1][:most], text[::-1][:most])
    last = len(old) - tail
    declarations = file.tree.declarations
    before = [d for d in declarations if d.span.end < first]
    after = [d for d in declarations if d.span.start > last]
    return before, list(declarations[len(before) : len(declarations) - len(after)]), after


def _read(file: File, text: str, start: int, end: int) -> Sequence[n.Declaration]:
    parse = _PARSE.get(file.kind)
    if parse is None:
        return ()
    made = parse(Source(file.source.name, text[start:end]), Bag()).declarations
    for declaration in made:
        shift(list(walk(declaration)), start)
    return made


def _file(file: File, source: Source, tree: n.Module, scope: ModuleScope | None) -> File:
    return File(
        file.path, file.uri, source, file.kind, file.name, own=file.own, version=file.version, tree=tree, scope=scope,
        encoding=file.encoding,
    )  # fmt: skip


def _scope(scope: ModuleScope, tree: n.Module, touched: Sequence[n.Declaration]) -> ModuleScope:
    """The names of a module without those that the touched declarations made."""
    gone = {node for declaration in touched for node in (declaration, *declaration.children())}
    imports = {name: node for name, node in scope.imports.items() if node not in gone}
    names = {
        name: symbol
        for name, symbol in scope.names.items()
        if (name in imports or name not in scope.imports)
        and (symbol.node not in gone or name in imports)
        and (symbol.kind != "unknown" or name in imports)
    }
    return ModuleScope(scope.name, tree, names, imports)


def _world(old: Collected, scope: ModuleScope, touched: Sequence[n.Declaration]) -> Collected:
    gone = {node for declaration in touched for node in (declaration, *declaration.children())}
    left = {key: symbol for key, symbol in old.symbols.items() if symbol.node not in gone}
    lost = old.symbols.keys() - left.keys()
    return replace(
        old,
        modules={**old.modules, scope.name: scope},
        symbols=left,
        permissions={key: symbol for key, symbol in old.permissions.items() if symbol.node not in gone},
        roles={key: symbol for key, symbol in old.roles.items() if symbol.node not in gone},
        definitions={key: definition for key, definition in old.definitions.items() if key not in lost},
        signatures={key: signature for key, signature in old.signatures.items() if key not in lost},
        constants={key: value for key, value in old.constants.items() if key not in lost},
        servers=dict(old.servers),
    )


def _check(collected: Collected, scope: ModuleScope, made: Sequence[n.Declaration]) -> None:
    """Everything that `ael.check.check.examine` does of a program up to the bodies, for some declarations of one module."""
    bag = Bag()
    known = collected.symbols.keys() | set()
    part = ModuleScope(scope.name, _with(scope.tree, made), scope.names, scope.imports, scope.used, scope.tables)
    declare(replace(collected, modules={scope.name: part}), bag)
    link(collected, bag, [part])
    new = collected.symbols.keys() - known
    definer = Definer(collected, bag)
    definer.aliases.update({key: one for key, one in collected.definitions.items() if isinstance(one, AliasDef)})
    collected.definitions.update(BUILT_IN)
    for key in new:
        definer.definition(collected.symbols[key])
    definer.settle()
    Signer(collected, definer, bag).sign_all(new)
    for key in new:
        if collected.symbols[key].kind == "const":
            definer.constants.of(collected.symbols[key])
    checker = Checker(collected, scope, bag, definer, HANDLERS)
    for declaration in made:
        check_declaration(checker, declaration)
    definer.settle()


def _with(tree: n.Module, declarations: Sequence[n.Declaration]) -> n.Module:
    """A module with other declarations."""
    return n.Module(tree.span, tree.source, tree.doc, tuple(declarations), ())
