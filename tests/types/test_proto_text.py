"""What each type becomes in a `.proto`, and how names that would meet are kept apart."""

from __future__ import annotations

import pytest

from ael.types.definition import AliasDef, Definition, EnumDef, FieldDef, RecordDef, VariantDef
from ael.types.proto import ProtoError
from ael.types.proto_build import Served, proto_file, value_file
from ael.types.proto_decode import Decoder
from ael.types.proto_encode import DEEPEST, Encoder
from ael.types.proto_text import proto_text
from ael.types.proto_wire import framed, tag, varint
from ael.types.signature import ParameterDef, Signature
from ael.types.type import (
    AnonymousRecord,
    BoolType,
    BytesType,
    DecimalType,
    FileType,
    FloatType,
    IntType,
    JsonType,
    ListType,
    LiteralType,
    MapType,
    Named,
    StringType,
    TimestampType,
    Type,
    UnitType,
    optional,
    union,
)
from tests.types.proto import compiled

DEFINITIONS: dict[str, Definition] = {
    "main.Topic": EnumDef("main.Topic", (VariantDef("Refund"), VariantDef("NotYet")), "What it is about."),
    "main.Shape": EnumDef("main.Shape", (VariantDef("Dot"), VariantDef("Circle", (FieldDef("radius", "radius", FloatType()),)))),
    "main.Tree": RecordDef("main.Tree", (FieldDef("under", "under", ListType(Named("main.Tree"))),)),
    "main.Order": RecordDef("main.Order", (FieldDef("id", "id", StringType()),), doc="One order."),
    "other.Order": RecordDef("other.Order", (FieldDef("a_b", "a_b", BoolType()), FieldDef("aB", "aB", BoolType()))),
    "main.Wide": RecordDef("main.Wide", (FieldDef("known", "known", IntType(0, 9)),), open=True),
    "main.Deep": AliasDef("main.Deep", union(IntType(0, 9), ListType(Named("main.Deep")))),
}


def signature(name: str, parameters: dict[str, Type], result: Type, missing: tuple[str, ...] = ()) -> Signature:
    """A signature of parameters by their names; those of `missing` may be left out."""
    made = tuple(ParameterDef(key, key, type, optional=key in missing) for key, type in parameters.items())
    return Signature(name, made, result)


