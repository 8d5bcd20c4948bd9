"""An entry's input from the command line: flags that come from its parameters, or JSON from a file or standard input."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path

from ael.types.definition import Definitions, FieldDef, RecordDef
from ael.types.reach import is_text
from ael.types.signature import Signature
from ael.types.text import show
from ael.types.type import Named, NullType, Type, UnionType

MAX_INPUT_BYTES = 16 * 1024 * 1024
"""A larger input file is refused before it is read; the entry's own limits are smaller."""


class InputError(Exception):
    """A flag or an input that does not fit; the message says which and what is expected."""


def collect(words: Sequence[str], source: str | None, signature: Signature, definitions: Definitions) -> dict[str, object]:
    """The input as JSON values: `source` (`--input`, a file or `-`) first, flags over it. Raises `InputError`."""
    values = _from_source(source) if source is not None else {}
    for name, text in _pairs(words):
        _set(values, name, text, signature, definitions)
    return values


def usage(signature: Signature, definitions: Definitions) -> str:
    """The flags of an entry, one line each."""
    lines = []
    for parameter in signature.parameters:
        needed = "" if parameter.required else " (may be left out)"
        lines.append(f"  --{parameter.wire} {show(parameter.type)}{needed}")
        record = _record(parameter.type, definitions)
        if record is not None:
            lines += [f"      --{parameter.wire}.{f.wire} {show(f.type)}" for f in record.fields]
    return "\n".join(lines) or "  it takes no input"


def _from_source(source: str) -> dict[str, object]:
    try:
        if source == "-":
            data = sys.stdin.buffer.read(MAX_INPUT_BYTES + 1)
        else:
            with Path(source).open("rb") as file:
                data = file.read(MAX_INPUT_BYTES + 1)
    except OSError as error:
        raise InputError(f"`{source}` cannot be read: {(error.strerror or 'no such file').lower()}") from None
    if len(data) > MAX_INPUT_BYTES:
        raise InputError(f"the input is larger than {MAX_INPUT_BYTES} bytes")
    # The bounded reader is loaded only where there is an input to read.
    json_reader = import_module("ael.types.json")
    try:
        value = json_reader.read(data)
    except json_reader.JsonError as error:
        raise InputError(f"the input is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise InputError('the input is an object with a key for each parameter, such as {"name": "Ada"}')
    return value


def _pairs(words: Sequence[str]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    index = 0
    while index < len(words):
        word = words[index]
        if not word.startswith("--") or len(word) < 3:
            raise InputError(f"`{word}` is no flag; flags are written `--name value`")
        name, equals, value = word[2:].partition("=")
        if not equals:
            index += 1
            if index >= len(words):
                raise InputError(f"`{word}` needs a value")
            value = words[index]
        pairs.append((name, value))
        index += 1
    return pairs


def _set(values: dict[str, object], name: str, text: str, signature: Signature, definitions: Definitions) -> None:
    head, _, field = name.replace("-", "_").partition(".")
    parameters = {p.wire: p for p in signature.parameters}
    parameter = parameters.get(name.partition(".")[0]) or parameters.get(head)
    if parameter is None:
        close = get_close_matches(head, parameters, 1)
        hint = f"; did you mean `--{close[0]}`?" if close else f"; the flags are:\n{usage(signature, definitions)}"
        raise InputError(f"the entry has no parameter `{head}`{hint}")
    if not field:
        values[parameter.wire] = _value(text, parameter.type, name, definitions)
        return
    record = _record(parameter.type, definitions)
    fields: Mapping[str, FieldDef] = {f.wire: f for f in record.fields} if record is not None else {}
    if field not in fields:
        raise InputError(f"`{head}` has no field `{field}`" + (f"; it has {', '.join(fields)}" if fields else ""))
    inner = values.setdefault(parameter.wire, {})
    if not isinstance(inner, dict):
        raise InputError(f"`--{name}` sets a field, but `--{head}` is given whole already")
    inner[field] = _value(text, fields[field].type, name, definitions)


def _value(text: str, type_: Type, name: str, definitions: Definitions) -> object:
    if is_text(type_, definitions):
        return text
    try:
        return json.loads(text, parse_constant=_no_constant)
    except ValueError:
        raise InputError(f"`--{name}` takes {show(type_)}, as JSON; got `{text[:80]}`") from None


def _no_constant(word: str) -> object:
    raise ValueError(word)


def _record(type_: Type, definitions: Definitions) -> RecordDef | None:
    if isinstance(type_, UnionType):
        inner = [m for m in type_.members if not isinstance(m, NullType)]
        return _record(inner[0], definitions) if len(inner) == 1 else None
    definition = definitions.get(type_.name) if isinstance(type_, Named) else None
    return definition if isinstance(definition, RecordDef) else None
