"""A value as source writes it: `Order(id: "A-42", paid: true)`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal

from ael.lower.abi.shape import belongs
from ael.types.definition import AliasDef, Definitions, EnumDef, FieldDef, RecordDef
from ael.types.text import text_of
from ael.types.type import AnonymousRecord, CheckedType, FileType, JsonType, ListType, MapType, Named, SecretType, Type, UnionType
from ael.types.value import File, Secret

LENGTH = 4_000
"""Characters of a value that are shown."""
_DEPTH = 40
_ENTRIES = 1_000
_TIMES = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))


def written(value: object, type: Type, definitions: Definitions) -> str:
    """The value, cut with `…` where it is long. A secret is not shown."""
    text = _Writer(definitions).any(value, type, 0)
    return text if len(text) <= LENGTH else text[: LENGTH - 1] + "…"


class _Writer:
    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self.room = LENGTH

    def any(self, value: object, type: Type, depth: int) -> str:
        if depth > _DEPTH or self.room <= 0:
            return "…"
        return self._any(value, type, depth)

    def _any(self, value: object, type: Type, depth: int) -> str:
        match type:
            case CheckedType(inner):
                return self._any(value, inner, depth)
            case SecretType():
                return "<secret>"
            case Named(name):
                return self._named(value, name, depth)
            case UnionType(members):
                member = next((one for one in members if belongs(one, self.definitions)(value)), None)
                return self._plain(value, depth) if member is None else self._any(value, member, depth)
            case ListType(item) if isinstance(value, list):
                return self._several("[", "]", (self.any(one, item, depth + 1) for one in value[:_ENTRIES]), len(value))
            case MapType(inner) if isinstance(value, Mapping):
                entries = (f"{_text(key)}: {self.any(one, inner, depth + 1)}" for key, one in list(value.items())[:_ENTRIES])
                return self._several("[", "]", entries, len(value)) if value else "[:]"
            case AnonymousRecord(fields) if isinstance(value, Mapping):
                parts = (f"{name}: {self.any(value.get(name), inner, depth + 1)}" for name, inner in fields)
                return self._several("{ ", " }", parts, len(fields))
            case FileType() if isinstance(value, File):
                return f"<file of {value.media}>"
            case JsonType():
                return self._json(value)
            case _:
                return self._plain(value, depth)

    def _named(self, value: object, name: str, depth: int) -> str:
        definition = self.definitions.get(name)
        short = name.rpartition(".")[2]
        match definition:
            case AliasDef(type=inner):
                return self._any(value, inner, depth + 1)
            case RecordDef(fields=fields) if isinstance(value, Mapping):
                return f"{short}{self._fields(value, fields, depth)}"
            case EnumDef() if isinstance(value, str):
                return f"{short}.{value}"
            case EnumDef(variants=variants) if isinstance(value, Mapping):
                variant = next((one for one in variants if one.name == value.get("kind")), None)
                if variant is not None:
                    return f"{short}.{variant.name}{self._fields(value, variant.fields, depth)}"
            case _:
                pass
        return self._plain(value, depth)

    def _fields(self, value: Mapping[str, object], fields: tuple[FieldDef, ...], depth: int) -> str:
        there = [field for field in fields if field.wire in value]
        parts = [f"{field.name}: {self.any(value[field.wire], field.type, depth + 1)}" for field in there]
        known = {field.wire for field in fields} | {"kind"}
        parts += [f"{_text(key)}: {self._json(one)}" for key, one in value.items() if key not in known]
        return self._several("(", ")", parts, len(parts))

    def _several(self, start: str, end: str, parts: Iterable[str], count: int) -> str:
        shown: list[str] = []
        for part in parts:
            shown.append(part)
            self.room -= len(part) + 2
            if self.room <= 0:
                break
        if len(shown) < count:
            shown.append("…")
        return f"{start}{', '.join(shown)}{end}"

    def _json(self, value: object) -> str:
        return json.dumps(value, ensure_ascii=False, default=lambda one: self._plain(one, 0))[: LENGTH + 1]

    def _plain(self, value: object, depth: int) -> str:
        match value:
            case str():
                return _text(value)
            case Secret():
                return "<secret>"
            case bytes():
                return f"<{len(value)} bytes>"
            case timedelta():
                return _duration(value)
            case bool() | int() | float() | Decimal() | datetime() | date() | None:
                return text_of(value)
            case list() | dict():
                return self._json(value)
            case File():
                return f"<file of {value.media}>"
            case _:
                return "<fn>" if callable(value) else f"<{type(value).__name__}>"


def _text(text: object) -> str:
    """A string literal."""
    shown = json.dumps(str(text), ensure_ascii=False).replace("${", "\\${")
    visible = [char if char.isprintable() else f"\\u{{{ord(char):X}}}" for char in shown[: LENGTH + 1]]
    return "".join(visible).replace("\\b", "\\u{8}").replace("\\f", "\\u{C}")


def _duration(value: timedelta) -> str:
    milliseconds, rest = divmod(value // timedelta(microseconds=1), 1_000)
    if rest or milliseconds < 0:
        return text_of(value)
    return next((f"{milliseconds // unit}{name}" for unit, name in _TIMES if milliseconds % unit == 0), "0ms")