EVERYTHING = signature(
    "main.Desk.all",
    {
        "text": StringType(),
        "small": IntType(0, 100),
        "large": IntType(),
        "number": FloatType(),
        "money": DecimalType(),
        "flag": BoolType(),
        "bytes": BytesType(),
        "at": TimestampType(),
        "any": JsonType(),
        "level": union(LiteralType("low"), LiteralType("high")),
        "topic": Named("main.Topic"),
        "shape": Named("main.Shape"),
        "tree": Named("main.Tree"),
        "mine": Named("main.Order"),
        "theirs": Named("other.Order"),
        "wide": Named("main.Wide"),
        "deep": Named("main.Deep"),
        "list": ListType(StringType()),
        "grid": ListType(ListType(IntType(0, 9))),
        "holes": ListType(optional(StringType())),
        "map": MapType(ListType(FloatType())),
        "nullable": optional(StringType()),
        "either": union(StringType(), IntType(), Named("main.Order")),
        "pair": AnonymousRecord((("a", IntType()), ("b", StringType()))),
        "file": FileType(),
        "maybe": optional(IntType(0, 9)),
    },
    Named("main.Order"),
    missing=("maybe",),
)
TEXT = """\
syntax = "proto3";

package shop;

service Desk {
  // Everything at once.
  rpc All(DeskAllRequest) returns (MainOrder);

  rpc None(DeskNoneRequest) returns (DeskNoneResponse);

  rpc Count(DeskCountRequest) returns (DeskCountResponse);
}

message DeskAllRequest {
  string text = 1;
  int64 small = 2;
  string large = 3;
  double number = 4;
  string money = 5;
  bool flag = 6;
  bytes bytes = 7;
  string at = 8;
  string any = 9;
  string level = 10;
  Topic topic = 11;
  Shape shape = 12;
  Tree tree = 13;
  MainOrder mine = 14;
  OtherOrder theirs = 15;
  Wide wide = 16;
  Deep deep = 17;
  repeated string list = 18;
  repeated Int64List grid = 19;
  repeated OptionalString holes = 20;
  map<string, FloatList> map = 21;
  optional string nullable = 22;
  StringOrIntOrMainOrder either = 23;
  AB pair = 24;
  File file = 25;
  OptionalInt64 maybe = 26;
}

message Shape {
  oneof value {
    Nothing dot = 1;
    ShapeCircle circle = 2;
  }
}

message Nothing {}

message ShapeCircle {
  double radius = 1;
}

message Tree {
  repeated Tree under = 1;
}

// One order.
message MainOrder {
  string id = 1;
}

message OtherOrder {
  bool a_b = 1;
  bool aB_2 = 2;
}

message Wide {
  int64 known = 1;
  map<string, string> other = 2;
}

message Deep {
  oneof value {
    int64 int_value = 1;
    DeepList deep_list = 2;
  }
}

message DeepList {
  repeated Deep items = 1;
}

message Int64List {
  repeated int64 items = 1;
}

message OptionalString {
  optional string value = 1;
}

message FloatList {
  repeated double items = 1;
}

message StringOrIntOrMainOrder {
  oneof value {
    string string_value = 1;
    string int_value = 2;
    MainOrder main_order = 3;
  }
}

message AB {
  string a = 1;
  string b = 2;
}

// Content with its media type: `data`, or a `uri`.
message File {
  string media = 1;
  optional bytes data = 2;
  optional string uri = 3;
}

message OptionalInt64 {
  optional int64 value = 1;
}

message DeskNoneRequest {}

message DeskNoneResponse {}

message DeskCountRequest {}

message DeskCountResponse {
  repeated int64 result = 1;
}

// What it is about.
enum Topic {
  TOPIC_UNSPECIFIED = 0;
  TOPIC_REFUND = 1;
  TOPIC_NOT_YET = 2;
}
"""


@pytest.mark.feature("A11.1", "A11.6")
def test_what_each_type_becomes() -> None:
    served = (
        Served("Desk", "All", EVERYTHING, True, "Everything at once."),
        Served("Desk", "None", signature("main.Desk.none", {}, UnitType()), False),
        Served("Desk", "Count", signature("main.Desk.count", {}, ListType(IntType(0, 9))), False),
    )
    text = proto_text(proto_file("shop", served, DEFINITIONS))
    assert text == TEXT
    assert compiled(("shop.proto", text)).FindServiceByName("shop.Desk")


@pytest.mark.feature("A11.1", "A11.6")
def test_names_that_would_meet_are_kept_apart() -> None:
    """A type called as a service, as a request, as a value of an enum, and keys that are no names: protoc takes the file."""
    definitions: dict[str, Definition] = {
        "main.Desk": RecordDef("main.Desk", (FieldDef("x", "x", StringType()),)),
        "main.DeskAllRequest": RecordDef("main.DeskAllRequest", (FieldDef("x", "x", StringType()),)),
        "main.A": EnumDef("main.A", (VariantDef("Unspecified"), VariantDef("B"), VariantDef("b"))),
        "main.A_B": EnumDef("main.A_B", (VariantDef("C"),)),
    }
    odd = AnonymousRecord((("If-Match", StringType()), ("if_match", StringType()), ("$", StringType()), ("1", StringType())))
    given: dict[str, Type] = {name.rpartition(".")[2].lower(): Named(name) for name in definitions}
    given |= {"odd": odd, "message": StringType(), "oneof": StringType(), "value": union(StringType(), odd)}
    file = proto_file("shop", (Served("Desk", "All", signature("main.Desk.all", given, UnitType()), False),), definitions)
    assert compiled((file.name, proto_text(file)))
    assert file.services[0].methods[0].request == "DeskAllRequest_2"
    assert "Desk_2" in file.messages


