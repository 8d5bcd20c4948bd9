"""The types of an MCP tool or prompt, from its definition as the server lists it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from ael.data import dataclass
from ael.types.definition import Definition, FieldDef, RecordDef
from ael.types.from_schema import Imported, SchemaRefused, checked_text, import_node, import_schema
from ael.types.from_schema_names import field_name
from ael.types.meet import renamed
from ael.types.reach import resolve
from ael.types.schema_cost import in_place
from ael.types.schema_node import Node, step
from ael.types.schema_source import Document
from ael.types.signature import ParameterDef
from ael.types.type import (
    AnonymousRecord,
    CheckedType,
    JsonType,
    MapType,
    Named,
    Never,
    StringType,
    Type,
    UnionType,
    unchecked,
)
from ael.types.type_union import any_of

__all__ = ["Imported", "SchemaRefused", "ToolTypes", "import_schema", "prompt_parameters", "tool_types"]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ToolTypes:
    """What a tool takes and gives.

    `input` has exactly the objects that the input schema allows, by wire names: what is sent is checked by it. `parameters` are its
    properties one by one; where properties hang together, or an alternative is chosen by them, `input` says so and they do not.
    `extra` is the name of a further parameter, a map of arguments of other names, where the schema says that there may be any.
    `result` is the type of the structured result, or String where the tool declares none (`text`).
    """

    parameters: tuple[ParameterDef, ...]
    input: Type
    result: Type
    text: bool
    extra: str | None
    definitions: dict[str, Definition]


def tool_types(definition: Mapping[str, object], name: str) -> ToolTypes:
    """The types of a tool; declared types are named from `name` (qualified, `main.crm.GetCustomer`). Raises SchemaRefused."""
    execution = definition.get("execution")
    if isinstance(execution, dict) and execution.get("taskSupport") == "required":
        raise SchemaRefused("taskSupport", "/execution/taskSupport", "the tool can only be run as a task, which is not supported")
    schema = definition.get("inputSchema")
    if not isinstance(schema, dict):
        raise SchemaRefused("inputSchema", "/inputSchema", "a tool has to say what it takes, as an object")
    made, parameters, extra = _within("inputSchema", lambda: _input(schema, f"{name}Input"))
    result: Type = StringType()
    definitions = dict(made.definitions)
    output = definition.get("outputSchema")
    if output is not None:
        if not isinstance(output, dict):
            raise SchemaRefused("outputSchema", "/outputSchema", "a schema is an object")
        given = _within("outputSchema", lambda: import_node(Document(output).root(), f"{name}Result"))
        if isinstance(given.type, Never):
            raise SchemaRefused("outputSchema", "/outputSchema", "no value can fit it")
        result = given.type
        definitions |= given.definitions
    return ToolTypes(tuple(parameters), made.type, result, output is None, extra, definitions)


def prompt_parameters(definition: Mapping[str, object]) -> tuple[ParameterDef, ...]:
    """The parameters of a prompt: texts, optional unless the definition requires them. Raises SchemaRefused."""
    arguments = definition.get("arguments")
    if arguments is None:
        return ()
    if not isinstance(arguments, list):
        raise SchemaRefused("arguments", "/arguments", "it has to be a list")
    fields: list[FieldDef] = []
    for at, argument in enumerate(arguments):
        match argument:
            case {"name": str(wire)} if wire and all(f.wire != wire for f in fields):
                doc = argument.get("description")
                optional = argument.get("required") is not True
                fields.append(FieldDef(field_name(wire), wire, StringType(), optional, doc=doc if isinstance(doc, str) else ""))
            case _:
                raise SchemaRefused("arguments", step("/arguments", at), "it has to be an object with a name of its own")
    return tuple(_parameter(field) for field in renamed(fields))


def _within(keyword: str, make: Callable[[], _T]) -> _T:
    """What `make` gives; its refusals say where they are in the definition."""
    try:
        return make()
    except SchemaRefused as refused:
        raise SchemaRefused(refused.keyword, f"/{keyword}{refused.path}", refused.reason) from None


def _input(schema: dict[str, object], name: str) -> tuple[Imported, list[ParameterDef], str | None]:
    root = Document(schema).root()
    made = import_node(root, name, frozenset({"object"}))
    if "type" in root.words and root.words["type"] != ("object",):
        raise SchemaRefused("type", "/type", "the arguments of a tool are an object")
    record = _record(made, name)
    if record is None:
        raise SchemaRefused("inputSchema", "", "no object can fit it")
    whole = made
    if made.definitions.get(record.name) != record and isinstance(unchecked(made.type), UnionType | Named):
        definitions = {**made.definitions, record.name: record}
        whole = Imported(CheckedType(Named(record.name), checked_text(root)), definitions)
    told = _record(made, name, declared=True) or record
    parameters = [_parameter(field) for field in renamed(list(told.fields)) if not isinstance(field.type, Never)]
    if record.other is None or not any(_says_open(node) for node in _whole(root)):
        return whole, parameters, None
    extra = "extra"
    while any(extra in (one.name, one.wire) for one in parameters):
        extra += "_arguments"
    doc = "Arguments of other names, which the tool takes too."
    return whole, [*parameters, ParameterDef(extra, extra, MapType(record.other), optional=True, doc=doc)], extra


def _parameter(field: FieldDef) -> ParameterDef:
    return ParameterDef(field.name, field.wire, field.type, field.optional, doc=field.doc)


def _record(made: Imported, name: str, *, declared: bool = False) -> RecordDef | None:
    """One record of all arguments: that of the schema, or one with the fields of all alternatives, wide enough for each.

    With `declared` a field is what the alternatives say that name it, though others, open ones, would take anything there.
    """
    records = list(_records(resolve(unchecked(made.type), made.definitions), made.definitions))
    if len(records) < 2:
        return records[0] if records else None
    wires = dict.fromkeys(field.wire for record in records for field in record.fields)
    others = [record.other for record in records if record.other is not None]
    other = any_of(others, made.definitions) if others else None
    fields = [_merged(wire, records, made.definitions, declared) for wire in wires]
    taken = f"{name}Arguments"
    while taken in made.definitions:
        taken += "_"
    return RecordDef(taken, tuple(renamed(fields)), other is not None, extra=None if isinstance(other, JsonType) else other)


def _merged(wire: str, records: Sequence[RecordDef], definitions: Mapping[str, Definition], declared: bool) -> FieldDef:
    found = [next((f for f in record.fields if f.wire == wire), None) for record in records]
    types = [
        field.type if field is not None else record.other
        for field, record in zip(found, records, strict=True)
        if field is not None or (record.other is not None and not declared)
    ]
    first = next(field for field in found if field is not None)
    optional = any(field is None or field.optional for field in found)
    doc = next((field.doc for field in found if field is not None and field.doc), "")
    return FieldDef(first.name, wire, any_of([t for t in types if t is not None], definitions), optional, doc=doc)


def _records(type: Type, definitions: Mapping[str, Definition]) -> Iterator[RecordDef]:
    match type:
        case Named(name):
            definition = definitions.get(name)
            if isinstance(definition, RecordDef):
                yield definition
            elif (inner := resolve(type, definitions)) != type:
                yield from _records(inner, definitions)
        case AnonymousRecord():
            yield RecordDef("", ())
        case MapType(value):
            yield RecordDef("", (), True, extra=None if isinstance(value, JsonType) else value)
        case UnionType(members):
            for member in members:
                yield from _records(member, definitions)
        case _:
            return


def _whole(root: Node) -> Iterator[Node]:
    """A schema and all that look at the same value."""
    seen: set[int] = set()
    todo = [root]
    while todo:
        node = todo.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            todo += in_place(node)


def _says_open(node: Node) -> bool:
    extra = node.words.get("additionalProperties")
    return isinstance(extra, Node) and extra.always is not False
