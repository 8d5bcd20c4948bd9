"""AEL values as the Python types that a user writes: `result_type=Ticket`, and the annotations of functions that are tools.

Whether a type can hold what comes is decided once, from the AEL type, before anything runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Literal, get_args, get_origin

from ael.embed.annotation import Form, Member, alternatives, anything, bare, form_of, shown
from ael.run.codec import snapshot
from ael.types.decode import checker
from ael.types.definition import AliasDef, Definitions, EnumDef, FieldDef, RecordDef
from ael.types.problem import DecodeError
from ael.types.text import show
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
    optional,
)
from ael.types.value import File

Convert = Callable[[object], object]

_LEAVES: Mapping[type, tuple[type, ...]] = {
    StringType: (str,),
    IntType: (int, float),
    FloatType: (float,),
    DecimalType: (Decimal,),
    BoolType: (bool,),
    BytesType: (bytes,),
    TimestampType: (datetime,),
    DateType: (date,),
    DurationType: (timedelta,),
    FileType: (File,),
    UnitType: (type(None),),
    NullType: (type(None),),
}
_LISTS = (list, Sequence, Iterable, tuple)
_OBJECTS = (dict, Mapping)


class ShapeError(Exception):
    """A Python type that cannot hold what an AEL type gives; `path` is the field, empty for the value itself."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(f"`{path}`: {message}" if path else message)
        self.message = message
        self.path = path

    def inside(self, name: str) -> ShapeError:
        """The same, one level further out."""
        return ShapeError(self.message, f"{name}.{self.path}" if self.path else name)


def reader(annotation: object, type: Type, definitions: Definitions) -> Convert:
    """How a value of `type` becomes what `annotation` says. Raises `ShapeError` where that cannot hold every such value."""
    return _Shapes(definitions, giving=False).of(annotation, type)


def fits(annotation: object, type: Type, definitions: Definitions) -> None:
    """Look at what a Python function gives. Raises `ShapeError` where it can be no value of `type`."""
    _Shapes(definitions, giving=True).of(annotation, type)


def same(value: object) -> object:
    """The value, which nobody can change."""
    return value