def form_of(type: Type, data: bytes) -> object:
    """What the bytes of a message that holds one value say."""
    file, name = value_file("w", type, DEFINITIONS)
    return Decoder(file).decode(name, data)


@pytest.mark.feature("K21", "A11.1")
@pytest.mark.parametrize(
    ("type", "data", "why"),
    [
        (IntType(0, 9), tag(2, 0) + varint(1), "no field with the number 2"),
        (IntType(0, 9), framed(1, b"1"), "not the type"),
        (IntType(0, 9), tag(1, 0) + b"\xff" * 9, "in the middle of a number"),
        (IntType(0, 9), tag(1, 0) + b"\xff" * 10 + b"\x01", "more than 64 bits"),
        (IntType(0, 9), b"\x0b", "groups"),
        (IntType(0, 9), b"\x00", "no field number 0"),
        (StringType(), tag(1, 2) + varint(5) + b"x", "in the middle of a field"),
        (StringType(), framed(1, b"\xff"), "UTF-8"),
        (FloatType(), tag(1, 1) + b"\x00\x00\x00\x00\x00\x00\xf8\x7f", "finite"),
        (FloatType(), tag(1, 5) + b"\x00\x00\x80\x7f", "not the type"),
        (JsonType(), framed(1, b"{"), "JSON text"),
        (JsonType(), framed(1, b'{"a":1,"a":2}'), "JSON text"),
        (JsonType(), framed(1, b"[" * 100 + b"]" * 100), "JSON text"),
        (MapType(JsonType()), framed(1, framed(1, b"a")), "empty text is none"),
        (MapType(StringType()), framed(1, framed(3, b"a")), "a key and a value"),
        (Named("main.Wide"), framed(1, framed(2, framed(1, b"known") + framed(2, b"2"))), "`known` is a field"),
        (ListType(FloatType()), framed(1, b"x" * 9), "in the middle of a number"),
    ],
)
def test_bytes_that_are_no_message(type: Type, data: bytes, why: str) -> None:
    with pytest.raises(ProtoError, match=why):
        form_of(type, data)


@pytest.mark.feature("K21", "K47")
def test_nesting_has_an_end() -> None:
    """In bytes that a client made, as in values: a message, never a stack that runs over."""
    data = b""
    for _ in range(10_000):
        data = framed(1, data)
        if len(data) > 100_000:
            break
    with pytest.raises(ProtoError, match=f"deeper than the {DEEPEST}"):
        form_of(Named("main.Tree"), data)
    form: object = []
    for _ in range(200):
        form = [{"under": form}]
    file, name = value_file("w", Named("main.Tree"), DEFINITIONS)
    with pytest.raises(ProtoError, match=f"deeper than the {DEEPEST}"):
        Encoder(file, DEFINITIONS).encode(name, {"under": form})


@pytest.mark.feature("A11.1")
def test_what_a_client_leaves_out_or_sends_twice() -> None:
    """The rules of protobuf: absence is the default, the last of two goes, messages come together, lists come in one or one by one."""
    assert form_of(IntType(0, 9), b"") == 0
    assert form_of(IntType(0, 9), tag(1, 0) + varint(3) + tag(1, 0) + varint(-4)) == -4
    assert form_of(ListType(IntType(0, 9)), framed(1, b"\x01\x02") + tag(1, 0) + b"\x03") == [1, 2, 3]
    order = framed(1, framed(1, b"a"))
    assert form_of(Named("main.Order"), order + framed(1, framed(1, b"b"))) == {"id": "b"}
    assert form_of(MapType(StringType()), framed(1, b"")) == {"": ""}
    assert form_of(union(StringType(), BoolType()), framed(1, framed(1, b"x") + tag(2, 0) + b"\x01")) is True
    assert form_of(Named("main.Topic"), tag(1, 0) + varint(7)) == "7", "no variant of the enum, as its decoder will say"
    assert form_of(IntType(), framed(1, b"1" * 2_000)) == "1" * 2_000, "no Int, as its decoder will say"
    assert form_of(optional(StringType()), b"") is None
    assert form_of(Named("main.Shape"), framed(1, b"")) is None, "no variant, as its decoder will say"
