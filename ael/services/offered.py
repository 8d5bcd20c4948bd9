"""The contract of a served program as AEL's own clients read it: `GET /contract`, with all types exactly."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ael.data import dataclass
from ael.services.contract import Contract, MethodContract
from ael.types.definition import Definition, FieldDef
from ael.types.json import JsonError, read
from ael.types.limits import MAX_DEPTH, Limits
from ael.types.portable import PortableError, Reader, definitions_form, fields_form, type_form
from ael.types.signature import ParameterDef, Repeat, Signature
from ael.types.type import Named, Type

FORM = 1
"""The form's number. A reader refuses one that it does not know."""
MAX_CONTRACT = 8 * 1024 * 1024
"""Bytes."""
_DEEP = Limits(depth=MAX_DEPTH)
_REPEATS = {repeat.word: repeat for repeat in Repeat}


@dataclass(frozen=True, slots=True)
class Offered:
    """What a server offers: the methods by path, and what their types need."""

    title: str
    version: str
    methods: dict[str, MethodContract]
    definitions: dict[str, Definition]


def offer(contract: Contract) -> bytes:
    """The JSON text, the same for the same program."""
    types = [
        type
        for one in contract.methods
        for type in _types(one.signature)
        if not isinstance(type, Named) or type.name in contract.definitions
    ]
    form = {
        "ael": FORM,
        "title": contract.title,
        "version": contract.version,
        "methods": [_method(one, contract) for one in contract.methods],
        "definitions": definitions_form(types, contract.definitions),
    }
    return json.dumps(form, ensure_ascii=False, separators=(",", ":")).encode()


def offered(text: bytes) -> Offered:
    """What such a text says. Raises `PortableError`."""
    try:
        form = read(text, _DEEP, max_bytes=MAX_CONTRACT)
    except JsonError as error:
        raise PortableError(f"it is no JSON: {error.message}") from None
    match form:
        case {"ael": int(number)} if number != FORM:
            raise PortableError(f"its form is {number}, and this version of AEL reads {FORM}")
        case {"ael": int(), "title": str(title), "version": str(version), "methods": list(methods), "definitions": declared}:
            reader = Reader(declared)
            found = [_read(one, reader) for one in methods]
            return Offered(title, version, {one.path: one for one in found}, reader.definitions)
    raise PortableError("it is no contract of AEL")


def _types(signature: Signature) -> list[Type]:
    return [*(one.type for one in signature.parameters), signature.result, *map(Named, sorted(signature.fails))]


def _method(one: MethodContract, contract: Contract) -> dict[str, object]:
    signature = one.signature
    fields = [parameter.as_field() for parameter in signature.parameters]
    form: dict[str, object] = {
        "path": one.path,
        "name": signature.name,
        "parameters": fields_form(fields, contract.definitions),
        "result": type_form(signature.result),
        "fails": sorted(signature.fails),
    }
    if one.doc:
        form["doc"] = one.doc
    form["repeat"] = (signature.effects.repeat if one.repeat is None else one.repeat).word
    return form


def _read(given: object, reader: Reader) -> MethodContract:
    form: Mapping[str, object] = given if isinstance(given, dict) else {}
    match form:
        case {"path": str(path), "name": str(name), "parameters": parameters, "result": result, "fails": list(fails)}:
            doc, repeat = form.get("doc", ""), form.get("repeat")
            if not isinstance(doc, str) or not all(isinstance(one, str) for one in fails) or repeat not in (None, *_REPEATS):
                raise PortableError(f"the method {path:.80} is not whole")
            made = tuple(_parameter(one) for one in reader.fields(parameters))
            signature = Signature(name, made, reader.read(result), frozenset(fails))
            return MethodContract(path, signature, doc, None if repeat is None else _REPEATS[str(repeat)])
    raise PortableError("a method is not whole")


def _parameter(one: FieldDef) -> ParameterDef:
    return ParameterDef(one.name, one.wire, one.type, one.optional, one.default, doc=one.doc)
