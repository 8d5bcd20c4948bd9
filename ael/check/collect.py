"""What a program declares, gathered from all its modules before any body is looked at.

`Collected` is what every later part of the check reads: the module scopes, each declaration by its qualified name, the permissions and
roles of the pack, and (filled in by `define` and `sign`) what the declared types mean and the signatures of what can be called.
Nothing in it is changed after `check_program` has gone from the declarations to the bodies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from ael.check.packs import ALONE, Packs
from ael.check.program import Tables
from ael.data import dataclass, field
from ael.source import Source
from ael.syntax import nodes as n
from ael.types.definition import Definition
from ael.types.signature import Signature
from ael.types.spec import RemoteSpec, ServerSpec
from ael.types.type import Type

Kind: TypeAlias = Literal[
    "record", "enum", "error", "alias", "const", "function", "tool", "node", "agent", "skill", "mcp", "service", "operation", "provide",
    "model", "store", "permission", "role", "module", "type", "fault", "unknown",
]  # fmt: skip
"""`type` is a built-in type, `fault` a built-in failure, `unknown` a name that a mistake reported elsewhere left without a meaning."""


@dataclass(frozen=True, eq=False)
class Symbol:
    """A declared name.

    `name` is qualified (`main.answer`, `orders.Orders.get`, `Timeout` for what the language brings), `module` the module that declares
    it ("" for the language). `node` is the declaration (`n.Operation` for an operation, `n.FunctionDecl` for a function of a
    `provide`), None for what has none. For `module`, `name` is the module's name.
    """

    kind: Kind
    name: str
    module: str = ""
    node: n.Node | None = None
    public: bool = True


@dataclass(eq=False)
class ModuleScope:
    """A module and the names that are seen in it: its own, those it imports, and modules by their last part or alias."""

    name: str
    tree: n.Module
    names: dict[str, Symbol] = field(default_factory=dict)
    imports: dict[str, n.Node] = field(default_factory=dict)
    """Imported name -> where (`n.UseName` or `n.Use`)."""
    used: set[str] = field(default_factory=set)
    """Imported names that something mentions."""
    tables: Tables = field(default_factory=Tables)

    @property
    def source(self) -> Source:
        return self.tree.source


@dataclass(frozen=True, eq=False)
class Remote:
    """What a member of an `mcp` block stands for. `definition` is the pinned one, None for a resource; `doc` what the model is told."""

    spec: RemoteSpec
    definition: Mapping[str, object] | None = None
    doc: str = ""


@dataclass(eq=False)
class Server:
    """An `mcp` block. `whole`: all that it uses is pinned and has types, so that a name which is not there is a mistake.

    `remotes` are its tools, resources and prompts by qualified name, those that can be called.
    """

    symbol: Symbol
    spec: ServerSpec
    whole: bool = False
    remotes: dict[str, Remote] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Given:
    """A value that the main module sees under a name and that nothing in its text says: what a prompt keeps from one input to the next.

    Where the language asks for what is written (instructions, bounds, other constants) it is no constant. `outside`: outside data had a
    hand in it.
    """

    type: Type
    value: object
    outside: bool = False


@dataclass(eq=False)
class Collected:
    """All declarations of a program."""

    modules: dict[str, ModuleScope]
    main: str
    extern_allowed: frozenset[str] = frozenset()
    """The Python modules that the program's own pack lets `extern` name."""
    uses: frozenset[str] = frozenset()
    symbols: dict[str, Symbol] = field(default_factory=dict)
    """By qualified name, in source order; operations as `module.Service.operation`. Providers and their functions, which may have the
    names of the service and its operations, under `provide module.Provide` and `provide module.Provide.function`."""
    permissions: dict[str, Symbol] = field(default_factory=dict)
    """By the name in the whole program (`orders.read`, `refunds.orders.refund`): they have one namespace in their pack."""
    roles: dict[str, Symbol] = field(default_factory=dict)
    definitions: dict[str, Definition] = field(default_factory=dict)
    signatures: dict[str, Signature] = field(default_factory=dict)
    """Functions, tools, nodes, operations, stores' operations (`main.notes.get`), functions of provides (`provide main.sql.get`). `fails`
    holds `Uncertain` where the declaration says so, by its `fails` or, for tools and operations, by their `repeat`; effects are still
    empty."""
    constants: dict[str, object] = field(default_factory=dict)
    packs: Packs = field(default_factory=lambda: ALONE)
    texts: Mapping[tuple[str, str], Source] = field(default_factory=dict)
    """The text files that instructions are read from, by module and path as written (`instructions from "refunds.md"`)."""
    servers: dict[str, Server] = field(default_factory=dict)
    """MCP servers by qualified name. Their tools, resources and prompts are symbols of the kind `tool` (`main.crm.get_customer`), their
    types symbols as declared ones are (`main.crm.GetCustomerResult`)."""

    given: Mapping[str, Given] = field(default_factory=dict)
    """Values of the main module by qualified name, for whom nothing else has that name there."""
    prompt: str = ""
    """The title of the `test` of the main module that is the input of a prompt, and has nothing of a test; "" where there is none."""

    def remote(self, name: str) -> Remote | None:
        """What a tool of a server stands for; None for a tool of the program, and for what has no type."""
        server = self.servers.get(name.rpartition(".")[0])
        return server.remotes.get(name) if server is not None else None

    def scope_of(self, symbol: Symbol) -> ModuleScope:
        """The module that declares `symbol` (not for what the language brings)."""
        return self.modules[symbol.module]

    def of_kind(self, *kinds: Kind) -> Iterator[Symbol]:
        """The declarations of some kinds, in source order."""
        return (s for s in self.symbols.values() if s.kind in kinds)
