"""What a generated client offers: the methods by service, and the declared types that they need, each with a name of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ael.services.contract import Contract, MethodContract
from ael.services.names import NODES
from ael.types.definition import Definition, Definitions, RecordDef
from ael.types.proto_names import Scope, camel
from ael.types.reach import parts, reachable
from ael.types.type import Named, Type


@dataclass(frozen=True)
class Service:
    """A service with its methods. `name` is as in the program, and empty for the nodes and agents."""

    name: str
    methods: tuple[MethodContract, ...]


@dataclass(frozen=True)
class Api:
    """`definitions` are those that the methods need, in an order in which what stands inside of another comes first where it can.

    `names` gives each of them, and each declared error, a name that no other has, `outcomes` the outcome of each method by its path.
    `title`: the client's own name in capitals.
    """

    title: str
    version: str
    pack: str
    services: tuple[Service, ...]
    definitions: dict[str, Definition]
    names: dict[str, str]
    outcomes: dict[str, str]
    errors: dict[str, RecordDef]

    def fails(self, method: MethodContract) -> list[str]:
        """The declared errors of a method, by their qualified names."""
        return [name for name in sorted(method.signature.fails) if name in self.errors]


def api(contract: Contract, taken: Iterable[str]) -> Api:
    """The client of a contract. `taken`: names that the generated source has already."""
    definitions = contract.definitions
    # `Uncertain` is no error of the program's: it is an outcome of its own.
    errors = {
        name: found
        for method in contract.methods
        for name in sorted(method.signature.fails)
        if "." in name and isinstance(found := definitions.get(name), RecordDef)
    }
    roots = [*_types(contract.methods), *map(Named, errors)]
    needed = {type.name for root in roots for type in reachable(root, definitions) if isinstance(type, Named)}
    ordered = {name: definitions[name] for name in _inside_first(sorted(needed & definitions.keys()), definitions)}
    title = camel(contract.title)
    scope = Scope([*taken, f"{title}Client", f"{title}SyncClient"])
    services = _services(contract.methods)
    for service in services:
        for suffix in ("Calls", "SyncCalls"):
            scope.take(f"{service.name}{suffix}")
    # In the order of their names, so that what is added to the program renames as little as can be.
    names = {name: scope.take(camel(name.rpartition(".")[2])) for name in sorted(ordered)}
    outcomes = {
        method.path: scope.take(f"{service.name}{method.name}Outcome") for service in services for method in service.methods
    }
    return Api(title, contract.version, contract.title, services, ordered, names, outcomes, errors)


def own(method: MethodContract) -> str:
    """The name of an operation or node by itself: `get` of `orders.Orders.get`."""
    return method.signature.name.rpartition(".")[2]


def asked(method: MethodContract) -> str:
    """The name that a client asks for: `Orders.get`, `answer`."""
    return method.signature.name.partition(".")[2] or method.signature.name


def told(method: MethodContract) -> list[str]:
    """What a reader of a method's documentation has to know beside its types: its doc comment, and its repeat safety in words."""
    repeat = method.repeat if method.repeat is not None else method.signature.effects.repeat
    words = {
        "never": "Must not be done twice: a call whose answer is lost is uncertain, and is not sent again.",
        "reconcile": "Must not be done twice: a call whose answer is lost is uncertain; look what became of it before anything else.",
        "idempotent": "May be repeated under its key: a lost call is sent again.",
        "pure": "Acts on nothing.",
    }
    doc = [line.rstrip() for line in method.doc.strip().splitlines()]
    return [*doc, *([""] if doc else []), words[repeat.word]]


def _services(methods: Iterable[MethodContract]) -> tuple[Service, ...]:
    found: dict[str, list[MethodContract]] = {}
    for method in methods:
        name = method.service.rpartition(".")[2]
        found.setdefault("" if name == NODES else name, []).append(method)
    return tuple(Service(name, tuple(found[name])) for name in sorted(found))


def _types(methods: Iterable[MethodContract]) -> list[Type]:
    return [
        type
        for method in methods
        for type in (*(parameter.type for parameter in method.signature.parameters), method.signature.result)
    ]


def _inside_first(names: list[str], definitions: Definitions) -> list[str]:
    """The names, each after those that its declaration is made of; of a circle in the order of their names."""
    done: dict[str, None] = {}
    open: set[str] = set()

    def visit(name: str) -> None:
        if name in done or name in open or name not in definitions:
            return
        open.add(name)
        todo = list(parts(Named(name), definitions))
        while todo:
            inner = todo.pop(0)
            if isinstance(inner, Named):
                visit(inner.name)
            else:
                todo += parts(inner, definitions)
        done[name] = None

    for name in names:
        visit(name)
    return list(done)
