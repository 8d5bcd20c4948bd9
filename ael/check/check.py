"""The check of a program, on one screen: parsed modules in, `CheckedProgram` out, everything that is wrong in the bag.

modules --declare, link--> names --define, sign--> types and signatures --bodies--> tables --facts--> CheckedProgram
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from types import MappingProxyType

from ael.check.body import check_bodies
from ael.check.checker import Checker
from ael.check.collect import Collected, ModuleScope, Symbol
from ael.check.declare import declare
from ael.check.define import Definer
from ael.check.expression import HANDLERS
from ael.check.facts import Facts, establish
from ael.check.mcp import declare_servers
from ael.check.module import link, warn_unused
from ael.check.packs import ALONE, Packs, foreign
from ael.check.program import CheckedModule, CheckedProgram
from ael.check.sign import Signer
from ael.data import dataclass
from ael.diagnostics.diagnostic import Bag
from ael.source import Source
from ael.syntax import nodes as n
from ael.types.pin import Pins


@dataclass(frozen=True, eq=False)
class Examined:
    """All that a check found, also of a program with errors: what an editor shows of it.

    `collected` are the declarations with the side tables of every module (`collected.modules[name].tables`), `facts` what must hold between
    them. After an error either may lack what could not be found out; what is there holds.
    """

    main: str
    collected: Collected
    facts: Facts

    def program(self) -> CheckedProgram:
        """The program, where the check reported no error."""
        collected, facts = self.collected, self.facts
        return CheckedProgram(
            modules={name: CheckedModule(name, scope.tree, scope.tables) for name, scope in collected.modules.items()},
            main=self.main,
            definitions=collected.definitions,
            signatures=facts.signatures,
            effects=facts.effects,
            declarations={
                key: (symbol.module, symbol.node)
                for key, symbol in collected.symbols.items()
                if isinstance(symbol.node, n.Declaration)
            },
            permissions=facts.permissions,
            roles=facts.roles,
            tools=facts.tools,
            nodes=facts.nodes,
            skills=facts.skills,
            services=facts.services,
            operations=facts.operations,
            provides=facts.provides,
            stores=facts.stores,
            models=facts.models,
            tests=facts.tests,
            constants={**{name: given.value for name, given in collected.given.items()}, **collected.constants},
            digest=digest(collected),
            servers={name: server.spec for name, server in collected.servers.items()},
            packs=collected.packs,
        )


def check_program(
    modules: Mapping[str, n.Module],
    main: str,
    bag: Bag,
    *,
    extern_allowed: frozenset[str] = frozenset(),
    uses: frozenset[str] = frozenset(),
    remote: frozenset[str] = frozenset(),
    pins: Pins = MappingProxyType({}),
    texts: Mapping[tuple[str, str], Source] = MappingProxyType({}),
    packs: Packs = ALONE,
) -> CheckedProgram | None:
    """Check a program. All problems of all modules go to the bag; None when the bag holds an error.

    `extern_allowed` are the Python modules that the pack lets `extern` name, `uses` its optional packages, `remote` the services
    (qualified) that the deployment binds outside of the program, `pins` what `ael.lock` keeps of MCP servers, `texts` the text
    files that instructions are read from (by module and path as written), `packs` those that the program is made of; advice about
    others than its own is theirs, and not told.
    """
    scopes = {name: ModuleScope(name, tree) for name, tree in modules.items()}
    collected = Collected(scopes, main, extern_allowed, uses, packs=packs, texts=texts)
    examined = examine(collected, bag, pins, remote=remote)
    return None if bag.errors else examined.program()


def examine(
    collected: Collected,
    bag: Bag,
    pins: Pins = MappingProxyType({}),
    *,
    remote: frozenset[str] = frozenset(),
    bodies: Callable[[Checker], None] = check_bodies,
) -> Examined:
    """Check the modules of `collected`, of which nothing but their trees is known, and give all that was found, errors or not.

    `bodies` checks those of one module.
    """
    declare(collected, bag)
    _give(collected)
    link(collected, bag)
    declare_servers(collected, bag, pins)
    definer = Definer(collected, bag)
    definer.define_all()
    Signer(collected, definer, bag).sign_all()
    for symbol in list(collected.of_kind("const")):
        definer.constants.of(symbol)
    for scope in collected.modules.values():
        bodies(Checker(collected, scope, bag, definer, HANDLERS))
    definer.settle()
    facts = establish(collected, bag, remote=remote)
    for scope in collected.modules.values():
        warn_unused(scope, collected, bag)
    bag.hush(scope.source for scope in collected.modules.values() if foreign(collected.packs, scope.name, collected.main))
    return Examined(collected.main, collected, facts)


def _give(collected: Collected) -> None:
    """Let the main module see what it is given."""
    for name in collected.given:
        symbol = Symbol("const", name, collected.main, None, False)
        own = name.removeprefix(f"{collected.main}.")
        if collected.modules[collected.main].names.setdefault(own, symbol) is symbol:
            collected.symbols[name] = symbol


def digest(collected: Collected) -> str:
    """What names a program: SHA-256 over the names and texts of its modules, over the text files that instructions are read from, and over
    the pins that it was checked against."""
    whole = hashlib.sha256()
    modules = collected.modules
    parts = [part for name in sorted(modules) for part in (name, modules[name].source.text)]
    parts += [part for at in sorted(collected.texts) for part in (*at, collected.texts[at].text)]
    pinned = {name: remote.spec.sha256 for server in collected.servers.values() for name, remote in server.remotes.items()}
    parts += [part for name in sorted(pinned) for part in (name, pinned[name])]
    for part in parts:
        data = part.encode()
        whole.update(len(data).to_bytes(8, "big"))
        whole.update(data)
    return whole.hexdigest()
