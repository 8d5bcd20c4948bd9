"""Cases as CSV (RFC 4180): a column for each parameter or field of a record, beside `id`, `expected` and `tags`.

A cell whose type is text is taken as it is; every other one is JSON. An empty cell is null where the type
has that, and else left out.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence

from ael.evals.checks import Known
from ael.types.definition import FieldDef, RecordDef
from ael.types.json import JsonError, read
from ael.types.reach import is_text
from ael.types.signature import ParameterDef
from ael.types.type import Named, NullType, Type, UnionType

MAX_CELL = 1 << 20
MAX_COLUMNS = 200
Wrong = Callable[[str, int, str], None]
_OWN = ("id", "tags", "label", "assert")


def rows(data: bytes, parameters: Sequence[ParameterDef], known: Known, wrong: Wrong) -> Iterator[tuple[int, dict[str, object]]]:
    """Each row as the object that a line of JSON would be, with the number of the line where it ends. What is wrong goes to `wrong`."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        wrong("AEL0952", data.count(b"\n", 0, error.start) + 1, "this is no UTF-8")
        return
    if "\0" in text:
        wrong("AEL0952", text.count("\n", 0, text.index("\0")) + 1, "this holds a NUL character")
        return
    csv.field_size_limit(MAX_CELL)
    table = csv.reader(io.StringIO(text, newline=""), strict=True)
    columns: list[tuple[str, Type | None]] | None = None
    line = 1
    try:
        for row in table:
            line = table.line_num
            if not any(cell.strip() for cell in row):
                continue
            if columns is None:
                columns = _columns(row, parameters, known, line, wrong)
                if columns is None:
                    return
                continue
            if len(row) != len(columns):
                wrong("AEL0952", line, f"the row has {len(row)} cells, and the first one has {len(columns)}")
                continue
            made = _row(row, columns, known, line, wrong)
            if made is not None:
                yield line, made
    except csv.Error as error:
        wrong("AEL0952", line, f"this is no CSV: {error}")


def _columns(
    row: list[str], parameters: Sequence[ParameterDef], known: Known, line: int, wrong: Wrong
) -> list[tuple[str, Type | None]] | None:
    types: dict[str, Type | None] = dict.fromkeys(_OWN)
    for parameter in parameters:
        _fields(parameter.wire, parameter.type, known, types, "input.")
    for name in ("expected", "output"):
        _fields(name, known.given["expected" if name == "expected" else "output"], known, types, "")
    found: list[tuple[str, Type | None]] = []
    bad = False
    for cell in row:
        name = cell.strip()
        whole = name if name in types else f"input.{name}"
        if whole not in types:
            told = ", ".join(f"`{one.removeprefix('input.')}`" for one in list(types)[:40])
            wrong("AEL0952", line, f"there is no column `{name[:60]}`; there may be {told}")
            bad = True
            continue
        if whole in [known for known, _ in found]:
            wrong("AEL0952", line, f"there are two columns `{name}`")
            bad = True
        found.append((whole, types[whole]))
    if len(row) > MAX_COLUMNS:
        wrong("AEL0952", line, f"there are more than {MAX_COLUMNS} columns")
        bad = True
    return None if bad else found


def _fields(name: str, type_: Type, known: Known, into: dict[str, Type | None], lead: str) -> None:
    into[lead + name] = type_
    record = known.program.definitions.get(type_.name) if isinstance(type_, Named) else None
    if isinstance(record, RecordDef):
        fields: Mapping[str, FieldDef] = {one.wire: one for one in record.fields}
        into.update({f"{lead}{name}.{wire}": one.type for wire, one in fields.items()})


def _row(
    row: list[str], columns: list[tuple[str, Type | None]], known: Known, line: int, wrong: Wrong
) -> dict[str, object] | None:
    made: dict[str, object] = {"input": {}}
    good = True
    for cell, (name, type_) in zip(row, columns, strict=True):
        nothing = not cell and isinstance(type_, UnionType) and any(isinstance(one, NullType) for one in type_.members)
        if not cell and not nothing:
            continue
        value: object = cell
        if nothing:
            value = None
        elif name == "tags":
            value = cell.split()
        elif name != "id" and (type_ is None or not is_text(type_, known.program.definitions)):
            try:
                value = read(cell, max_bytes=MAX_CELL)
            except JsonError as error:
                shown = name.removeprefix("input.")
                wrong("AEL0952", line, f"`{shown}` is written as JSON: {error}")
                good = False
                continue
        target = made
        *above, last = name.split(".")
        for part in above:
            inner = target.setdefault(part, {})
            if not isinstance(inner, dict):
                wrong("AEL0952", line, f"`{name}` is a field of what has a cell of its own")
                good = False
                break
            target = inner
        else:
            target[last] = value
    return made if good else None
