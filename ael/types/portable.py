"""Types as JSON, and back: what a served program tells AEL's own clients, exactly (JSON Schema knows no `Decimal`).

A type is an object that says what it `is`, with its parts: `{"is": "List", "item": {"is": "Decimal"}, "max": 3}`. What is read comes from
outside: it is bounded by the reader of JSON, every name in it stands for something, and no alias is itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from ael.data import replace
from ael.types.decode import decoder, encoder
from ael.types.definition import (
    NO_DEFAULT,
    AliasDef,
    Definition,
    Definitions,
    EnumDef,
    FieldDef,
    NoDefault,
    RecordDef,
    VariantDef,
)
from ael.types.pattern import check_pattern
from ael.types.problem import DecodeError
from ael.types.reach import reachable
from ael.types.text import decimal_text, show
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
    IntType,
    JsonType,
    ListType,
    LiteralType,
    MapType,
    Named,
    NullType,
    StringType,
    TimestampType,
    Type,
    UnionType,
    UnitType,
)

Form = dict[str, object]


class PortableError(ValueError):
    """What was read is no types. The text says where it is wrong."""


_NAMES: Mapping[str, type] = {
    "String": StringType, "Int": IntType, "Float": FloatType, "Decimal": DecimalType, "Bool": BoolType, "Bytes": BytesType,
    "Timestamp": TimestampType, "Date": DateType, "Duration": DurationType, "Json": JsonType, "Unit": UnitType, "Null": NullType,
    "File": FileType, "Literal": LiteralType, "List": ListType, "Map": MapType, "Named": Named, "Record": AnonymousRecord,
    "Union": UnionType,
}  # fmt: skip
_WORDS = {kind: name for name, kind in _NAMES.items()}


# --- out ------------------------------------------------------------------------------------------------------------------------


def type_form(type: Type) -> Form:
    """A type of data. Raises TypeError for another. What a schema says beyond a type stays with whoever checks it."""
    if isinstance(type, CheckedType):
        return type_form(type.inner)
    name = _WORDS.get(type.__class__)
    if name is None:
        raise TypeError(f"{show(type)} is no data")
    form: Form = {"is": name}
    for field in cast("Any", type.__class__).__match_args__:
        value = getattr(type, field)
        if value is not None and (field, value) != ("rule", "apart"):
            form[field] = _out(value)
    return form


def _out(value: object) -> object:
    match value:
        case Decimal():
            return decimal_text(value)
        case tuple():
            return [_out(one) for one in value]
        case str() | int() | float():
            return value
        case _:
            return type_form(cast("Type", value))


def definitions_form(types: Iterable[Type], definitions: Definitions) -> Form:
    """Everything that is declared and that these types need, by name."""
    needed = {part.name for root in types for part in reachable(root, definitions) if isinstance(part, Named)}
    return {name: _definition_form(definitions[name], definitions) for name in sorted(needed)}


def _definition_form(found: Definition, definitions: Definitions) -> Form:
    doc: Form = {"doc": found.doc} if found.doc else {}
    match found:
        case AliasDef():
            return {"is": "alias", "type": type_form(found.type), **doc}
        case EnumDef():
            return {"is": "enum", "variants": [_variant_form(one, definitions) for one in found.variants], **doc}
        case RecordDef():
            other: Form = {} if found.other is None else {"other": type_form(found.other)}
            kind = "error" if found.is_error else "record"
            return {"is": kind, "fields": fields_form(found.fields, definitions), **other, **doc}


def _variant_form(one: VariantDef, definitions: Definitions) -> Form:
    return {"name": one.name, "fields": fields_form(one.fields, definitions), **({"doc": one.doc} if one.doc else {})}


def fields_form(fields: Iterable[FieldDef], definitions: Definitions) -> list[Form]:
    """The fields of a record or the parameters of a method."""
    made: list[Form] = []
    for one in fields:
        form: Form = {"name": one.name, "wire": one.wire, "type": type_form(one.type)}
        if one.optional:
            form["optional"] = True
        if not isinstance(one.default, NoDefault):
            form["default"] = encoder(one.type, definitions)(one.default)
        if one.doc:
            form["doc"] = one.doc
        made.append(form)
    return made


# --- in -------------------------------------------------------------------------------------------------------------------------


class Reader:
    """Reads the types of one document; `definitions` are complete when it is made. Raises `PortableError`."""

    def __init__(self, declared: object) -> None:
        self.definitions: dict[str, Definition] = {}
        self._defaults: dict[str, list[tuple[int, int, object]]] = {}
        self._names = frozenset(_object(declared))
        for name, form in _object(declared).items():
            self.definitions[name] = self._definition(name, _object(form))
        for name in self._names:
            self._looked_behind(name)
        without = dict(self.definitions)
        for name, found in without.items():
            self.definitions[name] = self._filled(found, without)

    def read(self, form: object) -> Type:
        """A type."""
        given = _object(form)
        kind = _NAMES.get(_text(given.get("is")))
        if kind is None:
            raise PortableError(f"there is no type {given.get('is')!r:.60}")
        fields = cast("Any", kind).__match_args__
        unknown = given.keys() - {"is", *fields}
        if unknown:
            raise PortableError(f"{given['is']} has no `{min(unknown):.60}`")
        values = {name: self._in(kind, name, value) for name, value in given.items() if name != "is"}
        try:
            made = cast("Type", cast("Any", kind)(**values))
        except TypeError:
            raise PortableError(f"{given['is']} is not whole") from None
        if isinstance(made, UnionType) and (len(made.members) < 2 or made.rule not in ("apart", "any", "one")):
            raise PortableError("a union has two members")
        return made

    def fields(self, form: object) -> tuple[FieldDef, ...]:
        """The parameters of a method, with their defaults."""
        return tuple(_defaulted(one, raw, self.definitions) for one, raw in map(self._field, _list(form)))

    def _in(self, kind: type, name: str, value: object) -> object:
        match name:
            case "item" | "inner":
                return self.read(value)
            case "value" if kind is MapType:
                return self.read(value)
            case "value":
                if not isinstance(value, str | int):
                    raise PortableError("a literal is a text, a whole number or a truth value")
                return value
            case "members":
                return tuple(map(self.read, _list(value)))
            case "fields":
                return tuple((_text(_pair(one)[0]), self.read(_pair(one)[1])) for one in _list(value))
            case "name":
                if value not in self._names:
                    raise PortableError(f"nothing is declared as {value!r:.60}")
                return value
            case "min" | "max":
                return _bound(kind, value)
            case "pattern" if check_pattern(_text(value)) is not None:
                raise PortableError("a pattern is not taken")
            case _:
                return _text(value)

    def _definition(self, name: str, form: Mapping[str, object]) -> Definition:
        doc = _text(form.get("doc", ""))
        match form.get("is"):
            case "alias":
                return AliasDef(name, self.read(form.get("type")), doc)
            case "enum":
                variants = [self._variant(name, at, _object(one)) for at, one in enumerate(_list(form.get("variants")))]
                return EnumDef(name, tuple(variants), doc)
            case "record" | "error":
                other = self.read(form["other"]) if "other" in form else None
                fields, extra = self._kept(name, 0, form.get("fields")), None if isinstance(other, JsonType) else other
                return RecordDef(name, fields, other is not None, doc, form["is"] == "error", extra)
        raise PortableError(f"`{name:.60}` is declared as nothing that is known")

    def _variant(self, name: str, at: int, form: Mapping[str, object]) -> VariantDef:
        return VariantDef(_text(form.get("name")), self._kept(name, at, form.get("fields")), _text(form.get("doc", "")))

    def _kept(self, name: str, at: int, form: object) -> tuple[FieldDef, ...]:
        """Fields whose defaults are read when everything is declared."""
        found = [self._field(one) for one in _list(form)]
        self._defaults.setdefault(name, []).extend((at, i, raw) for i, (_, raw) in enumerate(found) if raw is not NO_DEFAULT)
        return tuple(one for one, _ in found)

    def _field(self, form: object) -> tuple[FieldDef, object]:
        given = _object(form)
        optional = given.get("optional", False)
        if not isinstance(optional, bool):
            raise PortableError("`optional` is a truth value")
        made = FieldDef(
            _text(given.get("name")),
            _text(given.get("wire")),
            self.read(given.get("type")),
            optional,
            doc=_text(given.get("doc", "")),
        )
        return made, given.get("default", NO_DEFAULT)

    def _filled(self, found: Definition, definitions: Definitions) -> Definition:
        for at, i, raw in self._defaults.get(found.name, ()):
            if isinstance(found, RecordDef):
                found = replace(found, fields=_with(found.fields, i, raw, definitions))
            elif isinstance(found, EnumDef):
                one = found.variants[at]
                made = replace(one, fields=_with(one.fields, i, raw, definitions))
                found = replace(found, variants=(*found.variants[:at], made, *found.variants[at + 1 :]))
        return found

    def _looked_behind(self, name: str) -> None:
        """An alias leads to something."""
        seen: set[str] = set()
        at: Type = Named(name)
        while isinstance(at, Named) and isinstance(found := self.definitions[at.name], AliasDef):
            if at.name in seen:
                raise PortableError(f"`{name:.60}` is an alias of itself")
            seen.add(at.name)
            at = found.type


def _with(fields: tuple[FieldDef, ...], i: int, raw: object, definitions: Definitions) -> tuple[FieldDef, ...]:
    return (*fields[:i], _defaulted(fields[i], raw, definitions), *fields[i + 1 :])


def _defaulted(field: FieldDef, raw: object, definitions: Definitions) -> FieldDef:
    if raw is NO_DEFAULT:
        return field
    try:
        return replace(field, default=decoder(field.type, definitions)(raw))
    except DecodeError as error:
        raise PortableError(f"the default of `{field.name:.60}` does not fit: {error.text}") from None


def _bound(kind: type, value: object) -> object:
    """A bound of numbers, or of a length."""
    if kind is DecimalType:
        try:
            found = Decimal(_text(value))
        except InvalidOperation:
            found = Decimal("NaN")
        if not found.is_finite():
            raise PortableError("a bound is a number")
        return found
    if kind is FloatType and type(value) in (int, float):
        return float(cast("float", value))
    if type(value) is not int or (kind is not IntType and value < 0):
        raise PortableError("a bound is a number")
    return value


def _object(form: object) -> Mapping[str, object]:
    if not isinstance(form, Mapping):
        raise PortableError(f"an object is expected, and not {form!r:.60}")
    return cast("Mapping[str, object]", form)


def _list(form: object) -> list[object]:
    if not isinstance(form, list):
        raise PortableError(f"a list is expected, and not {form!r:.60}")
    return form


def _pair(form: object) -> list[object]:
    found = _list(form)
    if len(found) != 2:
        raise PortableError("a name and a type are expected")
    return found


def _text(form: object) -> str:
    if not isinstance(form, str):
        raise PortableError(f"a text is expected, and not {form!r:.60}")
    return form