class _Shapes:
    """`giving`: the Python side makes the values, so it need not know every one that there could be."""

    def __init__(self, definitions: Definitions, *, giving: bool) -> None:
        self._definitions = definitions
        self._giving = giving
        self._open: dict[tuple[int, Type], tuple[object, list[Convert]]] = {}

    def of(self, annotation: object, type: Type) -> Convert:
        annotation, type = bare(annotation), self._resolved(type)
        if anything(annotation):
            return snapshot
        if isinstance(type, UnionType):
            return self._union(annotation, type)
        if isinstance(type, Named):
            return self._named(annotation, type)
        found = alternatives(annotation)
        if len(found) > 1:
            return self._any(found, lambda one: self.of(one, type), annotation, type)
        match type:
            case ListType(item=item):
                return self._list(annotation, item, type)
            case MapType(value=value):
                return self._map(annotation, value, type)
            case LiteralType(value=literal):
                return self._names(annotation, (literal,), type)
            case AnonymousRecord(fields=fields):
                return self._record(annotation, RecordDef("", tuple(FieldDef(n, n, t) for n, t in fields)), type)
            case JsonType() if get_origin(annotation) in _OBJECTS or annotation in (*_LISTS, *_OBJECTS):
                return snapshot
            case _ if self._giving and _given(annotation, type):
                return same
            case IntType() if annotation is float and self._giving:
                raise _cannot(annotation, type)
            case _ if annotation in _LEAVES.get(type.__class__, ()):
                return _real if annotation is float and isinstance(type, IntType) else same
        raise _cannot(annotation, type)

    def _resolved(self, type: Type) -> Type:
        """Without the names of aliases, and without what is checked beyond the type."""
        while True:
            if isinstance(type, CheckedType):
                type = type.inner
            elif isinstance(type, Named) and isinstance(alias := self._definitions[type.name], AliasDef):
                type = alias.type
            else:
                return type

    def _any(self, found: Sequence[object], of: Callable[[object], Convert], annotation: object, type: Type) -> Convert:
        """The first alternative that holds the type; all have to, where Python gives."""
        if len(found) == 1:
            return of(found[0])
        made: list[Convert] = []
        for one in found:
            try:
                made.append(of(one))
            except ShapeError:
                if self._giving:
                    raise
        if not made:
            raise _cannot(annotation, type)
        return made[0]

    def _union(self, annotation: object, type: UnionType) -> Convert:
        if self._giving:
            for one in alternatives(annotation):
                self._some(one, type)
            return same
        members = [(member, self.of(annotation, member)) for member in type.members]
        if all(convert is same for _, convert in members):
            return same
        rest = [(checker(member, self._definitions), convert) for member, convert in members if not isinstance(member, NullType)]
        if len(rest) == 1:
            only = rest[0][1]
            return lambda value: None if value is None else only(value)
        return lambda value: None if value is None else _first(rest, value)

    def _some(self, annotation: object, type: UnionType) -> None:
        """One of the members takes what the function gives."""
        found: list[ShapeError] = []
        for member in type.members:
            try:
                self.of(annotation, member)
                return
            except ShapeError as error:
                found.append(error)
        # Of `T?`, what is wrong with `T` says more.
        raise found[0] if len(found) == 2 and isinstance(type.members[1], NullType) else _cannot(annotation, type)

    def _named(self, annotation: object, type: Named) -> Convert:
        """A declared type, which may hold itself: then what is made here is used before it is finished."""
        key = (id(annotation), type)
        known = self._open.get(key)
        if known is not None:
            return lambda value: known[1][0](value)
        # The annotation is kept as long as its number stands for it.
        self._open[key] = annotation, (made := [])
        try:
            made.append(self._declared(annotation, type))
        except ShapeError:
            del self._open[key]
            raise
        return made[0]

    def _declared(self, annotation: object, type: Named) -> Convert:
        definition, found = self._definitions[type.name], alternatives(annotation)
        if isinstance(definition, EnumDef) and not definition.plain:
            return self._variants(found, definition, type)
        if isinstance(definition, EnumDef):
            names = tuple(variant.name for variant in definition.variants)
            return self._any(found, lambda one: self._names(one, names, type), annotation, type)
        assert isinstance(definition, RecordDef)
        return self._any(found, lambda one: self._record(one, definition, type), annotation, type)

    def _names(self, annotation: object, names: tuple[str | int | bool, ...], type: Type) -> Convert:
        """Names of plain variants, and literals: text, a `Literal` of all of them, or an `Enum` with all of them."""
        if isinstance(annotation, builtin_type) and issubclass(annotation, Enum):
            return self._members(annotation, names, type)
        if get_origin(annotation) is Literal:
            if self._giving:
                strange = [one for one in get_args(annotation) if one not in names and isinstance(type, Named)]
                if strange:
                    raise ShapeError(f"`{show(type)}` has no `{strange[0]}`")
                return same
            for name in names:
                if name not in get_args(annotation):
                    raise ShapeError(f"`{shown(annotation)}` has no `{name}`")
            return same
        if names and all(name.__class__ is annotation for name in names):
            return same
        raise _cannot(annotation, type)

    def _members(self, annotation: type[Enum], names: tuple[str | int | bool, ...], type: Type) -> Convert:
        table = {name: _member(annotation, name) for name in names}
        if self._giving:
            for one in annotation if isinstance(type, Named) else ():
                if one not in table.values():
                    raise ShapeError(f"`{show(type)}` has no `{one.name}`")
            return same
        for name, member in table.items():
            if member is None:
                raise ShapeError(f"the enum `{annotation.__qualname__}` has no `{name}`")
        return lambda value: table[value]  # type: ignore[index]  # a value of the type is one of the names

    def _variants(self, found: Sequence[object], definition: EnumDef, type: Named) -> Convert:
        """Variants with fields: a class of the same name for each, or the `dict` with `kind` for all. Plain ones are text."""
        if any(one in _OBJECTS or get_origin(one) in _OBJECTS for one in found):
            return snapshot
        records = {one.name: RecordDef(one.name, one.fields) for one in definition.variants if one.fields}
        plain = tuple(one.name for one in definition.variants if not one.fields)
        if self._giving:
            for one in found:
                record = records.get(getattr(one, "__name__", ""))
                if record is None:
                    self._names(one, plain, type)
                else:
                    self._record(one, record, type)
            return same
        table: dict[str, Convert] = {}
        for name, record in records.items():
            fitting = next((one for one in found if getattr(one, "__name__", "") == name), None)
            if fitting is None:
                raise ShapeError(f"no alternative is a class `{name}` for the variant of that name")
            table[name] = self._record(fitting, record, type)
        for name in plain:
            table[name] = self._any(found, partial(self._names, names=(name,), type=type), found[0], type)
        return lambda value: _variant(table, value)

    def _list(self, annotation: object, item: Type, type: Type) -> Convert:
        origin, arguments = get_origin(annotation) or annotation, get_args(annotation)
        many = tuple if origin is tuple else list
        if origin not in _LISTS or (many is tuple and arguments and (len(arguments) != 2 or arguments[1] is not Ellipsis)):
            raise _cannot(annotation, type)
        convert = self.of(arguments[0] if arguments else object, item)
        return lambda value: many(map(convert, value))  # type: ignore[call-overload]  # a value of the type is a list

    def _map(self, annotation: object, item: Type, type: Type) -> Convert:
        origin, arguments = get_origin(annotation) or annotation, get_args(annotation)
        if origin not in _OBJECTS or (arguments and bare(arguments[0]) is not str):
            raise _cannot(annotation, type)
        convert = self.of(arguments[1] if arguments else object, item)
        return lambda value: {key: convert(one) for key, one in value.items()}  # type: ignore[attr-defined]  # a value of the type is a dict

    def _record(self, annotation: object, record: RecordDef, type: Type) -> Convert:
        origin, arguments = get_origin(annotation) or annotation, get_args(annotation)
        if origin in _OBJECTS:
            if arguments and bare(arguments[0]) is not str:
                raise _cannot(annotation, type)
            if not arguments or anything(bare(arguments[1])):
                return snapshot
            one: dict[str, Convert] = {field.wire: self.of(arguments[1], field.type) for field in record.fields}
            return lambda value: {key: one.get(key, snapshot)(item) for key, item in value.items()}  # type: ignore[attr-defined]  # a record
        form = form_of(annotation)
        if form is None:
            raise _cannot(annotation, type)
        return self._form(annotation, form, record)

    def _form(self, annotation: object, form: Form, record: RecordDef) -> Convert:
        name = shown(annotation)
        if record.open and form.strict and not self._giving:
            raise ShapeError(f"`{record.name}` is open and may have other fields, which `{name}` cannot hold: use `dict`")
        plan: list[tuple[str, str, Convert, bool]] = []
        for field in record.fields:
            key = field.name if field.name in form.members else field.wire
            member = form.members.get(key)
            if member is None:
                if form.strict and not (self._giving and not field.required):
                    raise ShapeError(f"`{name}` has no field `{field.name}`")
                continue
            # A field that is `None` in Python is left out where the record says it may be.
            type = optional(field.type) if field.optional and self._giving else field.type
            try:
                plan.append((field.wire, key, self.of(member.annotation, type), self._absent(field, member)))
            except ShapeError as error:
                raise error.inside(field.name) from None
        known = {key for _, key, _, _ in plan}
        more = [key for key, member in form.members.items() if key not in known and (self._giving or not member.optional)]
        if more and not record.open:
            raise ShapeError(f"`{name}` has the field `{more[0]}`, and `{record.name.rpartition('.')[2]}` has none of that name")
        return lambda value: form.make(_values(plan, value))

    def _absent(self, field: FieldDef, member: Member) -> bool:
        """Whether a field that is not there is given as `None`."""
        if not field.optional or member.optional or self._giving:
            return False
        if type(None) in alternatives(member.annotation) or anything(member.annotation):
            return True
        raise ShapeError("it may be absent: give it a default, or `| None`")


