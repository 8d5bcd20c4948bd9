"""Diagnostics as people read them in a terminal.

    error[AEL0203]: there is no type `Tikcet`
      --> main.ael:3:23
       |
     3 | node classify(ticket: Tikcet) -> Topic
       |                       ^^^^^^
       = help: did you mean `Ticket`?

The same text with and without colour; columns are counted in characters, carets are placed by display width.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from ael.diagnostics.diagnostic import Diagnostic, Place, Severity

_RED, _YELLOW, _BLUE, _BOLD, _OFF = "\x1b[31;1m", "\x1b[33;1m", "\x1b[34;1m", "\x1b[1m", "\x1b[0m"
_MAX_LINE = 200
"""Characters of a source line that are shown; longer ones are cut around the place."""


def render(diagnostic: Diagnostic, *, colour: bool = False) -> str:
    """One diagnostic as lines of text, without a final line end."""
    paint = _Paint(colour)
    error = diagnostic.severity is Severity.ERROR
    head = f"{diagnostic.severity.value}[{diagnostic.code}]"
    lines = [f"{paint(head, _RED if error else _YELLOW)}{paint(': ' + diagnostic.message, _BOLD)}"]
    places = [diagnostic.place, *(label.place for label in diagnostic.labels)]
    margin = max(len(str(p.source.position(p.span.start).line)) for p in places) + 1
    lines += _excerpt(diagnostic.place, "", margin, paint, "^", _RED if error else _YELLOW)
    for label in diagnostic.labels:
        lines += _excerpt(label.place, label.text, margin, paint, "-", _BLUE)
    lines += [f"{' ' * margin} {paint('=', _BLUE)} note: {note}" for note in diagnostic.notes]
    if diagnostic.fix is not None:
        lines.append(f"{' ' * margin} {paint('=', _BLUE)} fix: {diagnostic.fix.title}")
    return "\n".join(lines)


def render_all(diagnostics: Iterable[Diagnostic], *, colour: bool = False) -> str:
    """All diagnostics, an empty line between them, and a closing line that counts; empty for none."""
    found = list(diagnostics)
    if not found:
        return ""
    errors = sum(d.severity is Severity.ERROR for d in found)
    warnings = len(found) - errors
    counts = [_count(errors, "error")] * bool(errors) + [_count(warnings, "warning")] * bool(warnings)
    codes = sorted({d.code for d in found})
    more = f"; `ael explain {codes[0]}` says more" if len(codes) == 1 else "; `ael explain CODE` says more"
    return "\n\n".join([*(render(d, colour=colour) for d in found), " and ".join(counts) + more])


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + ("s" if number != 1 else "")


class _Paint:
    def __init__(self, on: bool) -> None:
        self.on = on

    def __call__(self, text: str, code: str) -> str:
        return f"{code}{text}{_OFF}" if self.on else text


def _excerpt(place: Place, text: str, margin: int, paint: _Paint, mark: str, code: str) -> list[str]:
    source, span = place.source, place.span
    at = source.position(span.start)
    gutter = " " * margin
    lines = [f"{gutter}{paint('-->', _BLUE)} {source.name}:{at.line}:{at.column}"]
    if not source.text or at.line > len(source.line_starts()):
        # A file that could not be read, or nothing at all: there is no line to show.
        return lines
    raw = source.line(at.line)
    start = at.column - 1
    end = min(start + max(span.end - span.start, 1), max(len(raw), start + 1))
    offset = 0
    if len(raw) > _MAX_LINE:
        offset = max(0, min(start - _MAX_LINE // 2, len(raw) - _MAX_LINE))
        raw = raw[offset : offset + _MAX_LINE]
        start, end = start - offset, min(end - offset, len(raw))
    shown = _printable(raw)
    before, under = _width(_printable(raw[:start])), max(1, _width(_printable(raw[start:end])))
    bar = paint("|", _BLUE)
    lines.append(f"{gutter} {bar}")
    lines.append(f"{paint(str(at.line).rjust(margin), _BLUE)} {bar} {shown}".rstrip())
    tail = f" {text}" if text else ""
    lines.append(f"{gutter} {bar} {' ' * before}{paint(mark * under + tail, code)}")
    return lines


def _printable(text: str) -> str:
    return "".join("    " if c == "\t" else c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _width(text: str) -> int:
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
