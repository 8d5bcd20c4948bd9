"""The contract of a served program as OpenAPI 3.1, and as JSON Schema (2020-12): the types are the schemas."""

from __future__ import annotations

from collections.abc import Mapping

from ael.run.placement import RESULT, bare
from ael.services.contract import Contract, MethodContract
from ael.services.wire import DETAIL, STATUS
from ael.types.definition import Definitions
from ael.types.schema import Schema, record_schema, schema
from ael.types.type import AnonymousRecord, Named, Type, UnitType

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def openapi(contract: Contract) -> dict[str, object]:
    """The document. Types that are used more than once stand in `components`."""
    shared: dict[str, object] = {"Error": _error()}
    paths = {method.path: {"post": _operation(method, contract.definitions, shared)} for method in contract.methods}
    return {
        "openapi": "3.1.1",
        "info": {"title": contract.title, "version": contract.version},
        "paths": paths,
        "components": {
            "schemas": dict(sorted(shared.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def json_schema(contract: Contract) -> dict[str, object]:
    """Path -> the schemas of the arguments, of the result as it crosses, and of the declared errors."""
    found: dict[str, object] = {}
    for method in contract.methods:
        definitions = contract.definitions
        errors = sorted(name for name in method.signature.fails if name in definitions)
        found[method.path] = {
            "input": {"$schema": _DIALECT, "type": "object", **record_schema(method.signature.input_record(), definitions)},
            "output": {"$schema": _DIALECT, **_output(method.signature.result, definitions)},
            "errors": {name.rpartition(".")[2]: {"$schema": _DIALECT, **schema(Named(name), definitions)} for name in errors},
        }
    return found


def _output(result: Type, definitions: Definitions) -> Schema:
    if isinstance(result, UnitType):
        return schema(AnonymousRecord(()), definitions)
    return schema(result if bare(result, definitions) else AnonymousRecord(((RESULT, result),)), definitions)


def _operation(method: MethodContract, definitions: Definitions, shared: dict[str, object]) -> dict[str, object]:
    given = {"type": "object", **record_schema(method.signature.input_record(), definitions)}
    answered = _output(method.signature.result, definitions)
    errors = sorted(name.rpartition(".")[2] for name in method.signature.fails)
    told = f" It can fail with {', '.join(errors)}." if errors else ""
    operation: dict[str, object] = {"operationId": f"{method.service}.{method.name}", "tags": [method.service]}
    if method.doc:
        operation["description"] = method.doc
    operation |= {
        "parameters": [
            _header(
                "Idempotency-Key", {"type": "string", "maxLength": 512}, "Names the one effect of this call over all attempts."
            ),
            _header("Connect-Timeout-Ms", {"type": "string", "pattern": "^[0-9]{1,10}$"}, "How long the call may take."),
        ],
        "requestBody": {"required": True, "content": _json(_lifted(given, shared))},
        "responses": {
            "200": {"description": "The result.", "content": _json(_lifted(answered, shared))},
            "default": {
                "description": f"An error of the Connect protocol.{told}",
                "content": _json({"$ref": "#/components/schemas/Error"}),
            },
        },
    }
    if method.repeat is not None:
        operation["x-ael-repeat"] = method.repeat.word
    return operation


def _header(name: str, form: dict[str, object], description: str) -> dict[str, object]:
    return {"name": name, "in": "header", "required": False, "schema": form, "description": description}


def _json(form: object) -> dict[str, object]:
    return {"application/json": {"schema": form}}


def _lifted(made: Mapping[str, object], shared: dict[str, object]) -> object:
    """A schema whose `$defs` stand in `components`, under another name where that is taken by another type."""
    own = made.get("$defs")
    definitions = own if isinstance(own, Mapping) else {}
    names: dict[str, str] = {}
    for key in definitions:
        name, count = key, 1
        while name in shared and shared[name] != _renamed(definitions[key], {**names, key: name}):
            count += 1
            name = f"{key}_{count}"
        names[key] = name
    for key, name in names.items():
        shared[name] = _renamed(definitions[key], names)
    return _renamed({key: value for key, value in made.items() if key != "$defs"}, names)


def _renamed(value: object, names: Mapping[str, str]) -> object:
    match value:
        case Mapping():
            made = {}
            for key, inner in value.items():
                if key == "$ref" and isinstance(inner, str) and inner.startswith("#/$defs/"):
                    local = inner.removeprefix("#/$defs/")
                    inner = f"#/components/schemas/{names.get(local, local)}"
                made[key] = _renamed(inner, names)
            return made
        case list():
            return [_renamed(item, names) for item in value]
        case _:
            return value


def _error() -> dict[str, object]:
    detail = {
        "type": "object",
        "properties": {
            "type": {"type": "string", "examples": [DETAIL]},
            "value": {"type": "string", "contentEncoding": "base64"},
            "debug": {},
        },
        "required": ["type", "value"],
    }
    return {
        "type": "object",
        "properties": {
            "code": {"enum": sorted(STATUS)},
            "message": {"type": "string"},
            "details": {"type": "array", "items": detail},
        },
        "required": ["code"],
    }
