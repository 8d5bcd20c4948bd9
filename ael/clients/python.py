"""A typed Python client of a served program, as the source of one module: `ael export python`."""

from __future__ import annotations

from ael.clients.api import Api, Service, api, asked, own, told
from ael.clients.python_types import TAKEN, PythonTypes, document, text
from ael.services.contract import Contract, MethodContract
from ael.types.proto_names import Scope, snake
from ael.types.signature import ParameterDef
from ael.types.text import show

_OPTIONS = ("key", "deadline", "trace_parent", "on_event")
_OWN = frozenset({"self", "options", *_OPTIONS})
_CONNECT = (
    "url: str",
    "*",
    "token: str | None = None",
    "timeout: float | datetime.timedelta = 300.0",
    "connect: float | datetime.timedelta = 10.0",
    "attempts: int = 3",
    "tls: ssl.SSLContext | None = None",
    "plain: bool = False",
)
_PASSED = "url, token=token, timeout=timeout, connect=connect, attempts=attempts, tls=tls, plain=plain"


def python(contract: Contract) -> str:
    """The module's text, the same for the same program."""
    return _Module(api(contract, TAKEN)).text()


class _Module:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._types = PythonTypes(api)

    def text(self) -> str:
        what = f"`{self._api.pack}` {self._api.version}".strip()
        head = [
            f'"""A client of {what}, made by `ael export python`: make it anew, and change nothing here.',
            "",
            "A call ends with a value, with an error that the program declares (`ael.Failed`), with a fault (`ael.Faulted`), or uncertain",
            "(`ael.Uncertain`): it may or may not have taken effect.",
            '"""',
            "",
            "from __future__ import annotations",
            "",
            *(f"import {name}" for name in ("dataclasses", "datetime", "decimal", "enum", "ssl", "typing")),
            "",
            "import ael",
            "",
            "",
        ]
        clients = [line for kind in (_ASYNC, _SYNC) for line in self._clients(kind)]
        return "\n".join([*head, *self._types.declarations(), *self._outcomes(), *clients]).rstrip() + "\n"

    def _outcomes(self) -> list[str]:
        """A name for how each method can end."""
        lines: list[str] = []
        for service in self._api.services:
            for method in service.methods:
                errors = " | ".join(self._api.names[name] for name in self._api.fails(method))
                result = f"ael.Value[{self._types.annotation(method.signature.result)}]"
                ends = [result, *([f"ael.Failed[{errors}]"] if errors else []), "ael.Faulted", "ael.Uncertain"]
                lines.append(f"{self._api.outcomes[method.path]}: typing.TypeAlias = {' | '.join(ends)}")
        return [*lines, "", ""]

    def _clients(self, kind: _Kind) -> list[str]:
        lines: list[str] = []
        for service in self._api.services:
            if service.name:
                doc = f"The operations of `{service.name}`."
                lines += [
                    f"class {service.name}{kind.calls}:",
                    *document(doc, "    "),
                    *self._typed(kind),
                    *self._methods(service, kind),
                ]
                lines += ["", ""]
        return [*lines, *self._whole(kind), "", ""]

    def _typed(self, kind: _Kind) -> list[str]:
        return ["", f"    def __init__(self, typed: ael.{kind.typed}) -> None:", "        self._typed = typed"]

    def _whole(self, kind: _Kind) -> list[str]:
        name = f"{self._api.title}{kind.client}"
        nodes = next((one for one in self._api.services if not one.name), Service("", ()))
        scope = Scope([*_names(nodes).values(), *_MEMBERS])
        attributes = {one.name: scope.take(snake(one.name)) for one in self._api.services if one.name}
        doc = f"A connection to `{self._api.pack}`: `{kind.using} {name}.connect(…) as client:`."
        lines = [f"class {name}:", *document(doc, "    "), "", f"    def __init__(self, client: ael.{kind.plain}) -> None:"]
        lines += ["        self._client = client", f"        self._typed = ael.{kind.typed}(client)"]
        lines += [f"        self.{own} = {service}{kind.calls}(self._typed)" for service, own in attributes.items()]
        lines += [
            "",
            "    @classmethod",
            "    def connect(",
            "        cls,",
            *(f"        {one}," for one in _CONNECT),
            "    ) -> typing.Self:",
            f'        """A client of the program at `url`. Parameters and exceptions as for `ael.{kind.connect}`."""',
            f"        return cls(ael.{kind.connect}({_PASSED}))",
            "",
            f"    {kind.define} __{kind.a}enter__(self) -> typing.Self:",
            f"        {kind.wait}self._client.__{kind.a}enter__()",
            "        return self",
            "",
            f"    {kind.define} __{kind.a}exit__(self, *ended: typing.Any) -> None:",
            f"        {kind.wait}self._client.__{kind.a}exit__(*ended)",
        ]
        return [*lines, *self._methods(nodes, kind)]

    def _methods(self, service: Service, kind: _Kind) -> list[str]:
        names = _names(service)
        return [line for method in service.methods for line in ("", *self._method(method, names[method.path], kind))]

    def _method(self, method: MethodContract, name: str, kind: _Kind) -> list[str]:
        signature = method.signature
        taken = {*TAKEN, *_OWN, *self._api.names.values()}
        scope = Scope(taken)
        named: dict[str, str] = {}
        for one in signature.parameters:
            wanted = one.name if one.name.isidentifier() else snake(one.name)
            named[one.wire] = scope.take(f"{wanted}_" if wanted in taken else wanted)
        required = [one for one in signature.parameters if one.required]
        others = [one for one in signature.parameters if not one.required]
        result = self._types.annotation(signature.result)
        fails = self._api.fails(method)
        outcome = self._api.outcomes[method.path]
        returns = f"ael.TypedCall[{outcome}]" if kind is _ASYNC else outcome
        lines = [f"    def {name}(", "        self,"]
        lines += [f"        {named[one.wire]}: {self._types.annotation(one.type)}," for one in required]
        if others:
            lines += ["        *,", *(f"        {named[one.wire]}: {self._optional(one)} = ael.OMITTED," for one in others)]
        lines += ["        **options: typing.Unpack[ael.CallOptions],", f"    ) -> {returns}:"]
        lines += document("\n".join([*told(method), *_defaults(others, named)]), "        ")
        given = ", ".join(f"{text(one.wire)}: {named[one.wire]}" for one in signature.parameters)
        classes = ", ".join(f"{text(name.rpartition('.')[2])}: {self._api.names[name]}" for name in fails)
        call = f"self._typed.call({text(asked(method))}, {{{given}}}, {result}, {{{classes}}}, options)"
        if kind is _ASYNC:
            return [*lines, f"        return {call}"]
        return [*lines, f"        outcome: {outcome} = {call}", "        return outcome"]

    def _optional(self, one: ParameterDef) -> str:
        return f"{self._types.annotation(one.type)} | ael.Omitted"


