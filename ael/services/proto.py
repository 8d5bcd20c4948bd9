"""The contract of a served program as a `.proto`, for generated clients of the Connect protocol's JSON.

Only what protobuf's JSON can say exactly has a type of its own there: a list may be empty and a nullable value null only as a message of
`google.protobuf`, and a whole number that may be large is a `double`, which is exact up to 2^53.
"""

from __future__ import annotations

from ael.run.placement import RESULT, bare
from ael.services.contract import Contract, MethodContract
from ael.types.definition import AliasDef, Definitions, EnumDef, RecordDef
from ael.types.text import show
from ael.types.type import (
    BoolType,
    BytesType,
    DateType,
    DecimalType,
    DurationType,
    FloatType,
    IntType,
    ListType,
    LiteralType,
    MapType,
    Named,
    StringType,
    TimestampType,
    Type,
    UnitType,
)

_VALUE, _LIST, _STRUCT = "google.protobuf.Value", "google.protobuf.ListValue", "google.protobuf.Struct"
_INT32 = 2**31


def proto(contract: Contract) -> str:
    """The file's text, the same for the same program. Raises `ValueError` where services are of several packages."""
    packages = sorted({method.service.rpartition(".")[0] for method in contract.methods})
    if len(packages) != 1:
        raise ValueError(f"one file describes one package, and the services are of {', '.join(packages)}: name one with `--only`")
    writer = _Writer(contract.definitions)
    services = writer.services(contract)
    lines = ['syntax = "proto3";', "", f"package {packages[0]};", "", 'import "google/protobuf/struct.proto";', ""]
    return "\n".join([*lines, *services, *writer.messages()]).rstrip() + "\n"


class _Writer:
    """Collects the messages that the methods need."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self._names: dict[str, str] = {}
        self._made: dict[str, list[str]] = {}
        self._taken: set[str] = set()

    def services(self, contract: Contract) -> list[str]:
        """The services with their methods."""
        self._taken = {method.service.rpartition(".")[2] for method in contract.methods}
        lines: list[str] = []
        for service in sorted({method.service for method in contract.methods}):
            lines.append(f"service {service.rpartition('.')[2]} {{")
            for method in contract.methods:
                if method.service == service:
                    lines += [*_comment(method.doc, "  "), self._method(method)]
            lines += ["}", ""]
        return lines

    def messages(self) -> list[str]:
        """All messages, by name."""
        return [line for name in sorted(self._made) for line in (*self._made[name], "")]

    def _method(self, method: MethodContract) -> str:
        own = f"{method.service.rpartition('.')[2]}{method.name}"
        signature = method.signature
        record, request = signature.input_record(), self._free(f"{own}Request")
        self._message(request, [(f.wire, f.type, f.doc) for f in record.fields])
        result = signature.result
        if isinstance(result, Named) and bare(result, self._definitions):
            answer = self._record(result.name)
        else:
            answer = self._free(f"{own}Response")
            self._message(answer, [] if isinstance(result, UnitType) else [(RESULT, result, "")])
        # Named whole: within a service, the name of a method goes before that of a message.
        package = method.service.rpartition(".")[0]
        return f"  rpc {method.name}(.{package}.{request}) returns (.{package}.{answer});"

    def _message(self, name: str, fields: list[tuple[str, Type, str]]) -> None:
        self._made[name] = []
        lines, used = [f"message {name} {{"], set[str]()
        for number, (wire, type, doc) in enumerate(fields, 1):
            made, field = self._type(type), _field(wire, number)
            field = f"field_{number}" if field in used else field
            used.add(field)
            optional = "" if made.startswith("google.") or made[0].isupper() else "optional "
            json = "" if wire == _json_name(field) else f' [json_name = "{wire}"]'
            lines += [*_comment(doc, "  "), f"  {optional}{made} {field} = {number}{json};  // {show(type)}"]
        self._made[name] = [*lines, "}"]

    def _record(self, name: str) -> str:
        found = self._names.get(name)
        if found is None:
            found = self._names[name] = self._free(name.rpartition(".")[2])
            definition = self._definitions[name]
            assert isinstance(definition, RecordDef)
            self._message(found, [(f.wire, f.type, f.doc) for f in definition.fields])
        return found

    def _free(self, wanted: str) -> str:
        """A name that no other message and no service has."""
        found, count = wanted, 1
        while found in self._taken:
            count += 1
            found = f"{wanted}{count}"
        self._taken.add(found)
        return found

    def _type(self, type: Type) -> str:
        match type:
            case StringType() | DecimalType() | TimestampType() | DateType() | DurationType() | LiteralType(value=str()):
                return "string"
            case BoolType():
                return "bool"
            case BytesType():
                return "bytes"
            case IntType(min=low, max=high) if low is not None and high is not None and low >= -_INT32 and high < _INT32:
                return "int32"
            case IntType() | FloatType():
                return "double"
            case ListType():
                return _LIST
            case MapType():
                return _STRUCT
            case Named(name=name):
                return self._named(name)
            case _:
                return _VALUE

    def _named(self, name: str) -> str:
        match self._definitions.get(name):
            case RecordDef(open=False):
                return self._record(name)
            case RecordDef():
                return _STRUCT
            case EnumDef() as enum if enum.plain:
                return "string"
            case AliasDef(type=inner) if not isinstance(inner, Named):
                return self._type(inner)
            case _:
                return _VALUE


def _comment(doc: str, indent: str) -> list[str]:
    return [f"{indent}// {line}".rstrip() for line in doc.split("\n")] if doc else []


def _field(wire: str, number: int) -> str:
    """A legal name of a field; its JSON name is the wire's."""
    name = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in wire).strip("_").lower()
    return name if name and name[0].isalpha() else f"field_{number}"


def _json_name(field: str) -> str:
    """The JSON name that protobuf gives a field by itself."""
    head, *rest = field.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)
