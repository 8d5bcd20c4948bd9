"""Messages, enums and services from the signatures of what is served."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import assert_never

from ael.data import dataclass
from ael.types.definition import AliasDef, Definitions, EnumDef, FieldDef, RecordDef
from ael.types.proto import (
    Absence,
    Choice,
    Form,
    Kind,
    Many,
    One,
    ProtoEnum,
    ProtoField,
    ProtoFile,
    ProtoMessage,
    ProtoMethod,
    ProtoService,
    Ref,
    Scalar,
    Shape,
    Table,
)
from ael.types.proto_names import Scope, camel, field_name, snake, value_name
from ael.types.reach import reachable
from ael.types.signature import Signature
from ael.types.type import (
    AnonymousRecord,
    BoolType,
    BytesType,
    CheckedType,
    DateType,
    DecimalType,
    DurationType,
    FileType,
    FloatType,
    FunctionType,
    IntType,
    JsonType,
    ListType,
    LiteralType,
    MapType,
    Named,
    Never,
    NullType,
    SecretType,
    StringType,
    TimestampType,
    Type,
    UnionType,
    UnitType,
    Unknown,
    Variable,
)

INT64 = (-(2**63), 2**63 - 1)
RESULT = "result"
STREAM = "Stream"
"""Ends the name of a method that streams what happens in another."""
EVENT_FIELD, DATA_FIELD, RESULT_FIELD = 1, 2, 3
"""The fields of its messages: an event by its name with its data, or the result."""
_TEXT = Scalar(Kind.TEXT)
_WORDS = {
    Kind.TEXT: "String", Kind.DIGITS: "Int", Kind.JSON: "Json", Kind.INT: "Int64", Kind.FLOAT: "Float", Kind.BOOL: "Bool",
    Kind.BYTES: "Bytes",
}  # fmt: skip
_LEAVES: tuple[tuple[type, str], ...] = (
    (StringType, "string"), (IntType, "int"), (FloatType, "float"), (DecimalType, "decimal"), (BoolType, "bool"),
    (BytesType, "bytes"), (TimestampType, "time"), (DateType, "date"), (DurationType, "duration"), (JsonType, "json"),
    (FileType, "file"), (LiteralType, "literal"), (UnitType, "unit"), (NullType, "null"), (AnonymousRecord, "record"),
    (UnionType, "union"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Served:
    """One method: `service` and `method` by their names for clients, without the package. `bare`: the result's own record answers.
    `streams`: there is another method, which tells what happens meanwhile."""

    service: str
    method: str
    signature: Signature
    bare: bool
    doc: str = ""
    streams: bool = False


def proto_file(package: str, served: Sequence[Served], definitions: Definitions) -> ProtoFile:
    """The file of a package: its services in the order of their methods, and every type that these need."""
    build = _Build(definitions, [one.service for one in served])
    build.declare(served)
    methods: dict[str, list[ProtoMethod]] = {}
    taken = {(one.service, one.method) for one in served}
    for one in served:
        own = methods.setdefault(one.service, [])
        own.append(build.method(one))
        if one.streams and (one.service, one.method + STREAM) not in taken:
            own.append(build.stream(one, own[-1]))
    services = tuple(ProtoService(name, tuple(own)) for name, own in methods.items())
    return ProtoFile(package, services, build.messages, build.enums)


def value_file(package: str, type: Type, definitions: Definitions) -> tuple[ProtoFile, str]:
    """A file without services, and the name in it of the message that holds a value of the type."""
    build = _Build(definitions, [])
    build.reserve([type])
    name = build.box("Value", type)
    return ProtoFile(package, (), build.messages, build.enums), name


class _Build:
    def __init__(self, definitions: Definitions, services: Iterable[str]) -> None:
        self.messages: dict[str, ProtoMessage] = {}
        self.enums: dict[str, ProtoEnum] = {}
        self._definitions = definitions
        self._scope = Scope(services)
        self._declared: dict[str, str] = {}
        self._made: dict[object, str] = {}

    # --- what is served -----------------------------------------------------------------------------------------------

    def declare(self, served: Sequence[Served]) -> None:
        """Give every declared type its name, before others can take it."""
        self.reserve([type for one in served for type in (*(p.type for p in one.signature.parameters), one.signature.result)])

    def reserve(self, types: Iterable[Type]) -> None:
        """Name what is declared: by its own name, with its module's where two have the same."""
        found = {t.name: None for root in types for t in reachable(root, self._definitions) if isinstance(t, Named)}
        owns = [camel(name.rpartition(".")[2]) for name in found]
        for name, own in zip(found, owns, strict=True):
            self._declared[name] = self._scope.take(own if owns.count(own) == 1 else camel(name))

    def method(self, one: Served) -> ProtoMethod:
        """A method with its request and its response."""
        base = f"{one.service}{one.method}"
        request = self._record(self._scope.take(f"{base}Request"), one.signature.input_record().fields, "")
        result = one.signature.result
        if one.bare and isinstance(result, Named):
            shape = self._shape(result)
            assert isinstance(shape, Ref)
            response = shape.name
        else:
            fields = () if isinstance(result, UnitType) else (FieldDef(RESULT, RESULT, result),)
            response = self._record(self._scope.take(f"{base}Response"), fields, "")
        return ProtoMethod(one.method, one.signature.name, request, response, one.doc)

    def stream(self, one: Served, method: ProtoMethod) -> ProtoMethod:
        """The same method with what happens meanwhile. A method of that name keeps it; then there is none of this kind."""
        name = self._scope.take(f"{one.service}{one.method}Event")
        fields = (
            ProtoField(
                "event", EVENT_FIELD, _TEXT, "event", doc="What happens, such as `turn_started`; nothing in the last message."
            ),
            ProtoField("data", DATA_FIELD, Scalar(Kind.JSON), "data", doc="More of it, as JSON."),
            ProtoField("result", RESULT_FIELD, Ref(method.response), "result", doc="The result, in the last message."),
        )
        self.messages[name] = ProtoMessage(name, Form.RECORD, fields)
        doc = f"{one.method}, with what happens until its result is there."
        return ProtoMethod(one.method + STREAM, method.entry, method.request, name, doc, one.method)

    # --- messages -----------------------------------------------------------------------------------------------------

    def box(self, wanted: str, type: Type) -> str:
        """A message that holds one value."""
        name = self._scope.take(wanted)
        self._boxed(name, type)
        return name

    def _boxed(self, name: str, type: Type, doc: str = "") -> None:
        self.messages[name] = ProtoMessage(name, Form.BOX)
        shape, absence = self._place(type, missable=False)
        self.messages[name] = ProtoMessage(name, Form.BOX, (ProtoField("value", 1, shape, absence=absence),), doc=doc)

    def _record(self, name: str, fields: Sequence[FieldDef], doc: str, other: Type | None = None) -> str:
        # There before its fields are, which may be of the same type.
        self.messages[name] = ProtoMessage(name, Form.RECORD)
        scope = Scope(loosely=True)
        made = []
        for number, one in enumerate(fields, 1):
            shape, absence = self._place(one.type, missable=not one.required)
            made.append(ProtoField(scope.take(field_name(one.name)), number, shape, one.wire, absence, doc=one.doc))
        rest = None
        if other is not None:
            rest = ProtoField(scope.take("other"), len(made) + 1, Table(self._element(other)))
        self.messages[name] = ProtoMessage(name, Form.RECORD, tuple(made), rest, doc=doc)
        return name

    def _once(self, key: object, wanted: str, make: Callable[[str], object]) -> Ref:
        """A message that the same need shares."""
        name = self._made.get(key)
        if name is None:
            name = self._made[key] = self._scope.take(wanted)
            make(name)
        return Ref(name)

    # --- places -------------------------------------------------------------------------------------------------------

    def _place(self, type: Type, *, missable: bool) -> tuple[Shape, Absence]:
        """The shape of a field, and what its absence means."""
        inner = _without_null(type)
        if missable:
            return self._element(type), Absence.MISSING
        if inner is not None:
            return self._element(inner), Absence.NULL
        return self._shape(type), Absence.DEFAULT

    def _element(self, type: Type) -> One:
        """The shape where there is neither absence nor repetition: an item, a value of a map, a member of a union."""
        inner = _without_null(type)
        if inner is not None and not self._is_union(inner):
            shape = self._element(inner)
            return self._once(("nullable", shape), f"Optional{self._word(shape)}", lambda name: self._optional(name, shape))
        found = self._shape(type)
        match found:
            case Many(item):
                return self._once(("list", item), f"{self._word(item)}List", lambda name: self._holder(name, found))
            case Table(value):
                return self._once(("map", value), f"{self._word(value)}Map", lambda name: self._holder(name, found))
            case _:
                return found

    def _holder(self, name: str, shape: Shape) -> None:
        plural = "items" if isinstance(shape, Many) else "entries"
        self.messages[name] = ProtoMessage(name, Form.BOX, (ProtoField(plural, 1, shape),))

    def _optional(self, name: str, shape: One) -> None:
        self.messages[name] = ProtoMessage(name, Form.BOX, (ProtoField("value", 1, shape, absence=Absence.NULL),))

    def _is_union(self, type: Type) -> bool:
        """Whether it becomes a message of its own that can say `null` by itself."""
        return isinstance(type, UnionType) and not _constants(type)

    def _word(self, shape: One) -> str:
        match shape:
            case Scalar(kind):
                return _WORDS[kind]
            case Choice(name) | Ref(name):
                return name

    def _shape(self, type: Type) -> Shape:
        match type:
            case StringType() | DecimalType() | TimestampType() | DateType() | DurationType():
                return _TEXT
            case IntType(low, high):
                small = low is not None and high is not None and INT64[0] <= low and high <= INT64[1]
                return Scalar(Kind.INT if small else Kind.DIGITS)
            case FloatType():
                return Scalar(Kind.FLOAT)
            case BoolType():
                return Scalar(Kind.BOOL)
            case BytesType():
                return Scalar(Kind.BYTES)
            case JsonType():
                return Scalar(Kind.JSON)
            case LiteralType(value):
                return self._literal(value)
            case ListType(item):
                return Many(self._element(item))
            case MapType(value):
                return Table(self._element(value))
            case Named(name):
                return self._named(name)
            case AnonymousRecord(fields):
                own = [FieldDef(field, field, inner) for field, inner in fields]
                wanted = camel("_".join(field for field, _ in fields) or "empty")[:60]
                return self._once(type, wanted, lambda name: self._record(name, own, ""))
            case UnionType():
                return (
                    _TEXT if _constants(type) else self._once(type, self._union_word(type), lambda name: self._union(name, type))
                )
            case FileType():
                return self._once("file", "File", self._file)
            case CheckedType(inner):
                return self._shape(inner)
            case UnitType() | NullType() | SecretType() | FunctionType() | Variable() | Never() | Unknown():
                # The ones after the first two hold no data, and their decoders refuse whatever comes.
                return self._nothing()
            case _:
                assert_never(type)

    def _literal(self, value: str | int | bool) -> Scalar:
        if isinstance(value, bool):
            return Scalar(Kind.BOOL)
        if isinstance(value, int):
            return Scalar(Kind.INT if INT64[0] <= value <= INT64[1] else Kind.DIGITS)
        return _TEXT

    def _nothing(self) -> Ref:
        def make(name: str) -> None:
            self.messages[name] = ProtoMessage(name, Form.NULL)

        return self._once("nothing", "Nothing", make)

    def _file(self, name: str) -> None:
        data, uri = Scalar(Kind.BYTES), _TEXT
        fields = (
            ProtoField("media", 1, _TEXT, "media"),
            ProtoField("data", 2, data, "data", Absence.MISSING),
            ProtoField("uri", 3, uri, "uri", Absence.MISSING),
        )
        self.messages[name] = ProtoMessage(name, Form.RECORD, fields, doc="Content with its media type: `data`, or a `uri`.")

    # --- declared types and unions -------------------------------------------------------------------------------------

    def _named(self, qualified: str) -> One:
        definition, name = self._definitions[qualified], self._declared[qualified]
        if isinstance(definition, EnumDef) and definition.plain:
            if name not in self.enums:
                self.enums[name] = self._enum(name, definition)
            return Choice(name)
        if name not in self.messages:
            match definition:
                case RecordDef(fields=fields, doc=doc):
                    self._record(name, fields, doc, definition.other)
                case EnumDef():
                    self._variants(name, definition)
                case AliasDef(type=type, doc=doc) if isinstance(type, UnionType) and not _constants(type):
                    self._union(name, type, doc)
                case AliasDef(type=type, doc=doc):
                    self._boxed(name, type, doc)
        return Ref(name)

    def _enum(self, name: str, definition: EnumDef) -> ProtoEnum:
        unspecified = self._scope.take(value_name(name, "unspecified"))
        values = {self._scope.take(value_name(name, variant.name)): variant.name for variant in definition.variants}
        return ProtoEnum(name, unspecified, values, definition.doc)

    def _variants(self, name: str, definition: EnumDef) -> None:
        self.messages[name] = ProtoMessage(name, Form.VARIANTS)
        scope = Scope(loosely=True)
        fields = []
        for number, variant in enumerate(definition.variants, 1):
            if variant.fields:
                shape = Ref(self._record(self._scope.take(f"{name}{camel(variant.name)}"), variant.fields, variant.doc))
            else:
                shape = self._nothing()
            fields.append(ProtoField(scope.take(snake(variant.name)), number, shape, variant.name, doc=variant.doc))
        self.messages[name] = ProtoMessage(name, Form.VARIANTS, tuple(fields), doc=definition.doc)

    def _union(self, name: str, type: UnionType, doc: str = "") -> None:
        self.messages[name] = ProtoMessage(name, Form.UNION)
        scope = Scope(loosely=True)
        fields = []
        for number, member in enumerate((m for m in type.members if not isinstance(m, NullType)), 1):
            shape = self._element(member)
            fields.append(ProtoField(scope.take(self._member_word(member, shape)), number, shape, type=member))
        self.messages[name] = ProtoMessage(name, Form.UNION, tuple(fields), nullable=NullType() in type.members, doc=doc)

    def _union_word(self, type: UnionType) -> str:
        members = [member for member in type.members if not isinstance(member, NullType)]
        return "Or".join(camel(self._member_word(m, self._element(m)).removesuffix("_value")) for m in members)[:60]

    def _member_word(self, type: Type, shape: One) -> str:
        """The field of a member: `string_value`, `order`, `order_list`."""
        if isinstance(type, CheckedType):
            return self._member_word(type.inner, shape)
        leaf = next((word for kind, word in _LEAVES if isinstance(type, kind)), None)
        return snake(self._word(shape)) if leaf is None else f"{leaf}_value"


def _without_null(type: Type) -> Type | None:
    """A union with `null` without it; None for any other type."""
    if not isinstance(type, UnionType) or NullType() not in type.members:
        return None
    rest = tuple(member for member in type.members if not isinstance(member, NullType))
    if len(rest) == 1:
        return rest[0]
    # Kept whole where it is a message: its `null` is that no member is set.
    return UnionType(rest, type.rule) if _constants(type) else type


def _constants(type: UnionType) -> bool:
    """Whether it is a choice of texts, which a text carries as it is."""
    members = [member for member in type.members if not isinstance(member, NullType)]
    return all(isinstance(member, LiteralType) and isinstance(member.value, str) for member in members)
