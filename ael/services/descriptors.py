"""Descriptors of protobuf at run time, without protoc: what gRPC's reflection tells clients. Loaded by servers of gRPC alone."""

from __future__ import annotations

from google.protobuf import descriptor_pb2

from ael.types.proto import Choice, Form, Many, One, ProtoEnum, ProtoField, ProtoFile, ProtoMessage, Ref, Scalar, Table
from ael.types.proto_text import explicit

_Field = descriptor_pb2.FieldDescriptorProto
_KINDS = {
    "string": _Field.TYPE_STRING, "int64": _Field.TYPE_INT64, "double": _Field.TYPE_DOUBLE, "bool": _Field.TYPE_BOOL,
    "bytes": _Field.TYPE_BYTES,
}  # fmt: skip


def file_descriptor(file: ProtoFile) -> descriptor_pb2.FileDescriptorProto:
    """The same file as `proto_text` writes."""
    made = descriptor_pb2.FileDescriptorProto(name=file.name, package=file.package, syntax="proto3")
    for message in file.messages.values():
        _message(made.message_type.add(), message, file.package)
    for enum in file.enums.values():
        _enum(made.enum_type.add(), enum)
    for service in file.services:
        own = made.service.add(name=service.name)
        for method in service.methods:
            own.method.add(
                name=method.name,
                input_type=f".{file.package}.{method.request}",
                output_type=f".{file.package}.{method.response}",
                server_streaming=True if method.of else None,
            )
    return made


def _message(made: descriptor_pb2.DescriptorProto, message: ProtoMessage, package: str) -> None:
    made.name = message.name
    one_of = message.form in (Form.UNION, Form.VARIANTS)
    if one_of and message.fields:
        made.oneof_decl.add(name="value" if all(field.name != "value" for field in message.fields) else "member")
    for field in message.all_fields:
        own = made.field.add(name=field.name, number=field.number, label=_Field.LABEL_OPTIONAL)
        match field.shape:
            case Many(item):
                own.label = _Field.LABEL_REPEATED
                _type(own, item, package)
            case Table(value):
                own.label = _Field.LABEL_REPEATED
                own.type = _Field.TYPE_MESSAGE
                own.type_name = f".{package}.{message.name}.{_entry(made, field, value, package)}"
            case shape:
                _type(own, shape, package)
                if one_of:
                    own.oneof_index = 0
    for own, field in zip(made.field, message.all_fields, strict=True):
        if explicit(field) and not one_of:
            # An optional field is the one member of a `oneof` of its own.
            own.proto3_optional = True
            own.oneof_index = len(made.oneof_decl)
            made.oneof_decl.add(name=f"_{field.name}")


def _entry(made: descriptor_pb2.DescriptorProto, field: ProtoField, value: One, package: str) -> str:
    """The message that an entry of a map is."""
    name = "".join(part[:1].upper() + part[1:] for part in field.name.split("_")) + "Entry"
    entry = made.nested_type.add(name=name)
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=_Field.LABEL_OPTIONAL, type=_Field.TYPE_STRING)
    _type(entry.field.add(name="value", number=2, label=_Field.LABEL_OPTIONAL), value, package)
    return name


def _type(made: descriptor_pb2.FieldDescriptorProto, shape: One, package: str) -> None:
    match shape:
        case Scalar(kind):
            made.type = _KINDS[kind.word]
        case Choice(name):
            made.type, made.type_name = _Field.TYPE_ENUM, f".{package}.{name}"
        case Ref(name):
            made.type, made.type_name = _Field.TYPE_MESSAGE, f".{package}.{name}"


def _enum(made: descriptor_pb2.EnumDescriptorProto, enum: ProtoEnum) -> None:
    made.name = enum.name
    made.value.add(name=enum.unspecified, number=0)
    for number, name in enumerate(enum.values, 1):
        made.value.add(name=name, number=number)