class _Kind:
    """With `await`, or without."""

    def __init__(self, sync: bool) -> None:
        self.client, self.calls = ("SyncClient", "SyncCalls") if sync else ("Client", "Calls")
        self.typed, self.plain = ("SyncTypedClient", "SyncClient") if sync else ("TypedClient", "Client")
        self.connect, self.using = ("connect_sync", "with") if sync else ("connect", "async with")
        self.a, self.define, self.wait = ("", "def", "") if sync else ("a", "async def", "await ")


_ASYNC, _SYNC = _Kind(False), _Kind(True)


_MEMBERS = ("connect", "_client", "_typed")
"""What a client has of its own."""


def _names(service: Service) -> dict[str, str]:
    """A name for each method, by its path, that no other method of the class has, nor anything else in it."""
    scope = Scope(_MEMBERS)
    named = ((method.path, own(method)) for method in service.methods)
    return {path: scope.take(f"{name}_" if name in TAKEN or name in _MEMBERS else name) for path, name in named}


def _defaults(others: list[ParameterDef], named: dict[str, str]) -> list[str]:
    """What is said of parameters that may be left out."""
    if not others:
        return []
    return [
        "",
        *(f"`{named[one.wire]}`: `{show(one.type)}`, may be left out{'' if not one.doc else f': {one.doc}'}." for one in others),
    ]
