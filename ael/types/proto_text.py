"""The text of a `.proto` file, in the style of protobuf's own guide."""

from __future__ import annotations

from collections.abc import Iterator

from ael.types.proto import (
    Absence,
    Choice,
    Form,
    Many,
    One,
    ProtoEnum,
    ProtoField,
    ProtoFile,
    ProtoMessage,
    ProtoService,
    Ref,
    Scalar,
    Table,
)

ENDING = """\
syntax = "proto3";

package ael.v1;

// How a call of AEL ended that gave no value: in the details of a status.
message Ending {
  // An object: `outcome` is `error`, `fault` or `uncertain`.
  string json = 1;
}
"""
"""`ael/v1/ending.proto`."""


def proto_text(file: ProtoFile) -> str:
    """The file, with services first."""
    parts = [f'syntax = "proto3";\n\npackage {file.package};\n']
    parts += ["\n".join(_service(one)) for one in file.services]
    parts += ["\n".join(_message(one)) for one in file.messages.values()]
    parts += ["\n".join(_enum(one)) for one in file.enums.values()]
    return "\n".join(part if part.endswith("\n") else part + "\n" for part in parts)


def _service(service: ProtoService) -> Iterator[str]:
    yield f"service {service.name} {{"
    for at, method in enumerate(service.methods):
        if at:
            yield ""
        yield from _comment(method.doc, "  ")
        yield f"  rpc {method.name}({method.request}) returns ({method.response});"
    yield "}"


def _message(message: ProtoMessage) -> Iterator[str]:
    yield from _comment(message.doc, "")
    if not message.all_fields:
        yield f"message {message.name} {{}}"
        return
    yield f"message {message.name} {{"
    one_of = message.form in (Form.UNION, Form.VARIANTS)
    indent = "    " if one_of else "  "
    if one_of:
        yield "  oneof value {" if all(field.name != "value" for field in message.fields) else "  oneof member {"
    for field in message.all_fields:
        yield from _comment(field.doc, indent)
        yield f"{indent}{_type(field, one_of)} {field.name} = {field.number};"
    if one_of:
        yield "  }"
    yield "}"


def _type(field: ProtoField, one_of: bool) -> str:
    match field.shape:
        case Many(item):
            return f"repeated {_word(item)}"
        case Table(value):
            return f"map<string, {_word(value)}>"
        case shape:
            return f"optional {_word(shape)}" if explicit(field) and not one_of else _word(shape)


def explicit(field: ProtoField) -> bool:
    """Whether a field says by itself if it is there, beyond what a message does anyhow."""
    return field.absence is not Absence.DEFAULT and isinstance(field.shape, Scalar | Choice)


def _word(shape: One) -> str:
    match shape:
        case Scalar(kind):
            return kind.word
        case Choice(name) | Ref(name):
            return name


def _enum(enum: ProtoEnum) -> Iterator[str]:
    yield from _comment(enum.doc, "")
    yield f"enum {enum.name} {{"
    yield f"  {enum.unspecified} = 0;"
    for number, name in enumerate(enum.values, 1):
        yield f"  {name} = {number};"
    yield "}"


def _comment(doc: str, indent: str) -> Iterator[str]:
    for line in doc.strip().splitlines():
        yield f"{indent}// {line.strip()}".rstrip()
