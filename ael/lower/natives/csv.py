"""Reading CSV (RFC 4180), strictly and in one pass."""

from __future__ import annotations

import re

from ael.lower.abi.size import ENTRIES_MAX


def parse(text: str, delimiter: str) -> dict[str, object]:
    """`rows`, and the `lines` (from 1) that they begin at; or the `line` of the first mistake with its `reason`, else 0."""
    rows: list[list[str]] = []
    lines: list[int] = []
    row: list[str] = []
    plain = re.compile(rf'[^"\r\n{re.escape(delimiter)}]*')
    at, line, first, fields = (1 if text.startswith("\ufeff") else 0), 1, 1, 0
    end = len(text)
    while at < end or row:
        if at < end and text[at] == '"':
            value, after = _quoted(text, at)
            if after < 0:
                return _wrong(line, "a quoted field has no end")
            begun, line, at = line, line + _line_ends(value), after
            if at < end and text[at] not in (delimiter, "\r", "\n"):
                return _wrong(line, "something stands behind the quotes of a field")
        else:
            found = plain.match(text, at)
            assert found is not None, "it may be empty"
            value, begun, at = found[0], line, found.end()
            if at < end and text[at] == '"':
                return _wrong(line, "a quote stands inside of a field that is not quoted")
        fields += 1
        if not row:
            first = begun
        if fields > ENTRIES_MAX:
            return _wrong(begun, f"there are more than {ENTRIES_MAX:,} fields")
        blank = not row and value == "" and text[at - 1 : at] != '"'
        row.append(value)
        if at < end and text[at] == delimiter:
            at += 1
            continue
        if not blank:
            rows.append(row)
            lines.append(first)
        row = []
        if at < end:
            at += 2 if text.startswith("\r\n", at) else 1
            line += 1
    return {"rows": rows, "lines": lines, "line": 0, "reason": ""}


def _quoted(text: str, start: int) -> tuple[str, int]:
    """The field whose opening quote stands at `start`, and where it ends; -1 where it does not."""
    pieces: list[str] = []
    at = start + 1
    while True:
        quote = text.find('"', at)
        if quote < 0:
            return "", -1
        pieces.append(text[at:quote])
        if not text.startswith('"', quote + 1):
            return '"'.join(pieces), quote + 1
        at = quote + 2


def _line_ends(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def _wrong(line: int, reason: str) -> dict[str, object]:
    return {"rows": [], "lines": [], "line": line, "reason": reason}