builtin_type = type
"""`type`, where a parameter has that name."""


def _real(value: object) -> object:
    return float(value) if isinstance(value, int) else value


def _given(annotation: object, type: Type) -> bool:
    """Whether Python gives only values of a leaf, though its annotation is another than the one that holds all of them."""
    kinds = _LEAVES.get(type.__class__, ())[:1]
    if get_origin(annotation) is Literal:
        return all(one.__class__ in kinds for one in get_args(annotation))
    if isinstance(annotation, builtin_type) and issubclass(annotation, Enum):
        return all(one.value.__class__ in kinds for one in annotation)
    return annotation is int and isinstance(type, FloatType)


def _cannot(annotation: object, type: Type) -> ShapeError:
    return ShapeError(f"`{shown(annotation)}` does not hold `{show(type)}`")


def _member(enum: type[Enum], name: object) -> Enum | None:
    """The member of this name, or of this value."""
    return next((one for one in enum if name in (one.value, one.name)), None)


def _first(members: Sequence[tuple[Convert, Convert]], value: object) -> object:
    """The conversion of the member that the value belongs to."""
    for check, convert in members[:-1]:
        try:
            check(value)
        except DecodeError:
            continue
        return convert(value)
    return members[-1][1](value)


def _variant(table: Mapping[str, Convert], value: object) -> object:
    if isinstance(value, str):
        return table[value](value)
    assert isinstance(value, dict)
    return table[value["kind"]]({key: item for key, item in value.items() if key != "kind"})


def _values(plan: Sequence[tuple[str, str, Convert, bool]], value: object) -> dict[str, object]:
    assert isinstance(value, dict)
    made: dict[str, object] = {}
    for wire, key, convert, absent in plan:
        if wire in value:
            made[key] = convert(value[wire])
        elif absent:
            made[key] = None
    return made
