"""A typed TypeScript client of a served program, as the source of one module that needs nothing else: `ael export typescript`.

Everything that calls have in common is `runtime.ts`, which stands in each client as it is.
"""

from __future__ import annotations

from pathlib import Path

from ael.clients.api import Api, Service, api, asked, own, told
from ael.clients.typescript_types import TAKEN, TypeScriptTypes, document, key, literal
from ael.run.placement import bare
from ael.services.contract import Contract, MethodContract
from ael.types.proto_names import Scope
from ael.types.signature import Repeat
from ael.types.type import UnitType

_RUNTIME = Path(__file__).with_name("runtime.ts")


def typescript(contract: Contract, *, bigint: bool = False) -> str:
    """The module's text, the same for the same program. `bigint`: whole numbers that may be beyond 2^53 are of that type."""
    return _Module(api(contract, TAKEN), contract, bigint=bigint).text()


class _Module:
    def __init__(self, api: Api, contract: Contract, *, bigint: bool) -> None:
        self._api = api
        self._contract = contract
        self._types = TypeScriptTypes(api, bigint=bigint)

    def text(self) -> str:
        what = f"`{self._api.pack}` {self._api.version}".strip()
        head = [
            f"// A client of {what}, made by `ael export typescript`: make it anew, and change nothing here.",
            "// A call ends with a value, with an error that the program declares, with a fault, or uncertain: then it may or may not have",
            "// taken effect.",
            "",
        ]
        outcomes = [line for service in self._api.services for method in service.methods for line in self._outcome(method)]
        services = [line for service in self._api.services if service.name for line in self._service(service)]
        runtime = _RUNTIME.read_text(encoding="utf-8").splitlines()
        made = [
            *head,
            *self._types.declarations(),
            *outcomes,
            "",
            *services,
            *self._whole(),
            *self._methods(),
            *self._types.shapes(),
        ]
        return "\n".join([*made, *runtime]).rstrip() + "\n"

    def _outcome(self, method: MethodContract) -> list[str]:
        fails = [f"Failed<{literal(name.rpartition('.')[2])}, {self._api.names[name]}>" for name in self._api.fails(method)]
        ends = [f"Value<{self._types.annotation(method.signature.result)}>", *fails, "Faulted", "Uncertain"]
        return [f"export type {self._api.outcomes[method.path]} = {' | '.join(ends)};"]

    def _service(self, service: Service) -> list[str]:
        lines = [
            *document(f"The operations of `{service.name}`.", ""),
            f"export class {service.name}Calls {{",
            "  readonly #caller: AelCaller;",
        ]
        lines += ["", "  constructor(caller: AelCaller) {", "    this.#caller = caller;", "  }"]
        return [*lines, *self._calls(service), "}", ""]

    def _whole(self) -> list[str]:
        name = f"{self._api.title}Client"
        nodes = next((one for one in self._api.services if not one.name), Service("", ()))
        scope = Scope([*_names(nodes).values(), "constructor"])
        attributes = {one.name: scope.take(one.name[:1].lower() + one.name[1:]) for one in self._api.services if one.name}
        lines = [*document(f"Calls of `{self._api.pack}`, which `ael serve` serves at `url`.", ""), f"export class {name} {{"]
        lines += ["  readonly #caller: AelCaller;"]
        lines += [f"  readonly {own}: {service}Calls;" for service, own in attributes.items()]
        lines += [
            "",
            "  constructor(url: string, options: ClientOptions = {}) {",
            "    this.#caller = new AelCaller(url, options);",
        ]
        lines += [f"    this.{own} = new {service}Calls(this.#caller);" for service, own in attributes.items()]
        lines.append("  }")
        return [*lines, *self._calls(nodes), "}", ""]

    def _calls(self, service: Service) -> list[str]:
        names = _names(service)
        return [line for method in service.methods for line in ("", *self._call(method, names[method.path]))]

    def _call(self, method: MethodContract, name: str) -> list[str]:
        fields = [one.as_field() for one in method.signature.parameters]
        given = (
            "{ " + " ".join(self._types.field(one, given=True) for one in fields) + " }" if fields else "Record<string, never>"
        )
        default = "" if any(one.required for one in fields) else " = {}"
        about = [*told(method), *([""] if any(one.doc for one in fields) else [])]
        about += [f"@param given.{one.wire} {' '.join(one.doc.split())}" for one in fields if one.doc]
        return [
            *document("\n".join(about), "  "),
            f"  {name}(given: {given}{default}, options: CallOptions = {{}}): Promise<{self._api.outcomes[method.path]}> {{",
            f"    return this.#caller.call(METHODS[{literal(method.path)}], given, options);",
            "  }",
        ]

    def _methods(self) -> list[str]:
        lines = ["const METHODS = {"]
        for service in self._api.services:
            for method in service.methods:
                repeat = method.repeat if method.repeat is not None else method.signature.effects.repeat
                result = method.signature.result
                whole = isinstance(result, UnitType) or bare(result, self._contract.definitions)
                errors = ", ".join(
                    f"{key(name.rpartition('.')[2])}: {literal(self._api.names[name])}" for name in self._api.fails(method)
                )
                lines += [
                    f"  {literal(method.path)}: {{",
                    f"    path: {literal(method.path)}, name: {literal(asked(method))}, "
                    f"repeatable: {literal(repeat in (Repeat.IDEMPOTENT, Repeat.PURE))}, bare: {literal(whole)},",
                    f"    result: {self._types.shape(result)}, errors: {{ {errors} }},",
                    "  },",
                ]
        return [*lines, "} as const satisfies { readonly [path: string]: AelMethod };", ""]


def _names(service: Service) -> dict[str, str]:
    """A name for each method, by its path, that no other method of the class has."""
    scope = Scope()
    return {method.path: scope.take(_camel(own(method))) for method in service.methods}


def _camel(name: str) -> str:
    """`get_order` -> `getOrder`, as TypeScript writes names."""
    head, *tail = [part for part in name.split("_") if part] or [name]
    made = head + "".join(part[:1].upper() + part[1:] for part in tail)
    # A client with `then` would be taken for a promise.
    return f"{made}_" if made in ("constructor", "then") else made
