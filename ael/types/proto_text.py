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


def proto_text(file: ProtoFile) -> str:
    """The file, with services first."""
    parts = [f'syntax = "proto3";\n\npackage {file.package};\n']
    parts += ["\n".join(_service(one, file.package)) for one in file.services]
    parts += ["\n".join(_message(one, file.package)) for one in file.messages.values()]
    parts += ["\n".join(_enum(one)) for one in file.enums.values()]
    return "\n".join(part if part.endswith("\n") else part + "\n" for part in parts)


def _service(service: ProtoService, package: str) -> Iterator[str]:
    own = {method.name for method in service.methods}
    yield f"service {service.name} {{"
    for at, method in enumerate(service.methods):
        if at:
            yield ""
        yield from _comment(method.doc, "  ")
        request, response = (_from(name, own, package) for name in (method.request, method.response))
        yield f"  rpc {method.name}({request}) returns ({'stream ' if method.of else ''}{response});"
    yield "}"


def _message(message: ProtoMessage, package: str) -> Iterator[str]:
    yield from _comment(message.doc, "")
    if not message.all_fields:
        yield f"message {message.name} {{}}"
        return
    own = {field.name for field in message.all_fields}
    yield f"message {message.name} {{"
    one_of = message.form in (Form.UNION, Form.VARIANTS)
    indent = "    " if one_of else "  "
    if one_of:
        yield "  oneof value {" if all(field.name != "value" for field in message.fields) else "  oneof member {"
    for field in message.all_fields:
        yield from _comment(field.doc, indent)
        yield f"{indent}{_type(field, one_of, own, package)} {field.name} = {field.number};"
    if one_of:
        yield "  }"
    yield "}"


def _type(field: ProtoField, one_of: bool, own: set[str], package: str) -> str:
    match field.shape:
        case Many(item):
            return f"repeated {_word(item, own, package)}"
        case Table(value):
            return f"map<string, {_word(value, own, package)}>"
        case shape:
            word = _word(shape, own, package)
            return f"optional {word}" if explicit(field) and not one_of else word


def explicit(field: ProtoField) -> bool:
    """Whether a field says by itself if it is there, beyond what a message does anyhow."""
    return field.absence is not Absence.DEFAULT and isinstance(field.shape, Scalar | Choice)


def _word(shape: One, own: set[str], package: str) -> str:
    match shape:
        case Scalar(kind):
            return kind.word
        case Choice(name) | Ref(name):
            return _from(name, own, package)


def _from(name: str, own: set[str], package: str) -> str:
    """A type, named whole where what is around has a method or field of that name, which protobuf would find first."""
    return f".{package}.{name}" if name in own else name


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
